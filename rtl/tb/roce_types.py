"""The structures of roce_pkg as numbers, and frames by vectors/roce.py, an independent program."""

import importlib.util
import json
from functools import cache

from network import VECTORS, Peer

PACKET = (("opcode", 8), ("has_reth", 1), ("has_immediate", 1), ("is_solicited", 1),
          ("ack_request", 1), ("destination", 24), ("psn", 24), ("remote_address", 64),
          ("rkey", 32), ("message_bytes", 32), ("immediate", 32), ("len_bytes", 16))  # fmt: skip

QP = (("local_qp", 24), ("remote_qp", 24), ("first_psn", 24), ("mtu", 3), ("window", 16),
      ("ack_every", 16), ("timeout", 5), ("retries", 3), ("rnr_retries", 3))  # fmt: skip
WORK_REQUEST = (("id", 16), ("is_write", 1), ("is_solicited", 1), ("has_immediate", 1),
                ("immediate", 32), ("remote_address", 64), ("rkey", 32), ("addr", 40),
                ("len_bytes", 32))  # fmt: skip
CHOICE = (("mtu", 3), ("psn", 24), ("offset", 24), ("is_first", 1),
          ("is_last", 1), ("ack_request", 1))  # fmt: skip
COMPLETION = (("id", 16), ("status", 3))
ANSWER = (("kind", 3), ("code", 5), ("psn", 24), ("is_marked", 1))
RESPONDER = (("first_psn", 24), ("mtu", 3), ("rnr_timer", 5), ("cnp_interval_ns", 20))
REGION = (("key", 32), ("address", 64), ("len_bytes", 64))
RECEIVE = (("id", 16), ("address", 64), ("len_bytes", 32))
RECEIVED = (("id", 16), ("status", 2), ("has_immediate", 1), ("immediate", 32),
            ("len_bytes", 32))  # fmt: skip
RATE = (("rate_mode", 2), ("gain_shift", 5), ("recovery_stages", 5), ("alpha_period_ns", 20),
        ("rise_period_ns", 20), ("cut_interval_ns", 20), ("rise_bytes", 26), ("rate_additive", 24),
        ("rate_hyper", 24), ("rate_minimum", 24), ("rate_start", 24), ("rate_first_cut", 24),
        ("rate_line", 24), ("pace_rate", 24), ("pace_burst_ns", 20))  # fmt: skip
RATE_STATUS = (("rate", 24), ("target", 24), ("alpha", 17), ("event_count", 32),
               ("event_time_ns", 45), ("event_cause", 3), ("event_rate", 24))  # fmt: skip
RESPONSE = (("is_cnp", 1), ("psn", 24), ("syndrome", 8), ("msn", 24))
RECEIVE_SEND, RECEIVE_WRITE, RECEIVE_FAILED, RECEIVE_FLUSHED = range(4)
BEGIN, END, ABORT = range(3)
ACK, RNR_NAK, SEQUENCE_NAK, FATAL_NAK, CNP = range(5)
(DONE, INVALID_REQUEST, REMOTE_ACCESS, REMOTE_OPERATION, RETRIES_EXCEEDED, RNR_RETRIES_EXCEEDED,
 FLUSHED) = range(7)  # fmt: skip
PSNS = 1 << 24


def pack(layout, **values: int) -> int:
    """A packed struct, its first field in the highest bits; fields that are not given are 0."""
    assert not values.keys() - dict(layout).keys(), "a field that the struct does not have"
    word = 0
    for name, bits in layout:
        value = values.get(name, 0)
        assert 0 <= value < 1 << bits, f"{name} is {value}"
        word = word << bits | value
    return word


def unpack(layout, word: int) -> tuple[int, ...]:
    """The fields of a packed struct."""
    values = []
    for _, bits in reversed(layout):
        values.append(word & (1 << bits) - 1)
        word >>= bits
    return tuple(reversed(values))


@cache
def vectors(name: str = "roce"):
    """The rows of vectors/roce.json, or of another file."""
    return json.loads((VECTORS / f"{name}.json").read_text())


def _program():
    spec = importlib.util.spec_from_file_location("vectors_roce", VECTORS / "roce.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


roce = _program()


def framed(transport: bytes, src: Peer, dst: Peer, **route: int) -> bytes:
    """A transport packet in a frame with its ICRC, by vectors/roce.py; as head_builder has it."""
    return roce.frame(
        {
            "source_mac": f"{src.mac:012x}", "destination_mac": f"{dst.mac:012x}",
            "source_ip": f"{src.ip:08x}", "destination_ip": f"{dst.ip:08x}",
            "source_port": src.port, "identification": 0, "tos": 2, "ttl": 64, **route,
        },
        transport,
    )  # fmt: skip

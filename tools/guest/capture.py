#!/usr/bin/env python3
"""Writes vectors/rxe.pcap: small frames between two kernels' Soft-RoCE, for tests to read.

    tools/guest/capture.py target/release/samplewire

Each case below is one message, or one that is refused. The frames come in this order, in the
requester's sight; those of the last cases belong to queue pairs of their own.
"""

import sys
from pathlib import Path

from frames import pcap, roce_frames
from guest import GuestError
from network import network
from packages import ROOT
from recorder import main
from verbs import Verbs, connect

OUTPUT = ROOT / "vectors/rxe.pcap"
MTU = 256
PSNS = (0xFFFFFD, 0x000064)
"""The requester's wraps in the third packet."""

MESSAGES = (
    ("send", 5),
    ("send_imm", 2),
    ("send", 600),
    ("send_imm", 513),
    ("send", 0),
    ("send_imm", 0),
    ("write", 3),
    ("write", 6),
    ("write", 7),
    ("write", 0),
    ("write", 256),
    ("write", 600),
    ("write_imm", 1),
    ("write_imm", 515),
    ("read", 4),
    ("read", 600),
)
TARGET = 0x4000
"""Where writes go, in the responder's region."""

IMM = 0x89ABCDEF


def messages(one: Verbs, other: Verbs) -> None:
    """One of each kind, with all pads; then a write with a key that is not the region's."""
    _, far = connect(one, other, mtu=MTU, psns=PSNS)
    one.call("fill", offset=0, hex=bytes(range(256)).hex() * 3)
    takes = [words for words in MESSAGES if words[0] in ("send", "send_imm", "write_imm")]
    for number in range(len(takes)):
        other.call("recv", id=number, offset=1_024 * number, bytes=1_024)
    for number, (opcode, length) in enumerate(MESSAGES):
        where = {"offset": 0x8000} if opcode == "read" else {}
        words = {"to": far["region"] + TARGET, "rkey": far["rkey"], "imm": IMM, **where}
        one.call("post", id=number, opcode=opcode, bytes=length, **words)
        expect(one, number, 0)
    other.poll(len(takes))
    one.call("post", id=99, opcode="write", bytes=4, to=far["region"], rkey=far["rkey"] ^ 1)
    expect(one, 99, REMOTE_ACCESS)


def refusals(one: Verbs, other: Verbs) -> None:
    """A gap, no receive request, a message longer than its request, a write out of bounds."""
    # The responder expects a PSN that lies behind.
    ends = [verbs.call("open", mtu=MTU, psn=10) for verbs in (one, other)]
    for verbs, far, psn in ((one, ends[1], 10), (other, ends[0], 8)):
        verbs.call("connect", address=far["address"], qpn=far["qpn"], psn=psn, retries=1)
    post(one, "send", 4)
    expect(one, 0, RETRIES)
    connect(one, other, mtu=MTU, rnr_retries=1)
    post(one, "send", 4)
    expect(one, 0, RNR_RETRIES)
    connect(one, other, mtu=MTU)
    other.call("recv", id=0, offset=0, bytes=8)
    post(one, "send", 12)
    # Linux 6.1 answers "remote operational error" here.
    expect(one, 0, REMOTE_OPERATION)
    _, far = connect(one, other, mtu=MTU)
    post(one, "write", 8, to=far["region"] + far["bytes"] - 4, rkey=far["rkey"])
    expect(one, 0, REMOTE_ACCESS)


def post(one: Verbs, opcode: str, length: int, **words: int) -> None:
    one.call("post", id=0, opcode=opcode, bytes=length, **words)


def expect(one: Verbs, number: int, status: int) -> None:
    done = one.poll()[0]
    if (done.id, done.status) != (number, status):
        raise GuestError(f"message {number}: {done}, where status {status} was expected")


REMOTE_ACCESS, REMOTE_OPERATION, RETRIES, RNR_RETRIES = 10, 11, 12, 13
"""Of `enum ibv_wc_status`."""


def record(program: Path) -> bytes:
    """The capture."""
    with network(program, "--rate", "1G", guests=("one", "other")) as net:
        one, other = (Verbs(guest) for guest in net.guests)
        messages(one, other)
        refusals(one, other)
        net.finish()
        return pcap(roce_frames(net.guests[0].capture))


if __name__ == "__main__":
    sys.exit(main(__doc__, OUTPUT, record))

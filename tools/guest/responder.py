#!/usr/bin/env python3
"""Writes vectors/rxe-responder.json: what Linux's Soft-RoCE answers to frames, right and wrong.

    tools/guest/responder.py target/release/samplewire

Each case opens a queue pair in a guest, sends it frames one by one, and keeps what comes back,
which requests of its own were completed, and what is in memory then. See vectors/README.md.
"""

import random
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import frames as f
from frames import Request
from guest import Address
from network import RawPort
from packages import ROOT
from recorder import main, record_cases
from verbs import Verbs

OUTPUT = ROOT / "vectors/rxe-responder.json"
MTU = 256
REGION_BYTES = 1_024
PSN = 1_000
OWN_QPN = 0x77
QUIET_S = 0.3
"""An answer that takes longer is not seen; it comes within some ms."""

BYTES = random.Random(26).randbytes(REGION_BYTES)
IMM = 0x89AB_CDEF


@dataclass(frozen=True, kw_only=True)
class Case:
    """Frames to a fresh queue pair. A request's RETH counts from the region's address, and its key
    is added to the region's."""

    name: str
    requests: list[Request]
    recvs: tuple[int, ...] = (256, 256)
    """Lengths of the receive requests; each has its place after the one before."""
    psn: int = PSN
    rights: str = "local_write remote_write remote_read"


def send(length: int, at: int = 0, opcode: int = f.SEND_ONLY, **words: object) -> Request:
    return Request(opcode=opcode, psn=PSN + at, payload=BYTES[:length], **words)


def write(
    length: int,
    at: int = 0,
    opcode: int = f.WRITE_ONLY,
    *,
    to: int = 512,
    key: int = 0,
    says: int | None = None,
    **words: object,
) -> Request:
    """`says` is the length in the RETH."""
    reth = (to, key, length if says is None else says)
    return Request(opcode=opcode, psn=PSN + at, payload=BYTES[:length], reth=reth, **words)


def middle(length: int, at: int, opcode: int = f.WRITE_MIDDLE, **words: object) -> Request:
    """Of either kind: it has no RETH."""
    return Request(opcode=opcode, psn=PSN + at, payload=BYTES[:length], **words)


CASES = [
    Case(name="send", requests=[send(5)]),
    Case(name="send of nothing", requests=[send(0)]),
    Case(name="send with immediate", requests=[send(7, opcode=f.SEND_ONLY_IMM, imm=IMM)]),
    Case(name="send without acknowledgement asked for", requests=[send(8, ack=False), send(4, 1)]),
    Case(
        name="send in three packets",
        requests=[
            send(256, opcode=f.SEND_FIRST, ack=False),
            middle(256, 1, f.SEND_MIDDLE, ack=False),
            middle(9, 2, f.SEND_LAST),
        ],
        recvs=(600,),
    ),
    Case(
        name="send in two packets with immediate, each acknowledged",
        requests=[
            send(256, opcode=f.SEND_FIRST),
            middle(1, 1, f.SEND_LAST_IMM, imm=IMM),
        ],
        recvs=(300,),
    ),
    Case(name="write", requests=[write(6)]),
    Case(name="write of nothing", requests=[write(0)]),
    Case(name="write of nothing with a wrong key", requests=[write(0, key=0x10000)]),
    Case(name="write with immediate", requests=[write(3, opcode=f.WRITE_ONLY_IMM, imm=IMM)]),
    Case(
        name="write in three packets",
        requests=[
            write(256, opcode=f.WRITE_FIRST, to=256, says=515, ack=False),
            middle(256, 1, ack=False),
            middle(3, 2, f.WRITE_LAST),
        ],
    ),
    Case(
        name="write in two packets with immediate",
        requests=[
            write(256, opcode=f.WRITE_FIRST, says=258),
            middle(2, 1, f.WRITE_LAST_IMM, imm=IMM),
        ],
    ),
    Case(
        name="psn wraps",
        psn=0xFFFFFF,
        requests=[
            Request(opcode=f.SEND_ONLY, psn=0xFFFFFF, payload=BYTES[:4]),
            Request(opcode=f.SEND_ONLY, psn=0, payload=BYTES[:8]),
        ],
    ),
    Case(name="gap", requests=[send(4, 1), send(4, 2), send(4, 3), send(8), send(4, 1)]),
    Case(name="two gaps", requests=[send(4, 1), send(4), send(4, 2), send(8, 1)]),
    Case(name="duplicate send", requests=[send(4), send(8)]),
    Case(name="duplicate write", requests=[write(4), write(8)]),
    Case(name="duplicate of the one before the last", requests=[send(4), send(4, 1), send(8)]),
    Case(name="half of all psns ahead", requests=[send(4, 0x7FFFFF), send(4)]),
    Case(name="half of all psns behind", requests=[send(4, 0x800000), send(4)]),
    Case(name="bad icrc", requests=[send(4, icrc_error=1), send(8)]),
    Case(name="wrong key", requests=[write(4, key=0x10000), write(4, 1), write(4)]),
    Case(name="out of bounds", requests=[write(8, to=REGION_BYTES - 4)]),
    Case(name="before the region", requests=[write(8, to=-4)]),
    Case(name="no right to write", requests=[write(4)], rights="local_write remote_read"),
    Case(name="middle without first", requests=[middle(256, 0), send(4)]),
    Case(name="last without first", requests=[middle(4, 0, f.SEND_LAST)]),
    Case(
        name="only after first",
        requests=[send(256, opcode=f.SEND_FIRST, ack=False), send(4, 1)],
    ),
    Case(
        name="write after the first of a send",
        requests=[send(256, opcode=f.SEND_FIRST, ack=False), middle(256, 1)],
    ),
    Case(name="more bytes than the write says", requests=[write(12, says=8)]),
    Case(name="fewer bytes than the write says", requests=[write(8, says=12)]),
    Case(
        name="write ends early",
        requests=[
            write(256, opcode=f.WRITE_FIRST, to=256, says=600, ack=False),
            middle(4, 1, f.WRITE_LAST),
        ],
    ),
    Case(
        name="write goes on too long",
        requests=[
            write(256, opcode=f.WRITE_FIRST, says=300, ack=False),
            middle(256, 1, f.WRITE_LAST),
        ],
    ),
    Case(name="first shorter than the mtu", requests=[send(128, opcode=f.SEND_FIRST)]),
    Case(name="only longer than the mtu", requests=[send(300)], recvs=(400,)),
    Case(
        name="last of no bytes",
        requests=[send(256, opcode=f.SEND_FIRST), middle(0, 1, f.SEND_LAST)],
        recvs=(300,),
    ),
    Case(name="no receive request", requests=[send(4), send(4), send(4, 1)], recvs=()),
    Case(
        name="write with immediate without receive request",
        requests=[write(4, opcode=f.WRITE_ONLY_IMM, imm=IMM)],
        recvs=(),
    ),
    Case(name="longer than its receive request", requests=[send(12)], recvs=(8,)),
    Case(name="read", requests=[write(0, opcode=f.READ_REQUEST, to=0, says=8)]),
    Case(
        name="compare and swap",
        requests=[Request(opcode=f.COMPARE_SWAP, psn=PSN, extension=bytes(28))],
    ),
    Case(name="opcode of no meaning", requests=[send(4, opcode=0x1F), send(4)]),
    Case(name="opcode of unreliable connections", requests=[send(4, opcode=f.UC_SEND_ONLY)]),
    Case(name="opcode of datagrams", requests=[send(4, opcode=f.UD_SEND_ONLY, extension=bytes(8))]),
    Case(name="unknown queue pair", requests=[send(4, qpn=0xABCDE), send(8)]),
    Case(name="wrong partition", requests=[send(4, pkey=0x1234), send(8)]),
    Case(name="limited member of the partition", requests=[send(4, pkey=0x7FFF)]),
    Case(name="version 1", requests=[send(4, first_bits=0x01), send(8)]),
    Case(name="migrated", requests=[send(4, first_bits=0x40)]),
    Case(name="solicited", requests=[send(4, first_bits=0x80)]),
    Case(name="fecn and becn", requests=[send(4, marks=0xC0)]),
    Case(name="from another address", requests=[send(4, source_ip="10.98.0.98"), send(8)]),
    Case(
        name="cnp",
        requests=[
            Request(opcode=f.CNP, psn=0, ack=False, extension=bytes(16), marks=0x40),
            send(4),
        ],
    ),
]


def record(program: Path) -> bytes:
    """What the file has."""
    return record_cases(program, CASES, run)


def run(case: Case, verbs: Verbs, raw: RawPort, source: Address, target: Address) -> dict:
    """The case as the file has it."""
    opened = {"mtu": MTU, "bytes": REGION_BYTES, "rights": case.rights}
    near = verbs.call("open", **opened)
    recvs, offset = [], 0
    for number, length in enumerate(case.recvs):
        recvs.append({"id": number, "offset": offset, "bytes": length})
        offset += length
    peer = {"address": source.ip, "qpn": OWN_QPN, "psn": case.psn}
    verbs.calls({"do": "connect", **peer}, *({"do": "recv", **recv} for recv in recvs))
    steps = []
    for request in case.requests:
        frame = placed(request, near).frame(source, target, near["qpn"])
        raw.send(frame)
        answers = f.until_quiet(raw, QUIET_S)
        steps.append({"request": frame.hex(), "answers": [answer.hex() for answer in answers]})
    polled = verbs.call("poll", count=len(recvs) + 1, limit_s=0.1)
    memory = bytes.fromhex(verbs.call("read", offset=0, bytes=REGION_BYTES)["hex"])
    keys = {name: near[name] for name in ("qpn", "rkey", "region")}
    return {
        "name": case.name,
        "mtu": MTU,
        "psn": case.psn,
        **keys,
        "bytes": REGION_BYTES,
        "rights": case.rights,
        "recvs": recvs,
        "steps": steps,
        "completions": polled["completions"],
        "memory": memory.rstrip(b"\0").hex(),
    }


def placed(request: Request, near: dict) -> Request:
    """The request with the region's address and key."""
    if not request.reth:
        return request
    offset, key, length = request.reth
    reth = (near["region"] + offset, (near["rkey"] + key) % (1 << 32), length)
    return replace(request, reth=reth)


if __name__ == "__main__":
    sys.exit(main(__doc__, OUTPUT, record))

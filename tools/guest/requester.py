#!/usr/bin/env python3
"""Writes vectors/rxe-requester.json: what Linux's Soft-RoCE sends, and does when it is answered.

    tools/guest/requester.py target/release/samplewire

Each case opens a queue pair in a guest, which posts messages to a peer that is not there; we answer
by a script: acknowledgements, NAKs, silence. Kept are the frames that the guest sends and the
completions of its messages. See vectors/README.md.
"""

import random
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

import frames as f
from frames import Request
from guest import Address
from network import RawPort
from packages import ROOT
from recorder import main, record_cases
from verbs import Verbs

OUTPUT = ROOT / "vectors/rxe-requester.json"
MTU = 256
REGION_BYTES = 1_024
PSN = 1_000
OWN_QPN = 0x77
TARGET, KEY = 0x1_0000_0000, 0x55
IMM = 0x89AB_CDEF
QUIET_S, REPEAT_S = 0.3, 5
"""Without a frame for so long a step is over; where a repeat is waited for, it fails then."""

TIMEOUT = 20
"""4.3 s: nothing is repeated for want of an answer, unless a case says so."""
SHORT_TIMEOUT = 14
LONG_TIMEOUT = 17
"""67 ms and 0.54 s."""

CREDITS_INVALID = 0x1F
RNR, SEQUENCE, INVALID_REQUEST, REMOTE_ACCESS, REMOTE_OPERATION = 0x20, 0x60, 0x61, 0x62, 0x63
"""Syndromes of the AETH (IB 9.7.5.2.2, 9.7.5.2.8); the low bits of RNR are the timer's code."""
RNR_TIMER = 1
"""0.01 ms."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Messages, and for each step what is answered once the frames before it have come."""

    name: str
    messages: list[tuple[str, int]]
    """Opcode and length; all are posted first."""
    steps: list[list[Request]]
    psn: int = PSN
    timeout: int = TIMEOUT
    retries: int = 3
    rnr_retries: int = 3
    counts: dict[int, int] = field(default_factory=dict)
    """By step, the frames to wait for where the guest does not become quiet."""


def ack(at: int, syndrome: int = CREDITS_INVALID, msn: int = 1, **words: object) -> Request:
    aeth = struct.pack(">I", syndrome << 24 | msn)
    psn = (PSN + at) % (1 << 24)
    return Request(opcode=f.ACK, psn=psn, extension=aeth, ack=False, **words)


THREE = [("send", 5), ("write", 6), ("send", 7)]
LONG = [("write", 600)]

CASES = [
    Case(name="send", messages=[("send", 5)], steps=[[ack(0)]]),
    Case(name="send of nothing", messages=[("send", 0)], steps=[[ack(0)]]),
    Case(name="send with immediate", messages=[("send_imm", 257)], steps=[[ack(1)]]),
    Case(name="write", messages=[("write", 256)], steps=[[ack(0)]]),
    Case(name="write with immediate", messages=[("write_imm", 513)], steps=[[ack(2)]]),
    Case(
        name="psn wraps",
        messages=LONG,
        psn=0xFFFFFE,
        steps=[[Request(opcode=f.ACK, psn=0, extension=bytes.fromhex("1f000001"), ack=False)]],
    ),
    Case(name="one acknowledgement for three messages", messages=THREE, steps=[[ack(2, msn=3)]]),
    Case(
        name="an acknowledgement for each message",
        messages=THREE,
        steps=[[ack(0), ack(1, msn=2), ack(2, msn=3)]],
    ),
    Case(
        name="acknowledgements out of order",
        messages=THREE,
        steps=[[ack(1, msn=2), ack(0)], [ack(2, msn=3)]],
    ),
    Case(name="acknowledged twice", messages=[("send", 5)], steps=[[ack(0), ack(0)]]),
    Case(name="part of a message acknowledged", messages=LONG, steps=[[ack(0, msn=0)], [ack(2)]]),
    Case(name="packet lost", messages=LONG, steps=[[ack(1, SEQUENCE, 0)], [ack(2)]]),
    Case(name="first packet lost", messages=LONG, steps=[[ack(0, SEQUENCE, 0)], [ack(2)]]),
    Case(
        name="message lost",
        messages=THREE,
        steps=[[ack(1, SEQUENCE, 1)], [ack(2, msn=3)]],
    ),
    Case(
        name="lost twice",
        messages=LONG,
        steps=[[ack(1, SEQUENCE, 0)], [ack(1, SEQUENCE, 0)], [ack(2)]],
    ),
    Case(
        name="lost too often",
        messages=[("send", 5)],
        retries=2,
        steps=[[ack(0, SEQUENCE, 0)]] * 3,
    ),
    Case(
        name="receiver not ready",
        messages=[("send", 5)],
        steps=[[ack(0, RNR | RNR_TIMER, 0)], [ack(0)]],
    ),
    Case(
        name="receiver not ready too often",
        messages=[("send", 5)],
        rnr_retries=1,
        steps=[[ack(0, RNR | RNR_TIMER, 0)]] * 2,
    ),
    Case(name="invalid request", messages=THREE, steps=[[ack(1, INVALID_REQUEST)]]),
    Case(name="remote access error", messages=THREE, steps=[[ack(1, REMOTE_ACCESS)]]),
    Case(name="remote operational error", messages=THREE, steps=[[ack(0, REMOTE_OPERATION, 0)]]),
    Case(name="reserved nak", messages=[("send", 5)], steps=[[ack(0, 0x7F, 0)], [ack(0)]]),
    Case(name="beyond what was sent", messages=[("send", 5)], steps=[[ack(1)], [ack(0)]]),
    Case(name="far beyond", messages=[("send", 5)], steps=[[ack(0x100000)], [ack(0)]]),
    Case(name="before what was sent", messages=[("send", 5)], steps=[[ack(-1, msn=0)], [ack(0)]]),
    Case(
        name="nak beyond what was sent",
        messages=[("send", 5)],
        steps=[[ack(1, SEQUENCE, 0)], [ack(0)]],
    ),
    Case(name="bad icrc", messages=[("send", 5)], steps=[[ack(0, icrc_error=1)], [ack(0)]]),
    Case(name="other queue pair", messages=[("send", 5)], steps=[[ack(0, qpn=0xABC)], [ack(0)]]),
    Case(
        name="other address",
        messages=[("send", 5)],
        steps=[[ack(0, source_ip="10.98.0.98")], [ack(0)]],
    ),
    Case(name="credits", messages=THREE, steps=[[ack(0, 0x00)], [ack(2, 0x05, 3)]]),
    Case(name="message count that is wrong", messages=THREE, steps=[[ack(2, msn=77)]]),
    Case(
        name="cnp",
        messages=[("send", 5)],
        steps=[
            [Request(opcode=f.CNP, psn=0, ack=False, extension=bytes(16), marks=0x40)],
            [ack(0)],
        ],
    ),
    Case(
        name="silence, then an answer",
        messages=LONG,
        timeout=LONG_TIMEOUT,
        counts={0: 3, 1: 3},
        steps=[[], [ack(2)]],
    ),
    Case(
        name="silence",
        messages=[("send", 5)],
        timeout=SHORT_TIMEOUT,
        retries=2,
        steps=[],
    ),
]


def record(program: Path) -> bytes:
    """What the file has."""
    return record_cases(program, CASES, run)


def run(case: Case, verbs: Verbs, raw: RawPort, source: Address, target: Address) -> dict:
    """The case as the file has it."""
    memory = random.Random(26).randbytes(REGION_BYTES)
    near = verbs.call("open", mtu=MTU, psn=case.psn, bytes=REGION_BYTES)
    limits = {name: getattr(case, name) for name in ("timeout", "retries", "rnr_retries")}
    peer = {"address": source.ip, "qpn": OWN_QPN, "psn": 0}
    messages = [
        {"id": number, "opcode": opcode, "offset": 0, "bytes": length}
        for number, (opcode, length) in enumerate(case.messages)
    ]
    where = {"to": TARGET, "rkey": KEY, "imm": IMM}
    verbs.calls(
        {"do": "connect", **peer, **limits},
        {"do": "fill", "offset": 0, "hex": memory.hex()},
        *({"do": "post", **message, **where} for message in messages),
    )
    steps = []
    for number, replies in enumerate([*case.steps, []]):
        count = case.counts.get(number)
        came = f.until_quiet(raw, QUIET_S if count is None else REPEAT_S, count)
        answers = [reply.frame(source, target, near["qpn"]) for reply in replies]
        for answer in answers:
            raw.send(answer)
        steps.append(
            {"requests": [it.hex() for it in came], "answers": [it.hex() for it in answers]}
        )
    polled = verbs.call("poll", count=len(messages) + 1, limit_s=0.1)
    return {
        "name": case.name,
        "mtu": MTU,
        "psn": case.psn,
        "qpn": near["qpn"],
        **limits,
        "to": TARGET,
        "rkey": KEY,
        "imm": IMM,
        "memory": memory.hex(),
        "messages": messages,
        "steps": steps,
        "completions": polled["completions"],
    }


if __name__ == "__main__":
    sys.exit(main(__doc__, OUTPUT, record))

"""Packets of the protocol whose fields take all pairs of their extreme values.

The layouts are those of vectors/generate.py, which shares no code with the Rust core.
"""

import struct
import sys
from pathlib import Path

import covering

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "vectors"))

import generate

FROM_OPENER = 0x80
HEADER_BYTES = 22
BITS = {"B": 8, "H": 16, "I": 32, "Q": 64}
FLAGS = [0, 0x01, 0x02, 0x04, 0x05, 0x10, 0x20, 0x80, 0xBF, 0xFF]
INDEXES = [0, 1, 2**32, 2**62, 2**63, 2**64 - 1]
FREQUENCIES = [0.0, 100e6, 1e300, float("nan"), float("inf"), float("-inf")]
COOKIE_BYTES = 16
SEQS = ("seq", "released", "limit", "settled", "highest_end", "oldest", "last")
OF_THE_OPENING = ("nonce", "tag", "stream")
"""Fields of ACCEPT by which an opener knows its answer."""
HONEST = generate.ACCEPT | {"stream": 0, "streams": 1, "index": 0, "seq": 0, "tlvs": []}


def extremes(code: str) -> list:
    """Values of a field of the wire at which arithmetic goes wrong."""
    if code == "16s":
        return [bytes(COOKIE_BYTES), b"\xff" * COOKIE_BYTES]
    half = 1 << (BITS[code] - 1)
    return [0, 1, half - 1, half, 2 * half - 1]


def header_fields() -> dict[str, list]:
    words = extremes("I")
    return {"flags": FLAGS, "tag": words, "index": INDEXES, "seq": words, "departure": words}


def body_fields(kind: str) -> dict[str, list]:
    """The fields of a body, the lists among them too."""
    fields = {name: extremes(code) for name, code in generate.BODIES.get(kind, [])}
    if kind == "DATA":
        fields["payload"] = [bytes(count) for count in (8, 16, 1400)]
    if kind == "REPORT":
        largest = 2**32 - 1
        fields["ranges"] = [[], [(0, 0)], [(0, largest)], [(largest, largest)] * 32]
    if kind in ("OPEN", "ACCEPT"):
        fields["tlvs"] = [[]] + [[(1, struct.pack(">d", value))] for value in FREQUENCIES]
        fields["tlvs"] += [[(2, b"\x1b[2J\xff")], [(4, struct.pack(">QI", 1, 0))]]
        fields["total_len"] = [128, 1472]
    return fields


def rows(kind: str, **fixed: object) -> list[dict]:
    """Fields of packets of one type: every pair of extremes, but for what is fixed."""
    choices = {**header_fields(), **body_fields(kind)}
    if "zero" in choices:
        choices["zero"] = [0, 1]
    return covering.rows(choices | {name: [value] for name, value in fixed.items()})


def hostile(kind: str, **fixed: object) -> list[bytes]:
    """The same as packets with right CRCs."""
    return [build(kind, row) for row in rows(kind, **fixed)]


def shifted(row: dict, base: int) -> dict:
    """The row with its seqs counted from `base`."""
    return row | {name: (row[name] + base) % 2**32 for name in SEQS if name in row}


def build(kind: str, row: dict) -> bytes:
    head = {name: row[name] for name in header_fields()}
    return generate.packet(kind, head, row)


def open_packet(**changes: object) -> bytes:
    """An OPEN as an honest host sends it, but for these fields."""
    head = generate.head(flags=FROM_OPENER, tag=0, index=changes.pop("index", 0))
    return generate.packet("OPEN", head, generate.OPEN | {"stream": 0} | changes)


def hostile_terms() -> list[dict]:
    """Rows of the fields of an ACCEPT that answers an opening: all pairs of extreme terms.

    Each field also takes the value of an honest device. A row of extremes alone breaks many rules,
    and the first rule would hide the others.
    """
    choices = {name: [generate.ACCEPT[name], *extremes(code)]
               for name, code in generate.BODIES["ACCEPT"]}  # fmt: skip
    choices |= {name: [generate.ACCEPT[name]] for name in OF_THE_OPENING}
    choices |= {"tlvs": body_fields("ACCEPT")["tlvs"], "index": INDEXES, "seq": extremes("I")}
    one_wrong = [HONEST | {name: value} for name, values in choices.items() for value in values[1:]]
    return one_wrong + covering.rows(choices)


def accept(row: dict, asked: dict) -> bytes:
    """An ACCEPT of these terms for an OPEN."""
    head = generate.head(tag=asked["tag"], index=row["index"], seq=row["seq"])
    return generate.packet("ACCEPT", head, row)


def challenge(asked: dict) -> bytes:
    body = {"nonce": asked["nonce"], "cookie": b"\x01" * COOKIE_BYTES}
    return generate.packet("CHALLENGE", generate.head(tag=asked["tag"]), body)


def mark_packet(tag: int) -> bytes:
    return generate.packet("MARK", generate.head(tag=tag), generate.MARK)


def body_of(kind: str, data: bytes) -> dict[str, object]:
    """The fields of the fixed part of a packet's body."""
    layout = generate.BODIES[kind]
    values = struct.unpack_from(">" + "".join(code for _, code in layout), data, HEADER_BYTES)
    return dict(zip((name for name, _ in layout), values, strict=True))


def kind_of(data: bytes) -> str:
    """The type of a packet; empty for what is none."""
    at = data[0] & 0xF if len(data) > HEADER_BYTES else len(generate.TYPES)
    return generate.TYPES[at] if at < len(generate.TYPES) else ""

#!/usr/bin/env python3
"""Write block.json, frames of the block transfer, or check it (--check).

The layouts stand here a second time, from docs/block.md and not from the Rust code. Python 3 alone,
no packages.
"""

import json
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "block.json"

DESTINATION, SOURCE = "020000000002", "020000000001"
ETHER_TYPE = 0x88B5
DATA, SUMMARY, ANSWER, WITH_ID = 1, 2, 3, 0x10
ID = 0x01020304
SHORTEST, LONGEST = 60, 1500
LAST_SEQ = 2**32 - 2


def crc32c(data: bytes) -> int:
    """CRC-32C, bit by bit (RFC 3720, appendix B.4)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def pattern(count: int) -> bytes:
    return bytes((3 + 7 * at + at // 256) % 256 for at in range(count))


def frame(number: int, body: bytes, transfer: int | None, padding: bytes = b"\0") -> bytes:
    head = bytes.fromhex(DESTINATION + SOURCE) + ETHER_TYPE.to_bytes(2, "big")
    if transfer is None:
        head += bytes([number])
    else:
        head += bytes([number | WITH_ID]) + transfer.to_bytes(4, "big")
    return head + body + padding * (SHORTEST - len(head + body))


def entry(name: str, kind: str, fields: dict, data: bytes, transfer: int | None) -> dict:
    return {"name": name, "type": kind, "destination": DESTINATION, "source": SOURCE,
            "transfer": transfer, **fields, "hex": data.hex()}  # fmt: skip


def data(name: str, seq: int, count: int, transfer: int | None) -> dict:
    payload = pattern(count)
    whole = frame(DATA, seq.to_bytes(4, "big") + payload, transfer)
    return entry(name, "DATA", {"seq": seq, "payload": payload.hex()}, whole, transfer)


def summary(name: str, packets: int, count: int, transfer: int | None, crc: int = 0) -> dict:
    body = packets.to_bytes(4, "big") + count.to_bytes(8, "big")
    fields = {"packets": packets, "bytes": f"0x{count:016x}"}
    if transfer is not None:
        body += crc.to_bytes(4, "big")
        fields["crc"] = crc
    return entry(name, "SUMMARY", fields, frame(SUMMARY, body, transfer), transfer)


def complete(name: str, transfer: int | None) -> dict:
    return entry(name, "OK", {}, frame(ANSWER, b"OK", transfer), transfer)


def checking(name: str, transfer: int) -> dict:
    return entry(name, "CK", {}, frame(ANSWER, b"CK\xff\xff", transfer), transfer)


def missing(name: str, seqs: list[int], transfer: int | None) -> dict:
    body = b"MI" + len(seqs).to_bytes(2, "big") + b"".join(seq.to_bytes(4, "big") for seq in seqs)
    return entry(name, "MI", {"seqs": seqs}, frame(ANSWER, body, transfer), transfer)


def frames() -> list[dict]:
    """Each type, and each length at its bounds."""
    rows = [data("id_of_all_ones", 5, 50, 2**32 - 1), complete("id_of_zero", 0)]
    for suffix, transfer, longest, unpadded, seqs in (
        ("", None, 1481, 41, 370), ("_with_id", ID, 1477, 37, 369),
    ):  # fmt: skip
        file, most = pattern(longest + 1), 2**32 - 1
        seqs_of_60 = list(range(0x100, 0x100 + unpadded // 4))
        rows += [
            data(f"first_data{suffix}", 0, longest, transfer),
            data(f"data_of_one_byte{suffix}", 1, 1, transfer),
            data(f"padded_data{suffix}", 2, unpadded - 1, transfer),
            data(f"data_that_fills_a_frame_of_60{suffix}", 3, unpadded, transfer),
            data(f"data_of_61{suffix}", 4, unpadded + 1, transfer),
            data(f"last_seq{suffix}", LAST_SEQ, 100, transfer),
            summary(f"summary{suffix}", 2, len(file), transfer, crc32c(file)),
            summary(f"summary_of_nothing{suffix}", 0, 0, transfer, crc32c(b"")),
            summary(f"longest_summary{suffix}", most, longest * most, transfer, most),
            complete(f"ok{suffix}", transfer),
            missing(f"one_missing{suffix}", [0], transfer),
            missing(f"missing_in_a_frame_of_60{suffix}", seqs_of_60, transfer),
            missing(f"missing_in_a_frame_above_60{suffix}", [*seqs_of_60, LAST_SEQ], transfer),
            missing(f"longest_list{suffix}", [LAST_SEQ - 3 * at for at in reversed(range(seqs))],
                    transfer),
        ]  # fmt: skip
    return [*rows, checking("checking", ID)]


def invalid() -> list[dict]:
    """Frames that are dropped, with the first check that fails."""
    good = frame(DATA, bytes(4) + pattern(100), ID)

    def changed(at: int, value: bytes) -> bytes:
        return good[:at] + value + good[at + len(value) :]

    def answer(body: bytes, transfer: int | None = ID) -> bytes:
        return frame(ANSWER, body, transfer)

    rows = [
        ("nothing", b"", "TooShort"),
        ("one_byte_below_60", frame(ANSWER, b"OK", ID)[:59], "TooShort"),
        ("one_byte_above_1500", frame(DATA, bytes(4) + pattern(1478), ID), "TooLong"),
        ("ipv4", changed(12, b"\x08\x00"), "EtherType"),
        ("vlan_tag", changed(12, b"\x81\x00"), "EtherType"),
        ("from_broadcast", changed(6, b"\xff" * 6), "GroupSource"),
        ("from_a_group", changed(6, b"\x01"), "GroupSource"),
        *((f"type_{kind:02x}", changed(14, bytes([kind])), "UnknownType")
          for kind in (0x00, 0x04, 0x10, 0x14, 0x21, 0x81, 0x91, 0xFF)),
        ("answer_of_zeros", answer(bytes(2)), "Answer"),
        ("answer_in_small_letters", answer(b"ok"), "Answer"),
        ("answer_mk", answer(b"MK\0\1"), "Answer"),
        ("ok_in_front_of_a_list", answer(b"OK\0\1" + bytes(4)), "OkWithCount"),
        ("checking_without_id", answer(b"CK\xff\xff", None), "Answer"),
        ("checking_with_padding", answer(b"CK"), "CheckingWithCount"),
        ("checking_with_another_count", answer(b"CK\xff\xfe"), "CheckingWithCount"),
        ("empty_list", answer(b"MI" + bytes(2)), "Count"),
        ("empty_list_without_id", answer(b"MI" + bytes(2), None), "Count"),
        ("list_longer_than_its_frame", answer(b"MI\0\x0a" + pattern(37)), "Count"),
        ("list_longer_than_its_frame_without_id", answer(b"MI\0\x0b" + pattern(41), None), "Count"),
        ("list_of_370_with_id", answer(b"MI\x01\x72" + bytes(4 * 369 + 1)), "Count"),
        ("list_of_371_without_id", answer(b"MI\x01\x73" + bytes(4 * 370 + 1), None), "Count"),
        ("list_of_65535", answer(b"MI\xff\xff" + bytes(4 * 369)), "Count"),
    ]  # fmt: skip
    return [{"name": name, "hex": data.hex(), "error": error} for name, data, error in rows]


def unusual() -> list[dict]:
    """Frames that are accepted, although this project writes them otherwise."""
    two = b"MI\0\2" + bytes(4) + b"\0\0\0\1"
    rows = [
        ("summary_with_other_padding", frame(SUMMARY, bytes(12), None, b"\xa5"), "SUMMARY"),
        ("ok_with_other_padding", frame(ANSWER, b"OK", None, b"\xa5"), "OK"),
        ("list_with_other_padding", frame(ANSWER, two, None, b"\xa5"), "MI"),
        ("list_with_id_and_other_padding", frame(ANSWER, two, ID, b"\xa5"), "MI"),
        ("longer_ok", frame(ANSWER, b"OK" + bytes(500), ID), "OK"),
        ("longer_list", frame(ANSWER, two + bytes(500), ID), "MI"),
        ("longer_checking", frame(ANSWER, b"CK\xff\xff" + bytes(500), ID), "CK"),
    ]
    return [{"name": name, "hex": data.hex(), "type": kind} for name, data, kind in rows]


def main() -> int:
    assert crc32c(b"123456789") == 0xE3069283, "the catalogue's check value"
    parts = {"frames": frames(), "invalid": invalid(), "unusual": unusual()}
    for row in (row for rows in parts.values() for row in rows):
        length = len(row["hex"]) // 2
        is_length = SHORTEST <= length <= LONGEST
        assert is_length or row.get("error") in ("TooShort", "TooLong"), row["name"]
    lists = [
        f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]"
        for name, rows in parts.items()
    ]
    text = "{\n" + ",\n".join(lists) + "\n}\n"
    if "--check" not in sys.argv[1:]:
        TABLE.write_text(text)
    elif not TABLE.exists() or TABLE.read_text() != text:
        print(f"stale: {TABLE.name}; run {Path(__file__).name}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

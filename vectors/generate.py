#!/usr/bin/env python3
"""Write packets.json, invalid.json and terms.json, or check them with --check.

The layouts and the CRC stand here a second time, written from docs/protocol.md and not from the
Rust code, so that each of the two checks the other. Python 3 alone, no packages.
"""

import json
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TYPES = [
    "DATA", "MARK", "REPORT", "OPEN", "CHALLENGE", "ACCEPT", "REFUSE", "CLOSE", "CLOSE_ACK",
]  # fmt: skip

# The fixed bodies: field and struct code, in the order of the wire; "zero" is no field.
BODIES = {
    "MARK": [("oldest", "I"), ("report", "I"), ("echo", "I"), ("hold", "I"),
             ("source_lost", "Q"), ("time_ns", "Q")],
    "REPORT": [("released", "I"), ("limit", "I"), ("settled", "I"), ("highest_end", "I"),
               ("echo", "I"), ("hold", "I"), ("received", "I"), ("marked", "I"),
               ("skipped", "I"), ("late", "H")],
    "OPEN": [("tag", "I"), ("role", "B"), ("delivery", "B"), ("stream", "H"), ("nonce", "Q"),
             ("owner", "Q"), ("cookie", "16s"), ("window", "I"), ("max_packet_bytes", "H"),
             ("pad", "B"), ("trailer_kind", "B"), ("deadline_us", "I"), ("zero", "I")],
    "CHALLENGE": [("nonce", "Q"), ("cookie", "16s")],
    "ACCEPT": [("nonce", "Q"), ("tag", "I"), ("stream", "H"), ("streams", "H"), ("boot_id", "Q"),
               ("rate_numerator", "Q"), ("rate_denominator", "I"), ("format", "H"),
               ("channels", "H"), ("packet_samples", "I"), ("payload_bytes", "H"),
               ("payload_offset", "B"), ("trailer_kind", "B"), ("window", "I"),
               ("reorder_tolerance", "I"), ("dead_ms", "H"), ("idle_ms", "H"),
               ("ranges_max", "H"), ("granularity_bytes", "H"), ("time_ns", "Q")],
    "REFUSE": [("nonce", "Q"), ("reason", "H"), ("versions", "H"), ("retry_ms", "I")],
    "CLOSE": [("reason", "H"), ("zero", "H"), ("last", "I"), ("source_lost", "Q")],
    "CLOSE_ACK": [("reason", "H"), ("zero", "H"), ("echoed_tag", "I"), ("source_lost", "Q")],
}  # fmt: skip


def crc32c(data: bytes) -> int:
    """CRC-32C, one bit at a time (RFC 3720, appendix B.4)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def sealed(covered: bytes) -> bytes:
    return covered + struct.pack(">I", crc32c(covered))


def header_bytes(kind: str, header: dict, version: int = 1) -> bytes:
    first = version << 4 | TYPES.index(kind)
    return struct.pack(
        ">BBIQII", first, header["flags"], header["tag"], header["index"], header["seq"],
        header["departure"],
    )  # fmt: skip


def tlv_bytes(tlvs: list) -> bytes:
    return b"".join(struct.pack(">HH", kind, len(value)) + value for kind, value in tlvs)


def body_bytes(kind: str, fields: dict) -> bytes:
    if kind == "DATA":
        return fields["payload"]
    layout = BODIES[kind]
    body = struct.pack(">" + "".join(code for _, code in layout),
                       *(fields.get(name, 0) for name, _ in layout))  # fmt: skip
    if kind == "REPORT":
        body += struct.pack(">H", len(fields["ranges"]))
        body += b"".join(struct.pack(">II", *pair) for pair in fields["ranges"])
    if kind in ("OPEN", "ACCEPT"):
        body += tlv_bytes(fields["tlvs"])
        body += bytes(fields["total_len"] - 22 - 4 - len(body))
    return body


def packet(kind: str, header: dict, fields: dict) -> bytes:
    return sealed(header_bytes(kind, header) + body_bytes(kind, fields))


def readable(name: str, value: object) -> object:
    """64-bit numbers as hex strings, bytes as hex, the rest as it is."""
    if name == "tlvs":
        return [{"kind": kind, "value": value.hex()} for kind, value in value]
    if name == "ranges":
        return [{"first": first, "count": count} for first, count in value]
    if isinstance(value, bytes):
        return value.hex()
    if name in WIDE:
        return f"0x{value:016x}"
    return value


WIDE = {name for layout in BODIES.values() for name, code in layout if code == "Q"} | {"index"}


def vector(name: str, kind: str, header: dict, fields: dict) -> dict:
    return {
        "name": name,
        "type": kind,
        "header": {key: readable(key, value) for key, value in header.items()},
        "body": {key: readable(key, value) for key, value in fields.items()},
        "hex": packet(kind, header, fields).hex(),
    }


def head(flags=0, tag=0x5EED0001, index=0, seq=0, departure=0x01020304) -> dict:
    return {"flags": flags, "tag": tag, "index": index, "seq": seq, "departure": departure}


def ramp(count: int) -> bytes:
    """Samples sc16 of one channel, both parts counting, little-endian."""
    return b"".join(struct.pack("<hh", i, -i) for i in range(count))


COOKIE = bytes(range(0xC0, 0xD0))
FREQUENCY = (1, struct.pack(">d", 1.42040575e9))
NAME = (2, "adc0/ch0-1".encode())
MARK = {
    "oldest": 0xFFFFFFF0, "report": 77, "echo": 0x0A0B0C0D, "hold": 1250,
    "source_lost": 0x0000000100000002, "time_ns": 0x17D0C5B1A2B3C4D5,
}  # fmt: skip
REPORT = {
    "released": 0xFFFFFFF8, "limit": 0x000003F8, "settled": 0x01020000, "highest_end": 0x00000010,
    "echo": 0x01020304, "hold": 625, "received": 123456, "marked": 7, "skipped": 3, "late": 65535,
}  # fmt: skip
OPEN = {
    "tag": 0x5EED0001, "role": 1, "delivery": 0, "stream": 2, "nonce": 0x0123456789ABCDEF,
    "owner": 0xFEDCBA9876543210, "cookie": bytes(16), "window": 4096, "max_packet_bytes": 9000,
    "pad": 0, "trailer_kind": 0, "deadline_us": 0, "tlvs": [], "total_len": 128,
}  # fmt: skip
ACCEPT = {
    "nonce": 0x0123456789ABCDEF, "tag": 0xDEADBEEF, "stream": 2, "streams": 8,
    "boot_id": 0xB007B007B007B007, "rate_numerator": 245_760_000, "rate_denominator": 1,
    "format": 2, "channels": 2, "packet_samples": 176, "payload_bytes": 1408, "payload_offset": 22,
    "trailer_kind": 0, "window": 2048, "reorder_tolerance": 6250, "dead_ms": 3000, "idle_ms": 100,
    "ranges_max": 32, "granularity_bytes": 64, "time_ns": 0x17D0C5B1A2B3C4D5,
    "tlvs": [FREQUENCY, NAME, (3, struct.pack(">I", 50))], "total_len": 1472,
}  # fmt: skip


def packets() -> list:
    end = 0xFFFFFFFF
    return [
        vector("data_of_8_bytes", "DATA", head(index=1, seq=1), {"payload": ramp(2)}),
        vector("data_start_after_overflow", "DATA",
               head(flags=0x05, index=0x1122334455667788, seq=end), {"payload": ramp(16)}),
        vector("data_of_1408_bytes_again_and_ask", "DATA",
               head(flags=0x28, index=352, seq=2), {"payload": ramp(352)}),
        vector("data_end_of_burst_of_3_samples", "DATA",
               head(flags=0x82, index=704, seq=3),
               {"payload": ramp(3) + bytes(4) + struct.pack(">Q", 3)}),
        vector("data_of_16_bytes_after_room_of_20", "DATA", head(index=707, seq=5),
               {"payload": bytes(20) + ramp(4)}),
        vector("data_meta_retune", "DATA", head(flags=0x10, index=704, seq=4),
               {"payload": tlv_bytes([FREQUENCY, (5, struct.pack(">d", -3.5))])}),
        vector("mark", "MARK", head(flags=0x20, index=0x1000, seq=0x10), MARK),
        vector("mark_of_ones", "MARK",
               {"flags": 0xBF, "tag": end, "index": 2**64 - 1, "seq": end, "departure": end},
               {name: 2 ** (8 * struct.calcsize(code)) - 1 for name, code in BODIES["MARK"]}),
        vector("mark_of_zeros", "MARK", head(tag=0, departure=0),
               {name: 0 for name, _ in BODIES["MARK"]}),
        vector("report_without_ranges", "REPORT", head(flags=0x80, index=0xFFF, seq=77),
               REPORT | {"ranges": []}),
        vector("report_of_2_ranges", "REPORT", head(flags=0xA0, index=0xFFF, seq=78),
               REPORT | {"ranges": [(0xFFFFFFF8, 4), (2, 1)]}),
        vector("report_of_32_ranges", "REPORT", head(flags=0x80, index=0xFFF, seq=79),
               REPORT | {"ranges": [(i * 5, i + 1) for i in range(32)]}),
        vector("open_without_cookie", "OPEN", head(flags=0x80, tag=0), OPEN),
        vector("open_padded_to_1500", "OPEN", head(flags=0x80, tag=0, index=0x100000),
               OPEN | {"cookie": COOKIE, "pad": 44, "delivery": 1, "deadline_us": 2500,
                       "max_packet_bytes": 1500, "tlvs": [NAME], "total_len": 1472}),
        vector("open_to_send", "OPEN", head(flags=0x80, tag=0, index=4096, seq=0xFFFFFF00),
               OPEN | {"role": 2, "cookie": COOKIE, "total_len": 1252}),
        vector("open_to_send_with_terms", "OPEN", head(flags=0x80, tag=0),
               OPEN | {"role": 2, "cookie": COOKIE,
                       "tlvs": [(8, struct.pack(">H", 128)), (9, b"\x01")]}),
        vector("open_to_describe", "OPEN", head(flags=0x80, tag=0),
               OPEN | {"role": 0, "stream": 0, "window": 0, "cookie": COOKIE}),
        vector("challenge", "CHALLENGE", head(),
               {"nonce": OPEN["nonce"], "cookie": COOKIE}),
        vector("accept", "ACCEPT", head(index=0x100000, seq=0xFFFFFF00), ACCEPT),
        vector("accept_without_padding", "ACCEPT", head(),
               ACCEPT | {"tlvs": [(0x7FFF, b"?")], "total_len": 22 + 72 + 5 + 4}),
        vector("accept_of_describe", "ACCEPT", head(),
               ACCEPT | {"tag": 0, "window": 0, "time_ns": 0, "total_len": 1252}),
        vector("refuse_busy", "REFUSE", head(),
               {"nonce": OPEN["nonce"], "reason": 1, "versions": 2, "retry_ms": 3000}),
        vector("refuse_for_a_reason_of_later", "REFUSE", head(),
               {"nonce": OPEN["nonce"], "reason": 999, "versions": 6, "retry_ms": 0}),
        vector("close", "CLOSE", head(flags=0x80, index=0x2000, seq=0x20),
               {"reason": 0, "last": 77, "source_lost": 0x0000000100000002}),
        vector("close_for_underflow", "CLOSE", head(index=0x2000, seq=0x20),
               {"reason": 6, "last": 77, "source_lost": 4096}),
        vector("close_for_a_jump_too_far", "CLOSE", head(index=0x2000, seq=0x20),
               {"reason": 7, "last": 77, "source_lost": 0}),
        vector("close_ack_done", "CLOSE_ACK", head(index=0x2000, seq=0x20),
               {"reason": 0, "echoed_tag": 0x5EED0001, "source_lost": 0x0000000100000002}),
        vector("close_ack_unknown_tag", "CLOSE_ACK", head(tag=0),
               {"reason": 1, "echoed_tag": 0xDEADBEEF, "source_lost": 0}),
    ]  # fmt: skip


def invalid() -> list:
    mark_head = header_bytes("MARK", head())
    mark = packet("MARK", head(), MARK)

    def case(name: str, error: str, data: bytes) -> dict:
        return {"name": name, "error": error, "hex": data.hex()}

    def of(kind: str, body: bytes) -> bytes:
        return sealed(header_bytes(kind, head()) + body)

    def with_first(byte: int) -> bytes:
        return sealed(bytes([byte]) + mark[1:-4])

    def body(kind: str, **changes: object) -> bytes:
        fields = {"MARK": MARK, "REPORT": REPORT | {"ranges": []}, "OPEN": OPEN,
                  "ACCEPT": ACCEPT}[kind]  # fmt: skip
        return body_bytes(kind, fields | changes)

    refuse = struct.pack(">QHHI", 1, 1, 2, 0)
    close = struct.pack(">HHIQ", 0, 0, 1, 2)
    ranges_lie = body("REPORT", ranges=[(1, 2), (3, 4)])
    return [
        case("nothing", "TooShort", b""),
        case("one_byte_less_than_header_and_crc", "TooShort", sealed(mark_head)[:-1]),
        case("version_0", "Version", with_first(0x01)),
        case("version_2", "Version", with_first(0x21)),
        case("type_9", "UnknownType", with_first(0x19)),
        case("type_15", "UnknownType", with_first(0x1F)),
        case("reserved_flag", "ReservedFlag", sealed(mark[:1] + b"\x40" + mark[2:-4])),
        case("payload_bit_flipped", "Crc", mark[:30] + bytes([mark[30] ^ 0x10]) + mark[31:]),
        case("crc_bit_flipped", "Crc", mark[:-1] + bytes([mark[-1] ^ 0x80])),
        case("crc_little_endian", "Crc", mark[:-4] + mark[:-5:-1]),
        case("crc_of_the_body_alone", "Crc", mark_head + sealed(body("MARK"))),
        case("data_without_payload", "Length", of("DATA", b"")),
        case("data_of_7_bytes", "Length", of("DATA", bytes(7))),
        case("mark_one_byte_short", "Length", of("MARK", body("MARK")[:-1])),
        case("mark_one_byte_long", "Length", of("MARK", body("MARK") + b"\0")),
        case("report_shorter_than_its_fields", "Length", of("REPORT", body("REPORT")[:-1])),
        case("report_with_a_range_too_few", "Count", of("REPORT", ranges_lie[:-8])),
        case("report_with_a_range_too_many", "Count", of("REPORT", ranges_lie + bytes(8))),
        case("report_with_half_a_range", "Count", of("REPORT", ranges_lie[:-4])),
        case("open_of_127_bytes", "Length", of("OPEN", body("OPEN")[:-1])),
        case("open_with_zero_field_set", "ReservedField", of("OPEN", body("OPEN", zero=1))),
        case("open_with_role_3", "Role", of("OPEN", body("OPEN", role=3))),
        case("open_with_tlv_past_the_end", "Tlv",
             of("OPEN", body("OPEN")[:56] + b"\0\x02\0\x2b" + bytes(42))),
        case("open_with_tlv_of_half_a_head", "Tlv",
             of("OPEN", body("OPEN", tlvs=[(9, bytes(39))])[:-3] + b"\0\x02\0")),
        case("challenge_one_byte_short", "Length", of("CHALLENGE", bytes(23))),
        case("challenge_one_byte_long", "Length", of("CHALLENGE", bytes(25))),
        case("accept_shorter_than_its_fields", "Length", of("ACCEPT", body("ACCEPT")[:71])),
        case("accept_with_tlv_past_the_end", "Tlv",
             of("ACCEPT", body("ACCEPT")[:72] + b"\xff\xff\xff\xff")),
        case("refuse_one_byte_short", "Length", of("REFUSE", refuse[:-1])),
        case("refuse_one_byte_long", "Length", of("REFUSE", refuse + b"\0")),
        case("close_one_byte_short", "Length", of("CLOSE", close[:-1])),
        case("close_with_zero_field_set", "ReservedField",
             of("CLOSE", close[:3] + b"\1" + close[4:])),
        case("close_ack_one_byte_long", "Length", of("CLOSE_ACK", close + b"\0")),
        case("close_ack_with_zero_field_set", "ReservedField",
             of("CLOSE_ACK", close[:2] + b"\x80" + close[3:])),
    ]  # fmt: skip


def terms() -> list:
    """ACCEPTs that are packets, and whether their terms hold; else the field that is wrong."""

    def case(name: str, wrong: str | None, index: int = 0, tlv: tuple | None = None,
             **changes: int) -> dict:  # fmt: skip
        fields = ACCEPT | {"tlvs": [FREQUENCY, *([tlv] if tlv else [])], "total_len": 128} | changes
        hexed = packet("ACCEPT", head(index=index), fields).hex()
        return {"name": name, "wrong": wrong, "hex": hexed}

    def double(kind: int, value: float) -> tuple:
        return (kind, struct.pack(">d", value))

    least = {"channels": 1, "packet_samples": 4, "payload_bytes": 16, "granularity_bytes": 8}
    nan, inf = float("nan"), float("inf")
    return [
        case("terms_that_hold", None),
        case("least_payload", None, **least),
        case("largest_index", None, index=2**63),
        case("rate_unknown", None, rate_numerator=0, rate_denominator=0),
        case("largest_rate", None, rate_numerator=2**64 - 1),
        case("smallest_rate", None, rate_numerator=1, rate_denominator=2**32 - 1),
        case("format_of_later", None, format=99, packet_samples=1),
        case("description_without_window", None, tag=0, window=0),
        case("frequency_below_zero", None, tlvs=[double(1, -1e9)]),
        case("times_at_their_bounds", None, dead_ms=400, idle_ms=100),
        case("longest_times", None, dead_ms=15_000, idle_ms=3_750, reorder_tolerance=62_500_000),
        case("index_above_2_to_the_63", "index", index=2**63 + 1),
        case("stream_beyond_the_last", "stream", stream=8),
        case("device_without_streams", "stream", stream=0, streams=0),
        case("rate_without_denominator", "rate_denominator", rate_denominator=0),
        case("no_channels", "channels", channels=0),
        case("no_samples_and_no_payload", "payload_bytes", packet_samples=0, payload_bytes=0),
        case("no_samples", "packet_samples", packet_samples=0),
        case("no_payload", "payload_bytes", payload_bytes=0),
        case("payload_no_multiple_of_8", "payload_bytes", payload_bytes=1404),
        case("one_sample_too_many", "payload_bytes", packet_samples=177),
        case("samples_that_wrap_32_bits", "packet_samples", packet_samples=2**32 - 1),
        case("payload_without_room_for_a_count", "payload_bytes",
             channels=1, packet_samples=2, payload_bytes=8, granularity_bytes=8),
        case("more_samples_than_bits", "packet_samples", format=99, packet_samples=8 * 1408 + 1),
        case("payload_in_the_header", "payload_offset", payload_offset=21),
        case("payload_offset_65", "payload_offset", payload_offset=65),
        case("other_trailer", "trailer_kind", trailer_kind=1),
        case("window_0", "window", window=0),
        case("window_above_2_to_the_24", "window", window=2**24 + 1),
        case("tolerance_above_1_s", "reorder_tolerance", reorder_tolerance=62_500_001),
        case("dead_after_399_ms", "dead_ms", dead_ms=399, idle_ms=1),
        case("dead_after_15001_ms", "dead_ms", dead_ms=15_001),
        case("idle_after_0", "idle_ms", idle_ms=0),
        case("idle_after_more_than_a_quarter", "idle_ms", dead_ms=400, idle_ms=101),
        case("no_ranges", "ranges_max", ranges_max=0),
        case("no_granularity", "granularity_bytes", granularity_bytes=0),
        case("granularity_12", "granularity_bytes", granularity_bytes=12),
        case("granularity_that_does_not_divide", "granularity_bytes", granularity_bytes=24),
        case("frequency_nan", "centre_frequency", tlvs=[double(1, nan)]),
        case("frequency_infinite", "centre_frequency", tlvs=[double(1, inf)]),
        case("gain_nan", "gain", tlv=double(5, nan)),
        case("gain_infinite", "gain", tlv=double(5, -inf)),
        case("bandwidth_nan", "bandwidth", tlv=double(6, nan)),
        case("bandwidth_below_zero", "bandwidth", tlv=double(6, -1.0)),
    ]


RDMA = {
    "queue_pair": [("qpn", "I"), ("first_psn", "I"), ("path_mtu_bytes", "H"), ("zero", "H")],
    "slots": [("address", "Q"), ("rkey", "I"), ("slot_bytes", "I"), ("slots", "I")],
    "record": [("index", "Q"), ("lost_before", "Q"), ("samples", "I"), ("seq", "I"),
               ("payload_crc", "I"), ("flags", "B"), ("zero", "35s")],
}  # fmt: skip
QUEUE_PAIR = {"qpn": 17, "first_psn": 0xFFFFFD, "path_mtu_bytes": 4096, "zero": 0}
SLOTS = {"address": 0x00007F0000001000, "rkey": 0xA1B2C3D4, "slot_bytes": 8256, "slots": 1024}
RECORD = {
    "index": 0x100000, "lost_before": 0, "samples": 2048, "seq": 0xFFFFFFFF,
    "payload_crc": crc32c(ramp(2048)), "flags": 0, "zero": bytes(35),
}  # fmt: skip


def rdma() -> list:
    """The two TLV values and the record of streams over RDMA, at their bounds."""
    vectors = []

    def case(name: str, kind: str, wrong: str | None = None, cut: int = 0,
             immediate: int | None = None, **changes: object) -> None:  # fmt: skip
        fields = {"queue_pair": QUEUE_PAIR, "slots": SLOTS, "record": RECORD}[kind] | changes
        layout = RDMA[kind]
        value = struct.pack(">" + "".join(c for _, c in layout), *(fields[n] for n, _ in layout))
        shown = {n: f"0x{fields[n]:016x}" if code == "Q" else fields[n]
                 for n, code in layout if n != "zero"}  # fmt: skip
        extra = {}
        if kind == "record":
            extra["immediate"] = fields["seq"] if immediate is None else immediate
        value = value[: len(value) - cut]
        vectors.append({"name": name, "kind": kind, "fields": shown, **extra, "wrong": wrong,
                        "hex": value.hex()})  # fmt: skip

    for qpn, wrong in ((0, "qpn"), (1, "qpn"), (2, None), (2**24 - 2, None), (2**24 - 1, "qpn")):
        case(f"qpn_{qpn}", "queue_pair", wrong, qpn=qpn)
    for psn, wrong in ((0, None), (2**24 - 1, None), (2**24, "first_psn")):
        case(f"psn_{psn}", "queue_pair", wrong, first_psn=psn)
    for mtu in (256, 512, 1024, 2048, 4096):
        case(f"mtu_{mtu}", "queue_pair", path_mtu_bytes=mtu)
    for mtu in (0, 128, 1500, 8192):
        case(f"mtu_{mtu}", "queue_pair", "path_mtu_bytes", path_mtu_bytes=mtu)
    case("queue_pair_reserved", "queue_pair", "zero", zero=1)
    case("queue_pair_cut", "queue_pair", "length", cut=1)

    for count, wrong in ((0, "slots"), (1, None), (3, "slots"), (2**24, None), (2**25, "slots")):
        case(f"slots_{count}", "slots", wrong, slots=count)
    for size, wrong in ((0, 1), (64, 1), (128, 0), (160, 1), (65600, 0), (65664, 1)):
        case(f"slot_bytes_{size}", "slots", "slot_bytes" if wrong else None, slot_bytes=size)
    case("address_unaligned", "slots", "address", address=0x1020)
    case("address_0", "slots", address=0)
    end = 2**64 - 1024 * 8256
    case("region_ends_before_the_last_byte", "slots", address=end - 64)
    case("region_past_the_last_address", "slots", "address", address=end)
    case("slots_cut", "slots", "length", cut=4)

    case("record", "record")
    case("record_of_all_flags_but_meta", "record", flags=0x07, lost_before=0x100000)
    case("record_of_meta", "record", flags=0x10, samples=0)
    case("record_at_the_last_index", "record", index=2**63, seq=0)
    case("record_past_the_last_index", "record", "index", index=2**63 + 1)
    case("record_of_another_seq", "record", "seq", immediate=0)
    case("record_lost_without_flag", "record", "lost_before", lost_before=1)
    case("record_flag_without_lost", "record", "lost_before", flags=0x04)
    case("record_lost_before_index_0", "record", "lost_before", flags=4, lost_before=0x100001)
    case("record_meta_with_samples", "record", "samples", flags=0x10)
    for flag in (0x08, 0x20, 0x40, 0x80):
        case(f"record_flag_{flag:#04x}", "record", "flags", flags=flag)
    case("record_first_reserved", "record", "zero", zero=b"\1" + bytes(34))
    case("record_last_reserved", "record", "zero", zero=bytes(34) + b"\1")
    return vectors


def main() -> int:
    assert crc32c(b"123456789") == 0xE3069283, "the catalogue's check value"
    stale = []
    for name, vectors in (
        ("packets.json", packets()), ("invalid.json", invalid()), ("terms.json", terms()),
        ("rdma.json", rdma()),
    ):
        text = json.dumps(vectors, indent=1) + "\n"
        path = HERE / name
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(name)
    if stale:
        print(f"stale: {', '.join(stale)}; run {Path(__file__).name}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

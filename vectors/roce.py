#!/usr/bin/env python3
"""Write roce.json, frames of RoCEv2 reliable connections, or check it (--check).

The layouts and the CRC stand here a second time, from the InfiniBand Architecture Specification
Vol. 1 ("IB") and its annex A17, not from the Rust code. Python 3 alone, no packages; check_roce.py
compares the frames with scapy.
"""

import json
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "roce.json"

# IB 9.2, reliable connections; A17.9.3 for the congestion notification.
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM = range(6)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = range(6, 12)
READ_REQUEST, ACKNOWLEDGE, COMPARE_SWAP, FETCH_ADD = 0x0C, 0x11, 0x13, 0x14
SEND_LAST_INV, SEND_ONLY_INV, FLUSH, ATOMIC_WRITE, CNP = 0x16, 0x17, 0x1C, 0x1D, 0x81
RESERVED_REQUESTS = (0x15, 0x18, 0x19, 0x1A, 0x1B, 0x1E, 0x1F)

WITH_RETH = {WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMM}
WITH_IMMEDIATE = {SEND_LAST_IMM, SEND_ONLY_IMM, WRITE_LAST_IMM, WRITE_ONLY_IMM}

ROUTE = {
    "source_mac": "020000000001", "destination_mac": "020000000002", "source_ip": "c0000201",
    "destination_ip": "c0000202", "source_port": 49152, "identification": 0x1234, "tos": 0x02,
    "ttl": 64,
}  # fmt: skip
# MigReq is 1 on a connection without path migration (IB 9.2).
BTH = {
    "solicited": False, "migrated": True, "p_key": 0xFFFF, "fecn": False, "becn": False,
    "destination": 0x11, "ack_request": False, "psn": 0,
}  # fmt: skip
RETH = {"address": "0x00007f0012345678", "key": 0xDEADBEEF, "len_bytes": 0}
IMMEDIATE = 0x01020304


def crc32(data: bytes) -> int:
    """Ethernet's CRC-32 (IEEE 802.3), bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            low = (crc ^ byte >> bit) & 1
            crc = crc >> 1 ^ (0xEDB88320 if low else 0)
    return crc ^ 0xFFFFFFFF


def internet_sum(data: bytes) -> int:
    """The checksum of RFC 1071."""
    data += bytes(len(data) % 2)
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def icrc(ip_packet: bytes) -> bytes:
    """IB 7.8.1 and A17.3.3, of an IPv4 packet that ends in front of it."""
    masked = bytearray(ip_packet)
    for at in (1, 8, 10, 11, 26, 27, 32):
        masked[at] = 0xFF
    return crc32(b"\xff" * 8 + bytes(masked)).to_bytes(4, "little")


def bth(opcode: int, fields: dict, pad: int, version: int = 0) -> bytes:
    flags = fields["solicited"] << 7 | fields["migrated"] << 6 | pad << 4 | version
    destination = fields["fecn"] << 31 | fields["becn"] << 30 | fields["destination"]
    psn = fields["ack_request"] << 31 | fields["psn"]
    return (
        bytes([opcode, flags]) + fields["p_key"].to_bytes(2, "big")
        + destination.to_bytes(4, "big") + psn.to_bytes(4, "big")
    )  # fmt: skip


def frame(route: dict, transport: bytes, udp_checksum: bool = False) -> bytes:
    """Ethernet, IPv4 and UDP around a transport packet, and its ICRC after it."""
    udp_len = 8 + len(transport) + 4
    addresses = bytes.fromhex(route["source_ip"] + route["destination_ip"])
    ip = bytearray(
        bytes([0x45, route["tos"]]) + (20 + udp_len).to_bytes(2, "big")
        + route["identification"].to_bytes(2, "big") + b"\x40\x00" + bytes([route["ttl"], 17])
        + b"\0\0" + addresses
    )  # fmt: skip
    ip[10:12] = internet_sum(bytes(ip)).to_bytes(2, "big")
    udp = bytearray(
        route["source_port"].to_bytes(2, "big") + (4791).to_bytes(2, "big")
        + udp_len.to_bytes(2, "big") + b"\0\0"
    )  # fmt: skip
    tail = transport + icrc(bytes(ip + udp) + transport)
    if udp_checksum:
        pseudo = addresses + b"\0\x11" + udp_len.to_bytes(2, "big")
        udp[6:8] = internet_sum(pseudo + bytes(udp) + tail).to_bytes(2, "big")
    mac = bytes.fromhex(route["destination_mac"] + route["source_mac"])
    return mac + b"\x08\x00" + bytes(ip + udp) + tail


def pattern(count: int, seed: int) -> bytes:
    return bytes((seed + 7 * at + at // 256) % 256 for at in range(count))


def request(name: str, opcode: int, size: int, total: int | None = None, **fields: int) -> dict:
    """A packet of a SEND or WRITE with `size` bytes of a message of `total`."""
    header = {**BTH, **{key: value for key, value in fields.items() if key in BTH}}
    route = {**ROUTE, **{key: value for key, value in fields.items() if key in ROUTE}}
    payload, body, vector = pattern(size, opcode), b"", {}
    if opcode in WITH_RETH:
        reth = {**RETH, "len_bytes": size if total is None else total}
        body += int(reth["address"], 16).to_bytes(8, "big") + reth["key"].to_bytes(4, "big")
        body += reth["len_bytes"].to_bytes(4, "big")
        vector["reth"] = reth
    if opcode in WITH_IMMEDIATE:
        body += IMMEDIATE.to_bytes(4, "big")
        vector["immediate"] = IMMEDIATE
    pad = -size % 4
    transport = bth(opcode, header, pad) + body + payload + bytes(pad)
    return {
        "name": name, "opcode": opcode, "route": route, "bth": header, "pad": pad, **vector,
        "payload": payload.hex(), "hex": frame(route, transport).hex(),
    }  # fmt: skip


def unsupported(name: str, opcode: int, size: int) -> dict:
    transport = bth(opcode, BTH, 0) + pattern(size, opcode)
    return {"name": name, "opcode": opcode, "route": ROUTE, "bth": BTH, "pad": 0,
            "hex": frame(ROUTE, transport).hex()}  # fmt: skip


def acknowledge(name: str, syndrome: int, msn: int, psn: int) -> dict:
    header = {**BTH, "psn": psn}
    transport = bth(ACKNOWLEDGE, header, 0) + bytes([syndrome]) + msn.to_bytes(3, "big")
    return {"name": name, "opcode": ACKNOWLEDGE, "route": ROUTE, "bth": header, "pad": 0,
            "aeth": {"syndrome": syndrome, "msn": msn},
            "hex": frame(ROUTE, transport).hex()}  # fmt: skip


def notification(name: str, destination: int) -> dict:
    """A17.9.3: no MigReq, 16 zero bytes. Ours: BECN, DSCP 48, not ECN-capable."""
    header = {**BTH, "migrated": False, "becn": True, "destination": destination}
    route = {**ROUTE, "tos": 48 << 2}
    transport = bth(CNP, header, 0) + bytes(16)
    return {"name": name, "opcode": CNP, "route": route, "bth": header, "pad": 0,
            "hex": frame(route, transport).hex()}  # fmt: skip


def frames() -> list[dict]:
    last = 0xFFFFFF
    return [
        request("send_first", SEND_FIRST, 256, psn=last - 2),
        request("send_middle", SEND_MIDDLE, 256, psn=last - 1),
        request("send_last_at_the_last_psn", SEND_LAST, 3, psn=last, ack_request=True),
        request("send_last_immediate_behind_the_wrap", SEND_LAST_IMM, 1, psn=0, ack_request=True),
        request("send_only_without_bytes", SEND_ONLY, 0, psn=1, ack_request=True),
        request("send_only_pad_0", SEND_ONLY, 4, psn=2),
        request("send_only_pad_1", SEND_ONLY, 3, psn=3),
        request("send_only_pad_2", SEND_ONLY, 2, psn=4),
        request("send_only_pad_3", SEND_ONLY, 1, psn=5),
        request("send_only_immediate", SEND_ONLY_IMM, 10, psn=6, solicited=True),
        request("write_first", WRITE_FIRST, 256, total=2**31, psn=0x7FFFFF),
        request("write_middle", WRITE_MIDDLE, 256, psn=0x800000),
        request("write_last", WRITE_LAST, 255, psn=0x800001, ack_request=True),
        request("write_last_immediate", WRITE_LAST_IMM, 254, psn=7),
        request("write_only_without_bytes", WRITE_ONLY, 0, psn=8),
        request("write_only_without_bytes_immediate", WRITE_ONLY_IMM, 0, psn=9),
        request("write_only_pad_1", WRITE_ONLY, 7, psn=10),
        request("write_only_immediate_pad_3", WRITE_ONLY_IMM, 5, psn=11),
        request("write_only_4096_bytes", WRITE_ONLY, 4096, psn=12, destination=0xFFFFFF),
        request("every_flag", SEND_ONLY, 8, solicited=True, migrated=True, fecn=True, becn=True,
                p_key=0x7FFF, ack_request=True, tos=0xFF, ttl=1, identification=0xFFFF,
                source_port=0xFFFF),
        unsupported("read_request", READ_REQUEST, 16),
        unsupported("compare_swap", COMPARE_SWAP, 28),
        unsupported("fetch_add", FETCH_ADD, 28),
        unsupported("send_last_invalidate", SEND_LAST_INV, 8),
        unsupported("send_only_invalidate", SEND_ONLY_INV, 8),
        unsupported("flush", FLUSH, 20),
        unsupported("atomic_write", ATOMIC_WRITE, 24),
        *(unsupported(f"reserved_request_{opcode:x}", opcode, 0) for opcode in RESERVED_REQUESTS),
        acknowledge("ack_without_credit", 0x1F, 1, 0),
        acknowledge("ack_with_credit", 0x05, 0xFFFFFF, 0xFFFFFF),
        acknowledge("rnr_nak_655_ms", 0x20, 2, 3),
        acknowledge("rnr_nak_491_ms", 0x3F, 2, 3),
        acknowledge("nak_sequence_error", 0x60, 3, 4),
        acknowledge("nak_invalid_request", 0x61, 3, 4),
        acknowledge("nak_remote_access", 0x62, 3, 4),
        acknowledge("nak_remote_operation", 0x63, 3, 4),
        acknowledge("nak_reserved", 0x65, 3, 4),
        notification("congestion_notification", 0x11),
    ]  # fmt: skip


def sealed(transport: bytes) -> bytes:
    return frame(ROUTE, transport)


def changed(data: bytes, at: int, value: bytes, fix_ip: bool = False) -> str:
    out = bytearray(data)
    out[at : at + len(value)] = value
    if fix_ip:
        out[24:26] = b"\0\0"
        out[24:26] = internet_sum(bytes(out[14:34])).to_bytes(2, "big")
    return out.hex()


def invalid() -> list[dict]:
    """Frames that are dropped, with the first check that fails."""
    good = sealed(bth(SEND_ONLY, BTH, 0) + b"abcd")
    summed = frame(ROUTE, bth(SEND_ONLY, BTH, 3) + b"a\0\0\0", udp_checksum=True)
    wrong_sum = bytes([summed[40] ^ 0x10])
    empty = bth(SEND_ONLY, BTH, 0)
    rows = [
        ("one_byte_too_short", good[:57].hex(), "TooShort"),
        ("arp", changed(good, 12, b"\x08\x06"), "EtherType"),
        ("vlan_tag", changed(good, 12, b"\x81\x00"), "EtherType"),
        ("ipv4_options", changed(good, 14, b"\x46"), "IpHeader"),
        ("version_6", changed(good, 14, b"\x65"), "IpHeader"),
        ("ipv4_longer_than_the_frame", changed(good, 16, b"\x00\x31", True), "IpLength"),
        ("ipv4_shorter_than_its_headers", changed(good, 16, b"\x00\x2b", True), "IpLength"),
        ("first_fragment", changed(good, 20, b"\x20\x00", True), "Fragment"),
        ("last_fragment", changed(good, 20, b"\x00\x01", True), "Fragment"),
        ("tcp", changed(good, 23, b"\x06", True), "Protocol"),
        ("ipv4_checksum", changed(good, 24, b"\x00\x00"), "IpChecksum"),
        ("port_4792", changed(good, 36, b"\x12\xb8"), "Port"),
        ("udp_one_longer", changed(good, 38, b"\x00\x1d"), "UdpLength"),
        ("udp_one_shorter", changed(good, 38, b"\x00\x1b"), "UdpLength"),
        ("udp_checksum", changed(summed, 40, wrong_sum), "UdpChecksum"),
        ("padding_without_payload", sealed(bth(SEND_ONLY, BTH, 1)).hex(), "Padding"),
        ("length_no_multiple_of_4", sealed(empty + b"abc").hex(), "Padding"),
        ("version_1", sealed(bth(SEND_ONLY, BTH, 0, version=1)).hex(), "TransportVersion"),
        ("flipped_payload", changed(good, 54, b"b"), "Icrc"),
        ("flipped_identification", changed(good, 18, b"\x12\x35", True), "Icrc"),
        ("flipped_icrc", changed(good, 61, bytes([good[61] ^ 1])), "Icrc"),
        ("unreliable_connection", sealed(bth(0x24, BTH, 0)).hex(), "Opcode"),
        ("read_response", sealed(bth(0x10, BTH, 0) + bytes(4)).hex(), "Opcode"),
        ("atomic_response", sealed(bth(0x12, BTH, 0) + bytes(12)).hex(), "Opcode"),
        ("write_without_place", sealed(bth(WRITE_ONLY, BTH, 0) + bytes(12)).hex(), "Length"),
        ("write_with_half_its_headers", sealed(bth(WRITE_ONLY_IMM, BTH, 0) + bytes(16)).hex(),
         "Length"),
        ("immediate_that_is_missing", sealed(bth(SEND_LAST_IMM, BTH, 0)).hex(), "Length"),
        ("immediate_within_padding", sealed(bth(SEND_LAST_IMM, BTH, 1) + bytes(4)).hex(), "Length"),
        ("ack_without_syndrome", sealed(bth(ACKNOWLEDGE, BTH, 0)).hex(), "Length"),
        ("ack_with_payload", sealed(bth(ACKNOWLEDGE, BTH, 0) + bytes(8)).hex(), "Length"),
        ("notification_too_short", sealed(bth(CNP, BTH, 0) + bytes(12)).hex(), "Length"),
        ("notification_too_long", sealed(bth(CNP, BTH, 0) + bytes(20)).hex(), "Length"),
    ]  # fmt: skip
    return [{"name": name, "hex": data, "error": error} for name, data, error in rows]


def unusual() -> list[dict]:
    """Frames that are accepted, although this project writes them otherwise."""
    summed = frame(ROUTE, bth(SEND_ONLY, BTH, 3) + b"a\0\0\0", udp_checksum=True)
    reserved = bytearray(bth(SEND_ONLY, BTH, 0))
    reserved[4] |= 0x3F
    reserved[8] |= 0x7F
    padded = sealed(bth(SEND_ONLY, BTH, 0)) + bytes(2)
    rows = [
        ("udp_checksum", summed.hex()),
        ("reserved_bits", sealed(bytes(reserved)).hex()),
        ("padding_with_bytes", sealed(bth(SEND_ONLY, BTH, 3) + b"abcd").hex()),
        ("ethernet_padding", padded.hex()),
    ]
    return [{"name": name, "hex": data} for name, data in rows]


def foreign() -> list[dict]:
    """Frames that others made. scapy keeps both among its tests, in test/contrib/roce.uts."""
    return [
        {"name": "congestion notification, captured from a ConnectX-4 Lx", "error": None,
         "hex": CAPTURED_CNP},
        {"name": "SEND of the unreliable service", "error": "Opcode", "hex": UNRELIABLE_SEND},
    ]  # fmt: skip


CAPTURED_CNP = (
    "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a00"
    "1201000012b7002800008100ffff400001180000000000000000000000000000"
    "00000000000082fd002a"
)
UNRELIABLE_SEND = (
    "248a07a8fa22248a07a8fa22080045010040047840004011b4d5c0a80007c0a8"
    "0007c00012b7002caca22460ffff000000d300cf17104630818be28935d90e9a"
    "95505401be885e50000078f353f3"
)


def main() -> int:
    parts = {"frames": frames(), "invalid": invalid(), "unusual": unusual(), "foreign": foreign()}
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

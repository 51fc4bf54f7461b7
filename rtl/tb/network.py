"""Frames as a network gives them, written from the RFCs and docs/protocol.md alone."""

import json
import struct
from dataclasses import dataclass
from pathlib import Path

VECTORS = Path(__file__).resolve().parents[2] / "vectors"

ARP, IPV4, IPV6 = 0x0806, 0x0800, 0x86DD
ICMP, UDP = 1, 17


def _table(poly: int) -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (poly if value & 1 else 0)
        table.append(value)
    return table


_CRC32C = _table(0x82F63B78)


def crc32c(data: bytes) -> int:
    """The CRC of docs/protocol.md#2.5."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC32C[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def checksum(data: bytes) -> int:
    """The Internet checksum, RFC 1071: the complement of the ones' complement sum."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


@dataclass(frozen=True)
class Peer:
    """An end of a stream."""

    mac: int
    ip: int
    port: int

    def packed(self) -> int:
        """As net_pkg::peer_t."""
        return self.mac << 48 | self.ip << 16 | self.port


def ethernet(dst: int, src: int, kind: int, body: bytes, *, pad: bool = True) -> bytes:
    frame = dst.to_bytes(6, "big") + src.to_bytes(6, "big") + struct.pack("!H", kind) + body
    return frame.ljust(60, b"\0") if pad else frame


def ipv4(
    src: int,
    dst: int,
    protocol: int,
    body: bytes,
    *,
    total: int | None = None,
    fragment: int = 0x4000,
) -> bytes:
    total = 20 + len(body) if total is None else total
    head = struct.pack("!BBHHHBBHII", 0x45, 0, total, 0, fragment, 64, protocol, 0, src, dst)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + body


def ipv6(src: int, dst: int, protocol: int, body: bytes) -> bytes:
    """A packet between addresses in 64:ff9b::/96, RFC 6052: checksums are those of IPv4."""
    head = struct.pack("!IHBB", 6 << 28, len(body), protocol, 64)
    return head + b"".join((0x64FF9B << 96 | ip).to_bytes(16, "big") for ip in (src, dst)) + body


def udp(src: Peer, dst: Peer, body: bytes, *, length: int | None = None) -> bytes:
    length = 8 + len(body) if length is None else length
    head = struct.pack("!HHHH", src.port, dst.port, length, 0)
    pseudo = struct.pack("!IIHH", src.ip, dst.ip, UDP, length)
    value = checksum(pseudo + head + body) or 0xFFFF
    return head[:6] + struct.pack("!H", value) + body


def datagram(src: Peer, dst: Peer, body: bytes) -> bytes:
    """A frame with one UDP datagram."""
    return ethernet(dst.mac, src.mac, IPV4, ipv4(src.ip, dst.ip, UDP, udp(src, dst, body)))


def echo_request(src: Peer, dst: Peer, payload: bytes, *, kind: int = 8) -> bytes:
    message = struct.pack("!BBHHH", kind, 0, 0, 0x1234, 7) + payload
    message = message[:2] + struct.pack("!H", checksum(message)) + message[4:]
    return ethernet(dst.mac, src.mac, IPV4, ipv4(src.ip, dst.ip, ICMP, message))


def arp(operation: int, src: Peer, target_mac: int, target_ip: int, *, dst: int) -> bytes:
    body = struct.pack("!HHBBH", 1, IPV4, 6, 4, operation)
    body += src.mac.to_bytes(6, "big") + src.ip.to_bytes(4, "big")
    body += target_mac.to_bytes(6, "big") + target_ip.to_bytes(4, "big")
    return ethernet(dst, src.mac, ARP, body)


def packet(
    kind: int,
    body: bytes = b"",
    *,
    tag: int = 0,
    flags: int = 0x80,
    index: int = 0,
    seq: int = 0,
    departure: int = 0,
    version: int = 1,
) -> bytes:
    """A Samplewire packet, docs/protocol.md#2.2."""
    data = struct.pack("!BBIQII", version << 4 | kind, flags, tag, index, seq, departure) + body
    return data + struct.pack("!I", crc32c(data))


def report(
    number: int,
    *,
    tag: int,
    released: int = 0,
    limit: int = 0,
    settled: int = 0,
    highest: int = 0,
    echo: int = 0,
    hold: int = 0,
    received: int = 0,
    marked: int = 0,
    skipped: int = 0,
    ranges: list[tuple[int, int]] = (),
    n: int | None = None,
    departure: int = 0,
) -> bytes:
    """A REPORT, docs/protocol.md#2.12."""
    body = struct.pack(
        "!9I", released, limit, settled, highest, echo, hold, received, marked, skipped
    )
    body += struct.pack("!HH", 0, len(ranges) if n is None else n)
    body += b"".join(struct.pack("!II", *r) for r in ranges)
    return packet(2, body, tag=tag, seq=number, departure=departure)


def vectors(name: str) -> list[dict]:
    """`packets` or `invalid`, with the bytes under `data`."""
    entries = json.loads((VECTORS / f"{name}.json").read_text())
    return [{**entry, "data": bytes.fromhex(entry["hex"])} for entry in entries]


# What a REPORT's numbers are compared by in `window`: send_pkg::check_e, and where each stands.
CHECK_RELEASED, CHECK_LIMIT, CHECK_GROWTH, CHECK_SETTLED, CHECK_HIGHEST = 4, 1, 2, 7, 0


def report_steps(*, released: int, limit: int, settled: int, highest: int) -> list[tuple]:
    """The steps in which report_rx shows a REPORT to window: check, first and second number."""
    return [
        (CHECK_RELEASED, released, limit),
        (CHECK_LIMIT, released, limit),
        (CHECK_GROWTH, released, limit),
        (CHECK_SETTLED, settled, highest),
        (CHECK_HIGHEST, settled, highest),
    ]

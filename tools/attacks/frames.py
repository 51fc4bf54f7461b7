"""Ethernet frames with IPv4, UDP and ICMP in them, any field as the caller wants it."""

import ipaddress
import struct
from dataclasses import dataclass

ETHERNET_BYTES, IP_BYTES, UDP_BYTES = 14, 20, 8
MORE_FRAGMENTS = 0x2000
ICMP, UDP = 1, 17


@dataclass(frozen=True, kw_only=True)
class Path:
    """Where frames go: to one end of a wire, as if from the other."""

    to_mac: bytes
    from_mac: bytes
    to_ip: str
    from_ip: str
    to_port: int
    from_port: int


def checksum(data: bytes) -> int:
    """The checksum of the Internet (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def udp(path: Path, payload: bytes, *, from_ip: str | None = None, from_port: int | None = None,
        damaged: bool = False) -> bytes:  # fmt: skip
    """A UDP datagram with a right checksum, or one that a damaged wire would leave."""
    source = ipaddress.ip_address(from_ip or path.from_ip).packed
    port = path.from_port if from_port is None else from_port
    length = UDP_BYTES + len(payload)
    pseudo = source + ipaddress.ip_address(path.to_ip).packed + struct.pack(">HH", UDP, length)
    head = struct.pack(">HHHH", port, path.to_port, length, 0)
    found = checksum(pseudo + head + payload) or 0xFFFF
    return head[:6] + struct.pack(">H", found ^ damaged) + payload


def ip(path: Path, protocol: int, body: bytes, *, from_ip: str | None = None,
       fragment: int = 0, identification: int = 0) -> bytes:  # fmt: skip
    """A frame with one IPv4 packet; `fragment` is the word of flags and offset."""
    head = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, IP_BYTES + len(body), identification, fragment, 64, protocol, 0,
        ipaddress.ip_address(from_ip or path.from_ip).packed,
        ipaddress.ip_address(path.to_ip).packed,
    )  # fmt: skip
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    return path.to_mac + path.from_mac + b"\x08\x00" + head + body


def datagram(path: Path, payload: bytes, **source: object) -> bytes:
    """A frame with a whole UDP datagram."""
    return ip(path, UDP, udp(path, payload, **source), from_ip=source.get("from_ip"))


def fragments(path: Path, payload: bytes, identification: int, mtu_bytes: int) -> list[bytes]:
    """A UDP datagram in fragments that fit the wire."""
    body, step = udp(path, payload), (mtu_bytes - IP_BYTES) // 8 * 8
    return [
        ip(path, UDP, body[at : at + step], identification=identification,
           fragment=at // 8 | (MORE_FRAGMENTS if at + step < len(body) else 0))
        for at in range(0, len(body), step)
    ]  # fmt: skip


def icmp(path: Path, kind: int, code: int, word: int = 0) -> bytes:
    """An ICMP message that quotes a packet which the other end of the path has sent."""
    quoted = Path(to_mac=path.from_mac, from_mac=path.to_mac, to_ip=path.from_ip,
                  from_ip=path.to_ip, to_port=path.from_port, from_port=path.to_port)  # fmt: skip
    original = ip(quoted, UDP, udp(quoted, bytes(32)))[ETHERNET_BYTES:]
    body = struct.pack(">I", word) + original[: IP_BYTES + UDP_BYTES]
    head = struct.pack(">BB", kind, code)
    found = checksum(head + b"\0\0" + body)
    return ip(path, ICMP, head + struct.pack(">H", found) + body)

"""Frames that an attacker off the path can send to one end of a stream."""

from collections.abc import Iterator

import frames
import packets
from frames import Path

NO_PORT = 0
STRANGE_SOURCES = ("{net}.255", "255.255.255.255", "224.0.0.1", "239.1.2.3", "0.0.0.0",
                   "127.0.0.1", "{self}", "240.0.0.1")  # fmt: skip
LONGEST_PAYLOAD_BYTES = 65_507
JUMBO_PAYLOAD_BYTES = 8_972
UNKNOWN_TAG = 0xDEAD_BEEF
TYPES = ("OPEN", "ACCEPT", "MARK", "REPORT", "CLOSE", "CLOSE_ACK", "CHALLENGE", "REFUSE", "DATA")


def attacks(path: Path, mtu_bytes: int) -> Iterator[tuple[str, list[bytes]]]:
    """Each attack with its name and its frames."""
    yield "source port 0", source_port_0(path)
    yield "source addresses that are no host's", strange_sources(path)
    yield "fragments, whole and cut", fragmented(path, mtu_bytes)
    yield "ICMP of every type and code", every_icmp(path)
    for kind in TYPES:
        rows = [frames.datagram(path, packet) for packet in packets.hostile(kind)]
        yield f"{kind} with all pairs of extremes", rows
    yield "packets cut at every length", cut(path)
    yield "UDP checksums that are wrong", damaged(path)


def few() -> list[bytes]:
    """One packet for each way to be answered, or not."""
    return [
        packets.open_packet(),
        packets.open_packet(role=0, total_len=1472),
        packets.open_packet(role=2),
        packets.mark_packet(UNKNOWN_TAG),
        bytes([0x23]) + bytes(127),
        b"",
        b"\xff" * 64,
    ]


def source_port_0(path: Path) -> list[bytes]:
    return [frames.datagram(path, packet, from_port=NO_PORT) for packet in few()]


def strange_sources(path: Path) -> list[bytes]:
    net = path.from_ip.rsplit(".", 1)[0]
    sources = [source.format(net=net, self=path.to_ip) for source in STRANGE_SOURCES]
    return [
        frames.datagram(path, packet, from_ip=source, from_port=port)
        for source in sources
        for port in (path.from_port, path.to_port, NO_PORT)
        for packet in few()
    ]


def fragmented(path: Path, mtu_bytes: int) -> list[bytes]:
    found = []
    for number, size in enumerate((JUMBO_PAYLOAD_BYTES, LONGEST_PAYLOAD_BYTES, 4_000), start=1):
        payloads = [packets.open_packet(role=0, total_len=min(size, 20_000)), bytes(size)]
        for at, payload in enumerate(payloads):
            pieces = frames.fragments(path, payload, 100 * number + 10 * at, mtu_bytes)
            found += pieces + pieces[::-1] + pieces[:-1] + pieces[1:] + pieces[:1] * 8
    return found


def every_icmp(path: Path) -> list[bytes]:
    found = [frames.icmp(path, kind, code) for kind in range(256) for code in range(256)]
    # Fragmentation needed, with an MTU in the word: the smallest, and none that can be.
    return found + [frames.icmp(path, 3, 4, mtu) for mtu in (0, 1, 68, 552, 1_280, 65_535)]


def cut(path: Path) -> list[bytes]:
    whole = packets.open_packet()
    return [frames.datagram(path, whole[:length]) for length in range(len(whole))]


def damaged(path: Path) -> list[bytes]:
    return [frames.datagram(path, packet, damaged=True) for packet in few() for _ in range(50)]

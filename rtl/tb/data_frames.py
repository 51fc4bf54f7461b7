"""DATA packets for the tests of the sender's way out: what the ring's side knows, what leaves."""

import struct
from dataclasses import dataclass

from network import IPV4, UDP, Peer, checksum, crc32c, ethernet, packet, udp

POLY = 0x82F63B78
RETRANSMISSION = 0x08
OVERHEAD_BYTES = 24


def crc_register(data: bytes) -> int:
    """The CRC-32C register after `data`, begun at 0, not inverted."""
    # What an initial value of all ones adds is that of as many zero bytes.
    return crc32c(data) ^ crc32c(bytes(len(data)))


def power(exponent: int) -> int:
    """x to the power `exponent` modulo the CRC's polynomial; bit 31 is the coefficient of x^0."""
    value = 1 << 31
    for _ in range(exponent):
        value = value >> 1 ^ (POLY if value & 1 else 0)
    return value


@dataclass(frozen=True)
class Slot:
    """A packet in the ring."""

    payload: bytes
    index: int
    flags: int = 0

    def packed(self) -> int:
        """As send_pkg::slot_t."""
        value = self.index
        for field, bits in (
            (len(self.payload), 16),
            (self.flags, 8),
            (crc_register(self.payload), 32),
            (power(8 * len(self.payload)), 32),
            (checksum(self.payload) ^ 0xFFFF, 16),
        ):
            value = value << bits | field
        return value

    def beats(self, width: int) -> list[int]:
        size = width // 8
        return [
            int.from_bytes(self.payload[k : k + size], "little")
            for k in range(0, len(self.payload), size)
        ]


def data_frame(
    src: Peer, dst: Peer, slot: Slot, *, tag: int, seq: int, departure: int, flags: int = 0
) -> bytes:
    """The frame of one departure, docs/protocol.md#2.1."""
    body = packet(
        0,
        slot.payload,
        tag=tag,
        flags=slot.flags | flags,
        index=slot.index,
        seq=seq,
        departure=departure,
    )
    datagram = udp(src, dst, body)
    ect0, dont_fragment = 2, 0x4000
    head = struct.pack(
        "!BBHHHBBHII", 0x45, ect0, 20 + len(datagram), 0, dont_fragment, 64, UDP, 0, src.ip, dst.ip
    )
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return ethernet(dst.mac, src.mac, IPV4, head + datagram, pad=False)


class FrameSink:
    """Collects frames from an AXI-Stream and holds its rules against it, cycle by cycle."""

    def __init__(self, width: int):
        self.size = width // 8
        self.frames: list[bytes] = []
        self.first_cycles: list[int] = []  # when each frame's first beat stood there
        self.last_cycles: list[int] = []
        self.gaps = 0  # cycles without tvalid inside a frame
        self._part = b""
        self._held = None

    def cycle(self, now: int, valid: int, ready: int, data: int, keep: int, last: int):
        if self._held is not None:
            assert valid and (data, keep, last) == self._held, "a beat changed before it was taken"
        self._held = (data, keep, last) if valid and not ready else None
        if not valid:
            self.gaps += bool(self._part)
            return
        if not self._part and len(self.first_cycles) == len(self.frames):
            self.first_cycles.append(now)
        if not ready:
            return
        count = keep.bit_count()
        assert keep == (1 << count) - 1 and (last or count == self.size), "tkeep has a hole"
        assert count == (4 if last else self.size)
        self._part += data.to_bytes(self.size, "little")[:count]
        if last:
            self.frames.append(self._part)
            self.last_cycles.append(now)
            self._part = b""

    def idle_cycles(self) -> list[int]:
        """Cycles between a frame's last beat and the next one's first."""
        return [b - a - 1 for a, b in zip(self.last_cycles, self.first_cycles[1:], strict=False)]

    def empty(self) -> bool:
        return not self._part

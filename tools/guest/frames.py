"""RoCE frames of a capture, and their ICRC, checked by a CRC that shares no code with ours."""

import socket
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from guest import Address, GuestError
from network import RawPort

ROCE_PORT = 4791
FILE_HEAD_BYTES, RECORD_HEAD_BYTES = 24, 16


def roce_frames(capture: Path) -> list[bytes]:
    """The RoCE frames of a pcap file; raises GuestError where an ICRC is wrong."""
    data, at = capture.read_bytes(), FILE_HEAD_BYTES
    frames: list[bytes] = []
    while at + RECORD_HEAD_BYTES <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        at += RECORD_HEAD_BYTES
        frame = data[at : at + length]
        at += length
        if len(frame) == length and is_roce(frame):
            check(frame)
            frames.append(frame)
    return frames


def until_quiet(raw: RawPort, quiet_s: float, count: int | None = None) -> list[bytes]:
    """RoCE frames, with the right ICRC, up to a pause or to a count."""
    frames: list[bytes] = []
    while len(frames) != count and (frame := raw.receive(quiet_s)) is not None:
        if is_roce(frame):
            check(frame)
            frames.append(frame)
    return frames


def is_roce(frame: bytes) -> bool:
    """Over IPv4 without options."""
    is_udp = frame[12:15] == b"\x08\x00\x45" and frame[23:24] == b"\x11"
    return is_udp and int.from_bytes(frame[36:38], "big") == ROCE_PORT


def check(frame: bytes) -> None:
    wrong, right = frame[-4:], icrc(frame)
    if wrong != right:
        raise GuestError(f"ICRC {wrong.hex()}, not {right.hex()}: {frame.hex()}")


def icrc(frame: bytes) -> bytes:
    """The invariant CRC of a frame (IB 7.8.1, A17.3.3): eight bytes of ones, then all from the
    IPv4 header on, where what a router changes is ones."""
    covered = bytearray(b"\xff" * 8 + frame[14:-4])
    # TOS, TTL, both checksums, and the reserved byte of the BTH.
    for at in (1, 8, 10, 11, 26, 27, 32):
        covered[8 + at] = 0xFF
    return zlib.crc32(covered).to_bytes(4, "little")


def pcap(frames: list[bytes]) -> bytes:
    """A capture of Ethernet frames, 1 us apart."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 16, 1)
    records = [
        struct.pack("<IIII", 0, number, len(frame), len(frame)) + frame
        for number, frame in enumerate(frames)
    ]
    return head + b"".join(records)


SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM = range(6)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = range(6, 12)
ACK = 0x11
READ_REQUEST, COMPARE_SWAP, FETCH_ADD = 0x0C, 0x13, 0x14
UC_SEND_ONLY, UD_SEND_ONLY, CNP = 0x24, 0x64, 0x81
"""Opcodes of the BTH (IB 9.2, A17.9.3)."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A RoCE frame, as a test wants it; the pad count and the ICRC are right unless given."""

    opcode: int
    psn: int
    payload: bytes = b""
    reth: tuple[int, int, int] | None = None
    """Address, key and length (IB 9.3.3)."""
    imm: int | None = None
    extension: bytes = b""
    """In place of both."""
    ack: bool = True
    pad: int | None = None
    first_bits: int = 0
    """Solicited event 80h, MigReq 40h, version 0Fh, in the BTH's second byte."""
    marks: int = 0
    """FECN 80h, BECN 40h."""
    pkey: int = 0xFFFF
    qpn: int | None = None
    source_ip: str = ""
    icrc_error: int = 0

    def frame(self, source: Address, target: Address, qpn: int) -> bytes:
        extension = self.extension
        if self.reth:
            extension += struct.pack(">QII", *self.reth)
        if self.imm is not None:
            extension += struct.pack(">I", self.imm)
        pad = -len(self.payload) % 4 if self.pad is None else self.pad
        number = qpn if self.qpn is None else self.qpn
        bth = struct.pack(">BBH", self.opcode, self.first_bits | pad << 4, self.pkey)
        bth += struct.pack(">II", self.marks << 24 | number, self.ack << 31 | self.psn)
        body = bth + extension + self.payload + bytes(-len(self.payload) % 4)
        udp = struct.pack(">HHHH", 0xC000, ROCE_PORT, 8 + len(body) + 4, 0)
        ips = (socket.inet_aton(ip) for ip in (self.source_ip or source.ip, target.ip))
        ip = struct.pack(">BBHHHBBH", 0x45, 2, 20 + len(udp + body) + 4, 1, 0x4000, 64, 17, 0)
        ip += b"".join(ips)
        ip = ip[:10] + checksum(ip) + ip[12:]
        macs = bytes.fromhex((target.mac + source.mac).replace(":", ""))
        frame = macs + b"\x08\x00" + ip + udp + body
        crc = int.from_bytes(icrc(frame + bytes(4)), "little") ^ self.icrc_error
        return frame + crc.to_bytes(4, "little")


def checksum(header: bytes) -> bytes:
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF)

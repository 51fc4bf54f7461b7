"""RoCE frames of a capture, and their ICRC, checked by a CRC that shares no code with ours."""

import struct
import zlib
from pathlib import Path

from guest import GuestError

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
        # IPv4 without options, UDP.
        is_udp = frame[12:15] == b"\x08\x00\x45" and frame[23] == 17
        if len(frame) == length and is_udp and int.from_bytes(frame[36:38], "big") == ROCE_PORT:
            if icrc(frame) != frame[-4:]:
                wrong, right = frame[-4:].hex(), icrc(frame).hex()
                raise GuestError(f"frame {len(frames)} has the ICRC {wrong}, not {right}")
            frames.append(frame)
    return frames


def icrc(frame: bytes) -> bytes:
    """The invariant CRC of a frame (IB 7.8.1, A17): eight bytes of ones, then all from the IPv4
    header on, where what a router changes is ones."""
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

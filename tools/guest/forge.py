"""Forges WRITEs with a wrong key among those of a queue pair, in the namespace of its sender.

python3 forge.py INTERFACE
"""

import socket
import sys
from collections.abc import Iterator
from contextlib import suppress

from frames import WRITE_ONLY_IMM, icrc, is_roce

PATIENCE_S, QUIET_S = 10, 0.5
ETH_P_ALL = 3
OPCODE_AT, PSN_AT, KEY_AT, PAIR = 42, 51, 62, slice(47, 50)


def main() -> None:
    """One that is late is a duplicate, which breaks nothing: so all are followed."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as raw:
        raw.bind((sys.argv[1], ETH_P_ALL))
        raw.settimeout(PATIENCE_S)
        for write in writes(raw):
            raw.send(after(write))
            raw.settimeout(QUIET_S)


def writes(raw: socket.socket) -> Iterator[bytes]:
    """The WRITEs that leave to one queue pair, until none does for a while."""
    pair = None
    with suppress(TimeoutError):
        while True:
            frame, (_, _, kind, *_) = raw.recvfrom(1 << 16)
            is_sent = kind == socket.PACKET_OUTGOING and is_roce(frame)
            if is_sent and frame[OPCODE_AT] == WRITE_ONLY_IMM:
                pair = pair or frame[PAIR]
                if frame[PAIR] != pair:
                    return
                yield frame


def after(write: bytes) -> bytes:
    """The next packet, with another key."""
    frame = bytearray(write)
    psn = int.from_bytes(frame[PSN_AT : PSN_AT + 3], "big") + 1
    frame[PSN_AT : PSN_AT + 3] = (psn & 0xFFFFFF).to_bytes(3, "big")
    frame[KEY_AT] ^= 0xFF
    frame[-4:] = icrc(frame)
    return bytes(frame)


if __name__ == "__main__":
    main()

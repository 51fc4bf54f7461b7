"""Sends frames from a file on a device, once or for some seconds; a program of its own, so that it
can be started inside a network namespace.

    python3 tools/attacks/inject.py DEVICE FILE [SECONDS [FRAMES_PER_SECOND]]

Prints how many frames it sent.
"""

import contextlib
import socket
import struct
import sys
import time
from pathlib import Path

BURST_FRAMES, BURST_PAUSE_S = 64, 0.0005
"""Once through: the queues of a device hold a burst, so every frame arrives."""


def write(path: Path, frames: list[bytes]) -> None:
    """Writes a file for this program."""
    path.write_bytes(b"".join(struct.pack(">I", len(frame)) + frame for frame in frames))


def read(path: Path) -> list[bytes]:
    data, at, frames = path.read_bytes(), 0, []
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        frames.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return frames


def main() -> None:
    device, frames = sys.argv[1], read(Path(sys.argv[2]))
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    per_s = float(sys.argv[4]) if len(sys.argv) > 4 else None
    sent = 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((device, 0))
        start = time.monotonic()
        until = start + seconds
        while True:
            for at, frame in enumerate(frames):
                # A full queue loses the frame, as a wire may.
                with contextlib.suppress(OSError):
                    raw.send(frame)
                    sent += 1
                if at % BURST_FRAMES == 0:
                    if not seconds:
                        time.sleep(BURST_PAUSE_S)
                    elif time.monotonic() >= until:
                        break
                    elif per_s:
                        time.sleep(max(0.0, start + sent / per_s - time.monotonic()))
            if time.monotonic() >= until:
                break
    print(sent)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Write the images as flat binaries, print their sizes and hold them against their limits.

images.py FOLDER OUT    FOLDER has what cargo has linked; OUT/NAME.bin is for address 0
"""

import struct
import sys
from dataclasses import dataclass
from pathlib import Path

# Of each image, the most bytes of code and constants.
LIMITS = {
    "forward": 4096,
    "swap": 4096,
    "echo": 4096,
    "send": 65536,
    "stack": 65536,
    "stack_apart": 65536,
    "block": 65536,
}
PROGRAM_BYTES = 128 << 10
LOAD = 1
RISCV = 243


@dataclass
class Image:
    """What a program's file has in memory."""

    flat: bytes
    memory_bytes: int


def read(path: Path) -> Image:
    """Read the segments of a program of 32 bits, in the order of bytes of RISC-V."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x01\x01" or struct.unpack_from("<H", data, 18)[0] != RISCV:
        raise ValueError(f"{path}: not a program for RISC-V of 32 bits")
    (first,) = struct.unpack_from("<I", data, 28)
    size, count = struct.unpack_from("<HH", data, 42)
    flat, end = bytearray(), 0
    for n in range(count):
        kind, offset, _, address, file_bytes, memory_bytes = struct.unpack_from(
            "<6I", data, first + n * size
        )
        if kind != LOAD:
            continue
        end = max(end, address + memory_bytes)
        if file_bytes:
            flat.extend(bytes(max(0, address + file_bytes - len(flat))))
            flat[address : address + file_bytes] = data[offset : offset + file_bytes]
    return Image(bytes(flat), end)


def main() -> int:
    """Write all; 1 if one is above its limit."""
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    above = []
    for name, limit in LIMITS.items():
        image = read(folder / name)
        if image.flat[:4] == bytes(4):
            raise ValueError(f"{name}: nothing is at address 0")
        (out / f"{name}.bin").write_bytes(image.flat)
        rest = PROGRAM_BYTES - image.memory_bytes
        print(
            f"{name:11} {len(image.flat):6} bytes of at most {limit}, "
            f"{rest} of {PROGRAM_BYTES} left for the stack"
        )
        if len(image.flat) > limit:
            above.append(name)
    if above:
        print(f"above their limits: {', '.join(above)}", file=sys.stderr)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())

"""The initial file system of a guest: a cpio archive, written without root."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from packages import FILES, MODULES, ROOT

FOLDER = ROOT / "out/guest"

HERE = Path(__file__).resolve().parent
OWN = {"init": HERE / "init.sh", "peer.py": HERE / "peer.py"}
"""Files of ours, by their place in the guest."""

LEFT_OUT = ("usr/share", "var", "etc/init.d", "etc/perl")

DIRECTORY, REGULAR, LINK = 0o040755, 0o100755, 0o120777


def image() -> Path:
    """Writes the archive, unless one of the same bytes is there, and returns its path."""
    data = b"".join(entry(number, *it) for number, it in enumerate(contents(), 1))
    name = hashlib.sha256(data).hexdigest()[:16]
    path = FOLDER / f"initrd-{name}"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        for old in FOLDER.glob("initrd-*"):
            old.unlink()
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(data)
        part.rename(path)
    return path


def contents() -> Iterator[tuple[str, int, bytes]]:
    for path in sorted(FILES.rglob("*")):
        name = str(path.relative_to(FILES))
        if name.startswith(LEFT_OUT):
            continue
        if path.is_symlink():
            yield name, LINK, str(path.readlink()).encode()
        elif path.is_dir():
            yield name, DIRECTORY, b""
        else:
            yield name, REGULAR, path.read_bytes()
    yield "modules", DIRECTORY, b""
    for path in sorted(MODULES.iterdir()):
        yield f"modules/{path.name}", REGULAR, path.read_bytes()
    for name, path in OWN.items():
        yield name, REGULAR, path.read_bytes()
    yield "TRAILER!!!", 0, b""


def entry(number: int, name: str, mode: int, data: bytes) -> bytes:
    """One file in the format `newc` (Linux, Documentation/driver-api/early-userspace)."""
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return padded(head) + padded(data)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)

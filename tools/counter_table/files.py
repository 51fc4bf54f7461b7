"""The files that generators write."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def settle(root: Path, texts: dict[Path, str], program: str, *, is_check: bool) -> int:
    """Write what differs, or with `is_check` name it; returns 1 if a check finds something.

    The paths are from the root.
    """
    differ = {
        path: fresh
        for path, fresh in texts.items()
        if not (root / path).exists() or (root / path).read_text() != fresh
    }
    for path, fresh in differ.items():
        if is_check:
            print(f"{path} is not what {program} writes", file=sys.stderr)
        else:
            (root / path).write_text(fresh)
            print(f"written: {path}")
    return 1 if differ and is_check else 0

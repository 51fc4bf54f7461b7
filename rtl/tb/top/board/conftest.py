"""What the tests of the virtual boards share: the command line program, and where they meet."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from place import ROOT, Loopback, Tap

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def samplewire() -> Path:
    """The command line program."""
    if "SAMPLEWIRE_BIN" in os.environ:
        return Path(os.environ["SAMPLEWIRE_BIN"])
    cargo = ["cargo", "build", "--quiet", "--release", "-p", "samplewire-cli"]
    subprocess.run(cargo, cwd=ROOT, check=True)
    metadata = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    answer = subprocess.run(metadata, cwd=ROOT, check=True, capture_output=True)
    return Path(json.loads(answer.stdout)["target_directory"]) / "release" / "samplewire"


@pytest.fixture
def place() -> Iterator[Tap | Loopback]:
    """Ethernet where it can be had."""
    try:
        where = Tap()
    except OSError as why:
        print(f"no Ethernet, UDP instead: {why}")
        where = Loopback()
    yield where
    where.close()

"""A command whose counters Prometheus reads."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import IO


class Metered:
    """`samplewire` with --metrics, while the block lasts."""

    def __init__(self, program: Path, *arguments: Iterable[str]) -> None:
        self.process = subprocess.Popen(
            [str(program), *(it for part in arguments for it in part), "--metrics", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            self.target = self._line_behind(self.process.stderr, "metrics: http://")
            self.target = self.target.removesuffix("/metrics")
        except AssertionError:
            self.end()
            raise
        # What it writes later must have a reader.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def listens_at(self) -> str:
        """The address at which a device listens."""
        return self._line_behind(self.process.stdout, "listening on ")

    def _line_behind(self, stream: IO[str] | None, words: str) -> str:
        assert stream
        line = stream.readline()
        assert words in line, f"it does not print {words!r}: {line}{stream.read()}"
        return line.strip().partition(words)[2]

    def __enter__(self) -> Metered:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()

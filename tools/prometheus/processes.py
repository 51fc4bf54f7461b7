"""A command whose counters Prometheus reads."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO

PATIENCE_S = 20


class Lines:
    """Lines of a stream. A thread reads them, so what writes them never waits for a reader."""

    def __init__(self, stream: IO[str]) -> None:
        self.queue: SimpleQueue[str | None] = SimpleQueue()
        self.seen: list[str] = []
        self.has_ended = False
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.queue.put(line)
        self.queue.put(None)

    def next(self, deadline: float) -> str | None:
        """The next line; None at the end of the stream, and at the deadline."""
        try:
            if self.has_ended:
                return None
            line = self.queue.get(timeout=max(0, deadline - time.monotonic()))
        except Empty:
            return None
        self.has_ended = line is None
        self.seen += [line] if line else []
        return line

    def behind(self, words: str, deadline: float) -> str | None:
        """What stands behind these words in the first line that has them."""
        while (line := self.next(deadline)) is not None:
            if words in line:
                return line.strip().partition(words)[2]
        return None

    def all(self, deadline: float) -> str:
        """All lines, of a process that has ended."""
        while self.next(deadline) is not None:
            pass
        return "".join(self.seen)


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
        assert self.process.stdout
        assert self.process.stderr
        self.output = Lines(self.process.stdout)
        self.errors = Lines(self.process.stderr)
        target = self._behind(self.errors, "metrics: http://")
        self.target = target.removesuffix("/metrics")

    def listens_at(self) -> str:
        """The address at which a device listens."""
        return self._behind(self.output, "listening on ")

    def _behind(self, lines: Lines, words: str) -> str:
        found = lines.behind(words, time.monotonic() + PATIENCE_S)
        if found is None:
            # Only of a process that has ended is there an end of its lines.
            self.end()
            deadline = time.monotonic() + PATIENCE_S
            printed = self.output.all(deadline) + self.errors.all(deadline)
            raise AssertionError(f"it does not print {words!r}: {printed}")
        return found

    def __enter__(self) -> Metered:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()

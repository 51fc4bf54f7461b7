"""A page of a stream whose tone and gaps the test commands: the example virtual_stream."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

RATE_HZ = 2_048_000
BINS = 2_048


@dataclass(frozen=True)
class Done:
    """When a command was carried out."""

    index: int
    unix_ns: int


class VirtualStream:
    """The program, while the block lasts."""

    def __init__(
        self,
        program: Path,
        name: str,
        address: str = "127.0.0.1:0",
        token: str = "",
        folder: Path | None = None,
    ) -> None:
        command = [str(program), name, address, token, *([str(folder)] if folder else [])]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.url = self._line()
        self.origin, _, fragment = self.url.partition("/#")
        self.token = fragment

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """End the program."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def command(self, text: str) -> Done:
        """Carry out a command."""
        assert self.process.stdin
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
        words = self._line().split(" ")
        return Done(index=int(words[-3]), unix_ns=int(words[-1]))

    def _line(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline().strip()
        if not line:
            raise RuntimeError("virtual_stream has ended")
        return line

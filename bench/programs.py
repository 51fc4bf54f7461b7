"""Programs that are measured: how they are built, started and waited for, and what they used."""

import json
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from kept import ROOT
from turns import ProgramError

LOOK_S = 0.02
"""Between two looks at a running program."""

TAKES = ("07", "0A")
"""States of sockets, as /proc/net writes them: of UDP without a peer, and of TCP that listens. What
an earlier program has left of its connections is in other states."""

SAID_MOST = 2_000
"""Characters of a failed program's own words that are passed on."""


def build(examples: Sequence[tuple[str, str]]) -> dict[str, Path]:
    """Builds examples, given as package and name; where each name is."""
    packages = [word for package, _ in examples for word in ("-p", package)]
    names = [word for _, name in examples for word in ("--example", name)]
    return build_with([*packages, *names], ROOT)


def build_with(words: list[str], folder: Path) -> dict[str, Path]:
    """Builds with these words for cargo in this folder; where each executable is."""
    command = ["cargo", "build", "--release", "--message-format=json-render-diagnostics", *words]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    artifacts = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        artifact["target"]["name"]: Path(artifact["executable"])
        for artifact in artifacts
        if artifact.get("executable")
    }


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A program that has ended well."""

    text: str
    """What it printed."""
    cpu_s: float
    resident_bytes: int
    """The most that it had, as was seen at the last look (VmHWM)."""


class Started:
    """A running program, killed if it still runs when the `with` is left.

    Parameters
    ----------
    words
        Its command line.
    seconds
        When to send SIGTERM, for a program that does not end alone.
    """

    def __init__(self, words: Sequence[str], seconds: float | None = None) -> None:
        self.words = list(words)
        self._end = None if seconds is None else time.monotonic() + seconds
        self._resident_bytes = 0
        with ExitStack() as streams:
            self._out = streams.enter_context(tempfile.TemporaryFile("w+"))
            self._error = streams.enter_context(tempfile.TemporaryFile("w+"))
            self._process = subprocess.Popen(
                self.words, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._error
            )
            self._streams = streams.pop_all()

    def __enter__(self) -> "Started":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()
        self._streams.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_listening(self, port: int) -> bool:
        """Whether a socket of this program's network namespace has this port."""
        return any(
            has_port(Path(f"/proc/{self.pid}/net/{table}").read_text(), port)
            for table in ("udp", "tcp")
        )

    def wait_listening(self, port: int, within_s: float) -> None:
        end = time.monotonic() + within_s
        while not self.is_listening(port):
            if self.look() or time.monotonic() > end:
                raise ProgramError(f"does not listen on port {port}: {self._what()}")
            time.sleep(LOOK_S)

    def look(self) -> Ended | None:
        """What the program has been, once it has ended."""
        if self._end is not None and time.monotonic() >= self._end:
            self._process.terminate()
            self._end = None
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
            self._resident_bytes = max(self._resident_bytes, highest_bytes(status))
        except OSError:
            pass  # It ended between two looks.
        # wait4 is the one way to the CPU time of this child alone.
        pid, wait_status, usage = os.wait4(self.pid, os.WNOHANG)
        if pid == 0:
            return None
        self._process.returncode = os.waitstatus_to_exitcode(wait_status)
        if self._process.returncode not in (0, -signal.SIGTERM):
            raise ProgramError(self._what())
        self._out.seek(0)
        cpu_s = usage.ru_utime + usage.ru_stime
        return Ended(text=self._out.read(), cpu_s=cpu_s, resident_bytes=self._resident_bytes)

    def _what(self) -> str:
        """The command, how it ended and what it said."""
        code = self._process.returncode
        words = []
        for stream in (self._out, self._error):
            stream.seek(0)
            words.append(stream.read(SAID_MOST).strip())
        state = "still running" if code is None else f"exit {code}"
        return "\n".join(filter(None, [f"{state}: {shlex.join(self.words)}", *words]))


def wait_all(started: Sequence[Started], within_s: float) -> list[Ended]:
    """Waits for all to end; after that time it is an error."""
    end = time.monotonic() + within_s
    ended: dict[int, Ended] = {}
    while len(ended) < len(started):
        for place, program in enumerate(started):
            if place not in ended and (done := program.look()):
                ended[place] = done
        late = [program for place, program in enumerate(started) if place not in ended]
        if late and time.monotonic() > end:
            raise ProgramError(f"not over after {within_s:g} s: {shlex.join(late[0].words)}")
        time.sleep(LOOK_S)
    return [ended[place] for place in range(len(started))]


def has_port(table: str, port: int) -> bool:
    """Whether a table like /proc/net/udp has a socket that takes what comes to this port."""
    rows = [line.split() for line in table.splitlines()[1:]]
    return any(row[3] in TAKES and int(row[1].rsplit(":", 1)[1], 16) == port for row in rows)


def highest_bytes(status: str) -> int:
    """VmHWM of /proc/PID/status; 0 where a program that has ended has none."""
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0

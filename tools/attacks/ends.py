"""The programs at the ends of a stream, each in its network namespace."""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

PORT = 9100
PATIENCE_S = 20
STEP_S = 0.02
OPENING_S = 0.5
INTERRUPTED = 130


class AttackError(Exception):
    """Something that an attack must not do, and did."""


class Program:
    """A running program, what it prints, and what it must not do."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            self._process = subprocess.Popen(words, stdout=output, stderr=errors)
            self._output, self._errors = os.dup(output.fileno()), os.dup(errors.fileno())

    @property
    def pid(self) -> int:
        return self._process.pid

    def output(self) -> str:
        return read(self._output)

    def errors(self) -> str:
        return read(self._errors).strip()

    def wait_for_line(self, words: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while words not in self.output():
            self.check_alive("its start")
            if time.monotonic() > until:
                raise AttackError(f"{self} does not print '{words}'")
            time.sleep(STEP_S)

    def wait_for_port(self, peer_ip: str) -> int:
        """The local port of its UDP socket that is connected to the peer."""
        peer = "".join(f"{int(part):02X}" for part in reversed(peer_ip.split(".")))
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            self.check_alive("its start")
            # Of a namespace: a row has the local address, the peer's, and the socket's inode.
            for row in Path(f"/proc/{self.pid}/net/udp").read_text().splitlines()[1:]:
                _, local, remote, _, _, _, _, _, _, inode, *_ = row.split()
                if remote == f"{peer}:{PORT:04X}" and self.has_socket(inode):
                    # So the stream is open, and not only the socket.
                    time.sleep(OPENING_S)
                    return int(local.partition(":")[2], 16)
            time.sleep(STEP_S)
        raise AttackError(f"{self} has no socket for {peer_ip}")

    def has_socket(self, inode: str) -> bool:
        for descriptor in Path(f"/proc/{self.pid}/fd").iterdir():
            # It may be closed meanwhile.
            with contextlib.suppress(FileNotFoundError):
                if str(descriptor.readlink()) == f"socket:[{inode}]":
                    return True
        return False

    def check_alive(self, after: str) -> None:
        status = self._process.poll()
        if status is not None:
            raise AttackError(f"{after}: {self} ended with status {status}: {self.errors()}")

    def check_whole(self, name: str) -> None:
        """Interrupts a receiver; nothing may be missing."""
        self._process.send_signal(signal.SIGINT)
        self.check_ends_whole(name, PATIENCE_S, INTERRUPTED)

    def check_ends_whole(self, name: str, seconds: float, wanted: int = 0) -> None:
        status = self.wait(seconds, name)
        if status != wanted:
            raise AttackError(f"{name} ends with status {status}: {self.errors()}")
        end = json.loads(self.output())["end"]
        # What a sender gave up is missing at the device that plays.
        missing = end["samples_missing"] if "samples_missing" in end else end["packets_given_up"]
        delivered = end.get("samples_delivered", end.get("samples_sent"))
        if missing or not delivered:
            causes = {cause: count for cause, count in end.get("gap_samples", {}).items() if count}
            raise AttackError(f"{name} has {delivered} samples, {missing} are missing: {causes}")
        print(f"  {name}: {delivered} samples, nothing missing")

    def wait(self, seconds: float, name: str) -> int:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AttackError(f"{name} is still there after {seconds} s") from None

    def peak_bytes(self) -> int:
        """The most memory that it has ever had resident."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def __str__(self) -> str:
        return Path(self.words[0]).name if self.words[0] != "ip" else " ".join(self.words[4:6])


Running = AbstractContextManager[Program]


def start(space: tuple[str, ...], *words: object) -> Program:
    """Starts a program in a namespace, with a process ID of its own and not that of `ip`."""
    return Program([*space, *map(str, words)])


@contextmanager
def running(space: tuple[str, ...], *words: object) -> Running:
    """The same; it is stopped when the `with` is left."""
    program = start(space, *words)
    try:
        yield program
    finally:
        program.stop()


def read(file: int) -> str:
    """All that a program has printed so far. It shares the position with us, so it is not moved."""
    return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")

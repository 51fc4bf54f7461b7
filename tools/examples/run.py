"""Runs a page's commands in an empty folder, in a network namespace where the system allows it."""

import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

COMMAND_S_MAX = 30.0
STARTED_S_MAX = 10.0
"""For what keeps running to print what the page shows of it."""
QUIET_S = 0.2
"""What keeps running has started when it prints no more for so long."""
SILENT_S_MAX = 1.0
STOPPED_S_MAX = 10.0
POLL_S = 0.02
STOPPED_STATUSES = (0, 130, 128 + signal.SIGINT, -signal.SIGINT)
ADDRESS = re.compile(r"\b10(?:\.\d+){3}\b")
RIGHTS = ("sys_nice", "ipc_lock")
"""No page's command has them: a user who is not root sees the same output as root."""


class RunError(Exception):
    """A command that ended wrongly or not at all."""


@dataclass(frozen=True)
class Done:
    """What a command printed, on both of its outputs, and its status."""

    lines: list[str]
    status: int


class Job:
    """A command that keeps running. Its output is a file, so that it never waits for a reader."""

    def __init__(self, text: str, folder: Path, environment: dict[str, str]) -> None:
        self.text = text
        # How many of its lines the page has shown.
        self.shown = 0
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `kill`
        self._process = _start(text, folder, environment, self._output)

    def lines(self) -> list[str]:
        """Complete lines up to now."""
        printed = os.pread(self._output.fileno(), 1 << 24, 0).decode(errors="replace")
        return printed.split("\n")[:-1]

    def wait_started(self) -> None:
        """Returns when its first output is there, or when it prints nothing."""
        begin = time.monotonic()
        last, changed = 0, begin
        while (now := time.monotonic()) < begin + STARTED_S_MAX and self._process.poll() is None:
            printed = os.fstat(self._output.fileno()).st_size
            if printed != last:
                last, changed = printed, now
            if now > changed + (QUIET_S if last else SILENT_S_MAX):
                return
            time.sleep(POLL_S)

    def wait_until(self, is_right: Callable[[list[str]], bool]) -> bool:
        """Waits for lines that the page has not shown yet."""
        end = time.monotonic() + STARTED_S_MAX
        while not is_right(self.lines()[self.shown :]):
            if time.monotonic() > end:
                return False
            time.sleep(POLL_S)
        return True

    def stop(self) -> None:
        """Ends it as Ctrl-C does. Raises `RunError` where it has failed."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            status = self._process.wait(STOPPED_S_MAX)
        except subprocess.TimeoutExpired:
            raise RunError(f"did not end on SIGINT: {self.text}") from None
        if status not in STOPPED_STATUSES:
            said = "\n".join(self.lines()[-5:])
            raise RunError(f"status {status} of: {self.text}\n{said}")

    def kill(self) -> None:
        _kill(self._process)
        self._output.close()


class Session:
    """Where the commands of one page run, one after another."""

    def __init__(self, program: Path, root: Path) -> None:
        self._folder = root / "work"
        programs, home, runtime = root / "bin", root / "home", root / "run"
        for folder in (self._folder, programs, home, runtime):
            folder.mkdir()
        runtime.chmod(0o700)
        (programs / "samplewire").symlink_to(program)
        self._environment = os.environ | {
            # Cargo puts the examples of its crates there.
            "PATH": f"{programs}:{program.parent / 'examples'}:{os.environ['PATH']}",
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(runtime),
            "LC_ALL": "C.UTF-8",
        }
        self.jobs: list[Job] = []

    def has(self, program: str) -> bool:
        return shutil.which(program, path=self._environment["PATH"]) is not None

    def run(self, text: str) -> Done:
        with tempfile.TemporaryFile() as output:
            process = _start(text, self._folder, self._environment, output)
            try:
                status = process.wait(COMMAND_S_MAX)
            except subprocess.TimeoutExpired:
                raise RunError(f"runs for more than {COMMAND_S_MAX:.0f} s: {text}") from None
            finally:
                _kill(process)
            output.seek(0)
            return Done(output.read().decode(errors="replace").splitlines(), status)

    def start(self, text: str) -> Job:
        job = Job(text, self._folder, self._environment)
        self.jobs.append(job)
        job.wait_started()
        return job

    def set_up(self, text: str) -> None:
        if text.endswith("&"):
            self.start(text.removesuffix("&").strip())
        elif (done := self.run(text)).status:
            raise RunError(f"status {done.status} of the setup: {text}\n" + "\n".join(done.lines))

    def stop(self) -> None:
        for job in self.jobs:
            job.stop()
            job.kill()
        self.jobs = []

    def kill(self) -> None:
        for job in self.jobs:
            job.kill()


@contextmanager
def session(program: Path) -> Iterator[Session]:
    """Leaves nothing behind: no process, no file."""
    with tempfile.TemporaryDirectory() as root:
        opened = Session(program, Path(root))
        try:
            yield opened
        finally:
            opened.kill()


def namespace() -> list[str] | None:
    """The words before a command that give it a network of its own; nothing where none can be."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return None
    for words in (["unshare", "--net"], ["unshare", "--net", "--map-root-user"]):
        if (
            subprocess.run(
                [*words, "ip", "link", "set", "lo", "up"], capture_output=True
            ).returncode
            == 0
        ):
            return words
    return None


def set_up_network(addresses: set[str]) -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in sorted(addresses):
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)


def _start(
    text: str, folder: Path, environment: dict[str, str], output: object
) -> subprocess.Popen[bytes]:
    words = ["bash", "-c", f"exec {text}" if re.fullmatch(r"samplewire [^|;&]*", text) else text]
    if os.geteuid() == 0 and shutil.which("setpriv"):
        dropped = ",".join(f"-{it}" for it in RIGHTS)
        words = ["setpriv", f"--inh-caps={dropped}", f"--bounding-set={dropped}", *words]
    return subprocess.Popen(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_limit,
    )


def _limit() -> None:
    """The limits of an ordinary user, as far as they are lower than ours."""
    for which, limit in ((resource.RLIMIT_MEMLOCK, 64 << 10), (resource.RLIMIT_RTPRIO, 0)):
        hard = resource.getrlimit(which)[1]
        lower = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(which, (lower, lower))


def _kill(process: subprocess.Popen[bytes]) -> None:
    # Its whole group: a shell may have left children.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

"""Where the virtual board and a host meet: a TAP device in a network namespace, or loopback."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "rtl" / "regs"))

import samplewire_regs as regs  # noqa: E402
from runner import BUILDS, use_verilator  # noqa: E402

TAP = "tap0"
BOARD_ADDRESS = "10.64.0.2"
PORT = 9100
# What the last line of an answer of the registers begins with.
ANSWER_ENDS = ("ok", "0x", "error")


def build_board(name: str, *options: str, target: str = "board") -> Path:
    """The program of a board or a bench, built by rtl/sim/Makefile with these options."""
    use_verilator()
    out = BUILDS / "sim"
    out.mkdir(parents=True, exist_ok=True)
    command = ["make", "-f", ROOT / "rtl/sim/Makefile", "--no-print-directory", target]
    command += [*options, f"OUT={out}", f"PYTHON={sys.executable}"]
    # Workers of pytest-xdist would build the same files at once.
    with (out / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(command, check=True)
    return out / name


def firmware_image(name: str) -> Path:
    """An image of the firmware, which is built first."""
    if not shutil.which("rustup"):
        pytest.skip("there is no rustup, which has the firmware's target")
    subprocess.run(["make", "--silent", "--no-print-directory", "firmware"], cwd=ROOT, check=True)
    return ROOT / "out" / "firmware" / f"{name}.bin"


class Tap:
    """A network namespace of its own with the host's end of the wire in it.

    Root makes it as root, anyone else as the root of a user namespace; `OSError` says why there is
    none.
    """

    has_ethernet = True

    def __init__(self) -> None:
        if not Path("/dev/net/tun").exists():
            raise OSError("there is no /dev/net/tun")
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        script = (
            "mount -t sysfs sysfs /sys; set -e; ip link set lo up; "
            f"ip tuntap add {TAP} mode tap; "
            f"echo 1 > /proc/sys/net/ipv6/conf/{TAP}/disable_ipv6 || true; "
            f"ip link set {TAP} mtu 9000 up; ip address add 10.64.0.1/24 dev {TAP}; "
            "echo ready; exec cat"
        )
        # `cat` ends with this process, and the namespace with it.
        self._holder = subprocess.Popen(
            ["unshare", *user, "--net", "--mount", "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if self._holder.stdout.readline() != "ready\n":
            raise OSError(f"no TAP device: {self._holder.communicate()[1].strip()}")
        enter_user = ["--user", "--preserve-credentials"] if user else []
        pid = str(self._holder.pid)
        self.prefix = ["nsenter", "--target", pid, *enter_user, "--net", "--mount"]
        self.address = f"{BOARD_ADDRESS}:{PORT}"
        self.board_options = ["--tap", TAP]

    def close(self) -> None:
        """Removes the namespace."""
        self._holder.stdin.close()
        self._holder.wait(5)

    def write(self, path: str, text: str) -> bool:
        """Writes a file as the namespace shows it; False where that is not allowed."""
        command = [*self.prefix, "sh", "-c", f"echo {text} > {path}"]
        return subprocess.run(command, capture_output=True).returncode == 0


class Loopback:
    """UDP at 127.0.0.1, for users who may not make a TAP device."""

    has_ethernet = False
    prefix: tuple[str, ...] = ()

    def __init__(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        self.board_options = ["--udp", str(port)]

    def close(self) -> None:
        """Nothing was made."""


class Board:
    """A running board; `options` are those of its command line."""

    def __init__(self, binary: Path, place: Tap | Loopback, folder: Path, *options: object) -> None:
        self._registers = str(Path(folder) / "registers")
        self._log = Path(folder) / "board.log"
        command = [*place.prefix, str(binary), *place.board_options, *map(str, options)]
        command += ["--registers", self._registers]
        with self._log.open("a") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        self._wait_until_it_answers()

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _wait_until_it_answers(self) -> None:
        end = time.monotonic() + 5
        while time.monotonic() < end and self._process.poll() is None:
            with contextlib.suppress(OSError):
                if int(self.ask("read id")[-1], 0) == regs.ID_VALUE:
                    return
            time.sleep(0.01)
        self.kill()
        raise RuntimeError(f"the board does not answer: {self._log.read_text()}")

    def ask(self, line: str) -> list[str]:
        """Says a line to the board's registers; gives the lines of the answer."""
        with socket.socket(socket.AF_UNIX) as console:
            console.settimeout(5)
            console.connect(self._registers)
            console.sendall(f"{line}\n".encode())
            text = ""
            while not text.endswith("\n") or not text.splitlines()[-1].startswith(ANSWER_ENDS):
                more = console.recv(4096)
                if not more:
                    raise OSError(f"the board hung up after `{text}`")
                text += more.decode()
        return text.splitlines()

    def counters(self) -> dict[str, int]:
        """All counters by name, as of one cycle."""
        return {name: int(value) for name, value in map(str.split, self.ask("counters")[:-1])}

    def wait_for(self, name: str, count: int, timeout_s: float = 5.0) -> None:
        """Waits until a counter has reached `count`."""
        end = time.monotonic() + timeout_s
        while self.counters()[name] < count:
            assert time.monotonic() < end, f"{name} stays below {count}: {self.counters()}"
            time.sleep(0.01)

    def kill(self) -> None:
        """Ends the board as a power cut does."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait(5)

    def stop(self) -> None:
        """Ends the board in order."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(10)


class Host:
    """`samplewire` against the board of a place."""

    def __init__(self, binary: Path, place: Tap | Loopback) -> None:
        self._binary = str(binary)
        self._place = place

    def command(self, verb: str, *options: object) -> list[str]:
        """The command line of a verb with the board's address."""
        return [*self._place.prefix, self._binary, verb, self._place.address, *map(str, options)]

    def probe(self) -> dict[str, Any]:
        """What the board says of itself."""
        command = self.command("probe", "--json")
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def record(self, *options: object, timeout_s: float = 60) -> tuple[int, dict[str, Any]]:
        """Records; gives the exit status and the JSON of the end."""
        return self.end(self.start_record(*options), timeout_s)

    def start_record(self, *options: object) -> subprocess.Popen[str]:
        """Begins to record."""
        return subprocess.Popen(
            self.command("record", *options, "--json"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @staticmethod
    def end(process: subprocess.Popen[str], timeout_s: float = 30) -> tuple[int, dict[str, Any]]:
        """The exit status of a recording and the JSON of its end."""
        out, error = process.communicate(timeout=timeout_s)
        assert out, f"status {process.returncode}: {error}"
        return process.returncode, json.loads(out)

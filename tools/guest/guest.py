"""A virtual machine in QEMU, driven over a serial port: commands go in, output and status come out.

QEMU translates (TCG); it needs no KVM and no root. The first guest of an image boots, in some
seconds, and leaves a snapshot; each later one begins with that. Its only network is a datagram
port, whose other end is a switch:

    with Guest("one", folder, Port(local=.., remote=..)) as guest:
        guest.connect(own, peers)
        print(guest.run("ip link"))
"""

import base64
import hashlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from image import FOLDER, image
from packages import KERNEL, QEMU

MTU_BYTES = 4_200
"""RoCE's largest payload of 4,096 bytes and its headers fit."""

MEMORY_MIB = 384
BOOT_PATIENCE_S = 120
ANSWER_PATIENCE_S = 30
"""An answer may come that much later than its command had to end: others use the processor too."""

KERNEL_OPTIONS = "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on"
MACHINE = ("-accel", "tcg,thread=single", "-cpu", "Nehalem,+rdrand", "-m", f"{MEMORY_MIB}M")
NETWORK = f"virtio-net-pci,netdev=net,host_mtu={MTU_BYTES},romfile="


PEER_IS_THERE = "until netstat -lnt | grep -q ':7000 '; do sleep 0.1; done"

SO_RCVBUFFORCE = 33
"""Of asm-generic/socket.h; needs root."""


class GuestError(Exception):
    """A guest does not do what it should."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a command has left."""

    status: int
    output: str


@dataclass(frozen=True, kw_only=True)
class Port:
    """The guest's end of a datagram port: IP:PORT twice, or two paths of Unix sockets."""

    local: str
    remote: str
    room_bytes: int = 0
    """For frames that wait at a UDP socket for QEMU; 0: the system's default, some 40 of 4 KiB."""

    def words(self) -> str:
        """The option of QEMU."""
        ends = []
        for end, address in (("local", self.local), ("remote", self.remote)):
            if "/" in address:
                ends.append(f"{end}.type=unix,{end}.path={address}")
            else:
                host, port = address.rsplit(":", 1)
                ends.append(f"{end}.type=inet,{end}.host={host},{end}.port={port}")
        return ",".join(("dgram,id=net", *ends))

    def open(self) -> socket.socket | None:
        """The socket that QEMU is given where it needs more room than it would ask for."""
        if not self.room_bytes:
            return None
        opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        opened.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, self.room_bytes)
        for call, address in ((opened.bind, self.local), (opened.connect, self.remote)):
            host, port = address.rsplit(":", 1)
            call((host, int(port)))
        return opened


@dataclass(frozen=True, kw_only=True)
class Address:
    """A station's addresses; all stations know each other's."""

    ip: str
    mac: str


class Guest:
    """A running guest. What it captures is at `capture`."""

    def __init__(self, name: str, folder: Path, port: Port) -> None:
        """Makes its sockets in `folder`, whose path is short (108 bytes with theirs)."""
        self.name = name
        self.ip = ""
        self.capture = folder / f"{name}.pcap"
        self._folder = folder
        self._port = port

    def __enter__(self) -> Self:
        saved = snapshot()
        self._machine = Machine(self.name, self._folder, self._port, self.capture, saved)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._machine.end()

    @property
    def pid(self) -> int:
        """QEMU's."""
        return self._machine.pid

    def connect(self, own: Address, peers: Iterable[Address]) -> None:
        """Gives eth0 its addresses, and rxe0 to it, with all neighbours known. All frames of the
        port are counted, those that the switch floods too."""
        lines = [
            f"/sbin/ip link set eth0 address {own.mac} mtu {MTU_BYTES} promisc on up",
            f"/sbin/ip address add {own.ip}/24 dev eth0",
            "rdma link add rxe0 type rxe netdev eth0",
        ]
        lines += [
            f"/sbin/ip neighbour replace {peer.ip} lladdr {peer.mac} dev eth0"
            for peer in peers
            if peer != own
        ]
        self.run("\n".join(["set -e", *lines]))
        self.ip = own.ip

    def run(self, script: str, limit_s: int = 20) -> str:
        """Runs a shell script and returns its output; raises GuestError where it fails."""
        answer = self.attempt(script, limit_s)
        if answer.status:
            said = f"status {answer.status}: {answer.output.strip()}"
            raise GuestError(f"guest {self.name}: {script}: {said}")
        return answer.output

    def attempt(self, script: str, limit_s: int = 20) -> Answer:
        """Runs a shell script, which is ended after `limit_s`, whatever its status is."""
        return self._machine.command(script, limit_s)

    def plug(self, is_plugged: bool) -> None:
        """Plugs or unplugs the cable of eth0: what is sent meanwhile either way is lost."""
        self._machine.ask("set_link", name="net", up=is_plugged)

    def count(self, name: str) -> int:
        """A counter of eth0, such as rx_packets."""
        return int(self.run(f"cat /sys/class/net/eth0/statistics/{name}"))


class Machine:
    """The process of QEMU with its two connections: the serial port and the monitor."""

    def __init__(
        self, name: str, folder: Path, port: Port, capture: Path | None, saved: Path | None
    ) -> None:
        self._name = name
        self._number = 0
        self._console = folder / f"{name}.console"
        serial, monitor = folder / f"{name}.serial", folder / f"{name}.monitor"
        words = [
            # It goes with this process, however that ends.
            *("setpriv", "--pdeathsig", "KILL", QEMU),
            *MACHINE,
            *("-kernel", str(KERNEL), "-initrd", str(image()), "-append", KERNEL_OPTIONS),
            *("-nodefaults", "-display", "none", "-no-reboot"),
            *("-serial", f"file:{self._console}"),
            *("-serial", f"unix:{serial},server=on,wait=off"),
            *("-qmp", f"unix:{monitor},server=on,wait=off"),
            *("-device", NETWORK),
        ]
        opened = port.open()
        fds = [opened.fileno()] if opened else []
        words += [
            "-netdev",
            f"dgram,id=net,local.type=fd,local.str={fds[0]}" if fds else port.words(),
        ]
        if capture:
            words += ["-object", f"filter-dump,id=dump,netdev=net,file={capture}"]
        if saved:
            words += ["-incoming", "defer"]
        self._errors = (folder / f"{name}.errors").open("w+b")
        self._process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=self._errors, stderr=self._errors, pass_fds=fds
        )
        if opened:
            opened.close()
        try:
            self._serial = self._connect(serial)
            self._monitor = self._connect(monitor).makefile("rw")
            self._monitor.readline()
            self.ask("qmp_capabilities")
            if saved:
                # A machine that was moved announces itself to switches; this one has not moved.
                self.ask("migrate-set-parameters", **{"announce-rounds": 0})
                self.ask("migrate-incoming", uri=f"exec:cat {saved}")
            self._wait_until_ready()
        except BaseException:
            self.end()
            raise

    def _connect(self, path: Path) -> socket.socket:
        until = time.monotonic() + ANSWER_PATIENCE_S
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(path))
                return connection
            except OSError as error:
                connection.close()
                self._look(until, f"{path}: {error}")
                time.sleep(0.02)

    def _look(self, until: float, what: str) -> None:
        """Raises GuestError where QEMU has ended or the time is over."""
        if self._process.poll() is not None:
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip()
            raise GuestError(f"guest {self._name}: QEMU ended: {said or self._process.returncode}")
        if time.monotonic() > until:
            console = self._console.read_text(errors="replace")[-2_000:]
            raise GuestError(f"guest {self._name}: {what}; its console:\n{console}")

    def _wait_until_ready(self) -> None:
        """A line that comes before the guest reads is lost, and has to be sent again."""
        until = time.monotonic() + BOOT_PATIENCE_S
        self._serial.settimeout(0.25)
        said = b""
        while b"ready\n" not in said:
            self._look(until, f"not booted within {BOOT_PATIENCE_S} s")
            self._send(0, 1, "echo ready")
            said += self._received()
        # Answers to the other ones may still come.
        self._serial.settimeout(1)
        self._send(0, 1, "echo begin")
        while not said.endswith(b"begin\n"):
            self._look(until, "no answer")
            said += self._received()

    def command(self, script: str, limit_s: int) -> Answer:
        self._number += 1
        self._send(self._number, limit_s, script)
        until = time.monotonic() + limit_s + ANSWER_PATIENCE_S
        said = b""
        while True:
            head, newline, output = said.partition(b"\n")
            if newline:
                number, status, length = map(int, head.split())
                if number != self._number:
                    raise GuestError(f"guest {self._name}: answer {number} to {self._number}")
                if len(output) == length:
                    return Answer(status=status, output=output.decode(errors="replace"))
            self._look(until, f"no answer within {limit_s} s: {script}")
            said += self._received()

    def _send(self, number: int, limit_s: int, script: str) -> None:
        code = base64.b64encode(script.encode())
        # Where QEMU has ended, the next read reports why.
        with suppress(OSError):
            self._serial.sendall(b"%d %d %b\n" % (number, limit_s, code))

    def _received(self) -> bytes:
        """What comes in within a second, or within the quarter of one while it boots."""
        try:
            return self._serial.recv(65_536)
        except OSError:
            return b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, command: str, **arguments: object) -> dict:
        """Asks the monitor (QMP)."""
        self._monitor.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._monitor.flush()
        for line in self._monitor:
            answer = json.loads(line)
            if "error" in answer:
                raise GuestError(f"guest {self._name}: {command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
        raise GuestError(f"guest {self._name}: {command}: the monitor is closed")

    def save(self, path: Path) -> None:
        """Writes the whole state to a file, and stops."""
        self.ask("migrate-set-parameters", **{"max-bandwidth": 1 << 34})
        self.ask("migrate", uri=f"exec:cat >{path}")
        until = time.monotonic() + BOOT_PATIENCE_S
        while (status := self.ask("query-migrate").get("status")) != "completed":
            if status in ("failed", "cancelled"):
                raise GuestError(f"guest {self._name}: the snapshot {status}")
            self._look(until, "no snapshot")
            time.sleep(0.05)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._errors.close()


def snapshot() -> Path:
    """A guest that has booted and waits for commands, made where there is none of this image."""
    version = subprocess.run((QEMU, "--version"), capture_output=True, text=True, check=True)
    words = " ".join((version.stdout, KERNEL_OPTIONS, *MACHINE, NETWORK))
    settings = hashlib.sha256(words.encode()).hexdigest()[:8]
    path = FOLDER / f"{image().name.replace('initrd', 'snapshot')}-{settings}"
    if not path.exists():
        for old in FOLDER.glob("snapshot-*"):
            old.unlink()
        part = path.with_suffix(f".{os.getpid()}")
        name = f"boot-{os.getpid()}"
        nowhere = Port(local=str(FOLDER / f"{name}.local"), remote=str(FOLDER / f"{name}.remote"))
        machine = Machine(name, FOLDER, nowhere, None, None)
        try:
            machine.command(PEER_IS_THERE, BOOT_PATIENCE_S)
            machine.save(part)
            part.rename(path)
        finally:
            machine.end()
            for left in FOLDER.glob(f"{name}.*"):
                left.unlink()
    return path

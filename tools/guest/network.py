"""`samplewire switch` with guests at datagram ports, and a network namespace at a TAP device."""

import json
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import packages
from guest import MTU_BYTES, Address, Guest, GuestError, Port
from packages import FILES, ROOT

sys.path.insert(0, str(ROOT / "bench"))

import incast
import netns
from turns import ProgramError

BUSYBOX = FILES / "bin/busybox"
"""Static: it runs on the host too."""

ROOM_BYTES = 8 << 20
"""For what comes while a guest does not run: some 60 ms of 1 Gb/s."""

PORT = 5_000
"""Where a guest listens on TCP."""

BEGUN = """
echo $! >/tmp/nc{port}.pid
until netstat -lnt | grep -q ':{port} '; do sleep 0.05; done
"""
# nc closes its connection where its own input ends.
LISTENS = "tail -f /dev/null | nc -l -p {port} >{to} &" + BEGUN
ENDS = "while [ -e /proc/$(cat /tmp/nc{port}.pid) ]; do sleep 0.05; done; sha256sum <{file}"

FRAME_BYTES_MAX = 9_216
PATIENCE_S = 20
ERRORS = (GuestError, ProgramError)
"""What does not do as it should, and says why."""


@dataclass(kw_only=True)
class Network:
    """What runs while the `with` lasts. Ports of the switch are in the order of `addresses`."""

    addresses: list[Address]
    guests: list[Guest]
    host: incast.Station | None
    switch: subprocess.Popen[str]
    ends: list[str]
    """Where each guest gets its frames."""
    stations: list[tuple[str, ...]]
    """Options of `samplewire roce`, of each port for a program."""
    raw: "RawPort | None"
    """A station of our own, at the last port and with the last address."""

    def names(self) -> list[str]:
        """What the ports lead to."""
        return ["namespace"] * bool(self.host) + [f"guest {guest.name}" for guest in self.guests]

    @property
    def tap(self) -> str:
        """The interface in the namespace."""
        if self.host is None:
            raise GuestError("the network has no namespace")
        return self.host.tap

    def command(self, *words: str) -> tuple[str, ...]:
        """A program's command in the namespace."""
        if self.host is None:
            raise GuestError("the network has no namespace")
        return (*self.host.inside, *words)

    def inside(self, *words: str, limit_s: float = 20) -> str:
        """Runs a program in the namespace."""
        command = self.command(*words)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
        except subprocess.TimeoutExpired as error:
            raise GuestError(f"{' '.join(words)}: not within {limit_s} s") from error
        if done.returncode:
            raise GuestError(f"{' '.join(words)}: {done.stdout.strip()} {done.stderr.strip()}")
        return done.stdout

    def unread(self, number: int) -> int:
        """Frames that found no room at the UDP socket of a guest, which only the kernel counts."""
        _, _, port = self.ends[number].rpartition(":")
        if not port.isdigit():
            return 0
        place = f"0100007F:{int(port):04X}"
        for line in Path("/proc/net/udp").read_text().splitlines():
            fields = line.split()
            if fields[1] == place:
                return int(fields[-1])
        raise GuestError(f"no UDP socket has the port {port}")

    def finish(self) -> list[dict]:
        """Ends the switch and returns the counts of its ports."""
        self.switch.send_signal(signal.SIGINT)
        out, err = self.switch.communicate(timeout=PATIENCE_S)
        if self.switch.returncode:
            raise GuestError(f"samplewire switch: {err.strip()}")
        return json.loads(out)["end"]["ports"]


@contextmanager
def network(
    program: Path,
    *options: str,
    guests: Sequence[str] = (),
    with_host: bool = False,
    is_unix: bool = False,
    room_bytes: int = ROOM_BYTES,
    stations: int = 0,
    has_raw: bool = False,
) -> Iterator[Network]:
    """Starts a switch with a port for each guest, after one for the namespace if there is one.

    Behind them come the ports of programs that are stations themselves.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sw")))
        # The host comes first, as bench/incast.py numbers stations from 1.
        host = incast.Station(name="namespace", number=0) if with_host else None
        first = 2 if host else 1
        macs = [f"02:00:00:00:98:{first + at:02x}" for at in range(len(guests))]
        addresses = [Address(ip=f"10.98.0.{first + at}", mac=mac) for at, mac in enumerate(macs)]
        if has_raw:
            addresses.append(Address(ip="10.98.0.99", mac="02:00:00:00:98:99"))
        if host:
            addresses.insert(0, Address(ip=host.ip, mac=host.mac))
            netns.remove_left()
            stack.callback(netns.remove, [host.space])
            netns.run("ip", "netns", "add", host.space)
        ends = [unix_ends(folder, name) if is_unix else inet_ends() for name in guests]
        own_ends = [inet_ends() for _ in range(stations)]
        ports = ["--tap", host.tap] if host else []
        for near, far in ends + own_ends:
            ports += ["--dgram", f"{near},{far}"]
        raw = None
        if has_raw:
            near, far = unix_ends(folder, "raw")
            ports += ["--dgram", f"{near},{far}"]
            raw = stack.enter_context(RawPort(far, near))
        words = (str(program), "switch", *ports, *options, "--json")
        switch = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, text=True)
        stack.callback(stop, switch)
        if host:
            incast.connect([host], [host], MTU_BYTES)
            for peer in addresses[1:]:
                known = (peer.ip, "lladdr", peer.mac, "dev", host.tap)
                netns.run("ip", "-n", host.space, "neighbour", "replace", *known)
        running = []
        for name, (near, far) in zip(guests, ends, strict=True):
            port = Port(local=far, remote=near, room_bytes=0 if is_unix else room_bytes)
            guest = stack.enter_context(Guest(name, folder, port))
            guest.connect(addresses[len(running) + first - 1], addresses)
            running.append(guest)
        first += len(guests)
        yield Network(
            addresses=addresses,
            guests=running,
            host=host,
            switch=switch,
            ends=[far for _, far in ends],
            stations=[
                ("--ip", f"10.98.0.{first + at}", "--dgram", f"{far},{near}")
                for at, (near, far) in enumerate(own_ends)
            ],
            raw=raw,
        )


class RawPort:
    """A port of the switch whose frames are written and read here."""

    def __init__(self, own: str, switch: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(own)
        self._switch = switch

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, frame: bytes) -> None:
        self._socket.sendto(frame, self._switch)

    def receive(self, limit_s: float) -> bytes | None:
        """The next frame, None where none comes in time."""
        self._socket.settimeout(limit_s)
        try:
            return self._socket.recv(FRAME_BYTES_MAX)
        except TimeoutError:
            return None


def missing() -> str:
    """What is needed and not here; empty where nothing is missing."""
    return incast.missing() or packages.missing()


def unix_ends(folder: Path, name: str) -> tuple[str, str]:
    """The end of the switch and that of the guest."""
    return str(folder / f"{name}.near"), str(folder / f"{name}.far")


def inet_ends() -> tuple[str, str]:
    """The same, at two free ports of loopback."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    near, far = (f"127.0.0.1:{one.getsockname()[1]}" for one in sockets)
    for one in sockets:
        one.close()
    return near, far


def stop(switch: subprocess.Popen[str]) -> None:
    switch.kill()
    switch.communicate()

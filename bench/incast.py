#!/usr/bin/env python3
"""Devices share one port of `samplewire switch` over real sockets, in slow motion.

Each device has a network namespace with a TAP device, and so has the receiver, which opens a stream
of each. All TAP devices are ports of one switch. The figures come from its counts, in windows of a
second of the host: how evenly the port of the receiver is shared (Jain's index of what each device
got through), and how much of it is used. Needs root and /dev/net/tun; changes nothing outside its
namespaces, which go when it ends.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import netns
from netns import run
from turns import ProgramError

NEEDED_COMMAND = "ip"
RECEIVER = "receiver"

START_S = 5
"""Joining is over by then: 0.1 s at a factor of 50."""

SLACK_S = 0.2
PATIENCE_S = 30

SOURCE = "max:3M"
"""As fast as it goes; announced as 3 MS/s, 96 Mb/s, which is the rate that a stream starts at."""


@dataclass(frozen=True, kw_only=True)
class Station:
    """A namespace with one end of a cable; the switch holds the other."""

    space: str
    tap: str
    ip: str
    mac: str

    @property
    def inside(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.space)


@dataclass(frozen=True, kw_only=True)
class Result:
    """What the windows show."""

    jain: list[float]
    utilisation: list[float]
    dropped: int
    tap_dropped: int
    repaired: int
    marked: int
    queue_bytes_max: int
    late_ns: dict[str, int]


def missing() -> str:
    """What is needed and not here; empty where nothing is missing."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not Path("/dev/net/tun").exists():
        return "/dev/net/tun is missing: modprobe tun"
    paths = os.environ.get("PATH", "").split(":")
    if not any(Path(folder, NEEDED_COMMAND).exists() for folder in paths):
        return "iproute2 is missing: apt-get install iproute2"
    return ""


def stations_of(devices: int) -> list[Station]:
    """The receiver comes last."""
    pid = os.getpid()
    names = [f"device{number}" for number in range(devices)] + [RECEIVER]
    return [
        Station(
            space=f"{netns.PREFIX}{pid}-{name}",
            tap=f"sw{pid}p{number}",
            ip=f"10.98.0.{number + 1}",
            mac=f"02:00:00:00:98:{number + 1:02x}",
        )
        for number, name in enumerate(names)
    ]


def connect(stations: list[Station], mtu_bytes: int) -> None:
    """Moves the open TAP devices into their namespaces and gives them addresses."""
    for station in stations:
        wait_for(lambda tap=station.tap: Path("/sys/class/net", tap).exists(), station.tap)
        move = ["dev", station.tap, "address", station.mac, "mtu", str(mtu_bytes)]
        run("ip", "link", "set", *move, "netns", station.space)
        inside = ("ip", "-n", station.space)
        run(*inside, "address", "add", f"{station.ip}/24", "dev", station.tap)
        run(*inside, "link", "set", "lo", "up")
        # Without an IPv6 address the kernel sends no packets of its own.
        run(*inside, "link", "set", station.tap, "addrgenmode", "none")
        run(*inside, "link", "set", station.tap, "up")
        for peer in stations:
            if peer is not station:
                words = (peer.ip, "lladdr", peer.mac, "dev", station.tap)
                run(*inside, "neighbour", "replace", *words)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            raise ProgramError(f"{what}: not within {PATIENCE_S} s")
        time.sleep(0.01)


def incast(arguments: argparse.Namespace, stack: ExitStack) -> Result:
    """Runs all programs and reads what the switch counted."""
    program, slow = arguments.samplewire, str(arguments.slow)
    stations = stations_of(arguments.devices)
    netns.remove_left()
    stack.callback(netns.remove, [station.space for station in stations])
    for station in stations:
        run("ip", "netns", "add", station.space)
    programs: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        started = subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        programs.append(started)
        stack.callback(end, started)
        return started

    ports = [word for station in stations for word in ("--tap", station.tap)]
    options = ("--rate", arguments.rate, "--buffer", arguments.buffer, "--slow", slow)
    switch = start(program, "switch", *ports, *options, "--json")
    connect(stations, arguments.mtu)
    *devices, receiver = stations
    mtu = ("--mtu", str(arguments.mtu), "--slow", slow)
    for device in devices:
        emulate = (program, "emulate", "--listen", f"{device.ip}:9100", "--source", "null")
        start(
            *device.inside,
            *emulate,
            "--rate",
            SOURCE,
            "--line-rate",
            arguments.rate,
            "--control",
            arguments.control,
            *mtu,
        )
    time.sleep(1)
    duration = ("--duration", f"{arguments.seconds + 1}s")
    receivers = [
        start(*receiver.inside, program, "rate", device.ip, *duration, "--json", *mtu)
        for device in devices
    ]
    reports = [finish(started, arguments.seconds + PATIENCE_S) for started in receivers]
    switch.send_signal(signal.SIGINT)
    return read(finish(switch, PATIENCE_S), reports, arguments)


def finish(started: subprocess.Popen[str], patience_s: float) -> dict:
    """The JSON that a program prints at its end."""
    out, err = started.communicate(timeout=patience_s)
    if started.returncode:
        raise ProgramError(f"{' '.join(map(str, started.args))}: {err.strip()}")
    return json.loads(out)


def end(started: subprocess.Popen[str]) -> None:
    started.kill()
    started.communicate()


def read(report: dict, receivers: list[dict], arguments: argparse.Namespace) -> Result:
    """Figures of each window from START_S after all devices send, while the receivers are there."""
    count = arguments.devices
    windows = report["intervals"]

    def got(window: dict) -> list[int]:
        return [port["bytes_forwarded"] for port in window["ports"][:count]]

    def is_full(window: dict) -> bool:
        return min(got(window)) > 0 and window["end_s"] - window["start_s"] > 0.9

    full = [at for at, window in enumerate(windows) if is_full(window)]
    if not full:
        raise ProgramError("no window in which all devices sent")
    begun = windows[full[0]]["start_s"]
    until = begun + arguments.seconds
    # Windows begin some ms late, each after the one before.
    first_s, last_s = begun + START_S - SLACK_S, until + SLACK_S
    measured = [it for it in windows if it["start_s"] >= first_s and it["end_s"] <= last_s]
    if not measured:
        raise ProgramError(f"--seconds {arguments.seconds}: nothing is left after {START_S} s")
    ports = report["end"]["ports"]
    return Result(
        jain=[jain(got(window)) for window in measured],
        utilisation=[window["ports"][count]["utilisation"] for window in measured],
        dropped=sum(port["dropped"] for port in ports),
        tap_dropped=sum(port["link_dropped"] or 0 for port in ports),
        repaired=sum(it["end"]["receive"]["packets_repaired"] for it in receivers),
        marked=sum(port["marked"] for port in ports),
        queue_bytes_max=ports[count]["queue_bytes_max"],
        late_ns=report["end"]["late"],
    )


def jain(shares: list[int]) -> float:
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


def print_result(result: Result, arguments: argparse.Namespace) -> bool:
    """Prints each figure against its bound; returns whether all hold."""
    rows = [
        ("Jain, mean of windows", mean(result.jain), arguments.jain),
        ("utilisation, mean of windows", mean(result.utilisation), arguments.utilisation),
    ]
    holds = True
    windows = len(result.jain)
    print(f"{arguments.devices} devices, {windows} windows of 1 s, {arguments.slow} times slower")
    for name, value, least in rows:
        holds &= value >= least
        print(f"  {name:30} {value:.4f}  at least {least}")
    print(f"  least of a window: Jain {min(result.jain):.4f}, use {min(result.utilisation):.4f}")
    for name, count in (
        ("dropped by the switch", result.dropped),
        ("dropped by TAP", result.tap_dropped),
    ):
        holds &= count == 0
        print(f"  {name:30} {count}  at most 0")
    print(f"  {'repaired by the receivers':30} {result.repaired}")
    print(f"  {'marked':30} {result.marked}")
    print(f"  {'longest queue':30} {result.queue_bytes_max / 1e3:.0f} kB")
    late = {name: ns / 1e3 for name, ns in result.late_ns.items()}
    words = f"{late['p50_ns']:.0f} us, 99 % {late['p99_ns']:.0f} us, most {late['max_ns']:.0f} us"
    print(f"  {'late by the host (jitter)':30} half {words}")
    return holds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("samplewire", type=Path, nargs="?", help="the program")
    parser.add_argument("--devices", type=int, default=3, help="1 to 62 [3]")
    parser.add_argument("--seconds", type=int, default=15, help=f"{START_S} of them to join [15]")
    parser.add_argument("--slow", type=int, default=50, help="slow motion [50]")
    parser.add_argument("--rate", default="10G", help="of each port, in slow time [10G]")
    parser.add_argument("--buffer", default="2MB", help="of the switch [2MB]")
    parser.add_argument("--mtu", type=int, default=4096, help="in bytes [4096]")
    parser.add_argument("--control", default="dcqcn", help="of the devices [dcqcn]")
    parser.add_argument("--jain", type=float, default=0.98, help="the least [0.98]")
    parser.add_argument("--utilisation", type=float, default=0.97, help="the least [0.97]")
    parser.add_argument("--can-run", action="store_true", help="print what is missing, and end")
    arguments = parser.parse_args()
    reason = missing()
    if arguments.can_run:
        print(reason, end="")
        return int(bool(reason))
    if reason or not arguments.samplewire:
        print(f"incast: {reason or 'name the program'}", file=sys.stderr)
        return 1
    if not 1 <= arguments.devices <= 62:
        parser.error(f"--devices {arguments.devices}: must be 1 to 62")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with ExitStack() as stack:
            result = incast(arguments, stack)
    except (ProgramError, subprocess.TimeoutExpired) as error:
        print(f"incast: {error}", file=sys.stderr)
        return 1
    return 0 if print_result(result, arguments) else 1


if __name__ == "__main__":
    sys.exit(main())

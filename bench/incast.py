#!/usr/bin/env python3
"""Senders share one port of `samplewire switch` over real sockets, in slow motion.

Each device has a network namespace with a TAP device, and so has the receiver, which opens a stream
of each sender. All TAP devices are ports of one switch. Virtual boards (`make board` builds one)
are connected to it by datagram sockets. With --roce devices and boards send RDMA messages instead,
to a listener each in the receiver's namespace. The figures come from the counts of the switch, in
windows of a second of the host: how evenly the port of the receiver is shared (Jain's index of what
each sender got through), and how much of it is used. Needs root and /dev/net/tun; changes nothing
outside its namespaces, which go when it ends.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
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

START_S = 0.1
"""Joining is over by then, in slow time."""

SLACK_S = 0.2
PATIENCE_S = 30

SOURCE = "max:3M"
"""As fast as it goes; announced as 3 MS/s, 96 Mb/s, which is the rate that a stream starts at."""


BOARDS = Path(__file__).parent.parent / "out/rtl/sim"
BOARD_HEADERS_BYTES = 20 + 8 + 22 + 4
"""Of a packet besides its payload, which fills whole beats of 8 bytes."""

SENDERS_MAX = 62

ROCE_HEADERS_BYTES = 64
"""Of a RoCE packet besides its payload, at most: --mtu is the path MTU there."""

EXCHANGE_PORT = 18515

ROCE_MESSAGE_BYTES = 65_536
"""Of a board: at most 16 of them are in flight, as many as a listener has receive requests."""

INTERRUPTED = 128 + signal.SIGINT


@dataclass(frozen=True, kw_only=True)
class Station:
    """One end of a cable, the switch holds the other: a namespace with a TAP device, or a board."""

    name: str
    number: int

    @property
    def space(self) -> str:
        return f"{netns.PREFIX}{os.getpid()}-{self.name}"

    @property
    def tap(self) -> str:
        return f"sw{os.getpid()}p{self.number}"

    @property
    def ip(self) -> str:
        return f"10.98.0.{self.number + 1}"

    @property
    def peer_ip(self) -> str:
        """The receiver's address for this sender, with --roce."""
        return f"10.98.0.{self.number + 101}"

    @property
    def mac(self) -> str:
        return f"02:00:00:00:98:{self.number + 1:02x}"

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
    cnps: int
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


def stations_of(devices: int, boards: int) -> tuple[list[Station], list[Station], Station]:
    """Devices, boards and the receiver, as the switch numbers their ports."""
    names = [f"device{number}" for number in range(devices)] + [RECEIVER]
    names += [f"board{number}" for number in range(boards)]
    stations = [Station(name=name, number=number) for number, name in enumerate(names)]
    return stations[:devices], stations[devices + 1 :], stations[devices]


def connect(stations: list[Station], peers: list[Station], mtu_bytes: int) -> None:
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
        for peer in peers:
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
    devices, boards, receiver = stations_of(arguments.devices, arguments.boards)
    spaces = [*devices, receiver]
    netns.remove_left()
    stack.callback(netns.remove, [station.space for station in spaces])
    for station in spaces:
        run("ip", "netns", "add", station.space)
    programs: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        started = subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        programs.append(started)
        stack.callback(end, started)
        return started

    folder = stack.enter_context(tempfile.TemporaryDirectory())
    ports = [word for station in spaces for word in ("--tap", station.tap)]
    for board in boards:
        ports += ["--dgram", f"{folder}/switch-{board.name},{folder}/{board.name}"]
    options = ["--rate", arguments.rate, "--buffer", arguments.buffer, "--slow", slow]
    options += ["--proxy-cnp"] * arguments.proxy_cnp
    switch = start(program, "switch", *ports, *options, "--json")
    connect(spaces, [*spaces, *boards], arguments.mtu + ROCE_HEADERS_BYTES * arguments.roce)
    senders = [
        *range(arguments.devices),
        *(arguments.devices + 1 + at for at in range(len(boards))),
    ]
    if arguments.roce:
        connect_boards(arguments, boards, receiver, folder, start)
        reports = run_roce(arguments, devices, receiver, start)
        switch.send_signal(signal.SIGINT)
        repeats = sum(it["retransmissions"] for it in reports)
        return read(finish(switch, PATIENCE_S), senders, arguments.devices, repeats, arguments)
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
    payload = (arguments.mtu - BOARD_HEADERS_BYTES) // 8 * 8
    for board in boards:
        path = f"{folder}/{board.name}"
        address = ("--ip", board.ip, "--mac", board.mac, "--unix", path, "--slow", slow)
        start(arguments.board, *address, "--payload", str(payload))
    time.sleep(1)
    duration = ("--duration", f"{arguments.seconds + 1}s")
    receivers = [
        start(*receiver.inside, program, "rate", sender.ip, *duration, "--json", *mtu)
        for sender in [*devices, *boards]
    ]
    reports = [finish(started, arguments.seconds + PATIENCE_S) for started in receivers]
    switch.send_signal(signal.SIGINT)
    repaired = sum(it["end"]["receive"]["packets_repaired"] for it in reports)
    return read(finish(switch, PATIENCE_S), senders, arguments.devices, repaired, arguments)


def connect_boards(
    arguments: argparse.Namespace,
    boards: list[Station],
    receiver: Station,
    folder: str,
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    """Starts boards, each with a listener of its own: they exchange their lines by files."""
    slow = ("--slow", str(arguments.slow))
    mtu = ("--mtu", str(arguments.mtu))
    no_cnp = ["--no-cnp"] * arguments.proxy_cnp
    for board in boards:
        path = f"{folder}/{board.name}"
        line, peer = f"{path}.line", f"{path}.peer"
        address = ("--ip", board.ip, "--mac", board.mac, "--unix", path, *slow, *mtu)
        lines = ("--line", line, "--peer", peer, "--message", str(ROCE_MESSAGE_BYTES))
        start(arguments.board, "--carriage", "rdma", *address, *lines)
        run(
            "ip", "-n", receiver.space, "address", "add", f"{board.peer_ip}/24", "dev", receiver.tap
        )
        wait_for(Path(line).exists, line)
        listen = ("roce", "listen", "--interface", receiver.tap, "--ip", board.peer_ip)
        command = [*receiver.inside, arguments.samplewire, *listen, "--peer", line, *mtu, *slow]
        # Its own line is among its messages.
        start("sh", "-c", f'exec "$@" 2>{peer}', "sh", *map(str, command), *no_cnp)


def run_roce(
    arguments: argparse.Namespace,
    devices: list[Station],
    receiver: Station,
    start: Callable[..., subprocess.Popen[str]],
) -> list[dict]:
    """Sends zeros from each device to a listener of its own; the reports of the senders."""
    common = ["--mtu", str(arguments.mtu), "--slow", str(arguments.slow), "--json"]
    no_cnp = ["--no-cnp"] * arguments.proxy_cnp
    for device in devices:
        address = f"{device.peer_ip}/24"
        run("ip", "-n", receiver.space, "address", "add", address, "dev", receiver.tap)
        words = (device.peer_ip, "lladdr", receiver.mac, "dev", device.tap)
        run("ip", "-n", device.space, "neighbour", "replace", *words)
        listen = (arguments.samplewire, "roce", "listen", "--interface", receiver.tap, "--ip")
        exchange = ("--exchange", f"{device.peer_ip}:{EXCHANGE_PORT}")
        start(*receiver.inside, *listen, device.peer_ip, *exchange, *common, *no_cnp)
    time.sleep(1)
    senders = []
    for device in devices:
        send = (arguments.samplewire, "roce", "send", "/dev/zero", "--interface", device.tap)
        to = ("--ip", device.ip, "--to", f"{device.peer_ip}:{EXCHANGE_PORT}")
        control = ("--line-rate", arguments.rate) if arguments.control == "dcqcn" else ()
        window = ("--window", "256")
        senders.append(start(*device.inside, *send, *to, *common, *control, *window))
    time.sleep(arguments.seconds + 1)
    for sender in senders:
        sender.send_signal(signal.SIGINT)
    return [finish(sender, PATIENCE_S, INTERRUPTED) for sender in senders]


def finish(started: subprocess.Popen[str], patience_s: float, status: int = 0) -> dict:
    """The JSON that a program prints at its end."""
    out, err = started.communicate(timeout=patience_s)
    if started.returncode != status:
        raise ProgramError(f"{' '.join(map(str, started.args))}: {err.strip()}")
    return json.loads(out)


def end(started: subprocess.Popen[str]) -> None:
    started.kill()
    started.communicate()


def read(
    report: dict, senders: list[int], receiver: int, repaired: int, arguments: argparse.Namespace
) -> Result:
    """Figures of each window from START_S on after all send, while the receivers are there.

    `senders` and `receiver` are ports of the switch.
    """
    windows = report["intervals"]

    def got(window: dict) -> list[int]:
        return [window["ports"][at]["bytes_forwarded"] for at in senders]

    def is_full(window: dict) -> bool:
        return min(got(window)) > 0 and window["end_s"] - window["start_s"] > 0.9

    full = [at for at, window in enumerate(windows) if is_full(window)]
    if not full:
        raise ProgramError("no window in which all sent")
    begun = windows[full[0]]["start_s"]
    until = begun + arguments.seconds
    # Windows begin some ms late, each after the one before.
    start_s = START_S * arguments.slow
    first_s, last_s = begun + start_s - SLACK_S, until + SLACK_S
    measured = [it for it in windows if it["start_s"] >= first_s and it["end_s"] <= last_s]
    if not measured:
        raise ProgramError(f"--seconds {arguments.seconds}: nothing is left after {start_s} s")
    ports = report["end"]["ports"]
    return Result(
        jain=[jain(got(window)) for window in measured],
        utilisation=[window["ports"][receiver]["utilisation"] for window in measured],
        dropped=sum(port["dropped"] for port in ports),
        tap_dropped=sum(port["link_dropped"] or 0 for port in ports),
        repaired=repaired,
        cnps=sum(port["cnp_forwarded"] + port["cnp_forged"] for port in ports),
        marked=sum(port["marked"] for port in ports),
        queue_bytes_max=ports[receiver]["queue_bytes_max"],
        late_ns=report["end"]["late"],
    )


def jain(shares: list[int]) -> float:
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


def print_result(result: Result, senders: str, arguments: argparse.Namespace) -> bool:
    """Prints each figure against its bound; returns whether all hold."""
    rows = [
        ("Jain, mean of windows", mean(result.jain), arguments.jain),
        ("utilisation, mean of windows", mean(result.utilisation), arguments.utilisation),
    ]
    holds = True
    windows = len(result.jain)
    print(f"{senders}, {windows} windows of 1 s, {arguments.slow} times slower")
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
    print(f"  {'sent again':30} {result.repaired}")
    print(f"  {'CNPs':30} {result.cnps}")
    print(f"  {'marked':30} {result.marked}")
    print(f"  {'longest queue':30} {result.queue_bytes_max / 1e3:.0f} kB")
    late = {name: ns / 1e3 for name, ns in result.late_ns.items()}
    words = f"{late['p50_ns']:.0f} us, 99 % {late['p99_ns']:.0f} us, most {late['max_ns']:.0f} us"
    print(f"  {'late by the host (jitter)':30} half {words}")
    return holds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("samplewire", type=Path, nargs="?", help="the program")
    parser.add_argument("--devices", type=int, default=3, help="programs that send [3]")
    parser.add_argument("--boards", type=int, default=0, help="virtual boards that send [0]")
    parser.add_argument("--board", type=Path, help="the program of a board [board_64, board_rdma]")
    joining = f"in the host's time, the first {START_S} of slow time to join [15]"
    parser.add_argument("--seconds", type=int, default=15, help=joining)
    parser.add_argument("--slow", type=int, default=50, help="slow motion [50]")
    parser.add_argument("--rate", default="10G", help="of each port, in slow time [10G]")
    parser.add_argument("--buffer", default="2MB", help="of the switch [2MB]")
    parser.add_argument("--mtu", type=int, default=4096, help="in bytes [4096]")
    parser.add_argument("--control", default="dcqcn", help="of the devices [dcqcn]")
    parser.add_argument("--roce", action="store_true", help="devices and boards send RoCE")
    proxy = "the receivers of --roce send no CNPs, the switch does"
    parser.add_argument("--proxy-cnp", action="store_true", help=proxy)
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
    if arguments.board is None:
        arguments.board = BOARDS / ("board_rdma" if arguments.roce else "board_64")
    if arguments.boards and not arguments.board.exists():
        print(f"incast: {arguments.board} is missing: make board builds it", file=sys.stderr)
        return 1
    counts = (arguments.devices, arguments.boards)
    if min(counts) < 0 or not 1 <= sum(counts) <= SENDERS_MAX:
        parser.error(f"--devices {counts[0]} --boards {counts[1]}: must be 1 to {SENDERS_MAX}")
    if arguments.proxy_cnp and not arguments.roce:
        parser.error("--proxy-cnp is for --roce")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with ExitStack() as stack:
            result = incast(arguments, stack)
    except (ProgramError, subprocess.TimeoutExpired) as error:
        print(f"incast: {error}", file=sys.stderr)
        return 1
    senders = f"{arguments.devices} devices, {arguments.boards} boards"
    return 0 if print_result(result, senders, arguments) else 1


if __name__ == "__main__":
    sys.exit(main())

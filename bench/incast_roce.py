#!/usr/bin/env python3
"""RoCE senders share the port of a guest at `samplewire switch`, in slow motion.

    sudo python3 bench/incast_roce.py target/release/samplewire [--senders N] [--seconds N] ..

The senders are `samplewire roce bench`, programs at datagram ports; the receiver is the Soft-RoCE
of a guest, with a queue pair for each. It sends no congestion notifications, so the switch does
(`--proxy-cnp`). The guest's clock is not slowed, and none of its timers is used. Figures and
windows are those of `incast.py`. Needs root and what `tools/setup.sh roce` gets.
"""

import argparse
import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import incast
from kept import ROOT

sys.path.insert(0, str(ROOT / "tools/guest"))

import network
import software
from guest import GuestError
from network import Network
from verbs import Verbs

MTU = 4_096
REGION_BYTES = 128 << 10
MESSAGE_BYTES = 64 << 10
WINDOW = 256
TIMEOUT = 12
"""4.096 us times 2^12, in slow time: Soft-RoCE acknowledges in the time of the host."""

ENDS_S = 2
"""After the last window."""


def measure(arguments: argparse.Namespace, stack: ExitStack) -> incast.Result:
    slow = ("--slow", str(arguments.slow))
    options = ("--rate", arguments.rate, "--buffer", arguments.buffer, *slow, "--proxy-cnp")
    ports = {"guests": ("one",), "stations": arguments.senders}
    net = stack.enter_context(network.network(arguments.samplewire, *options, **ports))
    verbs = Verbs(net.guests[0])
    for number in range(arguments.senders):
        start(arguments, net, verbs, number, stack)
    time.sleep(arguments.seconds + incast.PATIENCE_S / 10 + ENDS_S)
    unread = net.unread(0)
    net.switch.send_signal(signal.SIGINT)
    report = incast.finish(net.switch, incast.PATIENCE_S)
    if unread:
        raise GuestError(f"{unread} frames found no room at the guest's socket")
    senders = [1 + at for at in range(arguments.senders)]
    return incast.read(report, senders, 0, 0, arguments)


def start(
    arguments: argparse.Namespace, net: Network, verbs: Verbs, number: int, stack: ExitStack
) -> None:
    """Begins a sender, which writes for longer than all windows take."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(network.PATIENCE_S)
        to = f"127.0.0.1:{server.getsockname()[1]}"
        words = [str(arguments.samplewire), "roce", "bench", "--to", to, *net.stations[number]]
        words += ["--mtu", str(MTU), "--mtus", str(MTU), "--messages", str(MESSAGE_BYTES)]
        words += ["--window", str(WINDOW), "--timeout", str(TIMEOUT), "--duration", "1000s"]
        words += ["--line-rate", arguments.rate, "--slow", str(arguments.slow)]
        null = subprocess.DEVNULL
        program = subprocess.Popen(
            words, stdin=null, stdout=null, stderr=subprocess.PIPE, text=True
        )
        stack.callback(incast.end, program)
        try:
            exchange = stack.enter_context(server.accept()[0])
        except TimeoutError:
            program.kill()
            raise GuestError(f"a sender does not connect: {program.communicate()[1]}") from None
    peer = software.read_line(exchange)
    opened = verbs.call("open", psn=0, mtu=MTU, bytes=REGION_BYTES, keep=number > 0)
    verbs.call("connect", **{name: peer[name] for name in ("address", "qpn", "psn")})
    exchange.sendall(json.dumps(software.line_of(opened)).encode() + b"\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("samplewire", type=Path, help="the program")
    parser.add_argument("--senders", type=int, default=3, help="programs that send, 1 to 32 [3]")
    parser.add_argument("--seconds", type=int, default=15, help="of the host, with joining [15]")
    parser.add_argument("--slow", type=int, default=50, help="slow motion [50]")
    parser.add_argument("--rate", default="10G", help="of each port, in slow time [10G]")
    parser.add_argument("--buffer", default="2MB", help="of the switch [2MB]")
    parser.add_argument("--jain", type=float, default=0.98, help="the least [0.98]")
    parser.add_argument("--utilisation", type=float, default=0.97, help="the least [0.97]")
    arguments = parser.parse_args()
    if not 1 <= arguments.senders <= 32:
        parser.error(f"--senders {arguments.senders}: must be 1 to 32")
    if reason := network.missing():
        print(f"incast: {reason}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with ExitStack() as stack:
            result = measure(arguments, stack)
    except (*network.ERRORS, subprocess.TimeoutExpired) as error:
        print(f"incast: {error}", file=sys.stderr)
        return 1
    return 0 if incast.print_result(result, f"{arguments.senders} RoCE senders", arguments) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""RoCEv2 in software against raw frames on the same link.

    sudo python3 bench/roce.py [veth] [stream] [guest] [--rounds N] [--seconds S] [--patience S]
                               [--out FILE]

`veth`: WRITEs of 64 KiB from one network namespace to another, both ends `samplewire roce` over
AF_PACKET, paired with the example `raw_frames`, which sends frames of the same length over the same
kind of link and counts those that arrive. `stream`: a stream over RDMA from `samplewire emulate` to
`samplewire rate`, paired with the same stream as DATA over the same link. `guest`: WRITEs from a
datagram port of `samplewire switch` into the Soft-RoCE of a guest, against frames that are sent
open loop into the same guest and counted by its kernel; `tools/setup.sh roce` gets what this needs.
Exit: 0 when all that must hold does, 1 when a figure misses, 2 when a program failed.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import machine
import netns
import programs
import turns
from kept import ROOT
from turns import Case, Figure, Group, Outcome, ProgramError

sys.path.insert(0, str(ROOT / "tools/guest"))

import network
import software
from frames import WRITE_MIDDLE, Request
from guest import Address
from network import Network
from verbs import Verbs

MTUS = (256, 1024, 4096)
MESSAGE_BYTES = 65_536
LINK_MTU_BYTES = 4_200
EXCHANGE_PORT = 18_515
WITHIN_S = 15

Part = tuple[list[Group], turns.Measure]

RAW, ROCE = "raw_frames", "samplewire"
VETH_LEAST, GUEST_LEAST = 0.6, 0.9
PARTS = ("veth", "stream", "guest")

STREAM_PORT = 9_100
STREAM_BYTES = 4_032
"""Of a payload, which fits a packet of both carriages."""

GUEST_REGION_BYTES = 2 << 20
GUEST_WINDOW = 48
OWN_QPN = 17
AHEAD_PSN = 1_000
COUNT = "cat /proc/uptime /sys/class/net/eth0/statistics/rx_packets"
SETTLES_S = 0.3
"""Of a run, until the queues are as full as they will be."""


def main() -> int:
    arguments = parse_arguments()
    if not netns.is_ready():
        return 2
    try:
        words = ["-p", "samplewire-cli", "-p", "samplewire-io"]
        words += ["--bin", ROCE, "--example", RAW]
        built = programs.build_with(words, ROOT)
        patience_end = time.monotonic() + arguments.patience
        groups, runs = [], []
        for part in arguments.parts:
            with globals()[part](built, arguments.seconds) as (of_part, measure):
                groups += of_part
                for group in of_part:
                    runs += turns.run_group(group, arguments.rounds, patience_end, measure)
    except (*network.ERRORS, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    seconds = {"seconds_each": arguments.seconds}
    _, missed = turns.report("roce", groups, runs, arguments.out, **seconds)
    return 1 if missed else 0


@contextmanager
def veth(built: dict[str, Path], seconds: float) -> Iterator[Part]:
    """Two namespaces, and how a program is measured between them."""
    with netns.wire(mtu_bytes=LINK_MTU_BYTES, has_gro=False, loss=0) as wire:

        def measure(group: Group, case: Case) -> Outcome:
            end = veth_raw if case.program == RAW else veth_roce
            return end(built[case.program], wire, group.payload_bytes, seconds)

        *others, longest = MTUS
        groups = [group_of("veth", mtu, None) for mtu in others]
        yield [*groups, group_of("veth", longest, VETH_LEAST)], measure


@contextmanager
def stream(built: dict[str, Path], seconds: float) -> Iterator[Part]:
    """Two namespaces, and how a stream between them is measured."""
    with netns.wire(mtu_bytes=LINK_MTU_BYTES, has_gro=False, loss=0) as wire:
        yield [STREAM], lambda _, case: carry(built[ROCE], wire, case.name, seconds)


@contextmanager
def guest(built: dict[str, Path], seconds: float) -> Iterator[Part]:
    """A guest at a port of a switch, and how a program at the next port is measured."""
    if reason := network.missing():
        raise ProgramError(reason)
    options = {"guests": ("one",), "stations": 1}
    with network.network(built[ROCE], "--rate", "1G", **options) as net:
        verbs = Verbs(net.guests[0])

        def measure(group: Group, case: Case) -> Outcome:
            program, mtu = built[case.program], group.payload_bytes
            end = guest_raw if case.program == RAW else guest_roce
            begun_s = network_s(net)
            outcome = end(program, net, verbs, mtu, seconds)
            return replace(outcome, cpu_s=outcome.cpu_s + network_s(net) - begun_s)

        yield [group_of("guest", max(MTUS), GUEST_LEAST)], measure


def network_s(net: Network) -> float:
    """CPU time of the switch and of the guest."""
    pids = (net.switch.pid, net.guests[0].pid)
    ticks = sum(machine.process_ticks(Path(f"/proc/{pid}")) for pid in pids)
    return ticks / os.sysconf("SC_CLK_TCK")


def group_of(part: str, mtu: int, least: float | None) -> Group:
    ratio = "goodput, roce / raw frames"
    return Group(
        name=f"{part} {mtu}",
        why=f"MTU {mtu}, WRITEs of {MESSAGE_BYTES >> 10} KiB",
        payload_bytes=mtu,
        cases=(
            Case(name="raw", what="frames of the same length", program=RAW),
            Case(name="roce", what="samplewire roce bench", program=ROCE),
        ),
        figures=(
            Figure(name=ratio, case="roce", base="raw", least=least),
            Figure(name="goodput, roce", case="roce"),
            Figure(name="goodput, raw frames", case="raw"),
        ),
    )


STREAM = Group(
    name="stream",
    why=f"a stream of payloads of {STREAM_BYTES:,} bytes, link MTU {LINK_MTU_BYTES:,}",
    payload_bytes=STREAM_BYTES,
    cases=(
        Case(name="data", what="--carriage data", program=ROCE),
        Case(name="rdma", what="--carriage rdma", program=ROCE),
    ),
    figures=(
        Figure(name="goodput, RDMA / DATA", case="rdma", base="data"),
        Figure(name="goodput, RDMA", case="rdma"),
        Figure(name="goodput, DATA", case="data"),
        Figure(name="CPU s per GB, RDMA", case="rdma", of="cpu_s_per_gb"),
        Figure(name="CPU s per GB, DATA", case="data", of="cpu_s_per_gb"),
    ),
)


def carry(program: Path, wire: netns.Wire, carriage: str, seconds: float) -> Outcome:
    """A counter that goes as fast as it is taken."""
    sender, receiver = pinned(wire)
    how = ("--carriage", carriage)
    sends = [*sender, str(program), "emulate", "--listen", f"{netns.SENDER_IP}:{STREAM_PORT}"]
    sends += ["--source", "counter", "--rate", "max", "--payload", str(STREAM_BYTES)]
    takes = [*receiver, str(program), "rate", f"{netns.SENDER_IP}:{STREAM_PORT}", *how, "--json"]
    with ExitStack() as stack:
        near = stack.enter_context(programs.Started([*sends, *how, "--once"]))
        near.wait_listening(STREAM_PORT, WITHIN_S)
        far = stack.enter_context(programs.Started([*takes, "--duration", f"{seconds}s"]))
        near_end, far_end = programs.wait_all([near, far], seconds + WITHIN_S)
    said = json.loads(far_end.text)
    spans = said["intervals"]
    taken_bytes = sum(span["receive"]["bytes"] for span in spans)
    return Outcome(
        rate_bps=taken_bytes * 8 / (spans[-1]["end_s"] - spans[0]["start_s"]),
        taken_bytes=taken_bytes,
        cpu_s=near_end.cpu_s + far_end.cpu_s,
        beyond_window_bytes=0,
        said={"received": said},
    )


def veth_raw(program: Path, wire: netns.Wire, mtu: int, seconds: float) -> Outcome:
    sender, receiver = pinned(wire)
    receives = [*receiver, str(program), "receive", netns.DEVICE, netns.RECEIVER_IP, str(seconds)]
    ends = (Address(ip=ip, mac=mac) for ip, mac in zip(netns.IPS, netns.MACS, strict=True))
    with ExitStack() as stack:
        file = stack.enter_context(frame_in_file(*ends, mtu, 0))
        sends = [*sender, str(program), "send", netns.DEVICE, netns.SENDER_IP, file, str(seconds)]
        far = stack.enter_context(programs.Started(receives))
        far.wait_listening(4_791, WITHIN_S)
        near = stack.enter_context(programs.Started(sends))
        near_end, far_end = programs.wait_all([near, far], seconds + WITHIN_S)
    said = json.loads(far_end.text)
    taken_bytes = said["frames"] * mtu
    return Outcome(
        rate_bps=taken_bytes * 8 / said["seconds"],
        taken_bytes=taken_bytes,
        cpu_s=near_end.cpu_s + far_end.cpu_s,
        beyond_window_bytes=0,
        said={"sent": json.loads(near_end.text), "received": said},
    )


def veth_roce(program: Path, wire: netns.Wire, mtu: int, seconds: float) -> Outcome:
    sender, receiver = pinned(wire)
    link = ("--interface", netns.DEVICE)
    station = [*link, "--ip", netns.RECEIVER_IP, "--mtu", str(mtu), "--json", "--once"]
    exchange = f"{netns.RECEIVER_IP}:{EXCHANGE_PORT}"
    listens = [*receiver, str(program), "roce", "listen", "--exchange", exchange, *station]
    sends = [*sender, str(program), "roce", "bench", "--to", exchange, *link]
    sends += ["--ip", netns.SENDER_IP, "--mtu", str(mtu), "--mtus", str(mtu), "--json"]
    sends += ["--messages", str(MESSAGE_BYTES), "--duration", f"{seconds}s"]
    with ExitStack() as stack:
        far = stack.enter_context(programs.Started(listens))
        far.wait_listening(EXCHANGE_PORT, WITHIN_S)
        near = stack.enter_context(programs.Started(sends))
        near_end, far_end = programs.wait_all([near, far], 2 * seconds + WITHIN_S)
    (point,) = json.loads(near_end.text)["points"]
    listened = json.loads(far_end.text)
    return Outcome(
        rate_bps=point["bits_per_second"],
        taken_bytes=listened["bytes_written"],
        cpu_s=near_end.cpu_s + far_end.cpu_s,
        beyond_window_bytes=0,
        said={"sent": point, "received": listened},
    )


def guest_raw(program: Path, net: Network, verbs: Verbs, mtu: int, seconds: float) -> Outcome:
    """What the guest's kernel counts of frames that are sent open loop.

    They are WRITEs to its queue pair with a PSN that it does not expect: it checks the ICRC of
    each, and drops it.
    """
    _, ip, _, link = net.stations[0]
    opened = verbs.call("open", psn=0, mtu=mtu, bytes=GUEST_REGION_BYTES)
    # As `samplewire roce` makes it of the address.
    mac = "02:57:" + ":".join(f"{int(word):02x}" for word in ip.split("."))
    source = Address(ip=ip, mac=mac)
    net.guests[0].run(f"/sbin/ip neighbour replace {ip} lladdr {mac} dev eth0")
    verbs.call("connect", address=ip, qpn=OWN_QPN, psn=0)
    with ExitStack() as stack:
        file = stack.enter_context(frame_in_file(source, net.addresses[0], mtu, opened["qpn"]))
        words = [str(program), "send", link, ip, file, str(seconds + 2 * SETTLES_S + 1)]
        sender = stack.enter_context(programs.Started(words))
        time.sleep(SETTLES_S)
        said = net.guests[0].run(f"{COUNT}; sleep {seconds}; {COUNT}", seconds + WITHIN_S)
        (end,) = programs.wait_all([sender], seconds + WITHIN_S)
    # Seconds, seconds idle and packets; before and behind.
    begun_s, _, before, ended_s, _, behind = map(float, said.split())
    taken_bytes = (behind - before) * mtu
    return Outcome(
        rate_bps=taken_bytes * 8 / (ended_s - begun_s),
        taken_bytes=taken_bytes,
        cpu_s=end.cpu_s,
        beyond_window_bytes=0,
        said={"sent": json.loads(end.text), "received": said.split()},
    )


def guest_roce(program: Path, net: Network, verbs: Verbs, mtu: int, seconds: float) -> Outcome:
    """WRITEs into the memory of the guest, which exchanges lines by this script."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(WITHIN_S)
        words = [str(program), "roce", "bench", "--to", f"127.0.0.1:{server.getsockname()[1]}"]
        words += [*net.stations[0], "--mtu", str(mtu), "--mtus", str(mtu), "--json"]
        words += ["--messages", str(MESSAGE_BYTES), "--duration", f"{seconds}s"]
        words += ["--window", str(GUEST_WINDOW)]
        with programs.Started(words) as sender, server.accept()[0] as exchange:
            exchange.settimeout(3 * seconds + WITHIN_S)
            lines = exchange.makefile()
            peer = json.loads(lines.readline())
            opened = verbs.call("open", psn=0, mtu=mtu, bytes=GUEST_REGION_BYTES)
            verbs.call("connect", **{name: peer[name] for name in ("address", "qpn", "psn")})
            exchange.sendall(json.dumps(software.line_of(opened)).encode() + b"\n")
            last = json.loads(lines.readline())
            exchange.sendall(json.dumps(last).encode() + b"\n")
            (end,) = programs.wait_all([sender], WITHIN_S)
    (point,) = json.loads(end.text)["points"]
    return Outcome(
        rate_bps=point["bits_per_second"],
        taken_bytes=last["bytes"],
        cpu_s=end.cpu_s,
        beyond_window_bytes=0,
        said={"sent": point},
    )


@contextmanager
def frame_in_file(source: Address, target: Address, mtu: int, qpn: int) -> Iterator[str]:
    """A packet in the middle of a WRITE, with the right ICRC."""
    request = Request(opcode=WRITE_MIDDLE, psn=AHEAD_PSN, payload=bytes(mtu), ack=False)
    with tempfile.NamedTemporaryFile() as file:
        file.write(request.frame(source, target, qpn))
        file.flush()
        yield file.name


def pinned(wire: netns.Wire) -> tuple[list[str], list[str]]:
    """How the sender begins, on the first core, and the receiver, on the second."""
    last = min(1, machine.CORES - 1)
    return [*wire.sender, "taskset", "-c", "0"], [*wire.receiver, "taskset", "-c", str(last)]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    turns.add_options(parser, rounds=7)
    parser.add_argument("parts", nargs="*", default=PARTS, help=f"{', '.join(PARTS)} [all]")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"{', '.join(sorted(unknown))}: the parts are {', '.join(PARTS)}")
    turns.check_options(parser, arguments)
    return arguments


if __name__ == "__main__":
    sys.exit(main())

"""Two devices behind two network interfaces: one I/O thread of the host against two, in turn.

    python3 bench/two_ports.py [--rounds N] [--seconds S] [--patience S] [--groups LIST]
                               [--out FILE]

Three network namespaces, made for it and removed: the host, and a device behind each of its two
veth devices. That needs root, ip, tc and ethtool. `core`: both devices send as fast as they can,
and the host has one CPU, the devices the others: the rate is that of the host's work. `most`: the
same with all CPUs for all, where there are 8; two threads then have two of them. `paced`: each
device sends 1 Gb/s, which a host keeps where its CPUs are free. Exit: 0 when what must hold does, 1
when it does not, 2 when a program failed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import machine
import netns
import turns
from netns import run
from programs import Started, build, wait_all
from turns import Case, Figure, Group, Outcome, ProgramError, Run

PORT = 9470
MTU_BYTES = 9_000
PAYLOAD_BYTES = 8_000
WINDOW_PACKETS = 1_024
LISTENS_WITHIN_S = 10.0
OVER_WITHIN_S = 20.0
PACED_BPS = 1_000_000_000
CORES_OF_MOST = 8
NAMES = ("one", "two")

CASES = (
    Case(name="one", what="one thread, a link at each interface", program="1"),
    Case(name="two", what="a thread for each interface", program="2"),
)


def group(name: str, why: str, *ratios: Figure) -> Group:
    return Group(
        name=name,
        why=why,
        payload_bytes=PAYLOAD_BYTES,
        cases=CASES,
        figures=(
            Figure(name="one thread", case="one"),
            Figure(name="two threads", case="two"),
            Figure(name="one thread", case="one", of="cpu_s_per_gb"),
            Figure(name="two threads", case="two", of="cpu_s_per_gb"),
            *ratios,
        ),
    )


RATE = Figure(name="rate, one / two", case="one", base="two", least=0.9)
CPU = Figure(name="CPU of all, one / two", case="one", base="two", of="cpu_s_per_gb")

HOST_CPU_MOST = 1.0
"""Of the host's process alone, one thread over two."""

GROUPS = {
    "core": group("core", "as fast as a host with one CPU takes it", RATE, CPU),
    "most": group("most", "as fast as both devices can", CPU),
    "paced": group("paced", f"{PACED_BPS / 1e9:g} Gb/s from each device", RATE, CPU),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    turns.add_options(parser, rounds=5)
    parser.add_argument("--groups", default=",".join(GROUPS), help="default: all")
    arguments = parser.parse_args()
    turns.check_options(parser, arguments)
    names = arguments.groups.split(",")
    if unknown := set(names) - set(GROUPS):
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    if not netns.is_ready():
        return 2
    if "most" in names and machine.CORES < CORES_OF_MOST:
        names.remove("most")
        print(f"not run: most, which needs {CORES_OF_MOST} cores")
    try:
        executables = build([("samplewire", "throughput"), ("samplewire", "two_ports")])
        with wires() as inside:

            def measure(group: Group, case: Case) -> Outcome:
                return stream(inside, executables, group, case.program, arguments.seconds)

            patience_end = time.monotonic() + arguments.patience
            groups = [GROUPS[name] for name in names]
            runs = []
            for each in groups:
                runs += turns.run_group(each, arguments.rounds, patience_end, measure)
    except (ProgramError, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    _, missed = turns.report(
        "two-ports", groups, runs, arguments.out, seconds_each=arguments.seconds
    )
    for each in groups:
        ratios = host_cpu_ratios(each, runs)
        holds = median(ratios) <= HOST_CPU_MOST
        missed += not holds
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}, n = {len(ratios)}"
        claim = f"at most {HOST_CPU_MOST}: {'holds' if holds else 'MISSED'}"
        print(f"{each.name}: CPU of the host, one / two: {median(ratios):.2f} ({spread}), {claim}")
    return 1 if missed else 0


def host_cpu_ratios(group: Group, runs: list[Run]) -> list[float]:
    """The host's CPU time for the same bytes, one thread over two, in each round."""
    per_gb = {
        (run.case, run.round): run.said["host_cpu_s"] / run.said["taken_gb"]
        for run in runs
        if run.group == group.name
    }
    rounds = sorted({turn for _, turn in per_gb})
    return [per_gb["one", turn] / per_gb["two", turn] for turn in rounds]


@contextmanager
def wires() -> Iterator[dict[str, tuple[str, ...]]]:
    """A host and the two devices behind it; what begins a command in each of their namespaces."""
    netns.remove_left()
    spaces = {end: f"{netns.PREFIX}{os.getpid()}-{end}" for end in ("host", *NAMES)}
    inside = {end: ("ip", "netns", "exec", space) for end, space in spaces.items()}
    try:
        for space in spaces.values():
            run("ip", "netns", "add", space)
            run("ip", "-n", space, "link", "set", "lo", "up")
        for network, name in enumerate(NAMES, start=1):
            ends = (("host", name, 1), (name, "veth0", 2))
            words = []
            for end, device, _ in ends:
                words.append(["name", device, "mtu", str(MTU_BYTES), "netns", spaces[end]])
            run("ip", "link", "add", *words[0], "type", "veth", "peer", *words[1])
            for end, device, host in ends:
                address = f"10.99.{network}.{host}/24"
                run("ip", "-n", spaces[end], "address", "add", address, "dev", device)
                run("ip", "-n", spaces[end], "link", "set", device, "up")
                run(*inside[end], "ethtool", "-K", device, "tso", "off", "gso", "off")
        yield inside
    finally:
        netns.remove(list(spaces.values()))


def stream(
    inside: dict[str, tuple[str, ...]],
    executables: dict[str, Path],
    group: Group,
    threads: str,
    seconds: float,
) -> Outcome:
    """Both devices at once, to a host of so many I/O threads."""
    words = ["--payload", str(PAYLOAD_BYTES), "--window", str(WINDOW_PACKETS), "--json"]
    if group.name == "paced":
        words += ["--control", "fixed", "--control-rate", str(PACED_BPS)]
    cpus = {"host": "0", "device": f"1-{machine.CORES - 1}"} if group.name == "core" else {}
    pinned = {end: ["taskset", "-c", cpus[end]] for end in cpus}
    addresses = [f"10.99.{network}.2:{PORT}" for network in (1, 2)]
    host = [str(executables["two_ports"]), "--threads", threads, "--window", str(WINDOW_PACKETS)]
    host += ["--local", "10.99.1.1,10.99.2.1", "--device", ",".join(addresses)]
    with ExitStack() as started:
        devices = []
        for name, address in zip(NAMES, addresses, strict=True):
            device = [str(executables["throughput"]), "--device", address, *words]
            device += ["--seconds", str(seconds)]
            devices.append(
                started.enter_context(Started([*inside[name], *pinned.get("device", []), *device]))
            )
        for device in devices:
            device.wait_listening(PORT, LISTENS_WITHIN_S)
        kernel_s = machine.softirq_threads_s()
        receiver = started.enter_context(Started([*inside["host"], *pinned.get("host", []), *host]))
        ended = wait_all([receiver, *devices], seconds + OVER_WITHIN_S)
    kernel_s = machine.softirq_threads_s() - kernel_s
    taken = json.loads(ended[0].text)
    taken_bytes = sum(each["bytes"] for each in taken)
    return Outcome(
        rate_bps=sum(each["rate_bps"] for each in taken),
        taken_bytes=taken_bytes,
        cpu_s=sum(end.cpu_s for end in ended) + kernel_s,
        beyond_window_bytes=0,
        said={"streams": taken, "host_cpu_s": ended[0].cpu_s, "taken_gb": taken_bytes / 1e9},
    )


if __name__ == "__main__":
    sys.exit(main())

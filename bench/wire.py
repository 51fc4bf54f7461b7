"""Measures the stream over a wire that loses packets, in turn with raw UDP, TCP, SRT, QUIC, Aeron.

    python3 bench/wire.py [FIGURE ...] [--cases NAME,NAME] [--rounds N] [--seconds S]
                          [--patience S] [--out FILE]

The wire is a pair of veth devices in two network namespaces, which are made for it and removed;
that needs root, ip, tc and ethtool. Peers that are missing are left out, and reported. Prints
medians with their spread, writes every run to bench/results and draws them. Exit: 0 when all that
must hold does, 1 when a figure misses, 2 when a program failed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import machine
import netns
import pairs
import plot
import turns
from turns import Case, Group, Outcome, ProgramError, Run
from wire_cases import GROUPS, WireGroup

# In memory: what a program reads and writes there costs no disk.
FOLDER = Path("/dev/shm")

PEER_TRIES = 3

OURS = ("stream", "raw", "raw-paced")


def main() -> int:
    arguments = parse_arguments()
    if not netns.is_ready():
        return 2
    try:
        groups, executables, left_out = prepare(arguments)
        patience_end = time.monotonic() + arguments.patience
        runs: list[Run] = []
        for group in groups:
            runs += measure_group(group, executables, arguments, patience_end)
    except (ProgramError, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    if not runs:
        print("bench: nothing is left to run", file=sys.stderr)
        return 2
    path, missed = turns.report(
        "-".join(["wire", *arguments.figures]),
        list(groups),
        runs,
        arguments.out,
        seconds_each=arguments.seconds,
        left_out=left_out,
    )
    print(f"drawn: {os.path.relpath(plot.draw(path))}")
    if missed:
        print(f"{missed} figures miss what must hold", file=sys.stderr)
    return 1 if missed else 0


def parse_arguments() -> argparse.Namespace:
    names = [group.name for group in GROUPS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "figures",
        nargs="*",
        metavar="FIGURE",
        help=f"{', '.join(names)}, or what some of these begin with (default: all)",
    )
    parser.add_argument("--cases", help="only these, with commas: stream,raw,tcp-bbr")
    turns.add_options(parser, rounds=7)
    arguments = parser.parse_args()
    turns.check_options(parser, arguments)
    for word in arguments.figures:
        if not any(name.startswith(word) for name in names):
            parser.error(f"no figure is called {word}; there are {', '.join(names)}")
    known = {case.name for group in GROUPS for case in group.cases}
    arguments.cases = set(arguments.cases.split(",")) if arguments.cases else known
    for name in sorted(arguments.cases - known):
        parser.error(f"no case is called {name}; there are {', '.join(sorted(known))}")
    return arguments


def prepare(
    arguments: argparse.Namespace,
) -> tuple[list[WireGroup], dict[str, Path], dict[str, str]]:
    """What is to be run, with which executables, and what is left out, with the reason."""
    asked = [
        group
        for group in GROUPS
        if not arguments.figures or any(map(group.name.startswith, arguments.figures))
    ]
    chosen = [case for group in asked for case in group.cases if case.name in arguments.cases]
    executables, absent = pairs.available({case.program for case in chosen})
    left_out = {case.name: absent[case.program] for case in chosen if case.program in absent}
    for case in chosen:
        if case.program == "iperf3" and pairs.has_no_congestion_control(case.arguments[-1]):
            left_out.setdefault(case.name, f"this kernel has no {case.arguments[-1]}")
    groups = []
    for group in asked:
        if group.has_gro and group.loss and not shutil.which("clang"):
            left_out[group.name] = "there is no clang: apt-get install clang"
            continue
        wanted = arguments.cases - left_out.keys()
        cases = tuple(case for case in group.cases if case.name in wanted)
        if cases:
            names = {case.name for case in cases}
            figures = turns.reportable(group.figures, names)
            groups.append(replace(group, cases=cases, figures=figures))
    for name, why in left_out.items():
        print(f"left out: {name}: {why}")
    return groups, executables, left_out


def measure_group(
    group: WireGroup,
    executables: dict[str, Path],
    arguments: argparse.Namespace,
    patience_end: float,
) -> list[Run]:
    """Makes the group's wire and lets its cases take turns over it."""
    stream_bps = 0.0
    with (
        machine.busy_loops(group.busy_loops),
        netns.wire(mtu_bytes=group.mtu_bytes, has_gro=group.has_gro, loss=group.loss) as wire,
        tempfile.TemporaryDirectory(prefix=netns.PREFIX, dir=FOLDER) as folder,
    ):

        def measure(_group: Group, case: Case) -> Outcome:
            nonlocal stream_bps
            if case.program == "raw-paced" and not stream_bps:
                raise ProgramError("raw-paced keeps to the stream's rate: --cases stream,raw-paced")
            setting = pairs.Setting(
                mtu_bytes=group.mtu_bytes,
                payload_bytes=group.payload_bytes,
                seconds=arguments.seconds,
                rate_bps=stream_bps,
                executables=executables,
                folder=Path(folder),
            )
            pair = pairs.PROGRAMS[case.program](setting, case.arguments)
            outcome = run_again(wire, pair, case, arguments.seconds)
            if case.name == "stream":
                stream_bps = outcome.rate_bps
            return outcome

        return turns.run_group(group, arguments.rounds, patience_end, measure)


def run_again(wire: netns.Wire, pair: pairs.Pair, case: Case, seconds: float) -> Outcome:
    """Runs a pair; a peer's that fails gets further tries, each of which is reported."""
    for left in reversed(range(PEER_TRIES)):
        try:
            return pairs.run(wire, pair, seconds)
        except ProgramError as error:
            if left == 0 or case.program in OURS:
                raise
            print(f"again: {case.name}: {error}", file=sys.stderr)
    raise AssertionError("the last try returns or raises")


if __name__ == "__main__":
    sys.exit(main())

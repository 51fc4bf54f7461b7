"""Compares two builds of the stream over loopback: they take turns, ratios are of one round.

Each end is a program of its own on a core of its own. Where the system places four threads on two
cores, the goodput is one of two that lie a fifth apart, whichever build it is.

    python3 bench/builds.py OLD NEW [--rounds N] [--seconds S] [--patience S] [--payload BYTES]

OLD and NEW are executables of the example `throughput`. Prints medians with their spread and writes
every run to bench/results. Exit: 0 when the new build holds, 1 when it is slower or takes more CPU
than it may, 2 when a program failed.
"""

import argparse
import json
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import cases
import machine
import programs
import run
import turns
from turns import Case, Figure, Group, Outcome, ProgramError

RATE_LEAST, CPU_MOST = 0.97, 1.03
PAYLOADS_BYTES = (1_408, 8_896)
INLINE = ("--waits", "inline")
PORT = 9_787
ADDRESS = f"127.0.0.1:{PORT}"
LISTENS_WITHIN_S = 5.0


def main() -> int:
    arguments = parse_arguments()
    executables = {"old": arguments.old.resolve(), "new": arguments.new.resolve()}
    groups = [group(payload) for payload in arguments.payload]
    runs = []
    try:
        patience_end = time.monotonic() + arguments.patience

        def measure(each: Group, case: Case) -> Outcome:
            executable = executables[case.name.partition("-")[0]]
            return run_pinned(executable, each, case, arguments.seconds)

        for each in groups:
            runs += turns.run_group(each, arguments.rounds, patience_end, measure)
    except (ProgramError, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    _, missed = turns.report("builds", groups, runs, arguments.out, seconds_each=arguments.seconds)
    return 1 if missed else 0


def run_pinned(executable: Path, group: Group, case: Case, seconds: float) -> Outcome:
    """Runs a device on the first core and a host on the second."""
    ends = {"--device": 0, "--host": min(1, machine.CORES - 1)}
    options = ["--payload", str(group.payload_bytes), *case.arguments]
    options += ["--seconds", str(seconds), "--json"]
    with ExitStack() as stack:
        started = []
        for end, core in ends.items():
            words = ["taskset", "-c", str(core), str(executable), end, ADDRESS, *options]
            started.append(stack.enter_context(programs.Started(words)))
            if end == "--device":
                started[0].wait_listening(PORT, LISTENS_WITHIN_S)
        device, host = programs.wait_all(started, seconds + run.OVER_WITHIN_S)
    said = json.loads(host.text)
    windows_bytes = 2 * run.WINDOW_PACKETS * group.payload_bytes
    return Outcome(
        rate_bps=said["goodput_bps"],
        taken_bytes=said["goodput_bps"] * said["seconds"] / 8,
        cpu_s=device.cpu_s + host.cpu_s,
        beyond_window_bytes=device.resident_bytes + host.resident_bytes - windows_bytes,
        said=said,
    )


def group(payload_bytes: int) -> Group:
    """Both builds with an I/O thread at each end, and without one."""
    return Group(
        name=f"{payload_bytes:,} bytes",
        why="the new build against the old one",
        payload_bytes=payload_bytes,
        cases=tuple(
            Case(name=f"{build}{suffix}", what=build, program=cases.STREAM, arguments=words)
            for suffix, words in (("", ()), ("-inline", INLINE))
            for build in ("old", "new")
        ),
        figures=tuple(
            figure
            for suffix in ("", "-inline")
            for figure in (
                Figure(name=f"goodput{suffix}, new / old", case=f"new{suffix}",
                       base=f"old{suffix}", least=RATE_LEAST),
                Figure(name=f"CPU per GB{suffix}, new / old", case=f"new{suffix}",
                       base=f"old{suffix}", of="cpu_s_per_gb", most=CPU_MOST),
            )
        ),
    )  # fmt: skip


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="the example `throughput` of the old build")
    parser.add_argument("new", type=Path, help="that of the new build")
    turns.add_options(parser, rounds=7)
    parser.add_argument(
        "--payload", type=int, nargs="+", default=PAYLOADS_BYTES, help="bytes (1408 8896)"
    )
    arguments = parser.parse_args()
    turns.check_options(parser, arguments)
    return arguments


if __name__ == "__main__":
    sys.exit(main())

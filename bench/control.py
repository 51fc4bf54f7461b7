"""Congestion control over loopback, where nothing is marked: cost, and fixed rates.

    python3 bench/control.py [free] [fixed] [--rounds N] [--seconds S] [--patience S] [--out FILE]

`free` pairs the default control with none. `fixed` compares departures, in wire bytes, with the
configured rate. Each end is the example `throughput`, a program of its own on a core of its own,
with I/O threads and without them. Exit: 0 when all that must hold does, 1 when a figure misses, 2
when a program failed.
"""

import argparse
import subprocess
import sys
import time
from dataclasses import replace

import builds
import programs
import turns
from cases import STREAM, stream
from turns import Case, Figure, Group, Outcome, ProgramError

PAYLOAD_BYTES = 8_000
WIRE_BYTES = PAYLOAD_BYTES + 22 + 4 + 8 + 20 + 14 + 4 + 20
"""Of a packet: its header and CRC, UDP, IPv4, Ethernet, the CRC of that, preamble and gap."""

KEPT_LEAST = 0.99
"""Of the goodput without control, and of a fixed rate."""

WAITS = {"threads": "asleep", "inline": "inline"}
RATES_BPS = (1_000_000_000, 2_000_000_000)


def main() -> int:
    arguments = parse_arguments()
    groups = [group for group in (free(), fixed()) if group.name in arguments.groups]
    try:
        executable = programs.build([("samplewire", STREAM)])[STREAM]
        patience_end = time.monotonic() + arguments.patience

        def measure(group: Group, case: Case) -> Outcome:
            outcome = builds.run_pinned(executable, group, case, arguments.seconds)
            if group.name == "free":
                return outcome
            return replace(outcome, rate_bps=outcome.rate_bps * WIRE_BYTES / PAYLOAD_BYTES)

        runs = []
        for group in groups:
            runs += turns.run_group(group, arguments.rounds, patience_end, measure)
    except (ProgramError, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    seconds = {"seconds_each": arguments.seconds}
    _, missed = turns.report("control", groups, runs, arguments.out, **seconds)
    return 1 if missed else 0


def free() -> Group:
    """The default control against none, and none against itself: what the measurement resolves."""
    figures = []
    for way in WAITS:
        again = {"case": f"again-{way}", "base": f"none-{way}"}
        figures.append(Figure(name=f"goodput, {way}, none again / none", **again))
        names = {"case": f"dcqcn-{way}", "base": f"none-{way}"}
        goodput, cpu = f"goodput, {way}, dcqcn / none", f"CPU per GB, {way}, dcqcn / none"
        figures += [
            Figure(name=goodput, least=KEPT_LEAST, **names),
            Figure(name=cpu, of="cpu_s_per_gb", **names),
            *(Figure(name=name, case=name, of="cpu_s_per_gb") for name in names.values()),
        ]
    return Group(
        name="free",
        why="the default control where nothing is marked",
        payload_bytes=PAYLOAD_BYTES,
        cases=tuple(
            stream(f"{name}-{way}", name, "--control", control, "--waits", waits)
            for way, waits in WAITS.items()
            for name, control in (("none", "none"), ("again", "none"), ("dcqcn", "dcqcn"))
        ),
        figures=tuple(figures),
    )


def fixed() -> Group:
    """Departures of a fixed rate, in wire bytes."""
    cases, figures = [], []
    for rate_bps in RATES_BPS:
        for way, waits in WAITS.items():
            name = f"{rate_bps // 10**9}G-{way}"
            rate = ("--control", "fixed", "--control-rate", str(rate_bps))
            cases.append(stream(name, "a fixed rate", *rate, "--waits", waits))
            figures.append(
                Figure(name=f"{name}, departures", case=name, least=KEPT_LEAST * rate_bps)
            )
            figures.append(Figure(name=name, case=name, of="cpu_s_per_gb"))
    return Group(
        name="fixed",
        why="departures in wire bytes, of a configured rate",
        payload_bytes=PAYLOAD_BYTES,
        cases=tuple(cases),
        figures=tuple(figures),
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", default=["free", "fixed"], help="free, fixed")
    turns.add_options(parser, rounds=7)
    arguments = parser.parse_args()
    turns.check_options(parser, arguments)
    unknown = set(arguments.groups) - {"free", "fixed"}
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: the groups are free and fixed")
    return arguments


if __name__ == "__main__":
    sys.exit(main())

"""Measures the stream against raw UDP over loopback: cases take turns, ratios are of one round.

    python3 bench/run.py [--rounds N] [--seconds S] [--patience S] [--payload BYTES] [--out FILE]

Prints medians with their spread and writes every run to bench/results. Exit: 0 when all that must
hold does, 1 when a figure misses, 2 when a program failed.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import programs
import turns
from cases import EXAMPLES, GROUPS, STREAM, WINDOW_PACKETS
from turns import Case, Group, Outcome, ProgramError, Run

OVER_WITHIN_S = 30.0
"""Beyond the seconds of the run; a program that has not ended by then has failed."""


def main() -> int:
    arguments = parse_arguments()
    groups = [group for group in GROUPS if arguments.payload in (None, group.payload_bytes)]
    try:
        executables = programs.build(EXAMPLES)
        patience_end = time.monotonic() + arguments.patience
        runs: list[Run] = []

        def measure(group: Group, case: Case) -> Outcome:
            return run_program(executables[case.program], group, case, arguments.seconds)

        for group in groups:
            runs += turns.run_group(group, arguments.rounds, patience_end, measure)
    except (ProgramError, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    seconds = {"seconds_each": arguments.seconds}
    _, missed = turns.report("", groups, runs, arguments.out, **seconds)
    if missed:
        print(f"{missed} figures miss what must hold", file=sys.stderr)
    return 1 if missed else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    turns.add_options(parser, rounds=11)
    sizes = [group.payload_bytes for group in GROUPS]
    parser.add_argument("--payload", type=int, choices=sizes, help="only this one, in bytes")
    arguments = parser.parse_args()
    turns.check_options(parser, arguments)
    return arguments


def run_program(executable: Path, group: Group, case: Case, seconds: float) -> Outcome:
    """Runs a program that has both ends in it."""
    words = [str(executable), "--payload", str(group.payload_bytes), *case.arguments]
    with programs.Started([*words, "--seconds", str(seconds), "--json"]) as started:
        (ended,) = programs.wait_all([started], seconds + OVER_WITHIN_S)
    said = json.loads(ended.text)
    is_stream = case.program == STREAM
    rate_bps = said["goodput_bps"] if is_stream else said["received_gbps"] * 1e9
    windows_bytes = 2 * WINDOW_PACKETS * group.payload_bytes if is_stream else 0
    return Outcome(
        rate_bps=rate_bps,
        taken_bytes=rate_bps * said["seconds"] / 8,
        cpu_s=ended.cpu_s,
        beyond_window_bytes=ended.resident_bytes - windows_bytes,
        said=said,
    )


if __name__ == "__main__":
    sys.exit(main())

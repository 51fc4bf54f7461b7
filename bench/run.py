"""Measures the stream against raw UDP over loopback: cases take turns, ratios are of one round.

    python3 bench/run.py [--rounds N] [--seconds S] [--patience S] [--payload BYTES] [--out FILE]

Prints medians with their spread and writes every run to bench/results. Exit: 0 when all that must
hold does, 1 when a figure misses, 2 when a program failed.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import kept
import machine
from cases import GROUPS, RAW, STREAM, Case, Figure, Group

ROOT = Path(__file__).resolve().parent.parent

OTHERS_SHARE_MOST = 0.05
"""A run is undisturbed when anything else took no more than this of the machine's CPU time."""

ROUNDS_LEAST = 5

IDLE_LOOK_S = 0.3


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a case."""

    payload_bytes: int
    case: str
    round: int
    rate_bps: float
    cpu_s_per_gb: float
    """User and system time of the whole process, both ends, for 1e9 bytes of samples taken."""
    others_share: float
    """Of the machine's CPU time during the run, how much went to anything else."""
    said: dict[str, object]
    """What the program itself printed."""


class ProgramError(Exception):
    """A measured program failed."""


def main() -> int:
    arguments = parse_arguments()
    groups = [group for group in GROUPS if arguments.payload in (None, group.payload_bytes)]
    try:
        programs = build()
        patience_end = time.monotonic() + arguments.patience
        runs = []
        for group in groups:
            for turn, case in turns(group, arguments.rounds):
                run = run_undisturbed(
                    group,
                    case,
                    programs[case.program],
                    turn=turn,
                    seconds=arguments.seconds,
                    patience_end=patience_end,
                )
                if turn > 0:
                    runs.append(run)
                    print_run(run)
    except (ProgramError, OSError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    about = machine.describe(ROOT)
    path = kept.keep("", about, arguments.out, **result(groups, runs, arguments.seconds))
    print(f"\n{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, {about['rustc']}")
    missed = sum(print_group(group, runs) for group in groups)
    print(f"\nevery run: {os.path.relpath(path)}")
    if missed:
        print(f"{missed} figures miss what must hold", file=sys.stderr)
    return 1 if missed else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11, help="of all cases in turn (default 11)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of one run (default 1)")
    sizes = [group.payload_bytes for group in GROUPS]
    parser.add_argument(
        "--patience",
        type=float,
        default=0.0,
        help="seconds in all to wait for an idle machine and to repeat disturbed runs (default 0)",
    )
    parser.add_argument("--payload", type=int, choices=sizes, help="only this one, in bytes")
    parser.add_argument("--out", type=Path, help="default: bench/results/DATE-MACHINE.json")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or not 0.1 <= arguments.seconds <= 600:
        parser.error("at least 1 round, and 0.1 to 600 seconds")
    return arguments


def build() -> dict[tuple[str, str], Path]:
    """Builds the two programs and says where they are."""
    packages = [word for package, _ in (STREAM, RAW) for word in ("-p", package)]
    examples = [word for _, example in (STREAM, RAW) for word in ("--example", example)]
    command = ["cargo", "build", "--release", "--message-format=json-render-diagnostics"]
    done = subprocess.run(
        [*command, *packages, *examples], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    artifacts = [json.loads(line) for line in done.stdout.splitlines()]
    found = {
        artifact["target"]["name"]: Path(artifact["executable"])
        for artifact in artifacts
        if artifact.get("executable")
    }
    return {program: found[program[1]] for program in (STREAM, RAW)}


def turns(group: Group, rounds: int) -> Iterator[tuple[int, Case]]:
    """A round 0 of warming up, then all cases in turn, round after round."""
    for turn in range(rounds + 1):
        # Each begins a round once: what only the neighbours suffer from is not one case's alone.
        first = turn % len(group.cases)
        for case in group.cases[first:] + group.cases[:first]:
            yield turn, case


def run_undisturbed(
    group: Group, case: Case, program: Path, *, turn: int, seconds: float, patience_end: float
) -> Run:
    """Waits for others to be idle and repeats what they disturb, until patience ends."""
    while True:
        while time.monotonic() < patience_end:
            busy_s = machine.busy_s()
            time.sleep(IDLE_LOOK_S)
            if machine.busy_s() - busy_s <= OTHERS_SHARE_MOST * IDLE_LOOK_S * machine.CORES:
                break
        run = run_once(group, case, program, turn=turn, seconds=seconds)
        if run.others_share <= OTHERS_SHARE_MOST or time.monotonic() >= patience_end:
            return run


def run_once(group: Group, case: Case, program: Path, *, turn: int, seconds: float) -> Run:
    command = [str(program), *case.arguments, "--seconds", str(seconds), "--json"]
    busy_s, start = machine.busy_s(), time.monotonic()
    with tempfile.TemporaryFile("w+") as answer:
        # wait4 is the one way to the CPU time of this child alone.
        child = subprocess.Popen(command, stdout=answer, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.monotonic() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        answer.seek(0)
        text = answer.read()
    if child.returncode != 0:
        raise ProgramError(f"exit {child.returncode}: {shlex.join(command)}")
    said = json.loads(text)
    rate_bps = said["goodput_bps"] if case.program == STREAM else said["received_gbps"] * 1e9
    taken_gb = rate_bps * said["seconds"] / 8e9
    cpu_s = usage.ru_utime + usage.ru_stime
    others_s = max(0.0, machine.busy_s() - busy_s - cpu_s)
    return Run(
        payload_bytes=group.payload_bytes,
        case=case.name,
        round=turn,
        rate_bps=rate_bps,
        cpu_s_per_gb=cpu_s / taken_gb if taken_gb else 0.0,
        others_share=others_s / (wall_s * machine.CORES),
        said=said,
    )


def print_run(run: Run) -> None:
    print(
        f"{run.payload_bytes:>5} {run.round:>2} {run.case:<14} {run.rate_bps / 1e9:6.2f} Gb/s"
        f"  {run.cpu_s_per_gb:.2f} cpu s/GB  others {run.others_share:4.0%}",
        flush=True,
    )


def values(figure: Figure, group: Group, runs: list[Run]) -> tuple[list[float], bool]:
    """The figure of each round that nothing disturbed, and True; of all rounds, and False, where
    fewer than `ROUNDS_LEAST` were undisturbed."""
    rows = [run for run in runs if run.payload_bytes == group.payload_bytes]
    cases = {run.round: run for run in rows if run.case == figure.case}
    bases = {run.round: run for run in rows if run.case == (figure.base or figure.case)}
    pairs = [(case, bases[turn]) for turn, case in cases.items()]
    quiet = [pair for pair in pairs if max(run.others_share for run in pair) <= OTHERS_SHARE_MOST]
    is_quiet = len(quiet) >= min(ROUNDS_LEAST, len(pairs))
    return [
        case.rate_bps / (base.rate_bps if figure.base else 1)
        for case, base in (quiet if is_quiet else pairs)
    ], is_quiet


def print_group(group: Group, runs: list[Run]) -> int:
    """Prints the group's figures; says how many miss what must hold."""
    print(f"\npayload {group.payload_bytes:,} bytes: {group.why}")
    print(f"  {'':<32} {'median':>8} {'least':>8} {'most':>8}    n  must hold")
    missed = 0
    for figure in group.figures:
        per_round, is_quiet = values(figure, group, runs)
        scale, unit = (1.0, "") if figure.base else (1e9, " Gb/s")
        claim = "" if is_quiet else "(disturbed) "
        if figure.least is not None:
            holds = median(per_round) >= figure.least
            missed += not holds
            claim += f">= {figure.least / scale:g}{unit}: {'holds' if holds else 'MISSED'}"
        print_row(figure.name + unit, [value / scale for value in per_round], claim)
    for case in group.cases:
        rows = [run for run in runs if run.payload_bytes == group.payload_bytes]
        costs = [run.cpu_s_per_gb for run in rows if run.case == case.name]
        print_row(f"cpu s/GB, {case.name}", costs)
    return missed


def print_row(name: str, numbers: list[float], claim: str = "") -> None:
    row = " ".join(f"{value:8.2f}" for value in (median(numbers), *extent(numbers)))
    print(f"  {name:<32} {row}  {len(numbers):3}  {claim}".rstrip())


def extent(numbers: list[float]) -> tuple[float, float]:
    return min(numbers), max(numbers)


def result(groups: list[Group], runs: list[Run], seconds: float) -> dict[str, object]:
    return {
        "seconds_each": seconds,
        "groups": [asdict(group) for group in groups],
        "figures": [
            {
                "payload_bytes": group.payload_bytes,
                **asdict(figure),
                "median": median(values(figure, group, runs)[0]),
                "spread": extent(values(figure, group, runs)[0]),
                "is_undisturbed": values(figure, group, runs)[1],
            }
            for group in groups
            for figure in group.figures
        ],
        "runs": [asdict(run) for run in runs],
    }


if __name__ == "__main__":
    sys.exit(main())

"""Cases that take turns, round after round, and the figures that come of them.

`run.py` and `wire.py` give the cases and the way to run one; here is what is the same for all: the
order, waiting for others to be idle, ratios round by round, what must hold, and the report.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import kept
import machine

OTHERS_SHARE_MOST = 0.05
"""A run is undisturbed when anything else took no more than this of the machine's CPU time."""

ROUNDS_LEAST = 5

IDLE_LOOK_S = 0.3


@dataclass(frozen=True, kw_only=True)
class Case:
    """What every round runs once."""

    name: str
    what: str
    program: str
    """Which program; the script that runs it knows its command."""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A value of a run, in the unit of the report."""

    scale: float
    name: str


UNITS = {
    "rate_bps": Unit(scale=1e9, name="Gb/s"),
    "cpu_s_per_gb": Unit(scale=1.0, name="cpu s/GB"),
    "beyond_window_bytes": Unit(scale=1 << 20, name="MiB"),
}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A median over the rounds that is reported.

    `of` names the value of a run of `case`; where there is a `base`, the figure is its ratio to the
    same value of that case, taken round by round. `least` and `most` are what must hold, None where
    the figure has no limit.
    """

    name: str
    case: str
    base: str | None = None
    of: str = "rate_bps"
    least: float | None = None
    most: float | None = None

    def holds(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (
            self.most is None or value <= self.most
        )

    def unit(self) -> Unit:
        return Unit(scale=1.0, name="") if self.base else UNITS[self.of]

    def claim(self) -> str:
        """What must hold, in words; empty where nothing must."""
        unit = self.unit()
        bounds = ((">=", self.least), ("<=", self.most))
        words = [f"{sign} {bound / unit.scale:g}" for sign, bound in bounds if bound is not None]
        return " ".join([*words, unit.name]).strip() if words else ""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Cases that take turns in one run, and the figures they give."""

    name: str
    why: str
    payload_bytes: int
    cases: tuple[Case, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the programs of one run did."""

    rate_bps: float
    """Of payload that the receiving program took."""
    taken_bytes: float
    cpu_s: float
    """User and system time of all that the case is made of."""
    beyond_window_bytes: int
    """Resident at most, all ends together, without what their windows hold."""
    said: dict[str, object]
    """What the programs themselves printed, and what the path counted."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a case."""

    group: str
    case: str
    round: int
    rate_bps: float
    cpu_s_per_gb: float
    """User and system time of all ends for 1e9 bytes that were taken."""
    beyond_window_bytes: int
    others_share: float
    """Of the machine's CPU time during the run, how much went to anything else."""
    said: dict[str, object]


class ProgramError(Exception):
    """A measured program failed."""


Measure = Callable[[Group, Case], Outcome]


def add_options(parser: argparse.ArgumentParser, rounds: int) -> None:
    """The options that every script with turns has."""
    parser.add_argument(
        "--rounds", type=int, default=rounds, help=f"of all cases in turn (default {rounds})"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="of one run (default 1)")
    parser.add_argument(
        "--patience",
        type=float,
        default=0.0,
        help="seconds in all to wait for an idle machine and to repeat disturbed runs (default 0)",
    )
    parser.add_argument("--out", type=Path, help="default: a file of today in bench/results")


def check_options(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    if arguments.rounds < 1 or not 0.1 <= arguments.seconds <= 600:
        parser.error("at least 1 round, and 0.1 to 600 seconds")


def turns(group: Group, rounds: int) -> Iterator[tuple[int, Case]]:
    """A round 0 of warming up, then all cases in turn, round after round."""
    for turn in range(rounds + 1):
        # Each begins a round once: what only the neighbours suffer from is not one case's alone.
        first = turn % len(group.cases)
        for case in group.cases[first:] + group.cases[:first]:
            yield turn, case


def run_group(group: Group, rounds: int, patience_end: float, measure: Measure) -> list[Run]:
    """Runs all cases in turn, printing each run, and gives those after warming up."""
    runs = []
    for turn, case in turns(group, rounds):
        run = run_undisturbed(group, case, turn, patience_end, measure)
        if turn > 0:
            runs.append(run)
            print_run(run)
    return runs


def run_undisturbed(
    group: Group, case: Case, turn: int, patience_end: float, measure: Measure
) -> Run:
    """Waits for others to be idle and repeats what they disturb, until patience ends."""
    while True:
        wait_idle(patience_end)
        run = run_once(group, case, turn, measure)
        if run.others_share <= OTHERS_SHARE_MOST or time.monotonic() >= patience_end:
            return run


def wait_idle(until: float) -> None:
    """Waits until others are idle, or until that time."""
    while time.monotonic() < until:
        busy_s = machine.busy_s()
        time.sleep(IDLE_LOOK_S)
        if machine.busy_s() - busy_s <= OTHERS_SHARE_MOST * IDLE_LOOK_S * machine.CORES:
            break


def run_once(group: Group, case: Case, turn: int, measure: Measure) -> Run:
    busy_s, start = machine.busy_s(), time.monotonic()
    outcome = measure(group, case)
    wall_s = time.monotonic() - start
    others_s = max(0.0, machine.busy_s() - busy_s - outcome.cpu_s)
    taken_gb = outcome.taken_bytes / 1e9
    return Run(
        group=group.name,
        case=case.name,
        round=turn,
        rate_bps=outcome.rate_bps,
        cpu_s_per_gb=outcome.cpu_s / taken_gb if taken_gb else 0.0,
        beyond_window_bytes=outcome.beyond_window_bytes,
        others_share=others_s / (wall_s * machine.CORES),
        said=outcome.said,
    )


def reportable(figures: tuple[Figure, ...], names: set[str]) -> tuple[Figure, ...]:
    """The figures for which the cases of these names are enough."""
    return tuple(figure for figure in figures if {figure.case, figure.base or figure.case} <= names)


def values(figure: Figure, group: Group, runs: list[Run]) -> tuple[list[float], bool]:
    """The figure of each round that nothing disturbed, and True; of all rounds, and False, where
    fewer than `ROUNDS_LEAST` were undisturbed."""
    rows = [run for run in runs if run.group == group.name]
    cases = {run.round: run for run in rows if run.case == figure.case}
    bases = {run.round: run for run in rows if run.case == (figure.base or figure.case)}
    pairs = [(case, bases[turn]) for turn, case in cases.items()]
    quiet = [pair for pair in pairs if max(run.others_share for run in pair) <= OTHERS_SHARE_MOST]
    is_quiet = len(quiet) >= min(ROUNDS_LEAST, len(pairs))
    return [
        ratio(getattr(case, figure.of), getattr(base, figure.of) if figure.base else 1.0)
        for case, base in (quiet if is_quiet else pairs)
    ], is_quiet


def ratio(value: float, base: float) -> float:
    """Infinite over a base that took nothing."""
    return value / base if base else float("inf")


def report(
    kind: str, groups: list[Group], runs: list[Run], out: Path | None, **more: object
) -> tuple[Path, int]:
    """Keeps all runs and prints the figures.

    Returns
    -------
    tuple[Path, int]
        Where the runs are, and how many figures miss what must hold.
    """
    about = machine.describe(kept.ROOT)
    path = kept.keep(kind, about, out, **more, **result(groups, runs))
    print(f"\n{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, {about['rustc']}")
    missed = sum(print_group(group, runs) for group in groups)
    print(f"\nevery run: {os.path.relpath(path)}")
    return path, missed


def result(groups: list[Group], runs: list[Run]) -> dict[str, object]:
    figures = []
    for group in groups:
        for figure in group.figures:
            per_round, is_quiet = values(figure, group, runs)
            figures.append(
                {
                    "group": group.name,
                    **asdict(figure),
                    "median": median(per_round),
                    "spread": (min(per_round), max(per_round)),
                    "rounds": len(per_round),
                    "is_undisturbed": is_quiet,
                }
            )
    return {
        "groups": [asdict(group) for group in groups],
        "figures": figures,
        "runs": [asdict(run) for run in runs],
    }


def print_run(run: Run) -> None:
    print(
        f"{run.group:<10} {run.round:>2} {run.case:<14} {run.rate_bps / 1e9:6.2f} Gb/s"
        f"  {run.cpu_s_per_gb:5.2f} cpu s/GB  others {run.others_share:4.0%}",
        flush=True,
    )


def print_group(group: Group, runs: list[Run]) -> int:
    """Prints the group's figures; says how many miss what must hold."""
    print(f"\n{group.name}: {group.why}")
    print(f"  {'':<40} {'median':>8} {'least':>8} {'most':>8}    n  must hold")
    missed = 0
    for figure in group.figures:
        per_round, is_quiet = values(figure, group, runs)
        unit, claim = figure.unit(), figure.claim()
        if claim:
            holds = figure.holds(median(per_round))
            missed += not holds
            claim += ": holds" if holds else ": MISSED"
        if not is_quiet:
            claim = f"(disturbed) {claim}"
        name = f"{figure.name}, {unit.name}" if unit.name else figure.name
        numbers = [value / unit.scale for value in per_round]
        row = " ".join(f"{value:8.2f}" for value in (median(numbers), min(numbers), max(numbers)))
        print(f"  {name:<40} {row}  {len(numbers):3}  {claim}".rstrip())
    return missed

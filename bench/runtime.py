"""Measures the runtime of circuits beside chains written by hand, FutureSDR and GNU Radio, in turn.

    python3 bench/runtime.py [TABLE ...] [--rounds N] [--seconds S] [--patience S] [--out FILE]

Peers that are missing here are left out, and reported. Prints medians with their spread, writes
every run to bench/results and draws them. Exit: 0, or 2 when a program failed.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import kept
import machine
import plot
import programs
import turns
from runtime_cases import TABLES, Table, select
from turns import OTHERS_SHARE_MOST, Case, ProgramError

EXAMPLES = tuple(("samplewire-blocks", name) for name in ("saxpy", "rings", "burst"))

FUTURESDR = kept.ROOT / "bench" / "peers" / "futuresdr"
GNURADIO = kept.ROOT / "bench" / "peers" / "gnuradio" / "saxpy.cc"

GNURADIO_FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-std=c++17")
GNURADIO_LIBRARIES = ("-lspdlog", "-lfmt")

OVER_WITHIN_S = 60.0
"""Beyond the seconds of the run; a program that has not ended by then has failed."""

TRIES = 3
"""Of a peer; ours has one."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a case."""

    group: str
    case: str
    round: int
    value: float
    by_hand: float | None
    """The same value of what is written by hand, where the program runs that in turn with it."""
    to_hand: float | None
    """The value by that: of slices of both that took turns, where the program says so."""
    others_share: float
    """Of the machine's CPU time during the run, how much went to anything else."""
    said: dict[str, object]

    @property
    def is_undisturbed(self) -> bool:
        return self.others_share <= OTHERS_SHARE_MOST


@dataclass(frozen=True, kw_only=True)
class Row:
    """What the runs of a case come to; ratios are taken within a round."""

    case: str
    values: list[float]
    to_hand: list[float]
    """The values by those of what is written by hand."""
    ours_by_it: list[float]
    """The values of the table's own case by its."""
    is_undisturbed: bool


def main() -> int:
    arguments = parse_arguments()
    try:
        executables, left_out = prepare()
        tables = [
            table for table in (without(it, left_out) for it in select(arguments.tables)) if table
        ]
        about = machine.describe(kept.ROOT)
        patience_end = time.monotonic() + arguments.patience
        runs = [
            run
            for table in tables
            for run in measure_table(table, executables, arguments, patience_end)
        ]
    except (ProgramError, OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        print(f"bench: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    path = kept.keep(
        "-".join(["runtime", *arguments.tables]),
        about,
        arguments.out,
        seconds_each=arguments.seconds,
        left_out=left_out,
        peers=versions(left_out),
        groups=[asdict(table) for table in tables],
        figures=[
            asdict(row) | {"group": table.name} for table in tables for row in rows(table, runs)
        ],
        runs=[asdict(run) for run in runs],
    )
    print(f"\n{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, {about['rustc']}")
    for table in tables:
        print_table(table, runs)
    print(f"\nevery run: {os.path.relpath(path)}, drawn: {os.path.relpath(plot.draw(path))}")
    return 0


def parse_arguments() -> argparse.Namespace:
    names = [table.name for table in TABLES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "tables",
        nargs="*",
        metavar="TABLE",
        help=f"{', '.join(names)}, or what some of these begin with (default: all)",
    )
    turns.add_options(parser, rounds=5)
    parser.set_defaults(seconds=0.5)
    arguments = parser.parse_args()
    turns.check_options(parser, arguments)
    for word in arguments.tables:
        if not any(name.startswith(word) for name in names):
            parser.error(f"no table is called {word}; there are {', '.join(names)}")
    return arguments


def prepare() -> tuple[dict[str, Path], dict[str, str]]:
    """Builds all programs: where they are, and what is left out, with the reason."""
    executables, left_out = programs.build(EXAMPLES), {}
    for name, build in (("futuresdr", build_futuresdr), ("gnuradio", build_gnuradio)):
        try:
            executables[name] = build()
        except (ProgramError, OSError, KeyError, subprocess.CalledProcessError) as error:
            left_out[name] = str(error)
            print(f"left out: {name}: {error}")
    return executables, left_out


def build_futuresdr() -> Path:
    """Builds it with the compiler that its folder names."""
    return programs.build_with([], FUTURESDR)["futuresdr-saxpy"]


def build_gnuradio() -> Path:
    if not (shutil.which("pkg-config") and shutil.which("g++")):
        raise ProgramError("there is no pkg-config or no g++: apt-get install pkg-config g++")
    asked = ["pkg-config", "--cflags", "--libs", "gnuradio-blocks"]
    found = subprocess.run(asked, capture_output=True, text=True)
    if found.returncode:
        raise ProgramError("there is no GNU Radio to build with: apt-get install gnuradio-dev")
    executable = kept.ROOT / "out" / "gnuradio-saxpy"
    executable.parent.mkdir(exist_ok=True)
    words = ["g++", *GNURADIO_FLAGS, str(GNURADIO), "-o", str(executable)]
    subprocess.run([*words, *found.stdout.split(), *GNURADIO_LIBRARIES], check=True)
    return executable


def versions(left_out: dict[str, str]) -> dict[str, str]:
    """Of the peers that are here."""
    lock = (FUTURESDR / "Cargo.lock").read_text()
    found = {
        "futuresdr": re.search(r'name = "futuresdr"\nversion = "(.*)"', lock)[1],
        "gnuradio": machine.output(kept.ROOT, "pkg-config", "--modversion", "gnuradio-runtime"),
    }
    return {name: version for name, version in found.items() if name not in left_out}


def without(table: Table, left_out: dict[str, str]) -> Table | None:
    """The table without the cases of programs that are not here; nothing, if none is left."""
    cases = tuple(case for case in table.cases if case.program not in left_out)
    return Table(**(vars(table) | {"cases": cases})) if cases else None


def measure_table(
    table: Table, executables: dict[str, Path], arguments: argparse.Namespace, patience_end: float
) -> Iterator[Run]:
    """All cases in turn; the runs after one round of warming up."""
    for turn, case in turns.turns(table, arguments.rounds):
        while True:
            turns.wait_idle(patience_end)
            run = measure(table, case, turn, executables[case.program], arguments.seconds)
            if run.is_undisturbed or time.monotonic() >= patience_end:
                break
        if turn > 0:
            print_run(table, run)
            yield run


def measure(table: Table, case: Case, turn: int, executable: Path, seconds: float) -> Run:
    words = [str(executable), *case.arguments, "--seconds", str(seconds)]
    is_ours = case.program not in ("futuresdr", "gnuradio")
    if is_ours:
        words.append("--json")
    for left in reversed(range(1 if is_ours else TRIES)):
        busy_s, start = machine.busy_s(), time.monotonic()
        try:
            with programs.Started(words) as started:
                (ended,) = programs.wait_all([started], seconds + OVER_WITHIN_S)
            break
        except ProgramError as error:
            if left == 0:
                raise
            print(f"again: {case.name}: {error}", file=sys.stderr)
    others_s = max(0.0, machine.busy_s() - busy_s - ended.cpu_s)
    said = said_last(ended.text, words)
    value, by_hand = said[table.of], said.get(f"hand_written_{table.of}")
    return Run(
        group=table.name,
        case=case.name,
        round=turn,
        value=value,
        by_hand=by_hand,
        to_hand=said.get("ratio", value / by_hand) if by_hand else None,
        others_share=others_s / ((time.monotonic() - start) * machine.CORES),
        said=said,
    )


def said_last(text: str, words: list[str]) -> dict[str, float]:
    """The object in a program's last line; GNU Radio logs before that."""
    lines = text.strip().splitlines()
    try:
        return json.loads(lines[-1])
    except (IndexError, ValueError):
        raise ProgramError(f"no JSON in the last line of {shlex.join(words)}: {text!r}") from None


def rows(table: Table, runs: list[Run]) -> list[Row]:
    """One for each case, of the rounds that nothing disturbed where those are enough."""
    mine = [run for run in runs if run.group == table.name]
    ours = {run.round: run for run in mine if run.case == table.ours}
    found = []
    for case in table.cases:
        of_case = [run for run in mine if run.case == case.name]
        quiet = [
            run for run in of_case if run.is_undisturbed and ours.get(run.round, run).is_undisturbed
        ]
        is_quiet = len(quiet) >= min(turns.ROUNDS_LEAST, len(of_case))
        chosen = quiet if is_quiet else of_case
        is_base = case.name == table.ours
        found.append(
            Row(
                case=case.name,
                values=[run.value for run in chosen],
                to_hand=[run.to_hand for run in chosen if run.to_hand is not None],
                ours_by_it=[
                    turns.ratio(ours[run.round].value, run.value)
                    for run in chosen
                    if run.round in ours and not is_base
                ],
                is_undisturbed=is_quiet,
            )
        )
    return found


def print_run(table: Table, run: Run) -> None:
    value = run.value / table.unit.scale
    hand = f"  by hand {run.by_hand / table.unit.scale:8.3f}" if run.by_hand else ""
    print(
        f"{run.group:<12} {run.round:>2} {run.case:<26} {value:8.3f} {table.unit.name}"
        f"  others {run.others_share:4.0%}{hand}",
        flush=True,
    )


def print_table(table: Table, runs: list[Run]) -> None:
    print(f"\n{table.name}: {table.why}; {table.unit.name}")
    ratios = f"{'/ by hand':<22} {f'{table.ours} / it' if table.ours else ''}"
    print(f"  {'':<26} {'median':>8} {'least':>8} {'most':>8}    n  {ratios}".rstrip())
    for row in rows(table, runs):
        numbers = [value / table.unit.scale for value in row.values]
        spread = " ".join(f"{f(numbers):8.3f}" for f in (median, min, max))
        cells = f"{spread_of(row.to_hand):<22} {spread_of(row.ours_by_it)}"
        mark = "" if row.is_undisturbed else "  (disturbed)"
        print(f"  {row.case:<26} {spread}  {len(numbers):3}  {cells}".rstrip() + mark)


def spread_of(ratios: list[float]) -> str:
    if not ratios:
        return ""
    return f"{median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})"


if __name__ == "__main__":
    sys.exit(main())

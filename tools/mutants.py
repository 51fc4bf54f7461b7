"""Draws mutants of the host engine, and says which share of them the tests catch.

    python3 tools/mutants.py [--count 200] [--seed SEED] [--jobs 1] [--resume] [--only REGEX]
    python3 tools/mutants.py --list

cargo-mutants lists the mutants: an operator exchanged, a body replaced by a constant, an arm of a
match removed. A seed draws some of them. One build makes programs that contain all of these, and an
environment variable chooses the mutant that runs. Mutants that do not compile beside others are
compiled one by one. Each mutant meets the tests of `mutation/programs.py`, from fast to slow, until
one fails.

The results go to `out/mutants.json` after each mutant. `--resume` keeps what is there, so a long
run can be split; it does not notice edits made since. `--only` runs the drawn mutants whose name
matches, even those with a result.

`mutation/equivalent.toml` lists mutants that change no behaviour, with the reason; they are not
run and do not count. Exit: 0 when the tests catch at least nine of ten, else 1.
"""

import argparse
import dataclasses
import json
import re
import sys
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from mutation.draw import Mutant, draw, mutants_of_engine
from mutation.programs import STAGES, Runner, Stage, measured
from mutation.tree import BuildError, Tree, kept, target_folder

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "out/mutants.json"
EQUIVALENT = ROOT / "tools/mutation/equivalent.toml"
COUNT = 200
SEED = "samplewire"
SHARE_MIN = 0.9
CAUGHT, HANGS, MISSED = "caught", "hangs", "missed"
UNBUILDABLE, EQUAL = "unbuildable", "equivalent"


@dataclass(frozen=True)
class Result:
    """What came of a mutant."""

    outcome: str
    by: str = ""
    """The stage and the test that failed, or the reason why none can."""
    seconds: float = 0


class Report:
    """Results of drawn mutants, printed and written as they come."""

    def __init__(self, drawn: list[Mutant], seed: str) -> None:
        self.drawn = drawn
        self.seed = seed
        self.results: dict[str, Result] = {}
        self.lock = threading.Lock()

    def load(self) -> None:
        if RESULTS.is_file():
            names = {it.name for it in self.drawn}
            self.results = {
                it["mutant"]: Result(it["outcome"], it["by"], it["seconds"])
                for it in json.loads(RESULTS.read_text())["results"]
                if it["mutant"] in names and it["outcome"] != EQUAL
            }

    def add(self, mutant: Mutant, result: Result) -> None:
        with self.lock:
            self.results[mutant.name] = result
            print(
                f"{len(self.results):>4}/{len(self.drawn)}  {result.outcome:<11}"
                f" {result.seconds:6.1f} s  {mutant.place}: {mutant.name.partition(': ')[2]}"
                f"{'  by ' * bool(result.by)}{result.by}",
                flush=True,
            )
            self.write()

    def write(self) -> None:
        results = [
            {"mutant": it.name, "place": it.place} | dataclasses.asdict(self.results[it.name])
            for it in self.drawn
            if it.name in self.results
        ]
        text = json.dumps(
            {"seed": self.seed, "drawn": len(self.drawn), "results": results}, indent=1
        )
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(text + "\n")

    def summary(self) -> bool:
        """Prints what was missed and the counts; says whether the share is reached."""
        for mutant in self.drawn:
            result = self.results.get(mutant.name)
            if result and result.outcome == MISSED:
                print(f"missed: {mutant.place}: {mutant.name}")
        counts = Counter(it.outcome for it in self.results.values())
        caught = counts[CAUGHT] + counts[HANGS]
        countable = caught + counts[MISSED]
        share = caught / countable if countable else 1.0
        print(
            f"{len(self.drawn)} drawn, {len(self.results)} run: {counts[CAUGHT]} caught,"
            f" {counts[HANGS]} do not end and are caught, {counts[MISSED]} missed,"
            f" {counts[UNBUILDABLE]} do not build, {counts[EQUAL]} equivalent;"
            f" share {share:.3f}, at least {SHARE_MIN} wanted"
        )
        return share >= SHARE_MIN


def main() -> int:
    arguments = parse_arguments()
    found = mutants_of_engine(ROOT)
    reasons = equivalents(found)
    drawn = draw(found, arguments.count, arguments.seed)
    if arguments.list:
        for it in drawn:
            print(f"{it.place}: {it.name}")
        return 0
    print(f"{len(found)} mutants of the engine, {len(drawn)} drawn by the seed {arguments.seed!r}")
    report = Report(drawn, arguments.seed)
    if arguments.resume:
        report.load()
    for it in drawn:
        if it.name in reasons:
            report.results[it.name] = Result(EQUAL, reasons[it.name])
    only = arguments.only and re.compile(arguments.only)
    wanted = [
        it
        for it in drawn
        if it.name not in reasons
        and (only.search(it.name) if only else it.name not in report.results)
    ]
    if wanted:
        for it in wanted:
            report.results.pop(it.name, None)
        run(set(wanted), report, arguments.jobs)
    return 0 if report.summary() else 1


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT, help="mutants to draw")
    parser.add_argument("--seed", default=SEED, help="what draws them")
    parser.add_argument(
        "--jobs", type=int, default=1, help="mutants at a time; each keeps a core busy"
    )
    parser.add_argument("--resume", action="store_true", help="keep earlier results")
    parser.add_argument("--only", metavar="REGEX", help="run drawn mutants whose name matches")
    parser.add_argument("--list", action="store_true", help="print what is drawn, and run nothing")
    return parser.parse_args()


def equivalents(found: list[Mutant]) -> dict[str, str]:
    """Reasons why no test can fail, by mutant."""
    listed = tomllib.loads(EQUIVALENT.read_text())["equivalent"]
    unknown = {it["mutant"] for it in listed} - {it.name for it in found}
    if unknown:
        sys.exit(f"{EQUIVALENT}: no such mutants: {', '.join(sorted(unknown))}")
    return {it["mutant"]: it["reason"] for it in listed}


def run(wanted: set[Mutant], report: Report, jobs: int) -> None:
    """Builds what is drawn and runs what is wanted of it, in the order of the draw."""
    tree = Tree(ROOT, target_folder(ROOT) / "mutants")
    tree.copy()
    # All of them: the programs stay as they are when some have results.
    numbers = dict(enumerate(report.drawn, start=1))
    start = time.monotonic()
    print(f"building {len(numbers)} mutants in {tree.path}", flush=True)
    programs = kept(tree.build_together(numbers), tree.folder / "programs")
    print(f"  {time.monotonic() - start:.0f} s; apart from others: {len(tree.apart)}")
    print("the tests without a mutant:", flush=True)
    runner = measured(tree.path, programs, tree.folder / "times.json")

    def run_one(number: int, mutant: Mutant) -> None:
        if mutant in wanted and mutant not in tree.apart:
            report.add(mutant, result_of(runner, number))

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run_one, numbers, numbers.values()))
    for number, mutant in numbers.items():
        if mutant in wanted and mutant in tree.apart:
            report.add(mutant, run_apart(tree, runner, number, mutant))


def run_apart(tree: Tree, runner: Runner, number: int, mutant: Mutant) -> Result:
    """Builds one mutant and runs it."""
    start = time.monotonic()
    tree.write_alone(mutant)
    result = Result(MISSED)
    # What takes long to build is built when all before has passed: the library's own tests, which
    # show whether the mutant builds at all, take seconds.
    for (package, _), stages in groupby(STAGES, lambda it: (it.package, it.is_library)):
        stages = list(stages)
        try:
            mutated = tree.build([package], [it.program for it in stages])
        except BuildError:
            result = Result(UNBUILDABLE)
            break
        result = result_of(dataclasses.replace(runner, mutated=mutated), number, stages)
        if result.outcome != MISSED:
            break
    return dataclasses.replace(result, seconds=round(time.monotonic() - start, 1))


def result_of(runner: Runner, number: int, stages: Iterable[Stage] = STAGES) -> Result:
    start = time.monotonic()
    found = runner.first_failure(number, stages)
    seconds = round(time.monotonic() - start, 1)
    if found is None:
        return Result(MISSED, seconds=seconds)
    stage, failure = found
    by = f"{stage.name} {failure.test or ''}".strip()
    return Result(HANGS if failure.is_hang else CAUGHT, by, seconds)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BuildError, RuntimeError) as error:
        print(f"FAILED: {error}", file=sys.stderr)
        sys.exit(1)

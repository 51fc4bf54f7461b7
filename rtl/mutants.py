#!/usr/bin/env python3
"""Draws mutants of the RTL, and reports which share of them proofs and cocotb tests catch.

    rtl/mutants.py [--count 200] [--seed SEED] [--results FILE] [--resume] [--only REGEX] [--list]

The seed is the hash of HEAD unless one is given; formal/mutate.py draws by it from the modules of
rtl/. A mutant that lint refuses does not build and is not counted. Each other one meets, until one
catches it, the proofs and the files of cocotb tests that name its module or contain it. yosys
compares it with the original: only a proof makes it equivalent, and it then does not count. A
timeout is no catch. A file of tests runs without a mutant before it meets one; a mutant then has
ten times as long in it. A file that takes more than 20 minutes catches none; mutants that would
meet one that fails stay open.

The order is that of cost. All mutants meet the tests and the proofs of their own module first, in
small designs before large ones, then yosys, then what contains them, then the long proofs and
tests; a mutant that has passed some of these and is not caught is open. An open mutant counts as
one that is not caught.

The results go to out/rtl-mutants.json, or FILE, after each check. --resume goes on from there with
its seed. --only runs the drawn mutants whose name matches from the beginning, those with a result
too: for tests that were written since.
Exit: 0 when at least nine of ten are caught, else 1.
"""

import argparse
import dataclasses
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "rtl"), str(ROOT / "rtl" / "formal")]

import equivalence  # noqa: E402
import lint  # noqa: E402
import mutate  # noqa: E402
import prove  # noqa: E402
import sources  # noqa: E402

RESULTS = ROOT / "out" / "rtl-mutants.json"
TREE = ROOT / "out" / "rtl-mutants" / "tree"
COUNT = 200
SHARE_MIN = 0.9
COCOTB_S = 1200
COCOTB_S_MIN = 60
MUTANT_SLOWER = 10
MODULES = {path.stem for path in sources.modules()}
CAUGHT, MISSED, EQUIVALENT = "caught", "missed", "equivalent"
OPEN, UNBUILDABLE = "open", "unbuildable"


class Cost(IntEnum):
    """What a check costs; all mutants meet those of one cost before any meets the next."""

    OWN = 0
    EQUIVALENCE = 1
    AROUND = 2
    LONG = 3


@dataclass(frozen=True, order=True)
class Check:
    """Something that a mutant meets."""

    cost: Cost
    turn: int
    """Those of a cost: 0 lint, 1 the tests of the module's folder, 2 proofs, 3 other tests."""
    size: int
    """Modules in it."""
    kind: str
    name: str
    """Of a proof its job, of cocotb the file of tests from rtl/tb."""
    is_full: bool = False
    """Whether the tests are in the long matrix alone."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


def copy_tree() -> None:
    """A copy of what git knows, in which mutants replace modules one at a time."""
    for folder in ("rtl", "docs", "vectors"):  # what tests built there stays
        shutil.rmtree(TREE / folder, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "rtl", "docs", "vectors"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name)


def builds(change: mutate.Change) -> bool:
    """Whether Verilator takes a mutant, with the warnings that fail a test's build."""
    (TREE / change.file).write_text(change.applied((ROOT / change.file).read_text()))
    try:
        return not any(lint.complaints(command) for command in lint.commands(change.file, TREE))
    finally:
        shutil.copy2(ROOT / change.file, TREE / change.file)


def proofs(change: mutate.Change) -> Iterator[Check]:
    """The jobs that contain a mutant's module."""
    for path in prove.HERE.rglob("*.toml"):
        job = prove.load(path)
        if change.file in job.files():
            around = Cost.OWN if job.top == change.file.stem else Cost.AROUND
            cost = Cost.LONG if job.full else around
            yield Check(cost, 2, len(job.sources), "proof", str(path.relative_to(prove.HERE)))


def proved_wrong(change: mutate.Change, check: Check) -> bool:
    """Whether an assertion or a cover of a job fails for a mutant."""
    job = prove.load(prove.HERE / check.name)
    job.name = f"mutant-{job.name}"
    shutil.rmtree(ROOT / job.folder, ignore_errors=True)
    (ROOT / job.folder).mkdir(parents=True)
    try:
        prove.yosys(job, prove.script(job, "drawn", prove.with_change(job, "drawn", change)))
        return not prove.passes(job, "drawn")
    except prove.JobError:
        return False  # a timeout, or a text that yosys refuses


@functools.cache
def named(test: Path) -> set[str]:
    """The modules that a file of tests builds: by its strings, or by the list that it imports."""
    text = test.read_text()
    for other in re.findall(r"from (test_\w+) import [^\n]*\bSOURCES\b", text):
        text += "".join(path.read_text() for path in (TREE / "rtl" / "tb").rglob(f"{other}.py"))
    if "*tree.modules()" in text:
        return MODULES
    strings = re.findall(r'"""(.*?)"""|"([^"\n]*)"', text, re.DOTALL)
    return MODULES & {word for pair in strings for word in re.findall(r"\w+", "".join(pair))}


def tests(change: mutate.Change) -> Iterator[Check]:
    """The files of cocotb tests that build a mutant's module."""
    folder = TREE / "rtl" / "tb"
    found = []
    for test in folder.rglob("test_*.py"):
        text = test.read_text()
        if change.file.stem in named(test) and re.search(r"from runner import .*\brun\b", text):
            is_full = bool(re.search(r"^@pytest.mark.full", text, re.MULTILINE))
            cost = Cost.OWN if test.parent.name == change.file.stem else Cost.AROUND
            cost = Cost.LONG if is_full or test.parent.parent.name == "top" else cost
            turn, size = 1 if test.parent.name == change.file.stem else 3, len(named(test))
            found.append(Check(cost, turn, size, "cocotb", str(test.relative_to(folder)), is_full))
    # What has no folder of its own has the smallest of these.
    if found and min(found).cost == Cost.AROUND:
        first = found.pop(found.index(min(found)))
        found.append(dataclasses.replace(first, cost=Cost.OWN))
    yield from found


def tested(check: Check, limit_s: float) -> subprocess.CompletedProcess[str]:
    """A run of a file of tests in the copy, up to the first failure."""
    file = TREE / "rtl" / "tb" / check.name
    command = [sys.executable, "-m", "pytest", "-x", "-q", str(file)]
    command += ["--full"] if check.is_full or file.parent.parent.name == "top" else []
    begun = subprocess.Popen(
        command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
             "SAMPLEWIRE_SEED": "1", "COCOTB_MAX_FAILURES": "1", "HOME": str(Path.home())},
        start_new_session=True,
    )  # fmt: skip
    try:
        text, _ = begun.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(begun.pid, signal.SIGKILL)  # the simulation too
        begun.communicate()
        raise
    return subprocess.CompletedProcess(command, begun.returncode, text)


def simulated_wrong(change: mutate.Change, check: Check, limit_s: float) -> bool:
    """Whether a test of a file fails for a mutant within this time."""
    (TREE / change.file).write_text(change.applied((ROOT / change.file).read_text()))
    try:
        done = tested(check, limit_s)
    except subprocess.TimeoutExpired:
        return False
    finally:
        shutil.copy2(ROOT / change.file, TREE / change.file)
    if not done.returncode:
        return False
    if "FAILED" not in done.stdout:
        raise RuntimeError(f"{check}: {done.stdout[-500:]}")
    return True


def checks(change: mutate.Change) -> list[Check]:
    """What a mutant meets, in this order."""
    found = [Check(Cost.OWN, 0, 0, "build", ""), Check(Cost.EQUIVALENCE, 0, 0, "equivalence", "")]
    return sorted([*found, *proofs(change), *tests(change)])


def outcome(change: mutate.Change, check: Check, limit_s: float) -> str:
    """What comes of a mutant by a check; cocotb tests have this time."""
    if check.kind == "build":
        return OPEN if builds(change) else UNBUILDABLE
    if check.kind == "equivalence":
        same = equivalence.at_all_values(change, TREE.parent.relative_to(ROOT))
        return EQUIVALENT if same else OPEN
    if check.kind == "proof":
        is_wrong = proved_wrong(change, check)
    else:
        is_wrong = limit_s > 0 and simulated_wrong(change, check, limit_s)
    return CAUGHT if is_wrong else OPEN


@dataclass
class Result:
    """How far a mutant is."""

    outcome: str = OPEN
    by: str = ""
    seconds: float = 0
    passed: list[str] = field(default_factory=list)
    """What an open mutant has passed."""


class Campaign:
    """The mutants that are drawn, and their results, which are written as they come."""

    def __init__(self, drawn: list[mutate.Change], seed: str, file: Path) -> None:
        self.drawn, self.seed, self.file = drawn, seed, file
        self.results = {change.name: Result() for change in drawn}
        self.unchanged_s: dict[str, float | None] = {}
        """How long the files of tests take without a mutant, which they pass; None: too long."""
        self.failing: set[str] = set()
        """The files that fail without a mutant. They are not kept: --resume tries them again."""

    def load(self, kept: dict) -> None:
        """Go on from earlier results."""
        fields = [it.name for it in dataclasses.fields(Result)]
        self.unchanged_s.update(kept.get("unchanged_s", {}))
        for it in kept["results"]:
            if it["mutant"] in self.results:
                values = {name: it[name] for name in fields if name in it}
                self.results[it["mutant"]] = Result(**values)

    def write(self) -> None:
        """Keep the results."""
        kept = []
        for change in self.drawn:
            result = dataclasses.asdict(self.results[change.name])
            if result["outcome"] != OPEN:
                del result["passed"]
            if result["outcome"] != OPEN or result["passed"]:
                place = f"{change.file}:{change.line}"
                kept.append({"mutant": change.name, "place": place} | result)
        text = {"seed": self.seed, "drawn": len(self.drawn), "results": kept}
        text["unchanged_s"] = dict(sorted(self.unchanged_s.items()))
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(json.dumps(text, indent=1) + "\n")

    def run(self, wanted: list[mutate.Change]) -> None:
        """Check these mutants, by what it costs."""
        first = {change.name: checks(change)[1] for change in wanted}
        for cost in Cost:
            for change in sorted(wanted, key=lambda change: first[change.name]):
                if self.results[change.name].outcome == OPEN:
                    self.meet(change, cost)

    def limit_s(self, check: Check) -> float:
        """The time that a mutant has in a file of tests; 0 if they do not pass without one."""
        if check.name not in self.unchanged_s and check.name not in self.failing:
            begun = time.monotonic()
            try:
                done = tested(check, COCOTB_S)
            except subprocess.TimeoutExpired:
                self.unchanged_s[check.name] = None
            else:
                if done.returncode:
                    print(f"{check} fails without a mutant:\n{done.stdout[-500:]}", flush=True)
                    self.failing.add(check.name)
                else:
                    self.unchanged_s[check.name] = round(time.monotonic() - begun, 1)
            self.write()
        whole_s = self.unchanged_s.get(check.name)
        return 0 if whole_s is None else min(max(MUTANT_SLOWER * whole_s, COCOTB_S_MIN), COCOTB_S)

    def meet(self, change: mutate.Change, cost: Cost) -> None:
        """Let a mutant meet the checks of a cost until one of them decides."""
        result = self.results[change.name]
        ahead = [check for check in checks(change) if str(check) not in result.passed]
        at_once = [check for check in ahead if check.cost == cost]
        for check in at_once:
            limit_s = self.limit_s(check) if check.kind == "cocotb" else 0
            if check.name in self.failing:
                continue
            begun = time.monotonic()
            result.outcome = outcome(change, check, limit_s)
            result.seconds = round(result.seconds + time.monotonic() - begun, 1)
            if result.outcome == OPEN:
                result.passed.append(str(check))
                if all(str(it) in result.passed for it in ahead):
                    result.outcome = MISSED
            elif result.outcome == CAUGHT:
                result.by = str(check)
            self.write()
            if result.outcome != OPEN:
                break
        if at_once:
            self.show(change)

    def show(self, change: mutate.Change) -> None:
        """Print a mutant with its result."""
        result = self.results[change.name]
        decided = sum(it.outcome != OPEN for it in self.results.values())
        print(
            f"{decided:>4}/{len(self.drawn)}  {result.outcome:<11} {result.seconds:>6} s  "
            f"{change.file}:{change.line}: {change.name}{'  by ' * bool(result.by)}{result.by}",
            flush=True,
        )

    def summary(self) -> bool:
        """Print the score; whether it is reached."""
        for change in self.drawn:
            result = self.results[change.name]
            if result.outcome == MISSED or result.passed:
                print(f"{result.outcome}: {change.file}:{change.line}: {change.name}")
        counts = Counter(it.outcome for it in self.results.values())
        begun = sum(it.outcome == OPEN and it.passed != [] for it in self.results.values())
        counted = counts[CAUGHT] + counts[MISSED] + begun
        share = counts[CAUGHT] / counted if counted else 1.0
        print(
            f"{len(self.drawn)} mutants: {counts[CAUGHT]} caught, {counts[MISSED]} missed, "
            f"{counts[EQUIVALENT]} proved equivalent, {counts[UNBUILDABLE]} do not build, "
            f"{begun} open, {counts[OPEN] - begun} not run; "
            f"share {share:.3f}, at least {SHARE_MIN} wanted"
        )
        return share >= SHARE_MIN and not counts[OPEN]


def main() -> int:
    """Run what is drawn and has no result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT, help="mutants to draw")
    parser.add_argument("--seed", help="what draws them; by default the hash of HEAD")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of the results")
    parser.add_argument(
        "--resume", action="store_true", help="go on with the results that are there"
    )
    parser.add_argument("--only", metavar="REGEX", help="run drawn mutants whose name matches")
    parser.add_argument("--list", action="store_true", help="print what is drawn, and run nothing")
    arguments = parser.parse_args()
    is_there = arguments.resume and arguments.results.is_file()
    kept = json.loads(arguments.results.read_text()) if is_there else {}
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    seed = arguments.seed or kept.get("seed") or head.stdout.strip()
    drawn = mutate.draw(sources.modules(), arguments.count, seed)
    if arguments.list:
        for change in drawn:
            print(f"{change.file}:{change.line}: {change.name}")
        return 0
    campaign = Campaign(drawn, seed, arguments.results)
    if kept.get("seed") == seed:
        campaign.load(kept)
    wanted = [change for change in drawn if re.search(arguments.only or "", change.name)]
    if arguments.only:
        campaign.results |= {change.name: Result() for change in wanted}
    print(f"{len(drawn)} mutants drawn by {seed}")
    copy_tree()
    campaign.run(wanted)
    return 0 if campaign.summary() else 1


if __name__ == "__main__":
    sys.exit(main())

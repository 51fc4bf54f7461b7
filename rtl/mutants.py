#!/usr/bin/env python3
"""Draws mutants of the RTL, and reports which share of them proofs and cocotb tests catch.

    rtl/mutants.py [--count 200] [--seed SEED] [--resume] [--only REGEX] [--list]

The seed is the hash of HEAD unless one is given; formal/mutate.py draws by it from the modules of
rtl/. A mutant that lint refuses does not build and is not counted. Each other one meets, until one
catches it and the quick ones first: the proofs of its module, the cocotb folders that name it, the
proofs of modules that contain it. In between yosys compares it with the original: only a proof
makes it equivalent, and it then does not count. A timeout is no catch. The tests of
a folder must pass without a mutant first.

The results go to out/rtl-mutants.json after each mutant; --resume goes on from there with its seed.
Exit: 0 when at least nine of ten are caught, else 1.
"""

import argparse
import functools
import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
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
MODULES = {path.stem for path in sources.modules()}
CAUGHT, MISSED, EQUIVALENT, UNBUILDABLE = "caught", "missed", "equivalent", "does not build"


def copy_tree() -> None:
    """A copy of what git knows, in which mutants replace modules one at a time."""
    shutil.rmtree(TREE, ignore_errors=True)
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


def jobs(change: mutate.Change, of_top: bool) -> list[prove.Job]:
    """The jobs of a mutant's module, or of those that contain it; the small ones first."""
    found = [prove.load(path) for path in sorted(prove.HERE.rglob("*.toml"))]
    found = [job for job in found if change.file in job.files()]
    found = [job for job in found if (job.top == change.file.stem) == of_top]
    return sorted(found, key=lambda job: (job.full, job.without_properties, len(job.sources)))


def proved_wrong(change: mutate.Change, job: prove.Job) -> bool:
    """Whether an assertion or a cover of a job fails for a mutant."""
    job.name = f"mutant-{job.name}"
    shutil.rmtree(ROOT / job.folder, ignore_errors=True)
    (ROOT / job.folder).mkdir(parents=True)
    try:
        prove.yosys(job, prove.script(job, "drawn", prove.with_change(job, "drawn", change)))
        return not prove.passes(job, "drawn")
    except prove.JobError:
        return False  # a timeout, or a text that yosys refuses


def folders(module: str) -> list[Path]:
    """Folders of tests whose runs name the module: its own first, then those with few modules."""
    named = re.compile(r'"(\w+)"')
    found = []
    for test in sorted((TREE / "rtl" / "tb").rglob("test_*.py")):
        text = test.read_text()
        modules = MODULES.intersection(named.findall(text))
        if module in modules and re.search(r"from runner import .*\brun\b", text):
            found.append((test.parent.name != module, len(modules), test.parent))
    return [folder for _, _, folder in sorted(found)]


def tested(folder: Path) -> subprocess.CompletedProcess[str]:
    """A run of a folder's tests in the copy."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "1", str(folder)]
    # The tests of a top are in the long matrix alone.
    command += ["--full"] if folder.parent.name == "top" else []
    return subprocess.run(
        command, cwd=TREE, capture_output=True, text=True, check=False, timeout=COCOTB_S,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
             "SAMPLEWIRE_SEED": "1", "HOME": str(Path.home())},
    )  # fmt: skip


@functools.cache
def require_pass(folder: Path) -> None:
    """Raise RuntimeError where a folder's tests fail without a mutant: they would catch any."""
    done = tested(folder)
    if done.returncode:
        raise RuntimeError(f"pytest in {folder} without a mutant: {done.stdout[-500:]}")


def simulated_wrong(change: mutate.Change, folder: Path) -> bool:
    """Whether a test of a folder fails for a mutant, and passes without."""
    require_pass(folder)
    (TREE / change.file).write_text(change.applied((ROOT / change.file).read_text()))
    try:
        done = tested(folder)
    except subprocess.TimeoutExpired:
        return False
    finally:
        shutil.copy2(ROOT / change.file, TREE / change.file)
    if not done.returncode:
        return False
    # With -x a worker's first failure interrupts the run, which is another status.
    if "FAILED" not in done.stdout:
        raise RuntimeError(f"pytest in {folder}: {done.stdout[-500:]}")
    return True


def outcome(change: mutate.Change) -> tuple[str, str]:
    """What came of a mutant, and by what."""
    if not builds(change):
        return UNBUILDABLE, ""
    for job in jobs(change, of_top=True):
        name = job.name
        if proved_wrong(change, job):
            return CAUGHT, f"proof {name}"
    if equivalence.at_all_widths(change, TREE.parent.relative_to(ROOT)):
        return EQUIVALENT, ""
    for folder in folders(change.file.stem):
        if simulated_wrong(change, folder):
            return CAUGHT, f"cocotb {folder.relative_to(TREE / 'rtl' / 'tb')}"
    for job in jobs(change, of_top=False):
        name = job.name
        if proved_wrong(change, job):
            return CAUGHT, f"proof {name}"
    return MISSED, ""


def judged(change: mutate.Change) -> dict[str, object]:
    """The result of a mutant."""
    begun = time.monotonic()
    came, by = outcome(change)
    seconds = round(time.monotonic() - begun)
    return {"mutant": change.name, "outcome": came, "by": by, "seconds": seconds}


def summary(results: list[dict]) -> bool:
    """Prints the score; whether it is reached."""
    for result in results:
        if result["outcome"] == MISSED:
            print(f"missed: {result['mutant']}")
    counts = Counter(result["outcome"] for result in results)
    counted = counts[CAUGHT] + counts[MISSED]
    share = counts[CAUGHT] / counted if counted else 1.0
    print(
        f"{len(results)} mutants: {counts[CAUGHT]} caught, {counts[MISSED]} missed, "
        f"{counts[EQUIVALENT]} proved equivalent, {counts[UNBUILDABLE]} do not build; "
        f"score {share:.3f}, at least {SHARE_MIN} wanted"
    )
    return share >= SHARE_MIN


def main() -> int:
    """Run what is drawn and has no result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT, help="mutants to draw")
    parser.add_argument("--seed", help="what draws them; by default the hash of HEAD")
    parser.add_argument(
        "--resume", action="store_true", help="go on with the results that are there"
    )
    parser.add_argument("--only", metavar="REGEX", help="only drawn mutants whose name matches")
    parser.add_argument("--list", action="store_true", help="print what is drawn, and run nothing")
    arguments = parser.parse_args()
    kept = json.loads(RESULTS.read_text()) if arguments.resume and RESULTS.is_file() else {}
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    seed = arguments.seed or kept.get("seed") or head.stdout.strip()
    found = mutate.draw(sources.modules(), arguments.count, seed)
    if arguments.only:
        found = [change for change in found if re.search(arguments.only, change.name)]
    if arguments.list:
        for change in found:
            print(f"{change.file}:{change.line}: {change.name}")
        return 0
    results = kept.get("results", []) if kept.get("seed") == seed else []
    have = {result["mutant"] for result in results}
    print(f"{len(found)} mutants drawn by {seed}, {len(have)} have a result")
    copy_tree()
    for change in found:
        if change.name in have:
            continue
        results.append(judged(change))
        RESULTS.write_text(json.dumps({"seed": seed, "results": results}, indent=1) + "\n")
        last = results[-1]
        print(
            f"{len(results):>4}  {last['outcome']:<14} {last['seconds']:>5} s  {change.file}:"
            f"{change.line}: {change.name}{'  by ' * bool(last['by'])}{last['by']}",
            flush=True,
        )
    return 0 if summary(results) else 1


if __name__ == "__main__":
    sys.exit(main())

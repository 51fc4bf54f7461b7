"""The mutants of the engine: which there are, and which a seed draws."""

import hashlib
import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

SOURCES = "crates/samplewire/src/"
ENGINE = (
    "endpoint/**/*.rs",
    "receiver/flow.rs",
    "receiver/hold.rs",
    "receiver/payload_ring.rs",
    "receiver/shared.rs",
    "receiver/stalls.rs",
    "transmitter/feedback_flood.rs",
    "transmitter/flow.rs",
    "transmitter/outbox.rs",
    "transmitter/retransmit_buffer.rs",
    "transmitter/shared.rs",
    "transmitter/slicer.rs",
    "device/offer.rs",
    "device/player.rs",
    "driver.rs",
    "wakeups.rs",
)
PLACE = re.compile(r"^(?P<file>.+?):(?P<line>\d+):\d+: (?P<what>.+)$", re.DOTALL)

Position = tuple[int, int]
"""Line and column, both from 1."""


@dataclass(frozen=True)
class Mutant:
    """One change of one function."""

    name: str
    """File and change without a line, so that it stays the same when other code moves."""
    file: str
    """In the repository."""
    line: int
    start: Position
    end: Position
    replacement: str
    function: tuple[Position, Position] | None
    """Where the function that it is in starts and ends; a constant is in none."""
    returned: str
    """The function's result as its source has it, with the arrow; empty where it has none."""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


def mutants_of_engine(root: Path) -> list[Mutant]:
    """All mutants that cargo-mutants knows of, in the order of the source."""
    command = [root / ".tools/bin/cargo-mutants", "mutants", "--no-config", "--list", "--json"]
    command += ["--package", "samplewire"]
    for pattern in ENGINE:
        command += ["--file", SOURCES + pattern]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    found.sort(key=lambda it: (it["file"], span(it), it["name"]))
    mutants = []
    counts: Counter[str] = Counter()
    for it in found:
        match = PLACE.match(it["name"])
        assert match, it["name"]
        function = it["function"]
        name = f"{match['file'].removeprefix(SOURCES)}: {match['what']}"
        counts[name] += 1
        # The same change may be possible in several places of a function.
        if counts[name] > 1:
            name += f" #{counts[name]}"
        mutants.append(
            Mutant(
                name=name,
                file=it["file"],
                line=int(match["line"]),
                start=span(it)[0],
                end=span(it)[1],
                replacement=it["replacement"],
                function=span(function) if function else None,
                returned=function["return_type"] if function else "",
            )
        )
    return mutants


def draw(mutants: list[Mutant], count: int, seed: str) -> list[Mutant]:
    """The first `count` in an order that the seed and each name alone decide.

    Code that is added or moved changes the place of no other mutant, and the first K of a draw are
    a fair sample of all.
    """
    return sorted(mutants, key=lambda it: rank(it, seed))[:count]


def rank(mutant: Mutant, seed: str) -> str:
    return hashlib.sha256(f"{seed}\n{mutant.name}".encode()).hexdigest()


def span(of: dict) -> tuple[Position, Position]:
    start, end = of["span"]["start"], of["span"]["end"]
    return (start["line"], start["column"]), (end["line"], end["column"])

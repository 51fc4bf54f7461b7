#!/usr/bin/env python3
"""Count the instructions of what happens most often, and keep them in table.md.

    instructions.py              count, and write table.md
    instructions.py --check      count, and fail where a count is more than 3 % above the table
    instructions.py --can-run    print `yes`, or why it cannot run here

Each scene of src/main.rs runs under Callgrind for N and for 2N times; a count is the difference of
both, so what happens once cancels. Counts are exact and the same on every machine and in every run:

- the toolchain is pinned, and libc is musl, which the toolchain brings along;
- there is one thread, the clock is moved by the bench, and random numbers are the same each time
  (src/machine.rs);
- the CRC is that by tables (`--cfg samplewire_portable`); nothing depends on the CPU's features;
- instructions of the kernel are not counted, and no count depends on what it answers.

No crate runs the bench. gungraun (formerly iai-callgrind, Apache-2.0 or MIT, maintained) needs a
runner of its own with the same version, which takes longer to build than the bench; it compares
with the last run on this machine, and neither takes differences nor keeps a table.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = Path(__file__).resolve().parent / "table.md"
TOOLCHAIN = "1.95.0"
TARGET = "x86_64-unknown-linux-musl"
PACKAGE = "samplewire-instructions"
PROFILE = "instructions"
GROWTH_MAX = 0.03
TIMES = 200
AT_ONCE = 2
PARTS = ("first", "second", "third")
"""The functions of src/main.rs that are counted, each with all that it calls."""

Costs = dict[str, float]
"""Instructions of each part, for each time."""


@dataclass(frozen=True)
class Row:
    """A row of the table: a sum of parts of scenes, each with a factor."""

    name: str
    terms: tuple[tuple[str, str, float], ...]
    crc: str = ""
    """The scene of the CRC that is in it, once."""


def data(size: int, way: str, part: str) -> Row:
    crc = f"crc-{size}"
    return Row(f"DATA of {size:,} bytes, {way}", ((f"data-{size}", part, 1),), crc)


def lone(link: str, scene: str) -> tuple[Row, ...]:
    """A single packet: a leg in parts, and both legs."""
    name = f"lone packet of 64 bytes, {link}"
    return (
        Row(f"{name}: sent", ((scene, "first", 0.5),)),
        Row(f"{name}: received", ((scene, "second", 0.5),)),
        Row(f"{name}: its REPORT, sent and taken", ((scene, "third", 0.5),)),
        Row(f"{name}: there and back", tuple((scene, part, 1) for part in PARTS)),
    )


def per_block(name: str, scene: str) -> Row:
    """What each block of a chain adds."""
    return Row(name, ((f"{scene}-12", "first", 1 / 8), (f"{scene}-4", "first", -1 / 8)))


ROWS = (
    data(1408, "sent", "first"),
    data(1408, "received", "second"),
    data(8896, "sent", "first"),
    data(8896, "received", "second"),
    *lone("memory", "lone"),
    *lone("UDP", "lone-udp"),
    Row("MARK, sent", (("feedback", "first", 1),)),
    Row("MARK, taken, and REPORT, sent", (("feedback", "second", 1),)),
    Row("REPORT, taken", (("feedback", "third", 1),)),
    Row("opening, both ends", (("opening", "first", 1),)),
    per_block("visit of a block", "chain"),
    per_block("visit of a block behind a hand-over of the quantum", "groups"),
    Row("CRC of 1,408 bytes", (("crc-1408", "first", 1),)),
    Row("CRC of 8,896 bytes", (("crc-8896", "first", 1),)),
)
HEAD = """\
# Instructions

Written by `make instructions`: user-space instructions by Callgrind, for each time, on one thread
with a clock that stands still ([instructions.py](instructions.py)). DATA, MARK and REPORT go over a
link in memory, whose copies are counted; DATA leaves by full quanta, and the REPORTs of its stream
are counted with it. A lone packet is waited for inline. The CRC is by tables, so that the counts
are the same on every machine; a CPU with instructions for it needs a fraction. What grows by more
than 3 %, with the CRC or without, fails `make test` until this table is written again.

| what | instructions | without the CRC |
|---|--:|--:|
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--can-run", action="store_true")
    arguments = parser.parse_args()
    reason = missing()
    if reason or arguments.can_run:
        print(reason or "yes")
        return 1 if reason else 0
    counts = count(build())
    if arguments.check:
        return 1 if grown(counts, kept()) else 0
    TABLE.write_text(HEAD + "".join(f"{line(*row)}\n" for row in counts))
    print(TABLE.read_text(), end="")
    return 0


def missing() -> str:
    """Why it cannot run here; empty when it can."""
    if platform.machine() != "x86_64":
        return f"the table is of x86_64, and this is {platform.machine()}"
    if shutil.which("valgrind") is None:
        return "there is no valgrind"
    done = subprocess.run(
        [*toolchain("rustc"), "--print", "sysroot"], capture_output=True, text=True
    )
    if done.returncode:
        return f"Rust {TOOLCHAIN} is missing: rustup toolchain install {TOOLCHAIN}"
    if not (Path(done.stdout.strip()) / "lib" / "rustlib" / TARGET).is_dir():
        return f"rustup target add {TARGET} --toolchain {TOOLCHAIN}"
    return ""


def toolchain(program: str) -> list[str]:
    """The program of the pinned version, which may be the default."""
    done = subprocess.run(["rustc", "--version"], cwd=ROOT, capture_output=True, text=True)
    return (
        [program] if done.stdout.startswith(f"rustc {TOOLCHAIN} ") else [program, f"+{TOOLCHAIN}"]
    )


def build() -> Path:
    """The program of the scenes."""
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    folder = Path(re.findall(r'"target_directory":"([^"]*)"', metadata.stdout)[0]) / PROFILE
    command = [*toolchain("cargo"), "build", "--locked", "--quiet", "--package", PACKAGE]
    command += ["--profile", PROFILE, "--target", TARGET, "--target-dir", str(folder)]
    # The C compiler of this host compiles for musl as well: no header of libc has code in it.
    names = {"RUSTFLAGS": "--cfg samplewire_portable", f"CC_{TARGET.replace('-', '_')}": "cc"}
    subprocess.run(command, cwd=ROOT, env=os.environ | names, check=True)
    return folder / TARGET / PROFILE / PACKAGE


def count(program: Path) -> list[tuple[str, float, float]]:
    """The rows: name, instructions, and those without the CRC."""
    scenes = sorted({term[0] for row in ROWS for term in row.terms})
    with ThreadPoolExecutor(AT_ONCE) as pool:
        costs = dict(zip(scenes, pool.map(lambda scene: cost(program, scene), scenes), strict=True))
    rows = []
    for row in ROWS:
        total = sum(factor * costs[scene][part] for scene, part, factor in row.terms)
        rows.append((row.name, total, total - costs[row.crc]["first"] if row.crc else total))
    return rows


def cost(program: Path, scene: str) -> Costs:
    """What each part of a scene costs, by the difference of two runs."""
    (once, costs_once), (twice, costs_twice) = (
        run(program, scene, times) for times in (TIMES, 2 * TIMES)
    )
    return {part: (costs_twice[part] - costs_once[part]) / (twice - once) for part in PARTS}


def run(program: Path, scene: str, times: int) -> tuple[int, Costs]:
    """How many times a scene was done, and what its parts cost in all."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += ["--compress-strings=no", "--compress-pos=no", "--dump-line=no"]
        # Without an environment: its length moves the stack.
        environment = {"PATH": os.environ["PATH"]}
        done = subprocess.run(
            [*command, program, scene, str(times)], env=environment, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"{scene}: {done.stderr.strip()}")
        return int(done.stdout), inclusive(out.read_text())


def inclusive(profile: str) -> Costs:
    """The inclusive instructions of the parts in a profile of Callgrind."""
    costs = dict.fromkeys(PARTS, 0.0)
    calls = re.finditer(r"^cfn=(.*)\n(?:c.*\n)*?calls=.*\n\S+ (\d+)$", profile, re.MULTILINE)
    for call in calls:
        name = re.search(r"samplewire_instructions::(\w+)\b", call[1])
        if name and name[1] in costs:
            costs[name[1]] += int(call[2])
    return costs


def line(name: str, total: float, rest: float) -> str:
    without = f"{rest:,.0f}" if rest != total else ""
    return f"| {name} | {total:,.0f} | {without} |"


def kept() -> dict[str, tuple[float, float]]:
    """The table's rows by name."""
    rows = {}
    for text in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in text.split("|")[1:-1]]
        if len(cells) == 3 and cells[1].replace(",", "").isdigit():
            total = float(cells[1].replace(",", ""))
            rows[cells[0]] = (total, float(cells[2].replace(",", "") or total))
    return rows


def grown(counts: list[tuple[str, float, float]], rows: dict[str, tuple[float, float]]) -> int:
    """Prints all counts beside the table's; how many have no row, or grew."""
    bad = 0
    for name, *now in counts:
        before = rows.get(name)
        is_bad = before is None or any(
            it > (1 + GROWTH_MAX) * old for it, old in zip(now, before, strict=True)
        )
        bad += is_bad
        was = f"{words(*before)} in table.md" if before else "table.md has no row of it"
        print(f"{name}: {words(*now)}; {was}{': IT GREW' if is_bad and before else ''}")
    if bad:
        print("where that is meant: make instructions, and commit table.md")
    return bad


def words(total: float, rest: float) -> str:
    return f"{total:,.0f}" + (f" ({rest:,.0f} without the CRC)" if rest != total else "")


if __name__ == "__main__":
    sys.exit(main())

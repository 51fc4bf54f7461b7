"""Builds all tests of the workspace and runs their programs, two at a time.

    python3 tools/cargo_tests.py [WORD ...]     only programs with one of these words in their name

`cargo test` runs one program after another, and most tests of streams wait most of the time.
Programs that measure run alone, after the others. What a program prints comes in one piece when it
ends. Exit: 0 when all tests pass, 1 when one fails or does not build.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

AT_ONCE = 2
EXAMPLES = (
    "first",
    "graph",
    "peak",
    "raw_udp",
    "record_counter",
    "throughput",
    "virtual_stream",
)
"""Those that later steps run. Clippy compiles the others."""
ALONE = {"hops", "hostile"}
"""Programs that compare CPU times, or stall a receiver for a known time: others at work beside them
would change both."""
LONG_FIRST = ("cli", "many", "stalls", "samplewire_sim", "samplewire_io")
"""The order that leaves the cores idle least at the end; any order is right."""


REASONS: dict[str, list[str]] = {}
"""Of programs that failed: where their tests panicked, and why."""
REASONS_SHOWN = 6


@dataclass(frozen=True)
class Program:
    """The tests of one file, or of one library."""

    name: str
    folder: Path
    executable: Path


def main() -> int:
    words = sys.argv[1:]
    programs = build()
    if programs is None:
        return 1
    programs = [it for it in programs if not words or any(word in it.name for word in words)]
    together = sorted((it for it in programs if it.name not in ALONE), key=place)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        failed = [
            it.name
            for it, passes in zip(together, pool.map(run, together), strict=True)
            if not passes
        ]
    failed += [it.name for it in programs if it.name in ALONE and not run(it)]
    if not words:
        done = subprocess.run(["cargo", "test", "--workspace", "--doc", "--no-fail-fast"])
        failed += ["documentation"] * (done.returncode != 0)
    # The reasons once more, where the end of the output is all that is kept.
    for name in failed:
        print(f"FAILED: {name}")
        for line in REASONS.get(name, [])[:REASONS_SHOWN]:
            print(f"  {line}")
    return 1 if failed else 0


def build() -> list[Program] | None:
    """All programs, as cargo has built them; nothing where one does not build."""
    command = ["cargo", "test", "--workspace", "--no-run", "--tests"]
    command.append("--message-format=json-render-diagnostics")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    # `cargo test` would build an example as a test.
    examples = ["cargo", "build", "--workspace", *(f"--example={name}" for name in EXAMPLES)]
    if done.returncode or subprocess.run(examples).returncode:
        return None
    messages = map(json.loads, done.stdout.splitlines())
    return [
        Program(it["target"]["name"], Path(it["manifest_path"]).parent, Path(it["executable"]))
        for it in messages
        if it.get("executable") and it["profile"]["test"]
    ]


def place(program: Program) -> int:
    return LONG_FIRST.index(program.name) if program.name in LONG_FIRST else len(LONG_FIRST)


def run(program: Program) -> bool:
    """Runs one program where and as cargo would; says whether all its tests pass."""
    start = time.monotonic()
    environment = os.environ | {"CARGO_MANIFEST_DIR": str(program.folder)}
    with tempfile.TemporaryFile() as file:
        process = subprocess.Popen(
            [program.executable],
            cwd=program.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        # `wait` would not return what the program used.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        file.seek(0)
        output = file.read().decode(errors="replace")
    took_s, processor_s = time.monotonic() - start, used.ru_utime + used.ru_stime
    if process.returncode != 0:
        lines = output.splitlines()
        places = [at for at, line in enumerate(lines) if " panicked at " in line]
        REASONS[program.name] = [line for at in places for line in lines[at : at + 2]]
    times = f"{took_s:.0f} s, {processor_s:.0f} s of processor time"
    text = f"\n     {program.name} of {program.folder.name}, {times}\n{output}"
    # In one write: several programs end at once.
    sys.stdout.write(text)
    sys.stdout.flush()
    return process.returncode == 0


if __name__ == "__main__":
    sys.exit(main())

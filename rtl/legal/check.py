#!/usr/bin/env python3
"""Is the RTL legal in tools other than Verilator and yosys, and free of X?

slang compiles every module at every width. Icarus, which is event-driven and has four states,
compiles the board and replays a stream that the Verilated board recorded: the same frames, no X.
`--compile` leaves out the replay, which needs Rust and a C++ compiler; `--replay` leaves out slang.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyslang.driver
from convert import Converter
from hidden import hidden_reads

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import sources  # noqa: E402

OUT = sources.ROOT / "out" / "rtl" / "legal"
WIDTHS = (64, 512)
# Every other warning of these groups fails.
GROUPS = ["-Wextra", "-Wconversion", "-Werror"]
ALLOWED = {
    "case-redundant-default": "what Verilator and Vivado do with the rest of an enum is stated",
    "case-type": "an enum's value against bits of a bus",
    "sign-conversion": "loop variables are signed",
    "useless-cast": "the width is a parameter",
    "shift-count-overflow": "a shift by the whole width, which is zero",
    "misleading-indentation": "verible checks the layout",
    "shadow-value": "members and arguments have the names of signals",
}
# What Icarus says of constructs that it supports in a slower or less checked form.
ICARUS_SAYS = re.compile(r"constant selects in always_|Case unique|to be synthesized in an always_")


def slang(tops: list[str], width: int) -> bool:
    """Elaborates and analyses modules, each as a top; prints what is wrong."""
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    arguments = ["slang", *(word for top in tops for word in ("--top", top)), *GROUPS]
    arguments += [f"-GW={width}"] if width else []
    arguments += [f"-Wno-{name}" for name in ALLOWED]
    arguments += [f"-I{sources.ROOT / folder}" for folder in sources.includes()]
    files = (*sources.packages(), *sources.modules(), sources.CPU_PORTS)
    arguments += [str(sources.ROOT / p) for p in files]
    ready = driver.parseCommandLine(" ".join(arguments)) and driver.processOptions()
    if not ready or not driver.parseAllSources():
        return False
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, True)
    driver.runAnalysis(compilation)
    hidden = hidden_reads(compilation)
    for call in hidden:
        print(f"{call}: these are to be arguments")
    return driver.reportDiagnostics(True) and not hidden


def elaborate() -> tuple[int, list[str]]:
    """Every module at every width; gives the number of modules and what failed."""
    names: dict[bool, list[str]] = {False: [], True: []}
    for path in sources.modules():
        text = (sources.ROOT / path).read_text()
        names[bool(re.search(r"parameter +int unsigned +W +=", text))].append(path.stem)
    failed = ["slang"] if not slang(names[False], 0) else []
    failed += [f"slang at {width} bits" for width in WIDTHS if not slang(names[True], width)]
    return len(names[False]) + len(WIDTHS) * len(names[True]), failed


def converted() -> list[Path]:
    """The RTL as Icarus reads it, below OUT; another check may read the same files meanwhile."""
    converter, files = Converter(), []
    for path in (*sources.packages(), *sources.modules()):
        files.append(OUT / "source" / path)
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        partial = files[-1].with_suffix(f".{os.getpid()}")
        partial.write_text(converter.convert((sources.ROOT / path).read_text()))
        partial.replace(files[-1])
    return files


def icarus(program: Path, top: str, parameters: dict[str, int], files: list[Path]) -> bool:
    """Compiles; prints what Icarus refuses."""
    command = ["iverilog", "-g2012", "-Wall", "-Wno-timescale", "-s", top, "-o", program]
    command += [f"-P{top}.{name}={value}" for name, value in parameters.items()]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if not ICARUS_SAYS.search(line)]
    print("\n".join(said), end="\n" if said else "")
    return done.returncode == 0


def replay(width: int, files: list[Path]) -> tuple[str, bool]:
    """Records the board in Verilator and replays it in Icarus."""
    lock = sources.ROOT / "out" / "rtl" / "sim" / "lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    make = ["flock", "-o", lock]
    make += ["make", "-f", HERE.parent / "sim" / "Makefile", "--no-print-directory"]
    subprocess.run([*make, f"W={width}", "PGO=", "record"], check=True, cwd=sources.ROOT)
    tape = OUT / f"tape_{width}.hex"
    recorder = sources.ROOT / "out" / "rtl" / "sim" / f"record_{width}"
    subprocess.run([recorder, tape], check=True)
    cycles = len(tape.read_text().splitlines())
    program = OUT / f"replay_{width}.vvp"
    parameters = {"W": width, "Slots": 1024 if width == 64 else 4096, "Cycles": cycles}
    if not icarus(program, "replay", parameters, [*files, HERE / "replay.sv"]):
        return "the replay does not compile", False
    done = subprocess.run(
        ["vvp", "-n", program, f"+tape={tape}"], capture_output=True, text=True, check=False
    )
    # Before the reset `unique case` sees X.
    early = r"WARNING: .*unique case statement\n +Time: \d{1,2} .*\n"
    print(re.sub(early, "", done.stdout) + done.stderr, end="")
    if "WARNING" in re.sub(early, "", done.stdout):
        return "a unique case has no match", False
    found = re.search(r"replay: (\d+) cycles, (\d+) frames, (\d+) reads, (\d+) faults", done.stdout)
    if not found or int(found[2]) == 0 or int(found[3]) == 0 or int(found[4]) > 0:
        return "the replay differs", False
    return f"{found[1]} cycles and {found[2]} frames replayed", True


def main() -> int:
    """Runs the checks and prints one line of result."""
    parser = argparse.ArgumentParser(description=__doc__)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--compile", action="store_true", help="without the replay")
    only.add_argument("--replay", action="store_true", help="without slang")
    parser.add_argument("--width", type=int, default=64, choices=WIDTHS, help="of the replay")
    options = parser.parse_args()
    if not shutil.which("iverilog"):
        print("Icarus is missing: tools/setup.sh rtl installs it")
        return 1
    start = time.monotonic()
    runs, failed = (0, []) if options.replay else elaborate()
    files = converted()
    for width in () if options.replay else WIDTHS:
        program = OUT / f"board_{width}.vvp"
        if not icarus(program, "samplewire_board", {"W": width}, files):
            failed.append(f"Icarus at {width} bits")
    result = "no replay"
    if not options.compile:
        result, is_right = replay(options.width, files)
        if not is_right:
            failed.append(f"replay at {options.width} bits")
    for name in failed:
        print(f"FAILED   {name}")
    seconds = time.monotonic() - start
    print(f"legal: {runs} modules in slang, {result}, {len(failed)} failed, {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

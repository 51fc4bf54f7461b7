"""Measures recording to a RAM disk and to a disk beside `dd` with direct I/O, in turn.

    python3 bench/disk.py [--rounds N] [--gigabytes G] [--folder F] [--out FILE]

Each round and folder: `dd` writes; `record` takes what a device without a clock gives it, into no
file and into one; `record` takes what a converter gives that cannot wait, at the lesser of 1 GB/s
and 85 % of what `dd` has just reached. The one without a file says what the loopback alone carries.
Prints medians with their spread and writes every run to bench/results. Exit: 0 when all that must
hold does, 1 when a figure misses, 2 when a program failed.
"""

import argparse
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import kept
import machine
import programs
import turns
from turns import ProgramError

TARGET_BPS = 1e9
"""Bytes a second that a recording must reach, where `dd` does."""

SHARE_LEAST = 0.85
"""Of what `dd` reaches, where that is less."""

FRAME_BYTES = 4
"""A sample of sc16."""

WINDOWS_PACKETS = {"no file": 256, "record": 256, "converter": 8192}
"""By case: what waits stays in the processor's cache; or rides over the pauses that two busy cores
give each other, 73 ms at 1 GB/s."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One write of one file."""

    folder: str
    case: str
    round: int
    rate_bps: float
    """Bytes in the file for a second of the whole process."""
    others_share: float
    """Of the machine's CPU time, how much went to anything but the measured programs."""
    samples_missing: int
    queue_highest: int
    """Quanta that waited for the file at most."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="of all cases in turn (default 7)")
    parser.add_argument("--gigabytes", type=float, default=2.0, help="of each file (default 2)")
    parser.add_argument(
        "--patience",
        type=float,
        default=0.0,
        help="seconds in all to wait for an idle machine before rounds (default 0)",
    )
    parser.add_argument("--folder", type=Path, help="the disk's (default: this checkout's target)")
    parser.add_argument("--out", type=Path, help="default: bench/results/DATE-disk-MACHINE.json")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or not 0.1 <= arguments.gigabytes <= 100:
        parser.error("at least 1 round, and 0.1 to 100 gigabytes")
    len_bytes = int(arguments.gigabytes * 1e9) // (4 << 20) * (4 << 20)
    try:
        command, target = build()
        folders = {"RAM disk": Path("/dev/shm"), "disk": arguments.folder or target}
        runs = []
        patience_end = time.monotonic() + arguments.patience
        for turn in range(arguments.rounds + 1):
            turns.wait_idle(patience_end)
            for name, folder in folders.items():
                for run in measure(command, name, folder / "samplewire-bench", turn, len_bytes):
                    print_run(run)
                    if turn > 0:
                        runs.append(run)
    except (ProgramError, OSError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    about = machine.describe(kept.ROOT)
    figures = [figure for folder in folders for figure in figures_of(folder, runs)]
    rows = [asdict(run) for run in runs]
    path = kept.keep("disk", about, arguments.out, bytes_each=len_bytes, figures=figures, runs=rows)
    print(f"\n{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}")
    for figure in figures:
        print_figure(figure)
    print(f"\nevery run: {os.path.relpath(path)}")
    return 0 if all(figure["holds"] in (None, True) for figure in figures) else 1


def build() -> tuple[Path, Path]:
    """Builds the command; it and the folder where it was built."""
    command = programs.build_with(["-p", "samplewire-cli"], kept.ROOT)["samplewire"]
    return command, command.parent


def measure(command: Path, folder: str, path: Path, turn: int, len_bytes: int) -> Iterator[Run]:
    """One round of one folder."""
    try:
        dd = run_dd(folder, path, turn, len_bytes)
        yield dd
        yield run_record(command, folder, Path("null"), turn, len_bytes, "no file", "max")
        yield run_record(command, folder, path, turn, len_bytes, "record", "max")
        rate_hz = min(TARGET_BPS, SHARE_LEAST * dd.rate_bps) / FRAME_BYTES
        yield run_record(command, folder, path, turn, len_bytes, "converter", f"{rate_hz:.0f}")
    finally:
        path.unlink(missing_ok=True)
        for suffix in ("meta", "data", "journal"):
            Path(f"{path}.sigmf-{suffix}").unlink(missing_ok=True)


def run_dd(folder: str, path: Path, turn: int, len_bytes: int) -> Run:
    path.unlink(missing_ok=True)
    block = 4 << 20
    words = ["dd", "if=/dev/zero", f"of={path}", f"bs={block}", f"count={len_bytes // block}"]
    look = Look()
    start = time.monotonic()
    done = subprocess.run([*words, "oflag=direct"], stderr=subprocess.PIPE, text=True)
    wall_s = time.monotonic() - start
    others = look.others_share()
    if done.returncode != 0:
        raise ProgramError(f"{shlex.join(words)}: {done.stderr}")
    path.unlink()
    return Run(
        folder=folder,
        case="dd",
        round=turn,
        rate_bps=len_bytes / wall_s,
        others_share=others,
        samples_missing=0,
        queue_highest=0,
    )


def run_record(
    command: Path, folder: str, path: Path, turn: int, len_bytes: int, case: str, rate: str
) -> Run:
    """Records `len_bytes` of samples, without a hash, which is slower than disks are."""
    window = ["--window", str(WINDOWS_PACKETS[case])]
    options = ["--no-hash", "--overwrite", *window, "--json"]
    if folder != "RAM disk" and case != "no file":
        options.append("--direct")
    look = Look()
    with device(command, rate, window) as address:
        words = [str(command), "record", address, str(path), *options]
        words += ["--nsamps", str(len_bytes // FRAME_BYTES)]
        start = time.monotonic()
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
        wall_s = time.monotonic() - start
    said = json.loads(done.stdout)
    if done.returncode not in (0, 3):
        raise ProgramError(f"exit {done.returncode}: {shlex.join(words)}: {said.get('error')}")
    return Run(
        folder=folder,
        case=case,
        round=turn,
        rate_bps=said["end"]["file_bytes"] / wall_s,
        others_share=look.others_share(),
        samples_missing=said["end"]["samples_missing"],
        queue_highest=said["end"]["queue_quanta_highest"],
    )


@contextmanager
def device(command: Path, rate: str, window: list[str]) -> Iterator[str]:
    words = [str(command), "emulate", "--source", "null", "--listen", "127.0.0.1:0"]
    words += ["--rate", rate, *window]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            found = re.search(r"listening on (\S+)", first)
            if not found:
                raise ProgramError(f"no address in {first!r}")
            yield found[1]
        finally:
            process.terminate()


class Look:
    """What was used of the machine since it was made, by programs that have ended and by others."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._busy_s = machine.busy_s()
        self._own_s = own_s()

    def others_share(self) -> float:
        others_s = machine.busy_s() - self._busy_s - (own_s() - self._own_s)
        return max(0.0, others_s) / ((time.monotonic() - self._start) * machine.CORES)


def own_s() -> float:
    """CPU seconds of the programs that this one has started, and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def figures_of(folder: str, runs: list[Run]) -> list[dict[str, object]]:
    """Rates of the cases, and what must hold, round by round."""
    rows = {
        case: [run for run in runs if (run.folder, run.case) == (folder, case)]
        for case in ("dd", "no file", "record", "converter")
    }
    figures = [
        figure(f"{folder}: {case}, GB/s", [run.rate_bps / 1e9 for run in rows[case]], None)
        for case in rows
    ]
    bounds = [min(TARGET_BPS, SHARE_LEAST * dd.rate_bps) for dd in rows["dd"]]
    shares = [run.rate_bps / bound for run, bound in zip(rows["record"], bounds, strict=True)]
    holds = median(shares) >= 1
    paths = [
        run.rate_bps / path.rate_bps
        for run, path in zip(rows["record"], rows["no file"], strict=True)
    ]
    figures.append(figure(f"{folder}: record / without a file", paths, None))
    figures.append(figure(f"{folder}: record / (the lesser of 1 GB/s and .85 dd)", shares, holds))
    missing = [run.samples_missing for run in rows["converter"]]
    lossless = sum(count == 0 for count in missing)
    name = f"{folder}: rounds of {len(missing)} in which a converter at that rate lost nothing"
    figures.append(figure(name, [float(lossless)], lossless == len(missing)))
    return figures


def figure(name: str, numbers: list[float], holds: bool | None) -> dict[str, object]:
    spread = [min(numbers), max(numbers)]
    return {
        "name": name,
        "median": median(numbers),
        "spread": spread,
        "n": len(numbers),
        "holds": holds,
    }


def print_run(run: Run) -> None:
    missing = f"  {run.samples_missing:,} missing" if run.samples_missing else ""
    print(
        f"{run.round:>2} {run.folder:<8} {run.case:<9} {run.rate_bps / 1e9:5.2f} GB/s"
        f"  others {run.others_share:4.0%}  queue {run.queue_highest}{missing}",
        flush=True,
    )


def print_figure(figure: dict[str, object]) -> None:
    least, most = figure["spread"]
    verdict = {None: "", True: "  holds", False: "  MISSED"}[figure["holds"]]
    middle = figure["median"]
    print(f"  {figure['name']:<70} {middle:6.2f} ({least:.2f}..{most:.2f}){verdict}")


if __name__ == "__main__":
    sys.exit(main())

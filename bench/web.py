#!/usr/bin/env python3
"""What the web page costs: `samplewire rate` with it, paired with the same without it.

    python3 bench/web.py target/release [--rounds 5] [--seconds 4] [--rate 20M]

Each round runs `rate` against `emulate --source null` without the page, with the page and no
viewer, with one viewer and with eight, at 2,048 bins and 30 frames/s. Viewers are WebSocket clients
that read and discard (the example `viewers`). The CPU time is that of the process of `rate`, by its
rusage; that of the page's own thread is exact also where other programs disturb the pairs. A
further pair at `--rate max` states the rate that is reached, a run with one viewer the frames/s
that it gets of 60, and one with `--every-sample` the cost and the share of the samples that it
sees. Exit: 0 when all limits hold, 1 when one does not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import kept
import machine

TOP_FRAMES_PER_S = 60
MISSING = 3
"""The exit status of `rate` where samples are missing."""
UNSEEN = {"frames": 0, "omitted": 0, "frames_per_second": 0.0, "covered": 0.0}
CASES = {"without": None, "no viewer": 0, "one viewer": 1, "eight viewers": 8}


@dataclass(frozen=True)
class Run:
    """One run of `rate`."""

    cpu_share: float
    """CPU time of the process in parts of a core."""
    page_share: float
    """CPU time of the page's thread in parts of a core."""
    samples_per_s: float
    missing: int
    frames: int
    omitted: int
    frames_per_s: float
    """Frames of the slowest viewer."""
    covered: float
    """The least share of the samples that the frames of a viewer cover."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where samplewire and examples/viewers are")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rate", default="20M")
    parser.add_argument("--out", type=Path, help="default: bench/results/DATE-web-MACHINE.json")
    arguments = parser.parse_args()
    rounds: list[dict[str, Run]] = []
    fast: list[dict[str, Run]] = []
    top: list[Run] = []
    every: list[Run] = []
    for number in range(arguments.rounds):
        # The order turns, so that none profits from its place.
        names = list(CASES)
        names = names[number % len(names) :] + names[: number % len(names)]
        rounds.append({name: run(arguments, CASES[name], arguments.rate) for name in names})
        pair = ["without", "one viewer"][:: 1 if number % 2 else -1]
        fast.append({name: run(arguments, CASES[name], "max") for name in pair})
        top.append(run(arguments, 1, arguments.rate, frames_per_s=TOP_FRAMES_PER_S))
        every.append(run(arguments, 1, arguments.rate, options=("--every-sample",)))
        print(f"round {number + 1} of {arguments.rounds}", flush=True)
    return report(rounds, fast, (top, every), arguments.out)


def run(
    arguments: argparse.Namespace,
    viewers: int | None,
    rate: str,
    *,
    frames_per_s: int = 30,
    options: tuple[str, ...] = (),
) -> Run:
    """Measure a device for some seconds."""
    command = str(arguments.folder / "samplewire")
    device = subprocess.Popen(
        [command, "emulate", "--source", "null", "--rate", rate, "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert device.stdout
        found = None
        while not found:
            found = re.search(r"listening on (\S+)", device.stdout.readline())
        words = [command, "rate", found[1], "--duration", f"{arguments.seconds}s", "--json"]
        if viewers is not None:
            words += ["--web", *options]
        measured = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert measured.stdout
        assert measured.stderr
        watching = None
        if viewers:
            url = ""
            while not url.startswith("page: "):
                url = measured.stderr.readline()
            seconds = str(arguments.seconds - 1)
            watching = subprocess.Popen(
                [
                    str(arguments.folder / "examples/viewers"),
                    url.removeprefix("page: ").strip(),
                    str(viewers),
                    seconds,
                    str(frames_per_s),
                ],
                stdout=subprocess.PIPE,
                text=True,
            )
        started = time.monotonic()
        page_ns = page_thread_ns(measured.pid)
        time.sleep(arguments.seconds / 2)
        page_ns = page_thread_ns(measured.pid) - page_ns
        elapsed = time.monotonic() - started
        document = json.loads(measured.stdout.read())
        _, status, usage = os.wait4(measured.pid, 0)
        measured.returncode = os.waitstatus_to_exitcode(status)
        # Missing samples are a figure of the report.
        if measured.returncode not in (0, MISSING):
            raise RuntimeError(f"`{' '.join(words)}` ended with {measured.returncode}")
        seen = json.loads(watching.communicate()[0]) if watching else UNSEEN
    finally:
        device.terminate()
        device.wait()
    received = document["end"]["receive"]
    return Run(
        cpu_share=(usage.ru_utime + usage.ru_stime) / received["seconds"],
        page_share=page_ns / 1e9 / elapsed,
        samples_per_s=received["samples_delivered"] / received["seconds"],
        missing=received["samples_missing"],
        frames=seen["frames"],
        omitted=seen["omitted"],
        frames_per_s=seen["frames_per_second"],
        covered=seen["covered"],
    )


def page_thread_ns(process: int) -> int:
    """CPU time of the page's thread in nanoseconds; 0 without one."""
    for task in Path(f"/proc/{process}/task").iterdir():
        if (task / "comm").read_text().strip() == "samplewire-web":
            return int((task / "schedstat").read_text().split()[0])
    return 0


def report(
    rounds: list[dict[str, Run]],
    fast: list[dict[str, Run]],
    single: tuple[list[Run], list[Run]],
    out: Path | None,
) -> int:
    """Print the medians of the pairs, check them against the limits, and keep all runs."""

    def cost(name: str) -> float:
        return median(it[name].cpu_share - it["without"].cpu_share for it in rounds)

    def thread(name: str) -> float:
        return median(it[name].page_share for it in rounds)

    top, every = single
    one, eight = cost("one viewer"), cost("eight viewers")
    frames = median(it["one viewer"].frames_per_s for it in rounds)
    highest = median(it.frames_per_s for it in top)
    ratio = median(it["one viewer"].samples_per_s / it["without"].samples_per_s for it in fast)
    missing = sum(it[name].missing for it in rounds + fast for name in it)
    missing += sum(it.missing for it in top + every)
    figures = [
        ("without a page, parts of a core", median(it["without"].cpu_share for it in rounds), None),
        ("page without a viewer, added", cost("no viewer"), 0.002),
        ("one viewer, added", one, 0.05),
        ("eight viewers over one", eight / max(one, 1e-9), 2.0),
        ("the page's thread without a viewer", thread("no viewer"), 0.002),
        ("the page's thread with one viewer", thread("one viewer"), 0.05),
        (
            "the same with eight viewers over one",
            thread("eight viewers") / max(thread("one viewer"), 1e-9),
            2.0,
        ),
        ("frames/s of one viewer", frames, None),
        ("frames/s of one that requests 60", highest, None),
        ("frames omitted of its last run", float(top[-1].omitted), None),
        ("the page's thread with --every-sample", median(it.page_share for it in every), None),
        ("share of the samples that it covers", median(it.covered for it in every), None),
        ("rate at max with one viewer over without", ratio, None),
        ("samples missing", float(missing), 0.0),
    ]
    holds = ratio >= 0.99 and highest >= TOP_FRAMES_PER_S - 1
    for name, value, limit in figures:
        is_right = limit is None or value <= limit
        holds &= is_right
        words = "" if limit is None else f"   limit {limit}{'' if is_right else ': NOT HELD'}"
        print(f"{name:42} {value:10.4f}{words}")
    runs = {
        kind: [{name: vars(it[name]) for name in it} for it in of]
        for kind, of in (("paired", rounds), ("at max", fast))
    }
    runs["60 frames/s"] = [vars(it) for it in top]
    runs["every sample"] = [vars(it) for it in every]
    about = machine.describe(kept.ROOT) | {"load": os.getloadavg()}
    path = kept.keep("web", about, out, figures={it[0]: it[1] for it in figures}, runs=runs)
    print(f"kept in {path}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())

"""Measures the round trip of 64 bytes: a bare ping-pong, our link alone, and the stream, in turn.

    python3 bench/roundtrip.py [--rounds N] [--trips N] [--out FILE]

Each round runs every case once; a ratio is taken within a round, to the bare ping-pong that waits
as the case does: by spinning or asleep. Prints medians of p50 and p99.9 with their extremes and
writes every run to bench/results. Exit: 0 when the spinning stream's p50 is at most 1.15 of the
bare ping-pong's, 1 when it is more, 2 when a program failed.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import kept
import machine

ROOT = Path(__file__).resolve().parent.parent

TARGET_RATIO = 1.15
"""At most, of the bare ping-pong's p50 when both spin."""

OTHERS_SHARE_MOST = 0.05
"""A run is disturbed when anything else takes more than this of the machine's CPU time."""

CASES = {
    "bare": ("ping_pong", "--spin", "bare"),
    "link": ("ping_pong", "--spin --link", "bare"),
    "stream inline": ("round_trip", "--waits inline", "bare"),
    "stream spinning": ("round_trip", "--waits both-spinning", "bare"),
    "bare asleep": ("ping_pong", "", "bare asleep"),
    "link asleep": ("ping_pong", "--link", "bare asleep"),
    "stream asleep": ("round_trip", "--waits asleep", "bare asleep"),
}
"""By name: the program, how it is run, and the case that it is compared with."""

CORES_OF_SPINNING = 5
"""Threads of the spinning stream: two programs, two of the opener's streams, one of the device."""


class ProgramError(Exception):
    """A measured program failed."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="of all cases in turn (default 7)")
    parser.add_argument("--trips", type=int, default=20_000, help="of each run (default 20000)")
    parser.add_argument(
        "--out", type=Path, help="default: bench/results/DATE-roundtrip-MACHINE.json"
    )
    arguments = parser.parse_args()
    if arguments.rounds < 5 or arguments.trips < 1_000:
        parser.error("at least 5 rounds of 1000 trips")
    cases = dict(CASES)
    if machine.CORES < CORES_OF_SPINNING:
        del cases["stream spinning"]
        print(f"not run: stream spinning, {CORES_OF_SPINNING} threads on {machine.CORES} cores")
    try:
        folder = build()
        runs = []
        for turn in range(arguments.rounds + 1):
            for case in cases:
                run = measure(folder, case, turn, arguments.trips)
                print_run(run)
                if turn > 0:
                    runs.append(run)
    except (ProgramError, OSError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    about = machine.describe(ROOT)
    figures = [figure_of(case, runs) for case in cases]
    path = kept.keep("roundtrip", about, arguments.out, figures=figures, runs=runs)
    print(f"\n{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}")
    for figure in figures:
        print_figure(figure)
    print(f"\nevery run: {os.path.relpath(path)}")
    spinning = [figure for figure in figures if figure["case"].startswith("stream ")]
    best = min(f["p50_ratio"][0] for f in spinning if f["case"] != "stream asleep")
    print(
        f"spinning stream at most {TARGET_RATIO} of bare: {'yes' if best <= TARGET_RATIO else 'no'}"
    )
    return 0 if best <= TARGET_RATIO else 1


def build() -> Path:
    """Builds the programs; the folder in which they lie."""
    for package, example in [("samplewire-io", "ping_pong"), ("samplewire", "round_trip")]:
        command = ["cargo", "build", "-q", "--release", "-p", package, "--example", example]
        subprocess.run(command, cwd=ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    return Path(target) / "release" / "examples"


def measure(folder: Path, case: str, turn: int, trips: int) -> dict[str, object]:
    """One run of one case, each side's program on a CPU of its own."""
    program, options, _ = CASES[case]
    # One that sleeps a millisecond each way has fewer trips in the same time.
    trips = trips // 20 if case == "stream asleep" else trips
    words = [str(folder / program), *options.split(), "--rounds", str(trips)]
    if machine.CORES > 1:
        words += ["--cpus", "0,1"]
    before = machine.busy_s(), cpu_of_children_s()
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    after = machine.busy_s(), cpu_of_children_s()
    if done.returncode != 0:
        raise ProgramError(f"{case}: exit status {done.returncode}: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    others_s = max(0.0, (after[0] - before[0]) - (after[1] - before[1]))
    total_s = max(after[0] - before[0], 1e-9)
    return {"case": case, "round": turn, "others_share": round(others_s / total_s, 3), **found}


def cpu_of_children_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def figure_of(case: str, runs: list[dict]) -> dict[str, object]:
    """Median, least and most of a case, and of its ratio to the bare one within each round."""
    _, _, peer = CASES[case]
    by_round = {run["round"]: run for run in runs if run["case"] == case}
    peers = {run["round"]: run for run in runs if run["case"] == peer}
    figure = {"case": case, "peer": peer, "n": len(by_round)}
    figure["disturbed"] = sum(run["others_share"] > OTHERS_SHARE_MOST for run in by_round.values())
    for key in ("p50", "p999"):
        values = [run[f"{key}_ns"] for run in by_round.values()]
        ratios = [run[f"{key}_ns"] / peers[turn][f"{key}_ns"] for turn, run in by_round.items()]
        figure[f"{key}_us"] = [round(f(values) / 1e3, 1) for f in (median, min, max)]
        figure[f"{key}_ratio"] = [round(f(ratios), 2) for f in (median, min, max)]
    return figure


def print_run(run: dict) -> None:
    p50, p999 = run["p50_ns"] / 1e3, run["p999_ns"] / 1e3
    print(f"{run['round']:>2} {run['case']:<16} p50 {p50:>8.1f} us  p99.9 {p999:>9.1f} us")


def print_figure(figure: dict) -> None:
    p50, p999, ratio = figure["p50_us"], figure["p999_us"], figure["p50_ratio"]
    print(
        f"{figure['case']:<16} p50 {p50[0]:>7.1f} us ({p50[1]} to {p50[2]}),"
        f" p99.9 {p999[0]:>8.1f} us; p50 / {figure['peer']}: {ratio[0]:.2f}"
        f" ({ratio[1]} to {ratio[2]}), n = {figure['n']}, {figure['disturbed']} disturbed"
    )


if __name__ == "__main__":
    sys.exit(main())

"""How much slower the simulated board is with a NIC, and with a soft core, in turn.

    python3 bench/nic_speed.py [--rounds N] [--packets N] [--out FILE]

Each round runs the scenario `throughput` on a board without a NIC, on one with a NIC, and on one
with a core whose program sleeps (`echo`) and whose program polls (`block`). The speed is cycles in
a second of processor time; a ratio is taken within a round, to the board without a NIC. All are
compiled alike, once, in a folder of their own. `make firmware` has built the programs. Exit: 0 when
every bound holds, 1 when one is missed, 2 when a program failed.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import kept
import machine

OUT = kept.ROOT / "out" / "rtl" / "speed"
IMAGES = kept.ROOT / "out" / "firmware"
BARE = "no NIC"
CASES = {
    BARE: ("bench_64", ""),
    "NIC": ("bench_64_nic", ""),
    "core asleep": ("bench_64_soc_1", "echo"),
    "core awake": ("bench_64_soc_1", "block"),
}
"""By name: the program, and the image of its core."""
BUILDS = ((), ("NIC=1",), ("SOC=1",))
BOUNDS = {"core asleep": 0.35, "core awake": 0.35}
"""The least of the speed without a NIC, by case."""
ROUNDS_LEAST = 5
SPEED = re.compile(r"([0-9.]+) Mcycles/s")


def main() -> int:
    """Run all cases by turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="of all in turn (default 5)")
    parser.add_argument("--packets", type=int, default=400, help="of each flow (default 400)")
    parser.add_argument("--out", type=Path, help="default: results/DATE-nic-speed-MACHINE.json")
    arguments = parser.parse_args()
    if arguments.rounds < ROUNDS_LEAST or arguments.packets < 1:
        parser.error(f"at least {ROUNDS_LEAST} rounds, and a packet")
    try:
        for build in BUILDS:
            make = ["make", "-s", "-f", "rtl/sim/Makefile", f"OUT={OUT}", "PGO=", *build, "bench"]
            subprocess.run(make, cwd=kept.ROOT, check=True)
        runs = []
        for turn in range(arguments.rounds):
            for case in rotated(list(CASES), turn):
                mcycles_per_s = speed(*CASES[case], arguments.packets)
                print(f"{turn:>2} {case:<12} {mcycles_per_s:.2f} Mcycles/s", flush=True)
                runs.append({"round": turn, "case": case, "mcycles_per_s": mcycles_per_s})
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    figures = [figure_of(case, runs) for case in CASES]
    about = machine.describe(kept.ROOT) | {"load": os.getloadavg()}
    path = kept.keep("nic-speed", about, arguments.out, figures=figures, runs=runs)
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load'][0]:.1f}")
    for figure in figures:
        print_figure(figure)
    print(f"every run: {os.path.relpath(path)}")
    missed = [figure for figure in figures if is_missed(figure)]
    for figure in missed:
        print(f"{figure['case']}: less than {BOUNDS[figure['case']]} of the speed without a NIC")
    return 1 if missed else 0


def rotated(cases: list[str], turn: int) -> list[str]:
    """The cases; each round begins with another."""
    first = turn % len(cases)
    return cases[first:] + cases[:first]


def speed(program: str, image: str, packets: int) -> float:
    """Millions of cycles in a second of processor time."""
    words = [str(OUT / program), "throughput", "--payload", "1408", "--packets", str(packets)]
    words += ["--nic", str(IMAGES / f"{image}.bin")] if image else []
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    found = SPEED.search(done.stdout)
    if done.returncode or found is None:
        raise ValueError(f"{program} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return float(found[1])


def figure_of(case: str, runs: list[dict]) -> dict[str, object]:
    """Median, least and most of a case, and of its ratio within each round."""
    speeds = {run["round"]: run["mcycles_per_s"] for run in runs if run["case"] == case}
    bare = {run["round"]: run["mcycles_per_s"] for run in runs if run["case"] == BARE}
    ratios = [value / bare[turn] for turn, value in speeds.items()]
    return {
        "case": case,
        "n": len(speeds),
        "mcycles_per_s": [f(speeds.values()) for f in (median, min, max)],
        "ratio": [round(f(ratios), 3) for f in (median, min, max)],
    }


def is_missed(figure: dict) -> bool:
    """Whether the median of a case is below its bound."""
    return figure["ratio"][0] < BOUNDS.get(figure["case"], 0.0)


def print_figure(figure: dict) -> None:
    """A line of figures."""
    (mid, least, most), ratio = figure["mcycles_per_s"], figure["ratio"]
    print(
        f"{figure['case']:<12} {mid:.2f} Mcycles/s ({least:.2f} to {most:.2f}), of {BARE}:"
        f" {ratio[0]:.2f} ({ratio[1]:.2f} to {ratio[2]:.2f}), n = {figure['n']}"
    )


if __name__ == "__main__":
    sys.exit(main())

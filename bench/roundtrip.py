"""Measures the round trip of 64 bytes: a bare ping-pong, our link alone, and the stream, in turn.

    python3 bench/roundtrip.py [--veth] [--rounds N] [--trips N] [--out FILE]

Each round runs every case once; a ratio is taken within a round, to the bare ping-pong that waits
as the case does: by spinning or asleep. Prints medians of p50 and p99.9 with their extremes and
writes every run to bench/results. With --veth, each end is in a network namespace of its own, and
cases by AF_XDP are compared with a bare AF_XDP ping-pong and with UDP. Exit: 0 when every bound
holds, 1 when one is missed, 2 when a program failed.
"""

import argparse
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from statistics import median

import kept
import machine
import netns
from turns import ProgramError

ROOT = Path(__file__).resolve().parent.parent

OTHERS_SHARE_MOST = 0.05
"""A run is disturbed when anything else takes more than this of the machine's CPU time."""

CASES = {
    "bare": ("ping_pong", "--spin", "bare"),
    "link": ("ping_pong", "--spin --link udp", "bare"),
    "stream inline": ("round_trip", "--waits inline", "bare"),
    "stream spinning": ("round_trip", "--waits both-spinning", "bare"),
    "bare asleep": ("ping_pong", "", "bare asleep"),
    "link asleep": ("ping_pong", "--link udp", "bare asleep"),
    "stream asleep": ("round_trip", "--waits asleep", "bare asleep"),
}
"""By name: the program, how it is run, and the case that it is compared with."""

CASES_VETH = {
    "bare UDP": ("ping_pong", "--spin", "bare UDP"),
    "link UDP": ("ping_pong", "--spin --link udp", "bare UDP"),
    "stream UDP": ("round_trip", "--waits inline", "bare UDP"),
    "bare XDP": ("bare", "", "bare XDP"),
    "link XDP": ("ping_pong", "--spin --link xdp", "bare XDP"),
    "stream XDP": ("round_trip", "--waits inline --link xdp", "bare XDP"),
    "stream XDP to UDP": ("round_trip", "--waits inline --link xdp", "stream UDP"),
}

BOUNDS = {"stream inline": 1.15}
"""The most of the peer's p50, by case."""

BOUNDS_VETH = {"link XDP": 1.10, "stream XDP": 1.5, "stream XDP to UDP": 0.75}

CORES_OF_SPINNING = 5
"""Threads of the spinning stream: two programs, two of the opener's streams, one of the device."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--veth", action="store_true", help="between namespaces; needs root")
    parser.add_argument("--rounds", type=int, default=7, help="of all cases in turn (default 7)")
    parser.add_argument("--trips", type=int, default=20_000, help="of each run (default 20000)")
    parser.add_argument(
        "--out", type=Path, help="default: bench/results/DATE-roundtrip-MACHINE.json"
    )
    arguments = parser.parse_args()
    if arguments.rounds < 5 or arguments.trips < 1_000:
        parser.error("at least 5 rounds of 1000 trips")
    if arguments.veth and not netns.is_ready():
        return 2
    cases = dict(CASES_VETH if arguments.veth else CASES)
    bounds = BOUNDS_VETH if arguments.veth else BOUNDS
    if "stream spinning" in cases and machine.CORES < CORES_OF_SPINNING:
        del cases["stream spinning"]
        print(f"not run: stream spinning, {CORES_OF_SPINNING} threads on {machine.CORES} cores")
    try:
        folder = build(arguments.veth)
        place = nullcontext()
        if arguments.veth:
            place = netns.wire(mtu_bytes=1_500, has_gro=False, loss=0.0)
        with place as wire:
            runs = measure_all(folder, cases, arguments, wire)
    except (ProgramError, OSError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    about = machine.describe(ROOT)
    figures = [figure_of(case, peer, runs) for case, (_, _, peer) in cases.items()]
    kind = "roundtrip-veth" if arguments.veth else "roundtrip"
    path = kept.keep(kind, about, arguments.out, figures=figures, runs=runs)
    print(f"\n{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}")
    for figure in figures:
        print_figure(figure)
    print(f"\nevery run: {os.path.relpath(path)}")
    missed = 0
    for figure in figures:
        bound = bounds.get(figure["case"])
        if bound is not None:
            holds = figure["p50_ratio"][0] <= bound
            missed += not holds
            words = f"{figure['case']} at most {bound} of {figure['peer']}"
            print(f"{words}: {'yes' if holds else 'no'}")
    return 1 if missed else 0


def measure_all(
    folder: Path, cases: dict, arguments: argparse.Namespace, wire: netns.Wire | None
) -> list[dict]:
    """The runs of all rounds but the first, which warms up."""
    runs = []
    for turn in range(arguments.rounds + 1):
        for case, (program, options, _) in cases.items():
            run = measure(folder, case, (program, options), arguments.trips, wire)
            run["round"] = turn
            print_run(run)
            if turn > 0:
                runs.append(run)
    return runs


def build(has_bare: bool) -> Path:
    """Builds the programs; the folder in which they lie."""
    for package, example in [("samplewire-io", "ping_pong"), ("samplewire", "round_trip")]:
        command = ["cargo", "build", "-q", "--release", "-p", package, "--example", example]
        subprocess.run(command, cwd=ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    folder = Path(target) / "release" / "examples"
    if has_bare:
        source = ROOT / "bench" / "peers" / "xdp" / "bare.c"
        subprocess.run(["cc", "-O2", "-o", folder / "bare", source], check=True)
    return folder


def measure(
    folder: Path, case: str, command: tuple[str, str], trips: int, wire: netns.Wire | None
) -> dict:
    """One run of one case, each side's program on a CPU of its own."""
    program, options = command
    # One that sleeps a millisecond each way has fewer trips in the same time.
    trips = trips // 20 if case == "stream asleep" else trips
    far = wire.receiver[-1] if wire else ""
    if program == "bare":
        words = [str(folder / program), netns.DEVICE, far, netns.DEVICE, "ping", "64", str(trips)]
        words += ["0", "1"] if machine.CORES > 1 else []
    else:
        words = [str(folder / program), *options.split(), "--rounds", str(trips)]
        words += ["--cpus", "0,1"] if machine.CORES > 1 else []
        words += ["--far", f"{far},{netns.RECEIVER_IP}"] if wire else []
    words = [*wire.sender, *words] if wire else words
    before = machine.busy_s(), cpu_of_children_s()
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    after = machine.busy_s(), cpu_of_children_s()
    if done.returncode != 0:
        raise ProgramError(f"{case}: exit status {done.returncode}: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    others_s = max(0.0, (after[0] - before[0]) - (after[1] - before[1]))
    total_s = max(after[0] - before[0], 1e-9)
    return {"case": case, "others_share": round(others_s / total_s, 3), **found}


def cpu_of_children_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def figure_of(case: str, peer: str, runs: list[dict]) -> dict[str, object]:
    """Median, least and most of a case, and of its ratio to its peer within each round."""
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
    print(f"{run['round']:>2} {run['case']:<18} p50 {p50:>8.1f} us  p99.9 {p999:>9.1f} us")


def print_figure(figure: dict) -> None:
    p50, p999, ratio = figure["p50_us"], figure["p999_us"], figure["p50_ratio"]
    print(
        f"{figure['case']:<18} p50 {p50[0]:>7.1f} us ({p50[1]} to {p50[2]}),"
        f" p99.9 {p999[0]:>8.1f} us; p50 / {figure['peer']}: {ratio[0]:.2f}"
        f" ({ratio[1]} to {ratio[2]}), n = {figure['n']}, {figure['disturbed']} disturbed"
    )


if __name__ == "__main__":
    sys.exit(main())

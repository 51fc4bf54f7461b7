"""Congestion control in simulation: cases of docs/congestion.md against bounds of their figures.

Usage: incast.py SAMPLEWIRE [--seeds N]
"""

import argparse
import json
import subprocess
import sys

KB = 1_000

TEN = ["--line", "10G", "--mtu", "4096"]
FORTY = ["--line", "40G", "--mtu", "1000"]


def steady(utilisation: float, jain: float, p99_kb: int, longest_kb: int) -> dict:
    """Bounds of senders that always have data: nothing is dropped."""
    return {
        "utilisation": (utilisation, 1.001),
        "jain": (jain, 1.0),
        "queue_p99_bytes": (0, p99_kb * KB),
        "queue_max_bytes": (0, longest_kb * KB),
        "dropped": (0, 0),
    }


def turns(utilisation: float, join_ms: int, leave_ms: int) -> dict:
    """Bounds of senders that join and leave: nothing is dropped."""
    return {
        "utilisation": (utilisation, 1.001),
        "join_ms": (0, join_ms),
        "leave_ms": (0, leave_ms),
        "dropped": (0, 0),
    }


def paper(utilisation: float, tolerance: float, queue_kb: float | None = None) -> dict:
    """Bounds around the figures of a separate simulator."""
    bounds = {"utilisation": (utilisation - tolerance, utilisation + tolerance)}
    if queue_kb:
        bounds["queue_mean_bytes"] = (0.8 * queue_kb * KB, 1.2 * queue_kb * KB)
    return bounds


PAPER = ["--preset", "paper", "--mtu", "1000"]
BOTH = ["--scenario", "two-switches", "--pfc"]
SMALL = ["--senders", "3", "--buffer", "300k"]
TURNS = ["--scenario", "turns"]
CAMERA = ["--scenario", "camera"]
BURST = [*CAMERA, "--burst", "100"]
MANY = float("inf")

CASES = [
    ([*TEN, "--senders", "2"], steady(0.998, 0.99, 80, 450)),
    ([*TEN, "--senders", "3"], steady(0.998, 0.99, 80, 450)),
    ([*TEN, "--senders", "8"], steady(0.998, 0.985, 130, 450)),
    ([*TEN, "--senders", "16"], steady(0.998, 0.98, 220, 450)),
    ([*TEN, "--senders", "32"], steady(0.997, 0.99, 400, 1_000)),
    ([*FORTY, "--senders", "2"], steady(0.998, 0.985, 45, 150)),
    ([*FORTY, "--senders", "8"], steady(0.998, 0.985, 45, 150)),
    ([*FORTY, "--senders", "20"], steady(0.998, 0.985, 45, 150)),
    ([*TEN, "--senders", "143", "--shared", "100G"], steady(0.995, 0.975, 180, 700)),
    ([*PAPER, "--line", "40G", "--senders", "2"], paper(0.998, 0.005, 25)),
    ([*PAPER, "--line", "40G", "--senders", "4"], paper(0.999, 0.005, 57)),
    ([*PAPER, "--line", "40G", "--senders", "8"], paper(0.987, 0.005, 75)),
    ([*PAPER, "--line", "10G", "--senders", "4"], paper(0.87, 0.02)),
    ([*TEN, "--senders", "3", "--control", "none"], {"jain": (0, 0.8), "dropped": (5_000, MANY)}),
    (TURNS, turns(0.975, 80, 40)),
    ([*TURNS, "--preset", "paper"], turns(0.9, 80, 150)),
    ([*TURNS, "--preset", "hpcc"], turns(0.92, 100, 100)),
    ([*SMALL, "--traffic", "roce", "--control", "none"], {"jain": (0, 0.6)}),
    ([*SMALL, "--traffic", "roce"], {"dropped": (0, 0), "repeats": (0, 0), "jain": (0.98, 1)}),
    ([*SMALL, "--traffic", "roce", "--report-loss", "50%"], steady(0.99, 0.98, 150, 298)),
    (["--traffic", "both", "--senders", "4"], steady(0.99, 0.95, 150, 450)),
    (["--traffic", "both", "--senders", "16"], steady(0.99, 0.95, 250, 450)),
    ([*SMALL, "--traffic", "stream", "--control", "none"], {"repeats_share": (1e-3, 1)}),
    ([*SMALL, "--traffic", "stream"], {"repeats_share": (0, 1e-5), **steady(0.99, 0.98, 150, 298)}),
    ([*SMALL, "--traffic", "stream", "--report-loss", "20%"], steady(0.99, 0.98, 150, 298)),
    (["--scenario", "return-path", "--traffic", "stream"], steady(0.99, 0.97, 150, 450)),
    ([*BOTH, "--control", "none"], {"jain": (0, 0.8), "victim_bps": (0, 6e9), "dropped": (0, 0)}),
    (BOTH, {"jain": (0.98, 1), "victim_bps": (9.5e9, 10.01e9), "dropped": (0, 0)}),
    (CAMERA, steady(0.995, 0.98, 100, 200)),
    ([*BURST, "--control", "none"], {"dropped": (1_000, MANY), "done_ms": (0, 2)}),
    ([*BURST, "--control", "none", "--buffer", "32MB"], {"dropped": (0, 0), "done_ms": (1, 2)}),
    ([*BURST, "--control", "none", "--pfc"], {"dropped": (0, 0), "done_ms": (1, 2)}),
    ([*BURST, "--control", "none", "--spread", "2ms"], {"dropped": (0, 0), "done_ms": (2, 3)}),
    (BURST, {"dropped": (0, 0), "queue_max_bytes": (0, 20 * KB), "done_ms": (5, 10)}),
]


def main() -> int:
    """Runs all cases; 1 if a figure misses its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samplewire", help="the program")
    parser.add_argument("--seeds", default="5", help="seeds of each case (5)")
    arguments = parser.parse_args()
    missed = 0
    for options, bounds in CASES:
        command = [arguments.samplewire, "sim", "congestion", *options]
        command += ["--seeds", arguments.seeds, "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        (row,) = json.loads(done.stdout)["rows"]
        row["repeats_share"] = row["repeats"] / max(row["departures"], 1)
        print("sim congestion", *options, flush=True)
        for name, (low, high) in bounds.items():
            holds = low <= row[name] <= high
            missed += not holds
            verdict = "holds" if holds else "MISSED"
            print(f"    {name} {row[name]:.6g}, {low:g} to {high:g}: {verdict}", flush=True)
    print(f"{missed} figures miss their bounds")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

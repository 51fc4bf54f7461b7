"""Measures attacks beside an honest stream over loopback and keeps every window.

    python3 bench/hostile.py [--rounds N] [--seconds S] [--payload BYTES ...] [--only WORDS]
                             [--out FILE]

Prints a table and writes bench/results. Attacks that forge addresses need CAP_NET_RAW; without it
they are left out, and the program says which. Exit: 0 when all that must hold does, 1 when a
figure misses, 2 when the honest stream lost something or a program failed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import kept
import machine
import programs

EXAMPLE = ("samplewire", "hostile")

KEPT_LEAST = 0.5
COST_MOST = 1.5
AMPLIFICATION_MOST = 1.0


def main() -> int:
    arguments = parse_arguments()
    try:
        program = programs.build([EXAMPLE])[EXAMPLE[1]]
        runs = [run(program, arguments, payload) for payload in arguments.payload]
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    about = machine.describe(kept.ROOT)
    path = kept.keep("hostile", about, arguments.out, runs=runs)
    print(f"{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, {about['rustc']}")
    missed = sum(print_run(run) for run in runs)
    print(f"\nevery window: {os.path.relpath(path)}")
    if missed:
        print(f"{missed} figures miss what must hold", file=sys.stderr)
    return 1 if missed else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="pairs of windows (default 7)")
    parser.add_argument("--seconds", type=float, default=0.5, help="of one window (default 0.5)")
    parser.add_argument(
        "--payload", type=int, nargs="+", default=[1_408, 8_000], help="bytes (1408 8000)"
    )
    parser.add_argument("--only", default="", help="attacks whose name has these words")
    parser.add_argument("--out", type=Path, help="default: bench/results/DATE-hostile-MACHINE.json")
    return parser.parse_args()


def run(program: Path, arguments: argparse.Namespace, payload: int) -> dict[str, object]:
    """Runs all attacks at one size of packets."""
    command = [str(program), "--json", "--payload", str(payload), "--only", arguments.only]
    command += ["--rounds", str(arguments.rounds), "--seconds", str(arguments.seconds)]
    busy_s, own_s, start = machine.busy_s(), children_s(), time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    wall_s = time.monotonic() - start
    others_s = max(0.0, machine.busy_s() - busy_s - (children_s() - own_s))
    said = json.loads(done.stdout)
    others_share = others_s / (wall_s * machine.CORES)
    return {"payload_bytes": payload, "others_share": others_share, **said}


def children_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def print_run(run: dict) -> int:
    """Prints a table for docs/testing.md; says how many figures miss what must hold."""
    share = run["others_share"]
    print(f"\npayload {run['payload_bytes']:,} bytes, others took {share:.0%} of the machine\n")
    print("| attack | peer: packets/s, MB/s, cores | we: ns a packet, of DATA, kB/s | stream |")
    print("|---|---|---|---|")
    missed = 0
    for row in run["attacks"]:
        print(table_row(row))
        # What a program of ours opens it pays for.
        is_counted = row["target"] != "OwnReceiver"
        missed += is_counted and row["cost"] > COST_MOST
        missed += row["kept"] < KEPT_LEAST
    factors = worst_factors(run["amplification"])
    if factors:
        print("\n| to an address that is not proven | most bytes back by bytes sent |\n|---|---|")
    for packet, factor in factors.items():
        print(f"| {packet} | {factor:.2f} |")
        missed += factor > AMPLIFICATION_MOST
    return missed


def table_row(row: dict) -> str:
    def rate(name: str, side: str = "attacked") -> float:
        return median(window[name] / window["seconds"] for window in row[side])

    kept = f"{row['kept']:.2f} of {median(w['goodput_bps'] for w in row['quiet']) / 1e9:.2f} Gb/s"
    if not row["has_pace"]:
        kept += " (disturbed)"
    peer = (
        f"{rate('packets'):,.0f}, {rate('bytes') / 1e6:,.1f}, {rate('attacker_cpu_ns') / 1e9:.2f}"
    )
    back = rate("answered_bytes") / 1e3
    ours = f"{row['cpu_ns_per_packet']:,.0f}, {row['cost']:.2f}, {back:,.1f}"
    if row["target"] == "OwnReceiver":
        spent = median(
            (w["target_cpu_ns"] - q["target_cpu_ns"]) / w["seconds"]
            for q, w in zip(row["quiet"], row["attacked"], strict=True)
        )
        ours = f"{spent / 1e9:.2f} cores in all"
    return f"| {row['attack']} | {peer} | {ours} | {kept} |"


def worst_factors(answers: list[dict]) -> dict[str, float]:
    factors: dict[str, float] = {}
    for answer in answers:
        packet = answer["packet"]
        factors[packet] = max(factors.get(packet, 0.0), answer["factor"])
    return factors


if __name__ == "__main__":
    sys.exit(main())

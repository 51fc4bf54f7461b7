"""A stream through a graph to its spectrum, on the cores that its sender has too: what is missing.

    python3 bench/spectrum.py [--seconds S] [--runs N] [--rate SAMPLES] [--window PACKETS]
                              [--coalesce US] [--out FILE]

A device sends a tone in sc16 over a pair of veth devices in two network namespaces, which are made
for it and removed; that needs root, ip, tc and ethtool. The host reads the samples where its I/O
thread put them, makes floats of them, filters by 64 taps and keeps one in eight, and averages power
spectra of 4,096 points (the example `spectrum`). What must hold: no sample is missing in any run,
and the tone is in its bin. Exit: 0 when both hold, 1 when one does not, 2 when a program failed.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import kept
import machine
import netns
from netns import SENDER_IP, Wire
from programs import Started, build, build_with, wait_all
from steady import MTU_BYTES, cpu_s
from turns import ProgramError

PORT = 9100
LISTENS_WITHIN_S = 10.0
OVER_WITHIN_S = 30.0

RATE_HZ = 250e6
TONE_OF_RATE = 0.04
"""10 MHz at 250 MS/s: within what the filter passes."""
BINS_OF_RATE = 4_096 * 8
"""A bin is this part of the rate."""

WINDOW_PACKETS = 8_192
"""Of either end: 74 ms at 250 MS/s and 9,000 bytes a packet."""


def main() -> int:
    arguments = parse_arguments()
    if not netns.is_ready():
        return 2
    try:
        device = build_with(["-p", "samplewire-cli"], kept.ROOT)["samplewire"]
        host = build([("samplewire", "spectrum")])["spectrum"]
        with netns.wire(mtu_bytes=MTU_BYTES, has_gro=True, loss=0.0) as wire:
            runs = []
            for number in range(arguments.runs):
                runs.append(run(wire, (device, host), arguments))
                print_run(number, runs[-1])
    except (ProgramError, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    clean = sum(run["samples_missing"] == 0 for run in runs)
    wrong = sum(not run["is_tone_right"] for run in runs)
    about = machine.describe(kept.ROOT)
    result = {
        "rate_hz": arguments.rate,
        "window": arguments.window,
        "coalesce_us": arguments.coalesce,
        "runs": runs,
    }
    path = kept.keep("spectrum", about, arguments.out, **result)
    print(f"nothing missing in {clean} of {len(runs)} runs; tone not found in {wrong}; {path}")
    return 0 if wrong == 0 and clean == len(runs) else 1


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of each run (default 60)")
    parser.add_argument("--runs", type=int, default=3, help="default 3")
    parser.add_argument(
        "--rate", type=float, default=RATE_HZ, help=f"samples a second (default {RATE_HZ:.0f})"
    )
    parser.add_argument(
        "--window",
        type=int,
        default=WINDOW_PACKETS,
        help=f"packets, of both ends (default {WINDOW_PACKETS})",
    )
    parser.add_argument(
        "--coalesce",
        type=int,
        default=0,
        help="microseconds that both ends' I/O threads rest between two looks (default 0)",
    )
    parser.add_argument("--out", type=Path, help="default: a file of today in bench/results")
    arguments = parser.parse_args()
    if arguments.seconds <= 0 or arguments.runs < 1 or arguments.rate <= 0:
        parser.error("more than 0 seconds, at least 1 run and more than 0 samples a second")
    if not 0 <= arguments.coalesce <= 10_000:
        parser.error(f"--coalesce {arguments.coalesce} is not in 0..=10000")
    return arguments


def run(
    wire: Wire, programs: tuple[Path, Path], arguments: argparse.Namespace
) -> dict[str, object]:
    """One run: what came, what was missing and what each block did."""
    address, window = f"{SENDER_IP}:{PORT}", str(arguments.window)
    tone_hz = TONE_OF_RATE * arguments.rate
    device = [str(programs[0]), "emulate", "--source", f"tone:{tone_hz:.0f}"]
    device += ["--rate", f"{arguments.rate:.0f}", "--listen", address, "--window", window]
    host = [str(programs[1]), address, "--seconds", f"{arguments.seconds}"]
    host += ["--window", window, "--json"]
    if arguments.coalesce:
        device += ["--coalesce", f"{arguments.coalesce}us"]
        host += ["--coalesce", f"{arguments.coalesce}"]
    with Started([*wire.sender, *device]) as sender:
        sender.wait_listening(PORT, LISTENS_WITHIN_S)
        before, kernel_s = cpu_s(sender.pid), machine.softirq_threads_s()
        with Started([*wire.receiver, *host]) as receiver:
            ended = wait_all([receiver], arguments.seconds + OVER_WITHIN_S)[0]
        cpu = {
            "sender": cpu_s(sender.pid) - before,
            "receiver": ended.cpu_s,
            "kernel": machine.softirq_threads_s() - kernel_s,
        }
    seen = json.loads(ended.text)
    off_hz = abs(seen["peak_hz"] - tone_hz)
    seen["is_tone_right"] = off_hz <= arguments.rate / BINS_OF_RATE
    return {**seen, "cpu_s": cpu}


def print_run(number: int, run: dict[str, object]) -> None:
    gaps = ", ".join(f"{cause} {of['samples']:,}" for cause, of in run["gaps"].items())
    busy = {name: of["busy_s"] / run["seconds"] for name, of in run["blocks"].items()}
    blocks = ", ".join(f"{name} {100 * share:.0f} %" for name, share in busy.items())
    cpu = sum(run["cpu_s"].values()) / run["seconds"]
    print(
        f"{number + 1:>2}  {run['samples'] / run['seconds'] / 1e6:6.1f} MS/s  {cpu:4.2f} cores"
        f"  missing {run['samples_missing']:,}{': ' if gaps else ''}{gaps}  ({blocks})",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())

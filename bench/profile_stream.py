"""Where the time of a stream goes: ns per packet and per byte, by step, on both sides.

    python3 bench/profile_stream.py [--seconds S] [--rounds N] [--out FILE]

Runs the stream over a wire of its own (see wire.py) with packets of two lengths, samples every CPU
with perf, and gives each sample to a step by its call chain. What a step takes per packet is its
share of the samples; what it takes per byte is the difference between the two lengths. Needs root
and perf (`apt-get install linux-perf`). The namespaces are removed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median

import kept
import machine
import netns
import programs
from turns import ProgramError

HERTZ = 1_999

PACKETS = ((1_500, 1_408), (9_000, 8_896))
"""MTU and payload in bytes of the two lengths."""

PORT = 9_100

SIDES = {"samplewire-tx": "sender", "samplewire-rx": "receiver", "throughput": "program"}
"""Threads by the names that they have."""

# The first whose words are in a sample's call chain. A chain is read from the innermost call out,
# so words that stand within others come first.
STEPS = {
    "sender": (
        ("arrival in the other namespace, up to the socket", r"net_rx_action|handle_softirqs"),
        ("copy from the program", r"_copy_from_iter|copy_page_from_iter"),
        ("segmentation", r"__skb_gso_segment"),
        ("device", r"dev_hard_start_xmit"),
        ("UDP, IP, memory of packets", r"__sys_sendmmsg"),
        ("REPORTs", r"recvmmsg"),
        ("memory that is used for the first time", r"page_fault"),
        ("sleeping and waking", r"poll|futex|sched|eventfd|vfs_write|nanosleep|exit_to_user"),
        ("CRC of payloads", r"crc_fast"),
        ("choice of packets, heads, lists of pieces", r""),
    ),
    "receiver": (
        ("copy to the program", r"_copy_to_iter|simple_copy_to_iter"),
        ("REPORTs, up to the other end's socket", r"sendmmsg|net_rx_action|handle_softirqs"),
        ("socket, addresses, control messages", r"recvmmsg"),
        ("memory that is used for the first time", r"page_fault"),
        ("sleeping and waking", r"poll|futex|sched|eventfd|vfs_write|nanosleep|exit_to_user"),
        ("CRC of packets", r"crc_fast"),
        ("copy into the quantum", r"memmove|memcpy"),
        ("places, account, delivery", r""),
    ),
    "program": (
        ("memory that is used for the first time", r"page_fault"),
        ("sleeping and waking", r"poll|futex|sched|eventfd|vfs_write|nanosleep|park"),
        ("filling and looking at quanta", r""),
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="of one run (default 3)")
    parser.add_argument("--rounds", type=int, default=5, help="of both lengths (default 5)")
    parser.add_argument("--out", type=Path, help="default: bench/results/DATE-profile-MACHINE.json")
    arguments = parser.parse_args()
    try:
        if not netns.is_ready():
            return 2
        # perf names what it samples.
        os.environ["CARGO_PROFILE_RELEASE_DEBUG"] = "line-tables-only"
        os.environ["CARGO_PROFILE_RELEASE_STRIP"] = "none"
        program = programs.build([("samplewire", "throughput")])["throughput"]
        rounds = []
        for turn in range(arguments.rounds):
            print(f"round {turn + 1} of {arguments.rounds}", file=sys.stderr)
            rounds.append([profile(program, *sizes, arguments.seconds) for sizes in PACKETS])
    except (ProgramError, OSError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    steps = summary(rounds)
    print_steps(steps)
    about = machine.describe(kept.ROOT)
    path = kept.keep("profile", about, arguments.out, steps=steps, rounds=rounds)
    print(f"\nevery round: {os.path.relpath(path)}")
    return 0


def profile(program: Path, mtu_bytes: int, payload_bytes: int, seconds: float) -> dict[str, object]:
    """Runs the stream once; ns per packet of each step, and the rate."""
    address = f"{netns.SENDER_IP}:{PORT}"
    common = ["--payload", str(payload_bytes), "--window", "4096", "--json"]
    with (
        tempfile.TemporaryDirectory() as folder,
        netns.wire(mtu_bytes=mtu_bytes, has_gro=False, loss=0) as wire,
    ):
        data = Path(folder) / "perf.data"
        sending = ["--device", address, "--seconds", str(seconds)]
        with programs.Started([*wire.sender, str(program), *sending, *common]) as device:
            device.wait_listening(PORT, 5)
            words = ["perf", "record", "-q", "-a", "-g", "-F", str(HERTZ), "-o", str(data), "--"]
            host = [*wire.receiver, str(program), "--host", address, *common]
            done = subprocess.run([*words, *host], capture_output=True, text=True)
            programs.wait_all([device], 10)
        if done.returncode:
            raise ProgramError(f"perf: {done.stderr.strip()}")
        said = json.loads(done.stdout.splitlines()[-1])
        fields = ["-F", "comm,ip,sym"]
        script = ["perf", "script", "-i", str(data), *fields]
        chains = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    packets = said["bytes"] / payload_bytes
    counts = count(chains)
    return {
        "payload_bytes": payload_bytes,
        "goodput_bps": said["goodput_bps"],
        "ns_per_packet": {
            f"{side}: {step}": samples / HERTZ * 1e9 / packets
            for (side, step), samples in counts.items()
        },
    }


def count(chains: str) -> Counter[tuple[str, str]]:
    """Samples of each side and step in what `perf script -F comm,ip,sym` prints."""
    counts: Counter[tuple[str, str]] = Counter()
    for sample in chains.split("\n\n"):
        lines = sample.strip().splitlines()
        side = SIDES.get(lines[0].strip()) if lines else None
        if side:
            calls = " ".join(line.strip() for line in lines[1:])
            step = next(step for step, words in STEPS[side] if re.search(words, calls))
            counts[side, step] += 1
    return counts


def summary(rounds: list[list[dict]]) -> list[dict[str, object]]:
    """Medians over the rounds for each step: ns per packet of each length, and ns per KB."""
    rows = []
    lengths = [payload_bytes for _, payload_bytes in PACKETS]
    for side, steps in STEPS.items():
        for step, _ in steps:
            name = f"{side}: {step}"
            values = [[run["ns_per_packet"].get(name, 0.0) for run in both] for both in rounds]
            columns = list(zip(*values, strict=True))
            short, long = (median(column) for column in columns)
            slopes = [(b - a) / (lengths[1] - lengths[0]) for a, b in values]
            rows.append(
                {
                    "side": side,
                    "step": step,
                    "ns_per_packet": {lengths[0]: short, lengths[1]: long},
                    "ns_per_kb": 1e3 * median(slopes),
                    "spread_ns": [
                        [min(column), max(column)] for column in zip(*values, strict=True)
                    ],
                }
            )
    return rows


def print_steps(rows: list[dict]) -> None:
    lengths = [payload_bytes for _, payload_bytes in PACKETS]
    head = " ".join(f"{f'{length:,} B':>9}" for length in lengths)
    print(f"{'ns per packet':<60} {head} {'per KB':>8}")
    for side in STEPS:
        of_side = [row for row in rows if row["side"] == side]
        sums = [sum(row["ns_per_packet"][length] for row in of_side) for length in lengths]
        print_row(side, sums, sum(row["ns_per_kb"] for row in of_side))
        for row in of_side:
            values = [row["ns_per_packet"][length] for length in lengths]
            print_row(f"  {row['step']}", values, row["ns_per_kb"])


def print_row(name: str, values: list[float], per_kb: float) -> None:
    print(f"{name:<60} {' '.join(f'{value:9.0f}' for value in values)} {per_kb:8.1f}")


if __name__ == "__main__":
    sys.exit(main())

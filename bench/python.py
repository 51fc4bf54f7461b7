"""The Python package beside the Rust receiver: rates of a stream, and what a block costs.

    python3 bench/python.py --python .venv/bin/python --rounds 7

Both read from a device of their own, a program in Rust over loopback, and take turns. Rust looks
at the stamp of every packet, Python at that of every block's first, through its view. `--python`
has the package installed from a release wheel.
"""

import argparse
import json
import socket
import subprocess
import sys
from pathlib import Path
from statistics import median

from kept import ROOT

RATIO_LEAST = 0.9
BLOCK_US_MOST = 2.0

READ = """
import json, sys, time
import samplewire as sw

with sw.receive(sys.argv[1], window=800) as rx:
    expected, times, first_bytes, taken_bytes = rx.info.first_index, None, 0, 0
    for block in rx:
        now = time.perf_counter()
        assert block.index == expected and not block.gaps, (block.index, expected)
        view = block.samples
        assert int.from_bytes(view[:2].tobytes(), "little") == expected, expected
        expected = block.end
        taken_bytes += view.nbytes
        if times is None:
            times, first_bytes = [now, now], taken_bytes
        times[1] = now
print(json.dumps({"goodput_bps": (taken_bytes - first_bytes) * 8 / (times[1] - times[0])}))
"""

ITERATE = """
import json, time
import samplewire as sw

spans = []
with sw.emulate("null", rate_hz=1e9, paced=False, payload_bytes=8_000, window=4_096) as device:
    with sw.receive(device.address, window=4_096) as rx:
        for _ in range(40):
            # All of the window is there: what is timed waits for nothing.
            time.sleep(0.1)
            blocks = iter(rx)
            start = time.perf_counter()
            for _ in range(200):
                block = next(blocks)
                block.index, block.gaps, block.samples
            spans.append((time.perf_counter() - start) / 200)
print(json.dumps({"block_us": sorted(spans)[len(spans) // 2] * 1e6}))
"""


def free_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def goodput_bps(throughput: Path, reader: list[str], seconds: float) -> float:
    """Bits a second that a reader takes of a device that sends as fast as it goes."""
    address = free_address()
    device = [str(throughput), "--device", address, "--seconds", str(seconds), "--json"]
    with subprocess.Popen(device, stdout=subprocess.DEVNULL) as process:
        done = subprocess.run([*reader, address], stdout=subprocess.PIPE, check=True, text=True)
        if process.wait(timeout=30) != 0:
            raise RuntimeError(f"the device ended with {process.returncode}")
    return float(json.loads(done.stdout)["goodput_bps"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="has the package installed")
    parser.add_argument("--throughput", type=Path, help="the example, built with --release")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.5)
    arguments = parser.parse_args()
    throughput = arguments.throughput or ROOT / "target/release/examples/throughput"
    readers = {
        "rust": [str(throughput), "--json", "--host"],
        "python": [arguments.python, "-c", READ],
    }
    ratios = []
    for number in range(arguments.rounds + 1):
        order = list(readers) if number % 2 else list(readers)[::-1]
        rates = {name: goodput_bps(throughput, readers[name], arguments.seconds) for name in order}
        if number == 0:
            continue  # to warm up
        ratios.append(rates["python"] / rates["rust"])
        words = ", ".join(f"{name} {rate / 1e9:.2f} Gb/s" for name, rate in rates.items())
        print(f"round {number}: {words}, ratio {ratios[-1]:.3f}")
    command = [arguments.python, "-c", ITERATE]
    costs = []
    for _ in range(arguments.rounds):
        printed = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
        costs.append(float(json.loads(printed)["block_us"]))
    ratio, cost_us = median(ratios), median(costs)
    print(f"rate over Rust's: {ratio:.3f} ({min(ratios):.3f}..{max(ratios):.3f})")
    print(
        f"a block, its index, gaps and view: {cost_us:.2f} us ({min(costs):.2f}..{max(costs):.2f})"
    )
    holds = ratio >= RATIO_LEAST and cost_us <= BLOCK_US_MOST
    print(f"must be >= {RATIO_LEAST} and <= {BLOCK_US_MOST} us: {'held' if holds else 'MISSED'}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())

"""Counts overflows of GNU Radio behind SoapySDR: a device of a rate, received for a time.

    make bench-soapy                      50 MS/s for a minute
    python3 bench/soapy.py COMMAND MODULES [--rate HZ] [--seconds S] [--window PACKETS]
                           [--fault SPEC] [--kind sc16|fc32] [--python PYTHON]

COMMAND is samplewire, MODULES the folder of libSoapySamplewire.so. The device is `emulate` in a
process of its own with the clock of a converter, so that what is not taken in time is lost; the
flowgraph is gr-soapy's source, a head and a null sink. Exit: 0 without an overflow, 1 with some, 2
when a program failed.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import kept
import machine

FLOWGRAPH = """
import sys, time
from gnuradio import blocks, gr, soapy
args, kind, count, window = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
size = {"sc16": 4, "fc32": 8}[kind]
source = soapy.source(args, kind, 1, "", f"window={window}", [""], [""])
top = gr.top_block()
top.connect(source, blocks.head(size, count), blocks.null_sink(size))
start = time.monotonic()
top.run()
print(time.monotonic() - start, time.process_time())
"""


def main() -> int:
    arguments = parse_arguments()
    command = [arguments.command, "emulate", "--listen", "127.0.0.1:0", "--source", "null"]
    command += ["--rate", str(arguments.rate), "--window", str(arguments.window)]
    command += [word for fault in arguments.fault for word in ("--fault", fault)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    busy, start = machine.busy_s(), time.monotonic()
    with subprocess.Popen(command, **pipes) as device:
        try:
            address = device.stdout.readline().rpartition("listening on ")[2].strip()
            done = flowgraph(arguments, f"driver=samplewire,addr={address}")
        finally:
            device.terminate()
            said = device.stdout.read()
    busy, elapsed_s = machine.busy_s() - busy, time.monotonic() - start
    if done.returncode != 0:
        print(f"bench: the flowgraph failed: {done.stderr}", file=sys.stderr)
        return 2
    wall_s, cpu_s = map(float, done.stdout.split()[-2:])
    overflows = done.stderr.count("sO")
    lost = re.search(r"overflow\s+([\d,]+) samples", said)
    count = int(arguments.rate * arguments.seconds)
    about = machine.describe(kept.ROOT)
    print(f"{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}")
    print(f"asked for  {count:,} samples at {arguments.rate / 1e6:g} MS/s, {arguments.kind}")
    print(f"took       {wall_s:.2f} s, {count / wall_s / 1e6:.2f} MS/s")
    print(f"CPU        {cpu_s / wall_s:.2f} cores for GNU Radio, {busy / elapsed_s:.2f} in all")
    print(f"overflows  {overflows} in GNU Radio")
    print(f"lost       {lost[1] if lost else 'unknown'} samples at the device")
    return 1 if overflows else 0


def flowgraph(arguments: argparse.Namespace, args: str) -> subprocess.CompletedProcess[str]:
    count = int(arguments.rate * arguments.seconds)
    words = [args, arguments.kind, str(count), str(arguments.window)]
    return subprocess.run(
        [arguments.python, "-c", FLOWGRAPH, *words],
        env={**os.environ, "SOAPY_SDR_PLUGIN_PATH": str(arguments.modules)},
        capture_output=True,
        text=True,
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", type=Path)
    parser.add_argument("modules", type=Path)
    parser.add_argument("--rate", type=float, default=50e6, help="samples a second (50e6)")
    parser.add_argument("--seconds", type=float, default=60, help="how long (60)")
    parser.add_argument("--window", type=int, default=16_384, help="packets, of both ends (16384)")
    parser.add_argument("--fault", action="append", default=[], help="as of samplewire emulate")
    parser.add_argument("--kind", choices=["sc16", "fc32"], default="sc16")
    parser.add_argument("--python", default="/usr/bin/python3", help="that of GNU Radio")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The simulated NIC with its soft cores, beside the figures of NIC_1.2 (`make nic-bench`).

T is B. Sahu, Performance Optimization of a NIC for SoC Prototyping, IIT Bombay 2025; its tables are
named. An ideal host sends as fast as the wire of 1 Gb/s allows; the board has 125 MHz, one byte a
clock. Rates are of the payload, frames without their 14 bytes of header, of the frames that came
back. T's host takes about 60 us of a round trip, so what the board adds compares: the round trip
less that of the MAC loop-back.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "rtl" / "sim"
SIZES = (64, 128, 256, 512, 1024, 1486)
WIRE = (627.5, 771.1, 870.7, 930.9, 964.2, 975.1)

# Mb/s by size.
THROUGHPUT_OF_T = {
    "T, NIC_1.1 (2.2)": (9.28, 15.84, 18.56, 27.92, 36.24, 40.72),
    "T, local memory (2.2)": (9.46, 17.37, 32.42, 49.97, 57.33, 62.37),
    "T, L2 (2.2)": (9.41, 16.95, 28.64, 43.96, 51.58, 56.46),
    "T, NIC_1.2 (6.6, 7.2)": (52.60, 84.79, 151.49, 270.42, 477.09, 526.12),
    "T, all steps (6.6, 7.2)": (62.74, 100.94, 179.19, 334.75, 602.45, 731.89),
    "T, no processor (B.2)": (144.09, 170.36, 487.85, 867.51, 852.00, 888.19),
}
# Microseconds by size, up to 1,024 bytes.
ADDED_BY_T = {"T, NIC_1.2, local - MAC loop (6.4, 6.3)": (32, 20, 13, 10, 14)}

RATE = re.compile(r"([0-9.]+) Mb/s of .*; ([0-9]+) of ([0-9]+) frames came back")
TRIP = re.compile(r"mean [0-9.]+ = ([0-9.]+) us")


@dataclass
class Build:
    """A simulated board: how make builds it, and what it is called."""

    name: str
    cores: int
    memory: str

    @property
    def program(self) -> Path:
        """Where make puts it."""
        kind = "" if self.memory == "local" else f"_{self.memory}"
        return OUT / f"nic_soc_bench_{self.cores}_1g{kind}"

    def make(self) -> None:
        """Build it; make detects whether that is needed."""
        make = ["make", "-s", "-f", "rtl/sim/Makefile", f"CORES={self.cores}", "WIRE=1g"]
        subprocess.run(
            [*make, f"MEMORY={self.memory}", "nic_soc_bench"],
            cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def run(self, pattern: re.Pattern[str], *options: str) -> re.Match[str]:
        """Run it with the image swap, and find its figure."""
        image = ROOT / "out" / "firmware" / "swap.bin"
        command = [self.program, options[0], image, *options[1:]]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found = pattern.search(text)
        if found is None:
            raise ValueError(f"{self.program.name} {' '.join(options)} printed no figure:\n{text}")
        return found


BUILDS = (
    Build("one core, local memory", 1, "local"),
    Build("two cores, local memory", 2, "local"),
    Build("one core, L2", 1, "l2"),
    Build("one core, memory outside", 1, "outside"),
)


def row(name: str, values: list[str]) -> None:
    """Print a row of a table in Markdown."""
    print(f"| {name} | {' | '.join(values)} |", flush=True)


def head(name: str, sizes: tuple[int, ...]) -> None:
    """Print the head of a table."""
    row(name, [str(size) for size in sizes])
    print(f"|---|{'--:|' * len(sizes)}")


def main() -> int:
    """Print both tables."""
    for build in BUILDS:
        print(f"building: {build.name}", file=sys.stderr)
        build.make()
    print("Mb/s of payload by bytes of payload, `swap`, simulated; lost frames in brackets\n")
    head("", SIZES)
    for name, values in THROUGHPUT_OF_T.items():
        row(name, [f"{value:.2f}" for value in values])
    for build in BUILDS:
        cells = []
        for size in SIZES:
            found = build.run(RATE, "rate", "--swap", "1", "--payload", str(size))
            lost = int(found[3]) - int(found[2])
            cells.append(f"{float(found[1]):.1f}" + (f" ({lost} of {found[3]})" if lost else ""))
        row(f"here, {build.name}", cells)
    row("wire", [f"{value:.1f}" for value in WIRE])
    print("\nMicroseconds that the board adds to the round trip of a MAC loop-back\n")
    head("", SIZES)
    for name, added in ADDED_BY_T.items():
        row(name, [str(value) for value in added] + ["-"] * (len(SIZES) - len(added)))
    for build in BUILDS:
        cells = []
        for size in SIZES:
            normal, loop = (
                float(build.run(TRIP, "rtt", "--payload", str(size), *options)[1])
                for options in (("--swap", "1"), ("--mode", "2"))
            )
            cells.append(f"{normal - loop:.2f}")
        row(f"here, {build.name}", cells)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The simulated NIC with its soft cores, beside the figures of NIC_1.2 (`make nic-bench`).

    nic.py [swap] [pictures] [pacing]    these parts; all if none is named

T is B. Sahu, Performance Optimization of a NIC for SoC Prototyping, IIT Bombay 2025; its tables are
named. An ideal host sends as fast as the wire allows: 1 Gb/s at 125 MHz, one byte a clock, and then
10 Gb/s at 156.25 MHz, 8 bytes a clock. Rates are of the payload, frames without their 14 bytes of
header, of the frames that came back. T's host takes about 60 us of a round trip, so what the board
adds compares: the round trip less that of the MAC loop-back. T has no figures at 10 Gb/s. Pacing
alone is measured on this machine, in real time, when the simulations have ended.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "rtl" / "sim"
SIZES = (64, 128, 256, 512, 1024, 1486)
KB = 1024
T = TypeVar("T")

# Mb/s by size.
THROUGHPUT_OF_T = {
    "T, NIC_1.1 (2.2)": (9.28, 15.84, 18.56, 27.92, 36.24, 40.72),
    "T, local memory (2.2)": (9.46, 17.37, 32.42, 49.97, 57.33, 62.37),
    "T, L2 (2.2)": (9.41, 16.95, 28.64, 43.96, 51.58, 56.46),
    "T, NIC_1.2 (6.6, 7.2)": (52.60, 84.79, 151.49, 270.42, 477.09, 526.12),
    "T, all steps (6.6, 7.2)": (62.74, 100.94, 179.19, 334.75, 602.45, 731.89),
    "T, no processor (B.2)": (144.09, 170.36, 487.85, 867.51, 852.00, 888.19),
    "T, MAC loop-back (6.5)": (297.07, 407.06, 689.93, 867.73, 986.16, 1018.85),
}
# Microseconds by size, up to 1,024 bytes.
TRIPS_OF_T = {
    "T, NIC_1.1 (2.1, 7.1)": (230, 244, 270, 323, 409),
    "T, NIC_1.1, local memory (2.1, 7.1)": (192, 201, 220, 261, 333),
    "T, NIC_1.1, L2 (2.1)": (202, 213, 234, 280, 354),
    "T, NIC_1.2 (6.4, 7.1)": (143, 146, 151, 165, 188),
    "T, NIC_1.2, local memory (6.4, 7.1)": (140, 145, 149, 156, 180),
    "T, no processor (B.1)": (99, 109, 120, 137, 156),
    "T, MAC loop-back (6.3)": (108, 125, 136, 146, 166),
}
ADDED_BY_T = {"T, NIC_1.2, local - MAC loop (6.4, 6.3)": (32, 20, 13, 10, 14)}

# How long Python's sleep takes: microseconds by the seconds that are requested.
PACING_OF_T = {
    "0": "4.25", "1e-323": "59.8", "1e-9": "56.8", "1e-8": "56.1", "1e-7": "55.9", "1e-6": "55.9",
    "1e-5": "66.2", "1e-4": "155", "1e-3": "1,050", "1e-2": "10,200", "1e-1": "100,000",
}  # fmt: skip
SAMPLEWIRE = ["--quiet", "--release", "-p", "samplewire-cli"]
PARTS = ("swap", "pictures", "pacing")
FRAMES, FRAMES_LONG, LONG = 5000, 1000, 512


@dataclass
class Picture:
    """A picture of T, and its figures by scheme: send/receive Mb/s, pictures/s, the most Mb/s."""

    name: str
    bytes: int
    rounds: int
    of_t: dict[int, tuple[str, str, str]]


PICTURES = (
    Picture(
        "347.5 kB (6.7)", 347 * KB + KB // 2, 3,
        {3: ("659.12/657.66", "115.6", "791.18/781.49"),
         4: ("647.79/647.31", "113.8", "761.81/750.63")},
    ),
    Picture(
        "15.9 MB (6.8)", round(15.9 * KB * KB), 1,
        {3: ("653.03/652.56", "2.45", "706.40/705.65"),
         4: ("638.25/637.37", "2.39", "702.61/701.89")},
    ),
)  # fmt: skip
# What each scheme needs of the board.
IMAGES = {3: "swap", 4: "block"}

RATE = re.compile(r"([0-9.]+) Mb/s of .*; ([0-9]+) of ([0-9]+) frames came back")
TRIP = re.compile(r"mean [0-9.]+ = ([0-9.]+) us")
PICTURE = re.compile(r"([0-9./]+) Mb/s, ([0-9.]+) pictures/s, most ([0-9./]+); ([0-9]+) repeated")


@dataclass
class Wire:
    """A wire, and the clock of a board at it."""

    name: str
    mhz: float
    beat_bytes: int

    def mbps(self, payload: int, header: int = 14) -> float:
        """What it carries of frames with so many bytes of payload."""
        cycles = (payload + header + 24) / self.beat_bytes
        return payload * 8 * self.mhz / cycles


WIRES = (Wire("1g", 125, 1), Wire("10g", 156.25, 8))


@dataclass
class Build:
    """A simulated board: how make builds it, and what it is called."""

    name: str
    cores: int
    memory: str
    burst: int = 16

    def program(self, wire: Wire) -> Path:
        """Where make puts it."""
        kind = "" if self.memory == "local" else f"_{self.memory}"
        return OUT / f"nic_soc_bench_{self.cores}_{wire.name}{kind}"

    def make(self, wire: Wire) -> None:
        """Build it; make detects whether that is needed."""
        make = ["make", "-s", "-f", "rtl/sim/Makefile", f"CORES={self.cores}"]
        subprocess.run(
            [*make, f"WIRE={wire.name}", f"MEMORY={self.memory}", "nic_soc_bench"],
            cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def run(self, wire: Wire, image: str, pattern: re.Pattern[str], *options: str) -> re.Match[str]:
        """Run it with an image, and find its figures."""
        path = ROOT / "out" / "firmware" / f"{image}.bin"
        command = [self.program(wire), options[0], path, *options[1:]]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        found = pattern.search(done.stdout)
        if found is None:
            words = " ".join([self.program(wire).name, image, *options])
            raise ValueError(f"{words} printed no figure:\n{done.stdout}{done.stderr}")
        return found

    def rate(self, wire: Wire, size: int, *options: str) -> str:
        """Mb/s, and frames lost in brackets. Long frames at 1G are fewer: they take most cycles."""
        frames = FRAMES_LONG if wire.name == "1g" and size >= LONG else FRAMES
        found = self.run(
            wire, "swap", RATE, "rate", "--payload", str(size), "--frames", str(frames), *options
        )
        lost = int(found[3]) - int(found[2])
        return f"{float(found[1]):.1f}" + (f" ({lost} of {found[3]})" if lost else "")

    def trip(self, wire: Wire, size: int, *options: str) -> float:
        """Microseconds of a round trip."""
        return float(self.run(wire, "swap", TRIP, "rtt", "--payload", str(size), *options)[1])

    def picture(self, wire: Wire, picture: Picture, scheme: int) -> list[str]:
        """Send/receive Mb/s, pictures/s, the most Mb/s; frames repeated in brackets."""
        found = self.run(
            wire, IMAGES[scheme], PICTURE, "picture", "--bytes", str(picture.bytes), "--scheme",
            str(scheme), "--rounds", str(picture.rounds), "--burst", str(self.burst),
        )  # fmt: skip
        cells = [found[1], found[2], found[3]]
        if found[4] != "0":
            cells[0] += f" ({found[4]})"
        return cells


LOCAL = Build("one core, local memory", 1, "local")
OUTSIDE = Build("one core, memory outside", 1, "outside")
L2 = Build("one core, L2", 1, "l2")
BUILDS = (LOCAL, Build("two cores, local memory", 2, "local"), L2, OUTSIDE)
SWAP, MAC_LOOP = ("--swap", "1"), ("--mode", "2")


class Tables:
    """What is printed of one wire. All runs are begun first, as many at a time as CPUs."""

    def __init__(self, wire: Wire, parts: list[str], pool: ThreadPoolExecutor) -> None:
        """Begin the runs."""
        self.wire, self.parts, self.pool = wire, parts, pool
        self.has_t = wire.name == "1g"
        if "swap" in parts:
            self.rates = {build.name: self.each(build.rate, *SWAP) for build in BUILDS}
            self.rates["one core, MAC loop-back"] = self.each(LOCAL.rate, *MAC_LOOP)
            self.trips = {build.name: self.each(build.trip, *SWAP) for build in BUILDS}
            self.loops = {build.name: self.each(build.trip, *MAC_LOOP) for build in BUILDS}
        if "pictures" in parts:
            self.pictures = [
                (picture, scheme, build, pool.submit(build.picture, wire, picture, scheme))
                for picture in PICTURES for scheme in IMAGES for build in self.picture_builds()
            ]  # fmt: skip

    def picture_builds(self) -> tuple[Build, ...]:
        """Those with room for a picture. At 10G memory outside has half of the wire's rate."""
        if self.has_t:
            return OUTSIDE, L2
        return Build(OUTSIDE.name, 1, "outside", burst=8), L2

    def each(self, run: Callable[..., T], *options: str) -> list[Future[T]]:
        """A run of each size."""
        return [self.pool.submit(run, self.wire, size, *options) for size in SIZES]

    def print(self) -> None:
        """Print all tables as the runs end."""
        print(f"\n## {self.wire.name.upper()}\n")
        if "swap" in self.parts:
            self.print_swap()
        if "pictures" in self.parts:
            self.print_pictures()

    def print_swap(self) -> None:
        """Print T's tables of rates and round trips."""
        print("Mb/s of payload by bytes of payload, `swap`, simulated; lost frames in brackets\n")
        head("", SIZES)
        if self.has_t:
            for name, values in THROUGHPUT_OF_T.items():
                row(name, [f"{value:.2f}" for value in values])
        for name, cells in self.rates.items():
            row(f"here, {name}", [cell.result() for cell in cells])
        row("wire", [f"{self.wire.mbps(size):.1f}" for size in SIZES])
        print("\nRound trip, microseconds, `swap`\n")
        head("", SIZES)
        if self.has_t:
            for name, trips in TRIPS_OF_T.items():
                row(name, short(trips))
        for name, cells in self.trips.items():
            row(f"here, {name}", [f"{cell.result():.2f}" for cell in cells])
        row("here, MAC loop-back", [f"{cell.result():.2f}" for cell in self.loops[LOCAL.name]])
        print("\nMicroseconds that the board adds to the round trip of a MAC loop-back\n")
        head("", SIZES)
        if self.has_t:
            for name, added in ADDED_BY_T.items():
                row(name, short(added))
        for name, cells in self.trips.items():
            both = zip(cells, self.loops[name], strict=True)
            row(f"here, {name}", [f"{cell.result() - loop.result():.2f}" for cell, loop in both])

    def print_pictures(self) -> None:
        """Print T's tables 6.7 and 6.8."""
        wire = self.wire.mbps(1481, 19)
        goal = "; goal 940 each way, 165 and 3.5 pictures/s" if self.has_t else ""
        print(f"\nPictures, Mb/s to the board / back, wire {wire:.1f}{goal}; repeats in brackets\n")
        print("| picture | scheme | | mean | pictures/s | maximum |")
        print("|---|--:|---|--:|--:|--:|")
        before = None
        for picture, scheme, build, cells in self.pictures:
            if self.has_t and (picture, scheme) != before:
                row(picture.name, [str(scheme), "T", *picture.of_t[scheme]])
            before = picture, scheme
            row(picture.name, [str(scheme), f"here, {build.name}", *cells.result()])


def short(values: tuple[int, ...]) -> list[str]:
    """T's figures, which end at 1,024 bytes."""
    return [str(value) for value in values] + ["-"] * (len(SIZES) - len(values))


def row(name: str, values: list[str]) -> None:
    """Print a row of a table in Markdown."""
    print(f"| {name} | {' | '.join(values)} |", flush=True)


def head(name: str, sizes: tuple[int, ...]) -> None:
    """Print the head of a table."""
    row(name, [str(size) for size in sizes])
    print(f"|---|{'--:|' * len(sizes)}")


def print_pacing(study: str | bytes) -> None:
    """Print T's table C.1 beside the JSON of `samplewire study pacing`."""
    print("\n## Pacing\n")
    print("Actual waits by those requested, s: median, microseconds, *measured* on this machine\n")
    row("", list(PACING_OF_T))
    print(f"|---|{'--:|' * len(PACING_OF_T)}")
    row("T, sleep (C.1)", list(PACING_OF_T.values()))
    measured = json.loads(study)["rows"]
    for name in ("sleep", "spin"):
        row(f"here, {name}", [f"{each[name]['median_ns'] / 1000:,.2f}" for each in measured])


def main() -> int:
    """Print the tables of each wire, and pacing."""
    parser = argparse.ArgumentParser(description="the NIC beside the figures of NIC_1.2")
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; all if none is named")
    parts = parser.parse_args().parts or list(PARTS)
    if unknown := sorted(set(parts) - set(PARTS)):
        parser.error(f"no part is called {unknown[0]}; there are {', '.join(PARTS)}")
    began = time.monotonic()
    builds = BUILDS if "swap" in parts else (OUTSIDE, L2) if "pictures" in parts else ()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = [pool.submit(build.make, wire) for wire in WIRES for build in builds]
        for each in made:
            each.result()
        if "pacing" in parts:
            subprocess.run(["cargo", "build", *SAMPLEWIRE], cwd=ROOT, check=True)
        built = time.monotonic()
        for tables in [Tables(wire, parts, pool) for wire in WIRES] if builds else []:
            tables.print()
    if "pacing" in parts:
        requests = ",".join(PACING_OF_T)
        command = ["cargo", "run", *SAMPLEWIRE, "--", "study", "pacing", "--requests", requests]
        done = subprocess.run([*command, "--json"], cwd=ROOT, check=True, capture_output=True)
        print_pacing(done.stdout)
    ended = time.monotonic()
    print(f"{built - began:.0f} s of builds, {ended - built:.0f} s of runs", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

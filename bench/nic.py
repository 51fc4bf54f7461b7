#!/usr/bin/env python3
"""The simulated NIC with its soft cores, beside the figures of NIC_1.2 (`make nic-bench`).

    nic.py [PART..] [--write] [--out FILE]    all parts if none is named

T is B. Sahu, Performance Optimization of a NIC for SoC Prototyping, IIT Bombay 2025; its tables are
named. An ideal host sends as fast as the wire allows: 1 Gb/s at 125 MHz, one byte a clock, and then
10 Gb/s at 156.25 MHz, 8 bytes a clock. Rates are of the payload, frames without their 14 bytes of
header, of the frames that came back. T's host takes about 60 us of a round trip, so what the board
adds compares: the round trip less that of the MAC loop-back. T has no figures at 10 Gb/s.

swap      rates and round trips, at 1 Gb/s with the queues of NIC_1.1 too
clock     the same of short frames, by a clock of the cores' own, at 1 Gb/s
flood     garbage as fast as the wire allows; fails where the board does not answer, or does not
          have all buffers, within 10 ms behind it
pictures  T's pictures to the board and back; fails where a frame is lost and repeated
pacing    measured on this machine, in real time, when the simulations have ended

The figures are kept in bench/results. With --write all tables but that of pacing replace those
between the markers of docs/nic.md. Exit: 1 when `flood` or `pictures` fails.
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

import kept
import machine
import nic_tables
from nic_tables import (
    CPU_MHZ,
    FLOOD_MS_MOST,
    PACING_OF_T,
    PICTURES,
    ROOT,
    SIZES,
    WIRES,
    Clock,
    Flood,
    Picture,
    Rate,
    Transfer,
    Wire,
)  # fmt: skip

OUT = ROOT / "out" / "rtl" / "sim"
T = TypeVar("T")

SAMPLEWIRE = ["--quiet", "--release", "-p", "samplewire-cli"]
PARTS = ("swap", "clock", "flood", "pictures", "pacing")
FRAMES, FRAMES_LONG, LONG = 5000, 1000, 512
# What each scheme needs of the board.
IMAGES = {3: "swap", 4: "block"}
# Images, and what they answer behind a flood.
PROBES = {"swap": "swap", "block": "block", "stack_apart": "arp"}
SEEDS = (1, 2, 3)
CLOCK_PAYLOAD = 64

RATE = re.compile(r"([0-9.]+) Mb/s of .*; ([0-9]+) of ([0-9]+) frames came back")
TRIP = re.compile(r"mean [0-9.]+ = ([0-9.]+) us")
FLOOD = re.compile(
    r"([0-9]+) frames, .* an answer ([0-9.]+) ms .* buffers free at ([0-9.]+) ms.* ([0-9]+) dropped"
)
PICTURE = re.compile(r"([0-9./]+) Mb/s, ([0-9.]+) pictures/s, most ([0-9./]+); ([0-9]+) repeated")


@dataclass
class Build:
    """A simulated board: how make builds it, and what it is called."""

    name: str
    cores: int
    memory: str
    burst: int = 16
    # Scheme 4: cycles behind each burst. A core takes a packet in less.
    gap: int = 0
    # NIC_1.1: the queues are in memory.
    rings: bool = False
    has_cpu_clock: bool = False

    def program(self, wire: Wire) -> Path:
        """Where make puts it."""
        kind = "" if self.memory == "local" else f"_{self.memory}"
        kind += "_rings" * self.rings + "_cpu" * self.has_cpu_clock
        return OUT / f"nic_soc_bench_{self.cores}_{wire.name}{kind}"

    def make(self, wire: Wire) -> None:
        """Build it; make detects whether that is needed."""
        make = ["make", "-s", "-f", "rtl/sim/Makefile", f"CORES={self.cores}"]
        make += ["RINGS=1"] * self.rings + ["CPU_CLOCK=1"] * self.has_cpu_clock
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

    def rate(self, wire: Wire, size: int, *options: str) -> Rate:
        """The rate of frames. Long frames at 1G are fewer: they take most cycles."""
        frames = FRAMES_LONG if wire.name == "1g" and size >= LONG else FRAMES
        found = self.run(
            wire, "swap", RATE, "rate", "--payload", str(size), "--frames", str(frames), *options
        )
        came, frames = int(found[2]), int(found[3])
        return {"mbps": float(found[1]), "lost": frames - came, "frames": frames}

    def trip(self, wire: Wire, size: int, *options: str) -> float:
        """Microseconds of a round trip."""
        return float(self.run(wire, "swap", TRIP, "rtt", "--payload", str(size), *options)[1])

    def clocked(self, wire: Wire, mhz: int) -> Clock:
        """The rate and the round trip of short frames with the cores' clock at so many MHz."""
        options = (*SWAP, "--cpu-mhz", str(mhz))
        rate = self.rate(wire, CLOCK_PAYLOAD, *options)
        return {"mhz": mhz, "rate": rate, "trip_us": self.trip(wire, CLOCK_PAYLOAD, *options)}

    def flood(self, wire: Wire, image: str, seed: int) -> Flood:
        """A flood of garbage, and the board behind it."""
        options = ("flood", "--probe", PROBES[image], "--ms", "10", "--seed", str(seed))
        found = self.run(wire, image, FLOOD, *options)
        return {
            "image": image, "frames": int(found[1]), "dropped": int(found[4]),
            "answer_ms": float(found[2]), "buffers_ms": float(found[3]),
        }  # fmt: skip

    def picture(self, wire: Wire, picture: Picture, scheme: int) -> Transfer:
        """A picture to the board and back."""
        burst, gap = (self.burst, 0) if scheme == 3 or not self.gap else (1, self.gap)
        found = self.run(
            wire, IMAGES[scheme], PICTURE, "picture", "--bytes", str(picture.bytes), "--scheme",
            str(scheme), "--rounds", str(picture.rounds), "--burst", str(burst), "--gap", str(gap),
        )  # fmt: skip
        return {
            "picture": picture.name, "scheme": scheme, "build": self.name,
            "cells": [found[1], found[2], found[3]], "repeated": int(found[4]),
        }  # fmt: skip


LOCAL = Build("one core, local memory", 1, "local")
OUTSIDE = Build("one core, memory outside", 1, "outside")
L2 = Build("one core, L2", 1, "l2")
BUILDS = (LOCAL, Build("two cores, local memory", 2, "local"), L2, OUTSIDE)
# As T has it, at 1G alone.
BUILDS_1_1 = tuple(
    Build(f"NIC_1.1, {build.name}", 1, build.memory, rings=True) for build in (OUTSIDE, LOCAL, L2)
)
CLOCKED = Build("one core with its own clock, local memory", 1, "local", has_cpu_clock=True)
SWAP = ("--swap", "1")
# Without the core: frames turn around in the MAC side, or in the NIC with its queues and memory.
MAC_LOOP, NIC_LOOP = ("--mode", "2"), ("--mode", "1")
NO_PROCESSOR = "no processor (NIC loop-back), local memory"


class Runs:
    """The runs at a wire. All are begun first, as many at a time as CPUs."""

    def __init__(self, wire: Wire, parts: list[str], pool: ThreadPoolExecutor) -> None:
        """Begin the runs."""
        self.wire, self.pool = wire, pool
        self.rates: dict[str, list[Future[Rate]]] = {}
        self.trips: dict[str, list[Future[float]]] = {}
        self.loops: dict[str, list[Future[float]]] = {}
        self.pictures: list[Future[Transfer]] = []
        self.clocks: list[Future[Clock]] = []
        self.floods: list[Future[Flood]] = []
        self.parts = [part for part in parts if part != "pacing"]
        if "swap" in parts:
            builds = builds_of(["swap"], wire)
            self.rates = {build.name: self.each(build.rate, *SWAP) for build in builds}
            self.rates[NO_PROCESSOR] = self.each(LOCAL.rate, *NIC_LOOP)
            self.rates["MAC loop-back"] = self.each(LOCAL.rate, *MAC_LOOP)
            self.trips = {build.name: self.each(build.trip, *SWAP) for build in builds}
            self.trips[NO_PROCESSOR] = self.each(LOCAL.trip, *NIC_LOOP)
            self.loops = {build.name: self.each(build.trip, *MAC_LOOP) for build in BUILDS}
        if "clock" in parts and wire.name == "1g":
            self.clocks = [pool.submit(CLOCKED.clocked, wire, mhz) for mhz in CPU_MHZ]
        if "flood" in parts:
            self.floods = [
                pool.submit(LOCAL.flood, wire, image, seed) for image in PROBES for seed in SEEDS
            ]
        if "pictures" in parts:
            self.pictures = [
                pool.submit(build.picture, wire, picture, scheme)
                for picture in PICTURES for scheme in IMAGES for build in self.picture_builds()
            ]  # fmt: skip

    def picture_builds(self) -> tuple[Build, ...]:
        """Those with room for a picture. At 10G memory outside has half of the wire's rate."""
        if self.wire.name == "1g":
            return OUTSIDE, L2
        return Build(OUTSIDE.name, 1, "outside", burst=8, gap=560), Build(L2.name, 1, "l2", gap=500)

    def each(self, run: Callable[..., T], *options: str) -> list[Future[T]]:
        """A run of each size."""
        return [self.pool.submit(run, self.wire, size, *options) for size in SIZES]

    def figures(self) -> dict[str, object]:
        """What each part has measured, when its runs have ended."""
        swap = {"rates": self.rates, "trips_us": self.trips, "loops_us": self.loops}
        results = {
            "swap": {
                name: {row: [cell.result() for cell in cells] for row, cells in rows.items()}
                for name, rows in swap.items()
            },
            "clock": [each.result() for each in self.clocks],
            "flood": [each.result() for each in self.floods],
            "pictures": [each.result() for each in self.pictures],
        }
        return {part: results[part] for part in self.parts if part != "clock" or self.clocks}


def builds_of(parts: list[str], wire: Wire) -> tuple[Build, ...]:
    """Those that the parts need."""
    is_1g = wire.name == "1g"
    if "swap" in parts:
        builds = (*BUILDS, *(BUILDS_1_1 if is_1g else ()))
    else:
        builds = ((LOCAL,) if "flood" in parts else ()) + (
            (OUTSIDE, L2) if "pictures" in parts else ()
        )
    return (*builds, CLOCKED) if "clock" in parts and is_1g else builds


def late_floods(figures: dict[str, dict]) -> list[Flood]:
    """Those behind which the board needs too long."""
    return [
        flood
        for parts in figures.values()
        for flood in parts.get("flood", ())
        if max(flood["answer_ms"], flood["buffers_ms"]) > FLOOD_MS_MOST
    ]


def repeated_pictures(figures: dict[str, dict]) -> list[Transfer]:
    """Those of which frames were lost and repeated."""
    return [
        transfer
        for parts in figures.values()
        for transfer in parts.get("pictures", ())
        if transfer["repeated"]
    ]


def measure_pacing() -> list[dict]:
    """The rows of `samplewire study pacing` for the waits of T."""
    requests = ",".join(PACING_OF_T)
    command = ["cargo", "run", *SAMPLEWIRE, "--", "study", "pacing", "--requests", requests]
    done = subprocess.run([*command, "--json"], cwd=ROOT, check=True, capture_output=True)
    return json.loads(done.stdout)["rows"]


def main() -> int:
    """Print the tables of each wire, and pacing."""
    parser = argparse.ArgumentParser(description="the NIC beside the figures of NIC_1.2")
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; all if none is named")
    parser.add_argument("--write", action="store_true", help="write the tables of docs/nic.md")
    parser.add_argument("--out", type=Path, help="default: bench/results/DATE-nic-MACHINE.json")
    arguments = parser.parse_args()
    parts = arguments.parts or list(PARTS)
    if unknown := sorted(set(parts) - set(PARTS)):
        parser.error(f"no part is called {unknown[0]}; there are {', '.join(PARTS)}")
    about = machine.describe(ROOT)
    began = time.monotonic()
    figures: dict[str, dict] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = [pool.submit(build.make, wire) for wire in WIRES for build in builds_of(parts, wire)]
        for each in made:
            each.result()
        if "pacing" in parts:
            subprocess.run(["cargo", "build", *SAMPLEWIRE], cwd=ROOT, check=True)
        built = time.monotonic()
        for runs in [Runs(wire, parts, pool) for wire in WIRES] if made else []:
            figures[runs.wire.name] = runs.figures()
            for marker, block in nic_tables.blocks(runs.wire, figures[runs.wire.name]).items():
                print(f"## {marker}\n\n{block}", flush=True)
    rest: dict[str, object] = {}
    if "pacing" in parts:
        rest["pacing"] = measure_pacing()
        print(f"## pacing\n\n{nic_tables.pacing_table(rest['pacing'])}")
    ended = time.monotonic()
    print(f"{built - began:.0f} s of builds, {ended - built:.0f} s of runs", file=sys.stderr)
    kind = "-".join(["nic", *(parts if arguments.parts else [])])
    path = kept.keep(kind, about, arguments.out, wires=figures, **rest)
    print(path, file=sys.stderr)
    if arguments.write:
        text = nic_tables.PAGE.read_text()
        nic_tables.PAGE.write_text(nic_tables.page(text, figures, path))
    late = late_floods(figures)
    for flood in late:
        print(f"later than {FLOOD_MS_MOST} ms behind a flood: {flood}", file=sys.stderr)
    repeated = repeated_pictures(figures)
    for transfer in repeated:
        print(f"frames were lost: {transfer}", file=sys.stderr)
    return 1 if late or repeated else 0


if __name__ == "__main__":
    sys.exit(main())

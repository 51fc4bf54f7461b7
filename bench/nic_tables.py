"""T's figures of its NIC, and the tables that have a run's figures beside them.

T is B. Sahu, Performance Optimization of a NIC for SoC Prototyping, IIT Bombay 2025; its tables are
named. Figures of a run are what JSON keeps, so that a table can be written from a kept result too.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from kept import ROOT

# Behind the library: a file there is called statistics.py.
sys.path.append(str(ROOT / "tools"))

import marked

PAGE = ROOT / "docs" / "nic.md"
WRITER = "bench/nic.py"
SIZES = (64, 128, 256, 512, 1024, 1486)
KB = 1024

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

# The goal behind a flood, for an answer and for all buffers.
FLOOD_MS_MOST = 10
# Of the cores' own clock.
CPU_MHZ = (80, 125, 200)

# How long Python's sleep takes: microseconds by the seconds that are requested.
PACING_OF_T = {
    "0": "4.25", "1e-323": "59.8", "1e-9": "56.8", "1e-8": "56.1", "1e-7": "55.9", "1e-6": "55.9",
    "1e-5": "66.2", "1e-4": "155", "1e-3": "1,050", "1e-2": "10,200", "1e-1": "100,000",
}  # fmt: skip


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


class Rate(TypedDict):
    """The rate of a size of frames, and how many of them did not come back."""

    mbps: float
    lost: int
    frames: int


class Swap(TypedDict):
    """By the names of their rows, a figure of each of `SIZES`."""

    rates: dict[str, list[Rate]]
    trips_us: dict[str, list[float]]
    # Of the MAC loop-back in the build of the same name.
    loops_us: dict[str, list[float]]


class Clock(TypedDict):
    """The rate and the round trip of frames of 64 bytes, with a clock of the cores."""

    mhz: int
    rate: Rate
    trip_us: float


class Flood(TypedDict):
    """A flood of garbage: its frames, those without room, and the times behind it."""

    image: str
    frames: int
    dropped: int
    answer_ms: float
    buffers_ms: float


class Transfer(TypedDict):
    """A picture to a board and back: `cells` are Mb/s, pictures/s and the most Mb/s."""

    picture: str
    scheme: int
    build: str
    cells: list[str]
    repeated: int


@dataclass
class Table:
    """A table in Markdown, with a line above it."""

    title: str
    head: list[str]
    # A mark of each column: left, right or as it is.
    marks: list[str]
    rows: list[list[str]]

    def __str__(self) -> str:
        lines = [self.head, self.marks, *self.rows]
        return "\n".join([self.title, "", *map(line, lines), ""])


def swap_tables(wire: Wire, swap: Swap) -> list[Table]:
    """T's tables of rates and round trips."""
    head, marks = ["", *map(str, SIZES)], ["---", *["--:"] * len(SIZES)]
    of_t = wire.name == "1g"
    rates = [
        [name, *(f"{v:.2f}" for v in THROUGHPUT_OF_T[name])] for name in THROUGHPUT_OF_T if of_t
    ]
    rates += [[f"here, {name}", *map(rate_cell, cells)] for name, cells in swap["rates"].items()]
    rates.append(["wire", *(f"{wire.mbps(size):.1f}" for size in SIZES)])
    trips = [[name, *short(TRIPS_OF_T[name])] for name in TRIPS_OF_T if of_t]
    trips += [[f"here, {name}", *map(two, cells)] for name, cells in swap["trips_us"].items()]
    first = next(iter(swap["loops_us"].values()))
    trips.append(["here, MAC loop-back", *map(two, first)])
    added = [[name, *short(ADDED_BY_T[name])] for name in ADDED_BY_T if of_t]
    for name, loops in swap["loops_us"].items():
        both = zip(swap["trips_us"][name], loops, strict=True)
        added.append([f"here, {name}", *(two(trip - loop) for trip, loop in both)])
    rate_title = (
        "Mb/s of payload by bytes of payload, `swap`, *simulated*; frames lost in brackets:"
    )
    added_title = "Microseconds that the board adds to the round trip of a MAC loop-back:"
    return [
        Table(rate_title, head, marks, rates),
        Table("Round trip, microseconds, `swap`, *simulated*:", head, marks, trips),
        Table(added_title, head, marks, added),
    ]


def picture_tables(wire: Wire, transfers: list[Transfer]) -> list[Table]:
    """T's tables 6.7 and 6.8."""
    of_t = wire.name == "1g"
    title = f"Mb/s to the board / back, wire {wire.mbps(1481, 19):.1f}"
    goal = "; goal 940 each way, 165 and 3.5 pictures/s" if of_t else ""
    rows: list[list[str]] = []
    before = None
    for each in transfers:
        picture, scheme = each["picture"], each["scheme"]
        if of_t and (picture, scheme) != before:
            known = next(one for one in PICTURES if one.name == picture)
            rows.append([picture, str(scheme), "T", *known.of_t[scheme]])
        before = picture, scheme
        mean, *others = each["cells"]
        mean += f" ({each['repeated']})" if each["repeated"] else ""
        rows.append([picture, str(scheme), f"here, {each['build']}", mean, *others])
    return [
        Table(
            f"{title}{goal}.\n*Simulated*; frames repeated in brackets:",
            ["picture", "scheme", "", "mean", "pictures/s", "maximum"],
            ["---", "--:", "---", "--:", "--:", "--:"],
            rows,
        )
    ]


def clock_tables(_: Wire, clocks: list[Clock]) -> list[Table]:
    """By the cores' clock."""
    return [
        Table(
            "`swap` on one core with a clock of its own, local memory, 64 bytes of payload, "
            "*simulated*:",
            ["MHz", *(str(each["mhz"]) for each in clocks)],
            ["---", *["--:"] * len(clocks)],
            [
                ["Mb/s", *(rate_cell(each["rate"]) for each in clocks)],
                ["round trip, microseconds", *(two(each["trip_us"]) for each in clocks)],
            ],
        )
    ]


def flood_tables(_: Wire, floods: list[Flood]) -> list[Table]:
    """By image, the longest of its seeds."""
    rows = []
    for image in dict.fromkeys(each["image"] for each in floods):
        runs = [each for each in floods if each["image"] == image]
        worst = max(runs, key=lambda each: each["buffers_ms"])
        answer = max(each["answer_ms"] for each in runs)
        counts = (f"{worst[key]:,}" for key in ("frames", "dropped"))
        rows.append([f"`{image}`", *counts, f"{answer:.3f}", f"{worst['buffers_ms']:.3f}"])
    return [
        Table(
            "One core, local memory, the longest of three seeds, *simulated*:",
            ["image", "frames", "dropped for lack of room", "answer, ms", "all buffers free, ms"],
            ["---", *["--:"] * 4],
            rows,
        )
    ]


def pacing_table(rows: list[dict]) -> Table:
    """T's table C.1 beside the rows of `samplewire study pacing`."""
    here = [
        [f"here, {name}", *(f"{each[name]['median_ns'] / 1000:,.2f}" for each in rows)]
        for name in ("sleep", "spin")
    ]
    return Table(
        "Actual waits by those requested, s: median, microseconds, *measured* on this machine:",
        ["", *PACING_OF_T],
        ["---", *["--:"] * len(PACING_OF_T)],
        [["T, sleep (C.1)", *PACING_OF_T.values()], *here],
    )


def blocks(wire: Wire, figures: dict) -> dict[str, str]:
    """What `docs/nic.md` has of the figures at a wire, by its markers."""
    of = {
        "swap": swap_tables,
        "clock": clock_tables,
        "flood": flood_tables,
        "pictures": picture_tables,
    }
    return {
        f"{part} at {wire.name.upper()}": "\n".join(map(str, of[part](wire, figures[part])))
        for part in of
        if part in figures
    }


def page(text: str, figures: dict[str, dict], kept: Path) -> str:
    """The text of `docs/nic.md` with the tables of the figures at each wire, kept in that file."""
    link = os.path.relpath(kept, PAGE.parent)
    for wire in WIRES:
        for marker, block in blocks(wire, figures.get(wire.name, {})).items():
            text = marked.replace(text, marker, WRITER, f"{block}\n([Runs]({link}))\n")
    return text


def rate_cell(rate: Rate) -> str:
    """Mb/s, and the frames that were lost."""
    lost = f" ({rate['lost']:,} of {rate['frames']:,})" if rate["lost"] else ""
    return f"{rate['mbps']:.1f}{lost}"


def two(value: float) -> str:
    """A figure with two decimals."""
    return f"{value:.2f}"


def short(values: tuple[int, ...]) -> list[str]:
    """T's figures, which end at 1,024 bytes."""
    return [str(value) for value in values] + ["-"] * (len(SIZES) - len(values))


def line(cells: list[str]) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(cells)} |"

"""What is measured, against what, and what must hold."""

from dataclasses import dataclass

STREAM = ("samplewire", "throughput")
RAW = ("samplewire-io", "raw_udp")
"""Cargo package and example of each program."""

WINDOW_PACKETS = 800


@dataclass(frozen=True, kw_only=True)
class Case:
    """One program with its arguments; every round runs it once."""

    name: str
    what: str
    program: tuple[str, str]
    arguments: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A median over the rounds that is reported.

    The rate of `case` in bit/s where `base` is None; else its ratio to the rate of `base`, taken
    round by round. `least` is what must hold, None where the figure is only told.
    """

    name: str
    case: str
    base: str | None = None
    least: float | None = None


@dataclass(frozen=True, kw_only=True)
class Group:
    """Cases that take turns in one run, and the figures they give."""

    payload_bytes: int
    why: str
    cases: tuple[Case, ...]
    figures: tuple[Figure, ...]


def stream(payload_bytes: int, name: str, what: str, *arguments: str) -> Case:
    size = ("--payload", str(payload_bytes), "--window", str(WINDOW_PACKETS))
    return Case(name=name, what=what, program=STREAM, arguments=(*size, *arguments))


def raw(payload_bytes: int, name: str, what: str, *arguments: str) -> Case:
    size = ("--payload", str(payload_bytes))
    return Case(name=name, what=what, program=RAW, arguments=(*size, *arguments))


def peers(payload_bytes: int) -> tuple[Case, ...]:
    return (
        stream(payload_bytes, "stream", "the stream as it comes"),
        raw(payload_bytes, "raw", "sendmmsg against recvmmsg"),
        raw(payload_bytes, "raw-offload", "the same with UDP_SEGMENT and UDP_GRO", "--gso", "--gro"),
        stream(payload_bytes, "stream-plain", "the stream without those two", "--no-offload"),
    )


def peer_figures(least: float | None) -> tuple[Figure, ...]:
    return (
        Figure(name="raw", case="raw"),
        Figure(name="raw with UDP_SEGMENT, UDP_GRO", case="raw-offload"),
        Figure(name="stream without the two", case="stream-plain"),
        Figure(name="stream / raw", case="stream", base="raw", least=least),
        Figure(name="stream / raw with the two", case="stream", base="raw-offload"),
        Figure(name="stream without the two / raw", case="stream-plain", base="raw"),
    )


def damaged(payload_bytes: int, name: str, what: str, share: float) -> Case:
    """Of all packets, either way, `share` are lost or corrupted, half each."""
    fault = f"loss={share / 2},corrupt={share / 2}"
    faults = ("--fault", f"data:{fault},seed=1", "--fault", f"feedback:{fault},seed=2")
    return stream(payload_bytes, name, what, *faults)


def damage_cases(payload_bytes: int) -> tuple[Case, ...]:
    return (
        damaged(payload_bytes, "lossless", "the fault layer draws for each packet, none", 1e-12),
        damaged(payload_bytes, "damaged-1e-3", "1e-3 of all packets damaged, each way", 1e-3),
        damaged(payload_bytes, "damaged-1e-2", "1e-2 of all packets damaged, each way", 1e-2),
    )


def damage_figures(least_1e3: float | None, least_1e2: float | None) -> tuple[Figure, ...]:
    return (
        Figure(
            name="1e-3 damaged / lossless", case="damaged-1e-3", base="lossless", least=least_1e3
        ),
        Figure(
            name="1e-2 damaged / lossless", case="damaged-1e-2", base="lossless", least=least_1e2
        ),
        Figure(name="lossless / stream", case="lossless", base="stream"),
        Figure(name="1e-3 damaged / stream", case="damaged-1e-3", base="stream"),
        Figure(name="1e-2 damaged / stream", case="damaged-1e-2", base="stream"),
    )


GROUPS = (
    Group(
        payload_bytes=8_000,
        why="jumbo frames",
        cases=peers(8_000),
        figures=(Figure(name="stream", case="stream", least=5e9), *peer_figures(None)),
    ),
    Group(
        payload_bytes=2_496,
        why="the RFSoC paper's 2,500, to the multiple of 8 that a payload must be",
        cases=(*peers(2_496), *damage_cases(2_496)),
        figures=(
            Figure(name="stream", case="stream"),
            *peer_figures(0.85),
            *damage_figures(0.95, 0.85),
        ),
    ),
    Group(
        payload_bytes=1_408,
        why="an MTU of 1,500",
        cases=(*peers(1_408), *damage_cases(1_408)),
        figures=(
            Figure(name="stream", case="stream"),
            *peer_figures(None),
            *damage_figures(None, None),
        ),
    ),
)

"""What is measured over loopback, against what, and what must hold."""

from turns import Case, Figure, Group

EXAMPLES = (("samplewire", "throughput"), ("samplewire-io", "raw_udp"))
"""Cargo package and example of each program."""

STREAM, RAW = (example for _, example in EXAMPLES)

WINDOW_PACKETS = 800


def stream(name: str, what: str, *arguments: str) -> Case:
    window = ("--window", str(WINDOW_PACKETS))
    return Case(name=name, what=what, program=STREAM, arguments=(*window, *arguments))


def raw(name: str, what: str, *arguments: str) -> Case:
    return Case(name=name, what=what, program=RAW, arguments=arguments)


def damaged(name: str, what: str, share: float) -> Case:
    """Of all packets, either way, `share` are lost or corrupted, half each."""
    fault = f"loss={share / 2},corrupt={share / 2}"
    faults = ("--fault", f"data:{fault},seed=1", "--fault", f"feedback:{fault},seed=2")
    return stream(name, what, *faults)


PEERS = (
    stream("stream", "the stream as it comes"),
    raw("raw", "sendmmsg against recvmmsg"),
    raw("raw-offload", "the same with UDP_SEGMENT and UDP_GRO", "--gso", "--gro"),
    stream("stream-plain", "the stream without those two", "--no-offload"),
)

DAMAGED = (
    damaged("lossless", "the fault layer draws for each packet, none", 1e-12),
    damaged("damaged-1e-3", "1e-3 of all packets damaged, each way", 1e-3),
    damaged("damaged-1e-2", "1e-2 of all packets damaged, each way", 1e-2),
)


def costs(cases: tuple[Case, ...]) -> tuple[Figure, ...]:
    return tuple(Figure(name=case.name, case=case.name, of="cpu_s_per_gb") for case in cases)


def peer_figures(least: float | None) -> tuple[Figure, ...]:
    return (
        Figure(name="raw", case="raw"),
        Figure(name="raw with UDP_SEGMENT, UDP_GRO", case="raw-offload"),
        Figure(name="stream without the two", case="stream-plain"),
        Figure(name="stream / raw", case="stream", base="raw", least=least),
        Figure(name="stream / raw with the two", case="stream", base="raw-offload"),
        Figure(name="stream without the two / raw", case="stream-plain", base="raw"),
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
        name="8000",
        payload_bytes=8_000,
        why="bytes of payload, jumbo frames",
        cases=PEERS,
        figures=(
            Figure(name="stream", case="stream", least=5e9),
            *peer_figures(None),
            *costs(PEERS),
        ),
    ),
    Group(
        name="2496",
        payload_bytes=2_496,
        why="the RFSoC paper's 2,500, to the multiple of 8 that a payload must be",
        cases=(*PEERS, *DAMAGED),
        figures=(
            Figure(name="stream", case="stream"),
            *peer_figures(0.85),
            *damage_figures(0.95, 0.85),
            *costs((*PEERS, *DAMAGED)),
        ),
    ),
    Group(
        name="1408",
        payload_bytes=1_408,
        why="bytes of payload, an MTU of 1,500",
        cases=(*PEERS, *DAMAGED),
        figures=(
            Figure(name="stream", case="stream"),
            *peer_figures(None),
            *damage_figures(None, None),
            *costs((*PEERS, *DAMAGED)),
        ),
    ),
)

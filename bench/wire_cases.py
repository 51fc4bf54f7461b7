"""What is measured over a wire, against what, and what must hold."""

from dataclasses import dataclass

import machine
from turns import Case, Figure, Group


@dataclass(frozen=True, kw_only=True)
class WireGroup(Group):
    """Cases that take turns over one wire."""

    mtu_bytes: int
    loss: float = 0.0
    """Of the packets in the direction of the data, the share that the wire loses."""
    has_gro: bool = False
    """Whether the receiver's kernel joins packets."""
    busy_loops: int = 0
    """Programs beside that only compute, one a core."""


STREAM = Case(
    name="stream",
    what="complete and in order, under a CRC, 4,096 packets of window",
    program="stream",
)
INLINE = Case(
    name="stream-inline",
    what="the same, one thread an end, which spins as raw's do",
    program="stream",
    arguments=("--waits", "inline"),
)
RAW = Case(name="raw", what="sendmmsg with UDP_SEGMENT, recvmmsg", program="raw")
RAW_JOINED = Case(
    name="raw-gro", what="the same with UDP_GRO on receiving", program="raw", arguments=("--gro",)
)
RAW_PACED = Case(
    name="raw-paced",
    what="raw at the rate of the stream's last run, neither end spins",
    program="raw-paced",
)
CUBIC = Case(name="tcp-cubic", what="iperf3", program="iperf3", arguments=("--congestion", "cubic"))
BBR = Case(name="tcp-bbr", what="iperf3", program="iperf3", arguments=("--congestion", "bbr"))
SRT = Case(name="srt", what="srt-file-transmit", program="srt")


def quic_case(library: str, congestion: str) -> Case:
    return Case(
        name=f"{library}-{congestion}",
        what="QUIC, encrypted",
        program=library,
        arguments=("--congestion", congestion),
    )


QUIC = tuple(
    quic_case(library, congestion)
    for library in ("quinn", "s2n-quic")
    for congestion in ("cubic", "bbr")
)
AERON = Case(name="aeron", what="UDP with the C media driver at both ends", program="aeron")

PEERS = (RAW, INLINE, STREAM, CUBIC, BBR, SRT, *QUIC, AERON)

BEYOND_WINDOW_MOST = 64 << 20
"""Bytes that both ends of a stream may have, together, beyond what their windows hold."""

CPU_MOST = 1.35

PACED_LEAST = 0.95
"""Of the stream's rate that the paced program must reach; CPU time at another rate says little."""


def rates(cases: tuple[Case, ...]) -> tuple[Figure, ...]:
    return tuple(Figure(name=case.name, case=case.name) for case in cases)


def costs(cases: tuple[Case, ...]) -> tuple[Figure, ...]:
    return tuple(Figure(name=case.name, case=case.name, of="cpu_s_per_gb") for case in cases)


def against(base: Case, least: float | None = None, of: Case = STREAM) -> Figure:
    """The rate of the stream, or of another case, as a ratio to a peer's."""
    return Figure(name=f"{of.name} / {base.name}", case=of.name, base=base.name, least=least)


MEMORY = Figure(
    name="stream, beyond the windows",
    case="stream",
    of="beyond_window_bytes",
    most=BEYOND_WINDOW_MOST,
)


def peers(
    name: str, why: str, loss: float, *, raw: float, bbr: float, cubic: float | None, quic: float
) -> WireGroup:
    """All peers at an MTU of 1,500; the words are the ratios that must hold."""
    return WireGroup(
        name=name,
        why=why,
        mtu_bytes=1_500,
        payload_bytes=1_408,
        loss=loss,
        cases=PEERS,
        figures=(
            *rates(PEERS),
            against(RAW, raw),
            against(RAW, raw, of=INLINE),
            against(BBR, bbr),
            against(CUBIC, cubic),
            against(SRT),
            *(against(case, quic) for case in QUIC),
            against(AERON),
            *costs(PEERS),
            MEMORY,
        ),
    )


def joined(name: str, why: str, loss: float, least: float | None) -> WireGroup:
    """Where the receiver's kernel joins packets."""
    cases = (RAW_JOINED, RAW, INLINE, STREAM)
    return WireGroup(
        name=name,
        why=why,
        mtu_bytes=1_500,
        payload_bytes=1_408,
        loss=loss,
        has_gro=True,
        cases=cases,
        figures=(
            *rates(cases),
            against(RAW_JOINED, least),
            against(RAW_JOINED, least, of=INLINE),
            against(RAW),
            *costs(cases),
            MEMORY,
        ),
    )


GROUPS = (
    peers("throughput", "MTU 1,500, no loss", 0.0, raw=0.85, bbr=0.90, cubic=None, quic=1.8),
    peers("loss-1e-3", "MTU 1,500, 1e-3 lost", 1e-3, raw=0.84, bbr=0.95, cubic=2.0, quic=1.8),
    peers("loss-1e-2", "MTU 1,500, 1e-2 lost", 1e-2, raw=0.82, bbr=1.0, cubic=10.0, quic=1.8),
    joined("gro", "MTU 1,500, no loss, the receiver's kernel joins packets", 0.0, 0.75),
    joined("gro-loss", "the same, 1e-3 lost before packets are joined", 1e-3, None),
    WireGroup(
        name="jumbo",
        why="MTU 9,000, no loss",
        mtu_bytes=9_000,
        payload_bytes=8_896,
        cases=(RAW, INLINE, STREAM, CUBIC, BBR),
        figures=(
            *rates((RAW, INLINE, STREAM, CUBIC, BBR)),
            against(RAW, 0.78),
            against(RAW, 0.78, of=INLINE),
            against(BBR),
            against(CUBIC),
            *costs((RAW, INLINE, STREAM, CUBIC, BBR)),
            MEMORY,
        ),
    ),
    WireGroup(
        name="busy",
        why="MTU 1,500, no loss, a busy loop on each core",
        mtu_bytes=1_500,
        payload_bytes=1_408,
        busy_loops=machine.CORES,
        cases=(STREAM, INLINE, BBR),
        figures=(
            *rates((STREAM, INLINE, BBR)),
            against(BBR, 1.0),
            against(BBR, of=INLINE),
            *costs((STREAM, INLINE, BBR)),
        ),
    ),
    WireGroup(
        name="cpu",
        why="MTU 1,500, no loss, raw at the rate that the stream reaches",
        mtu_bytes=1_500,
        payload_bytes=1_408,
        cases=(STREAM, RAW_PACED),
        figures=(
            *rates((STREAM, RAW_PACED)),
            Figure(
                name="rate, raw-paced / stream", case="raw-paced", base="stream", least=PACED_LEAST
            ),
            *costs((STREAM, RAW_PACED)),
            Figure(
                name="cpu s/GB, stream / raw-paced",
                case="stream",
                base="raw-paced",
                of="cpu_s_per_gb",
                most=CPU_MOST,
            ),
        ),
    ),
)

"""What `runtime.py` runs: chains of saxpy kernels in this runtime, by hand and in others.

Every program is given the same: M kernels of `y = a x + b` on f32, N floats a buffer, Q buffers, C
cores. `saxpy` is ours and runs the chain written by hand beside it, so each of its runs has both.
"""

from dataclasses import dataclass

import machine
from turns import Case, Unit

SAMPLES = Unit(scale=1e9, name="Gsample/s")
BUFFERS = Unit(scale=1e6, name="M buffers/s")
MICROSECONDS = Unit(scale=1e3, name="us")

FLOATS = 4_096


@dataclass(frozen=True, kw_only=True)
class Table:
    """Cases that take turns, and how their runs are reported."""

    name: str
    why: str
    cases: tuple[Case, ...]
    of: str = "samples_per_s"
    """What of that a program prints; `hand_written_` and this is of what was done by hand."""
    unit: Unit = SAMPLES
    ours: str = ""
    """The case that the others are compared with."""
    cores: int = 1


def case(name: str, program: str, what: str = "", **options: object) -> Case:
    words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    return Case(name=name, what=what, program=program, arguments=tuple(words))


def one_core(kernels: int) -> Table:
    chain = {"kernels": kernels, "floats": FLOATS, "cores": 1}
    return Table(
        name=f"one-core-{kernels}",
        why=f"M = {kernels}, {FLOATS:,} floats a buffer",
        ours="samplewire Q=8",
        cases=(
            case("samplewire Q=2", "saxpy", schedule="sequence", quanta=2, **chain),
            case("samplewire Q=8", "saxpy", schedule="sequence", quanta=8, **chain),
            case("samplewire async", "saxpy", schedule="async", quanta=8, **chain),
            case("samplewire fused", "saxpy", "one block", schedule="fused", quanta=8, **chain),
            case("futuresdr default", "futuresdr", "its buffers", schedule="default", **chain),
            case("futuresdr Q=2", "futuresdr", "a local domain", buffers=2, **chain),
            case("futuresdr Q=8", "futuresdr", "a local domain", buffers=8, **chain),
            case("futuresdr smol", "futuresdr", schedule="smol", buffers=8, **chain),
            case("gnuradio", "gnuradio", "a block a kernel", **chain),
            case("gnuradio own", "gnuradio", "its own blocks, two a kernel", blocks="two", **chain),
        ),
    )


def two_cores(kernels: int) -> Table:
    chain = {"kernels": kernels, "floats": FLOATS, "cores": 2}
    in_order = {"schedule": "in-order", "quanta": 32, **chain}
    return Table(
        name=f"two-cores-{kernels}",
        why=f"M = {kernels}: a stage a core, whole buffers on either, or as the scheduler likes",
        ours="samplewire quantum",
        cores=2,
        cases=(
            case("samplewire stage", "saxpy", schedule="stage", quanta=8, **chain),
            case("samplewire quantum", "saxpy", schedule="quantum", quanta=8, **chain),
            case("samplewire in order", "saxpy", **in_order),
            case("in order, to by hand", "saxpy", **in_order, **{"by-hand": "in-order"}),
            case("samplewire async", "saxpy", schedule="async", quanta=8, **chain),
            case("futuresdr default", "futuresdr", "its buffers", schedule="default", **chain),
            case("futuresdr smol", "futuresdr", schedule="smol", buffers=16, **chain),
            case("futuresdr flow", "futuresdr", schedule="flow", buffers=16, **chain),
            case("gnuradio free", "gnuradio", schedule="free", **chain),
            case("gnuradio stage", "gnuradio", schedule="stage", **chain),
        ),
    )


def sizes() -> Table:
    cases = []
    for floats in (256, 1_024, 4_096, 16_384, 65_536):
        chain = {"kernels": 1, "floats": floats, "cores": 1}
        cases += [
            case(f"samplewire {floats}", "saxpy", schedule="sequence", quanta=2, **chain),
            case(f"futuresdr {floats}", "futuresdr", buffers=8, **chain),
            case(f"gnuradio {floats}", "gnuradio", **chain),
        ]
    return Table(name="sizes", why="floats a buffer, one core, M = 1", cases=tuple(cases))


def sweep() -> Table:
    cases = []
    for kernels in (1, 2, 4, 8, 16):
        for cores in (1, 2):
            for schedule in ("sequence",) if cores == 1 else ("stage", "quantum", "in-order"):
                name = f"samplewire {kernels}x{cores} {schedule}"
                chain = {"kernels": kernels, "floats": FLOATS, "cores": cores}
                cases.append(case(name, "saxpy", schedule=schedule, quanta=8, **chain))
    return Table(name="sweep", why="kernels x cores, Q = 8", cores=2, cases=tuple(cases))


def rings() -> Table:
    return Table(
        name="rings",
        why="buffers that two pinned threads hand on untouched; and copied instead, on one core",
        of="buffers_per_s",
        unit=BUFFERS,
        cores=2,
        cases=(
            case("samplewire Q=2", "rings", cores=2, quanta=2, floats=FLOATS),
            case("samplewire Q=8", "rings", cores=2, quanta=8, floats=FLOATS),
            case("samplewire copy", "rings", schedule="copy", quanta=2, floats=FLOATS),
        ),
    )


def bursts(quantile: str) -> Table:
    return Table(
        name=f"burst-{quantile}",
        why="from its source through one kernel to its sink, one core, after a sleep",
        of=f"{quantile}_ns",
        unit=MICROSECONDS,
        cases=tuple(
            case(f"samplewire {quanta} quanta", "burst", quanta=quanta, kernels=1, floats=FLOATS)
            for quanta in (1, 8)
        ),
    )


TABLES = (
    one_core(1),
    one_core(4),
    one_core(16),
    two_cores(1),
    two_cores(4),
    two_cores(16),
    sizes(),
    sweep(),
    rings(),
    bursts("p50"),
    bursts("p99"),
)


def select(names: list[str]) -> list[Table]:
    """The tables whose names begin with one of these words, all without words; fewer on a machine
    with fewer cores."""
    return [
        table
        for table in TABLES
        if table.cores <= machine.CORES
        and (not names or any(table.name.startswith(name) for name in names))
    ]

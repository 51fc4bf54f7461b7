"""axis_arbiter: whole frames of every port, in turn or by priority."""

import random
from types import SimpleNamespace

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from runner import run

NAMES = ("tdata", "tkeep", "tvalid", "tready", "tlast", "tuser")


class PortSource(Source):
    """A source whose signals are lanes of the module's: it keeps values, Ports sets them."""

    def __init__(self, size: int):
        class Lane:
            value = 0

        lanes = {f"s_{name}": Lane() for name in NAMES}
        lanes["s_tkeep"] = type("Keep", (Lane,), {"__len__": lambda _: size})()
        super().__init__(SimpleNamespace(**lanes), "s")


class Ports:
    """Drives the lanes of several sources as one."""

    def __init__(self, dut, count: int):
        self.dut = dut
        self.sources = [PortSource(len(dut.m_axis_tkeep)) for _ in range(count)]

    def drive(self):
        size = self.sources[0].size
        for source in self.sources:
            source.drive()
        for name, bits in (
            ("tdata", 8 * size), ("tkeep", size), ("tvalid", 1), ("tlast", 1), ("tuser", 1)
        ):  # fmt: skip
            value = 0
            for i, source in enumerate(self.sources):
                value |= getattr(source, name[1:]).value << i * bits
            getattr(self.dut, f"s_axis_{name}").value = value

    def after(self, now: int):
        ready = self.dut.s_axis_tready.value.to_unsigned()
        for i, source in enumerate(self.sources):
            source.ready.value = ready >> i & 1
            source.after(now)


async def start(dut):
    count = len(dut.s_axis_tvalid)
    ports, sink = Ports(dut, count), Sink(dut, "m_axis")
    bench = Bench(dut.clk_i, [ports, sink])
    dut.rst_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
    await bench.run(4)
    dut.rst_i.value = 0
    return ports.sources, sink, bench


def frames_of(port: int, count: int) -> list[tuple[bytes, int]]:
    return [
        (bytes([port]) + random.randbytes(random.randrange(0, 80)), random.getrandbits(1))
        for _ in range(count)
    ]


@cocotb.test()
async def frames_of_each_port_leave_whole_and_in_order(dut):
    sources, sink, bench = await start(dut)
    for odds, ready in ((1.0, 1.0), (0.5, 0.7), (0.2, 1.0), (0.9, 0.3)):
        sink.odds = ready
        want = {}
        for port, source in enumerate(sources):
            source.odds = odds
            want[port] = frames_of(port, 40)
            for frame, user in want[port]:
                source.put(frame, user)
        total = sum(map(len, want.values()))
        await bench.until(lambda total=total: len(sink.frames) == total)
        got = sink.take()
        for port in want:
            assert [f for f in got if f[0][0] == port] == want[port]


@cocotb.test()
async def busy_ports_share_or_the_lowest_goes_first(dut):
    sources, sink, bench = await start(dut)
    for port, source in enumerate(sources):
        for _ in range(20):
            source.put(bytes([port]) * 24)
    await bench.until(lambda: len(sink.frames) == 20 * len(sources))
    order = [f[0] for f, _ in sink.frames]
    if dut.Priority.value:
        assert order == [port for port in range(len(sources)) for _ in range(20)]
    else:
        assert order == list(range(len(sources))) * 20
        # No idle cycle between frames of ports that wait.
        assert sink.done[-1] - sink.first[0] + 1 == 3 * 20 * len(sources)


@pytest.mark.parametrize(
    ("ports", "priority"), [(3, 0), *(pytest.param(*c, marks=pytest.mark.full) for c in (
        (4, 1), (2, 0), (5, 0)))],
)  # fmt: skip
def test_axis_arbiter(ports, priority):
    run(
        "axis_arbiter",
        sources=["axis_arbiter"],
        test_module="test_axis_arbiter",
        parameters={"Ports": ports, "Priority": priority},
    )

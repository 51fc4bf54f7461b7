"""rx_demux: each frame goes to the output of its port, all else to the lossy default output."""

import random
from types import SimpleNamespace

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from runner import run

STREAM, ROCE = 6007, 4791


class PortSink(Sink):
    """A named output: valid and ready are its lanes of the module's."""

    def __init__(self, dut, valid, ready):
        names = [f"m_axis_{name}" for name in ("tdata", "tkeep", "tlast", "tuser")]
        lanes = {name: getattr(dut, name) for name in names}
        lanes |= {"m_axis_tvalid": valid, "m_axis_tready": ready}
        super().__init__(SimpleNamespace(**lanes), "m_axis")


class Outputs:
    """The named outputs, which share data."""

    def __init__(self, dut):
        self.dut = dut
        lane = lambda: SimpleNamespace(value=0)  # noqa: E731
        self.sinks = [PortSink(dut, lane(), lane()) for _ in range(2)]

    def drive(self):
        ready = 0
        for i, sink in enumerate(self.sinks):
            sink.drive()
            ready |= sink.ready.value << i
        self.dut.m_axis_tready.value = ready

    def after(self, now: int):
        valid = self.dut.m_axis_tvalid.value.to_unsigned()
        for i, sink in enumerate(self.sinks):
            sink.valid.value = valid >> i & 1
            sink.after(now)


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.source, self.outputs = Source(dut, "s_axis"), Outputs(dut)
        self.rest = Sink(dut, "d_axis")
        self.bench = Bench(dut.clk_i, [self.source, self.outputs, self.rest, self])
        self.kinds: list[dict] = []
        self.want: dict = {0: [], 1: [], None: []}
        self.events = dict.fromkeys(("kept", "bad", "no_room", "cut"), 0)
        self.source.on_beat = self._describe

    def _describe(self, frame: int, at: int):
        """What a frame is stands beside its first beat, and nothing beside the others."""
        kind = self.kinds[frame] if at == 0 else {
            "ours": random.getrandbits(1), "udp": 1, "fragment": 0, "port": STREAM}  # fmt: skip
        self.dut.is_ours_i.value = kind["ours"]
        self.dut.is_udp_i.value = kind["udp"]
        self.dut.is_fragment_i.value = kind["fragment"]
        self.dut.port_i.value = kind["port"]

    def drive(self):
        pass

    def after(self, now: int):
        for name in self.events:
            self.events[name] += int(getattr(self.dut, f"ev_{name}_o").value)

    async def start(self):
        self.dut.rst_i.value = 1
        self.dut.ports_i.value = ROCE << 16 | STREAM
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        await self.bench.run(4)
        self.dut.rst_i.value = 0

    def put(self, *, ours=1, udp=1, fragment=0, port=STREAM, bad=0, length=None):
        frame = random.randbytes(length or random.randrange(1, 150))
        self.kinds.append({"ours": ours, "udp": udp, "fragment": fragment, "port": port})
        to = {STREAM: 0, ROCE: 1}.get(port) if ours and udp and not fragment else None
        if not (to is None and bad):
            self.want[to].append((frame, bad))
        self.source.put(frame, bad)

    def check(self):
        for i, sink in enumerate(self.outputs.sinks):
            assert sink.take() == self.want[i] and sink.empty()
        assert self.rest.take() == self.want[None] and self.rest.empty()


@cocotb.test()
async def each_frame_goes_to_its_output(dut):
    tb = TB(dut)
    await tb.start()
    for odds, ready in ((1.0, 1.0), (0.6, 1.0), (0.6, 0.5)):
        tb.source.odds = odds
        for sink in tb.outputs.sinks:
            sink.odds = ready
        for port in (STREAM, ROCE, 53):
            for bad in (0, 1):
                tb.put(port=port, bad=bad)
                tb.put(port=port, bad=bad, udp=0)
                tb.put(port=port, bad=bad, ours=0)
                tb.put(port=port, bad=bad, fragment=1)
        for _ in range(60):
            tb.put(ours=int(random.random() < 0.8), udp=int(random.random() < 0.8),
                   fragment=int(random.random() < 0.2), port=random.choice([STREAM, ROCE, 53]),
                   bad=int(random.random() < 0.2))  # fmt: skip
        await tb.bench.until(tb.source.empty)
        await tb.bench.run(300)
    tb.check()
    assert tb.events["no_room"] == tb.events["cut"] == 0 and tb.events["bad"] > 0


@cocotb.test()
async def default_output_that_waits_holds_nothing_back(dut):
    tb = TB(dut)
    await tb.start()
    tb.rest.odds = 0.0
    for _ in range(200):
        tb.put(port=53, length=100)
        tb.put(port=ROCE)
        tb.put(fragment=1, length=100)
    await tb.bench.until(tb.source.empty, limit=20_000)
    await tb.bench.run(10)
    assert [f for f, _ in tb.outputs.sinks[1].frames] == [f for f, _ in tb.want[1]]
    assert tb.events["no_room"] > 300
    # What it kept are whole frames, in order.
    tb.rest.odds = 1.0
    await tb.bench.run(400)
    left = iter(tb.want[None])
    assert len(tb.rest.frames) == tb.events["kept"]
    assert all(any(f == g for g in left) for f in tb.rest.frames)


@cocotb.test()
async def named_output_that_waits_holds_back_and_loses_nothing(dut):
    tb = TB(dut)
    await tb.start()
    tb.outputs.sinks[0].odds = 0.0
    for _ in range(10):
        tb.put(port=STREAM)
        tb.put(port=53)
    await tb.bench.run(200)
    assert len(tb.source.taken) == 0 or not tb.rest.frames
    tb.outputs.sinks[0].odds = 1.0
    await tb.bench.until(tb.source.empty)
    await tb.bench.run(100)
    tb.check()


@pytest.mark.parametrize("width", [64, pytest.param(512, marks=pytest.mark.full)])
def test_rx_demux(width):
    run(
        "rx_demux",
        sources=["rx_demux", "frame_fifo"],
        test_module="test_rx_demux",
        parameters={"W": width, "DefaultBeats": 128},
    )

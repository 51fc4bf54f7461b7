"""axis_width: frames of any length keep their bytes, both ways."""

import random

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from runner import run


@cocotb.test()
async def frames_keep_their_bytes(dut):
    source, sink = Source(dut, "s_axis"), Sink(dut, "m_axis")
    bench = Bench(dut.clk_i, [source, sink])
    dut.rst_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
    await bench.run(4)
    dut.rst_i.value = 0
    narrow = min(source.size, sink.size)
    for odds in ((1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.6, 0.3)):
        source.odds, sink.odds = odds
        sizes = [*range(1, 2 * max(source.size, sink.size) + 2), 1000]
        random.shuffle(sizes)
        want = [(random.randbytes(n), random.getrandbits(1)) for n in sizes]
        for frame, user in want:
            source.put(frame, user)
        begun = bench.now
        await bench.until(lambda want=want: len(sink.frames) == len(want))
        if odds == (1.0, 1.0):
            # A beat a cycle on the narrow side.
            assert bench.now - begun <= sum(-(-n // narrow) for n in sizes) + 4
        assert sink.take() == want and sink.empty()


@cocotb.test()
async def reset_in_mid_frame_leaves_nothing(dut):
    source = Source(dut, "s_axis")
    bench = Bench(dut.clk_i, [source])
    dut.rst_i.value = 1
    dut.m_axis_tready.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
    await bench.run(4)
    for cycles in range(1, 12):
        dut.rst_i.value = 0
        source.put(random.randbytes(1000))
        await bench.run(cycles)
        dut.rst_i.value = 1
        source.reset()
        await bench.run(1)
        dut.rst_i.value = 0
        sink = Sink(dut, "m_axis")
        bench.parts = [source, sink]
        await bench.run(10)
        assert sink.frames == [] and sink.empty()
        frame = random.randbytes(random.randrange(1, 200))
        source.put(frame)
        await bench.until(lambda sink=sink: bool(sink.frames))
        assert sink.take() == [(frame, 0)] and sink.empty()
        bench.parts = [source]
        dut.m_axis_tready.value = 0


@pytest.mark.parametrize(
    ("slave", "master"),
    [(64, 512), (512, 64), *(pytest.param(*w, marks=pytest.mark.full) for w in (
        (64, 128), (512, 128), (64, 192)))],
)  # fmt: skip
def test_axis_width(slave, master):
    run(
        "axis_width",
        sources=["axis_width"],
        test_module="test_axis_width",
        parameters={"SlaveW": slave, "MasterW": master},
    )

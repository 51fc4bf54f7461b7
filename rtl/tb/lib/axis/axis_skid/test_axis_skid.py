"""axis_skid: nothing is lost or changed, a beat a cycle, ready is a register."""

import random

import cocotb
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from cocotb.triggers import Timer
from runner import run


async def start(dut):
    source, sink = Source(dut, "s_axis"), Sink(dut, "m_axis")
    bench = Bench(dut.clk_i, [source, sink])
    dut.rst_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
    await bench.run(4)
    dut.rst_i.value = 0
    return source, sink, bench


@cocotb.test()
async def frames_pass_whatever_waits(dut):
    source, sink, bench = await start(dut)
    for odds in ((1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.5, 0.5), (0.9, 0.2)):
        source.odds, sink.odds = odds
        want = [
            (random.randbytes(random.randrange(1, 60)), random.getrandbits(1)) for _ in range(60)
        ]
        for frame, user in want:
            source.put(frame, user)
        begun = bench.now
        await bench.until(lambda want=want: len(sink.frames) == len(want))
        beats = sum(-(-len(f) // 8) for f, _ in want)
        if odds == (1.0, 1.0):
            assert bench.now - begun <= beats + 3
        assert sink.take() == want and sink.empty()


@cocotb.test()
async def ready_is_a_register(dut):
    source, sink, bench = await start(dut)
    source.put(random.randbytes(400))
    for _ in range(20):
        await bench.cycle()
        ready = int(dut.s_axis_tready.value)
        for value in (0, 1, 0):
            dut.m_axis_tready.value = value
            await Timer(1, "ns")
            assert dut.s_axis_tready.value == ready
        dut.m_axis_tready.value = int(sink._is_ready)
        await Timer(1, "ns")


def test_axis_skid():
    run("axis_skid", sources=["axis_skid"], test_module="test_axis_skid")

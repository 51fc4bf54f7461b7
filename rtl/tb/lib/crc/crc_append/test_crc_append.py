"""crc_append: RoCE's ICRC against scapy's frames, our own CRC; any length, any wait."""

import random

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from network import crc32c
from roce_frames import roce_frame
from runner import run


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.width = len(dut.s_axis_tdata)
        self.source, self.sink = Source(dut, "s_axis"), Sink(dut, "m_axis")
        self.bench = Bench(dut.clk_i, [self.source, self.sink])
        self.want: list[bytes] = []

    async def start(self):
        self.dut.rst_i.value = 1
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        await self.bench.run(4)
        self.dut.rst_i.value = 0

    def put(self, payload_bytes: int):
        """A frame with its CRC is wanted; without it the frame is sent."""
        if self.dut.Roce.value:
            frame = roce_frame(random.randbytes(payload_bytes))
        else:
            frame = random.randbytes(42 + payload_bytes)
            frame += crc32c(frame[42:]).to_bytes(4, "big")
        self.want.append(frame)
        self.source.put(frame[:-4])

    async def drain(self):
        await self.bench.until(lambda: len(self.sink.frames) == len(self.want))
        await self.bench.run(20)
        assert [f for f, _ in self.sink.take()] == self.want and self.sink.empty()
        self.want = []


@cocotb.test()
async def crc_is_right_behind_any_byte_whatever_waits(dut):
    tb = TB(dut)
    await tb.start()
    for source, sink in ((1.0, 1.0), (0.6, 1.0), (1.0, 0.5), (0.5, 0.3)):
        tb.source.odds, tb.sink.odds = source, sink
        for size in random.sample(range(1, 140), 139) if source == sink == 1.0 else range(1, 70):
            tb.put(size)
        tb.put(1024)
        await tb.drain()


@cocotb.test()
async def only_a_crc_that_does_not_fit_costs_a_cycle(dut):
    tb = TB(dut)
    await tb.start()
    for size in range(1, 65):
        for _ in range(3):
            tb.put(256 + size)
        await tb.bench.until(lambda: len(tb.sink.frames) == 3)
        length = len(tb.want[0])
        beats = -(-length // (tb.width // 8))
        assert tb.sink.done[2] - tb.sink.done[1] == beats, "a frame takes as many cycles as beats"
        await tb.drain()


@cocotb.test()
async def latency_is_what_the_header_says(dut):
    tb = TB(dut)
    await tb.start()
    tb.put(300)
    begun = tb.bench.now + 1
    await tb.bench.until(lambda: tb.sink.first)
    assert tb.sink.first[0] - begun == 4 + (tb.width // 8).bit_length() - 1
    await tb.drain()


@cocotb.test()
async def reset_in_mid_frame_leaves_a_clean_start(dut):
    tb = TB(dut)
    await tb.start()
    tb.put(500)
    await tb.bench.run(random.randrange(1, 20))
    dut.rst_i.value = 1
    tb.source.reset()
    tb.want = []
    tb.sink = Sink(dut, "m_axis")
    tb.bench.parts = [tb.source]
    await tb.bench.run(2)
    dut.rst_i.value = 0
    tb.bench.parts = [tb.source, tb.sink]
    for size in (3, 70, 9):
        tb.put(size)
    await tb.drain()


@pytest.mark.parametrize(
    ("width", "roce"),
    [(64, 1), *(pytest.param(w, r, marks=pytest.mark.full) for w, r in (
        (512, 1), (64, 0), (128, 0), (512, 0)))],
)  # fmt: skip
def test_crc_append(width, roce):
    run(
        "crc_append_tb",
        sources=["crc_append", "rtl/tb/lib/crc/crc_append/crc_append_tb.sv"],
        test_module="test_crc_append",
        parameters={"W": width, "Roce": roce},
    )

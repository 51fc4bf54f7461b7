"""crc_insert: the CRC over what came in its place, RoCE's against scapy's frames."""

import random

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from network import crc32c
from roce_frames import roce_frame
from runner import run


@cocotb.test()
async def crc_replaces_what_came(dut):
    source, sink = Source(dut, "s_axis"), Sink(dut, "m_axis")
    bench = Bench(dut.clk_i, [source, sink])
    dut.rst_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
    await bench.run(4)
    dut.rst_i.value = 0
    want = []
    for odds in (1.0, 0.5):
        source.odds, sink.odds = odds, odds
        for beats in (1, 2, 3, 4, 9, 20, 100):
            # The frame is 4 bytes longer than whole beats.
            if dut.Roce.value:
                frame = roce_frame(random.randbytes(8 * beats + 2))
            else:
                frame = random.randbytes(42 + 6 + 8 * beats)
                frame += crc32c(frame[42:]).to_bytes(4, "big")
            assert len(frame) % 8 == 4
            want.append(frame)
            source.put(frame[:-4] + random.randbytes(4))
        await bench.until(lambda: len(sink.frames) == len(want))
    assert [f for f, _ in sink.frames] == want


@pytest.mark.parametrize("roce", [1, pytest.param(0, marks=pytest.mark.full)])
def test_crc_insert(roce):
    run(
        "crc_insert_tb",
        sources=["crc_insert", "rtl/tb/lib/crc/crc_insert/crc_insert_tb.sv"],
        test_module="test_crc_insert",
        parameters={"Roce": roce},
    )

"""header_crc, crc_beats and crc_combine: together the CRC of a packet, of either polynomial."""

import random
import zlib

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from network import crc32c
from runner import run


@cocotb.test()
async def parts_join_to_the_crc_of_the_whole(dut):
    size = len(dut.beat_i) // 8
    model = zlib.crc32 if dut.Ethernet.value else crc32c
    for signal in (dut.word_valid_i, dut.beat_valid_i, dut.start_i, dut.step_i):
        signal.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
    for words, beats in [(1, 2), (5, 2), (7, 3), (12, 4096 // size), *(
        (random.randrange(1, 20), random.randrange(2, 40)) for _ in range(20))]:  # fmt: skip
        head, payload = random.randbytes(4 * words), random.randbytes(size * beats)
        await FallingEdge(dut.clk_i)
        for k in range(words):
            dut.word_valid_i.value, dut.word_first_i.value = 1, int(k == 0)
            dut.word_i.value = int.from_bytes(head[4 * k : 4 * k + 4], "big")
            await FallingEdge(dut.clk_i)
        dut.word_valid_i.value = 0
        for k in range(beats):
            dut.beat_valid_i.value, dut.beat_first_i.value = 1, int(k == 0)
            dut.beat_i.value = int.from_bytes(payload[size * k : size * (k + 1)], "little")
            await FallingEdge(dut.clk_i)
            dut.beat_valid_i.value = 0
            while random.random() < 0.2:
                await FallingEdge(dut.clk_i)
        await FallingEdge(dut.clk_i)
        dut.start_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.start_i.value, dut.step_i.value = 0, 1
        for _ in range(8):
            await FallingEdge(dut.clk_i)
        dut.step_i.value = 0
        assert int(dut.crc_o.value) == model(head + payload), (words, beats)


@pytest.mark.parametrize(
    ("width", "ethernet"),
    [(64, 1), *(pytest.param(w, e, marks=pytest.mark.full) for w, e in ((512, 1), (64, 0)))],
)
def test_crc_join(width, ethernet):
    run(
        "crc_join_tb",
        sources=["header_crc", "crc_beats", "crc_combine", "crc_step64",
                 "rtl/tb/lib/crc/crc_join/crc_join_tb.sv"],
        test_module="test_crc_join",
        parameters={"W": width, "Ethernet": ethernet},
    )  # fmt: skip

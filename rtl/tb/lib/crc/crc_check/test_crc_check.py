"""crc_check: right and wrong CRCs behind any byte, RoCE's ICRC against scapy's frames."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from network import crc32c
from roce_frames import MASKED, roce_frame
from runner import run


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.size = len(dut.data_i) // 8
        self.left_max = (1 << len(dut.left_i)) - 1
        self.delay = 2 if self.size == 8 else 3

    async def start(self):
        self.dut.valid_i.value = 0
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        await FallingEdge(self.dut.clk_i)

    def frame(self, payload_bytes: int) -> bytes:
        if self.dut.Roce.value:
            return roce_frame(random.randbytes(payload_bytes))
        frame = random.randbytes(42 + payload_bytes)
        return frame + crc32c(frame[42:]).to_bytes(4, "big")

    async def judge(self, frame: bytes, *, idle: float, padding: int = 0) -> bool:
        """Sends a frame and padding; whether its CRC was found right."""
        dut, size = self.dut, self.size
        padded = frame + bytes(padding)
        for at in range(0, len(padded), size):
            while random.random() < idle:
                dut.valid_i.value = 0
                await FallingEdge(dut.clk_i)
            following = padded[at + size : at + size + 3]
            dut.valid_i.value = 1
            dut.beat_i.value = min(at // size, 15)
            dut.data_i.value = int.from_bytes(padded[at : at + size], "little")
            dut.next_i.value = int.from_bytes(following, "little")
            dut.left_i.value = min(max(len(frame) - at, 0), self.left_max)
            await FallingEdge(dut.clk_i)
        dut.valid_i.value = 0
        for _ in range(self.delay - 1):
            await FallingEdge(dut.clk_i)
        return dut.ok_o.value == 1


@cocotb.test()
async def right_crc_passes_and_a_flipped_bit_fails(dut):
    tb = TB(dut)
    await tb.start()
    start = 14 if dut.Roce.value else 42
    for size in [*range(1, 140), 1000, 4096]:
        frame = tb.frame(size)
        idle = random.choice([0, 0, 0.4])
        padding = random.choice([0, 0, 8, 70])
        assert await tb.judge(frame, idle=idle, padding=padding), size
        some = random.randrange(start, len(frame))
        at = random.choice([start, len(frame) - 1, len(frame) - 5, some])
        masked = bool(dut.Roce.value) and at in MASKED
        flipped = bytearray(frame)
        flipped[at] ^= 1 << random.randrange(8)
        assert await tb.judge(bytes(flipped), idle=idle, padding=padding) == masked, (size, at)


@cocotb.test()
async def bytes_outside_the_crc_do_not_count(dut):
    tb = TB(dut)
    await tb.start()
    outside = [*range(14), *MASKED] if dut.Roce.value else list(range(42))
    for at in outside:
        flipped = bytearray(tb.frame(50))
        flipped[at] ^= 1 << random.randrange(8)
        assert await tb.judge(bytes(flipped), idle=0), at
    for at in (16, 21, 23, 26, 39, 42, 45, 47) if dut.Roce.value else ():
        flipped = bytearray(tb.frame(50))
        flipped[at] ^= 1 << random.randrange(8)
        assert not await tb.judge(bytes(flipped), idle=0), at


@pytest.mark.parametrize(
    ("width", "roce"),
    [(64, 1), (64, 0), *(pytest.param(w, r, marks=pytest.mark.full) for w, r in (
        (512, 1), (128, 1), (256, 1), (128, 0), (512, 0)))],
)  # fmt: skip
def test_crc_check(width, roce):
    run(
        "crc_check_tb",
        sources=["crc_check", "crc_step64", "rtl/tb/lib/crc/crc_check/crc_check_tb.sv"],
        test_module="test_crc_check",
        parameters={"N": width, "Roce": roce},
    )

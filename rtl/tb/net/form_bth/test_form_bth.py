"""form_bth behind eth_ip_check: scapy's RoCEv2 frames pass, changed ones do not."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from network import Peer
from roce_frames import roce_frame
from runner import run

ETHERNET, IP = slice(0, 6), slice(30, 34)


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.size = len(dut.data_i) // 8
        self.verdicts: list[dict] = []

    async def start(self):
        dut = self.dut
        dut.rst_i.value, dut.valid_i.value = 1, 0
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        for _ in range(4):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        cocotb.start_soon(self._watch())

    async def _watch(self):
        names = ("checked_o", "passed_o", "bad_length_o", "bad_version_o", "bad_icrc_o", "fields_o",
                 "len_bytes_o", "behind_o")  # fmt: skip
        while True:
            await FallingEdge(self.dut.clk_i)
            if self.dut.judged_o.value == 1:
                self.verdicts.append({n[:-2]: int(getattr(self.dut, n).value) for n in names})

    async def judge(self, frame: bytes, *, idle: float = 0.0) -> dict:
        """The verdict on a frame; it is for us by its addresses."""
        dut = self.dut
        mac, ip = int.from_bytes(frame[ETHERNET], "big"), int.from_bytes(frame[IP], "big")
        dut.self_i.value = Peer(mac, ip, 4791).packed()
        frame = frame.ljust(60, b"\0")
        for at in range(0, len(frame), self.size):
            while random.random() < idle:
                dut.valid_i.value = 0
                await FallingEdge(dut.clk_i)
            part = frame[at : at + self.size]
            dut.valid_i.value = 1
            dut.last_i.value = int(at + self.size >= len(frame))
            dut.count_i.value = len(part)
            dut.data_i.value = int.from_bytes(part.ljust(self.size, b"\xa5"), "little")
            await FallingEdge(dut.clk_i)
        dut.valid_i.value = 0
        for _ in range(12):
            await FallingEdge(dut.clk_i)
        (verdict,) = self.verdicts
        self.verdicts = []
        return verdict


def fields_of(frame: bytes) -> int:
    """The BTH's fields, InfiniBand 9.2, in the order of fields_o."""
    bth = int.from_bytes(frame[42:54], "big")
    value = 0
    for low, bits in ((88, 8), (87, 1), (84, 2), (64, 16), (63, 1), (62, 1), (32, 24), (31, 1),
                      (0, 24)):  # fmt: skip
        value = value << bits | (bth >> low & (1 << bits) - 1)
    return value


def some_frame(size: int, **bth) -> bytes:
    return roce_frame(random.randbytes(size), padcount=0, **bth)


@cocotb.test()
async def scapy_frames_pass_with_their_fields(dut):
    tb = TB(dut)
    await tb.start()
    for size in [*range(1, 40), 256, 1024, 4096]:
        frame = some_frame(size)
        verdict = await tb.judge(frame, idle=random.choice([0, 0, 0.3]))
        assert verdict["checked"] and verdict["passed"], size
        assert verdict["fields"] == fields_of(frame) and verdict["len_bytes"] == size
        assert size < 4 or verdict["behind"] == int.from_bytes(frame[54:58], "big")


@cocotb.test()
async def padding_is_not_of_the_payload(dut):
    tb = TB(dut)
    await tb.start()
    for size in (1, 2, 3, 29):
        padding = -size % 4
        frame = roce_frame(random.randbytes(size) + bytes(padding), padcount=padding)
        verdict = await tb.judge(frame)
        assert verdict["passed"] and verdict["len_bytes"] == size


@cocotb.test()
async def wrong_icrc_version_or_length_fails(dut):
    tb = TB(dut)
    await tb.start()
    for size in (1, 6, 30, 300):
        flipped = bytearray(some_frame(size))
        flipped[40:42] = b"\0\0"  # no UDP checksum, as RoCE sends
        assert (await tb.judge(bytes(flipped)))["passed"]
        flipped[random.randrange(47, len(flipped))] ^= 1 << random.randrange(8)
        verdict = await tb.judge(bytes(flipped))
        assert verdict["checked"] and verdict["bad_icrc"] and not verdict["passed"], size
        flipped = bytearray(some_frame(size))
        flipped[random.randrange(47, len(flipped))] ^= 1 << random.randrange(8)
        assert not (await tb.judge(bytes(flipped)))["checked"], "the UDP checksum is wrong"
        verdict = await tb.judge(some_frame(size, version=random.randrange(1, 16)))
        assert verdict["bad_version"] and not verdict["passed"]
    verdict = await tb.judge(roce_frame(b"", padcount=1))
    assert verdict["bad_length"] and not verdict["passed"]
    assert (await tb.judge(roce_frame(b"", padcount=0)))["passed"]


@pytest.mark.parametrize(
    "width", [64, *(pytest.param(w, marks=pytest.mark.full) for w in (128, 512))]
)
def test_form_bth(width):
    run(
        "form_bth_tb",
        sources=["eth_ip_check", "ip_sums", "ip_sums_wide", "form_bth", "crc_check", "crc_step64",
                 "rtl/tb/net/form_bth/form_bth_tb.sv"],
        test_module="test_form_bth",
        parameters={"N": width},
    )  # fmt: skip

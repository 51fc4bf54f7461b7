"""rx_filter: of frames of any length what is ours leaves byte for byte, 16 bytes a beat."""

import random

import cocotb
from axis import Bench, Source
from cocotb.clock import Clock
from runner import run

MAC, IP, PORT = 0x02_00_00_00_00_05, 0xC0_A8_01_05, 6007
FRAMES = 200


class Words:
    """What leaves: frames out of words of 16 bytes, of which the last holds `count_o`."""

    def __init__(self, dut):
        self.dut, self.odds = dut, 0.5
        self.frames: list[bytes] = []
        self.frame = b""

    def drive(self):
        self.dut.go_i.value = random.random() < self.odds

    def after(self, now: int):
        if not int(self.dut.valid_o.value):
            return
        count, is_last = int(self.dut.count_o.value), int(self.dut.last_o.value)
        assert count == 16 or is_last
        self.frame += self.dut.data_o.value.to_unsigned().to_bytes(16, "little")[:count]
        if is_last:
            self.frames.append(self.frame)
            self.frame = b""


def arp(length: int, ip: int) -> bytes:
    """A request for an address, padded."""
    head = b"\xff" * 6 + bytes(6) + bytes.fromhex("0806 0001 0800 0604 0001")
    return (head + bytes(16) + ip.to_bytes(4, "big") + random.randbytes(length))[:length]


async def start(dut) -> tuple[Source, Words, Bench]:
    source, words = Source(dut, "s_axis", odds=0.5), Words(dut)
    bench = Bench(dut.clk_i, [source, words])
    dut.rst_i.value = 1
    dut.self_i.value = MAC << 48 | IP << 16 | PORT
    dut.stream_tag_valid_i.value = 0
    dut.stream_tag_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
    await bench.run(4)
    dut.rst_i.value = 0
    return source, words, bench


@cocotb.test()
async def frames_of_every_length_leave_byte_for_byte(dut):
    source, words, bench = await start(dut)
    want = []
    for n in range(FRAMES):
        is_ours = n < 140 or random.random() < 0.5
        frame = arp(60 + n % 140, IP if is_ours else IP + 1)
        source.put(frame)
        want += [frame] if is_ours else []
        # Four words a beat: frames that come faster find no room.
        await bench.run(random.randint(len(frame) // 16 + 4, len(frame) // 8 + 8))
    await bench.run(100)
    assert words.frames == want


@cocotb.test()
async def a_reset_discards_the_frames_that_wait(dut):
    source, words, bench = await start(dut)
    for count in range(1, 4):
        words.odds = 0
        for _ in range(count):
            source.put(arp(60, IP))
        await bench.run(60)
        dut.rst_i.value = 1
        await bench.run(1)
        dut.rst_i.value = 0
        words.odds = 1
        await bench.run(40)
        assert words.frames == [] and words.frame == b""
        frame = arp(60, IP)
        source.put(frame)
        await bench.run(60)
        assert words.frames == [frame]
        words.frames.clear()


def test_rx_filter():
    run("rx_filter", sources=["rx_filter"], test_module="test_rx_filter")

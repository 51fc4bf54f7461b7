"""mac_bytes behind mac_fifo: frames of a 1G link pass whole, a byte a clock, through resets too."""

import random

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from runner import run

EVENTS = ("ev_rx_bad_o", "ev_rx_no_room_o", "ev_tx_cut_o")


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.core, self.mac = Source(dut, "s_core"), Source(dut, "s_mac")
        self.to_core, self.to_mac = Sink(dut, "m_core"), Sink(dut, "m_mac")
        self.counts = dict.fromkeys(EVENTS, 0)
        parts = [self.core, self.mac, self.to_core, self.to_mac, self]
        self.bench = Bench(dut.clk_i, parts)

    def drive(self):
        pass

    def after(self, now: int):
        for name in EVENTS:
            self.counts[name] += int(getattr(self.dut, name).value)

    async def start(self, loopback=0):
        dut = self.dut
        dut.loopback_i.value = loopback
        dut.rst_i.value = dut.mac_rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
        await self.bench.run(8)
        dut.rst_i.value = dut.mac_rst_i.value = 0
        await self.bench.run(20)
        self.counts = dict.fromkeys(EVENTS, 0)


def lengths(least):
    """Every number of bytes in a last beat, and a few long ones; with --full all up to a frame."""
    if cocotb.plusargs.get("full"):
        return [*range(least, 1519), 9000, 9216]
    return [*range(least, 84), 127, 128, 129, 511, 1500]


@cocotb.test()
async def frames_of_all_lengths_pass_both_ways(dut):
    tb = TB(dut)
    await tb.start()
    out = [random.randbytes(n) for n in lengths(14)]
    into = [(random.randbytes(n), int(random.random() < 0.1)) for n in lengths(8)]
    for frame in out:
        tb.core.put(frame)
    for frame, bad in into:
        tb.mac.put(frame, bad)
    begun = tb.bench.now
    good = [f for f, bad in into if not bad]
    await tb.bench.until(
        lambda: len(tb.to_core.frames) == len(good) and len(tb.to_mac.frames) == len(out), 5_000_000
    )
    assert tb.to_core.take() == [(f, 0) for f in good] and tb.to_mac.gaps == 0
    # Back to back: a byte a clock.
    assert tb.to_mac.done[-1] - begun <= sum(map(len, out)) + 16
    assert tb.to_mac.take() == [(f, 0) for f in out]
    bad = sum(bad for _, bad in into)
    # The last frame in may be a bad one, which the core does not see.
    await tb.bench.until(tb.mac.empty)
    await tb.bench.run(20)
    assert tb.counts == dict(zip(EVENTS, (bad, 0, 0), strict=True))


@cocotb.test()
async def a_mac_that_waits_and_a_core_that_waits_lose_nothing(dut):
    tb = TB(dut)
    await tb.start()
    tb.to_core.odds, tb.to_mac.odds, tb.mac.odds = 0.3, 0.7, 0.9
    frames = [random.randbytes(random.randrange(14, 200)) for _ in range(60)]
    for frame in frames:
        tb.core.put(frame)
        tb.mac.put(frame)
    await tb.bench.until(lambda: len(tb.to_core.frames) == len(tb.to_mac.frames) == len(frames))
    assert tb.to_core.take() == tb.to_mac.take() == [(f, 0) for f in frames]
    assert tb.to_mac.gaps == 0 and not any(tb.counts.values())


@cocotb.test()
async def a_core_that_does_not_take_loses_whole_frames(dut):
    tb = TB(dut)
    await tb.start()
    tb.to_core.odds = 0.0
    room = 8 * dut.RxDepth.value.to_unsigned() // 1000
    frames = [random.randbytes(1000) for _ in range(room + 8)]
    for frame in frames:
        tb.mac.put(frame)
    await tb.bench.until(tb.mac.empty)
    tb.to_core.odds = 1.0
    await tb.bench.run(4000)
    lost = tb.counts["ev_rx_no_room_o"]
    assert 7 <= lost <= 8
    assert tb.to_core.take() == [(f, 0) for f in frames[: len(frames) - lost]]


@cocotb.test()
async def the_far_loop_back_takes_two_passes(dut):
    """Round trip at one byte a clock, first byte in to last out: 2 L + 16 at most."""
    tb = TB(dut)
    await tb.start(loopback=2)
    for length in (32, 64, 128, 256, 512, 1024, 1500):
        frame = random.randbytes(length)
        tb.mac.put(frame)
        begun = tb.bench.now + 1
        await tb.bench.until(lambda: bool(tb.to_mac.frames))
        trip = tb.to_mac.done[0] - begun
        dut._log.info("%d bytes: %d cycles", length, trip)
        assert tb.to_mac.take() == [(frame, 0)]
        assert 2 * length < trip <= 2 * length + 16
        await tb.bench.run(random.randrange(20, 40))


@cocotb.test()
async def resets_of_the_mac_leave_whole_frames(dut):
    """A MAC that goes on with its frame, and one that begins another after a pause."""
    tb = TB(dut)
    await tb.start()
    sent = []
    for n in range(200):
        frame = random.randbytes(random.randrange(8, 120))
        sent.append(frame)
        tb.mac.put(frame)
        await tb.bench.run(random.randrange(len(frame)))
        dut.mac_rst_i.value = 1
        begins_again = n % 2
        if begins_again:
            tb.mac.reset()
        await tb.bench.run(random.choice((1, 2, 3, 20)))
        dut.mac_rst_i.value = 0
        await tb.bench.until(tb.mac.empty)
        # The crossings have stopped and begun again.
        await tb.bench.run(40)
        frame = random.randbytes(random.randrange(8, 120))
        sent.append(frame)
        tb.mac.put(frame)
        await tb.bench.until(tb.mac.empty)
        await tb.bench.run(40)
        assert tb.to_core.frames[-1] == (frame, 0), "the frame behind a reset was lost"
    left = iter(sent)
    assert all(any(f == g for g in left) for f, _ in tb.to_core.take()), "a frame is not whole"


SOURCES = [
    "rtl/tb/net/mac_bytes/mac_bytes_tb.sv", "mac_bytes", "axis_width", "mac_fifo", "frame_cdc",
    "cut_through_cdc", "frame_gate", "event_cdc", "async_fifo", "reset_ctrl", "reset_side",
    "sync_bits",
]  # fmt: skip


@pytest.mark.parametrize("full", [0, pytest.param(1, marks=pytest.mark.full)])
def test_mac_bytes(full):
    run(
        "mac_bytes_tb",
        sources=SOURCES,
        test_module="test_mac_bytes",
        parameters={"RxDepth": 2048 if full else 512},
        plusargs=["+full"] if full else [],
    )

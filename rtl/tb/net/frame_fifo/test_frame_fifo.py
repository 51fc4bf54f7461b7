"""frame_fifo: whole frames or none; with cut-through, frames that departed end with tuser."""

import random

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from runner import run

EVENTS = ("kept", "bad", "no_room", "cut")


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.source, self.sink = Source(dut, "s_axis"), Sink(dut, "m_axis")
        self.bench = Bench(dut.clk_i, [self.source, self.sink, self])
        self.size = self.source.size
        self.storage = dut.Beats.value.to_unsigned() * self.size
        self.cut_through = bool(dut.CutThrough.value)
        self.sent: list[tuple[bytes, int]] = []
        self.fates: list[str] = []  # of each frame, in order

    def drive(self):
        pass

    def after(self, now: int):
        raised = [e for e in EVENTS if getattr(self.dut, f"ev_{e}_o").value == 1]
        assert len(raised) == int(bool(self.source.taken) and self.source.taken[-1] == now)
        self.fates += raised

    async def start(self):
        self.dut.rst_i.value = 1
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        await self.bench.run(4)
        self.dut.rst_i.value = 0

    def put(self, length: int, bad: int = 0):
        # A frame is found again by its first bytes.
        frame = len(self.sent).to_bytes(4, "big") + random.randbytes(length - 4)
        self.sent.append((frame, bad))
        self.source.put(frame, bad)

    async def drain(self):
        await self.bench.until(self.source.empty)
        self.sink.odds = 1.0
        await self.bench.run(2 * self.storage // self.size + 20)
        assert self.sink.empty() and self.dut.m_axis_tvalid.value == 0

    def check(self):
        """Each frame that came out, in order, is what its fate says."""
        assert len(self.fates) == len(self.sent)
        out = iter(self.sink.take())
        for (frame, bad), fate in zip(self.sent, self.fates, strict=True):
            if fate == "kept":
                assert not bad and next(out) == (frame, 0)
            elif fate == "cut":
                got, user = next(out)
                assert self.cut_through and user == 1 and got == frame[: len(got)]
                assert got == frame or len(got) % self.size == 0
            elif fate == "bad":
                assert bad
        assert next(out, None) is None


@cocotb.test()
async def frames_pass_and_bad_ones_do_not(dut):
    tb = TB(dut)
    await tb.start()
    for odds in ((1.0, 1.0), (0.5, 1.0)):
        tb.source.odds, tb.sink.odds = odds
        for length in range(4, 4 + 3 * tb.size):
            tb.put(length, random.getrandbits(1))
        await tb.drain()
    assert "no_room" not in tb.fates
    # What is longer than a beat has departed before its end comes.
    for (frame, bad), fate in zip(tb.sent, tb.fates, strict=True):
        departs = tb.cut_through and len(frame) > 2 * tb.size
        if bad and departs:
            assert fate == "cut"
        elif bad and (not tb.cut_through or len(frame) <= tb.size):
            assert fate == "bad"
        elif not bad:
            assert fate == "kept"
    tb.check()


@cocotb.test()
async def slow_reader_loses_whole_frames_or_marks_them(dut):
    tb = TB(dut)
    await tb.start()
    for odds in ((1.0, 0.5), (1.0, 0.1), (0.7, 0.3), (1.0, 0.0)):
        tb.source.odds, tb.sink.odds = odds
        # It departs from the empty FIFO before its end comes.
        tb.put(tb.storage // 2, 1)
        for _ in range(120):
            tb.put(random.randrange(4, tb.storage // 2), int(random.random() < 0.2))
        await tb.drain()
    assert tb.fates.count("no_room") > 20 and tb.fates.count("kept") > 20
    assert ("cut" in tb.fates) == tb.cut_through
    tb.check()


@cocotb.test()
async def storage_is_used_to_its_end(dut):
    tb = TB(dut)
    await tb.start()
    tb.sink.odds = 0.0
    beats = tb.storage // tb.size
    # One beat of those is at the output; with cut-through a place is kept.
    for _ in range(beats + 1):
        tb.put(tb.size)
    await tb.bench.until(tb.source.empty)
    assert tb.fates == ["kept"] * (beats + (0 if tb.cut_through else 1)) + (
        ["no_room"] if tb.cut_through else []
    )
    await tb.drain()
    tb.check()


@cocotb.test()
async def frame_longer_than_the_storage(dut):
    tb = TB(dut)
    await tb.start()
    tb.put(3 * tb.storage + 5)
    tb.put(20)
    await tb.drain()
    assert tb.fates == (["kept", "kept"] if tb.cut_through else ["no_room", "kept"])
    # The reader stops within one: cut there, and the next frame passes.
    tb.put(3 * tb.storage)
    await tb.bench.run(5)
    tb.sink.odds = 0.0
    await tb.bench.until(tb.source.empty)
    tb.sink.odds = 1.0
    await tb.bench.run(2)
    tb.put(21)
    await tb.drain()
    assert tb.fates[2:] == [("cut" if tb.cut_through else "no_room"), "kept"]
    tb.check()


@cocotb.test()
async def reset_in_mid_frame_leaves_nothing_behind(dut):
    tb = TB(dut)
    await tb.start()
    tb.put(20 * tb.size)
    await tb.bench.run(8)
    dut.rst_i.value = 1
    tb.source.reset()
    tb.bench.parts = [tb.source]
    await tb.bench.run(2)
    dut.rst_i.value = 0
    tb.sink = Sink(dut, "m_axis")
    tb.bench.parts = [tb.source, tb.sink, tb]
    tb.sent, tb.fates = [], []
    for length in (30, 4, 100):
        tb.put(length)
    await tb.drain()
    assert tb.fates == ["kept"] * 3
    tb.check()


@pytest.mark.parametrize(
    ("width", "cut_through"),
    [(64, 1), *(pytest.param(w, c, marks=pytest.mark.full) for w, c in (
        (64, 0), (512, 0), (512, 1)))],
)  # fmt: skip
def test_frame_fifo(width, cut_through):
    run(
        "frame_fifo",
        sources=["frame_fifo"],
        test_module="test_frame_fifo",
        parameters={"W": width, "Beats": 32, "CutThrough": cut_through},
    )

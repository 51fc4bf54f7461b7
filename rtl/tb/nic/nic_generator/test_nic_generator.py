"""nic_generator and nic_checker: what leaves, and that each fault between the two is found."""

import random
import struct

import cocotb
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from nic_generated import CFG, CHECKER, FROM, GENERATOR, KIND, TO, generated, only, packed, unpacked
from runner import run


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.sink, self.source = Sink(dut, "m_axis"), Source(dut, "s_axis")
        self.bench = Bench(dut.clk_i, [self.sink, self.source])
        self.cfg = {
            "enable": 0, "swap": 0, "bytes_min": 60, "bytes_max": 60, "bytes_step": 0,
            "gap_cycles": 10, "frames": 0, "to": TO, "from": FROM, "ether_type": KIND,
        }  # fmt: skip

    async def start(self):
        self.dut.rst_i.value = 1
        self.set()
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        await self.bench.run(4)
        self.dut.rst_i.value = 0
        await self.bench.run(2)

    def set(self, **values):
        self.cfg.update(values)
        self.dut.cfg_i.value = packed(CFG, self.cfg)

    def generator(self):
        return unpacked(GENERATOR, self.dut.generator_o.value.to_unsigned())

    def checker(self):
        return unpacked(CHECKER, self.dut.checker_o.value.to_unsigned())

    async def frames(self, count, **values):
        """So many frames of the generator."""
        self.set(enable=1, frames=count, **values)
        await self.bench.until(lambda: len(self.sink.frames) == count)
        await self.bench.run(4)
        return [frame for frame, _ in self.sink.take()]

    async def back(self, frames):
        """Gives frames, or pairs of frame and tuser, to the checker; what it found."""
        for frame in frames:
            self.source.put(*(frame if isinstance(frame, tuple) else (frame,)))
        await self.bench.until(self.source.empty)
        await self.bench.run(6)
        return self.checker()

    async def stop(self):
        self.set(enable=0)
        await self.bench.run(300)
        self.sink.take()


@cocotb.test()
async def frames_leave_with_their_sizes_and_gaps(dut):
    tb = TB(dut)
    await tb.start()
    for low, high, step, gap in ((60, 60, 0, 10), (32, 49, 1, 1), (33, 300, 50, 0), (64, 64, 1, 0),
                                 (20, 40, 7, 25), (60, 30, 5, 3)):  # fmt: skip
        tb.set(enable=1, frames=20, bytes_min=low, bytes_max=high, bytes_step=step, gap_cycles=gap)
        await tb.bench.until(lambda: len(tb.sink.frames) == 20)
        first, done = tb.sink.first, tb.sink.done
        await tb.bench.run(50)
        lengths, length = [], max(low, 32)
        for _ in range(20):
            lengths.append(length)
            length = length + step if length + step <= high else max(low, 32)
        frames = [f for f, _ in tb.sink.take()]
        assert [len(f) for f in frames] == lengths and tb.sink.gaps == 0
        assert [b - a - 1 for a, b in zip(done[:-1], first[1:], strict=True)] == [gap] * 19
        stamp = struct.unpack("<I", frames[0][20:24])[0]
        for n, frame in enumerate(frames):
            assert frame == generated(lengths[n], n, (stamp + first[n] - first[0]) & 0xFFFFFFFF)
        assert tb.generator() == {
            "frames": 20, "bytes": sum(lengths), "cycles": done[-1] - first[0] + 1,
        }  # fmt: skip
        await tb.stop()


@cocotb.test()
async def a_nic_that_waits_gets_whole_frames_and_enable_ends_between_them(dut):
    tb = TB(dut)
    await tb.start()
    tb.sink.odds = 0.4
    frames = await tb.frames(30, bytes_min=40, bytes_max=100, bytes_step=9, gap_cycles=2)
    assert only(await tb.back(frames)) and tb.checker()["frames"] == 30
    await tb.stop()
    tb.set(enable=1, frames=0, bytes_min=200, bytes_max=200)
    await tb.bench.run(100)
    tb.set(enable=0)
    await tb.bench.run(200)
    assert tb.sink.empty() and all(len(f) == 200 for f, _ in tb.sink.frames)
    assert tb.generator()["frames"] == len(tb.sink.frames) > 0


@cocotb.test()
async def frames_that_come_back_right_are_right(dut):
    """Every length, padded or not, swapped or not; with back-to-back beats and with gaps."""
    tb = TB(dut)
    await tb.start()
    for swap in (0, 1):
        frames = await tb.frames(110, bytes_min=32, bytes_max=140, bytes_step=1, gap_cycles=0)
        tb.set(swap=swap)
        if swap:
            frames = [f[6:12] + f[:6] + f[12:] for f in frames]
        frames = [f.ljust(60, b"\0") if random.random() < 0.5 else f for f in frames]
        tb.source.odds = 1.0 if swap else 0.5
        found = await tb.back(frames)
        assert only(found) and found["frames"] == 110
        assert found["bytes"] == sum(map(len, frames))
        if swap:
            beats = sum(-(-len(f) // 8) for f in frames)
            assert found["cycles"] == beats
        await tb.stop()
        tb.set(swap=0)


@cocotb.test()
async def lost_duplicated_and_late_frames_are_found(dut):
    tb = TB(dut)
    await tb.start()
    frames = await tb.frames(200, gap_cycles=0)
    # Lost: 3, 7, 8. Twice: 12, at once; 13, behind others. Late: 20 behind 22; 40 behind 71.
    order = [*range(3), *range(4, 7), *range(9, 13), 12, 13, 14, 15, 13, 16, 17, 18, 19, 21, 22, 20]
    found = await tb.back([frames[n] for n in order])
    assert only(found, lost=3, duplicated=2, late=1) and found["frames"] == len(order) - 3
    found = await tb.back([frames[n] for n in (*range(23, 40), *range(41, 72), 40, 40, 42)])
    assert only(found, lost=3, duplicated=4, late=2)
    # 33 numbers behind is beyond what the checker remembers.
    found = await tb.back([frames[n] for n in (*range(72, 80), *range(81, 114), 80)])
    assert only(found, lost=4, duplicated=4, late=3)
    found = await tb.back([frames[n] for n in (150, 149, 151, 114, 199, 198)])
    # 114 is 37 behind; of the rest 148 to 115 and 152 to 197 are lost.
    assert only(found, lost=4 + 1 + 34 + 46, duplicated=4, late=6)
    await tb.stop()
    # Another run begins with number 0.
    frames = await tb.frames(5)
    found = await tb.back(frames)
    assert only(found) and found["frames"] == 5


@cocotb.test()
async def every_altered_byte_is_found(dut):
    tb = TB(dut)
    await tb.start()
    frames = await tb.frames(150, bytes_min=41, bytes_max=90, bytes_step=7, gap_cycles=0)
    altered = foreign = 0
    out = []
    for n, frame in enumerate(frames):
        padded = bytearray(frame.ljust(60, b"\0"))
        at = n if n < 60 else random.randrange(len(padded))
        padded[at] ^= 1 << random.randrange(8)
        altered += at not in (12, 13)
        foreign += at in (12, 13)
        out.append(bytes(padded))
    found = await tb.back(out)
    assert only(found, altered=altered, foreign=foreign) and found["frames"] == 0
    await tb.stop()
    frames = await tb.frames(8, bytes_min=100, bytes_max=100)
    swapped = frames[6][:32] + frames[6][40:48] + frames[6][32:40] + frames[6][48:]
    found = await tb.back([
        frames[0], frames[1][:-1], frames[2] + b"\0", (frames[3], 1), frames[4][:24],
        frames[5][6:12] + frames[5][:6] + frames[5][12:], swapped, frames[7],
    ])  # fmt: skip
    assert only(found, altered=5, foreign=1, lost=6) and found["frames"] == 2


@cocotb.test()
async def round_trips_are_those_that_the_bench_sees(dut):
    tb = TB(dut)
    await tb.start()
    tb.sink.odds = 0.7
    trips, sent = [], []
    tb.set(enable=1, frames=40, bytes_min=32, bytes_max=200, bytes_step=11, gap_cycles=60)
    first = None
    for n in range(40):
        await tb.bench.until(lambda: bool(tb.sink.frames))
        # A first beat that waits is stamped when it is taken.
        frame = tb.sink.frames[0][0]
        stamp = struct.unpack("<I", frame[20:24])[0]
        tb.sink.take()
        await tb.bench.run(random.randrange(20))
        tb.source.put(frame)
        first = first or tb.bench.now + 1
        await tb.bench.until(lambda n=n: len(tb.source.taken) == n + 1)
        trips.append((dut.counter_o.value.to_unsigned() - stamp) & 0xFFFFFFFF)
        sent.append(frame)
    await tb.bench.run(6)
    found = tb.checker()
    assert only(found) and found["frames"] == 40
    assert (found["trip_min"], found["trip_max"], found["trip_sum"]) == (
        min(trips), max(trips), sum(trips),
    )  # fmt: skip
    assert found["cycles"] == tb.source.taken[-1] - first + 1
    assert min(trips) < max(trips) < 1000


def test_nic_generator():
    run(
        "nic_generator_tb",
        sources=[
            "rtl/tb/nic/nic_generator/nic_generator_tb.sv", "nic_generator", "nic_checker",
        ],
        test_module="test_nic_generator",
    )  # fmt: skip

"""frame_share: the first stream goes first, the second has its share of the wire's time."""

import itertools
import random

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from runner import run

SHARE = 13  # of 256: 5 %
WIRE_BYTES = 24  # of preamble, FCS and gap


class Wire(Sink):
    """A MAC: behind each frame it takes nothing for the time of preamble, FCS and gap."""

    def __init__(self, dut, prefix):
        super().__init__(dut, prefix)
        self.wait = 0
        self.log: list[tuple[int, int, int]] = []  # cycle, source, cycles of the wire
        self._spent = 0

    def drive(self):
        self.odds = 0.0 if self.wait else 1.0
        self.wait = max(0, self.wait - 1)
        super().drive()

    def after(self, now: int):
        before = len(self.frames)
        taken = self.valid.value == 1 and self._is_ready
        super().after(now)
        self._spent += taken
        if len(self.frames) > before:
            self.wait = -(-WIRE_BYTES // self.size)
            self.log.append((now, self.frames[-1][0][0] & 1, self._spent + self.wait))
            self._spent = 0


def frame(source: int, length: int) -> bytes:
    """The lowest bit of its first byte says whose it is."""
    body = random.randbytes(length)
    return bytes([body[0] & 0xFE | source]) + body[1:]


class TB:
    def __init__(self, dut, wire=False):
        self.dut = dut
        self.stream, self.nic = Source(dut, "s0_axis"), Source(dut, "s1_axis")
        self.sink = Wire(dut, "m_axis") if wire else Sink(dut, "m_axis")
        self.bench = Bench(dut.clk_i, [self.stream, self.nic, self.sink])

    async def start(self, share=SHARE):
        self.dut.share_i.value = share
        self.dut.rst_i.value = 1
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        await self.bench.run(4)
        self.dut.rst_i.value = 0


@cocotb.test()
async def frames_stay_whole_and_in_order(dut):
    tb = TB(dut)
    await tb.start(share=255)
    for odds in ((1, 1, 1), (0.6, 0.4, 1), (1, 1, 0.5), (0.1, 0.9, 0.8), (0.9, 0.1, 0.8)):
        tb.stream.odds, tb.nic.odds, tb.sink.odds = odds
        want = {s: [frame(s, random.randrange(1, 300)) for _ in range(40)] for s in (0, 1)}
        for s, source in ((0, tb.stream), (1, tb.nic)):
            for f in want[s]:
                source.put(f)
        await tb.bench.until(lambda: len(tb.sink.frames) == 80)
        got = [f for f, _ in tb.sink.take()]
        assert {s: [f for f in got if f[0] & 1 == s] for s in (0, 1)} == want


@cocotb.test()
async def both_flooded_the_first_has_94_percent_of_the_wire(dut):
    """Sizes of either; the second has its turn as soon as its last frame is paid for."""
    tb = TB(dut, wire=True)
    await tb.start()
    size = tb.sink.size
    sizes = [(1472, 60), (320, 1514), (128, 60)]
    if cocotb.plusargs.get("full"):
        sizes += [(8256, 9000), (1472, 9000), (8256, 60)]
    for data, nic in sizes:
        cost = 256 * (-(-nic // size) * size + WIRE_BYTES)
        pays = SHARE * (-(-data // size) * size)
        between = -(-cost // pays)
        turns = 6 if data < 1000 or nic < 1000 else 3
        for _ in range(turns):
            tb.nic.put(frame(1, nic))
        for _ in range(turns * (between + 2)):
            tb.stream.put(frame(0, data))
        tb.sink.log = []
        await tb.bench.until(tb.nic.empty, 3_000_000)
        await tb.bench.until(tb.stream.empty, 3_000_000)
        log = tb.sink.log
        at = [i for i, (_, source, _) in enumerate(log) if source]
        # From behind its first frame to its last.
        time = log[at[-1]][0] - log[at[0]][0]
        used = {s: sum(c for _, t, c in log[at[0] + 1 : at[-1] + 1] if t == s) for s in (0, 1)}
        dut._log.info("DATA %d, NIC %d bytes: %.4f and %.4f of the wire", data, nic,
                      used[0] / time, used[1] / time)  # fmt: skip
        assert used[0] / time >= 0.94 and used[1] / time <= SHARE / (256 + SHARE)
        assert {j - i - 1 for i, j in itertools.pairwise(at)} <= {between, between + 1}
        await tb.bench.run(100)


@cocotb.test()
async def a_silent_second_costs_the_first_nothing(dut):
    tb = TB(dut)
    await tb.start()
    frames = [frame(0, random.randrange(1, 300)) for _ in range(60)]
    for f in frames:
        tb.stream.put(f)
    begun = tb.bench.now
    await tb.bench.until(lambda: len(tb.sink.frames) == len(frames))
    # As many cycles as beats.
    assert tb.bench.now - begun == sum(-(-len(f) // tb.sink.size) for f in frames)
    assert [f for f, _ in tb.sink.take()] == frames


@cocotb.test()
async def the_first_waits_for_one_frame_at_most(dut):
    tb = TB(dut)
    await tb.start()
    for _ in range(60):
        tb.nic.put(frame(1, 600))
    beats = -(-600 // tb.sink.size)
    for _ in range(20):
        # The second has the wire alone.
        await tb.bench.run(random.randrange(100, 200))
        tb.stream.put(frame(0, 64))
        begun = tb.bench.now
        await tb.bench.until(lambda: any(f[0] & 1 == 0 for f, _ in tb.sink.frames))
        assert tb.bench.now - begun <= beats + -(-64 // tb.sink.size) + 2
        tb.sink.take()


@cocotb.test()
async def the_second_has_what_the_first_leaves_idle(dut):
    tb = TB(dut)
    await tb.start(share=0)
    frames = [frame(1, 1000) for _ in range(20)]
    for f in frames:
        tb.nic.put(f)
    begun = tb.bench.now
    await tb.bench.until(lambda: len(tb.sink.frames) == len(frames))
    assert tb.bench.now - begun <= 20 * -(-1000 // tb.sink.size) + 70
    assert [f for f, _ in tb.sink.take()] == frames
    # And nothing else with a share of 0.
    for _ in range(100):
        tb.stream.put(frame(0, 1000))
    await tb.bench.run(2)
    tb.nic.put(frames[0])
    tb.sink.take()
    await tb.bench.until(lambda: len(tb.sink.frames) == 101)
    assert tb.sink.frames[-1][0] == frames[0]


@pytest.mark.parametrize(
    ("width", "full"),
    [(64, 0), *(pytest.param(w, 1, marks=pytest.mark.full) for w in (64, 512))],
)
def test_frame_share(width, full):
    run(
        "frame_share",
        sources=["frame_share", "axis_arbiter"],
        test_module="test_frame_share",
        parameters={"W": width},
        plusargs=["+full"] if full else [],
    )

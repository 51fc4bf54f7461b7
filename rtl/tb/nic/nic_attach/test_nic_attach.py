"""nic_attach: the NIC gets what is not for the stream, and sends whole frames beside it."""

import random

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from runner import run

# nic_pkg::attach_event_t, from the lowest bit up.
EVENTS = ("tx_dropped", "tx_kept", "rx_cut", "rx_no_room", "rx_kept")


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.received, self.to_nic = Source(dut, "s_axis_rx"), Sink(dut, "m_axis_nic")
        self.nic, self.stream = Source(dut, "s_axis_nic"), Source(dut, "s_axis")
        self.mac = Sink(dut, "m_axis")
        self.width = self.mac.size
        self.longest = dut.FrameBytesMax.value.to_unsigned()
        self.fifo_bytes = dut.RxBeats.value.to_unsigned() * self.width
        self.counts = dict.fromkeys(EVENTS, 0)
        parts = [self.received, self.to_nic, self.nic, self.stream, self.mac, self]
        self.bench = Bench(dut.clk_i, parts)

    def drive(self):
        pass

    def after(self, now: int):
        value = self.dut.event_o.value.to_unsigned()
        for i, name in enumerate(EVENTS):
            self.counts[name] += value >> i & 1

    async def start(self, share=13):
        self.dut.share_i.value = share
        self.dut.rst_i.value = 1
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        await self.bench.run(4)
        self.dut.rst_i.value = 0
        self.counts = dict.fromkeys(EVENTS, 0)

    def sent(self):
        """Frames at the MAC: the stream's, the NIC's."""
        frames = [f for f, _ in self.mac.take()]
        return [[f for f in frames if f[0] & 1 == s] for s in (0, 1)]


def frame(length, source=1):
    """The lowest bit of its first byte says whose it is."""
    body = random.randbytes(length)
    return bytes([body[0] & 0xFE | source]) + body[1:]


@cocotb.test()
async def the_nic_gets_what_is_for_it(dut):
    tb = TB(dut)
    await tb.start()
    for odds, ready in ((1.0, 1.0), (0.6, 1.0), (0.1, 0.9)):
        tb.received.odds, tb.to_nic.odds = odds, ready
        frames = [(frame(random.randrange(60, 400)), int(random.random() < 0.4)) for _ in range(60)]
        for f in frames:
            tb.received.put(*f)
        await tb.bench.until(tb.received.empty)
        # At 512 bits they come eight times as fast as they leave.
        await tb.bench.run(900 if tb.width == 8 else 4000)
        got = tb.to_nic.take()
        assert [f for f, user in got if not user] == [f for f, other in frames if not other]
        # At 64 bits a frame that has begun to leave ends with its verdict.
        assert bool([f for f, user in got if user]) == (tb.width == 8)
    assert tb.counts["rx_no_room"] == 0 and tb.to_nic.empty()


@cocotb.test()
async def a_nic_without_buffers_loses_whole_frames(dut):
    tb = TB(dut)
    await tb.start()
    tb.to_nic.odds = 0.0
    frames = [frame(random.randrange(500, 1500)) for _ in range(40)]
    for f in frames:
        tb.received.put(f)
    await tb.bench.until(tb.received.empty)
    tb.to_nic.odds = 1.0
    await tb.bench.run(4000)
    got = tb.to_nic.take()
    left = iter(frames)
    assert all(any(f == g for g in left) for f, user in got if not user)
    counts = tb.counts
    kept = [f for f, user in got if not user]
    assert counts["rx_kept"] == len(kept)
    # Two beats wait behind the FIFO. A frame that does not fit leaves its room unused, and one that
    # was cut takes some.
    kept_bytes = sum(-(-len(f) // tb.width) * tb.width for f in kept)
    assert tb.fifo_bytes * 0.4 < kept_bytes <= tb.fifo_bytes + 2 * tb.width
    assert counts["rx_no_room"] > 10
    assert counts["rx_kept"] + counts["rx_no_room"] + counts["rx_cut"] == len(frames)


@cocotb.test()
async def frames_are_sent_whole_however_the_nic_gives_them(dut):
    tb = TB(dut)
    await tb.start(share=255)
    for odds in ((1.0, 1.0, 1.0), (0.3, 1.0, 0.8), (1.0, 0.0, 0.4), (0.2, 0.0, 1.0)):
        tb.nic.odds, tb.stream.odds, tb.mac.odds = odds
        sizes = [random.randrange(60, 300) for _ in range(30)] + [tb.longest, 14, 1]
        frames = [(frame(n), int(random.random() < 0.2)) for n in sizes]
        for f in frames:
            tb.nic.put(*f)
        stream = [frame(random.randrange(60, 300), 0) for _ in range(30)] if odds[1] else []
        for f in stream:
            tb.stream.put(f)
        want = [f for f, bad in frames if not bad]
        count = len(want) + len(stream)
        await tb.bench.until(lambda count=count: len(tb.mac.frames) == count)
        assert tb.sent() == [stream, want] and tb.mac.gaps == 0
    assert tb.counts["tx_dropped"] > 0


@cocotb.test()
async def frames_that_do_not_fit_are_dropped_whole(dut):
    tb = TB(dut)
    await tb.start()
    longest = tb.longest
    sizes = [100, longest + 1, 200, 60000, longest, longest, 64]
    frames = [frame(n) for n in sizes]
    for f in frames:
        tb.nic.put(f)
    await tb.bench.until(tb.nic.empty)
    await tb.bench.run(4000)
    assert tb.sent()[1] == [f for f in frames if len(f) <= longest]
    assert tb.counts["tx_dropped"] == 2 and tb.counts["tx_kept"] == len(frames) - 2


@cocotb.test()
async def the_stream_waits_for_no_memory(dut):
    """A NIC whose memory is slow costs the stream a frame's time, not the memory's."""
    tb = TB(dut)
    await tb.start()
    tb.nic.odds = 0.02
    tb.nic.put(frame(1000))
    await tb.bench.run(500)
    for _ in range(20):
        tb.stream.put(frame(600, 0))
    begun = tb.bench.now
    await tb.bench.until(lambda: sum(f[0] & 1 == 0 for f, _ in tb.mac.frames) == 20)
    beats = 20 * -(-600 // tb.width) + -(-1000 // tb.width)
    assert tb.bench.now - begun <= beats + 4


@pytest.mark.parametrize("parameters", [
    {"W": 64}, {"W": 64, "FrameBytesMax": 2048, "RxBeats": 512},
    pytest.param({"W": 512}, marks=pytest.mark.full),
])  # fmt: skip
def test_nic_attach(parameters):
    run(
        "nic_attach",
        sources=["nic_attach", "frame_fifo", "frame_share", "axis_arbiter", "axis_width"],
        test_module="test_nic_attach",
        parameters=parameters,
    )

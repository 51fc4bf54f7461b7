"""mac_fifo: whole frames both ways between unrelated clocks, drops counted, loop-backs, and resets
of one clock at a time: a frame that is cut is marked, no two are joined.
"""

import random
from collections import Counter

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from runner import run


class TB:
    """Periods in ps: the core's, the MAC's transmit and receive clock."""

    def __init__(self, dut, periods):
        self.dut = dut
        self.bytes = len(dut.s_tx_tkeep)
        self.sent, self.cut, self.received = [], [], []
        self.counts = Counter()
        self.gaps = 0
        self.shown_at = None
        self.ready = lambda: True
        self.core_ready = lambda: True  # looked at with RxReady
        # Whether a source ends its frame where its clock is reset, or goes on with it.
        self.obeys = True
        for clock, period in zip(
            (dut.clk_i, dut.mac_tx_clk_i, dut.mac_rx_clk_i), periods, strict=True
        ):
            cocotb.start_soon(Clock(clock, period, "ps").start())

    async def reset(self):
        dut = self.dut
        resets = (dut.rst_i, dut.mac_tx_rst_i, dut.mac_rx_rst_i)
        for signal in (
            dut.s_tx_tvalid,
            dut.s_tx_tlast,
            dut.s_tx_tuser,
            dut.mac_rx_tvalid,
            dut.mac_rx_tlast,
            dut.mac_rx_tuser,
            dut.loopback_i,
            dut.mac_tx_tready,
            dut.m_rx_tready,
        ):
            signal.value = 0
        for signal in resets:
            signal.value = 1
        for _ in range(8):
            await RisingEdge(dut.clk_i)
        for signal in resets:
            signal.value = 0
        for _ in range(8):
            await RisingEdge(dut.clk_i)
        cocotb.start_soon(self._watch_mac())
        cocotb.start_soon(self._watch_core())

    async def _watch_mac(self):
        dut, frame = self.dut, bytearray()
        while True:
            await FallingEdge(dut.mac_tx_clk_i)
            if dut.mac_tx_rst_i.value == 1:
                frame = bytearray()
                continue
            dut.mac_tx_tready.value = ready = int(self.ready())
            await Timer(1, "ps")
            if dut.mac_tx_tvalid.value != 1:
                self.gaps += bool(frame)
                continue
            if self.shown_at is None:
                self.shown_at = cocotb.simtime.get_sim_time("ps")
            if ready:
                count = dut.mac_tx_tkeep.value.to_unsigned().bit_count()
                frame += dut.mac_tx_tdata.value.to_unsigned().to_bytes(self.bytes, "little")[:count]
                if dut.mac_tx_tlast.value == 1:
                    (self.cut if dut.mac_tx_tuser.value == 1 else self.sent).append(bytes(frame))
                    frame = bytearray()
                else:
                    assert dut.mac_tx_tuser.value == 0

    async def _watch_core(self):
        dut, frame = self.dut, bytearray()
        has_ready = dut.RxReady.value != 0
        while True:
            await FallingEdge(dut.clk_i)
            if dut.rst_i.value == 1:
                frame = bytearray()
                continue
            for name in ("ev_rx_bad_o", "ev_rx_no_room_o", "ev_tx_cut_o"):
                self.counts[name] += int(getattr(dut, name).value)
            # Without RxReady the port is anything.
            ready = self.core_ready() if has_ready else random.random() < 0.5
            dut.m_rx_tready.value = int(ready)
            await Timer(1, "ps")
            if dut.m_rx_tvalid.value == 1 and (ready or not has_ready):
                count = dut.m_rx_tkeep.value.to_unsigned().bit_count()
                frame += dut.m_rx_tdata.value.to_unsigned().to_bytes(self.bytes, "little")[:count]
                assert dut.m_rx_tlast.value == 0 or dut.m_rx_tuser.value == 0
                if dut.m_rx_tlast.value == 1:
                    self.received.append(bytes(frame))
                    frame = bytearray()

    async def send(self, frame, idle=0.0, bad=False):
        dut = self.dut
        for at in range(0, len(frame), self.bytes):
            while random.random() < idle:
                dut.s_tx_tvalid.value = 0
                await RisingEdge(dut.clk_i)
            part = frame[at : at + self.bytes]
            dut.s_tx_tdata.value = int.from_bytes(part, "little")
            dut.s_tx_tkeep.value = (1 << len(part)) - 1
            dut.s_tx_tvalid.value = 1
            last = at + self.bytes >= len(frame)
            dut.s_tx_tlast.value = int(last)
            # It counts with tlast alone.
            dut.s_tx_tuser.value = int(bad if last else random.random() < 0.5)
            while True:
                await RisingEdge(dut.clk_i)
                if self.obeys and dut.rst_i.value == 1:
                    dut.s_tx_tvalid.value = 0
                    await self.rest(dut.clk_i, dut.rst_i)
                    return
                if dut.s_tx_tready.value == 1:
                    break
        dut.s_tx_tvalid.value = 0

    async def come(self, frame, bad=False, idle=0.0):
        dut = self.dut
        for at in range(0, len(frame), self.bytes):
            while random.random() < idle:
                dut.mac_rx_tvalid.value = 0
                await RisingEdge(dut.mac_rx_clk_i)
            part = frame[at : at + self.bytes]
            last = at + self.bytes >= len(frame)
            dut.mac_rx_tdata.value = int.from_bytes(part, "little")
            dut.mac_rx_tkeep.value = (1 << len(part)) - 1
            dut.mac_rx_tvalid.value = 1
            dut.mac_rx_tlast.value = int(last)
            dut.mac_rx_tuser.value = int(bad and last)
            await RisingEdge(dut.mac_rx_clk_i)
            if self.obeys and dut.mac_rx_rst_i.value == 1:
                dut.mac_rx_tvalid.value = 0
                await self.rest(dut.mac_rx_clk_i, dut.mac_rx_rst_i)
                return
        dut.mac_rx_tvalid.value = 0

    async def rest(self, clock, reset):
        """A source in reset, and until it has a frame again: more than a gap inside a frame."""
        idle = 0
        while idle < 8 or reset.value == 1:
            await RisingEdge(clock)
            idle += 1

    async def pulse(self, names, cycles):
        """Resets of `cycles` of each one's own clock, all beginning at once."""
        clocks = {"rst_i": "clk_i", "mac_tx_rst_i": "mac_tx_clk_i", "mac_rx_rst_i": "mac_rx_clk_i"}

        async def one(name):
            signal, clock = getattr(self.dut, name), getattr(self.dut, clocks[name])
            await RisingEdge(clock)
            signal.value = 1
            for _ in range(cycles):
                await RisingEdge(clock)
            signal.value = 0

        for task in [cocotb.start_soon(one(name)) for name in names]:
            await task

    async def settle(self, cycles=300):
        for _ in range(cycles):
            await RisingEdge(self.dut.clk_i)


def some(n, longest=1600):
    return [
        random.randbytes(random.choice([60, 61, 64, 65, 127, 128, random.randrange(60, longest)]))
        for _ in range(n)
    ]


def has_slack(dut):
    return dut.TxSlack.value != 0


def rx_room(dut):
    """Bytes that the receive FIFO holds."""
    return dut.RxDepth.value.to_unsigned() * len(dut.s_tx_tkeep)


def is_whole(dut):
    return dut.TxStoreForward.value != 0


@cocotb.test()
async def frames_pass_whole_both_ways_and_bad_ones_are_counted(dut):
    # The core is the fastest, as what is sent without storing wants it.
    tb = TB(dut, (5000, 6400, 6000))
    await tb.reset()
    tb.ready = lambda: random.random() < 0.8
    out, into = some(40), [(f, random.random() < 0.3) for f in some(40)]

    async def sending():
        for frame in out:
            await tb.send(frame, idle=0.3 if is_whole(dut) else 0)

    async def coming():
        for frame, bad in into:
            await tb.come(frame, bad, idle=random.choice([0, 0.2]))

    one, two = cocotb.start_soon(sending()), cocotb.start_soon(coming())
    await one
    await two
    await tb.settle(1500)
    assert tb.sent == out and tb.gaps == 0
    assert tb.received == [f for f, bad in into if not bad]
    bad = sum(bad for _, bad in into)
    assert tb.counts == {"ev_rx_bad_o": bad, "ev_rx_no_room_o": 0, "ev_tx_cut_o": 0}


@cocotb.test()
async def a_slow_core_loses_whole_frames_and_counts_them(dut):
    tb = TB(dut, (16000, 6400, 4000))
    await tb.reset()
    frames = some(150 + rx_room(dut) // 100, 4000)
    for frame in frames:
        await tb.come(frame)
    await tb.settle(6000 + rx_room(dut) // tb.bytes)
    lost = tb.counts["ev_rx_no_room_o"]
    assert lost > 0 and len(tb.received) == len(frames) - lost
    left = iter(frames)
    assert all(any(f == g for g in left) for f in tb.received), (
        "a frame was changed or out of order"
    )


@cocotb.test()
async def loopbacks_return_frames_and_switch_between_frames(dut):
    tb = TB(dut, (5000, 6400, 6400))
    await tb.reset()
    out, into = some(12), some(12)
    dut.loopback_i.value = 1
    await tb.settle(4)
    for frame in out:
        await tb.send(frame)
    await tb.come(into[0])
    await tb.settle(400)
    assert tb.received == out and tb.sent == []
    tb.received = []
    dut.loopback_i.value = 2
    await tb.settle(4)
    for frame in into:
        await tb.come(frame)
    await tb.send(out[0])
    await tb.settle(1000)
    assert tb.sent == into and tb.received == [] and tb.gaps == 0
    tb.sent = []
    sending = cocotb.start_soon(tb.send(out[0] + bytes(1000)))
    await tb.settle(3)
    dut.loopback_i.value = 0
    await sending
    await tb.settle(100)
    assert tb.sent == []  # it began in far loop-back and was swallowed to its end
    await tb.send(out[1])
    await tb.settle(300)
    assert tb.sent == [out[1]]


@cocotb.test()
async def a_frame_is_offered_soon(dut):
    tb = TB(dut, (6400, 6400, 6400))
    await tb.reset()
    worst = 0
    for _ in range(10):
        await tb.settle(random.randrange(200, 220))
        tb.shown_at = None
        begin = cocotb.simtime.get_sim_time("ps")
        frame = random.randbytes(1400)
        await tb.send(frame)
        await tb.settle(100)
        worst = max(worst, (tb.shown_at - begin) / 6400)
    dut._log.info(
        "W %d: first beat in to first beat offered to the MAC: %.1f cycles", 8 * tb.bytes, worst
    )
    assert worst <= (9 + has_slack(dut) if not is_whole(dut) else 8 + 1400 / tb.bytes)


@cocotb.test()
async def a_reset_in_mid_packet_leaves_nothing_behind(dut):
    tb = TB(dut, (5000, 6400, 6400))
    await tb.reset()
    await tb.send(bytes(300))
    cocotb.start_soon(tb.come(bytes(2000)))
    await tb.settle(3)
    dut.rst_i.value = 1
    await tb.settle(400)
    dut.rst_i.value = 0
    await tb.settle(20)
    tb.sent, tb.received, tb.gaps = [], [], 0
    tb.counts.clear()
    frames = some(3)
    for frame in frames:
        await tb.send(frame)
        await tb.come(frame)
    await tb.settle(400)
    assert tb.sent[-3:] == frames and tb.received == frames


def is_in_order(frames, among):
    """Whether `frames` are some of `among`, each whole and none twice."""
    left = iter(among)
    return all(any(f == g for g in left) for f in frames)


def check_cut(tb, out):
    """Each cut frame is long enough and begins as one that was sent, up to its closing beats."""
    for frame in tb.cut:
        assert len(frame) >= 60
        real = max(len(frame) - (60 + tb.bytes - 1) // tb.bytes * tb.bytes, tb.bytes)
        assert any(f.startswith(frame[:real]) for f in out)


RESETS = ("rst_i", "mac_tx_rst_i", "mac_rx_rst_i")


async def frames_and_resets(dut, names, obeys, rounds):
    tb = TB(dut, random.choice([(5000, 6400, 6000), (6400, 6400, 6400), (3100, 3104, 9000)]))
    await tb.reset()
    tb.obeys = obeys
    tb.ready = lambda: random.random() < 0.9
    out, into, is_over = [], [], False

    async def sending():
        while not is_over:
            out.append(random.randbytes(random.choice([60, 100, 500, random.randrange(60, 1600)])))
            await tb.send(out[-1])

    async def coming():
        while not is_over:
            into.append(random.randbytes(random.choice([60, 100, 500, random.randrange(60, 1600)])))
            await tb.come(into[-1], idle=0.1)

    tasks = [cocotb.start_soon(sending()), cocotb.start_soon(coming())]
    for _ in range(rounds):
        await tb.settle(random.randrange(150))
        await tb.pulse(names or random.sample(RESETS, random.randint(1, 3)), random.randint(1, 20))
    is_over = True
    for task in tasks:
        await task
    # A full send FIFO leaves at the MAC's pace.
    await tb.settle(1500 + 2 * dut.TxDepth.value.to_unsigned())
    assert tb.gaps == 0
    assert is_in_order(tb.sent, out) and is_in_order(tb.received, into)
    check_cut(tb, out)
    if is_whole(dut) or (names and "rst_i" not in names):
        assert not tb.cut
    elif names == ("rst_i",):
        assert len(tb.cut) > rounds / 4
    dut._log.info(
        "%d resets of %s: %d of %d frames sent, %d cut; %d of %d received, %d dropped",
        rounds, names or "any", len(tb.sent), len(out), len(tb.cut), len(tb.received), len(into),
        tb.counts["ev_rx_no_room_o"],
    )  # fmt: skip
    # The FIFO is as after a reset of all.
    tb.sent, tb.received = [], []
    last = some(4)
    for frame in last:
        await tb.send(frame)
        await tb.come(frame)
    await tb.settle(600)
    assert tb.sent == last and tb.received == last


@cocotb.test()
async def a_reset_of_the_core_marks_the_frame_that_it_cuts(dut):
    await frames_and_resets(dut, ("rst_i",), True, 80)


@cocotb.test()
async def a_reset_of_the_transmit_side_leaves_whole_frames(dut):
    await frames_and_resets(dut, ("mac_tx_rst_i",), True, 80)


@cocotb.test()
async def a_reset_of_the_receive_side_joins_no_frames(dut):
    await frames_and_resets(dut, ("mac_rx_rst_i",), True, 80)


@cocotb.test()
async def resets_of_any_sides_leave_whole_frames(dut):
    await frames_and_resets(dut, None, True, 120)


@cocotb.test()
async def streams_that_go_on_through_resets_leave_no_fragment(dut):
    await frames_and_resets(dut, None, False, 120)


@cocotb.test()
async def a_source_that_begins_again_after_a_reset_loses_no_frame(dut):
    tb = TB(dut, (6400, 6400, 6400))
    await tb.reset()
    for cycles in (1, 2, 4, 20):
        for names in (("rst_i",), ("mac_rx_rst_i",)):
            frame = random.randbytes(1500)
            tasks = [cocotb.start_soon(tb.send(frame)), cocotb.start_soon(tb.come(frame))]
            await tb.settle(20)
            await tb.pulse(names, cycles)
            for task in tasks:
                await task
            await tb.settle(300)
            tb.sent, tb.received = [], []
            frames = some(3)
            for frame in frames:
                await tb.send(frame)
                await tb.come(frame)
            await tb.settle(400)
            assert tb.sent == frames and tb.received == frames


@cocotb.test()
async def a_frame_that_is_late_is_ended_with_a_mark(dut):
    # 2 % slower: a frame of 400 beats runs dry.
    tb = TB(dut, (6528, 6400, 6400))
    await tb.reset()
    late = []
    longest = min(dut.FrameBytesMax.value.to_unsigned(), 9216)
    for n in range(16):
        frame = random.randbytes(random.choice([60, 200, random.randrange(60, longest), longest]))
        late.append(frame)
        await tb.send(frame, idle=0.3 if n % 4 == 3 else 0)
    await tb.settle(3000)
    assert tb.gaps == 0
    assert len(tb.sent) + len(tb.cut) == len(late)
    assert is_in_order(tb.sent, late)
    check_cut(tb, late)
    assert bool(tb.cut) != is_whole(dut)
    assert tb.counts["ev_tx_cut_o"] == len(tb.cut)
    # They lose half a beat.
    if is_whole(dut) or has_slack(dut):
        assert late[0] in tb.sent or len(late[0]) > 200


@cocotb.test()
async def a_clock_that_is_slower_by_a_beat_in_a_frame_cuts_none_with_slack(dut):
    frame = random.randbytes(4096)
    beats = len(frame) // len(dut.s_tx_tkeep)
    # Half a beat in a frame, from any phase: without slack about half of the frames are cut.
    tb = TB(dut, (2 * (3200 + round(1600 / beats)), 6400, 6400))
    await tb.reset()
    count = 16
    for _ in range(count):
        await tb.send(frame)
        await tb.settle(random.randrange(100, 300))
    await tb.settle(2 * beats)
    if is_whole(dut) or has_slack(dut):
        assert tb.sent == [frame] * count
    else:
        assert len(tb.cut) > 0


@cocotb.test()
async def a_frame_that_the_core_marks_is_not_sent_as_a_good_one(dut):
    tb = TB(dut, (5000, 6400, 6400))
    await tb.reset()
    tb.ready = lambda: random.random() < 0.9
    out = [
        (random.randbytes(random.choice([8, 14, 60, 100, 1000])), random.random() < 0.4)
        for _ in range(60)
    ]
    for frame, bad in out:
        await tb.send(frame, bad=bad)
        await tb.settle(random.choice([0, 0, 30]))
    await tb.settle(1000)
    marked = [f for f, bad in out if bad]
    assert tb.sent == [f for f, bad in out if not bad] and tb.gaps == 0
    assert tb.counts["ev_tx_cut_o"] == len(marked)
    check_cut(tb, marked)
    short = [f for f in marked if len(f) <= tb.bytes]
    assert len(tb.cut) == (0 if is_whole(dut) else len(marked) - len(short))


@cocotb.test()
async def the_shortest_and_the_longest_frames_pass(dut):
    tb = TB(dut, (5000, 6400, 6400))
    await tb.reset()
    longest = dut.FrameBytesMax.value.to_unsigned()
    sizes = [longest, longest - 1, longest - tb.bytes]
    out = [random.randbytes(n) for n in [*range(14, 40), *sizes]]
    into = [random.randbytes(n) for n in [*range(8, 40), *sizes]]
    random.shuffle(into)

    async def sending():
        for frame in out:
            await tb.send(frame)

    task = cocotb.start_soon(sending())
    for frame in into:
        await tb.come(frame)
        await tb.settle(len(frame) // tb.bytes + 40)
    await task
    await tb.settle(3 * longest // tb.bytes + 200)
    assert tb.sent == out and tb.gaps == 0
    assert tb.received == into and not any(tb.counts.values())


@cocotb.test()
async def frames_longer_than_the_fifo_are_dropped_whole(dut):
    tb = TB(dut, (5000, 6400, 6400))
    await tb.reset()
    room = [tb.bytes * getattr(dut, name).value.to_unsigned() for name in ("TxDepth", "RxDepth")]
    # What is sent as it comes has no bound.
    sizes = [60, room[0], room[0] + 1, 100, 2 * room[0], room[0] - 1, 3 * room[0] + 7, 60]
    out = [random.randbytes(n) for n in (sizes if is_whole(dut) else [60, 100])]
    sizes = [60, room[1], room[1] + 1, 100, 2 * room[1], room[1] - 1, 3 * room[1] + 7, 60]
    into = [random.randbytes(n) for n in sizes]

    async def coming():
        for frame in into:
            await tb.come(frame)
            await tb.settle(len(frame) // tb.bytes + 40)

    task = cocotb.start_soon(coming())
    for frame in out:
        await tb.send(frame, idle=random.choice([0, 0.2]) if is_whole(dut) else 0)
    await task
    await tb.settle(2 * sum(room) // tb.bytes + 200)
    assert tb.sent == [f for f in out if len(f) <= room[0]] and tb.gaps == 0
    assert tb.received == [f for f in into if len(f) <= room[1]]
    dropped = len(out) - len(tb.sent)
    assert tb.counts == {"ev_rx_bad_o": 0, "ev_rx_no_room_o": 3, "ev_tx_cut_o": dropped}


@cocotb.test()
async def a_core_that_waits_is_shown_whole_frames_and_loses_whole_ones(dut):
    tb = TB(dut, (5000, 6400, 6400))
    await tb.reset()
    tb.core_ready = lambda: random.random() < 0.1
    frames = some(60 + rx_room(dut) // 100, 1000)
    for frame in frames:
        await tb.come(frame)
    tb.core_ready = lambda: True
    await tb.settle(2000 + rx_room(dut) // tb.bytes)
    lost = tb.counts["ev_rx_no_room_o"]
    assert len(tb.received) == len(frames) - lost and is_in_order(tb.received, frames)
    assert (lost > 0) == (dut.RxReady.value != 0)
    # Loop-back near holds the sender back instead.
    tb.received, tb.core_ready = [], lambda: random.random() < 0.5
    dut.loopback_i.value = 1
    await tb.settle(4)
    for frame in frames[:20]:
        await tb.send(frame)
    await tb.settle(10)
    assert tb.received == frames[:20]


@cocotb.test()
async def the_far_loop_back_takes_two_passes(dut):
    """Round trip of frames, first beat in to last out: 2 ceil(L / 8) + 16 at most at 64 bits."""
    tb = TB(dut, (6400, 6400, 6400))
    await tb.reset()
    dut.loopback_i.value = 2
    await tb.settle(4)
    for length in (32, 64, 128, 256, 512, 1024, 1500):
        frame = random.randbytes(length)
        await RisingEdge(dut.mac_rx_clk_i)
        begin = cocotb.simtime.get_sim_time("ps")
        await tb.come(frame)
        while not tb.sent:
            await FallingEdge(dut.mac_tx_clk_i)
            await Timer(2, "ps")
        trip = (cocotb.simtime.get_sim_time("ps") - begin) // 6400
        beats = -(-length // tb.bytes)
        dut._log.info("W %d, %d bytes: %d cycles", 8 * tb.bytes, length, trip)
        assert trip <= (3 if is_whole(dut) else 2) * beats + 16
        assert tb.sent == [frame]
        tb.sent = []
        await tb.settle(40)


SOURCES = [
    "mac_fifo", "frame_cdc", "cut_through_cdc", "frame_gate", "event_cdc", "async_fifo",
    "reset_ctrl", "reset_side", "sync_bits",
]  # fmt: skip


# Both FIFOs have 64 KiB, or 4.
LARGE = {"TxDepth": 8192, "RxDepth": 8192, "FrameBytesMax": 65536}
SMALL = {"TxDepth": 512, "RxDepth": 512, "FrameBytesMax": 4096}
# What a short run holds against small FIFOs and a core that waits.
BOUNDS = [
    "frames_pass_whole_both_ways_and_bad_ones_are_counted",
    "a_frame_that_the_core_marks_is_not_sent_as_a_good_one",
    "the_shortest_and_the_longest_frames_pass",
    "frames_longer_than_the_fifo_are_dropped_whole",
    "a_core_that_waits_is_shown_whole_frames_and_loses_whole_ones",
    "the_far_loop_back_takes_two_passes",
]


@pytest.mark.parametrize(
    ("parameters", "tests"),
    [
        ({"W": 64}, None),
        ({"W": 64, "TxStoreForward": 1, "RxReady": 1, **SMALL}, BOUNDS),
        *(
            pytest.param(p, None, marks=pytest.mark.full)
            for p in (
                {"W": 64, "TxSlack": 1, "RxReady": 1},
                {"W": 64, "TxStoreForward": 1, "RxReady": 1, **SMALL},
                {"W": 64, "TxStoreForward": 1, "RxReady": 1, **LARGE},
                {"W": 512},
                {"W": 512, "TxSlack": 1},
                {"W": 512, "TxStoreForward": 1, "RxReady": 1},
            )
        ),
    ],
)
def test_mac_fifo(parameters, tests):
    run(
        "mac_fifo",
        sources=SOURCES,
        test_module="test_mac_fifo",
        parameters=parameters,
        testcase=tests,
    )

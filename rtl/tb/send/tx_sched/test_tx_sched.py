"""The way out as a whole: window, nack_walker, pacer, tx_sched and frame_tx, frame by frame.

The bench knows what was written, what it asked for and what it promised; each frame is rebuilt from
its seq and departure and checked against the rules of docs/protocol.md#4 and #5.
"""

import itertools
import random
from collections import Counter
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from data_frames import OVERHEAD_BYTES, RETRANSMISSION, FrameSink, Slot, data_frame
from network import Peer, report_steps
from runner import run

US = Peer(mac=0x02A1B2C3D4E5, ip=0xC0A80A02, port=9100)
HOST = Peer(mac=0x98F2B3010203, ip=0xC0A80A63, port=0xC35A)
TAG = 0x5EED0001
SLOTS, SLOT_BEATS = 64, 256
OPENING, FLOWING, CLOSING = 1, 2, 3
M32 = (1 << 32) - 1
FIRST_SEQ = M32 - 20


def ahead(a: int, b: int) -> int:
    """Signed distance from b to a."""
    return ((a - b + (1 << 31)) & M32) - (1 << 31)


class TB:
    """Writes slots once, reuses them for every seq, and follows the frames."""

    def __init__(self, dut, *, payload_bytes: int = 256, cycle_ns=3.2):
        self.dut = dut
        self.width = len(dut.m_axis_tdata)
        self.payload_bytes = payload_bytes
        self.first_seq = FIRST_SEQ
        self.sink = FrameSink(self.width)
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.cycle_ns = cycle_ns
        self.time_ns = 5_000_000_000.0
        self.now = 0
        self.ready = lambda: 1
        self.slots: list[Slot] = []
        self.events = Counter()
        self.pulses: dict[str, int] = {}  # cycles that an input is still to be high
        self.values: dict[str, int] = {}  # inputs that change with the next cycle
        self.departures: dict[int, list[int]] = {}  # of each seq, in order
        self.order: list[tuple[int, bool]] = []  # seq, whether a repeat
        self.last_stamp = None
        self.seen = 0

    async def start(self, *, rate=0, burst_ns=0, rtt=6250, state=FLOWING, window=SLOTS):
        dut = self.dut
        for name in (
            "flush_i ring_we_i slot_we_i commit_i rep_valid_i rep_is_newer_i rep_has_ranges_i "
            "rep_step_i rep_check_i rep_hi_i rep_lo_i rng_valid_i rng_first_i "
            "rng_count_i rng_to_next_i rng_settled_i ctl_want_i ctl_done_i ctl_shown_i "
            "m_axis_tready"
        ).split():
            getattr(dut, name).value = 0
        dut.rst_i.value = 1
        dut.self_i.value = US.packed()
        dut.peer_i.value = HOST.packed()
        dut.stream_tag_i.value = TAG
        dut.state_i.value = state
        dut.window_i.value = window
        dut.rtt_i.value = rtt
        dut.rate_i.value = rate
        dut.burst_ns_i.value = burst_ns
        dut.time_ns_i.value = int(self.time_ns)
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        for _ in range(4):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        for number in range(SLOTS):
            await self.write(number)
        self.pulses["flush_i"] = 4
        for _ in range(20):
            await self.cycle()

    async def write(self, number: int):
        """Fills a slot's ring and table."""
        dut = self.dut
        slot = Slot(self.rng.randbytes(self.payload_bytes), self.rng.getrandbits(62))
        self.slots.append(slot)
        dut.slot_we_i.value = 1
        dut.slot_waddr_i.value = number
        dut.slot_wdata_i.value = slot.packed()
        dut.ring_we_i.value = 1
        for k, beat in enumerate(slot.beats(self.width)):
            dut.ring_waddr_i.value = number * SLOT_BEATS + k
            dut.ring_wdata_i.value = beat
            await FallingEdge(dut.clk_i)
            dut.slot_we_i.value = 0
        dut.ring_we_i.value = 0

    async def cycle(self):
        dut = self.dut
        await FallingEdge(dut.clk_i)
        self.now += 1
        self.time_ns += self.cycle_ns
        dut.time_ns_i.value = int(self.time_ns)
        for name, value in self.values.items():
            getattr(dut, name).value = value
        self.values.clear()
        for name, count in list(self.pulses.items()):
            getattr(dut, name).value = int(count > 0)
            self.pulses[name] = count - 1
            if count <= 0:
                del self.pulses[name]
        ready = self.ready()
        dut.m_axis_tready.value = ready
        await ReadOnly()
        valid = int(dut.m_axis_tvalid.value)
        beat = (0, 0, 0)
        if valid:
            beat = tuple(
                int(s.value) for s in (dut.m_axis_tdata, dut.m_axis_tkeep, dut.m_axis_tlast)
            )
        self.sink.cycle(self.now, valid, ready, *beat)
        for name in (
            "ev_refused_o",
            "ev_skipped_o",
            "ev_budget_o",
            "depart_new_o",
            "depart_repeat_o",
        ):
            if int(getattr(dut, name).value):
                self.events[name] += 1
        while self.seen < len(self.sink.frames):
            self.check(self.sink.frames[self.seen])
            self.seen += 1

    def check(self, frame: bytes):
        """Holds a frame against what its seq must be, and its departure against the one before."""
        seq = int.from_bytes(frame[56:60], "big")
        departure = int.from_bytes(frame[60:64], "big")
        before = self.departures.setdefault(seq, [])
        flags = RETRANSMISSION if before else 0
        slot = self.slots[seq % SLOTS]
        want = data_frame(US, HOST, slot, tag=TAG, seq=seq, departure=departure, flags=flags)
        assert frame == want, f"seq {seq}:\n{frame[:70].hex()}\n{want[:70].hex()}"
        assert (
            self.last_stamp is None or self.time_ns > 30e9 or ahead(departure, self.last_stamp) > 0
        )
        self.last_stamp = departure
        self.order.append((seq, bool(before)))
        before.append(departure)

    async def commit(self, count: int = 1):
        for _ in range(count):
            assert not self.dut.full_o.value
            self.pulses["commit_i"] = 1
            await self.cycle()
        await self.cycle()

    async def say(self, *, released=None, limit=None, highest=None) -> bool:
        """One REPORT without ranges; returns whether it was taken."""
        oldest = int(self.dut.oldest_o.value)
        steps = report_steps(
            released=oldest if released is None else released & M32,
            limit=int(self.dut.limit_o.value) if limit is None else limit & M32,
            settled=0,
            highest=oldest if highest is None else highest & M32,
        )
        for check, hi, lo in steps:
            self.values |= {
                "rep_check_i": check, "rep_hi_i": hi, "rep_lo_i": lo, "rep_is_newer_i": 1
            }  # fmt: skip
            self.pulses["rep_step_i"] = 1
            await self.cycle()
        await self.cycle()
        self.pulses["rep_valid_i"] = 1
        await self.cycle()
        return bool(self.dut.rep_ok_o.value)

    async def ask(self, first: int, count: int, settled: int, to_next: bool = False):
        """One range of a REPORT."""
        self.values |= {
            "rng_first_i": first & M32,
            "rng_count_i": count,
            "rng_settled_i": settled & M32,
            "rng_to_next_i": int(to_next),
        }
        await self.cycle()
        self.pulses["rng_valid_i"] = 1
        await self.cycle()

    async def until(self, frames: int, limit: int = 60_000):
        end = self.now + limit
        while len(self.sink.frames) < frames:
            await self.cycle()
            assert self.now < end, f"{len(self.sink.frames)} of {frames} frames came"

    async def quiet(self, cycles: int = 300):
        for _ in range(cycles):
            await self.cycle()
        assert not self.dut.busy_o.value and self.sink.empty()


def seq_of(tb: TB, k: int) -> int:
    return (tb.first_seq + k) & M32


@cocotb.test()
async def nothing_departs_without_credit_or_before_a_report(dut):
    tb = TB(dut)
    await tb.start(state=OPENING)
    await tb.commit(10)
    assert await tb.say(limit=seq_of(tb, 4))
    await tb.quiet()
    assert not tb.sink.frames
    tb.values["state_i"] = FLOWING
    await tb.until(4)
    await tb.quiet()
    assert tb.order == [(seq_of(tb, k), False) for k in range(4)]
    tb.values["state_i"] = CLOSING
    assert await tb.say(limit=seq_of(tb, 9))
    await tb.until(9)
    await tb.quiet()
    assert len(tb.order) == 9


@cocotb.test()
async def commit_and_request_reach_the_wire_in_time(dut):
    tb = TB(dut)
    await tb.start()
    await tb.say(limit=seq_of(tb, 50))
    await tb.quiet(40)
    tb.pulses["commit_i"] = 1
    await tb.cycle()
    begun = tb.now
    await tb.until(1)
    commit_cycles = tb.sink.first_cycles[0] - begun
    await tb.quiet(40)
    settled = int(dut.last_departure_o.value) + 1
    await tb.ask(seq_of(tb, 0), 1, settled)
    begun = tb.now
    await tb.until(2)
    request_cycles = tb.sink.first_cycles[1] - begun
    dut._log.info("commit: %d cycles, request: %d cycles", commit_cycles, request_cycles)
    assert commit_cycles <= 22 and request_cycles <= 24
    assert tb.order[1] == (seq_of(tb, 0), True)


@cocotb.test()
async def request_is_served_once_and_only_if_it_departed_before_settled(dut):
    tb = TB(dut)
    await tb.start()
    await tb.say(limit=seq_of(tb, 60))
    await tb.commit(12)
    await tb.until(12)
    await tb.quiet(40)
    stamps = [tb.departures[seq_of(tb, k)][0] for k in range(12)]
    # Everything, twice, settled at the departure of the ninth: eight go, once.
    for _ in range(2):
        await tb.ask(seq_of(tb, -5), 40, stamps[8])
    await tb.quiet(1500)
    assert tb.order[12:] == [(seq_of(tb, k), True) for k in range(8)]
    # Outside the window on both sides: of no effect.
    await tb.ask(seq_of(tb, -20), 20, stamps[8])
    await tb.ask(seq_of(tb, 12), 1 << 31, M32)
    await tb.quiet()
    assert len(tb.order) == 20
    # Released seqs are not served.
    assert await tb.say(released=seq_of(tb, 10), highest=seq_of(tb, 12))
    last = int(dut.last_departure_o.value)
    await tb.ask(seq_of(tb, 3), 1 << 20, last + 1)
    await tb.quiet(1000)
    assert tb.order[20:] == [(seq_of(tb, k), True) for k in (10, 11)]
    # To next: without the settled rule.
    await tb.ask(seq_of(tb, 0), 1, 0, to_next=True)
    await tb.quiet(1000)
    assert tb.order[22:] == [(seq_of(tb, k), True) for k in (10, 11)]


@cocotb.test()
async def budget_bounds_repeats_within_a_round_trip_and_new_packets_go_on(dut):
    tb = TB(dut)
    rtt_cycles = 20_000
    await tb.start(rtt=int(rtt_cycles * tb.cycle_ns / 16))
    await tb.say(limit=seq_of(tb, 64))
    await tb.commit(60)
    await tb.until(60)
    await tb.quiet(40)
    for _ in range(2):
        await tb.ask(seq_of(tb, 0), 60, int(dut.last_departure_o.value) + 1)
    begun = tb.now
    await tb.until(92)
    await tb.quiet()
    assert len(tb.order) == 92, "32 repeats are the budget of a small window"
    assert tb.events["ev_budget_o"] >= 1
    await tb.commit(2)
    await tb.until(94)
    assert [is_repeat for _, is_repeat in tb.order[92:]] == [False, False]
    await tb.until(95)
    assert tb.now - begun >= rtt_cycles - 100
    await tb.until(122)
    assert max(len(d) for d in tb.departures.values()) == 2


@cocotb.test()
async def full_rate_with_scattered_requests_keeps_the_wire_busy(dut):
    """A MAC that takes 24 bytes of overhead a frame, at 10, 25 or 100 Gb/s and its core clock."""
    width = len(dut.m_axis_tdata)
    # Core clock and line rate, bytes a cycle on the wire.
    for wire_bytes in (8.0,) if width == 64 else (100e9 / 8 / 322.265625e6,):
        tb = TB(dut, payload_bytes=1408)
        await tb.start(rtt=60)
        state = {"credit": 0.0}

        def ready(state=state, wire_bytes=wire_bytes, tb=tb):
            # The MAC takes a beat when the wire has room; its own queue is two beats.
            state["credit"] = min(state["credit"] + wire_bytes, 2.0 * tb.width / 8)
            if state["credit"] < tb.width / 8 or not int(dut.m_axis_tvalid.value):
                return int(state["credit"] >= tb.width / 8)
            state["credit"] -= tb.width / 8
            if int(dut.m_axis_tlast.value):
                state["credit"] += tb.width / 8 - 4 - OVERHEAD_BYTES
            return 1

        tb.ready = ready
        committed = 0
        await tb.say(limit=seq_of(tb, 4000))
        total = 150 if width == 64 else 600
        asked = 0
        while len(tb.sink.frames) < total:
            oldest = int(dut.oldest_o.value)
            sent = int(dut.sent_o.value)
            if ahead(seq_of(tb, committed), oldest) < SLOTS - 1 and not int(dut.full_o.value):
                tb.pulses["commit_i"] = 1
                committed += 1
            if ahead(sent, oldest) > SLOTS // 2:
                release = (oldest + 8) & M32
                await tb.say(released=release, highest=sent, limit=seq_of(tb, committed + 200))
                for k in range(2):
                    await tb.ask(release + 7 * k, 1, int(dut.last_departure_o.value))
                    asked += 1
            await tb.cycle()
        first, last = tb.sink.last_cycles[20], tb.sink.last_cycles[-1]
        sent_bytes = sum(len(f) + OVERHEAD_BYTES for f in tb.sink.frames[21:])
        share = sent_bytes / ((last - first) * wire_bytes)
        repeats = sum(r for _, r in tb.order)
        dut._log.info("wire time %.4f, %d repeats of %d requests", share, repeats, asked)
        assert share >= 0.995 and repeats > total // 20


@cocotb.test()
async def pace_holds_for_new_packets_and_repeats_together(dut):
    tb = TB(dut)
    rate = 1.25  # bytes a ns: 10 Gb/s
    await tb.start(rate=int(rate * 65536), rtt=10)
    await tb.say(limit=seq_of(tb, 64))
    await tb.commit(60)
    await tb.until(40)
    await tb.ask(seq_of(tb, 0), 30, int(dut.last_departure_o.value))
    await tb.until(90)
    wire = tb.payload_bytes + 68 + OVERHEAD_BYTES
    span_ns = (tb.sink.first_cycles[89] - tb.sink.first_cycles[4]) * tb.cycle_ns
    reached = 85 * wire / span_ns
    dut._log.info("rate %.4f of %.4f bytes a ns", reached, rate)
    assert 0.99 * rate <= reached <= 1.01 * rate


async def place(tb: TB) -> int:
    """Requests the place of a control packet; returns its departure."""
    tb.values["ctl_want_i"] = 1
    for _ in range(20):
        await tb.cycle()
        if int(tb.dut.ctl_grant_o.value):
            break
    else:
        raise AssertionError("no place")
    tb.values["ctl_want_i"] = 0
    await tb.cycle()
    return int(tb.dut.ctl_departure_o.value)


async def released(tb: TB) -> int:
    """Waits until the control packet may leave; returns how many DATA were chosen until then."""
    for _ in range(600):
        chosen = tb.events["depart_new_o"]
        await tb.cycle()
        if not int(tb.dut.ctl_hold_o.value):
            return chosen
    raise AssertionError("the control packet is held for ever")


@cocotb.test()
async def control_packet_gets_its_place_between_data(dut):
    """Built in time, nothing waits for it; else DATA waits behind its stamp, and not before."""
    tb = TB(dut, cycle_ns=3.2 * len(dut.m_axis_tdata) / 64)
    await tb.start()
    await tb.say(limit=seq_of(tb, 64))
    for is_in_time in (True, False):
        begun = len(tb.sink.frames)
        await tb.commit(30)
        await tb.until(begun + 3)
        stamp = await place(tb)
        if is_in_time:
            tb.values["ctl_shown_i"] = 1
        else:
            for _ in range(700):
                await tb.cycle()
            waiting = len(tb.sink.frames)
            await tb.quiet()
            assert int(dut.ctl_hold_o.value) and len(tb.sink.frames) == waiting < begun + 30
            tb.values["ctl_shown_i"] = 1
        before = await released(tb)
        tb.values["ctl_shown_i"] = 0
        await tb.until(begun + 30)
        stamps = [tb.departures[seq_of(tb, k)][0] for k in range(begun + 30)]
        passed = [ahead(other, stamp) < 0 for other in stamps]
        # A packet may be chosen in the cycle in which the control packet is let go.
        assert passed == sorted(passed, reverse=True) and before - 1 <= sum(passed) <= before
        assert begun + 3 < sum(passed) < begun + 30
        first, last = tb.sink.first_cycles, tb.sink.last_cycles
        idle = [first[k + 1] - last[k] - 1 for k in range(begun, begun + 29)]
        assert not is_in_time or max(idle) <= 2, idle


@cocotb.test()
async def place_without_a_packet_is_given_back(dut):
    tb = TB(dut)
    await tb.start()
    stamps = []
    for _ in range(3):
        stamps.append(await place(tb))
        tb.pulses["ctl_done_i"] = 1
        await released(tb)
    await tb.say(limit=seq_of(tb, 64))
    await tb.commit(1)
    await tb.until(1)
    stamps.append(tb.departures[seq_of(tb, 0)][0])
    assert all(ahead(b, a) > 0 for a, b in itertools.pairwise(stamps)), stamps


@cocotb.test()
async def stamps_rise_on_a_clock_that_stands_and_follow_it_after_a_silence(dut):
    tb = TB(dut, cycle_ns=0.0)
    await tb.start()
    await tb.say(limit=seq_of(tb, 64))
    await tb.commit(5)
    await tb.until(5)
    stamps = [tb.departures[seq_of(tb, k)][0] for k in range(5)]
    assert stamps == [(int(tb.time_ns) >> 4) + k & M32 for k in range(5)]
    sent = 5
    for silence_s in (17.0, 34.0, 34.5, 40.0, 68.0, 69.0, 103.5, 1000.0):
        for wait in (0, 1, 2, 5):
            tb.time_ns += silence_s * 1e9
            for _ in range(wait):
                await tb.cycle()
            await tb.commit(1)
            sent += 1
            await tb.until(sent)
            stamp = tb.departures[seq_of(tb, sent - 1)][0]
            assert stamp == int(tb.time_ns) >> 4 & M32, f"after {silence_s} s"
            await tb.quiet(30)


@cocotb.test()
async def random_feedback_repeats_nothing_that_it_must_not(dut):
    tb = TB(dut, payload_bytes=64 * 2)
    tb.ready = lambda: int(tb.rng.random() < 0.8)
    await tb.start(rtt=200)
    rng = tb.rng
    committed = 0
    for _ in range(250):
        oldest, sent = int(dut.oldest_o.value), int(dut.sent_o.value)
        limit = int(dut.limit_o.value)
        for _ in range(rng.randrange(12)):
            if not int(dut.full_o.value):
                tb.pulses["commit_i"] = 1
                committed += 1
            await tb.cycle()
            await tb.cycle()
        if rng.random() < 0.7:
            held = ahead(sent, oldest)
            released = (oldest + rng.randrange(held // 2 + 1)) & M32
            taken = await tb.say(
                released=released, highest=released, limit=released + rng.randrange(0, 80)
            )
            assert taken
            await tb.cycle()
            limit = int(dut.limit_o.value)
        for _ in range(rng.randrange(4)):
            settled = int(dut.last_departure_o.value) + rng.choice([1, 0, -100, -2000])
            await tb.ask(oldest + rng.randrange(-10, 70), rng.choice([1, 1, 5, 200]), settled & M32)
        assert ahead(int(dut.sent_o.value), int(dut.limit_o.value)) <= 0, limit
    await tb.say(limit=int(dut.oldest_o.value) + 200)
    tb.ready = lambda: 1
    idle = 0
    while idle < 2000:
        await tb.cycle()
        idle = 0 if int(dut.busy_o.value) else idle + 1
        assert tb.now < 200_000
    assert tb.sink.empty()
    new = [seq for seq, is_repeat in tb.order if not is_repeat]
    assert new == [seq_of(tb, k) for k in range(committed)]
    assert len(tb.order) == tb.events["depart_new_o"] + tb.events["depart_repeat_o"]
    assert len(tb.order) > committed, "nothing was repeated"


@pytest.mark.parametrize("width", [64, pytest.param(512, marks=pytest.mark.full)])
def test_tx_sched(width):
    run(
        "tx_path",
        sources=[
            Path(__file__).parent / "tx_path.sv",
            *("window", "nack_walker", "pacer", "tx_sched", "slot_table", "ring"),
            *("frame_tx", "head_builder", "head_serial", "head_wide", "header_crc", "crc_combine"),
        ],
        test_module="test_tx_sched",
        parameters={"W": width, "Slots": SLOTS, "SlotBeats": SLOT_BEATS, "FirstSeq": FIRST_SEQ},
    )

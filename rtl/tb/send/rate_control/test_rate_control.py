"""rate_control: the machine of vectors/dcqcn.py, the ring of events, the rates that it keeps."""

import random
import sys
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject
from cocotb.triggers import FallingEdge

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "vectors"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dcqcn import Flow, Params  # noqa: E402
from registers import CONFIG_WIDTHS, config_reset, pack  # noqa: E402

NONE, FIXED, DCQCN = 0, 1, 2
START, TIMER, BYTES, CUT, IGNORED = range(5)
ENTRIES = 512
# Longer than a visit of dcqcn, with the cycles to the pacer and back.
SETTLED = 48
FRAME = 1500
GIGABIT = 8192  # in 2^-16 bytes a ns


class Recorded(Flow):
    """The machine, and what the ring is to show of it."""

    def __init__(self, params: Params, now: int) -> None:
        super().__init__(params, now)
        self.now = now
        self.events = [(now, START, params.start)]

    def record(self, cause: int) -> None:
        self.events.append((self.now, cause, self.rate))

    def count(self, what: str) -> None:
        before = self.rate
        super().count(what)
        if self.rate != before:
            self.record({"timer": TIMER, "bytes": BYTES}[what])

    def notification(self, now: int, rtt: int) -> bool:
        is_cut = super().notification(now, rtt)
        self.record(CUT if is_cut else IGNORED)
        return is_cut


class TB:
    """The module with a time that stands still but for steps, so that instants are exact."""

    def __init__(self, dut: HierarchyObject, **config: int) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.now = 1 << 43 | self.rng.getrandbits(42)
        self.config = config_reset(is_wide=False) | config
        self.cuts = 0
        cocotb.start_soon(Clock(dut.clk_i, 4, "ns").start())
        for name in ("opening_i", "ev_marked_i", "rtt_i", "charge_i", "charge_bytes_i"):
            getattr(dut, name).value = 0

    def configure(self, **config: int) -> None:
        self.config |= config
        self.dut.cfg_i.value = pack(self.config, CONFIG_WIDTHS)

    async def cycles(self, count: int, step_ns: int = 0) -> None:
        for _ in range(count):
            self.now += step_ns
            self.dut.time_ns_i.value = self.now
            await FallingEdge(self.dut.clk_i)
            self.cuts += int(self.dut.ev_cut_o.value)

    async def reset(self) -> None:
        self.configure()
        self.dut.rst_i.value = 1
        await self.cycles(3)
        self.dut.rst_i.value = 0
        await self.cycles(SETTLED)

    async def step(self, ns: int) -> None:
        """Lets time pass at once."""
        self.now += ns
        await self.cycles(SETTLED)

    async def open(self) -> None:
        """An opening is accepted."""
        self.dut.opening_i.value = 1
        await self.cycles(SETTLED)
        self.dut.opening_i.value = 0

    async def mark(self, rtt_16ns: int = 0) -> None:
        self.dut.rtt_i.value = rtt_16ns
        self.dut.ev_marked_i.value = 1
        await self.cycles(1)
        self.dut.ev_marked_i.value = 0
        await self.cycles(SETTLED)

    async def depart(self, *sizes: int) -> None:
        """Departures within one visit of the machine."""
        for size in sizes:
            self.dut.charge_i.value = 1
            self.dut.charge_bytes_i.value = size
            await self.cycles(1)
            self.dut.charge_i.value = 0
            await self.cycles(1)
        await self.cycles(SETTLED)

    def state(self) -> list[int]:
        names = ("rate_o", "target_o", "alpha_o")
        return [int(getattr(self.dut, name).value) for name in names]

    async def ring(self) -> list[tuple[int, int, int]]:
        """The entries, in order of their places: time, cause, rate."""
        entries = []
        for index in range(ENTRIES):
            self.configure(event_index=index)
            await self.cycles(2)
            names = ("event_time_ns_o", "event_cause_o", "event_rate_o")
            entries.append(tuple(int(getattr(self.dut, name).value) for name in names))
        return entries

    async def sent_in(self, span_ns: int) -> int:
        """Wire bytes that leave within a span of a source that always has data."""
        end, sent = self.now + span_ns, 0
        while self.now < end:
            if int(self.dut.ok_o.value):
                self.dut.charge_i.value = 1
                self.dut.charge_bytes_i.value = FRAME
                await self.cycles(1, 8)
                self.dut.charge_i.value = 0
                sent += FRAME
                # As tx_sched: at most one packet in 3 cycles.
                await self.cycles(2, 8)
            else:
                await self.cycles(1, 8)
        return sent


def params(config: dict[str, int]) -> Params:
    return Params(
        gain_shift=config["gain_shift"], alpha_period=config["alpha_period_ns"],
        rise_period=config["rise_period_ns"], rise_bytes=config["rise_bytes"],
        recovery_stages=config["recovery_stages"], additive=config["rate_additive"],
        hyper=config["rate_hyper"], minimum=config["rate_minimum"], start=config["rate_start"],
        first_cut=config["rate_first_cut"], cut_interval=config["cut_interval_ns"],
        line=config["rate_line"],
    )  # fmt: skip


@cocotb.test()
async def rate_and_events_are_those_of_the_machine_and_the_ring_wraps(dut):
    tb = TB(dut, rate_start=40_000, rise_bytes=70_000)
    await tb.reset()
    opened = tb.now
    events = [(opened, START, 40_000)]
    for life in range(2):
        await tb.step(1_000)
        await tb.open()
        flow = Recorded(params(tb.config), tb.now)
        first_cut = tb.cuts
        while len(flow.events) < (150, 450)[life]:
            await tb.step(tb.rng.choice([100, 1_000, 20_000, 30_000]))
            flow.now = tb.now
            flow.time(tb.now)
            drawn = tb.rng.random()
            if drawn < 0.1:
                rtt = tb.rng.choice([0, 250, 3125, 4000, 1 << 28])
                # A cut that is blocked for 4 s ends what is to be seen.
                rtt = rtt if rtt < 1 << 28 or len(flow.events) > 440 else 0
                flow.notification(tb.now, 16 * rtt if rtt < 1 << 28 else (1 << 32) - 1)
                await tb.mark(rtt)
            elif drawn < 0.8:
                sizes = [tb.rng.randint(84, 9_000) for _ in range(tb.rng.randint(1, 3))]
                flow.departure(tb.now, sum(sizes))
                await tb.depart(*sizes)
            assert tb.state() == flow.state()[:3], f"{len(flow.events)} events"
        assert tb.cuts - first_cut == flow.cuts > 5
        events += flow.events
        assert int(dut.event_count_o.value) == len(events)
        ring = await tb.ring()
        newest = events[-ENTRIES:]
        for n, (time, cause, rate) in enumerate(newest, start=len(events) - len(newest)):
            assert ring[n % ENTRIES] == (time % (1 << 45), cause, rate), f"event {n}"
        if life == 0:
            assert ring[len(events) :] == [(0, 0, 0)] * (ENTRIES - len(events))
    assert len(events) > ENTRIES
    assert {cause for _, cause, _ in events} == {START, TIMER, BYTES, CUT, IGNORED}


@cocotb.test()
async def departures_of_one_visit_count_as_65_535_bytes_at_most(dut):
    largest = (1 << 16) - 1
    tb = TB(dut, rise_bytes=3 * largest, rate_start=8_000, recovery_stages=1)
    await tb.reset()
    for is_due in (False, False, True):
        # In two cycles, one behind the other.
        tb.dut.charge_i.value = 1
        tb.dut.charge_bytes_i.value = largest
        await tb.cycles(2)
        tb.dut.charge_i.value = 0
        await tb.cycles(SETTLED)
        assert (int(dut.rate_o.value) != 8_000) == is_due


@cocotb.test()
async def a_rate_is_kept_by_mode_and_the_lower_pace(dut):
    gig = GIGABIT
    tb = TB(dut)
    await tb.reset()
    limits = {  # mode, pace, rate_start: what limits
        (NONE, 0, 5 * gig): None,
        (NONE, 2 * gig, 5 * gig): 2 * gig,
        (FIXED, 0, 5 * gig): 5 * gig,
        (FIXED, 6 * gig, 5 * gig): 5 * gig,
        (FIXED, 3 * gig, 5 * gig): 3 * gig,
        (DCQCN, 0, 10 * gig): None,
        (DCQCN, 4 * gig, 10 * gig): 4 * gig,
    }
    span = 96_000
    for (mode, pace, start), limit in limits.items():
        tb.configure(rate_mode=mode, pace_rate=pace, rate_start=start)
        await tb.open()
        await tb.sent_in(40_000)
        before = int(dut.rate_o.value)
        sent = await tb.sent_in(span)
        if limit is None:
            # A packet in 3 cycles of 8 ns: nothing holds it back.
            assert sent == -(-span // 24) * FRAME
        else:
            assert abs(sent - limit * span / 65536) < 0.01 * sent + FRAME
        if mode != DCQCN:
            # Marks change nothing, nor do they reach the machine.
            cuts = tb.cuts
            await tb.mark()
            again = await tb.sent_in(span)
            assert tb.cuts == cuts and int(dut.rate_o.value) >= before
            assert abs(again - sent) <= FRAME


@cocotb.test()
async def a_mark_cuts_departures_at_once_and_they_recover_to_the_line(dut):
    tb = TB(dut)
    await tb.reset()
    line = tb.config["rate_line"]
    assert int(dut.rate_o.value) == line
    await tb.mark()
    assert int(dut.rate_o.value) == line // 2
    # Alpha is 1: half of the line's rate, until the timer is due.
    sent = await tb.sent_in(40_000)
    assert abs(sent - line / 2 * 40_000 / 65536) < 0.01 * sent + FRAME
    # Between two rises too, so long as R_C stands.
    for _ in range(5):
        count = int(dut.event_count_o.value)
        rate = int(dut.rate_o.value)
        sent = await tb.sent_in(30_000)
        if int(dut.event_count_o.value) == count:
            assert abs(sent - rate * 30_000 / 65536) < 0.01 * sent + 2 * FRAME
    assert line // 2 < int(dut.rate_o.value) < line
    # Fast recovery reaches the line: R_T stood there.
    for _ in range(30):
        await tb.step(55_000)
    assert tb.state()[:2] == [line, line]
    await tb.sent_in(1_000)
    assert await tb.sent_in(24_000) == 1_000 * FRAME


@cocotb.test()
async def a_visit_takes_24_cycles_at_most_and_a_cut_reaches_the_pacer_within_48(dut):
    tb = TB(dut, alpha_period_ns=256, rise_period_ns=264, rise_bytes=1 << 16, cut_interval_ns=0)
    await tb.reset()
    await tb.open()
    visits, cuts, began, marked, note = set(), set(), 0, 0, False
    for cycle in range(30_000):
        if int(dut.u_dcqcn.phase_q.value) == 0:  # PhasePick
            visits.add(cycle - began)
            began = cycle
        if note and int(dut.ev_cut_o.value):
            # The limit and the pace are a register each.
            cuts.add(cycle - marked + 2)
            note = False
        is_marked = not note and tb.rng.random() < 0.05
        if is_marked:
            marked, note = cycle, True
        dut.ev_marked_i.value = is_marked
        # As tx_sched: at most one packet in 3 cycles.
        dut.charge_i.value = cycle % 3 == 0
        dut.charge_bytes_i.value = tb.rng.randint(84, 9_000)
        await tb.cycles(1, 8)
    assert max(visits) == 24
    assert 32 < max(cuts) <= 48, max(cuts)


def test_rate_control():
    from runner import run

    run(
        "rate_control",
        sources=["rate_control", "event_ring", "dcqcn", "pacer"],
        test_module="test_rate_control",
    )

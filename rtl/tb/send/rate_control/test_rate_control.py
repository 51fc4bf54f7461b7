"""rate_control, of one flow and of 16: the machine of vectors/dcqcn.py, the ring of events, the
rates that it keeps."""

import random
import sys
from collections import deque
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject
from cocotb.triggers import FallingEdge

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "vectors"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dcqcn import Flow, Params  # noqa: E402
from registers import config_reset  # noqa: E402
from roce_types import RATE, pack  # noqa: E402

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
        for name in ("opening_i", "ev_marked_i", "rtt_i", "charge_i", "charge_bytes_i", "wait_i",
                     "opening_flow_i", "marked_flow_i", "charge_flow_i", "look_flow_i", "select_i",
                     "wake_ready_i"):  # fmt: skip
            getattr(dut, name).value = 0
        self.flows = dut.Flows.value.to_unsigned()
        # Of several flows, until each is seen after its events.
        self.settled = SETTLED if self.flows == 1 else 50 * self.flows

    def configure(self, **config: int) -> None:
        self.config |= config
        rates = {name: self.config[name] for name, _ in RATE}
        self.dut.cfg_i.value = pack(RATE, **rates)
        self.dut.event_index_i.value = self.config["event_index"]

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
        await self.cycles(self.settled)

    async def step(self, ns: int) -> None:
        """Lets time pass at once."""
        self.now += ns
        await self.cycles(self.settled)

    async def open(self, flow: int = 0) -> None:
        """An opening is accepted."""
        self.dut.opening_flow_i.value = flow
        self.dut.opening_i.value = 1
        await self.cycles(self.settled)
        self.dut.opening_i.value = 0

    async def mark(self, rtt_16ns: int = 0, flow: int = 0) -> None:
        self.dut.rtt_i.value = rtt_16ns
        self.dut.marked_flow_i.value = flow
        self.dut.ev_marked_i.value = 1
        await self.cycles(1)
        self.dut.ev_marked_i.value = 0
        await self.cycles(self.settled)

    async def depart(self, *sizes: int, flow: int = 0) -> None:
        """Departures within one visit of the machine."""
        self.dut.charge_flow_i.value = flow
        for size in sizes:
            self.dut.charge_i.value = 1
            self.dut.charge_bytes_i.value = size
            await self.cycles(1)
            self.dut.charge_i.value = 0
            await self.cycles(1)
        await self.cycles(self.settled)

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
    # Zeros behind the start, but for events of the two edges before the reset acts.
    begun = await tb.ring()
    assert begun[1:].count((0, 0, 0)) >= ENTRIES - 3
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
            assert ring[len(events) :] == begun[len(events) :]
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


@cocotb.test()
async def each_of_several_flows_has_a_machine_of_its_own(dut):
    tb = TB(dut, rate_start=40_000, rise_bytes=70_000)
    await tb.reset()
    flows = [Recorded(params(tb.config), tb.now) for _ in range(tb.flows)]
    causes = set()
    for step in range(200):
        await tb.step(tb.rng.choice([100, 1_000, 20_000, 30_000]))
        for flow in flows:
            flow.now = tb.now
            flow.time(tb.now)
        drawn, n = tb.rng.random(), tb.rng.randrange(tb.flows)
        if drawn < 0.05:
            # What waits of before is forgotten.
            if tb.rng.random() < 0.5:
                dut.ev_marked_i.value, dut.charge_i.value = 1, 1
                dut.marked_flow_i.value = dut.charge_flow_i.value = n
                await tb.cycles(1)
                dut.ev_marked_i.value, dut.charge_i.value = 0, 0
            causes |= {cause for _, cause, _ in flows[n].events}
            flows[n] = Recorded(params(tb.config), tb.now)
            await tb.open(n)
        elif drawn < 0.4:
            # Of several flows at once, in adjacent cycles.
            for other in {n, (n + 1) % tb.flows, tb.rng.randrange(tb.flows)}:
                dut.ev_marked_i.value, dut.marked_flow_i.value = 1, other
                await tb.cycles(1)
                flows[other].notification(tb.now, 0)
            dut.ev_marked_i.value = 0
            await tb.cycles(tb.settled)
        elif drawn < 0.9:
            # As one departure of each.
            sizes = dict.fromkeys(tb.rng.sample(range(tb.flows), 3), 0)
            for _ in range(6):
                other, size = tb.rng.choice(list(sizes)), tb.rng.randint(84, 9_000)
                sizes[other] += size
                dut.charge_i.value, dut.charge_flow_i.value = 1, other
                dut.charge_bytes_i.value = size
                await tb.cycles(1)
                dut.charge_i.value = 0
                await tb.cycles(1)
            await tb.cycles(tb.settled)
            for other, size in sizes.items():
                if size:
                    flows[other].departure(tb.now, size)
        for other in {n, tb.rng.randrange(tb.flows)}:
            dut.select_i.value = other
            await tb.cycles(tb.settled)
            assert tb.state() == flows[other].state()[:3], f"step {step}, flow {other}"
    for flow in flows:
        causes |= {cause for _, cause, _ in flow.events}
    assert causes == {START, TIMER, BYTES, CUT, IGNORED}


class Senders:
    """As roce_requester: flows with packets take turns, one that may not send waits to be woken."""

    def __init__(self, tb: TB, flows: list[int]) -> None:
        self.tb, self.turns = tb, deque(flows)
        self.sent = dict.fromkeys(flows, 0)
        self.waits: dict[int, int] = {}  # since when a flow waits

    async def run(self, span_ns: int, cycle_ns: int = 6) -> None:
        dut, tb, end = self.tb.dut, self.tb, self.tb.now + span_ns
        while tb.now < end:
            # A wake-up is taken by one visit in some.
            wakes = int(dut.wake_valid_o.value) and tb.rng.random() < 0.3
            woken = int(dut.wake_flow_o.value)
            dut.wake_ready_i.value = int(wakes)
            flow = self.turns.popleft() if self.turns else None
            dut.look_flow_i.value = flow or 0
            await tb.cycles(1, cycle_ns)
            if flow is not None:
                if int(dut.ok_o.value):
                    dut.charge_i.value, dut.charge_flow_i.value = 1, flow
                    dut.charge_bytes_i.value = FRAME
                    self.sent[flow] += FRAME
                    self.turns.append(flow)
                else:
                    dut.wait_i.value = 1
                    self.waits[flow] = tb.now
            dut.wake_ready_i.value = 0
            if wakes and woken in self.sent:
                assert woken in self.waits, "a flow wakes that does not wait"
                del self.waits[woken]
                self.turns.append(woken)
            await tb.cycles(1, cycle_ns)
            dut.charge_i.value = dut.wait_i.value = 0
            await tb.cycles(1, cycle_ns)


@cocotb.test()
async def each_of_several_flows_keeps_to_its_rate(dut):
    tb = TB(dut, alpha_period_ns=(1 << 20) - 1, rise_period_ns=(1 << 20) - 1, pace_burst_ns=1000,
            rise_bytes=(1 << 26) - 1, cut_interval_ns=0)  # fmt: skip
    await tb.reset()
    # Of the 16 the first is at the line's rate, where nothing limits; others from a half on.
    for flow in range(tb.flows):
        for _ in range((flow + 1) // 2):
            await tb.mark(flow=flow)
    rates = []
    for flow in range(tb.flows):
        dut.select_i.value = flow
        await tb.cycles(tb.settled)
        rates.append(int(dut.rate_o.value))
    assert rates[0] == tb.config["rate_line"] and rates[1] < 0.6 * rates[0]
    assert len(set(rates)) >= tb.flows // 2
    senders = Senders(tb, list(range(1, tb.flows)))
    await senders.run(100_000)
    begun = dict(senders.sent)
    span = 700_000
    await senders.run(span)
    for flow, rate in enumerate(rates):
        if flow:
            sent = senders.sent[flow] - begun[flow]
            assert abs(sent - rate * span / 65536) < 0.01 * sent + FRAME, f"flow {flow}"
    # One that nothing limits does not wait, whatever the others owe.
    free = Senders(tb, [0])
    await free.run(9_000)
    assert free.sent[0] == 500 * FRAME
    # A cut at once counts for what is behind it.
    await tb.mark(flow=0)
    dut.select_i.value = 0
    await tb.cycles(tb.settled)
    rate = int(dut.rate_o.value)
    assert rate < 0.6 * rates[0]
    await free.run(100_000)
    before = free.sent[0]
    await free.run(span)
    assert abs(free.sent[0] - before - rate * span / 65536) < 0.01 * before + FRAME


@cocotb.test()
async def a_flow_wakes_soon_after_its_debt_is_paid(dut):
    """All flows owe the same and wait; each is taken late."""
    tb = TB(dut, rate_mode=FIXED, rate_start=GIGABIT, pace_burst_ns=0)
    await tb.reset()
    await tb.cycles(1000, 6)
    late = 40
    for _ in range(6):
        order = tb.rng.sample(range(tb.flows), tb.flows)
        for flow in order:
            dut.charge_i.value, dut.charge_flow_i.value = 1, flow
            dut.charge_bytes_i.value = 2000
            await tb.cycles(1, 6)
            dut.charge_i.value, dut.wait_i.value, dut.look_flow_i.value = 0, 1, flow
            await tb.cycles(1, 6)
            dut.wait_i.value = 0
        begun = tb.now
        woken: dict[int, int] = {}
        since = 0
        while len(woken) < tb.flows:
            await tb.cycles(1, 6)
            assert tb.now - begun < 1_000_000, woken
            since = since + 1 if int(dut.wake_valid_o.value) else 0
            if since == late:
                dut.wake_ready_i.value = 1
                flow = int(dut.wake_flow_o.value)
                assert flow not in woken
                woken[flow] = tb.now
                await tb.cycles(1, 6)
                dut.wake_ready_i.value = 0
                since = 0
        # 2,000 bytes at 1 Gb/s, less what is always kept and what the last payment left over. All
        # debts end within the first wake-ups.
        paid = begun + 2000 * 65536 // GIGABIT - 2 * 4095
        assert min(woken.values()) >= paid - 6 * 2 * tb.flows
        spread = (max(woken.values()) - min(woken.values())) // 6
        dut._log.info("from the first to the last of %d flows: %d cycles", tb.flows, spread)
        assert (tb.flows - 1) * late <= spread <= tb.flows * (late + 4)
        # Each wakes once.
        for _ in range(8 * tb.flows):
            await tb.cycles(1, 6)
            assert not int(dut.wake_valid_o.value)


OF_SEVERAL = ["each_of_several_flows_has_a_machine_of_its_own",
              "each_of_several_flows_keeps_to_its_rate",
              "a_flow_wakes_soon_after_its_debt_is_paid"]  # fmt: skip
OF_ONE = ["rate_and_events_are_those_of_the_machine_and_the_ring_wraps",
          "departures_of_one_visit_count_as_65_535_bytes_at_most",
          "a_rate_is_kept_by_mode_and_the_lower_pace",
          "a_mark_cuts_departures_at_once_and_they_recover_to_the_line",
          "a_visit_takes_24_cycles_at_most_and_a_cut_reaches_the_pacer_within_48"]  # fmt: skip


@pytest.mark.parametrize("flows", [1, 16])
def test_rate_control(flows):
    from runner import run

    run(
        "rate_control",
        sources=["rate_control", "event_ring", "dcqcn", "pacer"],
        test_module="test_rate_control",
        parameters={"Flows": flows},
        testcase=OF_ONE if flows == 1 else OF_SEVERAL,
    )

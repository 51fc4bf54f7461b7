"""window, nack_walker and pacer, each against a model of its rule."""

import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from network import CHECK_HIGHEST, CHECK_LIMIT, CHECK_RELEASED, CHECK_SETTLED, report_steps
from runner import run

SLOTS, DEPTH = 16, 4
FIRST_SEQ = (1 << 32) - 40
M32 = (1 << 32) - 1
PROMISE_MAX = 1 << 24


def ahead(a: int, b: int) -> int:
    """Signed distance from b to a, docs/protocol.md#1.3."""
    return ((a - b + (1 << 31)) & M32) - (1 << 31)


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)

    async def start(self, time_ns: int = 0):
        dut = self.dut
        for name in (
            "flush_i commit_i depart_new_i rep_step_i rep_check_i rep_hi_i rep_lo_i "
            "rep_is_newer_i rep_has_ranges_i rep_valid_i last_departure_i "
            "rng_valid_i rng_first_i rng_count_i rng_to_next_i rng_settled_i "
            "walk_oldest_i walk_sent_i dep_rd_data_i cand_ready_i rate_i burst_ns_i "
            "charge_i charge_bytes_i"
        ).split():
            getattr(dut, name).value = 0
        dut.time_ns_i.value = time_ns
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0

    async def cycle(self, **inputs):
        await FallingEdge(self.dut.clk_i)
        for name, value in inputs.items():
            getattr(self.dut, name).value = value
        await ReadOnly()

    def get(self, name: str) -> int:
        return int(getattr(self.dut, name).value)


class Window:
    """docs/protocol.md#4.6, #5.4 and #7.3 on numbers that do not wrap."""

    def __init__(self, first: int):
        self.oldest = self.sent = self.next = self.limit = first

    def fails(self, check, hi, lo, released, newer, ranges, last) -> bool:
        """Whether a step of a REPORT finds what must not be."""
        if check == CHECK_RELEASED:
            return hi > self.sent or (newer and hi < self.oldest)
        if check == CHECK_LIMIT:
            return not 0 <= lo - released <= PROMISE_MAX
        if check == CHECK_SETTLED:
            return ranges and ahead(hi, last) > 0
        return check == CHECK_HIGHEST and lo > self.sent


@cocotb.test()
async def window_follows_its_rules_across_the_wrap(dut):
    tb = TB(dut)
    rng = tb.rng
    await tb.start()
    model = Window(FIRST_SEQ)
    taken = refused = 0
    room_since = credit_since = 0  # cycles since full and has_new may have changed
    steps: list[tuple] = []  # still to come of the REPORT at hand
    released = limit = 0
    newer = ranges = is_bad = is_begun = step = False
    for _ in range(12000):
        commit = model.next - model.oldest < SLOTS and room_since > 1 and rng.random() < 0.4
        depart = model.sent < model.next and model.sent < model.limit and credit_since > 2
        depart = depart and rng.random() < 0.5
        if not steps and not is_begun:
            released = model.oldest + rng.choice(
                [0, 0, 1, 2, SLOTS, -1, -2, 1 << 30, -(1 << 30) - 5, rng.randrange(SLOTS)]
            )
            highest = model.sent - rng.choice([0, 0, 0, 1, 5, -1, -(1 << 29)])
            # One vast promise would end every test of credit.
            vast = PROMISE_MAX if rng.random() < 0.01 else 3
            limit = released + rng.choice([0, 5, 9, 20, -1, vast, PROMISE_MAX + 1, -(1 << 30)])
            last = rng.getrandbits(32)
            settled = last + rng.choice([0, -1, -500, 1, 2, 1 << 30])
            newer, ranges = rng.random() < 0.7, rng.random() < 0.4
            steps = report_steps(released=released, limit=limit, settled=settled, highest=highest)
            is_bad = False
        # The verdict is there 2 cycles behind the last step.
        valid = not steps and not step and rng.random() < 0.8
        step = bool(steps) and rng.random() < 0.8
        check, hi, lo = steps.pop(0) if step else (0, rng.getrandbits(32), rng.getrandbits(32))
        is_begun = (is_begun or step) and not valid
        await tb.cycle(
            commit_i=commit,
            depart_new_i=depart,
            rep_step_i=step,
            rep_check_i=check,
            rep_hi_i=hi & M32,
            rep_lo_i=lo & M32,
            rep_is_newer_i=newer,
            rep_has_ranges_i=ranges,
            rep_valid_i=valid,
            last_departure_i=last & M32,
        )
        state = [tb.get(f"{name}_o") for name in ("oldest", "sent", "next", "limit")]
        assert state == [v & M32 for v in (model.oldest, model.sent, model.next, model.limit)]
        assert tb.get("is_released_o") == (model.oldest == model.next)
        assert tb.get("is_sent_o") == (model.sent == model.next)
        is_full = model.next - model.oldest == SLOTS
        assert tb.get("full_o") or not is_full, "full must show at once"
        if room_since > 1:
            assert tb.get("full_o") == is_full
        if credit_since > 1:
            assert tb.get("has_new_o") == (model.sent < min(model.next, model.limit))
        room_since, credit_since = room_since + 1, credit_since + 1
        if valid:
            assert tb.get("rep_ok_o") == (not is_bad)
            taken, refused = taken + (not is_bad), refused + is_bad
        if valid and not is_bad:
            if released > model.oldest:
                room_since = 0
            if limit > model.limit:
                credit_since = 0
            model.oldest = max(model.oldest, released)
            model.limit = max(model.limit, limit)
        # What departs in the cycle of a step is none that a REPORT can name.
        if step:
            is_bad |= model.fails(check, hi, lo, released, newer, ranges, last)
        model.next += commit
        model.sent += depart
        if commit or depart:
            credit_since = 0
    assert taken > 50 and refused > 50 and model.next > (1 << 32)


async def say(tb: TB, **numbers: int):
    """One REPORT, from its first step to the cycle in which it is taken."""
    for check, hi, lo in report_steps(settled=0, **numbers):
        await tb.cycle(rep_step_i=1, rep_check_i=check, rep_hi_i=hi, rep_lo_i=lo, rep_is_newer_i=1)
    await tb.cycle(rep_step_i=0)
    await tb.cycle(rep_valid_i=1)
    assert tb.get("rep_ok_o")
    await tb.cycle(rep_valid_i=0)


@cocotb.test()
async def window_begins_anew_at_a_flush(dut):
    tb = TB(dut)
    await tb.start()
    await tb.cycle(commit_i=1)
    await tb.cycle(commit_i=0)
    await say(tb, released=FIRST_SEQ, limit=FIRST_SEQ + 3, highest=FIRST_SEQ)
    assert tb.get("limit_o") == FIRST_SEQ + 3
    await tb.cycle(flush_i=1)
    await tb.cycle(flush_i=0)
    assert [tb.get(f"{n}_o") for n in ("oldest", "sent", "next", "limit")] == [FIRST_SEQ] * 4
    assert not tb.get("has_new_o") and not tb.get("full_o")


@cocotb.test()
async def credit_that_comes_when_there_was_none_is_told(dut):
    tb = TB(dut)
    await tb.start()
    await say(tb, released=FIRST_SEQ, limit=FIRST_SEQ + 2, highest=FIRST_SEQ)
    assert tb.get("credit_came_o")
    await say(tb, released=FIRST_SEQ, limit=FIRST_SEQ + 5, highest=FIRST_SEQ)
    assert not tb.get("credit_came_o") and tb.get("limit_o") == FIRST_SEQ + 5


@cocotb.test()
async def a_number_is_near_within_twice_the_slots(dut):
    tb = TB(dut)
    await tb.start()
    for away in (
        0,
        1,
        2 * SLOTS - 1,
        2 * SLOTS,
        1 << 31,
        -1,
        -2 * SLOTS,
        -2 * SLOTS - 1,
        -(1 << 20),
    ):
        await tb.cycle(rep_check_i=CHECK_RELEASED, rep_hi_i=(FIRST_SEQ + away) & M32)
        await tb.cycle()
        assert tb.get("rep_is_near_o") == (-2 * SLOTS <= away < 2 * SLOTS), away


class Walker:
    """Drives nack_walker with a table of departures, and takes its offers at random."""

    def __init__(self, tb: TB, oldest: int, sent: int):
        self.tb = tb
        self.oldest, self.sent = oldest, sent
        self.departures = [0] * SLOTS
        self.served: list[int] = []
        self.refused = self.skipped = self.cycles = 0
        self.stamp = 5000
        self._address = 0
        self._written: tuple[int, int] | None = None
        self._was_offered = None

    async def cycle(self, *, take: float = 1.0, **inputs):
        tb = self.tb
        self.cycles += 1
        ready = tb.rng.random() < take
        data = self.departures[self._address]
        # The module that takes an offer writes in the cycle after; a read then gives the old value.
        if self._written:
            slot, stamp = self._written
            self.departures[slot] = stamp
            self._written = None
        await tb.cycle(
            dep_rd_data_i=data,
            cand_ready_i=ready,
            walk_oldest_i=self.oldest & M32,
            walk_sent_i=self.sent & M32,
            **inputs,
        )
        self._address = tb.get("dep_rd_addr_o")
        self.refused += tb.get("ev_refused_o")
        self.skipped += tb.get("ev_skipped_o")
        if tb.get("cand_valid_o") and ready:
            seq = tb.get("cand_seq_o")
            self.served.append(seq)
            self.stamp += 1
            self._written = (seq % SLOTS, self.stamp)

    async def ask(self, first: int, count: int, settled: int, to_next: bool = False, **kwargs):
        await self.cycle(
            rng_first_i=first & M32,
            rng_count_i=count & M32,
            rng_settled_i=settled & M32,
            rng_to_next_i=to_next,
            **kwargs,
        )
        await self.cycle(rng_valid_i=1, **kwargs)
        await self.cycle(rng_valid_i=0, **kwargs)

    async def rest(self, cycles: int = 120, **kwargs):
        for _ in range(cycles):
            await self.cycle(**kwargs)


@cocotb.test()
async def walker_serves_what_model_serves(dut):
    tb = TB(dut)
    rng = tb.rng
    await tb.start()
    oldest = (1 << 32) - 30
    walker = Walker(tb, oldest, oldest)
    expected: list[int] = []
    for _ in range(150):
        # The window moves while the walker rests; new packets get fresh departures.
        walker.oldest += rng.randrange(walker.sent - walker.oldest + 1)
        for _ in range(rng.randrange(SLOTS - (walker.sent - walker.oldest) + 1)):
            walker.stamp += 1
            walker.departures[walker.sent % SLOTS] = walker.stamp
            walker.sent += 1
        for _ in range(rng.randrange(1, 4)):
            first = walker.oldest + rng.randrange(-SLOTS, 2 * SLOTS)
            count = rng.choice([0, 1, 1, 2, 7, SLOTS, 3 * SLOTS // 2])
            settled = walker.stamp + 1 - rng.choice([0, 0, 3, 8, 20])
            to_next = rng.random() < 0.1
            departed = list(walker.departures)
            end = walker.sent if to_next else min(first + count, walker.sent)
            expected += [
                seq & M32
                for seq in range(max(first, walker.oldest), end)
                if to_next or departed[seq % SLOTS] < settled
            ]
            await walker.ask(first, count, settled, to_next, take=0.5)
            await walker.rest(take=0.5)
            assert walker.served == expected
    assert len(expected) > 50 and not walker.refused


@cocotb.test()
async def released_offer_is_withdrawn_and_the_rest_is_served(dut):
    tb = TB(dut)
    await tb.start()
    walker = Walker(tb, 100, 110)
    await walker.ask(100, 10, 9000, take=0.0)
    await walker.rest(20, take=0.0)
    assert tb.get("cand_valid_o") and tb.get("cand_seq_o") == 100
    walker.oldest = 106
    await walker.rest(2, take=0.0)
    await walker.rest(60)
    assert walker.served == [106, 107, 108, 109]


@cocotb.test()
async def same_seq_asked_twice_at_once_is_served_once(dut):
    tb = TB(dut)
    await tb.start()
    walker = Walker(tb, 0, 8)
    for _ in range(3):
        await walker.ask(5, 1, 4000)
    await walker.rest(40)
    assert walker.served == [5]


@cocotb.test()
async def ranges_that_ask_for_nothing_take_three_cycles_each(dut):
    tb = TB(dut)
    await tb.start()
    walker = Walker(tb, 0, 12)
    walker.departures = [9000] * SLOTS
    for seq in range(10):  # 3 cycles each
        await walker.ask(seq, 1, 5000)
    await walker.ask(10, 1, 9001)
    await walker.rest(5)
    assert walker.served == [10] and walker.skipped == 10


@cocotb.test()
async def ranges_without_room_are_refused_and_counted(dut):
    tb = TB(dut)
    await tb.start()
    walker = Walker(tb, 0, 12)
    for k in range(DEPTH + 4):
        await walker.ask(k, 1, 4000, take=0.0)
    # One is being walked, DEPTH wait.
    assert walker.refused == 3
    await walker.rest(80)
    assert walker.served == list(range(DEPTH + 1))


@cocotb.test()
async def vast_range_is_cut_and_walked_in_bounded_time(dut):
    tb = TB(dut)
    await tb.start()
    walker = Walker(tb, 1000, 1000 + SLOTS)
    walker.departures = [9000] * SLOTS
    await walker.ask(1000, M32, 5000)
    await walker.ask(1003, 1, 9001)
    begun = walker.cycles
    while not walker.served:
        await walker.cycle()
        assert walker.cycles - begun < 4 * SLOTS + 20
    assert walker.served == [1003] and walker.skipped == SLOTS


@cocotb.test()
async def flush_forgets_ranges(dut):
    tb = TB(dut)
    await tb.start()
    walker = Walker(tb, 0, 12)
    for k in range(3):
        await walker.ask(k, 1, 4000, take=0.0)
    await walker.cycle(take=0.0, flush_i=1)
    await walker.cycle(take=0.0, flush_i=0)
    await walker.rest(60)
    assert not walker.served


async def pace(
    tb: TB, now: float, *, rate: float, burst_ns: int, step_ns: float, wire_bytes: int, packets: int
) -> float:
    """Sends packets as soon as they may leave, from `now` on; returns bytes a ns."""
    for _ in range(2000):
        await tb.cycle(
            rate_i=int(rate * 65536), burst_ns_i=burst_ns, time_ns_i=int(now), charge_i=0
        )
    first = last = now
    sent = wait = 0
    while sent < packets:
        now += step_ns
        charge = tb.get("ok_o") and not wait
        wait = 3 if charge else max(wait - 1, 0)
        await tb.cycle(time_ns_i=int(now), charge_i=charge, charge_bytes_i=wire_bytes)
        if charge:
            sent += 1
            last = now
            if sent == 1:
                first = now
    return (packets - 1) * wire_bytes / (last - first)


@cocotb.test()
async def pacer_keeps_the_rate_on_clocks_of_any_step(dut):
    tb = TB(dut)
    now = 10**12
    await tb.start(time_ns=now)
    for rate, step_ns in ((1.25, 6.4), (3.125, 3.2), (12.5, 3.1), (1.25, 200.0), (0.05, 6.4)):
        wire_bytes = 1500 if rate > 1 else 92
        packets = 60 if rate > 1 else 8
        reached = await pace(
            tb,
            now,
            rate=rate,
            burst_ns=int(12 * step_ns),
            step_ns=step_ns,
            wire_bytes=wire_bytes,
            packets=packets,
        )
        now += 10**9
        error = reached / rate - 1
        dut._log.info("%.3f bytes a ns, step %.1f ns: error %.4f", rate, step_ns, error)
        assert abs(error) <= 0.02 + 13 * step_ns * rate / (wire_bytes * packets)


@cocotb.test()
async def pacer_keeps_no_more_than_its_burst_over_jumps_of_the_clock(dut):
    tb = TB(dut)
    await tb.start(time_ns=1000)
    rate, burst_ns, wire_bytes = 1.25, 4000, 500
    now = 1000
    for jump in (10**5, 2**32, 2**32 + 10**5, 2**39 + 5, 3 * 10**10):
        now += jump
        for _ in range(40):
            await tb.cycle(rate_i=int(rate * 65536), burst_ns_i=burst_ns, charge_i=0, time_ns_i=now)
        assert tb.get("ok_o")
        sent = 0
        for _ in range(200):
            ok = tb.get("ok_o")
            await tb.cycle(charge_i=ok, charge_bytes_i=wire_bytes)
            sent += ok
            await tb.cycle(charge_i=0)
        # One packet is always free to leave; the clock stands.
        assert sent <= 1 + (burst_ns + 64) * rate / wire_bytes + 1
        # Of a jump the pacer sees the low 22 bits.
        if jump % (1 << 22) >= burst_ns:
            assert sent >= burst_ns * rate / wire_bytes
        now += 5000
        for _ in range(200):
            await tb.cycle(time_ns_i=now)


@cocotb.test()
async def pacer_without_a_rate_never_waits(dut):
    tb = TB(dut)
    await tb.start(time_ns=5)
    for _ in range(20):
        await tb.cycle(charge_i=1, charge_bytes_i=9000)
        assert tb.get("ok_o")


def test_window():
    run(
        "flow_units",
        sources=[Path(__file__).parent / "flow_units.sv", "window", "nack_walker", "pacer"],
        test_module="test_window",
        parameters={"Slots": SLOTS, "Depth": DEPTH, "FirstSeq": FIRST_SEQ},
    )

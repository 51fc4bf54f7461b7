"""counters with more events than the sender has: all count, and a snapshot is of one cycle."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run

VALUES = 4
FULL = 0xFFFF_FFFF


class TB:
    """Events in every cycle, counted by their definition."""

    def __init__(self, dut):
        self.dut = dut
        self.events = dut.Events.value.to_unsigned()
        self.time = 1 << 40
        self.totals = [0] * self.events
        self.sum = 0
        self.by_time: dict[int, tuple[list[int], int]] = {}
        self.draw = lambda: 0

    async def start(self):
        dut = self.dut
        for port in (dut.event_i, dut.add_i, dut.snapshot_i, dut.rd_addr_i):
            port.value = 0
        dut.time_ns_i.value = self.time
        dut.sync_index_i.value = 0x0123_4567_89AB_CDEF
        dut.sync_time_i.value = 0xFEDC_BA98_7654_3210
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        await FallingEdge(dut.clk_i)
        # No reset clears what tests before this one counted.
        _, self.sum, self.totals = await self.snapshot()

    async def cycle(self, snapshot: int = 0):
        dut, events = self.dut, self.draw()
        add = random.choice([0, FULL, random.getrandbits(32)]) if events else 0
        dut.event_i.value = events
        dut.add_i.value = add
        dut.time_ns_i.value = self.time
        dut.snapshot_i.value = snapshot
        self.totals = [t + (events >> n & 1) for n, t in enumerate(self.totals)]
        self.sum += add
        # A snapshot has what came up to the cycle of its time.
        self.by_time[self.time] = (self.totals, self.sum)
        self.time += random.randint(1, 5)
        await FallingEdge(dut.clk_i)

    async def snapshot(self) -> tuple[int, int, list[int]]:
        """Time, sum and counts of a snapshot requested here."""
        await self.cycle(snapshot=1)
        limit = 2 * (self.events + VALUES) + 2
        waited = 0
        while self.dut.busy_o.value:
            await self.cycle()
            waited += 1
            assert waited <= limit, "a snapshot takes longer than its bound"
        draw, self.draw = self.draw, lambda: 0
        entries = []
        for n in range(self.events + VALUES):
            self.dut.rd_addr_i.value = n
            await self.cycle()
            entries.append(self.dut.rd_data_o.value.to_unsigned())
        self.draw = draw
        assert entries[0] == 0x0123_4567_89AB_CDEF and entries[1] == 0xFEDC_BA98_7654_3210
        return entries[2], entries[3], entries[VALUES:]

    async def check(self):
        time, total, counts = await self.snapshot()
        assert time in self.by_time, "the time is that of a cycle"
        assert (counts, total) == self.by_time[time]


@cocotb.test()
async def each_event_counts_in_its_own_entry(dut):
    tb = TB(dut)
    await tb.start()
    for n in (0, 38, 39, 40, tb.events - 1):
        tb.draw = lambda n=n: 1 << n
        for _ in range(random.randint(1, 5)):
            await tb.cycle()
        tb.draw = lambda: 0
        for _ in range(3 * (tb.events + VALUES)):
            await tb.cycle()
        before = list(tb.totals)
        await tb.check()
        assert tb.totals == before and tb.totals[n] > 0


@cocotb.test()
async def snapshot_is_of_one_cycle_at_every_density_of_events(dut):
    tb = TB(dut)
    await tb.start()
    every = (1 << tb.events) - 1
    draws = (
        lambda: every,
        lambda: random.getrandbits(tb.events),
        lambda: random.getrandbits(tb.events) & random.getrandbits(tb.events) & every,
        lambda: every,
    )
    for draw in draws:
        tb.draw = draw
        for _ in range(3):
            for _ in range(random.randint(1, 400)):
                await tb.cycle()
            await tb.check()


# One above the five rows of eight, and the least that needs positions of 7 bits.
@pytest.mark.parametrize("events", [41, 60, pytest.param(123, marks=pytest.mark.full)])
def test_counters(events):
    run(
        "counters",
        sources=["counters"],
        test_module="test_counters",
        parameters={"Events": events},
    )

"""nic_bus_cdc: requests and responses cross clocks in order; a master that waits stops itself."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

# Periods in ps: a processor of 80 MHz and the NIC of 125 MHz, the other way round, and 156.25 MHz.
CLOCKS = ((12500, 8000), (8000, 12500), (6400, 6398))


class TB:
    """Masters send numbers; the NIC's side answers each in order with a number made of it."""

    def __init__(self, dut):
        self.dut = dut
        self.request_bits = len(dut.s_request_i)
        self.response_bits = len(dut.s_response_o)
        self.sent: list[int] = []
        self.seen: list[int] = []
        self.answers: list[int] = []
        self.wanted = 0
        self.odds = {"master": 1.0, "taker": 1.0, "server": 1.0}
        self.due: list[int] = []  # what the server is to answer
        self.is_down = False  # the master is in reset

    def answer(self, request: int) -> int:
        """Of a request, as wide as a response."""
        return (request ^ request >> 7) & (1 << self.response_bits) - 1

    async def start(self, periods: tuple[int, int]):
        dut = self.dut
        dut.s_rst_i.value = dut.m_rst_i.value = 1
        dut.s_request_valid_i.value = dut.s_response_ready_i.value = 0
        dut.m_request_ready_i.value = dut.m_response_valid_i.value = 0
        cocotb.start_soon(Clock(dut.s_clk_i, periods[0], "ps").start())
        cocotb.start_soon(Clock(dut.m_clk_i, periods[1], "ps").start())
        await Timer(200, "ns")
        await FallingEdge(dut.s_clk_i)
        dut.s_rst_i.value = 0
        await FallingEdge(dut.m_clk_i)
        dut.m_rst_i.value = 0
        cocotb.start_soon(self.master())
        cocotb.start_soon(self.server())

    async def master(self):
        dut, shown = self.dut, None
        while True:
            await FallingEdge(dut.s_clk_i)
            dut.s_rst_i.value = int(self.is_down)
            if self.is_down:
                shown = None
                self.sent.clear()
                self.answers.clear()
                dut.s_request_valid_i.value = dut.s_response_ready_i.value = 0
                continue
            may_send = shown is None and len(self.sent) < self.wanted
            if may_send and random.random() < self.odds["master"]:
                shown = random.getrandbits(self.request_bits)
            dut.s_request_valid_i.value = int(shown is not None)
            dut.s_request_i.value = shown or 0
            ready = random.random() < self.odds["taker"]
            dut.s_response_ready_i.value = int(ready)
            await Timer(1, "ps")
            if shown is not None and dut.s_request_ready_o.value == 1:
                self.sent.append(shown)
                shown = None
            if ready and dut.s_response_valid_o.value == 1:
                self.answers.append(dut.s_response_o.value.to_unsigned())

    async def server(self):
        dut, due, shown = self.dut, self.due, False
        while True:
            await FallingEdge(dut.m_clk_i)
            ready = random.random() < self.odds["server"] and len(due) < 4
            dut.m_request_ready_i.value = int(ready)
            # An answer that is shown stands until taken.
            shown = bool(due) and (shown or random.random() < self.odds["server"])
            dut.m_response_valid_i.value = int(shown)
            dut.m_response_i.value = due[0] if due else 0
            await Timer(1, "ps")
            if shown and dut.m_response_ready_o.value == 1:
                due.pop(0)
                shown = False
            if ready and dut.m_request_valid_o.value == 1:
                request = dut.m_request_o.value.to_unsigned()
                self.seen.append(request)
                due.append(self.answer(request))

    async def until(self, done, limit_us: int):
        for _ in range(limit_us):
            if done():
                return
            await Timer(1, "us")
        raise AssertionError("it does not come to an end")

    async def check(self, limit_us: int):
        """All that was sent has crossed once, in order, both ways."""
        await self.until(lambda: len(self.answers) == self.wanted, limit_us)
        assert self.seen == self.sent
        assert self.answers == [self.answer(r) for r in self.sent]


async def run_at(dut, periods: tuple[int, int]):
    tb = TB(dut)
    count = int(cocotb.plusargs["words"])
    await tb.start(periods)
    for master, taker, server in ((1, 1, 1), (0.3, 1, 1), (1, 0.3, 1), (1, 1, 0.3), (1, 0.9, 0.9)):
        tb.odds = {"master": master, "taker": taker, "server": server}
        tb.wanted += count
        await tb.check(count)
    # A master that takes no response stops behind what the FIFOs hold, and goes on.
    tb.odds = {"master": 1.0, "taker": 0.0, "server": 1.0}
    tb.wanted += 60
    await Timer(5, "us")
    depth = dut.Depth.value.to_unsigned()
    assert depth <= len(tb.sent) - len(tb.answers) <= 2 * depth + 8
    tb.odds["taker"] = 1.0
    await tb.check(100)


async def reset_at(dut, periods: tuple[int, int]):
    """Resets of the processor's side under traffic: no answer to a request from before comes."""
    tb = TB(dut)
    await tb.start(periods)
    stale = 0
    for _ in range(int(cocotb.plusargs["words"]) // 2):
        tb.odds = {n: random.choice((0.1, 0.5, 1.0)) for n in tb.odds}
        tb.wanted = 10**9
        await Timer(random.randrange(100, 2000), "ns")
        tb.is_down = True
        # One cycle is enough.
        await FallingEdge(dut.s_clk_i)
        await Timer(random.choice((1, 1, 3, 40)) * periods[0], "ps")
        stale += len(tb.due)
        tb.wanted, tb.is_down = 20, False
        await tb.until(lambda: len(tb.answers) >= tb.wanted, 100)
        await Timer(1, "us")
        assert tb.answers == [tb.answer(r) for r in tb.sent] and len(tb.sent) == tb.wanted
    assert stale > 0


@cocotb.test()
async def resets_of_a_slow_processor(dut):
    await reset_at(dut, CLOCKS[0])


@cocotb.test()
async def resets_of_a_fast_processor(dut):
    await reset_at(dut, CLOCKS[1])


@cocotb.test()
async def slow_processor(dut):
    await run_at(dut, CLOCKS[0])


@cocotb.test()
async def fast_processor(dut):
    await run_at(dut, CLOCKS[1])


@cocotb.test()
async def nearly_equal_clocks(dut):
    await run_at(dut, CLOCKS[2])


@pytest.mark.parametrize(
    ("request_bits", "response_bits", "words"),
    [(74, 33, 100), pytest.param(110, 65, 5000, marks=pytest.mark.full)],
    ids=["afb", "acb"],
)
def test_nic_bus_cdc(request_bits, response_bits, words):
    from runner import run

    run(
        "nic_bus_cdc",
        sources=["nic_bus_cdc", "async_fifo", "sync_bits", "reset_ctrl", "reset_side"],
        test_module="test_nic_bus_cdc",
        parameters={"RequestBits": request_bits, "ResponseBits": response_bits},
        plusargs=[f"+words={words}"],
    )

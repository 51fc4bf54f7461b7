"""nic_dram: random traffic against a model; latency, requests under way, order, errors, reset."""

import random

import cocotb
import pytest
from acb import Masters, Request
from axis import Bench
from cocotb.clock import Clock
from runner import run

BITS = 9
SIZE = 1 << BITS
BASE = 3 << BITS
IN_FLIGHT = 16


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.latency = dut.Latency.value.to_unsigned()
        self.masters = Masters(dut, 1)
        self.bench = Bench(dut.clk_i, [self.masters])
        self.dwords: dict[int, int] = {}
        self.expected: list[tuple[int, int | None]] = []
        self.most_open = 0
        self.masters.on_taken = self.taken

    async def start(self):
        self.dut.rst_i.value = 1
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        await self.bench.run(3)
        self.dut.rst_i.value = 0

    def taken(self, _port: int, request: Request, _now: int):
        self.most_open = max(self.most_open, len(self.masters.open[0]))
        at = request.address & ~7
        if not BASE <= request.address < BASE + SIZE:
            self.expected.append((1, None))
        elif request.read:
            self.expected.append((0, self.dwords.get(at)))
        else:
            self.expected.append((0, None))
            mask = sum(0xFF << 8 * i for i in range(8) if request.mask >> i & 1)
            if at in self.dwords or request.mask == 0xFF:
                self.dwords[at] = self.dwords.get(at, 0) & ~mask | request.data & mask

    async def finish(self):
        """All responses, which are checked."""
        await self.bench.until(self.masters.idle)
        done, self.masters.done[0] = self.masters.done[0], []
        for (request, at, err, data, now), (bad, known) in zip(done, self.expected, strict=True):
            assert err == bad, request
            if known is not None:
                assert data == known, request
            assert now - at >= self.latency
        self.expected.clear()
        assert self.most_open <= IN_FLIGHT
        return done

    def put(self, request: Request):
        self.masters.put(0, request)


def write(address: int) -> Request:
    return Request(False, address, random.getrandbits(64))


async def fill(tb):
    for address in range(BASE, BASE + SIZE, 8):
        tb.put(write(address))
    return await tb.finish()


@cocotb.test()
async def random_traffic_reads_what_was_written_last(dut):
    tb = TB(dut)
    await tb.start()
    await fill(tb)
    for odds, ready in ((1.0, 1.0), (0.5, 0.5), (1.0, 0.2), (0.2, 1.0)):
        tb.masters.odds[0], tb.masters.ready[0] = odds, ready
        for _ in range(400):
            address = BASE + random.randrange(SIZE)
            if random.random() < 0.05:
                address = random.choice([0, BASE - 8, BASE + SIZE, 1 << 35])
            tb.put(Request(random.random() < 0.5, address, random.getrandbits(64),
                           random.getrandbits(8), random.random() < 0.2))  # fmt: skip
        await tb.finish()


@cocotb.test()
async def a_response_comes_at_its_latency(dut):
    tb = TB(dut)
    await tb.start()
    await fill(tb)
    for n in range(20):
        tb.put(Request(n % 2 == 0, BASE + 8 * n))
        ((_, at, _, _, now),) = await tb.finish()
        assert now - at == tb.latency


@cocotb.test()
async def no_more_requests_are_under_way_than_may_be(dut):
    tb = TB(dut)
    await tb.start()
    done = await fill(tb)
    taken = [at for _, at, _, _, _ in done]
    # A request is taken again in the cycle behind a response.
    span = max(IN_FLIGHT, tb.latency + 1)
    assert all(b - a == span for a, b in zip(taken, taken[IN_FLIGHT:], strict=False))
    assert all(now - at == tb.latency for _, at, _, _, now in done)
    assert tb.most_open == min(IN_FLIGHT, tb.latency)
    # Responses that are not taken hold requests back.
    tb.masters.ready[0] = 0.0
    for n in range(40):
        tb.put(Request(True, BASE + 8 * n))
    await tb.bench.run(tb.latency + 60)
    assert len(tb.masters.open[0]) == IN_FLIGHT
    tb.masters.ready[0] = 1.0
    await tb.finish()


@cocotb.test()
async def a_reset_drops_responses_and_keeps_memory(dut):
    tb = TB(dut)
    await tb.start()
    await fill(tb)
    tb.masters.ready[0] = 0.0
    for n in range(10):
        tb.put(Request(True, BASE + 8 * n))
    await tb.bench.until(lambda: not tb.masters.queue[0])
    tb.masters.open[0].clear()
    tb.expected.clear()
    tb.masters.ready[0] = 1.0
    dut.rst_i.value = 1
    await tb.bench.run(2)
    tb.masters.done[0].clear()
    dut.rst_i.value = 0
    for address in range(BASE, BASE + SIZE, 8):
        tb.put(Request(True, address))
    await tb.finish()


@pytest.mark.parametrize("latency", [1, 10, pytest.param(40, marks=pytest.mark.full)])
def test_nic_dram(latency):
    run(
        "nic_dram",
        sources=["nic_dram"],
        parameters={"AddressBits": BITS, "Page": BASE >> BITS, "Latency": latency},
        test_module="test_nic_dram",
    )

"""nic_dram: random traffic against a model; latency, requests under way, order, errors, reset."""

import random

import cocotb
import pytest
from acb import Request
from acb_memory import TB
from runner import run

BITS = 9
SIZE = 1 << BITS
BASE = 3 << BITS
IN_FLIGHT = 16


def bench_of(dut) -> TB:
    return TB(dut, 1, BASE, SIZE, dut.Latency.value.to_unsigned())


@cocotb.test()
async def random_traffic_reads_what_was_written_last(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    for odds, ready in ((1.0, 1.0), (0.5, 0.5), (1.0, 0.2), (0.2, 1.0)):
        tb.masters.odds[0], tb.masters.ready[0] = odds, ready
        for _ in range(400):
            address = BASE + random.randrange(SIZE)
            if random.random() < 0.05:
                address = random.choice([0, BASE - 8, BASE + SIZE, 1 << 35])
            is_read, lock = random.random() < 0.5, random.random() < 0.2
            data, mask = random.getrandbits(64), random.getrandbits(8)
            tb.masters.put(0, Request(is_read, address, data, mask, lock))
        await tb.finish()


@cocotb.test()
async def a_response_comes_at_its_latency(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    for n in range(20):
        tb.masters.put(0, Request(n % 2 == 0, BASE + 8 * n))
        await tb.finish()
        ((_, at, _, _, now),) = tb.last[0]
        assert now - at == tb.latency


@cocotb.test()
async def no_more_requests_are_under_way_than_may_be(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    done = tb.last[0]
    taken = [at for _, at, _, _, _ in done]
    # A request is taken again in the cycle behind a response.
    span = max(IN_FLIGHT, tb.latency + 1)
    assert all(b - a == span for a, b in zip(taken, taken[IN_FLIGHT:], strict=False))
    assert all(now - at == tb.latency for _, at, _, _, now in done)
    assert tb.most_open == min(IN_FLIGHT, tb.latency)
    # Responses that are not taken hold requests back.
    tb.masters.ready[0] = 0.0
    for n in range(40):
        tb.masters.put(0, Request(True, BASE + 8 * n))
    await tb.bench.run(tb.latency + 60)
    assert len(tb.masters.open[0]) == IN_FLIGHT == tb.most_open
    tb.masters.ready[0] = 1.0
    await tb.finish()


@cocotb.test()
async def a_reset_drops_responses_and_keeps_memory(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    tb.masters.ready[0] = 0.0
    for n in range(10):
        tb.masters.put(0, Request(True, BASE + 8 * n))
    await tb.bench.until(lambda: not tb.masters.queue[0])
    tb.masters.open[0].clear()
    tb.expected[0].clear()
    tb.masters.ready[0] = 1.0
    dut.rst_i.value = 1
    await tb.bench.run(2)
    tb.masters.done[0].clear()
    dut.rst_i.value = 0
    for address in range(BASE, BASE + SIZE, 8):
        tb.masters.put(0, Request(True, address))
    await tb.finish()


@pytest.mark.parametrize("latency", [1, 10, pytest.param(40, marks=pytest.mark.full)])
def test_nic_dram(latency):
    run(
        "nic_dram",
        sources=["nic_dram"],
        parameters={"AddressBits": BITS, "Page": BASE >> BITS, "Latency": latency},
        test_module="test_nic_dram",
    )

"""nic_share: ports at a memory that answers late: order, turns, lock, ports that take nothing."""

import random
from itertools import pairwise
from pathlib import Path

import cocotb
import pytest
from acb import Request
from acb_memory import TB
from runner import run

BITS = 12
BASE, SIZE = 1 << BITS, 1 << BITS
LOCK_CYCLES = 16
ENGINES = 2


def bench_of(dut) -> TB:
    tb = TB(dut, dut.Ports.value.to_unsigned(), BASE, SIZE, dut.Latency.value.to_unsigned() + 1)
    tb.processors = range(ENGINES, tb.ports)
    return tb


@cocotb.test()
async def random_traffic_reads_what_was_written_last(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    for odds, ready in ((1.0, 1.0), (0.5, 0.5), (1.0, 0.1), (0.1, 1.0)):
        for port in range(tb.ports):
            # Engines take each response.
            tb.masters.odds[port], tb.masters.ready[port] = odds, 1.0 if port < ENGINES else ready
            for _ in range(200):
                address = BASE + random.randrange(SIZE)
                if random.random() < 0.05:
                    address = random.choice([0, BASE - 8, BASE + SIZE, 1 << 35])
                lock, data = random.random() < 0.2, random.getrandbits(64)
                request = Request(random.random() < 0.5, address, data, random.getrandbits(8), lock)
                tb.masters.put(port, request)
            # Gives the lock back.
            tb.masters.put(port, Request(True, BASE))
        await tb.finish()
    assert tb.most_open <= 16 * tb.ports


@cocotb.test()
async def all_ports_take_turns(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    for n in range(100):
        for port in range(tb.ports):
            tb.masters.put(port, Request(n % 2 == 0, BASE + 8 * port))
    await tb.finish()
    taken = sorted((d[1], p) for p in range(tb.ports) for d in tb.last[p])
    for at in range(tb.ports, len(taken) - tb.ports, tb.ports):
        assert {p for _, p in taken[at : at + tb.ports]} == set(range(tb.ports))


@cocotb.test()
async def a_request_a_cycle_while_responses_come(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    for n in range(160):
        tb.masters.put(n % 2, Request(n % 3 == 0, BASE + 8 * n))
    await tb.finish()
    taken = sorted(d[1] for p in range(ENGINES) for d in tb.last[p])
    # From one of sixteen to the next its latency, and a cycle on each way.
    latency = dut.Latency.value.to_unsigned()
    assert taken[-1] - taken[0] <= max(159, 159 // 16 * (latency + 2) + 15)
    assert all(d[4] - d[1] == latency + 1 for p in range(ENGINES) for d in tb.last[p])


@cocotb.test()
async def a_processor_that_takes_no_response_holds_back_itself_alone(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    tb.masters.ready[2] = 0.0
    for n in range(60):
        tb.masters.put(2, Request(True, BASE + 8 * n))
    for n in range(100):
        for port in (0, 1, 3):
            tb.masters.put(port, Request(n % 2 == 0, BASE + 8 * (n + port)))
    await tb.bench.until(
        lambda: not any(tb.masters.open[p] or tb.masters.queue[p] for p in (0, 1, 3))
    )
    # What fits waits in its FIFO.
    assert len(tb.masters.open[2]) == 16 and len(tb.masters.queue[2]) == 44
    tb.masters.ready[2] = 1.0
    await tb.finish()


@cocotb.test()
async def lock_holds_other_processors_back_for_a_bounded_time(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    for _ in range(50):
        tb.masters.put(2, Request(True, BASE + 1024, lock=True))
        tb.masters.put(2, Request(False, BASE + 1024, 1))
        tb.masters.put(3, Request(False, BASE + 1536, 2))
        tb.masters.put(0, Request(False, BASE, 3))
    await tb.finish()
    taken = sorted((d[1], p, d[0].lock) for p in (2, 3) for d in tb.last[p])
    for (at, port, lock), (then, other, _) in pairwise(taken):
        # However late the memory answers, its write follows.
        assert not (port == 2 and lock) or other == 2, (at, then)
    # Both pairs and single requests have come.
    assert {port for _, port, _ in taken} == {2, 3}
    # One that keeps it loses it; engines are not held back.
    tb.masters.put(2, Request(True, BASE + 1024, lock=True))
    await tb.bench.until(lambda: not tb.masters.queue[2])
    begun = tb.bench.now
    tb.masters.put(3, Request(True, BASE + 1536))
    tb.masters.put(1, Request(True, BASE))
    await tb.bench.until(lambda: not tb.masters.queue[1])
    assert tb.bench.now - begun <= 3
    await tb.bench.until(lambda: not tb.masters.queue[3])
    # What it waits for the memory does not count.
    cycles = tb.bench.now - begun - dut.Latency.value.to_unsigned()
    assert LOCK_CYCLES - 1 <= cycles <= LOCK_CYCLES + 3
    await tb.finish()


@pytest.mark.parametrize(
    "latency", [10, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 40))]
)
def test_nic_share(latency):
    run(
        "nic_share_tb",
        sources=[Path(__file__).parent / "nic_share_tb.sv", "nic_lock", "nic_share", "nic_dram"],
        parameters={"Latency": latency, "LockCycles": LOCK_CYCLES},
        test_module="test_nic_share",
    )

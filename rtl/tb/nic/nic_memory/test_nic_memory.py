"""nic_memory: random traffic of all ports against a model; turns, lock, errors."""

import random

import cocotb
import pytest
from acb import Request
from acb_memory import TB
from runner import run

BITS = 12
SIZE = 1 << BITS
BASE = 1 << BITS
LOCK_CYCLES = 16
LATENCY = 3
SHAPE = {"AddressBits": BITS, "LockCycles": LOCK_CYCLES}


def bench_of(dut) -> TB:
    return TB(dut, dut.Ports.value.to_unsigned(), BASE, SIZE, LATENCY)


def in_part(port: int) -> int:
    """An address that only this port uses: a buffer has one owner."""
    return BASE + port * 512 + 8 * random.randrange(64)


@cocotb.test()
async def random_traffic_reads_what_was_written_last(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    for odds, ready in ((1.0, 1.0), (0.5, 0.5), (1.0, 0.3), (0.3, 1.0)):
        for port in range(tb.ports):
            # Engines take each response.
            tb.masters.odds[port], tb.masters.ready[port] = odds, 1.0 if port < 2 else ready
            for _ in range(300):
                outside = random.random() < 0.05
                address = random.choice([0, BASE - 8, BASE + SIZE, 1 << 35]) if outside else (
                    in_part(port) + random.randrange(8))  # fmt: skip
                lock = port >= 2 and random.random() < 0.2
                is_read = random.random() < 0.5 and port != 0
                data, mask = random.getrandbits(64), random.getrandbits(8)
                tb.masters.put(port, Request(is_read, address, data, mask, lock))
            # A processor gives the lock back.
            if port >= 2:
                tb.masters.put(port, Request(True, in_part(port)))
        await tb.finish()


@cocotb.test()
async def each_port_gets_a_request_a_cycle_while_banks_are_free(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    # Engine 0 writes, engine 1 reads, a processor does either: each begins in another bank's turn.
    for kind in (True, False):
        for port, is_read in ((0, False), (1, True), (2, kind)):
            for i in range(60):
                tb.masters.put(port, Request(is_read, BASE + port * 512 + 8 * i))
        await tb.finish()
        for port in range(3):
            done = tb.last[port]
            # It loses one cycle to get out of step with an engine.
            assert done[-1][1] - done[0][1] <= 59 + int(port == 2)
            assert all(now - at == LATENCY for _, at, _, _, now in done)


@cocotb.test()
async def the_reading_engine_never_waits(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    for i in range(100):
        tb.masters.put(1, Request(True, BASE + 512 + 8 * (i % 64)))
        for port in range(2, tb.ports):
            tb.masters.put(port, Request(True, BASE + port * 512, lock=i % 3 != 0))
    await tb.finish()
    done = tb.last[1]
    assert done[-1][1] - done[0][1] == 99


@cocotb.test()
async def processors_take_turns(dut):
    tb = bench_of(dut)
    await tb.start()
    await tb.fill()
    for _ in range(200):
        for port in range(2, tb.ports):
            tb.masters.put(port, Request(True, BASE + port * 512))
    await tb.finish()
    taken = sorted((d[1], p) for p in range(2, tb.ports) for d in tb.last[p])
    for at in range(0, len(taken) - tb.ports + 2, tb.ports - 2):
        assert {p for _, p in taken[at : at + tb.ports - 2]} == set(range(2, tb.ports))


@cocotb.test()
async def lock_holds_other_processors_back_for_a_bounded_time(dut):
    tb = bench_of(dut)
    if tb.ports < 4:
        return
    await tb.start()
    await tb.fill()
    locked = Request(True, BASE + 1024, lock=True)
    # Read and write under the lock: nothing of the other comes between.
    for _ in range(50):
        tb.masters.put(2, locked)
        tb.masters.put(2, Request(False, BASE + 1024, 1))
        tb.masters.put(3, Request(False, BASE + 1536, 2))
    tb.masters.odds[2] = 0.8
    await tb.finish()
    taken = sorted((d[1], p, d[0].lock) for p in (2, 3) for d in tb.last[p])
    for i, (_, port, lock) in enumerate(taken[:-1]):
        assert not (port == 2 and lock) or taken[i + 1][1] == 2
    assert any(port == 3 for _, port, _ in taken)
    # One that keeps it loses it.
    tb.masters.odds[2] = 1.0
    tb.masters.put(2, locked)
    await tb.bench.until(lambda: not tb.masters.queue[2])
    begun = tb.bench.now
    tb.masters.put(3, Request(True, BASE + 1536))
    await tb.bench.until(lambda: not tb.masters.queue[3])
    assert LOCK_CYCLES - 2 <= tb.bench.now - begun <= LOCK_CYCLES + 2
    await tb.finish()


@pytest.mark.parametrize("ports", [4, *(pytest.param(n, marks=pytest.mark.full) for n in (3, 6))])
def test_nic_memory(ports):
    run(
        "nic_memory",
        sources=["nic_lock", "nic_memory"],
        parameters={"Ports": ports, "Page": BASE >> BITS, **SHAPE},
        test_module="test_nic_memory",
    )

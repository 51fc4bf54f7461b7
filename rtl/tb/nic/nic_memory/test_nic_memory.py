"""nic_memory: random traffic of all ports against a model; turns, lock, errors."""

import random

import cocotb
import pytest
from acb import Masters, Request
from axis import Bench
from cocotb.clock import Clock
from runner import run

BITS = 12
SIZE = 1 << BITS
BASE = 1 << BITS
LOCK_CYCLES = 16
LATENCY = 2
SHAPE = {"AddressBits": BITS, "LockCycles": LOCK_CYCLES}


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.ports = dut.Ports.value.to_unsigned()
        self.masters = Masters(dut, self.ports)
        self.bench = Bench(dut.clk_i, [self.masters])
        self.dwords: dict[int, int] = {}
        self.expected = [[] for _ in range(self.ports)]
        self.last = [[] for _ in range(self.ports)]  # of each port what `finish` waited for
        self.masters.on_taken = self.taken

    async def start(self):
        self.dut.rst_i.value = 1
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        await self.bench.run(3)
        self.dut.rst_i.value = 0

    def taken(self, port: int, request: Request, now: int):
        """Memory changes in the order in which requests are taken."""
        if not BASE <= request.address < BASE + SIZE:
            self.expected[port].append((1, None))
            return
        at, known = request.address & ~7, self.dwords.get(request.address & ~7)
        if request.read:
            self.expected[port].append((0, known))
            return
        self.expected[port].append((0, None))
        mask = sum(0xFF << 8 * i for i in range(8) if request.mask >> i & 1)
        if known is not None or request.mask == 0xFF:
            self.dwords[at] = (known or 0) & ~mask | request.data & mask

    async def finish(self):
        await self.bench.until(self.masters.idle)
        for port in range(self.ports):
            for (request, at, err, data, now), (bad, known) in zip(
                self.masters.done[port], self.expected[port], strict=True
            ):
                assert err == bad, request
                if known is not None:
                    assert data == known, request
                assert now - at >= LATENCY
            self.last[port] = self.masters.done[port]
            self.expected[port].clear()
            self.masters.done[port] = []


def in_part(port: int) -> int:
    """An address that only this port uses: a buffer has one owner."""
    return BASE + port * 512 + 8 * random.randrange(64)


async def fill(tb):
    for address in range(BASE, BASE + SIZE, 8):
        tb.masters.put(0, Request(False, address, random.getrandbits(64)))
    await tb.finish()


@cocotb.test()
async def random_traffic_reads_what_was_written_last(dut):
    tb = TB(dut)
    await tb.start()
    await fill(tb)
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
            # Gives the lock back.
            tb.masters.put(port, Request(True, in_part(port)))
        await tb.finish()


@cocotb.test()
async def each_port_gets_a_request_a_cycle_while_banks_are_free(dut):
    tb = TB(dut)
    await tb.start()
    await fill(tb)
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
    tb = TB(dut)
    await tb.start()
    await fill(tb)
    for i in range(100):
        tb.masters.put(1, Request(True, BASE + 512 + 8 * (i % 64)))
        for port in range(2, tb.ports):
            tb.masters.put(port, Request(True, BASE + port * 512, lock=i % 3 != 0))
    await tb.finish()
    done = tb.last[1]
    assert done[-1][1] - done[0][1] == 99


@cocotb.test()
async def processors_take_turns(dut):
    tb = TB(dut)
    await tb.start()
    await fill(tb)
    for _ in range(200):
        for port in range(2, tb.ports):
            tb.masters.put(port, Request(True, BASE + port * 512))
    await tb.finish()
    taken = sorted((d[1], p) for p in range(2, tb.ports) for d in tb.last[p])
    for at in range(0, len(taken) - tb.ports + 2, tb.ports - 2):
        assert {p for _, p in taken[at : at + tb.ports - 2]} == set(range(2, tb.ports))


@cocotb.test()
async def lock_holds_other_processors_back_for_a_bounded_time(dut):
    tb = TB(dut)
    if tb.ports < 4:
        return
    await tb.start()
    await fill(tb)
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
        sources=["nic_memory"],
        parameters={"Ports": ports, "Page": BASE >> BITS, **SHAPE},
        test_module="test_nic_memory",
    )

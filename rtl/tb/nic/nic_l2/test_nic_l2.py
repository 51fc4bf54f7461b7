"""nic_l2: random traffic of all ports against a model, errors, flush, and cycles of frames."""

import random
from collections import Counter, deque

import cocotb
import pytest
from acb import RESPONSE_BITS, Masters, Request, unpacked
from axis import Bench
from cocotb.clock import Clock
from runner import run

BITS = 20
BASE = 1 << BITS
LINE = 64
SETS, WAYS = 128, 4
IN_FLIGHT = 16
LOCK_CYCLES = 64
FRAME_DWORDS = 190  # of 1,514 bytes


class Dram:
    """A slave that answers in order, `latency` cycles after it took the request, by masks."""

    def __init__(self, dut):
        self.dut, self.latency, self.ready, self.answers = dut, 2, 1.0, 1.0
        self.dwords: dict[int, int] = {}
        self.fails = lambda request: False
        self.counts = Counter()
        self._open: deque[tuple[int, int]] = deque()
        self._held, self._is_ready, self._now = None, False, 0

    def drive(self):
        self._is_ready = random.random() < self.ready
        self.dut.dram_request_ready_i.value = int(self._is_ready)
        is_due = bool(self._open) and self._open[0][0] <= self._now + 1
        is_due = is_due and random.random() < self.answers
        self.dut.dram_response_valid_i.value = int(is_due)
        response = self._open.popleft()[1] if is_due else random.getrandbits(RESPONSE_BITS)
        self.dut.dram_response_i.value = response

    def after(self, now: int):
        self._now = now
        assert self.dut.dram_response_ready_o.value == 1
        for name in ("fetch", "take", "write_back", "write_failed"):
            self.counts[name] += int(getattr(self.dut, f"ev_{name}_o").value)
        if self.dut.dram_request_valid_o.value != 1:
            assert self._held is None, "a request vanished before it was taken"
            return
        packed = self.dut.dram_request_o.value.to_unsigned()
        assert self._held in (None, packed), "a request changed before it was taken"
        self._held = None if self._is_ready else packed
        if not self._is_ready:
            return
        request = unpacked(packed)
        assert request.address % 8 == 0 and not request.lock and request.mask == 0xFF
        err = bool(self.fails(request))
        data = self.dwords.get(request.address, 0)
        if not request.read and not err:
            self.dwords[request.address] = request.data
        self.counts["reads" if request.read else "writes"] += 1
        self._open.append((now + self.latency, err << 64 | data))
        assert len(self._open) <= IN_FLIGHT, "more requests than may be under way"


class TB:
    """Masters at all ports, and what stands behind the cache or watches it."""

    def __init__(self, dut, memory):
        self.dut, self.memory = dut, memory
        self.ports = dut.Ports.value.to_unsigned()
        self.masters = Masters(dut, self.ports)
        self.bench = Bench(dut.clk_i, [self.masters, memory])

    async def start(self):
        self.dut.flush_i.value = 0
        self.dut.rst_i.value = 1
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        await self.bench.run(3)
        self.dut.rst_i.value = 0
        await self.bench.run(SETS + 2)

    async def finish(self) -> list[list]:
        await self.bench.until(self.masters.idle)
        done, self.masters.done = self.masters.done, [[] for _ in range(self.ports)]
        return done

    async def flush(self):
        self.dut.flush_i.value = 1
        await self.bench.until(lambda: self.dut.flush_done_o.value == 1)
        self.dut.flush_i.value = 0
        await self.bench.run(2)

    async def frame(self, *, port: int, at: int) -> tuple[int, list]:
        """Cycles from the first request taken to the last response, and what was done."""
        order = [*range(1, FRAME_DWORDS + 1), 0] if port == 0 else range(FRAME_DWORDS + 1)
        for i in order:
            self.masters.put(port, Request(port == 1, at + 8 * i, data=at + i))
        done = (await self.finish())[port]
        return done[-1][4] - done[0][1], done


def merged(old: int, request: Request) -> int:
    mask = sum(0xFF << 8 * i for i in range(8) if request.mask >> i & 1)
    return old & ~mask | request.data & mask


def check(done: list[list], before: dict[int, int]) -> dict[int, int]:
    """Each dword has one port: its accesses in their order give what memory holds behind them."""
    dwords = dict(before)
    for port in done:
        for request, at, err, data, now in port:
            outside = not BASE <= request.address < 2 * BASE
            assert err == outside, request
            assert now - at >= 2
            if outside:
                continue
            old = dwords.get(request.address & ~7, 0)
            if request.read:
                assert data == old, (request, hex(data), hex(old))
            else:
                dwords[request.address & ~7] = merged(old, request)
    return dwords


def in_few_sets(port: int, ports: int) -> int:
    """A dword that only this port uses, in one of 4 sets and 12 lines of it, shared by all."""
    dword = random.choice([d for d in range(8) if d % ports == port])
    return BASE + random.randrange(12) * LINE * SETS + random.randrange(4) * LINE + 8 * dword


@cocotb.test()
async def random_traffic_reads_what_was_written_last(dut):
    tb = TB(dut, Dram(dut))
    await tb.start()
    dwords: dict[int, int] = {}
    for latency, odds, ready, dram, answers in (
        (1, 1.0, 1.0, 1.0, 1.0), (10, 0.5, 0.5, 0.5, 1.0), (40, 1.0, 0.3, 1.0, 0.5),
        (3, 0.3, 1.0, 0.3, 0.7),
    ):  # fmt: skip
        tb.memory.latency, tb.memory.ready, tb.memory.answers = latency, dram, answers
        for port in range(tb.ports):
            tb.masters.odds[port], tb.masters.ready[port] = odds, ready
            for _ in range(400):
                address = in_few_sets(port, tb.ports)
                if random.random() < 0.03:
                    address = random.choice([0, BASE - 8, 2 * BASE, 1 << 35])
                mask = random.choice([0xFF, 0xFF, random.getrandbits(8)])
                lock = port >= 2 and random.random() < 0.2
                is_read, data = random.random() < 0.5, random.getrandbits(64)
                tb.masters.put(port, Request(is_read, address, data, mask, lock))
            tb.masters.put(port, Request(True, in_few_sets(port, tb.ports)))
        if latency == 10:
            await tb.bench.run(200)
            await tb.flush()
        dwords = check(await tb.finish(), dwords)
    assert tb.memory.counts["write_back"] > 100 and tb.memory.counts["fetch"] > 100
    await tb.flush()
    assert all(tb.memory.dwords.get(at, 0) == data for at, data in dwords.items())
    assert not tb.memory.counts["write_failed"]


@cocotb.test()
async def sequences_of_one_dword_by_all_ports_are_seen_in_their_order(dut):
    """One port counts upwards in a dword; the others never see it fall, through evictions."""
    tb = TB(dut, Dram(dut))
    await tb.start()
    tb.memory.latency = 7
    at = BASE + 3 * LINE
    for value in range(1, 300):
        tb.masters.put(0, Request(False, at, value))
        for port in range(1, tb.ports):
            tb.masters.put(port, Request(True, at))
        if value % 3 == 0:
            tb.masters.put(0, Request(False, at + random.randrange(1, 9) * LINE * SETS, value))
    done = await tb.finish()
    for port in done[1:]:
        seen = [data for _, _, err, data, _ in port]
        assert seen == sorted(seen) and seen[-1] > 100
    assert tb.memory.counts["write_back"] > 50


@cocotb.test()
async def misses_are_counted(dut):
    tb = TB(dut, Dram(dut))
    await tb.start()
    # 32 KiB written in whole dwords: a line each, nothing fetched or written back.
    for at in range(BASE, BASE + SETS * WAYS * LINE, 8):
        tb.masters.put(0, Request(False, at, at))
    await tb.finish()
    assert +tb.memory.counts == {"take": SETS * WAYS}
    # All of it hits.
    for at in range(BASE, BASE + SETS * WAYS * LINE, 8):
        tb.masters.put(1, Request(True, at))
    done = await tb.finish()
    assert all(data == r.address for r, _, _, data, _ in done[1])
    assert +tb.memory.counts == {"take": SETS * WAYS}
    # A fifth line of a set replaces its oldest.
    tb.masters.put(2, Request(True, BASE + WAYS * SETS * LINE))
    await tb.finish()
    # It has its answer before the rest of the line comes.
    await tb.bench.until(lambda: tb.memory.counts["reads"] == 8)
    assert +tb.memory.counts == {
        "take": SETS * WAYS, "fetch": 1, "write_back": 1, "reads": 8, "writes": 8,
    }  # fmt: skip
    assert all(tb.memory.dwords[at] == at for at in range(BASE, BASE + LINE, 8))
    # A flush writes the others; a second one has nothing to write.
    await tb.flush()
    assert tb.memory.counts["writes"] == SETS * WAYS * 8
    await tb.flush()
    assert tb.memory.counts["write_back"] == SETS * WAYS


@cocotb.test()
async def an_error_of_dram_leaves_nothing_valid(dut):
    tb = TB(dut, Dram(dut))
    await tb.start()
    tb.memory.latency = 5
    bad = BASE + 5 * LINE + 16
    tb.memory.dwords[bad], tb.memory.dwords[bad + 8] = 7, 8
    tb.memory.fails = lambda request: request.address == bad
    for request in (Request(True, bad), Request(False, bad, 1, 0x0F), Request(True, bad + 8)):
        tb.masters.put(2, request)
    done = (await tb.finish())[2]
    assert [d[2] for d in done] == [1, 1, 0] and done[2][3] == 8
    tb.memory.fails = lambda request: False
    tb.masters.put(2, Request(True, bad))
    assert (await tb.finish())[2][0][2:4] == (0, 7)
    # A write-back that fails is counted.
    tb.masters.put(2, Request(False, bad, 9))
    await tb.finish()
    tb.memory.fails = lambda request: request.address == bad and not request.read
    await tb.flush()
    assert tb.memory.counts["write_failed"] == 1 and tb.memory.dwords[bad] == 7


@cocotb.test()
async def a_lock_excludes_other_processors(dut):
    tb = TB(dut, Dram(dut))
    if tb.ports < 4:
        return
    await tb.start()
    tb.memory.latency = 3
    for _ in range(60):
        tb.masters.put(2, Request(True, BASE + 64, lock=True))
        tb.masters.put(2, Request(False, BASE + 64, 1))
        tb.masters.put(3, Request(False, in_few_sets(3, tb.ports), 2))
        tb.masters.put(0, Request(False, in_few_sets(0, tb.ports), 3))
    done = await tb.finish()
    events = sorted((d[1], p, d[0].lock) for p in (2, 3) for d in done[p])
    for i, (at, port, lock) in enumerate(events[:-1]):
        _, who, _ = events[i + 1]
        assert not (port == 2 and lock) or who == 2
        if port == 2 and lock:
            # What the other asked before has its answer.
            assert all(d[4] <= at or d[1] > at for d in done[3])


@cocotb.test()
async def a_lock_ends_but_not_while_its_holder_waits_for_a_miss(dut):
    tb = TB(dut, Dram(dut))
    if tb.ports < 4:
        return
    await tb.start()
    tb.memory.latency = 4 * LOCK_CYCLES
    tb.masters.put(2, Request(True, BASE, lock=True))
    await tb.bench.run(2)
    tb.masters.put(3, Request(False, BASE + LINE, 1))
    done = await tb.finish()
    answered, other = done[2][0][4], done[3][0][1]
    assert answered > 4 * LOCK_CYCLES and 0 <= other - answered - LOCK_CYCLES <= 3
    # A holder whose accesses follow each other loses it too: an answer counts as a cycle.
    for _ in range(4 * LOCK_CYCLES):
        tb.masters.put(2, Request(True, BASE, lock=True))
    await tb.bench.run(2)
    tb.masters.put(3, Request(False, BASE + LINE, 1))
    done = await tb.finish()
    others = sum(d[1] < done[3][0][1] for d in done[2])
    assert LOCK_CYCLES <= others <= LOCK_CYCLES + 8


@cocotb.test()
async def a_processor_goes_ahead_of_an_engine_in_time(dut):
    tb = TB(dut, Dram(dut))
    await tb.start()
    for i in range(600):
        tb.masters.put(0, Request(False, BASE + 8 * (i % 8), i))
        tb.masters.put(1, Request(True, BASE + 8 * (i % 8)))
    for i in range(10):
        tb.masters.put(2, Request(i % 2 == 0, BASE + 32, 5))
    done = await tb.finish()
    assert done[2][-1][4] < done[0][-1][4] and done[2][-1][4] < done[1][-1][4]


@cocotb.test()
async def frames_take_these_cycles(dut):
    tb = TB(dut, Dram(dut))
    await tb.start()
    dirty = BASE + 0x80000
    print("\nlatency  first write  write again  read hit  write over dirty  cold read")
    for latency in (1, 10, 40):
        tb.memory.latency = latency
        await tb.flush()
        cycles = [(await tb.frame(port=0, at=BASE))[0]]
        cycles.append((await tb.frame(port=0, at=BASE))[0])
        hit, done = await tb.frame(port=1, at=BASE)
        assert all(data == BASE + i for i, (_, _, _, data, _) in enumerate(done))
        cycles.append(hit)
        for at in range(dirty, dirty + SETS * WAYS * LINE, 8):
            tb.masters.put(0, Request(False, at, at))
        await tb.finish()
        cycles.append((await tb.frame(port=0, at=BASE))[0])
        await tb.flush()
        cycles.append((await tb.frame(port=1, at=BASE))[0])
        print(latency, cycles)
        # A dword a cycle: hits, lines that are taken, also dirty ones while DRAM keeps up.
        assert max(cycles[:3]) <= FRAME_DWORDS + 3
        assert cycles[3] <= FRAME_DWORDS + 3 or latency == 40


@pytest.mark.parametrize("ports", [4, *(pytest.param(n, marks=pytest.mark.full) for n in (3, 6))])
def test_nic_l2(ports):
    run(
        "nic_l2",
        sources=["nic_l2", "nic_l2_cache", "nic_lock"],
        parameters={"Ports": ports, "AddressBits": BITS, "Page": 1},
        test_module="test_nic_l2",
    )

"""nic_queues: against a model of the queues; latency, turns, the lock, bad pushes, reset.

As rings too, in a DRAM whose requests fail at random (nic_rings_tb).
"""

import copy
import random
from pathlib import Path

import cocotb
import pytest
from axis import Bench
from cocotb.clock import Clock
from nic_queues_model import (
    BAD,
    BUSY,
    DONE,
    EMPTY,
    FAILED,
    FREE,
    FULL,
    GRANTED,
    LOCK,
    LOCKED,
    PORTS,
    RECEIVE,
    RECEIVER,
    TEST,
    TRANSMIT,
    TRANSMITTER,
    Op,
    Queues,
    pop,
    push,
)

EVENTS = {"bad": BAD, "full": FULL, "locked": LOCKED}
OP_BITS = 37
HAS_RINGS = "RINGS" in getattr(cocotb, "plusargs", {})  # pytest has none
RINGS = 16  # that a reset writes
ROOT = Path(__file__).resolve().parents[4]


class TB:
    """Requesters that hold their operation until it is ready; results checked by the model."""

    def __init__(self, dut):
        self.dut = dut
        self.requesters = len(dut.op_valid_i)
        self.ports = dut.Ports.value.to_unsigned()
        # What an access of a ring adds, and the longest operation.
        self.access_cycles = dut.Latency.value.to_unsigned() + 1 if HAS_RINGS else 0
        self.op_cycles = 2 + 3 * self.access_cycles
        self.fail_odds = 0.0
        self.fails_at: int | None = None  # which access of the operation
        self.next_fails_at: int | None = None
        self.taken = 0  # its accesses
        self.is_broken = False  # memory failed in the last reset
        self.bench = Bench(dut.clk_i, [self])
        self.wanted: list[tuple[Op, int] | None] = [None] * self.requesters
        self.since = [0] * self.requesters  # first cycle of the request that stands
        self.results: list[tuple[Op, int, int] | None] = [None] * self.requesters
        self.latencies: list[tuple[int, int]] = []  # accesses, cycles
        self.done: tuple[int, Op, int] | None = None  # granted in the last cycle
        # Its result comes in this one, or behind its accesses: their number is the last.
        self.due: tuple[int, Op, int, int, int] | None = None
        events = [*EVENTS, "revoked", "failed"]
        self.raised = dict.fromkeys(events, 0)
        self.expected = dict.fromkeys(events, 0)
        self.worst_wait = 0
        self.revoked_at = 0

    async def start(self, *, base=0x2000_0008, bits=4, count=64, lock_cycles=1 << 16):
        dut = self.dut
        dut.base_i.value = base >> 3
        dut.bits_i.value = bits
        dut.count_i.value = count
        dut.lock_cycles_i.value = lock_cycles
        dut.op_valid_i.value = 0
        dut.level_queue_i.value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        self.model = Queues(base, 128 << bits, count, lock_cycles)
        await self.reset()

    async def reset(self):
        self.wanted = [None] * self.requesters
        self.done = self.due = None
        self.model.owned.clear()
        self.dut.rst_i.value = 1
        await self.bench.run(2)
        self.done = self.due = None
        self.dut.rst_i.value = 0
        # One bit of each buffer is cleared in a cycle.
        await self.bench.run(max(131, RINGS * self.access_cycles + 4))

    def drive(self):
        ops = sum((w[0].packed() if w else random.getrandbits(OP_BITS)) << OP_BITS * n
                  for n, w in enumerate(self.wanted))  # fmt: skip
        self.dut.op_i.value = ops
        self.dut.op_valid_i.value = sum((w is not None) << n for n, w in enumerate(self.wanted))
        if HAS_RINGS:
            taken = 0 if self.done else self.taken
            self.dut.fail_i.value = int(self.is_broken or taken == self.fails_at)
        if self.wanted[PORTS]:
            self.dut.port_i.value = self.wanted[PORTS][1]

    def after(self, now: int):
        self.check_result(now)
        self.check_events()
        self.take_grant(now)

    def check_result(self, now: int):
        valid = self.dut.result_valid_o.value.to_unsigned()
        assert self.dut.owns_o.value == 1 or not self.model.owned or self.due
        if self.due and self.due[4] and not valid:
            assert self.dut.op_ready_o.value == 0 or self.taken == self.due[4]
        else:
            self.take_result(now, valid)
        self.blocks = self.model.held(now)
        if self.done:
            self.taken = 0
        if HAS_RINGS:
            self.taken += int(self.dut.request_taken_o.value)
        if self.done:
            requester, op, port = self.done
            # While an engine's operation is owed the lock is busy, and holds nothing back.
            is_lock = requester == PORTS and op.kind == LOCK and not op.push
            self.blocks |= is_lock and not self.model.owed
            # The lock ends by itself behind its last cycle.
            result, accesses = self.operate(requester, port, op, now)
            self.due = (requester, op, port, result, accesses)
            self.first = self.granted_since
            failed = [e for e, r in EVENTS.items() if requester == PORTS and result == r]
            if op.kind != LOCK and (op.push or result == LOCKED):
                for event in failed:
                    self.expected[event] += 1
            self.expected["failed"] += result == FAILED and op.kind != LOCK
        self.done = None
        self.expected["revoked"] += self.model.tick(now)

    def take_result(self, now: int, valid: int):
        due, self.due = self.due, None
        assert valid == (1 << due[0] if due else 0)
        if due:
            requester, op, port, result, accesses = due
            got = self.dut.result_o.value.to_unsigned()
            assert got == result, f"{requester} {op} port {port}: {got:#x}, not {result:#x}"
            assert self.is_broken or self.taken == accesses
            self.latencies.append((accesses, now - self.first))
            self.results[requester] = (op, port, result)

    def operate(self, requester: int, port: int, op: Op, now: int) -> tuple[int, int]:
        """The result of an operation, and how often it accesses memory."""
        if not HAS_RINGS:
            return self.model.do(requester, port, op, now), 0
        fails = self.is_broken or self.fails_at is not None
        before = copy.deepcopy(self.model) if fails else None
        result = self.model.do(requester, port, op, now)
        if op.kind == LOCK or result == LOCKED or (op.push and result == BAD):
            return result, 0
        accesses = 1 if result == (FULL if op.push else EMPTY) else 3
        if before and (self.is_broken or self.fails_at < accesses):
            self.model = before
            return FAILED, 1 if self.is_broken else self.fails_at + 1
        return result, accesses

    def check_events(self):
        for event in self.raised:
            self.raised[event] += int(getattr(self.dut, f"ev_{event}_o").value)

    def take_grant(self, now: int):
        ready = self.dut.op_ready_o.value.to_unsigned()
        assert ready.bit_count() <= 1
        owed = set()
        for n, wanted in enumerate(self.wanted):
            if wanted is None:
                assert not ready >> n & 1
                continue
            if ready >> n & 1:
                op, port = wanted
                assert n == PORTS or op.kind != FREE or not self.blocks
                self.done = (n, op, port)
                self.fails_at = self.next_fails_at
                if random.random() < self.fail_odds:
                    self.fails_at = random.randrange(3)
                self.granted_since = self.since[n]
                self.worst_wait = max(self.worst_wait, now - self.since[n])
                self.wanted[n] = None
            elif n != PORTS and wanted[0].kind == FREE and (n in self.model.owed or self.blocks):
                owed.add(n)
        self.model.owed = owed

    def request(self, requester: int, op: Op, port: int = 0):
        assert self.wanted[requester] is None
        self.wanted[requester] = (op, port)
        self.since[requester] = self.bench.now + 1
        self.results[requester] = None

    async def do(self, requester: int, op: Op, port: int = 0) -> int:
        """An operation alone; its result, which the model has checked."""
        self.request(requester, op, port)
        await self.bench.until(lambda: self.results[requester] is not None, 2 * (1 << 16))
        return self.results[requester][2]

    def check(self):
        assert self.raised == self.expected
        dut, queues = self.dut, self.model.queues
        servers = range(self.model.servers)
        assert int(dut.free_waits_o.value) == bool(queues[FREE, 0])
        for kind, name in ((RECEIVE, "receive"), (TRANSMIT, "transmit")):
            sizes = [len(queues[kind, s]) for s in servers]
            waits = getattr(dut, f"{name}_waits_o").value.to_unsigned()
            full = getattr(dut, f"{name}_full_o").value.to_unsigned()
            assert waits == sum((n > 0) << s for s, n in enumerate(sizes))
            assert full == sum((n == 64) << s for s, n in enumerate(sizes))

    async def check_levels(self):
        """The number of entries of each queue, beside whatever else goes on."""
        for (kind, server), queue in self.model.queues.items():
            self.dut.level_queue_i.value = kind << 2 | server
            await self.bench.cycle()
            assert self.dut.level_o.value.to_unsigned() == len(queue)
        assert self.dut.owns_o.value == bool(self.model.owned)


@cocotb.test()
async def each_operation_takes_two_cycles(dut):
    tb = TB(dut)
    await tb.start()
    buffers = tb.model.buffers()
    for n, pointer in enumerate(buffers[:8]):
        assert await tb.do(PORTS, push(FREE, pointer), n % tb.ports) == DONE
    assert await tb.do(PORTS, pop(RECEIVE, 2)) == EMPTY
    assert await tb.do(RECEIVER, pop(FREE)) == buffers[0]
    assert await tb.do(RECEIVER, push(RECEIVE, buffers[0], 3)) == DONE
    assert await tb.do(PORTS, pop(RECEIVE, 3)) == buffers[0]
    assert await tb.do(PORTS, push(TRANSMIT, buffers[0], 1)) == DONE
    assert await tb.do(TRANSMITTER, pop(TRANSMIT, 1)) == buffers[0]
    assert await tb.do(TRANSMITTER, push(FREE, buffers[0])) == DONE
    for accesses, cycles in tb.latencies:
        assert cycles == 2 + accesses * tb.access_cycles
    if HAS_RINGS:
        assert {accesses for accesses, _ in tb.latencies} == {1, 3}
        dut._log.info("an operation takes %d cycles", tb.latencies[0][1])
    await tb.check_levels()
    tb.check()


@cocotb.test()
async def bad_pushes_fail_and_are_counted(dut):
    tb = TB(dut)
    await tb.start(base=0x1234_5678, bits=3, count=37)
    model = tb.model
    end = model.base + model.count * model.size
    outside = [model.base - 8, model.base - model.size, end, end + model.size, 0, 0xFFFF_FFF8]
    unaligned = [model.base + n for n in (1, 2, 4, 7, 8, 64, model.size // 2, model.size - 8)]
    for kind, server in ((FREE, 0), (RECEIVE, 1), (TRANSMIT, 3)):
        for pointer in (*outside, *unaligned):
            assert await tb.do(PORTS, push(kind, pointer, server)) == BAD
    first, second, last = (model.buffers()[n] for n in (0, 1, -1))
    for pointer in (first, second, last):
        assert await tb.do(PORTS, push(FREE, pointer)) == DONE
        # In a queue already.
        assert await tb.do(PORTS, push(TRANSMIT, pointer)) == BAD
    # In an engine.
    assert await tb.do(RECEIVER, pop(FREE)) == first
    assert await tb.do(PORTS, push(FREE, first)) == BAD
    assert await tb.do(RECEIVER, push(RECEIVE, first)) == DONE
    assert await tb.do(PORTS, push(FREE, first)) == BAD
    # Popped, it is the port's again.
    assert await tb.do(PORTS, pop(RECEIVE)) == first
    assert await tb.do(PORTS, push(FREE, first)) == DONE
    await tb.bench.run(2)
    assert tb.raised["bad"] == 3 * len(outside + unaligned) + 5
    tb.check()


@cocotb.test()
async def full_queues_take_nothing_and_keep_their_order(dut):
    tb = TB(dut)
    await tb.start(count=128)
    buffers = tb.model.buffers()
    for pointer in buffers[:64]:
        assert await tb.do(PORTS, push(TRANSMIT, pointer, 2)) == DONE
    assert await tb.do(PORTS, push(TRANSMIT, buffers[64], 2)) == FULL
    assert await tb.do(TEST if tb.requesters > TEST else RECEIVER,
                       push(TRANSMIT, buffers[65], 2)) == FULL  # fmt: skip
    # What found no room is still the port's.
    assert await tb.do(PORTS, push(TRANSMIT, buffers[64], 1)) == DONE
    await tb.check_levels()
    for pointer in buffers[:64]:
        assert await tb.do(TRANSMITTER, pop(TRANSMIT, 2)) == pointer
    assert await tb.do(TRANSMITTER, pop(TRANSMIT, 2)) == EMPTY
    tb.check()


@cocotb.test()
async def the_lock_excludes_ports_and_holds_engines_back(dut):
    tb = TB(dut)
    lock_cycles = 100 + 8 * tb.op_cycles
    await tb.start(lock_cycles=lock_cycles)
    buffers = tb.model.buffers()
    for pointer in buffers[:4]:
        await tb.do(PORTS, push(FREE, pointer))
    # A port at a time in one cycle asks: who is served first gets it, the other is refused.
    assert await tb.do(PORTS, pop(LOCK), 0) == GRANTED
    assert await tb.do(PORTS, pop(LOCK), 1) == BUSY
    assert await tb.do(PORTS, pop(FREE), 1) == LOCKED
    assert await tb.do(PORTS, push(FREE, buffers[9]), 1) == LOCKED
    assert await tb.do(PORTS, push(LOCK, 1), 1) == DONE  # no effect
    assert await tb.do(PORTS, push(LOCK, 0), 0) == DONE  # nor has a zero
    assert await tb.do(PORTS, pop(FREE), 1) == LOCKED
    # Other queues are not locked.
    assert await tb.do(PORTS, push(TRANSMIT, buffers[9]), 1) == DONE
    assert await tb.do(TRANSMITTER, pop(TRANSMIT)) == buffers[9]
    assert await tb.do(PORTS, pop(FREE), 0) == buffers[0]
    tb.request(RECEIVER, pop(FREE))
    tb.request(TRANSMITTER, push(FREE, buffers[9]))
    await tb.bench.run(20)
    assert tb.results[RECEIVER] is tb.results[TRANSMITTER] is None
    assert await tb.do(PORTS, push(LOCK, 1), 0) == DONE
    # What has waited is served before the lock is given again.
    assert await tb.do(PORTS, pop(LOCK), 1) == GRANTED
    assert tb.results[RECEIVER] and tb.results[TRANSMITTER]
    await tb.bench.run(lock_cycles + 10)
    tb.check()


@cocotb.test()
async def a_holder_that_dies_loses_the_lock(dut):
    tb = TB(dut)
    cycles = 60
    await tb.start(lock_cycles=cycles)
    await tb.do(PORTS, push(FREE, tb.model.buffers()[0]))
    for _ in range(3):
        assert await tb.do(PORTS, pop(LOCK), 1) == GRANTED
        begun = tb.bench.now
        tb.request(RECEIVER, pop(FREE))
        # The dead port's lock is not prolonged by the others, nor by itself.
        while tb.results[RECEIVER] is None:
            await tb.do(PORTS, pop(LOCK), random.randrange(2))
            assert tb.bench.now - begun <= 2 * cycles + 16 + 2 * tb.op_cycles
        await tb.do(RECEIVER, push(FREE, tb.results[RECEIVER][2]))
        await tb.bench.run(cycles + 4)
    assert tb.raised["revoked"] >= 3
    tb.check()


@cocotb.test()
async def reset_empties_everything(dut):
    tb = TB(dut)
    await tb.start()
    buffers = tb.model.buffers()
    await tb.do(PORTS, pop(LOCK), 1)
    for n, pointer in enumerate(buffers[:30]):
        await tb.do(PORTS, push(n % 2 + 1, pointer, n % 4))
    tb.request(PORTS, pop(TRANSMIT, 1))
    await tb.bench.cycle()
    await tb.reset()
    tb.model = Queues(tb.model.base, tb.model.size, tb.model.count, tb.model.lock_cycles)
    await tb.check_levels()
    assert await tb.do(PORTS, pop(TRANSMIT, 1)) == EMPTY
    for pointer in buffers:
        assert await tb.do(PORTS, push(FREE, pointer), 0) == DONE
    assert await tb.do(RECEIVER, pop(FREE)) == buffers[0]
    tb.check()


@cocotb.test(skip=not HAS_RINGS)
async def an_operation_that_memory_fails_changes_nothing(dut):
    tb = TB(dut)
    await tb.start(count=128)
    buffers = tb.model.buffers()
    failures = 0

    async def tries(op: Op, requester: int, accesses: int) -> int:
        nonlocal failures
        for tb.next_fails_at in range(accesses):
            assert await tb.do(requester, op) == FAILED
            failures += 1
        tb.next_fails_at = None
        return await tb.do(requester, op)

    for pointer in buffers[:64]:
        assert await tries(push(FREE, pointer), PORTS, 3) == DONE
    assert await tries(push(FREE, buffers[64]), PORTS, 1) == FULL
    for n, pointer in enumerate(buffers[:64]):
        assert await tries(pop(FREE), PORTS if n % 2 else RECEIVER, 3) == pointer
    assert await tries(pop(FREE), PORTS, 1) == EMPTY
    await tb.bench.run(2)
    assert tb.raised["failed"] == failures
    tb.check()


@cocotb.test(skip=not HAS_RINGS)
async def where_a_reset_cannot_empty_the_rings_each_operation_fails(dut):
    tb = TB(dut)
    await tb.start()
    buffers = tb.model.buffers()
    await tb.do(PORTS, push(FREE, buffers[0]))
    tb.is_broken = True
    await tb.reset()
    tb.model = Queues(tb.model.base, tb.model.size, tb.model.count, tb.model.lock_cycles)
    for op in (push(FREE, buffers[0]), pop(FREE), pop(TRANSMIT, 2)):
        assert await tb.do(PORTS, op) == FAILED
        assert tb.taken == 0
    assert await tb.do(PORTS, pop(LOCK)) == GRANTED
    assert await tb.do(PORTS, push(FREE, buffers[0] + 8)) == BAD
    tb.is_broken = False
    await tb.reset()
    tb.model = Queues(tb.model.base, tb.model.size, tb.model.count, tb.model.lock_cycles)
    assert await tb.do(RECEIVER, pop(FREE)) == EMPTY
    assert await tb.do(PORTS, push(FREE, buffers[0])) == DONE
    assert await tb.do(RECEIVER, pop(FREE)) == buffers[0]
    tb.check()


class Circuit:
    """Engines and ports that move buffers at random, each what it holds."""

    def __init__(self, tb: TB):
        self.tb = tb
        self.held = {RECEIVER: [], TRANSMITTER: [], TEST: [], **{f"port {p}": [] for p in range(9)}}
        self.held["port 0"] = tb.model.buffers()
        self.pending: dict[int, tuple[str | int, Op]] = {}

    def step(self):
        for requester in range(self.tb.requesters):
            if requester in self.pending:
                if self.tb.results[requester] is None:
                    continue
                self.settle(requester)
            if random.random() < self.odds[requester]:
                self.begin(requester)

    def settle(self, requester: int):
        owner, op = self.pending.pop(requester)
        result = self.tb.results[requester][2]
        if op.kind == LOCK:
            return
        if op.push and result == DONE:
            self.held[owner].remove(op.pointer)
        elif not op.push and result not in (EMPTY, LOCKED, FAILED):
            self.held[owner].append(result)

    def begin(self, requester: int):
        server = random.randrange(4)
        port = random.randrange(self.tb.ports)
        owner = f"port {port}" if requester == PORTS else requester
        held = self.held[owner]
        if requester == RECEIVER:
            op = push(RECEIVE, held[0], server) if held else pop(FREE)
        elif requester == TRANSMITTER:
            op = push(FREE, held[0]) if held else pop(TRANSMIT, server)
        elif requester == TEST:
            op = push(TRANSMIT, held[0], server) if held else pop(FREE)
        else:
            op = self.port_op(held, server)
        self.pending[requester] = (owner, op)
        self.tb.request(requester, op, port)

    def port_op(self, held: list[int], server: int) -> Op:
        draw = random.random()
        if draw < 0.08:
            return random.choice([pop(LOCK), push(LOCK, 1), push(LOCK, 0)])
        kind = random.choice([FREE, RECEIVE, TRANSMIT])
        if draw < 0.2:
            model = self.tb.model
            others = [*model.owned, model.base - 128, model.base + model.size // 2, 5]
            return push(kind, random.choice(others), server if kind != FREE else 0)
        if held and draw < 0.6:
            kind = random.choice([FREE, TRANSMIT])
            return push(kind, random.choice(held), server if kind != FREE else 0)
        kind = random.choice([FREE, RECEIVE])
        return pop(kind, server if kind != FREE else 0)

    def check(self):
        """Each buffer is in one place."""
        queued = [p for queue in self.tb.model.queues.values() for p in queue]
        places = sorted([*queued, *(p for held in self.held.values() for p in held)])
        assert places == self.tb.model.buffers()


@cocotb.test()
async def random_operations_give_what_the_model_gives(dut):
    tb = TB(dut)
    await tb.start(base=0x8000_0000, bits=4, count=random.choice([64, 128]), lock_cycles=40)
    circuit = Circuit(tb)
    for phase in range(int(cocotb.plusargs["phases"])):
        circuit.odds = [random.choice([0.05, 0.5, 1.0]) for _ in range(4)]
        tb.fail_odds = random.choice([0.0, 0.1])
        for _ in range(1000 + 50 * tb.access_cycles):
            circuit.step()
            await tb.bench.cycle()
        circuit.odds = [0.0] * 4
        for _ in range(150 + 6 * tb.op_cycles):
            circuit.step()
            await tb.bench.cycle()
        assert not circuit.pending, phase
        circuit.check()
        tb.check()
        await tb.check_levels()
    # An engine waits for at most two locks and the turns of the others.
    assert tb.worst_wait <= 2 * (40 + 8) + 6 * tb.op_cycles


@pytest.mark.parametrize(
    ("requesters", "ports", "phases"),
    [(3, 2, 3), pytest.param(3, 4, 300, marks=pytest.mark.full),
     pytest.param(4, 2, 300, marks=pytest.mark.full)],
)  # fmt: skip
def test_nic_queues(requesters, ports, phases):
    from runner import run

    run(
        "nic_queues",
        sources=["nic_queues", "nic_rings"],
        test_module="test_nic_queues",
        parameters={"Requesters": requesters, "Ports": ports},
        plusargs=[f"+phases={phases}"],
    )


@pytest.mark.parametrize(
    ("requesters", "latency", "phases"),
    [(3, 10, 3), *(pytest.param(*p, marks=pytest.mark.full)
                   for p in ((4, 1, 200), (3, 10, 200), (4, 40, 200)))],
)  # fmt: skip
def test_rings(requesters, latency, phases):
    from runner import run

    bench = Path(__file__).parent.relative_to(ROOT) / "nic_rings_tb.sv"
    run(
        "nic_rings_tb",
        sources=[bench, "nic_queues", "nic_rings", "nic_dram"],
        test_module="test_nic_queues",
        parameters={"Requesters": requesters, "Latency": latency},
        plusargs=[f"+phases={phases}", "+RINGS"],
    )

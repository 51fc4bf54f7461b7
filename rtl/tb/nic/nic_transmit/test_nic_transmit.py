"""nic_transmit: frames of any length from buffers, without a gap; each buffer is freed once.

One with `retain` in its control word goes to its server's receive queue instead.
"""

import random
from collections import Counter, deque

import cocotb
import pytest
from acb import Memory, Request
from axis import Bench, Sink
from cocotb.clock import Clock
from nic_engine import FREE, RECEIVE, SERVERS, TRANSMIT, EngineQueues
from runner import run

EVENTS = ("sent", "length", "failed")
HIGH = 0x5
RETAIN = 1 << 15
SHORTEST = 60


class TB:
    def __init__(self, dut, **memory):
        self.dut = dut
        self.sink = Sink(dut, "m_axis")
        self.memory, self.queues = Memory(dut, **memory), EngineQueues(dut)
        self.bench = Bench(dut.clk_i, [self.sink, self.memory, self.queues, self])
        self.big_endian = bool(dut.BigEndian.value)
        self.depth = dut.Depth.value.to_unsigned() if dut.StoreForward.value else 1 << 16
        self.queues.on_push, self.queues.on_pop = self.pushed, self.popped
        self.memory.on_taken = self.reads
        self.fates = Counter()
        self.expected = Counter()
        self.engine: set[int] = set()
        self.free: set[int] = set()
        self.frames: dict[int, bytes | None] = {}  # of the buffers in queues
        self.popped_frames: deque[bytes | None] = deque()  # in the order in which they leave
        self.returns: dict[int, int] = {}  # server of a buffer that is to go back to it

    def drive(self):
        pass

    def after(self, now: int):
        for event in EVENTS:
            self.fates[event] += self.dut[f"ev_{event}_o"].value == 1

    def reads(self, request, now: int):
        assert request.read and request.address >> 32 == HIGH
        assert request.address & 0xFFFFFFFF & -self.size in self.engine

    def popped(self, kind: int, server: int, pointer: int):
        assert kind == TRANSMIT
        self.engine.add(pointer)
        address = HIGH << 32 | pointer
        fails = self.memory.fails(Request(True, address))
        if self.memory.dwords[address] & RETAIN and not fails:
            self.returns[pointer] = server
        self.popped_frames.append(self.frames.pop(pointer))

    def pushed(self, kind: int, server: int, pointer: int):
        """Freed or returned once, when all of its reads have answered."""
        back = self.returns.pop(pointer, None)
        assert (kind, server) == ((FREE, 0) if back is None else (RECEIVE, back))
        low = HIGH << 32 | pointer
        assert not any(low <= r.address < low + self.size for _, r, _ in self.memory._open)
        self.engine.remove(pointer)
        self.free.add(pointer)

    async def start(self, *, bits=4, buffers=24):
        dut = self.dut
        self.size, self.buffers = 128 << bits, buffers
        self.free = {i * self.size for i in range(buffers)}
        dut.enable_i.value = 1
        dut.address_i.value, dut.buffer_bits_i.value = HIGH, bits
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        await self.bench.run(4)
        dut.rst_i.value = 0

    def put(self, server: int, frame: bytes, *, length: int | None = None, may_retain=True):
        """Into a buffer and a transmit queue; `length` is what the control word says."""
        pointer = self.free.pop()
        for queue in self.queues.queues.values():
            if pointer in queue:
                queue.remove(pointer)
        said = len(frame) if length is None else length
        address = HIGH << 32 | pointer
        control = random.getrandbits(64) & ~(0xFFFF << 16) | said << 16
        if not may_retain:
            control &= ~RETAIN
        data = frame + random.randbytes(-len(frame) % 8)
        if self.big_endian:
            data = b"".join(data[i : i + 8][::-1] for i in range(0, len(data), 8))
        self.memory.dwords[address] = control
        self.memory.store(address + 8, data)
        is_sent = 14 <= said <= min(self.size - 8, 8 * self.depth)
        self.frames[pointer] = frame if is_sent else None
        self.expected["sent" if is_sent else "length"] += 1
        self.queues.queues[TRANSMIT, server].append(pointer)

    async def drain(self):
        await self.bench.until(lambda: self.fates.total() == self.expected.total()
                               and not self.engine)  # fmt: skip
        await self.bench.run(5)

    def check(self):
        assert self.fates == +self.expected
        expected = [f.ljust(SHORTEST, b"\0") for f in self.popped_frames if f is not None]
        assert self.sink.take() == [(frame, 0) for frame in expected]
        self.popped_frames.clear()
        assert not self.engine and len(self.free) == self.buffers
        assert self.sink.gaps == 0


@cocotb.test()
async def every_length(dut):
    tb = TB(dut)
    await tb.start()
    lengths = range(14, 1601) if cocotb.plusargs.get("full") else [
        *range(14, 140), *range(1490, 1601, 7), 1600]  # fmt: skip
    longest = 8 * tb.depth
    for length in lengths:
        await tb.bench.until(lambda: len(tb.free) > 4)
        tb.put(length % SERVERS, random.randbytes(min(length, longest)))
    await tb.drain()
    tb.check()


@cocotb.test()
async def longest_frames(dut):
    tb = TB(dut)
    if tb.depth < 1 << 16:
        return
    await tb.start(bits=7)
    for length in (9000, 9014, 16368, 16375, 16376):
        tb.put(0, random.randbytes(length))
    tb.put(0, b"", length=16377)
    await tb.drain()
    tb.check()


@cocotb.test()
async def frames_of_60_bytes_leave_without_a_pause(dut):
    """One in 9 cycles; queues that are empty cost nothing."""
    tb = TB(dut)
    await tb.start(bits=0)
    for _ in range(20):
        tb.put(2, random.randbytes(60))
    await tb.drain()
    took = [b - a for a, b in zip(tb.sink.done, tb.sink.done[1:], strict=False)]
    assert max(took) <= 9
    tb.check()


@cocotb.test()
async def queues_take_turns(dut):
    tb = TB(dut)
    await tb.start(bits=0)
    dut.enable_i.value = 0
    # 0 and 3 have frames, 1 and 2 none.
    for i in range(10):
        for server in (0, 3):
            tb.put(server, bytes([server, i]) * 30)
    await tb.bench.run(5)
    dut.enable_i.value = 1
    await tb.drain()
    servers = [frame[0] for frame, _ in tb.sink.frames]
    assert servers == [0, 3] * 10
    tb.check()


@cocotb.test()
async def wrong_lengths_are_freed_unsent(dut):
    tb = TB(dut)
    await tb.start(bits=0, buffers=40)
    for length in (0, 1, 13, 121, 127, 128, 129, 0x8000, 0xFFFF, 120, 14, 60):
        for frame in (b"", random.randbytes(80)):
            tb.put(random.randrange(SERVERS), frame, length=length if not frame else None)
        if length in (120, 14, 60):
            tb.put(0, random.randbytes(length))
    # These have no bytes of their own, but a length that is allowed.
    for pointer, frame in [*tb.frames.items()]:
        if frame == b"":
            control = tb.memory.dwords[HIGH << 32 | pointer]
            said = control >> 16 & 0xFFFF
            tb.memory.store((HIGH << 32 | pointer) + 8, bytes(-(-said // 8) * 8))
            tb.frames[pointer] = bytes(said)
    await tb.drain()
    tb.check()


@cocotb.test()
async def random_traffic_with_back_pressure(dut):
    tb = TB(dut)
    await tb.start(bits=2)
    for odds, grants, ready in ((1.0, 0.3, 1.0), (0.5, 1.0, 1.0), (0.2, 0.6, 0.8), (1.0, 1.0, 0.6)):
        tb.sink.odds, tb.queues.odds, tb.memory.odds = odds, grants, ready
        for _ in range(60):
            await tb.bench.until(lambda: len(tb.free) > 2)
            length = random.choice([random.randrange(0, 80), random.randrange(14, 520)])
            frame = random.randbytes(min(length, 504, 8 * tb.depth))
            tb.put(random.randrange(SERVERS), frame, length=length if length > 504 else None)
        await tb.drain()
        if ready < 1.0:
            # Without StoreForward a memory with pauses leaves gaps.
            assert tb.sink.gaps == 0 or not dut.StoreForward.value
            tb.sink.gaps = 0
        tb.check()


@cocotb.test()
async def slow_memory_leaves_no_gap_with_store_and_forward(dut):
    tb = TB(dut, latency=40, odds=0.5)
    await tb.start()
    for _ in range(20):
        tb.put(0, random.randbytes(random.randrange(14, 8 * min(tb.depth, 32))))
    await tb.drain()
    assert bool(tb.sink.gaps) != bool(dut.StoreForward.value)
    tb.sink.gaps = 0
    tb.check()


@cocotb.test()
async def a_locked_free_queue_leaves_no_gap(dut):
    tb = TB(dut)
    await tb.start()
    for i in range(12):
        tb.put(i % SERVERS, random.randbytes(200), may_retain=False)
    tb.queues.locked = True
    await tb.bench.run(1500)
    # Four buffers wait to be freed; a fifth is popped.
    assert len(tb.sink.frames) == 4 and len(tb.engine) == 5
    tb.queues.locked = False
    await tb.drain()
    tb.check()


@cocotb.test()
async def a_full_free_queue_is_tried_again(dut):
    tb = TB(dut)
    await tb.start()
    tb.queues.depth = 0
    for i in range(6):
        tb.put(i % SERVERS, random.randbytes(100))
    await tb.bench.run(300)
    assert len(tb.engine) == 5
    tb.queues.depth = 64
    await tb.drain()
    tb.check()


@cocotb.test()
async def an_err_ends_a_frame_or_leaves_it_unsent(dut):
    tb = TB(dut, latency=3)
    await tb.start(buffers=10)
    bad: dict[int, int] = {}  # buffer: dword
    tb.memory.fails = lambda r: bad.get(r.address & 0xFFFFFFFF & -tb.size) == (
        r.address % tb.size // 8)  # fmt: skip
    for dword in (0, 1, 2, 3, 8, 9, 12, 13):
        begun, sent = len(tb.sink.frames), tb.fates["sent"]
        frame, other = random.randbytes(100), random.randbytes(70)
        before = set(tb.frames)
        tb.put(0, frame)
        (pointer,) = set(tb.frames) - before
        bad[pointer] = dword
        # 13 dwords are the frame.
        tb.put(0, other)
        failed = tb.fates["failed"]
        await tb.bench.until(lambda sent=sent: tb.fates["sent"] > sent and not tb.engine)
        await tb.bench.run(5)
        assert tb.fates["failed"] == failed + 1
        new = tb.sink.frames[begun:]
        assert new[-1] == (other, 0)
        if dword < 2:
            assert len(new) == 1
        else:
            got, user = new[0]
            whole = 8 * (dword - 1)
            assert len(new) == 2 and user == 1 and got[:whole] == frame[:whole]
            assert len(got) == 8 * dword
        bad.clear()
    assert tb.sink.gaps == 0


@cocotb.test()
async def disable_stops_between_frames(dut):
    tb = TB(dut)
    await tb.start()
    for i in range(12):
        tb.put(i % SERVERS, random.randbytes(150))
    await tb.bench.run(40)
    dut.enable_i.value = 0
    await tb.bench.run(200)
    some = len(tb.sink.frames)
    assert 1 <= some <= 3 and tb.sink.empty() and not tb.engine
    dut.enable_i.value = 1
    await tb.drain()
    tb.check()


@cocotb.test()
async def reset_in_mid_frame(dut):
    tb = TB(dut, latency=3)
    await tb.start()
    for _ in range(15):
        for i in range(12):
            tb.put(i % SERVERS, random.randbytes(random.randrange(14, 200)))
        await tb.bench.run(random.randrange(20, 120))
        dut.rst_i.value = 1
        tb.queues.odds = 0.0
        await tb.bench.run(1)
        tb.memory.reset()
        await tb.bench.run(1)
        tb.queues.reset()
        tb.queues.odds = 1.0
        dut.rst_i.value = 0
        tb.frames.clear()
        tb.popped_frames.clear()
        tb.engine.clear()
        tb.returns.clear()
        tb.fates.clear()
        tb.expected.clear()
        tb.free = {i * tb.size for i in range(tb.buffers)}
        # A frame that was cut off has no end.
        tb.sink.__init__(dut, "m_axis")
        for i in range(4):
            tb.put(i, random.randbytes(random.randrange(14, 200)))
        await tb.drain()
        tb.check()


@pytest.mark.parametrize(
    "parameters",
    [{}, *(pytest.param(p, marks=pytest.mark.full) for p in
           ({"BigEndian": 1}, {"StoreForward": 1, "Depth": 64}))],
)  # fmt: skip
def test_nic_transmit(parameters, request):
    run(
        "nic_transmit",
        sources=["nic_transmit"],
        parameters=parameters,
        test_module="test_nic_transmit",
        plusargs=["+full"] if request.config.getoption("--full") else [],
    )

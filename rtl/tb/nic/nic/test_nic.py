"""nic: T's CHECK_MEMORY_ACCESS, CHECK_NIC and DEBUG_MEMORY_ACCESS, from processors' ports.

With its memory inside, and outside: alone and behind the L2 cache.
"""

import random
import sys
from collections import Counter
from pathlib import Path

import cocotb
import pytest
from acb import Memory, Request
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from nic_afb import Processor
from runner import run

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "regs"))

from nic_regs import COUNTERS, COUNTERS_OFFSET

MAC = bytes.fromhex("02005e112233")
LOCAL, OUTSIDE, L2 = range(3)  # Memory
L2_BYTES = 32 << 10
RETAIN = 1 << 15  # in a control word


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.source, self.sink = Source(dut, "s_axis"), Sink(dut, "m_axis")
        self.bench = Bench(dut.clk_i, [self.source, self.sink])
        self.bench.written = {}
        self.ports = [Processor(dut, self.bench, n) for n in range(dut.Ports.value.to_unsigned())]
        self.cpu = self.ports[0]
        self.bench.parts += self.ports
        self.big_endian = bool(dut.BigEndian.value)
        self.memory_bytes = 1 << dut.AddressBits.value.to_unsigned()
        self.kind = dut.Memory.value.to_unsigned()
        if self.kind != LOCAL:
            self.dram = Memory(dut, "dram_", latency=10)
            self.dram.fails = self.is_outside
            self.bench.parts.append(self.dram)

    def is_outside(self, request: Request) -> bool:
        return request.address >= self.memory_bytes

    async def start(self):
        dut = self.dut
        for name in ("awaddr", "awprot", "awvalid", "wdata", "wstrb", "wvalid", "bready",
                     "araddr", "arprot", "arvalid", "rready"):  # fmt: skip
            getattr(dut, f"s_axil_{name}").value = 0
        for name in ("ev_mac_rx_bad_i", "ev_mac_rx_dropped_i", "ev_mac_tx_dropped_i",
                     "attach_event_i", "generator_i", "checker_i",
                     "cpu_clk_i", "cpu_rst_i", "dram_request_ready_i", "dram_response_valid_i",
                     "dram_response_i"):  # fmt: skip
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        await self.reset()

    async def reset(self):
        """Of the memory outside too. What was cut off has no end."""
        self.dut.rst_i.value = 1
        if self.kind != LOCAL:
            self.dram.reset()
        await self.bench.run(1)
        self.source.reset()
        self.sink.__init__(self.dut, "m_axis")
        await self.bench.run(3)
        self.dut.rst_i.value = 0

    async def begin(self, *, bits=4, buffers=16, servers=4, mode=0, rules=8, high=0):
        """All buffers to the free queue, then the configuration."""
        cpu, self.size, self.buffers = self.cpu, 128 << bits, buffers
        for name, value in (
            ("buffer_size", bits), ("buffers", buffers), ("servers", servers), ("filter", rules),
            ("mode", mode), ("address_high", high), ("mac_lo", int.from_bytes(MAC[:4], "little")),
            ("mac_hi", int.from_bytes(MAC[4:], "little")),
        ):  # fmt: skip
            await cpu.write(name, value)
        for n in range(buffers):
            assert await cpu.write("free", n * self.size) == 0
        assert await cpu.read("free_level") == buffers
        await cpu.write("control", 7)

    async def received(self) -> int:
        """The next buffer of the lowest server that has one."""
        pointer = 1  # empty: the interrupt falls some cycles behind the last pop
        while pointer == 1:
            await self.bench.until(lambda: self.dut.irq_o.value.to_unsigned() != 0)
            servers = self.dut.irq_o.value.to_unsigned()
            pointer = await self.cpu.read(f"receive_{(servers & -servers).bit_length() - 1}")
        assert pointer % self.size == 0
        return pointer

    async def arrive(self, frames: list[bytes]):
        limit = sum(40 * (len(frame) // 8 + 10) for frame in frames)
        await self.bench.until(lambda: len(self.sink.frames) == len(frames), limit)

    async def frees(self, buffers: int):
        """Waits until so many are in the free queue, and what was read of others has left."""
        for _ in range(1000):
            if await self.cpu.read("free_level") == buffers:
                break
            await self.bench.run(20)
        else:
            raise AssertionError("buffers are missing")
        await self.bench.run(3000)

    async def counts(self) -> Counter:
        """All counters but the time, those that are not 0."""
        await self.cpu.write("command", 1)
        found = Counter()
        for n, name in enumerate(COUNTERS):
            if name in ("time", "zero_0", "zero_1", "zero_3"):
                continue
            found[name] = await self.cpu.read(COUNTERS_OFFSET + 8 * n)
        return +found

    async def frame_at(self, cpu: Processor, pointer: int) -> bytes:
        control = await cpu.load(pointer)
        length, out = control >> 16 & 0xFFFF, b""
        for at in range(0, length, 8):
            order = "big" if self.big_endian else "little"
            out += (await cpu.load(pointer + 8 + at)).to_bytes(8, order)
        return out[:length]

    async def put_frame(self, cpu: Processor, pointer: int, frame: bytes):
        order = "big" if self.big_endian else "little"
        for at in range(0, len(frame), 8):
            part = frame[at : at + 8].ljust(8, b"\xee")
            await cpu.store(pointer + 8 + at, int.from_bytes(part, order))
        await cpu.store(pointer, len(frame) << 16)


def frame_of(length: int) -> bytes:
    return (MAC + random.randbytes(length))[:length]


@cocotb.test()
async def check_memory_access(dut):
    """CHECK_MEMORY_ACCESS: dwords and bytes, at both ends and between, from each port."""
    tb = TB(dut)
    await tb.start()
    size, model = tb.memory_bytes, {}
    places = [0, 8, size - 8, size - 16, *(8 * random.randrange(size // 8) for _ in range(60))]
    for address in places:
        model[address] = random.getrandbits(64)
        await random.choice(tb.ports).store(address, model[address])
    for address in places:
        mask, data = random.getrandbits(8), random.getrandbits(64)
        bits = sum(0xFF << 8 * i for i in range(8) if mask >> i & 1)
        await random.choice(tb.ports).store(address, data, mask)
        model[address] = model[address] & ~bits | data & bits
    for address in places:
        assert await random.choice(tb.ports).load(address) == model[address]
    for address in (size, 1 << 20, 1 << 35):
        assert (await tb.cpu.access(Request(True, address)))[0] == 1
        assert (await tb.cpu.access(Request(False, address, 0)))[0] == 1
    assert await tb.cpu.load(0) == model[0]


@cocotb.test()
async def debug_memory_access(dut):
    """DEBUG_MEMORY_ACCESS: the test module finds no mismatch, and one that is made for it."""
    tb = TB(dut)
    full = cocotb.plusargs.get("full")
    if tb.kind != LOCAL and not full:
        return
    await tb.start()
    await tb.cpu.write("debug_1", 3)
    while (result := await tb.cpu.read("debug_2")) >> 31:
        await tb.bench.run(200)
    size = tb.memory_bytes
    assert result == size // 8 << 16
    if not full or tb.kind != LOCAL:
        return
    await tb.cpu.write("debug_1", 3)
    # In the middle of what is compared last.
    await tb.bench.run(3 * size // 8 - 3000)
    for address in (size - 8, size - 64):
        await tb.cpu.store(address, 0)
    while (result := await tb.cpu.read("debug_2")) >> 31:
        await tb.bench.run(200)
    assert result & 0xFFFF == 2


@cocotb.test()
async def check_nic(dut):
    """CHECK_NIC: packet source, NIC, forwarder, checker; the processor changes what it forwards."""
    tb = TB(dut)
    await tb.start()
    await tb.begin()
    tb.sink.odds = 0.9
    frames = [frame_of(length) for length in (14, 15, 59, 60, 61, 64, 127, 300)]
    expected = []
    for frame in frames:
        tb.source.put(frame)
    for _ in frames:
        pointer = await tb.received()
        frame = await tb.frame_at(tb.cpu, pointer)
        assert frame in frames
        answer = bytes(reversed(frame))
        expected.append(answer.ljust(60, b"\0"))
        await tb.put_frame(tb.cpu, pointer, answer)
        assert await tb.cpu.write(f"transmit_{len(expected) % 4}", pointer) == 0
    await tb.bench.until(lambda: len(tb.sink.frames) == len(frames))
    assert sorted(tb.sink.take()) == sorted((frame, 0) for frame in expected)
    assert tb.sink.gaps == 0
    await tb.bench.run(20)
    for name in ("packets_transmitted", "packets_received"):
        assert await tb.cpu.read(name) == len(frames)
    # The receive engine keeps two buffers.
    assert await tb.cpu.read("free_level") == tb.buffers - 2


@cocotb.test()
async def all_of_memory_holds_frames_at_one_time(dut):
    """As many buffers as a queue holds, over the whole memory, each full."""
    tb = TB(dut)
    await tb.start()
    buffers = 64
    await tb.begin(bits=(tb.memory_bytes // buffers).bit_length() - 8, buffers=buffers)
    assert tb.size * buffers == tb.memory_bytes
    used = set()
    # The receive engine keeps two: those that it has first in the second round.
    for count in (buffers - 2, 2):
        frames = [frame_of(tb.size - 8) for _ in range(count)]
        for frame in frames:
            tb.source.put(frame)
        pointers = [await tb.received() for _ in frames]
        for n, pointer in enumerate(pointers):
            assert await tb.cpu.write(f"transmit_{n % 4}", pointer) == 0
        await tb.arrive(frames)
        assert sorted(tb.sink.take()) == sorted((frame, 0) for frame in frames)
        used.update(pointers)
    assert used == {n * tb.size for n in range(buffers)}


@cocotb.test()
async def a_processor_sends_frames_of_its_own(dut):
    tb = TB(dut)
    await tb.start()
    await tb.begin()
    frames = []
    for n, cpu in enumerate(tb.ports * 3):
        pointer = await cpu.read("free")
        frames.append(random.randbytes(20 + 30 * n))
        await tb.put_frame(cpu, pointer, frames[-1])
        assert await cpu.write(f"transmit_{n % 4}", pointer) == 0
    # What the NIC owns already is refused, as is what is no buffer.
    assert await tb.cpu.write("free", pointer) == 4
    assert await tb.cpu.write("free", tb.buffers * tb.size) == 4
    await tb.bench.until(lambda: len(tb.sink.frames) == len(frames))
    assert tb.sink.take() == [(f.ljust(60, b"\0"), 0) for f in frames]


@cocotb.test()
async def nic_loopback_and_counters(dut):
    tb = TB(dut)
    await tb.start()
    await tb.begin(mode=1, rules=1, bits=1)
    before = await tb.counts()
    kept = []
    for i in range(60):
        kind = random.choice(["bad", "too_long", "filtered", "kept", "kept"]) if i else "kept"
        frame = frame_of(random.randrange(249, 400) if kind == "too_long" else
                         random.randrange(14, 249))  # fmt: skip
        if kind == "filtered":
            frame = b"\x04" + frame[1:]
        if kind == "kept":
            kept.append(frame.ljust(60, b"\0"))
        before["received" if kind == "kept" else kind] += 1
        tb.source.put(frame, int(kind == "bad"))
    before["sent"] += len(kept)
    # The last frame may be one that does not come back.
    await tb.bench.until(lambda: tb.source.empty() and len(tb.sink.frames) == len(kept))
    await tb.bench.run(20)
    assert sorted(tb.sink.take()) == sorted((frame, 0) for frame in kept)
    assert await tb.counts() == before


@cocotb.test()
async def a_slow_memory_changes_no_frame_and_leaves_no_gap(dut):
    """At any latency, with pauses; frames wait ahead of the NIC meanwhile."""
    tb = TB(dut)
    await tb.start()
    if tb.kind == LOCAL:
        return
    full = cocotb.plusargs.get("full")
    for latency, ready, bits in ((1, 1.0, 4), (10, 1.0, 2), (40, 0.5, 4)):
        await tb.reset()
        tb.dram.latency, tb.dram.odds = latency, ready
        await tb.begin(mode=1, bits=bits, buffers=min(64, tb.memory_bytes >> 7 + bits))
        longest = (128 << bits) - 8
        lengths = [random.randrange(14, longest + 1) for _ in range(60 if full else 12)]
        frames = [frame_of(length) for length in (14, 60, 61, longest, *lengths)]
        for frame in frames:
            tb.source.put(frame)
        await tb.arrive(frames)
        expected = sorted((frame.ljust(60, b"\0"), 0) for frame in frames)
        assert sorted(tb.sink.take()) == expected
        assert tb.sink.gaps == 0


@cocotb.test()
async def the_largest_frames_leave_without_a_gap(dut):
    """Of the largest buffer, of which there are four: one comes while one leaves."""
    tb = TB(dut)
    await tb.start()
    if tb.kind == LOCAL or tb.memory_bytes < 4 << 14:
        return
    tb.dram.latency = 40
    await tb.begin(mode=1, bits=7, buffers=4)
    frames = [frame_of(length) for length in (9000, 16_376, 9014)]
    for frame in frames:
        tb.source.put(frame)
    await tb.arrive(frames)
    assert sorted(tb.sink.take()) == sorted((frame, 0) for frame in frames)
    assert tb.sink.gaps == 0


@cocotb.test()
async def an_err_of_memory_is_counted_and_the_buffer_used_again(dut):
    """A write that fails: no memory at the buffers. Then frames whose reads fail."""
    tb = TB(dut)
    await tb.start()
    await tb.begin(mode=1, high=3)
    before = await tb.counts()
    for _ in range(20):
        tb.source.put(frame_of(random.randrange(14, 300)))
    await tb.bench.until(tb.source.empty)
    await tb.bench.run(300)
    before["write_failed"] += 20
    assert await tb.counts() == before
    # The receive engine keeps two, and one more whose frame it forgot.
    assert await tb.cpu.read("free_level") in (tb.buffers - 2, tb.buffers - 3)
    if tb.kind == LOCAL:
        return

    # More than the cache holds waits in the receive queues.
    await tb.reset()
    buffers = min(64, tb.memory_bytes >> 11)
    await tb.begin(buffers=buffers)
    frames = [frame_of(2040) for _ in range(buffers - 2)]
    for frame in frames:
        tb.source.put(frame)
    await tb.bench.until(tb.source.empty)
    await tb.bench.run(500)
    tb.dram.fails = lambda request: request.read and request.address % 2048 < 1024
    before["received"] += len(frames)
    for n in range(len(frames)):
        assert await tb.cpu.write(f"transmit_{n % 4}", await tb.received()) == 0
    await tb.frees(buffers - 2)
    failed = (await tb.counts())["read_failed"] - before["read_failed"]
    # Of the control word: nothing leaves; later: the frame ends there.
    cut = sum(user for _, user in tb.sink.frames)
    whole = [frame for frame, user in tb.sink.take() if not user]
    assert cut <= failed and failed + len(whole) == len(frames)
    assert all(frame in frames for frame in whole)
    # The cache has some of them still.
    assert failed == len(frames) if tb.kind == OUTSIDE else failed >= len(frames) // 4
    assert tb.sink.gaps == 0

    # The buffers serve again.
    tb.dram.fails = tb.is_outside
    frames = frames if cocotb.plusargs.get("full") else frames[:5]
    for frame in frames:
        tb.source.put(frame)
    for n in range(len(frames)):
        assert await tb.cpu.write(f"transmit_{n % 4}", await tb.received()) == 0
    await tb.arrive(frames)
    assert sorted(tb.sink.take()) == sorted((frame, 0) for frame in frames)


@cocotb.test()
async def a_write_back_that_fails_is_counted(dut):
    """The processor writes more than the cache holds, and a part of the memory refuses it."""
    tb = TB(dut)
    await tb.start()
    if tb.kind != L2:
        return
    before = await tb.counts()
    tb.dram.fails = lambda request: not request.read and request.address < 64
    for address in range(0, 64, 8):
        await tb.cpu.store(address, address)
    for address in range(64, 2 * L2_BYTES, 64):
        await tb.cpu.store(address, address)
    assert (await tb.counts())["write_back_failed"] - before["write_back_failed"] == 8
    assert await tb.cpu.load(64) == 64


@cocotb.test()
async def a_retained_buffer_comes_back_to_its_server(dut):
    """Any of those that the NIC is built for, small ones so that memory has room for them."""
    tb = TB(dut)
    await tb.start()
    most = dut.Buffers.value.to_unsigned()
    assert (await tb.cpu._register(0, "buffers", most + 1))[0] == 1
    tb.size = 128
    count = min(most, tb.memory_bytes // tb.size)
    for name, value in (("buffer_size", 0), ("buffers", count), ("mode", 0), ("address_high", 0)):
        await tb.cpu.write(name, value)
    await tb.cpu.write("control", 7)
    for n, server in ((count - 1, 3), (count // 2, 1), (0, 0), (count - 2, 1)):
        frame = random.randbytes(80)
        await tb.put_frame(tb.cpu, n * tb.size, frame)
        await tb.cpu.store(n * tb.size, len(frame) << 16 | RETAIN)
        assert await tb.cpu.write(f"transmit_{server}", n * tb.size) == 0
        assert await tb.cpu.write("free", n * tb.size) == 4, "the NIC owns it"
        await tb.arrive([frame])
        assert tb.sink.take() == [(frame, 0)]
        assert await tb.received() == n * tb.size
        assert await tb.cpu.read("free_level") == 0
        assert await tb.frame_at(tb.cpu, n * tb.size) == frame
    assert await tb.cpu.write("free", count * tb.size) == 4, "no buffer"


@cocotb.test()
async def resets_in_mid_frame(dut):
    """Whatever is under way; the memory outside is reset with the NIC."""
    tb = TB(dut)
    await tb.start()
    for _ in range(30 if cocotb.plusargs.get("full") else 8):
        if tb.kind != LOCAL:
            tb.dram.latency, tb.dram.odds = random.choice((1, 10, 40)), random.choice((0.5, 1.0))
        await tb.begin(mode=1, bits=2, buffers=16)
        for _ in range(6):
            tb.source.put(frame_of(random.randrange(14, 500)))
        await tb.bench.run(random.randrange(20, 600))
        await tb.reset()
        await tb.begin(mode=1, bits=2, buffers=16)
        before = await tb.counts()
        frames = [frame_of(random.randrange(14, 500)) for _ in range(4)]
        for frame in frames:
            tb.source.put(frame)
        await tb.arrive(frames)
        expected = sorted((frame.ljust(60, b"\0"), 0) for frame in frames)
        assert sorted(tb.sink.take()) == expected
        await tb.bench.run(100)
        assert await tb.cpu.read("free_level") == tb.buffers - 2
        before.update(received=len(frames), sent=len(frames))
        assert await tb.counts() == before
        await tb.reset()


SOURCES = [
    "counters", "axil_decode", "nic_afb", "nic_axil", "nic_registers", "nic_queues",
    "nic_queue_test", "nic_receive", "nic_transmit", "nic_lock", "nic_memory", "nic_share",
    "nic_l2", "nic_l2_cache", "nic_memory_test", "nic_core", "nic",
]  # fmt: skip


@pytest.mark.parametrize("parameters", [
    {"Ports": 2, "AddressBits": 15},
    pytest.param({"BigEndian": 1, "Axil": 1, "AddressBits": 17}, marks=pytest.mark.full),
    pytest.param({"Memory": OUTSIDE, "AddressBits": 16}, marks=pytest.mark.full),
    {"Memory": L2, "AddressBits": 16, "Buffers": 512},
    pytest.param({"Memory": OUTSIDE, "Ports": 2, "BigEndian": 1}, marks=pytest.mark.full),
    pytest.param({"Memory": L2, "Ports": 2, "BigEndian": 1}, marks=pytest.mark.full),
])  # fmt: skip
def test_nic(parameters, request):
    run(
        "nic",
        sources=SOURCES,
        parameters={"Tests": 1, **parameters},
        test_module="test_nic",
        plusargs=["+full"] if request.config.getoption("--full") else [],
    )


def test_256_kib_of_local_memory():
    run(
        "nic",
        sources=SOURCES,
        parameters={"AddressBits": 18},
        test_module="test_nic",
        testcase=["check_memory_access", "all_of_memory_holds_frames_at_one_time"],
    )

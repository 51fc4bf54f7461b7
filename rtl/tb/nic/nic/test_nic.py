"""nic: T's CHECK_MEMORY_ACCESS, CHECK_NIC and DEBUG_MEMORY_ACCESS, from processors' ports."""

import random
import sys
from collections import Counter
from pathlib import Path

import cocotb
import pytest
from acb import Request
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from nic_afb import Processor
from runner import run

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "regs"))

from nic_regs import COUNTERS, COUNTERS_OFFSET

MAC = bytes.fromhex("02005e112233")


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

    async def start(self):
        dut = self.dut
        for name in ("awaddr", "awprot", "awvalid", "wdata", "wstrb", "wvalid", "bready",
                     "araddr", "arprot", "arvalid", "rready"):  # fmt: skip
            getattr(dut, f"s_axil_{name}").value = 0
        for name in ("ev_mac_rx_bad_i", "ev_mac_rx_dropped_i", "ev_mac_tx_dropped_i",
                     "attach_event_i", "generator_i", "checker_i",
                     "cpu_clk_i", "cpu_rst_i"):  # fmt: skip
            getattr(dut, name).value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        await self.bench.run(4)
        dut.rst_i.value = 0

    async def begin(self, *, bits=4, buffers=16, servers=4, mode=0, rules=8):
        """All buffers to the free queue, then the configuration."""
        cpu, self.size, self.buffers = self.cpu, 128 << bits, buffers
        for name, value in (
            ("buffer_size", bits), ("buffers", buffers), ("servers", servers), ("filter", rules),
            ("mode", mode), ("mac_lo", int.from_bytes(MAC[:4], "little")),
            ("mac_hi", int.from_bytes(MAC[4:], "little")),
        ):  # fmt: skip
            await cpu.write(name, value)
        for n in range(buffers):
            assert await cpu.write("free", n * self.size) == 0
        assert await cpu.read("free_level") == buffers
        await cpu.write("control", 7)

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
    await tb.start()
    await tb.cpu.write("debug_1", 3)
    while (result := await tb.cpu.read("debug_2")) >> 31:
        await tb.bench.run(200)
    size = tb.memory_bytes
    assert result == size // 8 << 16
    if not cocotb.plusargs.get("full"):
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
        await tb.bench.until(lambda: dut.irq_o.value.to_unsigned() != 0)
        server = (dut.irq_o.value.to_unsigned() & -dut.irq_o.value.to_unsigned()).bit_length() - 1
        pointer = await tb.cpu.read(f"receive_{server}")
        assert pointer % tb.size == 0
        frame = await tb.frame_at(tb.cpu, pointer)
        assert frame in frames
        answer = bytes(reversed(frame))
        expected.append(answer.ljust(60, b"\0"))
        await tb.put_frame(tb.cpu, pointer, answer)
        assert await tb.cpu.write(f"transmit_{server}", pointer) == 0
    await tb.bench.until(lambda: len(tb.sink.frames) == len(frames))
    assert sorted(tb.sink.take()) == sorted((frame, 0) for frame in expected)
    assert tb.sink.gaps == 0
    await tb.bench.run(20)
    for name in ("packets_transmitted", "packets_received"):
        assert await tb.cpu.read(name) == len(frames)
    # The receive engine keeps two buffers.
    assert await tb.cpu.read("free_level") == tb.buffers - 2


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


@pytest.mark.parametrize("parameters", [
    {"Ports": 2, "AddressBits": 15},
    pytest.param({"BigEndian": 1, "Axil": 1, "AddressBits": 17}, marks=pytest.mark.full),
])  # fmt: skip
def test_nic(parameters, request):
    run(
        "nic",
        sources=["counters", "axil_decode", "nic_afb", "nic_axil", "nic_registers", "nic_queues",
                 "nic_queue_test", "nic_receive", "nic_transmit", "nic_lock", "nic_memory",
                 "nic_memory_test", "nic_core", "nic"],
        parameters={"Tests": 1, **parameters},
        test_module="test_nic",
        plusargs=["+full"] if request.config.getoption("--full") else [],
    )  # fmt: skip

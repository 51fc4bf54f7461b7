"""nic_board by AXI4-Lite: generator and checker, modes that switch under traffic, clocks."""

import logging
import random
import sys
from collections import Counter
from pathlib import Path

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from runner import run

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "regs"))

import nic_regs as regs

BUFFERS, BUFFER_BYTES = 32, 2048
NORMAL, NIC_LOOPBACK, MAC_LOOPBACK = 0, 1, 2


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.mac, self.to_mac = Source(dut, "s_axis_rx"), Sink(dut, "m_axis_tx")
        self.bench = Bench(dut.clk_i, [self.mac, self.to_mac])
        logging.getLogger(f"cocotb.{dut._name}.s_axil_cpu").setLevel(logging.WARNING)

    async def start(self):
        dut, has_clock = self.dut, bool(self.dut.CpuClock.value)
        for name in ("afb_valid_i", "afb_i", "acb_valid_i", "acb_i"):
            getattr(dut, name).value = 0
        dut.afb_ready_i.value = dut.acb_ready_i.value = 1
        resets = [dut.rst_i, dut.cpu_rst_i, dut.mac_tx_rst_i, dut.mac_rx_rst_i]
        for reset in resets:
            reset.value = 1
        for clock in (dut.clk_i, dut.mac_tx_clk_i, dut.mac_rx_clk_i):
            cocotb.start_soon(Clock(clock, 8000, "ps").start())
        cocotb.start_soon(Clock(dut.cpu_clk_i, 12500, "ps").start())
        clock, reset = (dut.cpu_clk_i, dut.cpu_rst_i) if has_clock else (dut.clk_i, dut.rst_i)
        self.axi = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil_cpu"), clock, reset)
        await self.bench.run(10)
        for reset in resets:
            reset.value = 0
        await self.bench.run(60)

    async def during(self, task):
        """The result of a task while the bench runs."""
        task = cocotb.start_soon(task)
        await self.bench.until(task.done, 1_000_000)
        return task.result()

    async def read(self, name: str | int) -> int:
        offset = name if isinstance(name, int) else regs.REGISTERS[name].offset
        answer = await self.axi.read(offset, 4)
        assert answer.resp == AxiResp.OKAY, name
        return int.from_bytes(answer.data, "little")

    async def write(self, name: str, value: int):
        answer = await self.axi.write(regs.REGISTERS[name].offset, value.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY, name

    async def wide(self, name: str) -> int:
        return await self.read(f"{name}_lo") | await self.read(f"{name}_hi") << 32

    async def counters(self) -> dict[str, int]:
        await self.write("command", 1)
        return {
            name: await self.read(regs.COUNTERS_OFFSET + 8 * n)
            for n, name in enumerate(regs.COUNTERS)
        }

    async def begin(self, mode: int, route: int = 0):
        for name, value in (("buffers", BUFFERS), ("filter", 8), ("mode", mode),
                            ("route", route)):  # fmt: skip
            await self.write(name, value)
        for n in range(BUFFERS):
            await self.write("free", n * BUFFER_BYTES)
            assert await self.read("push_result") == 0
        await self.write("control", 3)


@cocotb.test()
async def the_generator_is_set_and_read_by_registers(dut):
    tb = TB(dut)
    await tb.start()
    await tb.during(tb.begin(NIC_LOOPBACK, route=1))
    assert dut.enable_mac_o.value == 1

    async def generate(count: int, **settings: int):
        for name, value in {**settings, "frames": count}.items():
            await tb.write(name, value)
        await tb.write("generator", 1)
        while await tb.read("checked_frames") != count:
            pass
        assert await tb.read("generated_frames") == count
        for name in ("lost", "duplicated", "late", "altered", "foreign"):
            assert await tb.read(name) == 0, name
        await tb.write("generator", 0)

    await tb.during(generate(6, bytes_min=64, bytes_max=64, bytes_step=0, gap_cycles=500))
    trips = [await tb.during(tb.read(f"trip_{n}")) for n in ("min", "max")]
    total = await tb.during(tb.wide("trip_sum"))
    assert 0 < trips[0] <= trips[1] <= 2 * 8 + 56
    assert 6 * trips[0] <= total <= 6 * trips[1]
    assert await tb.during(tb.wide("generated_bytes")) == 6 * 64
    assert await tb.during(tb.wide("checked_bytes")) == 6 * 64
    await tb.during(generate(40, bytes_min=32, bytes_max=600, bytes_step=17, gap_cycles=0,
                             to_lo=0x1234_5678, to_hi=0x9ABC, from_lo=0x55AA_0102,
                             from_hi=0x88B5_0304))  # fmt: skip
    assert tb.to_mac.frames == [] and tb.to_mac.empty()
    # A checker that expects the addresses swapped finds each frame altered.
    await tb.during(tb.write("generator", 2))
    await tb.during(tb.write("frames", 3))
    await tb.during(tb.write("generator", 3))

    async def altered():
        while await tb.read("altered") != 3:
            pass

    await tb.during(altered())
    assert await tb.during(tb.read("checked_frames")) == 0


@cocotb.test()
async def modes_switch_under_traffic_and_no_frame_is_lost(dut):
    tb = TB(dut)
    await tb.start()
    before = await tb.during(tb.counters())
    await tb.during(tb.begin(NORMAL))
    sent: Counter[bytes] = Counter()
    ends = False
    modes = Counter()

    async def forward():
        while not ends:
            if (pointer := await tb.read("receive_0")) != 1:
                await tb.write("transmit_0", pointer)

    async def switch():
        while not ends:
            mode = random.choice((NORMAL, NIC_LOOPBACK, MAC_LOOPBACK))
            modes[mode] += 1
            await tb.write("mode", mode)
            for _ in range(random.randrange(20)):
                await tb.read("counter")
        await tb.write("mode", NORMAL)

    forwarder, switcher = cocotb.start_soon(forward()), cocotb.start_soon(switch())
    for _ in range(60):
        for _ in range(random.randrange(1, 4)):
            frame = random.randbytes(random.randrange(60, 300))
            sent[frame] += 1
            tb.mac.put(frame)
        await tb.bench.until(tb.mac.empty)
        await tb.bench.run(random.randrange(200))
    await tb.bench.until(lambda: len(tb.to_mac.frames) == sent.total(), 500_000)
    await tb.bench.run(200)
    ends = True
    await tb.bench.until(lambda: forwarder.done() and switcher.done())
    assert len(modes) == 3
    assert Counter(frame for frame, _ in tb.to_mac.frames) == sent and tb.to_mac.gaps == 0
    after = await tb.during(tb.counters())
    changed = {n: after[n] - before[n] for n in after if after[n] != before[n] and n != "time"}
    assert set(changed) == {"received", "sent"} and changed["received"] == changed["sent"]
    assert 0 < changed["sent"] < sent.total()
    assert await tb.during(tb.read("free_level")) == BUFFERS - 2


@cocotb.test()
async def bad_frames_of_the_mac_are_counted(dut):
    tb = TB(dut)
    await tb.start()
    before = await tb.during(tb.counters())
    await tb.during(tb.begin(NIC_LOOPBACK))
    for n in range(5):
        tb.mac.put(random.randbytes(70), int(n != 4))
    await tb.bench.until(lambda: bool(tb.to_mac.frames))
    await tb.bench.run(100)
    after = await tb.during(tb.counters())
    assert after["mac_rx_bad"] - before["mac_rx_bad"] == 4
    assert after["received"] - before["received"] == 1


SOURCES = [
    "nic_board", "nic", "nic_registers", "nic_afb", "nic_axil", "axil_decode", "counters",
    "nic_bus_cdc", "nic_core", "nic_queues", "nic_receive", "nic_transmit", "nic_memory", "nic_mac",
    "nic_generator", "nic_checker", "mac_bytes", "axis_width", "mac_fifo", "frame_cdc",
    "cut_through_cdc", "frame_gate", "event_cdc", "async_fifo", "reset_ctrl", "reset_side",
    "sync_bits",
]  # fmt: skip


@pytest.mark.parametrize(
    "parameters",
    [
        {"MacW": 64, "CpuClock": 1},
        pytest.param({"MacW": 64}, marks=pytest.mark.full),
        pytest.param({"MacW": 8, "CpuClock": 1}, marks=pytest.mark.full),
    ],
)
def test_nic_board(parameters):
    run("nic_board", sources=SOURCES, test_module="test_nic_board", parameters=parameters)

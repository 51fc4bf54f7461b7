"""nic_board with a dummy processor over AFB: round trips at MACs of 64 bits and a byte a clock."""

import random

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from nic_afb import Processor
from runner import run
from test_nic_board import SOURCES

LENGTHS = (64, 128, 256, 512, 1024, 1500)
BUFFERS, BUFFER_BYTES = 64, 2048
NORMAL, NIC_LOOPBACK = 0, 1
SERVERS = 4


async def begin(dut) -> tuple[Bench, Source, Sink, Processor]:
    """A NIC that keeps every frame, with all its buffers free; all clocks are equal."""
    mac, to_mac = Source(dut, "s_axis_rx"), Sink(dut, "m_axis_tx")
    bench = Bench(dut.clk_i, [mac, to_mac])
    bench.written = {}
    cpu = Processor(dut, bench)
    bench.parts.append(cpu)
    for name in ("awaddr", "awprot", "awvalid", "wdata", "wstrb", "wvalid", "bready", "araddr",
                 "arprot", "arvalid", "rready"):  # fmt: skip
        getattr(dut, f"s_axil_cpu_{name}").value = 0
    resets = [dut.rst_i, dut.cpu_rst_i, dut.mac_tx_rst_i, dut.mac_rx_rst_i]
    for reset in resets:
        reset.value = 1
    for clock in (dut.clk_i, dut.cpu_clk_i, dut.mac_tx_clk_i, dut.mac_rx_clk_i):
        cocotb.start_soon(Clock(clock, 8, "ns").start())
    await bench.run(10)
    for reset in resets:
        reset.value = 0
    await bench.run(200)
    for name, value in (("buffers", BUFFERS), ("servers", SERVERS), ("filter", 8)):
        await cpu.write(name, value)
    for n in range(BUFFERS):
        assert await cpu.write("free", n * BUFFER_BYTES) == 0
    await cpu.write("control", 7)
    return bench, mac, to_mac, cpu


@cocotb.test()
async def round_trips_meet_their_goals(dut):
    bench, mac, to_mac, cpu = await begin(dut)

    async def trip(length: int, mode: int) -> int:
        """Cycles from the first beat in to the last out."""
        frame = random.randbytes(length)
        mac.put(frame)
        begun = bench.now + 1
        if mode == NORMAL:
            await bench.until(lambda: dut.irq_o.value.to_unsigned() != 0)
            server = dut.irq_o.value.to_unsigned().bit_length() - 1
            pointer = await cpu.read(f"receive_{server}")
            assert await cpu.write(f"transmit_{server}", pointer) == 0
        await bench.until(lambda: bool(to_mac.frames))
        cycles = to_mac.done[0] - begun + 1
        assert to_mac.take() == [(frame, 0)]
        await bench.run(random.randrange(30, 50))
        return cycles

    for length in LENGTHS:
        worst = {}
        for mode in (NORMAL, NIC_LOOPBACK):
            await cpu.write("mode", mode)
            worst[mode] = max([await trip(length, mode) for _ in range(4)])
        # The wire both ways, and the frame once more through memory.
        wire, beats = -(-length // mac.size), -(-length // 8)
        goal = 2 * wire + beats + (60 if mac.size == 1 else 56)
        dut._log.info("TRIP %d bits, %d bytes: normal %d, goal %d, NIC loop-back %d",
                      8 * mac.size, length, worst[NORMAL], goal, worst[NIC_LOOPBACK])  # fmt: skip
        assert worst[NIC_LOOPBACK] < worst[NORMAL] <= goal
    assert to_mac.gaps == 0


@pytest.mark.parametrize("width", [8, pytest.param(64, marks=pytest.mark.full)])
def test_nic_board_trip(width):
    run(
        "nic_board",
        sources=SOURCES,
        parameters={"MacW": width, "Axil": 0},
        test_module="test_nic_board_trip",
    )

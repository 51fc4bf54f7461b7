"""nic_soc at a whole NIC: a program gives the NIC its buffers and sends each frame back."""

import random
import sys
from pathlib import Path

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from runner import run, tree
from test_nic_board import SOURCES

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "nic" / "nic_soc"))

from assembler import assemble

# Core 0 gives the NIC 64 buffers of 2 KiB and enables all. Each core then forwards what its server
# gets; a core without a frame sleeps.
PROGRAM = """
    li s0, 0x10000000     # the NIC's registers
    li s3, 0xf0000000     # the core's own
    li t2, 0x1ffff
    li t3, 2048
    lw s4, 0(s3)
    andi s4, s4, 255      # its number
    bne s4, zero, forward
    li t0, 0
give:
    sw t0, 0x60(s0)       # free
    add t0, t0, t3
    bltu t0, t2, give
    li t0, 8
    sw t0, 0x90(s0)       # filter: all
    lw t0, 0(s3)
    srli t0, t0, 8
    sw t0, 4(s0)          # servers
    li t0, 7
    sw t0, 0(s0)          # control
forward:
    slli s4, s4, 3
    add s0, s0, s4
next:
    lw t0, 0x20(s0)       # receive queue of the server
    andi t1, t0, 7
    bne t1, zero, wait
    sw t0, 0x40(s0)       # its transmit queue
    j next
wait:
    li t1, 1
    sw t1, 12(s3)         # sleep
    j next
"""
PARTS = (
    "cpu_clk_i", "time_ns_i", "load_i", "run_i", "console_valid_i", "console_i", "afb_valid_i",
    "afb_i", "afb_ready_i", "m_axil_awready", "m_axil_wready", "m_axil_bvalid", "m_axil_arready",
    "m_axil_rdata", "m_axil_rvalid", "dram_request_ready_i", "dram_response_valid_i",
    "dram_response_i",
)  # fmt: skip
RESET_CYCLES = 200  # of the queues
# Of the cores' own clock: faster, nearly as fast as, and slower than the NIC's of 8 ns.
CPU_PERIODS_PS = (5000, 8100, 12500)


@cocotb.test()
async def every_frame_comes_back_and_the_cores_sleep(dut):
    """In order with one core; two share the frames."""
    mac, to_mac = Source(dut, "s_axis"), Sink(dut, "m_axis")
    bench = Bench(dut.clk_i, [mac, to_mac])
    for name in PARTS:
        getattr(dut, name).value = 0
    dut.rst_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
    cycles_a_word = 1
    if dut.has_cpu_clock_o.value == 1:
        cycles_a_word = 2  # one of the slowest clock at least
        cocotb.start_soon(Clock(dut.cpu_clk_i, random.choice(CPU_PERIODS_PS), "ps").start())
    await bench.run(20)
    dut.rst_i.value = 0
    await bench.run(20)
    for n, word in enumerate(assemble(PROGRAM)):
        dut.load_i.value, dut.load_word_i.value, dut.load_data_i.value = 1, n, word
        await bench.run(cycles_a_word)
    dut.load_i.value = 0
    await bench.run(RESET_CYCLES)
    dut.run_i.value = 1
    await bench.until(lambda: dut.enable_mac_o.value == 1, 5000)
    everyone = (1 << dut.Cores.value.to_unsigned()) - 1
    await bench.until(lambda: dut.asleep_o.value.to_unsigned() == everyone, 5000)
    frames = [random.randbytes(random.choice((60, 61, 64, 300, 1514))) for _ in range(100)]
    for frame in frames:
        mac.put(frame)
    # More than there are buffers, and more than the FIFO holds of those that wait.
    await bench.until(lambda: len(to_mac.frames) == len(frames), 100_000)
    got = to_mac.take()
    expected = [(frame, 0) for frame in frames]
    assert (got if everyone == 1 else sorted(got)) == (
        expected if everyone == 1 else sorted(expected)
    )
    assert to_mac.gaps == 0
    await bench.until(lambda: dut.asleep_o.value.to_unsigned() == everyone, 5000)


@pytest.mark.skipif(not tree.cpu(), reason="pythondata-cpu-vexriscv is not installed")
@pytest.mark.parametrize(
    "parameters",
    [
        {"Cores": 2, "MacW": 64},
        pytest.param({"Cores": 1}, marks=pytest.mark.full),
        pytest.param({"Cores": 1, "CpuClock": 1}, marks=pytest.mark.full),
        pytest.param({"Cores": 2, "MacW": 64, "CpuClock": 1}, marks=pytest.mark.full),
    ],
)
def test_nic_board_soc(parameters):
    run(
        "nic_soc_one_clock",
        sources=[*SOURCES, "crc_step64", "nic_soc_memory", "nic_soc_bus", "nic_soc_core", "nic_soc",
                 "rtl/sim/nic_soc_one_clock.sv", "rtl/tb/nic/nic_soc/vexriscv.vlt", *tree.cpu()],
        parameters=parameters,
        test_module="test_nic_board_soc",
    )  # fmt: skip

"""ns_clock against the period as a fraction."""

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run

CYCLES = 1000


async def expect(dut, cycles):
    """The time in each of so many cycles from a reset on."""
    num, den = int(dut.Num.value), int(dut.Den.value)
    dut.rst_i.value = 1
    await RisingEdge(dut.clk_i)
    await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    for cycle in range(cycles):
        assert int(dut.time_ns_o.value) == cycle * num // den
        await FallingEdge(dut.clk_i)


@cocotb.test()
async def time_is_the_number_of_periods_rounded_down(dut):
    cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
    await expect(dut, CYCLES)


@cocotb.test()
async def reset_begins_again_with_no_remainder(dut):
    cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
    for cycles in (1, 2, 3, 7, CYCLES):
        await expect(dut, cycles)


# 156.25 MHz, 322.265625 MHz, 1 GHz, and more than 1 GHz.
@pytest.mark.parametrize(
    ("num", "den"),
    [(512, 165), *(pytest.param(*p, marks=pytest.mark.full) for p in ((32, 5), (1, 1), (2, 3)))],
)
def test_ns_clock(num, den):
    parameters = {"Num": num, "Den": den}
    run("ns_clock", sources=["ns_clock"], test_module="test_ns_clock", parameters=parameters)

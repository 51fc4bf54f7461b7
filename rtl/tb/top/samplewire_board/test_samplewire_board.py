"""samplewire_board: which source the sender is offered, and the registers of edges at sync_i."""

import logging
import sys
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from runner import run

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "regs"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sender"))

import samplewire_regs as regs
from test_sender import SOURCES

OFF, CONVERTER, COUNTER, WORDS = range(4)
SAMPLE_BYTES = 4
INPUTS = """sync_i s_axis_adc_tvalid s_axis_adc_tdata m_axis_tx_tready s_axis_rx_tvalid
    s_axis_rx_tdata s_axis_rx_tkeep s_axis_rx_tlast s_axis_rx_tuser m_axis_nic_tready
    s_axis_nic_tvalid s_axil_awprot s_axil_arprot"""
ADC_WORD = 0x8877665544332211


class TB:
    def __init__(self, dut):
        self.dut = dut
        logging.getLogger(f"cocotb.{dut._name}.s_axil").setLevel(logging.WARNING)
        self.axi = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_i)

    async def start(self):
        dut = self.dut
        for name in INPUTS.split():
            getattr(dut, name).value = 0
        resets = [dut.rst_i, dut.adc_rst_i, dut.mac_tx_rst_i, dut.mac_rx_rst_i]
        for reset in resets:
            reset.value = 1
        for clock in (dut.clk_i, dut.mac_tx_clk_i, dut.mac_rx_clk_i, dut.adc_clk_i):
            cocotb.start_soon(Clock(clock, 10, "ns").start())
        cocotb.start_soon(self.run_time())
        await self.cycles(10)
        for reset in resets:
            reset.value = 0
        await self.cycles(10)
        dut.s_axis_adc_tvalid.value, dut.s_axis_adc_tdata.value = 1, ADC_WORD

    async def run_time(self):
        """The time base: the number of the cycle."""
        self.now = 0
        while True:
            self.dut.time_ns_i.value = self.now
            await RisingEdge(self.dut.clk_i)
            self.now += 1

    async def cycles(self, count: int):
        for _ in range(count):
            await RisingEdge(self.dut.clk_i)

    async def write(self, name: str, value: int):
        answer = await self.axi.write(regs.REGISTERS[name].offset, value.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY

    async def command(self, *names: str):
        fields = {field.name: field.shift for field in regs.REGISTERS["command"].fields}
        await self.write("command", sum(1 << fields[name] for name in names))

    async def read(self, offset: int, size: int) -> int:
        answer = await self.axi.read(offset, size)
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def value(self, name: str) -> int:
        """A value of 64 bits, as it was at the last snapshot."""
        return await self.read(regs.COUNTERS_OFFSET + 8 * regs.COUNTERS.index(name), 8)

    async def field(self, register: str, name: str) -> int:
        (field,) = (f for f in regs.REGISTERS[register].fields if f.name == name)
        value = await self.read(regs.REGISTERS[register].offset, 4)
        return value >> field.shift & ((1 << field.bits) - 1)

    async def choose(self, source: int):
        (field,) = (f for f in regs.REGISTERS["control"].fields if f.name == "source")
        await self.write("control", source << field.shift)

    async def offered(self) -> bytes:
        """The beat that the sender is offered next, and its index."""
        for _ in range(200):
            await RisingEdge(self.dut.clk_i)
            await ReadOnly()
            if self.dut.s_valid.value == 1:
                data = self.dut.s_data.value.to_unsigned()
                return data.to_bytes(8, "little"), self.dut.s_index.value.to_unsigned()
        raise AssertionError("no beat is offered")

    async def edge(self):
        self.dut.sync_i.value = 1
        await self.cycles(10)
        self.dut.sync_i.value = 0
        await self.cycles(40)


@cocotb.test()
async def sender_is_offered_the_source_that_is_chosen(dut):
    tb = TB(dut)
    await tb.start()
    await tb.cycles(50)
    await ReadOnly()
    assert dut.s_valid.value == 0
    await RisingEdge(dut.clk_i)
    for source in (WORDS, COUNTER, CONVERTER, WORDS):
        await tb.choose(source)
        if source == CONVERTER:
            await tb.command("gate_open")
        await tb.cycles(20)
        beat, index = await tb.offered()
        first = index * SAMPLE_BYTES
        assert (
            beat
            == {
                COUNTER: bytes((first + n) % 256 for n in range(8)),
                WORDS: (first // 8).to_bytes(8, "little"),
                CONVERTER: ADC_WORD.to_bytes(8, "little"),
            }[source]
        )
        await RisingEdge(dut.clk_i)


@cocotb.test()
async def edges_that_are_latched_are_counted_and_named(dut):
    tb = TB(dut)
    await tb.start()
    times, indexes = [], []
    for count in range(4):
        assert await tb.field("state", "sync_count") == count
        await tb.edge()
        assert await tb.field("state", "sync_count") == count, "an edge that nothing waits for"
        await tb.command("sync_latch")
        await tb.cycles(40)
        before = tb.now
        await tb.edge()
        await tb.command("snapshot")
        times.append(await tb.value("sync_time"))
        indexes.append(await tb.value("sync_index"))
        assert before < times[-1] < before + 40
    # The converter gives two samples a cycle, on a clock as fast as that of the time.
    for n in range(1, len(times)):
        assert abs(indexes[n] - indexes[n - 1] - 2 * (times[n] - times[n - 1])) <= 2


BOARD = """samplewire_board test_source rfdc_adapter source_commands sample_gearbox mac_fifo
    frame_cdc cut_through_cdc frame_gate event_cdc word_cdc async_fifo reset_ctrl reset_side
    sync_bits"""


@pytest.mark.full  # it takes half a minute to build
def test_samplewire_board():
    run(
        "samplewire_board",
        sources=[*SOURCES.split(), *BOARD.split()],
        test_module="test_samplewire_board",
        parameters={"Slots": 16, "SlotBytes": 1024, "NackDepth": 4},
    )

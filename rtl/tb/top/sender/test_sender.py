"""The whole sender: received frames are answered and counted, each event once."""

import logging
import sys
from pathlib import Path

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from network import Peer, arp, datagram, echo_request
from runner import run

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "regs"))

import samplewire_regs as regs

US = Peer(mac=0x02A1B2C3D4E5, ip=0xC0A80A02, port=9100)
HOST = Peer(mac=0x98F2B3010203, ip=0xC0A80A63, port=0xC35A)
BROADCAST = (1 << 48) - 1
INPUTS = """s_valid s_data s_index s_count s_start s_overflow s_last s_whole gate_armed_i
    sync_armed_i sync_count_i sync_index_i sync_time_i mac_rx_bad_i mac_tx_dropped_i
    mac_rx_dropped_i s_axil_awprot s_axil_arprot"""


class Time:
    """The time base: 3 ns a cycle."""

    def __init__(self, dut):
        self.dut = dut

    def drive(self):
        pass

    def after(self, now: int):
        self.dut.time_ns_i.value = 3 * now


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.source, self.sink = Source(dut, "s_axis"), Sink(dut, "m_axis", odds=0.8)
        self.bench = Bench(dut.clk_i, [self.source, self.sink, Time(dut)])
        for name in INPUTS.split():
            getattr(dut, name).value = 0
        dut.time_ns_i.value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        logging.getLogger(f"cocotb.{dut._name}.s_axil").setLevel(logging.WARNING)
        self.axi = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_i)
        self.before: dict[str, int] = {}

    async def start(self):
        await self.bench.run(4)
        self.dut.rst_i.value = 0
        self.before = await self.counters()
        for name, value in (
            ("mac_lo", US.mac & 0xFFFF_FFFF),
            ("mac_hi", US.mac >> 32),
            ("ip", US.ip),
            ("port", US.port),
            ("control", 1),
        ):
            await self.write(name, value)

    async def write(self, name: str, value: int):
        task = self.axi.write(regs.REGISTERS[name].offset, value.to_bytes(4, "little"))
        assert (await self.during(task)).resp == AxiResp.OKAY

    async def during(self, task):
        """The result of a task while the bench runs."""
        task = cocotb.start_soon(task)
        await self.bench.until(task.done)
        return task.result()

    async def counters(self) -> dict[str, int]:
        """The events of a snapshot; no reset clears them."""
        await self.write("command", 1)
        entries = {}
        for n, name in enumerate(regs.COUNTERS[regs.VALUES :], regs.VALUES):
            answer = await self.during(self.axi.read(regs.COUNTERS_OFFSET + 8 * n, 4))
            assert answer.resp == AxiResp.OKAY
            entries[name] = int.from_bytes(answer.data, "little")
        return entries

    async def counted(self) -> dict[str, int]:
        """What was counted since `start`, without zeros."""
        after = await self.counters()
        return {name: v - self.before[name] for name, v in after.items() if v != self.before[name]}


@cocotb.test()
async def requests_are_answered_and_all_other_frames_are_counted(dut):
    tb = TB(dut)
    await tb.start()
    foreign = Peer(mac=US.mac ^ 1, ip=US.ip, port=US.port)
    tb.source.put(arp(1, HOST, 0, US.ip, dst=BROADCAST))
    tb.source.put(datagram(HOST, foreign, bytes(60)))
    tb.source.put(echo_request(HOST, US, b"abcdefgh"))
    tb.source.put(bytes(20))
    tb.source.put(arp(1, HOST, 0, US.ip, dst=BROADCAST), user=1)
    await tb.bench.until(lambda: len(tb.sink.frames) == 2)
    await tb.bench.run(100)
    assert [frame for frame, _ in tb.sink.take()] == [
        arp(2, US, HOST.mac, HOST.ip, dst=HOST.mac),
        echo_request(US, HOST, b"abcdefgh", kind=0),
    ]
    assert await tb.counted() == {
        "frames_received": 2, "frames_foreign": 1, "frames_runt": 1, "frames_bad": 1,
        "arp_replies": 1, "icmp_replies": 1,
    }  # fmt: skip


async def count_bad(tb: TB, cycles: int):
    """A bad frame comes in while the MAC reports one in each of so many cycles."""
    tb.source.put(arp(1, HOST, 0, US.ip, dst=BROADCAST), user=1)
    await tb.bench.until(tb.source.empty)
    for _ in range(cycles):
        tb.dut.mac_rx_bad_i.value = 1
        await tb.bench.cycle()


@cocotb.test()
async def two_events_of_one_name_in_one_cycle_are_both_counted(dut):
    tb = TB(dut)
    await tb.start()
    await count_bad(tb, 30)
    dut.mac_rx_bad_i.value = 0
    await tb.bench.run(30)
    assert await tb.counted() == {"frames_bad": 31}


@cocotb.test()
async def an_event_that_is_owed_at_a_reset_is_not_counted(dut):
    tb = TB(dut)
    await tb.start()
    await count_bad(tb, 30)
    dut.rst_i.value = 1
    dut.mac_rx_bad_i.value = 0
    await tb.bench.run(4)
    dut.rst_i.value = 0
    await tb.bench.run(30)
    assert await tb.counted() == {"frames_bad": 30}


SOURCES = """samplewire_sender axil_decode csr frame_rx frame_tx nack_walker pacer packetizer
    report_rx ring session slot_table tx_mux tx_sched window counters eth_ip_check form_stream
    frame_store rx_filter head_builder crc_beats cookie ctl_cpu ctl_rx mark_timer ip_sums
    ip_sums_wide crc_check head_serial head_wide crc_step64 ctl_rom crc_combine header_crc
    ctl_rom_sender rate_control rate_check dcqcn event_ring"""


@pytest.mark.full  # it takes half a minute to build
def test_sender():
    run(
        "samplewire_sender",
        sources=SOURCES.split(),
        test_module="test_sender",
        parameters={"Slots": 16, "SlotBytes": 1024, "NackDepth": 4},
    )

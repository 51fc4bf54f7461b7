"""samplewire_soc_board: which frames the sender answers, and which go to the core.

Core 0 starts the sender by its registers and sends each frame of the NIC back. A processor beside
it uses the sender's registers and the NIC at the same time.
"""

import logging
import sys
from pathlib import Path

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from network import IPV6, UDP, Peer, arp, datagram, echo_request, ethernet, ipv6, udp
from nic_afb import Processor
from runner import run, tree

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "regs"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "nic" / "nic_soc"))

import samplewire_regs as regs
from assembler import assemble

US = Peer(mac=0x02A1B2C3D4E5, ip=0xC0A80A02, port=9100)
HOST = Peer(mac=0x98F2B3010203, ip=0xC0A80A63, port=0xC35A)
BROADCAST = (1 << 48) - 1
ECHO_MAX = 120  # bytes of data in an echo request that the sender answers
BUFFERS, BUFFER_BYTES = 32, 2048
# Word accesses of core 0 to the sender: what it writes, in this order.
START = (("mac_lo", US.mac & 0xFFFFFFFF), ("mac_hi", US.mac >> 32), ("ip", US.ip),
         ("port", US.port), ("control", 1))  # fmt: skip
PROGRAM = f"""
    li s0, 0x10000000     # the NIC's registers
    li s2, 0x30000000     # the sender's
    li s3, 0xf0000000     # the core's own
    {"".join(f"li t0, {value}; sw t0, {regs.REGISTERS[name].offset}(s2);" for name, value in START)}
    lw t0, {regs.REGISTERS["ip"].offset}(s2)
    srli t0, t0, 24
    sw t0, 24(s3)         # console: the first byte of the address
    li t0, 0
    li t2, {(BUFFERS - 1) * BUFFER_BYTES}
    li t3, {BUFFER_BYTES}
give:
    sw t0, 0x60(s0)       # free
    add t0, t0, t3
    bgeu t2, t0, give
    li t0, 8
    sw t0, 0x90(s0)       # filter: all
    li t0, 7
    sw t0, 0(s0)          # control
next:
    lw t0, 0x20(s0)       # receive queue
    andi t1, t0, 7
    bne t1, zero, wait
    sw t0, 0x40(s0)       # transmit queue
    j next
wait:
    li t1, 1
    sw t1, 12(s3)         # sleep
    j next
"""
ZEROS = """sync_i s_axis_adc_tvalid s_axis_adc_tdata console_valid_i console_i afb_valid_i afb_i
    acb_valid_i acb_i load_i run_i s_axil_awprot s_axil_arprot dram_request_ready_i
    dram_response_valid_i dram_response_i"""


class TB:
    def __init__(self, dut):
        self.dut, self.console = dut, b""
        self.mac, self.to_mac = Source(dut, "s_axis_rx"), Sink(dut, "m_axis_tx")
        self.bench = Bench(dut.clk_i, [self.mac, self.to_mac, self])
        self.bench.written = {}
        # The port behind that of the core.
        self.beside = Processor(dut, self.bench)
        self.bench.parts.append(self.beside)
        logging.getLogger(f"cocotb.{dut._name}.s_axil").setLevel(logging.WARNING)

    def drive(self):
        pass

    def after(self, now: int):
        self.dut.time_ns_i.value = 8 * now
        if self.dut.console_valid_o.value == 1:
            self.console += bytes([self.dut.console_o.value.to_unsigned()])

    async def start(self):
        dut = self.dut
        for name in ZEROS.split():
            getattr(dut, name).value = 0
        dut.time_ns_i.value, dut.console_ready_i.value = 0, 1
        resets = [dut.rst_i, dut.adc_rst_i, dut.mac_tx_rst_i, dut.mac_rx_rst_i]
        for reset in resets:
            reset.value = 1
        for clock in (dut.clk_i, dut.mac_tx_clk_i, dut.mac_rx_clk_i, dut.adc_clk_i):
            cocotb.start_soon(Clock(clock, 8, "ns").start())
        self.axi = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_i)
        await self.bench.run(10)
        for reset in resets:
            reset.value = 0
        for n, word in enumerate(assemble(PROGRAM.replace(";", "\n"))):
            dut.load_i.value, dut.load_word_i.value, dut.load_data_i.value = 1, n, word
            await self.bench.cycle()
        dut.load_i.value = 0
        await self.bench.run(300)
        dut.run_i.value = 1

    async def during(self, task):
        """The result of a task while the bench runs."""
        task = cocotb.start_soon(task)
        await self.bench.until(task.done)
        return task.result()

    async def sender(self, name: str) -> int:
        answer = await self.axi.read(regs.REGISTERS[name].offset, 4)
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def exchange(self, frame: bytes) -> bytes:
        """The one frame that a frame brings."""
        self.mac.put(frame)
        await self.bench.until(lambda: len(self.to_mac.frames) == 1)
        ((answer, user),) = self.to_mac.take()
        assert user == 0
        return answer


@cocotb.test()
async def sender_and_core_answer_their_frames_and_two_processors_share_both(dut):
    tb = TB(dut)
    await tb.start()
    # Beside the core's writes: the turns of both ways to the sender's registers.
    while await tb.during(tb.sender("control")) & 1 == 0:
        assert await tb.during(tb.sender("id")) == regs.ID_VALUE
    await tb.bench.until(lambda: dut.asleep_o.value == 1)
    assert tb.console == bytes([US.ip >> 24])
    assert await tb.during(tb.sender("ip")) == US.ip
    # The sender's own.
    answer = await tb.exchange(arp(1, HOST, 0, US.ip, dst=BROADCAST))
    assert answer == arp(2, US, HOST.mac, HOST.ip, dst=HOST.mac)
    for size in (8, ECHO_MAX):
        answer = await tb.exchange(echo_request(HOST, US, bytes(range(size))))
        assert answer == echo_request(US, HOST, bytes(range(size)), kind=0)
    # The core's, which sends them back as they came.
    other = Peer(mac=US.mac, ip=US.ip, port=7)
    to_port = ipv6(HOST.ip, US.ip, UDP, udp(HOST, US, b"to the stream's port by IPv6"))
    frames = (
        echo_request(HOST, US, bytes(range(ECHO_MAX + 1))),
        echo_request(HOST, US, bytes(1400)),
        datagram(HOST, other, b"to another port"),
        arp(2, HOST, US.mac, US.ip, dst=US.mac),
        ethernet(US.mac, HOST.mac, IPV6, to_port),
        # A multicast, as neighbour solicitations are.
        ethernet(0x333300000001, HOST.mac, IPV6, to_port),
    )
    for frame in frames:
        assert await tb.exchange(frame) == frame
    # Behind the core's buffers the processor beside it has its own way to memory and registers.
    address = BUFFERS * BUFFER_BYTES
    reads = cocotb.start_soon(tb.sender("port"))
    await tb.beside.store(address, 0x0123456789ABCDEF)
    assert await tb.beside.load(address) == 0x0123456789ABCDEF
    assert await tb.beside.read("packets_received") == len(frames)
    assert await tb.beside.read("packets_transmitted") == len(frames)
    await tb.bench.until(reads.done)
    assert reads.result() == US.port
    await tb.bench.until(lambda: dut.asleep_o.value == 1)


@pytest.mark.full
@pytest.mark.skipif(not tree.cpu(), reason="pythondata-cpu-vexriscv is not installed")
@pytest.mark.parametrize("width", [64, 512])
def test_soc_board(width):
    run(
        "samplewire_soc_board",
        sources=[*tree.modules(), "rtl/tb/nic/nic_soc/vexriscv.vlt", *tree.cpu()],
        parameters={"W": width},
        test_module="test_soc_board",
    )

"""roce_board by its registers, against a responder in Python: messages in the slots of a region,
loss, congestion notifications, ARP and echo, the cause of each frame that is dropped."""

import logging
import random
import sys
from collections import Counter, deque
from pathlib import Path

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from network import Peer, arp, datagram, echo_request
from roce_responder import Responder
from roce_types import FLUSHED, PSNS, REMOTE_ACCESS, framed, roce
from runner import run

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "regs"))

import roce_regs as regs

US = Peer(mac=0x02A1B2C3D4E5, ip=0xC0A80A02, port=0xC123)
HOST = Peer(mac=0x98F2B3010203, ip=0xC0A80A63, port=4791)
BROADCAST = (1 << 48) - 1
LOCAL_QP, REMOTE_QP, RKEY, REGION = 0x1234, 0xABCDEF, 0x0BADCAFE, 0x7F00_1234_5678_9000
MEMORY_BYTES = 4096
CYCLE_NS = 6.4
MTUS = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
WIRE_BYTES = 24  # preamble, frame check sequence and gap


class Samples:
    """The source: numbers of 64 bits, from 0 on."""

    def __init__(self, dut):
        self.dut, self.odds, self.is_shown = dut, 1.0, False
        self.taken = 0

    def drive(self):
        self.is_shown = self.is_shown or random.random() < self.odds
        self.dut.s_axis_tvalid.value = int(self.is_shown)
        self.dut.s_axis_tdata.value = self.taken

    def after(self, now: int):
        if self.is_shown and self.dut.s_axis_tready.value == 1:
            self.taken += 1
            self.is_shown = False


class Time:
    def __init__(self, dut):
        self.dut, self.ns = dut, float(random.getrandbits(40))

    def drive(self):
        self.ns += CYCLE_NS
        self.dut.time_ns_i.value = int(self.ns)

    def after(self, now: int):
        pass


class Host:
    """Brings request packets to the responder and answers back, and loses some; keeps the rest."""

    def __init__(self, sink: Sink, source: Source):
        self.sink, self.source = sink, source
        self.responder: Responder | None = None
        self.loss, self.delay, self.tos = 0.0, 20, 2
        self.others: list[bytes] = []
        self.wire_bytes = 0
        self._later: deque[tuple[int, bytes]] = deque()

    def drive(self):
        pass

    def after(self, now: int):
        for frame, _ in self.sink.take():
            self.wire_bytes += len(frame) + WIRE_BYTES
            if frame[12:14] != b"\x08\x00" or frame[23] != 17:
                self.others.append(frame)
            elif self.responder is not None and random.random() >= self.loss:
                answer = self.responder.handle(frame)
                if answer is not None and random.random() >= self.loss:
                    transport = answer[42:-4]
                    marked = framed(transport, HOST, US, tos=self.tos)
                    self._later.append((now + self.delay, marked))
        while self._later and self._later[0][0] <= now:
            self.source.put(self._later.popleft()[1])


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.samples, self.time = Samples(dut), Time(dut)
        self.source, self.sink = Source(dut, "s_axis_rx"), Sink(dut, "m_axis_tx")
        self.host = Host(self.sink, self.source)
        parts = [self.time, self.samples, self.source, self.sink, self.host]
        self.bench = Bench(dut.clk_i, parts)
        logging.getLogger(f"cocotb.{dut._name}.s_axil").setLevel(logging.WARNING)
        self.axi = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_i)
        self.before: Counter[str] = Counter()

    async def start(self):
        dut = self.dut
        for name in (
            "s_axis_tvalid s_axis_tdata s_axis_tdest s_axil_awprot s_axil_arprot time_ns_i".split()
        ):
            getattr(dut, name).value = 0
        for name in ("rst_i", "mac_tx_rst_i", "mac_rx_rst_i"):
            getattr(dut, name).value = 1
        for name in ("clk_i", "mac_tx_clk_i", "mac_rx_clk_i"):
            cocotb.start_soon(Clock(getattr(dut, name), 10, "ns").start())
        await self.bench.run(10)
        for name in ("rst_i", "mac_tx_rst_i", "mac_rx_rst_i"):
            getattr(dut, name).value = 0
        await self.bench.run(40)
        for name, value in {
            "mac_lo": US.mac & 0xFFFF_FFFF, "mac_hi": US.mac >> 32, "ip": US.ip, "port": US.port,
            "peer_mac_lo": HOST.mac & 0xFFFF_FFFF, "peer_mac_hi": HOST.mac >> 32,
            "peer_ip": HOST.ip, "local_qp": LOCAL_QP, "remote_qp": REMOTE_QP, "rkey": RKEY,
            "region_lo": REGION & 0xFFFF_FFFF, "region_hi": REGION >> 32,
        }.items():  # fmt: skip
            await self.write(name, value)
        self.before = Counter(await self.counters())

    async def connect(self, *, message: int, slots: int, mtu: int = 1, window: int = 16, **other):
        """Ends a connection and begins the next; gives the sample with which it begins."""
        await self.write("control", 0)
        await self.bench.run(300)
        psn = PSNS - random.randrange(1, 20)
        retry = mtu | other.get("timeout", 3) << 3 | 7 << 8 | 7 << 11
        retry |= other.get("congested_acks_cut", 0) << 14
        for name, value in {
            "first_psn": psn, "retry": retry, "window": window | max(window // 4, 1) << 16,
            "message": message, "region_slots": slots,
        }.items():  # fmt: skip
            await self.write(name, value)
        self.host.responder = Responder(
            HOST, US, qp=REMOTE_QP, peer_qp=LOCAL_QP, psn=psn, mtu=MTUS[mtu]
        )
        first = self.samples.taken
        await self.write("control", 1)
        return first

    async def write(self, name: str, value: int, resp=AxiResp.OKAY):
        task = self.axi.write(regs.REGISTERS[name].offset, value.to_bytes(4, "little"))
        assert (await self.during(task)).resp == resp, (name, value)

    async def read(self, name: str) -> int:
        answer = await self.during(self.axi.read(regs.REGISTERS[name].offset, 4))
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def during(self, task):
        task = cocotb.start_soon(task)
        await self.bench.until(task.done)
        return task.result()

    async def counters(self) -> dict[str, int]:
        """The events of a snapshot; no reset clears them."""
        await self.write("command", 1)
        entries = {}
        for n, name in enumerate(regs.COUNTERS[regs.VALUES :], regs.VALUES):
            answer = await self.during(self.axi.read(regs.COUNTERS_OFFSET + 8 * n, 4))
            entries[name] = int.from_bytes(answer.data, "little")
        return entries

    async def counted(self) -> Counter[str]:
        """What was counted since `start`, without zeros."""
        return Counter(await self.counters()) - self.before

    def check(self, first: int, message: int, slots: int):
        """Each message that arrived has its samples, its slot and its number."""
        words = message // 8
        for k, got in enumerate(self.host.responder.messages):
            data = b"".join((first + k * words + n).to_bytes(8, "little") for n in range(words))
            assert got == (True, data, REGION + k % slots * message, RKEY, k, False), k


def answer(syndrome: int, psn: int, *, src: Peer = HOST, tos: int = 2, **bth: int) -> bytes:
    """An ACK or NAK."""
    header = {**roce.BTH, "destination": LOCAL_QP, "psn": psn % PSNS, **bth}
    body = roce.bth(roce.ACKNOWLEDGE, header, 0) + bytes([syndrome, 0, 0, 1])
    return framed(body, src, US, tos=tos)


def cnp(destination: int = LOCAL_QP) -> bytes:
    """A congestion notification, A17.9.3."""
    header = {**roce.BTH, "destination": destination, "psn": 0}
    return framed(roce.bth(roce.CNP, header, 0) + bytes(16), HOST, US, tos=0xC0)


@cocotb.test()
async def messages_fill_the_slots_of_the_region_in_turn(dut):
    tb = TB(dut)
    await tb.start()
    for mtu, message, slots in ((1, 520, 3), (2, 1024, 1), (5, 4096, 2), (1, 8, 5)):
        first = await tb.connect(message=message, slots=slots, mtu=mtu)
        tb.samples.odds = random.choice([1.0, 0.4])
        await tb.bench.until(lambda: len(tb.host.responder.messages) >= 20)
        tb.check(first, message, slots)
    await tb.write("control", 0)
    counted = await tb.counted()
    assert not counted.keys() & {"retransmissions", "messages_failed", "timeouts", "frames_bad"}
    assert counted["messages"] >= 60 and counted["packets"] > counted["messages"]


@cocotb.test()
async def messages_are_whole_through_loss_both_ways(dut):
    tb = TB(dut)
    await tb.start()
    tb.host.loss = 0.05
    first = await tb.connect(message=1000, slots=4)
    tb.host.responder.rnr = [1, 2]
    await tb.bench.until(lambda: len(tb.host.responder.messages) >= 100, 400_000)
    tb.check(first, 1000, 4)
    tb.host.loss = 0.0
    # The source ends: all that was posted is acknowledged, and nothing else is.
    tb.samples.odds = 0.0
    await tb.bench.run(20_000)
    posted, completed = await tb.read("posted"), await tb.read("completed")
    assert posted == completed == len(tb.host.responder.messages)
    counted = await tb.counted()
    assert counted["retransmissions"] > 10 and counted["sequence_naks"] > 0
    assert counted["rnr_naks"] == 2 and tb.host.responder.rnr == []
    assert counted["messages"] == completed and counted["messages_failed"] == 0


@cocotb.test()
async def congestion_notifications_cut_the_rate_once_in_an_interval(dut):
    tb = TB(dut)
    await tb.start()
    minimum, interval_ns = 8192, 2000
    for name, value in {
        "rate_minimum": minimum, "cut_interval": interval_ns, "alpha_period": 1000,
        "rise_period": 1_000_000, "rise_bytes": 1 << 24,
    }.items():  # fmt: skip
        await tb.write(name, value)
    first = await tb.connect(message=1024, slots=2, window=32)
    await tb.bench.run(3000)
    line = await tb.read("rate_line")
    assert await tb.read("rate") == line
    # For another queue pair: nothing.
    for _ in range(20):
        tb.source.put(cnp(LOCAL_QP ^ 1))
    await tb.bench.until(tb.source.empty)
    assert await tb.read("rate") == line
    assert (await tb.counted())["cuts"] == 0
    begun_ns = tb.time.ns
    rates = []
    for _ in range(12):
        for _ in range(150):
            tb.source.put(cnp())
        await tb.bench.until(tb.source.empty)
        rates.append(await tb.read("rate"))
    flood_ns = tb.time.ns - begun_ns
    await tb.bench.run(60)  # the last ones are on their way
    counted = await tb.counted()
    assert counted["cnps"] == 1800
    assert 3 <= counted["cuts"] <= flood_ns / interval_ns + 1
    assert rates == sorted(rates, reverse=True) and rates[-1] == minimum, rates
    # At the minimum the wire has 1 Gb/s: 8192 / 65536 bytes a ns.
    tb.host.wire_bytes, begun_ns = 0, tb.time.ns
    await tb.bench.run(30_000)
    share = tb.host.wire_bytes / (tb.time.ns - begun_ns) / (minimum / 65536)
    assert 0.9 < share < 1.1, share
    tb.check(first, 1024, 2)


@cocotb.test()
async def marked_acknowledgements_cut_the_rate_only_if_configured(dut):
    tb = TB(dut)
    await tb.start()
    for name in ("alpha_period", "rise_period"):
        await tb.write(name, 1_000_000)
    await tb.write("rate_minimum", 8192)
    tb.host.tos = 3
    for acts in (0, 1):
        # Without the answers that come behind the end of a connection.
        await tb.write("control", 0)
        await tb.bench.run(500)
        before = await tb.counted()
        await tb.connect(message=1024, slots=2, congested_acks_cut=acts)
        await tb.bench.run(300)
        # Of a PSN that is not in flight: no mark.
        tb.source.put(answer(0x1F, tb.host.responder.expected - 1000, tos=3))
        await tb.bench.run(3000)
        tb.host.tos = 2
        await tb.bench.run(5000)
        counted = await tb.counted() - before
        assert counted["answers_outside"] == 1
        assert counted["acks"] > counted["acks_marked"] >= 3
        assert (counted["cuts"] > 0) == bool(acts)
        tb.host.tos = 3


@cocotb.test()
async def requests_are_answered_and_each_frame_that_is_dropped_has_its_cause(dut):
    tb = TB(dut)
    await tb.start()
    await tb.connect(message=512, slots=2)
    await tb.bench.run(1000)
    stranger = Peer(HOST.mac, HOST.ip ^ 1, HOST.port)
    broken = bytearray(answer(0x1F, 0))
    broken[50] ^= 1
    read = roce.bth(0x0C, {**roce.BTH, "destination": LOCAL_QP, "psn": 0}, 0) + bytes(16)
    for frame, user in (
        (arp(1, HOST, 0, US.ip, dst=BROADCAST), 0),
        (echo_request(HOST, US, b"abcdefgh"), 0),
        (answer(0x1F, 0, src=stranger), 0),
        (answer(0x1F, 0, destination=LOCAL_QP ^ 1), 0),
        (answer(0x1F, 0, p_key=0x7FFF), 0),
        (answer(0x5F, 0), 0),
        (bytes(broken), 0),
        (framed(read, HOST, US), 0),
        (datagram(HOST, Peer(US.mac, US.ip, 9100), bytes(60)), 0),
        (bytes(20), 0),
        (answer(0x1F, 0), 1),
    ):
        tb.source.put(frame, user)
    await tb.bench.until(lambda: len(tb.host.others) == 2)
    assert tb.host.others == [
        arp(2, US, HOST.mac, HOST.ip, dst=HOST.mac),
        echo_request(US, HOST, b"abcdefgh", kind=0),
    ]
    counted = await tb.counted()
    want = {
        "strangers": 2, "partition_keys": 1, "syndromes": 1, "corrupted": 1, "opcodes": 1,
        "frames_foreign": 1, "frames_runt": 1, "frames_bad": 1, "arp_replies": 1,
        "icmp_replies": 1,
    }  # fmt: skip
    assert {name: counted[name] for name in want} == want
    of_the_connection = {"packets", "messages", "acks"}
    assert counted.keys() == want.keys() | of_the_connection
    assert await tb.read("state") & 7 == 1
    # Where no connection runs, answers are counted as outside.
    await tb.write("control", 0)
    await tb.bench.run(300)
    before = (await tb.counted())["answers_outside"]
    for frame in (answer(0x1F, 0), answer(0x60, 0), cnp()):
        tb.source.put(frame)
    await tb.bench.run(100)
    assert (await tb.counted())["answers_outside"] == before + 3


@cocotb.test()
async def a_refused_message_ends_the_connection_and_the_next_is_whole(dut):
    tb = TB(dut)
    await tb.start()
    await tb.connect(message=512, slots=2)
    await tb.bench.until(lambda: len(tb.host.responder.messages) >= 5)
    expected, tb.host.responder = tb.host.responder.expected, None
    tb.source.put(answer(0x62, expected))
    await tb.bench.run(500)
    state = await tb.read("state")
    assert (state >> 2 & 1, state >> 3 & 7) == (1, REMOTE_ACCESS)
    assert state & 1 == 0 and (await tb.counted())["messages_failed"] > 1
    taken = tb.samples.taken
    await tb.bench.run(500)
    assert tb.samples.taken == taken
    first = await tb.connect(message=512, slots=2)
    await tb.bench.until(lambda: len(tb.host.responder.messages) >= 10)
    tb.check(first, 512, 2)
    tb.host.responder = None
    await tb.write("command", 2)
    await tb.bench.run(500)
    assert (await tb.read("state")) >> 3 & 7 == FLUSHED


@cocotb.test()
async def writes_that_would_falsify_packets_are_refused(dut):
    tb = TB(dut)
    await tb.start()
    for name, value in (
        ("message", 0), ("message", 12), ("message", MEMORY_BYTES + 8), ("region_slots", 0),
        ("rate_minimum", 0), ("rate_line", 1), ("alpha_period", 255), ("rate_control", 3),
        # This build has no receiving half.
        ("receive", 1), ("local_key", 1), ("local_region_lo", 1), ("local_region_hi", 1),
        ("local_bytes_lo", 1), ("local_bytes_hi", 1), ("local_rights", 1), ("notification", 1),
    ):  # fmt: skip
        await tb.write(name, value, AxiResp.SLVERR)
    assert (await tb.counted())["writes_refused"] == 16 and await tb.read("receiver") == 0
    await tb.connect(message=MEMORY_BYTES, slots=2)
    for name in ("message", "rkey", "mac_lo", "peer_ip", "window", "rate_line", "retry"):
        before = await tb.read(name)
        await tb.write(name, before ^ 8, AxiResp.SLVERR)
        assert await tb.read(name) == before
    for name in ("pace_rate", "event_index"):
        await tb.write(name, 1)
    # Numbers out of their range begin no connection.
    await tb.connect(message=512, slots=2, window=129)
    await tb.bench.run(100)
    assert await tb.read("state") & 3 == 2 and tb.samples.taken >= 0
    assert await tb.read("core") == 2 and await tb.read("memory") == MEMORY_BYTES


SOURCES = """roce_board roce_csr roce_writer roce_requester roce_qp roce_head roce_rx rate_check
    rate_control dcqcn event_ring pacer window nack_walker axil_decode counters ring read_ahead
    eth_ip_check ip_sums ip_sums_wide form_bth crc_check crc_step64 frame_store session ctl_cpu
    ctl_rx ctl_rom ctl_rom_sender cookie mark_timer tx_mux mac_fifo frame_cdc cut_through_cdc
    event_cdc frame_gate async_fifo word_cdc sync_bits reset_ctrl reset_side head_builder
    head_serial head_wide frame_join crc_append crc_beats crc_combine header_crc"""


@pytest.mark.full  # it takes half a minute to build
def test_roce_board():
    run(
        "roce_board",
        sources=SOURCES.split(),
        test_module="test_roce_board",
        parameters={"MemoryBytes": MEMORY_BYTES},
    )

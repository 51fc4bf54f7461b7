"""head_builder and frame_join: headers of several lengths, payloads at and of any byte; RoCEv2's
ICRC behind them, against scapy's frames."""

import random
import struct
from collections import deque

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from data_frames import crc_register, power
from network import IPV4, UDP, Peer, checksum, crc32c, ethernet, udp
from roce_frames import roce_frame
from runner import run

US = Peer(mac=0x02A1B2C3D4E5, ip=0xC0A80A02, port=9100)
HOST = Peer(mac=0x98F2B3010203, ip=0xC0A80A63, port=4791)


def frame_of(header: bytes, payload: bytes, udp_sum: bool, trailer: bool) -> bytes:
    """The frame of a job, from the RFCs; a length counts the trailer that comes later too."""
    packet = header + payload
    datagram = udp(US, HOST, packet + struct.pack("!I", crc32c(packet)))
    if not udp_sum:
        datagram = datagram[:6] + b"\0\0" + datagram[8:]
    head = struct.pack(
        "!BBHHHBBHII", 0x45, 2, 20 + len(datagram), 0, 0x4000, 64, UDP, 0, US.ip, HOST.ip
    )
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    frame = ethernet(HOST.mac, US.mac, IPV4, head + datagram, pad=False)
    return frame if trailer else frame[:-4]


class Jobs:
    """Offers jobs in order; one that is shown stands until it is taken."""

    def __init__(self, dut):
        self.dut = dut
        self.odds = 1.0
        self.queue: deque[tuple[int, int]] = deque()
        self.shown_at: list[int] = []
        self.is_shown = False
        self.now = 0

    def put(self, header: bytes, payload: bytes):
        value = len(payload)
        for field, bits in (
            (crc_register(payload), 32),
            (power(8 * len(payload)), 32),
            (checksum(payload) ^ 0xFFFF, 16),
        ):
            value = value << bits | field
        self.queue.append((int.from_bytes(header, "big"), value))

    def drive(self):
        if not self.is_shown and self.queue and random.random() < self.odds:
            self.is_shown = True
            self.shown_at.append(self.now)
        self.dut.job_valid_i.value = int(self.is_shown)
        if self.is_shown:
            self.dut.header_i.value, self.dut.payload_i.value = self.queue[0]

    def after(self, now: int):
        self.now = now + 1
        if self.is_shown and self.dut.job_ready_o.value == 1:
            self.queue.popleft()
            self.is_shown = False


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.jobs = Jobs(dut)
        self.source, self.sink = Source(dut, "s_axis"), Sink(dut, "m_axis")
        self.bench = Bench(dut.clk_i, [self.jobs, self.source, self.sink])
        self.header_bytes = dut.HeaderBytes.value.to_unsigned()
        self.flags = bool(dut.UdpSum.value), bool(dut.Trailer.value)
        self.icrc = bool(dut.Icrc.value)
        self.expected: list[bytes] = []

    async def start(self):
        self.dut.rst_i.value = 1
        self.dut.self_i.value = US.packed()
        self.dut.peer_i.value = HOST.packed()
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        await self.bench.run(4)
        self.dut.rst_i.value = 0
        await self.bench.run(32)

    def put(self, length: int, header: bytes | None = None):
        header = header or random.randbytes(self.header_bytes)
        payload = random.randbytes(length)
        if self.icrc:
            # A BTH, and what follows it in the header as bytes like others.
            frame = roce_frame(header[12:] + payload, ends=(US, HOST))
            header = frame[42 : 42 + self.header_bytes]
        else:
            frame = frame_of(header, payload, *self.flags)
        self.expected.append(frame)
        self.jobs.put(header, payload)
        if payload:
            self.source.put(payload)

    async def drain(self):
        await self.bench.until(lambda: len(self.sink.frames) >= len(self.expected))
        await self.bench.run(60)
        assert self.sink.empty() and self.source.empty() and self.dut.busy_o.value == 0
        frames = [frame for frame, _ in self.sink.take()]
        for k, (frame, want) in enumerate(zip(frames, self.expected, strict=True)):
            assert frame == want, f"frame {k}:\n{frame.hex()}\n{want.hex()}"
        self.expected.clear()


@cocotb.test()
async def payload_of_any_length_follows_its_header(dut):
    tb = TB(dut)
    await tb.start()
    # A header of whole beats, with neither payload nor trailer, is left out.
    whole = (42 + tb.header_bytes) % tb.source.size == 0 and not tb.flags[1]
    for odds in ((1.0, 1.0, 1.0), (0.05, 0.7, 0.6), (1.0, 0.9, 0.3)):
        tb.jobs.odds, tb.source.odds, tb.sink.odds = odds
        for length in range(int(whole), 2 * tb.source.size + 6):
            tb.put(length)
        await tb.drain()
        # A header that is shown twice leaves a frame's first beat ahead of its others.
        assert odds[1] < 1 or tb.sink.gaps == 0


@cocotb.test()
async def frames_have_no_gap_and_begin_in_time(dut):
    tb = TB(dut)
    await tb.start()
    for length in (256, 257, 1024, 61):
        tb.put(length)
    await tb.bench.until(lambda: tb.sink.first)
    latency = tb.sink.first[0] - tb.jobs.shown_at[0]
    await tb.drain()
    dut._log.info("job to first beat: %d cycles", latency)
    assert tb.sink.gaps == 0
    # 15 of 22 header bytes; every 4 more take a cycle or two, and fewer do not shorten it below.
    appended = 4 + tb.source.size.bit_length() - 1 if tb.icrc else 0
    assert latency <= 15 + max(0, (tb.header_bytes - 22 + 3) // 4) * 2 + appended


@cocotb.test()
async def checksum_that_would_be_zero_leaves_as_all_ones(dut):
    tb = TB(dut)
    await tb.start()
    if not tb.flags[0]:
        return
    for number in range(1 << 20):
        header = struct.pack("!I", number) + bytes(tb.header_bytes - 4)
        frame = frame_of(header, b"", *tb.flags)
        if frame[40:42] == b"\xff\xff":
            break
    assert frame[40:42] == b"\xff\xff"
    tb.put(0, header)
    await tb.drain()


@cocotb.test()
async def reset_in_mid_frame_leaves_a_clean_start(dut):
    tb = TB(dut)
    await tb.start()
    tb.put(2000)
    await tb.bench.run(30)
    dut.rst_i.value = 1
    tb.jobs.queue.clear()
    tb.jobs.is_shown = False
    tb.source.reset()
    tb.sink._held = None
    await tb.bench.run(1)
    tb.sink._held = None
    await tb.bench.run(2)
    dut.rst_i.value = 0
    tb.sink._part, tb.sink._held = b"", None
    tb.sink.take()
    tb.expected.clear()
    await tb.bench.run(32)
    tb.put(77)
    await tb.drain()


# The stream's; RoCE's BTH, and with RETH, whose ICRC comes behind; an odd one.
FORMS = [
    pytest.param(64, 22, 1, 1, 0, marks=pytest.mark.full),
    pytest.param(512, 22, 1, 1, 0, marks=pytest.mark.full),
    pytest.param(64, 12, 0, 0, 0, marks=pytest.mark.full),
    pytest.param(512, 12, 0, 0, 1, marks=pytest.mark.full),
    (64, 28, 0, 0, 1),
    (512, 28, 0, 0, 1),
    (64, 13, 1, 1, 0),
    (512, 23, 1, 1, 0),
]


@pytest.mark.parametrize("width,header_bytes,udp_sum,trailer,icrc", FORMS)
def test_head_builder(width, header_bytes, udp_sum, trailer, icrc):
    run(
        "head_builder_tb",
        sources=[
            "rtl/tb/net/head_builder/head_builder_tb.sv", "head_builder", "head_serial",
            "head_wide", "frame_join", "header_crc", "crc_combine", "crc_append",
        ],
        test_module="test_head_builder",
        parameters={
            "W": width, "HeaderBytes": header_bytes, "UdpSum": udp_sum, "Trailer": trailer,
            "Icrc": icrc,
        },
    )  # fmt: skip

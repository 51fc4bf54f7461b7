"""roce_head: requests of vectors/roce.json byte for byte, and scapy's frames, whose ICRC is a
second one."""

import random
from collections import deque

import cocotb
import pytest
from axis import Bench, Sink
from cocotb.clock import Clock
from network import Peer
from roce_frames import roce_frame
from roce_types import PACKET, framed, pack, roce, vectors
from runner import run

US = Peer(mac=0x02A1B2C3D4E5, ip=0xC0A80A02, port=0xC123)
HOST = Peer(mac=0x98F2B3010203, ip=0xC0A80A63, port=4791)
OTHER = Peer(mac=0xFFFF12345678, ip=0xFFFEFDFC, port=4791)
OPCODES = range(12)
CNP_TOS = 48 << 2


def ip_sum(*ends: Peer) -> int:
    """The ones' complement sum of addresses."""
    total = sum((end.ip >> 16) + (end.ip & 0xFFFF) for end in ends)
    return (total & 0xFFFF) + (total >> 16)


class Jobs:
    """Offers jobs in order; payload is there from `start_o` on, a beat with the chance `odds`."""

    def __init__(self, dut):
        self.dut, self.odds = dut, 1.0
        self.beat = len(dut.s_data_i) // 8
        self.jobs: deque[tuple[int, bytes, Peer]] = deque()
        self.words: deque[int] = deque()
        self.is_shown = self.is_offered = False
        self.shown_at: list[int] = []
        self.now = 0

    def put(self, job: int, payload: bytes, peer: Peer):
        self.jobs.append((job, payload, peer))

    def drive(self):
        self.now += 1
        if not self.is_shown and self.jobs:
            self.is_shown = True
            self.shown_at.append(self.now)
        self.dut.job_valid_i.value = int(self.is_shown)
        if self.is_shown:
            self.dut.job_i.value = self.jobs[0][0]
            peer = self.jobs[0][2]
            self.dut.peer_i.value, self.dut.ip_sum_i.value = peer.packed(), ip_sum(US, peer)
        self.is_offered = self.is_offered or (bool(self.words) and random.random() < self.odds)
        self.dut.s_valid_i.value = int(self.is_offered)
        data = self.words[0] if self.is_offered else random.getrandbits(8 * self.beat)
        self.dut.s_data_i.value = data

    def after(self, now: int):
        if self.is_offered and self.dut.s_ready_o.value == 1:
            self.words.popleft()
            self.is_offered = False
        if self.dut.start_o.value == 1:
            payload = self.jobs[0][1]
            self.words.extend(
                int.from_bytes(payload[at : at + self.beat], "little")
                for at in range(0, len(payload), self.beat)
            )
        if self.is_shown and self.dut.job_ready_o.value == 1:
            self.jobs.popleft()
            self.is_shown = False


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.jobs, self.sink = Jobs(dut), Sink(dut, "m_axis")
        self.bench = Bench(dut.clk_i, [self.jobs, self.sink])
        self.expected: list[bytes] = []

    async def start(self):
        dut = self.dut
        dut.rst_i.value, dut.hold_i.value = 1, 0
        dut.self_i.value = US.packed()
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        await self.bench.run(4)
        dut.rst_i.value = 0
        await self.bench.run(32)

    def put(self, frame: bytes, payload: bytes, peer: Peer = HOST, **fields: int):
        self.expected.append(frame)
        self.jobs.put(pack(PACKET, len_bytes=len(payload), **fields), payload, peer)

    def put_opcode(self, opcode: int, size: int):
        """A packet of random fields, as scapy writes it."""
        payload = random.randbytes(size)
        reth = random.randbytes(16) if opcode in roce.WITH_RETH else b""
        immediate = random.randbytes(4) if opcode in roce.WITH_IMMEDIATE else b""
        bth = {"dqpn": random.getrandbits(24), "psn": random.getrandbits(24),
               "ackreq": random.getrandbits(1), "solicited": random.getrandbits(1)}  # fmt: skip
        peer = random.choice([HOST, OTHER])
        frame = roce_frame(
            reth + immediate + payload, ends=(US, peer), opcode=opcode, padcount=0, migreq=1,
            pkey=0xFFFF, fecn=0, becn=0, **bth,
        )  # fmt: skip
        self.put(
            frame, payload, peer, opcode=opcode, has_reth=int(bool(reth)),
            has_immediate=int(bool(immediate)), is_solicited=bth["solicited"],
            ack_request=bth["ackreq"], destination=bth["dqpn"], psn=bth["psn"],
            remote_address=int.from_bytes(reth[:8], "big"),
            rkey=int.from_bytes(reth[8:12], "big"),
            message_bytes=int.from_bytes(reth[12:], "big"),
            immediate=int.from_bytes(immediate, "big"),
        )  # fmt: skip

    async def drain(self):
        await self.bench.until(lambda: len(self.sink.frames) >= len(self.expected))
        await self.bench.run(60)
        assert self.sink.empty() and not self.jobs.words and self.dut.busy_o.value == 0
        frames = [frame for frame, _ in self.sink.take()]
        for k, (frame, want) in enumerate(zip(frames, self.expected, strict=True)):
            assert frame == want, f"frame {k}:\n{frame.hex()}\n{want.hex()}"
        self.expected.clear()


@cocotb.test()
async def requests_of_the_vectors_leave_byte_for_byte(dut):
    tb = TB(dut)
    await tb.start()
    rows = [
        row for row in vectors()["frames"]
        if row["opcode"] == roce.CNP or (
            row["opcode"] in OPCODES and len(row["payload"]) // 2 % tb.jobs.beat == 0
            and row["bth"]["p_key"] == 0xFFFF
        )
    ]  # fmt: skip
    assert len(rows) >= (9 if tb.jobs.beat == 8 else 4) and rows[-1]["opcode"] == roce.CNP
    for row in rows:
        # The table's own route has another identification, which the ICRC covers: the program
        # that wrote the table writes the same packet for ours.
        transport = bytes.fromhex(row["hex"])[42:-4]
        assert roce.frame(row["route"], transport).hex() == row["hex"]
        is_cnp = row["opcode"] == roce.CNP
        route = {"tos": CNP_TOS} if is_cnp else {}
        reth = row.get("reth", {"address": "0", "key": 0, "len_bytes": 0})
        tb.put(
            framed(transport, US, HOST, **route), bytes.fromhex(row.get("payload", "")),
            opcode=row["opcode"], has_reth=int("reth" in row or is_cnp),
            has_immediate=int("immediate" in row),
            is_solicited=int(row["bth"]["solicited"]), ack_request=int(row["bth"]["ack_request"]),
            destination=row["bth"]["destination"], psn=row["bth"]["psn"],
            remote_address=int(reth["address"], 16), rkey=reth["key"],
            message_bytes=reth["len_bytes"], immediate=row.get("immediate", 0),
        )  # fmt: skip
    await tb.drain()


@cocotb.test()
async def every_opcode_carries_payloads_of_any_beats(dut):
    tb = TB(dut)
    await tb.start()
    for odds in ((1.0, 1.0), (0.7, 0.6), (1.0, 0.3), (0.2, 1.0)):
        tb.jobs.odds, tb.sink.odds = odds
        tb.sink.gaps = 0
        sizes = [tb.jobs.beat * beats for beats in (0, 1, 2, 3, 8, 32)]
        packets = [(opcode, size) for opcode in OPCODES for size in sizes]
        random.shuffle(packets)
        for opcode, size in packets:
            tb.put_opcode(opcode, size)
        await tb.drain()
        assert odds[0] < 1 or tb.sink.gaps == 0


@cocotb.test()
async def long_frames_follow_each_other_without_an_idle_cycle(dut):
    tb = TB(dut)
    await tb.start()
    for size in (256, 1024, 4096, 256) if tb.jobs.beat == 8 else (128, 1024, 4096, 128):
        for opcode in (6, 7, 8, 9, 10, 11, 3, 1):
            tb.put_opcode(opcode, size)
    await tb.bench.until(lambda: tb.sink.first)
    latency = tb.sink.first[0] - tb.jobs.shown_at[0]
    await tb.bench.until(lambda: len(tb.sink.frames) == len(tb.expected))
    idle = sum(b - a - 1 for a, b in zip(tb.sink.done, tb.sink.first[1:], strict=False))
    dut._log.info("job to first beat: %d cycles; %d idle cycles", latency, idle)
    assert latency <= (12 if tb.jobs.beat == 8 else 16) and idle == 0 and tb.sink.gaps == 0
    await tb.drain()


@pytest.mark.parametrize("width", [64, pytest.param(512, marks=pytest.mark.full)])
def test_roce_head(width):
    run(
        "roce_head",
        sources=["roce_head", "head_builder", "head_serial", "head_wide", "header_crc",
                 "crc_combine", "frame_join", "crc_append"],
        test_module="test_roce_head",
        parameters={"W": width},
    )  # fmt: skip

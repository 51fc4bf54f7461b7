"""roce_rx behind eth_ip_check and form_bth: the frames of vectors/roce.json, and changed ones."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from network import Peer
from roce_types import framed, roce, vectors
from runner import run

EVENTS = ("length", "version", "icrc", "pkey", "stranger", "opcode", "syndrome")
US = Peer(mac=0x02A1B2C3D4E5, ip=0xC0A80A02, port=4791)
HOST = Peer(mac=0x98F2B3010203, ip=0xC0A80A63, port=0xC000)
QP = 0x11
# What the parts before it drop: eth_ip_check, whose own test has the events.
BEFORE = {"TooShort", "EtherType", "IpHeader", "IpLength", "Fragment", "Protocol", "IpChecksum",
          "Port", "UdpLength", "UdpChecksum"}  # fmt: skip
# The event of an error of the vectors; roce_rx looks at lengths of what it takes alone.
EVENT_OF = {"Padding": "length", "TransportVersion": "version", "Icrc": "icrc", "Opcode": "opcode",
            "Length": "length"}  # fmt: skip
KINDS = ("ack", "rnr", "sequence", "fatal", "cnp")


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.seen: list = []
        self.beat = len(dut.data_i) // 8
        self.marks: list[int] = []  # of the answers

    async def start(self):
        dut = self.dut
        dut.rst_i.value, dut.valid_i.value = 1, 0
        dut.peer_set_i.value, dut.peer_qp_i.value = 1, 0
        self.ends(US, HOST, QP)
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        for _ in range(4):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        cocotb.start_soon(self._watch())

    def ends(self, us: Peer, host: Peer, qp: int):
        self.dut.self_i.value = us.packed()
        self.dut.peer_ip_i.value, self.dut.local_qp_i.value = host.ip, qp

    async def _watch(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.clk_i)
            if dut.answer_valid_o.value == 1:
                answer = dut.answer_o.value.to_unsigned()
                kind = KINDS[answer >> 30]
                self.seen.append((kind, answer >> 25 & 31, answer >> 1 & 0xFFFFFF))
                self.marks.append(answer & 1)
            events = dut.events_o.value.to_unsigned()
            self.seen += [name for bit, name in enumerate(EVENTS) if events >> bit & 1]

    async def send(self, frame: bytes, idle: float = 0.0):
        dut = self.dut
        frame = frame.ljust(60, b"\0")
        for at in range(0, len(frame), self.beat):
            while random.random() < idle:
                dut.valid_i.value = 0
                await FallingEdge(dut.clk_i)
            part = frame[at : at + self.beat]
            dut.valid_i.value = 1
            dut.last_i.value = int(at + self.beat >= len(frame))
            dut.count_i.value = len(part)
            dut.data_i.value = int.from_bytes(part.ljust(self.beat, b"\xa5"), "little")
            await FallingEdge(dut.clk_i)
        dut.valid_i.value = 0

    async def judge(self, frame: bytes, idle: float = 0.0) -> list:
        """What comes of a frame for our addresses."""
        await self.send(frame, idle)
        for _ in range(12):
            await FallingEdge(self.dut.clk_i)
        seen, self.seen = self.seen, []
        return seen


def addressed(frame: bytes) -> tuple[Peer, Peer]:
    """Receiver and sender of a frame."""
    at = lambda low, high: int.from_bytes(frame[low:high], "big")  # noqa: E731
    return Peer(at(0, 6), at(30, 34), 4791), Peer(at(6, 12), at(26, 30), at(34, 36))


def meaning(row: dict):
    """What a frame of the vectors is to a requester, IB 9.7.5 and A17.9.3."""
    if row["opcode"] == roce.CNP:
        return ("cnp", None, row["bth"]["psn"])
    if row["opcode"] != roce.ACKNOWLEDGE:
        return "pkey" if row["bth"]["p_key"] != 0xFFFF else "opcode"
    syndrome, psn = row["aeth"]["syndrome"], row["bth"]["psn"]
    code = syndrome & 31
    if syndrome < 0x20:
        return ("ack", code, psn)
    if syndrome < 0x40:
        return ("rnr", code, psn)
    if 0x60 <= syndrome < 0x64:
        return ("sequence" if code == 0 else "fatal", code, psn)
    return "syndrome"


def same(seen: list, want) -> bool:
    if not isinstance(want, tuple):
        return seen == [want]
    return len(seen) == 1 and all(w in (None, s) for s, w in zip(seen[0], want, strict=True))


@cocotb.test()
async def frames_of_the_vectors_are_what_they_mean(dut):
    tb = TB(dut)
    await tb.start()
    for row in vectors()["frames"]:
        frame = bytes.fromhex(row["hex"])
        tb.ends(*addressed(frame), row["bth"]["destination"])
        seen = await tb.judge(frame, random.choice([0, 0.3]))
        assert same(seen, meaning(row)), (row["name"], seen)
    for row in vectors()["invalid"]:
        frame = bytes.fromhex(row["hex"])
        tb.ends(*addressed(frame), QP)
        seen = await tb.judge(frame)
        want = [] if row["error"] in BEFORE else [EVENT_OF[row["error"]]]
        if row["error"] == "Length" and frame[42] not in (roce.ACKNOWLEDGE, roce.CNP):
            want = ["opcode"]
        if row["name"] == "length_no_multiple_of_4":
            want = ["opcode"]
        assert seen == want, (row["name"], seen)
    cnp = bytes.fromhex(vectors()["foreign"][0]["hex"])
    tb.ends(*addressed(cnp), 0x118)
    assert same(await tb.judge(cnp), ("cnp", None, 0))


@cocotb.test()
async def other_peers_queue_pairs_and_partitions_change_nothing(dut):
    tb = TB(dut)
    await tb.start()

    def ack(src=HOST, syndrome=0x1F, **fields):
        bth = roce.bth(roce.ACKNOWLEDGE, {**roce.BTH, "destination": QP, **fields}, 0)
        return framed(bth + bytes([syndrome, 0, 0, 1]), src, US)

    assert await tb.judge(ack(psn=77)) == [("ack", 31, 77)]
    for bit in range(24):
        assert await tb.judge(ack(destination=QP ^ 1 << bit)) == ["stranger"]
    for bit in range(32):
        assert await tb.judge(ack(Peer(HOST.mac, HOST.ip ^ 1 << bit, 0xC000))) == ["stranger"]
    for bit in range(16):
        assert await tb.judge(ack(p_key=0xFFFF ^ 1 << bit)) == ["pkey"]
    for syndrome in (0x40, 0x5F, 0x64, 0x7F, 0x80, 0x9F, 0xE0):
        assert await tb.judge(ack(syndrome=syndrome)) == ["syndrome"]


@cocotb.test()
async def packets_without_a_gap_are_all_taken(dut):
    tb = TB(dut)
    await tb.start()
    want, marks = [], []
    for psn in range(300):
        is_ours = random.random() < 0.7
        bth = {**roce.BTH, "destination": QP, "psn": psn}
        syndrome = random.choice([0x1F, 0x20 | psn % 32, 0x60, 0x62])
        body = roce.bth(roce.ACKNOWLEDGE, bth, 0) + bytes([syndrome, 0, 0, 1])
        src = HOST if is_ours else Peer(HOST.mac, HOST.ip ^ 1, HOST.port)
        kind = {0: "ack", 1: "rnr", 3: "fatal" if syndrome & 31 else "sequence"}[syndrome >> 5]
        want.append((kind, syndrome & 31, psn) if is_ours else "stranger")
        tos = random.choice([0, 1, 2, 3, 3])
        marks += [int(tos == 3)] * is_ours
        await tb.send(framed(body, src, US, tos=tos))
    for _ in range(12):
        await FallingEdge(dut.clk_i)
    assert (tb.seen, tb.marks) == (want, marks)


@pytest.mark.parametrize("width", [64, pytest.param(512, marks=pytest.mark.full)])
def test_roce_rx(width):
    run(
        "roce_rx_tb",
        sources=["roce_rx", "eth_ip_check", "ip_sums", "ip_sums_wide", "form_bth", "crc_check",
                 "crc_step64", "rtl/tb/roce/roce_rx/roce_rx_tb.sv"],
        test_module="test_roce_rx",
        parameters={"W": width},
    )  # fmt: skip

"""roce_endpoint against a peer in Python that sends and receives: loss both ways, the order of
answers and packets, and what a failure of one half does to the other."""

import random
from collections import deque
from itertools import pairwise

import cocotb
import pytest
from axis import Bench, Sink
from cocotb.clock import Clock
from network import Peer
from roce_ports import CYCLE_NS, Memory, Receive, Receives
from roce_requests import ACK, REMOTE_ACCESS, RNR_NAK, SEQUENCE_ERROR, Request
from roce_responder import Responder
from roce_types import (
    DONE,
    FLUSHED,
    PSNS,
    QP,
    RECEIVE_FLUSHED,
    RECEIVE_SEND,
    RECEIVE_WRITE,
    REGION,
    WORK_REQUEST,
    framed,
    pack,
    roce,
)
from roce_types import (
    REMOTE_ACCESS as STATUS_REMOTE_ACCESS,
)
from runner import run

US = Peer(mac=0x02A1B2C3D4E5, ip=0xC0A80A02, port=0xC123)
HOST = Peer(mac=0x98F2B3010203, ip=0xC0A80A63, port=4791)
OUR_QP, HOST_QP, REGION_KEY, ADDRESS, MTU = 0x1234, 0x5678, 0xABCD, 0x10_0000, 256
# By a beat's bytes: so many packets of 256 bytes are begun at most when an answer is due.
AHEAD = {8: 3, 64: 6}
CNP_INTERVAL_NS = 3000
RECEIVES_AT = ADDRESS + (1 << 20)  # the memory of receive requests


class PeerSender:
    """A peer's requester: go-back-N with a window of packets."""

    def __init__(self, receive: Receive, psn: int):
        self.receive, self.psn, self.window = receive, psn, 8
        self.packets: list[Request] = []
        self.acked = self.next = self.wait = 0
        self.answers: list[tuple[int, int, int]] = []

    def put(self, is_write: bool, data: bytes, *, immediate: int | None, address: int = 0,
            tos: int = 2):  # fmt: skip
        parts = [data[at : at + MTU] for at in range(0, len(data), MTU)] or [b""]
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            kind = (4 if is_last else 0) if number == 0 else 2 if is_last else 1
            opcode = kind + (is_last and immediate is not None)
            self.packets.append(Request(
                opcode + (roce.WRITE_FIRST if is_write else 0),
                (self.psn + len(self.packets)) % PSNS, part,
                ack_request=is_last or random.random() < 0.3, address=address, key=REGION_KEY,
                total=len(data), immediate=immediate or 0, tos=tos,
            ))  # fmt: skip

    def take(self, psn: int, syndrome: int, msn: int):
        self.answers.append((psn, syndrome, msn))
        at = (psn - self.psn) % PSNS + (syndrome == ACK)
        assert at <= self.next or at <= len(self.packets), "a PSN that was not sent"
        if at > self.acked:
            self.acked, self.wait = at, 0
        if syndrome != ACK:
            self.next = max(at, self.acked)
            self.wait = -1500 if syndrome & 0xE0 == RNR_NAK else 0

    def drive(self):
        self.wait += 1
        if self.wait > 4000:  # no answer came
            self.next, self.wait = self.acked, 0
        is_open = self.next < min(len(self.packets), self.acked + self.window)
        if self.wait >= 0 and is_open and len(self.receive.queue) < 2:
            frame = self.packets[self.next].frame(HOST, US, OUR_QP).ljust(60, b"\0")
            self.next += 1
            return frame
        return None


class Network:
    """Both directions, each frame lost with the chance `loss`, and the next one of `losses`."""

    def __init__(self, wire: Sink, receive: Receive):
        self.wire, self.receive, self.loss, self.seen, self.delay = wire, receive, 0.0, 0, 30
        self.sender: PeerSender | None = None
        self.responder: Responder | None = None
        self.late: deque[tuple[int, bytes]] = deque()
        self.losses = 0
        self.cnps: list[int] = []  # cycles

    def drive(self):
        if self.sender is not None and (frame := self.sender.drive()) is not None:
            self.give(frame)

    def give(self, frame: bytes):
        is_lost = self.losses > 0 or random.random() < self.loss
        self.losses = max(self.losses - 1, 0)
        if not is_lost:
            self.receive.queue.append(frame)

    def after(self, now: int):
        while self.late and self.late[0][0] <= now:
            self.give(self.late.popleft()[1])
        while self.seen < len(self.wire.frames):
            frame = self.wire.frames[self.seen][0]
            self.seen += 1
            if frame[42] == roce.ACKNOWLEDGE:
                psn, msn = (int.from_bytes(frame[at : at + 3], "big") for at in (51, 55))
                assert frame == acknowledgement(psn, frame[54], msn)
                if random.random() >= self.loss:
                    self.sender.take(psn, frame[54], msn)
            elif frame[42] == roce.CNP:
                header = {**roce.BTH, "destination": HOST_QP, "psn": 0, "becn": True,
                          "migrated": False}  # fmt: skip
                cnp = roce.bth(roce.CNP, header, 0) + bytes(16)
                assert frame == framed(cnp, US, HOST, tos=48 << 2)
                self.cnps.append(now)
            elif random.random() >= self.loss:
                answer = self.responder.handle(frame)
                if answer is not None:
                    self.late.append((now + self.delay, answer))


def acknowledgement(psn: int, syndrome: int, msn: int) -> bytes:
    header = {**roce.BTH, "destination": HOST_QP, "psn": psn}
    body = bytes([syndrome]) + msn.to_bytes(3, "big")
    return framed(roce.bth(roce.ACKNOWLEDGE, header, 0) + body, US, HOST)


class Posts:
    """Posts work requests; collects completions. The time."""

    def __init__(self, dut):
        self.dut, self.queue, self.time = dut, deque(), 1e6
        self.completions: list[tuple[int, int]] = []
        self.cycle_ns = CYCLE_NS[len(dut.data_i) // 8]

    def drive(self):
        self.time += self.cycle_ns
        self.dut.time_ns_i.value = int(self.time)
        self.dut.post_valid_i.value = int(bool(self.queue))
        if self.queue:
            self.dut.post_i.value = self.queue[0]

    def after(self, now: int):
        if self.queue and self.dut.post_ready_o.value == 1:
            self.queue.popleft()
        if self.dut.completion_valid_o.value == 1:
            value = self.dut.completion_o.value.to_unsigned()
            self.completions.append((value >> 3, value & 7))


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.wire, self.receive, self.posts = Sink(dut, "m_axis"), Receive(dut), Posts(dut)
        self.memory, self.receives = Memory(dut), Receives(dut, "received")
        self.network = Network(self.wire, self.receive)
        parts = [self.posts, self.wire, self.receive, self.memory, self.receives, self.network]
        self.bench = Bench(dut.clk_i, parts)
        self.beat = self.wire.size
        self.contents = random.randbytes(self.beat << dut.Aw.value.to_unsigned())

    async def start(self):
        dut = self.dut
        for name in ("run_i", "abort_i", "we_i", "valid_i", "post_valid_i"):
            getattr(dut, name).value = 0
        dut.self_i.value, dut.peer_i.value, dut.rst_i.value = US.packed(), HOST.packed(), 1
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        await self.bench.run(5)
        dut.rst_i.value, dut.we_i.value = 0, 1
        for at in range(0, len(self.contents), self.beat):
            dut.waddr_i.value = at // self.beat
            dut.wdata_i.value = int.from_bytes(self.contents[at : at + self.beat], "little")
            await cocotb.triggers.FallingEdge(dut.clk_i)
        dut.we_i.value = 0
        psns = [random.choice([random.getrandbits(24), PSNS - 4]) for _ in range(2)]
        dut.cfg_i.value = pack(
            QP, local_qp=OUR_QP, remote_qp=HOST_QP, first_psn=psns[0], mtu=1, window=16,
            ack_every=8, timeout=3, retries=7, rnr_retries=7,
        )  # fmt: skip
        dut.peer_psn_i.value = psns[1]
        dut.cnp_interval_ns_i.value, dut.rate_i.value = CNP_INTERVAL_NS, 0
        dut.region_i.value = pack(REGION, key=REGION_KEY, address=ADDRESS, len_bytes=1 << 20)
        dut.may_write_i.value = 1
        self.network.responder = Responder(HOST, US, qp=HOST_QP, peer_qp=OUR_QP, psn=psns[0],
                                           mtu=MTU)  # fmt: skip
        self.network.sender = PeerSender(self.receive, psns[1])
        await self.bench.run(32)
        dut.run_i.value = 1
        await self.bench.run(20)

    def post(self, name: int, size: int, *, is_write: bool) -> bytes:
        addr = self.beat * random.randrange((len(self.contents) - size) // self.beat + 1)
        self.posts.queue.append(pack(WORK_REQUEST, id=name, is_write=int(is_write), addr=addr,
                                     len_bytes=size))  # fmt: skip
        return self.contents[addr : addr + size]

    def received(self, at: int, size: int) -> bytes:
        return bytes(self.memory.bytes.get(at + n, 0) for n in range(size))


@cocotb.test()
async def both_ways_are_whole_under_loss(dut):
    tb = TB(dut)
    await tb.start()
    for loss in (0.0, 0.05):
        tb.network.loss = loss
        tb.posts.completions.clear()
        tb.receives.completions.clear()
        tb.network.responder.messages.clear()
        tb.memory.odds, tb.receives.odds, tb.wire.odds = (0.9, 0.5, 0.9) if loss else (1, 1, 1)
        sent = [tb.post(name, tb.beat * random.randrange(1200 // tb.beat),
                        is_write=random.random() < 0.5) for name in range(12)]  # fmt: skip
        # The first of three packets is lost, for one NAK at least.
        sender = tb.network.sender
        tb.network.losses = int(loss > 0)
        sender.put(True, bytes(2 * MTU + 1), immediate=None, address=ADDRESS)
        wanted, memory, at = [], [], ADDRESS
        for name in range(12):
            is_write, data = random.random() < 0.5, random.randbytes(random.randrange(900))
            immediate = random.getrandbits(32) if random.random() < 0.5 else None
            place = at if is_write else RECEIVES_AT + 1024 * name
            sender.put(is_write, data, immediate=immediate, address=at)
            memory.append((place, data))
            at += len(data)
            if not is_write or immediate is not None:
                status = RECEIVE_WRITE if is_write else RECEIVE_SEND
                wanted.append((name, status, immediate, len(data)))
                if len(wanted) < 4:  # later ones come late
                    tb.receives.queue.append((name, RECEIVES_AT + 1024 * name, 1024))
        late = [(name, RECEIVES_AT + 1024 * name, 1024) for name, _, _, _ in wanted[3:]]

        def is_done(wanted=wanted, late=late, sender=sender) -> bool:
            if late and not tb.receives.queue and random.random() < 0.002:
                tb.receives.queue.append(late.pop(0))
            return (len(tb.posts.completions) == 12 and sender.acked == len(sender.packets)
                    and len(tb.receives.completions) == len(wanted))  # fmt: skip

        await tb.bench.until(is_done, 400_000)
        assert tb.posts.completions == [(name, DONE) for name in range(12)]
        assert [message[1] for message in tb.network.responder.messages] == sent
        assert tb.receives.completions == wanted
        for place, data in memory:
            assert tb.received(place, len(data)) == data
        kinds = {syndrome & 0xE0 for _, syndrome, _ in sender.answers}
        assert RNR_NAK in kinds
    assert SEQUENCE_ERROR & 0xE0 in kinds


@cocotb.test()
async def an_answer_leaves_in_front_of_packets_that_are_not_begun(dut):
    tb = TB(dut)
    await tb.start()
    tb.network.sender.put(True, b"12345678", immediate=None, address=ADDRESS)
    await tb.bench.until(lambda: tb.wire.frames)
    idle = tb.wire.first[0] - tb.receive.done[0]
    dut._log.info("last beat of a request to first beat of its ACK: %d cycles", idle)
    assert idle <= 48
    for number in range(6):
        tb.post(number, 4096 if tb.beat == 8 else 8192, is_write=True)
    await tb.bench.until(lambda: len(tb.wire.frames) > 4)
    for _ in range(5):
        tb.network.sender.put(True, b"12345678", immediate=None, address=ADDRESS)
        done = len(tb.memory.first)
        await tb.bench.until(lambda done=done: len(tb.memory.first) > done)
        at = len(tb.wire.frames)
        acked = len(tb.network.sender.answers)
        await tb.bench.until(lambda acked=acked: len(tb.network.sender.answers) > acked)
        assert len(tb.wire.frames) - 1 - at <= AHEAD[tb.beat]
    await tb.bench.until(lambda: len(tb.posts.completions) == 6)


@cocotb.test()
async def notifications_leave_at_any_rate_and_once_in_an_interval(dut):
    tb = TB(dut)
    await tb.start()
    tb.network.delay = 1_000_000  # no answer comes
    dut.rate_i.value = 1  # a packet of 256 bytes in 22 ms
    for number in range(3):
        tb.post(number, 256, is_write=True)
    await tb.bench.run(2000)
    sent = len(tb.wire.frames)
    assert sent < 3
    begin = tb.bench.now
    while tb.bench.now - begin < 4 * CNP_INTERVAL_NS / tb.posts.cycle_ns:
        tb.network.sender.put(True, b"12345678", immediate=None, address=ADDRESS, tos=3)
        await tb.bench.run(100)
    cnps = tb.network.cnps
    assert 3 <= len(cnps) <= 5
    gaps = [b - a for a, b in pairwise(cnps)]
    assert all(abs(gap - CNP_INTERVAL_NS / tb.posts.cycle_ns) < 40 for gap in gaps), gaps
    assert all(frame[42] in (roce.CNP, roce.ACKNOWLEDGE) for frame, _ in tb.wire.frames[sent:])


@cocotb.test()
async def halves_fail_together(dut):
    for is_peers_fault in (True, False):
        tb = TB(dut)
        await tb.start()
        tb.network.delay = 100_000  # no answer comes
        tb.receives.queue.append((7, RECEIVES_AT, 100))
        tb.post(1, 64, is_write=True)
        tb.post(2, 64, is_write=False)
        await tb.bench.run(200)
        assert dut.is_running_o.value == 1
        if is_peers_fault:
            tb.network.sender.put(True, b"1", immediate=None, address=ADDRESS - 1)
        else:
            # NAK "remote access error" for our first packet.
            answer = tb.network.responder.answer(REMOTE_ACCESS, tb.network.responder.expected - 2)
            tb.receive.queue.append(answer)
        await tb.bench.until(lambda tb=tb: len(tb.posts.completions) == 2)
        await tb.bench.until(lambda tb=tb: tb.receives.completions)
        first = FLUSHED if is_peers_fault else STATUS_REMOTE_ACCESS
        assert tb.posts.completions == [(1, first), (2, FLUSHED)]
        assert tb.receives.completions == [(7, RECEIVE_FLUSHED, None, 0)]
        assert dut.is_running_o.value == 0
        await tb.bench.run(100)
        naks = [syndrome for _, syndrome, _ in tb.network.sender.answers]
        assert naks == ([REMOTE_ACCESS] if is_peers_fault else [])
        dut.run_i.value = 0
        await tb.bench.run(10)


# In the short matrix the lock-step with Rust drives both halves.
@pytest.mark.full
@pytest.mark.parametrize("width", [64, 512])
def test_roce_endpoint(width):
    run(
        "roce_endpoint_tb",
        sources=[
            "roce_endpoint", "roce_responder", "notification_point", "frame_fifo",
            "roce_requester", "roce_qp", "window",
            "nack_walker", "pacer", "read_ahead", "roce_head", "head_builder", "head_serial",
            "head_wide", "header_crc", "crc_combine", "frame_join", "crc_append", "ring", "roce_rx",
            "eth_ip_check", "ip_sums", "ip_sums_wide", "form_bth", "crc_check", "crc_step64",
            "rtl/tb/roce/roce_rx/roce_rx_tb.sv", "rtl/tb/roce/roce_endpoint/roce_endpoint_tb.sv",
        ],
        test_module="test_roce_endpoint",
        parameters={"W": width},
    )  # fmt: skip

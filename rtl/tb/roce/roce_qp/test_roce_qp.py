"""roce_qp alone, one QP and 16: which PSNs an answer may name, go-back-N, timers and counts (IB
9.7, 9.9). Where there are more QPs, others begin, send, fail and end meanwhile."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from roce_types import (
    ABORT,
    ACK,
    ANSWER,
    BEGIN,
    CHOICE,
    COMPLETION,
    DONE,
    END,
    FATAL_NAK,
    FLUSHED,
    INVALID_REQUEST,
    PSNS,
    QP,
    REMOTE_ACCESS,
    REMOTE_OPERATION,
    RETRIES_EXCEEDED,
    RNR_NAK,
    RNR_RETRIES_EXCEEDED,
    SEQUENCE_NAK,
    pack,
    unpack,
)
from runner import run

EVENTS = ("ack", "outside", "sequence_nak", "rnr_nak", "copy", "timeout", "repeat")
CYCLE_NS = 6
SLOTS = QUEUE = 16
# IB 9.7.5.2.8, in units of 10 us.
RNR_10US = [65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
            1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152]  # fmt: skip


class Noise:
    """Another QP: what it gets is drawn; its completions come once, in order."""

    def __init__(self, tb: "TB", qp: int):
        self.tb, self.qp, self.posted, self.psn, self.sent = tb, qp, deque(), 0, 0
        self.failed = True

    def act(self):
        tb, choice = self.tb, random.random()
        if choice < 0.02 or self.failed:
            tb.posts = deque(it for it in tb.posts if it[0] != self.qp)
            # The one that stands at the port may not be withdrawn.
            if tb.shown and tb.shown[0] == self.qp:
                return
            self.psn, self.sent, self.failed = random.getrandbits(24), 0, False
            tb.commands.append((BEGIN, self.qp, tb.cfg | {"first_psn": self.psn, "timeout": 0}))
        elif choice < 0.1:
            tb.commands.append((random.choice([ABORT, END]), self.qp, tb.cfg))
            self.failed = True
        elif choice < 0.5:
            name = random.getrandbits(16)
            tb.posts.append((self.qp, name, 256 * random.randrange(4)))
        elif not tb.answers:
            kind = random.choice([ACK, ACK, ACK, SEQUENCE_NAK])
            psn = self.psn + random.randrange(-2, 10)
            tb.answers.append((self.qp, kind, 0, psn % PSNS))


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.now = random.getrandbits(60)
        self.qps = dut.Qps.value.to_unsigned()
        self.qp = random.randrange(self.qps)
        self.sent: list[tuple] = []
        self.sent_at: list[int] = []
        self.odds = 1.0
        self.statuses: list[int] = []
        self.completed: list[int] = []
        self.events = dict.fromkeys(EVENTS, 0)
        self.dropped = 0
        self.commands: deque[tuple] = deque()
        self.posts: deque[tuple] = deque()
        self.answers: deque[tuple] = deque()
        self.shown: tuple | None = None
        self.refused = 0
        self.is_noisy = self.qps > 1
        self.noise: list[Noise] = []
        self.taken = 0
        self.names: list[int] = []
        self.others_sent = 0
        self.paced: set[int] = set()
        self.waking: deque[int] = deque()
        self.failed = 0

    async def start(self, **choices: int):
        dut = self.dut
        for name in ("cmd_valid_i", "answer_valid_i", "post_valid_i", "send_room_i"):
            getattr(dut, name).value = 0
        dut.may_send_i.value, dut.wake_valid_i.value = 1, 0
        self.cfg = {"first_psn": random.getrandbits(24), "window": 16, "ack_every": 4, "mtu": 1,
                    "timeout": 4, "retries": 7, "rnr_retries": 7} | choices  # fmt: skip
        dut.time_ns_i.value = self.now
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        # Until then outputs have arbitrary values.
        for _ in range(2):
            await FallingEdge(dut.clk_i)
        await self.run(5)
        dut.rst_i.value = 0
        self.noise = [Noise(self, qp) for qp in range(self.qps) if qp != self.qp]
        await self.command(BEGIN)
        self.sent.clear()

    async def command(self, command: int):
        self.commands.append((command, self.qp, self.cfg))
        while any(it[1] == self.qp for it in self.commands):
            await self.tick()

    async def tick(self):
        dut = self.dut
        self.now = (self.now + CYCLE_NS) % 2**64
        dut.time_ns_i.value = self.now
        if self.is_noisy and self.noise and random.random() < 0.03:
            random.choice(self.noise).act()
        dut.send_room_i.value = int(random.random() < self.odds)
        dut.cmd_valid_i.value = int(bool(self.commands))
        if self.commands:
            command, qp, cfg = self.commands[0]
            dut.cmd_i.value, dut.cmd_qp_i.value = command, qp
            dut.cfg_i.value = pack(QP, **cfg)
        if self.shown is None and self.posts:
            self.shown = self.posts.popleft()
        dut.post_valid_i.value = int(self.shown is not None)
        if self.shown is not None:
            qp, name, size = self.shown
            dut.post_qp_i.value, dut.post_id_i.value = qp, name
            dut.post_len_bytes_i.value = size
        dut.answer_valid_i.value = int(bool(self.answers))
        if self.answers:
            qp, kind, code, psn = self.answers.popleft()
            dut.answer_qp_i.value = qp
            dut.answer_i.value = pack(ANSWER, kind=kind, code=code, psn=psn)
        self.drive_pace()
        await Timer(1, "ns")
        self.look()
        # A QP without room does not hold the others back.
        if self.shown is not None and dut.post_full_o.value == 1:
            self.posts.append(self.shown)
            self.shown = None
        await FallingEdge(dut.clk_i)

    def drive_pace(self):
        """QPs in `paced` may not send; one that may again wakes."""
        dut = self.dut
        dut.may_send_i.value = int(dut.visit_qp_o.value.to_unsigned() not in self.paced)
        dut.wake_valid_i.value = int(bool(self.waking))
        if self.waking:
            dut.wake_qp_i.value = self.waking[0]

    def look(self):
        dut = self.dut
        if dut.send_valid_o.value == 1:
            qp = dut.send_qp_o.value.to_unsigned()
            choice = unpack(CHOICE, dut.send_o.value.to_unsigned())
            if qp == self.qp:
                self.sent.append(((choice[1] - self.cfg["first_psn"]) % PSNS, *choice[2:]))
                self.sent_at.append(self.now)
            else:
                self.others_sent += 1
        if dut.completion_valid_o.value == 1:
            name, status = unpack(COMPLETION, dut.completion_o.value.to_unsigned())
            qp = dut.completion_qp_o.value.to_unsigned()
            if qp == self.qp:
                self.completed.append(name)
                self.statuses.append(status)
            else:
                other = next(it for it in self.noise if it.qp == qp)
                assert name == other.posted.popleft(), "out of order"
        visited = dut.visit_qp_o.value.to_unsigned()
        if visited == self.qp:
            for name in EVENTS:
                self.events[name] += int(getattr(dut, f"ev_{name}_o").value)
        self.dropped += int(dut.ev_dropped_o.value)
        self.failed += int(visited == self.qp and dut.ev_failed_o.value == 1)
        if self.waking and dut.wake_ready_o.value == 1:
            self.waking.popleft()
        if self.shown is not None and dut.post_ready_o.value == 1:
            qp, name, _ = self.shown
            self.shown = None
            if qp == self.qp:
                self.taken += 1
            else:
                next(it for it in self.noise if it.qp == qp).posted.append(name)
        if self.commands and dut.cmd_ready_o.value == 1:
            command, qp, _ = self.commands.popleft()
            self.refused += int(dut.refused_o.value)
            for other in self.noise:
                if other.qp == qp and command != ABORT:
                    other.posted.clear()

    async def run(self, cycles: int):
        for _ in range(cycles):
            await self.tick()

    @property
    def is_full(self) -> bool:
        self.dut.post_qp_i.value = self.qp
        return bool(self.dut.post_full_o.value)

    async def settle(self):
        """Long enough for all that is due, timers too."""
        await self.run(120 if self.qps == 1 else 500)

    async def post(self, count: int, packets: int = 1):
        wanted = self.taken + count
        for _ in range(count):
            self.names.append(random.getrandbits(16))
            self.posts.append((self.qp, self.names[-1], 256 * packets))
        for _ in range(300 * self.qps):
            if self.taken == wanted:
                return
            await self.tick()
        raise AssertionError("a request is not taken")

    async def answer(self, kind: int, seq: int, code: int = 0, wait: int | None = None):
        psn = (self.cfg["first_psn"] + seq) % PSNS
        self.answers.append((self.qp, kind, code, psn))
        while self.answers:
            await self.tick()
        await self.run((12 if self.qps == 1 else 150) if wait is None else wait)

    def took(self) -> list[int]:
        sent, self.sent = self.sent, []
        return [it[0] for it in sent]

    @property
    def done(self) -> int:
        return len(self.completed)


@cocotb.test()
async def only_a_psn_in_flight_is_acknowledged(dut):
    tb = TB(dut)
    await tb.start(first_psn=PSNS - 3, timeout=0)
    await tb.post(8)
    await tb.settle()
    assert tb.took() == list(range(8))
    for seq in (8, 9, 40, PSNS // 2, PSNS // 2 + 5, -1, -2, -17, -40, -5000):
        for kind in (ACK, RNR_NAK, SEQUENCE_NAK, FATAL_NAK):
            await tb.answer(kind, seq)
    assert not tb.done and tb.events["outside"] == 40 and not tb.took()
    for seq, done in ((0, 1), (0, 1), (4, 5), (3, 5), (7, 8), (7, 8)):
        await tb.answer(ACK, seq, wait=300 if tb.qps > 1 else 40)
        assert tb.done == done
    assert tb.events["ack"] == 3 and tb.events["outside"] == 43
    assert tb.completed == tb.names and set(tb.statuses) == {DONE}


@cocotb.test()
async def packets_of_a_request_and_their_ack_requests(dut):
    tb = TB(dut)
    await tb.start(timeout=0, ack_every=3, first_psn=PSNS - 2)
    for size in (0, 8, 256, 264, 512, 5 * 256 + 8):
        tb.posts.append((tb.qp, size, size))
    await tb.settle()
    # Seq, offset, first, last, AckReq.
    single = (0, 1, 1, 1)
    assert tb.sent == [
        (0, *single), (1, *single), (2, *single), (3, 0, 1, 0, 0), (4, 1, 0, 1, 1),
        (5, 0, 1, 0, 0), (6, 1, 0, 1, 1), (7, 0, 1, 0, 0), (8, 1, 0, 0, 0), (9, 2, 0, 0, 1),
        (10, 3, 0, 0, 0), (11, 4, 0, 0, 0), (12, 5, 0, 1, 1),
    ]  # fmt: skip
    tb.sent.clear()
    # The way back begins in the midst of a request, and counts from there on.
    await tb.answer(SEQUENCE_NAK, 8)
    await tb.settle()
    assert tb.sent == [
        (8, 1, 0, 0, 0), (9, 2, 0, 0, 0), (10, 3, 0, 0, 1), (11, 4, 0, 0, 0), (12, 5, 0, 1, 1),
    ]  # fmt: skip
    assert tb.completed == [0, 8, 256, 264, 512] and tb.events["repeat"] == 5


@cocotb.test()
async def places_are_free_when_acknowledged_not_when_sent(dut):
    tb = TB(dut)
    await tb.start(window=8, timeout=0)
    await tb.post(QUEUE)
    await tb.settle()
    assert tb.took() == list(range(8)), "the window holds the others back"
    tb.posts.append((tb.qp, 0, 0))
    await tb.settle()
    assert tb.taken == QUEUE, "no place is free"
    await tb.answer(ACK, 0, wait=300 if tb.qps > 1 else 40)
    assert tb.taken == QUEUE + 1 and tb.done == 1
    await tb.answer(ACK, 2, wait=300 if tb.qps > 1 else 40)
    await tb.post(2)
    tb.posts.append((tb.qp, 0, 0))
    await tb.settle()
    assert tb.took() == [8, 9, 10] and tb.taken == QUEUE + 3


@cocotb.test()
async def a_sequence_nak_goes_back_once(dut):
    tb = TB(dut)
    await tb.start(timeout=0)
    await tb.post(10)
    await tb.settle()
    assert tb.took() == list(range(10))
    await tb.answer(SEQUENCE_NAK, 4, wait=0)
    begin = tb.now
    while not tb.sent:
        await tb.tick()
    cycles = (tb.now - begin) // CYCLE_NS
    dut._log.info("NAK to the first repeated packet: %d cycles", cycles)
    assert cycles <= (40 if tb.qps == 1 else 200)
    await tb.run(20)
    for _ in range(5):
        await tb.answer(SEQUENCE_NAK, 4)
    await tb.post(2)
    await tb.settle()
    assert tb.done == 4
    assert tb.took() == [*range(4, 10), 10, 11], "one repeat, then what is new"
    assert tb.events["sequence_nak"] == 1 and tb.events["copy"] == 5
    # Progress makes the next NAK count; a release in the midst of the repeat shortens it.
    tb.odds = 0.0
    await tb.answer(SEQUENCE_NAK, 6)
    await tb.answer(ACK, 10)
    tb.odds = 1.0
    await tb.settle()
    assert tb.took() == [11] and tb.done == 11
    await tb.answer(ACK, 11)
    await tb.settle()
    assert tb.done == 12 and set(tb.statuses) == {DONE} and tb.completed == tb.names


@cocotb.test()
async def a_way_back_begins_behind_the_completions(dut):
    """The next packet is of the oldest request that is not complete."""
    for delay in range(12):
        tb = TB(dut)
        tb.is_noisy = False
        await tb.start(timeout=0)
        await tb.post(6)
        await tb.settle()
        assert tb.took() == list(range(6))
        tb.odds = 0.0
        await tb.post(2)
        await tb.answer(SEQUENCE_NAK, 4, wait=delay)
        tb.odds = 1.0
        await tb.settle()
        assert tb.completed == tb.names[:4]
        sent = [it[0] for it in tb.sent]
        assert sent[-4:] == [4, 5, 6, 7] and sent[:-4] in ([], [6], [6, 7])
        # Each packet is the only one of its request.
        assert all(it[1:] == (0, 1, 1, 1) for it in tb.sent)


@cocotb.test()
async def rnr_waits_for_its_timer(dut):
    for code in (1, 2, 3, 4, 5, 9, 31, 0):
        tb = TB(dut)
        await tb.start(rnr_retries=7)
        await tb.post(3)
        await tb.settle()
        assert tb.took() == [0, 1, 2]
        await tb.answer(RNR_NAK, 1, code)
        begin, span = tb.now, RNR_10US[code] * 10_000
        await tb.answer(RNR_NAK, 1, code)
        await tb.answer(SEQUENCE_NAK, 1)
        assert tb.done == 1 and tb.events["rnr_nak"] == 1 and tb.events["copy"] == 2
        sent = tb.others_sent
        tb.now += span - (tb.now - begin) - 200 - (0 if tb.qps == 1 else 900)
        await tb.run(12)
        assert not tb.sent, f"code {code}: sent too early"
        await tb.settle()
        assert tb.took()[:2] == [1, 2] and not tb.events["timeout"], f"code {code}"
        assert tb.qps == 1 or tb.others_sent > sent, "others send meanwhile"
        await tb.answer(ACK, 2)


@cocotb.test()
async def what_is_acknowledged_in_the_wait_for_a_receiver_is_not_repeated(dut):
    for kind, seq in ((ACK, 1), (SEQUENCE_NAK, 2)):
        tb = TB(dut)
        await tb.start(timeout=0)
        await tb.post(4)
        await tb.settle()
        assert tb.took() == [0, 1, 2, 3]
        await tb.answer(RNR_NAK, 1, 31)
        await tb.answer(kind, seq)
        await tb.settle()
        assert tb.done == 2 and tb.took() == [2, 3]


@cocotb.test()
async def timeouts_double_and_their_count_ends(dut):
    for timeout, retries in ((1, 2), (5, 0), (14, 7), (31, 1)):
        tb = TB(dut)
        tb.is_noisy = False
        await tb.start(timeout=timeout, retries=retries)
        await tb.post(2)
        while len(tb.sent) < 2:
            await tb.tick()
        assert tb.took() == [0, 1]
        span = 4096 << timeout
        for k in range(retries):
            tb.now = tb.sent_at[-2] + span - 100
            await tb.run(10)
            assert not tb.sent, f"timeout {timeout}: {k} too early"
            while len(tb.sent) < 2:
                await tb.tick()
            assert tb.now - tb.sent_at[-4] < span + 100 + CYCLE_NS * (60 + 16 * tb.qps)
            assert tb.took() == [0, 1] and tb.events["timeout"] == k + 1
        tb.now = tb.sent_at[-2] + span
        await tb.settle()
        assert tb.statuses == [RETRIES_EXCEEDED, FLUSHED] and not tb.sent
        await tb.answer(ACK, 1)
        await tb.post(1)
        await tb.settle()
        assert tb.statuses == [RETRIES_EXCEEDED, FLUSHED, FLUSHED]
        assert tb.failed == 1


@cocotb.test()
async def no_timeout_and_progress_restores_the_counts(dut):
    tb = TB(dut)
    await tb.start(timeout=0, retries=1, rnr_retries=1)
    await tb.post(12)
    await tb.settle()
    tb.now += 1 << 46
    await tb.settle()
    assert tb.took() == list(range(12)) and tb.events["timeout"] == 0
    for seq in range(4):
        await tb.answer(SEQUENCE_NAK, seq + 1)
        await tb.settle()
        await tb.answer(RNR_NAK, seq + 1, 1)
        tb.now += 10_000
        await tb.settle()
        assert set(tb.statuses) == {DONE}
    await tb.answer(RNR_NAK, 4, 1)
    tb.now += 10_000
    await tb.settle()
    assert tb.statuses == [DONE] * 4 + [RNR_RETRIES_EXCEEDED] + [FLUSHED] * 7


@cocotb.test()
async def fatal_naks_and_the_caller_end_it(dut):
    for code, status in ((1, INVALID_REQUEST), (2, REMOTE_ACCESS), (3, REMOTE_OPERATION)):
        tb = TB(dut)
        await tb.start()
        await tb.post(4)
        await tb.settle()
        tb.took()
        await tb.answer(FATAL_NAK, 2, code)
        await tb.settle()
        assert tb.statuses == [DONE, DONE, status, FLUSHED] and not tb.sent
        assert tb.completed == tb.names
    tb = TB(dut)
    await tb.start()
    await tb.command(ABORT)
    await tb.post(2)
    await tb.settle()
    assert tb.statuses == [FLUSHED, FLUSHED] and not tb.sent


@cocotb.test()
async def a_qp_begins_again_with_other_numbers_at_any_time(dut):
    tb = TB(dut)
    await tb.start(timeout=0)
    for _ in range(20):
        await tb.post(random.randrange(1, 6), packets=random.randrange(1, 4))
        await tb.run(random.randrange(40))
        # What waits is for the QP that was, also if the numbers are the same.
        await tb.answer(random.choice([ACK, SEQUENCE_NAK, FATAL_NAK]), 0, 1, wait=0)
        if random.random() < 0.5:
            tb.cfg["first_psn"] = random.getrandbits(24)
        if random.random() < 0.5:
            await tb.command(END)
        await tb.command(BEGIN)
        tb.took()
        tb.completed.clear()
        tb.statuses.clear()
        tb.names.clear()
        await tb.post(3)
        await tb.settle()
        assert tb.took() == [0, 1, 2] and not tb.completed
        await tb.answer(ACK, 2)
        await tb.settle()
        assert tb.completed == tb.names and tb.statuses == [DONE] * 3
    for bad in ({"mtu": 0}, {"mtu": 6}, {"window": 0}, {"window": SLOTS + 1}, {"ack_every": 0},
                {"ack_every": 17}):  # fmt: skip
        tb.is_noisy = False
        refused, cfg = tb.refused, tb.cfg
        tb.cfg = cfg | bad
        await tb.command(BEGIN)
        assert tb.refused == refused + 1
        taken = tb.taken
        tb.posts.append((tb.qp, 0, 0))
        await tb.settle()
        assert tb.taken == taken and not tb.sent, bad
        tb.posts.clear()
        tb.cfg = cfg


@cocotb.test()
async def an_answer_from_before_a_begin_changes_nothing(dut):
    """It waits behind those of other QPs, and a packet with its PSN leaves meanwhile."""
    tb = TB(dut)
    tb.is_noisy = False
    await tb.start(timeout=0)
    await tb.post(1)
    await tb.settle()
    psn = tb.cfg["first_psn"]
    tb.answers.extend((qp, ACK, 0, psn) for qp in range(tb.qps) if qp != tb.qp)
    tb.answers.append((tb.qp, ACK, 0, psn))
    await tb.run(tb.qps)
    if tb.qps == 1:
        await tb.settle()
        assert tb.completed == tb.names
    tb.completed.clear()
    tb.commands.append((BEGIN, tb.qp, tb.cfg))
    tb.posts.append((tb.qp, 77, 8))
    await tb.settle()
    assert tb.took() == [0, 0] and not tb.completed
    await tb.answer(ACK, 0)
    await tb.settle()
    assert tb.completed == [77]


@cocotb.test()
async def answers_8_cycles_apart_are_taken(dut):
    tb = TB(dut)
    tb.is_noisy = False
    await tb.start(timeout=0, first_psn=PSNS - 100)
    tb.odds = 0.7
    for at in range(0, 320, 16):
        await tb.post(16)
        await tb.run(150)
        for seq in range(at, at + 16):
            await tb.answer(ACK, seq, wait=7)
        await tb.run(40)
        assert tb.done == at + 16
    assert tb.took() == list(range(320)) and not tb.dropped and tb.events["ack"] == 320


@cocotb.test()
async def an_ack_that_waits_gives_way_and_a_nak_does_not(dut):
    tb = TB(dut)
    tb.is_noisy = False
    await tb.start(timeout=0)
    await tb.post(16)
    await tb.settle()
    tb.took()
    for seq in range(12):
        await tb.answer(ACK, seq, wait=0)
    assert tb.dropped == 0
    await tb.answer(SEQUENCE_NAK, 12, wait=0)
    for seq in (11, 11, 11):
        await tb.answer(ACK, seq, wait=0)
    await tb.settle()
    assert tb.done == 12 and tb.took() == [12, 13, 14, 15]
    assert tb.events["sequence_nak"] == 1 and tb.dropped >= 1
    for seq in (12, 13, 14, 15):
        await tb.answer(ACK, seq, wait=0)
    await tb.settle()
    assert tb.done == 16 and tb.completed == tb.names


@cocotb.test()
async def qps_take_turns_and_one_that_waits_holds_none_back(dut):
    """Each QP has packets; one waits for its pace, one for its receiver, one for its window."""
    tb = TB(dut)
    tb.is_noisy = False
    await tb.start(timeout=0)
    if tb.qps == 1:
        tb.paced.add(0)
        await tb.post(1)
        await tb.settle()
        assert not tb.sent
        tb.paced.clear()
        tb.waking.append(0)
        await tb.settle()
        assert tb.took() == [0]
        return
    qps = list(range(tb.qps))
    for qp in qps:
        numbers = {"first_psn": 1000 * qp} | ({"window": 2, "ack_every": 2} if qp == 3 else {})
        tb.commands.append((BEGIN, qp, tb.cfg | numbers))
    await tb.run(20 * tb.qps)
    tb.posts.extend((qp, qp, 16 * 256) for qp in qps)
    sent: list[int] = []
    look = tb.look

    def count():
        if dut.send_valid_o.value == 1:
            sent.append(dut.send_qp_o.value.to_unsigned())
        look()

    tb.look = count
    tb.paced.add(5)
    tb.odds = 0.0
    await tb.run(30 * tb.qps)
    tb.odds = 0.1
    while len(sent) < 90:
        await tb.tick()
        # A wake without a reason costs a visit.
        if random.random() < 0.1:
            tb.waking.append(random.choice(qps))
    counts = [sent.count(qp) for qp in qps]
    dut._log.info("%s", counts)
    assert counts[5] == 0 and counts[3] == 2
    rest = [n for qp, n in enumerate(counts) if qp not in (3, 5)]
    assert max(rest) - min(rest) <= 2
    tb.paced.clear()
    tb.waking.append(5)
    tb.odds = 1.0
    await tb.run(6000)
    dut._log.info("%s", [sent.count(qp) for qp in qps])
    assert sorted(sent) == sorted([qp for qp in qps for _ in range(2 if qp == 3 else 16)])


@cocotb.test()
async def a_timeout_is_noticed_while_others_wake_without_end(dut):
    tb = TB(dut)
    tb.is_noisy = False
    await tb.start(timeout=1)
    await tb.post(2)
    while len(tb.sent) < 2:
        await tb.tick()
    tb.now = tb.sent_at[-2] + (4096 << 1)
    for _ in range(60 * tb.qps):
        tb.waking.append(random.choice([qp for qp in range(tb.qps) if qp != tb.qp] or [0]))
        await tb.tick()
    assert tb.events["timeout"] == 1


@pytest.mark.parametrize("qps", [1, 16])
def test_roce_qp(qps):
    run(
        "roce_qp",
        sources=["roce_qp", "turn_queue"],
        test_module="test_roce_qp",
        parameters={"Qps": qps, "Slots": SLOTS, "Queue": QUEUE},
    )

"""roce_qp alone: which PSNs an answer may name, go-back-N, timers and counts (IB 9.7, 9.9)."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from roce_types import (
    ACK,
    ANSWER,
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
)
from runner import run

EVENTS = ("ack", "outside", "sequence_nak", "rnr_nak", "copy", "timeout", "dropped")
CYCLE_NS = 6
# IB 9.7.5.2.8, in units of 10 us.
RNR_10US = [65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
            1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152]  # fmt: skip


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.now = random.getrandbits(60)
        self.sent: list[int] = []
        self.sent_at: list[int] = []
        self.odds = 1.0
        self.failed: list[int] = []
        self.events = dict.fromkeys(EVENTS, 0)
        self.slots = 16

    async def start(self, **choices: int):
        dut = self.dut
        for name in ("run_i", "answer_valid_i", "abort_i", "commit_i", "send_ready_i"):
            getattr(dut, name).value = 0
        self.cfg = {"first_psn": random.getrandbits(24), "window": 16, "ack_every": 4, "mtu": 1,
                    "timeout": 4, "retries": 7, "rnr_retries": 7} | choices  # fmt: skip
        dut.cfg_i.value = pack(QP, **self.cfg)
        dut.time_ns_i.value = self.now
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        await self.run(5)
        dut.rst_i.value, dut.run_i.value = 0, 1
        await self.run(20)
        self.sent.clear()

    async def tick(self):
        dut = self.dut
        self.now = (self.now + CYCLE_NS) % 2**64
        dut.time_ns_i.value = self.now
        dut.send_ready_i.value = int(random.random() < self.odds)
        await Timer(1, "ns")
        if dut.send_valid_o.value == 1 and dut.send_ready_i.value == 1:
            self.sent.append(dut.send_seq_o.value.to_unsigned())
            self.sent_at.append(self.now)
        if dut.fail_o.value == 1:
            self.failed.append(dut.fail_status_o.value.to_unsigned())
        for name in EVENTS:
            self.events[name] += int(getattr(dut, f"ev_{name}_o").value)
        await FallingEdge(dut.clk_i)

    async def run(self, cycles: int):
        for _ in range(cycles):
            await self.tick()

    async def commit(self, count: int):
        for _ in range(count):
            assert self.dut.full_o.value == 0
            self.dut.commit_i.value = 1
            await self.tick()
            self.dut.commit_i.value = 0
            await self.tick()

    async def answer(self, kind: int, seq: int, code: int = 0, wait: int = 12):
        psn = (self.cfg["first_psn"] + seq) % PSNS
        self.dut.answer_i.value = pack(ANSWER, kind=kind, code=code, psn=psn)
        self.dut.answer_valid_i.value = 1
        await self.tick()
        self.dut.answer_valid_i.value = 0
        await self.run(wait)

    def took(self) -> list[int]:
        sent, self.sent = self.sent, []
        return sent

    @property
    def oldest(self) -> int:
        return self.dut.oldest_o.value.to_unsigned()


@cocotb.test()
async def only_a_psn_in_flight_is_acknowledged(dut):
    tb = TB(dut)
    await tb.start(first_psn=PSNS - 3, timeout=0)
    await tb.commit(8)
    await tb.run(60)
    assert tb.took() == list(range(8))
    for seq in (8, 9, 40, PSNS // 2, PSNS // 2 + 5, -1, -2, -17, -40, -5000):
        for kind in (ACK, RNR_NAK, SEQUENCE_NAK, FATAL_NAK):
            await tb.answer(kind, seq)
    assert tb.oldest == 0 and tb.events["outside"] == 40 and not tb.failed and not tb.took()
    for seq, oldest in ((0, 1), (0, 1), (4, 5), (3, 5), (7, 8), (7, 8)):
        await tb.answer(ACK, seq)
        assert tb.oldest == oldest
    assert tb.events["ack"] == 3 and tb.events["outside"] == 43


@cocotb.test()
async def slots_are_free_when_acknowledged_not_when_sent(dut):
    tb = TB(dut)
    await tb.start(window=8, timeout=0)
    await tb.commit(tb.slots)
    await tb.run(100)
    assert tb.took() == list(range(8)), "the window holds the others back"
    assert dut.full_o.value == 1
    await tb.answer(ACK, 2)
    assert dut.full_o.value == 0
    await tb.commit(3)
    await tb.run(60)
    assert tb.took() == [8, 9, 10] and dut.full_o.value == 1


@cocotb.test()
async def a_sequence_nak_goes_back_once(dut):
    tb = TB(dut)
    await tb.start(timeout=0)
    await tb.commit(10)
    await tb.run(60)
    assert tb.took() == list(range(10))
    await tb.answer(SEQUENCE_NAK, 4, wait=0)
    begin = tb.now
    while not tb.sent:
        await tb.tick()
    cycles = (tb.now - begin) // CYCLE_NS
    dut._log.info("NAK to the first repeated packet: %d cycles", cycles)
    assert cycles <= 16 and tb.oldest == 4
    for _ in range(5):
        await tb.answer(SEQUENCE_NAK, 4)
    await tb.commit(2)
    await tb.run(60)
    assert tb.took() == [*range(4, 10), 10, 11], "one repeat, then what is new"
    assert tb.events["sequence_nak"] == 1 and tb.events["copy"] == 5
    # Progress makes the next NAK count; a release in the midst of the repeat shortens it.
    await tb.answer(SEQUENCE_NAK, 6, wait=20)
    await tb.answer(ACK, 10)
    await tb.run(60)
    assert tb.took()[-1] == 11 and tb.oldest == 11
    await tb.answer(ACK, 11)
    await tb.run(100)
    assert tb.oldest == 12 and not tb.failed


@cocotb.test()
async def rnr_waits_for_its_timer(dut):
    for code in (1, 2, 3, 4, 5, 9, 31, 0):
        tb = TB(dut)
        await tb.start(rnr_retries=7)
        await tb.commit(3)
        await tb.run(30)
        assert tb.took() == [0, 1, 2]
        await tb.answer(RNR_NAK, 1, code, wait=9)
        begin, span = tb.now, RNR_10US[code] * 10_000
        await tb.answer(RNR_NAK, 1, code)
        await tb.answer(SEQUENCE_NAK, 1)
        assert tb.oldest == 1 and tb.events["rnr_nak"] == 1 and tb.events["copy"] == 2
        tb.now += span - (tb.now - begin) - 200
        await tb.run(20)
        assert not tb.sent, f"code {code}: sent too early"
        await tb.run(40)
        assert tb.took()[:2] == [1, 2] and not tb.events["timeout"], f"code {code}"
        await tb.answer(ACK, 2)


@cocotb.test()
async def what_is_acknowledged_in_the_wait_for_a_receiver_is_not_repeated(dut):
    for kind, seq in ((ACK, 1), (SEQUENCE_NAK, 2)):
        tb = TB(dut)
        await tb.start(timeout=0)
        await tb.commit(4)
        await tb.run(40)
        assert tb.took() == [0, 1, 2, 3]
        await tb.answer(RNR_NAK, 1, 31, wait=40)
        await tb.answer(kind, seq, wait=60)
        assert tb.oldest == 2 and tb.took() == [2, 3]


@cocotb.test()
async def timeouts_double_and_their_count_ends(dut):
    for timeout, retries in ((1, 2), (5, 0), (14, 7), (31, 1)):
        tb = TB(dut)
        await tb.start(timeout=timeout, retries=retries)
        await tb.commit(2)
        await tb.run(20)
        assert tb.took() == [0, 1]
        span = 4096 << timeout
        for k in range(retries):
            tb.now = tb.sent_at[-2] + span - 100
            await tb.run(10)
            assert not tb.sent, f"timeout {timeout}: {k} too early"
            await tb.run(40)
            assert tb.took() == [0, 1] and tb.events["timeout"] == k + 1
        tb.now = tb.sent_at[-2] + span
        await tb.run(20)
        assert tb.failed == [RETRIES_EXCEEDED] and not tb.sent
        await tb.answer(ACK, 1)
        assert tb.oldest == 0 and dut.is_running_o.value == 0


@cocotb.test()
async def no_timeout_and_progress_restores_the_counts(dut):
    tb = TB(dut)
    await tb.start(timeout=0, retries=1, rnr_retries=1)
    await tb.commit(12)
    await tb.run(60)
    tb.now += 1 << 46
    await tb.run(50)
    assert tb.took() == list(range(12)) and not tb.failed
    for seq in range(4):
        await tb.answer(SEQUENCE_NAK, seq + 1)
        await tb.run(80)
        await tb.answer(RNR_NAK, seq + 1, 1)
        tb.now += 10_000
        await tb.run(80)
        assert not tb.failed
    await tb.answer(RNR_NAK, 4, 1)
    tb.now += 10_000
    await tb.run(80)
    assert tb.failed == [RNR_RETRIES_EXCEEDED]


@cocotb.test()
async def fatal_naks_and_the_caller_end_it(dut):
    for code, status in ((1, INVALID_REQUEST), (2, REMOTE_ACCESS), (3, REMOTE_OPERATION)):
        tb = TB(dut)
        await tb.start()
        await tb.commit(4)
        await tb.run(40)
        tb.took()
        await tb.answer(FATAL_NAK, 2, code)
        await tb.run(40)
        assert tb.failed == [status] and tb.oldest == 2 and not tb.sent
    tb = TB(dut)
    await tb.start()
    dut.abort_i.value = 1
    await tb.run(1)
    dut.abort_i.value = 0
    await tb.commit(2)
    await tb.run(40)
    assert tb.failed == [FLUSHED] and not tb.sent


@cocotb.test()
async def an_answer_every_8_cycles_is_taken(dut):
    tb = TB(dut)
    await tb.start(timeout=0, first_psn=PSNS - 100)
    tb.odds = 0.7
    for at in range(0, 320, 16):
        await tb.commit(16)
        await tb.run(100)
        for seq in range(at, at + 16):
            await tb.answer(ACK, seq, wait=7)
        await tb.run(12)
        assert tb.oldest == at + 16
    assert tb.took() == list(range(320)) and not tb.events["dropped"]


@cocotb.test()
async def an_ack_that_waits_gives_way_and_a_nak_does_not(dut):
    tb = TB(dut)
    await tb.start(timeout=0)
    await tb.commit(16)
    await tb.run(100)
    tb.took()
    for seq in range(12):
        await tb.answer(ACK, seq, wait=0)
    assert tb.events["dropped"] == 0
    await tb.answer(SEQUENCE_NAK, 12, wait=0)
    for seq in (11, 11, 11):
        await tb.answer(ACK, seq, wait=0)
    await tb.run(40)
    assert tb.oldest == 12 and tb.took() == [12, 13, 14, 15]
    assert tb.events["sequence_nak"] == 1 and tb.events["dropped"] >= 1
    for seq in (12, 13, 14, 15):
        await tb.answer(ACK, seq, wait=0)
    await tb.run(20)
    assert tb.oldest == 16


def test_roce_qp():
    run(
        "roce_qp",
        sources=["roce_qp", "window", "nack_walker"],
        test_module="test_roce_qp",
        parameters={"Slots": 16},
    )

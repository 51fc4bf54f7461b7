"""The paces of the queue pairs of roce_requester: each keeps to its own rate, CNPs cut that of
their QP alone, at most once in D, whatever floods."""

import random

import cocotb
import pytest
from roce_types import BEGIN, RATE_STATUS, framed, roce, unpack
from runner import run
from test_roce_requester import CYCLE_NS, LINE, SOURCES, TB, US, WIRE_BYTES, Connection

MESSAGE = 1024
DCQCN = 2


def of_line(tb: TB, share: float) -> int:
    """A share of the line in 2^-16 bytes a ns."""
    return int(LINE[tb.beat] * share * 65_536)


def cnp(connection: Connection, **bth: int) -> bytes:
    header = {**roce.BTH, "destination": connection.cfg["local_qp"], "psn": 0, "becn": 1} | bth
    return framed(roce.bth(roce.CNP, header, 0) + bytes(16), connection.peer, US, tos=0xC0)


class Pace:
    """Queue pairs that always have a message to send, and what each has sent of the wire."""

    def __init__(self, dut, **rates: int):
        self.tb = TB(dut)
        tb = self.tb
        tb.rates = {
            "rate_mode": DCQCN, "gain_shift": 8, "recovery_stages": 5,
            "alpha_period_ns": (1 << 20) - 1, "rise_period_ns": (1 << 20) - 1,
            "cut_interval_ns": 2000, "rise_bytes": (1 << 26) - 1, "rate_minimum": 82,
            "rate_start": of_line(tb, 1), "rate_first_cut": of_line(tb, 1),
            "rate_line": of_line(tb, 1), "pace_burst_ns": 20_000,
        } | rates  # fmt: skip
        self.all: list[Connection] = []
        self.posted: dict[int, int] = {}

    async def start(self, count: int):
        tb = self.tb
        await tb.start()
        tb.wire.is_paced = True
        self.all = [tb.main, *(tb.add(qp) for qp in range(tb.qps) if qp != tb.main.qp)][:count]
        for it in self.all:
            it.begin(tb.base, timeout=0, window=64)
            tb.posts.commands.append((BEGIN, it))
            self.posted[it.qp] = 0
        await tb.bench.until(lambda: not tb.posts.commands)

    async def run(self, span_ns: float):
        tb = self.tb
        end = tb.bench.now + span_ns / CYCLE_NS[tb.beat]
        while tb.bench.now < end:
            for it in self.all:
                # More than leaves between two looks.
                while self.posted[it.qp] - len(it.completions) < 8:
                    self.posted[it.qp] += 1
                    tb.posts.queue.append((it.qp, it.request(MESSAGE, True, False)))
            await tb.bench.run(200)

    async def sent(self, span_ns: float) -> dict[int, float]:
        """Wire bytes of each QP in a span, by frames that begin in it."""
        tb = self.tb
        begin, at = tb.bench.now, len(tb.wire.frames)
        await self.run(span_ns)
        self.span_ns = (tb.bench.now - begin) * CYCLE_NS[tb.beat]
        sent = dict.fromkeys(self.posted, 0.0)
        numbers = {it.cfg["remote_qp"]: it.qp for it in self.all}
        for frame, _ in tb.wire.frames[at:]:
            qp = numbers[int.from_bytes(frame[47:50], "big")]
            sent[qp] += len(frame) + WIRE_BYTES
        return sent

    async def rate(self, qp: int) -> int:
        dut = self.tb.dut
        dut.rate_qp_i.value = qp
        await self.tb.bench.run(40 * self.tb.qps + 100)
        return unpack(RATE_STATUS, dut.rate_o.value.to_unsigned())[0]

    def check(self, sent: float, rate: int):
        """1 % and a frame, at either end of the span."""
        allowed = rate * self.span_ns / 65_536
        assert abs(sent - allowed) < 0.01 * allowed + MESSAGE, (sent, allowed)


@cocotb.test()
async def marks_for_one_queue_pair_leave_the_others_as_they_are(dut):
    pace = Pace(dut)
    tb = pace.tb
    pace.tb.rates["rate_start"] = of_line(tb, 0.4)
    await pace.start(2)
    marked, other = pace.all
    start = tb.rates["rate_start"]
    await pace.run(30_000)
    sent = await pace.sent(100_000)
    for it in pace.all:
        pace.check(sent[it.qp], start)
    for cuts in range(1, 4):
        tb.receive.queue.append((0, cnp(marked)))
        await pace.run(20_000)
        rate = await pace.rate(marked.qp)
        assert await pace.rate(other.qp) == start and tb.posts.events["cut"] == cuts
        assert rate < start * (0.9 if cuts == 1 else 0.5)
        sent = await pace.sent(100_000)
        dut._log.info("after %d cuts: %s of %.0f bytes", cuts, sent, start * pace.span_ns / 65_536)
        pace.check(sent[marked.qp], rate)
        pace.check(sent[other.qp], start)
    # The next connection of the QP starts its flow.
    tb.posts.queue.clear()
    marked.begin(tb.base, timeout=0, window=64)
    pace.posted[marked.qp] = 0
    tb.receive.queue.clear()
    await tb.command(BEGIN, marked)
    await pace.run(30_000)
    assert await pace.rate(marked.qp) == start
    pace.check((await pace.sent(100_000))[marked.qp], start)


@cocotb.test()
async def a_flood_of_notifications_cuts_once_in_an_interval(dut):
    pace = Pace(dut)
    tb = pace.tb
    interval, minimum = 10_000, of_line(tb, 1 / 64)
    start = of_line(tb, 0.4)
    tb.rates |= {"cut_interval_ns": interval, "rate_minimum": minimum, "rate_start": start}
    await pace.start(3)
    victim, broken, other = pace.all
    stranger = Connection(0, b"", 8)
    stranger.begin(tb.base + tb.qps)
    await pace.run(20_000)
    # None of these is for a queue pair: they change nothing.
    for _ in range(100):
        frame = bytearray(cnp(broken))
        frame[random.randrange(47, len(frame))] ^= 1 << random.randrange(8)
        wrong = [bytes(frame), cnp(stranger), cnp(broken, destination=tb.base - 1)]
        wrong.append(cnp(broken, p_key=0x7FFF))
        tb.receive.queue += [(0, it) for it in wrong]
    await pace.run(10_000)
    await tb.bench.until(lambda: not tb.receive.queue)
    assert tb.posts.events["cut"] == 0 and tb.posts.events["cnp"] == 0
    # A flood for one, and seldom one for another: it is not lost.
    begun = tb.bench.now
    for n in range(2000):
        tb.receive.queue.append((0, cnp(broken if n == 1000 else victim)))
    await tb.bench.until(lambda: not tb.receive.queue)
    span = (tb.bench.now - begun) * CYCLE_NS[tb.beat]
    await tb.bench.run(300)
    cuts = tb.posts.events["cut"] - 1
    dut._log.info("%d cuts in %d ns", cuts, span)
    assert span / interval - 2 <= cuts <= span / interval + 1
    assert await pace.rate(victim.qp) == minimum
    assert await pace.rate(broken.qp) < 0.6 * start and await pace.rate(other.qp) == start
    await pace.run(20_000)
    sent = await pace.sent(200_000)
    pace.check(sent[victim.qp], minimum)
    pace.check(sent[other.qp], start)


@cocotb.test()
async def all_queue_pairs_share_the_line_at_their_rates(dut):
    """Together 96 % of the line."""
    pace = Pace(dut)
    tb = pace.tb
    tb.rates["rate_start"] = of_line(tb, 0.96 / tb.qps)
    await pace.start(tb.qps)
    await pace.run(50_000)
    sent = await pace.sent(150_000)
    for total in sent.values():
        pace.check(total, tb.rates["rate_start"])
    # Now half of them are cut, and the others keep theirs.
    half = pace.all[::2]
    for it in half:
        tb.receive.queue.append((0, cnp(it)))
    await pace.run(30_000)
    sent = await pace.sent(150_000)
    for it in pace.all:
        rate = await pace.rate(it.qp)
        assert (rate < 0.6 * tb.rates["rate_start"]) == (it in half)
        pace.check(sent[it.qp], rate)


@pytest.mark.parametrize("width", [64, pytest.param(512, marks=pytest.mark.full)])
@pytest.mark.parametrize("qps", [16, pytest.param(3, marks=pytest.mark.full)])
def test_roce_pace(width, qps):
    run(
        "roce_requester_tb",
        sources=SOURCES,
        test_module="test_roce_pace",
        parameters={"W": width, "Qps": qps},
    )

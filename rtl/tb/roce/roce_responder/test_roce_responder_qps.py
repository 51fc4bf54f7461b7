"""roce_responder with several queue pairs: requests of all come interleaved, each QP against a
model of its own; gaps, failures, ends and marks of one change nothing of another."""

import random
from collections import deque

import cocotb
import pytest
from network import Peer
from roce_ports import Receives
from roce_requests import ACK, BOUNDS, KEY, SEQUENCE_ERROR, Model, Request
from roce_types import (
    PSNS,
    RECEIVE,
    RECEIVE_FLUSHED,
    REGION,
    RESPONDER,
    RESPONSE,
    pack,
    roce,
    unpack,
)
from runner import run
from test_roce_responder import (
    EVENTS,
    HOST,
    MTUS,
    QP,
    REGION_BYTES,
    SOURCES,
    TB,
    US,
    Answers,
    packets,
    traffic,
)

QPS = 4
# Where these have no QP of the visit.
BESIDE = {"no_room", "marked", "cnp"}


class Ends(Answers):
    """Answers and events of each QP."""

    def __init__(self, dut):
        super().__init__(dut)
        self.given: list[list] = [[] for _ in range(QPS)]
        self.events: list[list[str]] = [[] for _ in range(QPS)]
        self._offered: int | None = None

    def after(self, now: int):
        dut = self.dut
        if dut.response_valid_o.value == 1:
            self.last_event = now
            qp = dut.response_qp_o.value.to_unsigned()
            assert self._offered in (None, qp), "an answer's QP changed before it was taken"
            self._offered = None if self._is_ready else qp
            if self._is_ready:
                is_cnp, *fields = unpack(RESPONSE, dut.response_o.value.to_unsigned())
                self.given[qp].append("cnp" if is_cnp else tuple(fields))
        else:
            self._offered = None
        events = dut.events_o.value.to_unsigned()
        names = [name for bit, name in enumerate(EVENTS) if events >> bit & 1]
        self.seen += names
        assert dut.rx_events_o.value == 0
        if events:
            self.last_event = now
            qp = dut.ev_qp_o.value.to_unsigned()
            self.events[qp] += [name for name in names if name not in BESIDE]
        if dut.wr_valid_o.value == 1 or dut.completion_valid_o.value == 1:
            self.last_event = now


class Requests(Receives):
    """Offers receive requests of the QPs by turns; the completions of each."""

    def __init__(self, dut):
        super().__init__(dut, "completion")
        self.waiting = [deque() for _ in range(QPS)]
        self.of: list[list[tuple]] = [[] for _ in range(QPS)]
        self._qp = 0

    def drive(self):
        # Not a QP more than once while another one waits.
        turns = [(self._qp + n) % QPS for n in range(1, QPS + 1)]
        self._qp = next((qp for qp in turns if self.waiting[qp]), self._qp)
        self.dut.receive_qp_i.value = self._qp
        self.queue = self.waiting[self._qp]
        super().drive()
        if self.queue:
            name, address, size = self.queue[0]
            self.dut.receive_i.value = pack(RECEIVE, id=name, address=address, len_bytes=size)

    def after(self, now: int):
        count = len(self.completions)
        qp = self.dut.completion_qp_o.value.to_unsigned()
        super().after(now)
        for done in self.completions[count:]:
            self.of[qp].append(done)


class Connection:
    """A QP: its peer, its region, the model of it."""

    def __init__(self, tb: "Many", number: int):
        self.tb, self.number, self.beat = tb, number, tb.beat
        self.peer = Peer(HOST.mac ^ number, HOST.ip ^ number << 8, HOST.port)
        self.address = number << 40 | random.getrandbits(20)
        self.key, self.mtu = random.getrandbits(32), random.choice([1, 2])
        self.model: Model | None = None
        self.wanted: list[str] = []
        self.msn: dict[int, int] = {}  # by the expected PSN

    def next(self, opcode: int, payload: bytes = b"", *, skip: int = 0, **fields) -> Request:
        fields = {"address": self.address, "key": self.key} | fields
        return Request(opcode, (self.model.psn + skip) % PSNS, payload, **fields)

    def write(self, data: bytes = b"12345678", **fields) -> Request:
        return self.next(roce.WRITE_ONLY, data, **fields)

    def put(self, request: Request):
        frame = request.frame(self.peer, US, QP + self.number).ljust(60, b"\0")
        self.tb.receive.queue.append(frame)

    def post(self, address: int, size: int):
        self.tb.ids += 1
        request = (self.tb.ids % (1 << 16), address, size)
        self.tb.receives.waiting[self.number].append(request)
        self.model.receives.append(request)
        if self.model.fault is not None:
            self.model.flush()

    @property
    def events(self) -> list[str]:
        return self.tb.answers.events[self.number]

    @property
    def given(self) -> list:
        return self.tb.answers.given[self.number]

    @property
    def completions(self) -> list[tuple]:
        return self.tb.receives.of[self.number]


class Many(TB):
    def __init__(self, dut):
        super().__init__(dut)
        self.receives, self.answers = Requests(dut), Ends(dut)
        self.bench.parts[:] = [self.receive, self.memory, self.receives, self.answers]
        self.qps = [Connection(self, number) for number in range(QPS)]
        self.running = self.rights = 0

    async def connect(self, **choices):
        """Begins all, when TB.start has reset the module."""
        self.dut.self_i.value, self.dut.local_qp_i.value = US.packed(), QP
        self.qp = QP
        for it in self.qps:
            await self.begin(it, **choices)

    async def end(self, it: Connection):
        self.running &= ~(1 << it.number)
        self.dut.run_i.value = self.running
        await self.bench.run(4)
        self.receives.waiting[it.number].clear()
        for log in (it.events, it.wanted, it.given, it.completions):
            log.clear()
        if it.model is not None:
            for at in it.model.memory:
                self.memory.bytes.pop(at, None)

    async def begin(self, it: Connection, *, psn: int | None = None, cnp_interval: int = 0,
                    size: int = REGION_BYTES):  # fmt: skip
        """Ends a connection and begins the next."""
        await self.end(it)
        psn = random.choice([random.getrandbits(24), PSNS - 3]) if psn is None else psn
        timer = it.number
        self.dut.peer_ip_i.value = it.peer.ip
        self.dut.cfg_i.value = pack(RESPONDER, first_psn=psn, mtu=it.mtu, rnr_timer=timer,
                                    cnp_interval_ns=cnp_interval)  # fmt: skip
        self.dut.region_i.value = pack(REGION, key=it.key, address=it.address,
                                       len_bytes=size)  # fmt: skip
        self.rights |= 1 << it.number
        self.dut.may_write_i.value = self.rights
        it.model = Model(psn, MTUS[it.mtu], timer, it.key, it.address, size)
        it.msn = {psn: 0}
        self.running |= 1 << it.number
        self.dut.run_i.value = self.running
        # The numbers are read in one cycle.
        await self.bench.run(1)
        self.dut.cfg_i.value = self.dut.region_i.value = self.dut.peer_ip_i.value = 0
        await self.bench.run(3)

    async def settle(self, limit: int = 100_000):
        """Longer than a frame takes that is passed over."""
        await super().settle(limit)
        await self.bench.run(100)

    def is_failed(self, it: Connection) -> bool:
        return bool(self.dut.is_failed_o.value.to_unsigned() >> it.number & 1)

    def compare(self):
        written = {at: byte for it in self.qps for at, byte in it.model.memory.items()}
        assert self.memory.bytes == written
        for it in self.qps:
            assert it.completions == it.model.completions
            assert self.is_failed(it) == (it.model.fault is not None)

    def give(self, it: Connection, request: Request):
        """A packet, which the model of its QP takes too."""
        it.wanted.append(it.model.take(request))
        it.msn[it.model.psn] = it.model.msn
        it.put(request)

    async def check(self):
        """All that comes of the packets is as the models have it."""
        await self.settle()
        assert "no_room" not in self.answers.seen
        for it in self.qps:
            assert it.events == it.wanted, (it.number, it.events, it.wanted)
            answers = [answer for answer in it.given if answer != "cnp"]
            released = [(psn + (syndrome == ACK)) % PSNS for psn, syndrome, _ in answers]
            assert [it.msn[psn] for psn in released] == [msn for _, _, msn in answers]
            due = it.model.answer()
            assert (due is None) == (not answers)
            if due is not None:
                assert due[1] == ACK or due in answers
            for log in (it.events, it.wanted, it.given):
                log.clear()
        self.compare()


@cocotb.test()
async def requests_of_all_come_interleaved(dut):
    tb = Many(dut)
    await tb.start()
    for number in range(60 if cocotb.plusargs.get("all") else 8):
        for it in tb.qps:
            if it.model.fault is not None or random.random() < 0.1:
                await tb.begin(it, size=5_000)
        tb.memory.odds, tb.receives.odds, tb.answers.odds = (
            random.choice([0.2, 0.6, 1.0]) for _ in range(3)
        )
        tb.receive.odds = random.choice([odds for odds in (0.2, 0.6, 1) if odds <= tb.memory.odds])
        for it in tb.qps:
            # A second one, which is offered by turns, may come behind its packet at 512 bits, or
            # where it is not offered in each cycle.
            for _ in range(random.randrange(3)):
                if (tb.beat == 8 and tb.receives.odds == 1.0) or not it.model.receives:
                    it.post(it.address + random.randrange(3000), random.choice([100, 500, 1500]))
        # Each has its first receive request ahead of its packets.
        await tb.bench.until(
            lambda: all(
                len(tb.receives.waiting[it.number]) < max(1, len(it.model.receives))
                for it in tb.qps
            )
        )
        left = {it: traffic(it) for it in random.sample(tb.qps, 1 + number % QPS)}
        # Never so many that the store has no room.
        for _ in range(28):
            if left:
                it = random.choice(list(left))
                request = next(left[it], None)
                if request is None:
                    del left[it]
                else:
                    tb.give(it, request)
        await tb.check()


@cocotb.test()
async def a_gap_is_of_its_queue_pair(dut):
    tb = Many(dut)
    await tb.start()
    gapped, whole, _, other = random.sample(tb.qps, QPS)
    tb.give(gapped, gapped.write())
    for skip in (1, 2):
        tb.give(gapped, gapped.write(skip=skip))
        tb.give(whole, whole.write())
        tb.give(other, other.next(roce.SEND_ONLY, b"1"))
    await tb.bench.until(lambda: not tb.receive.queue)
    await tb.bench.run(100)
    assert gapped.events == ["packet", "gap", "gap"] and whole.events == ["packet"] * 2
    assert other.events == ["not_ready"] * 2
    assert gapped.given[-1][1] == SEQUENCE_ERROR and whole.given[-1][1] == ACK
    await tb.check()
    # The same PSN, and a message of two packets with packets of another one between.
    for it in (gapped, whole):
        await tb.begin(it, psn=7)
    parts = {it: deque(packets(it, True, it.model.mtu + 9, immediate=False, address=it.address + 5))
             for it in (gapped, whole)}  # fmt: skip
    for _ in range(2):
        for it in (gapped, whole):
            tb.give(it, parts[it].popleft())
    await tb.check()


@cocotb.test()
async def a_failure_flushes_its_queue_pair_alone(dut):
    tb = Many(dut)
    await tb.start()
    victim, aborted, *others = random.sample(tb.qps, QPS)
    for it in tb.qps:
        it.post(it.address, 600)
    await tb.bench.run(20)
    tb.give(victim, victim.next(roce.SEND_FIRST, bytes(victim.model.mtu)))
    tb.give(others[0], others[0].write())
    tb.give(victim, victim.next(roce.SEND_MIDDLE, b""))
    tb.give(others[1], others[1].write())
    await tb.check()
    assert tb.is_failed(victim) and len(victim.completions) == 1
    dut.abort_i.value = 1 << aborted.number
    await tb.bench.run(1)
    dut.abort_i.value = 0
    await tb.bench.until(lambda: aborted.completions)
    assert aborted.completions[0][1] == RECEIVE_FLUSHED and tb.is_failed(aborted)
    for it in others:
        assert not tb.is_failed(it) and not it.completions
    await tb.begin(aborted)
    # The key of another one's region, and its address.
    a, b = others
    tb.give(a, a.write(key=b.key, address=b.address))
    tb.give(b, b.write(address=a.address))
    tb.give(aborted, aborted.write())
    tb.give(victim, victim.write())
    assert (a.model.fault, b.model.fault) == (KEY, BOUNDS)
    await tb.check()


@cocotb.test()
async def frames_that_wait_when_their_queue_pair_ends_are_dropped(dut):
    tb = Many(dut)
    await tb.start()
    for _ in range(4):
        ended, stays, *_ = random.sample(tb.qps, QPS)
        tb.memory.odds = 0.0
        tb.give(stays, stays.write())
        psn = ended.model.psn
        for _ in range(5):
            ended.put(ended.write())  # duplicates, but for the first one
            tb.give(stays, stays.write())
        await tb.bench.until(lambda: not tb.receive.queue)
        await tb.bench.run(60)
        assert not ended.events and stays.events == ["packet"]
        # Its PSN is the same: the frames would count.
        await tb.begin(ended, psn=psn)
        tb.give(ended, ended.next(roce.SEND_ONLY, b"1"))
        tb.memory.odds = 1.0
        await tb.check()


@cocotb.test()
async def marks_of_two_queue_pairs_make_two_notifications(dut):
    tb = Many(dut)
    interval, now = 50_000, 1 << 46
    await tb.start(cnp_interval=interval)
    dut.time_ns_i.value = now
    first, second, third, _ = random.sample(tb.qps, QPS)
    for _ in range(3):
        for it, tos in ((first, 3), (third, 2), (second, 3)):
            tb.give(it, it.write(tos=tos))
    await tb.bench.until(lambda: not tb.receive.queue)
    await tb.bench.run(100)
    assert [it.given.count("cnp") for it in (first, second, third)] == [1, 1, 0]
    assert tb.answers.seen.count("marked") == 6
    await tb.check()
    # One begins again: its interval and its mark are forgotten, the other's stand.
    await tb.begin(first, cnp_interval=interval)
    tb.give(first, first.write(tos=3))
    tb.give(second, second.write(tos=3))
    await tb.bench.until(lambda: not tb.receive.queue)
    await tb.bench.run(100)
    assert (first.given.count("cnp"), second.given.count("cnp")) == (1, 0)
    await tb.check()
    dut.time_ns_i.value = now + interval
    await tb.bench.run(100)
    assert (first.given.count("cnp"), second.given.count("cnp")) == (0, 1)


@cocotb.test()
async def packets_at_the_rate_of_the_line_are_all_executed(dut):
    tb = Many(dut)
    await tb.start()
    tb.receive.is_paced = True
    size, count = 8 if tb.beat == 8 else 256, 200
    for number in range(count):
        it = tb.qps[number % QPS] if number < 100 else random.choice(tb.qps)
        tb.give(it, it.write(bytes(size)))
    await tb.settle()
    assert tb.answers.seen == ["packet"] * count
    for it in tb.qps:
        it.model.answer()
    tb.compare()


@pytest.mark.parametrize("width", [64, pytest.param(512, marks=pytest.mark.full)])
@pytest.mark.parametrize("is_all", [False, pytest.param(True, marks=pytest.mark.full)])
def test_roce_responder_qps(width, is_all):
    run(
        "roce_responder_tb",
        sources=SOURCES,
        test_module="test_roce_responder_qps",
        parameters={"W": width, "Qps": QPS},
        plusargs=["+all"] if is_all else [],
    )

"""roce_requester, with one QP and 16, against responders in Python: loss both ways, gaps, RNR,
silence, PSNs that wrap, failures; QPs that break and begin again while others run; throughput and
latency."""

import random
from collections import deque
from functools import cache

import cocotb
import pytest
from axis import Bench, Sink
from cocotb.clock import Clock
from network import Peer
from roce_responder import Responder
from roce_types import (
    ABORT,
    BEGIN,
    DONE,
    END,
    FLUSHED,
    PSNS,
    QP,
    RATE,
    REMOTE_ACCESS,
    RETRIES_EXCEEDED,
    WORK_REQUEST,
    pack,
)
from runner import run

US = Peer(mac=0x02A1B2C3D4E5, ip=0xC0A80A02, port=0xC123)
HOST = Peer(mac=0x98F2B3010203, ip=0xC0A80A63, port=4791)
EVENTS = ("packet", "repeat", "ack", "outside", "sequence_nak", "rnr_nak", "copy", "timeout",
          "dropped", "cnp", "cut")  # fmt: skip
# By a beat's bytes: the cycle of the clock in ns, the line's bytes a ns, a window for a round trip
# of 20 us at a path MTU of 256; messages of 64 KiB, and how many of them complete before the last
# one has left.
CYCLE_NS = {8: 6.4, 64: 1000 / 322.265625}
LINE = {8: 1.25, 64: 12.5}
WINDOW = {8: 120, 64: 1000}
MESSAGES = {8: (4, 2), 64: (8, 3)}
# Preamble, frame check sequence and gap.
WIRE_BYTES = 24
MTUS = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}


OF_SEVERAL = ["queue_pairs_break_and_begin_again_while_others_run", "queue_pairs_share_the_wire"]

_FILLED: set[int] = set()


@cache
def contents(size: int) -> bytes:
    return random.randbytes(size)


class Wire(Sink):
    """A MAC at the rate of the line: it is not ready for as long as the wire is taken by what came,
    and by what surrounds a frame. Time without a beat is lost."""

    def __init__(self, dut):
        super().__init__(dut, "m_axis")
        self.is_paced = False
        self.cycle_bytes = CYCLE_NS[self.size] * LINE[self.size]
        self._debt = 0.0

    def drive(self):
        super().drive()
        self._debt = max(self._debt, 0.0) - self.cycle_bytes
        if self.is_paced and self._debt > 0:
            self._is_ready = False
            self.ready.value = 0

    def after(self, now: int):
        done, begun = len(self.frames), len(self._part)
        super().after(now)
        if len(self.frames) > done:
            self._debt += len(self.frames[-1][0]) - begun + WIRE_BYTES
        else:
            self._debt += len(self._part) - begun


class Receive:
    """Frames to the requester, each not before its cycle."""

    def __init__(self, dut):
        self.dut, self.now, self._at = dut, 0, 0
        self.beat = len(dut.data_i) // 8
        self.queue: deque[tuple[int, bytes]] = deque()
        self.done: list[int] = []

    def drive(self):
        self.now += 1
        is_due = bool(self.queue) and (self._at > 0 or self.queue[0][0] <= self.now)
        self.dut.valid_i.value = int(is_due)
        if is_due:
            frame = self.queue[0][1]
            part = frame[self._at : self._at + self.beat]
            self._at += self.beat
            is_last = self._at >= len(frame)
            self.dut.last_i.value, self.dut.count_i.value = int(is_last), len(part)
            self.dut.data_i.value = int.from_bytes(part.ljust(self.beat, b"\0"), "little")
            if is_last:
                self.queue.popleft()
                self._at = 0
                self.done.append(self.now)

    def after(self, now: int):
        pass


class Connection:
    """A QP and its far end: what was posted, and what came of it."""

    def __init__(self, qp: int, memory: bytes, beat: int):
        self.qp, self.memory, self.beat = qp, memory, beat
        self.peer = Peer(mac=HOST.mac ^ qp, ip=HOST.ip ^ qp << 12, port=4791)
        self.cfg: dict[str, int] = {}
        self.responder: Responder | None = None
        self.expected: list[tuple] = []
        self.ids: list[int] = []
        self.completions: list[tuple[int, int]] = []
        self.completed: list[int] = []

    def begin(self, base: int, **choices: int):
        self.cfg = {
            "local_qp": base + self.qp, "remote_qp": random.randrange(2, PSNS),
            "first_psn": random.getrandbits(24), "window": 64, "ack_every": 16, "mtu": 1,
            "timeout": 6, "retries": 7, "rnr_retries": 7,
        } | choices  # fmt: skip
        for log in (self.expected, self.ids, self.completions, self.completed):
            log.clear()
        self.responder = Responder(
            self.peer, US, qp=self.cfg["remote_qp"], peer_qp=self.cfg["local_qp"],
            psn=self.cfg["first_psn"], mtu=MTUS.get(self.cfg["mtu"], 256),
        )  # fmt: skip

    def request(self, size: int, write: bool | None, immediate: bool | None) -> int:
        """A random request of a size; what is expected of it is kept."""
        is_write = random.random() < 0.6 if write is None else write
        has_immediate = random.random() < 0.5 if immediate is None else immediate
        addr = self.beat * random.randrange((len(self.memory) - size) // self.beat + 1)
        fields = {
            "id": random.getrandbits(16), "is_write": int(is_write),
            "is_solicited": random.getrandbits(1), "has_immediate": int(has_immediate),
            "immediate": random.getrandbits(32), "remote_address": random.getrandbits(64),
            "rkey": random.getrandbits(32), "addr": addr, "len_bytes": size,
        }  # fmt: skip
        self.ids.append(fields["id"])
        solicited = bool(fields["is_solicited"]) and (has_immediate or not is_write)
        self.expected.append((
            is_write, self.memory[addr : addr + size],
            fields["remote_address"] if is_write else None, fields["rkey"] if is_write else 0,
            fields["immediate"] if has_immediate else None, solicited,
        ))  # fmt: skip
        return pack(WORK_REQUEST, **fields)

    def check(self):
        """All that was posted is done, once, in order, and as it was in memory."""
        assert self.completions == [(name, DONE) for name in self.ids]
        assert self.responder is not None
        assert len(self.responder.messages) == len(self.expected)
        for got, want in zip(self.responder.messages, self.expected, strict=True):
            assert got == want


class Posts:
    """Commands and work requests, each in order; collects completions and events."""

    def __init__(self, dut):
        self.dut = dut
        self.connections: dict[int, Connection] = {}
        self.queue: deque[tuple[int, int]] = deque()
        self.commands: deque[tuple[int, Connection]] = deque()
        self.accepted: list[int] = []
        self.rejected = self.refused = 0
        self.events = dict.fromkeys(EVENTS, 0)
        self.is_shown = False

    def drive(self):
        dut = self.dut
        self.is_shown = bool(self.queue)
        dut.post_valid_i.value = int(self.is_shown)
        if self.is_shown:
            dut.post_qp_i.value, dut.post_i.value = self.queue[0]
        dut.cmd_valid_i.value = int(bool(self.commands))
        if self.commands:
            command, connection = self.commands[0]
            dut.cmd_i.value, dut.cmd_qp_i.value = command, connection.qp
            dut.cfg_i.value = pack(QP, **connection.cfg)
            dut.peer_i.value = connection.peer.packed()

    def after(self, now: int):
        dut = self.dut
        if self.is_shown and dut.post_reject_o.value == 1:
            assert dut.post_ready_o.value == 0
            self.rejected += 1
            self.queue.popleft()
        elif self.is_shown and dut.post_ready_o.value == 1:
            self.accepted.append(now)
            self.queue.popleft()
        elif self.is_shown and dut.post_full_o.value == 1:
            # The requests of one QP stay in order.
            qp = self.queue[0][0]
            self.queue = deque(sorted(self.queue, key=lambda it: it[0] == qp))
        if dut.completion_valid_o.value == 1:
            value = dut.completion_o.value.to_unsigned()
            connection = self.connections[dut.completion_qp_o.value.to_unsigned()]
            connection.completions.append((value >> 3, value & 7))
            connection.completed.append(now)
        if self.commands and dut.cmd_ready_o.value == 1:
            self.commands.popleft()
            self.refused += int(dut.refused_o.value)
        events = dut.events_o.value.to_unsigned()
        if events:
            for bit, name in enumerate(EVENTS):
                self.events[name] += events >> bit & 1


class Clocked:
    """The time, in ns, and the memory's odds to take a request."""

    def __init__(self, dut):
        self.dut, self.time, self.odds = dut, float(random.getrandbits(40)), 1.0
        self.cycle_ns = CYCLE_NS[len(dut.m_axis_tdata) // 8]

    def drive(self):
        self.time += self.cycle_ns
        self.dut.time_ns_i.value = int(self.time)
        self.dut.mem_ready_i.value = int(random.random() < self.odds)

    def after(self, now: int):
        pass


class Network:
    """Brings frames to the responder and its answers back, after `delay` cycles, and loses some."""

    def __init__(self, wire: Wire, receive: Receive, connections: dict[int, Connection]):
        self.wire, self.receive, self.connections = wire, receive, connections
        self.delay, self.loss, self.loss_back = 10, 0.0, 0.0
        self.seen = 0

    def drive(self):
        pass

    def after(self, now: int):
        while self.seen < len(self.wire.frames):
            frame = self.wire.frames[self.seen][0]
            self.seen += 1
            # A frame of a connection that is over finds no queue pair.
            number = int.from_bytes(frame[47:50], "big")
            responders = [it.responder for it in self.connections.values() if it.responder]
            responder = next((it for it in responders if it.qp == number), None)
            if responder is None or random.random() < self.loss:
                continue
            answer = responder.handle(frame)
            if answer is not None:
                if random.random() < self.loss_back:
                    if random.random() < 0.5:
                        continue
                    answer = bytearray(answer)
                    answer[random.randrange(46, len(answer))] ^= 1 << random.randrange(8)
                self.receive.queue.append((now + self.delay, bytes(answer)))


class TB:
    """`main` is the connection under test."""

    def __init__(self, dut):
        self.dut = dut
        self.wire, self.receive = Wire(dut), Receive(dut)
        self.posts, self.clocked = Posts(dut), Clocked(dut)
        self.network = Network(self.wire, self.receive, self.posts.connections)
        parts = [self.clocked, self.posts, self.wire, self.receive, self.network]
        self.bench = Bench(dut.clk_i, parts)
        self.beat = self.wire.size
        self.aw, self.qps = dut.Aw.value.to_unsigned(), dut.Qps.value.to_unsigned()
        self.memory = b""
        self.base = random.randrange(2, PSNS - self.qps)
        # Without congestion control: rate_mode is 0.
        self.rates = {"pace_burst_ns": 100}

    async def start(self, **choices: int):
        dut = self.dut
        for name in ("cmd_valid_i", "we_i", "valid_i", "post_valid_i", "rate_qp_i"):
            getattr(dut, name).value = 0
        dut.rate_cfg_i.value = pack(RATE, **self.rates)
        dut.self_i.value, dut.local_qp_i.value = US.packed(), self.base
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        await self.bench.run(5)
        dut.rst_i.value = 0
        self.memory = contents(self.beat << self.aw)
        # It stays from test to test.
        for at in range(0, 0 if _FILLED else len(self.memory), self.beat):
            dut.we_i.value, dut.waddr_i.value = 1, at // self.beat
            dut.wdata_i.value = int.from_bytes(self.memory[at : at + self.beat], "little")
            await cocotb.triggers.FallingEdge(dut.clk_i)
        dut.we_i.value = 0
        _FILLED.add(self.aw)
        self.main = self.add(random.randrange(self.qps))
        await self.bench.run(32)
        await self.connect(**choices)

    def add(self, qp: int) -> Connection:
        self.posts.connections[qp] = Connection(qp, self.memory, self.beat)
        return self.posts.connections[qp]

    async def command(self, command: int, connection: Connection):
        self.posts.commands.append((command, connection))
        await self.bench.until(lambda: not self.posts.commands)

    async def connect(self, **choices: int):
        """Ends the connection and begins the next."""
        await self.command(END, self.main)
        await self.bench.run(200)
        self.main.begin(self.base, **choices)
        self.receive.queue.clear()
        self.wire.take()
        self.network.seen = 0
        self.posts.queue.clear()
        self.posts.accepted.clear()
        self.posts.events = dict.fromkeys(EVENTS, 0)
        await self.command(BEGIN, self.main)
        await self.bench.run(20)

    def post(self, size: int, *, write: bool | None = None, immediate: bool | None = None):
        self.posts.queue.append((self.main.qp, self.main.request(size, write, immediate)))

    async def finish(self, limit: int = 400_000):
        """All that was posted is done, once, in order, and as it was in memory."""
        main = self.main
        await self.bench.until(lambda: len(main.completions) >= len(main.ids), limit)
        await self.bench.run(300)
        main.check()
        assert self.posts.events["dropped"] == 0


@cocotb.test()
async def messages_of_all_kinds_arrive_at_every_mtu(dut):
    tb = TB(dut)
    await tb.start()
    for mtu, size in MTUS.items():
        await tb.connect(mtu=mtu, first_psn=PSNS - 3, timeout=0)
        beat = tb.beat
        for length in (0, beat, 2 * beat, size - beat, size, size + beat, 2 * size,
                       3 * size + 2 * beat, 64):  # fmt: skip
            for write in (False, True):
                for immediate in (False, True):
                    tb.post(length, write=write, immediate=immediate)
        await tb.finish()
        assert tb.posts.events["repeat"] == 0 and tb.main.responder.duplicates == 0
        assert tb.wire.gaps == 0


@cocotb.test()
async def all_arrives_through_loss_both_ways(dut):
    tb = TB(dut)
    await tb.start()
    sums = dict.fromkeys(EVENTS, 0)
    for mtu, window, loss in ((1, 64, 0.03), (2, 6, 0.1), (3, 20, 0.1)):
        every = random.randrange(1, window + 1)
        psn = random.choice([PSNS - random.randrange(1, 60), random.getrandbits(24)])
        # At 512 bits a time has twice as many cycles, each of which takes longer to simulate.
        timeout, count = (3, 30) if tb.beat == 8 else (1, 15)
        await tb.connect(mtu=mtu, window=window, ack_every=every, first_psn=psn, timeout=timeout)
        network = tb.network
        network.loss, network.loss_back, network.delay = loss, loss, random.choice([5, 200, 500])
        tb.wire.odds, tb.clocked.odds = random.choice([(1.0, 1.0), (0.8, 0.7)])
        tb.main.responder.rnr = [random.choice([1, 2, 3]) for _ in range(3)]
        for _ in range(count):
            tb.post(tb.beat * random.randrange(5 * MTUS[mtu] // tb.beat))
        await tb.finish(1_000_000)
        sums = {name: sums[name] + count for name, count in tb.posts.events.items()}
        network.loss = network.loss_back = 0.0
        tb.wire.odds = tb.clocked.odds = 1.0
    dut._log.info("%s", sums)
    assert all(sums[name] for name in ("sequence_nak", "repeat", "rnr_nak"))


@cocotb.test()
async def silence_ends_the_connection_and_the_next_is_whole(dut):
    tb = TB(dut)
    await tb.start(timeout=1, retries=2, window=8, ack_every=8)
    for _ in range(3):
        tb.post(256)
    await tb.bench.until(lambda: len(tb.main.completions) == 3)
    tb.main.responder = None
    tb.clocked.time = float(int(tb.clocked.time))
    for _ in range(20):
        tb.post(640)
    await tb.bench.until(lambda: len(tb.main.completions) == 23)
    await tb.bench.run(100)
    statuses = [status for _, status in tb.main.completions]
    assert statuses == [DONE] * 3 + [RETRIES_EXCEEDED] + [FLUSHED] * 19
    assert [name for name, _ in tb.main.completions] == tb.main.ids
    assert tb.posts.events["timeout"] == 3
    tb.post(tb.beat)
    await tb.bench.until(lambda: len(tb.main.completions) == 24)
    assert tb.main.completions[-1] == (tb.main.ids[-1], FLUSHED)
    for _ in range(3):
        await tb.connect()
        for _ in range(5):
            tb.post(960)
        await tb.bench.run(random.randrange(20, 300))
    await tb.connect()
    for size in (960, 0, 320):
        tb.post(size)
    await tb.finish()


@cocotb.test()
async def a_fatal_nak_fails_its_request_and_flushes_the_others(dut):
    tb = TB(dut)
    await tb.start(timeout=0, window=64)
    responder, tb.main.responder = tb.main.responder, None
    for _ in range(6):
        tb.post(512, write=True)
    await tb.bench.until(lambda: len(tb.wire.frames) == 12)
    # The first of the third request: what is before it is done.
    tb.receive.queue.append((0, responder.answer(0x62, tb.main.cfg["first_psn"] + 4)))
    await tb.bench.until(lambda: len(tb.main.completions) == 6)
    await tb.bench.run(100)
    statuses = [status for _, status in tb.main.completions]
    assert statuses == [DONE, DONE, REMOTE_ACCESS, FLUSHED, FLUSHED, FLUSHED]
    assert [name for name, _ in tb.main.completions] == tb.main.ids and len(tb.wire.frames) == 12


@cocotb.test()
async def what_cannot_be_is_rejected(dut):
    tb = TB(dut)
    await tb.start()
    beat, top = tb.beat, tb.beat << tb.aw
    ok = {"id": 1, "is_write": 1}
    for fields in (
        {"len_bytes": 1}, {"len_bytes": beat + beat // 2}, {"addr": beat // 2},
        {"addr": top + beat}, {"addr": top, "len_bytes": beat}, {"addr": beat, "len_bytes": top},
        {"len_bytes": 2**31 + beat}, {"addr": 2**40 - beat, "len_bytes": 2 * beat},
        {"len_bytes": 2**32 - beat},
    ):  # fmt: skip
        tb.posts.queue.append((tb.main.qp, pack(WORK_REQUEST, **(ok | fields))))
    await tb.bench.run(60)
    assert tb.posts.rejected == 9 and not tb.posts.accepted and not tb.wire.frames
    tb.post(top, write=True)
    await tb.finish()
    slots = dut.Slots.value.to_unsigned()
    for bad in ({"mtu": 0}, {"mtu": 6}, {"mtu": 7}, {"window": 0}, {"window": slots + 1},
                {"ack_every": 0}, {"ack_every": 65}):  # fmt: skip
        await tb.connect(**bad)
        tb.post(tb.beat)
        await tb.bench.run(60)
        assert not tb.posts.accepted, bad
    assert tb.posts.refused == 7


@cocotb.test()
async def queue_pairs_break_and_begin_again_while_others_run(dut):
    """Loss both ways. One half of the QPs is to stay whole, whatever becomes of the other half."""
    tb = TB(dut)
    await tb.start()
    if tb.qps == 1:
        return
    tb.network.loss = tb.network.loss_back = 0.02
    others = [tb.main, *(tb.add(qp) for qp in range(tb.qps) if qp != tb.main.qp)]
    whole, broken = others[::2], others[1::2]
    for connection in others:
        connection.begin(tb.base, mtu=random.choice([1, 1, 2]), timeout=random.randrange(4, 6),
                         window=random.randrange(4, 40), ack_every=random.randrange(1, 5),
                         first_psn=PSNS - random.randrange(1, 60))  # fmt: skip
        tb.posts.commands.append((BEGIN, connection))
    await tb.bench.until(lambda: not tb.posts.commands)

    def feed(connection: Connection):
        size = tb.beat * random.randrange(1000 // tb.beat)
        tb.posts.queue.append((connection.qp, connection.request(size, None, None)))

    begun = 0
    for step in range(60 if tb.beat == 8 else 30):
        for connection in whole:
            feed(connection)
        for connection in broken:
            if connection.responder is not None:
                feed(connection)
        victim = random.choice(broken)
        choice = random.random()
        if victim.responder is None or choice < 0.2:
            tb.posts.queue = deque(it for it in tb.posts.queue if it[0] != victim.qp)
            if random.random() < 0.5:
                await tb.command(END, victim)
            victim.begin(tb.base, mtu=random.choice([1, 2]), window=8, ack_every=2)
            await tb.command(BEGIN, victim)
            begun += 1
        elif choice < 0.4:
            await tb.command(ABORT, victim)
        elif choice < 0.6:
            victim.responder = None
        elif choice < 0.8:
            psn = victim.cfg["first_psn"] + random.randrange(40)
            tb.receive.queue.append((0, victim.responder.answer(0x62, psn)))
        await tb.bench.run(random.randrange(100, 600))
        assert step < 100
    await tb.bench.until(lambda: all(len(it.completions) >= len(it.ids) for it in whole), 1_000_000)
    for connection in whole:
        connection.check()
    # Of the others, what is complete is in order and whole.
    flushed = 0
    for connection in broken:
        names = [name for name, _ in connection.completions]
        assert names == connection.ids[: len(names)]
        statuses = [status for _, status in connection.completions]
        done = statuses.count(DONE)
        assert all(status == DONE for status in statuses[:done])
        assert all(status == FLUSHED for status in statuses[done + 1 :])
        flushed += len(statuses) - done
    dut._log.info("%d begun again, %d requests failed; %s", begun, flushed, tb.posts.events)
    assert begun and flushed and tb.posts.events["repeat"]
    tb.network.loss = tb.network.loss_back = 0.0
    for connection in broken:
        connection.begin(tb.base)
        tb.posts.queue = deque(it for it in tb.posts.queue if it[0] != connection.qp)
        await tb.command(BEGIN, connection)
        feed(connection)
    await tb.bench.until(lambda: all(it.completions for it in broken), 400_000)
    for connection in broken:
        connection.check()


@cocotb.test()
async def queue_pairs_share_the_wire(dut):
    """Each has as much to send; the shares are equal, and the wire is full."""
    tb = TB(dut)
    await tb.start()
    if tb.qps == 1:
        return
    tb.wire.is_paced = True
    connections = [tb.main, *(tb.add(qp) for qp in range(tb.qps) if qp != tb.main.qp)]
    for connection in connections:
        connection.begin(tb.base, timeout=0, window=16)
        tb.posts.commands.append((BEGIN, connection))
    await tb.bench.until(lambda: not tb.posts.commands)
    for _ in range(4):
        for it in connections:
            tb.posts.queue.append((it.qp, it.request(4096, True, False)))
    await tb.bench.until(lambda: all(it.completions for it in connections))
    last = max(it.completed[0] for it in connections)
    first = min(it.completed[0] for it in connections)
    assert last - first < 0.2 * last
    frames = [frame for frame, _ in tb.wire.frames]
    begin, end = tb.wire.first[2 * tb.qps], tb.wire.first[-1]
    wire = sum(len(frame) + WIRE_BYTES for frame in frames[2 * tb.qps : len(tb.wire.first) - 1])
    share = wire / tb.wire.cycle_bytes / (end - begin)
    dut._log.info("%.4f of the wire", share)
    assert share >= 0.995
    await tb.bench.until(lambda: all(len(it.completions) == 4 for it in connections))
    for connection in connections:
        connection.check()


@cocotb.test()
async def latency_is_the_same_at_every_mtu(dut):
    tb = TB(dut)
    await tb.start()
    for mtu, size in MTUS.items() if cocotb.plusargs.get("all") else ((1, 256), (5, 4096)):
        await tb.connect(mtu=mtu, timeout=0)
        beats = size // tb.beat
        tb.network.delay = 16 * beats + 1000
        tb.post(2 * size)
        await tb.bench.until(lambda: tb.wire.first)
        first = tb.wire.first[0] - tb.posts.accepted[0]
        await tb.bench.until(lambda: tb.main.completions)
        done = tb.main.completed[0] - tb.receive.done[-1]
        tb.main.responder.is_gap_answered = False
        tb.post(4 * size)
        await tb.bench.run(8 * beats + 300)
        assert len(tb.wire.frames) == 6
        psn = tb.main.cfg["first_psn"] + 2
        tb.receive.queue.appendleft((0, tb.main.responder.answer(0x60, psn)))
        await tb.bench.until(lambda: len(tb.wire.frames) == 10)
        repeat = tb.wire.first[6] - tb.receive.done[-1]
        dut._log.info(
            "MTU %d: request to first beat %d, ACK to completion %d, NAK to repeat %d cycles",
            size, first, done, repeat,
        )  # fmt: skip
        assert first <= 32 and done <= 40 and repeat <= 64
        await tb.finish()


@cocotb.test()
async def writes_of_64_kib_fill_the_wire(dut):
    tb = TB(dut)
    await tb.start()
    tb.wire.is_paced = True
    # The long matrix has the others.
    count, measured = MESSAGES[tb.beat]
    for mtu in (5, 3, 1) if cocotb.plusargs.get("all") else (1,):
        await tb.connect(mtu=mtu, window=WINDOW[tb.beat], timeout=0)
        tb.network.delay = int(20_000 / tb.clocked.cycle_ns)
        for _ in range(count):
            tb.post(65_536, write=True, immediate=False)
        await tb.bench.until(lambda: len(tb.main.completions) == 1)
        begin, at = tb.bench.now, len(tb.wire.frames)
        await tb.bench.until(lambda: len(tb.main.completions) == 1 + measured)
        frames = [frame for frame, _ in tb.wire.frames[at:]]
        wire = sum(len(frame) + WIRE_BYTES for frame in frames)
        share = wire / tb.wire.cycle_bytes / (tb.bench.now - begin)
        rate = 8 * measured * 65_536 / (tb.bench.now - begin) / tb.clocked.cycle_ns
        dut._log.info("MTU %d: %.4f of the wire, payload %.2f Gb/s", MTUS[mtu], share, rate)
        assert share >= 0.995
        await tb.finish()


@cocotb.test()
async def a_pace_is_kept(dut):
    tb = TB(dut)
    await tb.start(mtu=3, timeout=0)
    # A quarter of the wire's bytes a ns, in 2^-16.
    dut.rate_cfg_i.value = pack(RATE, **tb.rates, pace_rate=int(LINE[tb.beat] / 4 * 65_536))
    for _ in range(3):
        tb.post(8192)
    await tb.bench.until(lambda: len(tb.main.completions) == 1)
    begin, at = tb.bench.now, len(tb.wire.frames)
    await tb.bench.until(lambda: len(tb.main.completions) == 3)
    wire = sum(len(frame) + WIRE_BYTES for frame, _ in tb.wire.frames[at:])
    share = wire / tb.wire.cycle_bytes / (tb.bench.now - begin)
    dut._log.info("%.4f of the wire", share)
    assert 0.24 <= share <= 0.255
    await tb.finish()


SOURCES = [
    "roce_requester", "roce_qp", "turn_queue", "rate_control", "event_ring", "dcqcn", "pacer",
    "read_ahead", "roce_head", "head_builder", "head_serial", "head_wide", "header_crc",
    "crc_combine", "frame_join", "crc_append", "ring", "roce_rx", "eth_ip_check", "ip_sums",
    "ip_sums_wide", "form_bth", "crc_check", "crc_step64", "rtl/tb/roce/roce_rx/roce_rx_tb.sv",
    "rtl/tb/roce/roce_requester/roce_requester_tb.sv",
]  # fmt: skip


@pytest.mark.parametrize("width", [64, pytest.param(512, marks=pytest.mark.full)])
@pytest.mark.parametrize("qps", [1, 16])
@pytest.mark.parametrize("all_mtus", [False, pytest.param(True, marks=pytest.mark.full)])
def test_roce_requester(width, qps, all_mtus):
    is_short = qps > 1 and not all_mtus
    run(
        "roce_requester_tb",
        sources=SOURCES,
        test_module="test_roce_requester",
        parameters={"W": width, "Qps": qps},
        plusargs=["+all"] if all_mtus else [],
        # What one QP does is the same among several: the long matrix has it.
        testcase=OF_SEVERAL if is_short else None,
    )  # fmt: skip

"""roce_board with several queue pairs by its registers: each has messages, a region, a state and a
rate of its own, and begins and ends while others run."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Timer
from cocotbext.axi import AxiResp
from network import Peer
from roce_responder import Responder
from roce_types import PSNS, RETRIES_EXCEEDED, framed, roce
from runner import run
from test_roce_board import HOST, LOCAL_QP, MTUS, SOURCES, TB, US, Host, Samples, regs

QPS = 4
MEMORY_BYTES = QPS * 4096


class ManySamples(Samples):
    """Beats for the QPs in `open`: the number of the QP and of the beat."""

    def __init__(self, dut):
        super().__init__(dut)
        self.open: list[int] = []
        self.counts = [0] * QPS
        self.qp = 0

    def drive(self):
        # One that is not taken is withdrawn when its QP is closed, and sometimes.
        if not self.is_shown or self.qp not in self.open or random.random() < 0.05:
            self.is_shown = bool(self.open)
            if self.is_shown:
                self.qp = random.choice([self.qp] * 8 + self.open)
                self.is_shown = self.qp in self.open
        self.dut.s_axis_tvalid.value = int(self.is_shown)
        self.dut.s_axis_tdest.value = self.qp
        self.dut.s_axis_tdata.value = self.qp << 56 | self.counts[self.qp]

    def after(self, now: int):
        if self.is_shown and self.dut.s_axis_tready.value == 1:
            self.counts[self.qp] += 1
            self.is_shown = False


class Hosts(Host):
    """A responder for each QP."""

    def __init__(self, sink, source):
        super().__init__(sink, source)
        self.responders: dict[int, Responder] = {}
        self.marked = 0  # the QP whose answers are

    def after(self, now: int):
        for frame, _ in self.sink.take():
            found = self.responders.get(int.from_bytes(frame[47:50], "big"))
            if found is not None and random.random() >= self.loss:
                answer = found.handle(frame)
                if answer is not None and random.random() >= self.loss:
                    if found.qp == self.marked:
                        answer = framed(answer[42:-4], found.us, US, tos=3)
                    self._later.append((now + self.delay, answer))
        while self._later and self._later[0][0] <= now:
            self.source.put(self._later.popleft()[1])


class Connection:
    def __init__(self, qp: int):
        self.qp, self.remote = qp, random.randrange(2, PSNS)
        self.peer = Peer(HOST.mac ^ qp, HOST.ip ^ qp << 8, HOST.port)
        self.message, self.slots = 8 * random.randrange(20, 60), random.randrange(1, 5)
        self.region, self.rkey = random.getrandbits(60) & ~7, random.getrandbits(32)
        self.psn, self.first = random.getrandbits(24), 0
        self.responder = Responder(
            self.peer, US, qp=self.remote, peer_qp=LOCAL_QP + qp, psn=self.psn, mtu=MTUS[1]
        )

    def check(self):
        """Each message has the beats of its QP, its slot and its number."""
        words = self.message // 8
        for k, got in enumerate(self.responder.messages):
            beats = [self.qp << 56 | self.first + k * words + n for n in range(words)]
            data = b"".join(beat.to_bytes(8, "little") for beat in beats)
            place = self.region + k % self.slots * self.message
            assert got == (True, data, place, self.rkey, k, False), (self.qp, k)


class Board(TB):
    def __init__(self, dut):
        super().__init__(dut)
        self.samples, self.host = ManySamples(dut), Hosts(self.sink, self.source)
        self.bench.parts[:] = [self.time, self.samples, self.source, self.sink, self.host]
        self.connections: dict[int, Connection] = {}

    async def begin(self, qp: int, timeout: int = 3, retries: int = 7, *, cuts: bool = False):
        it = Connection(qp)
        await self.write("queue_pair", qp)
        for name, value in {
            "peer_mac_lo": it.peer.mac & 0xFFFF_FFFF, "peer_mac_hi": it.peer.mac >> 32,
            "peer_ip": it.peer.ip, "remote_qp": it.remote, "first_psn": it.psn,
            "retry": 1 | timeout << 3 | retries << 8 | 7 << 11 | cuts << 14, "window": 16 | 4 << 16,
            "rkey": it.rkey, "region_lo": it.region & 0xFFFF_FFFF, "region_hi": it.region >> 32,
            "message": it.message, "region_slots": it.slots,
        }.items():  # fmt: skip
            await self.write(name, value)
        self.connections[qp] = it
        self.host.responders[it.remote] = it.responder
        it.first = self.samples.counts[qp]
        await self.write("control", 1)
        self.samples.open.append(qp)

    async def close(self, qp: int):
        self.samples.open.remove(qp)
        await self.write("queue_pair", qp)
        await self.write("control", 0)

    async def shown(self, qp: int, name: str) -> int:
        await self.write("queue_pair", qp)
        await self.bench.run(40 * QPS)
        return await self.read(name)

    async def progress(self, qps: list[int], count: int = 10):
        wanted = {qp: len(self.connections[qp].responder.messages) + count for qp in qps}
        await self.bench.until(
            lambda: all(len(self.connections[q].responder.messages) >= wanted[q] for q in qps),
            200_000,
        )


# The first test: what it is about happens once.
@cocotb.test()
async def nothing_is_written_or_counted_before_the_first_reset(dut):
    register = regs.REGISTERS["retry"]
    for name in ("rst_i", "s_axis_tvalid", "s_axis_rx_tvalid", "s_axil_arvalid"):
        getattr(dut, name).value = 0
    for name, value in {
        "awaddr": register.offset, "awvalid": 1, "wdata": 0xFFFF_FFFF, "wstrb": 15, "wvalid": 1,
        "bready": 1,
    }.items():  # fmt: skip
        getattr(dut, f"s_axil_{name}").value = value
    clock = cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
    await Timer(1, "ns")
    # Verilator may have begun with an edge of the clock in which rst_i was 1.
    dut.u_csr.was_reset_q.value = 0
    await ClockCycles(dut.clk_i, 40)
    clock.cancel()
    tb = Board(dut)
    await tb.start()
    assert await tb.read("retry") == sum(f.reset << f.shift for f in register.fields)
    assert not any(tb.before.values())


@cocotb.test()
async def queue_pairs_begin_fail_and_end_while_others_run(dut):
    tb = Board(dut)
    await tb.start()
    assert await tb.read("queue_pairs") & 0xFF == QPS
    await tb.write("queue_pair", QPS, AxiResp.SLVERR)
    await tb.write("message", MEMORY_BYTES // QPS + 8, AxiResp.SLVERR)
    tb.host.loss = 0.01
    # One behind the other, without a pause.
    for qp in (2, 0, 3):
        await tb.begin(qp)
    await tb.progress([0, 2, 3])
    # What is of all is refused, and what is of a connection that runs.
    for qp, name, resp in ((1, "mac_lo", AxiResp.SLVERR), (2, "rkey", AxiResp.SLVERR),
                           (1, "rkey", AxiResp.OKAY)):  # fmt: skip
        await tb.write("queue_pair", qp)
        await tb.write(name, 7, resp)
    assert await tb.read("control") == 0 and await tb.shown(2, "control") == 1
    await tb.begin(1, timeout=1, retries=1)
    await tb.progress([0, 1, 2, 3])
    # The peer of one is gone, another one ends and begins again with other numbers.
    tb.host.responders.pop(tb.connections[1].remote)
    await tb.close(3)
    tb.connections[3].check()
    await tb.begin(3)
    tb.samples.open.remove(1)
    await tb.progress([0, 2, 3], 20)
    assert await tb.shown(1, "state") == 4 | RETRIES_EXCEEDED << 3
    for qp in (0, 2, 3):
        assert await tb.shown(qp, "state") == 1
    await tb.write("queue_pair", 1)
    await tb.write("control", 0)
    await tb.begin(1)
    await tb.progress([0, 1, 2, 3])
    # The selected one alone is flushed.
    await tb.write("queue_pair", 2)
    tb.samples.open.remove(2)
    await tb.write("command", 2)
    await tb.progress([0, 1, 3])
    assert await tb.shown(2, "state") & 1 == 0
    tb.host.loss = 0.0
    tb.samples.open.clear()
    await tb.bench.run(20_000)
    for qp, it in tb.connections.items():
        it.check()
        if qp != 2:
            posted, completed = await tb.shown(qp, "posted"), await tb.shown(qp, "completed")
            assert posted == completed == len(it.responder.messages) >= 10
    counted = await tb.counted()
    assert counted["retransmissions"] and counted["messages_failed"] and not counted["strangers"]


@cocotb.test()
async def a_notification_cuts_the_rate_of_its_queue_pair(dut):
    tb = Board(dut)
    await tb.start()
    for name, value in {"alpha_period": 1_000_000, "rise_period": 1_000_000,
                        "rise_bytes": 1 << 25}.items():  # fmt: skip
        await tb.write(name, value)
    for qp in range(QPS):
        await tb.begin(qp)
    line = await tb.read("rate_line")
    victim = random.randrange(QPS)
    for number in (LOCAL_QP + victim, LOCAL_QP + QPS, LOCAL_QP - 1):
        header = {**roce.BTH, "destination": number, "psn": 0}
        peer = tb.connections[victim].peer
        tb.source.put(framed(roce.bth(roce.CNP, header, 0) + bytes(16), peer, US, tos=0xC0))
    await tb.bench.until(tb.source.empty)
    await tb.progress(list(range(QPS)), 5)
    for qp in range(QPS):
        rate = await tb.shown(qp, "rate")
        assert rate == (line // 2 if qp == victim else line)
    counted = await tb.counted()
    assert counted["cnps"] == counted["cuts"] == 1 and counted["strangers"] == 2
    count = await tb.read("event_count")
    await tb.write("event_index", (count - 1) % 512)
    assert await tb.read("queue_pairs") >> 8 == victim and await tb.read("event_rate") == line // 2
    for it in tb.connections.values():
        it.check()


@cocotb.test()
async def marked_acknowledgements_cut_the_rate_of_their_queue_pair(dut):
    tb = Board(dut)
    await tb.start()
    for name, value in {"alpha_period": 1_000_000, "rise_period": 1_000_000,
                        "rise_bytes": 1 << 25}.items():  # fmt: skip
        await tb.write(name, value)
    victim = random.randrange(1, QPS)
    for qp in range(QPS):
        await tb.begin(qp, cuts=True)
    line = await tb.read("rate_line")
    tb.host.marked = tb.connections[victim].remote
    await tb.progress(list(range(QPS)), 5)
    for qp in range(QPS):
        rate = await tb.shown(qp, "rate")
        assert rate <= line // 2 if qp == victim else rate == line
    counted = await tb.counted()
    assert counted["acks_marked"] >= counted["cuts"] >= 1 and not counted["cnps"]


def test_roce_board_qps():
    run(
        "roce_board",
        sources=[*SOURCES.split(), "roce_run", "turn_queue"],
        test_module="test_roce_board_qps",
        parameters={"Qps": QPS, "MemoryBytes": MEMORY_BYTES},
    )

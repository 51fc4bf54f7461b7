"""roce_board with Full by its registers: what a peer writes and sends is in memory of its region,
while samples leave; rules of the region, congestion notifications, receive requests."""

import random
from collections import defaultdict
from itertools import pairwise

import cocotb
import pytest
from cocotbext.axi import AxiResp
from network import Peer
from roce_ports import Memory, Receives
from roce_requests import BOUNDS, KEY, REMOTE_ACCESS, RIGHTS, Model, Request
from roce_types import PSNS, RECEIVE_SEND, roce
from runner import run
from test_roce_board import HOST, LOCAL_QP, MEMORY_BYTES, REMOTE_QP, SOURCES, TB, US, Host

ADDRESS, REGION_BYTES, LOCAL_KEY, TIMER = 0xFFFF_FFFF_FFF0_0000, 1 << 20, 0x1234_5678, 3
INTERVAL_NS = 3000


class FullHost(Host):
    """Keeps the board's answers to requests apart, by their destination."""

    def __init__(self, sink, source):
        super().__init__(sink, source)
        self.given: dict[int, list[tuple[int, int, int]]] = defaultdict(list)  # PSN, syndrome, MSN
        self.answers = self.given[REMOTE_QP]
        self.cnps: list[int] = []  # cycles

    def after(self, now: int):
        frames, self.sink.frames = self.sink.frames, []
        for frame, user in frames:
            if frame[12:14] == b"\x08\x00" and frame[42] == roce.ACKNOWLEDGE:
                psn, msn = (int.from_bytes(frame[at : at + 3], "big") for at in (51, 55))
                self.given[int.from_bytes(frame[47:50], "big")].append((psn, frame[54], msn))
            elif frame[12:14] == b"\x08\x00" and frame[42] == roce.CNP:
                self.cnps.append(now)
            else:
                self.sink.frames.append((frame, user))
        super().after(now)


class FullTB(TB):
    def __init__(self, dut):
        super().__init__(dut)
        self.host = FullHost(self.sink, self.source)
        self.memory, self.receives = Memory(dut), Receives(dut, "received")
        parts = [self.time, self.samples, self.source, self.sink, self.host]
        self.bench.parts[:] = [*parts, self.memory, self.receives]

    async def start(self):
        self.dut.receive_qp_i.value = 0
        await super().start()

    async def begin(self, **other):
        """A connection both ways, and a model of the half that receives."""
        psn = PSNS - 3
        await self.write("control", 0)
        for name, value in {
            "receive": psn | TIMER << 24, "local_key": LOCAL_KEY,
            "local_region_lo": ADDRESS & 0xFFFF_FFFF, "local_region_hi": ADDRESS >> 32,
            "local_bytes_lo": REGION_BYTES, "local_bytes_hi": 0, "local_rights": 1,
            "notification": INTERVAL_NS,
        }.items():  # fmt: skip
            await self.write(name, value)
        self.model = Model(psn, 256, TIMER, LOCAL_KEY, ADDRESS, REGION_BYTES)
        self.memory.bytes.clear()
        self.receives.completions.clear()
        first = await self.connect(message=512, slots=2, **other)
        await self.bench.run(100)
        self.host.answers.clear()
        return first

    async def give(self, opcode: int, payload: bytes = b"", **fields) -> str:
        """A packet with the expected PSN, and that all comes of it that the model has."""
        fields = {"address": ADDRESS, "key": LOCAL_KEY} | fields
        request = Request(opcode, self.model.psn, payload, **fields)
        want = self.model.take(request)
        self.source.put(request.frame(HOST, US, LOCAL_QP))
        await self.bench.until(lambda: self.host.answers)
        assert self.host.answers == [self.model.answer()]
        self.host.answers.clear()
        await self.bench.run(20)
        assert self.memory.bytes == self.model.memory
        return want


@cocotb.test()
async def peers_messages_reach_memory_while_samples_leave(dut):
    tb = FullTB(dut)
    await tb.start()
    first = await tb.begin()
    assert await tb.read("receiver") == 1
    tb.memory.odds = tb.receives.odds = 0.7
    for number in range(30):
        data = random.randbytes(random.randrange(257))
        if number % 3 == 2:
            receive = (number, ADDRESS + 4096 * number, 300)
            tb.receives.queue.append(receive)
            tb.model.receives.append(receive)
            await tb.bench.run(10)
            assert await tb.give(roce.SEND_ONLY_IMM, data, immediate=number) == "packet"
        else:
            at = ADDRESS + random.randrange(REGION_BYTES - len(data))
            assert await tb.give(roce.WRITE_ONLY, data, address=at) == "packet"
    await tb.bench.run(50)
    assert tb.receives.completions == tb.model.completions
    assert {done[1] for done in tb.receives.completions} == {RECEIVE_SEND}
    assert await tb.give(roce.SEND_ONLY, b"1") == "not_ready"
    tb.check(first, 512, 2)
    counted = await tb.counted()
    assert len(tb.host.responder.messages) > 10 and counted["messages_failed"] == 0
    assert (counted["requests"], counted["receives"], counted["not_ready"]) == (30, 10, 1)
    # While the connection runs the registers of the region stand, but for the right.
    for name in ("receive", "local_key", "local_region_lo", "local_bytes_hi", "notification"):
        await tb.write(name, 1, AxiResp.SLVERR)


@cocotb.test()
async def requests_against_the_rules_of_the_region_end_the_connection(dut):
    tb = FullTB(dut)
    await tb.start()
    end = ADDRESS + REGION_BYTES
    for fault, fields in (
        (BOUNDS, {"address": end - 7}), (BOUNDS, {"address": ADDRESS - 1}),
        (KEY, {"key": LOCAL_KEY ^ 1 << 31}), (RIGHTS, {}),
    ):  # fmt: skip
        await tb.begin()
        assert await tb.give(roce.WRITE_ONLY, b"12345678", address=end - 8) == "packet"
        if fault == RIGHTS:
            await tb.write("local_rights", 0)
            tb.model.may_write = False
        assert await tb.give(roce.WRITE_ONLY, b"12345678", **fields) == "fault"
        assert await tb.read("receiver") == 1 | 1 << 1 | fault << 2
        assert await tb.read("state") & 5 == 4
    assert tb.model.fault == RIGHTS
    counted = await tb.counted()
    assert counted["faults"] == 4 and counted["after_fault"] == 0
    await tb.begin()
    assert await tb.read("receiver") & 3 == 1
    assert await tb.give(roce.WRITE_ONLY, b"12345678") == "packet"
    # What comes while no connection runs changes nothing.
    await tb.write("control", 0)
    await tb.bench.run(100)
    late = Request(roce.WRITE_ONLY, tb.model.psn, b"1", address=ADDRESS, key=LOCAL_KEY)
    tb.source.put(late.frame(HOST, US, LOCAL_QP))
    await tb.bench.run(200)
    assert (await tb.counted())["unexpected"] == 1
    assert tb.memory.bytes == tb.model.memory and not tb.host.answers


@cocotb.test()
async def marked_requests_are_answered_in_the_interval_of_the_register(dut):
    tb = FullTB(dut)
    await tb.start()
    await tb.begin()
    begin = tb.bench.now
    count = 0
    while tb.bench.now - begin < 5 * INTERVAL_NS / 6.4:
        assert await tb.give(roce.WRITE_ONLY, b"12345678", tos=3) == "packet"
        count += 1
    await tb.bench.run(int(INTERVAL_NS / 6.4) + 200)
    counted = await tb.counted()
    assert counted["requests_marked"] == count > 10
    assert counted["cnps_sent"] == len(tb.host.cnps) and 5 <= len(tb.host.cnps) <= 8
    gaps = [(b - a) * 6.4 for a, b in pairwise(tb.host.cnps)]
    # A packet that is begun comes first.
    assert all(INTERVAL_NS - 700 < gap < INTERVAL_NS + 700 for gap in gaps), gaps
    assert REMOTE_ACCESS not in {syndrome for _, syndrome, _ in tb.host.answers}


class Second:
    """The second queue pair: its peer, its region and its model."""

    peer = Peer(HOST.mac ^ 1, HOST.ip ^ 1 << 8, HOST.port)
    address, size, key, remote_qp = 0x5000, 0x800, 0x9ABC_DEF0, 5

    def __init__(self, tb: FullTB):
        self.tb = tb
        self.model = Model(7, 512, TIMER + 1, self.key, self.address, self.size)

    async def begin(self):
        self.tb.host.given[self.remote_qp].clear()
        for name, value in {
            "queue_pair": 1, "control": 0, "peer_mac_lo": self.peer.mac & 0xFFFF_FFFF,
            "peer_ip": self.peer.ip, "retry": 2, "remote_qp": self.remote_qp,
            "receive": self.model.psn | self.model.rnr_timer << 24, "local_key": self.key,
            "local_region_lo": self.address, "local_region_hi": 0, "local_bytes_lo": self.size,
            "notification": 0, "local_rights": 3, "control ": 1,
        }.items():  # fmt: skip
            await self.tb.write(name.strip(), value)
        await self.tb.bench.run(100)

    def put(self, opcode: int, payload: bytes = b"", **fields) -> str:
        fields = {"address": self.address, "key": self.key} | fields
        request = Request(opcode, self.model.psn, payload, **fields)
        self.tb.source.put(request.frame(self.peer, US, LOCAL_QP + 1))
        return self.model.take(request)

    async def answered(self):
        given = self.tb.host.given[self.remote_qp]
        await self.tb.bench.until(lambda: given)
        assert given == [self.model.answer()]
        given.clear()


def gives(tb: FullTB, opcode: int, payload: bytes, **fields) -> str:
    """A packet to the first one, which is not waited for."""
    request = Request(opcode, tb.model.psn, payload, address=ADDRESS, key=LOCAL_KEY, **fields)
    tb.source.put(request.frame(HOST, US, LOCAL_QP))
    return tb.model.take(request)


# pytest reads this file too, without a simulation.
@cocotb.test(skip="several" not in getattr(cocotb, "plusargs", {}))
async def two_queue_pairs_receive_interleaved(dut):
    tb = FullTB(dut)
    await tb.start()
    first = await tb.begin()
    second = Second(tb)
    await second.begin()

    def compare():
        assert tb.memory.bytes == tb.model.memory | second.model.memory

    # Messages of two packets at another path MTU each, one in the other.
    assert gives(tb, roce.WRITE_FIRST, random.randbytes(256), total=264) == "packet"
    assert second.put(roce.WRITE_FIRST, random.randbytes(512), total=520) == "packet"
    assert gives(tb, roce.WRITE_LAST, random.randbytes(8)) == "packet"
    assert second.put(roce.WRITE_LAST, random.randbytes(8)) == "packet"
    await second.answered()
    await tb.bench.until(lambda: tb.host.answers)
    await tb.bench.run(40)
    tb.model.answer()
    tb.host.answers.clear()
    compare()
    # A receive request of the second one is none of the first one's.
    dut.receive_qp_i.value = 1
    receive = (77, second.address + 0x100, 100)
    tb.receives.queue.append(receive)
    second.model.receives.append(receive)
    await tb.bench.until(lambda: not tb.receives.queue)
    assert gives(tb, roce.SEND_ONLY, b"none") == "not_ready"
    assert second.put(roce.SEND_ONLY, b"mine") == "packet"
    await second.answered()
    await tb.bench.until(lambda: tb.receives.completions)
    assert dut.received_qp_o.value == 1
    assert tb.receives.completions == second.model.completions
    tb.model.answer()
    tb.host.answers.clear()
    compare()
    # Rights are of each.
    await tb.write("local_rights", 2)
    assert second.put(roce.WRITE_ONLY, b"12345678") == "packet"
    await second.answered()
    await tb.write("local_rights", 4, AxiResp.SLVERR)
    await tb.write("local_rights", 3)
    # While a connection runs its registers stand.
    for name in ("receive", "local_key", "local_region_lo", "local_bytes_hi", "notification"):
        await tb.write(name, 1, AxiResp.SLVERR)
    # What ends the second one, with the key of the first, is not the first one's.
    assert second.put(roce.WRITE_ONLY, b"12345678", key=LOCAL_KEY) == "fault"
    await second.answered()
    assert await tb.read("receiver") == 1 | 1 << 1 | KEY << 2
    assert await tb.read("state") & 1 == 0
    await tb.write("queue_pair", 0)
    assert await tb.read("receiver") & 3 == 1 and await tb.read("state") == 1
    assert gives(tb, roce.WRITE_ONLY, b"12345678") == "packet"
    await tb.bench.until(lambda: tb.host.answers)
    tb.model.answer()
    tb.host.answers.clear()
    # It begins again, while the first one goes on.
    again = Second(tb)
    await again.begin()
    assert again.put(roce.WRITE_ONLY, b"87654321") == "packet"
    await again.answered()
    second.model.memory |= again.model.memory
    compare()
    tb.check(first, 512, 2)
    counted = await tb.counted()
    assert counted["faults"] == counted["not_ready"] == 1 and not counted["strangers"]
    # What comes for one that does not run is judged by none.
    await tb.write("control", 0)
    await tb.bench.run(100)
    again.put(roce.WRITE_ONLY, b"x")
    await tb.bench.run(300)
    assert (await tb.counted())["unexpected"] == 1


@pytest.mark.full  # it takes half a minute to build
@pytest.mark.parametrize("qps", [1, 2])
def test_roce_board_full(qps):
    run(
        "roce_board",
        sources=[
            *SOURCES.split(), "roce_endpoint", "roce_responder", "notification_point", "frame_fifo",
        ],
        test_module="test_roce_board_full",
        parameters={"Qps": qps, "MemoryBytes": qps * MEMORY_BYTES, "Full": 1},
        plusargs=["+several"] if qps > 1 else [],
    )  # fmt: skip

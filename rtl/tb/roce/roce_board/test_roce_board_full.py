"""roce_board with Full by its registers: what a peer writes and sends is in memory of its region,
while samples leave; rules of the region, congestion notifications, receive requests."""

import random
from itertools import pairwise

import cocotb
import pytest
from cocotbext.axi import AxiResp
from roce_ports import Memory, Receives
from roce_requests import BOUNDS, KEY, REMOTE_ACCESS, RIGHTS, Model, Request
from roce_types import PSNS, RECEIVE_SEND, roce
from runner import run
from test_roce_board import HOST, LOCAL_QP, MEMORY_BYTES, SOURCES, TB, US, Host

ADDRESS, REGION_BYTES, LOCAL_KEY, TIMER = 0xFFFF_FFFF_FFF0_0000, 1 << 20, 0x1234_5678, 3
INTERVAL_NS = 3000


class FullHost(Host):
    """Keeps the board's answers to requests apart."""

    def __init__(self, sink, source):
        super().__init__(sink, source)
        self.answers: list[tuple[int, int, int]] = []  # PSN, syndrome, MSN
        self.cnps: list[int] = []  # cycles

    def after(self, now: int):
        frames, self.sink.frames = self.sink.frames, []
        for frame, user in frames:
            if frame[12:14] == b"\x08\x00" and frame[42] == roce.ACKNOWLEDGE:
                psn, msn = (int.from_bytes(frame[at : at + 3], "big") for at in (51, 55))
                self.answers.append((psn, frame[54], msn))
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


# pytest reads this file too, without a simulation.
@cocotb.test(skip="several" not in getattr(cocotb, "plusargs", {}))
async def of_several_queue_pairs_the_first_alone_receives(dut):
    tb = FullTB(dut)
    await tb.start()
    await tb.begin()
    # The other one has a shorter path MTU, which is not the first one's.
    for name, value in {"queue_pair": 1, "retry": 2, "remote_qp": 5, "control": 1}.items():
        await tb.write(name, value)
    await tb.bench.run(100)
    assert await tb.read("state") == 1
    other = Request(roce.WRITE_ONLY, tb.model.psn, b"1", address=ADDRESS, key=LOCAL_KEY)
    tb.source.put(other.frame(HOST, US, LOCAL_QP + 1))
    await tb.bench.run(300)
    counted = await tb.counted()
    assert counted["opcodes"] == 1 and not counted["strangers"]
    assert tb.memory.bytes == tb.model.memory and not tb.host.answers
    assert await tb.give(roce.WRITE_FIRST, random.randbytes(256), total=264) == "packet"
    assert await tb.give(roce.WRITE_LAST, random.randbytes(8)) == "packet"
    # What ends the first one is not the other's.
    assert await tb.give(roce.WRITE_ONLY, b"12345678", key=LOCAL_KEY ^ 1) == "fault"
    assert await tb.read("state") == 1
    await tb.write("queue_pair", 0)
    assert await tb.read("state") & 5 == 4


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

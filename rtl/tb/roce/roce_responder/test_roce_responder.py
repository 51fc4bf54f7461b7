"""roce_responder behind roce_rx, against a model of the rules and what Soft-RoCE answered."""

import random
from collections import deque

import cocotb
import pytest
from axis import Bench
from cocotb.clock import Clock
from network import Peer
from roce_ports import Memory, Receive, Receives
from roce_requests import (
    ACK,
    BOUNDS,
    KEY,
    LENGTH,
    ORDER,
    REMOTE_ACCESS,
    RIGHTS,
    RNR_NAK,
    SEQUENCE_ERROR,
    TOO_LONG,
    UNSUPPORTED,
    Model,
    Request,
)
from roce_types import (
    PSNS,
    RECEIVE_FAILED,
    RECEIVE_FLUSHED,
    REGION,
    RESPONDER,
    RESPONSE,
    framed,
    pack,
    roce,
    unpack,
    vectors,
)
from runner import run

US = Peer(mac=0x02A1B2C3D4E5, ip=0xC0A80A02, port=4791)
HOST = Peer(mac=0x98F2B3010203, ip=0xC0A80A63, port=0xC000)
QP, REGION_KEY, ADDRESS, REGION_BYTES, TIMER = 0x11, 0x1234_5678, 0xFFFF_FFFF_0000, 1 << 20, 9
MTUS = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
RX_EVENTS = ("length", "version", "icrc", "pkey", "stranger", "opcode", "syndrome")
EVENTS = ("packet", "duplicate", "gap", "not_ready", "fault", "after_fault", "unexpected",
          "no_room", "marked", "cnp")  # fmt: skip
QUIET_CYCLES = 40

# Where Soft-RoCE does otherwise; docs/roce.md#a-foreign-peer gives the reasons.
DIFFERS = {"half of all psns behind", "first shorter than the mtu", "only longer than the mtu",
           "last of no bytes", "no receive request", "longer than its receive request", "read",
           "opcode of no meaning", "limited member of the partition"}  # fmt: skip


class Answers:
    """Takes answers (PSN, syndrome, MSN), or "cnp", and the events of each packet."""

    def __init__(self, dut):
        self.dut, self.odds = dut, 1.0
        self.taken: list[tuple[int, ...] | str] = []
        self.seen: list[str] = []
        self.faults: list[int] = []
        self.rx: list[str] = []
        self.last_event = 0
        self._is_ready = False

    def drive(self):
        self._is_ready = random.random() < self.odds
        self.dut.response_ready_i.value = int(self._is_ready)

    def after(self, now: int):
        dut = self.dut
        if self._is_ready and dut.response_valid_o.value == 1:
            is_cnp, *fields = unpack(RESPONSE, dut.response_o.value.to_unsigned())
            assert not is_cnp or not any(fields)
            self.taken.append("cnp" if is_cnp else tuple(fields))
            self.last_event = now
        events, rx = dut.events_o.value.to_unsigned(), dut.rx_events_o.value.to_unsigned()
        if events or rx:
            self.last_event = now
            self.seen += [name for bit, name in enumerate(EVENTS) if events >> bit & 1]
            self.rx += [name for bit, name in enumerate(RX_EVENTS) if rx >> bit & 1]
            if events >> EVENTS.index("fault") & 1:
                self.faults.append(dut.fault_o.value.to_unsigned())
        if dut.wr_valid_o.value == 1 or dut.completion_valid_o.value == 1:
            self.last_event = now


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.receive, self.memory = Receive(dut), Memory(dut)
        self.receives, self.answers = Receives(dut, "completion"), Answers(dut)
        parts = [self.receive, self.memory, self.receives, self.answers]
        self.bench = Bench(dut.clk_i, parts)
        self.model: Model | None = None
        self.beat, self.address = self.receive.beat, ADDRESS
        self.ids = 0

    async def start(self, **choices):
        dut = self.dut
        for name in ("run_i", "abort_i", "valid_i", "cfg_i", "region_i", "time_ns_i",
                     "may_write_i", "receive_qp_i"):  # fmt: skip
            getattr(dut, name).value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        await self.bench.run(5)
        dut.rst_i.value = 0
        await self.connect(**choices)

    async def connect(self, *, psn=None, mtu=1, key=REGION_KEY, address=ADDRESS,
                      size=REGION_BYTES, may_write=True, ends=(US, HOST, QP),
                      timer=TIMER, cnp_interval=0):  # fmt: skip
        """Ends the connection and begins the next."""
        dut = self.dut
        dut.run_i.value = 0
        await self.bench.run(4)
        # A beat that was offered stays.
        await self.bench.until(lambda: dut.wr_valid_o.value == 0)
        us, host, self.qp = ends
        dut.self_i.value, dut.peer_ip_i.value, dut.local_qp_i.value = us.packed(), host.ip, self.qp
        psn = random.choice([random.getrandbits(24), PSNS - 3]) if psn is None else psn
        dut.cfg_i.value = pack(RESPONDER, first_psn=psn, mtu=mtu, rnr_timer=timer,
                               cnp_interval_ns=cnp_interval)  # fmt: skip
        dut.region_i.value = pack(REGION, key=key, address=address, len_bytes=size)
        dut.may_write_i.value = int(may_write)
        self.model = Model(psn, MTUS[mtu], timer, key, address, size, may_write)
        self.memory.bytes.clear()
        self.memory.cut()
        for log in (self.receives.queue, self.receives.completions, self.answers.taken,
                    self.answers.seen, self.answers.faults, self.answers.rx,
                    self.memory.first):  # fmt: skip
            log.clear()
        dut.run_i.value = 1
        await self.bench.run(4)

    def post(self, address: int, size: int):
        self.ids += 1
        request = (self.ids % (1 << 16), address, size)
        self.receives.queue.append(request)
        self.model.receives.append(request)
        if self.model.fault is not None:
            self.model.flush()

    def next(self, opcode: int, payload: bytes = b"", *, skip: int = 0, **fields) -> Request:
        """A packet with the PSN that is expected, or `skip` behind it."""
        fields = {"address": ADDRESS, "key": REGION_KEY} | fields
        return Request(opcode, (self.model.psn + skip) % PSNS, payload, **fields)

    def put(self, request: Request, **fields):
        self.receive.queue.append(request.frame(HOST, US, self.qp, **fields).ljust(60, b"\0"))

    async def settle(self, limit: int = 100_000):
        begin = self.bench.now

        def is_quiet() -> bool:
            last = max(begin, self.answers.last_event, *self.receive.done[-1:])
            return not self.receive.queue and self.bench.now - last > QUIET_CYCLES

        await self.bench.until(is_quiet, limit)

    async def give(self, request: Request) -> str:
        """A packet, and that all comes of it that the model says."""
        want = self.model.take(request)
        self.put(request)
        await self.settle()
        seen = self.answers.seen[-1:]
        assert seen == [want], f"{seen}, not {want}, of {request}"
        if want == "fault":
            assert self.answers.faults == [self.model.fault]
        taken, self.answers.taken = self.answers.taken, []
        due = self.model.answer()
        assert taken == ([] if due is None else [due]), f"{taken}, not {due}, to {request}"
        self.compare()
        return want

    def compare(self):
        assert self.memory.bytes == self.model.memory
        assert self.receives.completions == self.model.completions
        assert self.dut.is_failed_o.value == int(self.model.fault is not None)


def packets(tb: TB, is_write: bool, size: int, *, immediate: bool, **fields) -> list[Request]:
    """The packets of a message from the expected PSN on; the last one requests an ACK."""
    mtu, data = tb.model.mtu, random.randbytes(size)
    parts = [data[at : at + mtu] for at in range(0, size, mtu)] or [b""]
    found = []
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        kind = (4 if is_last else 0) if number == 0 else 2 if is_last else 1
        opcode = kind + (is_last and immediate) + (roce.WRITE_FIRST if is_write else 0)
        found.append(tb.next(opcode, part, skip=number, ack_request=is_last, total=size,
                             immediate=random.getrandbits(32), **fields))  # fmt: skip
    return found


@cocotb.test()
async def soft_roce_answers_the_same(dut):
    tb = TB(dut)
    await tb.start()
    us = Peer(mac=0x020000009801, ip=0x0A620001, port=4791)
    host = Peer(mac=0x020000009899, ip=0x0A620063, port=0)
    for case in vectors("rxe-responder"):
        await tb.connect(
            psn=case["psn"], key=case["rkey"], address=case["region"], size=case["bytes"],
            may_write="remote_write" in case["rights"], ends=(us, host, case["qpn"]), timer=12,
        )  # fmt: skip
        assert case["mtu"] == 256
        for receive in case["recvs"]:
            tb.receives.queue.append(
                (receive["id"], case["region"] + receive["offset"], receive["bytes"])
            )
        await tb.bench.run(4)
        answers, wanted = [], []
        for step in case["steps"]:
            tb.receive.queue.append(bytes.fromhex(step["request"]).ljust(60, b"\0"))
            await tb.settle()
            answers.append(list(tb.answers.taken))
            tb.answers.taken.clear()
            wanted.append([answer(bytes.fromhex(text)) for text in step["answers"]])
        memory = bytearray(case["bytes"])
        for at, byte in tb.memory.bytes.items():
            memory[at - case["region"]] = byte
        completions = [(done[0], done[3], done[2]) for done in tb.receives.completions
                       if done[1] < RECEIVE_FAILED]  # fmt: skip
        done = [(it["id"], it["bytes"], it["imm"]) for it in case["completions"]
                if it["status"] == 0]  # fmt: skip
        is_same = (answers, completions, memory.rstrip(b"\0").hex()) == (
            wanted, done, case["memory"])  # fmt: skip
        name = case["name"]
        assert is_same != (name in DIFFERS), (name, answers, wanted, completions, done)


def answer(frame: bytes):
    """PSN, syndrome and MSN of an acknowledgement."""
    if frame[42] != roce.ACKNOWLEDGE:
        return None
    psn, msn = (int.from_bytes(frame[at : at + 3], "big") for at in (51, 55))
    return psn, frame[54], msn


@cocotb.test()
async def messages_of_all_kinds_reach_memory_at_every_mtu(dut):
    tb = TB(dut)
    await tb.start()
    is_all = bool(cocotb.plusargs.get("all"))
    for mtu, size in MTUS.items():
        await tb.connect(mtu=mtu, psn=PSNS - 4)
        edges = {0, 1, tb.beat - 1, tb.beat, tb.beat + 1, size - 1, size, size + 1}
        edges |= {2 * size + 3} if is_all or mtu < 3 else set()
        for length in sorted(edges if is_all or mtu == 1 else edges - {tb.beat, size}):
            for is_write in (False, True):
                address = ADDRESS + random.randrange(REGION_BYTES - length)
                immediate = random.random() < 0.5
                if not is_write or immediate:
                    tb.post(address, length)
                await tb.bench.run(3)
                for packet in packets(tb, is_write, length, immediate=immediate, key=REGION_KEY,
                                      address=address):  # fmt: skip
                    assert tb.model.take(packet) == "packet"
                    tb.put(packet)
                await tb.settle()
                assert tb.answers.taken == [tb.model.answer()]
                tb.answers.taken.clear()
                tb.compare()
                tb.memory.bytes.clear()
                tb.model.memory.clear()


@cocotb.test()
async def packet_that_breaks_a_rule_gets_its_code_and_ends_the_connection(dut):
    tb = TB(dut)
    await tb.start()
    full, end = bytes(256), ADDRESS + REGION_BYTES
    first, only, top = roce.WRITE_FIRST, roce.WRITE_ONLY, 1 << 64
    cases = [
        (ORDER, [(roce.SEND_MIDDLE, full, {})]),
        (ORDER, [(roce.WRITE_MIDDLE, full, {})]),
        (ORDER, [(roce.WRITE_LAST, b"1", {})]),
        (ORDER, [(first, full, {"total": 600}), (first, full, {"total": 600})]),
        (ORDER, [(first, full, {"total": 600}), (roce.SEND_MIDDLE, full, {})]),
        (ORDER, [(roce.SEND_FIRST, full, {}), (roce.WRITE_LAST, b"1", {})]),
        (ORDER, [(roce.SEND_FIRST, full, {}), (roce.SEND_ONLY, b"1", {})]),
        *((UNSUPPORTED, [(opcode, bytes(16), {})])
          for opcode in (roce.READ_REQUEST, roce.COMPARE_SWAP, 0x16, 0x1F)),
        (UNSUPPORTED, [(first, full, {"total": 600}), (roce.READ_REQUEST, bytes(16), {})]),
        (LENGTH, [(roce.SEND_FIRST, full[1:], {})]),
        (LENGTH, [(roce.SEND_ONLY, bytes(257), {})]),
        (LENGTH, [(first, full, {"total": 256})]),
        (LENGTH, [(first, full, {"total": 255})]),
        (LENGTH, [(first, full, {"total": 0})]),
        (LENGTH, [(only, b"12", {"total": 1})]),
        (LENGTH, [(only, b"12", {"total": 3})]),
        (LENGTH, [(only, b"", {"total": 3})]),
        (LENGTH, [(first, full, {"total": 513}), (roce.WRITE_LAST, full, {})]),
        (LENGTH, [(first, full, {"total": 511}), (roce.WRITE_MIDDLE, full, {})]),
        (LENGTH, [(first, full, {"total": 256 + 256}), (roce.WRITE_MIDDLE, full, {})]),
        (LENGTH, [(first, full, {"total": 300}), (roce.WRITE_LAST, b"", {})]),
        (LENGTH, [(first, full, {"total": (1 << 31) + 1})]),
        (BOUNDS, [(first, full, {"total": 1 << 31})]),
        (TOO_LONG, [(roce.SEND_ONLY, bytes(11), {})]),
        (TOO_LONG, [(roce.SEND_ONLY_IMM, bytes(11), {})]),
        (KEY, [(only, b"12", {"key": REGION_KEY ^ 1})]),
        (KEY, [(only, b"12", {"key": REGION_KEY ^ 1 << 31, "address": 0})]),
        (RIGHTS, [(only, b"12", {"address": 0})]),
        (BOUNDS, [(only, b"12", {"address": ADDRESS - 1})]),
        (BOUNDS, [(only, b"12", {"address": end - 1})]),
        (BOUNDS, [(only, b"12", {"address": end})]),
        (BOUNDS, [(only, b"12", {"address": top - 1})]),
        (BOUNDS, [(first, full, {"total": 300, "address": end - 299})]),
        (None, [(first, full, {"total": 300, "address": end - 300})]),
        (None, [(only, b"12", {"address": end - 2})]),
        (None, [(only, b"", {"key": 0, "address": 0})]),
    ]  # fmt: skip
    for fault, steps in cases:
        await tb.connect(may_write=fault != RIGHTS)
        tb.post(ADDRESS, 256 if len(steps) > 1 else 10)
        tb.post(ADDRESS, 10)
        await tb.bench.run(3)
        for opcode, payload, fields in steps[:-1]:
            assert await tb.give(tb.next(opcode, payload, **fields)) == "packet"
        opcode, payload, fields = steps[-1]
        packet = tb.next(opcode, payload, **fields)
        want = "packet" if fault is None else "fault"
        assert await tb.give(packet) == want, (fault, steps)
        assert tb.model.fault == fault
        if fault is not None:
            assert len(tb.receives.completions) == 2
            is_used = (steps[0][0] == roce.SEND_FIRST and len(steps) > 1) or fault == TOO_LONG
            statuses = [done[1] for done in tb.receives.completions]
            assert statuses == [RECEIVE_FAILED if is_used else RECEIVE_FLUSHED, RECEIVE_FLUSHED]
            assert await tb.give(packet) == "after_fault"
            tb.post(ADDRESS, 10)
            await tb.settle()
            tb.compare()


@cocotb.test()
async def gaps_and_duplicates_are_answered_as_the_rules_say(dut):
    tb = TB(dut)
    await tb.start(psn=PSNS - 2)
    only = roce.WRITE_ONLY
    for skip in (1, 2, 3, PSNS // 2 - 1):
        assert await tb.give(tb.next(only, b"1", skip=skip)) == "gap"
    late = tb.next(only, b"2", ack_request=False)
    assert await tb.give(late) == "packet"
    assert await tb.give(tb.next(only, b"3", skip=1)) == "gap"
    assert await tb.give(late) == "duplicate"
    assert await tb.give(tb.next(only, b"3")) == "packet"
    for behind in (1, 2, PSNS // 2):
        assert await tb.give(tb.next(only, b"4", skip=-behind)) == "duplicate"
        assert await tb.give(tb.next(roce.READ_REQUEST, bytes(16), skip=-behind)) == "unexpected"
    # A duplicate of a FIRST within a message, and of one with another address, changes nothing.
    first, second = packets(tb, True, 300, immediate=False, address=ADDRESS, key=REGION_KEY)
    assert await tb.give(first) == "packet"
    for other in (first, tb.next(roce.SEND_FIRST, bytes(256), skip=-1)):
        other.address += 64
        assert await tb.give(other) == "duplicate"
    assert await tb.give(tb.next(only, b"5", skip=7)) == "gap"
    assert await tb.give(second) == "packet"


@cocotb.test()
async def one_answer_is_due_at_most(dut):
    tb = TB(dut)
    await tb.start()
    only = roce.WRITE_ONLY

    async def batch(*requests: Request) -> list[tuple]:
        """Packets while no answer leaves, then the answers."""
        tb.answers.odds = 0.0
        for request in requests:
            tb.model.take(request)
            tb.put(request)
        await tb.settle()
        tb.answers.odds = 1.0
        await tb.settle()
        taken = list(tb.answers.taken)
        tb.answers.taken.clear()
        assert taken == [tb.model.answer()]
        tb.compare()
        return taken[0][1]

    def skipped(*skips: int, ack_request: bool = True) -> list[Request]:
        return [tb.next(only, b"1", skip=skip, ack_request=ack_request) for skip in skips]

    assert await batch(*skipped(0, 1, 2)) == ACK
    assert await batch(*skipped(1, -1, 2)) == SEQUENCE_ERROR, "a duplicate displaces no NAK"
    assert await batch(*skipped(0, 1)) == ACK
    assert await batch(*skipped(1), *skipped(0, ack_request=False)) == ACK
    assert await batch(*skipped(-1, 1)) == SEQUENCE_ERROR
    assert await batch(*skipped(0), tb.next(roce.SEND_ONLY, b"1", skip=1)) == RNR_NAK | TIMER
    # An RNR NAK that has not left is an ACK when its packet is executed.
    tb.answers.odds = 0.0
    send = tb.next(roce.SEND_ONLY, b"1", ack_request=False)
    for _ in range(2):
        tb.model.take(send)
        tb.put(send)
        await tb.settle()
        tb.post(ADDRESS, 4)
        await tb.bench.run(3)
    assert await batch() == ACK
    assert await batch(*skipped(0), tb.next(only, b"1", key=0, skip=1)) == REMOTE_ACCESS


@cocotb.test()
async def what_finds_no_receive_request_loses_nothing(dut):
    tb = TB(dut)
    await tb.start()
    send = tb.next(roce.SEND_ONLY_IMM, b"hello", immediate=0xABCD)
    assert await tb.give(send) == "not_ready"
    assert await tb.give(tb.next(roce.WRITE_ONLY, b"1", skip=1)) == "gap"
    assert await tb.give(send) == "not_ready"
    tb.post(ADDRESS + 3, 5)
    await tb.bench.run(3)
    assert await tb.give(send) == "packet"
    # A WRITE needs one for its last packet alone.
    first, last = packets(tb, True, 300, immediate=True, address=ADDRESS + 5, key=REGION_KEY)
    assert await tb.give(first) == "packet"
    assert await tb.give(last) == "not_ready"
    tb.post(0, 0)
    await tb.bench.run(3)
    assert await tb.give(last) == "packet"
    # And a SEND for its first.
    first, last = packets(tb, False, 300, immediate=False)
    assert await tb.give(first) == "not_ready"
    tb.post(ADDRESS, 300)
    await tb.bench.run(3)
    assert await tb.give(first) == "packet"
    assert await tb.give(last) == "packet"
    # A region that is withdrawn within a message takes no more of it.
    first, last = packets(tb, True, 300, immediate=False, address=ADDRESS, key=REGION_KEY)
    assert await tb.give(first) == "packet"
    dut.may_write_i.value = 0
    tb.model.may_write = False
    assert await tb.give(last) == "fault"


@cocotb.test()
async def receive_requests_that_wait_are_there_for_packets_in_a_row(dut):
    tb = TB(dut)
    await tb.start()
    for size in (0, 1, tb.beat, 200):
        for is_held in (False, True):
            for _ in range(6):
                tb.post(ADDRESS, size)
            # Those behind the first wait for the memory, or come at once.
            tb.memory.odds = 1.0 - is_held
            for number in range(6):
                opcode = roce.WRITE_ONLY_IMM if number % 3 == 2 else roce.SEND_ONLY
                request = tb.next(opcode, random.randbytes(size))
                assert tb.model.take(request) == "packet"
                tb.put(request)
            await tb.bench.until(lambda: not tb.receive.queue)
            await tb.bench.run(30)
            tb.memory.odds = 1.0
            await tb.settle()
            assert tb.answers.seen == ["packet"] * 6, (size, is_held)
            assert tb.answers.taken[-1] == tb.model.answer()
            tb.answers.seen.clear()
            tb.answers.taken.clear()
            tb.compare()


@cocotb.test()
async def frames_of_others_change_nothing_and_are_counted(dut):
    tb = TB(dut)
    await tb.start()
    tb.post(ADDRESS, 256)
    send = tb.next(roce.SEND_ONLY, bytes(range(100)))
    write = tb.next(roce.WRITE_ONLY, b"1")

    async def drop(cause: str, frame: bytes):
        tb.receive.queue.append(frame.ljust(60, b"\0"))
        await tb.settle()
        assert tb.answers.rx == [cause], (cause, tb.answers.rx)
        tb.answers.rx.clear()

    for request in (send, write):
        for bit in random.sample(range(24), 3):
            await drop("stranger", request.frame(HOST, US, QP ^ 1 << bit))
        for bit in random.sample(range(32), 3):
            other = Peer(HOST.mac, HOST.ip ^ 1 << bit, HOST.port)
            await drop("stranger", request.frame(other, US, QP))
        for bit in random.sample(range(16), 3):
            await drop("pkey", request.frame(HOST, US, QP, p_key=0xFFFF ^ 1 << bit))
        await drop("version", request.frame(HOST, US, QP, version=1))
        frame = request.frame(HOST, US, QP)
        for at in (42, 50, 60, len(frame) - 1):
            broken = bytearray(frame)
            broken[at] ^= 1 << random.randrange(8)
            await drop("icrc", bytes(broken))
    # Shorter than the headers of its opcode, and no multiple of 4.
    for opcode, size in ((roce.WRITE_ONLY, 12), (roce.WRITE_ONLY_IMM, 16), (roce.SEND_ONLY_IMM, 0)):
        bth = roce.bth(opcode, {**roce.BTH, "destination": QP, "psn": tb.model.psn}, 0)
        await drop("length", framed(bth + bytes(size), HOST, US))
        await drop("length", framed(bth + bytes(41), HOST, US))
    for opcode in (0x0D, 0x10, 0x12, 0x20, 0x64, 0xC0):
        await drop("opcode", tb.next(opcode, bytes(16)).frame(HOST, US, QP))
    assert not tb.answers.seen and not tb.answers.taken
    assert await tb.give(send) == "packet"


@cocotb.test()
async def random_traffic_meets_the_model_under_back_pressure(dut):
    tb = TB(dut)
    await tb.start()
    rounds = 60 if cocotb.plusargs.get("all") else 8
    for number in range(rounds):
        if number % 4 == 0 or tb.model.fault is not None:
            await tb.connect(size=5_000)
        tb.receive.odds, tb.memory.odds, tb.receives.odds, tb.answers.odds = (
            random.choice([0.2, 0.6, 1.0]) for _ in range(4)
        )
        for _ in range(random.randrange(5)):
            tb.post(ADDRESS + random.randrange(3000), random.choice([100, 500, 1500]))
        await tb.bench.run(3)
        wanted, msn, covered = [], {tb.model.psn: tb.model.msn}, tb.model.psn
        for request in traffic(tb):
            wanted.append(tb.model.take(request))
            msn[tb.model.psn] = tb.model.msn
            if wanted[-1] == "packet" and request.ack_request:
                covered = tb.model.psn
            tb.put(request)
        await tb.settle()
        assert tb.answers.seen == wanted
        # How many answers leave hangs on when they may; each is right at its time.
        released = [(psn + (syndrome == ACK)) % PSNS for psn, syndrome, _ in tb.answers.taken]
        assert [msn[psn] for psn in released] == [count for _, _, count in tb.answers.taken]
        due = tb.model.answer()
        assert (due is None) == (not released)
        if due is not None:
            assert due[1] == ACK or due in tb.answers.taken
            assert (released[-1] - covered) % PSNS < PSNS // 2
        tb.answers.seen.clear()
        tb.answers.taken.clear()
        tb.compare()


def traffic(tb: TB):
    """Packets in an order that is right for the most part."""
    left: deque[Request] = deque()
    history: list[Request] = []
    for _ in range(random.randrange(2, 16)):
        if not left or left[0].psn != tb.model.psn:
            size = random.choice([0, 5, 200, 256, 300, 700])
            left = deque(packets(
                tb, random.random() < 0.7, size, immediate=random.random() < 0.3,
                address=tb.address + random.randrange(4300),
            ))  # fmt: skip
        choice = random.random()
        if choice < 0.1 and history:
            yield random.choice(history)
        elif choice < 0.2 and len(left) > 1:
            yield left[1]
        else:
            packet = left.popleft()
            history.append(packet)
            yield packet
            if tb.model.psn == packet.psn:  # it was not executed
                left.appendleft(packet)


@cocotb.test()
async def what_finds_no_room_is_dropped_whole_and_comes_again(dut):
    tb = TB(dut)
    await tb.start()
    tb.memory.odds = 0.0
    sent = packets(tb, True, 256 * 60, immediate=False, address=ADDRESS, key=REGION_KEY)
    for packet in sent:
        tb.put(packet)
    await tb.bench.until(lambda: not tb.receive.queue)
    await tb.bench.run(40)
    assert tb.answers.seen.count("no_room") > 10
    tb.memory.odds = 1.0
    await tb.settle()
    kept = tb.answers.seen.count("packet")
    assert kept > 10 and tb.answers.seen.count("no_room") + len(
        [name for name in tb.answers.seen if name != "no_room"]) == len(sent)  # fmt: skip
    for packet in sent[:kept]:
        assert tb.model.take(packet) == "packet"
    tb.compare()
    # Go back to the first that is missing.
    tb.answers.taken.clear()
    for packet in sent[kept:]:
        assert tb.model.take(packet) == "packet"
        tb.put(packet)
    await tb.settle()
    assert tb.answers.taken == [tb.model.answer()]
    tb.compare()


@cocotb.test()
async def marked_requests_are_reported_once_in_an_interval(dut):
    tb = TB(dut)
    interval, now = 50_000, (1 << 47) - 20_000  # the time's low bits wrap within the interval
    await tb.start(cnp_interval=interval)
    dut.time_ns_i.value = now

    async def give(request: Request) -> list:
        tb.model.take(request)
        tb.put(request)
        await tb.settle()
        assert tb.answers.taken[-1:] in ([], ["cnp"], [tb.model.answer()])
        taken, tb.answers.taken = tb.answers.taken, []
        return taken

    def write(**fields) -> Request:
        return tb.next(roce.WRITE_ONLY, b"12345678", **fields)

    for tos in (0, 1, 2, 0xC2, 0xFC):
        assert "cnp" not in await give(write(tos=tos))
    first = await give(write(tos=3))
    assert first[0] == "cnp" and len(first) == 2  # in front of the ACK
    # Whatever becomes of it; all within the interval.
    for packet in (write(tos=3), write(tos=0xFF, skip=-1), write(tos=3, skip=1),
                   tb.next(roce.SEND_ONLY, b"1", tos=3)):  # fmt: skip
        assert "cnp" not in await give(packet)
    assert tb.answers.seen.count("marked") == 5 and tb.answers.seen.count("cnp") == 1
    dut.time_ns_i.value = now + interval - 1
    await tb.bench.run(40)
    assert not tb.answers.taken
    dut.time_ns_i.value = now + interval
    await tb.bench.run(40)
    dut.time_ns_i.value = now + 2 * interval
    await tb.bench.run(40)
    assert tb.answers.taken == ["cnp"]
    tb.answers.taken.clear()
    # Each of these, with the interval over; the last one ends the connection.
    for number, packet in enumerate((
        write(tos=3, skip=-1), write(tos=3, skip=1), tb.next(roce.SEND_ONLY, b"1", tos=3),
        tb.next(roce.READ_REQUEST, bytes(16), tos=3, skip=-1), write(tos=3, key=0),
    )):  # fmt: skip
        now += 4 * interval
        dut.time_ns_i.value = now
        assert ("cnp" in await give(packet)) == (number < 4), packet
    assert tb.model.fault == KEY and "cnp" not in await give(write(tos=3))
    # A CNP that is owed is not sent behind a failure, nor on the next connection.
    await tb.connect(cnp_interval=interval)
    assert "cnp" in await give(write(tos=3)) and "cnp" not in await give(write(tos=3))
    dut.abort_i.value = 1
    await tb.bench.run(1)
    dut.abort_i.value = 0
    dut.time_ns_i.value = now + 8 * interval
    await tb.bench.run(40)
    await tb.connect(cnp_interval=interval)
    assert "cnp" not in await give(write()) and "cnp" in await give(write(tos=3))
    await tb.connect(cnp_interval=0)
    assert "cnp" not in await give(write(tos=3)) and "marked" in tb.answers.seen


@cocotb.test()
async def marked_request_without_room_is_reported(dut):
    tb = TB(dut)
    await tb.start(cnp_interval=1000)
    tb.memory.odds = 0.0
    sent = packets(tb, True, 256 * 60, immediate=False, address=ADDRESS, key=REGION_KEY)
    for packet in sent[:-1]:
        tb.put(packet)
    await tb.bench.until(lambda: not tb.receive.queue)
    await tb.bench.run(40)
    assert "no_room" in tb.answers.seen and not tb.answers.taken
    sent[-1].tos = 3
    tb.put(sent[-1])
    await tb.bench.run(200)
    assert tb.answers.taken == ["cnp"] and tb.answers.seen[-3:].count("no_room") == 1


@cocotb.test()
async def a_connection_that_ends_in_mid_packet_leaves_nothing_to_the_next(dut):
    tb = TB(dut)
    await tb.start()
    for cycles in range(20, 100, 9):
        await tb.connect()
        tb.post(ADDRESS, 256)
        tb.memory.odds = random.choice([0.3, 1.0])
        await tb.bench.run(3)
        for packet in packets(tb, False, 256, immediate=True):
            tb.put(packet)
            tb.put(packet)
        await tb.bench.run(cycles)
        # The rest of the frames comes while the next one runs; their PSNs may be right there.
        psn = tb.model.psn
        await tb.connect(psn=psn)
        tb.memory.odds = 1.0
        await tb.settle()
        before = tb.answers.seen.count("not_ready")
        assert tb.answers.seen == ["not_ready"] * before
        tb.model._has_nacked = before > 0
        tb.answers.taken.clear()
        tb.answers.seen.clear()
        tb.post(ADDRESS, 5)
        tb.memory.bytes.clear()
        await tb.bench.run(3)
        assert await tb.give(tb.next(roce.SEND_ONLY, b"whole")) == "packet"
    # Without a peer's fault.
    tb.post(ADDRESS, 5)
    await tb.bench.run(3)
    dut.abort_i.value = 1
    await tb.bench.run(1)
    dut.abort_i.value = 0
    await tb.settle()
    assert tb.receives.completions[-1][1] == RECEIVE_FLUSHED and not tb.answers.taken
    assert dut.is_failed_o.value == 1
    dut.run_i.value = 0
    await tb.bench.run(4)
    assert dut.is_failed_o.value == 0 and dut.receive_ready_o.value == 0


@cocotb.test()
async def packets_at_the_rate_of_the_line_are_all_executed(dut):
    tb = TB(dut)
    await tb.start()
    tb.receive.is_paced = True
    sizes = {8: (8, 64, 256), 64: (256,)}[tb.beat]
    count = 300 if cocotb.plusargs.get("all") else 100
    for size in sizes:
        await tb.connect()
        first = tb.next(roce.WRITE_ONLY, bytes(size))
        tb.put(first)
        await tb.settle()
        latency = tb.memory.first[0] - tb.receive.done[-1]
        begin = tb.bench.now
        for number in range(1, count):
            request = tb.next(roce.WRITE_ONLY, random.randbytes(size), skip=number)
            tb.put(request)
        await tb.bench.until(lambda: not tb.receive.queue)
        cycles = tb.bench.now - begin
        await tb.bench.run(QUIET_CYCLES)
        assert tb.answers.seen == ["packet"] * count
        dut._log.info(
            "%d bytes: frame to memory %d cycles, a packet in %.2f cycles", size, latency,
            cycles / (count - 1),
        )  # fmt: skip
        assert latency <= 24


SOURCES = [
    "roce_responder", "notification_point", "frame_fifo", "roce_rx", "eth_ip_check", "ip_sums",
    "ip_sums_wide", "form_bth", "crc_check", "crc_step64", "rtl/tb/roce/roce_rx/roce_rx_tb.sv",
    "rtl/tb/roce/roce_responder/roce_responder_tb.sv",
]  # fmt: skip


@pytest.mark.parametrize("width", [64, pytest.param(512, marks=pytest.mark.full)])
@pytest.mark.parametrize("is_all", [False, pytest.param(True, marks=pytest.mark.full)])
def test_roce_responder(width, is_all):
    run(
        "roce_responder_tb",
        sources=SOURCES,
        test_module="test_roce_responder",
        parameters={"W": width},
        plusargs=["+all"] if is_all else [],
    )

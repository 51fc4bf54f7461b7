"""nic_receive: frames of any length to buffers; the account of frames; buffers are never lost."""

import random
from collections import Counter, deque

import cocotb
import pytest
from acb import Memory
from axis import Bench, Source
from cocotb.clock import Clock
from nic_engine import FREE, RECEIVE, SERVERS, TRANSMIT, EngineQueues
from runner import run

EVENTS = ("received", "bad", "too_long", "filtered", "full", "failed", "disabled")
MAC = bytes.fromhex("02005e112233")
OWN, BROADCAST, MULTICAST, ALL = 1, 2, 4, 8
TURNS, FLOW, CONTROL = range(3)
HIGH = 0x5


class TB:
    def __init__(self, dut, **memory):
        self.dut = dut
        self.source = Source(dut, "s_axis")
        self.memory, self.queues = Memory(dut, **memory), EngineQueues(dut)
        self.bench = Bench(dut.clk_i, [self.source, self.memory, self.queues, self])
        self.big_endian = bool(dut.BigEndian.value)
        self.memory.on_taken = self.written
        self.queues.on_push, self.queues.on_pop = self.pushed, self.popped
        self.frames: list[tuple[bytes, int]] = []
        self.fates = Counter()
        self.waiting: deque[bytes] = deque()  # what the filter lets pass, before its fate
        self.last_push = None
        self.last_server = 3
        self.engine: set[int] = set()  # buffers that the engine has
        self.got: list[tuple[int, bytes]] = []  # server and frame
        self.counter = 0
        self.begun: dict[int, int] = {}  # counter at a frame's first beat
        self.offered = 0

    # ---- the frame's way

    def drive(self):
        self.counter = (self.counter + 1) & 0xFFFFFFFF
        self.dut.counter_i.value = self.counter

    def after(self, now: int):
        dut = self.dut
        raised = [e for e in EVENTS if getattr(dut, f"ev_{e}_o").value == 1]
        assert len([e for e in raised if e in ("received", "full", "failed")]) <= 1
        assert len([e for e in raised if e not in ("received", "full", "failed")]) <= 1
        for event in raised:
            self.fates[event] += 1
            if event in ("received", "full", "failed"):
                frame = self.waiting.popleft()
            if event == "received":
                server, pointer = self.last_push
                self.check(frame, pointer)
                self.got.append((server, frame))
                self.last_server = server

    def check(self, frame: bytes, pointer: int):
        address = HIGH << 32 | pointer
        control = self.memory.dwords[address]
        stored = self.memory.bytes_at(address + 8, (len(frame) + 7) // 8 * 8)
        if self.big_endian:
            stored = b"".join(stored[i : i + 8][::-1] for i in range(0, len(stored), 8))
        assert stored[: len(frame)] == frame
        assert control >> 16 & 0xFFFF == len(frame)
        last = (len(frame) - 1) % 8 + 1
        assert control & 0xFF == (1 << last) - 1
        is_broadcast, is_multicast = frame[:6] == b"\xff" * 6, frame[0] & 1
        flags = is_broadcast | is_multicast << 1 | (frame[:6] == MAC) << 2
        assert control >> 8 & 0xFF == flags
        assert 0 < self.counter - (control >> 32) < 100_000

    def written(self, request, now: int):
        assert not request.read and request.address >> 32 == HIGH
        pointer = request.address & 0xFFFFFFFF & -self.size
        assert pointer in self.engine, "a write to a buffer that the engine does not have"

    def pushed(self, kind: int, server: int, pointer: int):
        assert kind == (TRANSMIT if self.loopback else RECEIVE)
        # All of its writes have answered.
        low = HIGH << 32 | pointer
        assert not any(low <= r.address < low + self.size for _, r, _ in self.memory._open)
        self.engine.remove(pointer)
        if self.choice == TURNS:
            order = [(self.last_server + 1 + i) % SERVERS for i in range(SERVERS)]
            full = self.queues.full(kind)
            # One that has just become full or not is seen later.
            assert server == next(s for s in order if s < self.servers and not full >> s & 1)
        else:
            assert server == expected_server(self.waiting[0], self.choice, self.servers)
        self.last_push = server, pointer

    def popped(self, kind: int, server: int, pointer: int):
        assert kind == FREE
        self.engine.add(pointer)

    # ---- set-up

    async def start(self, *, bits=4, buffers=8, servers=4, choice=TURNS, rules=ALL):
        dut = self.dut
        self.size = 128 << bits
        self.buffers = buffers
        self.choice, self.servers, self.loopback = choice, servers, False
        for name, value in (
            ("enable", 1), ("loopback", 0), ("servers", servers), ("choice", choice),
            ("filter", rules), ("mac", int.from_bytes(MAC, "little")), ("ethertype", 0x88B5),
            ("port", 4791), ("address", HIGH), ("buffer_bits", bits),
        ):  # fmt: skip
            getattr(dut, f"{name}_i").value = value
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        await self.bench.run(4)
        dut.rst_i.value = 0
        self.refill()

    def refill(self):
        for i in range(self.buffers):
            self.queues.queues[FREE, 0].append(i * self.size)

    def put(self, frame: bytes, bad: int = 0, *, fate: str | None = None):
        """Sends a frame; `fate` is that of one that is not kept."""
        self.frames.append((frame, bad))
        if fate is None:
            self.waiting.append(frame)
        else:
            self.expected[fate] += 1
        self.source.put(frame, bad)

    expected: Counter

    async def drain(self):
        """Until each frame has its event; received buffers become free again."""
        await self.bench.until(
            lambda: self.recycle() or self.fates.total() == len(self.frames), 1_000_000
        )
        # An event is seen ahead of the edge that takes it: no input changes until then.
        await self.bench.run(1)

    def recycle(self):
        for key, queue in self.queues.queues.items():
            if key[0] != FREE:
                while queue and not self.is_stuck(key[1]):
                    self.queues.queues[FREE, 0].append(queue.popleft())

    def is_stuck(self, server: int) -> bool:
        return False

    def account(self):
        """Each frame in one counter, each buffer in one place."""
        assert self.fates.total() == len(self.frames)
        for fate in ("bad", "too_long", "filtered", "disabled"):
            assert self.fates[fate] == self.expected[fate], fate
        assert not self.waiting
        placed = [p for queue in self.queues.queues.values() for p in queue] + [*self.engine]
        assert sorted(placed) == [i * self.size for i in range(self.buffers)]


def new(dut, **memory) -> TB:
    tb = TB(dut, **memory)
    tb.expected = Counter()
    return tb


def frame_of(length: int, address: bytes = MAC) -> bytes:
    return (address + random.randbytes(length))[:length]


def expected_server(frame: bytes, choice: int, servers: int) -> int:
    """By the text of nic_receive: the flow's bytes folded to one, an equal share of 256 each."""
    is_ip = frame[12:15] == b"\x08\x00\x45" and len(frame) >= 15
    flow = frame[:12]
    udp_to = None
    if is_ip and len(frame) > 24:
        flow = frame[26:34] if len(frame) > 32 else frame[26:32]
        fragment = int.from_bytes(frame[20:22], "big") & 0x3FFF
        if fragment == 0 and frame[23] in (6, 17) and len(frame) > 32:
            flow = frame[26:38]
            udp_to = frame[36:38] if frame[23] == 17 else None
    is_data = frame[12:14] == b"\x88\xb5" or udp_to == (4791).to_bytes(2, "big")
    fold = 0
    for byte in flow:
        fold ^= byte
    if choice == FLOW:
        return fold * servers >> 8
    if not is_data or servers == 1:
        return 0
    return 1 + (fold * (servers - 1) >> 8)


def ip_frame(length: int = 60) -> bytes:
    frame = bytearray(frame_of(length))
    frame[12:15] = b"\x08\x00\x45"
    frame[20:22] = random.choice([b"\x00\x00", b"\x40\x00", b"\x20\x00", b"\x00\x07"])
    frame[23] = random.choice([6, 17, 17, 1])
    frame[36:38] = random.choice([b"\x12\xb7", random.randbytes(2)])
    return bytes(frame)


@cocotb.test()
async def every_length(dut):
    tb = new(dut)
    await tb.start()
    lengths = range(8, 1601) if cocotb.plusargs.get("full") else [
        *range(8, 140), *range(1490, 1601, 7), *range(1592, 1601)]  # fmt: skip
    for length in lengths:
        tb.put(frame_of(length))
    await tb.drain()
    assert tb.fates == {"received": len(lengths)}
    tb.account()


@cocotb.test()
async def longest_frames(dut):
    tb = new(dut)
    await tb.start(bits=7, buffers=4)
    for length in (9000, 9014, 16368, 16375, 16376):
        tb.put(frame_of(length))
    for length in (16377, 16384, 40_000, 70_001):
        tb.put(frame_of(length), fate="too_long")
    tb.put(frame_of(60))
    await tb.drain()
    tb.account()


@cocotb.test()
async def frames_of_60_bytes_come_without_a_pause(dut):
    """One in 9 cycles: 8 beats and the control word."""
    tb = new(dut)
    await tb.start()
    for _ in range(200):
        tb.put(frame_of(60))
    await tb.drain()
    took = [b - a for a, b in zip(tb.source.taken, tb.source.taken[1:], strict=False)]
    assert set(took[2:]) == {9}
    tb.account()


@cocotb.test()
async def bad_short_long_and_filtered_frames_are_counted_once(dut):
    tb = new(dut, odds=0.8)
    await tb.start(rules=OWN, bits=0)
    tb.source.odds, tb.queues.odds = 0.9, 0.7
    for rules in (OWN, BROADCAST, MULTICAST, OWN | BROADCAST, ALL, 0):
        dut.filter_i.value = rules
        for _ in range(120):
            address = random.choice([
                MAC, b"\xff" * 6, b"\x01" + random.randbytes(5), b"\x02" + random.randbytes(5)
            ])  # fmt: skip
            if address[0] & 1:
                passes = rules & (BROADCAST if address == b"\xff" * 6 else MULTICAST)
            else:
                passes = rules & OWN and address == MAC
            length = random.choice([random.randrange(1, 20), random.randrange(14, 121),
                                    random.randrange(121, 300)])  # fmt: skip
            bad = int(random.random() < 0.2)
            is_bad, is_long = bad or length < 8, length > 120
            is_filtered = not (passes or rules & ALL)
            fate = "filtered" if is_filtered else None
            fate = "bad" if is_bad else "too_long" if is_long else fate
            tb.put(frame_of(length, address), bad, fate=fate)
        await tb.drain()
    tb.account()
    assert min(tb.fates[f] for f in ("received", "bad", "too_long", "filtered")) > 50


@cocotb.test()
async def each_way_of_choosing_a_server(dut):
    tb = new(dut)
    await tb.start()
    for choice in (FLOW, CONTROL, TURNS):
        for servers in (1, 2, 3, 4):
            tb.choice, tb.servers = choice, servers
            dut.choice_i.value, dut.servers_i.value = choice, servers
            tb.got.clear()
            for _ in range(60):
                frame = ip_frame(random.choice([60, 64, 34, 38, 33, 25, 100]))
                if random.random() < 0.3:
                    frame = frame_of(random.randrange(14, 80))
                if random.random() < 0.3:
                    frame = frame[:12] + b"\x88\xb5" + frame[14:]
                tb.put(frame)
            await tb.drain()
            assert {s for s, _ in tb.got} == set(range(servers))
    tb.account()


@cocotb.test()
async def loopback_changes_between_frames(dut):
    tb = new(dut)
    await tb.start()
    for _ in range(20):
        for _ in range(7):
            tb.put(frame_of(random.randrange(14, 200)))
        tb.loopback = not tb.loopback
        # What has closed keeps its queue: change while nothing is under way.
        dut.loopback_i.value = int(tb.loopback)
        await tb.drain()
    tb.account()


@cocotb.test()
async def frames_wait_for_buffers(dut):
    tb = new(dut)
    await tb.start(buffers=3)
    tb.recycle = lambda: None
    for _ in range(10):
        tb.put(frame_of(60))
    await tb.bench.run(500)
    # All have a frame; the fourth waits.
    assert tb.fates == {"received": 3} and len(tb.source.taken) == 3
    del tb.recycle
    await tb.drain()
    assert tb.fates == {"received": 10}
    tb.account()


@cocotb.test()
async def a_stuck_server_is_skipped_or_loses_its_frames(dut):
    tb = new(dut)
    await tb.start(buffers=12)
    tb.queues.depth = 4
    tb.is_stuck = lambda server: server == 1
    for _ in range(60):
        tb.put(frame_of(60))
    await tb.drain()
    assert tb.fates == {"received": 60}
    assert sum(s == 1 for s, _ in tb.got) == 4
    # All servers are full: nothing is lost but frames.
    tb.is_stuck = lambda server: True
    tb.buffers = 24
    tb.queues.queues[FREE, 0].extend(i * tb.size for i in range(12, 24))
    for _ in range(60):
        tb.put(frame_of(60))
    await tb.drain()
    assert tb.fates == {"received": 72, "full": 48}
    # By flow, a full queue drops.
    tb.is_stuck = lambda server: server == 1
    tb.choice = FLOW
    dut.choice_i.value = FLOW
    tb.recycle()
    for _ in range(100):
        tb.put(ip_frame())
    await tb.drain()
    lost = tb.fates["full"] - 48
    assert 10 < lost < 60
    tb.account()


@cocotb.test()
async def a_queue_that_fills_up_meanwhile_refuses(dut):
    """The count said that it has room; another port's push came first."""
    tb = new(dut)
    await tb.start()
    tb.choice = FLOW
    dut.choice_i.value = FLOW
    real = tb.queues.full
    tb.queues.full = lambda kind: 0
    tb.queues.depth = 0
    for _ in range(20):
        tb.put(frame_of(60))
    await tb.drain()
    assert tb.fates == {"full": 20}
    tb.queues.full, tb.queues.depth = real, 64
    for _ in range(20):
        tb.put(frame_of(60))
    await tb.drain()
    tb.account()


@cocotb.test()
async def err_of_a_write_drops_its_frame_only(dut):
    tb = new(dut, latency=5, odds=0.9)
    await tb.start()
    tb.memory.fails = lambda request: random.random() < 0.02
    marked = set()

    def fails(request):
        return id(request) in marked

    def taken(request, now):
        TB.written(tb, request, now)
        if random.random() < 0.02:
            marked.add(id(request))
            kept.append(request)

    kept = []
    tb.memory.fails, tb.memory.on_taken = fails, taken
    for _ in range(300):
        is_bad = random.random() < 0.1
        tb.put(frame_of(random.randrange(14, 200)), int(is_bad), fate="bad" if is_bad else None)
    await tb.drain()
    tb.account()
    assert tb.fates["failed"] > 20 and tb.fates["received"] > 100


@cocotb.test()
async def the_lock_of_the_free_queue_holds_back_pops_only(dut):
    tb = new(dut)
    await tb.start()
    await tb.bench.run(20)
    tb.queues.locked = True
    for _ in range(5):
        tb.put(frame_of(60))
    await tb.bench.run(100)
    # Two buffers were there.
    assert tb.fates == {"received": 2}
    tb.queues.locked = False
    await tb.drain()
    tb.account()


@cocotb.test()
async def disable_takes_effect_between_frames(dut):
    tb = new(dut)
    await tb.start()
    begun, kept = [], []

    def on_beat(frame, at):
        if at == 0:
            begun.append(frame)

    tb.source.on_beat = on_beat
    tb.source.odds = 0.6
    total = 150
    frames = [frame_of(random.randrange(14, 100)) for _ in range(total)]
    is_enabled = True
    original = tb.after

    def after(now):
        nonlocal is_enabled
        if tb.source._is_shown and tb.source._at == 0 and dut.s_axis_tready.value == 1:
            if is_enabled:
                tb.waiting.append(frames[len(tb.source.taken)])
            else:
                kept.append(0)
        original(now)
        if random.random() < 0.05:
            is_enabled = not is_enabled

    def drive():
        TB.drive(tb)
        dut.enable_i.value = int(is_enabled)

    # The source moves on in its own `after`: look before it.
    tb.bench.parts = [tb.memory, tb.queues, tb, tb.source]
    tb.after, tb.drive = after, drive
    for frame in frames:
        tb.frames.append((frame, 0))
        tb.source.put(frame)
    await tb.drain()
    assert tb.fates["disabled"] == len(kept) > 20
    tb.expected["disabled"] = len(kept)
    tb.account()


@cocotb.test()
async def reset_in_mid_frame(dut):
    tb = new(dut, latency=4)
    await tb.start()
    for _ in range(20):
        for _ in range(8):
            tb.put(frame_of(random.randrange(14, 200)))
        await tb.bench.run(random.randrange(20, 80))
        dut.rst_i.value = 1
        tb.source.reset()
        tb.queues.odds = 0.0
        await tb.bench.run(1)
        tb.memory.reset()
        await tb.bench.run(1)
        # What neither left nor was counted: waiting in the source, under way, or closed.
        tb.queues.reset()
        tb.queues.odds = 1.0
        tb.engine.clear()
        dut.rst_i.value = 0
        tb.frames.clear()
        tb.waiting.clear()
        tb.fates.clear()
        tb.source.taken.clear()
        tb.last_server = 3
        tb.refill()
        for _ in range(4):
            tb.put(frame_of(random.randrange(14, 200)))
        await tb.drain()
        assert tb.fates == {"received": 4}
        tb.account()


@cocotb.test()
async def random_traffic(dut):
    tb = new(dut, latency=3, odds=0.8)
    await tb.start(bits=2, choice=FLOW, buffers=6)
    tb.queues.depth = 3
    tb.is_stuck = lambda server: random.random() < 0.7
    for odds, grants, latency in ((1.0, 1.0, 2), (0.7, 0.4, 9), (0.4, 1.0, 30)):
        tb.source.odds, tb.queues.odds, tb.memory.latency = odds, grants, latency
        for _ in range(60):
            length, bad = random.randrange(8, 600), int(random.random() < 0.1)
            fate = "bad" if bad else "too_long" if length > 504 else None
            tb.put(frame_of(length), bad, fate=fate)
        await tb.drain()
    tb.account()


@pytest.mark.parametrize("big_endian", [0, pytest.param(1, marks=pytest.mark.full)])
def test_nic_receive(big_endian, request):
    run(
        "nic_receive",
        sources=["nic_receive"],
        parameters={"BigEndian": big_endian},
        test_module="test_nic_receive",
        plusargs=["+full"] if request.config.getoption("--full") else [],
    )

"""session against docs/protocol.md#3.16, #7.11, #4.8 to #4.10, and its answers to ARP and echo.

`Model` states the tables a second time, from the text; the cookie's function is stated from the
header of `cookie.sv` and the paper on SPECK, and its cipher is held to the paper's vector.
"""

import itertools
import os
import random
import struct
from dataclasses import dataclass, field
from pathlib import Path

import cocotb
import ctl_lockstep
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from network import (
    IPV4,
    Peer,
    arp,
    checksum,
    crc32c,
    datagram,
    echo_request,
    ethernet,
    packet,
    vectors,
)
from runner import run

MS = 1_000_000
UNIT = 16
BOARD = Peer(0x025357495200, 0xC0000201, 9100)
HOST = Peer(0x021122334455, 0xC0000263, 40001)
OTHER = Peer(0x0266778899AA, 0xC6336417, 51234)
SECRET = 0x1B1A1918131211100B0A090803020100
BOOT = 0xB007_0000_0000_0007
# Cycles that a MARK may wait for other work and for being built, a millisecond's among them.
LATE = 800
PAYLOAD = 128
DATA, MARK, REPORT, OPEN, CHALLENGE, ACCEPT, REFUSE, CLOSE, CLOSE_ACK = range(9)
IDLE, OPENING, FLOWING, CLOSING, ENDED = range(5)
BUSY, NO_STREAM, ROLE, PACKET_SIZE, VERSION, WINDOW, _, DELIVERY, TRAILER, START = range(1, 11)
FULL = bool(os.environ.get("SAMPLEWIRE_FULL"))
EVENTS = (
    "opens challenged accepted repeated refused late takeover unknown unanswered malformed "
    "unexpected close_refused mark finished closed silent half_open breaker control "
    "arp icmp suppressed dropped"
).split()


def speck64(block: int, key: int) -> int:
    """SPECK-64/128 of Beaulieu et al. 2013."""
    mask = 0xFFFFFFFF
    x, y = block >> 32, block & mask
    k = key & mask
    words = [key >> 32 * i & mask for i in (1, 2, 3)]

    def turn(x: int, y: int, k: int) -> tuple[int, int]:
        x = ((x >> 8 | x << 24) + y & mask) ^ k
        return x, (y << 3 & mask | y >> 29) ^ x

    for i in range(27):
        x, y = turn(x, y, k)
        word, k = turn(words.pop(0), k, i)
        words.append(word)
    return x << 32 | y


def keyed(first: int, second: int) -> int:
    return speck64(speck64(first, SECRET) ^ second, SECRET)


def cookie(epoch: int, peer: Peer, nonce: int) -> bytes:
    first = (peer.ip & 0xFFFF) << 48 | epoch << 32 | peer.port << 16 | peer.ip >> 16
    return b"".join(keyed(first, nonce & ~0xFF | half).to_bytes(8, "big") for half in (0, 1))


@dataclass
class Wish:
    """An OPEN, docs/protocol.md#2.13."""

    nonce: int
    owner: int = 7
    cookie: bytes = bytes(16)
    tag: int = 0x5EED0001
    role: int = 1
    delivery: int = 0
    stream: int = 0
    window: int = 1024
    max_packet: int = 1500
    pad: int = 0
    trailer: int = 0
    zero: int = 0
    index: int = 0
    length: int = 200
    header_tag: int = 0
    departure: int = 0
    version: int = 1

    def data(self) -> bytes:
        body = struct.pack(
            "!IBBHQQ", self.tag, self.role, self.delivery, self.stream, self.nonce, self.owner
        )
        body += self.cookie + struct.pack(
            "!IHBB", self.window, self.max_packet, self.pad, self.trailer
        )
        body += struct.pack("!II", 0, self.zero)
        body = body.ljust(self.length - 26, b"\0")
        return packet(
            OPEN,
            body,
            tag=self.header_tag,
            index=self.index,
            departure=self.departure,
            version=self.version,
        )


class TB:
    """The board's control side, with the test as its clock and its window."""

    def __init__(self, dut):
        self.dut = dut
        self.frames: list[bytes] = []
        self.last_departure = None
        self.stall = 0.0
        self.gaps = 0

    async def start(self, *, payload: int = PAYLOAD, dead_ms: int = 15000, idle_ms: int = 1000):
        dut = self.dut
        for name in (
            "jump_ns c_valid c_data c_last c_is_report close close_reason busy index lost "
            "oldest sent next credit_came depart_new depart_repeat tx_busy taken alive "
            "grant_wait tpl_we tpl_waddr tpl_wdata tai_index tai_time tai_period tai_number"
        ).split():
            getattr(dut, f"{name}_i").value = 0
        dut.m_axis_tready.value = 1
        dut.enable_i.value = 1
        dut.secret_i.value = SECRET
        dut.boot_id_i.value = BOOT
        dut.payload_bytes_i.value = payload
        dut.dead_ms_i.value = dead_ms
        dut.idle_ms_i.value = idle_ms
        dut.tpl_words_i.value = 12
        dut.self_i.value = BOARD.packed()
        dut.step_ns_i.value = 8
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start(start_high=False))
        self.template = random.randbytes(12 * 8)
        for k in range(12):
            dut.tpl_we_i.value = 1
            dut.tpl_waddr_i.value = k
            dut.tpl_wdata_i.value = int.from_bytes(self.template[8 * k : 8 * k + 8], "big")
            await FallingEdge(dut.clk_i)
        dut.tpl_we_i.value = 0
        await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        cocotb.start_soon(self.collect())
        await FallingEdge(dut.clk_i)

    async def collect(self):
        """Frames that leave, checked against the rules of AXI-Stream and of a MAC."""
        dut = self.dut
        while True:
            if not dut.m_axis_tvalid.value:
                await RisingEdge(dut.m_axis_tvalid)
            part, held = b"", None
            while True:
                await FallingEdge(dut.clk_i)
                ready = random.random() >= self.stall
                dut.m_axis_tready.value = ready
                assert dut.m_axis_tvalid.value or not part, "a gap inside a frame"
                if not dut.m_axis_tvalid.value:
                    continue
                beat = tuple(
                    int(dut.__getattr__(f"m_axis_t{n}").value) for n in ("data", "keep", "last")
                )
                assert held is None or beat == held, "a beat changed before it was taken"
                held = None if ready else beat
                if ready:
                    part += beat[0].to_bytes(8, "little")[: beat[1].bit_count()]
                    count = beat[1].bit_count()
                    assert beat[1] == (1 << count) - 1 and (beat[2] or count == 8)
                    if beat[2]:
                        break
            if part[12:14] == b"\x08\0" and part[23] == 17:
                assert len(part) % 8 == 4
                self.check_stamp(part)
            self.frames.append(part)
            await RisingEdge(dut.clk_i)

    def check_stamp(self, frame: bytes):
        """Departures strictly rise, docs/protocol.md#2.6."""
        departure = struct.unpack("!I", frame[60:64])[0]
        if self.last_departure is not None:
            assert (departure - self.last_departure) % 2**32 - 1 < 2**31 - 1
        self.last_departure = departure

    def now(self) -> int:
        return int(self.dut.time_ns_o.value)

    async def cycles(self, count: int):
        if count:
            await Timer(10 * count - 5, "ns")
            await FallingEdge(self.dut.clk_i)

    async def set(self, **values):
        for name, value in values.items():
            getattr(self.dut, f"{name}_i").value = value
        await FallingEdge(self.dut.clk_i)

    async def pulse(self, *names: str, **values):
        await self.set(**values, **dict.fromkeys(names, 1))
        await self.set(**dict.fromkeys(names, 0))

    async def jump(self, ns: int):
        """Time passes at once; the milliseconds are counted one after the other, or 64 together."""
        await self.set(jump_ns=ns)
        await self.set(jump_ns=0)
        await self.cycles(400 + 240 * (ns // MS // 64 + 64))

    async def send(self, peer: Peer, data: bytes, *, gaps: float = 0.0):
        """Gives a packet as frame_rx does: whole, at most 384 bytes of its frame."""
        await self.give(datagram(peer, BOARD, data), gaps=gaps)

    async def give(self, frame: bytes, *, gaps: float = 0.0):
        """Gives a frame; what lies behind its end is anything."""
        frame = frame[:384]
        for at in range(0, len(frame), 8):
            while random.random() < gaps:
                await FallingEdge(self.dut.clk_i)
            part = frame[at : at + 8]
            part += random.randbytes(8 - len(part))
            await self.set(
                c_valid=1, c_data=int.from_bytes(part, "little"), c_last=at + 8 >= len(frame)
            )
            self.dut.c_valid_i.value = 0

    async def report(
        self, *, newer: bool = True, number: int = 0, departure: int = 0, echo: int = 0, hold=0
    ):
        """Shows a REPORT from its number on, with report_rx's verdict on it."""
        words = struct.pack("!8I", number, departure, 0, 0, 0, 0, echo, hold)
        for at in range(0, 32, 8):
            is_last = at == 24
            await self.set(
                c_valid=1, c_data=int.from_bytes(words[at : at + 8], "little"), c_last=is_last,
                c_is_report=1, alive=is_last, taken=is_last and newer,
            )  # fmt: skip
        await self.set(c_valid=0, c_is_report=0, alive=0, taken=0)
        # The processor may be at a packet or at a MARK before it sees the verdict.
        session = self.dut.u_session
        for _ in range(0, 10_000, 25):
            await self.cycles(25)
            if not int(session.alive_q.value) and not int(session.taken_q.value):
                break
        await self.cycles(500)

    async def close(self, **values):
        """Closes a stream that is open; the processor may be at a packet before."""
        await self.pulse("close", **values)
        for _ in range(0, 6_000, 150):
            await self.cycles(150)
            if int(self.dut.state_o.value) not in (OPENING, FLOWING):
                return

    def take(self, *kinds: int) -> list[bytes]:
        """Packets of these types that have left, with their frames' headers checked by datagram."""
        taken = [f for f in self.frames if f[42] & 15 in kinds]
        self.frames = [f for f in self.frames if f[42] & 15 not in kinds]
        return taken

    async def ask(self, peer: Peer, wish: Wish | bytes, *, cycles: int = 7500) -> bytes | None:
        """The answer to a packet, or None when there is none after so many cycles."""
        self.take(CHALLENGE, ACCEPT, REFUSE, CLOSE_ACK)
        await self.send(peer, wish.data() if isinstance(wish, Wish) else wish)
        for _ in range(0, cycles, 50):
            await self.cycles(min(cycles, 50))
            if any(f[42] & 15 in (CHALLENGE, ACCEPT, REFUSE, CLOSE_ACK) for f in self.frames):
                await self.cycles(10)
                break
        answers = self.take(CHALLENGE, ACCEPT, REFUSE, CLOSE_ACK)
        assert len(answers) <= 1
        return answers[0] if answers else None

    async def prove(self, peer: Peer, wish: Wish) -> Wish:
        """The same wish with a cookie."""
        answer = await self.ask(peer, Wish(wish.nonce, tag=wish.tag, length=128))
        assert answer[42] == 0x14
        wish.cookie = answer[72:88]
        return wish

    async def open(self, peer: Peer = HOST, **wish) -> Wish:
        wish = await self.prove(peer, Wish(**{"nonce": random.getrandbits(64), **wish}))
        answer = await self.ask(peer, wish)
        assert answer[42] == 0x15
        assert int(self.dut.state_o.value) == OPENING
        return wish

    def tag(self) -> int:
        return int(self.dut.stream_tag_o.value)

    def count(self, name: str) -> int:
        return int(self.dut.events_o.value) >> 16 * EVENTS.index(name) & 0xFFFF

    def frame(self, peer: Peer, kind: int, body: bytes, got: bytes, **header) -> bytes:
        """What a frame must be; its departure is the one thing taken from it."""
        departure = int.from_bytes(got[60:64], "big") if got else 0
        return datagram(BOARD, peer, packet(kind, body, flags=0, departure=departure, **header))

    def accept(
        self, peer: Peer, wish: Wish, got: bytes, *, tag: int, length: int, index: int = 0
    ) -> bytes:
        body = struct.pack("!QI", wish.nonce, tag) + self.template[12:]
        return self.frame(
            peer, ACCEPT, body.ljust(length - 26, b"\0"), got, tag=wish.tag, index=index
        )

    def refuse(self, peer: Peer, wish: Wish, got: bytes, reason: int) -> bytes:
        body = struct.pack("!QHHI", wish.nonce, reason, 2, 1000 if reason == BUSY else 0)
        return self.frame(peer, REFUSE, body, got, tag=wish.tag, version=wish.version)


@cocotb.test()
async def cipher_matches_the_paper(dut):
    assert speck64(0x3B7265747475432D, SECRET) == 0x8C6FA548454E028B


@cocotb.test()
async def open_is_challenged_then_accepted_at_the_length_of_data(dut):
    tb = TB(dut)
    await tb.start(payload=1408)
    tb.stall = 0.3
    for peer, wish in ((HOST, Wish(0x0123456789ABCDEF)), (OTHER, Wish(2, tag=9, length=128))):
        got = await tb.ask(peer, wish)
        body = struct.pack("!Q", wish.nonce) + cookie(0, peer, wish.nonce)
        assert got == tb.frame(peer, CHALLENGE, body, got, tag=wish.tag)
    assert int(dut.state_o.value) == IDLE
    wish = await tb.prove(HOST, Wish(0xFEDCBA9876543210, length=1472, departure=5))
    await tb.set(index=0x123456789A, grant_wait=9)
    got = await tb.ask(HOST, wish, cycles=7500)
    assert got == tb.accept(HOST, wish, got, tag=tb.tag(), length=1434, index=0x123456789A)
    assert int(dut.peer_o.value) == HOST.packed()
    assert int(dut.window_o.value) == 1024
    again = await tb.ask(HOST, wish, cycles=7500)
    assert again == tb.accept(HOST, wish, again, tag=tb.tag(), length=1434, index=0x123456789A)
    for reason, change in (
        (PACKET_SIZE, {"length": 1433}),
        (PACKET_SIZE, {"max_packet": 1461}),
        (None, {"max_packet": 1462, "length": 1434}),
    ):
        wish = await tb.prove(HOST, Wish(**{"nonce": 77, "length": 1472, "departure": 9, **change}))
        got = await tb.ask(HOST, wish, cycles=7500)
        if reason:
            assert got == tb.refuse(HOST, wish, got, reason)
        else:
            assert got[42] == 0x15
    assert tb.count("repeated") == 1 and tb.count("takeover") == 1


@cocotb.test()
async def opens_of_the_vectors_are_understood(dut):
    tb = TB(dut)
    await tb.start()
    for entry in vectors("packets"):
        if entry["type"] != "OPEN":
            continue
        body = entry["body"]
        nonce = int(body["nonce"], 16)
        got = await tb.ask(HOST, entry["data"])
        expected = struct.pack("!Q", nonce) + cookie(0, HOST, nonce)
        assert got == tb.frame(HOST, CHALLENGE, expected, got, tag=body["tag"])
        # The same bytes with a right cookie.
        data = bytearray(entry["data"])
        data[46:62] = cookie(0, HOST, nonce)
        data[-4:] = crc32c(bytes(data[:-4])).to_bytes(4, "big")
        got = await tb.ask(HOST, bytes(data))
        wish = Wish(nonce, tag=body["tag"])
        if body["stream"]:
            assert got == tb.refuse(HOST, wish, got, NO_STREAM)
        else:
            assert got == tb.accept(HOST, wish, got, tag=0, length=122)


@cocotb.test()
async def wishes_that_cannot_be_met_are_refused_or_dropped(dut):
    tb = TB(dut)
    await tb.start()
    for reason, change in (
        (NO_STREAM, {"stream": 1, "trailer": 1}),
        (TRAILER, {"trailer": 2, "role": 0}),
        (ROLE, {"role": 2, "index": 5}),
        (DELIVERY, {"delivery": 3}),
        (START, {"index": 1, "window": 0}),
        (WINDOW, {"window": 0}),
        (PACKET_SIZE, {"length": 153}),
        (PACKET_SIZE, {"max_packet": 181}),
        (PACKET_SIZE, {"max_packet": 3}),
    ):
        wish = await tb.prove(HOST, Wish(random.getrandbits(64), **change))
        got = await tb.ask(HOST, wish)
        assert got == tb.refuse(HOST, wish, got, reason)
    wish = Wish(44, version=3, cookie=bytes(range(16)))
    got = await tb.ask(HOST, wish)
    assert got == tb.refuse(HOST, wish, got, VERSION)
    for change in (
        {"header_tag": 5},
        {"tag": 0},
        {"role": 3},
        {"role": 0x41},
        {"zero": 1},
        {"length": 127},
        {"version": 2, "length": 127},
    ):
        assert await tb.ask(HOST, Wish(45, **change)) is None
    assert tb.count("malformed") == 5 and tb.count("unexpected") == 2
    assert int(dut.state_o.value) == IDLE
    for kind in (CHALLENGE, REFUSE, CLOSE_ACK):
        assert await tb.ask(HOST, packet(kind, bytes(16), tag=77)) is None
    await tb.set(enable=0)
    assert await tb.ask(HOST, Wish(46)) is None


@cocotb.test()
async def cookie_is_of_one_peer_and_attempt_and_lives_for_two_epochs(dut):
    tb = TB(dut)
    await tb.start()
    wish = await tb.prove(HOST, Wish(0x1234_5600, role=0))
    await tb.set(step_ns=0)

    async def kind(peer: Peer, **change) -> int:
        return (await tb.ask(peer, Wish(**{**vars(wish), **change})))[42] & 15

    assert await kind(HOST, nonce=wish.nonce + 0xFF) == ACCEPT
    assert await kind(HOST, nonce=wish.nonce ^ 0x100) == CHALLENGE
    assert await kind(HOST, nonce=wish.nonce ^ 1 << 63) == CHALLENGE
    assert await kind(OTHER) == CHALLENGE
    assert await kind(Peer(HOST.mac, HOST.ip, HOST.port + 1)) == CHALLENGE
    for bit in random.sample(range(128), 12):
        forged = (int.from_bytes(wish.cookie, "big") ^ 1 << bit).to_bytes(16, "big")
        assert await kind(HOST, cookie=forged) == CHALLENGE
    start = tb.now()
    await tb.jump(7_990 * MS)
    assert await kind(HOST) == ACCEPT
    await tb.jump(8_000 * MS)
    assert await kind(HOST) == ACCEPT
    await tb.jump(20 * MS)
    assert await kind(HOST) == CHALLENGE
    assert tb.now() - start < 16_100 * MS


@cocotb.test()
async def owner_takes_over_and_late_copies_do_not(dut):
    tb = TB(dut)
    await tb.start()
    first = await tb.open(owner=1, departure=1000)
    tag = tb.tag()
    other = await tb.prove(OTHER, Wish(5, owner=2))
    got = await tb.ask(OTHER, other)
    assert got == tb.refuse(OTHER, other, got, BUSY)
    late = await tb.prove(HOST, Wish(6, owner=1, departure=999))
    assert await tb.ask(HOST, late) is None
    assert tb.count("late") == 1 and tb.tag() == tag
    # From another address the departure says nothing.
    flushes, openings = [], []
    cocotb.start_soon(watch_flush(dut, flushes))
    cocotb.start_soon(watch_openings(dut, openings))
    moved = await tb.prove(OTHER, Wish(7, owner=1, departure=3))
    got = await tb.ask(OTHER, moved)
    assert got == tb.accept(OTHER, moved, got, tag=tb.tag(), length=154)
    assert tb.tag() != tag and tb.count("takeover") == 1
    assert len(flushes) == 1 and flushes[0] >= 4
    # The stream before was Opening too, and what follows starts again nevertheless.
    assert openings == [tb.tag()] and int(dut.opening_o.value)
    got = await tb.ask(HOST, packet(REPORT, bytes(40), tag=tag))
    body = struct.pack("!HHIQ", 1, 0, tag, 0)
    assert got == tb.frame(HOST, CLOSE_ACK, body, got)
    # After 16 s departures are not compared.
    await tb.report()
    await tb.jump(14_000 * MS)
    await tb.report()
    early = {"owner": 1, "departure": 0xFFFFFF00}
    late = await tb.prove(OTHER, Wish(8, **early))
    assert await tb.ask(OTHER, late) is None
    await tb.jump(2_010 * MS)
    late = await tb.prove(OTHER, Wish(8, **early))
    assert not dut.opening_o.value
    assert (await tb.ask(OTHER, late))[42] & 15 == ACCEPT
    assert len(openings) == 2 and openings[1] == tb.tag()
    assert first.tag and tb.count("accepted") == 3


async def watch_openings(dut, tags: list[int]):
    """The tags of streams, where opening_o rises."""
    while True:
        await RisingEdge(dut.opening_o)
        tags.append(int(dut.stream_tag_o.value))


async def watch_flush(dut, flushes: list[int]):
    """Lengths of the flushes, in cycles; the tag changes in none but these."""
    while True:
        tag = int(dut.stream_tag_o.value)
        await RisingEdge(dut.flush_o)
        count = 0
        while dut.flush_o.value:
            assert not dut.stream_tag_valid_o.value
            count += 1
            await FallingEdge(dut.clk_i)
        assert int(dut.stream_tag_o.value) != tag
        flushes.append(count)


@cocotb.test()
async def stream_that_never_reports_is_forgotten_after_3_s(dut):
    tb = TB(dut)
    await tb.start()
    for dead_ms, limit_ms in ((15000, 3000), (400, 400)):
        await tb.set(dead_ms=dead_ms)
        await tb.open()
        await tb.set(step_ns=0)
        assert not dut.run_o.value
        await tb.jump((limit_ms - 2) * MS)
        assert int(dut.state_o.value) == OPENING
        await tb.jump(4 * MS)
        assert int(dut.state_o.value) == IDLE
        await tb.set(step_ns=8)
    assert tb.count("half_open") == 2


@cocotb.test()
async def copy_of_the_open_of_a_stream_that_has_ended_opens_none(dut):
    tb = TB(dut)
    await tb.start()
    first = await tb.open()
    tag = tb.tag()
    await tb.report()
    got = await tb.ask(HOST, packet(CLOSE, bytes(16), tag=tag))
    assert got is not None and got[42] & 15 == CLOSE_ACK
    assert await tb.ask(HOST, first) is None
    assert tb.count("late") == 1 and tb.tag() == tag
    other = await tb.prove(HOST, Wish(0x77_0000))
    assert (await tb.ask(HOST, other))[42] & 15 == ACCEPT
    assert tb.tag() != tag


@cocotb.test()
async def silence_ends_a_stream_and_its_tag_answers_close(dut):
    tb = TB(dut)
    await tb.start(dead_ms=5000)
    wish = await tb.open()
    await tb.report()
    await tb.set(step_ns=0)
    assert int(dut.state_o.value) == FLOWING and dut.run_o.value
    await tb.jump(4_998 * MS)
    await tb.report(newer=False)
    await tb.jump(4_998 * MS)
    assert int(dut.state_o.value) == FLOWING
    await tb.jump(4 * MS)
    assert int(dut.state_o.value) == ENDED
    assert not dut.stream_tag_valid_o.value and tb.count("silent") == 1
    tb.frames.clear()
    await tb.set(sent=30, next=40, oldest=10, lost=0x1_0000_0002, index=99)
    close = packet(CLOSE, bytes(16), tag=tb.tag(), seq=12345)
    got = await tb.ask(HOST, close)
    body = struct.pack("!HHIQ", 0, 0, tb.tag(), 0x1_0000_0002)
    assert got == tb.frame(HOST, CLOSE_ACK, body, got, tag=wish.tag, seq=40, index=99)
    got = await tb.ask(HOST, packet(REPORT, bytes(40), tag=tb.tag()))
    assert got == tb.frame(HOST, CLOSE_ACK, struct.pack("!HHIQ", 1, 0, tb.tag(), 0), got)


@cocotb.test()
async def unknown_tags_are_answered_64_at_once_then_one_a_ms(dut):
    tb = TB(dut)
    await tb.start()
    await tb.set(step_ns=0)

    async def answers(count: int) -> int:
        return len([1 for _ in range(count) if await tb.ask(HOST, foreign(), cycles=700)])

    def foreign() -> bytes:
        kind = random.choice((DATA, MARK, REPORT, ACCEPT, CLOSE))
        return packet(kind, bytes(16), tag=random.randint(1, 2**32 - 1))

    assert await answers(70) == 64
    assert tb.count("unanswered") == 6
    await tb.jump(3 * MS)
    assert await answers(6) == 3
    await tb.jump(3 * MS)
    assert await tb.ask(HOST, packet(DATA, bytes(15), tag=5)) is None, "41 bytes"
    assert await tb.ask(HOST, packet(DATA, bytes(16), tag=0)) is None


@cocotb.test()
async def close_is_said_until_it_is_acknowledged(dut):
    tb = TB(dut)
    await tb.start(dead_ms=4000)
    for end in ("done", "silent", "silent-shown", "peer"):
        await tb.set(oldest=0, sent=0, next=0, busy=0, index=0, lost=0, step_ns=8)
        wish = await tb.open(owner=3, departure=tb.now() // UNIT % 2**32)
        await tb.cycles(600)
        got = tb.take(MARK)[0]
        body = struct.pack("!4IQQ", 0, 0, 0, 2**32 - 1, 0, 0)
        assert got == tb.frame(HOST, MARK, body, got, tag=wish.tag, index=0)
        tag = tb.tag()
        departed = tb.now() // UNIT & 2**32 - 1
        await tb.report(number=77, departure=departed, hold=2**32 - 1)
        await tb.set(oldest=5, sent=8, next=9, index=1234, lost=6, busy=1)
        await tb.close(close_reason=3)
        assert int(dut.state_o.value) == CLOSING and dut.stop_o.value
        early = packet(CLOSE_ACK, struct.pack("!HHIQ", 0, 0, 0, 0), tag=tag, seq=9)
        await tb.ask(HOST, early)
        assert int(dut.state_o.value) == CLOSING
        tb.frames.clear()
        await tb.jump(11 * MS)
        await tb.cycles(600)
        got = tb.take(MARK)[0]
        echo, hold = struct.unpack("!II", got[72:80])
        assert echo == departed and abs(hold * UNIT - 11 * MS) < 200_000
        body = struct.pack("!4IQQ", 5, 77, echo, hold, 6, 0)
        assert got == tb.frame(HOST, MARK, body, got, tag=wish.tag, seq=8, index=1234)
        await tb.set(sent=9, busy=1)
        await tb.jump(11 * MS)
        await tb.cycles(600)
        assert tb.take(MARK) and not tb.take(CLOSE), "a packet is begun still"
        await tb.set(busy=0)
        await tb.jump(11 * MS)
        await tb.cycles(600)
        got = tb.take(CLOSE)[0]
        body = struct.pack("!HHIQ", 3, 0, 77, 6)
        assert got == tb.frame(HOST, CLOSE, body, got, tag=wish.tag, seq=9, index=1234)
        shown = int.from_bytes(got[60:64], "big")
        await tb.report(number=78, echo=(shown - 1) % 2**32, hold=5)
        await tb.set(oldest=9, step_ns=0)
        if end.endswith("shown"):
            await tb.report(number=79, echo=shown, hold=5)
        if end == "done":
            for wrong in (
                packet(CLOSE_ACK, bytes(16), tag=tag, seq=8),
                packet(CLOSE_ACK, bytes(16), tag=tag ^ 1, seq=9),
                packet(CLOSE_ACK, bytes(2) + b"\1" + bytes(13), tag=tag, seq=9),
                packet(CLOSE_ACK, struct.pack("!HHIQ", 1, 0, wish.tag, 0), tag=tag, seq=9),
                packet(CLOSE_ACK, struct.pack("!HHIQ", 1, 0, wish.tag, 0)),
                packet(CLOSE_ACK, struct.pack("!HHIQ", 0, 0, wish.tag, 0)),
                packet(CLOSE_ACK, bytes(17), tag=tag, seq=9),
                packet(CLOSE, bytes(16), tag=tag, seq=10),
            ):
                assert await tb.ask(HOST, wrong) is None
                assert int(dut.state_o.value) == CLOSING
            await tb.ask(OTHER, packet(CLOSE_ACK, bytes(16), tag=tag, seq=9))
            assert int(dut.state_o.value) == CLOSING
            await tb.ask(HOST, packet(CLOSE_ACK, bytes(16), tag=tag, seq=9))
        elif end == "peer":
            got = await tb.ask(HOST, packet(CLOSE, bytes(16), tag=tag, seq=9))
            body = struct.pack("!HHIQ", 0, 0, tag, 6)
            assert got == tb.frame(HOST, CLOSE_ACK, body, got, tag=wish.tag, seq=9, index=1234)
        else:
            limit_ms = 1000 if end == "silent-shown" else 4000
            await tb.jump((limit_ms - 2) * MS)
            assert int(dut.state_o.value) == CLOSING
            await tb.jump(4 * MS)
        assert int(dut.state_o.value) == ENDED, end
        name = {
            "done": "finished",
            "silent": "silent",
            "peer": "closed",
        }.get(end, "finished")
        assert tb.count(name) == (2 if end == "silent-shown" else 1)
        tb.frames.clear()
        await tb.jump(200 * MS)
        assert not tb.frames, "an ended sender says nothing"


def next_pause_ns(step: int, rtt_ns: int) -> float:
    """The pause after MARK number `step` since DATA, while the sender waits."""
    return min([rtt_ns / 4, *(rtt_ns * 2**k for k in range(40))][step], 100 * MS)


@cocotb.test()
async def marks_keep_the_schedule(dut):
    """docs/protocol.md#4.8."""
    tb = TB(dut)
    await tb.start(idle_ms=150)
    await tb.open()
    await tb.cycles(600)
    assert len(tb.take(MARK)) == 1, "at once"
    rtt = 8 * MS
    await tb.report(echo=(tb.now() - rtt) // UNIT % 2**32, hold=0)
    await tb.cycles(10)
    assert abs(int(dut.rtt_o.value) * UNIT - rtt) < 200
    # A silence with something unreleased: 1/8 after DATA, then 1/4, 1, 2, 4 .. up to 100 ms.
    await tb.set(sent=1, next=1, step_ns=256)
    await tb.pulse("depart_new")
    last = tb.now()
    for step in range(-1, 8):
        pause = rtt / 8 if step < 0 else next_pause_ns(step, rtt)
        await tb.set(step_ns=int(pause) // 2000)
        last = await expect_mark(tb, last, pause)
    await tb.set(step_ns=4096)
    # Credit that comes starts afresh with the next MARK at most one RTT away. The processor says a
    # little after the last byte that the MARK has left.
    await tb.cycles(600)
    start = tb.now()
    await tb.pulse("credit_came")
    last = await expect_mark(tb, start, rtt)
    last = await expect_mark(tb, last, rtt)
    last = await expect_mark(tb, last, 2 * rtt)
    # DATA at a steady interval: MARKs of a busy sender, and four intervals behind the last.
    await tb.set(step_ns=2048)
    for interval in (40_960, 2_048_000):
        busy = []
        for _ in range(200):
            await tb.pulse("depart_new")
            await tb.cycles(interval // 2048 - 2 if interval < 100_000 else 500)
            if interval > 100_000:
                await tb.set(jump_ns=interval - 502 * 2048)
                await tb.set(jump_ns=0)
            busy += [int.from_bytes(f[60:64], "big") * UNIT for f in tb.take(MARK)]
        gaps = [b - a for a, b in itertools.pairwise(busy)]
        assert len(gaps) >= (0 if interval < 100_000 else 2)
        assert all(
            16 * rtt - 2 * 2048 <= gap <= 16 * rtt + 2 * max(interval, 200_000) + LATE * 2048
            for gap in gaps
        ), gaps
        tb.take(MARK)
    last = tb.now() - 0
    await tb.pulse("depart_new")
    last = tb.now()
    last = await expect_mark(tb, last, 4 * 2_048_000, slack=0.03)
    # All released: the pulse of an idle sender.
    await tb.set(oldest=1, step_ns=1024)
    # The first ends while the milliseconds of the time that passed so fast are still counted.
    last = await expect_mark(tb, last, 150 * MS, slack=0.5)
    last = await expect_mark(tb, last, 150 * MS, slack=0.01)
    await expect_mark(tb, last, 150 * MS, slack=0.01)


async def expect_mark(tb: TB, since: int, pause: float, *, slack: float = 0.0) -> int:
    """Waits for the next MARK, which is due `pause` after `since`; returns when it departed."""
    step = int(tb.dut.step_ns_i.value)
    for _ in range(100_000):
        if got := tb.take(MARK):
            break
        await tb.cycles(20)
    else:
        raise AssertionError("no MARK")
    at = since + ((int.from_bytes(got[0][60:64], "big") * UNIT - since + 2**35) % 2**36 - 2**35)
    error = at - since - pause
    assert -512 - slack * pause <= error <= 512 + LATE * step + slack * pause, (pause, error)
    return at


@cocotb.test()
async def round_trip_falls_by_half_and_rises_by_an_eighth(dut):
    """docs/protocol.md#4.9."""
    tb = TB(dut)
    await tb.start()
    await tb.open()
    estimate, is_measured = 1 * MS, False
    for number in range(430):
        span = random.choice((5_000, 10_000, 300_000, 2 * MS, 40 * MS, 11_000 * MS, -5_000))
        span += random.randrange(4_000)
        span += int(estimate) if random.random() < 0.3 else 0
        hold = random.choice((0, random.randrange(1000), 2**32 - 1, 2**31))
        if number >= 400:
            # Halved until it is below the least that is used.
            span, hold = 5_000, 0
        now = tb.now() // UNIT
        await tb.report(echo=(now - span // UNIT - (hold if hold < 2000 else 0)) % 2**32, hold=hold)
        await tb.cycles(12)
        sample = (span // UNIT) * UNIT
        if hold < 2000 and 0 <= sample <= 10_000 * MS:
            if not is_measured:
                estimate = sample
            elif sample < estimate:
                estimate = (estimate + sample) / 2
            else:
                estimate = (7 * estimate + min(sample, 2 * max(estimate, 10_000))) / 8
            is_measured = True
        used = int(dut.rtt_o.value) * UNIT
        # Samples that are capped at twice the estimate carry its error on.
        assert abs(used - max(estimate, 10_000)) <= 600 + estimate / 100, (used, estimate)
    assert used == 10_000


@cocotb.test()
async def breaker_trips_after_ten_bad_seconds(dut):
    """docs/protocol.md#4.10."""
    tb = TB(dut)
    await tb.start()
    for departures, repeats, trips in ((100, 51, True), (110, 55, False)):
        sent = 0
        await tb.set(sent=0, next=0, oldest=0)
        await tb.open(owner=4, departure=tb.now() // UNIT % 2**32)
        await tb.report()
        for second in range(12):
            await tb.report(newer=False)
            for k in range(departures):
                if k < repeats:
                    await tb.pulse("depart_repeat")
                else:
                    sent += 1
                    await tb.pulse("depart_new", sent=sent, next=sent, oldest=sent)
            await tb.jump(1_000 * MS - departures * 16)
            if trips:
                assert (int(dut.state_o.value) == ENDED) == (second >= 9), second
        assert tb.count("breaker") == 1
        assert trips == (int(dut.state_o.value) == ENDED)


@cocotb.test()
async def no_tag_repeats_within_the_last_8_of_1000_restarts(dut):
    tb = TB(dut)
    await tb.start()
    tags = []
    wish_made = tb.now()
    nonce = random.getrandbits(56) << 8
    wish = await tb.prove(HOST, Wish(nonce, owner=11))
    for k in range(1000 if FULL else 30):
        # Sizes of one attempt, or another attempt; a takeover, an end before, or a reset.
        wish.departure = (tb.now() // UNIT + k) % 2**32
        how = random.random()
        if how < 0.1 and int(dut.state_o.value) != IDLE:
            await tb.ask(HOST, packet(CLOSE, bytes(16), tag=tb.tag()), cycles=2500)
        elif how < 0.15:
            await tb.cycles(1200)  # the first MARK has left
            await tb.set(rst=1, boot_id=BOOT + k)
            await tb.set(rst=0)
        if k % 200 == 0 or how < 0.15 or tb.now() > wish_made + 7_000 * MS:
            wish = await tb.prove(HOST, Wish(nonce := random.getrandbits(56) << 8, owner=11))
            wish_made = tb.now()
            wish.departure = (tb.now() // UNIT + k) % 2**32
        wish.nonce = wish.nonce & ~0xFF | (wish.nonce + 1 & 0xFF)
        wish.tag = random.randint(1, 2**32 - 1)
        got = await tb.ask(HOST, wish, cycles=7500)
        assert got[42] & 15 == ACCEPT
        assert got == tb.accept(HOST, wish, got, tag=tb.tag(), length=154)
        assert tb.tag() and tb.tag() not in tags[-8:]
        tags.append(tb.tag())
        await tb.set(jump_ns=random.randrange(3 * MS))
        await tb.set(jump_ns=0)
        await tb.cycles(random.randrange(40))
    assert len(set(tags)) == len(tags)


@dataclass
class Model:
    """What docs/protocol.md#3.16 and #7.11 say of one stream."""

    state: int = IDLE
    peer: Peer | None = None
    nonce: int = 0
    owner: int = 0
    departure: int = 0
    peer_tag: int = 0
    tag: int = 0
    accepted_ns: int = -(10**15)
    oldest: int = 0
    sent: int = 0
    next: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(EVENTS, 0))

    def is_live(self) -> bool:
        return self.state in (OPENING, FLOWING, CLOSING)

    def same(self, peer: Peer) -> bool:
        return (peer.ip, peer.port) == (self.peer.ip, self.peer.port)

    def open(self, now: int, peer: Peer, wish: Wish, is_proven: bool):
        """The type of the answer, and of a REFUSE the reason."""
        if not is_proven:
            return CHALLENGE, 0
        if wish.stream:
            return REFUSE, NO_STREAM
        if wish.trailer:
            return REFUSE, TRAILER
        if wish.role == 0:
            return ACCEPT, 0
        is_recent = now - self.accepted_ns < 16_000 * MS
        if self.is_live():
            if self.same(peer) and wish.nonce == self.nonce:
                return ACCEPT, self.tag
            if wish.owner != self.owner:
                return REFUSE, BUSY
            is_before = (wish.departure - self.departure) % 2**32 >= 2**31
            if self.same(peer) and is_recent and is_before:
                return None, 0
        elif is_recent and self.same(peer) and wish.nonce == self.nonce:
            return None, 0
        if wish.role == 2:
            return REFUSE, ROLE
        if wish.window == 0:
            return REFUSE, WINDOW
        if wish.length < PAYLOAD + 26 or wish.max_packet < PAYLOAD + 54:
            return REFUSE, PACKET_SIZE
        return ACCEPT, None

    def begin(self, now: int, peer: Peer, wish: Wish, tag: int):
        assert tag not in (0, self.tag)
        self.state, self.peer, self.nonce, self.owner = OPENING, peer, wish.nonce, wish.owner
        self.departure, self.peer_tag, self.tag, self.accepted_ns = (
            wish.departure,
            wish.tag,
            tag,
            now,
        )


@cocotb.test()
async def storm_of_openings_reports_and_closings_follows_the_tables(dut):
    tb = TB(dut)
    await tb.start()
    model = Model()
    peers = (HOST, OTHER, Peer(HOST.mac, HOST.ip, 40002))
    cookies: dict[tuple[Peer, int], tuple[bytes, int]] = {}
    past: list[tuple[Peer, Wish]] = []
    old_tags = [0, 0xDEAD]
    unknown_budget_at = 0
    seen = set()
    for step in range(3000 if FULL else 180):
        tb.stall = random.choice((0.0, 0.0, 0.4))
        what = random.choices(
            ("open", "again", "close", "ack", "unknown", "report", "ours", "foreign", "window"),
            (30, 10, 8, 8, 4, 12, 3, 8, 8),
        )[0]
        now = tb.now()
        peer = random.choice(peers[:2]) if random.random() < 0.8 else peers[2]
        got, kind = None, None
        if what in ("open", "again"):
            if what == "again" and past:
                peer, wish = random.choice(past[-6:])
            else:
                wish = Wish(
                    random.choice((0x1111, 0x2222, 0x3333)) << 8 | random.randrange(4),
                    owner=random.choice((1, 1, 1, 2)),
                    tag=random.randint(1, 2**32 - 1),
                    role=random.choices((0, 1, 2), (1, 8, 1))[0],
                    stream=random.random() < 0.05,
                    trailer=random.random() < 0.05,
                    window=random.choice((0, 1, 4096)) if random.random() < 0.2 else 64,
                    length=random.choice((128, 153, 154, 1472)),
                    departure=(now // UNIT - random.choice((0, 0, 0, 100_000))) % 2**32,
                )
                past.append((peer, wish))
            made = cookies.get((peer, wish.nonce >> 8))
            wish.cookie = made[0] if made and random.random() < 0.9 else bytes(16)
            is_proven = made is not None and wish.cookie == made[0] and now - made[1] < 7_900 * MS
            if made and wish.cookie == made[0] and not is_proven:
                del cookies[peer, wish.nonce >> 8]
                continue
            kind, detail = model.open(now, peer, wish, is_proven)
            got = await tb.ask(peer, wish, cycles=7500)
            seen.add((model.state, kind, detail if kind == REFUSE else None))
            if kind is None:
                assert got is None
            elif kind == CHALLENGE:
                assert got[42] & 15 == CHALLENGE
                cookies[peer, wish.nonce >> 8] = got[72:88], now
            elif kind == REFUSE:
                assert got == tb.refuse(peer, wish, got, detail)
            else:
                if detail is None:
                    old_tags.append(model.tag)
                    model.begin(now, peer, wish, tb.tag())
                    detail = model.tag
                does_fit = wish.length >= 154 and wish.max_packet >= 182
                length = 154 if does_fit else 122
                assert got == tb.accept(peer, wish, got, tag=detail, length=length)
                assert not model.tag or tb.tag() == model.tag
        elif what == "close":
            seq = (
                random.choice((model.oldest, model.sent, model.sent + 1, model.oldest - 1)) % 2**32
            )
            got = await tb.ask(peer, packet(CLOSE, bytes(16), tag=model.tag, seq=seq), cycles=2500)
            if model.state != IDLE and model.same(peer):
                taken = (
                    model.is_live() and (seq - model.oldest) % 2**32 <= model.sent - model.oldest
                )
                is_answered = taken or model.state == ENDED
                assert (got is not None) == is_answered
                if is_answered:
                    body = struct.pack("!HHIQ", 0, 0, model.tag, 0)
                    assert got == tb.frame(
                        peer, CLOSE_ACK, body, got, tag=model.peer_tag, seq=model.next
                    )
                    seen.add((model.state, CLOSE))
                if taken:
                    model.state = ENDED
            elif model.state == IDLE and model.tag:
                assert got is not None
            else:
                assert got is None
        elif what == "ack":
            seq = random.choice((model.next, model.next, model.sent, 0))
            got = await tb.ask(
                peer, packet(CLOSE_ACK, bytes(16), tag=model.tag, seq=seq), cycles=2500
            )
            assert got is None
            if model.state == CLOSING and model.same(peer) and seq == model.next == model.sent:
                model.state = ENDED
                seen.add("finished")
        elif what == "unknown":
            # A listener never believes it.
            body = struct.pack("!HHIQ", 1, 0, model.peer_tag, 0)
            assert await tb.ask(peer, packet(CLOSE_ACK, body), cycles=2500) is None
        elif what == "report":
            await tb.report(hold=2**32 - 1)
            if model.state == OPENING:
                model.state = FLOWING
        elif what == "ours":
            await tb.close()
            if model.state in (OPENING, FLOWING):
                model.state = CLOSING
        elif what == "foreign":
            tag = random.choice(old_tags)
            kind = random.choice((DATA, MARK, REPORT, ACCEPT))
            got = await tb.ask(peer, packet(kind, bytes(40), tag=tag), cycles=2500)
            is_ours = model.is_live() and tag == model.tag
            assert (got is not None) == (tag != 0 and not is_ours)
            if got:
                assert got == tb.frame(peer, CLOSE_ACK, struct.pack("!HHIQ", 1, 0, tag, 0), got)
        elif what == "window":
            model.oldest = random.choice((0, 7))
            model.sent = model.oldest + random.randrange(3)
            model.next = model.sent + random.choice((0, 0, 2))
            await tb.set(oldest=model.oldest, sent=model.sent, next=model.next)
        if random.random() < 0.03:
            # Long enough for a stream without a REPORT, too short for any other.
            await tb.jump(3_100 * MS)
            if model.state == OPENING:
                model.state = IDLE
                seen.add("half open")
            elif model.state == CLOSING:
                await tb.report(hold=2**32 - 1)
            await tb.report(hold=2**32 - 1)
        assert int(dut.state_o.value) in (
            {model.state} if model.state != CLOSING else {CLOSING, IDLE, ENDED}
        )
        model.state = int(dut.state_o.value)
        if random.random() < 0.1 and unknown_budget_at < step:
            await tb.jump(40 * MS)
    await tb.cycles(5000)
    marks = tb.take(MARK, CLOSE)
    assert not tb.frames and marks and len(seen) > (18 if FULL else 9), sorted(map(str, seen))


@cocotb.test()
async def fifth_packet_that_waits_is_dropped_and_reset_forgets_all(dut):
    tb = TB(dut)
    await tb.start()
    for k in range(6):
        await tb.send(HOST if k % 2 else OTHER, Wish(k).data(), gaps=0.3)
    await tb.cycles(25000)
    nonces = [int.from_bytes(f[64:72], "big") for f in tb.take(CHALLENGE)]
    assert nonces == [0, 1, 2, 3]
    assert tb.count("dropped") == 2
    await tb.open()
    for wait in (3, 40, 90, 300, 1000):
        await tb.cycles(600)  # the first MARK leaves
        await tb.send(HOST, Wish(3).data()[:128])
        await tb.cycles(wait)
        await tb.set(rst=1)
        await tb.set(rst=0)
        await tb.cycles(5)
        assert int(dut.state_o.value) == IDLE and not dut.m_axis_tvalid.value
        await tb.cycles(50)
        tb.frames.clear()
        await tb.open(owner=random.getrandbits(64))
        tb.frames.clear()


def echo_reply(request: bytes) -> bytes:
    total = struct.unpack("!H", request[16:18])[0]
    message = b"\0\0\0\0" + request[38 : 14 + total]
    message = b"\0\0" + struct.pack("!H", checksum(message)) + message[4:]
    head = request[14:24] + b"\0\0" + BOARD.ip.to_bytes(4, "big") + request[26:30]
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return ethernet(HOST.mac, BOARD.mac, IPV4, head + message)


@cocotb.test()
async def arp_and_echo_requests_are_answered(dut):
    tb = TB(dut)
    await tb.start()
    await tb.set(enable=0)
    tb.stall = 0.2
    for size in (0, 1, 17, 18, 19, 20, 56, 119, 120):
        request = echo_request(HOST, BOARD, random.randbytes(size))
        for extra in (b"", b"behind the packet"):
            await tb.give(request + extra)
            await tb.cycles(800)
            (got,) = tb.frames
            want = echo_reply(request)
            end = 14 + struct.unpack("!H", request[16:18])[0]
            assert got[:end] == want[:end] and len(got) == len(want)
            tb.frames.clear()
    for dst in ((1 << 48) - 1, BOARD.mac):
        await tb.give(arp(1, HOST, 0, BOARD.ip, dst=dst))
        await tb.cycles(800)
        assert tb.frames == [arp(2, BOARD, HOST.mac, HOST.ip, dst=HOST.mac)]
        tb.frames.clear()
    assert tb.count("icmp") == 18 and tb.count("arp") == 2


@cocotb.test()
async def flood_of_requests_is_answered_64_at_once_and_groups_never(dut):
    tb = TB(dut)
    await tb.start()
    await tb.set(step_ns=0)
    groups = ((HOST.mac | 1 << 40, HOST.ip), (HOST.mac, 0xE0000001), (HOST.mac, 0xFFFFFFFF))
    for mac, ip in groups:
        await tb.give(echo_request(Peer(mac, ip, 0), BOARD, b"x"))
        await tb.give(arp(1, Peer(mac, ip, 0), 0, BOARD.ip, dst=(1 << 48) - 1))
        await tb.cycles(500)
    assert not tb.frames and tb.count("suppressed") == 6
    for k in range(70):
        await tb.give(
            echo_request(HOST, BOARD, b"y") if k % 2 else arp(1, HOST, 0, BOARD.ip, dst=BOARD.mac)
        )
        await tb.cycles(400)
    assert len(tb.frames) == 64 and tb.count("suppressed") == 12
    tb.frames.clear()
    await tb.jump(3 * MS)
    for _ in range(6):
        await tb.give(echo_request(HOST, BOARD, b"z"))
        await tb.cycles(400)
    assert len(tb.frames) == 3


CASES = [pytest.param(False, id="short"), pytest.param(True, id="long", marks=pytest.mark.full)]


@pytest.mark.parametrize("is_long", CASES)
def test_session(is_long, monkeypatch):
    monkeypatch.setenv("SAMPLEWIRE_FULL", "1" if is_long else "")
    testcase = os.environ.get("SAMPLEWIRE_TESTCASE")
    folder = run(
        "session_tb",
        sources=[
            "session",
            "ctl_cpu",
            "ctl_rom",
            "ctl_rom_sender",
            "ctl_rx",
            "cookie",
            "mark_timer",
            Path(__file__).parent / "session_tb.sv",
            ctl_lockstep.RECORDER,
        ],
        test_module=["test_session", "session_rare", "session_time"],
        testcase=testcase,
        plusargs=["+ctl_record=ctl.bin"],
    )
    # A part of the tests does not run all of the program.
    ctl_lockstep.check("sender", folder / "ctl.bin", with_coverage=testcase is None)

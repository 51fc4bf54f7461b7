"""Paths of the control program that ordinary traffic seldom takes; test_session.py runs them."""

import struct

import cocotb
import ctl_lockstep
from cocotb.triggers import FallingEdge
from network import Peer, crc32c, datagram, packet
from test_session import (
    ACCEPT,
    BOARD,
    BOOT,
    BUSY,
    CLOSE,
    CLOSE_ACK,
    CLOSING,
    DATA,
    ENDED,
    FLOWING,
    HOST,
    IDLE,
    MARK,
    MS,
    START,
    TB,
    UNIT,
    Wish,
    keyed,
)

PORTS = ctl_lockstep.ports("sender")
NO_HOLD = 2**32 - 1


async def read(dut, name: str):
    """The processor has read a port: what changes then it sees at the next read."""
    session = dut.u_session
    for _ in range(50_000):
        if session.port_read.value == 1 and int(session.port.value) == PORTS[name]:
            break
        await FallingEdge(dut.clk_i)
    else:
        raise AssertionError(f"{name} is not read")
    await FallingEdge(dut.clk_i)


async def next_mark(tb: TB) -> bytes:
    for _ in range(1000):
        if got := tb.take(MARK):
            return got[0]
        await tb.cycles(20)
    raise AssertionError("no MARK")


async def pass_time(tb: TB, ns: int):
    """Time passes at once, and the test goes on at once."""
    await tb.set(jump_ns=ns)
    await tb.set(jump_ns=0)


@cocotb.test()
async def numbers_that_change_while_they_are_read_are_of_one_moment(dut):
    tb = TB(dut)
    await tb.start()
    wish = await tb.open()
    at = {
        "index": 0x0001_0002_0003_0004, "lost": 0x0005_0006_0007_0008, "oldest": 0x0009_000A,
        "sent": 0x000B_000C,
    }  # fmt: skip
    await tb.set(**at)
    for name, value, change in (
        ("Index1", "index", 1 << 16), ("Index2", "index", 1 << 32), ("Index3", "index", 1 << 48),
        ("Lost1", "lost", 1 << 16), ("Lost2", "lost", 1 << 32), ("Lost3", "lost", 1 << 48),
        ("OldestHi", "oldest", 1 << 16), ("SentHi", "sent", 1 << 16),
    ):  # fmt: skip
        await pass_time(tb, 101 * MS)
        await read(dut, name)
        tb.take(MARK)
        at[value] ^= change
        await tb.set(**{value: at[value]})
        got = await next_mark(tb)
        body = struct.pack("!4IQQ", at["oldest"], 0, 0, NO_HOLD, at["lost"], 0)
        want = tb.frame(HOST, MARK, body, got, tag=wish.tag, seq=at["sent"], index=at["index"])
        assert got == want, name


@cocotb.test()
async def mark_that_data_makes_needless_is_not_sent(dut):
    tb = TB(dut)
    await tb.start()
    await tb.open()
    await next_mark(tb)
    await pass_time(tb, 1_100_000)
    await read(dut, "OldestHi")
    await tb.pulse("depart_new")
    await tb.cycles(1500)
    assert not tb.take(MARK)
    await pass_time(tb, 101 * MS)
    await next_mark(tb)


@cocotb.test()
async def report_that_comes_while_one_is_read_is_the_newest(dut):
    tb = TB(dut)
    await tb.start()
    await tb.open()
    await tb.set(next=1)

    async def second():
        taken = dut.u_session.taken_q
        for value in (1, 0):
            while taken.value != value:
                await FallingEdge(dut.clk_i)
        await tb.report(number=2, departure=22, hold=NO_HOLD)

    task = cocotb.start_soon(second())
    await tb.report(number=1, departure=11, hold=NO_HOLD)
    await task
    tb.take(MARK)
    await pass_time(tb, 101 * MS)
    assert struct.unpack("!2I", (await next_mark(tb))[68:76]) == (2, 22)


async def say_close(tb: TB) -> int:
    """Closes the stream, all of which is released; the departure of its CLOSE."""
    tb.take(CLOSE)
    await tb.close()
    await tb.jump(101 * MS)
    return int.from_bytes(tb.take(CLOSE)[0][60:64], "big")


@cocotb.test()
async def close_that_was_seen_waits_for_16_round_trips_and_no_longer_than_silence(dut):
    """docs/protocol.md#7.7."""
    tb = TB(dut)
    await tb.start(dead_ms=4000)
    await tb.open()
    shown = await say_close(tb)
    # Without a hold a REPORT echoes nothing.
    await tb.report(number=3, echo=shown, hold=NO_HOLD)
    await tb.jump(1500 * MS)
    await tb.report(number=4, echo=shown, hold=5)
    # The round trip is 1.5 s: 16 of them are more than dead_ms.
    await tb.jump(3900 * MS)
    assert int(dut.state_o.value) == CLOSING
    await tb.jump(110 * MS)
    assert int(dut.state_o.value) == ENDED and tb.count("finished") == 1
    # Above 4 s 16 round trips are not even computed.
    await tb.open()
    await tb.report(number=1, echo=(tb.now() - 9_900 * MS) // UNIT % 2**32, hold=0)
    shown = await say_close(tb)
    await tb.report(number=2, echo=shown, hold=0)
    assert int(dut.rtt_o.value) * UNIT > 4_400 * MS
    await tb.jump(1100 * MS)
    assert int(dut.state_o.value) == CLOSING
    await tb.jump(2950 * MS)
    assert int(dut.state_o.value) == ENDED and tb.count("finished") == 2


@cocotb.test()
async def call_to_close_without_an_open_stream_is_forgotten(dut):
    tb = TB(dut)
    await tb.start()
    await tb.close()
    assert int(dut.state_o.value) == IDLE
    await tb.open()
    await tb.report(hold=NO_HOLD)
    assert int(dut.state_o.value) == FLOWING
    for _ in range(2):
        await tb.close()
        assert int(dut.state_o.value) == CLOSING
    ack = packet(CLOSE_ACK, bytes(16), tag=tb.tag())
    assert await tb.ask(HOST, ack, cycles=2500) is None
    assert int(dut.state_o.value) == ENDED
    await tb.close()
    assert int(dut.state_o.value) == ENDED


@cocotb.test()
async def breaker_counts_beyond_16_bits_and_not_below_100(dut):
    """docs/protocol.md#4.10."""
    tb = TB(dut)
    await tb.start()
    await tb.open()
    await tb.report()
    for _ in range(3):
        await tb.pulse("depart_repeat")
    await tb.jump(1000 * MS)
    sent = 0
    for second in range(10):
        assert int(dut.state_o.value) == FLOWING, second
        await tb.report(newer=False)
        await tb.set(depart_repeat=1)
        await tb.cycles(41_000)
        sent += 30_000
        await tb.set(depart_repeat=0, sent=sent, next=sent, oldest=sent)
        await tb.jump(1000 * MS)
    assert int(dut.state_o.value) == ENDED and tb.count("breaker") == 1


def tag_of_zero_checksum(departure: int) -> int:
    """A tag whose CLOSE_ACK(unknown) has a UDP checksum of 0, which is sent as 0xffff."""

    def data(tag: int) -> bytes:
        body = struct.pack("!HHIQ", 1, 0, tag, 0)
        return packet(CLOSE_ACK, body, flags=0, departure=departure)

    def halves(value: int) -> int:
        return (value >> 16) + (value & 0xFFFF)

    # The CRC is linear: each bit of the tag changes it by the same, whatever the others are.
    zero = crc32c(data(0)[:-4])
    bits = [crc32c(data(1 << n)[:-4]) ^ zero for n in range(32)]
    checksum = int.from_bytes(datagram(BOARD, HOST, data(0))[40:42], "big")
    rest = 0xFFFF - checksum - halves(zero)
    crc = zero
    for n in range(1, 1 << 24):
        crc ^= bits[(n & -n).bit_length() - 1]
        tag = n ^ n >> 1
        if (rest + halves(tag) + halves(crc)) % 0xFFFF == 0:
            return tag
    raise AssertionError("there is none")


@cocotb.test()
async def udp_checksum_of_zero_is_sent_as_all_ones(dut):
    tb = TB(dut)
    await tb.start()
    await tb.set(step_ns=0)
    got = await tb.ask(HOST, packet(DATA, bytes(16), tag=1))
    departure = int.from_bytes(got[60:64], "big") + 1
    tag = tag_of_zero_checksum(departure)
    got = await tb.ask(HOST, packet(DATA, bytes(16), tag=tag))
    assert got == tb.frame(HOST, CLOSE_ACK, struct.pack("!HHIQ", 1, 0, tag, 0), got)
    assert got[40:42] == b"\xff\xff"


@cocotb.test()
async def each_part_of_a_number_counts(dut):
    tb = TB(dut)
    await tb.start()
    for shift in (16, 32, 48):
        wish = await tb.prove(HOST, Wish(0x0001_0002_0003_0400, index=1 << shift))
        got = await tb.ask(HOST, wish)
        assert got == tb.refuse(HOST, wish, got, START)
    for change in ({"header_tag": 1 << 16}, {"zero": 1 << 16}):
        assert await tb.ask(HOST, Wish(9, **change)) is None
    assert tb.count("unexpected") == 1 and tb.count("malformed") == 1
    nonce, owner = 0x1111_2222_3333_4400, 0x5555_6666_7777_8888
    opened = await tb.open(nonce=nonce, owner=owner, window=1 << 16)
    assert int(dut.window_o.value) == 1 << 16
    for shift in (0, 16, 32, 48):
        wish = await tb.prove(HOST, Wish(nonce ^ 1 << shift, owner=owner ^ 1 << shift))
        got = await tb.ask(HOST, wish)
        assert got == tb.refuse(HOST, wish, got, BUSY)
    near = Peer(HOST.mac, HOST.ip ^ 1, HOST.port)
    got = await tb.ask(near, packet(DATA, bytes(16), tag=77))
    assert got == tb.frame(near, CLOSE_ACK, struct.pack("!HHIQ", 1, 0, 77, 0), got)
    assert await tb.ask(HOST, packet(DATA, bytes(16), tag=tb.tag())) is None
    assert tb.count("unexpected") == 2
    last = 0x0005_0007
    await tb.set(oldest=last, sent=last, next=last)
    await tb.report(hold=NO_HOLD)
    for stranger in (
        near, Peer(HOST.mac, HOST.ip ^ 1 << 16, HOST.port), Peer(HOST.mac, HOST.ip, HOST.port ^ 1)
    ):  # fmt: skip
        end = packet(CLOSE, bytes(16), tag=tb.tag(), seq=last)
        assert await tb.ask(stranger, end, cycles=2500) is None
        assert int(dut.state_o.value) == FLOWING
    for seq, state in ((last, FLOWING), (last ^ 1 << 16, CLOSING), (last, ENDED)):
        if state == CLOSING:
            await tb.close()
        ack = packet(CLOSE_ACK, bytes(16), tag=tb.tag(), seq=seq)
        assert await tb.ask(HOST, ack, cycles=2500) is None
        assert int(dut.state_o.value) == state
    assert opened.tag


@cocotb.test()
async def stream_begins_when_what_was_chosen_has_left(dut):
    tb = TB(dut)
    await tb.start()
    wish = await tb.prove(HOST, Wish(0x7700))
    await tb.set(tx_busy=1)
    await tb.send(HOST, wish.data())
    await tb.cycles(7000)
    assert not tb.frames and dut.hold_o.value == 1 and int(dut.state_o.value) == IDLE
    await tb.set(tx_busy=0)
    await tb.cycles(1500)
    assert len(tb.take(ACCEPT)) == 1 and dut.hold_o.value == 0


@cocotb.test()
async def tag_whose_upper_half_would_be_0_gets_1(dut):
    # A nonce found by trying the first opening's.
    nonce = 0x015D_2F00
    value = keyed(BOOT, nonce | 2)
    assert value >> 48 == 0
    tb = TB(dut)
    await tb.start()
    await tb.open(nonce=nonce)
    assert tb.tag() == 1 << 16 | value >> 32 & 0xFFF0 | 1


@cocotb.test()
async def template_of_any_length_gives_an_accept_of_2_to_64_words(dut):
    tb = TB(dut)
    await tb.start()
    for k in range(12, 64):
        word = struct.pack("!Q", k * 0x0123_4567_89AB)
        tb.template += word
        await tb.set(tpl_we=1, tpl_waddr=k, tpl_wdata=int.from_bytes(word, "big"))
    await tb.set(tpl_we=0)
    whole = tb.template
    for words, used in ((1, 2), (20, 20), (100, 64)):
        await tb.set(tpl_words=words)
        wish = await tb.prove(HOST, Wish(0xAB00 + words, role=0, length=128 if words == 1 else 200))
        got = await tb.ask(HOST, wish)
        tb.template = whole[: 8 * used]
        assert got == tb.accept(HOST, wish, got, tag=0, length=8 * used + 26)

"""The time of the index in MARK and ACCEPT (docs/protocol.md#2.11, #2.15); test_session.py runs it.

Which numbers give which time: rtl/tb/ctl/test_read_time.py.
"""

import struct

import assemble
import cocotb
from cocotb.triggers import FallingEdge
from session_rare import NO_HOLD, next_mark, pass_time
from test_session import HOST, MARK, MS, TB, Wish

TAI_NS = 1_800_000_000_123_456_789
PERIOD = 0x0004_11C7_5D08_9A3F  # 4.07 ns
PORTS = assemble.PortMap(assemble.PROGRAMS / "sender.toml").registers
UNKNOWN = 0


def time_of(index: int, known: int, tai_ns: int = TAI_NS, period: int = PERIOD) -> int:
    """The time of an index in ns, by that of one that is known."""
    return (((index - known) * period >> 48) + tai_ns) % 2**64


async def set_time(tb: TB, number: int, known: int, tai_ns: int = TAI_NS, period: int = PERIOD):
    """What a driver does: unknown first, then the numbers."""
    await tb.set(tai_number=0)
    await tb.set(tai_index=known, tai_time=tai_ns, tai_period=period)
    await tb.set(tai_number=number)


async def read_half(dut, port: int):
    """The processor has read a half of a register."""
    session = dut.u_session
    for _ in range(50_000):
        if session.port_read.value == 1 and int(session.port.value) == port:
            break
        await FallingEdge(dut.clk_i)
    else:
        raise AssertionError(f"port {port} is not read")
    await FallingEdge(dut.clk_i)


def check_mark(tb: TB, wish: Wish, got: bytes, index: int, time_ns: int):
    body = struct.pack("!4IQQ", 0, 0, 0, NO_HOLD, 0, time_ns)
    assert got == tb.frame(HOST, MARK, body, got, tag=wish.tag, index=index), (index, time_ns)


async def fresh_mark(tb: TB) -> bytes:
    """A MARK that begins after what was set."""
    await tb.cycles(2000)
    tb.take(MARK)
    await pass_time(tb, 101 * MS)
    return await next_mark(tb)


@cocotb.test()
async def mark_states_the_time_of_its_index_where_that_is_known(dut):
    tb = TB(dut)
    await tb.start()
    wish = await tb.open()
    known = 3 << 33
    numbers = iter(range(1, 100))
    await tb.set(index=known + 1)
    check_mark(tb, wish, await fresh_mark(tb), known + 1, UNKNOWN)
    for index in (
        known, known + 1, known - 1, 0, known + 245_760_000, known + (1 << 32) + 5,
        known + (1 << 47), 1 << 63, 0xFFFF_0000,
    ):  # fmt: skip
        await set_time(tb, next(numbers), known)
        await tb.set(index=index)
        check_mark(tb, wish, await fresh_mark(tb), index, time_of(index, known))
    await tb.set(index=known + 9)
    # Each carry, and a time that goes beyond 64 bits.
    for tai_ns in (0xFFFF, 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF, 2**64 - 1):
        await set_time(tb, next(numbers), known, tai_ns, 1 << 48)
        got = await fresh_mark(tb)
        check_mark(tb, wish, got, known + 9, time_of(known + 9, known, tai_ns, 1 << 48))
    await tb.set(tai_number=0)
    check_mark(tb, wish, await fresh_mark(tb), known + 9, UNKNOWN)


@cocotb.test()
async def setting_that_changes_while_it_is_read_is_of_one_moment(dut):
    """A driver that is half way through has made the time unknown."""
    tb = TB(dut)
    await tb.start()
    wish = await tb.open()
    index = (5 << 32) + 7
    await tb.set(index=index)
    number = 1
    for name in ("tai_index", "tai_period", "tai_time"):
        for half in ("lo", "hi"):
            for is_done in (True, False):
                await set_time(tb, number, 11)
                await tb.cycles(2000)
                tb.take(MARK)
                await pass_time(tb, 101 * MS)
                await read_half(dut, PORTS[f"{name}_{half}"] + 1)
                number += 1
                await set_time(tb, number if is_done else 0, 1 << 32, 999, 7 << 48)
                want = time_of(index, 1 << 32, 999, 7 << 48) if is_done else UNKNOWN
                check_mark(tb, wish, await next_mark(tb), index, want)


@cocotb.test()
async def accept_states_the_time_where_its_template_has_a_place_for_it(dut):
    tb = TB(dut)
    await tb.start()
    whole = tb.template
    index = (1 << 40) + 3
    await tb.set(index=index)
    for number, words in enumerate((12, 8, 9, 10, 12)):
        await tb.set(tpl_words=words)
        await set_time(tb, number, 5)
        tb.template = whole[: 8 * words]
        if number and words > 8:
            time_ns = struct.pack("!Q", time_of(index, 5))
            tb.template = whole[:64] + time_ns + whole[72 : 8 * words]
        for length in (128, 200):
            wish = await tb.prove(HOST, Wish(0xAC00 + words, role=0, length=length))
            got = await tb.ask(HOST, wish)
            size = 154 if length == 200 else 8 * words + 26
            assert got == tb.accept(HOST, wish, got, tag=0, length=size, index=index), words

"""packetizer with ring, slot_table and test_source: packets, their sums, and the account of loss.

The reference cuts bursts as docs/protocol.md#6.5 says, from lists of samples; it knows no beats but
as the granularity. Where the ring is full, what is lost depends on the cycle, so there the packets
are checked against the account of docs/protocol.md#6.2: every index is in one packet or lost.
"""

import os
import random
from dataclasses import dataclass
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run

START, END_OF_BURST, OVERFLOW = 1, 2, 4
COUNT_BYTES = 8
MASK64 = (1 << 64) - 1


def crc_register(data, register=0):
    """CRC-32C register after `data`, neither begun nor ended with an inversion."""
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    return register


CRC_TABLE = [crc_register(bytes([b])) for b in range(256)]


def crc_fast(data, register=0):
    """The same by table."""
    for byte in data:
        register = (register >> 8) ^ CRC_TABLE[(register ^ byte) & 0xFF]
    return register


def ones_sum(data):
    """Ones' complement sum of big-endian 16-bit words."""
    total = sum(int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def sample(index, size):
    """Bytes of all channels at `index`: anything that depends on it."""
    word = ((index + 1) * 0x9E3779B97F4A7C15) & MASK64
    return b"".join(((word >> k) | 1).to_bytes(8, "little") for k in range(0, size, 8))[:size]


@dataclass
class Burst:
    """Samples in a row, and how they begin and end."""

    first: int
    samples: int
    start: bool = False
    overflow: bool = False
    ends: bool = True


@dataclass
class Beat:
    """One transfer at the boundary "Samples"."""

    data: bytes
    index: int
    count: int
    start: bool
    overflow: bool
    last: bool
    whole: bool


@dataclass(frozen=True)
class Packet:
    """What the ring and the slot's entry say of a packet."""

    index: int
    flags: int
    payload: bytes


def beats_of(burst, size, width):
    """Cuts a burst into beats of `width` bytes; only the last may be filled in part."""
    data = b"".join(sample(burst.first + i, size) for i in range(burst.samples))
    beats = []
    for offset in range(0, max(len(data), 1), width):
        begin, end = -(-offset // size), -(-min(offset + width, len(data)) // size)
        is_last = offset + width >= len(data)
        beats.append(
            Beat(
                data[offset : offset + width].ljust(width, b"\0"),
                burst.first + begin,
                end - begin,
                burst.start and offset == 0,
                burst.overflow and offset == 0,
                burst.ends and is_last,
                (offset + width) % size == 0 and offset + width <= len(data),
            )
        )
    return beats


def packets_of(burst, flags, size, width, payload):
    """The packets of a burst when the ring has room, docs/protocol.md#6.5."""
    room = (payload - width) // size * size
    at, left, packets = burst.first, burst.samples * size, []
    while left:
        index = at
        if left >= payload:
            taken, tail, more = payload, b"", 0
        else:
            taken, more = min(left, room), END_OF_BURST
            pad = -taken % width + width - COUNT_BYTES
            tail = bytes(pad) + (taken // size).to_bytes(COUNT_BYTES, "big")
        body = b"".join(sample(at + i, size) for i in range(taken // size))
        packets.append(Packet(index, flags | more, body + tail))
        at, left, flags = at + taken // size, left - taken, 0
    return packets


class TB:
    """Clock, window and memories around the wrapper; one call of `cycle` is one clock."""

    def __init__(self, dut):
        self.dut = dut
        self.width = int(dut.W.value) // 8
        self.slots = int(dut.Slots.value)
        self.slot_beats = int(dut.SlotBytes.value) // self.width
        self.oldest = self.next = 0
        self.now = 0
        self.committed = []  # seqs committed and not read
        self.lost_events = 0
        self.overflow_events = 0
        self.holds = [None, None]  # slots that hold_i kept: two cycles before, in the last
        self.took = None  # cycle in which a beat was taken last
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        for name in (
            "rst_i flush_i run_i stop_i use_source_i kind_i stall_ok_i sample_log2_i rate_i "
            "slack_beats_i time_ns_i s_valid s_data s_index s_count s_start s_overflow s_last "
            "s_whole rd_valid_i rd_addr_i rd_tag_i slot_addr_i dep_we_i dep_addr_i dep_wdata_i "
            "oldest_i next_i hold_i payload_bytes_i"
        ).split():
            getattr(dut, name).value = 0

    async def cycle(self):
        """One clock; whether the offered beat was taken."""
        dut = self.dut
        await FallingEdge(dut.clk_i)
        taken = bool(int(dut.s_valid.value)) and bool(int(dut.s_ready.value))
        if taken:
            self.took = self.now
        if int(dut.ring_we_o.value):
            slot = int(dut.ring_waddr_o.value) // self.slot_beats
            age = (slot - self.oldest) % self.slots
            assert age >= self.next - self.oldest, "a packet of the window was overwritten"
            begins = int(dut.ring_waddr_o.value) % self.slot_beats == 0
            assert not (begins and self.holds[0] == slot), (
                "a slot that is being read was overwritten"
            )
        held = int(dut.claimed_o.value) if int(dut.hold_i.value) else None
        self.holds = [self.holds[1], held]
        self.lost_events += int(dut.ev_lost_count_o.value)
        self.overflow_events += int(dut.ev_overflow_o.value)
        self.reply = None
        if int(dut.rd_valid_o.value):
            self.reply = (int(dut.rd_tag_o.value), int(dut.rd_data_o.value))
        names = ("index", "len", "flags", "crc", "shift", "sum")
        self.entry = [int(getattr(dut, f"slot_{name}_o").value) for name in names]
        commit = int(dut.commit_o.value)
        if commit:
            assert int(dut.slot_o.value) == self.next % self.slots
        await RisingEdge(dut.clk_i)
        self.now += 1
        if commit:
            self.committed.append(self.next)
            self.next += 1
            self.commit_at = self.now - 1
            self.show_window()
        return taken

    def show_window(self):
        mask = 2 * self.slots - 1
        self.dut.oldest_i.value = self.oldest & mask
        self.dut.next_i.value = self.next & mask

    async def restart(self, payload, first_seq=0, reset=False):
        """Flushes, or resets and flushes, and runs with an empty window at `first_seq`."""
        dut = self.dut
        dut.run_i.value = 0
        dut.stop_i.value = 0
        dut.s_valid.value = 0
        dut.rst_i.value = int(reset)
        for _ in range(4 * reset):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        dut.flush_i.value = 1
        dut.payload_bytes_i.value = payload
        self.oldest = self.next = first_seq
        self.committed.clear()
        self.show_window()
        for _ in range(4):
            await RisingEdge(dut.clk_i)
        dut.flush_i.value = 0
        dut.run_i.value = 1
        self.lost_events = self.overflow_events = 0
        for _ in range(2):
            await self.cycle()
        assert int(dut.lost_o.value) == 0
        assert int(dut.busy_o.value) == 0

    async def offer(self, beat, idle=0.0, rng=None):
        """Drives one beat until it is taken; the cycles it waited."""
        dut = self.dut
        while rng and rng.random() < idle:
            dut.s_valid.value = 0
            await self.cycle()
        dut.s_valid.value = 1
        dut.s_data.value = int.from_bytes(beat.data, "little")
        dut.s_index.value = beat.index
        dut.s_count.value = beat.count
        dut.s_start.value = int(beat.start)
        dut.s_overflow.value = int(beat.overflow)
        dut.s_last.value = int(beat.last)
        dut.s_whole.value = int(beat.whole)
        waited = 0
        while not await self.cycle():
            waited += 1
            assert waited < 100, "a beat is not taken"
        dut.s_valid.value = 0
        return waited

    async def settle(self):
        for _ in range(12):
            await self.cycle()
        assert int(self.dut.busy_o.value) == 0

    async def read(self, seq):
        """Reads a packet back through slot_table and ring and checks its sums."""
        dut = self.dut
        slot = seq % self.slots
        dut.slot_addr_i.value = slot
        await self.cycle()
        await self.cycle()
        index, length, flags, crc, shift, total = self.entry
        assert length % self.width == 0
        latency = int(dut.RdLatency.value)
        words, beats = [], length // self.width
        for step in range(beats + latency + 1):
            dut.rd_valid_i.value = int(step < beats)
            dut.rd_addr_i.value = slot * self.slot_beats + (step if step < beats else 0)
            dut.rd_tag_i.value = step & 0xFF
            await self.cycle()
            if self.reply:
                tag, word = self.reply
                assert tag == len(words) & 0xFF
                assert step == latency + len(words), "the reply comes RdLatency after its request"
                words.append(word.to_bytes(self.width, "little"))
        payload = b"".join(words)
        assert len(payload) == length
        assert crc == crc_fast(payload)
        assert shift == crc_fast(bytes(length), 1 << 31)
        assert total == ones_sum(payload)
        return Packet(index, flags, payload)

    async def drain(self):
        """Reads and releases every packet that is committed."""
        packets = []
        while self.committed:
            packets.append(await self.read(self.committed.pop(0)))
        self.oldest = self.next
        self.show_window()
        await self.cycle()
        return packets


def sizes_of(tb):
    """Bytes of a sample, from less than a beat to more than one."""
    return [2, 4, 8, 16] if tb.width == 8 else [4, 16, 64, 128]


@cocotb.test()
async def bursts_of_every_length_become_the_packets_of_the_spec(dut):
    """Lengths around every edge of a packet, broken by an end, a start or an overflow."""
    tb, rng = TB(dut), random.Random(cocotb.RANDOM_SEED)
    for size in sizes_of(tb):
        unit = max(size, tb.width)
        payload = rng.choice([2, 3, 4, 5]) * unit
        if payload - tb.width < size:
            payload += unit
        seq = rng.randrange(1 << 20)
        await tb.restart(payload, first_seq=seq, reset=size == sizes_of(tb)[0])
        full, beat = payload // size, max(1, tb.width // size)
        lengths = {1, beat, full - beat, full - 1, full, full + 1, 2 * full - 1, 2 * full}
        lengths |= {rng.randrange(1, 2 * full) for _ in range(3)}
        at, first = rng.randrange(1 << 62), True
        for length in sorted(n for n in lengths if n > 0):
            how = rng.choice(["start", "overflow", "plain", "both"])
            ends = rng.random() < 0.7 or length * size % unit != 0
            jump = 0 if how == "plain" else rng.randrange(1, 1 << rng.choice([4, 40]))
            burst = Burst(at + jump, length, how in ("start", "both"), how in ("overflow", "both"))
            burst.ends = ends
            lost_before = int(dut.lost_o.value)
            for b in beats_of(burst, size, tb.width):
                await tb.offer(b, rng.choice([0, 0.5]), rng)
            if not ends and length % full:
                dut.stop_i.value = 1
            await tb.settle()
            dut.stop_i.value = 0
            flags = START if first or burst.start else 0
            flags |= OVERFLOW if burst.overflow and not first else 0
            got = await tb.drain()
            assert got == packets_of(burst, flags, size, tb.width, payload), (size, payload, burst)
            lost = jump if burst.overflow and not burst.start and not first else 0
            assert int(dut.lost_o.value) - lost_before == lost
            at, first = burst.first + length, False
            assert int(dut.index_o.value) == at
        assert tb.lost_events & 0xFFFFFFFF == int(dut.lost_o.value) & 0xFFFFFFFF


@cocotb.test()
async def full_packets_take_a_beat_every_clock_and_commit_in_three_cycles(dut):
    tb = TB(dut)
    beats = 6
    await tb.restart(beats * tb.width, reset=True)
    size = tb.width
    burst = Burst(77, beats * tb.slots, ends=False)
    waits = [await tb.offer(b) for b in beats_of(burst, size, tb.width)]
    assert sum(waits) == 0
    last = tb.took
    await tb.settle()
    assert tb.commit_at - last == 3
    assert len(await tb.drain()) == tb.slots
    # A short burst costs one cycle, the split two.
    if tb.width // 4 > 1:
        # It shows behind two beats: the first is still on its way when the second is taken.
        samples = tb.width // 4 + 1
        short = beats_of(Burst(5000, samples, start=True), 4, tb.width)
        again = beats_of(Burst(6000, samples, start=True), 4, tb.width)
        waits = [await tb.offer(b) for b in short + again]
        assert sum(waits) == 1
        full = beats * tb.width // 4
        split = beats_of(Burst(7000, full - 1, start=True), 4, tb.width)
        await tb.settle()
        waits = [await tb.offer(b) for b in split + beats_of(Burst(9000, 1, True), 4, tb.width)]
        assert sum(waits) == 2
    await tb.settle()


@cocotb.test()
async def full_ring_loses_whole_beats_and_every_index_is_accounted_for(dut):
    tb, rng = TB(dut), random.Random(cocotb.RANDOM_SEED)
    for size in sizes_of(tb):
        payload = 4 * max(size, tb.width)
        await tb.restart(payload, first_seq=rng.randrange(1 << 20), reset=True)
        at = first = rng.randrange(1 << 60)
        starts, packets, jumps = {at}, [], {}
        for _ in range(25):
            burst = Burst(at, rng.randrange(1, 6 * payload // size), ends=rng.random() < 0.7)
            if not burst.ends:
                unit = max(1, tb.width // size)
                burst.samples = -(-burst.samples // unit) * unit
            way = rng.random()
            if way < 0.3 and at != first:
                burst.overflow, burst.first = True, at + rng.randrange(1, 1000)
            elif way < 0.5 and at != first:
                jump = rng.randrange(1, 1000)
                burst.start, burst.first = True, at + jump
                jumps[burst.first] = jump
                starts.add(burst.first)
            for b in beats_of(burst, size, tb.width):
                dut.hold_i.value = int(rng.random() < 0.1)
                await tb.offer(b, 0.2, rng)
                if rng.random() < 0.02:
                    packets += await tb.drain()
            at = burst.first + burst.samples
        dut.hold_i.value = 0
        dut.stop_i.value = 1
        await tb.settle()
        packets += await tb.drain()
        first = packets[0].index  # what hold_i kept out before the first packet is no loss
        jumped = sum(jump for index, jump in jumps.items() if index > first)
        lost, expected = 0, first
        for number, packet in enumerate(packets):
            gap = packet.index - expected
            assert gap >= 0
            assert bool(packet.flags & START) or number > 0
            if gap and not packet.flags & START:
                assert packet.flags & OVERFLOW
                lost += gap
            count = payload // size
            if packet.flags & END_OF_BURST:
                count = int.from_bytes(packet.payload[-COUNT_BYTES:], "big")
                assert count * size <= len(packet.payload) - COUNT_BYTES
            else:
                assert len(packet.payload) == payload
            body = b"".join(sample(packet.index + i, size) for i in range(count))
            assert packet.payload.startswith(body)
            expected = packet.index + count
        # A loss before a start hides in the jump; the count names it all the same.
        packed = sum(
            int.from_bytes(p.payload[-COUNT_BYTES:], "big")
            if p.flags & END_OF_BURST
            else payload // size
            for p in packets
        )
        assert int(dut.lost_o.value) == at - first - jumped - packed
        assert int(dut.lost_o.value) >= lost
        assert tb.lost_events == int(dut.lost_o.value)
        assert tb.overflow_events == sum(bool(p.flags & OVERFLOW) for p in packets)
        assert int(dut.index_o.value) == at
        assert tb.lost_events > 0


@cocotb.test()
async def empty_beat_names_the_loss_behind_a_burst(dut):
    tb = TB(dut)
    await tb.restart(4 * tb.width, reset=True)
    for b in beats_of(Burst(10, 3, ends=False), tb.width, tb.width):
        await tb.offer(b)
    await tb.offer(Beat(bytes(tb.width), 21, 0, False, True, True, False))
    await tb.settle()
    assert [p.index for p in await tb.drain()] == [10]
    assert int(dut.lost_o.value) == 8
    assert int(dut.index_o.value) == 21


@cocotb.test()
async def flush_in_mid_packet_leaves_nothing_of_the_old_stream(dut):
    tb, rng = TB(dut), random.Random(cocotb.RANDOM_SEED)
    payload = 5 * tb.width
    await tb.restart(payload, reset=True)
    for _ in range(30):
        old = beats_of(Burst(1000, 5 * rng.randrange(1, 4), ends=False), tb.width, tb.width)
        for b in old[: rng.randrange(1, len(old) + 1)]:
            await tb.offer(b)
        for _ in range(rng.randrange(4)):
            await tb.cycle()
        await tb.restart(payload, first_seq=rng.randrange(1000), reset=rng.random() < 0.3)
        burst = Burst(50, 12)
        for b in beats_of(burst, tb.width, tb.width):
            await tb.offer(b)
        await tb.settle()
        assert await tb.drain() == packets_of(burst, START, tb.width, tb.width, payload)


@cocotb.test()
async def samples_before_run_are_thrown_away_and_not_lost(dut):
    tb = TB(dut)
    await tb.restart(4 * tb.width, reset=True)
    dut.run_i.value = 0
    await tb.cycle()
    size = 2 * tb.width
    beats = beats_of(Burst(500, 8, ends=False), size, tb.width)
    for b in beats[:3]:
        await tb.offer(b)
    dut.run_i.value = 1
    await tb.cycle()
    for b in beats[3:]:
        await tb.offer(b)
    dut.stop_i.value = 1
    await tb.settle()
    # Beat 3 is the second half of a sample: the stream begins behind it.
    assert await tb.drain() == packets_of(Burst(502, 6), START, size, tb.width, 4 * tb.width)
    assert int(dut.lost_o.value) == 0


@cocotb.test()
async def departures_read_back_old_in_the_cycle_of_their_write(dut):
    tb = TB(dut)
    await tb.restart(4 * tb.width, reset=True)
    seen = {}
    rng = random.Random(cocotb.RANDOM_SEED)
    for _ in range(60):
        slot, value = rng.randrange(tb.slots), rng.getrandbits(32)
        dut.dep_addr_i.value, dut.dep_wdata_i.value = slot, value
        dut.dep_we_i.value = 1
        await tb.cycle()
        await FallingEdge(dut.clk_i)
        if slot in seen:
            assert int(dut.dep_rdata_o.value) == seen[slot]
        dut.dep_we_i.value = 0
        await FallingEdge(dut.clk_i)
        assert int(dut.dep_rdata_o.value) == value
        seen[slot] = value
        await RisingEdge(dut.clk_i)


@cocotb.test()
async def test_source_bytes_follow_from_the_index(dut):
    """Both kinds, taken as fast as they go, slower than they come, and without loss."""
    tb, rng = TB(dut), random.Random(cocotb.RANDOM_SEED)
    shift = tb.width.bit_length() - 1
    ways = [(0, 1, "free"), (1, 3, "slow"), (1, shift, "stall"), (0, shift + 1, "slow")]
    for kind, log2, mode in ways:
        size = 1 << log2
        payload = 4 * max(size, tb.width)
        await tb.restart(payload, reset=True)
        dut.use_source_i.value = 1
        dut.kind_i.value, dut.sample_log2_i.value = kind, log2
        # 10 ns a clock: "slow" makes half a beat a clock and more than the ring's reader takes.
        rate = 0 if mode == "free" else (tb.width << 24) // (2 * size * 10)
        dut.rate_i.value, dut.slack_beats_i.value = rate, 3
        dut.stall_ok_i.value = int(mode == "stall")
        packets, begun, base = [], tb.now, int(dut.time_ns_i.value)
        for step in range(400):
            dut.time_ns_i.value = base + (tb.now - begun) * 10 + 5000 * (step > 200)
            await tb.cycle()
            # Near the end too: with a full ring the source stands still.
            if rng.random() < 0.03 or step == 380:
                packets += await tb.drain()
        dut.stop_i.value = 1
        await tb.settle()
        packets += await tb.drain()
        dut.use_source_i.value = 0
        await tb.cycle()
        expected, jumps = packets[0].index, 0
        assert len(packets) > 8
        for p in packets:
            jumps += p.index != expected
            assert p.index == expected or p.flags & OVERFLOW
            is_end = bool(p.flags & END_OF_BURST)
            count = int.from_bytes(p.payload[-8:], "big") if is_end else payload // size
            byte = p.index * size
            for offset in range(0, count * size, 8):
                if kind:
                    word = ((byte + offset) // 8).to_bytes(8, "little")
                else:
                    word = bytes((byte + offset + i) & 0xFF for i in range(8))
                valid = min(8, count * size - offset)
                assert p.payload[offset : offset + valid] == word[:valid]
            expected = p.index + count
        if mode == "slow":
            assert jumps > 0
            total = int(dut.time_ns_i.value) - base
            made = int(dut.index_o.value) * (1 << 24) // rate
            assert abs(made - total) < 400, (made, total)


CASES = [
    pytest.param(64, 8, 192, 3, id="64"),
    pytest.param(512, 8, 1152, 2, id="512", marks=pytest.mark.full),
    pytest.param(64, 4, 128, 2, id="64-small", marks=pytest.mark.full),
]


@pytest.mark.parametrize(("width", "slots", "slot_bytes", "latency"), CASES)
def test_packetizer(width, slots, slot_bytes, latency):
    run(
        "packetizer_tb",
        sources=[
            "crc_beats",
            "crc_step64",
            "packetizer",
            "ring",
            "slot_table",
            "test_source",
            Path(__file__).parent / "packetizer_tb.sv",
        ],
        test_module="test_packetizer",
        parameters={"W": width, "Slots": slots, "SlotBytes": slot_bytes, "RdLatency": latency},
        testcase=os.environ.get("SAMPLEWIRE_TESTCASE"),
    )

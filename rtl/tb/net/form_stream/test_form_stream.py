"""eth_ip_check and form_stream: the verdict on each frame is that of a model (docs/protocol.md#2),
frame behind frame without a pause, and the beats come out as they went in."""

import random
import struct
from collections import Counter, deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from network import (
    IPV4,
    UDP,
    Peer,
    arp,
    crc32c,
    datagram,
    echo_request,
    ethernet,
    ipv4,
    packet,
    report,
    udp,
    vectors,
)
from received import BROADCAST, HOST, LENGTHS, TAG, US, hostile_frames, judge, reseal
from runner import run

OTHER = Peer(US.mac, US.ip, 4791)
PORTS = {US.port: False, OTHER.port: True}
# From the highest bit of seen_o.
EVENTS = ("bad", "oversize", "runt", "not_ours", "fragment", "ip_sum", "length", "udp_sum")
FORM_EVENTS = ("form", "length", "crc")
ALL = {*EVENTS, *FORM_EVENTS, "frames"}


class TB:
    """Sends frames; each that comes out is compared with what went in and with the model."""

    def __init__(self, dut):
        self.dut = dut
        self.size = len(dut.data_i) // 8
        self.latency = 5 if self.size == 8 else 6
        self.counts = Counter()
        self.due = deque()  # frame, bad, cycle of its last beat
        self.cycle = 0
        self.data = bytearray()

    async def start(self):
        dut = self.dut
        dut.rst_i.value, dut.valid_i.value = 1, 0
        dut.self_i.value, dut.other_port_i.value = US.packed(), OTHER.port
        dut.stream_tag_i.value = TAG
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        for _ in range(4):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0

    async def step(self):
        """A cycle: what is at the inputs is taken, what then comes out is checked."""
        dut = self.dut
        await FallingEdge(dut.clk_i)
        self.cycle += 1
        seen = int(dut.seen_o.value)
        last, valid = seen >> 1 & 1, seen & 1
        raised = [name for n, name in enumerate(EVENTS) if seen >> (21 - n) & 1]
        assert valid or not raised
        if not valid:
            return
        count = int(dut.count_o.value)
        self.data += dut.data_o.value.to_unsigned().to_bytes(self.size, "little")[:count]
        assert last or (count == self.size and not raised)
        if last:
            self.check(seen, raised)

    def check(self, seen: int, raised: list[str]):
        frame, bad, at = self.due.popleft()
        assert bytes(self.data) == frame
        assert self.cycle - at == self.latency
        self.data.clear()
        want = judge(frame, PORTS, bad=bad)
        passed, stray, is_arp, is_icmp = (seen >> bit & 1 for bit in (7, 6, 5, 4))
        port = [p for n, p in enumerate(PORTS) if seen >> 2 + n & 1]
        if passed:
            assert not raised
            cls = "arp" if is_arp else "icmp" if is_icmp else str(*port)
            if cls == str(US.port):
                raised = [name for n, name in enumerate(FORM_EVENTS) if seen >> (13 - n) & 1]
                other, is_report, form_passed = seen >> 10 & 1, seen >> 9 & 1, seen >> 8 & 1
                assert form_passed == (not raised)
                if form_passed:
                    assert (other, is_report) == (want.other_version, want.is_report), frame.hex()
            raised = raised or ["frames"]
            assert want.event != "frames" or want.cls == cls, frame.hex()
        assert raised == [want.event], (want, frame[:200].hex(), len(frame))
        assert stray == (want.event in ("not_ours", "fragment"))
        self.counts[want.event] += 1

    async def send(self, frame: bytes, *, bad=False, idle=0.0):
        dut, size = self.dut, self.size
        for at in range(0, len(frame), size):
            while idle and random.random() < idle:
                dut.valid_i.value = 0
                await self.step()
            part = frame[at : at + size]
            last = at + size >= len(frame)
            dut.valid_i.value, dut.last_i.value = 1, int(last)
            dut.bad_i.value = int(bad and last)
            dut.count_i.value = len(part)
            # Behind the end is anything.
            junk = b"" if len(part) == size else random.randbytes(size - len(part))
            dut.data_i.value = int.from_bytes(part + junk, "little")
            if last:
                self.due.append((frame, bad, self.cycle + 1))
            await self.step()

    async def settle(self):
        self.dut.valid_i.value = 0
        for _ in range(12):
            await self.step()
        assert not self.due and not self.data


def some_size(most: int) -> int:
    """Bytes of a payload: few in most packets."""
    limit = random.choice([30, 30, 60, 60, 130, 130, 400, 2000, most])
    return random.randrange(min(limit, most) + 1)


def some_packet() -> bytes:
    """A packet of any type, as a rule right."""
    kind = random.choice([0, 0, 0, 2, 2, *LENGTHS])
    tag = random.choice([TAG, TAG, TAG ^ 1 << random.randrange(32)])
    flags = random.choice([0x80, 0, 0xBF])
    if kind == 2:
        ranges = [(random.getrandbits(32), 1)] * random.choice([0, 1, 2, 5, 32, 300])
        n = random.choice([None] * 6 + [len(ranges) + 1, len(ranges) ^ 1 << random.randrange(16)])
        return report(random.getrandbits(31), tag=tag, ranges=ranges, n=n)
    least, is_open_end = LENGTHS[kind]
    size = least - 26 + (some_size(8900) if is_open_end else 0)
    return packet(kind, random.randbytes(size), tag=tag, flags=flags)


def wrong_packet() -> bytes:
    """A packet with one fault, behind a right checksum."""
    data = some_packet()
    kind = random.randrange(5)
    if kind == 0:
        at = random.choice([0, 1, random.randrange(len(data)), len(data) - 1])
        return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
    if kind == 1:
        return data[: random.randrange(len(data))]
    body = bytearray(data[:-4])
    if kind == 2:
        body[0] = random.getrandbits(8)
    elif kind == 3:
        body[1] |= 0x40
    else:
        body += random.randbytes(random.randrange(1, 9))
    return bytes(body) + struct.pack("!I", crc32c(bytes(body)))


def some_frame() -> bytes:
    """A frame for us, as far as its addresses say."""
    kind = random.randrange(12)
    if kind < 5:
        return datagram(HOST, US, some_packet())
    if kind < 7:
        return datagram(HOST, US, wrong_packet())
    if kind == 7:
        return echo_request(HOST, US, random.randbytes(random.choice([0, 17, 18, 22, 119, 120,
                            121, some_size(200)])))  # fmt: skip
    if kind == 8:
        return arp(random.choice([1, 1, 1, 2]), HOST, 0, US.ip ^ random.choice([0, 0, 0, 1]),
                   dst=random.choice([BROADCAST, US.mac]))  # fmt: skip
    if kind == 9:
        frame = bytearray(datagram(HOST, OTHER, random.randbytes(some_size(9000))))
        if random.random() < 0.5:
            frame[40:42] = b"\0\0"
        return bytes(frame)
    if kind == 10:
        length = random.choice([0, 7, 8, 20, 49, 65535])
        body = udp(HOST, US, some_packet(), length=length)
        return ethernet(US.mac, HOST.mac, IPV4, ipv4(HOST.ip, US.ip, UDP, body))
    # Sums that have to fold carries: long runs of ones.
    return datagram(HOST, US, packet(0, b"\xff" * (8 + some_size(8900)), tag=TAG))


def spoiled(frame: bytes) -> bytes:
    """A frame with a fault below UDP."""
    kind = random.randrange(10)
    value = bytearray(frame)
    if kind < 4:
        at = random.choice([random.randrange(min(64, len(frame))), random.randrange(len(frame))])
        value[at] ^= 1 << random.randrange(8)
        return bytes(value)
    if kind == 4:
        return frame[: random.choice([random.randrange(1, len(frame) + 1), 59, 60])]
    if kind == 5:
        return reseal(frame, 20, struct.pack("!H", random.choice([0x2000, 1, 0x1FFF, 0x8000])))
    if kind == 6:
        total = random.choice([0, 19, 20, 27, 28, 46, 49, 50, 51, len(frame) - 13, 65520, 65535,
                               random.getrandbits(16)])  # fmt: skip
        return reseal(frame, 16, struct.pack("!H", total))
    if kind == 7:
        at, byte = random.choice([(14, 0x46), (14, 0x55), (23, 6), (23, 1), (23, 17)])
        return reseal(frame, at, bytes([byte]))
    if kind == 8:  # a wrong header's sum beside another fault
        value[24] ^= 1 << random.randrange(8)
        value[36] ^= random.choice([0, 1])
        return bytes(value)
    return frame + random.randbytes(random.choice([1, 5, 64, 9216 - min(len(frame), 9215)]))


def any_frame() -> bytes:
    """What may come from a network."""
    draw = random.random()
    if draw < 0.02:
        return random.randbytes(random.choice([1, 2, 13, 14, 40, 59, 60, 61, 64, 65, 200]))
    if draw < 0.03:
        return some_frame().ljust(random.choice([9215, 9216, 9217, 9218, 9300, 12000]), b"\0")
    frame = some_frame()
    return spoiled(frame) if draw < 0.4 else frame


@cocotb.test()
async def hostile_frames_raise_their_event(dut):
    tb = TB(dut)
    await tb.start()
    for name, frame in hostile_frames():
        assert judge(frame, PORTS).event == name, "the model is as the list"
        await tb.send(frame)
    await tb.settle()
    assert tb.counts == Counter(name for name, _ in hostile_frames())


@cocotb.test()
async def every_packet_of_the_vectors_passes_and_every_invalid_one_fails(dut):
    tb = TB(dut)
    await tb.start()
    right, wrong = vectors("packets"), vectors("invalid")
    for vector in (*right, *wrong):
        await tb.send(datagram(HOST, US, vector["data"]))
    await tb.settle()
    # Fields of OPEN and ACCEPT and reserved ones are session's to look at.
    later = sum(vector["error"] in ("ReservedField", "Role", "Tlv") for vector in wrong)
    assert tb.counts["frames"] == len(right) + later


@cocotb.test()
async def any_frames_back_to_back_are_each_judged_as_by_the_model(dut):
    tb = TB(dut)
    await tb.start()
    frames = 500 if tb.size == 8 else 1200
    sent = 0
    # Rare ones may need more.
    while sent < frames or (set(tb.counts) != ALL and sent < 4 * frames):
        idle = random.choice([0, 0, 0, 0, 0, 0.3])
        await tb.send(any_frame(), bad=random.random() < 0.02, idle=idle)
        sent += 1
    await tb.settle()
    assert set(tb.counts) == ALL, "each event was raised"
    assert sum(tb.counts.values()) == sent


@cocotb.test()
async def frames_of_a_beat_or_two_follow_each_other_without_a_pause(dut):
    tb = TB(dut)
    await tb.start()
    for _ in range(1500 if tb.size == 64 else 200):
        while len(frame := any_frame()) > 128:
            pass
        await tb.send(frame, bad=random.random() < 0.02)
    await tb.settle()
    assert set(tb.counts) == ALL - {"oversize"}


@cocotb.test()
async def packets_of_every_length_pass_and_with_a_flipped_bit_fail(dut):
    tb = TB(dut)
    await tb.start()
    sizes = [*range(8, 150), *(random.randrange(150, 8900) for _ in range(6)), 8946]
    for size in sizes:
        whole = packet(0, random.randbytes(size), tag=TAG)
        await tb.send(datagram(HOST, US, whole))
        flipped = bytearray(whole)
        flipped[random.randrange(6, len(whole))] ^= 1 << random.randrange(8)
        await tb.send(datagram(HOST, US, bytes(flipped)))
    await tb.settle()
    assert tb.counts == {"frames": len(sizes), "crc": len(sizes)}


@cocotb.test()
async def each_word_of_a_datagram_counts_in_its_sum(dut):
    tb = TB(dut)
    await tb.start()
    frame = datagram(HOST, US, packet(0, random.randbytes(260), tag=TAG))
    words = range(44, len(frame), 2)
    for at in words:
        wrong = bytearray(frame)
        wrong[at + random.randrange(2)] ^= 1 << random.randrange(8)
        await tb.send(frame)
        await tb.send(bytes(wrong))
    await tb.settle()
    assert tb.counts == {"frames": len(words), "udp_sum": len(words)}


@cocotb.test()
async def a_reset_in_mid_packet_leaves_nothing_behind(dut):
    tb = TB(dut)
    await tb.start()
    frame = datagram(HOST, US, packet(0, random.randbytes(500), tag=TAG))
    for beats in (1, 2, 3):
        dut.valid_i.value, dut.last_i.value, dut.count_i.value = 1, 0, tb.size
        for n in range(beats):
            part = frame[n * tb.size : (n + 1) * tb.size]
            dut.data_i.value = int.from_bytes(part, "little")
            await FallingEdge(dut.clk_i)
        dut.rst_i.value, dut.valid_i.value = 1, 0
        for _ in range(8):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        await tb.send(frame)
        await tb.settle()
    assert tb.counts == {"frames": 3}


@pytest.mark.parametrize(
    "width",
    [512, *(pytest.param(w, marks=pytest.mark.full) for w in (64, 128))],
)
def test_form_stream(width):
    run(
        "form_stream_tb",
        sources=["eth_ip_check", "ip_sums", "ip_sums_wide", "form_stream", "crc_check",
                 "crc_step64", "rtl/tb/net/form_stream/form_stream_tb.sv"],
        test_module="test_form_stream",
        parameters={"N": width},
    )  # fmt: skip

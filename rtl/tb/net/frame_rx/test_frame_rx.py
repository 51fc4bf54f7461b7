"""frame_rx: what passes, what is counted for which cause, and floods (docs/protocol.md#2, #10)."""

import random
import struct
from collections import Counter

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from network import IPV4, arp, datagram, echo_request, ethernet, packet, report, vectors
from received import BROADCAST, HOST, TAG, US, honest_report, hostile_frames
from runner import run

KEPT = 384
ARP_CLASS, ICMP_CLASS, REPORT_CLASS, SESSION_CLASS = range(4)
EVENTS = [
    "frames",
    "bad",
    "runt",
    "oversize",
    "not_ours",
    "fragment",
    "ip_sum",
    "udp_sum",
    "length",
    "crc",
    "form",
    "no_room",
]


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.bytes = len(dut.s_axis_tkeep)
        self.counts = Counter()
        self.frames = []  # (class, first byte shown, data, meta)
        self.others = []  # whole frames for other receivers
        self.ready = lambda: True
        self.cycle = 0
        self.last_at = 0
        self.first_out = None
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())

    async def reset(self):
        dut = self.dut
        dut.rst_i.value = 1
        dut.self_i.value = US.packed()
        dut.stream_tag_i.value = TAG
        dut.stream_tag_valid_i.value = 1
        dut.s_axis_tvalid.value = 0
        dut.s_axis_tlast.value = 0
        dut.s_axis_tuser.value = 0
        dut.c_ready_i.value = 1
        for _ in range(4):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        await RisingEdge(dut.clk_i)
        cocotb.start_soon(self._watch())

    async def _watch(self):
        dut = self.dut
        events = [(name, getattr(dut, f"ev_{name}_o")) for name in EVENTS]
        data = bytearray()
        other = bytearray()
        meta = None
        while True:
            await FallingEdge(dut.clk_i)
            self.cycle += 1
            dut.c_ready_i.value = ready = int(self.ready())
            await Timer(1, "ns")
            raised = [name for name, signal in events if signal.value == 1]
            self.counts.update(raised)
            if dut.u_axis_tvalid.value == 1:
                count = dut.u_axis_tkeep.value.to_unsigned().bit_count()
                beat = dut.u_axis_tdata.value.to_unsigned().to_bytes(self.bytes, "little")
                other += beat[:count]
                if dut.u_axis_tlast.value == 1:
                    if dut.u_axis_tuser.value == 0:
                        self.others.append(bytes(other))
                    other.clear()
            if dut.c_valid_o.value == 1:
                if not data and self.first_out is None:
                    self.first_out = self.cycle
                seen = int(dut.c_meta_o.value)
                assert meta is None or meta == seen, "the meta data moved within a frame"
                meta = seen
                if ready:
                    data += dut.c_data_o.value.to_unsigned().to_bytes(8, "little")
                    if dut.c_last_o.value == 1:
                        self.frames.append((meta, bytes(data)))
                        data, meta = bytearray(), None

    async def send(self, frame: bytes, *, bad=False, idle=0.0):
        dut, width = self.dut, self.bytes
        for at in range(0, len(frame), width):
            while random.random() < idle:
                dut.s_axis_tvalid.value = 0
                await RisingEdge(dut.clk_i)
            part = frame[at : at + width]
            last = at + width >= len(frame)
            # What lies outside tkeep is anything.
            junk = random.randbytes(width - len(part))
            dut.s_axis_tdata.value = int.from_bytes(part + junk, "little")
            dut.s_axis_tkeep.value = (1 << len(part)) - 1
            dut.s_axis_tvalid.value = 1
            dut.s_axis_tlast.value = int(last)
            dut.s_axis_tuser.value = int(bad and last)
            await RisingEdge(dut.clk_i)
        self.last_at = self.cycle
        dut.s_axis_tvalid.value = 0

    async def settle(self, cycles=200):
        for _ in range(cycles):
            await RisingEdge(self.dut.clk_i)

    def take(self):
        """The frames that came since, each with its meta data."""
        out = []
        for meta, data in self.frames:
            out.append(
                {
                    "other": meta & 1,
                    "tag": meta >> 1 & 0xFFFFFFFF,
                    "ptype": meta >> 33 & 15,
                    "udp": meta >> 37 & 0xFFFF,
                    "peer": meta >> 53 & (1 << 96) - 1,
                    "cls": meta >> 149,
                    "data": data,
                }
            )
        self.frames = []
        return out


def shown(frame: bytes, cls: int) -> bytes:
    """What a frame of a class must come out as, as far as its bytes say anything."""
    return frame[56 if cls == REPORT_CLASS else 0 : KEPT]


def check(got: dict, frame: bytes, cls: int):
    want = shown(frame, cls)
    assert got["cls"] == cls
    assert len(got["data"]) == -(-len(want) // 8) * 8
    assert got["data"][: len(want)] == want
    if cls in (REPORT_CLASS, SESSION_CLASS):
        assert got["peer"] == HOST.packed()
        assert got["udp"] == struct.unpack("!H", frame[38:40])[0] - 8
        assert got["ptype"] == frame[42] & 15
        assert got["tag"] == struct.unpack("!I", frame[44:48])[0]


@cocotb.test()
async def every_packet_of_the_vectors_comes_out_whole(dut):
    tb = TB(dut)
    await tb.reset()
    sent = 0
    for idle in (0.0, 0.4):
        for vector in vectors("packets"):
            frame = datagram(HOST, US, vector["data"])
            await tb.send(frame, idle=idle)
            await tb.settle(220)
            (got,) = tb.take()
            check(got, frame, SESSION_CLASS)
            assert not got["other"]
            sent += 1
    assert tb.counts == {"frames": sent}


@cocotb.test()
async def every_invalid_packet_of_the_vectors_raises_its_event(dut):
    tb = TB(dut)
    await tb.reset()
    event = {
        "TooShort": "length",
        "Version": "form",
        "UnknownType": "form",
        "ReservedFlag": "form",
        "Crc": "crc",
        "Length": "length",
        "Count": "length",
    }
    # Fields of OPEN and ACCEPT and reserved ones are session's to look at.
    event |= {"ReservedField": "frames", "Role": "frames", "Tlv": "frames"}
    for vector in vectors("invalid"):
        await tb.send(datagram(HOST, US, vector["data"]))
        await tb.settle(60)
        assert tb.counts == {event[vector["error"]]: 1}, vector["name"]
        tb.counts.clear()


@cocotb.test()
async def packets_of_every_length_pass_and_with_a_flipped_bit_fail(dut):
    tb = TB(dut)
    await tb.reset()
    for size in [*range(8, 41), 300, 301, 305, 311, 350, 1999, 8191]:
        body = random.randbytes(size)
        whole = packet(0, body, tag=TAG)
        frame = datagram(HOST, US, whole)
        await tb.send(frame)
        flipped = bytearray(whole)
        flipped[random.randrange(6, len(whole))] ^= 1 << random.randrange(8)
        await tb.send(datagram(HOST, US, bytes(flipped)))
        await tb.settle(120 + size // 4)
        (got,) = tb.take()
        check(got, frame, SESSION_CLASS)
        assert tb.counts == {"frames": 1, "crc": 1}, size
        tb.counts.clear()


@cocotb.test()
async def a_hostile_frame_raises_one_event_and_honest_reports_around_it_pass(dut):
    tb = TB(dut)
    await tb.reset()
    honest = honest_report()
    for name, frame in hostile_frames():
        await tb.send(honest)
        await tb.send(frame)
        await tb.send(honest)
        await tb.settle(100)
        got = tb.take()
        assert [g["cls"] for g in got] == [REPORT_CLASS, REPORT_CLASS], (name, frame.hex())
        for g in got:
            check(g, honest, REPORT_CLASS)
        assert tb.counts == {"frames": 2, name: 1}, (name, frame.hex(), tb.counts)
        assert tb.others == ([frame] if name in ("not_ours", "fragment") else []), name
        tb.counts.clear()
        tb.others.clear()
    await tb.send(datagram(HOST, US, packet(7, bytes(16), tag=TAG)), bad=True)
    await tb.send(honest)
    await tb.settle(60)
    assert tb.counts == {"frames": 1, "bad": 1}
    assert not tb.others


@cocotb.test()
async def arp_echo_and_padded_or_trailed_frames_pass(dut):
    tb = TB(dut)
    await tb.reset()
    close = datagram(HOST, US, packet(8, bytes(16), tag=5))
    cases = [
        (ARP_CLASS, arp(1, HOST, 0, US.ip, dst=BROADCAST)),
        (ARP_CLASS, arp(1, HOST, 0, US.ip, dst=US.mac)),
        *[
            (ICMP_CLASS, echo_request(HOST, US, random.randbytes(n)))
            for n in (0, 1, 17, 18, 19, 119, 120)
        ],
        (SESSION_CLASS, close),
        (SESSION_CLASS, close + b"\xffXYZ\x01"),
    ]
    for cls, frame in cases:
        await tb.send(frame)
        await tb.settle(60)
        (got,) = tb.take()
        check(got, frame, cls)
    assert tb.counts == {"frames": len(cases)}


@cocotb.test()
async def an_open_of_another_version_comes_through_whatever_its_crc(dut):
    tb = TB(dut)
    await tb.reset()
    frame = datagram(HOST, US, packet(3, bytes(102), version=2, flags=0xFF)[:-4] + b"none")
    await tb.send(frame)
    await tb.settle(60)
    (got,) = tb.take()
    check(got, frame, SESSION_CLASS)
    assert got["other"] and got["ptype"] == 3
    assert tb.counts == {"frames": 1}


@cocotb.test()
async def a_report_is_of_the_stream_only_by_a_tag_that_is_in_use(dut):
    tb = TB(dut)
    await tb.reset()
    foreign = datagram(HOST, US, report(1, tag=TAG ^ 1))
    await tb.send(foreign)
    dut.stream_tag_valid_i.value = 0
    await tb.settle(60)
    await tb.send(honest_report())
    await tb.settle(60)
    assert [g["cls"] for g in tb.take()] == [SESSION_CLASS, SESSION_CLASS]


@cocotb.test()
async def a_flood_at_a_beat_every_clock_crowds_out_no_report(dut):
    tb = TB(dut)
    await tb.reset()
    tb.ready = lambda: random.random() < 0.25  # slower than what comes
    floods = [
        [arp(1, HOST, 0, US.ip, dst=BROADCAST)],
        [echo_request(HOST, US, bytes(20))],
        [datagram(HOST, US, packet(3, bytes(1300)))],
        [datagram(HOST, US, packet(7, bytes(16), tag=TAG ^ 5))],
        [arp(1, HOST, 0, US.ip + 1, dst=BROADCAST)],
        [bytes(20), bytes(1), ethernet(US.mac, HOST.mac, IPV4, bytes(9203))],
    ]
    for flood in floods:
        sent = honest = 0
        for number in range(1, 9):
            spent = 0
            while spent < 2600:
                frame = random.choice(flood)
                await tb.send(frame)
                spent += -(-len(frame) // tb.bytes) * 8
                sent += 1
            await tb.send(honest_report(number, n=4))
            honest += 1
        for _ in range(400):
            await tb.settle(100)
            if sum(tb.counts.values()) == sent + honest:
                break
        await tb.settle(4000)
        reports = [g for g in tb.take() if g["cls"] == REPORT_CLASS]
        numbers = [struct.unpack("!I", g["data"][:4])[0] for g in reports]
        assert numbers == list(range(1, honest + 1))
        assert sum(tb.counts.values()) == sent + honest
        tb.counts.clear()


@cocotb.test()
async def random_traffic_is_each_passed_or_counted(dut):
    tb = TB(dut)
    await tb.reset()
    tb.ready = lambda: random.random() < 0.9
    sent, want = 0, []
    for _ in range(250):
        kind = random.randrange(6)
        if kind == 0:
            frame, cls = honest_report(n=random.randrange(0, 33)), REPORT_CLASS
        elif kind == 1:
            frame, cls = (
                datagram(HOST, US, packet(0, random.randbytes(random.randrange(8, 400)))),
                SESSION_CLASS,
            )
        elif kind == 2:
            frame, cls = echo_request(HOST, US, random.randbytes(random.randrange(121))), ICMP_CLASS
        elif kind == 3:
            frame, cls = arp(1, HOST, 0, US.ip, dst=BROADCAST), ARP_CLASS
        elif kind == 4:
            frame, cls = random.randbytes(random.randrange(1, 200)), None
        else:
            body = bytearray(honest_report(n=3))
            body[random.randrange(len(body))] ^= 1 << random.randrange(8)
            frame, cls = bytes(body), None
        await tb.send(frame, idle=random.choice([0, 0, 0.3]))
        for _ in range(random.choice([0, 0, 60, 100])):
            await RisingEdge(dut.clk_i)
        sent += 1
        want.append((frame, cls))
    await tb.settle(6000)
    got = tb.take()
    at = 0
    assert sum(tb.counts.values()) == sent
    assert tb.counts["frames"] == len(got)
    for g in got:  # in order, each one that was sent; what is missing was counted
        while True:
            frame, cls = want[at]
            at += 1
            if cls == g["cls"] and g["data"][: len(shown(frame, cls))] == shown(frame, cls):
                break
            # A flipped bit of a field that nothing covers may pass: the source address of Ethernet,
            # or what turns one right packet into another of ours.
            if cls is None and g["cls"] == REPORT_CLASS and g["data"].startswith(frame[56:]):
                break


@cocotb.test()
async def a_reset_in_mid_packet_leaves_nothing_behind(dut):
    tb = TB(dut)
    await tb.reset()
    frame = honest_report(n=8)
    await tb.send(frame[: 2 * tb.bytes])  # ends with tlast, cut short
    dut.s_axis_tvalid.value = 1
    dut.s_axis_tlast.value = 0
    await RisingEdge(dut.clk_i)
    dut.rst_i.value = 1
    dut.s_axis_tvalid.value = 0
    await tb.settle(5)
    dut.rst_i.value = 0
    await tb.settle(5)
    tb.counts.clear()
    await tb.send(frame)
    await tb.settle(100)
    (got,) = tb.take()
    check(got, frame, REPORT_CLASS)
    assert tb.counts == {"frames": 1}


@cocotb.test()
async def a_report_is_shown_soon(dut):
    tb = TB(dut)
    await tb.reset()
    for n in (0, 1, 8, 32):
        tb.first_out = None
        frame = honest_report(n=n)
        await tb.send(frame)
        await tb.settle(120)
        tb.take()
        waited = tb.first_out - tb.last_at
        dut._log.info(
            "W %d, %d ranges: last beat in to first beat out %d cycles", 8 * tb.bytes, n, waited
        )
        assert waited <= (10 if tb.bytes == 8 else 14 + -(-len(frame) // 16))


SOURCES = ["frame_rx", "rx_filter", "eth_ip_check", "ip_sums", "ip_sums_wide", "form_stream",
           "frame_store", "crc_check", "crc_step64"]  # fmt: skip


@pytest.mark.parametrize("width", [pytest.param(64), pytest.param(512, marks=pytest.mark.full)])
def test_frame_rx(width):
    run("frame_rx", sources=SOURCES, test_module="test_frame_rx", parameters={"W": width})

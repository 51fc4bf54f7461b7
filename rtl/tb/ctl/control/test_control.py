"""report_rx behind frame_rx, crc_insert and tx_mux: REPORTs taken (docs/protocol.md#2.12, #4.6),
frames joined whole."""

import random
import struct
from collections import Counter
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from network import (
    Peer,
    datagram,
    packet,
    report,
)
from runner import run

US = Peer(0x02_00_5E_10_20_30, 0xC0A80002, 6007)
HOST = Peer(0x02_AA_BB_CC_DD_EE, 0xC0A80001, 51234)
TAG = 0x1234ABCD


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.bytes = len(dut.s_axis_tkeep)
        self.counts = Counter()
        self.checks, self.ranges, self.sent = [], [], []
        self.cycle = self.last_at = 0
        self.range_at = None
        self.gaps = 0
        self.ok = lambda numbers: True
        self.range_ready = lambda: True
        self.ready = lambda: True
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())

    async def reset(self):
        dut = self.dut
        for name in (
            "flush_i",
            "s_axis_tvalid",
            "s_axis_tuser",
            "ctl_axis_tvalid",
            "data_axis_tvalid",
            "s_axis_tlast",
            "ctl_axis_tlast",
            "data_axis_tlast",
            "ctl_hold_i",
            "data_chosen_i",
        ):
            getattr(dut, name).value = 0
        dut.rst_i.value = 1
        dut.rep_ok_i.value = 0
        dut.time_ns_i.value = 0x123456
        dut.self_i.value = US.packed()
        dut.stream_tag_i.value = TAG
        dut.stream_tag_valid_i.value = 1
        for _ in range(4):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        await RisingEdge(dut.clk_i)
        cocotb.start_soon(self._watch())

    async def _watch(self):
        dut = self.dut
        events = [
            (n, getattr(dut, n))
            for n in (
                "taken_o",
                "alive_o",
                "ev_refused_o",
                "ev_marked_o",
            )
        ]
        frame, held = bytearray(), None
        while True:
            await FallingEdge(dut.clk_i)
            self.cycle += 1
            if dut.rst_i.value == 1:
                frame, held = bytearray(), None
                continue
            numbers = dut.rep_numbers_o.value.to_unsigned() if dut.rep_valid_o.value == 1 else None
            dut.rep_ok_i.value = int(numbers is not None and self.ok(numbers))
            dut.rng_ready_i.value = range_ready = int(self.range_ready())
            dut.m_axis_tready.value = ready = int(self.ready())
            await Timer(1, "ns")
            self.counts.update(name for name, signal in events if signal.value == 1)
            if numbers is not None:
                self.checks.append(
                    (
                        struct.unpack("!4I", numbers.to_bytes(16, "big")),
                        int(dut.rep_is_newer_o.value),
                        int(dut.rep_has_ranges_o.value),
                    )
                )
            if dut.rng_valid_o.value == 1:
                if self.range_at is None:
                    self.range_at = self.cycle
                if range_ready:
                    self.ranges.append(
                        struct.unpack("!3I", dut.rng_o.value.to_unsigned().to_bytes(12, "big"))
                    )
            if dut.m_axis_tvalid.value == 1:
                beat = (
                    dut.m_axis_tkeep.value.to_unsigned(),
                    int(dut.m_axis_tlast.value),
                    dut.m_axis_tdata.value.to_unsigned(),
                )
                mask = sum(0xFF << 8 * i for i in range(self.bytes) if beat[0] >> i & 1)
                beat = (*beat[:2], beat[2] & mask)
                assert held is None or held == beat, "a beat changed before it was taken"
                held = None if ready else beat
                if ready:
                    count = beat[0].bit_count()
                    assert beat[0] == (1 << count) - 1 and (beat[1] or count == self.bytes)
                    frame += beat[2].to_bytes(self.bytes, "little")[:count]
                    if beat[1]:
                        self.sent.append(bytes(frame))
                        frame = bytearray()
            else:
                assert held is None, "tvalid fell before the beat was taken"
                self.gaps += bool(frame)

    async def put(self, prefix: str, frame: bytes):
        """Sends a frame on a stream, by its ready where it has one."""
        dut = self.dut
        width = len(getattr(dut, f"{prefix}_axis_tkeep"))
        ready = None if prefix == "s" else getattr(dut, f"{prefix}_axis_tready")
        for at in range(0, len(frame), width):
            part = frame[at : at + width]
            getattr(dut, f"{prefix}_axis_tdata").value = int.from_bytes(
                part + random.randbytes(width - len(part)), "little"
            )
            getattr(dut, f"{prefix}_axis_tkeep").value = (1 << len(part)) - 1
            getattr(dut, f"{prefix}_axis_tvalid").value = 1
            getattr(dut, f"{prefix}_axis_tlast").value = int(at + width >= len(frame))
            await RisingEdge(dut.clk_i)
            while ready is not None and ready.value != 1:
                await RisingEdge(dut.clk_i)
        getattr(dut, f"{prefix}_axis_tvalid").value = 0
        if prefix == "s":
            self.last_at = self.cycle

    async def settle(self, cycles=200):
        for _ in range(cycles):
            await RisingEdge(self.dut.clk_i)

    def newest(self):
        return struct.unpack("!2I", self.dut.newest_o.value.to_unsigned().to_bytes(8, "big"))


def fields(**extra):
    return {
        name: random.getrandbits(32)
        for name in (
            "released",
            "limit",
            "settled",
            "highest",
            "echo",
            "hold",
            "received",
            "marked",
            "skipped",
            "departure",
        )
    } | extra


def the_report(number, f, **extra):
    return datagram(HOST, US, report(number, tag=TAG, **f, **extra))


@cocotb.test()
async def a_report_is_checked_taken_and_its_ranges_come_out(dut):
    tb = TB(dut)
    await tb.reset()
    tb.range_ready = lambda: random.random() < 0.7
    for number, n in enumerate([0, 1, 2, 31, 32, 33, 35], 1):
        f = fields()
        ranges = [(random.getrandbits(32), random.getrandbits(32)) for _ in range(n)]
        time = random.getrandbits(63)
        dut.time_ns_i.value = time
        await tb.put("s", the_report(number, f, ranges=ranges))
        await tb.settle(220)
        assert tb.checks == [
            ((f["released"], f["limit"], f["settled"], f["highest"]), 1, int(n > 0))
        ]
        assert tb.ranges == [(*r, f["settled"]) for r in ranges]
        assert tb.newest() == (number, time >> 4 & 0xFFFFFFFF)
        assert tb.counts["ev_marked_o"] == number
        tb.checks, tb.ranges = [], []
    # More than the kept part of a frame holds: what is there is taken, what follows is not seen.
    f = fields()
    await tb.put("s", the_report(100, f, ranges=[(i, 1) for i in range(128)]))
    await tb.settle(400)
    assert tb.ranges == [(i, 1, f["settled"]) for i in range(35)]
    await tb.put("s", the_report(101, f))
    await tb.settle(200)
    assert tb.counts["taken_o"] == tb.counts["alive_o"] == 9
    assert tb.counts["ev_refused_o"] == 0


@cocotb.test()
async def a_refused_or_older_report_changes_nothing_of_the_newest(dut):
    tb = TB(dut)
    await tb.reset()
    one = fields(marked=7)
    await tb.put("s", the_report(0xFFFFFFFE, one, ranges=[(1, 2)]))
    await tb.settle(100)
    tb.ranges = []
    newest = tb.newest()
    tb.ok = lambda numbers: False  # it releases the future
    await tb.put("s", the_report(0xFFFFFFFF, fields(), ranges=[(1, 2)]))
    await tb.settle(100)
    tb.ok = lambda numbers: True
    for old in (0xFFFFFFFE, 0xFFFFFFFD, 0x80000000):
        await tb.put("s", the_report(old, fields(), ranges=[(3, 4)]))
        await tb.settle(100)
    assert tb.newest() == newest and tb.ranges == []
    assert tb.counts == {"taken_o": 1, "alive_o": 4, "ev_refused_o": 1, "ev_marked_o": 1}
    assert [newer for _, newer, _ in tb.checks] == [1, 1, 0, 0, 0]
    # Numbers wrap; marks that did not change are no notification.
    await tb.put("s", the_report(1, one, ranges=[(5, 6)]))
    await tb.settle(100)
    assert tb.ranges == [(5, 6, one["settled"])]
    assert tb.counts["ev_marked_o"] == 1


@cocotb.test()
async def a_flush_forgets_and_a_report_of_the_old_stream_is_swallowed(dut):
    tb = TB(dut)
    await tb.reset()
    await tb.put("s", the_report(9, fields(marked=3), ranges=[(1, 2)]))
    await tb.settle(100)
    assert dut.reported_o.value == 1
    await tb.put("s", the_report(10, fields(), ranges=[(i, 2) for i in range(30)]))
    # The stream ends after the frame was classified and before it is read.
    dut.stream_tag_i.value = TAG + 1
    dut.flush_i.value = 1
    await tb.settle(4)
    dut.flush_i.value = 0
    await tb.settle(200)
    assert dut.reported_o.value == 0 and tb.counts["taken_o"] == 1 and len(tb.ranges) == 1
    # The marks of the old stream are no notification of the next, whose count begins at 0.
    marked = tb.counts["ev_marked_o"]
    for number, marks in enumerate((0, 3, 3), 1):
        await tb.put("s", datagram(HOST, US, report(number, tag=TAG + 1, marked=marks)))
        await tb.settle(100)
    assert tb.counts["taken_o"] == 4 and tb.counts["ev_marked_o"] == marked + 1


@cocotb.test()
async def the_first_range_comes_soon_after_the_last_beat(dut):
    tb = TB(dut)
    await tb.reset()
    for number, n in enumerate([1, 2, 8, 16, 32], 1):
        tb.range_at = None
        await tb.put("s", the_report(number, fields(), ranges=[(i, 1) for i in range(n)]))
        await tb.settle(150)
        waited = tb.range_at - tb.last_at
        dut._log.info(
            "W %d, %d ranges: last beat of a REPORT to the first range %d cycles",
            8 * tb.bytes,
            n,
            waited,
        )
        assert waited <= (36 if tb.bytes == 8 else 37 if n <= 8 else 48)


def control_frame(size: int) -> tuple[bytes, bytes]:
    """A frame 4 bytes longer than whole beats, its CRC's place empty; and whole."""
    whole = packet(1, random.randbytes(size), tag=random.getrandbits(32))
    frame = datagram(US, HOST, whole)
    assert len(frame) % 8 == 4
    return frame[:-4] + random.randbytes(4), frame


@cocotb.test()
async def control_and_data_leave_whole_neither_starves_and_the_crc_is_right(dut):
    tb = TB(dut)
    await tb.reset()
    control, data = [], []

    async def controls():
        for size in [16, 24, 32, 72, 1400, 8944] + [16] * 20:
            raw, whole = control_frame(size)
            control.append(whole)
            await tb.put("ctl", raw)

    async def datas():
        for _ in range(40):
            frame = b"D" + random.randbytes(random.choice([59, 63, 64, 127, 128, 1400]))
            data.append(frame)
            await tb.put("data", frame)

    for ready in (lambda: True, lambda: random.random() < 0.6):
        tb.ready = ready
        tb.sent, tb.gaps = [], 0
        control.clear()
        data.clear()
        one, two = cocotb.start_soon(controls()), cocotb.start_soon(datas())
        await one
        await two
        await tb.settle(3500)
        assert [f for f in tb.sent if f[:1] != b"D"] == control
        assert [f for f in tb.sent if f[:1] == b"D"] == data
        assert tb.gaps == 0, "a frame had gaps"
        # While control had frames in plenty, DATA had every second place.
        first = [f[:1] == b"D" for f in tb.sent]
        assert sum(first[:10]) >= 4


@cocotb.test()
async def a_frame_that_is_held_leaves_behind_the_data_chosen_until_then_and_before_the_next(dut):
    tb = TB(dut)
    await tb.reset()

    async def choose(count: int):
        dut.data_chosen_i.value = 1
        await tb.settle(count)
        dut.data_chosen_i.value = 0

    for before, after in ((0, 2), (1, 1), (3, 2)):
        tb.sent = []
        dut.ctl_hold_i.value = 1
        raw, whole = control_frame(32)
        control = cocotb.start_soon(tb.put("ctl", raw))
        await tb.settle(40)
        assert dut.ctl_shown_o.value == 1 and not tb.sent
        if before:
            await choose(before)
        await tb.settle(1)
        dut.ctl_hold_i.value = 0
        await tb.settle(1)
        await choose(after)
        if before:
            await tb.settle(40)
            assert not tb.sent and dut.m_axis_tvalid.value == 0, "DATA of before has not left"
        data = [b"D%d" % n + random.randbytes(random.choice([78, 254])) for n in range(5)]
        for frame in data[: before + after]:
            await tb.put("data", frame)
        await control
        await tb.settle(60)
        assert tb.sent == [*data[:before], whole, *data[before : before + after]]


@cocotb.test()
async def a_reset_in_mid_packet_leaves_nothing_behind(dut):
    tb = TB(dut)
    await tb.reset()
    tb.range_ready = lambda: False
    await tb.put("s", the_report(1, fields(), ranges=[(7, 8)] * 30))
    await tb.settle(30)
    dut.rst_i.value = 1
    await tb.settle(4)
    dut.rst_i.value = 0
    tb.range_ready = lambda: True
    await tb.settle(5)
    await tb.put("s", the_report(1, fields(), ranges=[(1, 2)]))
    await tb.settle(150)
    assert [r[:2] for r in tb.ranges] == [(1, 2)]


SOURCES = [
    "report_rx",
    "crc_insert",
    "tx_mux",
    "frame_rx",
    "rx_filter",
    "eth_ip_check",
    "ip_sums",
    "ip_sums_wide",
    "form_stream",
    "frame_store",
    "crc_check",
    "crc_step64",
    str(Path(__file__).with_name("control_tb.sv")),
]


@pytest.mark.parametrize("width", [pytest.param(512), pytest.param(64, marks=pytest.mark.full)])
def test_control(width):
    run("control_tb", sources=SOURCES, test_module="test_control", parameters={"W": width})

"""pfc_rx: which frames pause a priority, for how long, and how storms end."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject
from cocotb.triggers import FallingEdge

CYCLE_NS = 3
STORM_LOG2 = 14
# From a frame's last beat to stop_o, and from the end of a pause.
SETTLE = 4


def pfc_frame(
    times: list[int], enables: int, *, to: str = "0180c2000001", kind: str = "88080101", size=60
) -> bytes:
    """A frame without its FCS, IEEE 802.1Q-2018, 36.1.5 and annex on its format."""
    body = bytes.fromhex(to) + bytes.fromhex("0253570000aa") + bytes.fromhex(kind)
    body += enables.to_bytes(2, "big") + b"".join(t.to_bytes(2, "big") for t in times)
    return body.ljust(60, b"\0")[:60] + bytes(max(size - 60, 0)) if size >= 60 else body[:size]


class TB:
    """The module with a time of its own."""

    def __init__(self, dut: HierarchyObject) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.beat = len(dut.s_axis_tkeep)
        self.now = self.rng.getrandbits(40)
        self.quantum_ns = 512 / int(dut.LineGbps.value)
        self.pauses = self.storms = 0
        cocotb.start_soon(Clock(dut.clk_i, CYCLE_NS, "ns").start())
        dut.s_axis_tvalid.value = 0

    async def cycle(self, step_ns: int = CYCLE_NS) -> None:
        self.now += step_ns
        self.dut.time_ns_i.value = self.now
        await FallingEdge(self.dut.clk_i)
        self.pauses += int(self.dut.ev_pause_o.value)
        self.storms += int(self.dut.ev_storm_o.value)

    async def cycles(self, count: int) -> None:
        for _ in range(count):
            await self.cycle()

    async def reset(self, priority: int) -> None:
        self.dut.class_i.value = priority
        self.dut.rst_i.value = 1
        await self.cycles(2)
        self.dut.rst_i.value = 0
        await self.cycles(2)

    async def send(self, frame: bytes, *, is_bad: bool = False) -> None:
        """A frame with gaps at random."""
        for at in range(0, len(frame), self.beat):
            while self.rng.random() < 0.3:
                self.dut.s_axis_tvalid.value = 0
                await self.cycle()
            part = frame[at : at + self.beat]
            is_last = at + self.beat >= len(frame)
            self.dut.s_axis_tdata.value = int.from_bytes(part, "little")
            self.dut.s_axis_tkeep.value = (1 << len(part)) - 1
            self.dut.s_axis_tlast.value = is_last
            self.dut.s_axis_tuser.value = is_last and is_bad
            self.dut.s_axis_tvalid.value = 1
            await self.cycle()
        self.dut.s_axis_tvalid.value = 0

    def stopped(self) -> bool:
        return bool(int(self.dut.stop_o.value))

    async def stop_ns(self, limit_ns: int) -> int:
        """For how long it still stops."""
        begin = self.now
        while self.stopped():
            assert self.now - begin <= limit_ns, "the pause does not end"
            await self.cycle()
        return self.now - begin


@cocotb.test()
async def a_pause_lasts_its_quanta_of_its_class_alone(dut):
    tb = TB(dut)
    for priority in range(8):
        await tb.reset(priority)
        times = [tb.rng.randint(0, 0xFFFF) for _ in range(8)]
        for quanta in (1, 2, 17, tb.rng.randint(20, 200)):
            times[priority] = quanta
            # Not enabled: every other class is.
            await tb.send(pfc_frame(times, 0xFF & ~(1 << priority)))
            await tb.cycles(SETTLE)
            assert not tb.stopped()
            before = tb.pauses
            await tb.send(
                pfc_frame(times, 1 << priority | tb.rng.getrandbits(8), size=60 + 8 * quanta % 64)
            )
            sent = tb.now
            await tb.cycles(2)
            await tb.stop_ns(10**6)
            wanted = quanta * tb.quantum_ns
            assert abs(tb.now - sent - wanted) <= 4 * CYCLE_NS + 0.001 * wanted, quanta
            assert tb.pauses == before + 1


@cocotb.test()
async def time_0_ends_a_pause_and_another_time_replaces_it(dut):
    tb = TB(dut)
    await tb.reset(3)
    await tb.send(pfc_frame([0xFFFF] * 8, 0xFF))
    await tb.cycles(SETTLE)
    assert tb.stopped()
    await tb.send(pfc_frame([40] * 8, 0xFF))
    left = await tb.stop_ns(10**6)
    assert left <= 40 * tb.quantum_ns + 3 * CYCLE_NS
    await tb.send(pfc_frame([0xFFFF] * 8, 0xFF))
    await tb.cycles(SETTLE)
    assert tb.stopped()
    await tb.send(pfc_frame([0] * 8, 0xFF))
    await tb.cycles(SETTLE)
    assert not tb.stopped()


@cocotb.test()
async def frames_that_are_no_pfc_change_nothing(dut):
    tb = TB(dut)
    await tb.reset(0)
    times = [100] * 8
    await tb.send(pfc_frame(times, 0xFF), is_bad=True)
    others = [
        pfc_frame(times, 0xFF, to="0180c2000002"),
        pfc_frame(times, 0xFF, to="0080c2000001"),
        pfc_frame(times, 0xFF, kind="88080001"),  # the plain PAUSE
        pfc_frame(times, 0xFF, kind="88090101"),
        pfc_frame(times, 0xFE00),
        *(pfc_frame(times, 0xFF, size=size) for size in (8, 16, 34, 56, 59)),
    ]
    for frame in others:
        await tb.send(frame)
        await tb.cycles(SETTLE)
        assert not tb.stopped() and tb.pauses == 0, frame.hex()
    await tb.send(pfc_frame(times, 0xFF))
    await tb.cycles(SETTLE)
    assert tb.stopped() and tb.pauses == 1


@cocotb.test()
async def a_storm_ends_is_counted_and_the_next_pause_is_obeyed(dut):
    tb = TB(dut)
    await tb.reset(5)
    shortest, longest = 1 << STORM_LOG2, 2 << STORM_LOG2
    begin = None
    ran_at = None
    refresh = pfc_frame([0xFFFF] * 8, 0xFF)
    while begin is None or tb.now - begin < 3 * longest:
        await tb.send(refresh)
        await tb.cycles(20)
        if begin is None:
            begin = tb.now
            assert tb.stopped()
        if not tb.stopped() and ran_at is None:
            ran_at = tb.now
        assert ran_at is None or not tb.stopped(), "it stops again within the storm"
    slack = 100 * CYCLE_NS
    assert shortest - slack <= ran_at - begin <= longest + slack
    assert tb.storms == 1
    # The storm is over when the pause is: then it is obeyed again.
    await tb.send(pfc_frame([0] * 8, 0xFF))
    await tb.cycles(SETTLE)
    await tb.send(pfc_frame([50] * 8, 0xFF))
    await tb.cycles(SETTLE)
    assert tb.stopped()
    assert tb.storms == 1


@pytest.mark.parametrize("w", [64, 512], ids=lambda w: f"W{w}")
def test_pfc_rx(w: int) -> None:
    from runner import run

    run(
        "pfc_rx",
        sources=["pfc_rx"],
        test_module="test_pfc_rx",
        parameters={"W": w, "StormLog2": STORM_LOG2},
    )

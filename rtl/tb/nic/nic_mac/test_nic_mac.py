"""nic_mac around nic_core: a NIC at a MAC of 10G or 1G, its loop-backs, and its generator."""

import random
from collections import Counter

import cocotb
import pytest
from axis import Bench, Sink, Source
from cocotb.clock import Clock
from nic_generated import CFG, CHECKER, FROM, GENERATOR, KIND, TO, only, packed, unpacked
from runner import run

# nic_pkg::config_t, from the highest bit down.
NIC = {
    "enable": 1, "loopback": 1, "servers": 3, "choice": 2, "filter": 4, "mac": 48,
    "ethertype": 16, "udp_port": 16, "address_high": 4, "base": 32, "buffer_bits": 3,
    "buffers": 15, "lock_cycles": 24,
}  # fmt: skip
BUFFERS, BUFFER_BYTES = 64, 2048
LENGTHS = (32, 64, 128, 256, 512, 1024, 1500)
NEAR, FAR = 1, 2
EVENTS = ("ev_rx_bad_o", "ev_rx_no_room_o", "ev_tx_cut_o")


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.mac, self.to_mac = Source(dut, "s_mac"), Sink(dut, "m_mac")
        self.bench = Bench(dut.clk_i, [self.mac, self.to_mac, self])
        self.width = self.mac.size
        self.counts = dict.fromkeys(EVENTS, 0)
        self.pushes, self.pushed = [], 0  # to the free queue
        self.cfg = {
            "enable": 0, "swap": 0, "bytes_min": 64, "bytes_max": 64, "bytes_step": 0,
            "gap_cycles": 125, "frames": 0, "to": TO, "from": FROM, "ether_type": KIND,
        }  # fmt: skip

    def drive(self):
        self.dut.op_valid_i.value = int(bool(self.pushes))
        if self.pushes:
            self.dut.op_i.value = 1 << 36 | self.pushes[0]

    def after(self, now: int):
        if self.pushes and self.dut.op_ready_o.value == 1:
            self.pushes.pop(0)
        if self.dut.result_valid_o.value == 1:
            assert self.dut.result_o.value == 0, "a free buffer was refused"
            self.pushed += 1
        for name in EVENTS:
            self.counts[name] += int(getattr(self.dut, name).value)

    def generate(self, **values):
        self.cfg.update(values)
        self.dut.cfg_i.value = packed(CFG, self.cfg)

    async def start(self, loopback=0, route=0):
        """A NIC in loop-back that keeps every frame, with all its buffers free."""
        dut = self.dut
        dut.rst_i.value = 1
        dut.route_i.value, dut.loopback_i.value = route, loopback
        dut.config_i.value = packed(NIC, dict.fromkeys(NIC, 0) | {
            "enable": 1, "loopback": 1, "servers": 1, "filter": 8, "buffer_bits": 4,
            "buffers": BUFFERS, "lock_cycles": 65536,
        })  # fmt: skip
        self.generate()
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
        await self.bench.run(8)
        dut.rst_i.value = 0
        await self.bench.run(30)
        self.pushes = [n * BUFFER_BYTES for n in range(BUFFERS)]
        await self.bench.until(lambda: self.pushed == BUFFERS)
        self.counts = dict.fromkeys(EVENTS, 0)

    async def trip(self, length):
        """Cycles from the first beat in to the last out."""
        frame = random.randbytes(length)
        self.mac.put(frame)
        begun = self.bench.now + 1
        await self.bench.until(lambda: bool(self.to_mac.frames))
        cycles = self.to_mac.done[0] - begun + 1
        # The NIC pads to 60 bytes.
        padded = frame if self.dut.loopback_i.value == FAR else frame.ljust(60, b"\0")
        assert self.to_mac.take() == [(padded, 0)]
        await self.bench.run(random.randrange(30, 50))
        return cycles

    async def generated(self, count, **values):
        """What the checker finds of so many generated frames, and what the generator counts."""
        self.generate(enable=1, frames=count, **values)
        await self.bench.run(4)
        await self.bench.until(
            lambda: unpacked(GENERATOR, self.dut.generator_o.value.to_unsigned())["frames"] == count
        )
        await self.bench.run(1000)
        found = unpacked(CHECKER, self.dut.checker_o.value.to_unsigned())
        sent = unpacked(GENERATOR, self.dut.generator_o.value.to_unsigned())
        self.generate(enable=0)
        await self.bench.run(400)
        return found, sent


@cocotb.test()
async def round_trips_at_the_mac(dut):
    tb = TB(dut)
    await tb.start()
    nic = {n: await tb.trip(n) for n in LENGTHS}
    dut.loopback_i.value = FAR
    await tb.bench.run(20)
    mac = {n: await tb.trip(n) for n in LENGTHS}
    for n in LENGTHS:
        beats = -(-n // 8)
        dut._log.info("TRIP %d bits, %d bytes: NIC loop-back %d, MAC loop-back %d, NIC alone %d",
                      8 * tb.width, n, nic[n], mac[n], nic[n] - mac[n])  # fmt: skip
        assert mac[n] <= 2 * -(-n // tb.width) + 16
        # Bounds that hold with a processor in between: three passes, or two of the wire and one of
        # 8 bytes.
        wire = -(-n // tb.width) + -(-max(n, 60) // tb.width)
        assert nic[n] <= wire + beats + (56 if tb.width == 8 else 60)
    assert not any(tb.counts.values())


@cocotb.test()
async def the_generator_measures_the_nic_and_finds_it_right(dut):
    tb = TB(dut)
    await tb.start(route=1)
    for length in LENGTHS:
        found, _ = await tb.generated(6, bytes_min=length, bytes_max=length, gap_cycles=500)
        assert only(found) and found["frames"] == 6
        dut._log.info("GENERATOR %d bytes: %d to %d, mean %.1f cycles", length,
                      found["trip_min"], found["trip_max"], found["trip_sum"] / 6)  # fmt: skip
        assert found["trip_max"] <= 2 * -(-max(length, 60) // 8) + 56
    # As fast as the NIC takes them, all lengths.
    found, sent = await tb.generated(120, bytes_min=32, bytes_max=1900, bytes_step=17, gap_cycles=0)
    assert only(found) and found["frames"] == 120
    rate = 8 * found["bytes"] / found["cycles"]
    dut._log.info("GENERATOR flood: %.2f bits a cycle of 64, back %.2f",
                  8 * sent["bytes"] / sent["cycles"], rate)  # fmt: skip
    assert 40 < rate <= 64
    assert tb.to_mac.frames == [] and tb.to_mac.empty()


@cocotb.test()
async def the_generator_measures_the_mac_side_without_the_nic(dut):
    tb = TB(dut)
    await tb.start(loopback=NEAR, route=2)
    found, _ = await tb.generated(60, bytes_min=32, bytes_max=300, bytes_step=13, gap_cycles=3)
    assert only(found) and found["frames"] == 60
    # The wire leads back to the MAC.
    dut.loopback_i.value = 0
    await tb.bench.run(10)
    done = 0
    tb.generate(enable=1, frames=30, bytes_min=33, bytes_max=300, bytes_step=13, gap_cycles=10)
    while done < 30:
        await tb.bench.until(lambda: bool(tb.to_mac.frames))
        for frame, user in tb.to_mac.take():
            tb.mac.put(frame, user)
            done += 1
    await tb.bench.until(tb.mac.empty)
    await tb.bench.run(400)
    found = unpacked(CHECKER, dut.checker_o.value.to_unsigned())
    assert only(found) and found["frames"] == 30


@cocotb.test()
async def loop_backs_switch_between_frames_without_loss(dut):
    tb = TB(dut)
    await tb.start()
    sent = Counter()
    rounds = 200 if cocotb.plusargs.get("full") else 20
    for _ in range(rounds):
        for _ in range(random.randrange(1, 5)):
            frame = random.randbytes(random.randrange(60, 400))
            sent[frame] += 1
            tb.mac.put(frame)
        await tb.bench.run(random.randrange(400) * 8 // tb.width)
        dut.loopback_i.value = random.choice([0, FAR])
        await tb.bench.until(tb.mac.empty)
    dut.loopback_i.value = 0
    await tb.bench.until(lambda: len(tb.to_mac.frames) == sent.total(), 500_000)
    await tb.bench.run(100)
    assert Counter(f for f, _ in tb.to_mac.frames) == sent and tb.to_mac.gaps == 0
    assert not any(tb.counts.values())


SOURCES = [
    "rtl/tb/nic/nic_mac/nic_mac_tb.sv", "nic_mac", "nic_generator", "nic_checker", "mac_bytes",
    "axis_width", "mac_fifo", "frame_cdc", "cut_through_cdc", "frame_gate", "event_cdc",
    "async_fifo", "reset_ctrl", "reset_side", "sync_bits", "nic_core", "nic_queues", "nic_receive",
    "nic_transmit", "nic_lock", "nic_memory",
]  # fmt: skip


@pytest.mark.parametrize(
    ("width", "full"),
    [(64, 0), (8, 0), *(pytest.param(w, 1, marks=pytest.mark.full) for w in (64, 8))],
)
def test_nic_mac(width, full):
    # The routes and the generator do not depend on the MAC's width.
    names = ["round_trips_at_the_mac", "loop_backs_switch_between_frames_without_loss"]
    run(
        "nic_mac_tb",
        sources=SOURCES,
        test_module="test_nic_mac",
        parameters={"MacW": width},
        testcase=names if width == 8 else None,
        plusargs=["+full"] if full else [],
    )

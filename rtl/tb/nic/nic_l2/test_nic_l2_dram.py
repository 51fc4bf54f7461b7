"""nic_l2 with nic_dram behind it: random traffic against a model, and cycles of frames."""

import random
from collections import Counter
from pathlib import Path

import cocotb
import pytest
from acb import Request
from runner import run
from test_nic_l2 import BASE, BITS, FRAME_DWORDS, LINE, SETS, TB, WAYS, check, in_few_sets


class Events:
    """Counts the cache's events."""

    def __init__(self, dut):
        self.dut, self.counts = dut, Counter()

    def drive(self):
        pass

    def after(self, now: int):
        for name in ("fetch", "take", "write_back", "write_failed"):
            self.counts[name] += int(getattr(self.dut, f"ev_{name}_o").value)


async def frame(tb: TB, *, port: int, at: int) -> int:
    """Its cycles; what is read is what was written."""
    cycles, done = await tb.frame(port=port, at=at)
    assert port == 0 or all(d[2:4] == (0, at + i) for i, d in enumerate(done))
    return cycles


@cocotb.test()
async def random_traffic_reads_what_was_written_last(dut):
    tb = TB(dut, Events(dut))
    await tb.start()
    for line in range(12):
        for at in range(0, 4 * LINE, 8):
            tb.masters.put(0, Request(False, BASE + line * LINE * SETS + at))
    dwords = check(await tb.finish(), {})
    for odds, ready in ((1.0, 1.0), (0.4, 0.5)):
        for port in range(tb.ports):
            tb.masters.odds[port], tb.masters.ready[port] = odds, ready
            for _ in range(300):
                mask = random.choice([0xFF, 0xFF, random.getrandbits(8)])
                lock = port >= 2 and random.random() < 0.1
                is_read, data = random.random() < 0.5, random.getrandbits(64)
                address = in_few_sets(port, tb.ports)
                tb.masters.put(port, Request(is_read, address, data, mask, lock))
        dwords = check(await tb.finish(), dwords)
    assert tb.memory.counts["write_back"] > 50 and tb.memory.counts["fetch"] > 50
    # Behind a flush all of it comes from DRAM.
    await tb.flush()
    for at in dwords:
        tb.masters.put(1, Request(True, at))
    check(await tb.finish(), dwords)
    assert not tb.memory.counts["write_failed"]


@cocotb.test()
async def frames_take_these_cycles(dut):
    tb = TB(dut, Events(dut))
    await tb.start()
    latency = dut.Latency.value.to_unsigned()
    first = await frame(tb, port=0, at=BASE)
    hit = await frame(tb, port=1, at=BASE)
    dirty = BASE + 0x80000
    for at in range(dirty, dirty + SETS * WAYS * LINE, 8):
        tb.masters.put(0, Request(False, at, at))
    await tb.finish()
    backs = tb.memory.counts["write_back"]
    over = await frame(tb, port=0, at=BASE)
    assert tb.memory.counts["write_back"] - backs == (FRAME_DWORDS + 8) // 8
    await tb.flush()
    cold = await frame(tb, port=1, at=BASE)
    print(f"\nlatency {latency}: first {first}, read {hit}, over dirty {over}, cold read {cold}")
    assert first <= FRAME_DWORDS + 3 and hit <= FRAME_DWORDS + 3
    # nic_dram takes 16 requests a latency.
    assert over <= FRAME_DWORDS + 3 or latency > 15


def case(latency, ports, full=True):
    return pytest.param(latency, ports, marks=[pytest.mark.full] if full else [])


@pytest.mark.parametrize(
    ("latency", "ports"),
    [case(10, 4, full=False), case(1, 3), case(10, 3), case(40, 3), case(1, 6), case(10, 6),
     case(40, 6)],
)  # fmt: skip
def test_nic_l2_dram(latency, ports):
    run(
        "nic_l2_tb",
        sources=[
            Path(__file__).parent / "nic_l2_tb.sv",
            *("nic_l2", "nic_l2_cache", "nic_lock", "nic_dram"),
        ],
        parameters={"Ports": ports, "Latency": latency, "AddressBits": BITS, "Page": 1},
        test_module="test_nic_l2_dram",
    )

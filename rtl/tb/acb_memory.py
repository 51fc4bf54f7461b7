"""A memory behind ACB ports against a model of it: what was written last is read."""

import random

import cocotb
from acb import Masters, Request
from axis import Bench
from cocotb.clock import Clock


class TB:
    """Masters of all ports of a memory of `size` bytes at `base`.

    `last` has what `finish` checked.
    """

    def __init__(self, dut, ports: int, base: int, size: int, latency: int):
        self.dut, self.ports, self.base, self.size = dut, ports, base, size
        self.latency = latency  # the least, in cycles
        self.masters = Masters(dut, ports)
        self.bench = Bench(dut.clk_i, [self.masters])
        self.dwords: dict[int, int] = {}
        self.expected = [[] for _ in range(ports)]
        self.last = [[] for _ in range(ports)]
        self.most_open = 0
        self.masters.on_taken = self.taken

    async def start(self):
        self.dut.rst_i.value = 1
        cocotb.start_soon(Clock(self.dut.clk_i, 10, "ns").start())
        await self.bench.run(3)
        self.dut.rst_i.value = 0

    def taken(self, port: int, request: Request, _now: int):
        """Memory changes in the order in which requests are taken."""
        self.most_open = max(self.most_open, sum(map(len, self.masters.open)))
        if not self.base <= request.address < self.base + self.size:
            self.expected[port].append((1, None))
            return
        at, known = request.address & ~7, self.dwords.get(request.address & ~7)
        if request.read:
            self.expected[port].append((0, known))
            return
        self.expected[port].append((0, None))
        mask = sum(0xFF << 8 * i for i in range(8) if request.mask >> i & 1)
        if known is not None or request.mask == 0xFF:
            self.dwords[at] = (known or 0) & ~mask | request.data & mask

    async def finish(self):
        """All responses, which are checked."""
        await self.bench.until(self.masters.idle)
        for port in range(self.ports):
            for (request, at, err, data, now), (bad, known) in zip(
                self.masters.done[port], self.expected[port], strict=True
            ):
                assert err == bad, request
                if known is not None:
                    assert data == known, request
                assert now - at >= self.latency
            self.last[port] = self.masters.done[port]
            self.expected[port].clear()
            self.masters.done[port] = []

    async def fill(self):
        """Each dword gets a value, through port 0."""
        for address in range(self.base, self.base + self.size, 8):
            self.masters.put(0, Request(False, address, random.getrandbits(64)))
        await self.finish()

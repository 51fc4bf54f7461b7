"""A processor at a NIC: registers by AFB, memory by ACB, each with its handshakes."""

import sys
from pathlib import Path

from acb import REQUEST_BITS, RESPONSE_BITS, Request

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "regs"))

from nic_regs import REGISTERS

AFB_BITS, REGISTER_BITS = 74, 33


class Processor:
    """Port `port` of `nic`: coroutines that run on a bench's cycles."""

    def __init__(self, dut, bench, port: int = 0):
        self.dut, self.bench, self.port = dut, bench, port
        self._afb = self._acb = None
        self._answers: list[int] = []
        self._memory: list[int] = []

    def drive(self):
        self._set("afb_valid_i", 1, int(self._afb is not None))
        self._set("acb_valid_i", 1, int(self._acb is not None))
        self._set("afb_ready_i", 1, 1)
        self._set("acb_ready_i", 1, 1)
        if self._afb is not None:
            self._set("afb_i", AFB_BITS, self._afb)
        if self._acb is not None:
            self._set("acb_i", REQUEST_BITS, self._acb)

    def after(self, now: int):
        if self._get("afb_valid_o", 1):
            self._answers.append(self._get("afb_o", REGISTER_BITS))
        if self._get("acb_valid_o", 1):
            self._memory.append(self._get("acb_o", RESPONSE_BITS))
        if self._afb is not None and self._get("afb_ready_o", 1):
            self._afb = None
        if self._acb is not None and self._get("acb_ready_o", 1):
            self._acb = None

    def _set(self, name: str, bits: int, value: int):
        # What is written in a step is seen in the next one: ports share the vectors.
        whole = self.bench.written.get(name, 0)
        mask = (1 << bits) - 1 << bits * self.port
        whole = whole & ~mask | value << bits * self.port
        self.bench.written[name] = whole
        getattr(self.dut, name).value = whole

    def _get(self, name: str, bits: int) -> int:
        whole = int(getattr(self.dut, name).value)
        return whole >> bits * self.port & (1 << bits) - 1

    async def _register(self, read: int, register: str | int, data: int) -> tuple[int, int]:
        offset = register if isinstance(register, int) else REGISTERS[register].offset
        self._afb = read << 72 | 0xF << 68 | offset << 32 | data
        while not self._answers:
            await self.bench.cycle()
        answer = self._answers.pop()
        return answer >> 32, answer & 0xFFFFFFFF

    async def read(self, register: str | int) -> int:
        err, data = await self._register(1, register, 0)
        assert not err, f"register {register} answers err"
        return data

    async def write(self, register: str | int, data: int) -> int:
        """What a queue register answers is the push's result."""
        err, answer = await self._register(0, register, data)
        assert not err, f"register {register} answers err"
        return answer

    async def access(self, request: Request) -> tuple[int, int]:
        self._acb = request.packed()
        while not self._memory:
            await self.bench.cycle()
        answer = self._memory.pop()
        return answer >> 64, answer & (1 << 64) - 1

    async def load(self, address: int) -> int:
        err, data = await self.access(Request(True, address))
        assert not err
        return data

    async def store(self, address: int, data: int, mask: int = 0xFF):
        err, _ = await self.access(Request(False, address, data, mask))
        assert not err

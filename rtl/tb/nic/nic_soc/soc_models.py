"""What is around nic_soc in its test: the registers of NIC and sender, and packet memory.

Each answers in order, with a latency and pauses, and checks that a request that waits stands.
"""

import random
from collections import deque

AFB_BITS, REGISTER_BITS = 74, 33
ACB_BITS, ACB_RESPONSE_BITS = 110, 65
EMPTY = 1


class Slave:
    """A bus of requests and responses at each core: AFB, or ACB. Subclasses have `answer`."""

    def __init__(self, dut, name: str, bits: tuple[int, int], latency: int):
        self.dut, self.name, self.bits = dut, name, bits
        self.latency, self.odds = latency, 1.0
        self.cores = dut.Cores.value.to_unsigned()
        self.reset()

    def reset(self):
        self.open = [deque() for _ in range(self.cores)]
        self.held = [None] * self.cores
        self.now = 0

    def drive(self):
        valid = packed = ready = 0
        for n in range(self.cores):
            # A response is due `latency` cycles behind its request, or later.
            if self.open[n] and self.now + 1 >= self.open[n][0][0] and random.random() < self.odds:
                _, request = self.open[n].popleft()
                valid |= 1 << n
                packed |= self.answer(n, request) << self.bits[1] * n
            else:
                packed |= random.getrandbits(self.bits[1]) << self.bits[1] * n
            ready |= (random.random() < self.odds) << n
        getattr(self.dut, f"{self.name}_valid_i").value = valid
        getattr(self.dut, f"{self.name}_i").value = packed
        self.ready = ready
        getattr(self.dut, f"{self.name}_ready_i").value = ready

    def after(self, now: int):
        self.now = now
        valid = getattr(self.dut, f"{self.name}_valid_o").value.to_unsigned()
        whole = getattr(self.dut, f"{self.name}_o").value.to_unsigned() if valid else 0
        for n in range(self.cores):
            if not valid >> n & 1:
                assert self.held[n] is None, "a request vanished before it was taken"
                continue
            request = whole >> self.bits[0] * n & (1 << self.bits[0]) - 1
            assert self.held[n] in (None, request), "a request changed before it was taken"
            self.held[n] = request
            if self.ready >> n & 1:
                self.held[n] = None
                self.open[n].append((now + self.latency, request))
                assert len(self.open[n]) <= 3, "more requests than may be open"

    def is_idle(self, core: int) -> bool:
        return not self.open[core]


class Registers(Slave):
    """The NIC's registers. Offsets in `queues` pop and push; `on_push(core, offset)` hears."""

    def __init__(self, dut, latency: int = 3):
        self.words: dict[int, int] = {}
        self.queues: dict[int, deque[int]] = {}
        self.log: list[tuple[int, bool, int, int]] = []  # core, is a read, offset, data
        self.on_push = lambda core, offset: None
        super().__init__(dut, "afb", (AFB_BITS, REGISTER_BITS), latency)

    def answer(self, core: int, request: int) -> int:
        read, mask = request >> 72 & 1, request >> 68 & 0xF
        offset, data = request >> 32 & (1 << 36) - 1, request & 0xFFFFFFFF
        assert request >> 73 == 0, "a lock"
        if offset >= 0x400 or mask != 0xF:
            return 1 << 32
        result = 0
        if offset in self.queues:
            queue = self.queues[offset]
            if read:
                result = queue.popleft() if queue else EMPTY
            else:
                queue.append(data)
                self.on_push(core, offset)
        elif read:
            result = self.words.setdefault(offset, random.getrandbits(32))
        else:
            self.words[offset] = data
        self.log.append((core, bool(read), offset, result if read else data))
        return result


class PacketMemory(Slave):
    """Packet memory of `size` bytes, which all cores share."""

    def __init__(self, dut, latency: int = 2, size: int = 1 << 17):
        self.bytes: dict[int, int] = {}
        self.size = size
        super().__init__(dut, "acb", (ACB_BITS, ACB_RESPONSE_BITS), latency)

    def answer(self, core: int, request: int) -> int:
        read, mask = request >> 108 & 1, request >> 100 & 0xFF
        address, data = request >> 64 & (1 << 36) - 1, request & (1 << 64) - 1
        assert request >> 109 == 0, "a lock"
        assert address % 8 == 0
        if address >= self.size:
            return 1 << 64 | random.getrandbits(64)
        result = 0
        for n in range(8):
            if read:
                result |= self.at(address + n) << 8 * n
            elif mask >> n & 1:
                self.bytes[address + n] = data >> 8 * n & 0xFF
        return result

    def at(self, address: int, count: int = 1) -> int:
        """Bytes as a number, the first in the low bits; what was never written is random."""
        return sum(
            self.bytes.setdefault(address + n, random.getrandbits(8)) << 8 * n for n in range(count)
        )


class Sender:
    """An AXI4-Lite slave at m_axil, with pauses on each channel. Words in `bad` answer SLVERR."""

    def __init__(self, dut):
        self.dut, self.odds = dut, 1.0
        self.words: dict[int, int] = {}
        self.bad: set[int] = set()
        self.reset()

    def reset(self):
        self.address = self.data = self.read = None
        self.held: dict[str, int] = {}

    def drive(self):
        dut = self.dut
        self.ready = {name: random.random() < self.odds for name in ("aw", "w", "ar")}
        dut.m_axil_awready.value = int(self.ready["aw"])
        dut.m_axil_wready.value = int(self.ready["w"])
        dut.m_axil_arready.value = int(self.ready["ar"])
        answers = None not in (self.address, self.data) and random.random() < self.odds
        dut.m_axil_bvalid.value = int(answers)
        if answers:
            data, strobe = self.data
            bits = sum(0xFF << 8 * n for n in range(4) if strobe >> n & 1)
            dut.m_axil_bresp.value = 2 if self.address in self.bad else 0
            if self.address not in self.bad:
                before = self.words.get(self.address, 0)
                self.words[self.address] = before & ~bits | data & bits
            self.address = self.data = None
        reads = self.read is not None and random.random() < self.odds
        dut.m_axil_rvalid.value = int(reads)
        dut.m_axil_rdata.value = random.getrandbits(32)
        if reads:
            dut.m_axil_rresp.value = 2 if self.read in self.bad else 0
            dut.m_axil_rdata.value = self.words.get(self.read, 0)
            self.read = None

    def after(self, now: int):
        dut = self.dut
        if self._taken("aw", dut.m_axil_awvalid, dut.m_axil_awaddr.value.to_unsigned()):
            assert self.address is None
            self.address = dut.m_axil_awaddr.value.to_unsigned()
        data = dut.m_axil_wdata.value.to_unsigned(), dut.m_axil_wstrb.value.to_unsigned()
        if self._taken("w", dut.m_axil_wvalid, data):
            assert self.data is None
            self.data = data
        if self._taken("ar", dut.m_axil_arvalid, dut.m_axil_araddr.value.to_unsigned()):
            assert self.read is None
            self.read = dut.m_axil_araddr.value.to_unsigned()

    def _taken(self, name: str, valid, what) -> bool:
        if valid.value != 1:
            assert name not in self.held, "a request vanished before it was taken"
            return False
        assert self.held.get(name, what) == what, "a request changed before it was taken"
        self.held[name] = what
        if self.ready[name]:
            del self.held[name]
        return self.ready[name]

    def is_idle(self) -> bool:
        return self.address is None and self.data is None and self.read is None

"""ACB in testbenches: masters for a slave of several ports, and a memory for one master.

Requests and responses are packed structs (rtl/nic/nic_pkg.sv), a port above the other.
"""

import random
from collections import deque
from dataclasses import dataclass

REQUEST_BITS, RESPONSE_BITS = 110, 65


@dataclass(frozen=True)
class Request:
    read: bool
    address: int
    data: int = 0
    mask: int = 0xFF
    lock: bool = False

    def packed(self) -> int:
        head = self.lock << 109 | self.read << 108 | self.mask << 100
        return head | self.address << 64 | self.data


def unpacked(value: int) -> Request:
    return Request(
        lock=bool(value >> 109 & 1),
        read=bool(value >> 108 & 1),
        mask=value >> 100 & 0xFF,
        address=value >> 64 & (1 << 36) - 1,
        data=value & (1 << 64) - 1,
    )


def _unsigned(signal) -> int:
    """Of a slave of one port they are single bits."""
    value = signal.value
    return value.to_unsigned() if len(signal) > 1 else int(value)


class Masters:
    """Masters of all ports: `put` requests, `done` has (request, cycle taken, err, data, cycle)."""

    def __init__(self, dut, ports: int, *, odds: float = 1.0, ready: float = 1.0):
        self.dut, self.ports, self.odds, self.ready = dut, ports, [odds] * ports, [ready] * ports
        self.queue = [deque() for _ in range(ports)]
        self.open = [deque() for _ in range(ports)]
        self.done = [[] for _ in range(ports)]
        self.on_taken = lambda port, request, now: None
        self._shown = [False] * ports
        self._is_ready = [False] * ports
        self._first = [0] * ports

    def put(self, port: int, request: Request):
        self.queue[port].append(request)

    def drive(self):
        valid = ready = packed = 0
        for p in range(self.ports):
            if not self._shown[p] and self.queue[p] and random.random() < self.odds[p]:
                self._shown[p] = True
            if self._shown[p]:
                valid |= 1 << p
                packed |= self.queue[p][0].packed() << REQUEST_BITS * p
            self._is_ready[p] = random.random() < self.ready[p]
            ready |= self._is_ready[p] << p
        self.dut.request_valid_i.value = valid
        self.dut.request_i.value = packed
        self.dut.response_ready_i.value = ready

    def after(self, now: int):
        taken = _unsigned(self.dut.request_ready_o)
        valid = _unsigned(self.dut.response_valid_o)
        response = self.dut.response_o.value.to_unsigned() if valid else 0
        for p in range(self.ports):
            if valid >> p & 1 and self._is_ready[p]:
                request, at = self.open[p].popleft()
                packed = response >> RESPONSE_BITS * p & (1 << RESPONSE_BITS) - 1
                self.done[p].append((request, at, packed >> 64, packed & (1 << 64) - 1, now))
            if self._shown[p] and taken >> p & 1:
                request = self.queue[p].popleft()
                self.open[p].append((request, now))
                self._shown[p] = False
                self.on_taken(p, request, now)

    def idle(self) -> bool:
        return not any(self.queue) and not any(self.open)


class Memory:
    """A slave with `latency` cycles from a request to its response, in order.

    `odds` is the chance of ready; `fails(request)` makes a response err. It checks that no more
    than `in_flight` requests are open, and that a request that waits does not change. A dword that
    was never written keeps the random value that its first read gives.
    """

    def __init__(
        self, dut, prefix: str = "", *, latency: int = 2, odds: float = 1.0, in_flight: int = 16
    ):
        self.request_valid = getattr(dut, f"{prefix}request_valid_o")
        self.request_ready = getattr(dut, f"{prefix}request_ready_i")
        self.request = getattr(dut, f"{prefix}request_o")
        self.response_valid = getattr(dut, f"{prefix}response_valid_i")
        self.response = getattr(dut, f"{prefix}response_i")
        self.latency, self.odds, self.in_flight = latency, odds, in_flight
        self.dwords: dict[int, int] = {}
        self.fails = lambda request: False
        self.log: list[tuple[int, Request]] = []
        self.on_taken = lambda request, now: None
        self._open: deque[tuple[int, Request, int]] = deque()
        self._held = None
        self._now = 0
        self._is_ready = False

    def drive(self):
        self._is_ready = random.random() < self.odds
        self.request_ready.value = int(self._is_ready)
        is_due = bool(self._open) and self._now + 1 >= self._open[0][0]
        self.response_valid.value = int(is_due)
        self.response.value = random.getrandbits(RESPONSE_BITS)
        if is_due:
            _, request, data = self._open.popleft()
            self.response.value = int(self.fails(request)) << 64 | data

    def after(self, now: int):
        self._now = now
        if self.request_valid.value != 1:
            assert self._held is None, "a request vanished before it was taken"
            return
        packed = self.request.value.to_unsigned()
        assert self._held in (None, packed), "a request changed before it was taken"
        if not self._is_ready:
            self._held = packed
            return
        self._held = None
        request = unpacked(packed)
        assert request.address % 8 == 0 and not request.lock
        self.log.append((now, request))
        self.on_taken(request, now)
        data = self.dwords.setdefault(request.address, random.getrandbits(64))
        if not request.read and not self.fails(request):
            bits = sum(0xFF << 8 * i for i in range(8) if request.mask >> i & 1)
            self.dwords[request.address] = data & ~bits | request.data & bits
        self._open.append((now + self.latency, request, data))
        assert len(self._open) <= self.in_flight, "more requests than may be under way"

    def reset(self):
        self._open.clear()
        self._held = None

    def bytes_at(self, address: int, count: int) -> bytes:
        start, out = address & ~7, b""
        while len(out) < count + 8:
            out += self.dwords.get(start + len(out), 0).to_bytes(8, "little")
        return out[address - start : address - start + count]

    def store(self, address: int, data: bytes):
        for at in range(0, len(data), 8):
            part = data[at : at + 8]
            part += random.randbytes(8 - len(part))
            self.dwords[address + at] = int.from_bytes(part, "little")

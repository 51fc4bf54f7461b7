"""What stands around a responder of RoCEv2: received frames, memory, receive requests."""

import random
from collections import deque

from roce_types import RECEIVE, RECEIVED, pack, unpack

# The clock's cycle in ns and the line's bytes a ns, by a beat's bytes; what surrounds a frame.
CYCLE_NS = {8: 6.4, 64: 1000 / 322.265625}
LINE = {8: 1.25, 64: 12.5}
WIRE_BYTES = 24


class Receive:
    """Frames to the module; `odds` is the chance of a beat, or they come at the line's rate."""

    def __init__(self, dut):
        self.dut, self._at, self.odds, self.is_paced, self._debt = dut, 0, 1.0, False, 0.0
        self.beat = len(dut.data_i) // 8
        self.line = CYCLE_NS[self.beat] * LINE[self.beat]
        self.queue: deque[bytes] = deque()
        self.done: list[int] = []  # cycles of the last beats
        self.now = 0

    def drive(self):
        self.now += 1
        dut, is_due = self.dut, bool(self.queue)
        self._debt = max(self._debt - self.line, 0.0) if self.is_paced else 0.0
        # The line's time behind a frame; within one the beats come without a gap.
        if self._at == 0 and self._debt > 0:
            is_due = False
        is_due = is_due and random.random() < self.odds
        dut.valid_i.value = int(is_due)
        if is_due:
            frame = self.queue[0]
            part = frame[self._at : self._at + self.beat]
            if self._at == 0 and self.is_paced:
                self._debt += len(frame) + WIRE_BYTES
            self._at += self.beat
            dut.last_i.value = int(self._at >= len(frame))
            dut.count_i.value = len(part)
            dut.data_i.value = int.from_bytes(part.ljust(self.beat, b"\xa5"), "little")
            if self._at >= len(frame):
                self.queue.popleft()
                self._at = 0
                self.done.append(self.now)

    def after(self, now: int):
        pass


class Memory:
    """Takes writes; holds the rules of the port against them."""

    def __init__(self, dut):
        self.dut, self.odds, self.size = dut, 1.0, len(dut.wr_keep_o)
        self.bytes: dict[int, int] = {}
        self.first: list[int] = []  # cycles in which a packet's first beat stood there
        self._held = self._next = None
        self._is_ready = False

    def drive(self):
        self._is_ready = random.random() < self.odds
        self.dut.wr_ready_i.value = int(self._is_ready)

    def after(self, now: int):
        dut = self.dut
        if dut.wr_valid_o.value != 1:
            assert self._held is None, "a write vanished before it was taken"
            return
        address, last = dut.wr_addr_o.value.to_unsigned(), int(dut.wr_last_o.value)
        keep = dut.wr_keep_o.value.to_unsigned()
        count = keep.bit_count()
        assert keep == (1 << count) - 1 and count, "the byte enables have a hole"
        assert last or count == self.size, "a beat is not whole"
        data = dut.wr_data_o.value.to_unsigned() & (1 << 8 * count) - 1
        beat = (address, last, keep, data)
        assert self._held in (None, beat), "a write changed before it was taken"
        if self._held is None and self._next is None:
            self.first.append(now)
        self._held = None if self._is_ready else beat
        if self._is_ready:
            assert self._next in (None, address), "an address is left out"
            self._next = None if last else address + count
            for at, byte in enumerate(data.to_bytes(count, "little")):
                self.bytes[address + at] = byte

    def cut(self):
        """A connection ended: the packet under way may have no end."""
        self._next = None


class Receives:
    """Offers receive requests, takes completions at the ports `name`."""

    def __init__(self, dut, name: str):
        self.dut, self.odds, self.queue = dut, 1.0, deque()
        self.valid, self.ready = getattr(dut, f"{name}_valid_o"), getattr(dut, f"{name}_ready_i")
        self.done = getattr(dut, f"{name}_o")
        self.completions: list[tuple] = []
        self._is_ready, self._held = False, None

    def drive(self):
        self.dut.receive_valid_i.value = int(bool(self.queue))
        if self.queue:
            name, address, size = self.queue[0]
            self.dut.receive_i.value = pack(RECEIVE, id=name, address=address, len_bytes=size)
        self._is_ready = random.random() < self.odds
        self.ready.value = int(self._is_ready)

    def after(self, now: int):
        if self.queue and self.dut.receive_ready_o.value == 1:
            self.queue.popleft()
        if self.valid.value == 1:
            value = self.done.value.to_unsigned()
            assert self._held in (None, value), "a completion changed before it was taken"
            self._held = None if self._is_ready else value
            if self._is_ready:
                name, status, has_immediate, immediate, size = unpack(RECEIVED, value)
                self.completions.append((name, status, immediate if has_immediate else None, size))
        else:
            self._held = None

"""AXI-Stream sources and sinks that move together, a cycle at a time.

A sink holds the rules of rtl/README.md against what it sees: a beat that waits does not change or
vanish, tkeep is contiguous and full except on tlast.
"""

import random
from collections import deque

from cocotb.triggers import FallingEdge, RisingEdge, Timer


class Source:
    """Sends frames; `odds` is the chance that a beat is offered in a cycle."""

    def __init__(self, dut, prefix: str, *, odds: float = 1.0):
        def signal(name):
            return getattr(dut, f"{prefix}_{name}", None)

        self.data, self.keep, self.valid = signal("tdata"), signal("tkeep"), signal("tvalid")
        self.ready, self.last, self.user = signal("tready"), signal("tlast"), signal("tuser")
        self.size = len(self.keep)
        self.odds = odds
        self.queue: deque[tuple[bytes, int]] = deque()
        self.taken: list[int] = []  # cycles in which a frame's last beat went
        self.on_beat = None  # called with (frame's number, byte offset) as a beat is first offered
        self._at = 0
        self._is_shown = False

    def put(self, frame: bytes, user: int = 0):
        self.queue.append((frame, user))

    def drive(self):
        if not self._is_shown:
            self._is_shown = bool(self.queue) and random.random() < self.odds
            if self._is_shown and self.on_beat:
                self.on_beat(len(self.taken), self._at)
        self.valid.value = int(self._is_shown)
        if self._is_shown:
            frame, user = self.queue[0]
            part = frame[self._at : self._at + self.size]
            is_last = self._at + self.size >= len(frame)
            # What lies outside tkeep is anything.
            junk = random.randbytes(self.size - len(part))
            if not hasattr(self, "_beat"):
                self._beat = int.from_bytes(part + junk, "little")
            self.data.value = self._beat
            self.keep.value = (1 << len(part)) - 1
            self.last.value = int(is_last)
            if self.user is not None:
                self.user.value = user if is_last else 0

    def after(self, now: int):
        if self._is_shown and (self.ready is None or self.ready.value == 1):
            del self._beat
            self._is_shown = False
            self._at += self.size
            if self._at >= len(self.queue[0][0]):
                self.queue.popleft()
                self._at = 0
                self.taken.append(now)

    def reset(self):
        self.queue.clear()
        self._at, self._is_shown = 0, False
        self.__dict__.pop("_beat", None)

    def empty(self) -> bool:
        return not self.queue


class Sink:
    """Collects frames as (bytes, tuser of the last beat); `odds` is the chance of tready."""

    def __init__(self, dut, prefix: str, *, odds: float = 1.0):
        def signal(name):
            return getattr(dut, f"{prefix}_{name}", None)

        self.data, self.keep, self.valid = signal("tdata"), signal("tkeep"), signal("tvalid")
        self.ready, self.last, self.user = signal("tready"), signal("tlast"), signal("tuser")
        self.size = len(self.keep)
        self.odds = odds
        self.frames: list[tuple[bytes, int]] = []
        self.first: list[int] = []  # cycles in which a frame's first beat stood there
        self.done: list[int] = []  # cycles in which its last was taken
        self.gaps = 0  # cycles without tvalid inside a frame
        self._part = b""
        self._held = None
        self._is_ready = False

    def drive(self):
        self._is_ready = random.random() < self.odds
        if self.ready is not None:
            self.ready.value = int(self._is_ready)

    def after(self, now: int):
        if self.valid.value != 1:
            assert self._held is None, "a beat vanished before it was taken"
            self.gaps += bool(self._part)
            return
        signals = (self.data, self.keep, self.last, *([self.user] if self.user is not None else []))
        beat = tuple(s.value.to_unsigned() if len(s) > 1 else int(s.value) for s in signals)
        data, keep, last, user = (*beat, 0)[:4]
        assert self._held in (None, beat), "a beat changed before it was taken"
        if not self._part and len(self.first) == len(self.frames):
            self.first.append(now)
        if self.ready is not None and not self._is_ready:
            self._held = beat
            return
        self._held = None
        count = keep.bit_count()
        assert keep == (1 << count) - 1 and count, "tkeep has a hole"
        assert last or count == self.size, "tkeep is not full before tlast"
        self._part += data.to_bytes(self.size, "little")[:count]
        if last:
            self.frames.append((self._part, user))
            self.done.append(now)
            self._part = b""

    def empty(self) -> bool:
        return not self._part

    def take(self) -> list[tuple[bytes, int]]:
        """The frames that came since."""
        frames, self.frames, self.first, self.done = self.frames, [], [], []
        return frames


class Bench:
    """Runs sources, sinks and other parts (`drive()`, `after(now)`) on one clock."""

    def __init__(self, clock, parts):
        self.clock, self.parts, self.now = clock, parts, 0

    async def cycle(self):
        if self.now == 0:
            # Until then outputs have arbitrary values, in a reset too; so have those of other
            # clocks as fast as this one, which may have their first edge later.
            for _ in range(2):
                await RisingEdge(self.clock)
        await FallingEdge(self.clock)
        self.now += 1
        for part in self.parts:
            part.drive()
        await Timer(1, "ns")
        for part in self.parts:
            part.after(self.now)

    async def run(self, cycles: int):
        for _ in range(cycles):
            await self.cycle()

    async def until(self, done, limit: int = 100_000):
        end = self.now + limit
        while not done():
            await self.cycle()
            assert self.now < end, "it does not come to an end"

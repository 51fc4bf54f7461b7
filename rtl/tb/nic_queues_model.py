"""The queues of the NIC by their definition, one operation after the other."""

from collections import deque
from dataclasses import dataclass, field

FREE, RECEIVE, TRANSMIT, LOCK = range(4)
DONE, EMPTY, FULL, LOCKED, BAD, FAILED = range(6)
BUSY, GRANTED = 0, 1
RECEIVER, TRANSMITTER, PORTS, TEST = range(4)  # requesters


@dataclass(frozen=True)
class Op:
    """One operation of nic_pkg::op_t."""

    push: int
    kind: int
    server: int = 0
    pointer: int = 0

    def packed(self) -> int:
        """As the struct has it."""
        return self.push << 36 | self.kind << 34 | self.server << 32 | self.pointer


def pop(kind: int, server: int = 0) -> Op:
    """A pop."""
    return Op(0, kind, server)


def push(kind: int, pointer: int, server: int = 0) -> Op:
    """A push."""
    return Op(1, kind, server, pointer)


@dataclass
class Queues:
    """Queues, owners and the lock; time is the cycle in which an operation is done."""

    base: int
    size: int  # bytes of a buffer
    count: int
    lock_cycles: int
    depth: int = 64
    servers: int = 4
    owned: set[int] = field(default_factory=set)
    holder: int | None = None
    lock_end: int = 0  # the last cycle of the lock
    # Requesters whose operation waits, and has waited because of the lock.
    owed: set[int] = field(default_factory=set)

    def __post_init__(self):
        kinds = [(FREE, 0), *((k, s) for k in (RECEIVE, TRANSMIT) for s in range(self.servers))]
        self.queues = {key: deque() for key in kinds}

    def buffers(self) -> list[int]:
        """All of them, by their first address."""
        return [self.base + n * self.size for n in range(self.count)]

    def held(self, now: int) -> bool:
        """Whether a port holds the lock in this cycle."""
        return self.holder is not None and now <= self.lock_end

    def tick(self, now: int) -> bool:
        """Ends a cycle, behind its operation; whether the lock ends with it."""
        is_over = self.holder is not None and now >= self.lock_end
        if is_over:
            self.holder = None
        return is_over

    def do(self, requester: int, port: int, op: Op, now: int) -> int:
        """What an operation gives that is done in cycle `now`."""
        if op.kind == LOCK:
            return self._lock(port, op, now)
        if requester == PORTS and op.kind == FREE and self.holder not in (None, port):
            return LOCKED
        queue = self.queues[op.kind, op.server]
        if not op.push:
            if not queue:
                return EMPTY
            pointer = queue.popleft()
            if requester == PORTS:
                self.owned.discard(pointer)
            return pointer
        if requester == PORTS and (op.pointer in self.owned or op.pointer not in self.buffers()):
            return BAD
        if len(queue) == self.depth:
            return FULL
        queue.append(op.pointer)
        if requester == PORTS:
            self.owned.add(op.pointer)
        return DONE

    def _lock(self, port: int, op: Op, now: int) -> int:
        if op.push:
            if op.pointer & 1 and self.holder == port:
                self.holder = None
            return DONE
        if self.holder == port:
            return GRANTED if now < self.lock_end else BUSY
        if self.holder is not None or self.owed:
            return BUSY
        self.holder, self.lock_end = port, now + 1 + self.lock_cycles
        return GRANTED

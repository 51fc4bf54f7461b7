"""The NIC's queues as one engine sees them, for the tests of the engines alone."""

import random
from collections import deque

FREE, RECEIVE, TRANSMIT = range(3)
DONE, EMPTY, FULL = range(3)
SERVERS, DEPTH = 4, 64


class EngineQueues:
    """One requester's queues: `queues[kind, server]`; `locked` holds back the free queue's.

    `latency` is that from a grant to its result, `odds` the chance of a grant. `on_push` and
    `on_pop` are called with (kind, server, pointer) as it happens.
    """

    def __init__(self, dut, *, latency: int = 2, odds: float = 1.0):
        self.dut, self.latency, self.odds, self.locked = dut, latency, odds, False
        self.depth = DEPTH
        self.queues = {(FREE, 0): deque()}
        for server in range(SERVERS):
            self.queues[RECEIVE, server] = deque()
            self.queues[TRANSMIT, server] = deque()
        self.on_push = lambda kind, server, pointer: None
        self.on_pop = lambda kind, server, pointer: None
        self._results: deque[tuple[int, int]] = deque()
        self._now = 0
        self._is_ready = False

    def waits(self, kind: int) -> int:
        return sum(bool(self.queues[kind, s]) << s for s in range(SERVERS))

    def full(self, kind: int) -> int:
        return sum((len(self.queues[kind, s]) >= self.depth) << s for s in range(SERVERS))

    def drive(self):
        self._now += 1
        dut = self.dut
        is_due = bool(self._results) and self._results[0][0] <= self._now
        dut.result_valid_i.value = int(is_due)
        dut.result_i.value = self._results.popleft()[1] if is_due else random.getrandbits(32)
        if hasattr(dut, "free_waits_i"):
            dut.free_waits_i.value = int(bool(self.queues[FREE, 0]))
            dut.receive_full_i.value = self.full(RECEIVE)
            dut.transmit_full_i.value = self.full(TRANSMIT)
        else:
            dut.waiting_i.value = self.waits(TRANSMIT)
        self._is_ready = random.random() < self.odds
        # Ready depends on the operation, which may depend on what is driven: set in `after`.
        dut.op_ready_i.value = 0

    def after(self, now: int):
        dut = self.dut
        if dut.op_valid_o.value != 1 or not self._is_ready:
            return
        op = dut.op_o.value.to_unsigned()
        push, kind, server, pointer = op >> 36, op >> 34 & 3, op >> 32 & 3, op & 0xFFFFFFFF
        if self.locked and kind == FREE:
            return
        dut.op_ready_i.value = 1
        queue = self.queues[kind, server]
        if push:
            result = FULL if len(queue) >= self.depth else DONE
            if result == DONE:
                self.on_push(kind, server, pointer)
                queue.append(pointer)
        else:
            result = queue.popleft() if queue else EMPTY
            if result != EMPTY:
                self.on_pop(kind, server, result)
        self._results.append((self._now + self.latency, result))

    def reset(self):
        self._results.clear()
        for queue in self.queues.values():
            queue.clear()

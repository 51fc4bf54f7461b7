"""Request frames of a peer, right and wrong, and the rules of a responder as a model, after IB
9.7.4, 9.7.5 and 9.9.3: what becomes of each packet, what is in memory then, which answer is due."""

from collections import deque
from dataclasses import dataclass, field

from network import Peer
from roce_types import (
    PSNS,
    RECEIVE_FAILED,
    RECEIVE_FLUSHED,
    RECEIVE_SEND,
    RECEIVE_WRITE,
    framed,
    roce,
)

ORDER, UNSUPPORTED, LENGTH, TOO_LONG, KEY, RIGHTS, BOUNDS = range(7)
INVALID_REQUEST, REMOTE_ACCESS = 0x61, 0x62
ACK, RNR_NAK, SEQUENCE_ERROR = 0x1F, 0x20, 0x60
MESSAGE_BYTES_MAX = 1 << 31


@dataclass
class Request:
    """A packet; `address`, `key` and `total` are its RETH, where its opcode has one."""

    opcode: int
    psn: int
    payload: bytes = b""
    ack_request: bool = True
    address: int = 0
    key: int = 0
    total: int | None = None  # the payload's length by default
    immediate: int = 0
    tos: int = 2

    def frame(self, src: Peer, dst: Peer, qp: int, *, version: int = 0, **fields: int) -> bytes:
        """Its frame, with other fields of the BTH."""
        body = b""
        if self.opcode in roce.WITH_RETH:
            total = len(self.payload) if self.total is None else self.total
            body += self.address.to_bytes(8, "big") + self.key.to_bytes(4, "big")
            body += total.to_bytes(4, "big")
        if self.opcode in roce.WITH_IMMEDIATE:
            body += self.immediate.to_bytes(4, "big")
        pad = -len(self.payload) % 4
        header = {**roce.BTH, "destination": qp, "ack_request": self.ack_request,
                  "psn": self.psn, **fields}  # fmt: skip
        transport = roce.bth(self.opcode, header, pad, version) + body + self.payload + bytes(pad)
        return framed(transport, src, dst, tos=self.tos)


@dataclass
class Model:
    """A responder. `receives` holds (id, address, bytes) of the requests that wait."""

    psn: int
    mtu: int
    rnr_timer: int
    key: int
    address: int
    len_bytes: int
    may_write: bool = True
    receives: deque[tuple[int, int, int]] = field(default_factory=deque)
    memory: dict[int, int] = field(default_factory=dict)  # bytes by address
    completions: list[tuple] = field(default_factory=list)  # id, status, immediate or None, bytes
    msn: int = 0
    fault: int | None = None
    due: int | None = None  # the syndrome of the answer
    _has_nacked: bool = False
    _message: dict | None = None

    def answer(self) -> tuple[int, int, int] | None:
        """The answer that is due (PSN, syndrome, MSN); it is due no more."""
        syndrome, self.due = self.due, None
        if syndrome is None:
            return None
        return ((self.psn - (syndrome == ACK)) % PSNS, syndrome, self.msn)

    def take(self, it: Request) -> str:
        """What becomes of a packet: the name of its event."""
        distance = (it.psn - self.psn) % PSNS
        is_supported = it.opcode < roce.READ_REQUEST
        if self.fault is not None:
            return "after_fault"
        if distance >= PSNS // 2:
            if not is_supported:
                return "unexpected"
            self.due = ACK if self.due is None else self.due
            return "duplicate"
        if distance:
            if not self._has_nacked:
                self._has_nacked, self.due = True, SEQUENCE_ERROR
            return "gap"
        refusal = self._execute(it)
        if refusal is None:
            self.psn = (self.psn + 1) % PSNS
            self._has_nacked = False
            if it.ack_request or self.due is not None:
                self.due = ACK
            return "packet"
        if refusal == "not_ready":
            self._has_nacked, self.due = True, RNR_NAK | self.rnr_timer
            return "not_ready"
        self.fault = refusal
        self.due = INVALID_REQUEST if refusal < KEY else REMOTE_ACCESS
        self.flush()
        return "fault"

    def flush(self):
        """The connection has failed: no receive request is left."""
        is_used = self._message is not None and not self._message["write"]
        for name, _, _ in self.receives:
            status = RECEIVE_FAILED if is_used else RECEIVE_FLUSHED
            self.completions.append((name, status, None, 0))
            is_used, self._message = False, None
        self.receives.clear()

    def _execute(self, it: Request):
        """None, "not_ready", or the rule that is broken; in the order of IB 9.7.4.1."""
        if it.opcode >= roce.READ_REQUEST:
            return UNSUPPORTED
        is_write = it.opcode >= roce.WRITE_FIRST
        kind = it.opcode - (roce.WRITE_FIRST if is_write else 0)
        begins, ends, has_immediate = kind in (0, 4, 5), kind >= 2, kind in (3, 5)
        message = self._message
        if begins != (message is None) or (message and message["write"] != is_write):
            return ORDER
        if (has_immediate if is_write else begins) and not self.receives:
            return "not_ready"
        size = len(it.payload)
        if size > self.mtu or (not ends and size < self.mtu) or (not begins and size == 0):
            return LENGTH
        if message is None:
            total = size if it.total is None else it.total
            message = {"write": is_write, "at": it.address, "key": it.key, "came": 0,
                       "total": total}  # fmt: skip
            if not is_write:
                _, message["at"], message["total"] = self.receives[0]
        left = message["total"] - message["came"]
        if is_write:
            if message["total"] > MESSAGE_BYTES_MAX or size > left or ends != (size == left):
                return LENGTH
            if left:
                if message["key"] != self.key:
                    return KEY
                if not self.may_write:
                    return RIGHTS
                end = self.address + self.len_bytes
                if message["at"] < self.address or message["at"] + left > end:
                    return BOUNDS
        elif size > left:
            self._message = message
            return TOO_LONG
        elif message["came"] + size > MESSAGE_BYTES_MAX:
            return LENGTH
        for at, byte in enumerate(it.payload):
            self.memory[message["at"] + at] = byte
        message["at"] += size
        message["came"] += size
        self._message = None if ends else message
        if ends:
            self.msn = (self.msn + 1) % PSNS
            if not is_write or has_immediate:
                status = RECEIVE_WRITE if is_write else RECEIVE_SEND
                immediate = it.immediate if has_immediate else None
                name = self.receives.popleft()[0]
                self.completions.append((name, status, immediate, message["came"]))
        return None

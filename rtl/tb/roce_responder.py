"""A responder of one reliable connection in Python, after IB 9.7 and 9.9: what it gets in frames it
puts into memory and messages, and answers with frames. Independent of the crate's."""

from network import Peer
from roce_types import PSNS, framed, roce

IMM_BYTES, RETH_BYTES = 4, 16
SEQUENCE_ERROR, CREDIT = 0x60, 0x1F


class Responder:
    """Answers requests; `rnr` holds the timer codes of RNR NAKs, for the next ends of messages."""

    def __init__(self, us: Peer, peer: Peer, *, qp: int, peer_qp: int, psn: int, mtu: int):
        self.us, self.peer, self.qp, self.peer_qp, self.mtu = us, peer, qp, peer_qp, mtu
        self.expected, self.msn = psn, 0
        self.memory: dict[int, bytes] = {}  # payload of WRITE by address
        self.messages: list[tuple] = []  # (is write, bytes, immediate, solicited)
        self.rnr: list[int] = []
        self.is_gap_answered = False
        self.naks = self.duplicates = 0
        self._message: list | None = None  # of the one under way

    def handle(self, frame: bytes) -> bytes | None:
        """The answer to a frame, which must be well-formed: the ICRC by vectors/roce.py."""
        transport = frame[42:-4]
        assert frame == framed(transport, self.peer, self.us), "not the frame of this packet"
        opcode, flags, psn = transport[0], transport[1], int.from_bytes(transport[9:12], "big")
        assert transport[1] & 0x7F == 0x40 and transport[2:4] == b"\xff\xff"
        assert int.from_bytes(transport[4:8], "big") == self.qp
        requests_ack = bool(transport[8] & 0x80)
        assert transport[8] & 0x7F == 0
        behind = (psn - self.expected) % PSNS
        if behind >= PSNS // 2:
            self.duplicates += 1
            return self.answer(CREDIT, self.expected - 1) if requests_ack else None
        if behind:
            if self.is_gap_answered:
                return None
            self.is_gap_answered = True
            self.naks += 1
            return self.answer(SEQUENCE_ERROR, self.expected)
        if roce_last(opcode) and self.rnr:
            self.is_gap_answered = True
            return self.answer(0x20 | self.rnr.pop(0), psn)
        self.is_gap_answered = False
        self.expected = (psn + 1) % PSNS
        self._take(opcode, bool(flags & 0x80), transport[12:])
        return self.answer(CREDIT, psn) if requests_ack else None

    def _take(self, opcode: int, solicited: bool, body: bytes):
        is_write = opcode >= roce.WRITE_FIRST
        kind = opcode - (roce.WRITE_FIRST if is_write else 0)
        begins, ends = kind in (0, 4, 5), kind >= 2
        if begins:
            assert self._message is None, "FIRST or ONLY within a message"
            self._message = [is_write, b"", None, 0, 0]
            if is_write:
                self._message[2] = int.from_bytes(body[:8], "big")
                self._message[3:] = (int.from_bytes(body[at : at + 4], "big") for at in (8, 12))
                body = body[RETH_BYTES:]
        assert self._message is not None and self._message[0] == is_write
        immediate = None
        if opcode in roce.WITH_IMMEDIATE:
            immediate = int.from_bytes(body[:IMM_BYTES], "big")
            body = body[IMM_BYTES:]
        # IB 9.7.4.1.6: lengths of packets.
        assert len(body) == self.mtu if not ends else len(body) <= self.mtu
        self._message[1] += body
        assert ends or not solicited
        if ends:
            _, data, address, key, length = self._message
            assert not is_write or length == len(data)
            self.messages.append((is_write, data, address, key, immediate, solicited))
            self._message = None
            self.msn += 1

    def answer(self, syndrome: int, psn: int) -> bytes:
        header = {**roce.BTH, "destination": self.peer_qp, "psn": psn % PSNS}
        body = bytes([syndrome]) + (self.msn % PSNS).to_bytes(3, "big")
        return framed(roce.bth(roce.ACKNOWLEDGE, header, 0) + body, self.us, self.peer)


def roce_last(opcode: int) -> bool:
    """Whether a packet ends a message that needs a receive request."""
    return opcode in (2, 3, 4, 5, 9, 11)

"""The same frames to the responder of `samplewire roce listen` and to the guest's: their answers.

Each case is a connection of its own and some request frames, built by `vectors/roce.py`. What both
answer is compared: kind, PSN and MSN.
"""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from guest import GuestError
from network import PATIENCE_S, ROOT, network
from software import connect, line_of, read_line
from verbs import Verbs

sys.path.insert(0, str(ROOT / "vectors"))

import roce

MTU = 256
REGION_BYTES = 4096
MESSAGE_BYTES = 300
MY_QPN, MY_PSN = 0x11, 0xFFFFFE
"""Of what this program sends: the PSNs of most cases wrap."""

MY_MAC = "020000000077"
GAP_S = 0.05
"""Between two frames, so that each is answered on its own."""
SILENCE_S = 0.5


@dataclass(frozen=True, kw_only=True)
class Step:
    """A request frame; PSN and address count from those of the connection."""

    opcode: int
    psn: int
    size: int = 0
    total: int | None = None
    ack: bool = True
    offset: int = 0
    key: int = 0
    """Added to the region's."""
    qpn: int = 0
    """The same, to the number of the queue pair."""
    breaks: bool = False
    """A bit of the payload is turned: the ICRC is wrong."""


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    steps: tuple[Step, ...]
    receives: int = 4
    ours: tuple[tuple[str, int, int], ...] = ()
    """What ours answers where the guest differs, for a reason that docs/roce.md gives."""


def cases() -> list[Case]:
    first, last = first_at(0), last_at(1)
    return [
        Case(name="messages in order", steps=(send(0), write(1), first_at(2), last_at(3), send(4))),
        Case(name="gap", steps=(write(0), write(2), write(3), write(1), write(2))),
        Case(name="duplicates", steps=(send(0), send(1), send(0), write(2), write(2), send(1))),
        Case(name="wrong ICRC", steps=(replace(write(0), breaks=True), write(0), write(1))),
        Case(name="wrong key", steps=(write(0), write(1, key=1), write(2))),
        Case(name="out of bounds", steps=(write(0, offset=REGION_BYTES - 7),)),
        Case(name="message out of bounds", steps=(first_of(REGION_BYTES + 4),)),
        Case(name="MIDDLE without FIRST", steps=(Step(opcode=roce.WRITE_MIDDLE, psn=0, size=MTU),)),
        Case(name="LAST without FIRST", steps=(Step(opcode=roce.SEND_LAST, psn=0, size=8),)),
        Case(name="FIRST within a message", steps=(first, first_at(1))),
        Case(
            name="longer than the receive request",
            steps=(send(0, 256), *long_send(1)),
            ours=(("ACK", 0, 1), ("NAK 1", 2, 1)),
        ),
        Case(name="FIRST that is too short", steps=(replace(first, size=8),)),
        Case(name="WRITE that ends too early", steps=(first_of(MTU + 20), last)),
        Case(name="WRITE that is too long", steps=(first, replace(last, size=12))),
        Case(name="unknown queue pair", steps=(replace(write(0), qpn=5), write(0))),
        Case(
            name="READ",
            steps=(Step(opcode=roce.READ_REQUEST, psn=0, total=8),),
            ours=(("NAK 1", 0, 0),),
        ),
        Case(
            name="no receive request",
            steps=(write(0), send(1), send(2)),
            receives=0,
            ours=(("ACK", 0, 1), ("RNR NAK", 1, 1)),
        ),
        Case(name="empty messages", steps=(send(0, 0), write(1, 0, key=1), send(2, 0))),
    ]


def send(psn: int, size: int = 8) -> Step:
    return Step(opcode=roce.SEND_ONLY, psn=psn, size=size)


def write(psn: int, size: int = 8, offset: int = 0, key: int = 0) -> Step:
    return Step(opcode=roce.WRITE_ONLY, psn=psn, size=size, offset=offset, key=key)


def first_at(psn: int) -> Step:
    return Step(opcode=roce.WRITE_FIRST, psn=psn, size=MTU, total=MTU + 8, ack=False)


def last_at(psn: int) -> Step:
    return Step(opcode=roce.WRITE_LAST, psn=psn, size=8)


def first_of(total: int) -> Step:
    return Step(opcode=roce.WRITE_FIRST, psn=0, size=MTU, total=total)


def long_send(psn: int) -> tuple[Step, Step]:
    """More than a receive request takes."""
    size = MESSAGE_BYTES - MTU + 4
    first = Step(opcode=roce.SEND_FIRST, psn=psn, size=MTU, ack=False)
    return first, Step(opcode=roce.SEND_LAST, psn=psn + 1, size=size)


def check(program: Path, say: Callable[[str], None]) -> None:
    with network(program, "--rate", "1G", guests=("one",), stations=2) as net:
        guest = Verbs(net.guests[0])
        wire = Wire(net.stations[1])
        try:
            frames = 0
            for case in cases():
                wanted = of_guest(guest, wire, case)
                found = of_program(program, net.stations[0], wire, case)
                frames += len(case.steps)
                if found != (list(case.ours) or wanted):
                    raise GuestError(f"{case.name}: {found}, the guest answers {wanted}")
                if case.ours:
                    ours, theirs = (", ".join(it[0] for it in them) for them in (found, wanted))
                    say(f"{case.name}: ours {ours}; the guest {theirs}")
            say(f"{len(cases())} connections, {frames} frames; all other answers are the same")
        finally:
            wire.close()


class Wire:
    """A station made of frames: it answers ARP and keeps what comes for UDP port 4791."""

    def __init__(self, station: tuple[str, ...]) -> None:
        _, self.ip, _, ends = station
        near, far = (end.rsplit(":", 1) for end in ends.split(","))
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((near[0], int(near[1])))
        self._socket.connect((far[0], int(far[1])))
        self._socket.settimeout(0.05)
        self._frames: list[bytes] = []
        self._is_open = True
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._is_open = False
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        while self._is_open:
            try:
                frame = self._socket.recv(10_000)
            except (TimeoutError, ConnectionError):
                continue
            is_request = frame[12:14] == b"\x08\x06" and frame[21] == 1
            if is_request and frame[38:42] == socket.inet_aton(self.ip):
                self._socket.send(arp_reply(frame))
            elif frame[12:14] == b"\x08\x00" and frame[36:38] == (4791).to_bytes(2, "big"):
                self._frames.append(frame)

    def ask(self, far: dict, steps: tuple[Step, ...]) -> list[tuple[str, int, int]]:
        """Sends the frames, and returns the answers of a station: kind, PSN, MSN."""
        self._frames.clear()
        for step in steps:
            self._socket.send(build(far, self.ip, step))
            time.sleep(GAP_S)
        count = -1
        while count != len(self._frames):
            count = len(self._frames)
            time.sleep(SILENCE_S)
        return [answer(frame) for frame in self._frames]


def arp_reply(request: bytes) -> bytes:
    mac = bytes.fromhex(MY_MAC)
    sender = request[22:32]
    return sender[:6] + mac + request[12:21] + b"\x02" + mac + request[38:42] + sender + bytes(18)


def build(far: dict, ip: str, step: Step) -> bytes:
    addresses = {"source_ip": ip, "destination_ip": far["address"]}
    hexed = {name: socket.inet_aton(value).hex() for name, value in addresses.items()}
    route = {**roce.ROUTE, "source_mac": MY_MAC, "destination_mac": far["mac"], **hexed}
    header = {
        **roce.BTH,
        "destination": far["qpn"] + step.qpn,
        "ack_request": step.ack,
        "psn": MY_PSN + step.psn & 0xFFFFFF,
    }
    body = b""
    if step.opcode in roce.WITH_RETH or step.opcode == roce.READ_REQUEST:
        total = step.size if step.total is None else step.total
        body += (far["region_address"] + step.offset).to_bytes(8, "big")
        body += (far["rkey"] + step.key & 0xFFFFFFFF).to_bytes(4, "big") + total.to_bytes(4, "big")
    pad = -step.size % 4
    payload = roce.pattern(step.size, step.psn) + bytes(pad)
    frame = roce.frame(route, roce.bth(step.opcode, header, pad) + body + payload)
    if step.breaks:
        frame = frame[:-5] + bytes([frame[-5] ^ 1]) + frame[-4:]
    return frame


def answer(frame: bytes) -> tuple[str, int, int]:
    """An acknowledgement, as its kind, its PSN from the first on, and MSN."""
    if frame[42] != roce.ACKNOWLEDGE:
        return f"opcode {frame[42]:#x}", 0, 0
    psn = int.from_bytes(frame[51:54], "big") - MY_PSN & 0xFFFFFF
    syndrome, msn = frame[54], int.from_bytes(frame[55:58], "big")
    kind = {0: "ACK", 1: "RNR NAK", 3: f"NAK {syndrome & 0x1F}"}[syndrome >> 5]
    return kind, psn, msn


def of_guest(guest: Verbs, wire: Wire, case: Case) -> list[tuple[str, int, int]]:
    opened = guest.call("open", psn=0, mtu=MTU, bytes=REGION_BYTES)
    for number in range(case.receives):
        guest.call("recv", id=number, offset=0, bytes=MESSAGE_BYTES)
    guest.call("connect", address=wire.ip, qpn=MY_QPN, psn=MY_PSN)
    return wire.ask({**line_of(opened), "mac": mac_of(opened["address"])}, case.steps)


def of_program(
    program: Path, station: tuple[str, ...], wire: Wire, case: Case
) -> list[tuple[str, int, int]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["roce", "listen", *station, "--exchange", f"127.0.0.1:{port}", "--once"]
    words += ["--region", str(REGION_BYTES), "--message", str(MESSAGE_BYTES)]
    words += ["--receives", str(case.receives), "--mtu", str(MTU)]
    mine = {"address": wire.ip, "qpn": MY_QPN, "psn": MY_PSN, "mtu": MTU}
    with subprocess.Popen((str(program), *words), stdout=-1, stderr=-1, text=True) as listener:
        try:
            with connect("127.0.0.1", port) as exchange:
                exchange.sendall(json.dumps(mine).encode() + b"\n")
                line = read_line(exchange)
                octets = socket.inet_aton(line["address"])
                mac = "025357" + octets[1:].hex()
                return wire.ask({**line, "mac": mac}, case.steps)
        finally:
            listener.communicate(timeout=PATIENCE_S)


def mac_of(ip: str) -> str:
    """Of a guest: network.py numbers both alike."""
    return f"0200000098{int(ip.rsplit('.', 1)[1]):02x}"

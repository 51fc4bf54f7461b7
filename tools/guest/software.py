"""RDMA between `samplewire roce` and the Soft-RoCE of a guest, both ways, through the switch."""

import hashlib
import json
import socket
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from guest import GuestError
from network import PATIENCE_S, network
from rdma import IMM, LONG_BYTES, MTUS, MTUS_SHORT, expect, random_bytes
from verbs import Verbs

REGION_BYTES = 2 << 20
MESSAGE_BYTES = 1 << 20
PSNS = (0xFFFFFD, 0xFFFFFD)
"""Of the guest and of the program: both wrap."""

OPCODES = ("write", "write_imm", "send", "send_imm")


def check(program: Path, is_short: bool, say: Callable[[str], None]) -> None:
    options = {"guests": ("one",), "stations": 1}
    with network(program, "--rate", "1G", **options) as net, tempfile.TemporaryDirectory() as name:
        ends = Ends(program, net.stations[0], Verbs(net.guests[0]), Path(name))
        for mtu in MTUS_SHORT if is_short else MTUS:
            lengths = [1, 3, mtu - 1, mtu, mtu + 1, *([] if is_short else [LONG_BYTES])]
            for opcode in OPCODES:
                for length in lengths:
                    ends.to_guest(opcode, mtu, length)
                    ends.from_guest(opcode, mtu, length)
                ends.from_guest(opcode, mtu, 0)
            say(f"MTU {mtu}: {', '.join(map(str, lengths))} bytes, all four kinds, both ways")


class Ends:
    """A program at a port of the switch, and a guest."""

    def __init__(self, program: Path, station: tuple[str, ...], guest: Verbs, folder: Path) -> None:
        self._program = (str(program), "roce")
        self._station = (*station, "--psn", str(PSNS[1]), "--json")
        self._guest = guest
        self._folder = folder

    def to_guest(self, opcode: str, mtu: int, length: int) -> None:
        """The program sends a file; the guest has its bytes, and what lies behind is untouched."""
        path = self._folder / "in"
        path.write_bytes(random_bytes(length, length))
        verb, _, immediate = opcode.partition("_")
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(PATIENCE_S)
            to = f"127.0.0.1:{server.getsockname()[1]}"
            words = [verb, str(path), "--to", to, "--mtu", str(mtu), *self._station]
            words += ["--immediate", str(IMM)] if immediate else []
            with self._start(*words) as program, server.accept()[0] as exchange:
                mine = self._open(mtu, read_line(exchange))
                self._guest.call("fill", offset=0, seed=0, bytes=length + 8)
                heard = -(-length // MESSAGE_BYTES) * (opcode != "write")
                for number in range(heard):
                    place = number * MESSAGE_BYTES
                    room = min(length - place, MESSAGE_BYTES)
                    self._guest.call("recv", id=number, offset=place, bytes=room)
                exchange.sendall(json.dumps(mine).encode() + b"\n")
                last = read_line(exchange)
                exchange.sendall(json.dumps(last).encode() + b"\n")
                sent = finished(program)
        expect(last, {"bytes": length}, "the last line of the program")
        expect((sent["result"], sent["bytes"], sent["frames_invalid"]), ("whole", length, 0), verb)
        if heard:
            rows = self._guest.poll(heard)
            found = [(row.id, row.status, row.imm) for row in rows]
            wanted = [(number, 0, IMM if immediate else None) for number in range(heard)]
            expect(found, wanted, "receive requests of the guest")
        digest = self._guest.call("digest", offset=0, bytes=length + 8)["sha256"]
        memory = random_bytes(length, length) + random_bytes(0, length + 8)[length:]
        expect(digest, hashlib.sha256(memory).hexdigest(), f"{opcode} of {length} to the guest")

    def from_guest(self, opcode: str, mtu: int, length: int) -> None:
        """The guest sends one message; the program keeps its bytes."""
        path = self._folder / "out"
        path.unlink(missing_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            at = f"127.0.0.1:{free.getsockname()[1]}"
        words = ["listen", "--exchange", at, "--once", "--out", str(path), "--mtu", str(mtu)]
        room = ["--region", str(REGION_BYTES), "--message", str(max(length, 1))]
        with self._start(*words, *room, *self._station) as program:
            host, port = at.split(":")
            with connect(host, int(port)) as exchange:
                opened = self._guest.call("open", psn=PSNS[0], mtu=mtu, bytes=REGION_BYTES)
                exchange.sendall(json.dumps(line_of(opened)).encode() + b"\n")
                peer = read_line(exchange)
                named = {name: peer[name] for name in ("address", "qpn", "psn")}
                self._guest.call("connect", **named)
                self._guest.call("fill", offset=0, seed=length, bytes=length)
                post = {"id": 1, "opcode": opcode, "bytes": length, "imm": IMM}
                if opcode.startswith("write"):
                    post |= {"to": peer["region_address"], "rkey": peer["rkey"]}
                self._guest.call("post", **post)
                rows = [(row.id, row.status) for row in self._guest.poll()]
                expect(rows, [(1, 0)], f"{opcode} of {length} from the guest")
                last = {"bytes": length}
                exchange.sendall(json.dumps(last).encode() + b"\n")
                expect(read_line(exchange), last, "the last line of the program")
            came = finished(program)
        expect((came["result"], came["frames_invalid"]), ("whole", 0), opcode)
        expect(came["last_immediate"], IMM if opcode.endswith("imm") else None, opcode)
        expect(path.read_bytes(), random_bytes(length, length), f"{opcode} of {length}")

    def _open(self, mtu: int, peer: dict) -> dict:
        """Connects the guest to a peer; the guest's own line."""
        opened = self._guest.call("open", psn=PSNS[0], mtu=mtu, bytes=REGION_BYTES)
        named = {name: peer[name] for name in ("address", "qpn", "psn")}
        self._guest.call("connect", **named)
        return line_of(opened)

    def _start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen((*self._program, *words), stdout=-1, stderr=-1, text=True)


def line_of(opened: dict) -> dict:
    """What the guest's end is called in a connection line."""
    named = {name: opened[name] for name in ("address", "qpn", "psn", "mtu", "rkey")}
    return {**named, "region_address": opened["region"], "region_bytes": opened["bytes"]}


def read_line(exchange: socket.socket) -> dict:
    exchange.settimeout(PATIENCE_S)
    with exchange.makefile() as lines:
        return json.loads(lines.readline())


def connect(host: str, port: int) -> socket.socket:
    """Once someone listens."""
    for _ in range(PATIENCE_S * 50):
        try:
            return socket.create_connection((host, port), 0.02)
        except OSError:
            continue
    raise GuestError(f"no one listens at {host}:{port}")


def finished(program: subprocess.Popen[str]) -> dict:
    try:
        out, err = program.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise GuestError("samplewire roce does not end") from error
    finally:
        # Or the `with` around it waits for ever.
        program.kill()
    if program.returncode:
        raise GuestError(f"samplewire roce: {err.strip()}")
    return json.loads(out)

"""`samplewire roce listen --verbs` in a guest: its Soft-RoCE writes what a program sends to it."""

import hashlib
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import streams
from guest import Guest, GuestError
from network import BUSYBOX, ENDS, LISTENS, PATIENCE_S, PORT, Network, network
from rdma import IMM, LONG_BYTES, MTUS, MTUS_SHORT, expect, random_bytes
from software import line_of
from streams import PROGRAM
from verbs import Verbs

OPCODES = ("write", "write_imm", "send", "send_imm")
PSN = 0xFFFFFD
REGION_BYTES, MESSAGE_BYTES = 2 << 20, 1 << 20
WINDOW = 48
"""Frames of 4 KiB that a guest's port has room for, whatever the system's default is."""

COPY_LIMIT_S = 120
FILE, JSON, ERRORS = "/tmp/kept", "/tmp/listen.json", "/tmp/listen.errors"
LISTEN = f"{PROGRAM} roce listen --out {FILE} --json --psn {PSN}"
BEGINS = (
    "{command} >{json} 2>{errors} & echo $! >/tmp/listen.pid\n"
    "until netstat -lnt | grep -q ':18515 '; do\n"
    "    [ -e /proc/$(cat /tmp/listen.pid) ] || {{ cat {errors}; exit 1; }}; sleep 0.05\n"
    "done"
)
STOPS = (
    "kill -INT $(cat /tmp/listen.pid)\n"
    "while [ -e /proc/$(cat /tmp/listen.pid) ]; do sleep 0.05; done"
)
CARD_ENDED = "the network card has ended the connection"
REMOTE_ACCESS_ERROR = 10
"""`IBV_WC_REM_ACCESS_ERR`"""

LIBRARY = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1"


def check(program: Path, is_short: bool, say: Callable[[str], None]) -> None:
    guests = ("one",) if is_short else ("one", "two")
    with (
        network(program, "--rate", "1G", guests=guests, with_host=True) as net,
        tempfile.TemporaryDirectory() as name,
    ):
        guest = net.guests[0]
        copy(net, program, PROGRAM)
        failures(guest)
        say("a missing library, device, address or peer is named")
        sender = Sender(net, program.resolve(), Path(name) / "in")
        for mtu in MTUS_SHORT if is_short else MTUS:
            lengths = [0, 1, 3, mtu - 1, mtu, mtu + 1, *([] if is_short else [LONG_BYTES])]
            listen(guest, mtu)
            count = 0
            for opcode in OPCODES:
                for length in lengths:
                    count += 1
                    sent = sender.send(opcode, mtu, length)
                    compare(guest, opcode, count, length, sent)
            guest.run(STOPS)
            say(f"MTU {mtu}: {', '.join(map(str, lengths))} bytes, all four kinds")
        if not is_short:
            from_card(net, sender)
            say("from the other guest: 0 bytes, all four kinds; a wrong key; past the region")
        by_file(net, sender)
        say("a peer without TCP, as a board is one: lines in files")
        too_long(guest, sender)
        say("a message that is too long ends its connection, and the next one is whole")
        streams.check(net, program, is_short, say)


def copy(net: Network, path: Path, to: str) -> None:
    """Copies a file of the host into the guest over TCP, and makes it a program.

    It takes seconds. A failure shows what each end has of the connection.
    """
    guest = net.guests[0]
    guest.run(LISTENS.format(port=PORT, to=to))
    sends = f"{BUSYBOX} nc {guest.ip} {PORT} <{path}"
    try:
        net.inside("sh", "-c", sends, limit_s=COPY_LIMIT_S)
    except GuestError as error:
        here = net.inside(str(BUSYBOX), "netstat", "-nt") + net.inside("ip", "-s", "link")
        there = guest.attempt(f"netstat -nt; /sbin/ip -s link; ls -l {to}").output
        raise GuestError(f"{error}\n{here}\nin the guest:\n{there}") from error
    digest = guest.run(ENDS.format(port=PORT, file=to), COPY_LIMIT_S).split()[0]
    expect(digest, hashlib.sha256(path.read_bytes()).hexdigest(), "the program in the guest")
    guest.run(f"chmod +x {to}")


def failures(guest: Guest) -> None:
    """What is missing is named, and the exit status is that of the manual."""
    command = f"{PROGRAM} roce listen --once --ip"
    cases = [
        (f"{command} {guest.ip} --verbs rxe9", 1, "there is rxe0"),
        (f"{command} 10.1.2.3 --verbs rxe0", 1, "no RoCE v2 address 10.1.2.3"),
        (f"{command} {guest.ip} --verbs rxe0 --gid-index 200", 1, "at GID index 200"),
        (f"mv {LIBRARY} /tmp/away; {command} {guest.ip} --verbs rxe0", 2, "install libibverbs"),
    ]
    for script, status, words in cases:
        answer = guest.attempt(script)
        if answer.status != status or words not in answer.output:
            raise GuestError(f"{script}: status {answer.status}: {answer.output.strip()}")
    guest.run(f"mv /tmp/away {LIBRARY}")
    listen(guest, 1_024)
    line = json.dumps({"address": "10.98.0.77", "qpn": 17, "psn": 1, "mtu": 1_024})
    refused = guest.run(f"echo '{line}' | nc 127.0.0.1 18515")
    guest.run(STOPS)
    if "connect the queue pair" not in refused:
        raise GuestError(f"a peer that no one knows: {refused}")


def listen(guest: Guest, mtu: int, message_bytes: int = MESSAGE_BYTES) -> None:
    """Starts the listener. It serves one connection after the other until STOPS."""
    room = f"--region {REGION_BYTES} --message {message_bytes}"
    words = (LISTEN, "--verbs rxe0", f"--ip {guest.ip}", f"--mtu {mtu}", room)
    guest.run(BEGINS.format(command=" ".join(words), json=JSON, errors=ERRORS))


class Sender:
    """A program in the namespace. It shares the interface with the kernel."""

    def __init__(self, net: Network, program: Path, path: Path) -> None:
        self._net = net
        self._program = (str(program), "roce")
        self.path = path
        station = ("--interface", net.tap, "--ip", net.addresses[0].ip, "--psn", str(PSN))
        self._to = ("--to", f"{net.guests[0].ip}:18515")
        self._words = (*station, "--window", str(WINDOW), "--json")

    def start(
        self, opcode: str, mtu: int, length: int, *how: str
    ) -> subprocess.CompletedProcess[str]:
        """Sends a file of random bytes, to the listener's port unless `how` says otherwise."""
        self.path.write_bytes(random_bytes(length, length))
        verb, _, immediate = opcode.partition("_")
        words = (verb, str(self.path), "--mtu", str(mtu), *self._words, *(how or self._to))
        words += ("--immediate", str(IMM)) if immediate else ()
        command = self._net.command(*self._program, *words)
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S * 3)

    def send(self, opcode: str, mtu: int, length: int) -> dict:
        """As `start`; all has to be kept."""
        done = self.start(opcode, mtu, length)
        if done.returncode:
            raise GuestError(f"{opcode} of {length}, MTU {mtu}: {done.stderr.strip()}")
        return json.loads(done.stdout)


def compare(guest: Guest, opcode: str, count: int, length: int, sent: dict) -> None:
    """The listener has kept these bytes, and reports what was sent."""
    came, digest = connection(guest, count)
    what = f"{opcode} of {length}"
    verb, _, immediate = opcode.partition("_")
    messages = -(-length // MESSAGE_BYTES)
    expect((came["result"], sent["bytes"]), ("whole", length), what)
    bytes_ = (came["bytes_sent"], came["bytes_written"])
    expect(bytes_, (0, length) if verb == "write" else (length, 0), f"{what}: bytes")
    # A card reports no write without immediate data.
    expect(came["messages"], messages if opcode != "write" else 0, f"{what}: messages")
    expect(came["immediates"], messages if immediate else 0, f"{what}: immediates")
    expect(came["last_immediate"], IMM if immediate and messages else None, f"{what}: immediate")
    if came["packets"] < sent["packets"] - sent["retransmissions"]:
        raise GuestError(f"{what}: {came['packets']} packets came, sent were {sent}")
    expect(digest, hashlib.sha256(random_bytes(length, length)).hexdigest(), f"{what}: the file")


def connection(guest: Guest, count: int) -> tuple[dict, str]:
    """The line of the last of `count` connections, and the digest of its file."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        lines = guest.run(f"cat {JSON}; sha256sum <{FILE}").splitlines()
        if len(lines) > count:
            return json.loads(lines[count - 1]), lines[-1].split()[0]
        time.sleep(0.05)
    raise GuestError(f"the listener reports no connection {count}: {guest.run(f'cat {ERRORS}')}")


def from_card(net: Network, sender: Sender) -> None:
    """The verbs of the second guest send messages of no bytes, and write where they must not."""
    one, two = net.guests
    listen(one, 1_024)
    count = 0
    for opcode in OPCODES:
        count += 1
        peer = CardPeer(one, two)
        expect(peer.post(opcode, 0), 0, f"{opcode} of 0: the sender's completion")
        peer.end(0)
        came, _ = connection(one, count)
        heard = int(opcode != "write")
        found = [came[name] for name in ("result", "messages", "immediates", "bytes_written")]
        expect(found, ["whole", heard, int(opcode.endswith("imm")), 0], f"{opcode} of 0")
    count += 1
    sender.send("write", 1_024, 1_000)
    count += 1
    peer = CardPeer(one, two)
    expect(peer.post("write", 1), 0, "a write of one byte")
    # More than it has written: what the last connection has left is not kept.
    peer.end(1_000)
    came, digest = connection(one, count)
    expect(came["result"], "whole", "a write of one byte")
    expect(digest, hashlib.sha256(bytes(1_000)).hexdigest(), "the bytes of the next connection")
    for name, moved in (("key", {"rkey": 0x100}), ("place", {"to": REGION_BYTES - 1})):
        count += 1
        peer = CardPeer(one, two)
        expect(peer.post("write", 2, **moved), REMOTE_ACCESS_ERROR, f"a write with a wrong {name}")
        peer.end(2)
        came, _ = connection(one, count)
        expect(came["result"].partition(":")[0], CARD_ENDED, f"a write with a wrong {name}")
    one.run(STOPS)


class CardPeer:
    """A connection from the verbs of a guest to the listener, with the lines of the exchange."""

    def __init__(self, listener: Guest, guest: Guest) -> None:
        self._guest, self._verbs = guest, Verbs(guest)
        guest.run(
            ": >/tmp/say\n"
            f"tail -f /tmp/say | nc {listener.ip} 18515 >/tmp/hear 2>&1 & echo $! >/tmp/nc.pid"
        )
        self._say(line_of(self._verbs.call("open", psn=PSN, mtu=1_024, bytes=4_096)))
        self._peer = self._hear(1)
        named = {name: self._peer[name] for name in ("address", "qpn", "psn")}
        self._verbs.call("connect", **named)

    def post(self, opcode: str, bytes_: int, *, rkey: int = 0, to: int = 0) -> int:
        """Posts one message, to a place of the region and with its key or one nearby; the status of
        its completion."""
        post = {"id": 1, "opcode": opcode, "bytes": bytes_, "imm": IMM}
        if opcode.startswith("write"):
            post |= {"to": self._peer["region_address"] + to, "rkey": self._peer["rkey"] ^ rkey}
        self._verbs.call("post", **post)
        return self._verbs.poll(limit_s=PATIENCE_S)[0].status

    def end(self, bytes_: int) -> None:
        self._say({"bytes": bytes_})
        self._hear(2)
        self._guest.run("kill $(cat /tmp/nc.pid) || true")

    def _say(self, line: dict) -> None:
        self._guest.run(f"echo '{json.dumps(line)}' >>/tmp/say")

    def _hear(self, count: int) -> dict:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            lines = self._guest.run("cat /tmp/hear").splitlines()
            if len(lines) >= count:
                return json.loads(lines[count - 1])
            time.sleep(0.05)
        raise GuestError(f"the listener says no line {count}")


def by_file(net: Network, sender: Sender) -> None:
    """Both ends get the other's line in a file. The listener keeps its region when it is
    interrupted."""
    guest, length = net.guests[0], 3_000
    own = {"address": net.addresses[0].ip, "qpn": 17, "psn": PSN, "mtu": 1_024}
    guest.run(f"echo '{json.dumps(own)}' >/tmp/peer.json")
    words = (LISTEN, "--verbs rxe0", f"--ip {guest.ip}", f"--region {REGION_BYTES}")
    begins = (
        f"{' '.join(words)} --peer /tmp/peer.json >{JSON} 2>{ERRORS} & echo $! >/tmp/listen.pid"
    )
    guest.run(f"{begins}\nuntil grep -q 'line of this end' {ERRORS}; do sleep 0.05; done")
    line = guest.run(f"cat {ERRORS}").partition("this end: ")[2].splitlines()[0]
    path = sender.path.with_suffix(".peer")
    path.write_text(line)
    done = sender.start("write_imm", 1_024, length, "--peer", str(path), "--qpn", "17")
    expect(done.returncode, 0, f"a peer in a file: {done.stderr.strip()}")
    guest.run(STOPS)
    came, digest = connection(guest, 1)
    found = [came[name] for name in ("result", "bytes_written", "immediates", "region_end")]
    expect(found, ["whole", length, 1, REGION_BYTES], "a peer in a file")
    memory = random_bytes(length, length) + bytes(REGION_BYTES - length)
    expect(digest, hashlib.sha256(memory).hexdigest(), "a peer in a file: the region")


def too_long(guest: Guest, sender: Sender) -> None:
    """The card ends a connection whose message is longer than the receive request."""
    listen(guest, 1_024, 1_000)
    done = sender.start("send", 1_024, 3_000)
    expect(done.returncode, 3, f"the sender of a message too long: {done.stderr.strip()}")
    came, _ = connection(guest, 1)
    expect(came["result"].partition(":")[0], CARD_ENDED, "a message too long")
    sent = sender.send("send", 1_024, 1_000)
    compare(guest, "send", 2, 1_000, sent)
    guest.run(STOPS)

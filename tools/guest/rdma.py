"""RDMA between the Soft-RoCE of two guests, through the switch."""

import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from statistics import median

from frames import roce_frames
from guest import GuestError
from network import PATIENCE_S, ROOM_BYTES, Network, network
from verbs import Verbs, connect

MTUS = (256, 512, 1024, 2048, 4096)
MTUS_SHORT = (256, 4096)
REGION_BYTES = 2 << 20
LONG_BYTES = (1 << 20) + 3
PSNS = (0xFFFFFD, 0)
IMM = 0x1234_5678

LOSS = ("--loss", "0.02")
LOSSY_BYTES = 256 << 10

LISTENS = "{command} >/tmp/log 2>&1 & until netstat -lnt | grep -q ':18515 '; do sleep 0.05; done"
PINGPONG = "ibv_rc_pingpong -d rxe0 -g 1 -n 50 -s 20000 -m 4096 -c"
BANDWIDTH_ROUNDS = 5
BANDWIDTH = "ib_write_bw -d rxe0 -x 1 -n 200 -s 65536 -m 4096 -F --report_gbits"


def check(program: Path, is_short: bool, say: Callable[[str], None]) -> None:
    with network(program, "--rate", "1G", guests=("one", "two")) as net:
        if not is_short:
            say(f"ibv_rc_pingpong: {debian(net, PINGPONG).splitlines()[-1]}")
        peers = [Verbs(guest) for guest in net.guests]
        for mtu in MTUS_SHORT if is_short else MTUS:
            lengths = [0, 1, 3, mtu - 1, mtu, mtu + 1, *([] if is_short else [LONG_BYTES])]
            for opcode in ("send", "send_imm", "write", "write_imm"):
                messages(*peers, mtu, opcode, lengths)
            say(f"MTU {mtu}: messages of {', '.join(map(str, lengths))} bytes, of all four kinds")
        net.finish()
        count = len(roce_frames(net.guests[0].capture))
        say(f"the ICRC of all {count} frames is right")
    if not is_short:
        lossy(program, say)


def bandwidth(program: Path, is_short: bool, say: Callable[[str], None]) -> None:
    """Writes of perftest, with the room that a UDP socket has by default or with more, in turns."""
    rates: dict[int, list[float]] = {0: [], ROOM_BYTES: []}
    unread: dict[int, list[int]] = {0: [], ROOM_BYTES: []}
    for _ in range(1 if is_short else BANDWIDTH_ROUNDS):
        for room_bytes in rates:
            how = {"guests": ("one", "two"), "room_bytes": room_bytes}
            with network(program, "--rate", "1G", **how) as net:
                said = debian(net, BANDWIDTH)
                row = next((line.split() for line in said.splitlines() if " 65536 " in line), None)
                if not row:
                    raise GuestError(f"{BANDWIDTH}: {said}")
                # Bytes, iterations, peak, average.
                rates[room_bytes].append(float(row[3]) * 1e3)
                unread[room_bytes].append(net.unread(1))
                net.finish()
    for room_bytes, found in rates.items():
        room = f"{room_bytes >> 20} MiB" if room_bytes else "the default"
        rate = f"{median(found):.0f} Mb/s ({min(found):.0f} to {max(found):.0f})"
        lost = f"{min(unread[room_bytes])} to {max(unread[room_bytes])} frames"
        say(f"room {room}: {rate}, n = {len(found)}; {lost} found none")


def debian(net: Network, command: str) -> str:
    """Runs a program of Debian's that has a server and a client; returns what the client says."""
    one, two = net.guests
    two.run(LISTENS.format(command=command))
    return one.run(f"{command} {two.ip}", 60)


def messages(one: Verbs, other: Verbs, mtu: int, opcode: str, lengths: list[int]) -> None:
    """Each message lands where it should, and is completed once at each end that hears of it."""
    _, far = connect(one, other, mtu=mtu, psns=PSNS, bytes_=REGION_BYTES)
    is_heard = opcode != "write"
    for number, length in enumerate(lengths):
        recv = [{"do": "recv", "id": number, "offset": 0, "bytes": length}] * is_heard
        other.calls({"do": "fill", "offset": 0, "seed": 0, "bytes": length + 8}, *recv)
        post = {"id": number, "opcode": opcode, "bytes": length, "imm": IMM}
        target = {} if opcode.startswith("send") else {"to": far["region"], "rkey": far["rkey"]}
        polled = {"do": "poll", "count": 2, "limit_s": 0.02}
        sent = one.calls(
            {"do": "fill", "offset": 0, "seed": number + 1, "bytes": length},
            {"do": "post", **post, **target},
            {"do": "poll", "count": 1, "limit_s": PATIENCE_S},
            polled,
        )
        completions = sent[2]["completions"] + sent[3]["completions"]
        expect([(row["id"], row["status"]) for row in completions], [(number, 0)], "requester")
        first = {"do": "poll", "count": int(is_heard), "limit_s": PATIENCE_S}
        digest = {"do": "digest", "offset": 0, "bytes": length + 8}
        received = other.calls(first, polled, digest)
        completions = received[0]["completions"] + received[1]["completions"]
        imm = IMM if opcode.endswith("imm") else None
        found = [(row["id"], row["status"], row["bytes"], row["imm"]) for row in completions]
        expect(found, [(number, 0, length, imm)] * is_heard, "responder")
        # What lies behind the message is untouched.
        memory = random_bytes(number + 1, length) + random_bytes(0, length + 8)[length:]
        expect(received[2]["sha256"], hashlib.sha256(memory).hexdigest(), "memory")


def lossy(program: Path, say: Callable[[str], None]) -> None:
    """The switch loses frames both ways; Soft-RoCE repeats, and all arrives."""
    with network(program, "--rate", "1G", *LOSS, guests=("one", "two")) as net:
        one, other = (Verbs(guest) for guest in net.guests)
        _, far = connect(one, other, mtu=1024, psns=PSNS, bytes_=REGION_BYTES, timeout=12)
        target = {"to": far["region"], "rkey": far["rkey"]}
        filled = {"do": "fill", "offset": 0, "seed": 1, "bytes": LOSSY_BYTES}
        post = {"do": "post", "id": 1, "opcode": "write", "bytes": LOSSY_BYTES, **target}
        sent = one.calls(filled, post, {"do": "poll", "count": 1, "limit_s": PATIENCE_S})
        expect([row["status"] for row in sent[2]["completions"]], [0], "requester")
        digest = other.call("digest", offset=0, bytes=LOSSY_BYTES)["sha256"]
        expect(digest, hashlib.sha256(random_bytes(1, LOSSY_BYTES)).hexdigest(), "memory")
        lost = sum(port["lost"] for port in net.finish())
        frames = roce_frames(net.guests[0].capture)
        if not lost:
            raise GuestError("the switch lost nothing")
        say(f"{LOSSY_BYTES >> 10} KiB arrive whole in {len(frames)} frames; {lost} were lost")


def random_bytes(seed: int, length: int) -> bytes:
    return random.Random(seed).randbytes(length)


def expect(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise GuestError(f"{what}: {found}, where {wanted} was expected")

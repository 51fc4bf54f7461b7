"""Hostile ends of a stream: they know its tag and break the rules. Run inside a network namespace.

    python3 tools/attacks/peers.py host ADDR:PORT      opens streams and sends what no host may
    python3 tools/attacks/peers.py device ADDR:PORT    accepts streams on terms that no device has

Each prints what it has done as JSON. `device` runs until it is stopped, and takes the terms of
the next opening from the rows in order.
"""

import json
import random
import signal
import socket
import struct
import sys
import time

import packets

TIMEOUT_S = 1.0
MTU_BYTES = 1500
OPEN_BYTES = 1472
DATA_BYTES = 1408
DATA_OF_A_STREAM = 8
RECEIVE, SEND = 1, 2
ATTACKED = (
    (0, RECEIVE, "REPORT"),
    (0, RECEIVE, "CLOSE"),
    (1, SEND, "DATA"),
    (1, SEND, "MARK"),
    (1, SEND, "CLOSE"),
)
"""The device of the check sends stream 0 and plays stream 1."""
TAKEOVER_PAUSE_S = 0.006
"""A device takes no stream over that has begun less than 5 ms ago (docs/protocol.md#3.14)."""
FIXED = {kind: {"flags": packets.FROM_OPENER} for kind in ("REPORT", "MARK", "CLOSE")}
FIXED["DATA"] = {"seq": 0, "tag": 0, "departure": 0}


class Host:
    """Opens the streams of a device."""

    def __init__(self, device: tuple[str, int]) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(device)
        self.socket.settimeout(TIMEOUT_S)
        self.draw = random.Random(1)

    def open(self, **wishes: object) -> dict | None:
        """The terms of a stream that the device has opened; none where it refuses."""
        number = self.draw.getrandbits(56) << 8
        wishes |= {"nonce": number, "tag": self.draw.getrandbits(32) | 1, "owner": 7}
        wishes["max_packet_bytes"] = MTU_BYTES
        challenge = self.ask(packets.open_packet(**wishes), "CHALLENGE")
        if challenge is None:
            return None
        cookie = packets.body_of("CHALLENGE", challenge)["cookie"]
        wishes |= {"cookie": cookie, "total_len": OPEN_BYTES}
        accept = self.ask(packets.open_packet(**wishes), "ACCEPT")
        if accept is None:
            return None
        _, _, _, index, seq, _ = struct.unpack_from(">BBIQII", accept)
        return packets.body_of("ACCEPT", accept) | {"first_index": index, "first_seq": seq}

    def attack(self, kind: str, row: dict, terms: dict) -> None:
        """Sends a packet of the stream whose fields are those of the row, near its first seq."""
        first = 0 if kind != "REPORT" else terms["first_seq"]
        if kind == "DATA":
            # So the row is a jump from where the stream is.
            begin = row | {"flags": packets.FROM_OPENER, "index": terms["first_index"], "seq": 0}
            payload = bytes(terms["payload_bytes"])
            for at, each in enumerate((begin, row | {"seq": 1})):
                each = each | {"tag": terms["tag"], "departure": at + 1, "payload": payload}
                self.socket.send(packets.build(kind, each))
        else:
            near = packets.shifted(row, first) | {"tag": terms["tag"]}
            self.socket.send(packets.build(kind, near))
        time.sleep(TAKEOVER_PAUSE_S)

    def ask(self, packet: bytes, answer: str) -> bytes | None:
        """Sends a packet until it is answered, three times at most."""
        for _ in range(3):
            self.socket.send(packet)
            try:
                while True:
                    data = self.socket.recv(65_536)
                    kind = packets.kind_of(data)
                    if kind == answer:
                        return data
                    if kind == "REFUSE":
                        return None
            except OSError:
                continue
        return None


def hostile_host(device: tuple[str, int]) -> None:
    """Opens a stream for each hostile packet, in each direction."""
    host, done = Host(device), {}
    for stream, role, kind in ATTACKED:
        rows = packets.rows(kind, **FIXED[kind])
        opened = 0
        for row in rows:
            terms = host.open(stream=stream, role=role)
            if terms:
                opened += 1
                host.attack(kind, row, terms)
        done[f"stream {stream}, {kind}"] = {"opened": opened, "refused": len(rows) - opened}
    print(json.dumps(done), flush=True)


def hostile_device(local: tuple[str, int]) -> None:
    """Answers openings: the n-th with the n-th row of extreme terms, then sends a little."""
    rows = packets.hostile_terms()
    done = {"accepted": 0, "rows": len(rows)}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(print(json.dumps(done), flush=True)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(local)
        print("ready", flush=True)
        tags: dict[tuple, int] = {}
        while True:
            data, peer = own.recvfrom(65_536)
            if packets.kind_of(data) != "OPEN":
                continue
            asked = packets.body_of("OPEN", data)
            if asked["cookie"] == bytes(packets.COOKIE_BYTES):
                own.sendto(packets.challenge(asked), peer)
                continue
            if peer not in tags:
                tags[peer] = done["accepted"]
                done["accepted"] += 1
            row = rows[tags[peer] % len(rows)]
            for packet in answers(row, asked, len(data)):
                own.sendto(packet, peer)


def answers(row: dict, asked: dict, length: int) -> list[bytes]:
    """An ACCEPT of these terms, and DATA that fits them as far as any can."""
    row = row | {"tag": asked["tag"], "nonce": asked["nonce"], "total_len": min(length, OPEN_BYTES)}
    accept = packets.accept(row, asked)
    size = min(max(row["payload_bytes"], 8), DATA_BYTES)
    step = min(row["packet_samples"], 2**40)
    return [accept] + [
        packets.build("DATA", {"flags": 0, "tag": asked["tag"], "index": row["index"] + at * step,
                               "seq": (row["seq"] + at) % 2**32, "departure": at + 1,
                               "payload": bytes(size)})
        for at in range(DATA_OF_A_STREAM)
        if row["index"] + at * step < 2**64
    ]  # fmt: skip


def main() -> None:
    role, address = sys.argv[1:]
    ip, _, port = address.rpartition(":")
    {"host": hostile_host, "device": hostile_device}[role]((ip, int(port)))


if __name__ == "__main__":
    main()

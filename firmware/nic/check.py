#!/usr/bin/env python3
"""Run the image `stack` on the simulated SoC and print the cycles of its answers.

    check.py BENCH IMAGE    BENCH is out/rtl/sim/nic_soc_frames_1_1g or one of the other sizes

The other end is scapy, which verifies what comes back. Each answer is measured at the second to the
last of some frames: from the last beat in to the first beat out, and from the first beat in to the last one out.
"""

import subprocess
import sys

from scapy.all import ARP, DHCP, ICMP, IP, TCP, UDP, Ether, Raw, raw

MAC, IP_HERE = "02:53:57:49:52:00", "10.64.0.2"
PEER = {"src": "02:00:00:00:00:09"}
PEER_IP = "10.64.0.9"
WAIT = 400_000


class Bench:
    """The simulated board: a frame in, a frame out."""

    def __init__(self, program: str, image: str) -> None:
        self.process = subprocess.Popen(
            [program, image], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def exchange(self, frame: Ether | None, wait: int = WAIT) -> tuple[Ether, list[int]] | None:
        """Send a frame, if any, and wait for the next one that leaves."""
        text = raw(frame).hex() if frame is not None else "-"
        self.process.stdin.write(f"{text} {wait}\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        if not words:
            raise SystemExit(f"the simulation has ended with {self.process.wait()}")
        if words[0] == "-":
            return None
        return Ether(bytes.fromhex(words[0])), [int(word) for word in words[1:]]


def right(frame: Ether) -> Ether:
    """Return the frame, whose checksums scapy computes again."""
    again = frame.copy()
    for layer in (IP, ICMP, UDP, TCP):
        if layer in again:
            del again[layer].chksum
    assert raw(again) == raw(frame), frame.show(dump=True)
    return frame


def to_board(*layers) -> Ether:
    """Return an IPv4 frame to the board, with the checksums filled in."""
    frame = Ether(dst=MAC, **PEER) / IP(src=PEER_IP, dst=IP_HERE)
    for layer in layers:
        frame = frame / layer
    return Ether(raw(frame))


def measure(bench: Bench, name: str, frame: Ether, payload: bytes) -> None:
    """Print the cycles of answers to a frame."""
    inside, whole = [], []
    for _ in range(5):
        answer = bench.exchange(frame)
        assert answer is not None, name
        reply, cycles = right(answer[0]), answer[1]
        assert raw(reply[IP].payload)[8 : 8 + len(payload)] == payload, name
        inside.append(cycles[1])
        whole.append(cycles[2])
        assert bench.exchange(None, 20_000) is None
    print(
        f"{name:18} {min(inside[1:]):6} to {max(inside[1:])} cycles in the board, "
        f"{min(whole[1:]):6} to {max(whole[1:])} with the frames; the first {inside[0]}"
    )


def talk(bench: Bench, lines: bytes, count: int) -> bytes:
    """Open the console, send lines, and return the first `count` lines that come back."""
    port, seq, ack = 50_000, 1000, 0
    answer = bench.exchange(to_board(TCP(sport=port, dport=23, seq=seq, flags="S", window=4000)))
    reply = right(answer[0])
    assert reply[TCP].flags == "SA"
    seq, ack = seq + 1, reply[TCP].seq + 1
    text = b""
    frame = to_board(
        TCP(sport=port, dport=23, seq=seq, ack=ack, flags="PA", window=4000), Raw(lines)
    )
    for _ in range(100):
        answer = bench.exchange(frame)
        frame = None
        if answer is None:
            break
        reply = right(answer[0])
        if TCP in reply:
            data = raw(reply[TCP].payload)[: reply[IP].len - 40]
            if data:
                text += data
                ack = reply[TCP].seq + len(data)
                frame = to_board(
                    TCP(
                        sport=port, dport=23, seq=seq + len(lines), ack=ack, flags="A", window=4000
                    )
                )
        if text.count(b"\n") >= count:
            break
    return text


def main() -> None:
    """Check each answer, and measure those that have goals."""
    bench = Bench(sys.argv[1], sys.argv[2])
    discover = bench.exchange(None)
    assert discover is not None and DHCP in discover[0]
    right(discover[0])
    reply = bench.exchange(Ether(dst="ff:ff:ff:ff:ff:ff", **PEER) / ARP(psrc=PEER_IP, pdst=IP_HERE))
    assert reply[0][ARP].hwsrc == MAC
    for size in (56, 1472):
        payload = bytes(range(256)) * 6
        payload = payload[:size]
        measure(
            bench, f"ping {size}", to_board(ICMP(id=7, seq=1), Raw(payload)), payload
        )
    for size in (18, 1472):
        payload = (bytes(range(256)) * 6)[:size]
        frame = to_board(UDP(sport=4000, dport=7), Raw(payload))
        measure(bench, f"UDP echo {size}", frame, payload)
    for layers in ((UDP(sport=4000, dport=7, chksum=1), Raw(b"x" * 18)), (TCP(dport=23, chksum=1),)):
        assert bench.exchange(to_board(*layers), 100_000) is None
    print("wrong checksums of UDP and TCP: dropped")
    text = talk(bench, b"read nic.filter\nwrite nic.filter 11\nread nic.filter\n", 3)
    assert text == b"0x00000003\r\nok\r\n0x0000000b\r\n", text
    print("console: registers are read and written")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Run the images on the simulated SoC, check what they answer, and print the cycles.

    check.py [CORES [WIRE]]    1, 2 or 4 cores, 1 if not given; 1g or 10g, 1g if not given

`make firmware` has built the images, and `make -f rtl/sim/Makefile nic_soc_frames` the SoC. The
other end is scapy, which computes the checksums of what comes back again. Cycles of an answer: in
the board, from the last beat in to the first beat out; whole, from the first beat in to the last
one out.
"""

import struct
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from scapy.all import ARP, BOOTP, DHCP, ICMP, IP, TCP, UDP, Ether, Packet, Raw, raw

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "rtl" / "regs"))
from samplewire_regs import REGISTERS  # noqa: E402

MAC = "02:53:57:49:52:00"
LEASE = "10.64.0.77"
PEER = {"src": "02:00:00:00:00:09"}
PEER_IP = "10.64.0.9"
WAIT = 400_000
PACKET = 1477  # of the block transfer
# The list of all but one packet of the shorter file has no padding; with 64 buffers the longer is
# the longest.
FILE_PACKETS_MIN, FILE_PACKETS_MAX = 11, 16
CLOCK_MHZ = 125  # at 1 Gb/s
SEND_CYCLES = 1500  # of a frame that the image `send` writes, and of the time that it reads
SEQ_CYCLES_MAX = 120  # of a list of missing packets


class Bench:
    """The simulated board: a frame in, a frame out."""

    def __init__(self, program: str, image: str, *options: str) -> None:
        self.process = subprocess.Popen(
            [program, image, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def close(self) -> None:
        """End the simulation."""
        self.process.stdin.close()
        assert self.process.wait() == 0

    def sender(self) -> dict[int, int]:
        """Return the words of the sender's registers that are not 0."""
        self.process.stdin.write("sender 0\n")
        self.process.stdin.flush()
        pairs = [pair.split(":") for pair in self.process.stdout.readline().split()]
        return {int(at, 16): int(value, 16) for at, value in pairs}

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


def to_board(*layers: Packet) -> Ether:
    """Return an IPv4 frame to the board, with the checksums filled in."""
    frame = Ether(dst=MAC, **PEER) / IP(src=PEER_IP, dst=LEASE)
    for layer in layers:
        frame = frame / layer
    return Ether(raw(frame))


def lease(bench: Bench, discover: Ether) -> None:
    """Give the board an address."""
    asked = discover
    for kind in ("offer", "ack"):
        options = [
            ("message-type", kind),
            ("server_id", PEER_IP),
            ("lease_time", 3600),
            ("subnet_mask", "255.255.255.0"),
            ("router", PEER_IP),
            "end",
        ]
        boot = BOOTP(
            op=2, xid=asked[BOOTP].xid, yiaddr=LEASE, siaddr=PEER_IP, chaddr=asked[BOOTP].chaddr
        )
        frame = Ether(dst="ff:ff:ff:ff:ff:ff", **PEER) / IP(src=PEER_IP, dst="255.255.255.255")
        answer = bench.exchange(frame / UDP(sport=67, dport=68) / boot / DHCP(options=options))
        if kind == "offer":
            asked = right(answer[0])
            assert ("message-type", 3) in asked[DHCP].options
    print(f"DHCP: the board has {LEASE}")


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
        f"{min(whole[1:]):6} to {max(whole[1:])} whole; the first {inside[0]}"
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
                    TCP(sport=port, dport=23, seq=seq + len(lines), ack=ack, flags="A", window=4000)
                )
        if text.count(b"\n") >= count:
            break
    return text


def check_raw(bench: Bench, name: str, _: int) -> None:
    """Frames come back, with their addresses swapped but for `forward`; echo frees others."""
    for size in (46, 64, 1486):
        for kind in (0x88B5, 0x88B6):
            frame = raw(Ether(dst=MAC, type=kind, **PEER) / Raw(bytes(range(256)) * 6))[: size + 14]
            answer = bench.exchange(Ether(frame), 20_000)
            if name == "echo" and kind != 0x88B5:
                assert answer is None
                continue
            swapped = frame[6:12] + frame[:6] + frame[12:]
            assert raw(answer[0]) == (frame if name == "forward" else swapped), name
            if kind == 0x88B5:
                print(f"{name:8} {size:4} bytes of payload: {words_of(answer[1])}")


def words_of(cycles: list[int]) -> str:
    """Return the cycles of one answer in words."""
    return f"{cycles[1]} cycles in the board, {cycles[2]} whole"


def crc32c(data: bytes) -> int:
    """Return the CRC-32C, a bit at a time."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def check_block(bench: Bench, _: str, __: int) -> None:
    """Files go to the board, the first packet of each late, and come back (docs/block.md)."""
    # The first files find the instruction cache empty.
    few, many = FILE_PACKETS_MIN, FILE_PACKETS_MAX
    cycles = {
        (count, n): check_file(bench, count, 2 * count + n) for n in (0, 1) for count in (few, many)
    }
    crc, lists = (cycles[many, 1][at] - cycles[few, 1][at] for at in (0, 1))
    print(f"block    the CRC: {crc / ((many - few) * PACKET):.2f} cycles a byte")
    of_seq = lists / (many - few)
    print(f"block    a list: {of_seq:.0f} cycles a seq")
    # While a core writes a list it takes no frames: those that it lists first come again.
    assert of_seq <= SEQ_CYCLES_MAX, of_seq


def check_file(bench: Bench, count: int, ours: int) -> tuple[int, int]:
    """Transfer a file both ways; return the cycles of its check and `OK`, and of its first list."""
    file = bytes(n * 7 & 0xFF for n in range(count * PACKET - 300))

    def send(kind: int, body: bytes, wait: int) -> tuple[Ether, list[int]] | None:
        body = (struct.pack(">BI", kind, ours) + body).ljust(46, b"\0")
        return bench.exchange(Ether(dst=MAC, type=0x88B5, **PEER) / Raw(body), wait)

    def data(seq: int) -> bytes:
        return struct.pack(">I", seq) + file[seq * PACKET : (seq + 1) * PACKET]

    summary = struct.pack(">IQI", count, len(file), crc32c(file))
    assert send(0x11, data(count - 1), 3000) is None
    answer = send(0x12, summary, WAIT)
    body, list_cycles = raw(answer[0].payload), answer[1][1]
    listed = struct.pack(f">BI2sH{count - 1}I", 0x13, ours, b"MI", count - 1, *range(count - 1))
    assert body[: len(listed)] == listed, body.hex()
    for seq in range(1, count - 1):
        assert send(0x11, data(seq), 3000) is None
    missing = raw(send(0x12, summary, WAIT)[0].payload)
    assert missing[:13] == struct.pack(">BI2sHI", 0x13, ours, b"MI", 1, 0), missing.hex()
    assert send(0x11, data(0), 3000) is None
    answer = send(0x12, summary, 4_000_000)
    assert raw(answer[0].payload)[5:7] == b"OK"
    print(f"block    the check of {len(file)} bytes and its OK: {words_of(answer[1])}")
    back, cycles = {}, answer[1][1]
    while True:
        answer = bench.exchange(None, 4_000_000)
        kind, theirs, rest = struct.unpack_from(">BII", frame := raw(answer[0].payload))
        if kind == 0x12:
            break
        assert kind == 0x11
        back[rest] = frame[9:]
    assert struct.unpack_from(">IQI", frame, 5) == (count, len(file), crc32c(file))
    assert b"".join(back[n] for n in range(count))[: len(file)] == file
    body = struct.pack(">BI2s", 0x13, theirs, b"OK").ljust(46, b"\0")
    bench.exchange(Ether(dst=MAC, type=0x88B5, **PEER) / Raw(body), 20_000)
    print("block    the file has come back")
    return cycles, list_cycles


def check_send(bench: Bench, _: str, __: int) -> None:
    """Frames leave by each scheme (docs/nic-host.md#from-the-board); the report is right."""
    delay_us, frames, size = 40, 6, 100
    for scheme, burst in ((1, 1), (2, 3), (3, 2)):
        body = struct.pack(">BIBIQIH", 0x21, scheme, scheme, burst, delay_us * 1000, frames, size)
        order = Ether(dst=MAC, type=0x88B5, **PEER) / Raw(body.ljust(46, b"\0"))
        question = raw(bench.exchange(order)[0])
        assert question[14:19] == struct.pack(">BI", 0x20, scheme) and len(question) == 60
        answer = Ether(question[6:12] + question[:6] + question[12:])
        first, back, left_at = bench.exchange(answer), [], []
        while first is not None:
            frame, cycles = raw(first[0]), first[1]
            assert frame[:14] == raw(order)[6:12] + raw(order)[:6] + b"\x88\xb5"
            assert frame[14:23] == struct.pack(">BII", 0x20, scheme, len(back))
            assert len(frame) == 14 + size
            back.append(frame[6:12] + frame[:6] + frame[12:])
            left_at.append(cycles[1])
            first = bench.exchange(None, 2 * delay_us * CLOCK_MHZ)
        if scheme < 3:
            # Behind each burst there is a pause, within it none.
            steps = [after - before for before, after in pairwise(left_at)]
            pauses = steps[burst - 1 :: burst]
            rest = [step for n, step in enumerate(steps, 1) if n % burst]
            assert len(back) == frames
            assert all(abs(step - delay_us * CLOCK_MHZ) < SEND_CYCLES for step in pauses), steps
            assert all(step < SEND_CYCLES for step in rest), steps
        else:
            assert len(back) == burst, "the burst, and no more before one comes back"
            for number in range(burst, frames):
                answer = bench.exchange(Ether(back[number - burst]))
                assert raw(answer[0])[19:23] == struct.pack(">I", number)
                back.append(raw(order)[:12] + raw(answer[0])[12:])
            back = back[-burst:]
        for frame in back[:-1]:
            assert bench.exchange(Ether(frame), 3000) is None
        report = raw(bench.exchange(Ether(back[-1]))[0])
        assert report[14:27] == struct.pack(">BIII", 0x22, scheme, frames, frames), report.hex()
        print(f"send     scheme {scheme}: {frames} frames, {left_at[1] - left_at[0]} cycles apart")


def check_planes(bench: Bench, cores: int) -> None:
    """Raw frames are for other cores than the host's, and pass those that the host works on."""
    data = Ether(dst=MAC, type=0x88B5, **PEER) / Raw(bytes(range(46)))
    ping = to_board(ICMP(id=7, seq=2), Raw(bytes(1472)))
    assert bench.exchange(ping, 3000) is None
    answer = bench.exchange(data)
    if cores == 1:
        assert ICMP in answer[0]
        assert bench.exchange(None, 20_000) is None, "the host drops it"
        return
    frame = raw(data)
    assert raw(answer[0]) == frame[6:12] + bytes([frame[0] ^ 4]) + frame[1:6] + frame[12:]
    assert ICMP in right(bench.exchange(None)[0])
    print(f"data plane, while the host answers a ping: {words_of(answer[1])}")


def check_stack(bench: Bench, _: str, cores: int) -> None:
    """Each answer is right; those that have goals are measured."""
    discover = bench.exchange(None)
    assert discover is not None and DHCP in discover[0]
    lease(bench, right(discover[0]))
    reply = bench.exchange(Ether(dst="ff:ff:ff:ff:ff:ff", **PEER) / ARP(psrc=PEER_IP, pdst=LEASE))
    assert reply[0][ARP].hwsrc == MAC
    for size in (56, 1472):
        payload = bytes(range(256)) * 6
        payload = payload[:size]
        measure(bench, f"ping {size}", to_board(ICMP(id=7, seq=1), Raw(payload)), payload)
    for size in (18, 1472):
        payload = (bytes(range(256)) * 6)[:size]
        frame = to_board(UDP(sport=4000, dport=7), Raw(payload))
        measure(bench, f"UDP echo {size}", frame, payload)
    for layers in (
        (UDP(sport=4000, dport=7, chksum=1), Raw(b"x" * 18)),
        (TCP(dport=23, chksum=1),),
    ):
        assert bench.exchange(to_board(*layers), 100_000) is None
    print("wrong checksums of UDP and TCP: dropped")
    check_planes(bench, cores)
    text = talk(bench, b"read nic.filter\nwrite nic.filter 11\nread nic.filter\n", 3)
    assert text == b"0x00000003\r\nok\r\n0x0000000b\r\n", text
    print("console: registers are read and written")
    bench = Bench(*bench.process.args, "sender")
    lease(bench, bench.exchange(None)[0])
    words = bench.sender()
    assert words[REGISTERS["mac_lo"].offset] == 0x57495200
    assert words[REGISTERS["ip"].offset] == 0x0A40004D
    assert words[REGISTERS["control"].offset] == 1 | 1 << 3, "enabled, from the converter"
    name = [words.get(0x400 + 8 * n + 4 * (1 - half), 0) for n in (9, 10, 11) for half in (0, 1)]
    assert b"".join(word.to_bytes(4) for word in name) == b"\0\2\0\x10samplewire board"[
        :20
    ] + bytes(4)
    bench.close()
    print("sender: configured, at the address of the lease")


def main() -> None:
    """Check each image."""
    cores, wire = [*sys.argv[1:], *("1", "1g")[len(sys.argv) - 1 :]]
    program = ROOT / "out" / "rtl" / "sim" / f"nic_soc_frames_{cores}_{wire}"
    checks = dict.fromkeys(("forward", "swap", "echo"), check_raw)
    checks |= {"send": check_send, "stack": check_stack, "block": check_block}
    for name, check in checks.items():
        bench = Bench(str(program), str(ROOT / "out" / "firmware" / f"{name}.bin"))
        check(bench, name, int(cores))
        bench.close()


if __name__ == "__main__":
    main()

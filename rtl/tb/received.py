"""Frames that a device receives, right and wrong, and which check each fails: written from the RFCs
and docs/protocol.md#2 alone."""

import struct
from dataclasses import dataclass

from network import (
    ARP,
    ICMP,
    IPV4,
    UDP,
    Peer,
    arp,
    checksum,
    crc32c,
    datagram,
    echo_request,
    ethernet,
    ipv4,
    packet,
    report,
    udp,
)

US = Peer(0x02_00_5E_10_20_30, 0xC0A80002, 6007)
HOST = Peer(0x02_AA_BB_CC_DD_EE, 0xC0A80001, 51234)
TAG = 0xD00DF00D
BROADCAST = (1 << 48) - 1

BYTES_MIN, BYTES_MAX = 60, 9216
ECHO_MAX = 128  # bytes of an ICMP message that is answered
# docs/protocol.md#2.4: of each type its length, and whether it may be longer.
LENGTHS = {
    0: (34, True),
    1: (58, False),
    2: (66, True),
    3: (128, True),
    4: (50, False),
    5: (98, True),
    6: (42, False),
    7: (42, False),
    8: (42, False),
}
DATA, REPORT, OPEN = 0, 2, 3


def reseal(frame: bytes, offset: int, value: bytes) -> bytes:
    """A frame with bytes changed in its IP header, whose sum is made right again."""
    body = bytearray(frame)
    body[offset : offset + len(value)] = value
    body[24:26] = b"\0\0"
    body[24:26] = struct.pack("!H", checksum(bytes(body[14:34])))
    return bytes(body)


def honest_report(number=1, n=2):
    """A REPORT of the stream with n ranges."""
    ranges = [(10 * i, i + 1) for i in range(n)]
    return datagram(HOST, US, report(number, tag=TAG, ranges=ranges))


def hostile_frames() -> list[tuple[str, bytes]]:
    """Frames that fail one check each, with its event."""
    close = packet(7, bytes(16), tag=TAG)
    good = datagram(HOST, US, close)
    other_mac = Peer(US.mac ^ 1 << 17, US.ip, US.port)
    flipped_sum = bytearray(good)
    flipped_sum[40] ^= 4
    bad_ip_sum = bytearray(good)
    bad_ip_sum[24] ^= 1
    bad_icmp = bytearray(echo_request(HOST, US, b"0123456789"))
    bad_icmp[45] ^= 0x10
    no_sum = bytearray(good)
    no_sum[40:42] = b"\0\0"
    late_fragment = ethernet(
        US.mac, HOST.mac, IPV4, ipv4(HOST.ip, US.ip, UDP, bytes(200), fragment=100)
    )

    def claims(length: int) -> bytes:
        body = udp(HOST, US, close, length=length)
        return ethernet(US.mac, HOST.mac, IPV4, ipv4(HOST.ip, US.ip, UDP, body))

    return [
        ("runt", good[:59]),
        ("runt", good[:1]),
        ("runt", good[:14]),
        ("length", good[:-1]),
        ("length", good[:64]),
        ("oversize", ethernet(US.mac, HOST.mac, IPV4, bytes(9203))),
        ("oversize", good + bytes(12000)),
        ("not_ours", ethernet(US.mac, HOST.mac, 0x86DD, bytes(80))),
        ("not_ours", datagram(HOST, other_mac, close)),
        ("not_ours", datagram(HOST, Peer(BROADCAST, US.ip, US.port), close)),
        ("not_ours", datagram(HOST, Peer(US.mac, US.ip + 1, US.port), close)),
        ("not_ours", datagram(HOST, Peer(US.mac, US.ip ^ 1 << 30, US.port), close)),
        ("not_ours", datagram(HOST, Peer(US.mac, US.ip, US.port + 1), close)),
        ("not_ours", reseal(good, 14, b"\x46")),
        ("not_ours", reseal(good, 14, b"\x65")),
        ("not_ours", reseal(good, 23, b"\x06")),
        ("not_ours", arp(2, HOST, US.mac, US.ip, dst=US.mac)),
        ("not_ours", arp(1, HOST, 0, US.ip + 1, dst=BROADCAST)),
        ("not_ours", arp(1, HOST, 0, US.ip, dst=other_mac.mac)),
        ("not_ours", echo_request(HOST, US, b"reply", kind=0)),
        ("fragment", reseal(good, 20, b"\x20\x00")),
        ("fragment", late_fragment),
        ("ip_sum", bytes(bad_ip_sum)),
        ("udp_sum", bytes(flipped_sum)),
        ("udp_sum", bytes(no_sum)),
        ("udp_sum", bytes(bad_icmp)),
        ("not_ours", echo_request(HOST, US, bytes(121))),
        ("not_ours", echo_request(HOST, US, bytes(1400))),
        ("length", reseal(good, 16, struct.pack("!H", len(good)))),
        ("length", reseal(good, 16, struct.pack("!H", len(good) - 18))),
        ("length", reseal(good, 16, b"\xff\xff")),
        ("length", reseal(good, 16, b"\x00\x00")),
        ("length", reseal(good, 16, b"\x00\x14")),
        ("length", claims(49)),
        ("length", claims(65535)),
        ("length", datagram(HOST, US, b"")),
        ("length", datagram(HOST, US, bytes(25))),
        ("form", datagram(HOST, US, packet(3, bytes(101), version=2))),
        ("length", datagram(HOST, US, report(3, tag=TAG, ranges=[(1, 1)], n=0))),
        ("length", datagram(HOST, US, report(3, tag=TAG, ranges=[(1, 1)], n=8193))),
    ]


@dataclass(frozen=True)
class Verdict:
    """What a frame is: `frames` of a class, or the event of the check that it fails."""

    event: str
    cls: str = ""  # arp, icmp, a UDP port's number
    is_report: bool = False  # of the stream
    other_version: bool = False


def judge(frame: bytes, ports: dict[int, bool], *, bad: bool = False) -> Verdict:
    """The verdict on a frame; ports that are taken, and whether each may lack a checksum.

    Only datagrams to our own port are judged further, as packets of a stream.
    """
    if bad:
        return Verdict("bad")
    if len(frame) > BYTES_MAX:
        return Verdict("oversize")
    if len(frame) < BYTES_MIN:
        return Verdict("runt")
    us, mac, ip = US.mac.to_bytes(6, "big"), frame[:6], US.ip.to_bytes(4, "big")
    (kind,) = struct.unpack_from("!H", frame, 12)
    if kind == ARP:
        right = mac in (us, b"\xff" * 6) and frame[38:42] == ip
        form = struct.pack("!HHBBH", 1, IPV4, 6, 4, 1)
        return Verdict("frames", "arp") if right and frame[14:22] == form else Verdict("not_ours")
    if mac != us or kind != IPV4 or frame[14] != 0x45 or frame[30:34] != ip:
        return Verdict("not_ours")
    return _judge_ip(frame, ports)


def _judge_ip(frame: bytes, ports: dict[int, bool]) -> Verdict:
    total, _, offset = struct.unpack_from("!HHH", frame, 16)
    if offset & 0x3FFF:  # an offset, or more fragments
        return Verdict("fragment")
    if total >= 20 and checksum(frame[14:34]):
        return Verdict("ip_sum")
    protocol = frame[23]
    _, port, length, given = struct.unpack_from("!HHHH", frame, 34)
    if protocol == ICMP and frame[34:36] == b"\x08\x00" and total - 20 <= ECHO_MAX:
        cls = "icmp"
    elif protocol == UDP and port in ports:
        cls = str(port)
    else:
        return Verdict("not_ours")
    end = 14 + total
    if total < 28 or end > len(frame):
        return Verdict("length")
    if cls == "icmp":
        return Verdict("udp_sum") if checksum(frame[34:end]) else Verdict("frames", cls)
    if length != total - 20:
        return Verdict("length")
    if given or not ports[port]:
        pseudo = frame[26:34] + struct.pack("!HH", UDP, length)
        if not given or checksum(pseudo + frame[34:end]):
            return Verdict("udp_sum")
    return judge_packet(frame[42:end]) if port == US.port else Verdict("frames", cls)


def judge_packet(data: bytes) -> Verdict:
    """The verdict on a packet, docs/protocol.md#2.7 up to its CRC, length and range count."""
    cls = str(US.port)
    if len(data) < 26:
        return Verdict("length")
    version, kind = data[0] >> 4, data[0] & 15
    least, is_open_end = LENGTHS.get(kind, (26, True))
    fits = len(data) >= least if is_open_end else len(data) == least
    if version != 1:
        is_open = kind == OPEN and fits
        return Verdict("frames", cls, other_version=True) if is_open else Verdict("form")
    if kind not in LENGTHS or data[1] & 0x40:
        return Verdict("form")
    if crc32c(data[:-4]) != int.from_bytes(data[-4:], "big"):
        return Verdict("crc")
    if fits and kind == REPORT:
        fits = len(data) == least + 8 * int.from_bytes(data[60:62], "big")
    if not fits:
        return Verdict("length")
    of_stream = kind == REPORT and data[2:6] == TAG.to_bytes(4, "big")
    return Verdict("frames", cls, is_report=of_stream)

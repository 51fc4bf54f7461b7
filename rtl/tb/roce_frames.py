"""RoCEv2 frames as scapy makes them: an independent program, whose ICRC is the model."""

import random

from network import Peer
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.volatile import RandMAC

# Parameters of the CRC modules for the ICRC: the packet begins at the IP header, behind 8 bytes of
# ones; type of service, time to live, both checksums and BTH's reserved byte count as ones.
ICRC = {"Poly": 0xEDB88320, "StartByte": 14, "Init": 0xDEBB20E3, "BigEndian": 0}
MASKED = (15, 22, 24, 25, 40, 41, 46)
ONES = sum(1 << offset for offset in MASKED)


def roce_frame(payload: bytes, *, ends: tuple[Peer, Peer] | None = None, **bth) -> bytes:
    """A frame with its ICRC, of random fields.

    `ends` are its sender and receiver; what head_builder writes of Ethernet, IP and UDP is then as
    it writes it, and random otherwise.
    """
    fields = {
        "opcode": random.choice([0, 1, 2, 4, 6, 7, 8, 10, 13, 17]),
        "solicited": random.getrandbits(1),
        "padcount": -len(payload) % 4,
        "pkey": random.getrandbits(16),
        "fecn": random.getrandbits(1),
        "becn": random.getrandbits(1),
        "dqpn": random.getrandbits(24),
        "ackreq": random.getrandbits(1),
        "psn": random.getrandbits(24),
    } | bth
    return bytes((_between(*ends) if ends else _anywhere()) / BTH(**fields) / Raw(payload))


def _anywhere() -> Packet:
    return (
        Ether(src=str(RandMAC()), dst=str(RandMAC()))
        / IP(
            src=f"10.{random.randrange(256)}.{random.randrange(256)}.1",
            dst=f"10.0.{random.randrange(256)}.{random.randrange(1, 255)}",
            tos=random.getrandbits(8),
            ttl=random.randrange(1, 256),
            flags="DF",
        )
        / UDP(sport=random.randrange(0xC000, 0x10000), dport=4791)
    )


def _between(src: Peer, dst: Peer) -> Packet:
    def mac(peer: Peer) -> str:
        return peer.mac.to_bytes(6, "big").hex(":")

    def ip(peer: Peer) -> str:
        return ".".join(map(str, peer.ip.to_bytes(4, "big")))

    # ECT(0), and no UDP checksum.
    return (
        Ether(src=mac(src), dst=mac(dst))
        / IP(src=ip(src), dst=ip(dst), tos=2, id=0, ttl=64, flags="DF")
        / UDP(sport=src.port, dport=dst.port, chksum=0)
    )

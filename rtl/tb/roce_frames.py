"""RoCEv2 frames as scapy makes them: an independent program, whose ICRC is the model."""

import random

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.volatile import RandMAC

# Parameters of the CRC modules for the ICRC: the packet begins at the IP header, behind 8 bytes of
# ones; type of service, time to live, both checksums and BTH's reserved byte count as ones.
ICRC = {"Poly": 0xEDB88320, "StartByte": 14, "Init": 0xDEBB20E3, "BigEndian": 0}
MASKED = (15, 22, 24, 25, 40, 41, 46)
ONES = sum(1 << offset for offset in MASKED)


def roce_frame(payload: bytes, **bth) -> bytes:
    """A frame with its ICRC, of random addresses and fields."""
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
    frame = (
        Ether(src=str(RandMAC()), dst=str(RandMAC()))
        / IP(
            src=f"10.{random.randrange(256)}.{random.randrange(256)}.1",
            dst=f"10.0.{random.randrange(256)}.{random.randrange(1, 255)}",
            tos=random.getrandbits(8),
            ttl=random.randrange(1, 256),
            flags="DF",
        )
        / UDP(sport=random.randrange(0xC000, 0x10000), dport=4791)
        / BTH(**fields)
        / Raw(payload)
    )
    return bytes(frame)

#!/usr/bin/env python3
"""Compare roce.json with what scapy and, where it is installed, tshark read.

scapy computes each ICRC again and reads each header; tshark looks for malformed frames. tshark does
not check the ICRC.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.utils import wrpcap

TABLE = Path(__file__).resolve().parent / "roce.json"
BTH_FIELDS = {
    "opcode": "opcode", "solicited": "solicited", "migrated": "migreq", "p_key": "pkey",
    "fecn": "fecn", "becn": "becn", "destination": "dqpn", "ack_request": "ackreq", "psn": "psn",
    "pad": "padcount",
}  # fmt: skip
# BTH's reserved bits and the ICRC stand where scapy has fields of its own.
BTH_BYTES, ICRC_BYTES = 12, 4


def wrong_icrc(frame: bytes, packet: Packet) -> bool:
    """Whether scapy computes another ICRC. It builds reserved bits as it read them."""
    return packet[BTH].compute_icrc(None) != frame[-ICRC_BYTES:]


def differences(vector: dict) -> list[str]:
    """The fields of a frame in which scapy differs."""
    frame = bytes.fromhex(vector["hex"])
    packet = Ether(frame)
    stated = {"opcode": vector["opcode"], "pad": vector["pad"], **vector["bth"]}
    found = [name for name, of in BTH_FIELDS.items() if getattr(packet[BTH], of) != stated[name]]
    found += ["icrc"] if wrong_icrc(frame, packet) else []
    route = vector["route"]
    if (packet[IP].tos, packet[IP].ttl, packet[IP].id, packet[UDP].sport) != tuple(
        route[name] for name in ("tos", "ttl", "identification", "source_port")
    ):
        found.append("route")
    if packet[IP].len != len(frame) - 14 or packet[UDP].len != len(frame) - 34:
        found.append("length")
    if "aeth" in vector and (packet[AETH].syndrome, packet[AETH].msn) != tuple(
        vector["aeth"].values()
    ):
        found.append("aeth")
    return found


def malformed(frames: list[bytes]) -> list[str]:
    """The numbers of frames that tshark calls malformed."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/roce.pcap"
        wrpcap(path, [Ether(frame) for frame in frames])
        filters = "_ws.malformed || _ws.expert.severity == error || !infiniband"
        command = ["tshark", "-r", path, "-Y", filters, "-T", "fields", "-e", "frame.number"]
        # It takes the payload of a SEND for a remote procedure call.
        command += ["--disable-protocol", "rpcordma"]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
    return result.stdout.split()


def main() -> int:
    table = json.loads(TABLE.read_text())
    failures = []
    for vector in table["frames"]:
        failures += [f"{vector['name']}: {name}" for name in differences(vector)]
    # An empty list of differences would say nothing if scapy did not look.
    flipped = bytearray.fromhex(table["frames"][0]["hex"])
    flipped[60] ^= 1
    if not wrong_icrc(bytes(flipped), Ether(bytes(flipped))):
        failures.append("scapy accepts a wrong ICRC")
    wanted = [row for row in table["invalid"] if row["error"] == "Icrc"]
    for row in wanted:
        frame = bytes.fromhex(row["hex"])
        if not wrong_icrc(frame, Ether(frame)):
            failures.append(f"{row['name']}: scapy finds the ICRC right")
    for row in table["foreign"]:
        frame = bytes.fromhex(row["hex"])
        if wrong_icrc(frame, Ether(frame)):
            failures.append(f"{row['name']}: icrc")
    if shutil.which("tshark"):
        numbers = malformed([bytes.fromhex(vector["hex"]) for vector in table["frames"]])
        failures += [f"{table['frames'][int(n) - 1]['name']}: tshark" for n in numbers]
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

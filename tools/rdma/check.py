#!/usr/bin/env python3
"""Records streams over RDMA between two network namespaces, and verifies what was recorded.

    python3 tools/rdma/check.py target/debug/samplewire

Five recordings of a counting device (docs/protocol.md#13): over a whole wire, of a device that only
a route leads to, of one without the option, which sends DATA, with `--fault` and `--capture`, and
over a wire that loses 1 % of all frames each way. tshark reads the frames of the first, and the
capture, and finds none malformed. Needs root,
iproute2, ethtool and tshark. Exit: 0 when all holds, 1 when something does not, or when it cannot
run here.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import netns
from turns import ProgramError

MTU_BYTES = 4200
ROUTED_IP = "10.98.0.1"
RATE_HZ = "5M"
SAMPLES = 2_000_000
LOSS = 0.01
LOST = re.compile(r"([\d,]+) of [\d,]+ lost")
FRAMES = 2_000
PATIENCE_S = 60
START_S = 20


class RdmaError(Exception):
    """Something of a stream over RDMA that does not hold."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("samplewire", nargs="?", type=Path)
    parser.add_argument("--can-run", action="store_true", help="print why not, if it cannot run")
    arguments = parser.parse_args()
    reason = missing()
    if reason or arguments.can_run:
        print(reason or "yes")
        return 1 if reason else 0
    if arguments.samplewire is None:
        parser.error("name the command: target/debug/samplewire")
    command = str(arguments.samplewire.resolve())
    try:
        with netns.wire(mtu_bytes=MTU_BYTES, has_gro=False, loss=0) as wire:
            check_whole(wire, command)
            check_routed(wire, command)
            check_data(wire, command)
            check_captured(wire, command)
            for end in (wire.sender, wire.receiver):
                lose(end)
            record(wire, command, ["--carriage", "rdma"], is_rdma=True)
            check_lost(wire)
    except (RdmaError, ProgramError, subprocess.SubprocessError) as error:
        print(f"rdma: {error}", file=sys.stderr)
        return 1
    return 0


def missing() -> str:
    if not shutil.which("tshark"):
        return "it reads frames by tshark: apt-get install tshark"
    return netns.missing()


def check_whole(wire: netns.Wire, command: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "frames.pcapng"
        words = ["tshark", "-q", "-i", netns.DEVICE, "-c", str(FRAMES), "-w", str(capture)]
        words += ["-f", "udp port 4791"]
        tshark = subprocess.Popen([*wire.receiver, *words], stderr=subprocess.PIPE, text=True)
        try:
            wait_for(tshark, "Capturing")
            record(wire, command, ["--carriage", "rdma"], is_rdma=True)
            tshark.wait(PATIENCE_S)
        finally:
            tshark.kill()
        malformed = frames(capture, "_ws.malformed")
        writes = frames(capture, "infiniband.bth.opcode == 11")
    # The others acknowledge: at most one for each.
    if malformed or writes < FRAMES // 2:
        raise RdmaError(f"of {FRAMES} frames tshark finds {malformed} malformed, {writes} WRITEs")
    print(f"whole wire: {SAMPLES:,} samples, {writes:,} of {FRAMES:,} frames are WRITE ONLY")


def check_routed(wire: netns.Wire, command: str) -> None:
    """The device's address is of another network, and its host answers no ARP for it there."""
    device = ("dev", netns.DEVICE)
    netns.run(*wire.sender, "sysctl", "-qw", f"net.ipv4.conf.{netns.DEVICE}.arp_ignore=2")
    netns.run(*wire.sender, "ip", "address", "add", f"{ROUTED_IP}/32", *device)
    route = ("ip", "route", "add", ROUTED_IP, "via", netns.SENDER_IP)
    netns.run(*wire.receiver, *route, *device)
    record(wire, command, ["--carriage", "rdma"], is_rdma=True, ip=ROUTED_IP)
    print(f"behind a route: {SAMPLES:,} samples", flush=True)


def check_data(wire: netns.Wire, command: str) -> None:
    errors = record(wire, command, [], is_rdma=False)
    if "--carriage rdma: the device sends" not in errors:
        raise RdmaError(f"record does not warn of a device without RDMA: {errors}")
    print(f"device without RDMA: {SAMPLES:,} samples as DATA", flush=True)


def check_captured(wire: netns.Wire, command: str) -> None:
    """`--fault` and `--capture` see the frames of the stream too."""
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "captured.pcapng"
        faults = ["--fault", f"data:loss={LOSS}", "--fault", f"feedback:loss={LOSS}"]
        rdma = ["--carriage", "rdma"]
        options = ["--capture", str(capture), *faults]
        output = record(wire, command, rdma, is_rdma=True, recorder=options, wants_output=True)
        malformed = frames(capture, "_ws.malformed")
        shown = [
            frames(capture, display)
            for display in ("infiniband.bth.opcode == 11", "infiniband.aeth", "udp.port == 9100")
        ]
    lost = [int(number.replace(",", "")) for number in LOST.findall(output)]
    # Of some 2,000 WRITEs; acknowledgements are coalesced.
    if malformed or min(shown) < 10 or len(lost) != 2 or lost[0] < 5:
        raise RdmaError(
            f"{malformed} malformed; WRITEs, ACKs, control {shown}; lost {lost}: {output}"
        )
    print(
        f"captured: {shown[0]:,} WRITEs, {shown[1]:,} ACKs, {shown[2]:,} control packets; "
        f"lost {lost}",
        flush=True,
    )


def record(
    wire: netns.Wire,
    command: str,
    options: list[str],
    *,
    is_rdma: bool,
    ip: str = netns.SENDER_IP,
    recorder: Sequence[str] = (),
    wants_output: bool = False,
) -> str:
    """Records from a device with these options; returns the recorder's errors, or its output."""
    words = [command, "emulate", "--listen", f"{ip}:9100", "--source", "counter"]
    words += ["--rate", RATE_HZ, *options]
    device = subprocess.Popen([*wire.sender, *words], stdout=subprocess.PIPE, text=True)
    try:
        wait_for(device, "waiting for a receiver")
        with tempfile.TemporaryDirectory() as folder:
            name = str(Path(folder) / "recorded")
            words = [command, "record", ip, name, "--nsamps", str(SAMPLES)]
            words += ["--carriage", "rdma", *recorder]
            done = run([*wire.receiver, *words])
            if done.returncode != 0 or ("over RDMA" in done.stdout) != is_rdma:
                raise RdmaError(f"{done.stdout}\n{done.stderr}")
            verified = run([command, "verify", f"{name}.sigmf-meta", "--json"])
            check_verified(verified)
            check_samples(Path(f"{name}.sigmf-data").read_bytes())
    finally:
        device.kill()
        device.wait()
    return done.stdout if wants_output else done.stderr


def check_verified(verified: subprocess.CompletedProcess[str]) -> None:
    if verified.returncode != 0:
        raise RdmaError(f"the recording is not proven: {verified.stdout}{verified.stderr}")
    report = json.loads(verified.stdout)
    if (report["samples"], report["samples_missing"]) != (SAMPLES, 0):
        raise RdmaError(f"samples are missing: {verified.stdout}")


def check_samples(data: bytes) -> None:
    """The counter's samples are their indexes, in 4 bytes."""
    words = memoryview(data).cast("I")
    first = words[0]
    if len(words) != SAMPLES:
        raise RdmaError(f"{len(words)} samples of {SAMPLES}")
    for at, word in enumerate(words):
        if word != (first + at) & 0xFFFF_FFFF:
            raise RdmaError(f"sample {at} is {word}, not {first + at}")


def lose(end: tuple[str, ...]) -> None:
    """Frames are lost as they leave: what comes in, a packet socket sees before any filter."""
    netns.run(*end, "tc", "qdisc", "add", "dev", netns.DEVICE, "clsact")
    program = netns.CLSACT_PROGRAM.format(threshold=int(LOSS * 2**32))
    filter_ = ["filter", "add", "dev", netns.DEVICE, "egress", "protocol", "ip", "bpf", "da"]
    netns.run(*end, "tc", *filter_, "bytecode", program)


def lost(end: tuple[str, ...]) -> int:
    answer = netns.run(*end, "tc", "-s", "-j", "qdisc", "show", "dev", netns.DEVICE)
    return netns.parse_clsact(answer).lost


def check_lost(wire: netns.Wire) -> None:
    counts = [lost(end) for end in (wire.sender, wire.receiver)]
    if not all(counts):
        raise RdmaError(f"the wire lost {counts} frames each way: this proves nothing")
    print(
        f"loss: {SAMPLES:,} samples whole, {counts[0]:,} and {counts[1]:,} frames lost", flush=True
    )


def frames(capture: Path, which: str) -> int:
    return len(run(["tshark", "-r", str(capture), "-Y", which]).stdout.splitlines())


def run(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def wait_for(program: subprocess.Popen[str], words: str) -> None:
    stream = program.stdout or program.stderr
    until = time.monotonic() + START_S
    for line in stream:
        if words in line:
            return
        if time.monotonic() > until:
            break
    raise RdmaError(f"{program.args} does not print '{words}'")


if __name__ == "__main__":
    sys.exit(main())

"""The TCP/IP host of the virtual board's soft core under Linux: a DHCP server, ping, UDP, TCP.

A long test: the model with a core takes a minute to build. The tests then take half a minute.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from place import ROOT, TAP, Board, Loopback, Tap, build_board, firmware_image
from test_board import Capture, needs, needs_ethernet, tshark

sys.path.insert(0, str(ROOT / "firmware" / "nic"))

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.full

NIC_MAC = "02:53:57:49:52:00"
OTHER_MAC = "02:53:57:49:52:07"
OTHER_SENDER = "02:53:57:00:00:02"
FIRST_LEASE = 100
# Of a board under the kernel, of the cycles on the bench of `make firmware-check`.
CYCLES_OF_SIMULATED = 1.2
# About as much slower the simulation is: so timers of the program run as often as on a device.
SLOW = 100
PINGS = 5
QUIET_CYCLES = 20_000
PING_DATA = 56
PING_FRAME = 1472

# In the namespace: datagrams of each length come back; a console answers registers, and many lines.
CLIENT = """
    import socket, sys, time
    board = sys.argv[1]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.settimeout(5)
    for size in (0, 1, 18, 500, 1471, 1472):
        sent = bytes(n * 7 & 0xff for n in range(size))
        udp.sendto(sent, (board, 7))
        assert udp.recvfrom(2000) == (sent, (board, 7)), size
    def connected():
        # Refused until the connection before has ended there too.
        for _ in range(100):
            try:
                return socket.create_connection((board, 23), 10)
            except ConnectionRefusedError:
                time.sleep(0.05)
    def talk(lines, end):
        with connected() as tcp:
            tcp.sendall(lines)
            text = b""
            while not text.endswith(end):
                more = tcp.recv(4096)
                assert more, text
                text += more
        return text
    said = talk(b"read nic.filter\\nwrite nic.filter 11\\nread nic.filter\\n", b"b\\r\\n")
    assert said == b"0x00000003\\r\\nok\\r\\n0x0000000b\\r\\n", said
    # A connection behind another, with an answer of several segments.
    said = talk(b"counters\\n", b"ok\\r\\n")
    for name in (b"device.bad_checksum 0", b"device.fragments 0", b"nic.bad 0"):
        assert name + b"\\r\\n" in said, said
"""


@pytest.fixture(scope="module")
def image() -> Path:
    """The host with addresses of its own."""
    return firmware_image("stack_apart")


@pytest.fixture(scope="module")
def binary() -> Path:
    """The board with one core."""
    return build_board("board_64_soc_1", "W=64", "SOC=1")


class Dhcp:
    """dnsmasq as the DHCP server at a device of a namespace."""

    def __init__(self, place: Tap, folder: Path, device: str) -> None:
        self._leases = folder / "leases"
        command = [
            "dnsmasq",
            "--keep-in-foreground",
            "--log-facility=-",
            "--conf-file=/dev/null",
            "--port=0",
        ]
        command += [
            "--user=root",
            "--group=",
            "--no-ping",
            f"--interface={device}",
            "--bind-interfaces",
        ]
        command += [f"--dhcp-range=10.64.0.{FIRST_LEASE},10.64.0.199,1h", "--pid-file="]
        command += [f"--dhcp-leasefile={self._leases}"]
        self._log = folder / "dnsmasq.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen([*place.prefix, *command], stdout=log, stderr=log)

    def __enter__(self) -> Dhcp:
        end = time.monotonic() + 5
        while "IP range" not in self._log.read_text():
            assert time.monotonic() < end, self._log.read_text()
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(5)

    def wait_for(self, mac: str, timeout_s: float = 20) -> str:
        """The address that it has given to a host; waits until the host has it."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end and self._process.poll() is None:
            for line in self._leases.read_text().splitlines() if self._leases.exists() else ():
                _, theirs, address, *_ = line.split()
                if theirs == mac:
                    return address
            time.sleep(0.05)
        pytest.fail(f"no lease for {mac}: {self._log.read_text()}")


def run(place: Tap, *command: object) -> str:
    """What a command prints in the namespace."""
    words = [*place.prefix, *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def ping(place: Tap, address: str, size: int, count: int) -> None:
    """So many pings are answered, none twice.

    The first of all may be lost: the host requests this end's address then.
    """
    said = run(place, "ping", "-c", count, "-i", "0.2", "-s", size, "-w", 10, address)
    assert "DUP" not in said, said


@pytest.fixture
def ethernet(place: Tap | Loopback) -> Iterator[Tap]:
    """A namespace in which what these tests need can run."""
    needs_ethernet(place)
    for program in ("dnsmasq", "ping", "ip"):
        needs(program)
    yield place


def test_linux_and_the_stack_understand_each_other(
    ethernet: Tap, binary: Path, image: Path, samplewire: Path, tmp_path: Path
) -> None:
    """A lease, pings, datagrams and the console; tshark finds no frame that is not right."""
    needs("tshark")
    capture = tmp_path / "frames.pcapng"
    ethernet.write(f"/sys/class/net/{TAP}/gro_flush_timeout", "0")
    with (
        Capture(ethernet, capture),
        Dhcp(ethernet, tmp_path, TAP) as dhcp,
        Board(binary, ethernet, tmp_path, "--nic", image),
    ):
        address = dhcp.wait_for(NIC_MAC)
        assert int(address.rsplit(".")[-1]) >= FIRST_LEASE
        for size in (0, PING_DATA, PING_FRAME):
            # The DHCP server has given the kernel the board's address.
            run(ethernet, "ip", "neigh", "flush", "dev", TAP)
            ping(ethernet, address, size, 2)
        said = run(ethernet, samplewire, "nic", "regs", address, "nic.filter", "--json")
        assert json.loads(said), said
        run(ethernet, sys.executable, "-c", textwrap.dedent(CLIENT), address)
    ours = f"eth.src == {NIC_MAC}"
    wrong = " || ".join(f"{layer}.checksum.status == 0" for layer in ("ip", "icmp", "udp", "tcp"))
    # A refused connection is a warning too.
    wrong += " || _ws.malformed || (_ws.expert.severity >= 0x600000 && !tcp.flags.reset)"
    assert tshark(capture, f"{ours} && ({wrong})") == []
    counts = {
        layer: len(tshark(capture, f"{ours} && {layer}.checksum.status == 1"))
        for layer in ("ip", "icmp", "udp", "tcp")
    }
    # Six datagrams, two frames of DHCP and six pings; three connections.
    assert counts["icmp"] >= 6
    assert counts["udp"] >= 8
    assert counts["tcp"] >= 9
    assert counts["ip"] == sum(counts.values()) / 2, counts
    assert len(tshark(capture, f"{ours} && dhcp.option.dhcp == 3")) >= 1
    assert len(tshark(capture, f"{ours} && arp.opcode == 2")) >= 1


def simulated_ping(image: Path) -> float:
    """Cycles of a ping on the bench of `make firmware-check`, in its median."""
    check = pytest.importorskip("check", reason="firmware/nic/check.py needs scapy")
    program = build_board("nic_soc_frames_1_1g", target="nic_soc_frames")
    bench = check.Bench(str(program), str(image))
    check.lease(bench, bench.exchange(None)[0])
    request = check.ARP(psrc=check.PEER_IP, pdst=check.LEASE)
    bench.exchange(check.Ether(dst="ff:ff:ff:ff:ff:ff", **check.PEER) / request)
    frame = check.to_board(check.ICMP(id=7, seq=1), check.Raw(bytes(PING_DATA)))
    cycles = []
    for _ in range(PINGS):
        cycles.append(bench.exchange(frame)[1][1])
        assert bench.exchange(None, QUIET_CYCLES) is None
    bench.close()
    return statistics.median(cycles)


def test_ping_takes_the_cycles_of_the_bench(
    ethernet: Tap, binary: Path, image: Path, tmp_path: Path
) -> None:
    """The NIC beside a stream, and the kernel, add no more than a fifth to the processor's work."""
    most = CYCLES_OF_SIMULATED * simulated_ping(image)
    with (
        Dhcp(ethernet, tmp_path, TAP) as dhcp,
        Board(binary, ethernet, tmp_path, "--nic", image, "--slow", SLOW) as board,
    ):
        address = dhcp.wait_for(NIC_MAC)
        ping(ethernet, address, PING_DATA, 1)
        # No frame but the pings.
        fixed = f"ip neigh replace {address} lladdr {NIC_MAC} nud permanent dev {TAP}"
        run(ethernet, *fixed.split())
        cycles = []
        for _ in range(PINGS):
            ping(ethernet, address, PING_DATA, 1)
            received, sent = (int(line.split()[1]) for line in board.ask("cycles")[:2])
            cycles.append(sent - received)
    print(f"ping of {PING_DATA} bytes: {cycles} cycles in the board, at most {most:.0f}")
    assert min(cycles) > 0
    assert statistics.median(cycles) <= most


def test_two_boards_on_one_bridge_have_addresses_of_their_own(
    ethernet: Tap, binary: Path, image: Path, tmp_path: Path
) -> None:
    """By `--nic-mac`: the bridge and the DHCP server take them for two hosts."""
    commands = (
        "ip link add bridge type bridge",
        f"ip address flush dev {TAP}",
        "ip address add 10.64.0.1/24 dev bridge",
        "ip tuntap add tap1 mode tap",
        f"ip link set {TAP} master bridge",
        "ip link set tap1 master bridge",
        "ip link set tap1 up",
        "ip link set bridge up",
    )
    for command in commands:
        run(ethernet, *command.split())
    other = SimpleNamespace(prefix=ethernet.prefix, board_options=["--tap", "tap1"])
    (tmp_path / "other").mkdir()
    # The senders beside the cores have addresses too.
    options = ("--nic-mac", OTHER_MAC, "--mac", OTHER_SENDER, "--ip", "10.64.0.4")
    with (
        Dhcp(ethernet, tmp_path, "bridge") as dhcp,
        Board(binary, ethernet, tmp_path, "--nic", image),
        Board(binary, other, tmp_path / "other", "--nic", image, *options),
    ):
        addresses = [dhcp.wait_for(mac) for mac in (NIC_MAC, OTHER_MAC)]
        assert len(set(addresses)) == 2
        for address, mac in zip(addresses, (NIC_MAC, OTHER_MAC), strict=True):
            ping(ethernet, address, PING_DATA, 3)
            assert mac in run(ethernet, "ip", "neigh", "show", address)

"""The virtual board of RoCEv2 under `samplewire roce listen`: every byte of the region, through
loss and a flood of congestion notifications. On a TAP device in a network namespace, or skipped."""

from __future__ import annotations

import json
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from network import Peer
from place import TAP, Board, Tap, build_board
from roce_types import framed, roce

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST_ADDRESS = "10.64.0.1"
MESSAGE_BYTES, SLOTS, QPN = 4096, 10, 17
BOARD = Peer(mac=0x025357000001, ip=0x0A400002, port=4791)
# In slow machines a test waits for so long.
PATIENCE_S = 60
SEND_FRAMES = """
import socket, sys, time
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind((sys.argv[1], 0))
frame, end = bytes.fromhex(sys.argv[2]), time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    link.send(frame)
    time.sleep(0.00002)
"""


@pytest.fixture(scope="session")
def binary() -> Path:
    """The board's program, with the receiving half, which the other tests need."""
    return build_board("board_rdma_full", "CARRIAGE=rdma", "FULL=1")


class Listener:
    """A board with its connection to `samplewire roce listen`."""

    def __init__(self, binary: Path, samplewire: Path, place: Tap, folder: Path, *options: object):
        self._got = folder / "got"
        line, peer = folder / "line", folder / "peer"
        self.board = Board(
            binary, place, folder, "--carriage", "rdma", "--line", line, "--peer", peer,
            "--qpn", QPN, "--psn", (1 << 24) - 5, "--message", MESSAGE_BYTES, *options,
        )  # fmt: skip
        # The region is no whole number of slots.
        command = [
            *place.prefix, samplewire, "roce", "listen", "--interface", TAP, "--ip", HOST_ADDRESS,
            "--mtu", 4096, "--receives", 256, "--peer", line, "--region", SLOTS * MESSAGE_BYTES + 8,
            "--out", self._got, "--json",
        ]  # fmt: skip
        with peer.open("w") as error:
            self._process = subprocess.Popen(
                list(map(str, command)), stdout=subprocess.PIPE, stderr=error, text=True
            )

    def read(self, register: str) -> int:
        """A register of the board."""
        return int(self.board.ask(f"read {register}")[-1], 0)

    def wait_for_messages(self, count: int) -> None:
        """Waits until so many are acknowledged."""
        self.board.wait_for("messages", count, PATIENCE_S)

    def end(self, count: int) -> dict:
        """Ends the listener, and holds the slots against the last of `count` messages."""
        self._process.send_signal(signal.SIGINT)
        text, _ = self._process.communicate(timeout=PATIENCE_S)
        said = json.loads(text)
        assert said["result"] == "whole", said
        assert (said["messages"], said["immediates"]) == (count, count)
        assert said["last_immediate"] == count - 1
        assert said["bytes_written"] == count * MESSAGE_BYTES
        got = self._got.read_bytes()
        assert len(got) == SLOTS * MESSAGE_BYTES
        words = MESSAGE_BYTES // 8
        for k in range(count - SLOTS, count):
            slot = k % SLOTS * MESSAGE_BYTES
            want = struct.pack(f"<{words}Q", *range(k * words, (k + 1) * words))
            assert got[slot : slot + MESSAGE_BYTES] == want, f"message {k}"
        return said

    def stop(self) -> None:
        """Ends what still runs."""
        self._process.kill()
        self._process.wait(5)
        self.board.stop()


@pytest.fixture
def connect(binary: Path, samplewire: Path, place: Tap, tmp_path: Path) -> Iterator:
    """Connects boards; what still runs in the end is ended."""
    if not place.has_ethernet:
        pytest.skip("no right to make a network namespace with a TAP device")
    made = []

    def connect_board(*options: object) -> Listener:
        made.append(Listener(binary, samplewire, place, tmp_path, *options))
        return made[-1]

    yield connect_board
    for listener in made:
        listener.stop()


def test_messages_fill_the_region_of_a_listener(connect) -> None:
    """All arrive once, in order, in their slots; nothing is repeated."""
    listener = connect("--messages", 1003)
    listener.wait_for_messages(1003)
    said = listener.end(1003)
    assert (said["packets"], said["duplicates"], said["frames_invalid"]) == (1003, 0, 0)


def test_messages_are_whole_through_loss(connect) -> None:
    """2 % of the frames are lost each way."""
    listener = connect("--messages", 1003, "--loss", "0.02")
    listener.wait_for_messages(1003)
    counters = listener.board.counters()
    said = listener.end(1003)
    assert counters["retransmissions"] > 0 and said["out_of_order"] > 0
    assert counters["packets"] == 1003 + counters["retransmissions"]


def test_flood_of_notifications_cuts_the_rate_and_ends_nothing(connect, place: Tap) -> None:
    """Forged CNPs cut the rate to a fraction, never below the minimum; the bytes stay right."""
    listener = connect()
    listener.wait_for_messages(20)
    line, minimum = listener.read("rate_line"), listener.read("rate_minimum")
    assert listener.read("rate") == line
    host = Peer(mac=0x020000000009, ip=0x0A400001, port=4791)
    bth = roce.bth(roce.CNP, {**roce.BTH, "destination": QPN, "psn": 0}, 0)
    cnp = framed(bth + bytes(16), host, BOARD, tos=0xC0)
    began = time.monotonic()
    send = [*place.prefix, sys.executable, "-c", SEND_FRAMES, TAP, cnp.hex(), "0.5"]
    rates = []
    with subprocess.Popen(send) as sender:
        while sender.poll() is None:
            rates.append(listener.read("rate"))
    assert sender.returncode == 0
    seconds = time.monotonic() - began
    counters = listener.board.counters()
    assert counters["cnps"] > 100
    # One cut in D, by the board's clock, which is never ahead of the wall's.
    assert 5 <= counters["cuts"] <= seconds * 1e9 / listener.read("cut_interval") + 1
    assert minimum <= min(rates) < line // 8, rates
    assert listener.board.ask("close") == ["ok"]
    end = time.monotonic() + PATIENCE_S
    while listener.read("posted") != listener.read("completed"):
        assert time.monotonic() < end
        time.sleep(0.05)
    count = listener.read("completed")
    assert count > 20
    listener.end(count)

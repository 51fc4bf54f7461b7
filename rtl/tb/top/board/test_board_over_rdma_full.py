"""The virtual board with the receiving half: `samplewire roce write` and `send` fill its memory,
through loss. On a TAP device in a network namespace, or skipped."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from place import TAP, Board, Tap, build_board

if TYPE_CHECKING:
    from collections.abc import Callable

HOST_ADDRESS = "10.64.0.1"
REGION_BYTES, MESSAGE_BYTES = 400_000, 65_536
# In slow machines a test waits for so long, and a packet for 4.096 us times 2 to that power: 1.1 s.
PATIENCE_S, TIMEOUT = 60, 18


@pytest.fixture(scope="session")
def binary() -> Path:
    """The board's program."""
    return build_board("board_rdma_full", "CARRIAGE=rdma", "FULL=1")


@pytest.fixture
def fill(binary: Path, samplewire: Path, place: Tap, tmp_path: Path) -> Callable:
    """Lets a peer fill the memory of a board; gives the counters and the memory."""
    if not place.has_ethernet:
        pytest.skip("no right to make a network namespace with a TAP device")
    line, peer, out = (tmp_path / name for name in ("line", "peer", "out"))

    def run(verb: str, data: bytes, options: list, board_options: list) -> tuple:
        (tmp_path / "data").write_bytes(data)
        board = Board(
            binary, place, tmp_path, "--carriage", "rdma", "--line", line, "--peer", peer,
            "--region", REGION_BYTES, "--message", MESSAGE_BYTES, "--out", out, *board_options,
        )  # fmt: skip
        try:
            command = [
                *place.prefix, samplewire, "roce", verb, tmp_path / "data", "--peer", line,
                "--interface", TAP, "--ip", HOST_ADDRESS, "--psn", (1 << 24) - 5, "--message",
                MESSAGE_BYTES, "--timeout", TIMEOUT, *options,
            ]  # fmt: skip
            with peer.open("w") as error:
                done = subprocess.run(
                    list(map(str, command)), stdout=subprocess.PIPE, stderr=error, text=True,
                    timeout=PATIENCE_S, check=False,
                )  # fmt: skip
            counters = board.counters()
        finally:
            board.stop()
        assert done.returncode == 0, (done, peer.read_text())
        return counters, out.read_bytes()

    return run


@pytest.mark.parametrize("verb", ["write", "send"])
def test_peer_fills_the_memory(fill: Callable, verb: str) -> None:
    """Every byte is in its place, those behind are left alone; nothing is executed twice."""
    data = random.Random(1).randbytes(300_001)
    counters, memory = fill(verb, data, ["--mtu", 4096], [])
    assert memory == data + bytes(REGION_BYTES - len(data))
    messages = -(-len(data) // MESSAGE_BYTES)
    assert counters["requests"] == sum(
        -(-min(MESSAGE_BYTES, len(data) - at) // 4096) for at in range(0, len(data), MESSAGE_BYTES)
    )
    assert counters["receives"] == (messages if verb == "send" else 0)
    assert counters["packets"] == counters["faults"] == 0


def test_memory_is_whole_through_loss(fill: Callable) -> None:
    """2 % of the frames are lost each way; each message has immediate data."""
    data = random.Random(2).randbytes(300_001)
    counters, memory = fill("write", data, ["--mtu", 256, "--immediate", 7], ["--loss", "0.02"])
    assert memory == data + bytes(REGION_BYTES - len(data))
    assert counters["out_of_order"] > 0 and counters["receives"] == 5
    assert counters["requests"] == -(-len(data) // 256)

"""The virtual board with a soft core that has the sender's address: who answers a ping.

A long test: the model with a core takes minutes to build.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from place import BOARD_ADDRESS, Board, Loopback, Tap, build_board, firmware_image
from test_board import PING_MAX, needs, needs_ethernet

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.full

# Of data: the longest that an MTU of 1,500 bytes takes, with the headers of IPv4 and ICMP.
PING_FRAME = 1472


def test_long_pings_are_answered_by_the_core(place: Tap | Loopback, tmp_path: Path) -> None:
    """`ctl_cpu` answers up to 120 bytes, and `stack` those above: each ping has one answer."""
    by_ctl_cpu = 0
    needs_ethernet(place)
    needs("ping")
    image = firmware_image("stack")
    binary = build_board("board_64_soc_1", "W=64", "SOC=1")
    with Board(binary, place, tmp_path, "--nic", image) as board:
        # The core has to start and to request the host's address first, and drops pings until then.
        for size in (PING_MAX + 1, PING_MAX, 1400, PING_FRAME):
            # A second answer to the first is seen while ping waits for the next.
            ping = ["ping", "-c", "2", "-i", "0.5", "-s", str(size), "-w", "10", BOARD_ADDRESS]
            done = subprocess.run([*place.prefix, *ping], capture_output=True, text=True)
            assert done.returncode == 0, (size, done.stdout)
            assert "DUP" not in done.stdout, (size, done.stdout)
            if size == PING_MAX:
                sent = re.search(r"(\d+) packets transmitted", done.stdout)
                assert sent, done.stdout
                by_ctl_cpu += int(sent[1])
        assert board.counters()["icmp_replies"] == by_ctl_cpu

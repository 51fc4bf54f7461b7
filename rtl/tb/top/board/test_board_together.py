"""The virtual board with a soft core: a picture goes both ways, a recording runs, ping answers.

A long test: the model with cores takes minutes to build, and 15.9 MB each way take it minutes more.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from place import BOARD_ADDRESS, TAP, Board, Host, Loopback, Tap, build_board, firmware_image
from test_board import check_counter, needs, needs_ethernet

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE_BYTES = 4
SAMPLES = 5_000_000
NIC_MAC = "02:53:57:49:52:00"
PICTURE_BYTES = round(15.9 * (1 << 20))
MINUTE_S = 60
# As fast as a simulation takes them: more would fill the TAP device's queue, and what others send
# be lost there.
PACE = ("--burst", "16", "--delay", "50ms")

pytestmark = pytest.mark.full


@pytest.fixture
def board(place: Tap | Loopback, tmp_path: Path) -> Iterator[Board]:
    """A board with memory outside for a picture, on a wire that loses 1 % each way."""
    needs_ethernet(place)
    image = firmware_image("block")
    binary = build_board("board_64_soc_1_outside", "W=64", "SOC=1", "MEMORY=outside")
    with Board(binary, place, tmp_path, "--nic", image, "--loss", "0.01") as board:
        yield board


def test_recording_is_whole_while_a_picture_goes_both_ways_and_ping_answers(
    board: Board, place: Tap | Loopback, samplewire: Path, tmp_path: Path
) -> None:
    """Every byte of both is right."""
    needs("ping")
    if os.geteuid() != 0:
        pytest.skip("raw frames need CAP_NET_RAW")
    picture = tmp_path / "picture"
    picture.write_bytes(bytes(range(251)) * (PICTURE_BYTES // 251 + 1))
    os.truncate(picture, PICTURE_BYTES)
    data = tmp_path / "together.sigmf-data"
    host = Host(samplewire, place)
    options = ("--nsamps", SAMPLES, "--fail-on", "gap=0")
    command = [*place.prefix, samplewire, "nic", "image", TAP, "--peer", NIC_MAC, "--scheme", "4"]
    command += [*PACE, "--rounds", "1", "--pictures", picture, "--json"]
    ping = [*place.prefix, "ping", "-i", "0.5", "-W", "5", BOARD_ADDRESS]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    transfer = subprocess.Popen(command, **pipes)
    pings = subprocess.Popen(ping, **pipes)
    try:
        status, said = host.record(data, *options, timeout_s=20 * MINUTE_S)
        assert transfer.poll() is None, transfer.communicate()
        out, error = transfer.communicate(timeout=20 * MINUTE_S)
    finally:
        transfer.kill()
        pings.send_signal(signal.SIGINT)
        words = pings.communicate(timeout=MINUTE_S)[0]
    assert (status, said["end"]["samples_missing"]) == (0, 0), said["end"]
    assert check_counter(data) == SAMPLES * SAMPLE_BYTES
    assert said["end"]["packets_repaired"] > 0
    assert transfer.returncode == 0, error
    (figures,) = json.loads(out)["pictures"]
    assert (figures["verified_bytes"], figures["wrong"]) == (PICTURE_BYTES, 0), figures
    sent, answered = re.search(r"(\d+) packets transmitted, (\d+) received", words).groups()
    # 1 % is lost each way.
    assert int(answered) > 0.9 * int(sent), words
    print(f"{figures}; {answered} of {sent} pings answered")

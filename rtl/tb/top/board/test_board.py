"""The virtual board under the programs that a user has: probe, record, ping, tshark.

On a TAP device in a network namespace where one is to be had, else over UDP at loopback, and what
needs Ethernet is skipped. `SAMPLEWIRE_BIN` names a `samplewire` that is built already.
"""

from __future__ import annotations

import array
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from place import BOARD_ADDRESS, PORT, TAP, Board, Host, Loopback, Tap, build_board

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAMPLE_BYTES = 4
BOARD_MAC = "02:53:57:00:00:01"
UNKNOWN_STREAM_EXIT = 2
PING_SIZES = (0, 33, 56)
PING_MAX = 120  # bytes of data in an echo request that the board itself answers


@pytest.fixture(scope="session", params=[64, pytest.param(512, marks=pytest.mark.full)])
def binary(request: pytest.FixtureRequest) -> Path:
    """The board's program at one width."""
    return build_board(f"board_{request.param}", f"W={request.param}")


@pytest.fixture
def host(samplewire: Path, place: Tap | Loopback) -> Host:
    """The program at the other end."""
    return Host(samplewire, place)


@pytest.fixture
def start(binary: Path, place: Tap | Loopback, tmp_path: Path) -> Iterator[Callable[..., Board]]:
    """Starts boards; what still runs in the end is ended."""
    boards = []

    def start_board(*options: object) -> Board:
        boards.append(Board(binary, place, tmp_path, *options))
        return boards[-1]

    yield start_board
    for board in boards:
        board.stop()


def tai_ns() -> int:
    """TAI of the host, as the board takes it."""
    utc, tai = time.time_ns(), time.clock_gettime_ns(time.CLOCK_TAI)
    return tai if tai > utc + 10**9 else utc + 37 * 10**9


def needs_ethernet(place: Tap | Loopback) -> None:
    """Skips what UDP at loopback does not show."""
    if not place.has_ethernet:
        pytest.skip("no right to make a network namespace with a TAP device")


def needs(program: str) -> None:
    """Skips what a program that is not installed would show."""
    if not shutil.which(program):
        pytest.skip(f"there is no {program}")


def check_counter(data: Path) -> int:
    """Holds each byte of a recording without gaps against the test source's counter.

    Its first index is that of the metadata, and says what the first word must be. Gives the bytes.
    """
    (capture,) = json.loads(data.with_suffix(".sigmf-meta").read_text())["captures"]
    words_at_once = 1 << 20
    first_byte = capture["core:global_index"] * SAMPLE_BYTES
    assert first_byte % 8 == 0
    word = first_byte // 8
    count = data.stat().st_size
    with data.open("rb") as file:
        while chunk := file.read(8 * words_at_once):
            got = array.array("Q", chunk[: len(chunk) // 8 * 8])
            assert sys.byteorder == "little"
            if got != array.array("Q", range(word, word + len(got))):
                at = next(i for i, value in enumerate(got) if value != word + i)
                pytest.fail(f"word {word + at} reads {got[at]}")
            rest = chunk[8 * len(got) :]
            assert rest == struct.pack("<Q", word + len(got))[: len(rest)]
            word += len(got)
    return count


def test_probe_shows_the_board(start: Callable[..., Board], host: Host) -> None:
    """The terms of the registers and the template arrive; nothing is opened."""
    board = start("--boot-id", "0x1234", "--payload", "1408", "--rate", "1000000")
    said = host.probe()
    assert said["boot_id"] == "0000000000001234"
    assert (said["format"], said["channels"], said["payload_bytes"]) == ("sc16", 1, 1408)
    assert said["rate_hz"] == pytest.approx(1e6, rel=0.01)
    assert said["name"] == "samplewire board"
    assert int(board.ask("read state")[0], 0) & 7 == 0


@pytest.mark.parametrize("slow", [1, 10])
def test_board_states_the_host_s_tai(start: Callable[..., Board], host: Host, slow: int) -> None:
    """The index that is accepted has the time of the host's clock; without a rate it has none."""
    board = start("--rate", "1000000", "--slow", slow)
    said = []
    for _ in range(2):
        before_ns = tai_ns()
        said.append(host.probe())
        # The index is that of the answer, and a busy machine answers late.
        assert before_ns - 20_000_000 < said[-1]["first_index_tai_ns"] < tai_ns() + 20_000_000
    indexes, times = zip(*((s["first_index"], s["first_index_tai_ns"]) for s in said), strict=True)
    period_ns = slow * 1e9 / said[0]["rate_hz"]
    assert times[1] - times[0] == pytest.approx((indexes[1] - indexes[0]) * period_ns, rel=1e-5)
    board.stop()
    start("--slow", slow)
    assert host.probe()["first_index_tai_ns"] is None


@pytest.mark.parametrize("slow", [1, 10])
def test_record_of_a_steady_rate_is_whole(
    start: Callable[..., Board], host: Host, tmp_path: Path, slow: int
) -> None:
    """A converter at a rate that the simulation keeps up with loses nothing, in slow motion too."""
    board = start("--rate", 200_000 * slow, "--slow", slow)
    options = ("--nsamps", "200000", "--slow", slow)
    status, end = host.record(tmp_path / "steady.sigmf-data", *options)
    assert status == 0, end["end"]
    assert 0.8 < end["end"]["seconds"] < 1.5
    assert check_counter(tmp_path / "steady.sigmf-data") == 200_000 * SAMPLE_BYTES
    assert board.counters()["samples_lost"] == 0


def test_record_through_loss_and_corruption_is_right_in_every_byte(
    start: Callable[..., Board], host: Host, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """1 % lost and 0.1 % corrupted each way, where only the CRC of docs/protocol.md#2.5 sees it."""
    size = 200_000_000 if pytestconfig.getoption("--full") else 20_000_000
    board = start("--loss", "0.01", "--corrupt", "0.001")
    samples = size // SAMPLE_BYTES
    status, said = host.record(
        tmp_path / "r.sigmf-data", "--nsamps", samples, "--fail-on", "gap=0", timeout_s=300
    )
    end = said["end"]
    assert (status, end["result"], end["samples_missing"]) == (0, "whole", 0), end
    assert check_counter(tmp_path / "r.sigmf-data") == size
    assert end["packets_repaired"] > 0.005 * end["packets_received"]
    assert end["packets_corrupted"] > 0
    counters = board.counters()
    assert counters["retransmissions"] >= end["packets_repaired"]
    assert counters["udp_checksum"] == 0
    print(
        f"{size / end['seconds'] / 1e6:.1f} MB/s, {end['packets_repaired']} repaired; corrupted: "
        f"{end['packets_corrupted']} on their way, {counters['corrupted']} on the way back"
    )


def test_restarted_board_ends_the_record_and_gives_another(
    start: Callable[..., Board], host: Host
) -> None:
    """A board that comes back with another boot id does not know the stream (7.6)."""
    board = start("--boot-id", 1)
    recording = host.start_record("null")
    board.wait_for("packets", 100)
    board.kill()
    start("--boot-id", 2)
    status, said = host.end(recording)
    assert status == UNKNOWN_STREAM_EXIT, said["end"]
    assert "no longer knows the stream" in said["end"]["reason"]
    status, said = host.record("null", "--nsamps", 100_000)
    assert status == 0, said["end"]
    assert said["start"]["device"]["boot_id"] == "0000000000000002"


def take_over(board: Board, host: Host, data: Path) -> float:
    """Kills a host in mid-stream, opens as the same owner, and says how long the opening took."""
    recording = host.start_record("null", "--owner", 7)
    board.wait_for("packets", board.counters()["packets"] + 100)
    recording.send_signal(signal.SIGKILL)
    recording.communicate()
    refused = subprocess.run(
        host.command("record", "null", "--owner", 8, "--nsamps", 1000, "--timeout", "0.3"),
        capture_output=True,
        timeout=10,
    )
    assert refused.returncode == UNKNOWN_STREAM_EXIT
    data.unlink(missing_ok=True)
    data.with_suffix(".sigmf-meta").unlink(missing_ok=True)
    began = time.monotonic()
    status, said = host.record(data, "--owner", 7, "--nsamps", 100_000)
    seconds = time.monotonic() - began
    assert status == 0, said["end"]
    assert check_counter(data) == 100_000 * SAMPLE_BYTES
    return seconds - said["end"]["seconds"]


def test_killed_host_is_taken_over_within_a_second(
    start: Callable[..., Board], host: Host, tmp_path: Path
) -> None:
    """The same owner gets the stream at once, of a board that was not reset; another does not."""
    board = start()
    # Where other tests build beside it, the simulation waits for a processor: one try of three
    # must find one.
    seconds = []
    while len(seconds) < 3 and (not seconds or seconds[-1] >= 1):
        seconds.append(take_over(board, host, tmp_path / "again.sigmf-data"))
    assert seconds[-1] < 1, seconds
    counters = board.counters()
    assert counters["takeovers"] >= 1
    assert counters["refused"] >= 1


def test_close_from_the_registers_ends_a_record_in_order(
    start: Callable[..., Board], host: Host, tmp_path: Path
) -> None:
    """All that departed is in the file when the board's program ends the stream."""
    board = start()
    data = tmp_path / "closed.sigmf-data"
    recording = host.start_record(data)
    board.wait_for("packets", 100)
    assert board.ask("close") == ["ok"]
    status, said = host.end(recording)
    assert (status, said["end"]["samples_missing"]) == (0, 0), said["end"]
    size = check_counter(data)
    assert size == said["end"]["file_bytes"] > 0


def test_arp_and_echo_are_answered(start: Callable[..., Board], place: Tap | Loopback) -> None:
    """What a user tries first: ping. The longest that is answered, and one byte more."""
    needs_ethernet(place)
    board = start()
    script = textwrap.dedent(f"""
        import os, socket, struct, sys
        echo = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        echo.settimeout(3)
        def icmp(kind, size):
            words = (b"0123456789abcdef" * size)[:size]
            head = struct.pack(">BBHHH", kind, 0, 0, 77, 1)
            even = head + words + bytes(size % 2)
            total = sum(struct.unpack(f">{{len(even) // 2}}H", even))
            total = (total & 0xFFFF) + (total >> 16)
            return struct.pack(">BBHHH", kind, 0, ~(total + (total >> 16)) & 0xFFFF, 77, 1) + words
        # Requests that are too long go first: an answer to one would come ahead of the others.
        for size in map(int, sys.argv[1:]):
            echo.sendto(icmp(8, size), ("{BOARD_ADDRESS}", 0))
        for size in (56, {PING_MAX}):
            echo.sendto(icmp(8, size), ("{BOARD_ADDRESS}", 0))
            while (answer := echo.recv(2000)[20:])[0] == 8:
                pass
            assert answer == icmp(0, size), answer
    """)
    command = [*place.prefix, sys.executable, "-c", script]
    subprocess.run([*command, str(PING_MAX + 1), "1400"], check=True, timeout=10)
    neighbours = subprocess.run(
        [*place.prefix, "ip", "neighbour", "show", BOARD_ADDRESS], capture_output=True, text=True
    )
    assert BOARD_MAC in neighbours.stdout
    counters = board.counters()
    assert counters["icmp_replies"] == 2
    assert counters["frames_foreign"] >= 2
    assert counters["lengths"] == 0
    assert counters["arp_replies"] >= 1
    if shutil.which("ping"):
        subprocess.run([*place.prefix, "ping", "-c1", "-W3", BOARD_ADDRESS], check=True)


def test_frames_are_as_tshark_expects(
    start: Callable[..., Board], place: Tap | Loopback, host: Host, tmp_path: Path
) -> None:
    """Checksums, lengths and forms, by a reader that is not ours."""
    needs_ethernet(place)
    needs("tshark")
    start()
    # A capture shows frames as they are joined, and no checksum is right of those.
    place.write(f"/sys/class/net/{TAP}/gro_flush_timeout", "0")
    capture = tmp_path / "frames.pcapng"
    with Capture(place, capture):
        host.probe()
        status, said = host.record("null", "--nsamps", 200_000)
        assert status == 0, said["end"]
        if shutil.which("ping"):
            for size in PING_SIZES:
                ping = ["ping", "-c", "1", "-s", str(size), "-W", "3", BOARD_ADDRESS]
                subprocess.run([*place.prefix, *ping], check=True, capture_output=True)
    ours = f"eth.src == {BOARD_MAC}"
    wrong = (
        f"{ours} && (udp.checksum.status == 0 || ip.checksum.status == 0 || _ws.malformed || "
        "icmp.checksum.status == 0 || _ws.expert.severity >= 0x600000)"
    )
    assert tshark(capture, wrong) == []
    assert len(tshark(capture, f"{ours} && udp.checksum.status == 1")) > 500
    assert len(tshark(capture, f"{ours} && arp.opcode == 2")) >= 1
    if shutil.which("ping"):
        right = tshark(capture, f"{ours} && icmp.type == 0 && icmp.checksum.status == 1")
        assert len(right) == len(PING_SIZES)


def test_frames_are_joined_on_receipt(
    start: Callable[..., Board], place: Tap | Loopback, host: Host, tmp_path: Path
) -> None:
    """One read of the host takes many packets: its kernel finds the frames alike."""
    needs_ethernet(place)
    needs("strace")
    if os.geteuid() != 0:
        pytest.skip("only root may have the kernel wait for frames to join")
    start("--payload", 1408)
    trace = tmp_path / "strace"
    reads = ["strace", "-f", "-v", "-s", "0", "-e", "trace=recvmmsg,recvmsg", "-o", str(trace)]
    command = host.command("record", "null", "--nsamps", 1_000_000)
    at = len(place.prefix)
    subprocess.run([*command[:at], *reads, *command[at:]], check=True, capture_output=True)
    # Of recvmmsg, and of recvmsg, which takes one message.
    read = re.compile(r"\bmsg_len=(\d+)|\brecvmsg\b.*\) = (\d+)$", re.MULTILINE)
    lengths = [int(many or one) for many, one in read.findall(trace.read_text())]
    packet_bytes = 22 + 1408 + 4
    packets = [length // packet_bytes for length in lengths if length >= packet_bytes]
    mean = sum(packets) / len(packets)
    print(f"{sum(packets)} packets in {len(packets)} reads: {mean:.1f}, at most {max(packets)}")
    assert mean > 2


class Capture:
    """A capture of the wire into a file."""

    def __init__(self, place: Tap | Loopback, path: Path) -> None:
        self._command = [*place.prefix, "tshark", "-q", "-i", TAP, "-w", str(path)]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> None:
        self._process = subprocess.Popen(self._command, stderr=subprocess.PIPE, text=True)
        for line in self._process.stderr:
            if "Capturing on" in line:
                break
        # It says so before its child listens.
        time.sleep(1)

    def __exit__(self, *_: object) -> None:
        time.sleep(0.5)
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=10)


def tshark(capture: Path, display_filter: str) -> list[str]:
    """The packets of a capture that a filter passes, with all checksums validated."""
    command = ["tshark", "-r", str(capture), "-Y", display_filter]
    for protocol in ("ip", "udp", "tcp"):
        command += ["-o", f"{protocol}.check_checksum:TRUE"]
    command += ["-d", f"udp.port=={PORT},data"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()

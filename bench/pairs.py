"""Pairs of programs that move bytes over a wire, each as fast as its best settings let it."""

import json
import math
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import machine
from kept import ROOT
from netns import RECEIVER_IP, SENDER_IP, Wire
from programs import Started, build, build_with, wait_all
from turns import Outcome, ProgramError

WINDOW_PACKETS = 4096

PORT = 9470

LISTENS_WITHIN_S = 5.0

OVER_WITHIN_S = 20.0
"""Beyond the seconds of the run; a pair that has not ended by then has failed."""

EXAMPLES = (("samplewire", "throughput"), ("samplewire-io", "raw_udp"))

PEERS = ROOT / "bench" / "peers"
BUILT = {"quinn": "quinn-bulk", "s2n-quic": "s2n-quic-bulk", "aeron": "aeron-bulk"}
"""Peers that are programs of ours around a library: their folders there, and their executables."""

CMAKE = ROOT / ".venv" / "bin" / "cmake"
"""Aeron needs a later one than distributions have."""

CONGESTION_CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

SRT_OPTIONS = (
    "transtype=file&fc=25600&sndbuf=12000000&rcvbuf=12000000&udp_sndbuf=8000000&udp_rcvbuf=8000000"
)

SRT_FILE_BYTES = 1 << 40
"""More than any run sends; a hole, which takes no memory."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a pair is to do."""

    mtu_bytes: int
    payload_bytes: int
    seconds: float
    rate_bps: float
    """For those that keep to a rate."""
    executables: dict[str, Path]
    folder: Path
    """For files of the run."""


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What the receiving program took."""

    rate_bps: float
    taken_bytes: float


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two command lines, and how to read what they print."""

    sender: list[str]
    receiver: list[str]
    read: Callable[[str, str], Taken]
    """Of what the sender printed, and the receiver."""
    sender_listens: bool = False
    sender_seconds: float | None = None
    """When to end a sender that does not end alone."""
    window_bytes: int = 0
    """What the windows of both ends may hold."""


def run(wire: Wire, pair: Pair, seconds: float) -> Outcome:
    """Runs a pair once over the wire, and makes sure that the wire lost what it was to lose."""
    before, kernel_s = wire.losses(), machine.softirq_threads_s()
    sender, receiver = [*wire.sender, *pair.sender], [*wire.receiver, *pair.receiver]
    with Started(sender if pair.sender_listens else receiver) as first:
        first.wait_listening(PORT, LISTENS_WITHIN_S)
        later = receiver if pair.sender_listens else sender
        with Started(later, pair.sender_seconds) as second:
            ended = wait_all([first, second], seconds + OVER_WITHIN_S)
    if not pair.sender_listens:
        ended.reverse()
    kernel_s = machine.softirq_threads_s() - kernel_s
    losses = wire.losses().since(before)
    losses.check(wire.loss)
    taken = pair.read(ended[0].text, ended[1].text)
    return Outcome(
        rate_bps=taken.rate_bps,
        taken_bytes=taken.taken_bytes,
        cpu_s=sum(end.cpu_s for end in ended) + kernel_s,
        beyond_window_bytes=sum(end.resident_bytes for end in ended) - pair.window_bytes,
        said={
            "cpu_s": {"sender": ended[0].cpu_s, "receiver": ended[1].cpu_s, "kernel": kernel_s},
            "resident_bytes": {
                "sender": ended[0].resident_bytes,
                "receiver": ended[1].resident_bytes,
            },
            "wire_packets": losses.packets,
            "wire_lost": losses.lost,
            "printed": [numbers_of(end.text) for end in ended],
        },
    )


def stream(setting: Setting, arguments: tuple[str, ...]) -> Pair:
    """The stream: complete, in order, every byte under a CRC."""
    program = str(setting.executables["throughput"])
    words = ["--payload", str(setting.payload_bytes), "--window", str(WINDOW_PACKETS), "--json"]
    device = ["--device", f"{SENDER_IP}:{PORT}", "--seconds", str(setting.seconds)]
    return Pair(
        sender=[program, *device, *words, *arguments],
        receiver=[program, "--host", f"{SENDER_IP}:{PORT}", *words, *arguments],
        sender_listens=True,
        read=lambda _, received: read_goodput(received),
        window_bytes=2 * WINDOW_PACKETS * setting.payload_bytes,
    )


def raw(setting: Setting, arguments: tuple[str, ...]) -> Pair:
    """sendmmsg with UDP_SEGMENT against recvmmsg; arguments are the receiver's."""
    program = str(setting.executables["raw_udp"])
    words = ["--payload", str(setting.payload_bytes), "--json"]
    send = ["--send-to", f"{RECEIVER_IP}:{PORT}", "--gso", "--seconds", str(setting.seconds)]
    return Pair(
        sender=[program, *send, *words],
        receiver=[program, "--receive-at", f"{RECEIVER_IP}:{PORT}", *words, *arguments],
        read=lambda _, received: read_raw(received),
    )


def raw_paced(setting: Setting, arguments: tuple[str, ...]) -> Pair:
    """The same at a given rate, where neither end spins."""
    pair = raw(setting, ("--sleep", *arguments))
    rate = ["--rate", f"{max(setting.rate_bps / 1e9, 0.001):.3f}"]
    return Pair(sender=[*pair.sender, *rate], receiver=pair.receiver, read=pair.read)


def iperf3(setting: Setting, arguments: tuple[str, ...]) -> Pair:
    """TCP; arguments choose the congestion control."""
    port = ["--port", str(PORT)]
    # It knows whole seconds alone, and takes 0 for an endless run.
    time = ["--time", str(math.ceil(setting.seconds))]
    client = ["--client", RECEIVER_IP, *time, "--json", *arguments]
    return Pair(
        sender=["iperf3", *client, *port],
        receiver=["iperf3", "--server", "--bind", RECEIVER_IP, "--one-off", *port],
        read=lambda sent, _: read_iperf3(sent),
    )


def srt(setting: Setting, arguments: tuple[str, ...]) -> Pair:
    """SRT's file mode, the faster of its two; it is reliable and in order."""
    # The receiver names what it writes after what the sender reads: /dev/null. The sender may tell
    # the name too late, so it is an option, too.
    source = setting.folder / "null"
    with source.open("wb") as file:
        file.truncate(SRT_FILE_BYTES)
    words = ["srt-file-transmit", "-q", *arguments]
    at = f"srt://{RECEIVER_IP}:{PORT}"
    stats = ["-s", "1000", "-pf", "json"]
    return Pair(
        sender=[*words, f"file://{source}", f"{at}?mode=caller&streamid=null&{SRT_OPTIONS}"],
        receiver=[*words, *stats, f"{at}?mode=listener&{SRT_OPTIONS}", "file:///dev/"],
        read=lambda _, received: read_srt(received),
        sender_seconds=setting.seconds,
    )


def quic(library: str, setting: Setting, arguments: tuple[str, ...]) -> Pair:
    """QUIC by one of its libraries; arguments choose the congestion control."""
    program = str(setting.executables[BUILT[library]])
    certificate = str(setting.folder / f"{library}.der")
    words = ["--mtu", str(setting.mtu_bytes), "--certificate", certificate]
    seconds = ["--seconds", str(setting.seconds)]
    return Pair(
        sender=[program, "--send-to", f"{RECEIVER_IP}:{PORT}", *words, *arguments],
        receiver=[program, "--receive-at", f"{RECEIVER_IP}:{PORT}", *seconds, *words],
        read=lambda _, received: read_goodput(received),
    )


def aeron(setting: Setting, arguments: tuple[str, ...]) -> Pair:
    """Aeron, each end with its C media driver; reliable and in order."""
    program = str(setting.executables[BUILT["aeron"]])
    words = ["--mtu", str(setting.mtu_bytes), "--folder"]
    send = ["--send-to", f"{RECEIVER_IP}:{PORT}", "--seconds", str(setting.seconds)]
    receive = ["--receive-at", f"{RECEIVER_IP}:{PORT}"]
    return Pair(
        sender=[program, *send, *words, str(setting.folder / "sender"), *arguments],
        receiver=[program, *receive, *words, str(setting.folder / "receiver"), *arguments],
        read=lambda _, received: read_goodput(received),
    )


PROGRAMS: dict[str, Callable[[Setting, tuple[str, ...]], Pair]] = {
    "stream": stream,
    "raw": raw,
    "raw-paced": raw_paced,
    "iperf3": iperf3,
    "srt": srt,
    "quinn": partial(quic, "quinn"),
    "s2n-quic": partial(quic, "s2n-quic"),
    "aeron": aeron,
}
"""By the name that a case gives."""


def available(wanted: set[str]) -> tuple[dict[str, Path], dict[str, str]]:
    """Builds the programs that these cases need.

    Returns
    -------
    tuple[dict[str, Path], dict[str, str]]
        Executables, and what is not here, with the reason.
    """
    executables, absent = build(EXAMPLES), {}
    if "iperf3" in wanted and not shutil.which("iperf3"):
        absent["iperf3"] = "there is no iperf3: apt-get install iperf3"
    if "srt" in wanted and not shutil.which("srt-file-transmit"):
        absent["srt"] = "there is no srt-file-transmit: apt-get install srt-tools"
    if CMAKE.exists():
        os.environ.setdefault("CMAKE", str(CMAKE))
    for name in sorted(wanted & BUILT.keys()):
        try:
            executables |= build_with(["--locked"], PEERS / name)
        except subprocess.CalledProcessError:
            absent[name] = f"bench/peers/{name} cannot be built, cargo has said why"
    return executables, absent


def has_no_congestion_control(name: str) -> bool:
    return name not in CONGESTION_CONTROLS.read_text().split()


def read_goodput(text: str) -> Taken:
    """What `throughput` and the programs of `BUILT` print."""
    said = json.loads(text)
    return Taken(
        rate_bps=said["goodput_bps"], taken_bytes=said["goodput_bps"] * said["seconds"] / 8
    )


def read_raw(text: str) -> Taken:
    said = json.loads(text)
    rate_bps = said["received_gbps"] * 1e9
    return Taken(rate_bps=rate_bps, taken_bytes=rate_bps * said["seconds"] / 8)


def read_iperf3(text: str) -> Taken:
    """What an iperf3 client knows of its server."""
    said = json.loads(text)
    if "error" in said:
        raise ProgramError(f"iperf3: {said['error']}")
    total = said["end"]["sum_received"]
    return Taken(rate_bps=total["bits_per_second"], taken_bytes=total["bytes"])


def read_srt(text: str) -> Taken:
    """Adds up the intervals of a receiver's statistics; the rate is of all but the first, which
    begins before its first packet."""
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    if len(rows) < 2:
        raise ProgramError(f"SRT took too little to measure its rate: {text.strip()!r}")
    lens_bytes = [row["recv"]["bytesUnique"] for row in rows]
    seconds = (rows[-1]["time"] - rows[0]["time"]) / 1e3
    return Taken(rate_bps=sum(lens_bytes[1:]) * 8 / seconds, taken_bytes=sum(lens_bytes))


def numbers_of(text: str) -> dict[str, float] | None:
    """What a program printed, where that is one JSON object of nothing but numbers."""
    try:
        said = json.loads(text)
    except ValueError:
        return None
    is_flat = isinstance(said, dict) and all(isinstance(n, int | float) for n in said.values())
    return said if is_flat else None

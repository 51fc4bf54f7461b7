"""A wire of its own: two network namespaces joined by veth, which loses packets on demand.

Data goes from the sender's end to the receiver's. Segmentation in the devices is off, so what is
counted and lost are single packets of the wire. Loss is decided by chance, packet by packet, where
the receiver's device gets them: by a classic BPF filter on clsact, or, where the kernel joins
packets before it comes to that (GRO), by an XDP program. Nothing outside of the two namespaces is
changed, and both go when the `with` is left.
"""

import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from turns import ProgramError

NEEDED = {"ip": "iproute2", "tc": "iproute2", "ethtool": "ethtool"}
"""Commands, and the Debian packages that have them."""

IPS = SENDER_IP, RECEIVER_IP = "10.99.0.1", "10.99.0.2"
MACS = "02:00:00:00:99:01", "02:00:00:00:99:02"
DEVICE = "veth0"
PREFIX = "samplewire-bench-"

SIGMAS_MOST = 6
"""A count of lost packets further than this from what was asked for is not by chance."""

# The last word of an instruction is its operand: SKF_AD_OFF + SKF_AD_RANDOM of linux/filter.h.
# Below the threshold the packet is shot (2), else it passes (0).
CLSACT_PROGRAM = "4,32 0 0 4294963256,53 1 0 {threshold},6 0 0 2,6 0 0 0"

# 1 drops a packet, 2 passes it on; the kernel's function 7 is bpf_get_prandom_u32.
XDP_SOURCE = """
static unsigned (*const random_u32)(void) = (void *)7;
__attribute__((section("xdp"), used)) int lose(void *packet) {
    (void)packet;
    return random_u32() < THRESHOLD ? 1 : 2;
}
"""


@dataclass(frozen=True, kw_only=True)
class Losses:
    """Packets in the direction of the data, by the counters of what loses them."""

    packets: int
    lost: int

    def since(self, earlier: "Losses") -> "Losses":
        return Losses(packets=self.packets - earlier.packets, lost=self.lost - earlier.lost)

    def check(self, loss: float) -> None:
        """Raises ProgramError where this is not what a wire of that loss does."""
        expected = self.packets * loss
        if abs(self.lost - expected) > SIGMAS_MOST * math.sqrt(expected):
            count = f"{self.lost} of {self.packets} packets"
            raise ProgramError(f"the wire lost {count}, where {loss:g} of them were to be lost")


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A wire, while it is there. What its ends begin with enters their namespace."""

    has_gro: bool
    loss: float
    sender: tuple[str, ...]
    receiver: tuple[str, ...]

    def losses(self) -> Losses:
        """What the wire has carried and lost; nothing where it loses nothing."""
        if not self.loss:
            return Losses(packets=0, lost=0)
        if self.has_gro:
            return parse_xdp(run(*self.receiver, "ethtool", "-S", DEVICE))
        return parse_clsact(run(*self.receiver, "tc", "-s", "-j", "qdisc", "show", "dev", DEVICE))


def missing() -> str:
    """What is needed and not here, and what to do; empty where nothing is missing."""
    packages = sorted({package for word, package in NEEDED.items() if not shutil.which(word)})
    if packages:
        return f"network namespaces need more: apt-get install {' '.join(packages)}"
    if os.geteuid() != 0:
        return 'network namespaces need root: sudo env "PATH=$PATH" python3 bench/wire.py'
    return ""


def is_ready() -> bool:
    """Whether wires can be made here, else prints why not; a SIGTERM then removes them too."""
    reason = missing()
    if reason:
        print(f"bench: {reason}", file=sys.stderr)
        return False
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    return True


@contextmanager
def wire(
    *, mtu_bytes: int, has_gro: bool, loss: float, has_napi_threads: bool = False
) -> Iterator[Wire]:
    """Makes a wire that loses this share of the packets, and removes it.

    The kernel receives on the CPU of the sender, or in threads of its own.
    """
    remove_left()
    names = [f"{PREFIX}{os.getpid()}-{end}" for end in ("sender", "receiver")]
    try:
        for name in names:
            run("ip", "netns", "add", name)
        make_pair(names, mtu_bytes)
        for name in names:
            inside = ("ip", "netns", "exec", name)
            run(*inside, "ethtool", "-K", DEVICE, "tso", "off", "gso", "off")
            run(*inside, "ethtool", "-K", DEVICE, "tx-udp-segmentation", "off")
            run(*inside, "ethtool", "-K", DEVICE, "gro", "on" if has_gro else "off")
            if has_napi_threads:
                run(*inside, "sh", "-c", f"echo 1 > /sys/class/net/{DEVICE}/threaded")
        if loss:
            (lose_before_gro if has_gro else lose)(names[1], int(loss * 2**32))
        sender, receiver = (("ip", "netns", "exec", name) for name in names)
        yield Wire(has_gro=has_gro, loss=loss, sender=sender, receiver=receiver)
    finally:
        remove(names)


def make_pair(names: list[str], mtu_bytes: int) -> None:
    ends = list(zip(names, IPS, MACS, strict=True))
    words = []
    for name, _, mac in ends:
        words.append(["name", DEVICE, "address", mac, "mtu", str(mtu_bytes), "netns", name])
    run("ip", "link", "add", *words[0], "type", "veth", "peer", *words[1])
    for (name, ip, _), (_, peer_ip, peer_mac) in zip(ends, reversed(ends), strict=True):
        inside = ("ip", "-n", name)
        run(*inside, "address", "add", f"{ip}/24", "dev", DEVICE)
        run(*inside, "link", "set", "lo", "up")
        # Without an IPv6 address the kernel sends no packets of its own.
        run(*inside, "link", "set", DEVICE, "addrgenmode", "none")
        run(*inside, "link", "set", DEVICE, "up")
        # An ARP packet that is lost would cost a second.
        run(*inside, "neighbour", "replace", peer_ip, "lladdr", peer_mac, "dev", DEVICE)


def lose(name: str, threshold: int) -> None:
    run("tc", "-n", name, "qdisc", "add", "dev", DEVICE, "clsact")
    filter_ = ["filter", "add", "dev", DEVICE, "ingress", "protocol", "ip", "bpf", "da"]
    run("tc", "-n", name, *filter_, "bytecode", CLSACT_PROGRAM.format(threshold=threshold))


def lose_before_gro(name: str, threshold: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "lose.c", Path(folder) / "lose.o"
        source.write_text(XDP_SOURCE)
        options = ["-O2", "-target", "bpf", f"-DTHRESHOLD={threshold}u"]
        run("clang", *options, "-c", str(source), "-o", str(program))
        load = ["xdpdrv", "obj", str(program), "sec", "xdp"]
        run("ip", "-n", name, "link", "set", "dev", DEVICE, *load)


def parse_clsact(answer: str) -> Losses:
    """Counts of `tc -s -j qdisc show`, whose packets are all that came, lost ones among them."""
    rows = [row for row in json.loads(answer) if row["kind"] == "clsact"]
    if len(rows) != 1:
        raise ProgramError(f"tc reports no clsact that loses packets: {answer.strip()}")
    return Losses(packets=rows[0]["packets"], lost=rows[0]["drops"])


def parse_xdp(answer: str) -> Losses:
    """Counts of `ethtool -S` of a veth, all its queues together."""
    counts = {
        name: sum(map(int, re.findall(rf"rx_queue_\d+_{name}: (\d+)", answer)))
        for name in ("xdp_packets", "xdp_drops")
    }
    return Losses(packets=counts["xdp_packets"], lost=counts["xdp_drops"])


def remove_left() -> None:
    """Removes what a run has left that was killed."""
    listed = run("ip", "netns", "list")
    for name, pid in re.findall(rf"^({PREFIX}(\d+)-\w+)", listed, re.MULTILINE):
        if not is_running(pid):
            remove([name])


def is_running(pid: str) -> bool:
    """Whether there is such a process, and not what is left of one."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def remove(names: list[str]) -> None:
    """Removes namespaces, of which some may never have been made."""
    for name in names:
        if Path("/run/netns", name).exists():
            run("ip", "netns", "delete", name)


def run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise ProgramError(f"{shlex.join(words)}: {done.stderr.strip()}")
    return done.stdout

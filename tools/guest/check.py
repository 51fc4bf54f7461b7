#!/usr/bin/env python3
"""A guest's kernel behind `samplewire switch`: what it sends and receives, marks, and Soft-RoCE.

    sudo tools/guest/check.py target/release/samplewire [--short] [--only PART ...]

- packets: pings and TCP both ways between a guest and a network namespace, through a datagram port
  (UDP, then Unix) and a TAP device. The counts of switch, guest and namespace are the same.
- marks: the same at a low rate with ECN. Each marked packet is counted as such by its receiver.
- verbs: two guests do RDMA to each other through the switch, at each path MTU, and where the
  switch loses frames. Memory and completions are right, and so is the ICRC of each frame.
- roce: `samplewire roce` and a guest do RDMA to each other, at each path MTU.
- listen: `samplewire roce listen --verbs` in a guest, whose Soft-RoCE writes into its memory what
  `samplewire roce write` and `send` send from a namespace; and `samplewire record --verbs`, from
  `samplewire emulate` there.
- bandwidth: `ib_write_bw` between two guests, with the room that QEMU's socket has by default and
  with more.

`--short` transfers less, and leaves out Unix sockets, some MTUs and `bandwidth`. Needs root and
what `tools/setup.sh roce` gets. Exit: 0 when all holds, 1 when something does not, or cannot run.
"""

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path

import rdma
import receiver
import software
from guest import Guest, GuestError
from network import (
    BEGUN,
    BUSYBOX,
    ENDS,
    ERRORS,
    LISTENS,
    PATIENCE_S,
    PORT,
    Network,
    missing,
    network,
)

HERE = Path(__file__).resolve().parent
PARTS_SHORT = ("packets", "marks", "verbs", "roce", "listen")
PARTS = (*PARTS_SHORT, "bandwidth")

LOW_RATE = ("--rate", "20M", "--kmin", "10k", "--kmax", "60k")
"""Below what a guest sends and receives, so that there is a queue."""

SERVES = f"nc -l -p {PORT} </tmp/data >/dev/null &" + BEGUN.format(port=PORT)

Program = subprocess.Popen[str]


def packets(program: Path, is_short: bool) -> None:
    # As QEMU opens its port when it is not given a socket.
    how = {"guests": ("one",), "with_host": True, "room_bytes": 0}
    for is_unix in (False,) if is_short else (False, True):
        with network(program, "--rate", "1G", is_unix=is_unix, **how) as net:
            guest = net.guests[0]
            for bytes_ in (56, 4_000):
                words = ("-c", "5", "-i", "0.1", "-s", str(bytes_))
                ping = net.inside(str(BUSYBOX), "ping", *words, net.addresses[1].ip)
                require("5 packets received" in ping, f"the guest does not answer: {ping}")
                ping = guest.run(f"ping {' '.join(words)} {net.addresses[0].ip}")
                require("5 packets received" in ping, f"the namespace does not answer: {ping}")
            transfer(net, (1 if is_short else 8) << 20)
            compare(net)


def marks(program: Path, is_short: bool) -> None:
    bytes_ = (1 if is_short else 8) << 20
    with network(program, *LOW_RATE, guests=("one", "two"), with_host=True) as net:
        asks_for_ecn = "echo 1 >/proc/sys/net/ipv4/tcp_ecn"
        net.inside("sh", "-c", asks_for_ecn)
        for guest in net.guests:
            guest.run(asks_for_ecn)
        into_namespace(net, net.guests, bytes_)
        into_guest(net, bytes_)
        netstats = [net.inside("cat", "/proc/net/netstat")]
        netstats += [guest.run("cat /proc/net/netstat") for guest in net.guests]
        ports = compare(net)
        for netstat, port, name in zip(netstats, ports, net.names(), strict=True):
            count = counted(netstat, "IpExt", "InCEPkts")
            say(f"{name}: {port['marked']} marks to it, {count} counted there")
            require(count == port["marked"], f"{name}: {count} marks, {port['marked']} sent")
        # Two send to the namespace, and two to the first guest.
        require(min(port["marked"] for port in ports[:2]) > 0, "nothing was marked")


def transfer(net: Network, bytes_: int) -> None:
    """Moves random bytes both ways, one after the other."""
    guest, ip = net.guests[0], net.addresses[1].ip
    guest.run(LISTENS.format(port=PORT, to="/tmp/data"))
    begun = time.monotonic()
    sent = finished(stream(net, "send", ip, bytes_))
    took_s = time.monotonic() - begun
    received = guest.run(ENDS.format(port=PORT, file="/tmp/data")).split()[0]
    require(sent == received, "the guest received other bytes")
    begun = time.monotonic()
    into_namespace(net, [guest], bytes_)
    back_s = time.monotonic() - begun
    to, back = (bytes_ * 8 / 1e6 / time_s for time_s in (took_s, back_s))
    say(f"TCP, {bytes_ / 1e6:.1f} MB each way: {to:.0f} Mb/s to the guest, {back:.0f} Mb/s back")


def into_namespace(net: Network, guests: list[Guest], bytes_: int) -> None:
    """Some guests send at once."""
    for guest in guests:
        guest.run(f"head -c {bytes_} /dev/urandom >/tmp/data")
        guest.run(SERVES)
    streams = [stream(net, "receive", guest.ip) for guest in guests]
    for guest, one in zip(guests, streams, strict=True):
        sent = guest.run("sha256sum </tmp/data").split()[0]
        require(finished(one) == sent, "the namespace received other bytes")


def into_guest(net: Network, bytes_: int) -> None:
    """The namespace and the second guest send to the first one at once."""
    one, two = net.guests
    for port in (PORT, PORT + 1):
        one.run(LISTENS.format(port=port, to=f"/tmp/data{port}"))
    sends = stream(net, "send", one.ip, bytes_)
    two.run(f"nc {one.ip} {PORT + 1} </tmp/data", PATIENCE_S * 3)
    sent = finished(sends), two.run("sha256sum </tmp/data").split()[0]
    for port, digest in zip((PORT, PORT + 1), sent, strict=True):
        received = one.run(ENDS.format(port=port, file=f"/tmp/data{port}")).split()[0]
        require(received == digest, "the guest received other bytes")


def stream(net: Network, direction: str, ip: str, bytes_: int = 0) -> Program:
    """Begins to send or receive in the namespace."""
    words = (sys.executable, str(HERE / "stream.py"), direction, ip, str(PORT), str(bytes_))
    return subprocess.Popen(net.command(*words), stdout=-1, stderr=-1, text=True)


def finished(program: Program) -> str:
    """What it has sent or received, as a digest."""
    try:
        out, err = program.communicate(timeout=PATIENCE_S * 6)
    except subprocess.TimeoutExpired as error:
        program.kill()
        raise GuestError("TCP did not end") from error
    require(not program.returncode, err.strip())
    return out.strip()


def compare(net: Network) -> list[dict]:
    """Ends the switch and holds its counts against those of its stations."""
    before: list[dict[str, int]] = []
    # Until all frames have arrived and no one sends.
    for _ in range(QUIET_ROUNDS_MAX):
        if (counts := counts_of(net)) == before:
            break
        before = counts
        time.sleep(0.5)
    else:
        raise GuestError("the network does not become quiet")
    unread = [0, *map(net.unread, range(len(net.guests)))]
    ports = net.finish()
    for name, count, port, late in zip(net.names(), counts, ports, unread, strict=True):
        lost = {word: port[word] for word in LOSSES if port[word]}
        lost |= {"unread by QEMU": late} if late else {}
        say(f"{name}: {count}, lost {lost or 'nothing'}")
        arrived = port["frames_out"] - port["link_refused"] - late
        require(port["frames_in"] == count["tx_packets"], f"{name}: {count}, switch: {port}")
        require(arrived == count["rx_packets"], f"{name}: {count}, switch: {port}")
    return ports


def counts_of(net: Network) -> list[dict[str, int]]:
    """What the kernel of each station has counted."""
    folder = f"/sys/class/net/{net.tap}/statistics"
    counts = [{name: int(net.inside("cat", f"{folder}/{name}")) for name in COUNTS}]
    return counts + [{name: guest.count(name) for name in COUNTS} for guest in net.guests]


QUIET_ROUNDS_MAX = 60
COUNTS = ("rx_packets", "tx_packets")
LOSSES = ("dropped", "lost", "filtered", "link_dropped", "link_refused")


def counted(netstat: str, group: str, name: str) -> int:
    """A count of /proc/net/netstat, whose lines come in pairs: names, then values."""
    rows = [line.split()[1:] for line in netstat.splitlines() if line.startswith(f"{group}:")]
    return int(dict(zip(*rows, strict=True))[name])


def verbs(program: Path, is_short: bool) -> None:
    rdma.check(program, is_short, say)


def roce(program: Path, is_short: bool) -> None:
    software.check(program, is_short, say)


def listen(program: Path, is_short: bool) -> None:
    receiver.check(program, is_short, say)


def bandwidth(program: Path, is_short: bool) -> None:
    rdma.bandwidth(program, is_short, say)


def require(holds: bool, what: str) -> None:
    if not holds:
        raise GuestError(what)


def say(line: str) -> None:
    print(f"  {line}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("samplewire", type=Path, nargs="?", help="the program")
    parser.add_argument("--short", action="store_true", help="less of each")
    parser.add_argument("--only", choices=PARTS, action="append", help="parts to run [all]")
    parser.add_argument("--can-run", action="store_true", help="print what is missing, and end")
    arguments = parser.parse_args()
    reason = missing()
    if arguments.can_run:
        print(reason, end="")
        return int(bool(reason))
    if reason or not arguments.samplewire:
        print(f"guest: {reason or 'name the program'}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        for part in arguments.only or (PARTS_SHORT if arguments.short else PARTS):
            print(f"{part}:", flush=True)
            begun = time.monotonic()
            globals()[part](arguments.samplewire, arguments.short)
            say(f"{time.monotonic() - begun:.0f} s")
    except ERRORS as error:
        print(f"guest: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

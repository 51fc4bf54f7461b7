"""Attacks a device and its receivers with raw packets, in network namespaces of its own.

    python3 tools/attacks/check.py target/debug/samplewire [--flood SECONDS] [--only PART ...]

Three parts:

- strangers: packets of an attacker that sees nothing of the streams. The streams stay whole.
- peers: a hostile host and a hostile device, which know their stream. The other end neither
  panics nor hangs, and serves the next peer.
- flood: all packets of the first part at once, to both ends of a stream. The stream stays whole,
  and the memory of both ends stays what it is.

Needs root, iproute2 and ethtool. Exit: 0 when all holds, 1 when something does not, or when it
cannot run here.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ends
import inject
import packets
import strangers
from ends import AttackError, Program
from frames import Path as FramePath

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import netns

HERE = Path(__file__).resolve().parent
MTU_BYTES = 1500
MACS = {
    netns.SENDER_IP: bytes.fromhex("020000009901"),
    netns.RECEIVER_IP: bytes.fromhex("020000009902"),
}
RATE_HZ = 2_000_000
WINDOW_PACKETS = "8192"
"""1.4 s of samples: the injectors and a busy machine may stall an end for so long."""
MEMORY_GROWTH_MAX_BYTES = 1_000_000
PLAYED_BYTES_MAX = 1 << 30
"""What the device may have written after all index jumps, holes not counted."""
RECORD_PATIENCE_S = 30
RECORDS_AT_ONCE = 8
EXIT_STATUSES = (0, 1, 2, 3, 4)
ESCAPE = "\x1b"
PARTS = ("strangers", "peers", "flood")


def main() -> int:
    arguments = parse_arguments()
    reason = netns.missing()
    if reason or arguments.can_run:
        print(reason or "yes")
        return 1 if reason else 0
    if arguments.program is None:
        print("which program is attacked? target/debug/samplewire, for example", file=sys.stderr)
        return 1
    try:
        for part in arguments.only or PARTS:
            print(f"{part}:")
            with tempfile.TemporaryDirectory() as folder:
                check = Check(arguments.program.resolve(), Path(folder), arguments.flood)
                with netns.wire(mtu_bytes=MTU_BYTES, has_gro=False, loss=0) as wire:
                    getattr(check, part)(wire)
    except (AttackError, netns.ProgramError) as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, nargs="?", help="the command")
    parser.add_argument("--can-run", action="store_true", help="only say whether it can run here")
    parser.add_argument("--flood", type=float, default=5, help="seconds of the flood (default 5)")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these parts alone")
    return parser.parse_args()


class Check:
    """The parts, each in namespaces and a folder of its own."""

    def __init__(self, program: Path, folder: Path, flood_s: float) -> None:
        self.program, self.folder, self.flood_s = program, folder, flood_s

    @contextmanager
    def device(self, wire: netns.Wire, *options: str) -> Iterator[Program]:
        """A device that sends a counter, and plays into a file."""
        played = self.folder / "played.raw"
        words = ["emulate", "--listen", f"{netns.SENDER_IP}:{ends.PORT}", "--source", "counter"]
        words += [
            "--rate",
            str(RATE_HZ),
            "--play",
            str(played),
            "--window",
            WINDOW_PACKETS,
            *options,
        ]
        with ends.running(wire.sender, self.program, *words) as device:
            device.wait_for_line("Ctrl-C ends")
            yield device

    def record(self, wire: netns.Wire, *options: str) -> ends.Running:
        words = ["record", netns.SENDER_IP, "null", "--json", "--window", WINDOW_PACKETS, *options]
        return ends.running(wire.receiver, self.program, *words)

    def replay(self, wire: netns.Wire) -> ends.Running:
        """A sender to the stream that the device plays."""
        source = self.folder / "source.raw"
        source.write_bytes(bytes(4 * RATE_HZ))
        words = ["replay", str(source), netns.SENDER_IP, "--format", "sc16", "--json"]
        return ends.running(wire.receiver, self.program, *words, "--loop", "forever")

    def strangers(self, wire: netns.Wire) -> None:
        with (
            self.device(wire) as device,
            self.record(wire) as receiver,
            self.replay(wire) as sender,
        ):
            hosts = {"receiver": receiver, "sender": sender}
            ports = {name: host.wait_for_port(netns.SENDER_IP) for name, host in hosts.items()}
            for victim, port in [("device", ports["receiver"]), *ports.items()]:
                to_ip = netns.SENDER_IP if victim == "device" else netns.RECEIVER_IP
                space = wire.receiver if victim == "device" else wire.sender
                for attack, frames in strangers.attacks(self.path(to_ip, port), MTU_BYTES):
                    sent = self.inject(space, frames)
                    for end in (device, receiver, sender):
                        end.check_alive(f"{attack} to the {victim}")
                    print(f"  {attack} to the {victim}: {sent} frames, all ends live", flush=True)
            receiver.check_whole("a receiver that strangers attacked")
            sender.check_whole("a sender that strangers attacked")

    def peers(self, wire: netns.Wire) -> None:
        with self.device(wire) as device:
            done = self.peer(wire.receiver, "host")
            for stream, counts in done.items():
                print(f"  a hostile host, {stream}: {counts}")
            device.check_alive("a hostile host")
            if any(counts["refused"] for counts in done.values()):
                raise AttackError("the device refuses a host after a hostile packet")
            written = sum(file.stat().st_blocks * 512 for file in self.folder.iterdir())
            if written > PLAYED_BYTES_MAX:
                raise AttackError(f"the device has written {written} bytes for a hostile host")
            with self.record(wire, "--nsamps", "1000000") as receiver:
                receiver.check_ends_whole("a receiver after a hostile host", RECORD_PATIENCE_S)
        self.hostile_device(wire)

    def hostile_device(self, wire: netns.Wire) -> None:
        """Receivers of a device that names a row of extreme terms to each."""
        rows, statuses = len(packets.hostile_terms()), {}
        script = [sys.executable, str(HERE / "peers.py"), "device"]
        address = f"{netns.SENDER_IP}:{ends.PORT}"
        with ends.running(wire.sender, *script, address) as device:
            device.wait_for_line("ready")
            for first in range(0, rows, RECORDS_AT_ONCE):
                group = range(first, min(first + RECORDS_AT_ONCE, rows))
                started = [self.record_of_extremes(wire, row) for row in group]
                for row, receiver in zip(group, started, strict=True):
                    status = receiver.wait(RECORD_PATIENCE_S, f"a receiver of terms {row}")
                    if status not in EXIT_STATUSES:
                        raise AttackError(
                            f"terms {row} end a receiver with status {status}: {receiver.errors()}"
                        )
                    if ESCAPE in receiver.output() + receiver.errors():
                        raise AttackError(f"terms {row} reach the terminal unescaped")
                    statuses[status] = statuses.get(status, 0) + 1
            device.check_alive("all receivers")
        print(f"  a hostile device: {rows} openings, exit statuses {statuses}")

    def record_of_extremes(self, wire: netns.Wire, row: int) -> Program:
        name = str(self.folder / f"terms-{row}")
        words = ["record", netns.SENDER_IP, name, "--nsamps", "1000", "--timeout", "0.3"]
        return ends.start(wire.receiver, self.program, *words)

    def flood(self, wire: netns.Wire) -> None:
        seconds = self.flood_s
        # Locked memory is resident from the start: pages of the window that a stall touches for the
        # first time are no growth.
        lock = "--lock-memory"
        with self.device(wire, lock) as device, self.record(wire, lock) as receiver:
            port = receiver.wait_for_port(netns.SENDER_IP)
            floods = [
                self.start_flood(wire.receiver, netns.SENDER_IP, port, seconds),
                self.start_flood(wire.sender, netns.RECEIVER_IP, port, seconds),
            ]
            time.sleep(1)
            before = [end.peak_bytes() for end in (device, receiver)]
            for flood in floods:
                flood.wait(seconds + RECORD_PATIENCE_S, "a flood")
            after = [end.peak_bytes() for end in (device, receiver)]
            sent = [flood.output().strip() for flood in floods]
            receiver.check_whole("a receiver under a flood")
            growth = [late - early for early, late in zip(before, after, strict=True)]
            print(f"  {seconds:g} s: frames to device and receiver {sent}, memory grew by {growth}")
            if max(growth) >= MEMORY_GROWTH_MAX_BYTES:
                raise AttackError(f"memory grew by {growth} bytes (device, receiver)")

    def start_flood(self, space: tuple, to_ip: str, port: int, seconds: float) -> Program:
        frames = [f for _, each in strangers.attacks(self.path(to_ip, port), MTU_BYTES)
                  for f in spread(each)]  # fmt: skip
        path = self.folder / f"flood-{to_ip}"
        inject.write(path, frames)
        script = [sys.executable, str(HERE / "inject.py")]
        return ends.start(space, *script, netns.DEVICE, str(path), str(seconds))

    def inject(self, space: tuple[str, ...], frames: list[bytes]) -> int:
        path = self.folder / "frames"
        inject.write(path, frames)
        script = [sys.executable, str(HERE / "inject.py")]
        return int(netns.run(*space, *script, netns.DEVICE, str(path)))

    def peer(self, space: tuple[str, ...], role: str) -> dict:
        script = [sys.executable, str(HERE / "peers.py"), role]
        return json.loads(netns.run(*space, *script, f"{netns.SENDER_IP}:{ends.PORT}"))

    @staticmethod
    def path(to_ip: str, receiver_port: int) -> FramePath:
        """As if from the other end of the stream."""
        is_device = to_ip == netns.SENDER_IP
        from_ip = netns.RECEIVER_IP if is_device else netns.SENDER_IP
        ports = (ends.PORT, receiver_port) if is_device else (receiver_port, ends.PORT)
        return FramePath(to_mac=MACS[to_ip], from_mac=MACS[from_ip], to_ip=to_ip, from_ip=from_ip,
                         to_port=ports[0], from_port=ports[1])  # fmt: skip


def spread(frames: list[bytes]) -> list[bytes]:
    """At most a few hundred of an attack's frames, so that in a flood all attacks take turns."""
    return frames[:: max(1, len(frames) // FLOOD_FRAMES_OF_ATTACK)]


FLOOD_FRAMES_OF_ATTACK = 300

if __name__ == "__main__":
    sys.exit(main())

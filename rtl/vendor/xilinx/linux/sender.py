#!/usr/bin/env python3
"""Bring a sender up from Linux on the board, through its registers. Not tried on hardware.

    sender.py /dev/uio0 --ip 10.0.0.2 --mac 02:00:00:00:00:01 --line-gbps 25 [--rate HZ]
    sender.py /dev/mem --offset 0xA0000000 ..
    sender.py .. --rate HZ --pps           keeps running: states the time of samples every second

It needs `samplewire_regs.py` of rtl/regs beside it or on PYTHONPATH. With PYNQ the memory is
`pynq.MMIO(0xA0000000, 4096)` in place of `Mapped`; what has `read(offset)` and
`write(offset, value)` of 32-bit words will do.
"""

import argparse
import ipaddress
import mmap
import secrets
import signal
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

try:
    import samplewire_regs as regs
except ImportError:
    sys.path.append(str(Path(__file__).resolve().parents[3] / "regs"))
    import samplewire_regs as regs

SPAN_BYTES = 4096
WORD = 0xFFFFFFFF
# Of docs/protocol.md#2.15.
FORMAT_SC16, PAYLOAD_OFFSET, RANGES_MAX, TLV_NAME = 2, 22, 32, 2
SOURCE_CONVERTER = 1
SECOND_NS = 1_000_000_000
# `tai_period` has 64 bits and counts 2^-48 ns. Older maps of registers have no `tai_*`.
PERIOD_BITS, PERIOD_FRACTION_BITS = 64, 48
TAI_VERSION_MINOR = 5
# In 2^-16 bytes/ns. Faster lines than the slow ones have what a sender of 512 bits begins with
# (docs/congestion.md#the-preset-samplewire).
GBPS = 8192
LINE_GBPS_MAX = ((1 << 24) - 1) // GBPS
SLOW_LINE_GBPS_MAX = 20


class Memory(Protocol):
    """32-bit words by their offset in bytes."""

    def read(self, offset: int) -> int:
        """A word."""

    def write(self, offset: int, value: int) -> None:
        """Write a word."""


class Mapped:
    """Registers in /dev/uioN, or in /dev/mem at an address; accessed by whole words."""

    def __init__(self, path: str, *, offset: int = 0) -> None:
        with Path(path).open("r+b", buffering=0) as file:
            self._map = mmap.mmap(file.fileno(), SPAN_BYTES, offset=offset)
        self._words = memoryview(self._map).cast("I")

    def read(self, offset: int) -> int:
        """A word."""
        return self._words[offset // 4]

    def write(self, offset: int, value: int) -> None:
        """Write a word."""
        self._words[offset // 4] = value


@dataclass(frozen=True)
class Setup:
    """What a board is to be; `rate_hz` 0 is unknown, `gate_samples` 0 is without end."""

    mac: int
    ip: int
    boot_id: int  # another at each start
    secret: int  # 128 random bits
    line_gbps: int  # of the MAC: congestion control limits nothing there
    port: int = 9100
    payload_bytes: int = 8192
    rate_hz: int = 0
    channels: int = 1
    gate_samples: int = 0
    tolerance_ns: int = 50_000
    dead_ms: int = 15_000
    idle_ms: int = 100
    name: str = "samplewire board"


class Sender:
    """The registers of a sender by the names of docs/registers.md."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.tai_number = 0  # of the last time that was stated
        if self.get("id") != regs.ID_VALUE:
            raise ValueError("no sender answers at this address")
        self.version_minor = self.get("version", "minor")
        self.has_time = self.version_minor >= TAI_VERSION_MINOR

    def get(self, register: str, field: str = "") -> int:
        """A field of one register; without a name, the field that is called as the register."""
        found = regs.REGISTERS[register]
        (part,) = (f for f in found.fields if f.name == (field or register))
        return self.memory.read(found.offset) >> part.shift & ((1 << part.bits) - 1)

    def put(self, register: str, **values: int) -> None:
        """Write one register; fields that are not named are 0."""
        found = regs.REGISTERS[register]
        parts = {f.name: f for f in found.fields}
        word = 0
        for name, value in values.items():
            part = parts[name]
            word |= (value >> part.part & ((1 << part.bits) - 1)) << part.shift
        self.memory.write(found.offset, word)

    def put_wide(self, **values: int) -> None:
        """Write fields that lie in several registers, the low part first."""
        for name, value in values.items():
            for register, found in regs.REGISTERS.items():
                if any(f.name == name for f in found.fields):
                    self.put(register, **{name: value})

    def put_time(self, index: int, tai_ns: int, rate_hz: int) -> None:
        """State the TAI time of an index; the board's MARKs count on from there at the rate.

        Raises
        ------
        ValueError
            The board has no registers for the time, or the rate is too low for them.
        """
        period = self.tai_period(rate_hz)
        number = self.get("tai_number") or self.tai_number
        self.clear_time()
        self.put_wide(tai_index=index, tai_time=tai_ns, tai_period=period)
        self.tai_number = number % 0xFFFF + 1
        self.put("tai_number", tai_number=self.tai_number)

    def tai_period(self, rate_hz: int) -> int:
        """The duration of a sample as `tai_period` holds it.

        Raises
        ------
        ValueError
            The board has no registers for the time, or the rate is too low for them.
        """
        if not self.has_time:
            raise ValueError(
                f"the time of samples needs version 1.{TAI_VERSION_MINOR} of the registers, "
                f"the board has 1.{self.version_minor}"
            )
        if rate_hz > 0:
            period = ((SECOND_NS << PERIOD_FRACTION_BITS) + rate_hz // 2) // rate_hz
            if period < 1 << PERIOD_BITS:
                return period
        raise ValueError(f"{rate_hz} samples/s, too slow for `tai_period`")

    def clear_time(self) -> None:
        """Make the time of samples unknown."""
        self.put("tai_number", tai_number=0)

    def latch(self, *, timeout_s: float = 1.5, poll_s: float = 0.01) -> int:
        """Latch the index at the next edge of `sync_i`, and return it.

        Raises
        ------
        TimeoutError
            No edge came.
        """
        self.put("command", sync_latch=1)
        end = time.monotonic() + timeout_s
        while self.get("state", "sync_armed"):
            if time.monotonic() > end:
                self.put("command", sync_cancel=1)
                raise TimeoutError(f"no edge at sync_i within {timeout_s} s")
            time.sleep(poll_s)
        return self.counters()["sync_index"]

    def put_second(self, rate_hz: int) -> None:
        """State the time at the next pulse per second: the full second of the system's TAI.

        The system's clock must be right to 0.4 s.
        """
        index = self.latch()
        now_ns = system_tai_ns()
        self.put_time(index, (now_ns + SECOND_NS // 2) // SECOND_NS * SECOND_NS, rate_hz)

    def put_seconds(self, rate_hz: int) -> None:
        """State the time at each pulse per second, until an exception.

        The time is unknown from a missing pulse to the next pulse, and afterwards.
        """
        try:
            while True:
                try:
                    self.put_second(rate_hz)
                except TimeoutError as error:
                    self.clear_time()
                    print(f"warning: {error}: the time of samples is unknown", file=sys.stderr)
        finally:
            self.clear_time()

    def counters(self) -> dict[str, int]:
        """All counters, as of one cycle."""
        self.put("command", snapshot=1)
        read, at = self.memory.read, regs.COUNTERS_OFFSET
        return {
            name: read(at + 8 * n) | read(at + 8 * n + 4) << 32
            for n, name in enumerate(regs.COUNTERS)
        }

    def put_line(self, line_gbps: int) -> None:
        """Write the preset of congestion control for a line; a stream starts at the line's rate."""
        for name in ("rise_bytes", "rate_additive", "rate_hyper"):
            (part,) = regs.REGISTERS[name].fields
            is_slow = line_gbps <= SLOW_LINE_GBPS_MAX
            self.put(name, **{name: part.reset if is_slow else part.reset_wide})
        # After each write the others are to be at most `rate_line`.
        rate = line_gbps * GBPS
        names = ["rate_line", "rate_first_cut", "rate_start"]
        if rate < self.get("rate_line"):
            names.reverse()
        for name in names:
            self.put(name, **{name: rate})

    def bring_up(self, setup: Setup) -> None:
        """Configure the board and let it answer: `control` comes last.

        Raises
        ------
        ValueError
            The payload does not fit the slots, the beats or the samples of this build, or the
            line's rate does not fit its register.
        """
        beat_bytes = self.get("geometry", "width") // 8
        sample_bytes = 4 * setup.channels
        slot_bytes = self.get("geometry", "slot_bytes")
        if (
            not 2 * beat_bytes <= setup.payload_bytes <= slot_bytes
            or setup.payload_bytes % beat_bytes
            or setup.payload_bytes % sample_bytes
        ):
            raise ValueError(f"a payload of {setup.payload_bytes} bytes, slots of {slot_bytes}")
        if not 1 <= setup.line_gbps <= LINE_GBPS_MAX:
            raise ValueError(f"a line of {setup.line_gbps} Gb/s, not 1 to {LINE_GBPS_MAX}")
        self.put_wide(mac=setup.mac, ip=setup.ip, port=setup.port)
        self.put("payload", payload_bytes=setup.payload_bytes)
        self.put("pace_rate", pace_rate=0)
        self.put_line(setup.line_gbps)
        self.put("silence", dead_ms=setup.dead_ms, idle_ms=setup.idle_ms)
        self.put_wide(boot_id=setup.boot_id, secret=setup.secret)
        words = accept_words(setup, self.get("slots"), beat_bytes)
        for n, word in enumerate(words):
            self.memory.write(regs.TEMPLATE_OFFSET + 8 * n, word & WORD)
            self.memory.write(regs.TEMPLATE_OFFSET + 8 * n + 4, word >> 32)
        self.put("template_words", template_words=len(words))
        if self.has_time:
            self.clear_time()
        self.put_wide(source_index=0, source_count=setup.gate_samples)
        self.put("command", gate_open=1)
        self.put("control", enable=1, source=SOURCE_CONVERTER)


def system_tai_ns() -> int:
    """The system's TAI.

    Raises
    ------
    RuntimeError
        The kernel does not know how far TAI is ahead of UTC.
    """
    # In this order a pause between the two only lowers the difference.
    now_ns = time.clock_gettime_ns(time.CLOCK_TAI)
    ahead_ns = now_ns - time.clock_gettime_ns(time.CLOCK_REALTIME)
    if ahead_ns < SECOND_NS:
        raise RuntimeError(
            "the kernel's TAI offset is not set, so times would be wrong by 37 s: use chrony with "
            "`leapsectz right/UTC` in chrony.conf, or ptp4l, or set it with adjtimex"
        )
    return now_ns


def accept_words(setup: Setup, slots: int, beat_bytes: int) -> list[int]:
    """The body of ACCEPT; the board fills in the nonce and its tag."""
    name = setup.name.encode()
    tlv = struct.pack(">HH", TLV_NAME, len(name)) + name
    body = struct.pack(
        ">QIHHQQIHHIHBBIIHHHHQ",
        *(0, 0, 0, 1),  # nonce, tag, stream 0 of 1
        *(setup.boot_id, setup.rate_hz, 1),
        *(FORMAT_SC16, setup.channels),
        *(setup.payload_bytes // (4 * setup.channels), setup.payload_bytes),
        *(PAYLOAD_OFFSET, 0),
        *(slots, setup.tolerance_ns // 16),
        *(setup.dead_ms, setup.idle_ms, RANGES_MAX, beat_bytes),
        0,  # time of the index: the board's, where it is known
    )
    body += tlv + bytes(-len(tlv) % 8)
    return [word for (word,) in struct.iter_unpack(">Q", body)]


def main() -> None:
    """Bring a sender up and print what it counts."""
    parser = argparse.ArgumentParser(description="bring a sender up")
    parser.add_argument("device", help="/dev/uioN or /dev/mem")
    parser.add_argument("--offset", type=lambda s: int(s, 0), default=0)
    parser.add_argument("--ip", type=ipaddress.IPv4Address, required=True)
    parser.add_argument("--mac", type=lambda s: int(s.replace(":", ""), 16), required=True)
    parser.add_argument("--line-gbps", type=int, required=True, help="of the MAC: 10, 25 or 100")
    parser.add_argument("--rate", type=int, default=0, help="samples a second")
    parser.add_argument("--payload", type=int, default=8192, help="bytes: 1408 at an MTU of 1500")
    parser.add_argument("--pps", action="store_true", help="sync_i is a pulse per second")
    given = parser.parse_args()
    if given.pps and not given.rate:
        parser.error("--pps needs --rate")
    sender = Sender(Mapped(given.device, offset=given.offset))
    if given.pps:
        sender.tai_period(given.rate)
        system_tai_ns()
    sender.bring_up(
        Setup(
            mac=given.mac,
            ip=int(given.ip),
            boot_id=time.time_ns(),
            secret=secrets.randbits(128),
            line_gbps=given.line_gbps,
            payload_bytes=given.payload,
            rate_hz=given.rate,
        )
    )
    for name, value in sender.counters().items():
        print(f"{name} {value}")
    if given.pps:
        # SIGTERM ends it as Ctrl-C does, so that the board does not keep an old time.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        sender.put_seconds(given.rate)


if __name__ == "__main__":
    main()

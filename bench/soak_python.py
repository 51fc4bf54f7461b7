"""Receives and sends in Python for minutes: memory, threads and files stay what they were.

    python bench/soak_python.py --minutes 2

In turn and without a pause: blocks and views over a wire that loses packets, copies, readings that
a signal breaks off, bursts with events, recordings, and openings that fail. Every index is checked.
The resident memory, the threads and the open files after the first rounds are held against those of
the end. `make soak-python` runs it with the package installed.
"""

import argparse
import gc
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

import numpy as np
import samplewire as sw

GROWTH_MAX_KIB = 8_192
"""Far under what one stream takes, which is 11 MB."""

WARM_ROUNDS = 5

ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
"""Whatever is large goes back to the system when it is freed: what is resident is in use."""


class StopError(Exception):
    """What the signal's handler raises."""


def state() -> tuple[int, int, int]:
    """Resident memory in KiB, threads, open files."""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    rss = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    tasks, files = (len(list(Path("/proc/self", name).iterdir())) for name in ("task", "fd"))
    return rss, tasks, files


def check(samples: np.ndarray, index: int) -> None:
    """Hold samples against the counter, each of which has the bits of its index."""
    words = np.ascontiguousarray(samples).view("<u4").reshape(-1)
    assert (words == np.arange(index, index + len(words)).astype("<u4")).all()


def blocks() -> int:
    """Views over a wire that loses packets; some are kept past the receiver."""
    source = sw.emulate("counter", rate_hz=20e6, samples=500_000, faults="data:loss=0.01")
    kept = []
    with source as device, sw.receive(device.address) as rx:
        expected = first = rx.info.first_index
        for block in rx.blocks(timeout=60):
            for gap in block.gaps:
                assert gap.first == expected
                expected = gap.end
            assert block.index == expected
            check(block.samples, block.index)
            expected = block.end
            kept = [*kept[-3:], block.samples]
    assert expected == first + 500_000
    return 500_000


def broken_readings() -> int:
    """Copies, of which a signal breaks some off."""
    with (
        sw.emulate("counter", rate_hz=5e6, paced=False) as device,
        sw.receive(device.address) as rx,
    ):
        expected = first = rx.info.first_index
        for _ in range(5):
            target = rx.stats().samples_delivered + 50_000
            is_done = threading.Event()

            def interrupt(target: int = target, is_done: threading.Event = is_done) -> None:
                while rx.stats().samples_delivered < target and not is_done.wait(0.001):
                    pass
                os.kill(os.getpid(), signal.SIGUSR1)

            thread = threading.Thread(target=interrupt)
            try:
                thread.start()
                while True:
                    reading = rx.read(100_000, timeout=60)
                    assert reading.index == expected
                    check(reading.samples, expected)
                    expected += len(reading.samples)
            except StopError:
                # The reading that it broke off comes with the next; one that was whole had been
                # handed over.
                is_done.set()
            thread.join()
            reading = rx.read(1_000, timeout=60)
            assert reading.index in (expected, expected + 100_000)
            expected = reading.index + len(reading.samples)
    return expected - first


def bursts() -> int:
    """Bursts, late ones among them, and their events."""
    with sw.emulate(plays="null", rate_hz=2e6) as device, sw.transmit(device.address) as tx:
        for lead in (100_000, 0, 100_000):
            index = max(tx.stats().position_of_peer + lead, tx.next_index)
            tx.send(np.zeros(50_000, np.complex64), index=index)
            tx.wait_played(timeout=60)
        events = list(tx.events(timeout=0))
        assert sum(event.lost for event in events) == 0
    return 150_000


def recording() -> int:
    """The library's sinks."""
    with sw.emulate("counter", rate_hz=20e6) as device:
        return sw.record(device.address, "null", samples=300_000).samples


def refusals() -> int:
    """Openings that fail."""
    with sw.emulate("counter", rate_hz=1e6) as device:
        for call in (
            lambda: sw.receive(device.address, stream=9, timeout=30),
            lambda: sw.transmit(device.address, timeout=30),
            lambda: sw.receive(device.address, window=0),
        ):
            try:
                call()
            except sw.OpenError:
                continue
            raise AssertionError("it was opened")
    return 0


def main() -> int:
    """Go round until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    arguments = parser.parse_args()
    if not ALLOCATOR.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ALLOCATOR)

    def stop(number: int, frame: FrameType | None) -> None:
        raise StopError

    signal.signal(signal.SIGUSR1, stop)
    samples, rounds, before = 0, 0, None
    until = time.monotonic() + 60 * arguments.minutes
    while before is None or time.monotonic() < until:
        for work in (blocks, broken_readings, bursts, recording, refusals):
            samples += work()
        rounds += 1
        if rounds == WARM_ROUNDS:
            before = state()
            until = max(until, time.monotonic() + 1)
    after = state()
    print(f"{rounds} rounds, {samples} samples; after round {WARM_ROUNDS} and at the end:")
    for name, first, last in zip(("RSS KiB", "threads", "files"), before, after, strict=True):
        print(f"  {name}: {first} -> {last}")
    grown_kib = after[0] - before[0]
    if grown_kib > GROWTH_MAX_KIB or after[1:] != before[1:]:
        print(f"FAILED: something stays behind (more than {GROWTH_MAX_KIB} KiB of memory is)")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

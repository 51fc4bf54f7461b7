"""Failures, and how they are reported."""

import inspect
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import samplewire as sw


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delivery": "soon"}, "delivery 'soon' is none of complete, best-effort, deadline:TIME"),
        ({"delivery": "deadline:soon"}, "'deadline:soon': `soon` is no time above 0 such as 5ms"),
        ({"delivery": "deadline:31s"}, "deadline 31s: must be 1us to 30s"),
        ({"window": -1}, "window -1: must be 1 to 2\\^24 packets"),
        ({"window": 0}, "window 0: must be 1 to 2\\^24 packets"),
        ({"stream": 1 << 16}, "stream 65536: must be 0 to 2\\^16 - 1"),
        ({"timeout": -1.0}, "timeout -1 s: must be 0 s or more"),
        ({"timeout": float("nan")}, "timeout NaN s: must be"),
        ({"mtu": 10}, "mtu 10: must be 576 to 9000 bytes"),
        ({"address": "127.0.0.1:notaport"}, "address 127.0.0.1:notaport"),
    ],
)
def test_wrong_options_are_named(counter: sw.Device, options: dict[str, Any], words: str) -> None:
    arguments = {"address": counter.address, **options}
    with pytest.raises(ValueError, match=words):
        sw.receive(**arguments)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: sw.emulate("sawtooth"), sw.SourceError, "sawtooth"),
        (lambda: sw.emulate("tone"), sw.SourceError, "needs its frequency"),
        (lambda: sw.emulate(format="sc12"), ValueError, "`sc12` is unknown"),
        (lambda: sw.emulate(rate_hz=-1.0), sw.SourceError, "rate of -1 Hz"),
        (lambda: sw.emulate(faults="data:lost=1"), ValueError, "lost"),
        (lambda: sw.emulate(streams=0), ValueError, "streams 0: must be 1 to"),
        (lambda: sw.emulate(payload_bytes=7), ValueError, "7"),
        (lambda: sw.emulate(np.zeros(4, np.complex64)), ValueError, "give rate_hz"),
        (lambda: sw.emulate(np.zeros(4, np.int16), rate_hz=1e6), ValueError, "say which format"),
        (
            lambda: sw.emulate(np.zeros((4, 3), np.complex64), rate_hz=1e6),
            ValueError,
            r"shaped \(4, 3\)",
        ),
        (lambda: sw.wire_bytes(np.zeros(4), "sc16", 1), TypeError, "float64"),
        (lambda: sw.sample_dtype("f64"), ValueError, "`f64` is unknown: one of sc8 \\(ci8, CS8\\)"),
    ],
)
def test_wrong_arguments_are_named(
    call: Callable[[], object], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_absent_device_and_wrong_stream_are_distinguished(counter: sw.Device) -> None:
    with pytest.raises(sw.NoAnswerError, match="nothing listens there") as caught:
        sw.receive("127.0.0.1:1", timeout=1.0)
    assert caught.value.is_unreachable
    assert isinstance(caught.value, TimeoutError)
    with pytest.raises(sw.RefusedError, match="stream 7") as refused:
        sw.receive(counter.address, stream=7, timeout=5)
    assert (refused.value.stream, refused.value.address) == (7, counter.address)
    with sw.receive(counter.address), pytest.raises(sw.RefusedError) as taken:
        sw.receive(counter.address, timeout=5)
    assert taken.value.reason == "Busy"


def test_every_exception_is_one_of_the_package() -> None:
    named = [getattr(sw, name) for name in sw.__all__ if name.endswith("Error")]
    assert len(named) > 20
    assert all(issubclass(it, sw.Error) for it in named)
    assert issubclass(sw.HeldMemoryWarning, Warning)


DEVICE = """
import sys, time
import samplewire as sw
with sw.emulate("counter", rate_hz=1e6, address=sys.argv[1]) as device:
    print(device.address, flush=True)
    time.sleep(60)
"""


def start_device(address: str = "127.0.0.1:0") -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-c", DEVICE, address]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_device_that_dies_in_the_middle_is_an_exception() -> None:
    process, address = start_device()
    again = None
    try:
        with sw.receive(address) as rx:
            expected = next(rx.blocks(timeout=30)).end
            process.kill()
            process.wait()
            blocks = rx.blocks(timeout=0.5)
            with pytest.raises(sw.Error) as silence:
                while True:
                    block = next(blocks)
                    assert block.index == expected, "received samples come before the error"
                    expected = block.end
            assert isinstance(silence.value, sw.WaitTimeoutError | sw.PeerSilentError)
            again, _ = start_device(address)
            with pytest.raises(sw.PeerRestartedError, match="open the stream again"):
                while True:
                    next(rx.blocks(timeout=30))
            with pytest.raises(sw.PeerRestartedError):
                next(rx.blocks())
    finally:
        for it in (process, again):
            if it is not None:
                it.kill()
                it.wait()


def test_recording_of_a_device_that_died_before_its_end_says_so() -> None:
    process, address = start_device()
    killer = threading.Timer(0.7, process.kill)
    try:
        whole = sw.record(address, "null", seconds=0.2)
        killer.start()
        recording = sw.record(address, "null", seconds=2.5)
    finally:
        killer.cancel()
        process.kill()
        process.wait()
    assert whole.silent_s is None
    assert recording.missing_samples == 0, "no gap is known"
    assert recording.silent_s is not None and 1.0 < recording.silent_s < 2.5


def test_reading_that_breaks_in_the_middle_gives_what_came() -> None:
    process, address = start_device()
    started = [process]

    def restart() -> None:
        until(lambda: rx.stats().samples_delivered > 100_000)
        process.kill()
        process.wait()
        started.append(start_device(address)[0])

    try:
        with sw.receive(address) as rx:
            restarting = threading.Thread(target=restart)
            restarting.start()
            read = 0
            with pytest.raises((sw.PeerRestartedError, sw.PeerSilentError)):
                while True:
                    read += len(rx.read(1 << 26).samples)
            restarting.join()
            assert read == rx.stats().samples_delivered > 0
    finally:
        for it in started:
            it.kill()
            it.wait()


@pytest.mark.parametrize("is_forgotten", [False, True], ids=["closed", "forgotten"])
def test_device_ends_though_its_receiver_takes_nothing(is_forgotten: bool) -> None:
    device = sw.emulate("counter", rate_hz=1e6, paced=False, window=64)
    with sw.receive(device.address, window=64) as rx:
        expected = next(rx.blocks(timeout=30)).end
        fill(rx)
        start = time.monotonic()
        if not is_forgotten:
            device.close()
        del device
        assert time.monotonic() - start < 30
        with pytest.raises(sw.ClosedByPeerError, match=r"^closed by the peer$"):
            for block in rx.blocks(timeout=30):
                assert block.index == expected, "what had departed is there"
                expected = block.end


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that a working machine comes to."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < 60
        time.sleep(0.001)


def fill(rx: sw.Receiver) -> None:
    """Wait until a receiver that takes nothing has no credit left, and more waits to be sent."""
    received = -1
    while rx.stats().credit or rx.stats().received != received:
        received = rx.stats().received
        time.sleep(0.3)


def turns(pid: int) -> int:
    """How often the main thread slept or was set aside: it waits, or has worked for long."""
    lines = Path(f"/proc/{pid}/task/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)


def interrupted(body: str) -> float:
    """Seconds from SIGINT to KeyboardInterrupt in a program that waits in `body`."""
    program = textwrap.dedent("""
        import signal, sys, time
        import numpy as np
        import samplewire as sw
        # Programs that a shell starts in the background ignore it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        def ready():
            print("ready", flush=True)
        {fill}
        try:
        {body}
        except KeyboardInterrupt:
            print(time.monotonic(), flush=True)
    """).format(body=textwrap.indent(textwrap.dedent(body), "    "), fill=inspect.getsource(fill))
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        before = turns(process.pid)
        until(lambda: turns(process.pid) > before + 3)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        return float(process.stdout.readline()) - sent
    finally:
        process.kill()
        process.wait()


SILENT = """
device = sw.emulate("null", rate_hz=1.0)
rx = sw.receive(device.address)
"""


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(SILENT + "ready(); next(rx.blocks())", id="block"),
        pytest.param(SILENT + "ready(); rx.read(10)", id="read"),
        pytest.param(
            'device = sw.emulate("counter", rate_hz=1e6)\n'
            "rx = sw.receive(device.address)\nready()\nfor block in rx: block.samples.sum()",
            id="loop over blocks that come",
        ),
        pytest.param(
            'device = sw.emulate(plays="null", rate_hz=1e6)\n'
            "tx = sw.transmit(device.address)\nready(); next(tx.events())",
            id="events",
        ),
        pytest.param(
            'ready(); sw.receive("192.0.2.1", timeout=30)',
            id="open",
        ),
        pytest.param("ready(); sw.find(port=9, timeout=30)", id="find"),
        pytest.param(
            'device = sw.emulate("null", rate_hz=1.0)\nready(); sw.record(device.address, "null")',
            id="record",
        ),
        pytest.param(
            'device = sw.emulate(plays="null", rate_hz=1e3, window=64)\n'
            "tx = sw.transmit(device.address, window=64)\n"
            "ready(); tx.send(np.zeros((1 << 19, 1, 2), np.int16), index=50_000)",
            id="send",
        ),
        pytest.param(
            'device = sw.emulate(plays="null", rate_hz=2e6, window=64)\n'
            "tx = sw.transmit(device.address, window=64)\n"
            "samples = np.zeros((1 << 23, 1, 2), np.int16)\n"
            "ready(); tx.send(samples)",
            id="send that never waits for long",
        ),
    ],
)
def test_interrupt_ends_a_wait(body: str) -> None:
    # What a signal does not end would last for ever, or 30 s.
    assert interrupted(body) < 10


def test_interrupt_ends_the_patience_of_a_closing_device() -> None:
    body = (
        'device = sw.emulate("counter", rate_hz=1e6, paced=False, window=64)\n'
        "rx = sw.receive(device.address, window=64)\n"
        "next(rx.blocks()); fill(rx)\n"
        "ready(); device.close()"
    )
    # It would last 2 s; a busy machine may delay the wake-up.
    assert any(interrupted(body) < 1 for _ in range(5))


BROKEN_OFF = """
import os, signal, sys, threading, time
import numpy as np
import samplewire as sw

class Stop(Exception):
    pass

def stop(number, frame):
    raise Stop

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGUSR1, stop)
device = sw.emulate("counter", rate_hz=1e6)
rx = sw.receive(device.address)
expected = rx.info.first_index
is_over = False

def send_when(signal_number, index):
    while not is_over and rx.stats().samples_delivered < index:
        time.sleep(0.001)
    os.kill(os.getpid(), signal_number)

def take(count):
    global expected
    reading = rx.read(count, timeout=60)
    for gap in reading.gaps:
        assert gap.first == expected, (gap, expected)
        expected = gap.end
    assert reading.index == expected, (reading.index, expected)
    expected += len(reading.samples)
    words = reading.samples.reshape(-1).view("<u4")
    assert (words == np.arange(reading.index, expected)).all()
    return len(words)

for number, kind in ((signal.SIGINT, KeyboardInterrupt), (signal.SIGUSR1, Stop)):
    delivered = rx.stats().samples_delivered
    thread = threading.Thread(target=send_when, args=(number, delivered + 100_000))
    thread.start()
    broken_off = 0
    while not broken_off:
        try:
            take(1 << 22)
        except kind:
            broken_off = 1
    thread.join()
    # In less than was copied, and then in more.
    assert take(1_000) == 1_000
    take(200_000)
rx.close()
print("whole")
"""


def test_reading_that_a_signal_breaks_off_loses_nothing() -> None:
    command = [sys.executable, "-c", BROKEN_OFF]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    assert done.stdout == "whole\n"


def test_what_a_broken_off_reading_copied_outlives_the_receiver() -> None:
    def stop(number: int, frame: object) -> None:
        raise InterruptedError

    handler = signal.signal(signal.SIGUSR1, stop)
    try:
        with sw.emulate("counter", rate_hz=1e6) as device, sw.receive(device.address) as rx:

            def send() -> None:
                until(lambda: rx.stats().samples_delivered > 100_000)
                os.kill(os.getpid(), signal.SIGUSR1)

            thread = threading.Thread(target=send)
            thread.start()
            with pytest.raises(InterruptedError):
                rx.read(1 << 24, timeout=60)
            thread.join()
        reading = rx.read(1 << 24)
        assert reading.index == rx.info.first_index
        assert len(reading.samples) > 50_000
        with pytest.raises(sw.ClosedError):
            rx.read(1)
    finally:
        signal.signal(signal.SIGUSR1, handler)


def test_fork_is_reported_and_harmless(counter: sw.Device) -> None:
    player = sw.emulate(plays="null", rate_hz=1e6)
    with player, sw.transmit(player.address) as tx, sw.receive(counter.address) as rx:
        expected = next(rx.blocks()).end
        child = os.fork()
        if child == 0:
            code = 1
            try:
                calls: list[Callable[[], object]] = [
                    rx.stats,
                    lambda: next(rx.blocks()),
                    lambda: rx.read(1),
                    tx.stats,
                    lambda: tx.send(np.zeros(1, np.complex64)),
                    lambda: next(tx.events()),
                    tx.finish,
                    counter.played,
                    counter.faults,
                    lambda: counter.failures,
                ]
                for call in calls:
                    try:
                        call()
                    except sw.ForkError as error:
                        assert "open it in the child" in str(error)
                    else:
                        os._exit(2)
                rx.close()
                counter.close()
                del rx, tx
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        for block in rx.blocks(timeout=30):
            assert block.index == expected
            expected = block.end
            if expected > 500_000:
                break


def receive_some(address: str) -> int:
    with sw.receive(address) as rx:
        return len(rx.read(1_000).samples)


def test_spawned_child_opens_its_own(counter: sw.Device) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(receive_some, (counter.address,)) == 1_000

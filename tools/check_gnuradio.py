"""Checks `samplewire bridge` against the ZMQ blocks of an installed GNU Radio.

    python3 tools/check_gnuradio.py target/debug/samplewire

Both ways, for each pair of blocks, sample by sample. Says so and ends well where GNU Radio is not
installed: it is in Debian's `gnuradio`.
"""

import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import numpy as np
    from gnuradio import blocks, gr, zeromq
except ImportError as error:
    print(f"skipped: there is no GNU Radio for {sys.executable}: {error}")
    sys.exit(0)

SAMPLES = 2_000_000
PATIENCE_S = 60
TIMEOUT_MS = 100
# What a device plays is written by the MiB.
BEHIND = 600_000
AS_SENT = ("--format", "sc16")


class CheckError(Exception):
    """A check that did not hold."""


@contextmanager
def running(*words: str, until: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """A command in the background, and what it printed up to the line with `until`."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            head = ""
            while until not in head:
                line = process.stdout.readline()
                if not line:
                    raise CheckError(f"{' '.join(words)} ended: {head}")
                head += line
            yield process, head
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)


def device(command: str, *options: str) -> object:
    """A device on a free port; gives its process and its address."""
    return running(command, "emulate", "--listen", "127.0.0.1:0", *options, until="Ctrl-C ends")


def address(head: str) -> str:
    """Where a device listens."""
    return re.search(r"listening on (\S+)", head)[1]


def bridge(command: str, device_head: str, *options: str) -> object:
    """A bridge to a device."""
    place = address(device_head)
    return running(command, "bridge", place, *options, until="carrying samples")


def endpoint(head: str) -> str:
    """Where the socket of a bridge listens."""
    return re.search(r"listening on (tcp://\S+)", head)[1]


def wait_for(what: str, is_there: Callable[[], bool]) -> None:
    """Waits for a condition."""
    until = time.monotonic() + PATIENCE_S
    while not is_there():
        if time.monotonic() > until:
            raise CheckError(f"{what} did not come in {PATIENCE_S} s")
        time.sleep(0.02)


def check_counter(values: np.ndarray, what: str, first: int | None = None) -> None:
    """Checks that no sample is missing, doubled or moved."""
    values = values.astype(np.uint32)
    if first is not None and values[0] != first:
        raise CheckError(f"{what} begins with {values[0]}, and not with {first}")
    wrong = np.flatnonzero(np.diff(values) != 1)
    if wrong.size:
        raise CheckError(f"{what} breaks after sample {wrong[0]} of {values.size}")
    print(f"{what}: {values.size} samples in their places")


def from_bridge(command: str, option: str, source: object, rate: str) -> None:
    """A device's counter, through a bridge, into a source block of GNU Radio."""
    emulated = ("--source", "counter", "--rate", rate)
    with (
        device(command, *emulated) as (_, device_head),
        bridge(command, device_head, option, "tcp://127.0.0.1:0", *AS_SENT) as (_, head),
    ):
        top, sink = gr.top_block(), blocks.vector_sink_i()
        # Its items are the 4 bytes of a sample of sc16.
        received = source(gr.sizeof_int, 1, endpoint(head), TIMEOUT_MS, False)
        top.connect(received, blocks.head(gr.sizeof_int, SAMPLES), sink)
        top.start()
        wait_for(f"{option}: {SAMPLES} samples", lambda: len(sink.data()) >= SAMPLES)
        top.stop()
        top.wait()
        # A subscriber begins where the stream is.
        first = None if option == "--zmq-pub" else 0
        check_counter(np.array(sink.data()), f"{option} to GNU Radio", first)


def to_bridge(command: str, option: str, sink: object, rate: float | None) -> None:
    """A counter from GNU Radio, through a bridge, into what a device plays."""
    with tempfile.TemporaryDirectory() as folder:
        played = Path(folder) / "played.sc16"
        plays = ("--play", str(played), "--format", "sc16", "--rate", "max:1M", "--once")
        top = gr.top_block()
        sent = sink(gr.sizeof_int, 1, "tcp://127.0.0.1:*", TIMEOUT_MS, False)
        counter = blocks.vector_source_i(range(SAMPLES + BEHIND), False)
        if rate is None:
            top.connect(counter, sent)
        else:
            top.connect(counter, blocks.throttle(gr.sizeof_int, rate), sent)
        with (
            device(command, *plays) as (device_process, device_head),
            bridge(command, device_head, option, sent.last_endpoint(), *AS_SENT) as (process, _),
        ):
            seen = process.stdout.readline()
            if "is connected" not in seen:
                raise CheckError(f"{option}: {seen}")
            # A subscription is on its way when its socket is connected.
            time.sleep(0.5 if rate else 0)
            top.start()
            wait_for(
                f"{option}: {SAMPLES} samples",
                lambda: played.exists() and played.stat().st_size >= SAMPLES * 4,
            )
            top.stop()
            top.wait()
            process.send_signal(signal.SIGINT)
            process.wait()
            device_process.wait()
            values = np.fromfile(played, "<u4")
        check_counter(values, f"{option} from GNU Radio", 0)


def tone(command: str) -> None:
    """Samples that are converted: a tone of full scale, as complex floats."""
    emulated = ("--source", "tone:250k", "--rate", "1M")
    with (
        device(command, *emulated) as (_, device_head),
        bridge(command, device_head, "--zmq-pub", "tcp://127.0.0.1:0", "--format", "fc32") as (
            _,
            head,
        ),
    ):
        top, sink = gr.top_block(), blocks.vector_sink_c()
        received = zeromq.sub_source(gr.sizeof_gr_complex, 1, endpoint(head), TIMEOUT_MS, False)
        top.connect(received, blocks.head(gr.sizeof_gr_complex, 100_000), sink)
        top.start()
        wait_for("the tone", lambda: len(sink.data()) >= 100_000)
        top.stop()
        top.wait()
    values = np.array(sink.data())
    turn = np.angle(values[1:] / values[:-1])
    if not np.allclose(turn, np.pi / 2, atol=1e-3):
        raise CheckError(f"a quarter turn a sample was to come, and {turn[:4]} did")
    print(f"--format fc32: {values.size} samples of a tone")


def main() -> int:
    """Runs every pair of blocks."""
    command = sys.argv[1]
    try:
        from_bridge(command, "--zmq-pub", zeromq.sub_source, "4M")
        from_bridge(command, "--zmq-push", zeromq.pull_source, "max")
        from_bridge(command, "--zmq-rep", zeromq.req_source, "max")
        to_bridge(command, "--zmq-sub", zeromq.pub_sink, 2e6)
        to_bridge(command, "--zmq-pull", zeromq.push_sink, None)
        to_bridge(command, "--zmq-req", zeromq.rep_sink, None)
        tone(command)
    except CheckError as failure:
        print(f"FAILED: {failure}")
        return 1
    print(f"GNU Radio {gr.version()}: all well")
    return 0


if __name__ == "__main__":
    sys.exit(main())

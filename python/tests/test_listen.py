"""A program that sends its own samples to the receivers that open its stream."""

import itertools
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import samplewire as sw
from numpy.typing import NDArray


def send(listener: sw.Listener, parts: list[NDArray[Any]], ends: list[sw.SessionEnd]) -> None:
    stream = listener.accept(timeout=30)
    assert stream is not None
    with stream:
        stream.send(parts)
    assert stream.end is not None
    ends.append(stream.end)


def test_receivers_get_what_the_program_sends_one_after_the_other() -> None:
    rng = np.random.default_rng(6)
    samples = rng.integers(-(1 << 15), 1 << 15, (120_000, 2, 2), np.int16)
    ends: list[sw.SessionEnd] = []
    with sw.listen(rate_hz=2e6, channels=2, centre_frequency_hz=1e9, name="mine") as listener:
        for _ in range(2):
            parts = [samples[:7], samples[7:50_000], samples[50_000:]]
            thread = threading.Thread(target=send, args=(listener, parts, ends))
            thread.start()
            with sw.receive(listener.address) as rx:
                info = rx.info
                assert (info.name, info.channels, info.rate_hz) == ("mine", 2, 2e6)
                assert info.centre_frequency_hz == 1e9
                received = np.concatenate([block.samples.copy() for block in rx])
            thread.join()
            assert np.array_equal(received, samples)
    assert [it.end.startswith("Finished") for it in ends] == [True, True]
    assert ends[0].final_index == 120_000


def test_generator_is_one_burst_that_goes_on() -> None:
    def parts() -> Iterator[NDArray[Any]]:
        for number in range(300):
            yield np.full(1_000, number, np.float32)

    def serve(listener: sw.Listener) -> None:
        with next(iter(listener)) as stream:
            assert stream.first_index == 0
            assert stream.send(parts()) == stream.next_index == 300_000

    with sw.listen(format="rf32", rate_hz=1e6) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        with sw.receive(listener.address) as rx:
            reading = rx.read(300_000, timeout=30)
        thread.join()
    assert (reading.samples[:, 0] == np.repeat(np.arange(300), 1_000)).all()


def test_receiver_that_leaves_ends_the_stream() -> None:
    with sw.listen(rate_hz=1e6) as listener:
        rx = sw.receive(listener.address)
        stream = listener.accept(timeout=30)
        assert stream is not None
        assert stream.peer.startswith("127.0.0.1:")
        rx.close()
        with pytest.raises(sw.EndedError):
            for _ in range(10_000):
                stream.send(np.zeros(10_000, np.complex64))


def test_close_ends_the_wait_for_a_receiver_in_another_thread() -> None:
    listener = sw.listen(rate_hz=1e6)
    errors: list[BaseException] = []

    def wait() -> None:
        try:
            listener.accept()
        except sw.ClosedError as error:
            errors.append(error)

    threads = [threading.Thread(target=wait) for _ in range(2)]
    for thread in threads:
        thread.start()
    with listener:
        time.sleep(0.2)
        assert [it.is_alive() for it in threads] == [True, True]
    for thread in threads:
        thread.join(timeout=10)
    assert len(errors) == 2
    with pytest.raises(sw.NoAnswerError):
        sw.receive(listener.address, timeout=0.3)


def test_signal_in_a_wait_ends_the_burst() -> None:
    class StoppedError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StoppedError

    tags: list[sw.Tag] = []

    def drain(rx: sw.Receiver) -> None:
        time.sleep(0.8)
        for block in rx:
            tags.extend(block.tags)

    previous = signal.signal(signal.SIGALRM, stop)
    try:
        with sw.listen(rate_hz=1e6) as listener, sw.receive(listener.address) as rx:
            stream = listener.accept(timeout=30)
            assert stream is not None
            thread = threading.Thread(target=drain, args=(rx,))
            thread.start()
            with stream:
                signal.setitimer(signal.ITIMER_REAL, 0.5)
                # The receiver takes nothing, so the sending waits.
                with pytest.raises(StoppedError):
                    stream.send(itertools.repeat(np.zeros(10_000, np.complex64)))
                end = stream.next_index
                assert stream.send(np.zeros(10, np.complex64), index=end + 100) == end + 110
            thread.join()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    kinds = [(tag.kind, tag.index) for tag in tags]
    assert kinds.index(("end of burst", end)) < kinds.index(("start", end + 100))


def test_wait_for_a_receiver_ends_in_time_and_wrong_options_are_named() -> None:
    with sw.listen(rate_hz=1e6, real_time=sw.RealTime(coalesce_s=20e-6)) as listener:
        assert listener.granted.coalesce_s == pytest.approx(20e-6)
        assert listener.accept(timeout=0.02) is None
    with pytest.raises(sw.ClosedError, match=r"listener of .* is closed"):
        listener.accept(timeout=0.0)
    with pytest.raises(sw.NoAnswerError):
        sw.receive(listener.address, timeout=0.3)
    with pytest.raises(ValueError, match="sc17"):
        sw.listen(format="sc17", rate_hz=1e6)
    with pytest.raises(sw.SourceError):
        sw.listen(rate_hz=0.0)
    with pytest.raises(sw.OptionError, match="window 0"):
        sw.listen(rate_hz=1e6, window=0)

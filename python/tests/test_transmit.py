"""Sending to an emulated device that plays."""

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import samplewire as sw
from numpy.typing import NDArray


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that a working machine comes to."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < 60
        time.sleep(0.001)


def test_bursts_are_played_as_they_were_sent(tmp_path: Path) -> None:
    path = tmp_path / "played"
    rng = np.random.default_rng(1)
    bursts = [
        rng.integers(-(1 << 15), 1 << 15, (count, 1, 2), np.int16) for count in (9_999, 1, 40_000)
    ]
    device = sw.emulate(plays=path, paced=False, rate_hz=1e6, faults="feedback:loss=0.01")
    with device:
        with sw.transmit(device.address) as tx:
            for burst in bursts:
                before = tx.next_index
                assert tx.send(burst) == tx.next_index == before + len(burst)
        assert tx.end is not None
        assert tx.end.end.startswith("Finished")
        with pytest.raises(sw.ClosedError):
            tx.send(bursts[0])
    assert device.failures == []
    assert [it.played for it in device.played()] == [50_000]
    data = np.fromfile(path.with_suffix(".sigmf-data"), np.int16).reshape(-1, 1, 2)
    assert np.array_equal(data, np.concatenate(bursts))


def test_parts_of_an_iterable_are_one_burst_at_its_time() -> None:
    def parts() -> Iterator[NDArray[Any]]:
        for _ in range(50):
            yield np.full(100, 0.25 + 0.5j, np.complex64)

    with sw.emulate(plays="null", rate_hz=1e6) as device, sw.transmit(device.address) as tx:
        first = tx.info.first_index + 1_000_000
        assert tx.send(parts(), index=first) == first + 5_000
        assert tx.wait_played(timeout=30)
        assert tx.stats().underflow_at_peer == 0
        with pytest.raises(ValueError, match="lies before"):
            tx.send(np.zeros(1, np.complex64), index=first)
    (played,) = device.played()
    assert (played.played, played.underruns) == (5_000, 0)


def test_pause_in_a_burst_is_an_underflow_with_its_indexes() -> None:
    with sw.emulate(plays="null", rate_hz=1e6) as device:
        with sw.transmit(device.address) as tx:
            first = tx.info.first_index + 100_000
            events: list[sw.PlayEvent] = []

            def parts() -> Iterator[NDArray[Any]]:
                yield np.zeros(100_000, np.complex64)
                for event in tx.events(timeout=60):
                    events.append(event)
                    if event.kind == "underflow":
                        break
                yield np.zeros(1_000, np.complex64)

            end = tx.send(parts(), index=first)
            assert tx.wait_played(timeout=60)
        last = events[-1]
        assert last.kind == "underflow", "it is reported while the burst goes on"
        assert first < last.index <= end - 1_000
        assert last.end - last.index == last.count
        events.extend(tx.events())
    assert all(event.lost == 0 for event in events)
    missing = sum(event.count for event in events if event.kind == "underflow")
    late = sum(event.count for event in events if event.kind == "late")
    (played,) = device.played()
    assert tx.end is not None
    assert missing == tx.end.stats.underflow_at_peer == played.underrun_samples > 0
    assert 0 < late <= played.late_packets


def test_burst_that_comes_late_is_reported_with_how_late() -> None:
    with sw.emulate(plays="null", rate_hz=1e6) as device, sw.transmit(device.address) as tx:
        first = tx.info.first_index
        until(lambda: tx.stats().position_of_peer >= first + 1_000)
        assert list(tx.events(timeout=0)) == []
        tx.send(np.zeros(1_000, np.complex64), index=first)
        assert tx.wait_played(timeout=60)
        (event,) = tx.events(timeout=0)
        assert (event.kind, event.index, event.count, event.lost) == ("late", first, 1, 0)
        assert event.end >= first + 1_000


def test_faults_of_the_data_hit_what_a_playing_device_is_sent() -> None:
    source = sw.emulate(plays="null", paced=False, rate_hz=1e6, faults="data:loss=0.05,seed=1")
    with source as device:
        with sw.transmit(device.address) as tx:
            tx.send(np.zeros(500_000, np.complex64))
        faults = device.faults()
    assert tx.end is not None
    assert faults is not None
    assert faults.packets >= tx.end.stats.packets > 100
    assert tx.end.stats.retransmissions >= faults.lost / 2 > 0
    assert [it.played for it in device.played()] == [500_000]


def test_fixed_control_keeps_departures_to_its_rate_in_both_directions() -> None:
    rate, samples = 10_000_000, 50_000
    least = samples * 4 * 8 / rate * 0.95
    player = sw.emulate(plays="null", paced=False, rate_hz=1e6)
    with player, sw.transmit(player.address, control="fixed", control_rate=rate) as tx:
        start = time.monotonic()
        tx.send(np.zeros(samples, np.complex64))
        assert tx.wait_played(timeout=60)
        assert time.monotonic() - start > least
        assert abs(tx.stats().limit_bps - rate) <= 61_036
    source = sw.emulate("counter", rate_hz=1e6, paced=False, control="fixed", control_rate=rate)
    with source as device:
        start = time.monotonic()
        with sw.receive(device.address) as rx:
            assert len(rx.read(samples).samples) == samples
        assert time.monotonic() - start > least
    with (
        sw.listen(rate_hz=1e6, control="fixed", control_rate=rate) as listener,
        sw.receive(listener.address),
    ):
        stream = listener.accept()
        assert stream is not None
        stream.send(np.zeros(1_000, np.complex64))
        until(lambda: stream.stats().packets > 0)
        assert abs(stream.stats().limit_bps - rate) <= 61_036
        stream.cancel()


@pytest.mark.parametrize(
    ("control", "control_rate", "error", "words"),
    [
        ("cubic", None, ValueError, "control `cubic` is none of none, fixed, dcqcn"),
        ("fixed", None, ValueError, "control fixed needs the rate to keep to: add control_rate"),
        ("none", 10**9, ValueError, "none has no rate: leave control_rate 1000000000 out"),
        ("dcqcn", 10**6, ValueError, "below 10 Mb/s: raise control_rate 1000000, or set"),
        ("fixed", 10**4, sw.OptionError, "control rate 10000: must be 10^5 to 10^12 bit/s"),
        ("fixed", -1, sw.OptionError, "control_rate -1: must be 0 to 2^64 - 1"),
    ],
)
def test_control_and_rate_that_do_not_fit_are_named(
    control: str, control_rate: int | None, error: type[Exception], words: str
) -> None:
    for call in (
        lambda: sw.transmit("127.0.0.1:9", control=control, control_rate=control_rate),
        lambda: sw.listen(rate_hz=1e6, control=control, control_rate=control_rate),
        lambda: sw.emulate("null", control=control, control_rate=control_rate),
    ):
        with pytest.raises(error) as raised:
            call()
        assert words in str(raised.value)


def test_index_beyond_the_largest_is_named_and_nothing_is_sent() -> None:
    source = sw.emulate(plays="null", paced=False, rate_hz=1e6)
    with source as device, sw.transmit(device.address) as tx:
        first = tx.next_index
        for index in (2**63 + 1, 2**63 - 9):
            with pytest.raises(ValueError, match=f"index {index} and .* must end at {2**63}"):
                tx.send(np.zeros(10, np.complex64), index=index)
        assert tx.next_index == first
        assert tx.send(np.zeros(10, np.complex64)) == first + 10
    assert [it.played for it in device.played()] == [10]


def test_what_a_generator_raises_reaches_the_caller() -> None:
    def parts() -> Iterator[NDArray[Any]]:
        yield np.zeros(100, np.complex64)
        raise LookupError("no more")

    with sw.emulate(plays="null", paced=False, rate_hz=1e6) as device:
        with sw.transmit(device.address) as tx:
            first = tx.next_index
            with pytest.raises(LookupError, match="no more"):
                tx.send(parts())
            assert tx.next_index == first + 100, "what came before is a burst"
            tx.send(np.ones(100, np.complex64))
        assert tx.end is not None
        assert tx.end.final_index == first + 200


def test_floats_are_converted_at_full_scale_and_saturate() -> None:
    samples = np.array([0.5 - 1j, 2 + 0j], np.complex64)
    as_words = np.frombuffer(sw.wire_bytes(samples, "sc16", 1), np.int16)
    assert as_words.tolist() == [16_384, -32_768, 32_767, 0]


def test_buffers_and_arrays_of_any_layout_are_played_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "played"
    rng = np.random.default_rng(4)
    words = rng.integers(-(1 << 15), 1 << 15, (90_000, 2), np.int16)
    frozen = words[:10_000].copy()
    frozen.setflags(write=False)
    strided = np.empty((20_000, 2, 2), np.int16)
    strided[:, 0] = words[10_000:30_000]
    parts: list[Any] = [
        frozen,
        strided[:, 0],
        words[30_000:50_000].tobytes(),
        bytearray(words[50_000:60_000].tobytes()),
        b"",
        memoryview(words[60_000:70_000].tobytes()),
        words[70_000:].reshape(-1, 1, 2),
    ]
    with (
        sw.emulate(plays=path, paced=False, rate_hz=1e6) as device,
        sw.transmit(device.address) as tx,
    ):
        first = tx.next_index
        assert tx.send(parts) == first + 90_000
        assert tx.send(words[:5].tobytes()) == first + 90_005, "one buffer is one burst"
    assert device.failures == []
    data = np.fromfile(path.with_suffix(".sigmf-data"), np.int16).reshape(-1, 2)
    assert np.array_equal(data, np.concatenate([words, words[:5]]))


def test_floats_of_several_channels_are_converted_where_they_are_sent(tmp_path: Path) -> None:
    path = tmp_path / "played"
    rng = np.random.default_rng(5)
    values = (rng.standard_normal((30_000, 2, 2)) / 4).astype(np.float32)
    samples = values.view(np.complex64).reshape(-1, 2)
    with (
        sw.emulate(plays=path, paced=False, rate_hz=1e6, channels=2) as device,
        sw.transmit(device.address) as tx,
    ):
        tx.send(samples)
    data = path.with_suffix(".sigmf-data").read_bytes()
    assert data == sw.wire_bytes(samples, "sc16", 2)


def test_array_that_a_generator_fills_again_is_sent_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "played"
    room = np.empty((7_001, 2), np.int16)

    def parts() -> Iterator[NDArray[Any]]:
        for number in range(20):
            room[:] = number
            yield room

    with (
        sw.emulate(plays=path, paced=False, rate_hz=1e6) as device,
        sw.transmit(device.address) as tx,
    ):
        tx.send(parts())
    data = np.fromfile(path.with_suffix(".sigmf-data"), np.int16)
    assert np.array_equal(data, np.repeat(np.arange(20, dtype=np.int16), 14_002))


@pytest.mark.parametrize(
    ("samples", "error", "words"),
    [
        (np.zeros(3, np.float64), TypeError, "samples are float64: sc16 takes int16"),
        (np.zeros((3, 3), np.int16), ValueError, "samples are shaped"),
        (b"1234567", ValueError, "a buffer of 7 bytes: sc16 of 1 channels takes 4"),
        (memoryview(bytes(16))[::2], BufferError, "not C-contiguous"),
        (7, TypeError, "not iterable"),
    ],
)
def test_what_is_no_samples_is_named_and_nothing_is_sent(
    samples: Any,  # noqa: ANN401 - it is wrong on purpose
    error: type[Exception],
    words: str,
) -> None:
    source = sw.emulate(plays="null", paced=False, rate_hz=1e6)
    with source as device, sw.transmit(device.address) as tx:
        first = tx.next_index
        with pytest.raises(error, match=words):
            tx.send(samples)
        assert tx.next_index == first
        assert tx.send(np.zeros(10, np.complex64)) == first + 10
    assert [it.played for it in device.played()] == [10]


def test_other_threads_run_while_the_device_takes_no_more() -> None:
    with (
        sw.emulate(plays="null", rate_hz=1e6, window=64) as device,
        sw.transmit(device.address, window=64) as tx,
    ):
        is_over, turns = threading.Event(), 0

        def count() -> None:
            nonlocal turns
            while not is_over.wait(0.001):
                turns += 1

        thread = threading.Thread(target=count)
        thread.start()
        # Half a second of the device's clock, and a window of a fraction of that.
        tx.send(np.zeros(500_000, np.complex64), index=tx.info.first_index + 100_000)
        is_over.set()
        thread.join()
    assert turns > 50


@contextmanager
def way_without_reports(address: str) -> Iterator[str]:
    """An address of the device on the way to which its REPORTs are lost, and so its credit."""
    host, port = address.rsplit(":", 1)
    is_over = threading.Event()
    with (
        socket.socket(type=socket.SOCK_DGRAM) as near,
        socket.socket(type=socket.SOCK_DGRAM) as far,
    ):
        near.bind(("127.0.0.1", 0))
        far.connect((host, int(port)))

        def carry() -> None:
            peer = None
            while not is_over.is_set():
                for ready in select.select([near, far], [], [], 0.05)[0]:
                    packet, sender = ready.recvfrom(1 << 16)
                    if ready is near:
                        peer = sender
                        far.send(packet)
                    elif peer is not None and packet[0] & 0x0F != REPORT:
                        near.sendto(packet, peer)

        thread = threading.Thread(target=carry)
        thread.start()
        try:
            yield f"127.0.0.1:{near.getsockname()[1]}"
        finally:
            is_over.set()
            thread.join()


def test_device_that_opens_and_takes_nothing_is_no_answer() -> None:
    with (
        sw.emulate(plays="null", rate_hz=1e6) as device,
        way_without_reports(device.address) as address,
    ):
        with pytest.raises(sw.NoAnswerError, match="did not say within 2 s") as caught:
            sw.transmit(address, timeout=2)
        assert (caught.value.address, caught.value.waited_s) == (address, 2.0)


def test_nothing_that_plays_refuses(counter: sw.Device) -> None:
    with pytest.raises(sw.RefusedError):
        sw.transmit(counter.address, timeout=5)


def test_find_names_a_device() -> None:
    with sw.emulate("counter", rate_hz=1e6, address="0.0.0.0:0", name="here") as device:
        port = int(device.address.rsplit(":", 1)[1])
        found = sw.find(port=port, timeout=1.0)
    assert [it.info.name for it in found.devices] == ["here"]


REPORT = 2
"""The type of a packet (docs/protocol.md#2.4)."""

"""Several aligned streams over loopback."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
import samplewire as sw
from numpy.typing import NDArray

CHANNEL_STEP = 0x9E3779B9
"""What a counter adds for each channel."""


def counted(block: sw.AlignedBlock) -> bool:
    """Whether each stream counts its indexes."""
    expected = np.arange(block.index, block.end, dtype=np.int64).astype(np.uint32)
    return all((words(samples) == expected).all() for samples in block.samples)


def words(samples: NDArray[np.int16]) -> NDArray[np.uint32]:
    """A sample of sc16 as one word."""
    return samples.reshape(-1).view("<u4")


def test_blocks_have_the_same_indexes_of_all_streams() -> None:
    loss = ("data:loss=0.02,seed=5", "feedback:loss=0.02")
    source = sw.emulate("counter", rate_hz=5e6, streams=3, samples=400_000, faults=loss)
    with source as device, sw.receive(device.address, streams=[2, 0]) as rx:
        assert (rx.info.channels, [it.stream for it in rx.infos]) == (2, [2, 0])
        first = expected = rx.info.first_index
        for block in rx:
            assert (block.streams, block.index, block.gaps) == ((2, 0), expected, ())
            assert [it.shape for it in block.samples] == [(len(block), 1, 2)] * 2
            assert counted(block)
            expected = block.end
        stats, counts = rx.stats(), rx.counts()
    assert expected - first > 100_000
    assert sum(it.repaired for it in stats) > 0
    assert all(sum(it.repair_latency) == it.repaired for it in stats)
    assert [it.stream for it in counts] == [2, 0]
    assert [it.missing for it in counts] == [0, 0]
    assert rx.counts() == counts, "they stay when it is closed"


def test_gap_names_its_stream_and_is_one_for_all() -> None:
    source = sw.emulate("counter", rate_hz=5e6, streams=2, faults="data:loss=0.05,seed=2")
    missing = {0: 0, 1: 0}
    with source as device, sw.receive(device.address, streams=[0, 1], delivery="best-effort") as rx:
        expected, samples = rx.info.first_index, 0
        for block in rx.blocks(timeout=30):
            for gap in block.gaps:
                assert (gap.first, gap.cause) == (expected, "never asked")
                missing[gap.stream] += gap.count
                expected = gap.end
            assert block.index == expected
            assert counted(block)
            expected, samples = block.end, samples + len(block)
            if samples > 400_000:
                break
        counts = rx.counts()
    assert min(missing.values()) > 0
    # A gap is that of the stream that misses most; of what the other misses at the same indexes
    # nothing is given.
    assert all(it.missing >= missing[it.stream] for it in counts)
    assert all(it.discarded > 0 for it in counts)


def test_read_gives_the_count_and_goes_on_where_it_stopped() -> None:
    source = sw.emulate("counter", rate_hz=5e6, streams=2, channels=2, paced=False)
    with source as device, sw.receive(device.address, streams=[0, 1]) as rx:
        index = rx.info.first_index
        for count in (1, 7, 20_000, 0, 50_000):
            block = rx.read(count, timeout=30)
            assert (len(block), block.gaps) == (count, ())
            if count:
                assert block.index == index
            expected = np.arange(index, index + count, dtype=np.int64).astype(np.uint32)
            for samples in block.samples:
                assert samples.shape == (count, 2, 2)
                channels = samples.reshape(-1).view("<u4").reshape(count, 2)
                assert (channels[:, 0] == expected).all()
                assert (channels[:, 1] == expected + np.uint32(CHANNEL_STEP)).all()
            index += count
        assert next(rx.blocks(timeout=30)).index == index, "the rest of a block that was begun"


def test_reading_has_all_gaps_before_it_however_many() -> None:
    loss = "data:loss=0.5,seed=3"
    source = sw.emulate("counter", rate_hz=1e6, streams=8, faults=loss, payload_bytes=512)
    most = readings = timeouts = 0
    with (
        source as device,
        sw.receive(device.address, streams=range(8), delivery="best-effort", timeout=30) as rx,
    ):
        expected = rx.info.first_index
        while readings < 30 or most <= 64 or timeouts == 0:
            try:
                block = rx.read(5, timeout=0.001)
            except sw.WaitTimeoutError:
                timeouts += 1
                continue
            for gap in block.gaps:
                assert gap.first == expected
                expected = gap.end
            assert block.index == expected
            assert len(block) > 0, "without samples it would be the end"
            assert counted(block)
            expected = block.end
            most, readings = max(most, len(block.gaps)), readings + 1
        assert rx.read(0).index == expected


def test_small_readings_have_the_tags_of_their_samples() -> None:
    source = sw.emulate("counter", rate_hz=1e6, streams=2, samples=200_000)
    tags: list[list[sw.Tag]] = [[], []]
    with source as device, sw.receive(device.address, streams=[0, 1]) as rx:
        index = rx.info.first_index
        while len(block := rx.read(50, timeout=30)) > 0:
            assert (block.index, block.gaps) == (index, ())
            assert counted(block)
            index = block.end
            for own, all_tags in zip(block.tags, tags, strict=True):
                assert all(block.index <= tag.index <= block.end for tag in own)
                all_tags.extend(own)
        assert (block.index, block.tags) == (index, ((), ())), "the end"
    assert tags == [[sw.Tag(index=index, kind="end of burst")]] * 2


def test_too_large_a_reading_is_a_memory_error_and_loses_nothing() -> None:
    source = sw.emulate("counter", rate_hz=1e6, streams=2)
    with source as device, sw.receive(device.address, streams=[0, 1]) as rx:
        rx.read(10, timeout=30)
        with pytest.raises(MemoryError, match="samples take"):
            rx.read((1 << 48) - 1)
        block = rx.read(10, timeout=30)
        assert (block.index, block.gaps) == (rx.info.first_index + 10, ())


def test_port_counts_what_belongs_to_no_stream() -> None:
    faults = "data:corrupt=0.2,seed=4"
    source = sw.emulate("counter", rate_hz=5e6, streams=2, payload_bytes=512, faults=faults)
    with source as device, sw.receive(device.address, streams=[0, 1]) as rx:
        for _ in range(1_000):
            rx.read(10_000, timeout=30)
            counts = rx.port_stats()
            if counts.corrupted + counts.foreign > 0:
                break
    closed, stats = rx.port_stats(), rx.stats()
    assert stats[0].port_corrupted + stats[1].port_foreign > 0
    assert closed.corrupted + closed.foreign > 0
    assert closed.corrupted >= counts.corrupted
    assert closed.foreign >= counts.foreign


def test_copy_as_floats_has_the_channels_of_all_streams() -> None:
    for format, values in (("fc32", [0.5 - 0.25j, 1j]), ("rf32", [0.5, -1.0])):
        dtype = np.complex64 if format == "fc32" else np.float32
        sent = np.tile(np.array([values], dtype), (1_000, 1))
        source = sw.emulate(sent, rate_hz=1e6, streams=2, channels=2, paced=False)
        with source as device, sw.receive(device.address, streams=[0, 1]) as rx:
            block = rx.read(100, timeout=30)
        copied = block.complex() if format == "fc32" else block.real()
        assert copied.dtype == dtype
        assert copied.shape == (100, 4)
        assert (copied == np.array([values * 2], dtype)).all()
        with pytest.raises(TypeError, match=r"samples are (complex|real): use "):
            _ = block.real() if format == "fc32" else block.complex()


def test_asynchronous_iteration_ends_with_the_streams() -> None:
    async def count(address: str) -> int:
        samples = 0
        with sw.receive(address, streams=[0, 1]) as rx:
            async for block in rx:
                assert counted(block)
                samples += len(block)
        return samples

    with sw.emulate("counter", rate_hz=1e6, streams=2, samples=300_000) as device:
        assert asyncio.run(count(device.address)) > 100_000


def test_stream_that_breaks_off_is_named() -> None:
    device = sw.emulate("counter", rate_hz=1e6, streams=2)
    with device, sw.receive(device.address, streams=[0, 1], owner=7) as rx:
        rx.read(1_000, timeout=30)
        # The same owner takes the stream over, and the first receiver loses it.
        with sw.receive(device.address, stream=1, owner=7):
            with pytest.raises(sw.EndedError, match=r"^stream 1: ") as caught:
                for _ in rx.blocks(timeout=30):
                    pass
            assert caught.value.stream == 1
            with pytest.raises(sw.EndedError):
                rx.read(1)
    with pytest.raises(sw.ClosedError):
        next(iter(rx))


def test_wrong_choices_of_streams_are_named(counter: sw.Device) -> None:
    with pytest.raises(sw.StreamTwiceError, match="stream 1 is named twice") as twice:
        sw.receive(counter.address, streams=[1, 0, 1])
    assert twice.value.stream == 1
    with pytest.raises(sw.ContradictionError, match="start_index of 9 contradicts") as caught:
        sw.receive(counter.address, streams=[0, 1], start_index=9)  # type: ignore[call-overload]
    assert caught.value.one == "start_index of 9"
    assert caught.value.hint == "leave start_index out"
    with pytest.raises(ValueError, match="choose one of them"):
        sw.receive(counter.address, stream=0, streams=[1])  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="name at least one"):
        sw.receive(counter.address, streams=[])
    with pytest.raises(ValueError, match="streams 65536"):
        sw.receive(counter.address, streams=[1 << 16])
    with pytest.raises(sw.RefusedError) as refused:
        sw.receive(counter.address, streams=[0, 5])
    assert (refused.value.stream, refused.value.reason) == (5, "NoSuchStream")


def test_wait_ends_in_time_and_loses_nothing() -> None:
    with (
        sw.emulate("counter", rate_hz=1_000, streams=2) as device,
        sw.receive(device.address, streams=[0, 1]) as rx,
    ):
        index, waits = rx.info.first_index, 0
        while index < rx.info.first_index + 200:
            try:
                block = rx.read(50, timeout=0.01)
            except sw.WaitTimeoutError:
                waits += 1
                continue
            assert block.index == index
            assert counted(block)
            index = block.end
        assert waits > 0


def test_recording_of_several_streams_has_the_channels_of_all(tmp_path: Path) -> None:
    with sw.emulate("counter", rate_hz=1e6, streams=2) as device:
        path = tmp_path / "both"
        recording = sw.record(device.address, path, samples=100_000, streams=[0, 1])
    assert (recording.samples, recording.gaps) == (100_000, 0)
    data = np.fromfile(tmp_path / "both.sigmf-data", "<u4").reshape(-1, 2)
    assert len(data) == 100_000
    assert (data[:, 0] == data[:, 1]).all()
    assert (np.diff(data[:, 0]) == 1).all()

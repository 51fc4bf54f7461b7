"""Receiving over loopback, with and without loss."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import samplewire as sw
from numpy.typing import NDArray


def words(samples: NDArray[Any]) -> NDArray[np.uint32]:
    """The counter's indexes, of which each sample of sc16 is one."""
    return np.ascontiguousarray(samples).reshape(-1).view("<u4")


def is_counter(block: sw.Block) -> bool:
    return bool((words(block.samples) == np.arange(block.index, block.end, dtype="<u4")).all())


def test_lossy_stream_is_complete_and_counts_its_repairs() -> None:
    loss = ("data:loss=0.05,seed=3", "feedback:loss=0.05")
    source = sw.emulate("counter", rate_hz=10e6, samples=2_000_000, faults=loss)
    with source as device, sw.receive(device.address) as rx:
        expected = rx.info.first_index
        # The device has no clock.
        assert (rx.info.first_index_tai_ns, rx.info.clock_quality_ns) == (None, None)
        for block in rx.blocks():
            assert block.index == expected
            assert block.gaps == ()
            assert is_counter(block)
            expected = block.end
        stats, faults = rx.stats(), device.faults()
    assert expected - rx.info.first_index == 2_000_000
    assert faults is not None
    assert faults.lost > 0
    assert stats.repaired > 0
    assert stats.samples_missing == 0


def test_every_index_of_best_effort_is_in_a_block_or_a_gap() -> None:
    source = sw.emulate("counter", rate_hz=10e6, samples=1_000_000, faults="data:loss=0.05")
    with source as device, sw.receive(device.address, delivery="best-effort") as rx:
        expected, missing = rx.info.first_index, 0
        for block in rx:
            for gap in block.gaps:
                assert (gap.first, gap.cause) == (expected, "never asked")
                expected, missing = gap.end, missing + gap.count
            assert block.index == expected
            assert is_counter(block)
            expected = block.end
        assert expected == rx.info.first_index + 1_000_000
        assert rx.stats().samples_missing == missing > 0


def test_tag_names_the_end_of_the_burst() -> None:
    source = sw.emulate("counter", rate_hz=1e6, samples=20_000)
    with source as device, sw.receive(device.address) as rx:
        end = rx.info.first_index + 20_000
        tags = [tag for block in rx for tag in block.tags]
    assert tags == [sw.Tag(index=end, kind="end of burst")]


@pytest.mark.parametrize(
    ("format", "dtype", "shape"),
    [
        ("sc8", "int8", (1, 2)),
        ("uc8", "uint8", (1, 2)),
        ("sc16", "int16", (1, 2)),
        ("fc32", "complex64", (1,)),
        ("r8", "int8", (1,)),
        ("r16", "int16", (1,)),
        ("rf32", "float32", (1,)),
    ],
)
def test_views_have_the_shape_and_scale_of_their_format(
    format: str, dtype: str, shape: tuple[int, ...]
) -> None:
    source = sw.emulate("tone:1000", format=format, rate_hz=1e6, samples=1_000)
    with source as device, sw.receive(device.address) as rx:
        block = next(rx.blocks())
        view = block.samples
        assert (view.dtype, view.shape) == (np.dtype(dtype), (len(block), *shape))
        assert sw.sample_dtype(format) == (view.dtype, shape[1:])
        is_complex = format in ("sc8", "uc8", "sc16", "fc32")
        copied = block.complex() if is_complex else block.real()
        assert copied.shape == (len(block), 1)
        assert 0.1 < np.abs(copied).max() <= 1.5
        with pytest.raises(TypeError, match=r"samples are (complex|real): use "):
            _ = block.real() if is_complex else block.complex()


def test_samples_of_an_array_come_back_as_they_were() -> None:
    time = np.arange(50_000)
    sent = np.stack([np.exp(0.01j * time), np.exp(-0.02j * time)], axis=1).astype(np.complex64)
    source = sw.emulate(sent, rate_hz=5e6, channels=2, centre_frequency_hz=1e9)
    with source as device, sw.receive(device.address) as rx:
        assert (rx.info.channels, rx.info.centre_frequency_hz) == (2, 1e9)
        reading = rx.read(len(sent))
        assert np.array_equal(reading.samples, sent)
        assert len(rx.read(1).samples) == 0, "the stream is over"


def test_read_copies_and_goes_on_where_it_stopped() -> None:
    source = sw.emulate("counter", rate_hz=10e6, samples=100_000)
    with source as device, sw.receive(device.address) as rx:
        index = rx.info.first_index
        for count in (1, 7, 20_000, 0, 50_000):
            reading = rx.read(count)
            assert (len(reading.samples), reading.gaps) == (count, ())
            assert (words(reading.samples) == np.arange(index, index + count)).all()
            index += count
        block = next(rx.blocks())
        assert block.index == index, "the rest of a block that was begun"
        assert is_counter(block)


def test_read_stops_at_a_gap_and_the_next_names_it() -> None:
    source = sw.emulate("counter", rate_hz=10e6, samples=500_000, faults="data:loss=0.05")
    with source as device, sw.receive(device.address, delivery="best-effort") as rx:
        index, gaps = rx.info.first_index, 0
        while len((reading := rx.read(100_000)).samples):
            for gap in reading.gaps:
                assert gap.first == index
                index, gaps = gap.end, gaps + 1
            assert reading.index == index
            index += len(reading.samples)
            assert (words(reading.samples) == np.arange(reading.index, index)).all()
        assert gaps > 0


def test_released_block_raises_and_its_views_stay_whole(flood: sw.Device) -> None:
    with sw.receive(flood.address, window=64) as rx:
        blocks = rx.blocks()
        block = next(blocks)
        view, index = block.samples, block.index
        block.release()
        with pytest.raises(sw.ReleasedError, match=f"block of index {index} was released"):
            _ = block.samples
        with pytest.raises(sw.ReleasedError):
            block.complex()
        assert (block.is_released, block.index, len(block)) == (True, index, len(view))
        for _ in range(200):
            next(blocks)
        assert (words(view) == np.arange(index, index + len(view))).all(), "its memory is its own"
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 0


def test_views_outlive_the_receiver(counter: sw.Device) -> None:
    rx = sw.receive(counter.address)
    block = next(rx.blocks())
    view = block.samples[3:]
    index = block.index + 3
    rx.close()
    del rx, block
    gc.collect()
    assert (words(view) == np.arange(index, index + len(view))).all()


def test_window_that_the_device_clamps_is_warned_of(tmp_path: Path) -> None:
    with sw.emulate("counter", rate_hz=1e6, streams=2, window=100) as device:
        words = "window 200: the device holds 100 packets, and no more are used"
        with pytest.warns(sw.WindowWarning, match=words) as warned:
            sw.receive(device.address, window=200).close()
        assert [it.filename for it in warned] == [__file__]
        with pytest.warns(sw.WindowWarning, match=words):
            sw.receive(device.address, window=200, streams=[0, 1]).close()
        with pytest.warns(sw.WindowWarning, match=words) as warned:
            sw.record(device.address, tmp_path / "out", samples=1_000, window=200)
        assert [it.filename for it in warned] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # What was not chosen, or fits, needs no word.
            sw.receive(device.address).close()
            sw.receive(device.address, window=100).close()


def test_memory_that_is_kept_is_missing_credit_and_warned_of(flood: sw.Device) -> None:
    with sw.receive(flood.address, window=64) as rx:
        kept = []
        with pytest.warns(sw.HeldMemoryWarning, match="more than half of the window") as warned:
            for _ in range(100):
                try:
                    for block in rx.blocks(timeout=0.3):
                        kept.append(block.samples)
                except sw.WaitTimeoutError:
                    stats = rx.stats()
                    # Else the device is slow, as it is on a busy machine.
                    if stats.held_bytes > 32 * 8_000 and stats.credit < 8:
                        break
        assert len(warned) == 1, "once for a receiver"
        held_bytes = rx.stats().held_bytes
        assert held_bytes == sum(view.nbytes for view in kept) > 32 * 8_000
        assert rx.stats().credit < 8, "the device has next to no credit"
        kept.clear()
        del block
        blocks = rx.blocks(timeout=30)
        assert next(blocks).index > 0, "and goes on when the memory is back"


def test_warning_that_is_an_error_loses_no_block(flood: sw.Device) -> None:
    with warnings.catch_warnings(), sw.receive(flood.address, window=64) as rx:
        warnings.simplefilter("error", sw.HeldMemoryWarning)
        expected, kept = rx.info.first_index, []
        with pytest.raises(sw.HeldMemoryWarning):
            for block in rx.blocks(timeout=30):
                assert block.index == expected
                expected = block.end
                kept.append(block.samples)
        kept.clear()
        assert next(rx.blocks(timeout=30)).index == expected


def test_iteration_holds_little_memory(flood: sw.Device) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with sw.receive(flood.address, window=64) as rx:
            samples = 0
            for block in rx:
                samples += len(block)
                assert rx.stats().held_bytes <= 3 * 64_000
                if samples > 3_000_000:
                    break


def test_dlpack_shares_the_memory(counter: sw.Device) -> None:
    with sw.receive(counter.address) as rx:
        block = next(rx.blocks())
        assert block.__dlpack_device__() == (1, 0)
        if np.lib.NumpyVersion(np.__version__) < "2.1.0":
            with pytest.raises(BufferError):
                np.from_dlpack(block)
            return
        shared = np.from_dlpack(block)
        assert np.shares_memory(shared, block.samples)


def test_asynchronous_iteration_leaves_turns_to_others() -> None:
    async def count(address: str) -> tuple[int, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticking = asyncio.create_task(tick())
        samples = 0
        with sw.receive(address) as rx:
            async for block in rx:
                samples += len(block)
        ticking.cancel()
        return samples, ticks

    with sw.emulate("counter", rate_hz=1e6, samples=500_000) as device:
        samples, ticks = asyncio.run(count(device.address))
    assert samples == 500_000
    # Of half a second; a busy machine gives each of them late.
    assert ticks > 5


def test_cancelled_wait_loses_no_block(counter: sw.Device) -> None:
    async def take(address: str) -> None:
        with sw.receive(address) as rx:
            expected = rx.info.first_index
            for _ in range(30):
                try:
                    block = await asyncio.wait_for(anext(aiter(rx)), timeout=0.001)
                except TimeoutError:
                    continue
                except asyncio.TimeoutError:  # noqa: UP041 - another class before 3.11
                    continue
                assert block.index == expected
                expected = block.end

    asyncio.run(take(counter.address))


def test_threads_take_turns_and_see_each_block_once(counter: sw.Device) -> None:
    ranges: list[tuple[int, int]] = []
    with sw.receive(counter.address) as rx:

        def take() -> None:
            for _ in range(50):
                block = next(rx.blocks())
                ranges.append((block.index, block.end))

        threads = [threading.Thread(target=take) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        first = rx.info.first_index
    ranges.sort()
    assert [start for start, _ in ranges] == [first, *(end for _, end in ranges[:-1])]


def test_close_ends_a_wait_of_another_thread() -> None:
    with sw.emulate(plays="null", streams=1, source="null", rate_hz=1.0) as device:
        rx = sw.receive(device.address)
        threading.Timer(0.2, rx.close).start()
        with pytest.raises(sw.ClosedError, match="is closed"):
            next(rx.blocks())


def test_python_runs_while_a_receiver_waits() -> None:
    with sw.emulate("null", rate_hz=1.0) as device, sw.receive(device.address) as rx:
        thread = threading.Thread(target=rx.close)
        thread.start()
        with pytest.raises(sw.ClosedError):
            next(rx.blocks(timeout=60))
        thread.join()
    with (
        sw.emulate("null", rate_hz=1.0) as device,
        sw.receive(device.address) as rx,
        pytest.raises(sw.WaitTimeoutError, match=r"within 0\.1 s"),
    ):
        next(rx.blocks(timeout=0.1))


def test_recording_is_whole_and_its_limits_hold(tmp_path: Path) -> None:
    with sw.emulate("counter", rate_hz=10e6, faults="data:loss=0.01") as device:
        path = tmp_path / "counted"
        recording = sw.record(device.address, path, samples=1_000_000)
        assert (recording.samples, recording.gaps) == (1_000_000, 0)
        account = recording.account
        assert (account.indexes, account.samples, account.missing) == (1_000_000, 1_000_000, 0)
        data = np.fromfile(tmp_path / "counted.sigmf-data", "<u4")
        assert (np.diff(data) == 1).all()
        assert len(data) == 1_000_000
        with pytest.raises(sw.SinkError, match="exists") as caught:
            sw.record(device.address, path, samples=1)
        assert caught.value.kind == "Exists"
        start = time.monotonic()
        timed = sw.record(device.address, "null", seconds=0.5)
        elapsed_s = time.monotonic() - start
        assert elapsed_s >= 0.5
        assert 0 < timed.samples <= 10e6 * elapsed_s


def test_recording_with_gaps_has_every_index_in_one_term(tmp_path: Path) -> None:
    with sw.emulate("counter", rate_hz=10e6, faults="data:loss=0.05") as device:
        path = tmp_path / "gaps.raw"
        recording = sw.record(device.address, path, samples=500_000, delivery="best-effort")
    account = recording.account
    assert account.indexes == 500_000 == account.samples + account.missing
    assert account.missing == recording.missing_samples > 0
    assert path.stat().st_size == 4 * account.samples


def test_recording_of_nothing_is_refused_before_a_file_is_touched(
    counter: sw.Device, tmp_path: Path
) -> None:
    path = tmp_path / "kept.raw"
    path.write_bytes(b"kept")
    with pytest.raises(ValueError, match="samples 0: must be 1 or more"):
        sw.record(counter.address, path, samples=0, overwrite=True)
    assert path.read_bytes() == b"kept"


SOAK = """
import gc
from pathlib import Path
import samplewire as sw

def resident_kib():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(it for it in lines if it.startswith("VmRSS")).split()[1])

def stream():
    source = sw.emulate("counter", rate_hz=1e6, paced=False, samples=100_000)
    with source as device, sw.receive(device.address, window=256) as rx:
        for block in rx:
            block.samples.sum()
            block.complex()

for _ in range(3):
    stream()
before = resident_kib()
for _ in range(8):
    stream()
gc.collect()
print(resident_kib() - before, len(list(Path("/proc/self/task").iterdir())))
"""


def test_many_streams_leave_no_memory_and_no_thread() -> None:
    command = [sys.executable, "-c", SOAK]
    # Whatever is large goes back to the system when it is freed, and is not kept for later.
    kept = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
    printed = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, timeout=60, env=os.environ | kept
    ).stdout
    grown_kib, threads = map(int, printed.split())
    # The quanta of one stream are 11 MB, of which 8 leave more than a trace.
    assert grown_kib < 8_192
    assert threads < 8

"""Holds recordings of the command against the sigmf package, another reader of the format.

    .venv/bin/python tools/check_sigmf.py SAMPLEWIRE

SAMPLEWIRE is the command's executable. Real recordings are in the folder SAMPLEWIRE_TEST_DATA.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import sigmf

TIMEOUT_S = 60
LOSS = ("--fault", "data:loss=0.05,corrupt=0.01,seed=1", "--fault", "feedback:loss=0.05,seed=2")


def main() -> int:
    command = Path(sys.argv[1]).resolve(strict=True)
    with tempfile.TemporaryDirectory() as folder:
        whole_counter(command, Path(folder))
        counter_with_gaps(command, Path(folder))
        real_recording(command, Path(folder))
    return 0


def whole_counter(command: Path, folder: Path) -> None:
    """Complete delivery through loss: one capture, every sample, the hash."""
    with device(command, "--source", "counter", "--rate", "5M", *LOSS) as address:
        recording = record(command, address, folder / "whole", "--nsamps", "2000000")
    assert len(recording.get_captures()) == 1, recording.get_captures()
    assert not recording.get_annotations(), recording.get_annotations()
    assert np.array_equal(counters(recording), np.arange(2_000_000)), "not what was sent"
    assert recording.get_global_info()["core:sample_rate"] == 5e6
    print("counter, complete delivery: valid, 2,000,000 samples as sent")


def counter_with_gaps(command: Path, folder: Path) -> None:
    """Best effort: each capture's global index says which samples follow."""
    with device(command, "--source", "counter", "--rate", "5M", *LOSS) as address:
        wanted = ("--nsamps", "2000000", "--delivery", "best-effort")
        recording = record(command, address, folder / "gaps", *wanted, status=3)
    captures, samples = recording.get_captures(), counters(recording)
    starts = [capture["core:sample_start"] for capture in captures]
    for capture, end in zip(captures, [*starts[1:], len(samples)], strict=True):
        run = samples[capture["core:sample_start"] : end]
        first = capture["core:global_index"]
        assert np.array_equal(run, np.arange(first, first + len(run))), capture
    gaps = recording.get_annotations()
    missing = sum(gap["samplewire:not_repaired"] + gap["samplewire:source_lost"] for gap in gaps)
    assert gaps, "5 % loss and no gap"
    assert len(samples) + missing == 2_000_000, (len(samples), missing)
    print(f"counter, best effort: valid, {len(gaps)} gaps, every index accounted for")


def real_recording(command: Path, folder: Path) -> None:
    """A recording goes through the stream: the same bytes, and its metadata kept."""
    source = Path(os.environ.get("SAMPLEWIRE_TEST_DATA", "../shared/data")) / "modes1.sigmf-meta"
    if not source.exists():
        print(f"skipped: no {source} (set SAMPLEWIRE_TEST_DATA)")
        return
    with device(command, "--source", str(source), "--rate", "max", *LOSS) as address:
        recording = record(command, address, folder / "modes1")
    original = sigmf.fromfile(source)
    assert data(recording) == data(original), "not what was sent"
    kept = original.get_global_info()
    for key, value in recording.get_global_info().items():
        if key in kept and key not in ("core:version", "core:recorder", "core:extensions"):
            assert kept[key] == value, (key, kept[key], value)
    print(f"{source.name}: valid, the same {len(data(recording)):,} bytes")


@contextmanager
def device(command: Path, *arguments: str) -> Iterator[str]:
    """Runs a device for one session and gives its address."""
    emulate = [str(command), "emulate", "--listen", "127.0.0.1:0", *arguments]
    with subprocess.Popen(emulate, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            found = re.search(r"listening on (\S+)", first)
            assert found, f"no address in {first!r}"
            yield found[1]
        finally:
            process.terminate()


def record(
    command: Path, address: str, path: Path, *arguments: str, status: int = 0
) -> sigmf.SigMFFile:
    """Records, and reads the recording as the sigmf package does, which checks the hash."""
    words = [str(command), "record", address, str(path), *arguments]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S
    )
    assert done.returncode == status, f"{words}: exit {done.returncode}\n{done.stdout}"
    recording = sigmf.fromfile(path)
    recording.validate()
    return recording


def counters(recording: sigmf.SigMFFile) -> np.ndarray:
    return np.frombuffer(data(recording), dtype="<u4")


def data(recording: sigmf.SigMFFile) -> bytes:
    return Path(recording.data_file).read_bytes()


if __name__ == "__main__":
    sys.exit(main())

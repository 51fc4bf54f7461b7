"""Receiving several aligned streams of a device."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from samplewire import _native
from samplewire._blocks import BlockReceiver
from samplewire._floats import to_floats
from samplewire._options import unsigned
from samplewire._real_time import Granted
from samplewire._records import (
    DeviceInfo,
    PortStats,
    ReceiverStats,
    StreamCounts,
    StreamGap,
    Tag,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedBlock:
    """The same indexes of several streams, without a gap inside; copies, this program's own.

    Attributes
    ----------
    streams : tuple of int
        The numbers of the streams, in the order in which they were named.
    index : int
        The index of the first sample; of a block without samples, the index after its gaps.
    samples : tuple of numpy.ndarray
        One array for each stream, all of one length, shaped as `Block.samples`: `(n, channels)`,
        with I and Q as a last axis of 2 for sc8, uc8 and sc16.
    gaps : tuple of StreamGap
        The gaps just before the first sample, in order, each with the stream that has it. What one
        stream misses is a gap for all.
    tags : tuple of tuple of Tag
        For each stream what changed at which of the samples, and at the index after the last.
    format : str
        What a sample is.
    """

    streams: tuple[int, ...]
    index: int
    samples: tuple[NDArray[Any], ...]
    gaps: tuple[StreamGap, ...]
    tags: tuple[tuple[Tag, ...], ...]
    format: str

    @property
    def end(self) -> int:
        """The index after the last sample."""
        return self.index + len(self)

    def complex(self) -> NDArray[Any]:
        """A copy as complex64 at full scale 1.0, of complex formats.

        Returns
        -------
        numpy.ndarray
            Shaped `(n, channels)`, with the channels of the first stream, of the second and so on.

        Raises
        ------
        TypeError
            The format is real.
        """
        return self._floats("complex64")

    def real(self) -> NDArray[Any]:
        """A copy as float32 at full scale 1.0, of real formats; shaped as that of `complex`.

        Raises
        ------
        TypeError
            The format is complex.
        """
        return self._floats("float32")

    def _floats(self, dtype: Literal["complex64", "float32"]) -> NDArray[Any]:
        columns = [to_floats(samples, self.format, dtype) for samples in self.samples]
        return np.concatenate(columns, axis=1)

    def __len__(self) -> int:
        return len(self.samples[0])


class AlignedReceiver(BlockReceiver[AlignedBlock]):
    """The receiving end of several streams that begin at one index; `receive` makes it.

    Iterate over it, or over `blocks`, to get an `AlignedBlock` of all streams. When one stream
    ends, all do: the iteration ends where that one is complete, and raises, with the `stream`,
    where it broke off. It is its own context manager. One thread takes blocks at a time, others
    wait for their turn.
    """

    def __init__(self, native: _native.AlignedReceiver) -> None:
        super().__init__(native)
        self._native = native
        self._info = native.info
        self._infos = native.infos

    @property
    def info(self) -> DeviceInfo:
        """The streams as one that has the channels of all."""
        return self._info

    @property
    def infos(self) -> tuple[DeviceInfo, ...]:
        """What the device said of each stream."""
        return self._infos

    @property
    def granted(self) -> Granted:
        """What was granted of the real-time choices."""
        return self._native.granted

    @property
    def memory_bytes(self) -> int:
        """All memory taken for the streams, in bytes; blocks are copies besides."""
        return self._native.memory_bytes

    def read(self, count: int, *, timeout: float | None = None) -> AlignedBlock:
        """Take samples that follow each other without a gap.

        Parameters
        ----------
        count : int
            How many samples of each stream (of all its channels each).
        timeout : float, optional
            How long to wait for the next of them, in seconds; default without end.

        Returns
        -------
        AlignedBlock
            As many samples as were asked for; fewer before a gap, which the next reading names,
            where the next did not come within `timeout` or a stream broke off, which the next
            reading raises, and at the end, after which there are none. What a reading took that a
            signal broke off (Ctrl-C) comes first in the next, or in the next block.

        Raises
        ------
        WaitTimeoutError
            No sample came within `timeout`. Gaps that came are kept for the next reading.
        MemoryError
            There is no memory for so many samples.
        EndedError
            A stream broke off.
        """
        unsigned(count=(count, 48))
        return self._native.read(count, timeout)

    def stats(self) -> tuple[ReceiverStats, ...]:
        """Counters of each stream as of some milliseconds ago; after the end, the final ones."""
        return self._native.stats()

    def counts(self) -> tuple[StreamCounts, ...]:
        """What became of the indexes of each stream; may wait 50 ms for a thread that waits."""
        return self._native.counts()

    def port_stats(self) -> PortStats:
        """Packets that belong to none of the streams; may wait as `counts`."""
        return self._native.port_stats()

    def __repr__(self) -> str:
        info = self._info
        streams = ", ".join(str(it.stream) for it in self._infos)
        return (
            f"<samplewire.AlignedReceiver of {info.address}: streams {streams}, {info.format}, "
            f"{info.channels} channels, {info.rate_hz:g} Hz>"
        )

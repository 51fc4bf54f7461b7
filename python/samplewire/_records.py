"""What is known of streams and devices, as plain data."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from samplewire._counters import (
    FaultCounts,
    Played,
    PortStats,
    ReceiverStats,
    StreamCounts,
    TransmitterStats,
)

__all__ = [
    "Account",
    "DeviceInfo",
    "FaultCounts",
    "Found",
    "FoundDevice",
    "Gap",
    "PlayEvent",
    "Played",
    "PortStats",
    "RdmaProbe",
    "Reading",
    "ReceiverStats",
    "Recording",
    "SessionEnd",
    "StreamCounts",
    "StreamGap",
    "Tag",
    "TransmitterStats",
]
from samplewire._floats import to_floats


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device's stream, as the device describes it, and what the opening measured.

    Attributes
    ----------
    address : str
        The device's address.
    name : str
        The stream's name, possibly empty; what a terminal would obey is escaped.
    name_raw : bytes
        The name as the device wrote it: not safe to print, and perhaps not UTF-8.
    stream, streams : int
        The stream's number, and how many the device has.
    boot_id : int
        Names the device's run: indexes are comparable within one.
    format : str
        What a sample is: sc8, sc16, fc32, r8, r16, rf32 or uc8.
    channels : int
        Channels, interleaved sample by sample.
    rate_numerator, rate_denominator : int
        The sample rate in hertz as a fraction; numerator 0 when the device does not know it.
    centre_frequency_hz : float or None
        Centre frequency in hertz.
    first_index : int
        The index of the first sample to come.
    first_index_tai_ns : int or None
        The time of `first_index` in TAI nanoseconds since 1970; None when the device does not
        know it.
    clock_quality_ns : int or None
        The largest error of the device's times in nanoseconds.
    packet_samples : int
        Samples (of all channels each) in a packet.
    payload_bytes : int
        Payload of a packet in bytes.
    window : int
        Packets that the device holds for repair.
    path_mtu_bytes : int
        The largest IP packet that was shown to arrive, headers included, in bytes.
    rtt_s : float
        Round-trip time of the opening in seconds.
    carriage : str
        How packets of the stream travel: `data`, or `rdma`.
    """

    address: str
    name: str
    name_raw: bytes
    stream: int
    streams: int
    boot_id: int
    format: str
    channels: int
    rate_numerator: int
    rate_denominator: int
    centre_frequency_hz: float | None
    first_index: int
    first_index_tai_ns: int | None
    clock_quality_ns: int | None
    packet_samples: int
    payload_bytes: int
    window: int
    path_mtu_bytes: int
    rtt_s: float
    carriage: str

    @property
    def rate_hz(self) -> float:
        """Sample rate in hertz, 0 when the device does not know it."""
        return self.rate_numerator / max(self.rate_denominator, 1)


@dataclass(frozen=True, slots=True)
class RdmaProbe:
    """What a device describes of a stream that is requested over RDMA.

    Attributes
    ----------
    info : DeviceInfo
        The stream that an opening would result in; `carriage` says whether that is over RDMA.
    path_mtu_bytes : int
        The largest payload of an RDMA packet that this host's interface carries, in bytes.
    device_path_mtu_bytes : int or None
        The same of the device; None where it does not offer RDMA.
    packets_a_write : int or None
        RDMA packets of one packet of the stream; None where the device does not offer RDMA.
    """

    info: DeviceInfo
    path_mtu_bytes: int
    device_path_mtu_bytes: int | None
    packets_a_write: int | None


@dataclass(frozen=True, slots=True)
class Gap:
    """Indexes that will not come, and why.

    Attributes
    ----------
    first : int
        The first index that is missing.
    not_repaired : int
        How many samples were sent and not repaired.
    source_lost : int
        How many samples were lost at the source.
    cause : str
        `source overflow`, `deadline`, `gone at sender`, `never asked` or `receiver behind`.

    Examples
    --------
    >>> gap = Gap(first=100, not_repaired=20, source_lost=0, cause="deadline")
    >>> gap.count, gap.end
    (20, 120)
    """

    first: int
    not_repaired: int
    source_lost: int
    cause: str

    @property
    def count(self) -> int:
        """How many indexes the gap covers."""
        return self.not_repaired + self.source_lost

    @property
    def end(self) -> int:
        """The first index after the gap."""
        return self.first + self.count


@dataclass(frozen=True, slots=True)
class StreamGap(Gap):
    """A gap of one of several aligned streams, at which all have none.

    Attributes
    ----------
    stream : int
        The number of the stream that misses the samples.
    """

    stream: int


@dataclass(frozen=True, slots=True)
class Tag:
    """What changed at an index.

    Attributes
    ----------
    index : int
        The index.
    kind : str
        `start`: the index was set on purpose, as a stream or a burst begins. `end of burst`: the
        sample before the index is the last of a burst. `overflow`: the source lost samples before
        the index. `gap`: a block did not pass on samples before the index. `sync`: a sync word ends
        in the byte at the index. `frequency`, `gain`, `rate`: the centre frequency, the gain or the
        sample rate changed. `other`: a kind of a later version.
    value : int, float or None
        Of `overflow` and `gap` how many samples, 0 where they were fewer than one; of `sync` the
        bit of the byte, from the highest, 0, to the lowest, 7; of `frequency` and `rate` hertz, of
        `gain` decibels; `None` of the others.
    cause : str or None
        Why, of `gap`.
    wrong_bits : int or None
        How many bits of the sync word are wrong, of `sync`.

    Examples
    --------
    >>> Tag(index=1_000, kind="overflow", value=64).value
    64
    """

    index: int
    kind: str
    value: float | None = None
    cause: str | None = None
    wrong_bits: int | None = None


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """How a stream to a device ended.

    Attributes
    ----------
    end : str
        How, as the library names it, e.g. `Finished`.
    final_index : int
        The index after the last sample that was sent.
    stats : TransmitterStats
        The final counters.
    """

    end: str
    final_index: int
    stats: TransmitterStats


@dataclass(frozen=True, slots=True)
class Reading:
    """Samples that were copied out of a stream.

    Attributes
    ----------
    samples : numpy.ndarray
        The samples, this program's own; shaped as `Block.samples`.
    index : int
        The index of the first.
    gaps : tuple of Gap
        The gaps just before it.
    format : str
        The format of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> samples = np.array([[[16_384, -32_768]]], np.int16)
    >>> Reading(samples, index=0, gaps=(), format="sc16").complex()
    array([[0.5-1.j]], dtype=complex64)
    """

    samples: NDArray[Any]
    index: int
    gaps: tuple[Gap, ...]
    format: str

    def complex(self) -> NDArray[Any]:
        """A copy as complex64 shaped `(n, channels)`, at full scale 1.0; of complex formats.

        Raises
        ------
        TypeError
            The format is real.
        """
        return to_floats(self.samples, self.format, "complex64")

    def real(self) -> NDArray[Any]:
        """A copy as float32 shaped `(n, channels)`, at full scale 1.0; of real formats.

        Raises
        ------
        TypeError
            The format is complex.
        """
        return to_floats(self.samples, self.format, "float32")


@dataclass(frozen=True, slots=True)
class PlayEvent:
    """Samples that a device which plays did not have at their time.

    Attributes
    ----------
    kind : str
        `late`: packets came after their time, and were not played. `underflow`: samples were not
        there at their time, and zeros were played, or the stream ended.
    index, end : int
        The range of indexes that may be affected. `end` is the index that the device played when it
        reported this, or the index after the last. A late packet is late by at most about
        `end - index` samples.
    count : int
        Number of late packets, or of missing samples.
    lost : int
        Number of later events that were dropped because 256 waited for the program.
    """

    kind: str
    index: int
    end: int
    count: int
    lost: int


@dataclass(frozen=True, slots=True)
class Account:
    """Every index of a recording in one term: `indexes` is the sum of the others.

    Attributes
    ----------
    indexes : int
        The range, from the index that the opening agreed on to the stop.
    samples : int
        Samples written.
    missing : int
        Samples missing, for every cause.
    left_out : int
        Indexes that the device left out on purpose after its first sample.
    not_written : int
        Samples received that the file did not take.
    before_first : int
        Indexes before the first sample.
    """

    indexes: int
    samples: int
    missing: int
    left_out: int
    not_written: int
    before_first: int


@dataclass(frozen=True, slots=True)
class Recording:
    """What was recorded.

    Attributes
    ----------
    samples : int
        Samples (of all channels each).
    bytes : int
        Bytes of samples, as they were written.
    gaps, missing_samples : int
        Gaps, and the samples that they cover.
    files : list of pathlib.Path
        The files.
    sha512 : str or None
        The SHA-512 of the data in lower-case hex, where it was asked for.
    silent_s : float or None
        For how long the device had been silent when the recording ended, in seconds, if longer than
        a device that lives: then the recording is incomplete, and no gap names what is missing.
    account : Account
        Every index in one term.
    """

    samples: int
    bytes: int
    gaps: int
    missing_samples: int
    files: list[Path]
    sha512: str | None
    silent_s: float | None
    account: Account


@dataclass(frozen=True, slots=True)
class FoundDevice:
    """A device that answered.

    Attributes
    ----------
    info : DeviceInfo
        Its first stream, and the address to open.
    other_addresses : tuple of str
        The same device's other addresses.
    """

    info: DeviceInfo
    other_addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The devices that answered.

    Attributes
    ----------
    devices : tuple of FoundDevice
        The devices, without duplicates.
    failures : tuple of str
        Errors of devices that answered, but did not describe their streams.
    is_cut : bool
        More answered than are asked.
    """

    devices: tuple[FoundDevice, ...]
    failures: tuple[str, ...]
    is_cut: bool

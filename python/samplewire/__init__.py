"""Streams of samples over Ethernet: every index delivered, or listed in a gap with its cause.

>>> import samplewire as sw
>>> with sw.emulate("counter", rate_hz=1e6, samples=10_000) as device:
...     with sw.receive(device.address) as rx:
...         sum(len(block) for block in rx.blocks())
10000
"""

from collections.abc import Sequence
from os import PathLike

from samplewire import _native
from samplewire._aligned import AlignedBlock, AlignedReceiver
from samplewire._device_string import takes_device_string
from samplewire._emulate import Device, emulate
from samplewire._errors import (
    AddressError,
    ApartError,
    CircuitBreakerError,
    ClosedByPeerError,
    ClosedError,
    ContradictionError,
    EndedError,
    Error,
    ForkError,
    FormatError,
    HeldMemoryWarning,
    LinkError,
    NoAnswerError,
    OfferError,
    OpenError,
    OptionError,
    PeerRestartedError,
    PeerSilentError,
    PoolError,
    PortFailedError,
    PortFullError,
    PortGoneError,
    QueuePairFailedError,
    RealTimeError,
    RefusedError,
    ReleasedError,
    SinkError,
    SourceError,
    StartError,
    StreamsApartError,
    StreamTwiceError,
    SystemCallError,
    TermsError,
    ViolationError,
    WaitTimeoutError,
    WindowWarning,
)
from samplewire._listen import Listener, listen
from samplewire._options import opening, unsigned
from samplewire._real_time import Carriage, Granted, Link, RealTime, Refusal
from samplewire._receive import Block, Receiver, receive, sample_dtype
from samplewire._records import (
    Account,
    DeviceInfo,
    FaultCounts,
    Found,
    FoundDevice,
    Gap,
    Played,
    PlayEvent,
    PortStats,
    RdmaProbe,
    Reading,
    ReceiverStats,
    Recording,
    SessionEnd,
    StreamCounts,
    StreamGap,
    Tag,
    TransmitterStats,
)
from samplewire._transmit import SendStream, Transmitter, transmit, wire_bytes

__version__ = _native.__version__


@takes_device_string
def record(
    address: str,
    path: str | PathLike[str],
    *,
    samples: int | None = None,
    duration: float | None = None,
    seconds: float | None = None,
    format: str | None = None,
    overwrite: bool = False,
    compress: bool = False,
    sha512: bool = True,
    delivery: str = "complete",
    window: int = 1_024,
    stream: int | None = None,
    start_index: int = 0,
    owner: int | None = None,
    timeout: float = 3.0,
    mtu: int = 9_000,
    streams: Sequence[int] | None = None,
    real_time: RealTime | None = None,
    link: Link = "udp",
    interface: str | None = None,
    carriage: Carriage = "data",
    verbs: str | None = None,
) -> Recording:
    """Record a stream, by the library's own sinks: no sample passes through Python.

    It ends with the stream, with one of the limits, or with Ctrl-C, which raises once the files are
    in order.

    Parameters
    ----------
    address : str
        `HOST[:PORT]`, port 9100 unless given, or a device string; see `receive`.
    path : str or path
        The name of a SigMF recording, of a raw file (`.raw`, `.bin`, `.dat`, `.iq`, `.cfile` or a
        format's name at its end), or `null`.
    samples : int, optional
        How many indexes to record, gaps included.
    duration : float, optional
        How long to record, in seconds; `seconds` is an alias.
    format : str, optional
        The format of the samples in the file; default the stream's.
    overwrite, compress, sha512 : bool
        Whether files that exist are emptied, the data compressed, and their hash taken.
    delivery, window, stream, start_index, owner, timeout, mtu, real_time, link, interface, carriage
        See `receive`.
    verbs
        See `receive`.
    streams : sequence of int, optional
        Several aligned streams of the device, recorded as one that has the channels of all: sample
        by sample those of the first, of the second and so on.

    Returns
    -------
    Recording

    Raises
    ------
    OpenError, SinkError, EndedError
        The stream cannot be opened, the file not be written, or the stream broke; what came before
        is in the file.

    Examples
    --------
    >>> with emulate("counter", rate_hz=10e6) as device:
    ...     recording = record(device.address, "null", samples=1_000_000)
    >>> recording.samples, recording.gaps
    (1000000, 0)
    """
    unsigned(samples=(samples or 0, 64))
    if duration is not None and seconds is not None:
        raise ValueError("duration and seconds are the same: give one of them")
    options = opening(
        address,
        delivery=delivery,
        window=window,
        stream=stream,
        start_index=start_index,
        owner=owner,
        timeout=timeout,
        mtu=mtu,
        streams=streams,
        real_time=real_time,
        link=link,
        interface=interface,
        carriage=carriage,
        verbs=verbs,
    )
    return _native.record(
        options,
        path,
        samples=samples,
        seconds=seconds if duration is None else duration,
        format=format,
        overwrite=overwrite,
        compress=compress,
        sha512=sha512,
    )


@takes_device_string
def probe(address: str, *, stream: int = 0, timeout: float = 3.0) -> DeviceInfo:
    """Ask a device what a stream is, without opening it.

    Parameters
    ----------
    address : str
        `HOST[:PORT]`, port 9100 unless given, or a device string; see `receive`.
    stream : int
        The number of the stream.
    timeout : float
        How long to ask, in seconds.

    Returns
    -------
    DeviceInfo

    Raises
    ------
    OpenError
        Nothing answers, or there is no such stream.
    """
    unsigned(stream=(stream, 16))
    return _native.probe(address, stream, timeout)


@takes_device_string
def probe_rdma(address: str, *, stream: int = 0, timeout: float = 3.0) -> RdmaProbe:
    """Ask a device what a stream would be over RDMA, without opening it.

    It needs no privilege, and does not prove that frames of RoCEv2 pass between both ends.

    Parameters
    ----------
    address, stream, timeout
        See `probe`.

    Returns
    -------
    RdmaProbe

    Raises
    ------
    OpenError
        Nothing answers, or there is no such stream.

    Examples
    --------
    >>> import samplewire as sw
    >>> with sw.emulate("counter", rate_hz=1e6) as device:
    ...     probe = sw.probe_rdma(device.address)
    >>> probe.info.carriage, probe.device_path_mtu_bytes
    ('data', None)
    """
    unsigned(stream=(stream, 16))
    return _native.probe_rdma(address, stream, timeout)


def find(*, port: int = 9_100, timeout: float = 1.0) -> Found:
    """Ask all devices on the local networks what they stream.

    Parameters
    ----------
    port : int
        Where they listen.
    timeout : float
        How long answers are awaited, in seconds; then at most as long again for every 16 that
        answered.

    Returns
    -------
    Found

    Raises
    ------
    OpenError
        No network can be asked.
    """
    unsigned(port=(port, 16))
    return Found(*_native.find(port, timeout))


__all__ = [
    "Account",
    "AddressError",
    "AlignedBlock",
    "AlignedReceiver",
    "ApartError",
    "Block",
    "CircuitBreakerError",
    "ClosedByPeerError",
    "ClosedError",
    "ContradictionError",
    "Device",
    "DeviceInfo",
    "EndedError",
    "Error",
    "FaultCounts",
    "ForkError",
    "FormatError",
    "Found",
    "FoundDevice",
    "Gap",
    "Granted",
    "HeldMemoryWarning",
    "LinkError",
    "Listener",
    "NoAnswerError",
    "OfferError",
    "OpenError",
    "OptionError",
    "PeerRestartedError",
    "PeerSilentError",
    "PlayEvent",
    "Played",
    "PoolError",
    "PortFailedError",
    "PortFullError",
    "PortGoneError",
    "PortStats",
    "QueuePairFailedError",
    "RdmaProbe",
    "Reading",
    "RealTime",
    "RealTimeError",
    "Receiver",
    "ReceiverStats",
    "Recording",
    "Refusal",
    "RefusedError",
    "ReleasedError",
    "SendStream",
    "SessionEnd",
    "SinkError",
    "SourceError",
    "StartError",
    "StreamCounts",
    "StreamGap",
    "StreamTwiceError",
    "StreamsApartError",
    "SystemCallError",
    "Tag",
    "TermsError",
    "Transmitter",
    "TransmitterStats",
    "ViolationError",
    "WaitTimeoutError",
    "WindowWarning",
    "emulate",
    "find",
    "listen",
    "probe",
    "probe_rdma",
    "receive",
    "record",
    "sample_dtype",
    "transmit",
    "wire_bytes",
]

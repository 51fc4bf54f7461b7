"""Receiving a stream."""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from samplewire import _native
from samplewire._aligned import AlignedReceiver
from samplewire._blocks import BlockReceiver
from samplewire._device_string import takes_device_string
from samplewire._options import opening, unsigned
from samplewire._real_time import Carriage, Granted, Link, RealTime
from samplewire._records import DeviceInfo, Reading, ReceiverStats

Block = _native.Block

_ELEMENTS: dict[str, tuple[str, tuple[int, ...]]] = {
    "sc8": ("int8", (2,)),
    "uc8": ("uint8", (2,)),
    "sc16": ("int16", (2,)),
    "fc32": ("complex64", ()),
    "r8": ("int8", ()),
    "r16": ("int16", ()),
    "rf32": ("float32", ()),
}


def sample_dtype(format: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Element type and trailing shape of arrays of a format.

    Parameters
    ----------
    format : str
        The format's name, or one of its SigMF or SoapySDR names.

    Returns
    -------
    dtype : numpy.dtype
        The type of an element, little-endian as on the wire.
    tail : tuple of int
        `(2,)` where NumPy has no such complex type: I and Q side by side. Else empty.

    Raises
    ------
    ValueError
        No format has this name.

    Examples
    --------
    >>> sample_dtype("sc16")
    (dtype('int16'), (2,))
    """
    name, tail = _ELEMENTS[_native.format_name(format)]
    return np.dtype(name), tail


class Receiver(BlockReceiver[Block]):
    """The receiving end of a stream; `receive` makes it.

    Iterate over it, or over `blocks`, to get each `Block` where it lies; `read` copies. The
    iteration ends where the stream is complete, and raises where it broke off. It is its own
    context manager. One thread takes blocks at a time, others wait for their turn; `stats` and
    `close` are free for any.
    """

    def __init__(self, native: _native.Receiver) -> None:
        super().__init__(native)
        self._native = native
        self._info = native.info

    @property
    def info(self) -> DeviceInfo:
        """What the device said of the stream."""
        return self._info

    @property
    def granted(self) -> Granted:
        """What was granted of the real-time choices."""
        return self._native.granted

    @property
    def memory_bytes(self) -> int:
        """All memory taken for the stream, in bytes; none is taken later."""
        return self._native.memory_bytes

    def read(self, count: int, *, timeout: float | None = None) -> Reading:
        """Copy samples that follow each other without a gap.

        Parameters
        ----------
        count : int
            How many samples (of all channels each).
        timeout : float, optional
            How long to wait for the next block of them, in seconds; default without end.

        Returns
        -------
        Reading
            As many samples as were asked for; fewer before a gap, which the next reading names,
            where the next did not come within `timeout` or the stream broke, which the next
            reading raises, and at the end, after which there are none. What a reading copied
            that a signal broke off (Ctrl-C), or a warning that is an error, is kept, and comes
            first in the next; `blocks` go on behind it.

        Raises
        ------
        WaitTimeoutError
            Nothing came within `timeout`.
        EndedError
            The stream ended, and was not to.
        """
        unsigned(count=(count, 48))
        return self._native.read(count, timeout)

    def stats(self) -> ReceiverStats:
        """Counters as of some milliseconds ago; after the end, the final ones."""
        return self._native.stats()

    def __repr__(self) -> str:
        info = self._info
        return (
            f"<samplewire.Receiver of {info.address}: {info.name or 'stream'}, {info.format}, "
            f"{info.channels} channels, {info.rate_hz:g} Hz>"
        )


@overload
def receive(
    address: str,
    *,
    delivery: str = ...,
    window: int = ...,
    stream: int | None = ...,
    streams: None = ...,
    start_index: int = ...,
    owner: int | None = ...,
    timeout: float = ...,
    mtu: int = ...,
    real_time: RealTime | None = ...,
    link: Link = ...,
    interface: str | None = ...,
    carriage: Carriage = ...,
    verbs: str | None = ...,
) -> Receiver: ...
@overload
def receive(
    address: str,
    *,
    delivery: str = ...,
    window: int = ...,
    streams: Sequence[int],
    owner: int | None = ...,
    timeout: float = ...,
    mtu: int = ...,
    real_time: RealTime | None = ...,
    link: Link = ...,
    interface: str | None = ...,
    carriage: Carriage = ...,
    verbs: str | None = ...,
) -> AlignedReceiver: ...
@takes_device_string
def receive(
    address: str,
    *,
    delivery: str = "complete",
    window: int = 1_024,
    stream: int | None = None,
    streams: Sequence[int] | None = None,
    start_index: int = 0,
    owner: int | None = None,
    timeout: float = 3.0,
    mtu: int = 9_000,
    real_time: RealTime | None = None,
    link: Link = "udp",
    interface: str | None = None,
    carriage: Carriage = "data",
    verbs: str | None = None,
) -> Receiver | AlignedReceiver:
    """Open a stream of a device, or several aligned ones, and start to receive.

    Parameters
    ----------
    address : str
        `HOST[:PORT]`; port 9100 unless given. Or a device string with options of the command, as
        `addr=10.0.0.2,window=8192`, which arguments override.
    delivery : str
        `complete`, `deadline:TIME` (a packet is given up when it has been missing for TIME, 1us to
        30s) or `best-effort`.
    window : int
        Packets that may be on the way or wait for a repair, 1 to 2^24. Memory is window times
        payload. A device that holds fewer packets clamps it.
    stream : int, optional
        The device's stream; default its first that sends.
    streams : sequence of int, optional
        Several of the device's streams, in the order of the results, over one socket and in one I/O
        thread. All begin at one index, which the opening chooses.
    start_index : int
        The index of the first sample to come; 0 means that of now. Not with several streams.
    owner : int, optional
        Names this program to the device: the same owner takes a stream over at once.
    timeout : float
        How long to try to open, in seconds.
    mtu : int
        The largest IP packet to ask for, headers included, in bytes.
    real_time : RealTime, optional
        CPU, priority, memory and waiting of the I/O thread; `granted` of the receiver states what
        the system granted.
    link : str
        How packets pass the kernel: `udp`, or past it by AF_XDP: `xdp` in the driver if it can,
        else in the kernel's generic path (`xdp-generic`: there alone), `auto` where the driver
        needs no copy. What keeps packets from that is in `granted`, and they go by UDP.
    interface : str, optional
        The interface that all packets come and leave by, such as `eth1`, for a host with several in
        one network; default: the host's routes decide.
    carriage : str
        How packets of samples travel: `data`, or `rdma`: written into slots of this end by RoCEv2,
        if the device was started with that too. It needs CAP_NET_RAW, a window that is a power of
        two, complete delivery, and both ends on one Ethernet. `info.carriage` of the receiver says
        which it is.
    verbs : str, optional
        With `carriage="rdma"`: the RDMA network card, such as `mlx5_0`, that writes the packets
        into this process's memory. It needs libibverbs, and no CAP_NET_RAW; default software.

    Returns
    -------
    Receiver or AlignedReceiver
        `AlignedReceiver` where `streams` is given, also of one stream.

    Raises
    ------
    OpenError
        Nothing answers, the device refuses, or an option is out of range.

    Warns
    -----
    WindowWarning
        The device holds fewer packets than the `window` that was chosen.

    Examples
    --------
    >>> import samplewire as sw
    >>> with sw.emulate("counter", rate_hz=1e6, samples=5_000) as device:
    ...     with sw.receive(device.address) as rx:
    ...         sum(len(block) for block in rx)
    5000
    >>> with sw.emulate("counter", rate_hz=1e6, streams=2, samples=5_000) as device:
    ...     with sw.receive(device.address, streams=[0, 1]) as rx:
    ...         block = next(iter(rx))
    >>> [samples.dtype.name for samples in block.samples]
    ['int16', 'int16']
    """
    options = opening(
        address,
        delivery=delivery,
        window=window,
        stream=stream,
        streams=streams,
        start_index=start_index,
        owner=owner,
        timeout=timeout,
        mtu=mtu,
        real_time=real_time,
        link=link,
        interface=interface,
        carriage=carriage,
        verbs=verbs,
    )
    if streams is not None:
        return AlignedReceiver(_native.AlignedReceiver(options))
    return Receiver(_native.Receiver(options))

"""Sending to a device that plays, or to a receiver that opened a stream."""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from samplewire import _native
from samplewire._device_string import takes_device_string
from samplewire._options import opening, unsigned
from samplewire._real_time import Granted, Link, RealTime
from samplewire._receive import sample_dtype
from samplewire._records import DeviceInfo, PlayEvent, SessionEnd, TransmitterStats

S = TypeVar("S", bound="SendStream")

Buffer = bytes | bytearray | memoryview
"""Samples as they go over the wire: little-endian, I and Q and channels interleaved."""

Samples = NDArray[Any] | Buffer
"""What can be sent."""


def wire_bytes(samples: NDArray[Any], format: str, channels: int) -> bytes:
    """Samples as they go over the wire.

    Parameters
    ----------
    samples : numpy.ndarray
        Of the format's own type, shaped `(n, channels)`, with I and Q as a last axis where that is
        the format's; or complex64, respectively float32, at full scale 1.0, which is converted and
        saturates. The axis of channels may be left out where there is one.
    format : str
        The format's name.
    channels : int
        How many channels.

    Returns
    -------
    bytes

    Raises
    ------
    TypeError
        The samples have another type.
    ValueError
        They have another shape.

    Examples
    --------
    >>> import numpy as np
    >>> wire_bytes(np.array([0.5 - 1j], np.complex64), "sc16", 1).hex()
    '00400080'
    """
    format = _native.format_name(format)
    data, source = _as_bytes(samples, format, channels)
    return data.tobytes() if source == format else _native.convert(source, format, data.tobytes())


def _as_bytes(samples: Samples, format: str, channels: int) -> tuple[NDArray[np.uint8], str]:
    """Samples as bytes, without a copy where they are contiguous, and the format of these."""
    dtype, tail = sample_dtype(format)
    if not hasattr(samples, "__array__"):
        data = np.frombuffer(samples, np.uint8) if len(memoryview(samples)) else _NO_BYTES
        frame_bytes = dtype.itemsize * (2 if tail else 1) * channels
        if len(data) % frame_bytes:
            raise ValueError(
                f"a buffer of {len(data)} bytes: {format} of {channels} channels takes "
                f"{frame_bytes} for each sample"
            )
        return data, format
    array = np.asarray(samples)
    is_complex = bool(tail) or dtype.kind == "c"
    floats = np.dtype("complex64" if is_complex else "float32")
    if array.dtype == dtype:
        tail_given, source = tail, format
    elif array.dtype == floats:
        tail_given, source = (), "fc32" if is_complex else "rf32"
    else:
        raise TypeError(
            f"samples are {array.dtype}: {format} takes {dtype} shaped (n, channels"
            f"{', 2' if tail else ''}), or {floats}"
        )
    shape = array.shape
    if shape[1:] != (channels, *tail_given) and not (channels == 1 and shape[1:] == tail_given):
        expected = ", ".join(map(str, ("n", channels, *tail_given)))
        raise ValueError(f"samples are shaped {shape}: {format} takes ({expected})")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8), source


def _is_one(samples: Samples | Iterable[Samples]) -> TypeGuard[Samples]:
    """Whether these are samples themselves, and not parts that follow each other."""
    if hasattr(samples, "__array__"):
        return True
    try:
        memoryview(samples)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


class SendStream:
    """The sending end of a stream that a receiver opened; `Listener.accept` gives it.

    It is its own context manager: leaving that waits until the peer has everything, or gives up
    what has not departed when an exception passes through.
    """

    def __init__(self, native: _native.Transmitter) -> None:
        self._native = native
        self._format = native.format
        self._channels = native.channels
        self._end: SessionEnd | None = None

    @property
    def peer(self) -> str:
        """The address of the other end."""
        return self._native.peer

    @property
    def first_index(self) -> int:
        """The index of the first sample that can be sent."""
        return self._native.first_index

    @property
    def granted(self) -> Granted:
        """What was granted of the real-time choices."""
        return self._native.granted

    @property
    def next_index(self) -> int:
        """The index after the last that was sent; at first, the first that can be."""
        return self._native.next_index

    @property
    def end(self) -> SessionEnd | None:
        """How the stream ended, once it has."""
        return self._end

    def send(
        self,
        samples: Samples | Iterable[Samples],
        *,
        index: int | None = None,
    ) -> int:
        """Send samples as one burst.

        Samples are copied once, from where they lie into the memory that the network reads, and
        converted on the way where they have another type; an array that is not contiguous is copied
        once more. The GIL is released while the call waits for memory, and held while it copies.
        Memory that another thread writes meanwhile is sent as it is at that moment. An exception,
        also that of Ctrl-C, ends the burst with what was sent; for that the call waits 1 s at most.

        Parameters
        ----------
        samples : numpy.ndarray, buffer or iterable of them
            Arrays have the types and shapes of `wire_bytes`. Any other contiguous buffer (bytes,
            bytearray, memoryview) has samples as they go over the wire: little-endian, I and Q and
            the channels interleaved. The parts of an iterable follow each other.
        index : int, optional
            The index of the first, which is its time where the device has a clock; default
            `next_index`.

        Returns
        -------
        int
            The index after the last. All is handed over to be sent then; the last window of it may
            not have departed.

        Raises
        ------
        ValueError
            The index lies before the end of what was sent, the samples go beyond index 2^63, or
            they have another shape or end within a sample.
        TypeError
            The samples have another type.
        BufferError
            The buffer is not contiguous.
        EndedError
            The stream is over.
        """
        parts = [samples] if _is_one(samples) else cast(Iterable[Samples], samples)
        first = self.next_index if index is None else index
        unsigned(index=(first, 64))
        return self._native.send(self._arrays(parts), first)

    def stats(self) -> TransmitterStats:
        """Counters as of some milliseconds ago."""
        return self._native.stats()

    def finish(self) -> SessionEnd | None:
        """End the stream after all that was sent, and wait until the device has it.

        Raises
        ------
        PortFailedError
            The I/O thread broke.
        """
        self._end = self._native.finish() or self._end
        return self._end

    def cancel(self) -> SessionEnd | None:
        """End the stream with what has departed."""
        self._end = self._native.cancel() or self._end
        return self._end

    def _arrays(self, parts: Iterable[Samples]) -> Iterator[tuple[NDArray[np.uint8], str]]:
        for part in parts:
            yield _as_bytes(part, self._format, self._channels)

    def __enter__(self: S) -> S:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.finish()
        else:
            self.cancel()


class Transmitter(SendStream):
    """The sending end of a stream that this program opened; `transmit` makes it."""

    def __init__(self, native: _native.Transmitter, info: DeviceInfo) -> None:
        super().__init__(native)
        self._info = info

    @property
    def info(self) -> DeviceInfo:
        """What the device said of the stream."""
        return self._info

    def wait_played(self, index: int | None = None, *, timeout: float | None = None) -> bool:
        """Wait until the device has played what lies before an index.

        Parameters
        ----------
        index : int, optional
            Default `next_index`.
        timeout : float, optional
            How long to wait, in seconds; default without end.

        Returns
        -------
        bool
            Whether it has.
        """
        return self._native.wait_played(self.next_index if index is None else index, timeout)

    def events(self, timeout: float | None = None) -> Iterator[PlayEvent]:
        """Iterate over the device's late packets and underflows, in any thread.

        Another thread may send meanwhile. An underflow is reported at once, and exactly, if the
        device has reached samples that were not sent, within a burst. Samples missing for other
        reasons, such as a late repair, are one event at the end of the stream.

        Parameters
        ----------
        timeout : float, optional
            How long to wait for each event, in seconds, before the iteration ends: 0 returns only
            available events; default until the stream ends.

        Yields
        ------
        PlayEvent

        Raises
        ------
        EndedError
            The stream ended, and was not to.
        """
        return iter(lambda: self._native.next_event(timeout), None)


@takes_device_string
def transmit(
    address: str,
    *,
    delivery: str = "complete",
    window: int = 1_024,
    stream: int | None = None,
    start_index: int = 0,
    owner: int | None = None,
    timeout: float = 3.0,
    mtu: int = 9_000,
    underflow: str = "zeros",
    link_bps: int = 0,
    control: str = "dcqcn",
    control_rate: int | None = None,
    real_time: RealTime | None = None,
    link: Link = "udp",
    interface: str | None = None,
) -> Transmitter:
    """Open the stream of a device that plays.

    Parameters
    ----------
    address : str
        `HOST[:PORT]`, port 9100 unless given, or a device string; see `receive`.
    delivery, window, stream, owner, mtu, real_time, link, interface
        See `receive`.
    timeout : float
        How long to try to open, and then how long to wait until the device says how much it takes,
        in seconds.
    start_index : int
        The index of the first sample; 0 means what the device plays when it is opened.
    underflow : str
        What the device does when samples are not there in time: play `zeros`, or `stop`.
    link_bps : int
        Paces departures to this many bits a second of wire time, 10^4 to 10^13; 0 does not pace.
    control : str
        How ECN marks of congestion limit the rate: `dcqcn` cuts it, and raises it without them;
        `fixed` keeps to `control_rate`; `none` only counts them.
    control_rate : int, optional
        Bits a second of wire time: the rate of `fixed`, 10^5 to 10^12, or the one that `dcqcn`
        starts at, from 10^7, if the sample rate is unknown; default the interface's speed.

    Returns
    -------
    Transmitter

    Raises
    ------
    OpenError
        Nothing answers, the device refuses, or an option is out of range.
    ValueError
        `control` and `control_rate` contradict each other.

    Examples
    --------
    >>> import numpy as np
    >>> import samplewire as sw
    >>> with sw.emulate(plays="null", paced=False, rate_hz=1e6) as device:
    ...     with sw.transmit(device.address) as tx:
    ...         tx.send(np.zeros(1_000, np.complex64)) - tx.info.first_index
    1000
    """
    options = opening(
        address,
        delivery=delivery,
        window=window,
        stream=stream,
        start_index=start_index,
        owner=owner,
        timeout=timeout,
        mtu=mtu,
        real_time=real_time,
        link=link,
        interface=interface,
        underflow=underflow,
        link_bps=link_bps,
        control=control,
        control_rate=control_rate,
    )
    native = _native.Transmitter(options)
    info = native.info
    assert info is not None
    return Transmitter(native, info)


_NO_BYTES = np.empty(0, np.uint8)

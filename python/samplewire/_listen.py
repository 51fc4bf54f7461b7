"""A stream whose samples are the program's, sent to the receivers that open it."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from samplewire import _native
from samplewire._options import unsigned
from samplewire._real_time import Carriage, Granted, Link, RealTime
from samplewire._transmit import SendStream


@dataclass(slots=True)
class Listening:
    """What the samples are, and how the port works, as the native half takes it."""

    address: str
    format: str
    channels: int
    rate_hz: float
    centre_frequency_hz: float | None
    name: str
    window: int
    payload_bytes: int | None
    link_bps: int
    control: str
    control_rate: int | None
    mtu: int
    real_time: RealTime
    link: str
    interface: str | None
    carriage: str


class Listener:
    """A device of one stream; `listen` makes it. It is its own context manager.

    Iterate over it, or call `accept`, to get a `SendStream` for each receiver. Receivers follow one
    another: while the program keeps one open, there is no next.
    """

    def __init__(self, native: _native.Listener) -> None:
        self._native = native

    @property
    def address(self) -> str:
        """`HOST:PORT` to open."""
        return self._native.address

    @property
    def granted(self) -> Granted:
        """What was granted of the real-time choices."""
        return self._native.granted

    def accept(self, *, timeout: float | None = None) -> SendStream | None:
        """Wait for a receiver that opens the stream.

        Parameters
        ----------
        timeout : float, optional
            How long to wait, in seconds; default without end.

        Returns
        -------
        SendStream or None
            `None` after `timeout`.

        Raises
        ------
        ClosedError
            The listener was closed, before the call or by another thread during it.
        PortFailedError
            The I/O thread broke.
        """
        native = self._native.accept(timeout)
        return None if native is None else SendStream(native)

    def close(self) -> None:
        """Let no further receiver open the stream; one that was accepted goes on."""
        self._native.close()

    def __iter__(self) -> Iterator[SendStream]:
        while (stream := self.accept()) is not None:
            yield stream

    def __enter__(self) -> "Listener":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def listen(
    address: str = "127.0.0.1:0",
    *,
    format: str = "sc16",
    channels: int = 1,
    rate_hz: float,
    centre_frequency_hz: float | None = None,
    name: str = "",
    window: int = 1_024,
    payload_bytes: int | None = None,
    link_bps: int = 0,
    control: str = "dcqcn",
    control_rate: int | None = None,
    mtu: int = 9_000,
    real_time: RealTime | None = None,
    link: Link = "udp",
    interface: str | None = None,
    carriage: Carriage = "data",
) -> Listener:
    """Start a device of one stream, whose samples this program sends.

    Parameters
    ----------
    address : str
        Where it listens, `HOST[:PORT]`; port 0 takes one that is free.
    format : str
        sc8, sc16, fc32, r8, r16, rf32 or uc8, or their SigMF or SoapySDR names.
    channels : int
        Channels of the stream.
    rate_hz : float
        Sample rate in hertz, as receivers see it; sending is as fast as the program.
    centre_frequency_hz : float, optional
        Centre frequency in hertz.
    name : str
        The stream's name.
    window : int
        Packets held for repair, 1 to 2^24. Memory is window times payload.
    payload_bytes : int, optional
        Payload of a packet in bytes; default what the path carries.
    link_bps : int
        Paces departures to this many bits a second of wire time, 10^4 to 10^13; 0 does not pace.
    control : str
        How ECN marks of congestion limit the rate: `dcqcn` cuts it, and raises it without them;
        `fixed` keeps to `control_rate`; `none` only counts them.
    control_rate : int, optional
        Bits a second of wire time: the rate of `fixed`, 10^5 to 10^12, or the one that `dcqcn`
        starts at, from 10^7, if the sample rate is unknown; default the interface's speed.
    mtu : int
        The largest IP packet, headers included, in bytes, 576 to 9000.
    real_time : RealTime, optional
        See `receive`.
    link, interface
        See `receive`.
    carriage : str
        How packets may travel: `data`, or `rdma`, where a receiver requests it. The address is then
        one of an interface, and that needs CAP_NET_RAW.

    Returns
    -------
    Listener

    Raises
    ------
    OpenError, SourceError
        The port is in use, or an option is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> import samplewire as sw
    >>> with sw.listen(rate_hz=1e6) as listener, sw.receive(listener.address) as rx:
    ...     with listener.accept() as stream:
    ...         end = stream.send(np.full(1_000, 0.5, np.complex64))
    ...     rx.read(1_000).samples[0].tolist()
    [[16384, 0]]
    """
    unsigned(channels=(channels, 16), window=(window, 32), link_bps=(link_bps, 64), mtu=(mtu, 64))
    unsigned(payload_bytes=(payload_bytes or 0, 16), control_rate=(control_rate or 0, 64))
    chosen = RealTime() if real_time is None else real_time
    unsigned(cpu=(chosen.cpu or 0, 32), priority=(chosen.priority or 0, 32))
    options = Listening(
        address,
        format,
        channels,
        rate_hz,
        centre_frequency_hz,
        name,
        window,
        payload_bytes,
        link_bps,
        control,
        control_rate,
        mtu,
        chosen,
        link,
        interface,
        carriage,
    )
    return Listener(_native.Listener(options))

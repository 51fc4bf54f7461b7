"""A device in this process, for tests and notebooks."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samplewire import _native
from samplewire._options import unsigned
from samplewire._real_time import Carriage
from samplewire._records import FaultCounts, Played
from samplewire._transmit import wire_bytes


@dataclass(slots=True)
class Supply:
    """Where samples come from, as the native half takes it."""

    source: str
    data: bytes | None
    format: str | None
    channels: int | None
    rate_hz: float | None
    centre_frequency_hz: float | None
    name: str
    seed: int
    samples_max: int | None


class Device:
    """A device in threads of this process; `emulate` makes it. It is its own context manager."""

    def __init__(self, native: _native.Device) -> None:
        self._native = native

    @property
    def address(self) -> str:
        """`HOST:PORT` to open."""
        return self._native.address

    @property
    def failures(self) -> list[str]:
        """What ended a part of the device before its time."""
        return self._native.failures()

    def played(self) -> list[Played]:
        """What was played in each session that is over."""
        return self._native.played()

    def faults(self) -> FaultCounts | None:
        """What was done to packets of samples (the side `data`); `None` without faults."""
        return self._native.faults()

    def close(self) -> None:
        """End the device, after sending missing samples to its receivers for up to 2 s.

        Samples that have not departed by then, or when a signal comes, are dropped. The call
        returns when the peers know the end, or have been silent for 15 s. A device that is
        garbage-collected without this call waits for no receiver.
        """
        self._native.close()

    def __enter__(self) -> "Device":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def emulate(
    source: str | NDArray[Any] | None = None,
    *,
    address: str = "127.0.0.1:0",
    plays: str | PathLike[str] | None = None,
    format: str | None = None,
    channels: int | None = None,
    rate_hz: float | None = None,
    centre_frequency_hz: float | None = None,
    name: str = "",
    samples: int | None = None,
    streams: int = 1,
    paced: bool = True,
    faults: str | Sequence[str] = (),
    seed: int = 0,
    window: int = 1_024,
    payload_bytes: int | None = None,
    control: str = "dcqcn",
    control_rate: int | None = None,
    carriage: Carriage = "data",
) -> Device:
    """Start a device that sends, plays, or does both.

    Parameters
    ----------
    source : str or numpy.ndarray, optional
        What it sends from the start to each receiver: `counter`, `tone:HZ`, `chirp`, `noise`,
        `scene`, `null`, the name of a recording, or samples, which need `rate_hz` (complex64
        becomes fc32 and float32 rf32 unless `format` says what they become). Default: `scene`, or
        nothing where the device plays.
    address : str
        Where it listens; port 0 takes one that is free.
    plays : str or path, optional
        The recording into which it plays what it is sent, or `null`.
    format : str, optional
        sc8, sc16, fc32, r8, r16, rf32 or uc8, or their SigMF or SoapySDR names; default the
        source's.
    channels : int, optional
        Channels; default the source's.
    rate_hz : float, optional
        Sample rate in hertz; default the source's, 20e6 for generators.
    centre_frequency_hz : float, optional
        What it says of its centre frequency, in hertz.
    name : str
        The stream's name.
    samples : int, optional
        How many it sends in a session; default as many as there are.
    streams : int
        How many streams it sends, each a copy of the source.
    paced : bool
        Whether it keeps to the sample rate, and loses what finds no room as a converter does; else
        it sends, and plays, as fast as it goes.
    faults : str or sequence of str
        What a bad wire does, e.g. `data:loss=0.01,corrupt=0.001` or `feedback:loss=0.01`. The data
        are what the device sends; of one that only plays, what comes to it.
    seed : int
        What noise is drawn from.
    window : int
        Packets that it holds for repair.
    payload_bytes : int, optional
        Payload of a packet; default what the path carries.
    control, control_rate
        Of the streams that it sends; see `transmit`.
    carriage
        Of the streams that it sends; see `listen`.

    Returns
    -------
    Device

    Raises
    ------
    SourceError, SinkError, OpenError, ValueError
        What was asked for cannot be, and why.

    Examples
    --------
    >>> import samplewire as sw
    >>> with sw.emulate("tone:1k", rate_hz=1e6, name="a tone") as device:
    ...     info = sw.probe(device.address)
    >>> info.name, info.format, info.rate_hz
    ('a tone', 'sc16', 1000000.0)
    """
    unsigned(window=(window, 32), samples=(samples or 0, 64), seed=(seed, 64))
    unsigned(channels=(channels or 0, 16), payload_bytes=(payload_bytes or 0, 16))
    unsigned(streams=(streams, 16), control_rate=(control_rate or 0, 64))
    data = None
    if isinstance(source, np.ndarray):
        if rate_hz is None:
            raise ValueError("samples out of an array have no rate of their own: give rate_hz")
        format = format or {"c": "fc32", "f": "rf32"}.get(source.dtype.kind)
        if format is None:
            raise ValueError(f"samples are {source.dtype}: say which format they are")
        channels = channels or 1
        data = wire_bytes(source, format, channels)
    named = source if isinstance(source, str) else "scene"
    sends = source is not None or plays is None
    supply = Supply(
        named, data, format, channels, rate_hz, centre_frequency_hz, name, seed, samples
    )
    native = _native.Device(
        address,
        supply,
        streams=streams if sends else 0,
        plays=None if plays is None else fspath(plays),
        paced=paced,
        faults=[faults] if isinstance(faults, str) else list(faults),
        window=window,
        payload_bytes=payload_bytes,
        control=(control, control_rate),
        carriage=carriage,
    )
    return Device(native)

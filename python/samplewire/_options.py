"""Options of an opening, as the native half takes them."""

from collections.abc import Sequence
from dataclasses import dataclass

from samplewire import _native
from samplewire._real_time import Carriage, Link, RealTime


@dataclass(slots=True)
class Opening:
    """What both ways of opening know."""

    address: str
    delivery: str
    deadline_ns: int
    window: int
    stream: int | None
    streams: list[int]
    start_index: int
    owner: int | None
    timeout: float
    mtu: int
    underflow: str
    link_bps: int
    control: str
    control_rate: int | None
    real_time: RealTime
    link: str
    interface: str | None
    carriage: str
    verbs: str | None


def read_delivery(text: str) -> tuple[str, int]:
    """Read `complete`, `deadline:TIME` or `best-effort`: its name, and nanoseconds.

    Examples
    --------
    >>> read_delivery("deadline:5ms")
    ('deadline', 5000000)
    >>> read_delivery("whole")
    Traceback (most recent call last):
    ...
    ValueError: delivery 'whole' is none of complete, best-effort, deadline:TIME
    """
    if text in ("complete", "best-effort"):
        return text, 0
    name, _, time = text.partition(":")
    if name != "deadline" or not time:
        raise ValueError(f"delivery {text!r} is none of complete, best-effort, deadline:TIME")
    try:
        deadline_ns = round(_native.read_number("time", time) * 1e9)
    except ValueError as error:
        raise ValueError(f"delivery {text!r}: {error}") from None
    if not 1_000 <= deadline_ns <= 30_000_000_000:
        raise _native.out_of_range("deadline", time, "1us to 30s")
    return "deadline", deadline_ns


def opening(
    address: str,
    *,
    delivery: str,
    window: int,
    stream: int | None,
    start_index: int,
    owner: int | None,
    timeout: float,
    mtu: int,
    real_time: RealTime | None,
    link: Link,
    interface: str | None,
    carriage: Carriage = "data",
    verbs: str | None = None,
    streams: Sequence[int] | None = None,
    underflow: str = "zeros",
    link_bps: int = 0,
    control: str = "dcqcn",
    control_rate: int | None = None,
) -> Opening:
    """Check what the library does not."""
    if streams is not None and stream is not None:
        raise ValueError(f"stream {stream} and streams {list(streams)}: choose one of them")
    if streams is not None and len(streams) == 0:
        raise ValueError("streams are none: name at least one")
    for number in streams or ():
        unsigned(streams=(number, 16))
    if underflow not in ("zeros", "stop"):
        raise ValueError(f"underflow {underflow!r} is neither zeros nor stop")
    unsigned(window=(window, 32), start_index=(start_index, 64), mtu=(mtu, 64))
    unsigned(stream=(stream or 0, 16), owner=(owner or 0, 64), link_bps=(link_bps, 64))
    unsigned(control_rate=(control_rate or 0, 64))
    chosen = RealTime() if real_time is None else real_time
    unsigned(cpu=(chosen.cpu or 0, 32), priority=(chosen.priority or 0, 32))
    name, deadline_ns = read_delivery(delivery)
    return Opening(
        address,
        name,
        deadline_ns,
        window,
        stream,
        list(streams or ()),
        start_index,
        owner,
        timeout,
        mtu,
        underflow,
        link_bps,
        control,
        control_rate,
        chosen,
        link,
        interface,
        carriage,
        verbs,
    )


def unsigned(**numbers: tuple[int, int]) -> None:
    """Raise `OptionError` for a number that is negative, or has more bits than it may.

    Examples
    --------
    >>> unsigned(window=(-1, 32))
    Traceback (most recent call last):
    ...
    samplewire._errors.OptionError: window -1: must be 1 to 2^24 packets
    """
    for name, (value, bits) in numbers.items():
        if not 0 <= value < 1 << bits:
            words = _native.WINDOW_RANGE if name == "window" else f"0 to 2^{bits} - 1"
            raise _native.out_of_range(name, value, words)

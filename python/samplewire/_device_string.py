"""Device strings: an address with options in it, as the command takes them."""

import difflib
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from samplewire import _native
from samplewire._real_time import RealTime

P = ParamSpec("P")
R = TypeVar("R")


def takes_device_string(function: Callable[P, R]) -> Callable[P, R]:
    """Let the address of `function` be a device string, whose options arguments override."""
    parameters = inspect.signature(function).parameters

    @wraps(function)
    def called(*arguments: P.args, **options: P.kwargs) -> R:
        given: dict[str, Any] = dict(options)
        rest: tuple[Any, ...] = arguments
        address = rest[0] if rest else given.get("address")
        if not isinstance(address, str) or "=" not in address:
            return function(*arguments, **options)
        address, more = read_device_string(address, function.__name__, tuple(parameters))
        if "streams" in given:
            more.pop("stream", None)
        if "seconds" in given:
            more.pop("duration", None)
        merged: dict[str, Any] = {**more, **given}
        if not rest:
            merged["address"] = address
        call: Callable[..., R] = function
        return call(*(address, *rest[1:])[: len(rest)], **merged)

    return called


def read_device_string(
    text: str, verb: str, parameters: tuple[str, ...]
) -> tuple[str, dict[str, Any]]:
    """Read `addr=HOST,KEY=VALUE..`: the address, and arguments for those of `parameters`.

    Keys are the long options of the command, with `-` or `_`; numbers have the command's units.

    Examples
    --------
    >>> read_device_string("addr=h,window=8k,timeout=500ms", "receive", ("window", "timeout"))
    ('h', {'window': 8000, 'timeout': 0.5})
    >>> read_device_string("adr=10.0.0.2", "receive", ("window",))
    Traceback (most recent call last):
    ...
    ValueError: 'adr=10.0.0.2': receive has no option 'adr'; did you mean 'addr'?
    """
    known = ["addr"] + [
        key for key, (name, _) in _READERS.items() if name.split(".")[0] in parameters
    ]
    address = None
    arguments: dict[str, Any] = {}
    choices: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, is_set, value = part.partition("=")
        key = key.replace("_", "-")
        if key not in known:
            near = difflib.get_close_matches(key, known, 1, 0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise ValueError(f"{text!r}: {verb} has no option {key!r}; {hint}")
        if key == "addr":
            address = value
            continue
        name, read = _READERS[key]
        try:
            read_value = read(value if is_set else "true")
        except ValueError as error:
            raise ValueError(f"{text!r}: {key}: {error}") from None
        group, _, choice = name.partition(".")
        if choice:
            choices[choice] = read_value
        else:
            arguments[group] = read_value
    if address is None:
        raise ValueError(f"{text!r}: a device string needs addr=HOST")
    if choices:
        arguments["real_time"] = RealTime(**choices)
    return address, arguments


def _whole(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    number = _native.read_number("quantity", text)
    if not number.is_integer():
        raise ValueError(f"{text!r} is no whole number")
    return int(number)


def _time(text: str) -> float:
    return _native.read_number("time", text)


def _bits(text: str) -> int:
    return round(_native.read_number("bit rate", text))


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def _not(text: str) -> bool:
    return not _flag(text)


def _zstd(text: str) -> bool:
    if text != "zstd":
        raise ValueError(f"{text!r} is not zstd")
    return True


def _spins(text: str) -> str:
    return "spinning" if _flag(text) else "asleep"


_READERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "delivery": ("delivery", str),
    "window": ("window", _whole),
    "mtu": ("mtu", _whole),
    "timeout": ("timeout", _time),
    "owner": ("owner", _whole),
    "channels": ("stream", _whole),
    "stream": ("stream", _whole),
    "start-index": ("start_index", _whole),
    "nsamps": ("samples", _whole),
    "samples": ("samples", _whole),
    "duration": ("duration", _time),
    "seconds": ("duration", _time),
    "format": ("format", str),
    "type": ("format", str),
    "overwrite": ("overwrite", _flag),
    "compress": ("compress", _zstd),
    "no-hash": ("sha512", _not),
    "underflow": ("underflow", str),
    "link-rate": ("link_bps", _bits),
    "control": ("control", str),
    "control-rate": ("control_rate", _bits),
    "link": ("link", str),
    "interface": ("interface", str),
    "carriage": ("carriage", str),
    "verbs": ("verbs", str),
    "cpu": ("real_time.cpu", _whole),
    "priority": ("real_time.priority", _whole),
    "lock-memory": ("real_time.lock_memory", _flag),
    "huge-pages": ("real_time.huge_pages", _flag),
    "spin": ("real_time.waits", _spins),
    "timer-slack": ("real_time.timer_slack_s", _time),
    "coalesce": ("real_time.coalesce_s", _time),
}
"""The parameter of each key, and how its value is read; after a dot, a field of `RealTime`."""

"""Pins and interfaces of cores in a block design: ours from the wrappers, AMD's from a table."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from design import ROOT, elaborate
from generate import VARIANTS

WRAPPERS = ROOT / "rtl/vendor/xilinx/wrappers"
TABLE = tomllib.loads((Path(__file__).parent / "catalogue.toml").read_text())
VENDOR, OURS = "xilinx.com:ip", "samplewire:rtl"
INFO = re.compile(r'X_INTERFACE_INFO = "\w[\w.]*:(?:interface|signal):(\w+):1\.0 (\w+) (\w+)"')
PORT = re.compile(r"(input|output) +wire (?:\[.*?\] )?(\w+)")


@dataclass(frozen=True)
class Pin:
    """A pin: what it carries is `clock`, `reset_high`, `reset_low`, `reset_any` or `data`."""

    is_input: bool
    carries: str
    clock: str  # of a reset; empty if it has none
    bits: int
    must_connect: bool


@dataclass(frozen=True)
class Interface:
    """An interface, with the clock pins of which one is its own."""

    is_master: bool
    kind: str
    bytes: int  # of tdata; 0 where it has none
    clocks: tuple[str, ...]
    must_connect: bool


@dataclass(frozen=True)
class Core:
    """A core with its parameters set."""

    pins: dict[str, Pin]
    interfaces: dict[str, Interface]
    segment: str


def _bits(text: str, values: dict[str, str]) -> int:
    """A number, a parameter, or 2 * a parameter; 0 for `-` or a parameter that is not set."""
    factor, _, name = text.rpartition("*")
    value = name if name.isdigit() else values.get(name, "0")
    return int(value) * int(factor or "1")


def vendor(name: str, values: dict[str, str]) -> Core:
    """A core of AMD's."""
    table = TABLE[name]
    pins = {}
    for pin, text in table["pins"].items():
        way, carries, *clock = text.split()
        is_data = not carries.startswith(("clock", "reset"))
        own = "".join(clock).removeprefix("-")
        bits = _bits(carries, values) if is_data else 1
        kind = "data" if is_data else carries
        pins[pin] = Pin(way[:2] == "in", kind, own, bits, way == "in")
    interfaces = {}
    for interface, text in table["interfaces"].items():
        role, kind, width, clocks = text.split()
        own = () if clocks == "-" else tuple(clocks.split(","))
        size = 0 if width == "-" else _bits(width, values)
        is_master = role.startswith("master")
        # A master of registers may have more ports than are used.
        must = role[-1] != "?"
        interfaces[interface] = Interface(is_master, kind, size, own, must)
    return Core(pins, interfaces, table.get("segment", ""))


@cache
def parameters(vlnv: str) -> set[str]:
    """Names of a core's parameters."""
    library, name = vlnv.split(":")[1], vlnv.split(":")[2]
    if library == "ip":
        return set(TABLE[name]["parameters"])
    return {p.name for p in elaborate(name, {}, (WRAPPERS / f"{name}.v",)).parameters}


@cache
def ours(name: str, numbers: tuple[tuple[str, int], ...]) -> Core:
    """A wrapper: its ports and widths from slang, its interfaces from its attributes."""
    path = WRAPPERS / f"{name}.v"
    bits = {p.name: p.bits for p in elaborate(name, dict(numbers), (path,)).ports}
    pins, interfaces, owner = {}, {}, {}
    info: re.Match[str] | None = None
    for line in path.read_text().splitlines():
        info = INFO.search(line) or info
        if busif := re.search(r"ASSOCIATED_BUSIF ([\w:]+)", line):
            owner |= dict.fromkeys(busif[1].split(":"), info[2])
        port = PORT.search(line)
        if port is None:
            continue
        is_input = port[1] == "input"
        kind = info[1] if info else "data"
        if kind in ("axis", "aximm"):
            role = info[3] in ("TVALID", "AWVALID")
            if role:
                clock = (owner[info[2]],)
                interfaces[info[2]] = Interface(not is_input, kind, 0, clock, True)
        else:
            carries = {"clock": "clock", "reset": "reset_high"}.get(kind, "data")
            clock = port[2].replace("rst_i", "clk_i") if kind == "reset" else ""
            pins[port[2]] = Pin(is_input, carries, clock, bits[port[2]], is_input)
        info = None
    for interface, found in interfaces.items():
        size = bits.get(f"{interface}_tdata", 0) // 8
        interfaces[interface] = Interface(found.is_master, found.kind, size, found.clocks, True)
    segment = "s_axil/reg0" if "s_axil" in interfaces else ""
    return Core(pins, interfaces, segment)


def core(vlnv: str, values: dict[str, str]) -> Core:
    """The core of a name in the catalogue."""
    library, name = vlnv.split(":")[1], vlnv.split(":")[2]
    if library == "ip":
        return vendor(name, values)
    return ours(name, tuple((n, int(v)) for n, v in values.items() if v.isdigit()))


def names() -> list[str]:
    """Names of all cores, with versions."""
    return [f"{VENDOR}:{name}:1.0" for name in TABLE] + [f"{OURS}:{n}:1.0" for n in VARIANTS]

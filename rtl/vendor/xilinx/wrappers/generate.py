#!/usr/bin/env python3
"""Write the flat Verilog wrappers of the tops, for Vivado's block designs, and their file lists.

    generate.py           write them, and ip/files.tcl
    generate.py --check   fail if one is not what the RTL's ports give

A block design takes no SystemVerilog module, no struct and no vector of streams: a wrapper has one
port for each field of a struct, and one AXI stream for each bit of a vector of tvalid. Ports,
ranges and parameters come from the RTL; names decide what is an interface:

    ?_axis*_t*      AXI4-Stream, named as its ports before _t*
    s_axil_*        AXI4-Lite
    *clk_i, *rst_i  a clock and its reset, active high; `mac_tx_clk_i` is the clock of the
                    interfaces that have `tx` in their names, `clk_i` of those without such a clock
"""

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from design import ROOT, Design, Parameter, Port, Value, elaborate, files

HERE = Path(__file__).resolve().parent
URAM_WORDS, URAM_BITS, URAM_COLUMN = 4096, 72, 16
AXIS = re.compile(r"([ms]_axis\w*?)_(t(?:data|keep|valid|ready|last|user))")
AXIL = re.compile(r"([ms]_axil)_(\w+)")


@dataclass(frozen=True)
class Ring:
    """The ring in UltraRAM: how many blocks, how many in a row, how many columns of them."""

    blocks: int
    columns: int
    latency: int


def ring(width: int, slots: int, slot_bytes: int) -> Ring:
    """Blocks of a ring, and the RdLatency that pipelines its cascade.

    Two cycles are the block's own (array and output register); one more lets the cascade be cut
    after every fourth block, another joins several columns. Calculated, not tried in Vivado.
    """
    beats = slots * slot_bytes * 8 // width
    row = -(-beats // URAM_WORDS)
    columns = -(-row // URAM_COLUMN)
    latency = 2 + -(-min(row, URAM_COLUMN) // 4) + (columns > 1)
    return Ring(row * -(-width // URAM_BITS), columns, latency)


@dataclass(frozen=True)
class Variant:
    """A wrapper: what it wraps, the parameters that it fixes, and other defaults of its own."""

    top: str
    fixed: dict[str, Value]
    defaults: dict[str, Value] = field(default_factory=dict)
    without: str = ""  # ports that it does not have: inputs are 0, outputs lead nowhere

    def has(self, port: Port) -> bool:
        """Whether the wrapper has the port."""
        return not re.fullmatch(self.without, port.name)


# Of a board without a NIC.
NIC_PORTS = r"[ms]_axis_(nic|other)_\w+|nic_\w+"


def _variants() -> dict[str, Variant]:
    found = {"samplewire_ns_clock": Variant("ns_clock", {})}
    for width in (64, 512):
        defaults = {"RingStyle": "ultra", "RdLatency": ring(width, 256, 8192).latency}
        fixed = {"W": width, "Nic": 0}
        found[f"samplewire_sender_{width}"] = Variant(
            "samplewire_sender", fixed, defaults, NIC_PORTS
        )
        # Converters give I and Q on streams of their own.
        fixed = fixed | {"Channels": 1, "AdcMerged": 0}
        found[f"samplewire_board_{width}"] = Variant("samplewire_board", fixed, defaults, NIC_PORTS)
    return found


VARIANTS = _variants()


@dataclass(frozen=True)
class Flat:
    """A port of the wrapper."""

    name: str
    is_input: bool
    range_text: str


@dataclass(frozen=True)
class Interface:
    """A bus interface of the wrapper: its ports by their logical names."""

    name: str
    vlnv: str
    ports: dict[str, str]


def substitute(text: str, fixed: dict[str, Value], bits: int, free: set[str]) -> str:
    """A range with the fixed parameters as numbers; evaluated where no other is left."""
    if "::" in text:
        return f"{bits - 1}:0"
    for name, value in fixed.items():
        text = re.sub(rf"\b{name}\b", str(value), text)
    names = set(re.findall(r"[A-Za-z_$]\w*", text))
    if names - free:
        raise ValueError(f"[{text}]: {', '.join(names - free)} is no parameter of the wrapper")
    if not names:
        return f"{bits - 1}:0" if text else ""
    return text.removeprefix("1*")


def divide(text: str, parts: int) -> str:
    """The range of one of so many equal parts of a vector."""
    high = text.removesuffix(":0")
    if high.isdigit():
        return f"{(int(high) + 1) // parts - 1}:0"
    return f"{high.removesuffix('-1')}/{parts}-1:0"


def streams(ports: tuple[Port, ...]) -> dict[str, int]:
    """How many streams each vector of streams has, by the name before _t*."""
    return {m[1]: p.bits for p in ports if (m := AXIS.fullmatch(p.name)) and m[2] == "tvalid"}


def flatten(port: Port, counts: dict[str, int], variant: Variant, free: set[str]) -> list[Flat]:
    """The ports of the wrapper that stand for one port of the RTL, from the lowest bit up."""
    if port.fields:
        base, _, tail = port.name.rpartition("_")
        ordered = sorted(port.fields, key=lambda f: f[2])
        return [
            Flat(f"{base}_{name}_{tail}", port.is_input, f"{bits - 1}:0" if bits > 1 else "")
            for name, bits, _ in ordered
        ]
    text = substitute(port.range_text, variant.fixed, port.bits, free)
    match = AXIS.fullmatch(port.name)
    parts = counts.get(match[1], 1) if match else 1
    if match is None or parts == 1:
        return [Flat(port.name, port.is_input, "" if port.bits == 1 else text)]
    single = "" if port.bits == parts else divide(text, parts)
    return [Flat(f"{match[1]}_{n}_{match[2]}", port.is_input, single) for n in range(parts)]


def interfaces(ports: list[Flat]) -> list[Interface]:
    """The bus interfaces that the ports' names give."""
    found: dict[str, Interface] = {}
    for pattern, vlnv in ((AXIS, "axis:1.0"), (AXIL, "aximm:1.0")):
        for port in ports:
            if m := pattern.fullmatch(port.name):
                new = Interface(m[1], f"xilinx.com:interface:{vlnv}", {})
                found.setdefault(m[1], new).ports[m[2].upper()] = port.name
    return list(found.values())


def clock_of(interface: str, clocks: list[str]) -> str:
    """The clock port of an interface."""
    words = interface.split("_")
    own = [c for c in clocks if c != "clk_i" and c.removesuffix("_clk_i").split("_")[-1] in words]
    if len(own) > 1:
        raise ValueError(f"{interface}: {own} are all its clock")
    return own[0] if own else "clk_i"


def attributes(port: Flat, every: list[Interface], ports: list[Flat]) -> list[str]:
    """What Vivado is to know of a port."""
    clocks = [p.name for p in ports if p.name.endswith("clk_i")]
    name, info, parameter = port.name, "", ""
    if name in clocks:
        buses = [i.name for i in every if clock_of(i.name, clocks) == name]
        reset = name.replace("clk_i", "rst_i")
        parts = [f"ASSOCIATED_BUSIF {':'.join(buses)}"] if buses else []
        parts += [f"ASSOCIATED_RESET {reset}"] if reset in [p.name for p in ports] else []
        info, parameter = "xilinx.com:signal:clock:1.0 {} CLK", ", ".join(parts)
    elif name.endswith("rst_i"):
        info, parameter = "xilinx.com:signal:reset:1.0 {} RST", "POLARITY ACTIVE_HIGH"
    for bus in every:
        for logical, physical in bus.ports.items():
            if physical == name:
                info = f"{bus.vlnv} {bus.name} {logical}"
                if logical == "AWADDR":
                    bits = int(port.range_text.split(":")[0]) + 1
                    parameter = f"PROTOCOL AXI4LITE, DATA_WIDTH 32, ADDR_WIDTH {bits}"
    owner = info.split()[1] if info and "{}" not in info else name
    lines = [f'(* X_INTERFACE_INFO = "{info.format(name)}" *)'] if info else []
    if parameter:
        lines += [f'(* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME {owner}, {parameter}" *)']
    return lines


def _literal(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _connection(port: Port, flat: list[Flat]) -> str:
    if not flat:
        given = f"{port.bits}'d0" if port.is_input else port.name
        return f".{port.name}({given})"
    inner = ", ".join(f.name for f in reversed(flat))
    return f".{port.name}({{{inner}}})" if len(flat) > 1 else f".{port.name}({inner})"


def _fold(text: str) -> str:
    """A connection on lines of at most 100 columns."""
    if len(text) <= 92:
        return f"      {text}"
    head, _, tail = text.partition("{")
    return f"      {head}{{\n          " + ",\n          ".join(tail.split(", "))


def free_parameters(design: Design, variant: Variant) -> list[Parameter]:
    """The parameters that the wrapper passes on."""
    return [
        Parameter(p.name, variant.defaults.get(p.name, p.value), True)
        for p in design.parameters
        if p.is_plain and p.name not in variant.fixed
    ]


def wrapper(name: str) -> str:
    """The text of a wrapper."""
    variant = VARIANTS[name]
    design = elaborate(variant.top, variant.fixed)
    parameters = free_parameters(design, variant)
    free = {p.name for p in parameters}
    counts = streams(design.ports)
    groups = [
        (p, flatten(p, counts, variant, free) if variant.has(p) else []) for p in design.ports
    ]
    ports = [f for _, flat in groups for f in flat]
    every = interfaces(ports)
    declared = []
    for port in ports:
        kind = "input  wire" if port.is_input else "output wire"
        span = f" [{port.range_text}]" if port.range_text else ""
        lines = [*attributes(port, every, ports), f"{kind}{span} {port.name}"]
        declared.append("\n".join(f"    {line}" for line in lines))
    stated = [
        f"    parameter {'' if isinstance(p.value, str) else 'integer '}{p.name} = "
        f"{_literal(p.value)}"
        for p in parameters
    ]
    passed = [f"      .{n}({_literal(v)})" for n, v in variant.fixed.items()]
    passed += [f"      .{p.name}({p.name})" for p in parameters]
    fixed = ", ".join(f"{n} = {v}" for n, v in variant.fixed.items())
    comma = ",\n"
    open_ends = "".join(
        f"  wire {f'[{p.bits - 1}:0] ' if p.bits > 1 else ''}{p.name};\n"
        for p, flat in groups
        if not flat and not p.is_input
    )
    return f"""\
// `{variant.top}`{" with " if fixed else ""}{fixed}, for Vivado.
// Written by rtl/vendor/xilinx/wrappers/generate.py from the ports of the RTL.
`default_nettype none

module {name} #(
{comma.join(stated)}
) (
{comma.join(declared)}
);

{open_ends}  {variant.top} #(
{comma.join(passed)}
  ) inst (
{comma.join(_fold(_connection(p, flat)) for p, flat in groups)}
  );

endmodule

`default_nettype wire
"""


def file_lists() -> str:
    """The text of ip/files.tcl."""
    lines = [
        "# The sources of each wrapper, from the repository's root, packages first.",
        "# Written by rtl/vendor/xilinx/wrappers/generate.py.",
    ]
    for name, variant in VARIANTS.items():
        paths = [*files(variant.top), (HERE / f"{name}.v").relative_to(ROOT)]
        lines += [f"set samplewire_files({name}) {{", *(f"    {p}" for p in paths), "}"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write or check the wrappers and their file lists."""
    parser = argparse.ArgumentParser(description="wrappers for Vivado")
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    check = parser.parse_args().check
    texts = {HERE / f"{name}.v": wrapper(name) for name in VARIANTS}
    stale = {p.name for p in HERE.glob("*.v")} - {p.name for p in texts}
    texts[HERE.parent / "ip" / "files.tcl"] = file_lists()
    for path, text in texts.items():
        if check and (not path.exists() or path.read_text() != text):
            stale.add(path.name)
        elif not check:
            path.write_text(text)
    for name in sorted(stale):
        print(f"{name} is not what generate.py writes")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

"""The map of the NIC, words with side effects, and the texts that generate.py writes from it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import emit

WORDS = 256
VALUES = 4  # entries of counters.sv before the first event
ACCESS = ("rw", "ro", "pulse", "queue")


@dataclass
class Field:
    """One field of a word, from bit `shift` up: `part` of a value of `of` bits."""

    name: str
    bits: int
    text: str
    shift: int = 0
    of: int = 0
    part: int = 0
    reset: int = 0
    unit: str = ""
    constant: str | None = None


@dataclass
class Word:
    """One 32-bit register; `place` is its ID."""

    name: str
    place: int
    access: str
    text: str
    steady: bool = False
    fields: list[Field] = field(default_factory=list)

    @property
    def offset(self) -> int:
        """In bytes."""
        return 4 * self.place


@dataclass
class Words:
    """All of nic.toml."""

    own: str
    registers: list[Word]
    window: int
    counters: dict[str, str]

    def config(self) -> list[Field]:
        """Fields of cfg_t, each once with its whole width."""
        return [f for r in self.registers if r.access == "rw" for f in r.fields if f.part == 0]


def load(own: Path) -> Words:
    """Read the map and hold it against its rules."""
    raw = tomllib.loads(own.read_text())
    registers: list[Word] = []
    resets: dict[str, int] = {}
    for entry in raw["register"]:
        count = entry.get("repeat", 1)
        for n in range(count):
            name = f"{entry['name']}_{n}" if count > 1 else entry["name"]
            text = entry["text"].replace("server s", f"server {n}")
            word = Word(name, entry["id"] + 2 * n, entry["access"], text)
            word.steady = entry.get("steady", False)
            word.fields = fields(entry["fields"], resets)
            registers.append(word)
    registers.sort(key=lambda r: r.place)
    config = [f.name for r in registers if r.access == "rw" for f in r.fields if f.part == 0]
    if len(set(config)) != len(config):
        raise ValueError("fields of cfg_t must have different names")
    window, entries = raw["window"]["id"], raw["window"]["entries"]
    places = [*(r.place for r in registers), *range(window, window + 2 * entries)]
    if len(set(places)) != len(places) or not set(places) <= set(range(WORDS)):
        raise ValueError("IDs must differ and be below 256")
    if any(r.access not in ACCESS for r in registers):
        raise ValueError(f"access must be one of {ACCESS}")
    if VALUES + len(raw["counters"]) >= entries:
        raise ValueError(f"counters: more than {entries - 1} entries of their window")
    return Words(own.name, registers, window, raw["counters"])


def fields(items: list[dict], resets: dict[str, int]) -> list[Field]:
    """Fields of a word, the first in the lowest bits."""
    found, shift = [], 0
    for item in items:
        f = Field(**item, shift=shift)
        f.of = f.of or f.bits
        shift += f.bits
        f.reset = resets.setdefault(f.name, f.reset) if f.part else f.reset
        resets[f.name] = f.reset
        if f.reset >> f.of or shift > 32:
            raise ValueError(f"{f.name}: it is too large")
        found.append(f)
    return found


def origin(m: Words) -> str:
    """What a written file says of itself."""
    return f"Written by rtl/regs/generate.py from {m.own}; not edited by hand."


def mask(m: Words, keep: Callable[[Word], bool]) -> str:
    """A bit for each ID whose register `keep` takes."""
    value = sum(1 << r.place for r in m.registers if keep(r))
    return f"{WORDS}'h{value:064x}"


def initial(r: Word) -> int:
    """What a register reads before it is written."""
    return sum((f.reset >> f.part & (1 << f.bits) - 1) << f.shift for f in r.fields)


def package(m: Words) -> str:
    """The SystemVerilog package."""
    config = m.config()
    lines = [
        f"// {origin(m)}",
        "`default_nettype none",
        "",
        "package nic_regs_pkg;",
        "",
        *emit.struct("cfg_t", [(f.name, f.of) for f in config], "What rw registers hold."),
        *emit.struct(
            "event_t",
            [(name, 1) for name in reversed(m.counters)],
            "Events: one count for each cycle in which the bit is high. Bit n is counter n.",
        ),
        f"  localparam int unsigned NumEvents = {len(m.counters)};",
        "",
        "  // IDs.",
        *(f"  localparam logic [7:0] Id{emit.camel(r.name)} = 8'd{r.place};" for r in m.registers),
        "",
        "  // A bit for each ID: the window of counters is readable too.",
        f"  localparam logic [255:0] Readable = {mask(m, lambda r: r.access != 'pulse')};",
        f"  localparam logic [255:0] Writable = {mask(m, lambda r: r.access != 'ro')};",
        f"  localparam logic [255:0] Kept = {mask(m, lambda r: r.access == 'rw')};",
        f"  localparam logic [255:0] Steady = {mask(m, lambda r: r.steady)};",
        f"  localparam logic [1:0] WindowHigh = 2'd{m.window // 64};  // bits 7:6 of its IDs",
        "",
        "  localparam cfg_t CfgReset = {",
        *(
            f"    {f.of}'h{f.reset:x}{',' if f is not config[-1] else ''}  // {f.name}"
            for f in config
        ),
        "  };",
        "",
        "  // What a kept register reads before it is written.",
        "  function automatic logic [31:0] word_reset(input logic [7:0] id);",
        "    case (id)",
        *(
            f"      8'd{r.place}: word_reset = 32'h{initial(r):08x};"
            for r in m.registers
            if r.access == "rw" and initial(r)
        ),
        "      default: word_reset = 32'h0;",
        "    endcase",
        "  endfunction",
        "",
        "  // The configuration after a write of `data`.",
        "  function automatic cfg_t cfg_write(input cfg_t cfg, input logic [7:0] id,",
        "                                     input logic [31:0] data);",
        "    cfg_t written;",
        "    written = cfg;",
        *(
            f"    if (id == 8'd{r.place}) "
            f"written.{emit.part(f)} = data{emit.bits(f.shift, f.bits)};"
            for r in m.registers
            if r.access == "rw"
            for f in r.fields
        ),
        "    cfg_write = written;",
        "  endfunction",
        "",
        "endpackage",
        "",
        "`default_nettype wire",
        "",
    ]
    return "\n".join(lines)


def entries(m: Words) -> list[str]:
    """Names of the entries of the window, in order."""
    return ["zero_0", "zero_1", "time", "zero_3", *m.counters]


def header(m: Words) -> str:
    """The C header."""
    lines = [f"/* {origin(m)} */", "#ifndef NIC_REGS_H", "#define NIC_REGS_H", ""]
    lines += ["/* Byte offsets; of fields, the lowest bit and the mask after the shift. */"]
    for r in m.registers:
        name = f"SW_NIC_REG_{r.name.upper()}"
        lines.append(f"#define {name} 0x{4 * r.place:03x}u")
        for f in r.fields if len(r.fields) > 1 else ():
            lines.append(f"#define {name}_{f.name.upper()}_SHIFT {f.shift}")
            lines.append(f"#define {name}_{f.name.upper()}_MASK 0x{(1 << f.bits) - 1:x}u")
    lines += ["", f"#define SW_NIC_WINDOW_COUNTERS 0x{4 * m.window:03x}u", ""]
    lines += ["/* Entries of the window of counters. */", "enum sw_nic_counter {"]
    lines += [f"  SW_NIC_COUNTER_{name.upper()} = {n}," for n, name in enumerate(entries(m))]
    lines += [f"  SW_NIC_COUNTERS = {len(entries(m))}", "};", ""]
    lines += ["/* Registers and counters by name: X(constant, name). */"]
    lines += emit.each("SW_NIC_REG", [r.name for r in m.registers])
    lines += emit.each("SW_NIC_COUNTER", entries(m))
    lines += ["#endif", ""]
    return "\n".join(lines)


def names(m: Words) -> str:
    """The Python module."""
    lines = [f'"""The NIC\'s registers, written by generate.py from {m.own}."""', "", "# fmt: off"]
    lines += ["from samplewire_regs import Field, Register", "", "REGISTERS = {"]
    for r in m.registers:
        lines.append(f'    "{r.name}": Register(0x{4 * r.place:03X}, "{r.access}", (')
        lines += [
            f'        Field("{f.name}", {f.shift}, {f.bits}, {f.part}, 0x{f.reset:X}, 0x{f.reset:X}'
            f"{', is_constant=True' * (f.constant is not None)}),"
            for f in r.fields
        ]
        lines.append("    )),")
    lines += ["}", f"COUNTERS_OFFSET = 0x{4 * m.window:03X}"]
    lines += ["COUNTERS = (", *(f'    "{name}",' for name in entries(m)), ")", ""]
    return "\n".join(lines)


def rust(m: Words) -> str:
    """The Rust module."""
    tail = emit.rust_counters(4 * m.window, entries(m))
    return emit.rust(["The NIC's registers: byte offsets.", "", origin(m)], m.registers, tail)


def table(m: Words) -> str:
    """The tables of docs/nic.md."""
    lines = ["| ID | offset | register | access | bits | field | reset | meaning |"]
    lines += ["|--:|---|---|---|---|---|---|---|"]
    for r in m.registers:
        for f in r.fields:
            first = f is r.fields[0]
            place = f"{r.place} | 0x{4 * r.place:03x} | `{r.name}` | {r.access}"
            span = f"{f.shift + f.bits - 1}:{f.shift}" if f.bits > 1 else str(f.shift)
            value = f.reset >> f.part & (1 << f.bits) - 1
            reset = (f"0x{value:x}" if value > 1 << 16 else str(value)) if r.access == "rw" else ""
            text = f"{f.text} ({f.unit})" if f.unit else f.text
            text = f"{r.text}: {text}" if first else text
            text += "; refused while `enable` is 1 or the NIC owns a buffer" if r.steady else ""
            name = f"`{f.name}`" + (f" {f.part + f.bits - 1}:{f.part}" if f.of != f.bits else "")
            lines.append(
                f"| {place if first else ' | | | '} | {span} | {name} | {reset} | {text} |"
            )
    lines += ["", "| entry | ID | counter | counts |", "|--:|--:|---|---|"]
    for n, (name, text) in enumerate(m.counters.items(), start=VALUES):
        lines.append(f"| {n} | {m.window + 2 * n} | `{name}` | {text} |")
    return "\n".join(lines) + "\n"

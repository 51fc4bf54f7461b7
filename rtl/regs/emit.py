"""The texts that generate.py writes from the register map."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generate import Field, Map, Register
    from words import Word

# Constants of a register that are no number: what the package's status_word calls them, and their
# bits; of none, it is known here.
PARAMETERS = {
    "Width": ("width", 16),
    "SlotBytes": ("slot_bytes", 16),
    "Slots": ("slots", 32),
    "NackDepth": ("nack_depth", 16),
    "Channels": ("channels", 8),
    "Queue": ("queue", 8),
    "MemoryBytes": ("memory_bytes", 32),
    "Full": ("is_full", 1),
    "Qps": ("qps", 8),
    "Counters": ("", 0),
    "Core": ("", 0),
}


def origin(m: Map) -> str:
    """What a written file says of itself."""
    return (
        f"Written by rtl/regs/generate.py from common.toml, congestion.toml and {m.own};"
        " not edited by hand."
    )


def camel(name: str) -> str:
    """`gate_first_lo` as `GateFirstLo`."""
    return "".join(word.capitalize() for word in name.split("_"))


def vector(bits: int) -> str:
    """The type of a field."""
    return "logic" if bits == 1 else f"logic [{bits - 1}:0]"


def struct(name: str, fields: list[tuple[str, int]], why: str) -> list[str]:
    """A packed struct; the first field is the highest."""
    lines = [f"  // {why}", "  typedef struct packed {"]
    lines += [f"    {vector(bits)} {field};" for field, bits in fields]
    return [*lines, f"  }} {name};", ""]


def package(m: Map) -> str:
    """The SystemVerilog package: types, reset values, decoding."""
    config = m.whole_fields("rw", "wo")
    lines = [
        f"// {origin(m)}",
        "`default_nettype none",
        "",
        f"package {m.name}_regs_pkg;",
        "",
        *struct("cfg_t", [(f.name, f.of) for f in config], "Configuration, as registers hold it."),
        *struct(
            "cmd_t",
            [(f.name, f.bits) for f in m.whole_fields("pulse")],
            "Commands: pulses of one cycle.",
        ),
        *struct("status_t", [(f.name, f.of) for f in m.whole_fields("ro")], "Status, as read."),
        *struct(
            "event_t",
            [(name, 1) for name in reversed(m.counters)],
            "Events: one count for each cycle in which the bit is high. Bit n is counter n.",
        ),
        f"  localparam int unsigned NumEvents = {len(m.counters)};",
        f"  localparam int unsigned NumValues = {len(m.values)};  // entries before counter 0",
        "",
        *(
            f"  localparam logic [10:0] Window{camel(w['name'])} = 11'h{w['offset']:03x};"
            for w in m.windows
        ),
        "",
        "  // Byte offsets.",
        *(
            f"  localparam logic [10:0] Off{camel(r.name)} = 11'h{r.offset:03x};"
            for r in m.registers
        ),
        "",
        "  // The configuration before anything is written.",
        *(
            f"  localparam {vector(f.of)} Reset{camel(f.name)} = {f.of}'h{f.reset:x};"
            for f in config
        ),
        "  localparam cfg_t CfgReset = {",
        *(f"    Reset{camel(f.name)}{',' if f is not config[-1] else ''}" for f in config),
        "  };",
        "",
        "  // The same at either width; is_wide: W = 512.",
        "  function automatic cfg_t cfg_reset(input logic is_wide);",
        "    cfg_t cfg;",
        "    cfg = CfgReset;",
        *(
            f"    if (is_wide) cfg.{f.name} = {f.of}'h{f.reset_wide:x};"
            for f in config
            if f.reset_wide != f.reset
        ),
        "    cfg_reset = cfg;",
        "  endfunction",
        "",
        *read_back(m),
        *decoding(m),
        "endpackage",
        "",
        "`default_nettype wire",
        "",
    ]
    return "\n".join(lines)


def place(r: Register) -> int:
    """Which word of its half of the map a register is, by the low bits of its address."""
    return r.offset // 4 % (32 if r.access == "ro" else 64)


def words(m: Map, *access: str) -> int:
    """A bit for each word of a half of the map that has this access."""
    return sum(1 << place(r) for r in m.registers if r.access in access)


def initial(r: Register, is_wide: bool) -> int:
    """What a register holds before it is written."""
    values = {f.name: f.reset_wide if is_wide else f.reset for f in r.fields}
    return sum((values[f.name] >> f.part & (1 << f.bits) - 1) << f.shift for f in r.fields)


def read_back(m: Map) -> list[str]:
    """Reset values of what is read back from memory, and the bits that are read or written."""
    lines = [
        "  // A bit for each word of the low half (status) and the high half (control).",
        f"  localparam logic [31:0] StatusReadable = 32'h{words(m, 'ro'):08x};",
        f"  localparam logic [63:0] ControlReadable = 64'h{words(m, 'rw'):016x};",
        f"  localparam logic [63:0] ControlWritable = 64'h{words(m, 'rw', 'wo', 'pulse'):016x};",
        "",
        "  // What a word of the control half reads before it is written; is_wide: at W = 512.",
        "  function automatic logic [31:0] control_reset(input logic [5:0] word,",
        "                                                input logic is_wide);",
        "    case (word)",
    ]
    for r in m.registers:
        narrow, wide = (f"32'h{initial(r, is_wide):08x}" for is_wide in (False, True))
        if r.access == "rw" and initial(r, False):
            value = narrow if narrow == wide else f"is_wide ? {wide} : {narrow}"
            lines.append(f"      6'h{place(r):02x}: control_reset = {value};")
    lines += ["      default: control_reset = 32'h0;", "    endcase", "  endfunction", ""]
    return lines


def decoding(m: Map) -> list[str]:
    """The functions that csr.sv reads and writes by."""
    lines = [
        "  // The configuration after a write of `data` to a word of the control half.",
        "  function automatic cfg_t cfg_write(input cfg_t cfg, input logic [5:0] word,",
        "                                     input logic [31:0] data);",
        "    cfg_t written;",
        "    written = cfg;",
    ]
    for r in m.registers:
        if r.access in ("rw", "wo"):
            for f in r.fields:
                if not f.memory:
                    lines.append(
                        f"    if (word == 6'h{place(r):02x}) "
                        f"written.{part(f)} = data{bits(f.shift, f.bits)};"
                    )
    lines += ["    cfg_write = written;", "  endfunction", ""]
    command = next(r for r in m.registers if r.access == "pulse")
    order = ", ".join(f"data[{f.shift}]" for f in command.fields)
    used = {f.constant for r in m.registers for f in r.fields}
    # A line may end between arguments alone.
    arguments = ["input~logic~[4:0]~word", "input~status_t~status"]
    arguments += [
        f"input {vector(width)} {name}".replace(" ", "~")
        for constant, (name, width) in PARAMETERS.items()
        if name and constant in used
    ]
    indents = {"initial_indent": " " * 6, "subsequent_indent": " " * 6}
    lines += [
        "  function automatic cmd_t commands(input logic [31:0] data);",
        f"    commands = {{{order}}};",
        "  endfunction",
        "",
        "  // What the register `control` reads.",
        "  function automatic logic [31:0] control_word(input cfg_t cfg);",
        f"    control_word = {control(m)};",
        "  endfunction",
        "",
        "  // A word of the status half.",
        "  function automatic logic [31:0] status_word(",
        *(
            line.replace("~", " ")
            for line in textwrap.wrap(f"{', '.join(arguments)});", 96, **indents)
        ),
        "    logic [1023:0] words;",
        "    words = {",
    ]
    status = {place(r): value_of(m, r) for r in m.registers if r.access == "ro"}
    for n in range(31, -1, -1):
        value = status.get(n, "32'd0")
        lines.append(f"      {value}{',' if n else ''}")
    return [*lines, "    };", "    status_word = words[word*32+:32];", "  endfunction", ""]


def control(m: Map) -> str:
    """The register `control`, which is read from its registers."""
    fields = next(r for r in m.registers if r.name == "control").fields
    unused = 32 - sum(f.bits for f in fields)
    return f"{{{unused}'d0, {', '.join(f'cfg.{f.name}' for f in reversed(fields))}}}"


def bits(low: int, count: int) -> str:
    """A select of `count` bits from `low`."""
    return f"[{low}]" if count == 1 else f"[{low + count - 1}:{low}]"


def part(f: Field) -> str:
    """The part of a configuration field that a register holds."""
    return f.name if f.of == f.bits else f"{f.name}{bits(f.part, f.bits)}"


def value_of(m: Map, r: Register) -> str:
    """A status register as a concatenation."""
    known = {"Counters": f"8'd{len(m.values) + len(m.counters)}", "Core": f"8'd{m.core}"}
    items = []
    for f in reversed(r.fields):
        if isinstance(f.constant, int):
            items.append(f"{f.bits}'h{f.constant:x}")
        elif f.constant:
            items.append(PARAMETERS[f.constant][0] or known[f.constant])
        else:
            items.append(f"status.{f.name}")
    unused = 32 - sum(f.bits for f in r.fields)
    if unused:
        items.insert(0, f"{unused}'d0")
    return items[0] if len(items) == 1 else f"{{{', '.join(items)}}}"


def header(m: Map) -> str:
    """The C header."""
    prefix = "SW" if m.name == "sw" else f"SW_{m.name.upper()}"
    guard = f"{'SAMPLEWIRE' if m.name == 'sw' else m.name.upper()}_REGS_H"
    lines = [
        f"/* {origin(m)} */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "/* Byte offsets of registers; of fields, the lowest bit and the mask after the shift. */",
    ]
    for r in m.registers:
        name = f"{prefix}_REG_{r.name.upper()}"
        lines.append(f"#define {name} 0x{r.offset:03x}u")
        if len(r.fields) > 1:
            for f in r.fields:
                lines.append(f"#define {name}_{f.name.upper()}_SHIFT {f.shift}")
                lines.append(f"#define {name}_{f.name.upper()}_MASK 0x{(1 << f.bits) - 1:x}u")
        for f in r.fields:
            if f.reset_wide != f.reset:
                lines.append(f"#define {name}_RESET {f.reset}u")
                lines.append(f"#define {name}_RESET_WIDE {f.reset_wide}u  /* at W = 512 */")
    lines.append("")
    for w in m.windows:
        lines.append(f"#define {prefix}_WINDOW_{w['name'].upper()} 0x{w['offset']:03x}u")
        lines.append(f"#define {prefix}_WINDOW_{w['name'].upper()}_WORDS {w['words']}u")
    lines += ["", f"#define {prefix}_ID_VALUE 0x{identity(m):08x}u", ""]
    lines += ["/* Entries of the window of counters. */", f"enum {prefix.lower()}_counter {{"]
    lines += [f"  {prefix}_COUNTER_{name.upper()} = {n}," for n, name in enumerate(entries(m))]
    lines += [f"  {prefix}_COUNTERS = {len(entries(m))}", "};", ""]
    lines += ["/* Registers and counters by name: X(constant, name). */"]
    lines += each(f"{prefix}_REG", [r.name for r in m.registers])
    lines += each(f"{prefix}_COUNTER", entries(m))
    lines += ["#endif", ""]
    return "\n".join(lines)


def each(prefix: str, names: list[str]) -> list[str]:
    """A macro that applies its argument to each constant and its name."""
    rows = [f'  X({prefix}_{name.upper()}, "{name}")' for name in names]
    return [f"#define {prefix}_EACH(X) \\", *(f"{row} \\" for row in rows[:-1]), rows[-1], ""]


def identity(m: Map) -> int:
    """The constant of the register `id`."""
    value = m.registers[0].fields[0].constant
    assert isinstance(value, int)
    return value


def entries(m: Map) -> list[str]:
    """Names of the entries of the window of counters, in order."""
    return [*(v["name"] for v in m.values), *m.counters]


# The types of the Python modules, which the first one has.
TYPES = [
    "from typing import NamedTuple",
    "",
    "",
    "class Field(NamedTuple):",
    '    """Bits of a register from `shift` up: those of the value `name` from `part` up.',
    "",
    "    `is_constant`: a parameter of the build. `is_in_memory`: in csr's memory alone.",
    '    """',
    "",
    "    name: str",
    "    shift: int",
    "    bits: int",
    "    part: int",
    "    reset: int",
    "    reset_wide: int  # at W = 512",
    "    is_constant: bool = False",
    "    is_in_memory: bool = False",
    "",
    "",
    "class Register(NamedTuple):",
    '    """One 32-bit register; `access` is ro, rw, wo or pulse."""',
    "",
    "    offset: int",
    "    access: str",
    "    fields: tuple[Field, ...]",
    "",
    "",
]


def names(m: Map) -> str:
    """The Python module."""
    lines = [
        f'"""Registers, written by generate.py from common.toml, congestion.toml and {m.own}."""',
        "",
        "# fmt: off",
    ]
    lines += TYPES if m.name == "sw" else ["from samplewire_regs import Field, Register", ""]
    lines += ["REGISTERS = {"]
    for r in m.registers:
        lines.append(f'    "{r.name}": Register(0x{r.offset:03X}, "{r.access}", (')
        lines += [
            f'        Field("{f.name}", {f.shift}, {f.bits}, {f.part}, 0x{f.reset:X}, '
            f"0x{f.reset_wide:X}"
            f"{', is_constant=True' * (f.constant is not None)}"
            f"{', is_in_memory=True' * f.memory}),"
            for f in r.fields
        ]
        lines.append("    )),")
    lines += ["}", f"ID_VALUE = 0x{identity(m):08X}"]
    lines += [f"{w['name'].upper()}_OFFSET = 0x{w['offset']:03X}" for w in m.windows]
    lines += [f"{w['name'].upper()}_WORDS = {w['words']}" for w in m.windows]
    lines += ["COUNTERS = (", *(f'    "{name}",' for name in entries(m)), ")"]
    lines += [f"VALUES = {len(m.values)}  # entries before the first event", ""]
    return "\n".join(lines)


# How the firmware calls the accesses.
RUST_ACCESS = {
    "rw": "ReadWrite",
    "ro": "ReadOnly",
    "wo": "WriteOnly",
    "pulse": "Pulse",
    "queue": "Queue",
}


def rust(head: list[str], registers: list[Register] | list[Word], tail: list[str]) -> str:
    """A Rust module of the firmware."""
    lines = [*(f"//! {line}".rstrip() for line in head), "", "use super::{Access, Register};", ""]
    for r in registers:
        name = r.name.upper()
        lines += [f"/// {r.text}", f"pub const {name}: u32 = 0x{r.offset:03x};"]
        for f in r.fields if len(r.fields) > 1 else ():
            field = f"{name}_{f.name.upper()}"
            lines += [f"/// {f.text or r.text}: its lowest bit"]
            lines += [f"pub const {field}_SHIFT: u32 = {f.shift};"]
            lines += [f"/// {f.text or r.text}: its bits, shifted down"]
            lines += [f"pub const {field}_MASK: u32 = 0x{(1 << f.bits) - 1:x};"]
    lines += [*tail, "", "/// All registers."]
    lines += [f"pub static REGISTERS: [Register; {len(registers)}] = ["]
    lines += [
        f'    Register::new("{r.name}", 0x{r.offset:03x}, Access::{RUST_ACCESS[r.access]}),'
        for r in registers
    ]
    return "\n".join([*lines, "];", ""])


def rust_counters(window: int, names: list[str]) -> list[str]:
    """The window of counters, for `rust`."""
    return [
        "",
        "/// The window of counters: 64 bits each, the low word first.",
        f"pub const COUNTERS_WINDOW: u32 = 0x{window:03x};",
        "/// What the window has, in order.",
        f"pub static COUNTERS: [&str; {len(names)}] = [",
        *(f'    "{name}",' for name in names),
        "];",
    ]


def rust_module(m: Map) -> str:
    """The Rust module of a sender's registers."""
    tail = ["/// What `id` reads.", f"pub const ID_VALUE: u32 = 0x{identity(m):08x};"]
    for r in m.registers:
        for f in r.fields:
            if f.reset_wide != f.reset:
                tail += [f"/// `{r.name}` before it is written"]
                tail += [f"pub const {r.name.upper()}_RESET: u32 = {f.reset};"]
                tail += [f"/// `{r.name}` before it is written, at W = 512"]
                tail += [f"pub const {r.name.upper()}_RESET_WIDE: u32 = {f.reset_wide};"]
    for w in m.windows:
        if w["name"] == "template":
            tail += [f"/// {w['text']}", f"pub const TEMPLATE_WINDOW: u32 = 0x{w['offset']:03x};"]
        elif w["name"] == "counters":
            tail += rust_counters(w["offset"], entries(m))
    return rust(["The sender's registers: byte offsets.", "", origin(m)], m.registers, tail)


def table(m: Map) -> str:
    """The tables of docs/registers.md."""
    lines = [
        "The registers are an AXI4-Lite slave; offsets are in bytes, relative to its base. Each",
        "has 32 bits; writes are of whole words. Reset is the value after the configuration of",
        "the device; `rst_i` clears `control` and leaves the others. Bits of no field do",
        "nothing, and in a rw register read as written. `pulse`: writing 1 acts once; it is not",
        "readable. There is no interrupt; poll `state`. What is not here, not allowed or refused",
        "answers SLVERR and changes nothing.",
        "",
        "| offset | register | access | bits | field | reset | unit | meaning |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in m.registers:
        for f in r.fields:
            first = f is r.fields[0]
            place = f"0x{r.offset:03x} | `{r.name}` | {r.access}" if first else " | | "
            span = f"{f.shift + f.bits - 1}:{f.shift}" if f.bits > 1 else str(f.shift)
            name = f"`{f.name}`" + (f" {f.part + f.bits - 1}:{f.part}" if f.of != f.bits else "")
            reset = ""
            if r.access in ("rw", "wo"):
                value = f.reset >> f.part & (1 << f.bits) - 1
                is_hex = not f.unit and (value >= 1 << 16 or (value > 0 and f.of > 32))
                reset = f"0x{value:x}" if is_hex else str(value)
                if f.reset_wide != f.reset:
                    reset += f"; at 512 bits {f.reset_wide}"
            text = f.text if f.text else r.text
            lines.append(f"| {place} | {span} | {name} | {reset} | {f.unit} | {text} |")
    lines += ["", "| offset | window | access | 64-bit words | meaning |", "|---|---|---|---|---|"]
    lines += [
        f"| 0x{w['offset']:03x} | `{w['name']}` | {w['access']} | {w['words']} | {w['text']} |"
        for w in m.windows
    ]
    lines += ["", "| entry | in `counters` | unit | meaning |", "|---|---|---|---|"]
    for n, v in enumerate(m.values):
        lines.append(f"| {n} | `{v['name']}` | {v['unit']} | {v['text']} |")
    for n, (name, text) in enumerate(m.counters.items(), start=len(m.values)):
        lines.append(f"| {n} | `{name}` | | {text} |")
    return "\n".join(lines) + "\n"

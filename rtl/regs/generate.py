#!/usr/bin/env python3
"""Write what follows from the register maps, or check it with --check. Python 3.11 alone.

A sender's map is common.toml, congestion.toml and its own file, tx.toml or roce.toml; the NIC's is
nic.toml alone, in another form (words.py). Of each map it writes a package (types and decoding:
sw_regs_pkg.sv for csr, roce_regs_pkg.sv for roce_csr, nic_regs_pkg.sv for nic_registers), a C
header, a Python module, and a table between markers of docs/registers.md or docs/nic.md; for the
firmware also a Rust module of the sender's and of the NIC's.
"""

import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import emit
import marked
import words

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "registers.md"
NIC_PAGE = ROOT / "docs" / "nic.md"
FIRMWARE = ROOT / "firmware" / "nic" / "driver" / "src" / "regs"
WRITER = "rtl/regs/generate.py"
SHARED = ("common.toml", "congestion.toml")
# The file of each core, the files that are written, and the markers of its table.
CORES = {
    "tx.toml": ("samplewire_regs", "registers"),
    "roce.toml": ("roce_regs", "registers of RoCEv2"),
}


@dataclass
class Field:
    """One field of a register; `bits` from bit `shift` of it, `part` of a value of `of` bits."""

    name: str
    bits: int
    text: str
    shift: int = 0
    of: int = 0
    part: int = 0
    reset: int = 0
    reset_wide: int | None = None  # at W = 512; `reset` if there is none
    unit: str = ""
    constant: int | str | None = None
    memory: bool = False


@dataclass
class Register:
    """One 32-bit register."""

    name: str
    offset: int
    access: str
    text: str
    fields: list[Field] = field(default_factory=list)


@dataclass
class Map:
    """The registers of one core: what all cores have, and its own."""

    core: int
    name: str  # of its package
    own: str  # its file
    registers: list[Register]
    windows: list[dict]
    values: list[dict]
    counters: dict[str, str]

    def whole_fields(self, *access: str) -> list[Field]:
        """Fields of registers with this access, each once with its whole width."""
        return [
            f
            for r in self.registers
            if r.access in access
            for f in r.fields
            if f.constant is None and not f.memory and f.part == 0
        ]


def load(own: Path) -> Map:
    """Read the map of a core and hold it against the rules at the head of common.toml."""
    files = [tomllib.loads(path.read_text()) for path in (*(HERE / n for n in SHARED), own)]
    shared, raw = files[0], files[-1]
    layout = shared["layout"]
    registers = []
    resets: dict[str, int] = {}
    entries = [entry for part in files for entry in part["register"]]
    for entry in sorted(entries, key=lambda r: r["offset"]):
        register = Register(entry["name"], entry["offset"], entry["access"], entry["text"])
        shift = 0
        for item in entry["fields"]:
            f = Field(**item, shift=shift)
            f.of = f.of or f.bits
            shift += f.bits
            if f.part == 0:
                resets[f.name] = f.reset
            f.reset = resets[f.name]
            f.reset_wide = f.reset if f.reset_wide is None else f.reset_wide
            register.fields.append(f)
        registers.append(register)
        check_register(register, shift, layout)
    offsets = [r.offset for r in registers]
    names = [r.name for r in registers]
    if len(set(offsets)) != len(offsets) or len(set(names)) != len(names):
        raise ValueError("offsets and names must differ")
    windows = sorted(shared["window"] + raw.get("window", []), key=lambda w: w["offset"])
    check_windows(windows, layout)
    room = next(w["words"] for w in windows if w["name"] == "counters")
    # counters.sv keeps one position of its cycle free.
    if len(shared["value"]) + len(raw["counters"]) >= room:
        raise ValueError(f"counters: more than {room - 1} entries of their window")
    return Map(
        raw["core"], raw["name"], own.name, registers, windows, shared["value"], raw["counters"]
    )


def check_windows(windows: list[dict], layout: dict) -> None:
    """Raise ValueError where windows overlap each other, the registers or the block's end."""
    at = layout["control"][1]
    for w in windows:
        if w["offset"] < at:
            raise ValueError(f"{w['name']}: overlaps what is below {at:#x}")
        at = w["offset"] + 8 * w["words"]
    if at > layout["block_bytes"]:
        raise ValueError(f"windows end at {at:#x}, the block at {layout['block_bytes']:#x}")


def check_register(register: Register, bits: int, layout: dict) -> None:
    """Raise ValueError where a register breaks a rule of the map."""
    name, offset = register.name, register.offset
    legal = range(*layout["status" if register.access == "ro" else "control"])
    if register.access not in ("ro", "rw", "wo", "pulse"):
        raise ValueError(f"{name}: no access is called {register.access}")
    if offset % 4 or offset not in legal:
        raise ValueError(f"{name}: offset {offset:#x} is not in {legal}")
    if bits > 32:
        raise ValueError(f"{name}: {bits} bits")
    for f in register.fields:
        if isinstance(f.constant, str) and f.constant not in emit.PARAMETERS:
            raise ValueError(f"{name}: no parameter is called {f.constant}")
        if f.reset >> f.of or f.reset_wide >> f.of:
            raise ValueError(f"{name}: the reset value of {f.name} is too large")


def main() -> int:
    """Write or check all outputs; 1 when one differs."""
    outputs = {}
    text = PAGE.read_text()
    for own, (stem, marker) in CORES.items():
        registers = load(HERE / own)
        outputs[HERE / f"{registers.name}_regs_pkg.sv"] = emit.package(registers)
        outputs[HERE / f"{stem}.h"] = emit.header(registers)
        outputs[HERE / f"{stem}.py"] = emit.names(registers)
        text = marked.replace(text, marker, WRITER, emit.table(registers))
        if own == "tx.toml":
            outputs[FIRMWARE / "sender.rs"] = emit.rust_module(registers)
    outputs[PAGE] = text
    nic = words.load(HERE / "nic.toml")
    outputs[HERE / "nic_regs_pkg.sv"] = words.package(nic)
    outputs[HERE / "nic_regs.h"] = words.header(nic)
    outputs[HERE / "nic_regs.py"] = words.names(nic)
    outputs[FIRMWARE / "nic.rs"] = words.rust(nic)
    outputs[NIC_PAGE] = marked.replace(
        NIC_PAGE.read_text(), "registers of the NIC", WRITER, words.table(nic)
    )
    differ = [p for p, text in outputs.items() if not p.exists() or p.read_text() != text]
    for path in differ:
        if "--check" in sys.argv[1:]:
            print(f"{path.relative_to(ROOT)} is not what generate.py writes", file=sys.stderr)
        else:
            path.write_text(outputs[path])
            print(f"written: {path.relative_to(ROOT)}")
    return 1 if differ and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Write what follows from registers.toml, or check it with --check. Python 3.11 alone.

It writes src/sw_regs_pkg.sv (types and decoding for csr.sv), samplewire_regs.h,
samplewire_regs.py, and the table between the markers of docs/registers.md.
"""

import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import emit

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "registers.md"
BEGIN = "<!-- registers: written by rtl/regs/generate.py -->"
END = "<!-- end of registers -->"
CONTROL_OFFSETS = range(0x080, 0x100)
STATUS_OFFSETS = range(0x000, 0x040)
PARAMETERS = ("Width", "SlotBytes", "Slots", "NackDepth", "Channels", "Counters")


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
    """All of registers.toml."""

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


def load(path: Path) -> Map:
    """Read the map and hold it against the rules at its head."""
    raw = tomllib.loads(path.read_text())
    registers = []
    resets: dict[str, int] = {}
    for entry in raw["register"]:
        register = Register(entry["name"], entry["offset"], entry["access"], entry["text"])
        shift = 0
        for item in entry["fields"]:
            f = Field(**item, shift=shift)
            f.of = f.of or f.bits
            shift += f.bits
            if f.part == 0:
                resets[f.name] = f.reset
            f.reset = resets[f.name]
            register.fields.append(f)
        registers.append(register)
        check_register(register, shift)
    offsets = [r.offset for r in registers]
    names = [r.name for r in registers]
    if sorted(set(offsets)) != offsets or len(set(names)) != len(names):
        raise ValueError("offsets must rise, and names differ")
    return Map(registers, raw["window"], raw["value"], raw["counters"])


def check_register(register: Register, bits: int) -> None:
    """Raise ValueError where a register breaks a rule of the map."""
    name, offset = register.name, register.offset
    legal = STATUS_OFFSETS if register.access == "ro" else CONTROL_OFFSETS
    if register.access not in ("ro", "rw", "wo", "pulse"):
        raise ValueError(f"{name}: no access is called {register.access}")
    if offset % 4 or offset not in legal:
        raise ValueError(f"{name}: offset {offset:#x} is not in {legal}")
    if bits > 32:
        raise ValueError(f"{name}: {bits} bits")
    for f in register.fields:
        if isinstance(f.constant, str) and f.constant not in PARAMETERS:
            raise ValueError(f"{name}: no parameter is called {f.constant}")
        if f.reset >> f.of:
            raise ValueError(f"{name}: the reset value of {f.name} is too large")


def page(table: str) -> str:
    """`docs/registers.md` with the table between its markers."""
    text = PAGE.read_text() if PAGE.exists() else f"## Registers\n\n{BEGIN}\n{END}\n"
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{PAGE}: needs each marker once: {BEGIN} {END}")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table}\n{END}{rest.split(END)[1]}"


def main() -> int:
    """Write or check all outputs; 1 when one differs."""
    registers = load(HERE / "registers.toml")
    outputs = {
        HERE / "sw_regs_pkg.sv": emit.package(registers),
        HERE / "samplewire_regs.h": emit.header(registers),
        HERE / "samplewire_regs.py": emit.names(registers),
        PAGE: page(emit.table(registers)),
    }
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

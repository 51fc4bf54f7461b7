#!/usr/bin/env python3
"""Assemble programs/*.txt, --check what was written, or --list NAME. Python 3.11 alone.

Of each program NAME.txt, with its core's ports in NAME.toml, it writes ctl_rom_NAME.sv and
ctl_NAME_pkg.sv beside them; and ctl_rom.sv, which has a program by its name.

A line holds one instruction, or a definition; what follows a semicolon is a comment.

    NAME = 123                 a constant
    var NAME                   16 bits of work memory; var NAME[4] is four of them
    NAME:                      where the next instruction stands
    ld X   and X   xor X       A = X, and so on
    add X  adc X  sub X  sbc X the carry after sub: no borrow
    st NAME                    work memory = A
    mv NAME, X                 work memory = X
    put X                      the frame's next 16 bits; puts X: and to the checksum; putc X: and to
                               the CRC; sum X: to checksum and CRC alone
    out NAME, X                an output; bits of a flag word are written `bit NAME | bit NAME`
    ev NAME                    an event
    jmp L  jz L  jnz L  jc L  jnc L  jn L  call L  ret

An operand X is a constant (`#12`, `#bit AllSent`), a port (`SentHi`; `mac_lo.hi` is a half of the
register mac_lo), or memory: work `[NAME]`, `[NAME+1]`, `[P]`, `[P+]`; the frame that came
`rx[12]`, `rx[P+]`; the newest REPORT `rep[0]`; ACCEPT's template `tpl[P+]`. P+ moves P on. With
`rep` before put, puts, putc or sum it is done again until the count, which is less than 0, is over.
Addresses are of 16 bits. VARIABLES is where the variables begin, VARIABLES_LESS their number, less
than 0. docs/control-processor.md has the whole.
"""

import re
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import isa

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
PER_LINE = 3
# Parts of a port map: the prefix of their names in the package, and their bits.
PARTS = {
    "ports": ("Port", 7), "flags": ("Flag", 4), "outs": ("Out", 6), "controls": ("Control", 4),
    "pulses": ("Pulse", 3), "events": ("Event", 5),
}  # fmt: skip


class ProgramError(Exception):
    """A line that is none, and why."""


class PortMap:
    """The names of NAME.toml, with their numbers."""

    def __init__(self, path: Path) -> None:
        raw = tomllib.loads(path.read_text())
        self.path = path
        self.config = raw["registers"]["at"]
        self.parts = {part: raw[part] for part in PARTS}
        for part, (_, bits) in PARTS.items():
            numbers = [entry["at"] for entry in self.parts[part].values()]
            first = isa.CORE_FIRST if part in ("ports", "outs") else 0
            if len(set(numbers)) < len(numbers) or not all(first <= n < 1 << bits for n in numbers):
                raise ProgramError(f"{path.name}: numbers of {part} are taken or out of range")
        registers: list[dict] = []
        for name in raw["registers"]["files"]:
            registers += tomllib.loads((HERE.parent / "regs" / name).read_text())["register"]
        self.registers = {r["name"]: self.config + r["offset"] % 128 // 4 * 2 for r in registers
                          if 0x80 <= r["offset"] < 0x100}  # fmt: skip

    def names(self, part: str) -> dict[str, int]:
        """Names of a part, without their texts."""
        return {name: entry["at"] for name, entry in self.parts[part].items()}

    def package(self) -> str:
        """The text of ctl_NAME_pkg.sv."""
        blocks = []
        for part, (prefix, bits) in PARTS.items():
            names = self.parts[part].items()
            entries = [(f"{prefix}{name}", e["at"], e.get("text")) for name, e in names]
            if part == "ports":
                entries.append((f"{prefix}Config", self.config, "from here on: registers"))
            width = max(len(name) for name, _, _ in entries)
            lines = [
                f"    {name:{width}} = {bits}'d{at}{',' if n < len(entries) - 1 else ''}"
                f"{f'  // {text}' if text else ''}"
                for n, (name, at, text) in enumerate(entries)
            ]
            name = part.removesuffix("s")
            blocks.append("\n".join([f"  typedef enum logic [{bits - 1}:0] {{", *lines,
                                     f"  }} {name}_e;"]))  # fmt: skip
        body = "\n\n".join(blocks)
        return f"""\
// Written by rtl/ctl/assemble.py from rtl/ctl/programs/{self.path.name}; not edited by hand.
`default_nettype none

package ctl_{self.path.stem}_pkg;

{body}

endpackage

`default_nettype wire
"""


@dataclass
class Program:
    """A program that is assembled."""

    name: str
    words: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # of the source, of each word
    texts: list[str] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    variables: dict[str, int] = field(default_factory=dict)

    def where(self, pc: int) -> str:
        """`label+offset` of an address."""
        at, label = max(((a, n) for n, a in self.labels.items() if a <= pc), default=(0, "reset"))
        return f"{label}+{pc - at}"

    def line(self, pc: int) -> str:
        """An instruction as one finds it in the source."""
        if pc >= len(self.words):
            return f"{self.name}.txt: {pc} is behind the program"
        return f"{self.name}.txt:{self.lines[pc]}: {self.where(pc)}: {self.texts[pc]}"


class Assembler:
    """The program, read twice: once for its names, once for its words."""

    def __init__(self, ports: PortMap) -> None:
        self.ports = {camel(port.name): port.value for port in isa.Port} | ports.names("ports")
        self.outs = {camel(out.name): out.value for out in isa.Out} | ports.names("outs")
        self.events = ports.names("events")
        self.bits = {key: n for part in ("flags", "controls", "pulses")
                     for key, n in ports.names(part).items()}  # fmt: skip
        self.registers = ports.registers
        self.values = {"VARIABLES": isa.VARIABLES.start}
        self.labels: dict[str, int] = {}
        self.variables: dict[str, int] = {}
        self.free = isa.VARIABLES.start

    def number(self, text: str) -> int:
        """A constant: numbers, names and bits, joined by | or +."""
        total = 0
        for part in re.split(r"[|+]", text):
            term = part.strip()
            if term.startswith("bit "):
                total += 1 << self.known(self.bits, term[4:].strip(), "bit")
            elif re.fullmatch(r"0x[0-9a-fA-F]+|\d+", term):
                total += int(term, 0)
            else:
                total += self.known(self.values, term, "name")
        if not 0 <= total < 1 << 16:
            raise ProgramError(f"{text} does not fit 16 bits")
        return total

    @staticmethod
    def known(names: dict[str, int], name: str, kind: str) -> int:
        """The number of a name."""
        if name not in names:
            raise ProgramError(f"no {kind} is called {name}")
        return names[name]

    def operand(self, text: str) -> int:
        """Bits 28:26 and 15:0."""
        if text.startswith("#"):
            return isa.Src.CONSTANT << 26 | self.number(text[1:])
        if found := re.fullmatch(r"(\w*)\[(.*)\]", text):
            memory, at = found.groups()
            bits = self.known(isa.MEMORY_NAMES, memory, "memory") << 26
            bits |= isa.REPORT_PART if memory == "rep" else 0
            if at in ("P", "P+"):
                return bits | isa.AT_P | (isa.STEP if at == "P+" else 0)
            return bits | self.number(at)
        if found := re.fullmatch(r"(\w+)\.(hi|lo)", text):
            word = self.known(self.registers, found[1], "register")
            return isa.Src.PORT << 26 | word + (found[2] == "lo")
        return isa.Src.PORT << 26 | self.known(self.ports, text, "port")

    def instruction(self, text: str) -> int:
        """The 36 bits of a line."""
        again = text.startswith("rep ")
        op, _, rest = text.removeprefix("rep ").partition(" ")
        rest = rest.strip()
        word = 0
        if op in isa.ALU_NAMES:
            word = isa.ALU_NAMES[op] << 29 | self.operand(rest)
        elif op in isa.PUT_NAMES:
            word = isa.PUT_NAMES[op] << 32 | self.operand(rest)
        elif op == "st":
            word = isa.Act.STORE << 32 | self.number(rest) << 16 | self.operand("A")
        elif op in ("mv", "out"):
            to, _, what = (part.strip() for part in rest.partition(","))
            if op == "mv":
                word = isa.Act.STORE << 32 | self.number(to) << 16
            else:
                name, _, at = to.partition("+")
                at = self.known(self.outs, name.strip(), "output") + int(at or 0)
                word = isa.Act.OUT << 32 | at << 16
            word |= self.operand(what)
        elif op == "ev":
            word = isa.Act.EVENT << 32 | self.known(self.events, rest, "event") << 16
        elif op in isa.JUMP_NAMES:
            word = isa.JUMP_NAMES[op] << 32 | self.known(self.labels, rest, "label")
        elif op == "ret":
            word = isa.Act.RETURN << 32
        else:
            raise ProgramError(f"no instruction is called {op}")
        if again:
            if word >> 26 & 7 not in isa.MEMORY_NAMES.values():
                raise ProgramError("what is repeated reads memory")
            word |= isa.AGAIN
        return word

    def define(self, text: str) -> bool:
        """Takes a definition; false when the line is none."""
        if found := re.fullmatch(r"(\w+) = (.*)", text):
            self.values[found[1]] = self.number(found[2])
        elif found := re.fullmatch(r"var (\w+)(?:\[(\d+)\])?", text):
            if found[1] in self.values:
                raise ProgramError(f"{found[1]} is there already")
            self.values[found[1]] = self.variables[found[1]] = self.free
            self.free += int(found[2] or 1)
            if self.free > isa.VARIABLES.stop:
                raise ProgramError("work memory is full")
        else:
            return False
        return True

    def assemble(self, name: str, text: str) -> Program:
        """The program's words, and the lines they are of."""
        program = Program(name, labels=self.labels, variables=self.variables)
        for at, line in enumerate(text.splitlines(), 1):
            code = line.partition(";")[0].strip()
            try:
                if found := re.fullmatch(r"(\w+):", code):
                    if found[1] in self.labels:
                        raise ProgramError(f"{found[1]} is there already")
                    self.labels[found[1]] = len(program.texts)
                elif code and not self.define(code):
                    program.lines.append(at)
                    program.texts.append(code)
            except ProgramError as error:
                raise ProgramError(f"{name}.txt:{at}: {error}") from None
        if len(program.texts) > isa.ROM_WORDS:
            raise ProgramError(f"{len(program.texts)} instructions, {isa.ROM_WORDS} fit")
        self.values["VARIABLES_LESS"] = (1 << isa.COUNT_BITS) - self.free + isa.VARIABLES.start
        for at, code in zip(program.lines, program.texts, strict=True):
            try:
                program.words.append(self.instruction(code))
            except ProgramError as error:
                raise ProgramError(f"{name}.txt:{at}: {error}") from None
        self.check_calls(program.texts)
        return program

    def check_calls(self, texts: list[str]) -> None:
        """There is one place to return to: what is called must not call, and must return."""
        for called in {code for code in texts if code.startswith("call ")}:
            waiting = [self.labels[called.removeprefix("call ")]]
            seen: set[int] = set()
            while waiting:
                at = waiting.pop()
                if at in seen:
                    continue
                seen.add(at)
                if at >= len(texts) or texts[at].startswith("call "):
                    raise ProgramError(f"{called}: it calls, or does not return")
                op, _, target = texts[at].partition(" ")
                if op in isa.JUMP_NAMES:
                    waiting.append(self.labels[target])
                if op not in ("jmp", "ret"):
                    waiting.append(at + 1)


def camel(name: str) -> str:
    """CRC_HI is CrcHi."""
    return "".join(part.capitalize() for part in name.split("_"))


def load(name: str) -> Program:
    """Assemble a program of programs/."""
    ports = PortMap(PROGRAMS / f"{name}.toml")
    return Assembler(ports).assemble(name, (PROGRAMS / f"{name}.txt").read_text())


def rom(program: Program) -> str:
    """The text of ctl_rom_NAME.sv."""
    count = len(program.words)
    width = len(str(count - 1))
    entries = [f"rom[{n:{width}}] = 36'h{word:09x};" for n, word in enumerate(program.words)]
    lines = (entries[n : n + PER_LINE] for n in range(0, count, PER_LINE))
    body = "\n".join(f"    {'  '.join(line)}" for line in lines)
    return f"""\
// Written by rtl/ctl/assemble.py from rtl/ctl/programs/{program.name}.txt; not edited by hand.
`default_nettype none

module ctl_rom_{program.name} (
  input  logic        clk_i,
  input  logic [10:0] addr_i,
  output logic [35:0] data_o   // one cycle later
);

  (* rom_style = "block" *) logic [35:0] rom[{isa.ROM_WORDS}];

  initial begin
    for (int n = {count}; n < {isa.ROM_WORDS}; n++) rom[n] = '0;
{body}
  end

  always_ff @(posedge clk_i) data_o <= rom[addr_i];

endmodule

`default_nettype wire
"""


def choice(names: list[str]) -> str:
    """The text of ctl_rom.sv."""
    cases = " else ".join(
        f"""if (Program == "{name}") begin : g_{name}
    ctl_rom_{name} u_rom (.clk_i(clk_i), .addr_i(addr_i), .data_o(data_o));
  end"""
        for name in names
    )
    return f"""\
// The program of the control processor, by its name. Written by rtl/ctl/assemble.py from the names
// in rtl/ctl/programs; not edited by hand.
`default_nettype none

module ctl_rom #(
  parameter Program = "{names[0]}"
) (
  input  logic        clk_i,
  input  logic [10:0] addr_i,
  output logic [35:0] data_o   // one cycle later
);

  {cases} else begin : g_none
    $error("ctl_rom: no file of rtl/ctl/programs has this name");
  end

endmodule

`default_nettype wire
"""


def enumeration(text: str, name: str, prefix: str) -> dict[str, int]:
    """Members of an enumeration of ctl_cpu.sv, named as those of isa.py."""
    found = re.search(rf"enum logic \[\d+:0\] \{{([^}}]*)\}} {name};", text)
    if found is None:
        raise ProgramError(f"ctl_cpu.sv has no {name}")
    body = re.sub(r"//.*", "", found[1])
    members = dict(re.findall(rf"\b{prefix}(\w+)\s*=\s*\d+'d(\d+)", body))
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).upper(): int(n) for key, n in members.items()}


def check_isa() -> None:
    """isa.py and ctl_cpu.sv have the same encodings."""
    text = (HERE / "ctl_cpu.sv").read_text()
    for kind in (isa.Src, isa.Alu, isa.Act, isa.Port, isa.Out):
        name = kind.__name__
        if enumeration(text, f"{name.lower()}_e", name) != {m.name: m.value for m in kind}:
            raise ProgramError(f"isa.py and ctl_cpu.sv differ in {name}")


def texts() -> dict[Path, str]:
    """What is written, by file."""
    names = sorted(path.stem for path in PROGRAMS.glob("*.txt"))
    written = {HERE / "ctl_rom.sv": choice(names)}
    for name in names:
        written[PROGRAMS / f"ctl_rom_{name}.sv"] = rom(load(name))
        written[PROGRAMS / f"ctl_{name}_pkg.sv"] = PortMap(PROGRAMS / f"{name}.toml").package()
    return written


def main() -> int:
    """Write what follows from the programs, or compare it."""
    try:
        check_isa()
        if sys.argv[1:2] == ["--list"]:
            program = load(sys.argv[2])
            for n, word in enumerate(program.words):
                print(f"{n:4} {word:09x}  {program.line(n)}")
            return 0
        written = texts()
    except ProgramError as error:
        print(error)
        return 1
    if sys.argv[1:] == ["--check"]:
        old = [p for p, text in written.items() if not p.exists() or p.read_text() != text]
        for path in old:
            print(f"{path.name} is not what rtl/ctl/programs says: run rtl/ctl/assemble.py")
        return 1 if old else 0
    for path, text in written.items():
        path.write_text(text)
        print(f"wrote {path.relative_to(HERE)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

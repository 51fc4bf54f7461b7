#!/usr/bin/env python3
"""Assemble programs/sender.txt into ctl_rom.sv, --check it, or --list it. Python 3.11 alone.

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
Addresses are of 16 bits. Ports, outputs, flags and events are the enumerations of src/sw_pkg.sv,
registers those of tx.toml.
"""

import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "programs" / "sender.txt"
ROM = HERE / "ctl_rom.sv"
WORDS = 2048
PER_LINE = 3
# Work memory: the frame that is built, then variables.
VARIABLES = range(304, 512)
ALU = {"ld": 1, "and": 2, "xor": 3, "add": 4, "adc": 5, "sub": 6, "sbc": 7}
ACTS = {"put": 2, "puts": 3, "putc": 4, "sum": 5}
JUMPS = {"jmp": 8, "jz": 9, "jnz": 10, "jc": 11, "jnc": 12, "jn": 13, "call": 14}
STORE, OUT, EVENT, RETURN = 1, 6, 7, 15
CONSTANT, PORT, MEMORIES = 0, 1, {"": 4, "rx": 5, "rep": 5, "tpl": 6}
REPORT_PART, AT_P, STEP, AGAIN = 1 << 10, 1 << 11, 1 << 12, 1 << 15


class ProgramError(Exception):
    """A line that is none, and why."""


def enumeration(name: str) -> dict[str, int]:
    """Members of an enumeration of sw_pkg, without the prefix that they share."""
    text = (HERE.parent / "lib" / "sw_pkg.sv").read_text()
    found = re.search(rf"enum logic \[\d+:0\] \{{([^}}]*)\}} {name};", text)
    if found is None:
        raise ProgramError(f"sw_pkg.sv has no {name}")
    body = re.sub(r"//.*", "", found[1])
    members = dict(re.findall(r"(\w+)\s*=\s*\d+'d(\d+)", body))
    return {re.sub(r"^[A-Z][a-z]+(?=[A-Z])", "", key): int(n) for key, n in members.items()}


class Assembler:
    """The program, read twice: once for its names, once for its words."""

    def __init__(self) -> None:
        self.ports = enumeration("ctl_port_e")
        self.outs = enumeration("ctl_out_e")
        self.events = enumeration("ctl_event_e")
        bits = [enumeration(f"ctl_{n}_e") for n in ("flag", "bit", "pulse")]
        self.bits = {key: n for names in bits for key, n in names.items()}
        registers = tomllib.loads((HERE.parent / "regs" / "tx.toml").read_text())
        self.registers = {r["name"]: r["offset"] % 128 // 4 for r in registers["register"]
                          if r["offset"] >= 0x80}  # fmt: skip
        self.values: dict[str, int] = {}
        self.labels: dict[str, int] = {}
        self.free = VARIABLES.start

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
            return CONSTANT << 26 | self.number(text[1:])
        if found := re.fullmatch(r"(\w*)\[(.*)\]", text):
            memory, at = found.groups()
            bits = self.known(MEMORIES, memory, "memory") << 26
            bits |= REPORT_PART if memory == "rep" else 0
            if at in ("P", "P+"):
                return bits | AT_P | (STEP if at == "P+" else 0)
            return bits | self.number(at)
        if found := re.fullmatch(r"(\w+)\.(hi|lo)", text):
            word = self.known(self.registers, found[1], "register")
            return PORT << 26 | self.ports["Config"] + 2 * word + (found[2] == "lo")
        return PORT << 26 | self.known(self.ports, text, "port")

    def instruction(self, text: str) -> int:
        """The 36 bits of a line."""
        again = text.startswith("rep ")
        op, _, rest = text.removeprefix("rep ").partition(" ")
        rest = rest.strip()
        word = 0
        if op in ALU:
            word = ALU[op] << 29 | self.operand(rest)
        elif op in ACTS:
            word = ACTS[op] << 32 | self.operand(rest)
        elif op == "st":
            word = STORE << 32 | self.number(rest) << 16 | self.operand("A")
        elif op in ("mv", "out"):
            to, _, what = (part.strip() for part in rest.partition(","))
            if op == "mv":
                word = STORE << 32 | self.number(to) << 16
            else:
                name, _, at = to.partition("+")
                at = self.known(self.outs, name.strip(), "output") + int(at or 0)
                word = OUT << 32 | at << 16
            word |= self.operand(what)
        elif op == "ev":
            word = EVENT << 32 | self.known(self.events, rest, "event") << 16
        elif op in JUMPS:
            word = JUMPS[op] << 32 | self.known(self.labels, rest, "label")
        elif op == "ret":
            word = RETURN << 32
        else:
            raise ProgramError(f"no instruction is called {op}")
        if again:
            if word >> 26 & 7 not in MEMORIES.values():
                raise ProgramError("what is repeated reads memory")
            word |= AGAIN
        return word

    def define(self, text: str) -> bool:
        """Takes a definition; false when the line is none."""
        if found := re.fullmatch(r"(\w+) = (.*)", text):
            self.values[found[1]] = self.number(found[2])
        elif found := re.fullmatch(r"var (\w+)(?:\[(\d+)\])?", text):
            if found[1] in self.values:
                raise ProgramError(f"{found[1]} is there already")
            self.values[found[1]] = self.free
            self.free += int(found[2] or 1)
            if self.free > VARIABLES.stop:
                raise ProgramError("work memory is full")
        else:
            return False
        return True

    def assemble(self, text: str) -> list[tuple[int, str]]:
        """Words and the lines they are of."""
        lines = []
        for at, line in enumerate(text.splitlines(), 1):
            code = line.partition(";")[0].strip()
            try:
                if found := re.fullmatch(r"(\w+):", code):
                    if found[1] in self.labels:
                        raise ProgramError(f"{found[1]} is there already")
                    self.labels[found[1]] = len(lines)
                elif code and not self.define(code):
                    lines.append((at, code))
            except ProgramError as error:
                raise ProgramError(f"{PROGRAM.name}:{at}: {error}") from None
        if len(lines) > WORDS:
            raise ProgramError(f"{len(lines)} instructions, {WORDS} fit")
        words = []
        for at, code in lines:
            try:
                words.append((self.instruction(code), code))
            except ProgramError as error:
                raise ProgramError(f"{PROGRAM.name}:{at}: {error}") from None
        self.check_calls(words)
        return words

    def check_calls(self, words: list[tuple[int, str]]) -> None:
        """There is one place to return to: what is called must not call, and must return."""
        for called in {code for _, code in words if code.startswith("call ")}:
            waiting = [self.labels[called.removeprefix("call ")]]
            seen: set[int] = set()
            while waiting:
                at = waiting.pop()
                if at in seen:
                    continue
                seen.add(at)
                if at >= len(words) or words[at][1].startswith("call "):
                    raise ProgramError(f"{called}: it calls, or does not return")
                op, _, target = words[at][1].partition(" ")
                if op in JUMPS:
                    waiting.append(self.labels[target])
                if op not in ("jmp", "ret"):
                    waiting.append(at + 1)


def module(words: list[tuple[int, str]]) -> str:
    """The text of src/ctl_rom.sv."""
    width = len(str(len(words) - 1))
    entries = [f"rom[{n:{width}}] = 36'h{word:09x};" for n, (word, _) in enumerate(words)]
    lines = (entries[n : n + PER_LINE] for n in range(0, len(entries), PER_LINE))
    body = "\n".join(f"    {'  '.join(line)}" for line in lines)
    return f"""\
// Written by rtl/ctl/assemble.py from rtl/ctl/programs/sender.txt; not edited by hand.
`default_nettype none

module ctl_rom (
  input  logic        clk_i,
  input  logic [10:0] addr_i,
  output logic [35:0] data_o   // one cycle later
);

  (* rom_style = "block" *) logic [35:0] rom[{WORDS}];

  initial begin
    for (int n = {len(words)}; n < {WORDS}; n++) rom[n] = '0;
{body}
  end

  always_ff @(posedge clk_i) data_o <= rom[addr_i];

endmodule

`default_nettype wire
"""


def main() -> int:
    """Write the ROM, or compare it."""
    try:
        words = Assembler().assemble(PROGRAM.read_text())
    except ProgramError as error:
        print(error)
        return 1
    text = module(words)
    if sys.argv[1:] == ["--check"]:
        if not ROM.exists() or ROM.read_text() != text:
            print(f"{ROM.name} is not what {PROGRAM.name} says: run rtl/ctl/assemble.py")
            return 1
        return 0
    if sys.argv[1:] == ["--list"]:
        print("\n".join(f"{n:4} {word:09x}  {code}" for n, (word, code) in enumerate(words)))
        return 0
    ROM.write_text(text)
    print(f"{len(words)} instructions of {WORDS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

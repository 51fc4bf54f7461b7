#!/usr/bin/env python3
"""Simulate the instructions of `ctl_cpu`, in step with a recording of the RTL.

    iss.py NAME RECORDING              run programs/NAME.txt on it; an error where the two differ
    iss.py NAME RECORDING --trace      print each instruction with what it changed
    iss.py NAME RECORDING --coverage   list the lines and branches that did not run

A recording is what rtl/tb/ctl/ctl_recorder.sv writes. Input (ports, the received frame, the
template) comes from it. All else is computed here and compared: addresses of instructions and
memory, values, carry, outputs, events, the frames sent, cycles. Reading a word of work memory or a
register that was not written since the reset is an error. Python 3.11 alone.
"""

import argparse
import struct
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import assemble
import isa
import program_coverage
from isa import Act, Alu, Out, Port, Src

CRC32C = 0x82F63B78
COUNT_MASK = (1 << isa.COUNT_BITS) - 1
ADDRESS_MASK = isa.WORK_PARTS - 1
INSTRUCTION, BEAT, RESET = range(3)
CARRY, WRITE, OUTPUT, EVENT = 1 << 29, 1 << 28, 1 << 27, 1 << 26
LAST_BEAT = 1 << 29
# Instructions that are shown before one that differs.
SHOWN = 12


def crc_table() -> list[int]:
    """CRC-32C of each byte."""
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (CRC32C if value & 1 else 0)
        table.append(value)
    return table


CRC_TABLE = crc_table()


class ProgramError(Exception):
    """The program does what it must not."""


class DivergenceError(Exception):
    """RTL and simulator differ."""


@dataclass(slots=True)
class Cpu:
    """Registers and work memory of `ctl_cpu`; None is what was not written since the reset."""

    program: list[isa.Instruction]
    pc: int = 0
    a: int | None = None
    carry: int | None = None
    p: int | None = None
    q: int | None = None
    count: int | None = None
    sum: int | None = None
    sum_carry: int = 0
    crc: int | None = None
    link: int | None = None
    product: int | None = None
    work: list[int | None] = field(default_factory=lambda: [None] * isa.WORK_PARTS)
    is_crc_busy: bool = False
    is_taken: bool = False  # the last instruction jumped
    frame: deque[tuple[bytes, bool]] = field(default_factory=deque)  # what is sent, by beats

    def step(self, given: int) -> tuple[int, int, int]:
        """Do the instruction at pc; `given` is its operand where that comes from outside.

        Gives the operand, the address in memory that it came from, and where it went, as the first
        word of a record has it.
        """
        i = self.program[self.pc]
        act, k, src = i.act, i.k, i.src
        value, address, carry, again = k, 0, self.carry, False
        if src == Src.PORT:
            value = given
            if not k & 0x78:
                value = self.own(k)
                carry = self.a & 1 if k == Port.HALF else carry
        elif src >= Src.WORK:
            address = self.p if k & isa.AT_P else k & ADDRESS_MASK
            value = self.read(address) if src == Src.WORK else given
            if k & isa.AGAIN:
                again = self.count != COUNT_MASK
                self.count = self.count + 1 & COUNT_MASK
            if k & isa.STEP:
                self.p = self.p + 1 & ADDRESS_MASK
        # A jump looks at what was there before it.
        self.is_taken = act >= Act.JUMP and self.jumps(act)
        if self.is_taken:
            target = self.link if act == Act.RETURN else k & isa.ROM_WORDS - 1
            if act == Act.CALL:
                self.link = self.pc + 1
            self.pc = target
        elif not again:
            self.pc = self.pc + 1 & isa.ROM_WORDS - 1
        self.carry = carry
        if i.alu:
            self.compute(i.alu, value)
        self.is_crc_busy = act in (Act.PUT_CRC, Act.SUM)
        return value, address, self.write(act, i.target, value) if act else 0

    def own(self, port: int) -> int:
        """A port of the processor's own."""
        if port == Port.A:
            return self.a
        if port == Port.HALF:
            return self.a >> 1
        if port == Port.SUM:
            return self.sum
        if port == Port.PRODUCT_LO:
            return self.product & 0xFFFF
        if port == Port.PRODUCT_HI:
            return self.product >> 16
        if self.is_crc_busy:
            raise ProgramError("the CRC is read while its last word is worked on")
        return ~self.crc >> (16 if port == Port.CRC_HI else 0) & 0xFFFF

    def read(self, address: int) -> int:
        """A part of work memory."""
        value = self.work[address]
        if value is None:
            raise ProgramError(f"work memory {address} is read before it is written")
        return value

    def jumps(self, act: int) -> bool:
        """Whether a jump is taken."""
        if act == Act.JUMP_Z:
            return self.a == 0
        if act == Act.JUMP_NZ:
            return self.a != 0
        if act == Act.JUMP_C:
            return self.carry == 1
        if act == Act.JUMP_NC:
            return self.carry == 0
        return act != Act.JUMP_N or self.a >= 0x8000

    def compute(self, alu: int, value: int) -> None:
        """What becomes of A and the carry."""
        if alu == Alu.LOAD:
            self.a = value
        elif alu == Alu.AND:
            self.a &= value
        elif alu == Alu.XOR:
            self.a ^= value
        else:
            carry = self.carry if alu & 1 else alu >> 1 & 1
            total = self.a + (value ^ 0xFFFF if alu & 2 else value) + carry
            self.a, self.carry = total & 0xFFFF, total >> 16

    def write(self, act: int, target: int, value: int) -> int:
        """Where the operand goes."""
        if act == Act.STORE:
            self.work[target] = value
            return WRITE | target << 17
        if act <= Act.SUM:
            to = 0
            if act != Act.SUM:
                to = WRITE | self.q << 17
                self.work[self.q] = value
                self.q = self.q + 1 & ADDRESS_MASK
            if act != Act.PUT and self.sum is not None:
                total = self.sum + value + self.sum_carry
                self.sum, self.sum_carry = total & 0xFFFF, total >> 16
            if act in (Act.PUT_CRC, Act.SUM) and self.crc is not None:
                for byte in (value >> 8, value & 0xFF):
                    self.crc = self.crc >> 8 ^ CRC_TABLE[(self.crc ^ byte) & 0xFF]
            return to
        if act == Act.OUT:
            self.output(target & 0x3F, value)
            return OUTPUT | (target & 0x3F) << 17
        return EVENT | (target & 0x1F) << 17 if act == Act.EVENT else 0

    def output(self, out: int, value: int) -> None:
        """An output of the processor's own."""
        if out == Out.P:
            self.p = value & ADDRESS_MASK
        elif out == Out.Q:
            self.q = value & ADDRESS_MASK
        elif out == Out.COUNT:
            self.count = value & COUNT_MASK
        elif out == Out.SUM:
            self.sum, self.sum_carry = value, 0
        elif out == Out.CRC:
            self.crc = 0xFFFFFFFF
        elif out == Out.SEND:
            self.send(value & 7 or 8)
        elif out == Out.FACTOR:
            self.product = self.a * value

    def send(self, last_bytes: int) -> None:
        """Words from P on; that at Q until one more is to be sent."""
        is_last = False
        while not is_last:
            is_last = self.count == COUNT_MASK
            is_held = self.p >> 2 == self.q >> 2 and self.count != COUNT_MASK - 1
            parts = (last_bytes + 1 if is_last else 8) // 2
            first = self.p & ~3
            word = b"".join(self.read(n).to_bytes(2) for n in range(first, first + parts))
            self.frame.append((word[:last_bytes] if is_last else word, is_last))
            self.p = self.p if is_held else self.p + 4 & ADDRESS_MASK
            self.count = self.count + 1 & COUNT_MASK


class Replay:
    """A program in step with a recording of the RTL."""

    def __init__(self, program: assemble.Program) -> None:
        self.program = program
        self.decoded = [isa.Instruction.decode(word) for word in program.words]
        self.cpu: Cpu | None = None
        self.runs = [0] * len(self.decoded)
        self.jumps = [0] * len(self.decoded)
        self.recent: deque[int] = deque(maxlen=SHOWN)
        self.cycle = 0

    def check(self, path: Path, shown: "Trace | None" = None) -> int:
        """Run all of a recording; the number of instructions."""
        count, pc = 0, 0
        base = [i.cycles - (i.act == Act.OUT) for i in self.decoded]
        behind: int | None = None  # cycles that the instruction before leaves to this one
        try:
            for first, second, third in records(path):
                if first >> 30 == INSTRUCTION:
                    cpu = self.cpu
                    pc = cpu.pc
                    i = self.decoded[pc]
                    if cpu.frame:
                        raise DivergenceError(
                            "the frame is not over and the next instruction is done"
                        )
                    self.recent.append(pc)
                    self.runs[pc] += 1
                    value, address, to = cpu.step(second >> 16)
                    self.jumps[pc] += cpu.is_taken
                    carry = first & CARRY if cpu.carry is None else cpu.carry << 29
                    a = second & 0xFFFF if cpu.a is None else cpu.a
                    place = address | (i.k & isa.REPORT_PART) >> 1 if i.src >= Src.WORK else None
                    if first != (carry | to | pc) or second != (value << 16 | a):
                        raise DivergenceError(differences(first, second, carry | to | pc, value, a))
                    if place is not None and place != third >> 16:
                        raise DivergenceError(f"it reads at {third >> 16:#x}, not {place:#x}")
                    cycles = third & 0xFFFF
                    self.cycle += cycles
                    if behind is not None and cycles != base[pc] + behind:
                        raise DivergenceError(f"it takes {cycles} cycles, not {base[pc] + behind}")
                    behind = (i.act == Act.OUT) + cpu.is_taken
                    if i.act == Act.OUT and i.target == Out.SEND:
                        behind = None
                    count += 1
                    if shown:
                        shown.show(self, pc, value, to)
                elif first >> 30 == BEAT:
                    self.beat(first, second << 32 | third)
                else:
                    self.cpu, behind = Cpu(self.decoded), None
        except (ProgramError, DivergenceError, TypeError, IndexError) as error:
            # What None was in is a register that was never written.
            what = (
                "a register is read before it is written" if isinstance(error, TypeError) else error
            )
            lines = "\n".join(f"  {self.program.line(n)}" for n in self.recent)
            raise DivergenceError(
                f"{self.program.line(pc)}: instruction {count} of {path.name}, {what}; "
                f"the last ones:\n{lines}"
            ) from error
        return count

    def beat(self, first: int, data: int) -> None:
        """Compare what is sent."""
        if not self.cpu.frame:
            raise DivergenceError("a beat is sent behind the frame's end, or without one")
        want, is_last = self.cpu.frame.popleft()
        got = data.to_bytes(8, "little")[: (first & 0xFF).bit_count()]
        if got != want or bool(first & LAST_BEAT) != is_last:
            raise DivergenceError(f"it sends {got.hex()}, not {want.hex()}")


class Trace:
    """Prints instructions, with what they changed."""

    def __init__(self, program: assemble.Program) -> None:
        names = assemble.PortMap(assemble.PROGRAMS / f"{program.name}.toml")
        self.outs = {n: name for name, n in names.names("outs").items()}
        self.outs |= {out.value: assemble.camel(out.name) for out in Out}
        self.variables = {n: name for name, n in program.variables.items()}
        self.last: dict[str, int | None] = {}

    def memory(self, address: int) -> str:
        """A place in work memory by its variable."""
        at = max((n for n in self.variables if n <= address), default=None)
        if at is None:
            return f"[{address}]"
        return f"[{self.variables[at]}{f'+{address - at}' if address > at else ''}]"

    def show(self, replay: Replay, pc: int, value: int, to: int) -> None:
        """One line."""
        cpu, program = replay.cpu, replay.program
        values = {"A": cpu.a, "C": cpu.carry, "P": cpu.p, "Q": cpu.q, "count": cpu.count,
                  "sum": cpu.sum, "crc": cpu.crc}  # fmt: skip
        changes = [
            f"{n}={v:x}" for n, v in values.items() if v is not None and v != self.last.get(n)
        ]
        self.last = values
        number = to >> 17 & 0x1FF
        if to & WRITE:
            changes.append(f"{self.memory(number)}={value:x}")
        elif to & OUTPUT:
            changes.append(f"{self.outs.get(number, f'out {number}')}={value:x}")
        if cpu.is_taken:
            changes.append(f"to {program.where(cpu.pc)}")
        where = f"{program.where(pc):24} {program.texts[pc]:34}"
        print(f"{replay.cycle:>9} {program.lines[pc]:>5} {where} {' '.join(changes)}")


def differences(first: int, second: int, want: int, value: int, a: int) -> str:
    """What of a record is not as it should be."""
    fields = (
        ("its address", first & 0x7FF, want & 0x7FF),
        ("the carry", first >> 29 & 1, want >> 29 & 1),
        ("memory, output or event", first >> 26 & 7, want >> 26 & 7),
        ("where it goes", first >> 17 & 0x1FF, want >> 17 & 0x1FF),
        ("the operand", second >> 16, value),
        ("A", second & 0xFFFF, a),
    )
    return ", ".join(f"{name} is {x:#x}, not {y:#x}" for name, x, y in fields if x != y)


def records(path: Path) -> Iterator[tuple[int, int, int]]:
    """The records of a file, as its words."""
    size = struct.calcsize("=III")
    with path.open("rb") as file:
        while part := file.read(size << 16):
            yield from struct.iter_unpack("=III", part[: len(part) // size * size])


def main() -> int:
    """Run a program on a recording."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="of a program in rtl/ctl/programs")
    parser.add_argument("recording", type=Path)
    parser.add_argument("--trace", action="store_true", help="print each instruction")
    parser.add_argument("--coverage", action="store_true", help="list what did not run")
    options = parser.parse_args()
    program = assemble.load(options.name)
    replay = Replay(program)
    try:
        count = replay.check(options.recording, Trace(program) if options.trace else None)
    except DivergenceError as error:
        print(error)
        return 1
    print(f"{count} instructions as in the RTL")
    if options.coverage:
        for gap in program_coverage.gaps(program, replay.runs, replay.jumps):
            print(f"{program.line(gap.pc)}: {gap.missing}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

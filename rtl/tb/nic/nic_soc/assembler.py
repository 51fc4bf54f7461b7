"""RV32I for small test programs: text to words.

A line is a label (`name:`), or an instruction; `#` begins a comment. Registers have their ABI
names. `li` takes any 32-bit number or label, and always has two words, so that the places of labels
are known before it.
"""

import re

ABI = ("zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 "
       "t3 t4 t5 t6").split()  # fmt: skip
LOADS = {"lb": 0, "lh": 1, "lw": 2, "lbu": 4, "lhu": 5}
STORES = {"sb": 0, "sh": 1, "sw": 2}
BRANCHES = {"beq": 0, "bne": 1, "blt": 4, "bge": 5, "bltu": 6, "bgeu": 7}
IMMEDIATES = {"addi": 0, "slli": 1, "xori": 4, "srli": 5, "ori": 6, "andi": 7}
REGISTERS = {"add": (0, 0), "sub": (0, 32), "sltu": (3, 0), "and": (7, 0), "mul": (0, 1)}
CSRS = {"csrrw": 1, "csrrs": 2, "csrrc": 3}


def _words(name: str, args: list[str], at: int, labels: dict[str, int]) -> list[int]:
    def reg(n: int) -> int:
        return ABI.index(args[n])

    def number(n: int) -> int:
        return labels[args[n]] if args[n] in labels else int(args[n], 0)

    def place(n: int) -> tuple[int, int]:
        offset, base = re.fullmatch(r"(.*)\((\w+)\)", args[n]).groups()
        return int(offset or "0", 0) & 0xFFF, ABI.index(base)

    if name == "word":
        return [number(0) & 0xFFFFFFFF]
    if name == "nop":
        return [0x13]
    if name == "mret":
        return [0x30200073]
    if name == "fence.i":
        return [0x100F]
    if name == "li":
        value = number(1) & 0xFFFFFFFF
        high, low = (value + 0x800) >> 12 & 0xFFFFF, value & 0xFFF
        return [high << 12 | reg(0) << 7 | 0x37, low << 20 | reg(0) << 15 | reg(0) << 7 | 0x13]
    if name in LOADS:
        offset, base = place(1)
        return [offset << 20 | base << 15 | LOADS[name] << 12 | reg(0) << 7 | 0x03]
    if name in STORES:
        offset, base = place(1)
        return [(offset >> 5) << 25 | reg(0) << 20 | base << 15 | STORES[name] << 12
                | (offset & 31) << 7 | 0x23]  # fmt: skip
    if name in IMMEDIATES:
        value = number(2) & 0xFFF
        return [value << 20 | reg(1) << 15 | IMMEDIATES[name] << 12 | reg(0) << 7 | 0x13]
    if name in REGISTERS:
        low, high = REGISTERS[name]
        return [high << 25 | reg(2) << 20 | reg(1) << 15 | low << 12 | reg(0) << 7 | 0x33]
    if name in CSRS:
        return [number(1) << 20 | reg(2) << 15 | CSRS[name] << 12 | reg(0) << 7 | 0x73]
    if name in BRANCHES:
        to = number(2) - at
        place_bits = (to >> 12 & 1) << 31 | (to >> 5 & 63) << 25 | (to >> 1 & 15) << 8
        place_bits |= (to >> 11 & 1) << 7
        return [place_bits | reg(1) << 20 | reg(0) << 15 | BRANCHES[name] << 12 | 0x63]
    if name in ("j", "jal"):
        to = number(0) - at
        link = 1 if name == "jal" else 0
        return [(to >> 20 & 1) << 31 | (to >> 1 & 0x3FF) << 21 | (to >> 11 & 1) << 20
                | (to >> 12 & 0xFF) << 12 | link << 7 | 0x6F]  # fmt: skip
    if name == "jr":
        return [reg(0) << 15 | 0x67]
    raise ValueError(f"no instruction is called {name}")


def assemble(text: str) -> list[int]:
    """The words of a program that begins at address 0."""
    lines, labels, at = [], {}, 0
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if label := re.fullmatch(r"(\w+):", line):
            labels[label[1]] = at
        elif line:
            name, _, rest = line.partition(" ")
            args = [a.strip() for a in rest.split(",")] if rest else []
            lines.append((name, args, at))
            at += 8 if name == "li" else 4
    return [word for name, args, at in lines for word in _words(name, args, at, labels)]

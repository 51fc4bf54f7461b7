"""The instruction set of `ctl_cpu`, as the assembler and the simulator use it.

docs/control-processor.md describes it. The enumerations have the members of those in ctl_cpu.sv:
`assemble.py --check` compares them.
"""

from dataclasses import dataclass
from enum import IntEnum

ROM_WORDS = 2048
WORK_PARTS = 512  # of 16 bits
# Work memory: the frame that is built, then variables.
VARIABLES = range(304, WORK_PARTS)
COUNT_BITS = 13
# In `k` of an operand in memory.
REPORT_PART, AT_P, STEP, AGAIN = 1 << 10, 1 << 11, 1 << 12, 1 << 15


class Src(IntEnum):
    """Where the operand comes from."""

    CONSTANT = 0
    PORT = 1
    WORK = 4
    FRAME = 5
    TEMPLATE = 6


class Alu(IntEnum):
    """What becomes of A."""

    KEEP = 0
    LOAD = 1
    AND = 2
    XOR = 3
    ADD = 4
    ADC = 5
    SUB = 6
    SBC = 7


class Act(IntEnum):
    """What is done with the operand, or a jump."""

    NONE = 0
    STORE = 1
    PUT = 2
    PUT_SUM = 3
    PUT_CRC = 4
    SUM = 5
    OUT = 6
    EVENT = 7
    JUMP = 8
    JUMP_Z = 9
    JUMP_NZ = 10
    JUMP_C = 11
    JUMP_NC = 12
    JUMP_N = 13
    CALL = 14
    RETURN = 15


class Port(IntEnum):
    """Ports of the processor's own; those of a core begin at 8."""

    A = 0
    HALF = 1
    SUM = 2
    CRC_HI = 3
    CRC_LO = 4
    PRODUCT_LO = 5
    PRODUCT_HI = 6


class Out(IntEnum):
    """Outputs of the processor's own; those of a core begin at 8."""

    P = 0
    Q = 1
    COUNT = 2
    SUM = 3
    CRC = 4
    SEND = 5
    FACTOR = 6


CORE_FIRST = 8
ALU_NAMES = {
    "ld": Alu.LOAD, "and": Alu.AND, "xor": Alu.XOR, "add": Alu.ADD, "adc": Alu.ADC, "sub": Alu.SUB,
    "sbc": Alu.SBC,
}  # fmt: skip
PUT_NAMES = {"put": Act.PUT, "puts": Act.PUT_SUM, "putc": Act.PUT_CRC, "sum": Act.SUM}
JUMP_NAMES = {
    "jmp": Act.JUMP, "jz": Act.JUMP_Z, "jnz": Act.JUMP_NZ, "jc": Act.JUMP_C, "jnc": Act.JUMP_NC,
    "jn": Act.JUMP_N, "call": Act.CALL,
}  # fmt: skip
CONDITIONAL = range(Act.JUMP_Z, Act.JUMP_N + 1)
MEMORY_NAMES = {"": Src.WORK, "rx": Src.FRAME, "rep": Src.FRAME, "tpl": Src.TEMPLATE}


@dataclass(frozen=True)
class Instruction:
    """The fields of a word of 36 bits."""

    act: Act
    alu: Alu
    src: int
    target: int  # address in work memory, output, or event
    k: int  # constant, where to jump, port, or address and flags of a memory

    @classmethod
    def decode(cls, word: int) -> "Instruction":
        """The fields of a word."""
        return cls(
            Act(word >> 32), Alu(word >> 29 & 7), word >> 26 & 7, word >> 16 & 0x1FF, word & 0xFFFF
        )

    @property
    def is_memory(self) -> bool:
        """The operand comes from a memory."""
        return self.src >= Src.WORK

    @property
    def is_foreign_port(self) -> bool:
        """The operand comes from a port that is not the processor's own."""
        return self.src == Src.PORT and self.k & 0x78 != 0

    @property
    def cycles(self) -> int:
        """From the operand's fetch to the next one's, where no jump is taken."""
        return 2 + (self.is_memory or self.is_foreign_port) + (self.act == Act.OUT)

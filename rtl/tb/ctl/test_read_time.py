"""The sender's program computes the time of an index as docs/protocol.md#2.11 and #2.15 need it.

`read_time` runs in the simulator of instructions, from its call to its return, with the registers
as its input. Each instruction of it that is another makes one of the times wrong.
"""

import random
from dataclasses import dataclass, replace

import assemble
import isa
import iss
import pytest
from isa import Act, Alu, Src

PROGRAM = assemble.load("sender")
DECODED = [isa.Instruction.decode(word) for word in PROGRAM.words]
REGISTERS = assemble.PortMap(assemble.PROGRAMS / "sender.toml").registers
START, END = PROGRAM.labels["read_time"], PROGRAM.labels["put_time"]
# More instructions than a call takes: one without an end is a wrong one.
STEPS_MAX = 1000
PERIOD = 0x0004_11C7_5D08_9A3F  # 4.07 ns
WRAP = 1 << 64
# Instructions that may be others: where, what is in their place, and why it is the same.
EQUIVALENT = {
    ("time_part+2", "NONE"): "a part of zero adds nothing: the jump saves cycles",
    ("time_part+30", "ADC"): "the carry of `adc #0` is 0 there",
    ("time_is_before+1", "SBC"): "the last part leaves no borrow",
}


@dataclass(frozen=True)
class Case:
    """What the registers hold, and an index."""

    index: int
    tai_index: int = 0
    tai_time: int = 0
    tai_period: int = 0
    tai_number: int = 1

    def time(self) -> int:
        """The time of the index in ns, rounded down."""
        if not self.tai_number:
            return 0
        return (((self.index - self.tai_index) * self.tai_period >> 48) + self.tai_time) % WRAP


def parts(value: int) -> list[int]:
    """The 16-bit parts of a number, the lowest first."""
    return [value >> 16 * n & 0xFFFF for n in range(4)]


class Call:
    """One processor, which keeps its variables between calls."""

    def __init__(self, decoded: list[isa.Instruction]) -> None:
        self.cpu = iss.Cpu(decoded)
        self.cpu.work[:] = [0] * isa.WORK_PARTS
        self.cpu.a = self.cpu.carry = self.cycles = 0

    def run(self, case: Case, *, behind: Case | None = None, at: int = -1) -> int:
        """The time that a call leaves; registers are those of `behind` from instruction `at` on."""
        cpu, index = self.cpu, PROGRAM.variables["index"]
        cpu.work[index : index + 4] = parts(case.index)[::-1]
        cpu.pc, cpu.link, self.cycles = START, END, 0
        values = ports(case)
        for n in range(STEPS_MAX):
            if cpu.pc == END:
                time = PROGRAM.variables["time"]
                return sum(part << 16 * k for k, part in enumerate(cpu.work[time : time + 4]))
            if n == at:
                values = ports(behind)
            self.cycles += cpu.program[cpu.pc].cycles
            cpu.step(values.get(cpu.program[cpu.pc].k & 0x7F, 0xDEAD))
            self.cycles += cpu.is_taken
        raise AssertionError("it does not return")


def ports(case: Case) -> dict[int, int]:
    """The halves of the registers, by port: the upper one first."""
    halves = {REGISTERS["tai_number"] + 1: case.tai_number}
    for name in ("tai_index", "tai_time", "tai_period"):
        low, mid, high, top = parts(getattr(case, name))
        halves |= {REGISTERS[f"{name}_lo"] + 1: low, REGISTERS[f"{name}_lo"]: mid}
        halves |= {REGISTERS[f"{name}_hi"] + 1: high, REGISTERS[f"{name}_hi"]: top}
    return halves


def cases() -> list[Case]:
    """Edges, then what a seed draws: one after the other they leave each other their variables."""
    period = PERIOD
    now = 1_800_000_000_000_000_000
    edges = [
        Case(5, 0, now, period, 0),
        Case(0, 0, now, period),
        Case(1, 0, now, 1 << 48),
        Case(0, 1, now, 1),
        Case(999_999_999, 1_000_000_000, now, period),
        Case(1 << 16, 0, now, period),
        Case(1 << 32, 0, now, period),
        Case((1 << 32) + 1, 0xFFFF_FFFF, now, period),
        Case(1 << 48, 0, now, period),
        Case(0xFFFF_FFFF_FFFF, 0, now, period),
        Case(1 << 63, (1 << 63) - 1, 0xFFFF, 1 << 48),
        Case(1, 0, 0xFFFF_FFFF, 1 << 48),
        Case(1, 0, 0xFFFF_FFFF_FFFF, 1 << 48),
        Case(1, 0, WRAP - 1, 1 << 48),
        Case((1 << 63) - 1, 0, 0, WRAP - 1),
        Case(0, 1 << 63, WRAP - 1, WRAP - 1),
        Case(0, (1 << 63) - 1, now, 0x0001_0000_0000_0001),
        Case(3, 3, 0, period),
    ]
    draw = random.Random(7)

    def drawn() -> int:
        return draw.getrandbits(64) & sum(0xFFFF << 16 * n for n in range(4) if draw.random() < 0.7)

    while len(edges) < 300:
        distance = drawn() >> 1 + draw.randrange(48)
        index = drawn()
        back = (index + draw.choice((-1, 1)) * distance) % WRAP
        if abs(back - index) < 1 << 63:
            edges.append(Case(back, index, drawn(), drawn(), draw.randrange(1, 1 << 16)))
    return edges


CASES = cases()


def wrong(decoded: list[isa.Instruction]) -> Case | None:
    """The first case that instructions get wrong."""
    call = Call(decoded)
    for case in CASES:
        try:
            if call.run(case) != case.time():
                return case
        except (AssertionError, iss.ProgramError, TypeError, IndexError):
            return case
    old, new = CASES[3], replace(CASES[7], index=CASES[3].index, tai_number=2)
    for behind in (new, replace(new, tai_number=0)):
        for at in range(STEPS_MAX):
            try:
                got = call.run(old, behind=behind, at=at)
            except AssertionError:
                return old
            if got not in (old.time(), behind.time()):
                return old
    return None


def test_time_is_that_of_the_index_to_the_nanosecond():
    assert wrong(DECODED) is None
    assert {case.time() > 0 for case in CASES} == {True, False}
    ahead = [case.index - case.tai_index for case in CASES]
    assert min(ahead) < -(1 << 62) and max(ahead) > 1 << 62


@pytest.mark.parametrize(
    ("case", "cycles"),
    [
        (Case(1 << 40, tai_number=0), 21),
        (Case(1 << 31, 1 << 30, 5, PERIOD), 322),
        (Case(0, 1, 5, PERIOD), 644),
    ],
    ids=["unknown", "32 bits", "64 bits"],
)
def test_time_costs_so_many_cycles(case, cycles):
    """A MARK is late by these."""
    call = Call(DECODED)
    call.run(case)
    assert call.cycles <= cycles


def test_setting_that_changes_meanwhile_is_read_again():
    call = Call(DECODED)
    old = Case(1 << 33, 5, 1_000, 3 << 48)
    new = replace(old, tai_index=1 << 33, tai_time=77, tai_number=2)
    assert call.run(old, behind=new, at=STEPS_MAX) == old.time()
    got = [call.run(old, behind=new, at=at) for at in range(STEPS_MAX)]
    turn = got.index(old.time())
    assert turn > 50, "the old setting is read to its end"
    assert set(got[:turn]) == {77} and set(got[turn:]) == {old.time()}
    assert call.run(old, behind=replace(new, tai_number=0), at=40) == 0


def mutants(at: int) -> list[isa.Instruction]:
    """Another instruction in place of one of the program."""
    i = DECODED[at]
    found = []
    if i.act in isa.CONDITIONAL:
        found += [replace(i, act=Act.JUMP), replace(i, act=Act.NONE)]
    elif i.act == Act.JUMP:
        found += [replace(i, act=Act.NONE)]
    elif i.act in (Act.STORE, Act.OUT):
        found += [replace(i, act=Act.NONE, alu=Alu.KEEP)]
    swapped = {
        Alu.ADD: Alu.ADC,
        Alu.ADC: Alu.ADD,
        Alu.SUB: Alu.SBC,
        Alu.SBC: Alu.SUB,
        Alu.XOR: Alu.AND,
    }
    if i.alu in swapped:
        found += [replace(i, alu=swapped[i.alu]), replace(i, alu=Alu.KEEP)]
    elif i.alu == Alu.LOAD:
        found += [replace(i, alu=Alu.KEEP)]
    if i.src == Src.CONSTANT and i.act not in range(Act.JUMP, Act.RETURN + 1):
        found += [replace(i, k=i.k + 1)]
    if i.src == Src.PORT or (i.src == Src.WORK and not i.k & isa.AT_P):
        found += [replace(i, k=i.k ^ 1)]
    return found


@pytest.mark.parametrize("at", [pytest.param(n, id=PROGRAM.where(n)) for n in range(START, END)])
def test_another_instruction_gives_a_wrong_time(at):
    for mutant in mutants(at):
        decoded = [*DECODED[:at], mutant, *DECODED[at + 1 :]]
        place = PROGRAM.where(at)
        is_same = any((place, what) in EQUIVALENT for what in (mutant.act.name, mutant.alu.name))
        assert (wrong(decoded) is None) == is_same, f"{PROGRAM.line(at)}: {mutant}"

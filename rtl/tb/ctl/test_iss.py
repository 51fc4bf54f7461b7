"""The checks of the control program can fail: the simulator's comparison, and the coverage's list.

A recording is made from the simulator itself, then one thing of it is changed.
"""

import struct

import assemble
import isa
import iss
import program_coverage
import pytest

TEXT = """
var x
    mv x, #3
    out Sum, #0
    out Crc, #0
    out Q, #0
loop:
    putc [x]
    ld [x]
    sub #1
    st x
    jnz loop
    putc CrcHi
    out P, #0
    out Count, #0x1fff
    out Send, #8
end:
    ld Flags
    jnz end
    jmp loop
"""
FRAME = bytes.fromhex("0003000200010000")


def program(text: str = TEXT) -> assemble.Program:
    ports = assemble.PortMap(assemble.PROGRAMS / "sender.toml")
    return assemble.Assembler(ports).assemble("sender", text)


def recorded(of: assemble.Program, count: int) -> list[list[int]]:
    """Records of instructions, as the RTL would write them."""
    decoded = [isa.Instruction.decode(word) for word in of.words]
    cpu = iss.Cpu(decoded)
    records, behind = [[2 << 30, 0, 0]], 0
    for _ in range(count):
        pc, i = cpu.pc, decoded[cpu.pc]
        value, address, to = cpu.step(1)
        carry, a = (cpu.carry or 0) << 29, cpu.a or 0
        cycles = i.cycles - (i.act == isa.Act.OUT) + behind
        behind = (i.act == isa.Act.OUT) + cpu.is_taken
        records.append([carry | to | pc, value << 16 | a, address << 16 | cycles])
        while cpu.frame:
            word, is_last = cpu.frame.popleft()
            data = int.from_bytes(word, "little")
            records.append([1 << 30 | is_last << 29 | 0xFF, data >> 32, data & 0xFFFFFFFF])
    return records


def check(of: assemble.Program, records: list[list[int]], path) -> iss.Replay:
    path.write_bytes(b"".join(struct.pack("=III", *record) for record in records))
    replay = iss.Replay(of)
    replay.check(path)
    return replay


# The CRC's low half is read too early: one instruction must stand between.
GOOD = TEXT.replace("    putc CrcHi\n", "    put #0\n")


def test_a_recording_of_the_same_program_passes(tmp_path):
    of = program(GOOD)
    replay = check(of, recorded(of, 30), tmp_path / "r")
    assert replay.runs[4] == 3 and replay.jumps[8] == 2


@pytest.mark.parametrize(
    ("record", "word", "bit"),
    [
        (1, 0, 0),  # address
        (1, 0, 17),  # where it goes
        (1, 0, 28),  # that it writes
        (5, 1, 16),  # the operand
        (6, 1, 0),  # A
        (7, 0, 29),  # the carry
        (6, 2, 16),  # the address that it reads
        (6, 2, 0),  # cycles
    ],
)
def test_a_bit_that_differs_is_found_with_its_line(tmp_path, record, word, bit):
    of = program(GOOD)
    records = recorded(of, 30)
    records[record][word] ^= 1 << bit
    with pytest.raises(iss.DivergenceError, match=r"sender.txt:\d+: "):
        check(of, records, tmp_path / "r")


def test_a_frame_that_differs_or_lacks_a_word_is_found(tmp_path):
    of = program(GOOD)
    records = recorded(of, 30)
    beat = next(n for n, r in enumerate(records) if r[0] >> 30 == 1)
    assert struct.pack("<Q", records[beat][1] << 32 | records[beat][2]) == FRAME
    for changed in (
        [*records[:beat], [records[beat][0], records[beat][1], records[beat][2] ^ 1]],
        [*records[:beat], *records[beat + 1 :]],
        [*records[: beat + 1], *records[beat:]],
    ):
        with pytest.raises(iss.DivergenceError):
            check(of, changed, tmp_path / "r")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("var x\n ld [x]\n", "work memory 304 is read before it is written"),
        (" add #1\n", "a register is read before it is written"),
        (" put #1\n", "a register is read before it is written"),
        (" ld #0\n adc #1\n", "a register is read before it is written"),
        (" out Crc, #0\n sum #1\n ld CrcHi\n", "the CRC is read while"),
        (" out P, #0\n out Q, #8\n out Count, #0x1fff\n out Send, #8\n", "work memory 0 is read"),
    ],
)
def test_reading_what_was_not_written_is_an_error(tmp_path, text, what):
    of = program(text)
    decoded = [isa.Instruction.decode(word) for word in of.words]
    # Records that agree in what is known: only the read itself is wrong.
    cpu = iss.Cpu(decoded)
    records, behind = [[2 << 30, 0, 0]], 0
    for pc, i in enumerate(decoded):
        cycles = i.cycles - (i.act == isa.Act.OUT) + behind
        behind = i.act == isa.Act.OUT
        try:
            value, address, to = cpu.step(0)
        except (TypeError, iss.ProgramError):
            value, address, to = 0, 0, 0
        records.append([to | pc, value << 16 | (cpu.a or 0), address << 16 | cycles])
    with pytest.raises(iss.DivergenceError, match=what):
        check(of, records, tmp_path / "r")


def test_coverage_reports_what_did_not_run_and_exceptions_that_did(tmp_path, monkeypatch):
    of = program(GOOD)
    replay = check(of, recorded(of, 30), tmp_path / "r")
    monkeypatch.setattr(assemble, "PROGRAMS", tmp_path)
    right = """
[[exception]]
at = "end+1"
text = "jnz end"
missing = "always taken"
reason = "Flags is 1 here"
[[exception]]
at = "end+2"
text = "jmp loop"
missing = "not run"
reason = "it is behind that"
"""
    for text, count in (
        (right, 0),
        ("exception = []\n", 2),
        (right.replace("jmp loop", "jmp end"), 1),
        (right.replace("always taken", "never taken"), 2),
        (right.replace("it is behind that", " "), 1),
        (right + right.replace("end+1", "loop+4").replace("jnz end", "jnz loop"), 2),
    ):
        (tmp_path / "sender.coverage.toml").write_text(text)
        found = program_coverage.faults(of, replay.runs, replay.jumps)
        assert len(found) == count, found

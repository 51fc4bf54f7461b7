"""Line and branch coverage of a program of `ctl_cpu`, and its exceptions.

Each instruction must run, and each conditional jump must be taken and not taken. What cannot happen
is listed in programs/NAME.coverage.toml with its reason:

    [[exception]]
    at = "label+offset"      # the instruction
    text = "jnz label"       # as it stands there
    missing = "not run"      # or "never taken", "always taken"
    reason = "why it cannot"

An exception that did happen, or whose text has changed, is a fault, as is a gap that is not listed.
"""

import tomllib
from dataclasses import dataclass

import assemble
import isa

NOT_RUN, NEVER_TAKEN, ALWAYS_TAKEN = "not run", "never taken", "always taken"


@dataclass(frozen=True)
class Gap:
    """What did not happen at an instruction."""

    pc: int
    missing: str


def gaps(program: assemble.Program, runs: list[int], jumps: list[int]) -> list[Gap]:
    """All that did not happen; `runs` and `jumps` count each instruction and its jumps."""
    found = []
    for pc, word in enumerate(program.words):
        if not runs[pc]:
            found.append(Gap(pc, NOT_RUN))
        elif isa.Instruction.decode(word).act in isa.CONDITIONAL:
            if not jumps[pc]:
                found.append(Gap(pc, NEVER_TAKEN))
            elif jumps[pc] == runs[pc]:
                found.append(Gap(pc, ALWAYS_TAKEN))
    return found


def faults(program: assemble.Program, runs: list[int], jumps: list[int]) -> list[str]:
    """Gaps that are not listed, and exceptions that are none."""
    path = assemble.PROGRAMS / f"{program.name}.coverage.toml"
    listed = tomllib.loads(path.read_text())["exception"]
    places = {program.where(pc): pc for pc in range(len(program.words))}
    open_gaps = set(gaps(program, runs, jumps))
    found = []
    for entry in listed:
        pc = places.get(entry["at"], -1)
        name = f"{path.name}: {entry['at']}: {entry['text']}"
        gap = Gap(pc, entry["missing"])
        if pc < 0 or program.texts[pc] != entry["text"]:
            found.append(f"{name}: another instruction stands there")
        elif not entry["reason"].strip():
            found.append(f"{name}: it has no reason")
        elif gap not in open_gaps:
            found.append(f"{name}: it is not so that it is {gap.missing}")
        open_gaps.discard(gap)
    found += [f"{program.line(gap.pc)}: {gap.missing}"
              for gap in sorted(open_gaps, key=lambda gap: gap.pc)]  # fmt: skip
    return found

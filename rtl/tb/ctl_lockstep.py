"""The control processor in step with its simulator, over what a test recorded."""

from pathlib import Path

import assemble
import iss
import program_coverage

TB = Path(__file__).resolve().parent
# Bound to ctl_cpu where it is among the sources; `+ctl_record=FILE` names what it writes.
RECORDER = TB / "ctl" / "ctl_recorder.sv"


def check(name: str, recording: Path, *, with_coverage: bool):
    """Each instruction does what the simulator says; with coverage, all of the program ran."""
    program = assemble.load(name)
    replay = iss.Replay(program)
    count = replay.check(recording)
    assert count > 0, "nothing was recorded"
    print(f"{name}: {count} instructions as in {iss.__file__}")
    if with_coverage:
        faults = program_coverage.faults(program, replay.runs, replay.jumps)
        assert not faults, "\n".join(["coverage of the program:", *faults])


def ports(name: str) -> dict[str, int]:
    """Names and numbers of what a program reads."""
    return assemble.PortMap(assemble.PROGRAMS / f"{name}.toml").names("ports")

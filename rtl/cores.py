#!/usr/bin/env python3
"""Write the FuseSoC core files from the tree of rtl/: the library, and the tops that use it.

    cores.py           write rtl/samplewire_lib.core and rtl/samplewire_tops.core
    cores.py --check   fail if one of them lists other files than the tree has
    cores.py --lint    let FuseSoC set the board up at 512 bits, and lint it at 64

A top is what rtl/top has; all else is the library.
"""

import os
import subprocess
import sys
from pathlib import Path

import lint
import sources

VERSION = "0.1.0"
LIBRARY = f"samplewire:rtl:lib:{VERSION}"
TOPS = f"samplewire:rtl:tops:{VERSION}"
HEAD = """\
CAPI=2:
# Written by rtl/cores.py from the tree.
name: {name}
description: {description}

filesets:
  rtl:
    file_type: systemVerilogSource
"""
# As rtl/lint.py has them.
LINT = """\

  lint:
    filesets: [rtl]
    toplevel: samplewire_board
    parameters: [W]
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall, -Wno-UNUSEDSIGNAL, -Wno-UNUSEDPARAM, -Wno-DECLFILENAME,
                          -Wno-PINCONNECTEMPTY, --replication-limit, "131072"]

parameters:
  W:
    datatype: int
    default: 64
    description: width of samples and frames, 64 or 512 bits
    paramtype: vlogparam
"""


def core(name: str, description: str, depends: str, paths: list[Path]) -> str:
    """The text of a core file with the target `default`."""
    text = HEAD.format(name=name, description=description)
    text += f"    depend: [{depends}]\n" if depends else ""
    files = "".join(f"      - {p.relative_to(sources.RTL)}\n" for p in paths)
    return f"{text}    files:\n{files}\ntargets:\n  default:\n    filesets: [rtl]\n"


def texts() -> dict[str, str]:
    """The core files by their names."""
    tops = [p for p in sources.modules() if p.parent.name == "top"]
    inner = [p for p in sources.modules() if p not in tops]
    library = core(LIBRARY, "Modules of Samplewire", "", [*sources.packages(), *inner])
    return {
        "samplewire_lib.core": library,
        "samplewire_tops.core": core(TOPS, "Samplewire's sender and board", LIBRARY, tops) + LINT,
    }


def run_fusesoc() -> int:
    """Run FuseSoC on the core files; 0 if it and Verilator find nothing wrong."""
    programs = [str(Path(sys.executable).parent), str(lint.verilator().parent)]
    environment = os.environ | {"PATH": os.pathsep.join([*programs, os.environ["PATH"]])}
    folder = sources.ROOT / "out" / "fusesoc"
    folder.mkdir(parents=True, exist_ok=True)
    run = ["fusesoc", "--cores-root", sources.ROOT / sources.RTL, "run", "--clean", "--target=lint"]
    for words in (["--setup", TOPS, "--W", "512"], [TOPS, "--W", "64"]):
        status = subprocess.run([*run, *words], cwd=folder, env=environment, check=False).returncode
        if status:
            return status
    return 0


def main() -> int:
    """Write or check the core files."""
    if sys.argv[1:] == ["--lint"]:
        return run_fusesoc()
    folder = sources.ROOT / sources.RTL
    wrong = [f.name for f in folder.glob("*.core") if f.name not in texts()]
    for name, text in texts().items():
        path = folder / name
        if sys.argv[1:] != ["--check"]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong.append(name)
    for name in wrong:
        print(f"{name} is not what rtl/cores.py writes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

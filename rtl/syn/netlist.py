"""Area and logic depth of a netlist that yosys wrote for xcup.

Levels are LUTs on the longest path between registers, memories and ports. A MUXF counts nothing: it
lies behind its LUTs in their slice. A carry chain counts nothing behind the LUTs that feed it, and
one where a signal that comes from no LUT enters it, since such a signal passes through a LUT on its
way in. A read of LUT RAM counts one, from its address; SRLs, block RAM and DSPs are registers.
"""

import json
import re
from dataclasses import astuple, dataclass
from pathlib import Path

LUT_RAM = {
    "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "RAM512X1S": 8, "RAM32X1D": 2,
    "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8, "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8,
    "RAM64M8": 8, "RAM32X16DR8": 8, "RAM64X8SW": 8,
}  # fmt: skip
ADDRESS = re.compile(r"ADDR[A-H]|A|A[0-9]|DPRA|DPRA[0-9]|RADDR")
PASSES = re.compile(r"LUT[1-6]|INV|MUXF[789]|CARRY[48]")
NO_CELL = re.compile(r"\$scopeinfo|\$buf|VCC|GND")
# Left out of what instantiates it: the ring, whose memory is as large as its slots.
APART = "ring"


@dataclass
class Area:
    """What a module takes."""

    lut: int = 0  # logic, LUT RAM and SRL
    lut_ram: int = 0
    srl: int = 0
    ff: int = 0
    bram: float = 0  # of 36 Kbit
    uram: int = 0
    dsp: int = 0
    levels: int = 0

    def row(self) -> list[str]:
        """Its columns of the table."""
        return [f"{value:g}" for value in astuple(self)]


def count(cells: dict, apart: set[str]) -> Area:
    """Cells by kind, without instances of modules `apart`; one of no known kind is an error."""
    area = Area()
    for cell in cells.values():
        kind = cell["type"]
        if kind in apart:
            continue
        if re.fullmatch(r"LUT[1-6]", kind):
            area.lut += 1
        elif kind in LUT_RAM:
            area.lut_ram += LUT_RAM[kind]
        elif kind in ("SRL16E", "SRLC16E", "SRLC32E"):
            area.srl += 1
        elif re.fullmatch(r"FD[RSCP]E(_1)?", kind):
            area.ff += 1
        elif kind in ("RAMB18E2", "RAMB36E2"):
            area.bram += 0.5 if kind == "RAMB18E2" else 1
        elif kind == "URAM288":
            area.uram += 1
        elif kind == "DSP48E2":
            area.dsp += 1
        elif not (PASSES.fullmatch(kind) or NO_CELL.fullmatch(kind)):
            raise ValueError(f"no rule counts the cell {kind}")
    area.lut += area.lut_ram + area.srl
    return area


class Depth:
    """The longest path, by a walk from every endpoint to the sources."""

    def __init__(self, cells: dict, net_names: dict[int, str]) -> None:
        self.cells = cells
        self.names = net_names
        self.driver: dict[int, str] = {}
        for name, cell in cells.items():
            for port, bits in cell["connections"].items():
                if cell["port_directions"].get(port) == "output":
                    self.driver.update((b, name) for b in bits if isinstance(b, int))
        self.level: dict[str, int] = {}
        self.from_net: dict[str, int | None] = {}

    def inputs(self, name: str) -> list[tuple[int, int]]:
        """Nets that a cell's outputs follow within the cycle, and what each adds at least."""
        cell = self.cells[name]
        kind = cell["type"]
        memory = kind in LUT_RAM
        if not (memory or PASSES.fullmatch(kind)):
            return []
        nets = []
        for port, bits in cell["connections"].items():
            if cell["port_directions"].get(port) != "input":
                continue
            if memory and not ADDRESS.fullmatch(port):
                continue
            # An address without an output is for writes alone.
            if port.startswith("ADDR") and f"DO{port[4:]}" not in cell["connections"]:
                continue
            enters_carry = kind.startswith("CARRY") and port in ("S", "DI", "CYINIT")
            for b in bits:
                if isinstance(b, int):
                    source = self.driver.get(b)
                    of_lut = source is not None and self.cells[source]["type"].startswith("LUT")
                    nets.append((b, int(enters_carry and not of_lut)))
        return nets

    def own(self, name: str) -> int:
        kind = self.cells[name]["type"]
        return int(kind.startswith("LUT") or kind in LUT_RAM)

    def of_cell(self, start: str) -> int:
        """Levels up to the outputs of a cell."""
        stack = [start]
        while stack:
            name = stack[-1]
            if name in self.level:
                stack.pop()
                continue
            nets = self.inputs(name)
            open_cells = [
                self.driver[b] for b, _ in nets
                if b in self.driver and self.driver[b] not in self.level
            ]  # fmt: skip
            if open_cells:
                if len(stack) > len(self.cells):
                    raise ValueError(f"a loop without a register at {name}")
                stack.extend(open_cells)
                continue
            best, via = 0, None
            for b, adds in nets:
                depth = self.level[self.driver[b]] + adds if b in self.driver else adds
                if depth > best or via is None:
                    best, via = depth, b
            self.level[name] = best + self.own(name)
            self.from_net[name] = via
            stack.pop()
        return self.level[start]

    def longest(self) -> tuple[int, list[str]]:
        """Its levels, and the names of its nets from source to end."""
        best, end = 0, None
        for name in set(self.driver.values()):
            if self.of_cell(name) > best:
                best, end = self.level[name], name
        nets = []
        while end is not None:
            nets.append(f"{self.cells[end]['type']} {self.output_name(end)}")
            net = self.from_net[end]
            if net is not None and net not in self.driver:
                nets.append(f"port {self.names.get(net, net)}")
            end = self.driver.get(net) if net is not None else None
        return best, nets[::-1]

    def ends(self) -> dict[str, int]:
        """Levels before each register and memory that has any."""
        levels: dict[str, int] = {}
        for name, cell in self.cells.items():
            if PASSES.fullmatch(cell["type"]) or NO_CELL.fullmatch(cell["type"]):
                continue
            for port, bits in cell["connections"].items():
                if cell["port_directions"].get(port) == "input":
                    drivers = [self.driver[b] for b in bits if b in self.driver]
                    levels[name] = max([levels.get(name, 0), *map(self.of_cell, drivers)])
        return levels

    def output_name(self, name: str) -> str:
        cell = self.cells[name]
        for port, bits in cell["connections"].items():
            if cell["port_directions"].get(port) == "output":
                known = [self.names[b] for b in bits if b in self.names]
                if known:
                    return known[0]
        return name


def is_ours(name: str, module: dict) -> bool:
    """Whether a module is of the design and no cell of the library."""
    of_library = {"blackbox", "whitebox"} & module["attributes"].keys()
    return not of_library or module["attributes"].get("hdlname") == APART


def by_module(path: Path) -> dict[str, Area]:
    """Area of each module alone, all its instances together, from a netlist with hierarchy."""
    modules = {n: m for n, m in json.loads(path.read_text())["modules"].items() if is_ours(n, m)}
    uses = [c["type"] for m in modules.values() for c in m["cells"].values()]
    rows: dict[str, Area] = {}
    for name, module in modules.items():
        area = count(module["cells"], set(modules))
        short = re.sub(r"^\$paramod.*\\(\w+?)(\\.*)?$", r"\1", name)
        times = uses.count(name) or 1
        old = astuple(rows.get(short, Area()))
        rows[short] = Area(*(o + times * n for o, n in zip(old, astuple(area), strict=True)))
    return rows


def levels_by_instance(path: Path, top: str) -> dict[str, tuple[int, int]]:
    """Levels before the registers of each instance in a flat netlist, and how many have so many.

    A register belongs where its output is called `_q`, else where it has its longest name.
    """
    module = json.loads(path.read_text())["modules"][top]
    names: dict[int, str] = {}
    for name, net in module["netnames"].items():
        if not net.get("hide_name"):
            for b in net["bits"]:
                key = (name.endswith("_q"), name.count("."))
                old = names.get(b, "")
                if isinstance(b, int) and key > (old.endswith("_q"), old.count(".") if old else -1):
                    names[b] = name
    depth = Depth(module["cells"], names)
    rows: dict[str, tuple[int, int]] = {}
    for name, level in depth.ends().items():
        instance = depth.output_name(name).rpartition(".")[0] or top
        worst, ends = rows.get(instance, (0, 0))
        if level >= worst:
            rows[instance] = (level, ends + 1 if level == worst else 1)
    return rows


def measure(path: Path, top: str) -> tuple[Area, list[str]]:
    """Area of a flat netlist, and its longest path; a module that is a black box is left out."""
    modules = json.loads(path.read_text())["modules"]
    module = modules[top]
    cells = module["cells"]
    names: dict[int, str] = {}
    for name, net in module["netnames"].items():
        if not net.get("hide_name"):
            for n, b in enumerate(net["bits"]):
                if isinstance(b, int):
                    names.setdefault(b, f"{name}[{n}]" if len(net["bits"]) > 1 else name)
    area = count(cells, {n for n, m in modules.items() if is_ours(n, m)})
    area.levels, nets = Depth(cells, names).longest()
    return area, nets

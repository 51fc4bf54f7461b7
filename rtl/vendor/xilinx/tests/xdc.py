"""Constraints of a clock-crossing cell, run in Tcl against the registers of the RTL."""

import re
from dataclasses import dataclass
from functools import cache

from crossings import Crossing, Netlist, netlist
from design import ROOT, elaborate
from tcl import Arguments, Interpreter

FOLDER = ROOT / "rtl/vendor/xilinx/xdc"
CELLS = ROOT / "rtl/lib/cdc"
SYNCHRONISER = "sync_bits"
# A register by its whole name; a star stands for an index only.
CELL = re.compile(r"((?:[A-Za-z_]\w*(?:\[\d+\])?/)*[A-Za-z_]\w*)_reg((?:\[(?:\*|\d+)\])*)")


@dataclass(frozen=True)
class Constraint:
    """One constraint between paths of registers, `clock NAME`, or `fanin PATH` as sources."""

    kind: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    limit_ns: float

    def covers(self, crossing: Crossing) -> bool:
        """Whether the crossing's path is among those that are constrained."""
        origin = {crossing.source.path, f"clock {crossing.from_clock}"}
        return crossing.target.path in self.targets and bool(origin & set(self.sources))


class Xdc:
    """Commands of a scoped XDC, each name checked against the cell."""

    def __init__(self, nets: Netlist, inputs: set[str], periods_ns: dict[str, float]) -> None:
        self.nets, self.inputs, self.periods_ns = nets, inputs, periods_ns
        self.found: list[Constraint] = []
        self.tcl = Interpreter()
        for name in (
            "get_ports",
            "get_clocks",
            "get_property",
            "get_cells",
            "get_pins",
            "all_fanin",
        ):
            self.tcl.add(name, getattr(self, name))
        for name in ("set_max_delay", "set_bus_skew"):
            self.tcl.add(name, lambda *words, kind=name: self.constrain(kind, words))

    def get_ports(self, name: str) -> tuple[str, ...]:
        """An input of the cell."""
        if name not in self.inputs:
            raise ValueError(f"the cell has no input {name}")
        return (f"port {name}",)

    def get_clocks(self, *words: str) -> tuple[str, ...]:
        """The clock at a port."""
        given = Arguments.parse(words, options="-of_objects")
        (port,) = self.tcl.split(given.options["-of_objects"])
        name = port.removeprefix("port ")
        if name not in self.periods_ns:
            raise ValueError(f"{name} clocks nothing")
        return (f"clock {name}",)

    def get_property(self, *words: str) -> str:
        """The period of a clock."""
        given = Arguments.parse(words, flags="-min")
        name, clock = given.rest
        if name != "PERIOD" or not given.flags:
            raise ValueError("only -min PERIOD is known")
        (clock,) = self.tcl.split(clock)
        return str(self.periods_ns[clock.removeprefix("clock ")])

    def get_cells(self, *words: str) -> tuple[str, ...]:
        """The register of a name."""
        (name,) = Arguments.parse(words, flags="-quiet").rest
        match = CELL.fullmatch(name)
        if match is None:
            raise ValueError(f"{name} is not the whole name of a register")
        register = self.nets.registers.get(match[1])
        if register is None:
            raise ValueError(f"the RTL has no register {match[1]}")
        indexes = re.findall(r"\[(.*?)\]", match[2])
        if len(indexes) != len(register.dimensions):
            raise ValueError(f"{match[1]} has {len(register.dimensions)} dimensions")
        for index, size in zip(indexes, register.dimensions, strict=True):
            if index != "*" and int(index) >= size:
                raise ValueError(f"{name}: {size} elements")
        return (match[1],)

    def get_pins(self, name: str) -> tuple[str, ...]:
        """The data input of a register."""
        cell, _, pin = name.rpartition("/")
        if pin != "D":
            raise ValueError(f"{name} is not the input D of a register")
        return self.get_cells(cell)

    def all_fanin(self, *words: str) -> tuple[str, ...]:
        """What a pin hangs on."""
        given = Arguments.parse(words, flags="-flat -startpoints_only")
        if len(given.flags) != 2:
            raise ValueError("-flat and -startpoints_only are needed")
        (pins,) = given.rest
        return tuple(f"fanin {p}" for p in self.tcl.split(pins))

    def constrain(self, kind: str, words: tuple[str, ...]) -> None:
        """Keep a constraint."""
        given = Arguments.parse(words, flags="-datapath_only -quiet", options="-from -to")
        if (kind == "set_max_delay") != ("-datapath_only" in given.flags):
            raise ValueError("-datapath_only belongs to set_max_delay")
        (limit,) = given.rest
        ends = [self.tcl.split(given.options[o]) for o in ("-from", "-to")]
        if not all(ends):
            raise ValueError("a constraint without a source or a target")
        self.found.append(Constraint(kind, *ends, float(limit)))


def instance(nets: Netlist, path: str) -> str:
    """Path of the innermost instance that a register is in; empty in the top."""
    while path := path.rpartition("/")[0]:
        if path in nets.modules:
            return path
    return ""


def owner(nets: Netlist, crossing: Crossing) -> str:
    """Path of the innermost instance that contains both ends of a crossing."""
    inner, path = instance(nets, crossing.source.path), crossing.target.path
    while path := instance(nets, path):
        if f"{inner}/".startswith(f"{path}/"):
            return path
    return ""


@cache
def cells() -> list[str]:
    """The clock-crossing cells of rtl/lib/cdc: the synchroniser, and what has crossings itself."""
    found = []
    for path in sorted(CELLS.glob("*.sv")):
        nets = netlist(elaborate(path.stem, {}))
        if path.stem == SYNCHRONISER or any(not owner(nets, c) for c in nets.crossings()):
            found.append(path.stem)
    return found


def _is_safe(nets: Netlist, crossing: Crossing) -> bool:
    """Whether a path ends in a synchroniser, or begins in a memory."""
    is_memory = len(crossing.source.dimensions) > 1
    return is_memory or nets.modules.get(instance(nets, crossing.target.path)) == SYNCHRONISER


def _required(nets: Netlist, crossing: Crossing, periods_ns: dict[str, float]) -> dict[str, float]:
    """The constraints that a crossing needs, each with its limit."""
    to_ns = periods_ns[crossing.to_clock]
    limit_ns = min(to_ns, periods_ns[crossing.from_clock])
    if nets.modules.get(instance(nets, crossing.target.path)) != SYNCHRONISER:
        # From a memory: the pointer that names the word has taken two edges of the target's clock.
        return {"set_max_delay": to_ns}
    is_bus = crossing.source.dimensions not in ((), (1,))
    return {"set_max_delay": limit_ns} | ({"set_bus_skew": limit_ns} if is_bus else {})


def _cell(name: str) -> tuple[Netlist, set[str]]:
    """Registers and inputs of a cell; the design itself does not outlive the call."""
    design = elaborate(name, {})
    return netlist(design), {p.name for p in design.ports if p.is_input}


def _shown(nets: Netlist, clocks: list[str]) -> list[tuple[str, str]]:
    """Registers at outputs of another clock: `to_data_o` is read in the clock `to_clk_i`."""
    found = []
    for output in nets.outputs:
        clock = output.split("_")[0] + "_clk_i"
        registers = nets.sources(output) & nets.clocks.keys() if clock in clocks else ()
        found += [(r, clock) for r in registers if nets.root(nets.clocks[r]) != clock]
    return found


def problems(cell: str, text: str) -> list[str]:
    """What is wrong in the constraints of a cell, with the clocks one way round and the other."""
    nets, inputs = _cell(cell)
    clocks = sorted({nets.root(c) for c in nets.clocks.values()})
    wrong = []
    for order in (clocks, clocks[::-1]):
        periods_ns = {clock: 3.0 + n for n, clock in enumerate(order)}
        xdc = Xdc(nets, inputs, periods_ns)
        xdc.tcl.run(text)
        own = [c for c in nets.crossings() if not owner(nets, c)]
        for crossing in own:
            name = f"{crossing.source.path} -> {crossing.target.path}"
            if not _is_safe(nets, crossing):
                wrong.append(f"{name}: neither a synchroniser nor a memory")
            for kind, limit_ns in _required(nets, crossing, periods_ns).items():
                limits = [c.limit_ns for c in xdc.found if c.kind == kind and c.covers(crossing)]
                if limits != [limit_ns]:
                    wrong.append(f"{name}: {kind} of {limit_ns} ns wanted, {limits} found")
        if cell == SYNCHRONISER:
            wanted = Constraint(
                "set_max_delay", ("fanin meta_q",), ("meta_q",), periods_ns["clk_i"]
            )
            wrong += [] if xdc.found == [wanted] else [f"{xdc.found} instead of {wanted}"]
        else:
            needed = [
                Constraint("set_max_delay", (source,), (f"clock {clock}",), periods_ns[clock])
                for source, clock in _shown(nets, clocks)
            ]
            wrong += [f"{c} is missing" for c in needed if c not in xdc.found]
            for constraint in xdc.found:
                if constraint not in needed and not any(constraint.covers(c) for c in own):
                    wrong.append(f"{constraint} is on no crossing")
    return wrong


@cache
def exports(cell: str) -> frozenset[str]:
    """The registers of a cell whose constraints reach all registers of another clock."""
    nets, inputs = _cell(cell)
    periods_ns = dict.fromkeys((nets.root(c) for c in nets.clocks.values()), 1.0)
    xdc = Xdc(nets, inputs, periods_ns)
    xdc.tcl.run((FOLDER / f"{cell}.xdc").read_text())
    return frozenset(s for c in xdc.found if c.targets[0].startswith("clock ") for s in c.sources)


def strays(nets: Netlist) -> list[Crossing]:
    """The crossings of a design that no cell of rtl/lib/cdc constrains.

    A cell constrains what is within it, and from what it exports. One bit may end in a
    synchroniser anywhere.
    """
    found = []
    for crossing in nets.crossings():
        inside = instance(nets, crossing.source.path)
        cell = nets.modules.get(inside, "")
        name = crossing.source.path.removeprefix(f"{inside}/")
        is_within = nets.modules.get(owner(nets, crossing), nets.top) in cells()
        is_within = is_within and _is_safe(nets, crossing)
        is_exported = cell in cells() and name in exports(cell)
        end = nets.modules.get(instance(nets, crossing.target.path))
        is_bit = end == SYNCHRONISER and crossing.source.dimensions in ((), (1,))
        if not (is_within or is_exported or is_bit):
            found.append(crossing)
    return found

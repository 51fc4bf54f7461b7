"""Registers of an elaborated design, and the paths between registers of different clocks.

A variable is a register if an always_ff writes it. What a register hangs on is found through
assigns, always_comb and ports, variable by variable: a path between two variables counts even where
their bits have nothing to do with each other.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from design import Design
from pyslang import ast


@dataclass(frozen=True)
class Register:
    """A register: its path below the top, with slashes, and the shape of the variable."""

    path: str
    dimensions: tuple[int, ...]  # elements of each dimension; none for a scalar


@dataclass(frozen=True)
class Crossing:
    """A path between registers of two clocks; the clocks are inputs of the top."""

    source: Register
    target: Register
    from_clock: str
    to_clock: str


def _names(node: object) -> list[ast.ValueSymbol]:
    """The variables that are named in an expression or a statement."""
    found = []

    def visit(part: object) -> None:
        if isinstance(part, ast.NamedValueExpression):
            found.append(part.symbol)

    if node is not None:
        node.visit(visit)
    return found


def _assignments(block: ast.Statement) -> list[tuple[ast.Expression, list[ast.ValueSymbol]]]:
    """The left sides of a block, each with the variables that it hangs on.

    A condition anywhere in the block counts for all of them.
    """
    found, conditions = [], []

    def visit(part: object) -> None:
        if isinstance(part, ast.AssignmentExpression):
            found.append(part)
        elif isinstance(part, ast.ConditionalStatement):
            for condition in part.conditions:
                conditions.extend(_names(condition.expr))
        elif isinstance(part, ast.CaseStatement):
            conditions.extend(_names(part.expr))

    block.visit(visit)
    return [(a.left, _names(a.right) + _names(a.left) + conditions) for a in found]


def _targets(left: ast.Expression) -> list[ast.ValueSymbol]:
    """The variables of a left side, without those that only choose a part of it."""
    if isinstance(left, ast.ConcatenationExpression):
        return [s for part in left.operands for s in _targets(part)]
    while not isinstance(left, ast.NamedValueExpression):
        if not hasattr(left, "value"):
            return []
        left = left.value
    return [left.symbol]


def _dimensions(symbol: ast.ValueSymbol) -> tuple[int, ...]:
    kind, sizes = symbol.type.canonicalType, []
    while kind.isArray:
        sizes.append(kind.range.width)
        kind = kind.arrayElementType.canonicalType
    return tuple(sizes)


@dataclass
class Netlist:
    """Who writes each variable, by its path."""

    top: str
    modules: dict[str, str] = field(default_factory=dict)  # module of each instance, by its path
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of what is written
    clocks: dict[str, str] = field(default_factory=dict)  # of each register, a variable
    reads: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    outputs: list[str] = field(default_factory=list)  # of the top

    def path(self, symbol: ast.Symbol) -> str:
        """Path below the top, with slashes as Vivado has them."""
        return symbol.hierarchicalPath.removeprefix(self.top + ".").replace(".", "/")

    def join(self, targets: list[ast.ValueSymbol], sources: list[ast.ValueSymbol]) -> None:
        """Let each target hang on each source."""
        for target in targets:
            self.shapes[self.path(target)] = _dimensions(target)
            self.reads[self.path(target)] |= {self.path(s) for s in sources}

    def add(self, symbol: object) -> ast.VisitAction:
        """Take one member of a scope, but no branch of a generate that is not chosen."""
        if isinstance(symbol, ast.GenerateBlockSymbol) and symbol.isUninstantiated:
            return ast.VisitAction.Skip
        if isinstance(symbol, ast.ContinuousAssignSymbol):
            assignment = symbol.assignment
            self.join(_targets(assignment.left), _names(assignment.right))
        elif isinstance(symbol, ast.ProceduralBlockSymbol):
            self.add_block(symbol)
        elif isinstance(symbol, ast.InstanceSymbol):
            self.modules[self.path(symbol)] = symbol.definition.name
            for connection in symbol.portConnections:
                self.connect(connection)
        return ast.VisitAction.Advance

    def add_block(self, block: ast.ProceduralBlockSymbol) -> None:
        """Take an always block."""
        is_clocked = block.procedureKind == ast.ProceduralBlockKind.AlwaysFF
        if not is_clocked and block.procedureKind != ast.ProceduralBlockKind.AlwaysComb:
            return
        for left, sources in _assignments(block.body):
            targets = _targets(left)
            self.join(targets, sources)
            if is_clocked:
                (clock,) = _names(block.body.timing.expr)
                self.clocks |= {self.path(target): self.path(clock) for target in targets}

    def connect(self, connection: ast.PortConnection) -> None:
        """Take a connection of an instance."""
        inner, expression = connection.port.internalSymbol, connection.expression
        if expression is None:
            return
        if connection.port.direction == ast.ArgumentDirection.In:
            self.join([inner], _names(expression))
        else:
            left = expression.left if isinstance(expression, ast.AssignmentExpression) else None
            self.join(_targets(left or expression), [inner])

    @cached_property
    def registers(self) -> dict[str, Register]:
        """All registers, by their paths."""
        return {p: Register(p, self.shapes[p]) for p in self.clocks}

    def root(self, path: str) -> str:
        """The input of the top, or the variable, that a clock comes from."""
        while self.reads.get(path):
            (path,) = self.reads[path]  # a clock is not made by logic
        return path

    def sources(self, path: str) -> set[str]:
        """The registers, and inputs of the top, that a register hangs on."""
        seen, todo, found = set(), list(self.reads[path]), set()
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in self.clocks or not self.reads.get(name):
                found.add(name)
            else:
                todo += self.reads[name]
        return found

    def crossings(self) -> list[Crossing]:
        """All paths between registers of two clocks."""
        found = []
        for path, clock in self.clocks.items():
            to_clock = self.root(clock)
            for source in sorted(self.sources(path) & self.clocks.keys()):
                from_clock = self.root(self.clocks[source])
                if from_clock != to_clock:
                    pair = self.registers[source], self.registers[path]
                    found.append(Crossing(*pair, from_clock, to_clock))
        return found


def netlist(design: Design) -> Netlist:
    """Registers and dependencies of a design."""
    found = Netlist(design.name, outputs=[p.name for p in design.ports if not p.is_input])
    design.body.visit(found.add)
    return found

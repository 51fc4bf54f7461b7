"""Ports, parameters and hierarchy of the RTL, as slang elaborates it."""

import atexit
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyslang
from pyslang import ast, syntax

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "rtl"))

import sources  # noqa: E402

Value = int | str


@dataclass(frozen=True)
class Port:
    """A port: its width in bits, and its range as the source writes it, without brackets."""

    name: str
    is_input: bool
    bits: int
    range_text: str
    fields: tuple[tuple[str, int, int], ...]  # of a struct: name, bits, lowest bit


@dataclass(frozen=True)
class Parameter:
    """A parameter with its value; `plain` is one that Verilog can state: a number or a string."""

    name: str
    value: Value
    is_plain: bool


@dataclass(frozen=True)
class Design:
    """An elaborated module."""

    name: str
    ports: tuple[Port, ...]
    parameters: tuple[Parameter, ...]
    body: ast.InstanceBodySymbol
    compilation: ast.Compilation  # owns `body`


def _range(text: str) -> str:
    """The text between the brackets of a packed vector; empty where there are none or several."""
    _, found, last = text.partition("[")
    return last.strip().removesuffix("]").replace(" ", "") if found and "[" not in last else ""


def _port(symbol: ast.PortSymbol) -> Port:
    kind = symbol.type.canonicalType
    if symbol.direction not in (ast.ArgumentDirection.In, ast.ArgumentDirection.Out):
        raise ValueError(f"{symbol.name}: neither input nor output")
    fields = ()
    if kind.isStruct:
        fields = tuple((f.name, f.type.bitWidth, f.bitOffset) for f in kind)
    written = str(symbol.internalSymbol.declaredType.typeSyntax or "")
    is_input = symbol.direction == ast.ArgumentDirection.In
    return Port(symbol.name, is_input, kind.bitWidth, _range(written), fields)


def _parameter(symbol: ast.ParameterSymbol) -> Parameter:
    value = symbol.value.value
    if '"' in str(symbol.syntax):
        text = value if isinstance(value, str) else int(value).to_bytes(64).strip(b"\0").decode()
        return Parameter(symbol.name, text, True)
    if symbol.type.canonicalType.isIntegral and symbol.type.bitWidth <= 32:
        return Parameter(symbol.name, int(value), True)
    return Parameter(symbol.name, str(symbol.value), False)


@cache
def _trees(extra: tuple[Path, ...]) -> list[syntax.SyntaxTree]:
    paths = [ROOT / p for p in (*sources.packages(), *sources.modules())]
    return [syntax.SyntaxTree.fromFile(str(p)) for p in (*paths, *extra)]


# Trees that outlive the interpreter are reported as leaks.
atexit.register(_trees.cache_clear)


def elaborate(top: str, values: dict[str, Value], extra: tuple[Path, ...] = ()) -> Design:
    """Elaborate a module of rtl/, or of the files `extra`, with these parameters."""
    options = ast.CompilationOptions()
    options.topModules = {top}
    # rtl/lint.py and the simulators judge the order; here every expression is to be readable.
    options.flags = ast.CompilationFlags.AllowUseBeforeDeclare
    options.paramOverrides = [
        f'{name}="{value}"' if isinstance(value, str) else f"{name}={value}"
        for name, value in values.items()
    ]
    compilation = ast.Compilation(pyslang.Bag([options]))
    for tree in _trees(extra):
        compilation.addSyntaxTree(tree)
    tops = compilation.getRoot().topInstances
    if not tops:
        raise ValueError(f"no module is called {top}")
    body = tops[0].body
    known = {p.name for p in body.parameters}
    if values.keys() - known:
        raise ValueError(f"{top} has no parameter {', '.join(sorted(values.keys() - known))}")
    return Design(
        top,
        tuple(_port(p) for p in body.portList),
        tuple(_parameter(p) for p in body.parameters if not p.isLocalParam),
        body,
        compilation,
    )


def files(top: str) -> list[Path]:
    """The packages, and the files of all modules that one may contain, whatever its parameters."""
    found = [top]
    for name in found:
        tree = syntax.SyntaxTree.fromFile(str(ROOT / sources.path(name)))

        def visit(node: object) -> None:
            if isinstance(node, syntax.HierarchyInstantiationSyntax):
                inner = node.type.valueText
                found.extend([inner] if inner not in found else [])

        tree.root.visit(visit)
    return sources.files(sorted(found))


def complaints(design: Design, path: Path) -> list[str]:
    """What slang reports in one file, warnings too, a line each."""
    manager = design.compilation.sourceManager
    engine = pyslang.DiagnosticEngine(manager)
    return [
        engine.formatMessage(d)
        for d in design.compilation.getAllDiagnostics()
        if Path(manager.getFileName(d.location)).name == path.name
    ]

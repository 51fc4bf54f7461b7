"""Finds functions that read signals by name where a simulator follows only their arguments.

A continuous assignment is evaluated when a signal in it changes. What a function called in it reads
besides its arguments is no such signal, so an event-driven simulator keeps the old value. The
standard makes always_comb follow these too, but not every simulator does.
"""

from pyslang import ast

COMBINATIONAL = (ast.ProceduralBlockKind.AlwaysComb, ast.ProceduralBlockKind.AlwaysLatch)
SIGNALS = (ast.SymbolKind.Variable, ast.SymbolKind.Net)


def hidden_reads(compilation: ast.Compilation) -> list[str]:
    """Describes each such call."""
    found: list[str] = []
    seen: set[str] = set()

    def visit(node: object) -> ast.VisitAction:
        if isinstance(node, ast.InstanceSymbol):
            name = node.definition.name + str(node.body.location)
            if name in seen:
                return ast.VisitAction.Skip
            seen.add(name)
        if isinstance(node, ast.ContinuousAssignSymbol):
            look(node.assignment)
        if isinstance(node, ast.ProceduralBlockSymbol) and node.procedureKind in COMBINATIONAL:
            look(node.body)
        return ast.VisitAction.Advance

    def look(root: ast.Expression | ast.Statement) -> None:
        for call in calls(root):
            names = reads(call.subroutine)
            if names:
                where = compilation.sourceManager
                at = call.sourceRange.start
                file, line = where.getFileName(at), where.getLineNumber(at)
                found.append(f"{file}:{line}: {call.subroutineName} reads {', '.join(names)}")

    compilation.getRoot().visit(visit)
    return found


def calls(root: ast.Expression | ast.Statement) -> list[ast.CallExpression]:
    """Calls of the design's own functions."""
    found = []

    def visit(node: object) -> ast.VisitAction:
        if isinstance(node, ast.CallExpression) and isinstance(
            node.subroutine, ast.SubroutineSymbol
        ):
            found.append(node)
        return ast.VisitAction.Advance

    root.visit(visit)
    return found


def reads(function: ast.SubroutineSymbol) -> list[str]:
    """Signals outside of the function that it, or one that it calls, reads or writes."""
    own = function.hierarchicalPath + "."
    names = set()

    def visit(node: object) -> ast.VisitAction:
        is_signal = isinstance(node, ast.NamedValueExpression) and node.symbol.kind in SIGNALS
        if is_signal and not node.symbol.hierarchicalPath.startswith(own):
            names.add(node.symbol.name)
        return ast.VisitAction.Advance

    function.body.visit(visit)
    for call in calls(function.body):
        names.update(reads(call.subroutine))
    return sorted(names)

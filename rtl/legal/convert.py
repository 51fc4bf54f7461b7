"""Rewrites the RTL for Icarus 11, whose SystemVerilog has no struct ports and few casts.

Types become vectors, members their part selects and enumerators constants. Functions and processes
stay as they are: what an event-driven simulator would do wrong with them, it still does.
"""

import re

from pyslang.syntax import SyntaxKind as Kind
from pyslang.syntax import SyntaxNode, SyntaxTree

NESTED = re.compile(r"function automatic [^;(]*?(\w+)\(.*?endfunction", re.S)


class Type:
    """A vector, and the members of a struct with their offsets; widths are expressions."""

    def __init__(self, width: str, members: dict[str, tuple[str, "Type"]] | None = None) -> None:
        self.width = width
        self.members = members or {}

    def vector(self) -> str:
        return f"logic [{number(f'{self.width}-1')}:0]"


def number(expression: str) -> str:
    """A constant expression as a number, if it has no names."""
    # Nothing but digits and operators.
    if re.fullmatch(r"[\d+\-*() ]+", expression):
        return str(eval(expression))
    return f"({expression})"


def text(node: object) -> str:
    """The text of a node, without the comments before it."""
    return re.sub(r"//[^\n]*", "", str(node)).strip()


def nodes(root: SyntaxNode, *kinds: Kind) -> list[SyntaxNode]:
    """The nodes of these kinds, an outer one before those within it."""
    found = []

    def visit(node: object) -> bool:
        if getattr(node, "kind", None) in kinds:
            found.append(node)
        return True

    root.visit(visit)
    return found


class Converter:
    """Converts files in order: each sees the types of the packages before it."""

    def __init__(self) -> None:
        self.types: dict[str, Type] = {}
        self.constants: dict[str, Type] = {}

    def convert(self, source: str) -> str:
        """The text of one file."""
        root = SyntaxTree.fromText(source).root
        self.local: dict[str, Type] = {}
        self.edits: list[tuple[int, int, str]] = []
        for node in nodes(root, Kind.TypedefDeclaration):
            self.typedef(node)
        variables = self.variables(root)
        for package in nodes(root, Kind.PackageDeclaration):
            name = text(package.header.name)
            self.types.update({f"{name}::{key}": t for key, t in self.local.items()})
            self.constants.update({f"{name}::{key}": t for key, t in variables.items()})
        for node in nodes(root, Kind.NamedType):
            if found := self.type(text(node)):
                self.replace(node, found.vector())
        for node in nodes(root, Kind.CastExpression):
            if found := self.type(text(node.left)):
                self.replace(node.left, number(found.width))
        for node in nodes(root, Kind.ScopedName):
            self.member(node, {**self.constants, **variables})
        for node in nodes(root, Kind.InvocationExpression):
            name = re.fullmatch(r"\$bits\((.+)\)", text(node))
            if name and (found := variables.get(name[1]) or self.type(name[1])):
                self.replace(node, number(found.width))
        return collisions(finish(self.apply(source)))

    def replace(self, node: SyntaxNode, new: str) -> None:
        span = node.sourceRange
        self.edits.append((span.start.offset, span.end.offset, new))

    def apply(self, source: str) -> str:
        """The text with all edits; one within another is dropped."""
        parts, at = [], 0
        for start, end, new in sorted(self.edits, key=lambda e: (e[0], -e[1])):
            if start >= at:
                parts += [source[at:start], new]
                at = end
        return "".join([*parts, source[at:]])

    def type(self, name: str) -> Type | None:
        return self.local.get(name) or self.types.get(name)

    def width(self, node: SyntaxNode) -> Type:
        """The type of a member or typedef, from its syntax."""
        if node.kind == Kind.NamedType:
            if found := self.type(text(node)):
                return found
            raise ValueError(f"unknown type {text(node)}")
        sizes = [re.fullmatch(r"\[(.+):\s*0\]", text(d)) for d in node.dimensions]
        if not sizes:
            return Type("1")
        if len(sizes) != 1 or sizes[0] is None:
            raise ValueError(f"not a vector down to bit 0: {text(node)}")
        return Type(number(f"{sizes[0][1].strip()}+1"))

    def typedef(self, node: SyntaxNode) -> None:
        name, of = text(node.name), node.type
        if of.kind == Kind.StructType:
            fields = [(text(d.name), self.width(m.type)) for m in of.members for d in m.declarators]
            offset, members = "0", {}
            for field, kind in reversed([f for f in fields if f[0] != ","]):
                members[field] = (offset, kind)
                offset = number(f"{offset}+{kind.width}")
            self.local[name] = Type(offset, members)
            self.replace(node, "")
        elif of.kind == Kind.EnumType:
            kind = self.local[name] = self.width(of.baseType)
            constants, after = [], "0"
            for member in (m for m in of.members if text(m) != ","):
                value = text(member.initializer.expr) if member.initializer else after
                constants.append(f"{text(member.name)} = {value}")
                after = f"{text(member.name)}+1"
            self.replace(node, f"localparam {kind.vector()} {', '.join(constants)};")
        else:
            self.local[name] = self.width(of)
            self.replace(node, "")

    def variables(self, root: SyntaxNode) -> dict[str, Type]:
        """Variables, ports and arguments that are structs."""
        found = {}

        def note(kind: object, name: object) -> None:
            known = self.type(text(kind))
            if known and known.members:
                found[text(name)] = known

        for node in nodes(root, Kind.DataDeclaration, Kind.ParameterDeclaration):
            for declarator in node.declarators:
                if hasattr(declarator, "name"):
                    note(node.type, declarator.name)
        for node in nodes(root, Kind.ImplicitAnsiPort):
            kind = getattr(node.header, "dataType", None)
            note(kind, node.declarator.name)
        for node in nodes(root, Kind.FunctionPort):
            note(node.dataType, node.declarator.name)
        return found

    def member(self, node: SyntaxNode, variables: dict[str, Type]) -> None:
        """`variable.member.member[select]` as a select of the variable's bits."""
        base, *names = text(node).split("[")[0].split(".")
        if not names or base not in variables:
            return
        offset, kind = "0", variables[base]
        for name in names:
            step, kind = kind.members[name.strip()]
            offset = number(f"{offset}+{step}")
        select = text(node)[len(text(node).split("[")[0]) :]
        if not select:
            high = number(f"{offset}+{kind.width}-1")
            bits = f"{high}:{offset}" if high != offset else offset
            self.replace(node, f"{base}[{bits}]")
        elif re.fullmatch(r"\[[^\[\]]+\]", select):
            self.replace(node, f"{base}[{moved(select[1:-1], offset)}]")
        else:
            raise ValueError(f"a select of a select: {text(node)}")


def moved(select: str, offset: str) -> str:
    """The inside of a select, from a member's bit 0 on."""
    if "+:" in select:
        low, size = select.split("+:")
        return f"{number(f'{offset}+({low})')}+:{size}"
    # `::` is within a name.
    ends = re.split(r"(?<!:):(?!:)", select)
    return ":".join(number(f"{offset}+({end})") for end in ends)


def finish(source: str) -> str:
    """What needs no types: parameters, elaboration checks, functions for constants."""
    source = re.sub(r"\b(parameter|localparam)(\s+)int unsigned\b", r"\1\2logic [31:0]", source)
    source = re.sub(r"^(\s*)\$error\(", r"\1initial $error(", source, flags=re.M)
    # A constant's function may call no other: such a constant becomes a variable.
    bodies = {m[1]: m[0] for m in NESTED.finditer(source)}
    nested = [n for n, body in bodies.items() if calls(body, bodies.keys() - {n})]
    if nested:
        pattern = rf"localparam (logic [^=;]*=\s*(?:{'|'.join(nested)})\()"
        source = re.sub(pattern, r"\1", source)
    # Icarus 11 does not follow elements of arrays in a module that has an automatic function.
    return source.replace("function automatic", "function")


def calls(body: str, names: set[str]) -> bool:
    """Whether a function's text calls one of these functions, or one of a package."""
    return any(re.search(rf"{name}\(", body) for name in [r"::\w+", *(rf"\b{n}" for n in names)])


def collisions(source: str) -> str:
    """A word that is about to be written is X until then, in a memory with `no_rw_check`."""
    memories = re.findall(r"no_rw_check[^;]*?(\w+)\[[^\]]+\];", source)
    if not memories:
        return source
    words = rf"(?:{'|'.join(memories)})\[.*\]"
    pattern = rf"^ *(?:always\w* @\(.*?\) )?((?:for \(.*\) begin\s+)?(?:if \(.*\)\s+)?{words}) <= "
    writes = [w.replace("begin", "") for w in re.findall(pattern, source, flags=re.M)]
    for write in writes:
        name = re.search(r"(\w+)\[.*\]$", write)[1]
        # A memory of a generate block is seen there alone.
        place = rf"^    +logic .*\b{name}\[.*\];$"
        spoil = f"  always @(negedge clk_i) {write} = 'x;\n"
        if re.search(place, source, flags=re.M):
            source = re.sub(place, lambda m, s=spoil: f"{m[0]}\n{s}", source, flags=re.M)
        else:
            source = re.sub(r"^endmodule", lambda m, s=spoil: s + m[0], source, flags=re.M)
    return source

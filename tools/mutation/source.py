"""Mutants in the text of a Rust file: one alone, or many, of which one runs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mutation.draw import Mutant, Position

CHOICE = "crate::mutant()"
"""The number of the mutant that runs; 0 is none."""
CHOICE_SOURCE = """
/// Number of the mutant that runs; 0 is none.
pub(crate) fn mutant() -> u32 {
    static NUMBER: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
        std::env::var("SAMPLEWIRE_MUTANT").ok().and_then(|it| it.parse().ok()).unwrap_or(0)
    });
    *NUMBER
}
"""
CONST_FN = re.compile(r"\bconst (?=(?:unsafe )?fn (\w+))")
TOKEN = re.compile(
    r"""
    //[^\n]* | /\*.*?\*/ | b?r(?P<hashes>\#*)".*?"(?P=hashes)
    | b?"(?:\\.|[^"\\])*" | b?'(?:\\.[^']*|[^'\\])' | .
    """,
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True)
class Arm:
    """Where the changed copy of a function is."""

    mutant: Mutant
    line_first: int
    line_last: int


def alone(text: str, mutant: Mutant) -> str:
    """The text with this change."""
    start, end = offset(text, mutant.start), offset(text, mutant.end)
    return text[:start] + mutant.replacement + text[end:]


def together(text: str, mutants: dict[int, Mutant]) -> tuple[str, list[Arm]]:
    """The text with all these changes, by number, and where each is.

    The body of a function becomes a `match` on the number of the mutant that runs: an arm for each
    mutant, with a copy of the body that has the change, and one with the body as it was.
    """
    pieces: list[str] = []
    arms = []
    line = 1
    done = 0

    def add(piece: str) -> None:
        nonlocal line
        pieces.append(piece)
        line += piece.count("\n")

    for (start, end), inside in functions(text, mutants):
        opening = body(text, start)
        add(f"{text[done:opening]}{{ match {CHOICE} {{\n")
        for number, mutant in inside:
            first = line
            left, right = offset(text, mutant.start), offset(text, mutant.end)
            changed = text[opening:left] + mutant.replacement + text[right:end]
            add(f"{number}u32 => {changed}\n")
            arms.append(Arm(mutant, first, line - 1))
        add(f"_ => {text[opening:end]}\n}} }}")
        done = end
    add(text[done:])
    return "".join(pieces), arms


def functions(
    text: str, mutants: dict[int, Mutant]
) -> Iterator[tuple[tuple[int, int], list[tuple[int, Mutant]]]]:
    """Outermost functions that have mutants, from where to where, and the mutants of each."""
    spans: dict[tuple[int, int], list[tuple[int, Mutant]]] = {}
    for number, it in mutants.items():
        assert it.function, it.name
        span = offset(text, it.function[0]), offset(text, it.function[1])
        spans.setdefault(span, []).append((number, it))
    last: tuple[int, int] | None = None
    grouped: list[tuple[tuple[int, int], list[tuple[int, Mutant]]]] = []
    for span in sorted(spans, key=lambda it: (it[0], -it[1])):
        if last and span[1] <= last[1]:
            grouped[-1][1].extend(spans[span])
        else:
            last = span
            grouped.append((span, spans[span]))
    yield from grouped


def body(text: str, start: int) -> int:
    """Where the body of the function that starts there opens."""
    depth = 0
    for token in TOKEN.finditer(text, start):
        if token[0] in "([":
            depth += 1
        elif token[0] in ")]":
            depth -= 1
        elif token[0] == "{" and depth == 0:
            return token.start()
    raise ValueError(f"no body after {text[start : start + 40]!r}")


def without_const(text: str, kept: set[str]) -> str:
    """Functions as if they were not `const`, apart from those that have to be.

    Which mutant runs is not known when a constant is computed.
    """
    return CONST_FN.sub(lambda it: it[0] if it[1] in kept else " " * len(it[0]), text)


def is_const(text: str, mutant: Mutant, kept: set[str]) -> bool:
    """Whether the mutant is in what is computed when the program is compiled."""
    if not mutant.function:
        return True
    start = offset(text, mutant.function[0])
    match = CONST_FN.search(text, start, body(text, start))
    return match is not None and match[1] in kept


def offset(text: str, position: Position) -> int:
    """How many characters are before this place."""
    line, column = position
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    return start + column - 1

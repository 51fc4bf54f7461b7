"""Draws mutants from the text of SystemVerilog modules.

A mutant is one small change: an operator exchanged, a condition or a value negated, a reset
dropped, a constant off by one, a register cut by its top bit. A seed and each mutant's name alone
decide the order of a draw, so code that is added or moved changes the place of no other mutant.

    python3 rtl/formal/mutate.py SEED COUNT MODULE...     lists a draw
"""

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "rtl"))

import sources as tree  # noqa: E402

FLIPS = {
    "&&": "||", "||": "&&", "==": "!=", "!=": "==", "<": "<=", ">": ">=", "<=": "<", ">=": ">",
    "+": "-", "-": "+", "&": "|", "|": "&", "^": "|", "<<": ">>", ">>": "<<",
}  # fmt: skip
TOKEN = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "[^"\n]*" | `[^\n]* | \(\*.*?\*\)
    | \d+'[bdhs]+[0-9a-fA-F_]+ | '[01] | [A-Za-z_$][\w$]* | \d[\d_]*
    | \+\+ | -- | \+: | -: | === | !== | <<< | >>> | && | \|\| | == | != | <= | >= | << | >> | .""",
    re.DOTALL | re.VERBOSE,
)
DECLARES = ("logic", "input", "output", "parameter", "localparam", "typedef", "genvar", "import")
RESET = re.compile(
    r"if \((?:flush_i \|\| )?rst_i[^)]*\) begin(.*?)\n\s*end\b",
    re.DOTALL,
)
ASSIGNS = re.compile(r"\n\s*\w[\w.\[\]:-]*\s*<=[^;]*;")
RESETS_ONE = re.compile(r"if \(rst_i(?: \|\| flush_i)?\) (\w+\s*<=[^;]*);")
WIDTH = re.compile(r"\blogic \[(?P<high>[^\]:]+):0\]\s*\w+_q\b")


@dataclass(frozen=True)
class Change:
    """One mutant."""

    file: Path
    """From the repository's root."""
    start: int
    end: int
    replacement: str
    name: str
    """File and change. The line is left out: it moves when other code does."""
    line: int

    def applied(self, text: str) -> str:
        """The text of the file with the change."""
        return text[: self.start] + self.replacement + text[self.end :]


def _hidden(text: str) -> str:
    """The text without what only simulation or formal runs see; offsets stay."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    text = re.sub(r"`ifdef (?:FORMAL|SIMULATION).*?`endif", blank, text, flags=re.DOTALL)
    # What is decided at elaboration, and its checks.
    text = re.sub(r"\bif \([^;]*?\) begin : g_\w+", blank, text)
    return re.sub(r"\bfor \(genvar[^\n]*", blank, text)


def _changes(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and replacement of every change, in the order of their kinds."""
    shown = _hidden(text)
    body = shown.find("\n);")  # behind the ports
    depth, indexes, declares, statement = 0, 0, False, ""
    before = ""  # the token before, without space
    for match in TOKEN.finditer(shown):
        token, at = match[0], match.start()
        if token.isspace() or token[:2] in ("//", "/*", "(*") or token[0] in '"`':
            continue
        if before in (";", "begin", "end", ""):
            statement = token
            declares = token in DECLARES
        depth += (token in "([{") - (token in ")]}")
        indexes += (token == "[") - (token == "]")
        if at > body and not declares:
            is_comparison = token != "<=" or depth > 0 or statement == "assign"
            is_unary = not re.fullmatch(r"[\w$'\])}]+", before)
            is_place = token in "+-" and (indexes or is_unary)
            if token in FLIPS and is_comparison and not is_place:
                yield at, match.end(), FLIPS[token]
            if token == "!":
                yield at, match.end(), ""
            if sized := re.fullmatch(r"(\d+)'d(\d+)", token):
                more = (int(sized[2]) + 1) % (1 << int(sized[1]))
                yield at, match.end(), f"{sized[1]}'d{more}"
            if token in ("1'b0", "1'b1", "'0", "'1"):
                yield at, match.end(), token[:-1] + str(1 - int(token[-1]))
            if before == "if" and token == "(":
                yield at, match.end(), "(!"
        before = token
    for block in RESET.finditer(shown):
        for line in ASSIGNS.finditer(shown, block.start(1), block.end(1)):
            yield line.start(), line.end(), "\n"
    for one in RESETS_ONE.finditer(shown):
        yield one.start(1), one.end(1), ""
    for width in WIDTH.finditer(shown):
        if width.start() > body and width["high"].strip() not in ("0", "1"):
            yield width.start("high"), width.end("high"), f"({width['high']})-1"


def _negated(text: str, start: int, replacement: str) -> tuple[int, str]:
    """Of a condition that is to be negated: its end, and the whole of it."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at + 1, f"(!{text[start : at + 1]})"
    return start + 1, replacement


def changes(file: Path) -> list[Change]:
    """All mutants of a file, which is named from the repository's root."""
    text = (ROOT / file).read_text()
    counts: Counter[str] = Counter()
    found = []
    for start, end, replacement in _changes(text):
        if replacement == "(!":
            end, replacement = _negated(text, start, replacement)
        old = " ".join(text[start:end].split())
        line_start = text.rfind("\n", 0, start if text[start] != "\n" else start + 1) + 1
        where = " ".join(text[line_start : text.find("\n", end)].split())
        name = f"{file.stem}: {old or 'nothing'} -> {replacement.strip() or 'nothing'} in {where}"
        counts[name] += 1
        if counts[name] > 1:
            name += f" #{counts[name]}"
        found.append(
            Change(file, start, end, replacement, name, text.count("\n", 0, start + 1) + 1)
        )
    return found


def draw(files: list[Path], count: int | None, seed: str) -> list[Change]:
    """The first `count` of a draw from these files, or all in the draw's order."""

    def rank(change: Change) -> str:
        return hashlib.sha256(f"{seed}\n{change.name}".encode()).hexdigest()

    return sorted((c for file in files for c in changes(file)), key=rank)[:count]


if __name__ == "__main__":
    for drawn in draw([tree.path(m) for m in sys.argv[3:]], int(sys.argv[2]), sys.argv[1]):
        print(f"{drawn.file}:{drawn.line}: {drawn.name}")

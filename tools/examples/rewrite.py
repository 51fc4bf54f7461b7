"""Puts the output of a run into a page: its shape, which lines are left out and which fields
vary, stays."""

import re
from difflib import SequenceMatcher

import compare

ALIKE_MIN = 0.5
"""Below it two lines are different lines, and not one line with other words."""
TOKEN = re.compile(
    r"\b[0-9a-f]{16}\b|\b[0-9a-f]{8}\b|(?<!\S)/\S+|" + compare.ANY_NUMBER + "|[A-Za-z]+|#+| +|."
)
UNITS = ({"ns", "us", "ms", "s", "min"}, {"b", "kb", "Mb", "Gb"}, {"S", "kS", "MS"})
"""Words that stand for each other behind a number."""


def rewritten(
    expected: list[str], actual: list[str], varying: list[str]
) -> tuple[list[str], list[tuple[str, str]]]:
    """The lines for the page, and the old and the new text of each place of a varying field."""
    actual = [line.rstrip() for line in actual]
    places = _places(expected, actual)
    lines: list[str] = []
    fields: list[tuple[str, str]] = []
    next_at, is_left_out = 0, False
    for line, place in zip(expected, places, strict=True):
        if line == compare.ANY_LINES:
            lines.append(line)
            is_left_out = True
            continue
        if place is None:
            continue
        if not is_left_out:
            lines += actual[next_at:place]
        found = _fields(line, actual[place], varying)
        text = actual[place]
        for old, new in found:
            if compare.PATH.fullmatch(old):
                # Of the machine that runs it.
                text = text.replace(new, old)
        lines.append(text)
        fields += found
        next_at, is_left_out = place + 1, False
    if not is_left_out:
        lines += actual[next_at:]
    return lines, fields


def _places(expected: list[str], actual: list[str]) -> list[int | None]:
    """Which actual line each expected one has become, in order, so that they are most alike."""
    rows, columns = len(expected), len(actual)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for row in reversed(range(rows)):
        for column in reversed(range(columns)):
            best[row][column] = max(
                best[row + 1][column],
                best[row][column + 1],
                best[row + 1][column + 1] + _gain(expected[row], actual[column]),
            )
    places: list[int | None] = [None] * rows
    row = column = 0
    while row < rows and column < columns:
        gain = _gain(expected[row], actual[column])
        if gain and best[row][column] == best[row + 1][column + 1] + gain:
            places[row] = column
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1
    return places


def _gain(expected: str, actual: str) -> float:
    if expected == compare.ANY_LINES:
        return 0.0
    alike = compare.likeness(expected, actual)
    return alike if alike >= ALIKE_MIN else 0.0


def _fields(old: str, new: str, varying: list[str]) -> list[tuple[str, str]]:
    """The old and the new text of each varying field of a line."""
    before, after = _tokens(old), _tokens(new)
    alike = SequenceMatcher(
        None, [_kind(it) for it in before], [_kind(it) for it in after], autojunk=False
    )
    become = {
        block.a + step: after[block.b + step]
        for block in alike.get_matching_blocks()
        for step in range(block.size)
    }
    fields = []
    for first, end in compare.fields_of(old, varying):
        inside = [at for at, it in enumerate(before) if it.start() < end and it.end() > first]
        if inside[0] in become and inside[-1] in become:
            become_text = new[become[inside[0]].start() : become[inside[-1]].end()]
            fields.append((old[first:end], become_text))
    return fields


def _tokens(line: str) -> list[re.Match[str]]:
    return list(TOKEN.finditer(line))


def _kind(token: re.Match[str]) -> str:
    """Tokens of one kind stand for each other: any number for any other."""
    text = token[0]
    if compare.HEX.fullmatch(text):
        return "hex"
    if len(text) > 1 and text.startswith("/"):
        return "path"
    if text[0].isdigit():
        return "0"
    for number, words in enumerate(UNITS):
        if text in words:
            return f"unit {number}"
    return text[0] if text[0] in " #" else text

"""Compares the output in a page with that of a run, line by line.

Every character must be equal, except in the fields that the page lists as varying:

- their numbers may differ;
- a time, a rate or a size may have another prefix, such as `ms` for `us`;
- a field of 8 or 16 hexadecimal digits may have other digits, a path `/..` may be another one, and
  a bar of `#` may have another length;
- there may be more or fewer spaces beside a field.

A line `...` stands for any lines, or none.
"""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

ANY_LINES = "..."
ANY_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
NUMBER = re.compile(r"(?<![A-Za-z0-9_,])(?<!\d\.)" + ANY_NUMBER)
UNITS = [r"(?:ns|us|ms|s|min)", r"[kMGT]?b/s", r"[kMGT]?S/s", r"[kMGT]?B"]
"""A number's unit may be any of the row of its own."""
HEX = re.compile(r"(?=\d*[a-f])(?:[0-9a-f]{16}|[0-9a-f]{8})")
PATH = re.compile(r"/\S+")
BAR = re.compile(r"#+")


@dataclass(frozen=True)
class Mismatch:
    """The first line of the page that the run did not print, and what it printed there."""

    expected: str | None
    actual: str | None

    def __str__(self) -> str:
        if self.expected is None:
            return f"printed, and not in the page:\n    + {self.actual}"
        if self.actual is None:
            return f"not printed:\n    - {self.expected}"
        return f"differs:\n    - {self.expected}\n    + {self.actual}"


def mismatch(
    expected: list[str], actual: list[str], varying: list[str], *, is_whole: bool = True
) -> Mismatch | None:
    """Where the outputs differ. With `is_whole` false the actual one may go on."""
    reached = {0}
    for line in expected:
        if line == ANY_LINES:
            following = set(range(min(reached), len(actual) + 1))
        else:
            pattern = pattern_of(line, varying)
            following = {
                at + 1
                for at in reached
                if at < len(actual) and pattern.fullmatch(actual[at].rstrip())
            }
        if not following:
            return Mismatch(line, _nearest(line, actual[min(reached) : max(reached) + 1]))
        reached = following
    if is_whole and len(actual) not in reached:
        return Mismatch(None, actual[max(reached)])
    return None


def unused(expected: list[str], varying: list[str]) -> list[str]:
    """Varying fields that no line has."""
    return [name for name in varying if not any(fields_of(line, [name]) for line in expected)]


def fields_of(line: str, varying: list[str]) -> list[tuple[int, int]]:
    """Where in the line varying fields are, in order; of two that overlap, the longer."""
    found: list[tuple[int, int]] = []
    for name in sorted(varying, key=len, reverse=True):
        # No part of a longer number or word.
        before = r"(?<![\w,])(?<!\d\.)" if name[0].isalnum() else r"(?<!#)"
        after = r"(?!\w|[.,]\d)" if name[-1].isalnum() else r"(?!#)"
        for place in re.finditer(before + re.escape(name) + after, line):
            if all(place.end() <= first or place.start() >= end for first, end in found):
                found.append(place.span())
    return sorted(found)


def pattern_of(line: str, varying: list[str]) -> re.Pattern[str]:
    line = line.rstrip()
    pattern, at = "", 0
    for first, end in fields_of(line, varying):
        pattern += _between(line[at:first], is_after=at > 0, is_before=True)
        if BAR.fullmatch(line[first:end]) and pattern.endswith(" +"):
            # An empty bar leaves no spaces at the end of a line.
            pattern = pattern.removesuffix(" +") + "(?: +#+)?"
        else:
            pattern += _of_field(line[first:end])
        at = end
    pattern += _between(line[at:], is_after=at > 0, is_before=False)
    if at == len(line) and not line.endswith("#") and any(map(BAR.fullmatch, varying)):
        # In the page the bar is empty.
        pattern += "(?: +#+)?"
    return re.compile(pattern)


def _between(text: str, *, is_after: bool, is_before: bool) -> str:
    """Text between fields: its spaces at a field may be more or fewer."""
    if not text.strip(" "):
        return (" +" if is_after else " *") if text else ""
    inner = text.lstrip(" ") if is_after else text
    head = " +" if inner != text else ""
    core = inner.rstrip(" ") if is_before else inner
    tail = " +" if core != inner else ""
    return head + re.escape(core) + tail


def _of_field(text: str) -> str:
    if HEX.fullmatch(text):
        return f"[0-9a-f]{{{len(text)}}}"
    if PATH.fullmatch(text):
        return PATH.pattern
    if BAR.fullmatch(text):
        return "#+"
    pattern, at = "", 0
    for number in NUMBER.finditer(text):
        if number.start() < at:
            continue
        pattern += re.escape(text[at : number.start()]) + ANY_NUMBER
        at = number.end()
        for unit in UNITS:
            if found := re.compile(rf" {unit}(?![\w/])").match(text, at):
                pattern += f" {unit}"
                at = found.end()
                break
    return pattern + re.escape(text[at:])


def _nearest(line: str, candidates: list[str]) -> str | None:
    return max(candidates, key=lambda it: likeness(line, it), default=None)


def likeness(one: str, other: str) -> float:
    """From 0 to 1, whatever the numbers."""
    return SequenceMatcher(None, _words(one), _words(other), autojunk=False).ratio()


def _words(line: str) -> list[str]:
    return NUMBER.sub("0", line).split()

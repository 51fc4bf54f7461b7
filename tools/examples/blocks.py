"""The code blocks of a page, with the comments that say how to check them.

A block is indented by four spaces or fenced. `<!-- KEY -->` or `<!-- KEY: VALUE -->` before it:

- `varies: A; B`: fields of its output whose numbers may differ;
- `in another terminal`: its command keeps running, its output may go on;
- `output of: PROGRAM`: the block is the output of this program, whose source is the block before;
- `needs: A; B`: programs without which it is skipped;
- `setup: COMMAND`: runs first, not shown; with `&` at its end it keeps running;
- `stop`: everything that keeps running ends first;
- `not run: REASON`.

`setup` and `stop` may stand further up, the others stand directly before the block.
"""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches

PROMPT = "$ "
INDENT = "    "
COMMENT = re.compile(r"<!-- (?P<key>[^:]*?)(?:: (?P<value>.*))? -->")
WITH_VALUE = {"varies", "setup", "needs", "not run", "output of"}
BARE = {"stop", "in another terminal"}
EARLY = {"setup", "stop"}
"""What need not stand directly before its block."""
COMMAND_WORDS = ("samplewire ", "make ", "cargo ", "sudo ", "ip ", "python3 ", "pip ")


class PageError(Exception):
    """A page that cannot be checked, with the line."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"line {line + 1}: {text}")


@dataclass(frozen=True)
class Comment:
    """A comment for the checker, at a line of the page that counts from 0."""

    key: str
    value: str
    line: int


@dataclass(frozen=True)
class Command:
    """What a prompt shows: the command, and which lines of the block are its output."""

    text: str
    line: int
    output_first: int
    output_end: int


@dataclass
class Block:
    """Lines of a page without their indent; `first` is the first one's place in the page."""

    first: int
    lines: list[str]
    indent: str = ""
    language: str = ""
    comments: list[Comment] = field(default_factory=list)

    def values(self, key: str) -> list[str]:
        return [it.value for it in self.comments if it.key == key]

    def has(self, key: str) -> bool:
        return any(it.key == key for it in self.comments)

    def names(self, key: str) -> list[str]:
        """The parts of its values between semicolons."""
        parts = [part.strip() for value in self.values(key) for part in value.split(";")]
        return [part for part in parts if part]

    @property
    def varying(self) -> list[str]:
        return self.names("varies")

    @property
    def has_prompt(self) -> bool:
        return any(line.startswith(PROMPT) for line in self.lines)

    @property
    def has_bare_command(self) -> bool:
        return any(line.startswith(COMMAND_WORDS) for line in self.lines)

    def commands(self) -> list[Command]:
        """The commands in order; a line with a backslash at its end goes on in the next."""
        found: list[Command] = []
        if not self.has_prompt:
            return found
        at = 0
        while at < len(self.lines):
            if not self.lines[at].startswith(PROMPT):
                line = self.lines[at]
                if line and not found and not line.startswith("#"):
                    raise PageError(self.first + at, "output before the first command")
                at += 1
                continue
            first, text = at, self.lines[at].removeprefix(PROMPT)
            while text.endswith("\\") and at + 1 < len(self.lines):
                at += 1
                text = text[:-1] + self.lines[at].strip()
            at += 1
            end = at
            while end < len(self.lines) and not self.lines[end].startswith((PROMPT, "# ")):
                end += 1
            found.append(Command(text, first, at, _without_blank_end(self.lines, at, end)))
            at = end
        return found


def _without_blank_end(lines: list[str], first: int, end: int) -> int:
    while end > first and not lines[end - 1].strip():
        end -= 1
    return end


def parse(text: str) -> list[Block]:
    """The blocks of a page in order. Raises `PageError` for a comment that belongs to none."""
    lines = text.splitlines()
    blocks: list[Block] = []
    pending: list[Comment] = []
    at = 0
    is_paragraph = False
    while at < len(lines):
        line = lines[at]
        if found := COMMENT.fullmatch(line):
            pending += _comments(found, at)
            at += 1
            is_paragraph = False
        elif line.startswith("```"):
            end = next((it for it in range(at + 1, len(lines)) if lines[it] == "```"), None)
            if end is None:
                raise PageError(at, "a fence without an end")
            block = Block(at + 1, lines[at + 1 : end], "", line.removeprefix("```"), pending)
            blocks.append(block)
            pending, at, is_paragraph = [], end + 1, False
        elif line.startswith(INDENT) and not is_paragraph:
            end = at
            while end < len(lines) and (lines[end].startswith(INDENT) or not lines[end].strip()):
                end += 1
            end = _without_blank_end(lines, at, end)
            inner = [it.removeprefix(INDENT) for it in lines[at:end]]
            blocks.append(Block(at, inner, INDENT, "", pending))
            pending, at = [], end
        else:
            if line.strip() and (lost := [it for it in pending if it.key not in EARLY]):
                raise PageError(lost[0].line, f"`{lost[0].key}` stands before no block")
            is_paragraph = bool(line.strip()) and not line.startswith("#")
            at += 1
    if pending:
        raise PageError(pending[0].line, f"`{pending[0].key}` stands before no block")
    return blocks


def _comments(found: re.Match[str], line: int) -> list[Comment]:
    """One, or none where the comment is for others. Raises `PageError` for a slip of the pen."""
    key, value = found["key"], found["value"] or ""
    if key in WITH_VALUE | BARE and (key in WITH_VALUE) == bool(value):
        return [Comment(key, value, line)]
    if get_close_matches(key, WITH_VALUE | BARE):
        raise PageError(line, f"no comment that is known: {found[0]}")
    return []

"""Checks the blocks of one page, in order."""

import time
from dataclasses import dataclass, field
from pathlib import Path

import compare
import rewrite
from blocks import INDENT, Block, PageError, parse
from run import ADDRESS, RunError, Session

ROOT = Path(__file__).resolve().parents[2]
QUOTED = ("crates/*/examples/*.*", "crates/samplewire-ffi/tests/c/*.*")
"""Code that `cargo test` compiles."""
CODE = {"rust", "c", "cpp"}
FIGURES = {"text"}
"""Blocks that show bytes or a drawing, and no command."""
ELSEWHERE = {
    ("docs/runtime.md", "rust"): "cargo test -p samplewire --doc",
    ("docs/python.md", "python"): "python/tests/test_docs.py",
    ("README.md", "python"): "python/tests/test_docs.py",
}


@dataclass
class Result:
    """What was done with the blocks of a page."""

    page: str
    commands: int = 0
    outputs: int = 0
    elsewhere: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    rewritten: int = 0
    is_read: bool = False
    """Whether each block runs, stands elsewhere or gives a reason."""


@dataclass(frozen=True)
class Shown:
    """The output of one command: from line `first` of a block to before `end`; the command is at
    `line`."""

    line: int
    first: int
    end: int

    def of(self, block: Block) -> list[str]:
        return block.lines[self.first : self.end]


@dataclass
class New:
    """A block with the outputs of this run: places in its lines, and what comes there."""

    block: Block
    outputs: list[tuple[Shown, list[str]]] = field(default_factory=list)
    fields: list[tuple[str, str]] = field(default_factory=list)

    def lines(self) -> list[str]:
        lines = list(self.block.lines)
        for shown, output in sorted(self.outputs, key=lambda it: it[0].first, reverse=True):
            lines[shown.first : shown.end] = output
        return lines

    def varying(self) -> list[str]:
        """The fields as they read now, in their order; those that are gone are left out."""
        names = [
            name
            for old in self.block.varying
            for name in [*(new for was, new in self.fields if was == old), old]
        ]
        gone = compare.unused(self.lines(), names)
        return [name for name in dict.fromkeys(names) if name not in gone]


class Page:
    """One page while it is checked."""

    def __init__(
        self, path: Path, *, is_written: bool, is_shown: bool, is_fresh: bool = False
    ) -> None:
        self._path = path
        self._name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
        self._text = path.read_text()
        self._is_written = is_written
        self._is_shown = is_shown
        self._is_fresh = is_fresh
        self._new: dict[int, New] = {}
        self._begin = time.monotonic()
        self.result = Result(self._name)

    def blocks(self) -> list[Block]:
        try:
            return parse(self._text)
        except PageError as error:
            self.result.failures.append(f"{self._name}, {error}")
            return []

    def addresses(self, blocks: list[Block]) -> set[str]:
        """Those beside loopback that its commands need."""
        texts = [
            it for block in blocks if is_run(block) for it in [*block.lines, *block.values("setup")]
        ]
        return {it for text in texts for it in ADDRESS.findall(text)}

    def check(self, blocks: list[Block], session: Session | None, reason: str = "") -> None:
        """Without a session nothing is run, for this reason."""
        for block in blocks:
            self._read(block)
        if self.result.failures:
            return
        self.result.is_read = True
        for at, block in enumerate(blocks):
            if not is_run(block):
                continue
            if session is None:
                self.result.skipped.append(f"{self._place(block)}: {reason}")
            elif not self._run(block, code_before(blocks, at), session):
                # What follows may need what this block has not done.
                return
        if session is not None:
            self._stop(session)
        if self._new:
            self._write()

    def _stop(self, session: Session) -> None:
        try:
            session.stop()
        except RunError as error:
            self.result.failures.append(f"{self._name}: {error}")

    def _place(self, block: Block, line: int = 0) -> str:
        return f"{self._name}:{block.first + line + 1}"

    def _read(self, block: Block) -> None:
        """What can be known of a block before anything runs."""
        place = self._place(block)
        words = block.language.split(",")[0]
        if reasons := block.values("not run"):
            self.result.not_run.append(f"{place}: {reasons[0]}")
        elif is_run(block):
            for name in compare.unused(block.lines, block.varying):
                self.result.failures.append(f"{place}: no such field in its output: {name}")
        elif elsewhere := ELSEWHERE.get((self._name, words)):
            self.result.elsewhere.append(elsewhere)
        elif words in CODE and quoted_in(block.lines, QUOTED):
            self.result.elsewhere.append("a program that is compiled")
        elif words in CODE:
            self.result.failures.append(f"{place}: this code stands in no program")
        elif words not in FIGURES or block.has_bare_command:
            self.result.failures.append(
                f"{place}: neither runs nor gives a reason (`$ ` or `<!-- not run: .. -->`)"
            )

    def _run(self, block: Block, code: list[str], session: Session) -> bool:
        """Whether all went as the page shows."""
        known = len(self.result.failures)
        if missing := [it for it in block.names("needs") if not session.has(it)]:
            self.result.skipped.append(f"{self._place(block)}: there is no {', '.join(missing)}")
            return True
        try:
            if block.has("stop"):
                session.stop()
            for text in block.values("setup"):
                session.set_up(text)
            if block.has("output of"):
                self._output_of(block, code, session)
            else:
                self._run_commands(block, session)
        except (RunError, PageError) as error:
            self.result.failures.append(f"{self._place(block)}: {error}")
        return len(self.result.failures) == known

    def _run_commands(self, block: Block, session: Session) -> None:
        commands = block.commands()
        if not commands:
            if not session.jobs:
                raise RunError("output of nothing that keeps running")
            self._compare_job(block, Shown(0, 0, len(block.lines)), session)
        for command in commands:
            shown = Shown(command.line, command.output_first, command.output_end)
            self.result.commands += 1
            if block.has("in another terminal") or command.text.endswith("&"):
                session.start(command.text.removesuffix("&").strip())
                self._compare_job(block, shown, session)
                continue
            done = session.run(command.text)
            expected = shown.of(block)
            if done.status and all(line == compare.ANY_LINES for line in expected):
                said = "\n".join(done.lines[-5:])
                raise RunError(f"status {done.status} of: {command.text}\n{said}")
            self._compare(block, shown, done.lines)

    def _output_of(self, block: Block, code: list[str], session: Session) -> None:
        program = block.values("output of")[0]
        name = program.split()[0]
        if not session.has(name):
            self.result.skipped.append(f"{self._place(block)}: {name} is not built")
            return
        if not quoted_in(code, (f"crates/*/examples/{name}.rs",)):
            raise RunError(f"the code before it is not in examples/{name}.rs")
        done = session.run(program)
        if done.status:
            raise RunError(f"status {done.status} of {program}")
        self._compare(block, Shown(0, 0, len(block.lines)), done.lines)

    def _compare_job(self, block: Block, shown: Shown, session: Session) -> None:
        """The next lines of the newest job; more may follow."""
        job = session.jobs[-1]
        if expected := shown.of(block):
            job.wait_until(
                lambda lines: not compare.mismatch(expected, lines, block.varying, is_whole=False)
            )
        lines = job.lines()
        self._compare(block, shown, lines[job.shown :], is_whole=False)
        job.shown = len(lines)

    def _compare(
        self, block: Block, shown: Shown, actual: list[str], *, is_whole: bool = True
    ) -> None:
        place = self._place(block, shown.line)
        expected = shown.of(block)
        if self._is_shown:
            self.result.shown.append(
                f"{place}, {time.monotonic() - self._begin:.1f} s:\n" + "\n".join(actual)
            )
        if not expected:
            return
        self.result.outputs += 1
        found = compare.mismatch(expected, actual, block.varying, is_whole=is_whole)
        if self._is_written and (found or self._is_fresh):
            self._rewrite(block, shown, actual, is_whole=is_whole)
        elif found:
            self.result.failures.append(f"{place}: {found}")

    def _rewrite(self, block: Block, shown: Shown, actual: list[str], *, is_whole: bool) -> None:
        # What keeps running may print more than the page shows.
        end = [] if is_whole else [compare.ANY_LINES]
        lines, fields = rewrite.rewritten([*shown.of(block), *end], actual, block.varying)
        lines = lines[: len(lines) - len(end)]
        new = self._new.setdefault(block.first, New(block))
        new.outputs.append((shown, lines))
        new.fields += fields
        self.result.rewritten += 1

    def _write(self) -> None:
        lines = self._text.splitlines()
        # From the end on: places further up stay.
        for new in sorted(self._new.values(), key=lambda it: it.block.first, reverse=True):
            block = new.block
            inner = [(block.indent + line).rstrip() for line in new.lines()]
            lines[block.first : block.first + len(block.lines)] = inner
            for comment in block.comments:
                if comment.key == "varies":
                    lines[comment.line] = f"<!-- varies: {'; '.join(new.varying())} -->"
        self._path.write_text("\n".join(lines) + "\n")


def is_run(block: Block) -> bool:
    if block.has("not run"):
        return False
    return block.has_prompt or block.has("in another terminal") or block.has("output of")


def code_before(blocks: list[Block], at: int) -> list[str]:
    """The code that a block's output is of."""
    code = (it.lines for it in reversed(blocks[:at]) if it.language.split(",")[0] in CODE)
    return next(code, [])


def quoted_in(lines: list[str], patterns: tuple[str, ...]) -> bool:
    """Whether a file has these lines, as they are or deeper by whole indents."""
    if lines and lines[0].startswith("// ") and lines[0].endswith(".rs"):
        # The name of the file in which the reader puts them.
        lines = lines[1:]
    sources = [
        "\n" + path.read_text() for pattern in patterns for path in sorted(ROOT.glob(pattern))
    ]
    for depth in range(4):
        text = "".join(f"\n{INDENT * depth}{line}" if line else "\n" for line in lines) + "\n"
        if any(text in source for source in sources):
            return True
    return False

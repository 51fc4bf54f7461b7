"""A Tcl interpreter whose commands are methods of an object; any other command is an error."""

import tkinter
from collections.abc import Callable
from dataclasses import dataclass

# A tuple is a list of Tcl.
Result = str | tuple[str, ...] | None
# A Python exception would leave Tcl without a message.
PROC = """proc {name} args {{
  lassign [{name}.python {{*}}$args] ok value
  if {{!$ok}} {{ error $value }}
  return $value
}}"""


class TclError(Exception):
    """What Tcl reports: an unknown command, or a fault that a command found."""


@dataclass(frozen=True)
class Arguments:
    """Arguments of a command: its flags, its options with a value, the rest."""

    flags: frozenset[str]
    options: dict[str, str]
    rest: tuple[str, ...]

    @classmethod
    def parse(cls, words: tuple[str, ...], flags: str = "", options: str = "") -> "Arguments":
        """Sort words; an option that the command does not have is an error."""
        seen: set[str] = set()
        given: dict[str, str] = {}
        rest = []
        todo = list(words)
        while todo:
            word = todo.pop(0)
            if word in flags.split():
                seen.add(word)
            elif word in options.split():
                given[word] = todo.pop(0)
            elif word[:1] == "-" and not word[1:2].isdigit():
                raise ValueError(f"unknown option {word}")
            else:
                rest.append(word)
        return cls(frozenset(seen), given, tuple(rest))


class Interpreter:
    """A plain Tcl interpreter with commands added."""

    def __init__(self) -> None:
        self.tcl = tkinter.Tcl()
        self.names: list[str] = []

    def add(self, name: str, command: Callable[..., Result]) -> None:
        """Add a command; its words come as strings."""

        def call(*words: object) -> tuple[str, Result]:
            try:
                result = command(*(str(w) for w in words))
            except (ValueError, KeyError, IndexError) as error:
                return "0", f"{name}: {error}"
            return "1", result or ""

        if "::" in name:
            self.tcl.eval(f"namespace eval {name.rpartition('::')[0]} {{}}")
        self.names.append(f"{name}.python")
        self.tcl.createcommand(self.names[-1], call)
        self.tcl.eval(PROC.format(name=name))

    def split(self, text: str) -> tuple[str, ...]:
        """The elements of a Tcl list."""
        return tuple(str(part) for part in self.tcl.splitlist(text))

    def run(self, text: str) -> None:
        """Run a script, once: the commands end with it, and what they hold on to."""
        try:
            self.tcl.eval(text)
        except tkinter.TclError:
            raise TclError(self.tcl.eval("set ::errorInfo")) from None
        finally:
            for name in self.names:
                self.tcl.tk.deletecommand(name)

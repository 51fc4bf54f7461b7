"""The counters, hops and causes of the web page, with what to do about each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from counter_table.rust import WIDTH, comment, head, number, string
from counter_table.table import TableError

if TYPE_CHECKING:
    from counter_table.table import Counter, Table

#: Both ends of a stream: group of counters, type of the snapshot, name of the list, word.
ENDS = (
    ("receiver_port", "ReceiverSnapshot", "RECEIVER", "receiver"),
    ("sender_port", "TransmitterSnapshot", "SENDER", "sender"),
)
HOPS, CAUSES = "## Where samples were lost", "### Causes"


def page(table: Table, manual: str) -> str:
    """The file of the crate of the page."""
    lines = [
        *head("The counters of a receiver and a sender as the page shows them"),
        "use samplewire::receiver::ReceiverSnapshot;",
        "use samplewire::transmitter::TransmitterSnapshot;",
        "",
        "/// A counter of the page.",
        "pub(crate) struct Counter<T> {",
        "    pub(crate) name: &'static str,",
        "    pub(crate) unit: &'static str,",
        "    /// Whether it rises and falls.",
        "    pub(crate) is_gauge: bool,",
        "    pub(crate) meaning: &'static str,",
        "    /// What to do when it is not zero; empty for nothing.",
        "    pub(crate) action: &'static str,",
        "    pub(crate) value: fn(&T) -> u64,",
        "}",
        "",
        "/// What to do about samples that are missing.",
        "pub(crate) struct Remedy {",
        *comment("    /// ", "The hop or the cause."),
        "    pub(crate) name: &'static str,",
        "    pub(crate) meaning: &'static str,",
        "    pub(crate) action: &'static str,",
        "}",
        "",
    ]
    for group, snapshot, name, end in ENDS:
        lines.append(f"/// The counters of a {end}.")
        lines.append(f"pub(crate) const {name}: &[Counter<{snapshot}>] = &[")
        for entry in table.entries(group, "web"):
            if entry.counter.is_number:
                lines += counter(entry.path, entry.counter)
        lines += ["];", ""]
    for name, title in (("HOPS", HOPS), ("CAUSES", CAUSES)):
        lines += [f"/// The table of `docs/statistics.md`, {title.strip('# ')!r}."]
        lines[-1] = lines[-1].replace("'", '"')
        lines.append(f"pub(crate) const {name}: &[Remedy] = &[")
        for row in rows(manual, title):
            lines += remedy(row)
        lines += ["];", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def counter(path: str, it: Counter) -> list[str]:
    """One counter."""
    action = "" if it.action == "Normal" else it.action
    return [
        "    Counter {",
        f'        name: "{path.replace(".", " ").replace("()", "").replace("stream ", "")}",',
        f'        unit: "{it.unit}",',
        f"        is_gauge: {str(it.kind == 'gauge').lower()},",
        *string(" " * 8, "meaning: ", escaped(plain(it.meaning))),
        *string(" " * 8, "action: ", escaped(plain(action))),
        f"        value: |it| {number(f'it.{path}', it)},",
        "    },",
    ]


def remedy(row: list[str]) -> list[str]:
    """One hop or cause: its name, its meaning, and what to do."""
    name, meaning, action = row[0].strip("`"), escaped(plain(row[1])), escaped(plain(row[-1]))
    one = f'    Remedy {{ name: "{name}", meaning: "{meaning}", action: "{action}" }},'
    if len(one) <= WIDTH:
        return [one]
    return [
        "    Remedy {",
        f'        name: "{name}",',
        *string(" " * 8, "meaning: ", meaning),
        *string(" " * 8, "action: ", action),
        "    },",
    ]


def rows(manual: str, title: str) -> list[list[str]]:
    """The rows of the first table below a title; a row of several names is one for each."""
    _, found, behind = manual.partition(f"\n{title}\n")
    if not found:
        raise TableError(f"docs/statistics.md: there is no title {title!r}")
    lines = behind.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("|"))
    table = []
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        names, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        table += [[name.strip(), *cells] for name in names.split(",")]
    return table


def plain(text: str) -> str:
    """Markdown as text: a link becomes its target."""
    text = re.sub(r"\[([^]]*)\]\(#([^)]*)\)", r"see docs/statistics.md#\2", text)
    text = re.sub(r"\[([^]]*)\]\(([^)#]*)(#[^)]*)?\)", r"see docs/\2\3", text)
    return text.replace("`", "")


def escaped(text: str) -> str:
    """Text inside a string of Rust."""
    return text.replace('"', '\\"')

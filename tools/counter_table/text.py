"""The files that are not Rust: the dataclasses, the sensors and the manual."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import TYPE_CHECKING

from counter_table.table import TableError

if TYPE_CHECKING:
    from typing import Any

    from counter_table.table import Counter, Group, Table

ORIGIN = "Written by `python3 tools/statistics.py` from `statistics.toml`; not edited by hand."
WIDTH = 100
NORMAL = "Normal"
"""What to do about a counter that is meant to grow: nothing."""
KINDS = {"causes": "dict[str, int]", "latencies": "tuple[int, ...]"}
"""Types in Python of what is not one number."""


def dataclasses(table: Table) -> str:
    """The Python module of the dataclasses."""
    lines = [
        f'"""Counters, as plain data.\n\n{ORIGIN}\n"""',
        "",
        "from dataclasses import dataclass",
    ]
    for view in table.interfaces["python"]:
        lines += ["", "", *dataclass(view, table)]
    return "\n".join(lines) + "\n"


def dataclass(view: dict[str, Any], table: Table) -> list[str]:
    """One dataclass."""
    rows = []
    for entry in table.entries(view["group"], "python"):
        counter = entry.counter
        name = counter.name if view.get("own_names") else counter.flat_name
        kind = KINDS.get(counter.type, "int")
        rows.append((name, kind, counter.meaning))
    rows += [(it["name"], "int", it["meaning"]) for it in view.get("extra", [])]
    lines = [
        "@dataclass(frozen=True, slots=True)",
        f"class {view['name']}:",
        f'    """{view["doc"]}',
        "",
        "    Attributes",
        "    ----------",
    ]
    for name, kind, meaning in rows:
        lines.append(f"    {name} : {kind}")
        lines += [f"        {it}" for it in wrapped(f"{meaning}.", WIDTH - 8)]
    return [*lines, '    """', "", *(f"    {name}: {kind}" for name, kind, _ in rows)]


def wrapped(text: str, width: int) -> list[str]:
    """Lines of a text."""
    return wrap(text, width, break_on_hyphens=False, break_long_words=False)


def sensors(table: Table) -> str:
    """The sensors of the SoapySDR driver."""
    lines = [
        f"// {ORIGIN}",
        "#pragma once",
        "",
        "#include <samplewire.h>",
        "",
        "#include <cstdint>",
        "",
        "namespace soapy_samplewire {",
        "",
        "template <class Stats> struct Counter {",
        "    const char *name;",
        "    std::uint64_t Stats::*field;",
        "    const char *units;",
        "    const char *description;",
        "};",
        "",
    ]
    for view in table.interfaces["soapy"]:
        struct = view["struct"]
        lines.append(f"constexpr Counter<{struct}> {view['name']}[] = {{")
        for entry in table.c_entries(struct):
            counter = entry.counter
            if "soapy" in counter.without:
                continue
            name = counter.flat_name
            lines.append(f'    {{"{name}", &{struct}::{name}, "{counter.unit}",')
            parts = wrapped(counter.meaning, WIDTH - 10)
            lines += [f'     "{it} "' for it in parts[:-1]]
            lines.append(f'     "{parts[-1]}"}},')
        lines += ["};", ""]
    return "\n".join([*lines, "} // namespace soapy_samplewire", ""])


def manual(text: str, table: Table) -> str:
    """The manual with a table of each group between its markers.

    Raises
    ------
    TableError
        The markers of a group are missing, or are there twice.
    """
    for group in table.groups.values():
        begin, end = f"<!-- {group.id} -->\n", f"<!-- /{group.id} -->\n"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise TableError(f"the manual needs each marker once: {begin.strip()} {end.strip()}")
        before, rest = text.split(begin)
        rows = "\n".join(manual_rows(group, table))
        text = f"{before}{begin}\n{rows}\n\n{end}{rest.split(end)[1]}"
    return text


def manual_rows(group: Group, table: Table) -> list[str]:
    """The table of a group in Markdown."""
    rows = [it for it in group.counters if it.type != "part" or it.action]
    has_json = any(it.json or it.json_by_hand for it in rows)
    heads = ["counter", *(["JSON"] if has_json else []), "meaning", "what to do"]
    lines = [row(heads), re.sub(r"[^|]+", "---", row(heads))]
    for counter in rows:
        json = [json_cell(counter)] if has_json else []
        action = action_cell(counter, table)
        lines.append(row([name_cell(counter), *json, counter.meaning, action]))
    return lines


def action_cell(counter: Counter, table: Table) -> str:
    """What to do; of a counter that another one explains, the structure of that."""
    if counter.same_as:
        return f"See `{table.groups[counter.same_as.split('.')[0]].rust}`"
    return "-" if counter.action == NORMAL else counter.action


def name_cell(counter: Counter) -> str:
    """The name; a gauge says so."""
    return f"`{counter.name}`{' (gauge)' if counter.kind == 'gauge' else ''}"


def json_cell(counter: Counter) -> str:
    """The key in JSON, if there is one."""
    key = counter.json or counter.json_by_hand
    return f"`{key}`" if key else ""


def row(cells: list[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"

"""The Rust files: formatted as rustfmt formats them, which the tests of the source check."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from counter_table.table import ARRAYS

if TYPE_CHECKING:
    from typing import Any

    from counter_table.table import Counter, Entry, Group, Table

WIDTH = 100
ORIGIN = "Written by `python3 tools/statistics.py` from `statistics.toml`; not edited by hand."
DERIVES = "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]"

TYPES = {
    "nanos": "Nanos",
    "index": "SampleIndex",
    "causes": "[u64; Cause::ALL.len()]",
    "latencies": "Latencies",
}


def head(text: str) -> list[str]:
    """The first lines of a file."""
    return [*comment("//! ", f"{text}; see `docs/statistics.md`."), "//!", f"//! {ORIGIN}", ""]


def comment(start: str, text: str) -> list[str]:
    """Lines of a comment; `start` is what each begins with."""
    width = WIDTH - len(start)
    return [start + it for it in wrap(text, width, break_on_hyphens=False, break_long_words=False)]


def sentence(text: str) -> str:
    """The meaning of a counter as a sentence."""
    return f"{text}."


def literal(indent: str, before: str, fields: list[str], after: str) -> list[str]:
    """A structure's literal: on one line where it fits."""
    one = f"{indent}{before} {{ {', '.join(fields)} }}{after}"
    if len(one) <= WIDTH:
        return [one]
    return [f"{indent}{before} {{", *(f"{indent}    {it}," for it in fields), f"{indent}}}{after}"]


def string(indent: str, before: str, text: str) -> list[str]:
    """A line with a string and a comma, continued where it is too long."""
    start = f'{indent}{before}"'
    if len(start) + len(text) + 2 <= WIDTH:
        return [f'{start}{text}",']
    rest = wrap(text, WIDTH - len(start) - 2, break_on_hyphens=False)
    blank = " " * len(start)
    lines = [f"{start}{rest[0]} \\", *(f"{blank}{it} \\" for it in rest[1:-1])]
    return [*lines, f'{blank}{rest[-1]}",']


def number(path: str, counter: Counter) -> str:
    """An expression of the counter as a u64, or as an array of them."""
    if counter.type == "latencies":
        return f"*{path}.counts()"
    conversion = {"nanos": ".0", "u32": ".into()", "u16": ".into()"}
    return path + conversion.get(counter.type, "")


def structure(group: Group, table: Table) -> list[str]:
    """The structure of a group."""

    def type_of(counter: Counter) -> str:
        if counter.type == "part":
            return counter.rust or table.groups[counter.of].rust
        return TYPES.get(counter.type, counter.type)

    lines = [*comment("/// ", group.doc), DERIVES, f"pub struct {group.rust} {{"]
    for counter in group.fields:
        lines += comment("    /// ", sentence(counter.meaning))
        lines.append(f"    pub {counter.name}: {type_of(counter)},")
    return [*lines, "}", ""]


def total(group: Group, table: Table) -> list[str]:
    """The sum of two sessions."""
    lines = [
        f"impl {group.rust} {{",
        "    /// These counters and those of the session `before`; gauges stay as they are.",
        "    #[must_use]",
        "    pub fn after(mut self, before: &Self) -> Self {",
    ]
    for counter in group.fields:
        name = counter.name
        if counter.type == "causes":
            lines += [
                f"        for (count, earlier) in self.{name}.iter_mut().zip(before.{name}) {{",
                "            *count += earlier;",
                "        }",
            ]
        elif counter.type == "latencies":
            lines.append(f"        self.{name}.add(&before.{name});")
        elif counter.type == "part" and counter.of and table.groups[counter.of].sum:
            lines.append(f"        self.{name} = self.{name}.after(&before.{name});")
        elif counter.is_number and counter.kind == "counter":
            lines.append(f"        self.{name} += before.{name};")
    return [*lines, "        self", "    }", "}", ""]


def difference(group: Group) -> list[str]:
    """The function for the counts between two moments."""
    values = [f"{it.name}: self.{it.name} - before.{it.name}" for it in group.fields]
    return [
        f"impl {group.rust} {{",
        "    /// The counts since `before`.",
        "    #[must_use]",
        "    pub const fn since(&self, before: &Self) -> Self {",
        *literal("        ", "Self", values, ""),
        "    }",
        "}",
        "",
    ]


def words(group: Group) -> list[str]:
    """The list of fields that the I/O thread publishes as words."""
    return literal("", f"words!({group.rust}", [it.name for it in group.fields], ");")


def structures(table: Table, crate: str, what: str, uses: list[str]) -> str:
    """The file of a crate that has structures."""
    lines = [*head(what), *uses, *([""] if uses else [])]
    for group in table.in_crate(crate):
        lines += structure(group, table)
        if group.sum:
            lines += total(group, table)
        if group.difference:
            lines += difference(group)
    if crate == "samplewire":
        for group in (it for it in table.groups.values() if it.words):
            lines += words(group)
    return "\n".join(lines).rstrip("\n") + "\n"


def c_structures(table: Table) -> str:
    """The C structures, and how they are filled."""
    lines = [
        *head("The C structures of counters"),
        "use samplewire::receiver::ReceiverSnapshot;",
        "use samplewire::transmitter::TransmitterSnapshot;",
        "",
        "use crate::sized::sized;",
        "",
    ]
    for view in table.interfaces["c"]:
        lines += c_structure(view, table)
    return "\n".join(lines).rstrip("\n") + "\n"


def c_structure(view: dict[str, Any], table: Table) -> list[str]:
    """One C structure."""
    name, entries = view["name"], table.c_entries(view["name"])

    def type_of(counter: Counter) -> str:
        return f"[u64; {ARRAYS[counter.type]}]" if counter.type in ARRAYS else "u64"

    def zero(counter: Counter) -> str:
        return f"[0; {ARRAYS[counter.type]}]" if counter.type in ARRAYS else "0"

    size = "struct_size: size_of::<Self>()"
    lines = [*comment("/// ", view["doc"]), "#[repr(C)]", "#[derive(Clone, Copy, Debug)]"]
    lines += [f"pub struct {name} {{", f"    /// Set it to `sizeof({name})` before the call."]
    lines.append("    pub struct_size: usize,")
    for entry in entries:
        lines += comment("    /// ", sentence(entry.counter.meaning))
        lines.append(f"    pub {entry.counter.flat_name}: {type_of(entry.counter)},")
    lines += ["}", "", "sized!("]
    types = [f"{it.counter.flat_name}: {type_of(it.counter)}" for it in entries]
    lines += literal("    ", name, types, ",")
    lines += [f"    {name} {{", f"        struct_size: size_of::<{name}>(),"]
    lines += [f"        {it.counter.flat_name}: {zero(it.counter)}," for it in entries]
    lines += ["    }", ");", "", f"impl {name} {{"]
    snapshot = table.groups[view["group"]].rust
    lines += [
        f"    pub(crate) fn of(snapshot: &{snapshot}) -> Self {{",
        "        Self {",
        f"            {size},",
    ]
    for entry in entries:
        value = number(f"snapshot.{entry.path}", entry.counter)
        lines.append(f"            {entry.counter.flat_name}: {value},")
    return [*lines, "        }", "    }", "}", ""]


def command(table: Table) -> str:
    """The metrics and the JSON of the command."""
    lines = [
        *head("The metrics of the command, and the counters in its JSON"),
        "use samplewire::device::PlayCounts;",
        "use samplewire::receiver::{PortStats, ReceiverSnapshot};",
        "use samplewire::transmitter::TransmitterSnapshot;",
        "use samplewire_io::HostDropCounts;",
        "use samplewire_proto::receiver::ReceiverStats;",
        "use samplewire_proto::sender::SenderStats;",
        "use samplewire_proto::session::ListenStats;",
        "use serde::Serialize;",
        "",
        "use super::latency::{Histogram, RepairLatency};",
        "use super::tables::{Kind, Metric, Table};",
        "",
    ]
    for group in (it for it in table.groups.values() if it.metric):
        lines += metrics(group)
        for counter in group.histograms:
            lines += histogram(group, counter)
    for view in table.interfaces["json"]:
        lines += json(view, table)
    return "\n".join(lines).rstrip("\n") + "\n"


def metrics(group: Group) -> list[str]:
    """The metrics of a group."""
    lines = [
        f"/// Metrics of [`{group.rust}`].",
        f"pub(crate) const {group.id.upper()}: Table<{group.rust}> = Table {{",
        f'    prefix: "{group.metric}",',
        "    metrics: &[",
    ]
    for counter in group.metrics:
        kinds = ("Nanos", "Duration") if counter.unit == "ns" else ("Level", "Count")
        kind = kinds[counter.kind == "counter"]
        name = f'name: "{group.metric_name(counter)}"'
        value = f"value: |it| {number(f'it.{counter.field}', counter)}"
        help_text = string(" " * 12, "help: ", counter.meaning)
        one = ", ".join([name, f"kind: Kind::{kind}", help_text[0].strip()[:-1], value])
        if len(help_text) == 1 and len(f"        Metric {{ {one} }},") <= WIDTH:
            lines.append(f"        Metric {{ {one} }},")
            continue
        lines += [
            "        Metric {",
            f"            {name},",
            f"            kind: Kind::{kind},",
            *help_text,
            f"            {value},",
            "        },",
        ]
    return [*lines, "    ],", "};", ""]


def histogram(group: Group, counter: Counter) -> list[str]:
    """A metric that is a histogram."""
    return [
        *comment("/// ", f"The histogram of `{counter.name}`."),
        f"pub(crate) const {counter.name.upper()}: Histogram<{group.rust}> = Histogram {{",
        f'    name: "{group.histogram_name(counter)}",',
        *string(" " * 4, "help: ", counter.meaning),
        f"    latencies: |it| &it.{counter.name},",
        f"    sum_ns: |it| it.{counter.sum_ns},",
        "};",
        "",
    ]


def json(view: dict[str, Any], table: Table) -> list[str]:
    """A structure of counters in JSON; counters of one key are added."""
    keys: dict[str, list[Entry]] = {}
    for entry in table.entries(view["group"], "json"):
        if entry.counter.json:
            keys.setdefault(entry.counter.json, []).append(entry)
    name, snapshot = view["name"], table.groups[view["group"]].rust
    lines = [*comment("/// ", view["doc"]), "#[derive(Clone, Copy, Debug, Serialize)]"]
    lines.append(f"pub(crate) struct {name} {{")
    for key, entries in keys.items():
        first, *rest = (it.counter.meaning for it in entries)
        text = "; and ".join([first, *(it[0].lower() + it[1:] for it in rest)])
        lines += comment("    /// ", sentence(text))
        is_histogram = entries[0].counter.type == "latencies"
        lines.append(f"    pub(crate) {key}: {'RepairLatency' if is_histogram else 'u64'},")
    lines += [
        "}",
        "",
        f"impl From<&{snapshot}> for {name} {{",
        f"    fn from(snapshot: &{snapshot}) -> Self {{",
        "        Self {",
    ]
    for key, entries in keys.items():
        values = " + ".join(number(f"snapshot.{it.path}", it.counter) for it in entries)
        if entries[0].counter.type == "latencies":
            values = f"RepairLatency(snapshot.{entries[0].path})"
        lines.append(f"            {key}: {values},")
    return [*lines, "        }", "    }", "}", ""]


def python(table: Table) -> str:
    """How the dataclasses of the Python package are filled."""
    lines = [
        *head("The fields of the dataclasses of `samplewire/_counters.py`"),
        "use pyo3::prelude::*;",
        "use pyo3::types::{PyDict, PyTuple};",
        "use samplewire::device::PlayCounts;",
        "use samplewire::receiver::{LaneCounts, PortStats, ReceiverSnapshot};",
        "use samplewire::transmitter::TransmitterSnapshot;",
        "use samplewire_io::FaultCounts;",
        "",
        "use crate::tables::{Fields, by_cause};",
        "",
    ]
    for view in table.interfaces["python"]:
        lines += python_fields(view, table)
    return "\n".join(lines).rstrip("\n") + "\n"


def python_fields(view: dict[str, Any], table: Table) -> list[str]:
    """The function that fills one class."""
    function = "".join(f"_{it.lower()}" if it.isupper() else it for it in view["name"]).lstrip("_")
    arguments = ["py: Python<'py>", f"counts: &{table.groups[view['group']].rust}"]
    start, end = f"pub(crate) fn {function}<'py>(", ") -> PyResult<Fields<'py>> {"
    lines = [f"/// The fields of `{view['name']}`.", f"{start}{', '.join(arguments)}{end}"]
    if len(lines[-1]) > WIDTH:
        lines[-1:] = [start, *(f"    {it}," for it in arguments), end]
    lines.append("    let fields = PyDict::new(py);")
    for entry in table.entries(view["group"], "python"):
        counter = entry.counter
        name = counter.name if view.get("own_names") else counter.flat_name
        value = f"counts.{entry.path}{'.0' if counter.type == 'nanos' else ''}"
        value = f"by_cause(py, &{value})?" if counter.type == "causes" else value
        value = f"PyTuple::new(py, {value}.counts())?" if counter.type == "latencies" else value
        lines.append(f'    fields.set_item("{name}", {value})?;')
    return [*lines, "    Ok(fields)", "}", ""]

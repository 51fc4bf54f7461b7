"""The counters of `statistics.toml`, checked."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

ARRAYS = {"causes": 5, "latencies": 48}
"""Places of arrays: one for each cause of a gap (`Cause::ALL` of samplewire-proto), or for each
bucket of `Latencies`."""

KINDS = ("counter", "gauge")
TYPES = ("u64", "u32", "u16", "nanos", "index", *ARRAYS, "part")
INTERFACES = ("c", "json", "metrics", "python", "soapy", "web")
PANELS = ("streams", "loss", "repairs", "latency", "credit", "disk")
"""Rows of the dashboard that show more than one group."""
ALERT = re.compile(r"> 0(?:\.(?P<digits>\d+) of (?P<whole>\w+))?")


class TableError(ValueError):
    """The table breaks one of its rules."""


@dataclass(frozen=True)
class Counter:
    """One row of the table: a counter, or a structure inside another."""

    group: str
    name: str
    meaning: str
    unit: str = ""
    action: str = ""
    kind: str = "counter"
    type: str = "u64"
    computed: bool = False
    flat: str = ""
    c: int = 0
    json: str = ""
    json_by_hand: str = ""
    of: str = ""
    rust: str = ""
    sum_ns: str = ""
    panel: str = ""
    alert: str = ""
    same_as: str = ""
    without: dict[str, str] = field(default_factory=dict)

    @property
    def is_number(self) -> bool:
        """Whether it is one number, not an array or a structure."""
        return self.type not in (*ARRAYS, "part")

    @property
    def flat_name(self) -> str:
        """Its name where the parts of a structure are put into one."""
        return self.flat or self.name

    @property
    def field(self) -> str:
        """How Rust reads it: a field, or a method without arguments."""
        return f"{self.name}()" if self.computed else self.name


@dataclass(frozen=True)
class Group:
    """One Rust structure."""

    id: str
    crate: str
    rust: str
    doc: str
    counters: tuple[Counter, ...]
    metric: str = ""
    words: bool = False
    sum: bool = False
    difference: bool = False

    @property
    def fields(self) -> list[Counter]:
        """The fields of the structure."""
        return [it for it in self.counters if not it.computed]

    @property
    def metrics(self) -> list[Counter]:
        """The counters that are metrics of their own."""
        sums = {it.sum_ns for it in self.histograms}
        numbers = [
            it
            for it in self.counters
            if it.is_number and it.name not in sums and "metrics" not in it.without
        ]
        return numbers if self.metric else []

    @property
    def histograms(self) -> list[Counter]:
        """The counters that are histograms."""
        return [it for it in self.counters if it.sum_ns] if self.metric else []

    def histogram_name(self, counter: Counter) -> str:
        """The name of the histogram, to which `_bucket`, `_sum` and `_count` are added."""
        return f"{self.metric}{counter.name}_seconds"

    def metric_name(self, counter: Counter) -> str:
        """The whole name of the metric, by the rules of Prometheus."""
        name = counter.name
        if counter.unit == "ns":
            name = f"{name.removesuffix('_ns')}_seconds"
        return f"{self.metric}{name}{'_total' if counter.kind == 'counter' else ''}"


@dataclass(frozen=True)
class Entry:
    """A counter as it is read from a structure that holds its own."""

    path: str
    counter: Counter


@dataclass(frozen=True)
class Table:
    """The whole of it."""

    groups: dict[str, Group]
    interfaces: dict[str, list[dict[str, Any]]]

    def entries(self, group: str, interface: str, prefix: str = "") -> list[Entry]:
        """The counters of a group and of its parts, but for those that the interface leaves out."""
        found = []
        for counter in self.groups[group].counters:
            if interface in counter.without:
                continue
            if counter.type != "part":
                found.append(Entry(prefix + counter.field, counter))
            elif counter.of:
                found += self.entries(counter.of, interface, f"{prefix}{counter.name}.")
        return found

    def in_crate(self, crate: str) -> list[Group]:
        """The groups whose structures a crate has."""
        return [it for it in self.groups.values() if it.crate == crate]

    def c_entries(self, name: str) -> list[Entry]:
        """The counters of a C structure in the order of their positions."""
        view = next(it for it in self.interfaces["c"] if it["name"] == name)
        return sorted(self.entries(view["group"], "c"), key=lambda it: it.counter.c)


def load(path: Path) -> Table:
    """Read the table.

    Raises
    ------
    TableError
        It breaks a rule; the text names the counter.
    """
    raw = tomllib.loads(path.read_text())
    interfaces = raw.pop("interface")
    table = Table({name: group_of(name, raw) for name in raw}, interfaces)
    for counter in (it for group in table.groups.values() for it in group.counters):
        check_counter(counter, table)
    for view in interfaces["c"]:
        check_c(view, table)
    for kind in ("json", "python"):
        for view in interfaces[kind]:
            check_names(view, kind, table)
    return table


def group_of(name: str, raw: dict[str, Any]) -> Group:
    """Build a group from its table."""
    values = dict(raw[name])
    counters = values.pop("counters")
    rows = tuple(counter_of(name, key, raw) for key in counters)
    try:
        return Group(id=name, counters=rows, **values)
    except TypeError as error:
        raise TableError(f"{name}: {error}") from None


def counter_of(group: str, name: str, raw: dict[str, Any]) -> Counter:
    """Build a counter from its table, with the keys of the counter that `same_as` names."""
    values = dict(raw[group]["counters"][name])
    if same_as := values.get("same_as"):
        other_group, other = same_as.split(".")
        try:
            source = raw[other_group]["counters"][other]
        except KeyError:
            raise TableError(f"{group}.{name}: there is no {same_as}") from None
        taken = {key: source[key] for key in ("unit", "kind", "meaning", "action") if key in source}
        values = taken | values
    try:
        return Counter(group=group, name=name, **values)
    except TypeError as error:
        raise TableError(f"{group}.{name}: {error}") from None


def check_counter(counter: Counter, table: Table) -> None:
    """Raise where a counter breaks a rule."""
    where = f"{counter.group}.{counter.name}"
    rules = [
        (counter.kind in KINDS, f"no kind is called {counter.kind}"),
        (counter.type in TYPES, f"no type is called {counter.type}"),
        (bool(counter.meaning), "it has no meaning"),
        (not counter.meaning.endswith("."), "its meaning ends in a period"),
        ("\\" not in counter.meaning + counter.action, "there is a backslash"),
        ("|" not in counter.meaning + counter.action, "a bar would end the cell of a table"),
        (set(counter.without) <= set(INTERFACES), f"`without` is of {', '.join(INTERFACES)}"),
        (all(counter.without.values()), "`without` gives no reason"),
    ]
    names = {it.name: it for it in table.groups[counter.group].counters}
    sum_of = names.get(counter.sum_ns)
    rules.append(((counter.type == "latencies") == bool(sum_of), "latencies alone have `sum_ns`"))
    rules.append((sum_of is None or sum_of.unit == "ns", "`sum_ns` is not in ns"))
    rules.append((not counter.panel or counter.panel in PANELS, f"no row is {counter.panel}"))
    if counter.alert:
        found = ALERT.fullmatch(counter.alert)
        rules.append((bool(found), "an alert is `> 0`, or `> 0.01 of COUNTER`"))
        whole = found and found["whole"]
        rules.append((not whole or whole in names, f"no counter of its group is {whole}"))
        rules.append((not whole or counter.kind == "counter", "a gauge has no share"))
        has_metric = bool(table.groups[counter.group].metric) and counter.is_number
        rules.append((has_metric, "an alert needs a metric"))
        rules.append((counter.action != "Normal", "an alert needs what to do"))
    if counter.type == "part":
        rules.append((bool(counter.of) != bool(counter.rust), "a part has `of` or `rust`"))
        rules.append((not counter.of or counter.of in table.groups, f"no group is {counter.of}"))
    else:
        rules.append((bool(counter.unit), "it has no unit"))
        # A metric has seconds instead.
        is_neutral = not re.search(r"nanoseconds?\b", counter.meaning, re.I)
        rules.append((is_neutral, "its meaning names the unit, which its name does"))
        is_named = counter.unit != "ns" or counter.flat_name.endswith("_ns")
        rules.append((is_named, "the name of a time ends in `_ns`"))
        rules.append((bool(counter.action), "it does not have what to do"))
    for holds, words in rules:
        if not holds:
            raise TableError(f"{where}: {words}")


def check_c(view: dict[str, Any], table: Table) -> None:
    """Raise where the positions in a C structure are not 1, 2 and so on."""
    entries = table.c_entries(view["name"])
    for entry in entries:
        if not entry.counter.c:
            where = f"{entry.counter.group}.{entry.counter.name}"
            raise TableError(f"{where}: it has no position `c`, and no reason in `without.c`")
    positions = [it.counter.c for it in entries]
    if positions != list(range(1, len(entries) + 1)):
        raise TableError(f"{view['name']}: positions are {positions}")
    check_names(view, "c", table)


def check_names(view: dict[str, Any], kind: str, table: Table) -> None:
    """Raise where two counters of an interface have one name."""
    entries = table.entries(view["group"], kind)
    own = kind == "json" or view.get("own_names", False)
    names = [it.counter.name if own else it.counter.flat_name for it in entries]
    doubles = {it for it in names if names.count(it) > 1}
    if kind != "json" and doubles:
        raise TableError(f"{view['name']}: {', '.join(sorted(doubles))} twice: set `flat`")

"""The generator of the counters: the tables that it refuses, and the files that it writes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from counter_table import alerts, rust, shown, text  # noqa: E402
from counter_table.table import TableError, load  # noqa: E402

TABLE = """
[stream]
crate = "proto"
rust = "Stats"
doc = "Counters of a stream."
metric = "sw_stream_"
words = true
sum = true

[stream.counters.received]
unit = "packets"
meaning = "Packets received"
action = "Normal"
c = 1
json = "packets"

[stream.counters.foreign]
unit = "packets"
meaning = "Packets of another tag"
action = "Find the other program"
flat = "other_tag"
c = 3
json = "foreign"

[stream.counters.wait]
unit = "packets"
type = "latencies"
sum_ns = "wait_ns"
meaning = "Packets by their wait"
action = "Normal"
c = 4
json = "wait"
without.soapy = "an array"

[stream.counters.wait_ns]
unit = "ns"
meaning = "Sum of the waits"
action = "Normal"
c = 5

[port]
crate = "facade"
rust = "Snapshot"
doc = "Counters at one moment."
metric = "sw_port_"
sum = true

[port.counters.stream]
type = "part"
of = "stream"
meaning = "The stream"

[port.counters.foreign]
unit = "packets"
meaning = "Packets of no stream"
action = "As above"
c = 2
json = "foreign"

[port.counters.rtt_ns]
unit = "ns"
kind = "gauge"
meaning = "Round trip"
action = "Normal"
without.c = "not there"

[[interface.c]]
name = "sw_stats"
group = "port"
doc = "Counters in C."

[[interface.json]]
name = "Counters"
group = "port"
doc = "Counters in JSON."

[[interface.python]]
name = "Stats"
group = "port"
doc = "Counters in Python."

[[interface.soapy]]
name = "COUNTERS"
struct = "sw_stats"
"""


def table(before: str = "", after: str = "") -> object:
    """The table of the tests, with a text in it replaced."""
    assert before in TABLE
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "statistics.toml"
        path.write_text(TABLE.replace(before, after, 1) if before else TABLE)
        return load(path)


class Rules(unittest.TestCase):
    """What a table must not have."""

    def refused(self, before: str, after: str, words: str) -> None:
        with self.assertRaisesRegex(TableError, words):
            table(before, after)

    def test_position_in_c_that_is_missing_or_twice_is_refused(self) -> None:
        self.refused("c = 3\n", "", r"stream.foreign: it has no position")
        self.refused("c = 3\n", "c = 1\n", r"positions are \[1, 1, 2, 4, 5\]")
        self.refused("c = 3\n", "c = 6\n", r"positions are \[1, 2, 4, 5, 6\]")

    def test_counter_is_left_out_only_for_a_reason(self) -> None:
        self.refused('without.c = "not there"', 'without.c = ""', "gives no reason")
        self.refused('without.c = "not there"', 'without.d = "x"', "`without` is of")

    def test_two_counters_of_one_flat_name_are_refused(self) -> None:
        self.refused('flat = "other_tag"\n', "", "foreign twice: set `flat`")

    def test_what_a_reader_needs_is_there(self) -> None:
        self.refused('action = "Find the other program"\n', "", "does not have what to do")
        self.refused('meaning = "Round trip"', 'meaning = ""', "it has no meaning")
        self.refused('"Round trip"', '"Round trip."', "ends in a period")
        self.refused('"Round trip"', '"One | two"', "a bar would end the cell")

    def test_unit_of_a_time_is_in_its_name_alone(self) -> None:
        words = "stream.wait_ns: its meaning names the unit"
        self.refused('"Sum of the waits"', '"Nanoseconds of all waits"', words)
        self.refused('"Sum of the waits"', '"Sum in nanoseconds"', words)
        self.refused("[port.counters.rtt_ns]", "[port.counters.rtt]", "port.rtt: .* ends in `_ns`")

    def test_misspelt_key_kind_and_reference_are_named(self) -> None:
        self.refused('kind = "gauge"', 'kind = "level"', "no kind is called level")
        self.refused('kind = "gauge"', 'sort = "gauge"', "port.rtt_ns: .*sort")
        self.refused('meaning = "Round trip"', 'same_as = "stream.none"', "there is no stream.none")

    def test_histogram_names_the_counter_of_its_sum(self) -> None:
        self.refused('sum_ns = "wait_ns"\n', "", "stream.wait: latencies alone have `sum_ns`")
        self.refused('sum_ns = "wait_ns"', 'sum_ns = "none"', "latencies alone have `sum_ns`")
        self.refused('sum_ns = "wait_ns"', 'sum_ns = "foreign"', "`sum_ns` is not in ns")
        self.refused('type = "latencies"\n', "", "latencies alone have `sum_ns`")

    def test_counter_takes_meaning_and_action_from_another(self) -> None:
        same = table('unit = "ns"\nkind = "gauge"\nmeaning = "Round trip"\naction = "Normal"\n',
                     'same_as = "stream.received"\n')  # fmt: skip
        counter = same.groups["port"].counters[-1]
        self.assertEqual((counter.meaning, counter.unit), ("Packets received", "packets"))


class Texts(unittest.TestCase):
    """What is written."""

    def test_c_has_the_order_of_positions_and_reads_the_parts(self) -> None:
        written = rust.c_structures(table())
        fields = re.findall(r"    pub (\w+): u64", written)
        self.assertEqual(fields, ["received", "foreign", "other_tag", "wait_ns"])
        self.assertIn("pub wait: [u64; 48],", written)
        self.assertIn("wait: *snapshot.stream.wait.counts(),", written)
        self.assertIn("other_tag: snapshot.stream.foreign,", written)
        self.assertIn("foreign: snapshot.foreign,", written)

    def test_json_adds_counters_of_one_key(self) -> None:
        written = rust.command(table())
        self.assertIn("foreign: snapshot.stream.foreign + snapshot.foreign,", written)
        self.assertIn("wait: RepairLatency(snapshot.stream.wait),", written)

    def test_sum_of_a_histogram_is_no_metric_of_its_own(self) -> None:
        written = rust.command(table())
        self.assertIn('name: "sw_stream_wait_seconds",', written)
        self.assertIn("latencies: |it| &it.wait,", written)
        self.assertIn("sum_ns: |it| it.wait_ns,", written)
        self.assertNotIn("wait_seconds_total", written)

    def test_metrics_are_named_by_the_rules_of_prometheus(self) -> None:
        groups = table().groups
        names = [it.metric_name(counter) for it in groups.values() for counter in it.metrics]
        self.assertEqual(names, [
            "sw_stream_received_total", "sw_stream_foreign_total",
            "sw_port_foreign_total", "sw_port_rtt_seconds",
        ])  # fmt: skip

    def test_sum_adds_counters_and_keeps_gauges(self) -> None:
        written = rust.structures(table(), "facade", "Counters", [])
        self.assertIn("self.foreign += before.foreign;", written)
        self.assertIn("self.wait.add(&before.wait);", rust.structures(table(), "proto", "C", []))
        self.assertIn("self.stream = self.stream.after(&before.stream);", written)
        self.assertNotIn("rtt_ns +=", written)

    def test_python_and_soapy_have_the_flat_names(self) -> None:
        module = text.dataclasses(table())
        self.assertEqual(re.findall(r"^    (\w+): int$", module, re.MULTILINE),
                         ["received", "other_tag", "wait_ns", "foreign", "rtt_ns"])  # fmt: skip
        self.assertIn("    wait: tuple[int, ...]", module)
        compile(module, "_counters.py", "exec")
        self.assertIn('{"other_tag", &sw_stats::other_tag, "packets",', text.sensors(table()))

    def test_manual_keeps_what_is_written_by_hand(self) -> None:
        manual = "a\n<!-- stream -->\nold\n<!-- /stream -->\nb\n<!-- port -->\n<!-- /port -->\n"
        written = text.manual(manual, table())
        self.assertNotIn("old", written)
        self.assertIn("| `received` | `packets` | Packets received | - |", written)
        self.assertIn("| `rtt_ns` (gauge) |  | Round trip | - |", written)
        self.assertEqual(text.manual(written, table()), written)
        with self.assertRaisesRegex(TableError, "each marker once"):
            text.manual("a\n", table())

    def test_lines_are_no_longer_than_the_width(self) -> None:
        help_text = rust.string("    ", "help: ", "word " * 40 + "end")
        self.assertTrue(all(len(it) <= rust.WIDTH for it in help_text))
        self.assertEqual("".join(it.strip().rstrip("\\") for it in help_text),
                         f'help: "{"word " * 40}end",')  # fmt: skip


class Shown(unittest.TestCase):
    """The dashboard and the alerts."""

    def test_every_metric_has_a_panel_and_every_alert_a_rule(self) -> None:
        whole = load(ROOT / "statistics.toml")
        dashboard = (ROOT / "grafana/samplewire.json").read_text()
        rules = (ROOT / "grafana/alerts.yml").read_text()
        names = [it.name for it in shown.metrics(whole)]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(
            [it for it in names if not re.search(rf"\b{it}(_bucket)?\b", dashboard)], []
        )
        for metric in alerts.alerting(whole):
            self.assertIn(f"alert: {alerts.name(metric)}\n", rules)

    def test_metrics_by_hand_are_those_of_the_manual(self) -> None:
        manual = (ROOT / "docs/statistics.md").read_text()
        for metric in shown.BY_HAND:
            self.assertIn(f"| `{metric.name}` |", manual)

    def test_alert_compares_growth_with_its_limit(self) -> None:
        key = 'meaning = "Packets of another tag"\n'
        share = " > 0.01 * rate(sw_stream_received_total[5m])"
        for alert, ends in (("> 0", "[5m]) > 0"), ("> 0.01 of received", share)):
            metric = alerts.alerting(table(key, f'{key}alert = "{alert}"\n'))[1]
            words = alerts.expression(metric)
            self.assertTrue(words.startswith("rate(sw_stream_foreign_total[5m])"), words)
            self.assertTrue(words.endswith(ends), words)

    def test_alert_of_a_gauge_waits_and_one_of_samples_is_critical(self) -> None:
        samples = 'unit = "samples"\nmeaning = "Packets of another tag"\nalert = "> 0"\n'
        key = 'unit = "packets"\nmeaning = "Packets of another tag"\n'
        gauge = 'kind = "gauge"\n'
        for row, level, waits in (
            (key + 'alert = "> 0"\n', "warning", 0),
            (key + 'alert = "> 0"\n' + gauge, "warning", 1),
            (samples, "critical", 0),
        ):
            rules = alerts.rules(table(key, row)).split("- alert: SwStreamForeign\n")[1]
            self.assertEqual(rules.count("        for: 10s\n"), waits)
            self.assertIn(f"severity: {level}\n", rules)

    def test_alert_that_no_rule_can_state_is_refused(self) -> None:
        key = 'meaning = "Packets of another tag"\n'
        for alert, words in (("> 1", "an alert is"), ("> 0.1 of none", "no counter of its group")):
            with self.assertRaisesRegex(TableError, words):
                table(key, f'{key}alert = "{alert}"\n')
        with self.assertRaisesRegex(TableError, "needs what to do"):
            table('json = "packets"\n', 'json = "packets"\nalert = "> 0"\n')
        with self.assertRaisesRegex(TableError, "no row is shop"):
            table(key, f'{key}panel = "shop"\n')


class Command(unittest.TestCase):
    """The command, on a copy of the repository's files."""

    def run_in(self, root: Path, *arguments: str) -> tuple[int, str]:
        """Exit status and all that was printed."""
        code = "import statistics, sys, pathlib; " \
            "sys.exit(statistics.main(sys.argv[2:], pathlib.Path(sys.argv[1])))"  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", code, str(root), *arguments],
            cwd=ROOT / "tools", capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def test_check_names_the_file_that_differs_and_a_run_writes_it(self) -> None:
        written = ["statistics.toml", "docs/statistics.md", "python/src/counters.rs",
                   "python/samplewire/_counters.py", "soapy/src/sensor_tables.hpp"]  # fmt: skip
        written += [str(it.relative_to(ROOT)) for it in ROOT.glob("crates/*/src/**/counters.rs")]
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path in written:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / path, root / path)
            self.assertEqual(self.run_in(root, "--check"), (0, ""))
            changed = root / "crates/samplewire-ffi/src/counters.rs"
            changed.write_text(changed.read_text().replace("pub received", "pub came"))
            status, words = self.run_in(root, "--check")
            self.assertEqual(status, 1)
            self.assertEqual(
                words,
                "crates/samplewire-ffi/src/counters.rs is not what tools/statistics.py writes\n",
            )
            self.assertEqual(self.run_in(root)[0], 0)
            self.assertEqual(self.run_in(root, "--check"), (0, ""))


if __name__ == "__main__":
    unittest.main()

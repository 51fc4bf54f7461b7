"""Rules of Prometheus that alert about counters, and the test of each for `promtool`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from counter_table.shown import metrics

if TYPE_CHECKING:
    from counter_table.shown import Metric
    from counter_table.table import Table

ORIGIN = "# Written by `tools/grafana.py` from `statistics.toml`; not edited by hand."
WINDOW = "5m"
"""Over which growth is taken. An alert of a counter ends as long after its last growth."""
HOLD = "10s"
"""How long a gauge must be above its limit: one that is there for a moment does not alert."""
STREAM = 'device="192.168.10.2:4900",stream="0",direction="receive"'
WHOLE_STEP = 100_000
"""What the whole of a share grows by each minute of a test."""


def alerting(table: Table) -> list[Metric]:
    """The metrics that have an alert."""
    return [it for it in metrics(table) if it.alert]


def name(metric: Metric) -> str:
    """The name of the alert: that of the metric in words without spaces."""
    words = metric.name.removesuffix("_total").split("_")
    return "".join(it.capitalize() for it in words)


def expression(metric: Metric) -> str:
    """When it fires."""
    left = f"rate({metric.name}[{WINDOW}])" if metric.kind == "counter" else metric.name
    if metric.whole:
        return f"{left} > {metric.threshold} * rate({metric.whole}[{WINDOW}])"
    return f"{left} > 0"


def severity(metric: Metric) -> str:
    """Samples that are missing, lost or late are critical."""
    return "critical" if metric.unit == "samples" else "warning"


def summary(metric: Metric) -> str:
    """What the alert says, with the stream."""
    return f"{metric.meaning} ({{{{ $labels.device }}}}, stream {{{{ $labels.stream }}}})"


def rules(table: Table) -> str:
    """The file of rules; what is in quotation marks is JSON, which YAML includes."""
    lines = [
        ORIGIN,
        "#",
        f"# An alert of a counter fires while it grows, and up to {WINDOW} longer; one of a gauge",
        f"# fires when it has been above its limit for {HOLD}.",
        "",
        "groups:",
        "  - name: samplewire",
        "    rules:",
    ]
    for metric in alerting(table):
        lines += [
            f"      - alert: {name(metric)}",
            f"        expr: {expression(metric)}",
            *([f"        for: {HOLD}"] if metric.kind == "gauge" else []),
            "        labels:",
            f"          severity: {severity(metric)}",
            "        annotations:",
            f"          summary: {json.dumps(summary(metric))}",
            f"          action: {json.dumps(metric.action)}",
        ]
    return "\n".join(lines) + "\n"


def series(metric: str, step: int, start: int = 7) -> list[str]:
    """A series that grows by `step` each minute."""
    return [
        f"      - series: {json.dumps(f'{metric}{{{STREAM}}}')}",
        f'        values: "{start}+{step}x20"',
    ]


def tests(table: Table) -> str:
    """For each alert a series that is just good, and one that is just not."""
    lines = [ORIGIN, "", "rule_files:", "  - alerts.yml", "evaluation_interval: 1m", "tests:"]
    for metric in alerting(table):
        good = round(metric.threshold * WHOLE_STEP)
        is_gauge = metric.kind == "gauge"
        for step in (good, good + 1):
            fires = step > good
            start = int(is_gauge and fires)
            lines += [f"  - name: {name(metric)} {'fires' if fires else 'is quiet'}"]
            lines += ["    interval: 1m", "    input_series:"]
            lines += series(metric.name, 0 if is_gauge else step, start)
            if metric.whole:
                lines += series(metric.whole, WHOLE_STEP)
            lines += ["    alert_rule_test:"]
            if is_gauge:
                # At first it is above its limit, but not for long enough.
                lines += ["      - eval_time: 0m", f"        alertname: {name(metric)}"]
                lines += ["        exp_alerts: []"]
            lines += [
                "      - eval_time: 15m",
                f"        alertname: {name(metric)}",
                f"        exp_alerts:{'' if fires else ' []'}",
            ]
            if fires:
                lines += expected(metric)
    return "\n".join(lines) + "\n"


def expected(metric: Metric) -> list[str]:
    """The alert as it fires in the test."""
    labels = [it.split("=") for it in STREAM.split(",")]
    filled = summary(metric)
    for label, value in labels:
        filled = filled.replace(f"{{{{ $labels.{label} }}}}", value.strip('"'))
    return [
        "          - exp_labels:",
        f"              severity: {severity(metric)}",
        *(f"              {label}: {value}" for label, value in labels),
        "            exp_annotations:",
        f"              summary: {json.dumps(filled)}",
        f"              action: {json.dumps(metric.action)}",
    ]

"""The dashboard of Grafana, by `grafana-foundation-sdk`."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

from grafana_foundation_sdk.builders import common, dashboard, prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import TooltipDisplayMode
from grafana_foundation_sdk.models.dashboard import (
    Dashboard,
    DashboardCursorSync,
    DataSourceRef,
    VariableOption,
    VariableRefresh,
)

from counter_table.shown import metrics
from counter_table.table import PANELS

if TYPE_CHECKING:
    from counter_table.shown import Metric
    from counter_table.table import Table

SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
SELECTED = '{device=~"$device"}'
INTERVAL = "[$__rate_interval]"
LEGEND = "{{device}} stream {{stream}} {{direction}}"
TITLES = {
    "streams": "Streams",
    "loss": "Loss by hop",
    "repairs": "Repairs",
    "latency": "Latency",
    "credit": "Credit",
    "disk": "Disk",
}
UNITS = {
    "packets": "pps",
    "bytes": "Bps",
    "ns": "percentunit",
}
"""Of the growth of a counter; others are counts per second."""
GAUGE_UNITS = {"ns": "s", "Hz": "hertz", "b/s": "bps"}
RTT = ("samplewire_receiver_port_rtt_seconds", "samplewire_sender_port_rtt_seconds")
WRITTEN = "samplewire_recording_samples_total"


def text(table: Table) -> str:
    """The dashboard as JSON."""
    shown = metrics(table)
    rows = [*PANELS, *dict.fromkeys(it.row for it in shown if it.row not in PANELS)]
    built = (
        dashboard.Dashboard("Samplewire")
        .uid("samplewire")
        .description("Written by `tools/grafana.py` from `statistics.toml`; see docs/statistics.md")
        .tags(["samplewire"])
        .time("now-15m", "now")
        .timezone("browser")
        .refresh("10s")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .with_variable(dashboard.DatasourceVariable("datasource").type("prometheus"))
        .with_variable(
            dashboard.QueryVariable("device")
            .datasource(SOURCE)
            .query("label_values(samplewire_stream_info, device)")
            .multi(True)
            .include_all(True)
            .all_value(".*")
            .current(VariableOption(selected=True, text="All", value="$__all"))
            .refresh(VariableRefresh.ON_DASHBOARD_LOAD)
        )
    )
    for row in rows:
        panels = [panel(it) for it in shown if it.row == row and it.name not in RTT]
        panels += by_hand(row)
        if row in PANELS:
            built.with_row(dashboard.Row(TITLES[row]))
            for it in panels:
                built.with_panel(it)
        else:
            group = dashboard.Row(f"Other counters of {row}")
            for it in panels:
                group.with_panel(it)
            built.with_row(group)
    return JSONEncoder(sort_keys=True, indent=2).encode(numbered(built.build())) + "\n"


def numbered(built: Dashboard) -> Dashboard:
    """Gives each panel a number of its own, and each of its queries a letter."""
    panels = [it for outer in built.panels or [] for it in (outer, *getattr(outer, "panels", []))]
    for number, it in enumerate(panels, 1):
        it.id_val = number
        for letter, target in zip(
            ascii_uppercase, getattr(it, "targets", None) or [], strict=False
        ):
            target.ref_id = letter
    return built


def by_hand(row: str) -> list[timeseries.Panel]:
    """Panels of more than one metric."""
    if row == "latency":
        found = graph("round trip", "Smoothed round-trip time", "s")
        for name in RTT:
            found.with_target(query(name + SELECTED, LEGEND))
        return [found]
    if row == "disk":
        per_sample = (
            f"on (instance, device, stream, direction) samplewire_stream_sample_bytes{SELECTED}"
        )
        written = graph("recording: bytes", "Bytes of recorded samples", "Bps")
        written.with_target(query(f"rate({WRITTEN}{SELECTED}{INTERVAL}) * {per_sample}", LEGEND))
        lost = graph(
            "recording: lost at the disk",
            "Samples that the file did not take in time: docs/recording.md#disks",
            "cps",
        )
        at_disk = 'samplewire_recording_lost_samples_total{device=~"$device",hop="disk"}'
        return [written, lost.with_target(query(f"rate({at_disk}{INTERVAL})", LEGEND))]
    return []


def panel(metric: Metric) -> timeseries.Panel:
    """The panel of one metric."""
    about = f"{metric.meaning}." + (f" What to do: {metric.action}" if metric.action else "")
    if metric.kind == "histogram":
        return latency(metric, about)
    legend = " ".join([LEGEND, *(f"{{{{{it}}}}}" for it in metric.labels)])
    if metric.kind == "gauge":
        found = graph(metric.title, about, GAUGE_UNITS.get(metric.unit, "short"))
        return found.with_target(query(metric.name + SELECTED, legend))
    found = graph(metric.title, about, UNITS.get(metric.unit, "cps"))
    return found.with_target(query(f"rate({metric.name}{SELECTED}{INTERVAL})", legend))


def latency(metric: Metric, about: str) -> timeseries.Panel:
    """Two quantiles, and the round trip to compare them with."""
    found = graph(f"{metric.title} and round trip", about, "s")
    growth = f"rate({metric.name}_bucket{SELECTED}{INTERVAL})"
    for share, words in (("0.5", "half"), ("0.99", "99 %")):
        quantile = f"histogram_quantile({share}, {growth})"
        found.with_target(query(quantile, f"{LEGEND} {words}"))
    return found.with_target(query(RTT[0] + SELECTED, f"{LEGEND} round trip"))


def graph(title: str, about: str, unit: str) -> timeseries.Panel:
    """An empty panel."""
    return (
        timeseries.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .unit(unit)
        .min(0)
        .span(8)
        .height(7)
        .legend(common.VizLegendOptions().show_legend(True))
        .tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI))
    )


def query(expression: str, legend: str) -> prometheus.Dataquery:
    """A query of a panel."""
    return prometheus.Dataquery().expr(expression).legend_format(legend).range()

"""What the dashboard shows and the rules alert about: metrics with their meaning and action."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from counter_table.table import ALERT
from counter_table.web import plain

if TYPE_CHECKING:
    from counter_table.table import Counter, Group, Table

STREAM = ("device", "stream", "direction")
"""The labels of a stream."""


@dataclass(frozen=True)
class Metric:
    """A metric of Prometheus."""

    name: str
    kind: str
    """counter, gauge or histogram"""
    unit: str
    title: str
    meaning: str
    action: str
    row: str
    """A row of the dashboard: one of `PANELS`, or the name of a structure."""
    alert: str = ""
    """As in the table; the share is of the metric `whole`."""
    whole: str = ""
    labels: tuple[str, ...] = field(default=())
    """Labels besides those of a stream."""

    @property
    def threshold(self) -> float:
        """The number that an alert compares with."""
        found = ALERT.fullmatch(self.alert)
        return float(f"0.{found['digits']}") if found and found["digits"] else 0


BY_HAND = (
    Metric(
        "samplewire_stream_sample_rate_hertz", "gauge", "Hz", "sample rate",
        "Sample rate; 0 when it is not known", "", "streams",
    ),
    Metric(
        "samplewire_recording_missing_samples_total", "counter", "samples", "recording: missing",
        "Samples missing in the recording", "See the hops of the loss", "loss", "> 0",
    ),
    Metric(
        "samplewire_recording_gaps_total", "counter", "gaps", "recording: gaps",
        "Gaps of the recording", "See the hops of the loss", "loss",
    ),
    Metric(
        "samplewire_recording_lost_samples_total", "counter", "samples", "recording: loss by hop",
        "Samples missing, by where they were lost",
        "docs/statistics.md#where-samples-were-lost", "loss", labels=("hop",),
    ),
    Metric(
        "samplewire_receiver_lost_samples_total", "counter", "samples", "receiver: loss by hop",
        "Samples missing, by where they were lost",
        "docs/statistics.md#where-samples-were-lost", "loss", labels=("hop",),
    ),
    Metric(
        "samplewire_recording_gap_samples_total", "counter", "samples", "recording: loss by cause",
        "Samples in gaps, by cause", "docs/statistics.md#causes", "loss", labels=("cause",),
    ),
    Metric(
        "samplewire_receiver_gap_samples_total", "counter", "samples", "receiver: loss by cause",
        "Samples in gaps, by cause", "docs/statistics.md#causes", "loss", labels=("cause",),
    ),
    Metric(
        "samplewire_recording_samples_total", "counter", "samples", "recording: samples",
        "Samples recorded", "", "disk",
    ),
)  # fmt: skip
"""Metrics that are not counters of one structure; `docs/statistics.md` lists them."""


def metrics(table: Table) -> list[Metric]:
    """All metrics of streams, those of the table in its order."""
    groups = [it for it in table.groups.values() if it.metric]
    of_table = [
        of(group, counter)
        for group in groups
        for counter in group.counters
        if counter in group.metrics or counter in group.histograms
    ]
    return [*BY_HAND, *of_table]


def of(group: Group, counter: Counter) -> Metric:
    """The metric of a counter."""
    is_histogram = counter in group.histograms
    found = ALERT.fullmatch(counter.alert)
    whole = found["whole"] if found else None
    wholes = [group.metric_name(it) for it in group.counters if it.name == whole]
    return Metric(
        name=group.histogram_name(counter) if is_histogram else group.metric_name(counter),
        kind="histogram" if is_histogram else counter.kind,
        unit=counter.unit,
        title=f"{group.id.replace('_', ' ')}: {counter.name.removesuffix('_ns')}",
        meaning=plain(counter.meaning),
        action="" if counter.action == "Normal" else plain(counter.action),
        row=counter.panel or group.rust,
        alert=counter.alert,
        whole=wholes[0] if wholes else "",
    )

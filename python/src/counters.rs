//! The fields of the dataclasses of `samplewire/_counters.py`; see `docs/statistics.md`.
//!
//! Written by `python3 tools/statistics.py` from `statistics.toml`; not edited by hand.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use samplewire::device::PlayCounts;
use samplewire::receiver::{LaneCounts, PortStats, ReceiverSnapshot};
use samplewire::transmitter::TransmitterSnapshot;
use samplewire_io::FaultCounts;

use crate::tables::{Fields, by_cause};

/// The fields of `ReceiverStats`.
pub(crate) fn receiver_stats<'py>(
    py: Python<'py>,
    counts: &ReceiverSnapshot,
) -> PyResult<Fields<'py>> {
    let fields = PyDict::new(py);
    fields.set_item("received", counts.stream.received)?;
    fields.set_item("delivered", counts.stream.delivered)?;
    fields.set_item("samples_delivered", counts.stream.samples_delivered)?;
    fields.set_item("samples_missing", counts.stream.samples_missing())?;
    fields.set_item("repaired", counts.stream.repaired)?;
    fields.set_item("repair_latency", PyTuple::new(py, counts.stream.repair_latency.counts())?)?;
    fields.set_item("repair_latency_ns", counts.stream.repair_latency_ns)?;
    fields.set_item("reordered", counts.stream.reordered)?;
    fields.set_item("reordered_beyond", counts.stream.reordered_beyond)?;
    fields.set_item("reorder_tolerance_ns", counts.stream.reorder_tolerance.0)?;
    fields.set_item("duplicates", counts.stream.duplicates)?;
    fields.set_item("late", counts.stream.late)?;
    fields.set_item("skipped", counts.stream.skipped)?;
    fields.set_item("gaps", counts.stream.gaps)?;
    fields.set_item("gap_samples", by_cause(py, &counts.stream.gap_samples)?)?;
    fields.set_item("beyond_credit", counts.stream.beyond_credit)?;
    fields.set_item("marked", counts.stream.marked)?;
    fields.set_item("refused", counts.stream.refused)?;
    fields.set_item("other_tag", counts.stream.foreign)?;
    fields.set_item("unexpected", counts.stream.unexpected)?;
    fields.set_item("reports", counts.stream.reports)?;
    fields.set_item("ranges", counts.stream.ranges)?;
    fields.set_item("source_lost", counts.stream.source_lost)?;
    fields.set_item("timed_index", counts.stream.timed_index)?;
    fields.set_item("timed_index_tai_ns", counts.stream.timed_index_tai_ns)?;
    fields.set_item("corrupted", counts.corrupted)?;
    fields.set_item("foreign", counts.foreign)?;
    fields.set_item("send_errors", counts.send_errors)?;
    fields.set_item("receive_errors", counts.receive_errors)?;
    fields.set_item("socket_dropped", counts.socket_dropped)?;
    fields.set_item("starved", counts.starved)?;
    fields.set_item("rtt_ns", counts.rtt_ns)?;
    fields.set_item("credit", counts.credit)?;
    fields.set_item("window", counts.window)?;
    fields.set_item("silent_ns", counts.silent_ns)?;
    fields.set_item("dead_after_ns", counts.dead_after_ns)?;
    fields.set_item("port_corrupted", counts.port.corrupted)?;
    fields.set_item("port_foreign", counts.port.foreign)?;
    Ok(fields)
}

/// The fields of `PortStats`.
pub(crate) fn port_stats<'py>(py: Python<'py>, counts: &PortStats) -> PyResult<Fields<'py>> {
    let fields = PyDict::new(py);
    fields.set_item("corrupted", counts.corrupted)?;
    fields.set_item("foreign", counts.foreign)?;
    Ok(fields)
}

/// The fields of `StreamCounts`.
pub(crate) fn stream_counts<'py>(py: Python<'py>, counts: &LaneCounts) -> PyResult<Fields<'py>> {
    let fields = PyDict::new(py);
    fields.set_item("gaps", counts.gaps)?;
    fields.set_item("missing", counts.missing)?;
    fields.set_item("discarded", counts.discarded)?;
    Ok(fields)
}

/// The fields of `TransmitterStats`.
pub(crate) fn transmitter_stats<'py>(
    py: Python<'py>,
    counts: &TransmitterSnapshot,
) -> PyResult<Fields<'py>> {
    let fields = PyDict::new(py);
    fields.set_item("packets", counts.stream.packets)?;
    fields.set_item("retransmissions", counts.stream.retransmissions)?;
    fields.set_item("bytes", counts.stream.bytes)?;
    fields.set_item("reports", counts.stream.reports)?;
    fields.set_item("reports_refused", counts.stream.reports_refused)?;
    fields.set_item("requests_refused", counts.stream.requests_refused)?;
    fields.set_item("closes_refused", counts.stream.closes_refused)?;
    fields.set_item("credit_stalls", counts.stream.credit_stalls)?;
    fields.set_item("budget_stalls", counts.stream.budget_stalls)?;
    fields.set_item("other_tag", counts.stream.foreign)?;
    fields.set_item("unexpected", counts.stream.unexpected)?;
    fields.set_item("congestion", counts.stream.congestion)?;
    fields.set_item("cuts", counts.stream.cuts)?;
    fields.set_item("limit_bps", counts.stream.limit_bps)?;
    fields.set_item("limited_ns", counts.stream.limited_ns)?;
    fields.set_item("limited_bytes", counts.stream.limited_bytes)?;
    fields.set_item("shortages", counts.stream.shortages)?;
    fields.set_item("received_by_peer", counts.stream.received_by_peer)?;
    fields.set_item("skipped_by_peer", counts.stream.skipped_by_peer)?;
    fields.set_item("late_at_peer", counts.stream.late_at_peer)?;
    fields.set_item("position_of_peer", counts.stream.position_of_peer)?;
    fields.set_item("underflow_at_peer", counts.stream.underflow_at_peer)?;
    fields.set_item("corrupted", counts.corrupted)?;
    fields.set_item("foreign", counts.foreign)?;
    fields.set_item("send_errors", counts.send_errors)?;
    fields.set_item("receive_errors", counts.receive_errors)?;
    fields.set_item("rtt_ns", counts.rtt_ns)?;
    fields.set_item("credit", counts.credit)?;
    fields.set_item("held", counts.held)?;
    fields.set_item("window", counts.window)?;
    Ok(fields)
}

/// The fields of `Played`.
pub(crate) fn played<'py>(py: Python<'py>, counts: &PlayCounts) -> PyResult<Fields<'py>> {
    let fields = PyDict::new(py);
    fields.set_item("played", counts.played)?;
    fields.set_item("bursts", counts.bursts)?;
    fields.set_item("underruns", counts.underruns)?;
    fields.set_item("underrun_samples", counts.underrun_samples)?;
    fields.set_item("late_samples", counts.late_samples)?;
    fields.set_item("late_packets", counts.late_packets)?;
    Ok(fields)
}

/// The fields of `FaultCounts`.
pub(crate) fn fault_counts<'py>(py: Python<'py>, counts: &FaultCounts) -> PyResult<Fields<'py>> {
    let fields = PyDict::new(py);
    fields.set_item("packets", counts.packets)?;
    fields.set_item("lost", counts.lost)?;
    fields.set_item("queue_full", counts.queue_full)?;
    fields.set_item("corrupted", counts.corrupted)?;
    fields.set_item("duplicated", counts.duplicated)?;
    fields.set_item("reordered", counts.reordered)?;
    fields.set_item("delayed", counts.delayed)?;
    fields.set_item("undelayed", counts.undelayed)?;
    fields.set_item("refused", counts.refused)?;
    Ok(fields)
}

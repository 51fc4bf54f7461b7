//! What is known of streams, as the dataclasses of `samplewire/_records.py`.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use samplewire::device::PlayCounts;
use samplewire::find::FoundDevice;
use samplewire::format::Format;
use samplewire::real_time::{Granted, Pages, Refusal};
use samplewire::receiver::{LaneCounts, PortStats, ReceiverSnapshot, StreamGap};
use samplewire::transmitter::{PlayEvent, PlayEventKind, SessionEnd, TransmitterSnapshot};
use samplewire::{Cause, DeviceInfo, Gap, RdmaProbe, Waits};
use samplewire_circuit::{Tag, TagKind};
use samplewire_io::xdp::XdpLog;
use samplewire_io::{Capabilities, FaultCounts};
use samplewire_record::account::Balance;
use samplewire_record::sink::SinkSummary;

use crate::counters;

/// The fields of a dataclass.
pub(crate) type Fields<'py> = Bound<'py, PyDict>;

/// Fields of the same names.
macro_rules! copy {
    ($fields:ident, $from:expr, $($name:ident),+ $(,)?) => {
        $($fields.set_item(stringify!($name), &$from.$name)?;)+
    };
}

fn record<'py>(name: &str, fields: &Fields<'py>) -> PyResult<Bound<'py, PyAny>> {
    let class = fields.py().import("samplewire._records")?.getattr(name)?;
    class.call((), Some(fields))
}

/// A tuple of what could be made.
pub(crate) fn tuple<'py>(
    py: Python<'py>,
    items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)
}

pub(crate) fn device_info<'py>(py: Python<'py>, info: &DeviceInfo) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    copy!(
        fields,
        info,
        stream,
        streams,
        boot_id,
        channels,
        rate_numerator,
        rate_denominator,
        centre_frequency_hz,
        first_index,
        first_index_tai_ns,
        clock_quality_ns,
        packet_samples,
        payload_bytes,
        window,
        path_mtu_bytes
    );
    fields.set_item("address", info.address.to_string())?;
    fields.set_item("format", info.format.as_str())?;
    fields.set_item("rtt_s", info.rtt.as_secs_f64())?;
    fields.set_item("carriage", info.carriage.name())?;
    fields.set_item("name", info.name.to_string())?;
    fields.set_item("name_raw", PyBytes::new(py, info.name.as_raw_bytes()))?;
    record("DeviceInfo", &fields)
}

pub(crate) fn rdma_probe<'py>(py: Python<'py>, probe: &RdmaProbe) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("info", device_info(py, &probe.info)?)?;
    copy!(fields, probe, path_mtu_bytes, device_path_mtu_bytes);
    fields.set_item("packets_a_write", probe.packets_a_write())?;
    record("RdmaProbe", &fields)
}

fn gap_fields<'py>(py: Python<'py>, gap: &Gap) -> PyResult<Fields<'py>> {
    let fields = PyDict::new(py);
    copy!(fields, gap, first, not_repaired, source_lost);
    fields.set_item("cause", gap.cause.as_str())?;
    Ok(fields)
}

pub(crate) fn gap<'py>(py: Python<'py>, gap: &Gap) -> PyResult<Bound<'py, PyAny>> {
    record("Gap", &gap_fields(py, gap)?)
}

pub(crate) fn stream_gap<'py>(py: Python<'py>, of: &StreamGap) -> PyResult<Bound<'py, PyAny>> {
    let fields = gap_fields(py, &of.gap)?;
    fields.set_item("stream", of.stream)?;
    record("StreamGap", &fields)
}

pub(crate) fn stream_counts<'py>(
    py: Python<'py>,
    stream: u16,
    counts: &LaneCounts,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = counters::stream_counts(py, counts)?;
    fields.set_item("stream", stream)?;
    record("StreamCounts", &fields)
}

pub(crate) fn port_stats(py: Python<'_>, stats: PortStats) -> PyResult<Bound<'_, PyAny>> {
    record("PortStats", &counters::port_stats(py, &stats)?)
}

/// What a stream got of what it was to have.
pub(crate) struct GrantedOptions {
    real_time: Granted,
    /// Where packets are to bypass the kernel.
    bypass: Option<XdpLog>,
}

impl GrantedOptions {
    pub(crate) fn new(real_time: &Granted, capabilities: &Capabilities) -> Self {
        Self { real_time: real_time.clone(), bypass: capabilities.bypass.clone() }
    }
}

pub(crate) fn granted<'py>(
    py: Python<'py>,
    options: &GrantedOptions,
) -> PyResult<Bound<'py, PyAny>> {
    let (granted, fields) = (&options.real_time, PyDict::new(py));
    let link = options.bypass.as_ref().map(|log| log.state().to_string());
    fields.set_item("link", link)?;
    copy!(fields, granted, cpu, priority, locked_bytes);
    let pages = granted.pages.map(|pages| match pages {
        Pages::Huge => "huge",
        Pages::Transparent { huge_bytes: 1.. } => "transparent",
        Pages::Transparent { huge_bytes: 0 } | Pages::Small => "small",
    });
    let waits = match granted.waits {
        Waits::Asleep => "asleep",
        Waits::Spinning => "spinning",
        Waits::BothSpinning => "both-spinning",
        Waits::Inline => "inline",
    };
    fields.set_item("pages", pages)?;
    fields.set_item("timer_slack_s", granted.timer_slack.map(|it| it.as_secs_f64()))?;
    fields.set_item("coalesce_s", granted.coalesce.map(|it| it.as_secs_f64()))?;
    fields.set_item("waits", waits)?;
    fields.set_item("refused", tuple(py, granted.refused.iter().map(|it| refused(py, it)))?)?;
    fields.set_item("summary", granted.to_string())?;
    py.import("samplewire._real_time")?.getattr("Granted")?.call((), Some(&fields))
}

fn refused<'py>(py: Python<'py>, option: &Refusal) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    copy!(fields, option, what, why, capability, command);
    py.import("samplewire._real_time")?.getattr("Refusal")?.call((), Some(&fields))
}

pub(crate) fn tag<'py>(py: Python<'py>, tag: &Tag) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("index", tag.index)?;
    let kind = match tag.kind {
        TagKind::Start => "start",
        TagKind::EndOfBurst => "end of burst",
        TagKind::Overflow { lost_samples } => {
            fields.set_item("value", lost_samples)?;
            "overflow"
        }
        TagKind::Gap { lost_samples, cause } => {
            fields.set_item("value", lost_samples)?;
            fields.set_item("cause", cause)?;
            "gap"
        }
        TagKind::Sync { bit, wrong_bits } => {
            fields.set_item("value", bit)?;
            fields.set_item("wrong_bits", wrong_bits)?;
            "sync"
        }
        TagKind::Frequency { hz } => {
            fields.set_item("value", hz)?;
            "frequency"
        }
        TagKind::Gain { db } => {
            fields.set_item("value", db)?;
            "gain"
        }
        TagKind::Rate { hz } => {
            fields.set_item("value", hz)?;
            "rate"
        }
        // A kind that a later version of the library adds.
        _ => "other",
    };
    fields.set_item("kind", kind)?;
    record("Tag", &fields)
}

pub(crate) fn receiver_stats<'py>(
    py: Python<'py>,
    stats: &ReceiverSnapshot,
    held_bytes: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = counters::receiver_stats(py, stats)?;
    fields.set_item("held_bytes", held_bytes)?;
    record("ReceiverStats", &fields)
}

/// Samples by cause.
pub(crate) fn by_cause<'py>(
    py: Python<'py>,
    samples: &[u64; Cause::ALL.len()],
) -> PyResult<Fields<'py>> {
    let by_cause = PyDict::new(py);
    for cause in Cause::ALL {
        by_cause.set_item(cause.as_str(), samples[cause as usize])?;
    }
    Ok(by_cause)
}

pub(crate) fn reading<'py>(
    py: Python<'py>,
    samples: &Bound<'py, PyAny>,
    index: u64,
    gaps: &[Gap],
    format: Format,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("samples", samples)?;
    fields.set_item("index", index)?;
    fields.set_item("format", format.as_str())?;
    fields.set_item("gaps", tuple(py, gaps.iter().map(|it| gap(py, it)))?)?;
    record("Reading", &fields)
}

pub(crate) fn play_event<'py>(py: Python<'py>, event: &PlayEvent) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    copy!(fields, event, index, end, count, lost);
    let kind = match event.kind {
        PlayEventKind::Late => "late",
        PlayEventKind::Underflow => "underflow",
    };
    fields.set_item("kind", kind)?;
    record("PlayEvent", &fields)
}

pub(crate) fn transmitter_stats<'py>(
    py: Python<'py>,
    stats: &TransmitterSnapshot,
) -> PyResult<Bound<'py, PyAny>> {
    record("TransmitterStats", &counters::transmitter_stats(py, stats)?)
}

pub(crate) fn session_end<'py>(py: Python<'py>, ended: &SessionEnd) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("end", format!("{:?}", ended.end))?;
    fields.set_item("final_index", ended.final_index)?;
    let stats = TransmitterSnapshot { stream: ended.stats, ..TransmitterSnapshot::default() };
    fields.set_item("stats", transmitter_stats(py, &stats)?)?;
    record("SessionEnd", &fields)
}

pub(crate) fn recording<'py>(
    py: Python<'py>,
    summary: &SinkSummary,
    balance: &Balance,
    silent_s: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    copy!(fields, summary, samples, bytes, gaps, missing_samples);
    fields.set_item("files", &summary.files)?;
    fields.set_item("sha512", &summary.sha512)?;
    fields.set_item("silent_s", silent_s)?;
    let terms = PyDict::new(py);
    copy!(terms, balance, indexes, samples, missing, left_out, not_written, before_first);
    fields.set_item("account", record("Account", &terms)?)?;
    record("Recording", &fields)
}

pub(crate) fn found<'py>(py: Python<'py>, found: &FoundDevice) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("info", device_info(py, &found.info)?)?;
    let others: Vec<_> = found.other_addresses.iter().map(ToString::to_string).collect();
    fields.set_item("other_addresses", PyTuple::new(py, others)?)?;
    record("FoundDevice", &fields)
}

pub(crate) fn play_counts<'py>(
    py: Python<'py>,
    counts: &PlayCounts,
) -> PyResult<Bound<'py, PyAny>> {
    record("Played", &counters::played(py, counts)?)
}

pub(crate) fn fault_counts<'py>(
    py: Python<'py>,
    counts: &FaultCounts,
) -> PyResult<Bound<'py, PyAny>> {
    record("FaultCounts", &counters::fault_counts(py, counts)?)
}

//! Recording by the library's sinks, with no sample in Python.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use samplewire::sigmf::RecordedGap;
use samplewire::sink::{self, SinkError, SinkOptions, SinkSummary, Writer};
use samplewire::{Block, End, Receiver};

use crate::wait::{SLICE, interruptible, span, stoppable};
use crate::{errors, options, tables};

/// Records a stream until it ends, `samples` indexes are there or `seconds` are over.
#[pyfunction]
#[pyo3(signature = (opening, path, *, samples, seconds, format, overwrite, compress, sha512))]
#[expect(clippy::too_many_arguments, reason = "Python's half names each")]
pub(crate) fn record<'py>(
    py: Python<'py>,
    opening: options::Opening,
    path: PathBuf,
    samples: Option<u64>,
    seconds: Option<f64>,
    format: Option<&str>,
    overwrite: bool,
    compress: bool,
    sha512: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if samples == Some(0) {
        return Err(PyValueError::new_err("0 samples to record: must be 1 or more"));
    }
    let mut sink_options =
        SinkOptions::new().overwrite(overwrite).compress(compress).sha512(sha512);
    if let Some(name) = format {
        sink_options = sink_options.format(options::format_named(name)?);
    }
    let duration = seconds.map(|it| span("seconds", it)).transpose()?;
    let (address, options) = (opening.address(py)?, opening.to_receive()?);
    let opened = interruptible(py, move || Receiver::open(address, &options))?;
    let receiver = opened.map_err(|error| errors::open_error(py, &error))?;
    let of_sink = |error| errors::sink_error(py, &error);
    let stream = receiver.info().stream_info();
    let sink = sink::open(&path, &stream, &sink_options).map_err(of_sink)?;
    let writer = Writer::start(sink, QUEUE_BLOCKS)?;
    let first = receiver.info().first_index;
    let limits = Limits {
        next: first,
        end: samples.map_or(u64::MAX, |samples| first.saturating_add(samples)),
        until: duration.and_then(|it| Instant::now().checked_add(it)),
    };
    let recorded = stoppable(py, move |stop| run(receiver, writer, limits, stop))?;
    let Recorded { summary, silent_s, end } = recorded.map_err(of_sink)?;
    match end {
        Some(Ok(end)) => errors::end_error(py, &end).map_or(Ok(()), Err)?,
        Some(Err(link)) => return Err(errors::error(py, "LinkError", link)),
        None => {}
    }
    tables::recording(py, &summary, silent_s)
}

/// Where a recording stops.
struct Limits {
    /// The index that is to come.
    next: u64,
    end: u64,
    until: Option<Instant>,
}

/// A recording that is over.
struct Recorded {
    summary: SinkSummary,
    /// For how long the device had been silent at the end, where it was.
    silent_s: Option<f64>,
    end: Option<Result<End, String>>,
}

/// Records into the writer and finishes it, whatever stops the recording.
fn run(
    mut receiver: Receiver,
    mut writer: Writer,
    mut limits: Limits,
    stop: &AtomicBool,
) -> Result<Recorded, SinkError> {
    let mut result = writer.session(receiver.info().boot_id);
    let mut end = None;
    // Relaxed: a flag that is looked at again soon; nothing is ordered by it.
    while result.is_ok() && limits.next < limits.end && !stop.load(Ordering::Relaxed) {
        let left = limits.until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            break;
        }
        match receiver.next_within(left.map_or(SLICE, |left| left.min(SLICE))) {
            Some(block) => result = take(block, &mut writer, &mut limits),
            None if receiver.is_over() => {
                let told = receiver.end().map(Result::as_ref);
                end = told.map(|end| end.copied().map_err(ToString::to_string));
                break;
            }
            None => {}
        }
    }
    let silent_ns = receiver.stats().silent_ns;
    let silent_s = (silent_ns > 0).then(|| Duration::from_nanos(silent_ns).as_secs_f64());
    receiver.close();
    let (summary, unheard) = writer.finish();
    result?;
    unheard.map_or(Ok(()), Err)?;
    Ok(Recorded { summary, silent_s, end })
}

/// Writes what of the block lies before the end.
fn take(block: Block, writer: &mut Writer, limits: &mut Limits) -> Result<(), SinkError> {
    for gap in block.gaps() {
        let mut gap = RecordedGap::from(gap);
        let room = limits.end.saturating_sub(gap.first);
        gap.not_repaired = gap.not_repaired.min(room);
        gap.source_lost = gap.source_lost.min(room - gap.not_repaired);
        if gap.count() > 0 {
            writer.gap(&gap)?;
        }
        limits.next = gap.first + gap.count();
    }
    let index = block.index();
    let samples = (block.len() as u64).min(limits.end.saturating_sub(index)) as usize;
    if samples > 0 {
        let len_bytes = block.bytes().len() / block.len() * samples;
        writer.samples(block, index, 0..len_bytes)?;
        limits.next = index + samples as u64;
    }
    Ok(())
}

/// Places before the sink, as the command has them.
const QUEUE_BLOCKS: usize = 512;

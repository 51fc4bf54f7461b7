//! Recording by the library's sinks, with no sample in Python.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use samplewire::account::Account;
use samplewire::receiver::{AlignedItem, Interleaved, StreamGap};
use samplewire::sigmf::RecordedGap;
use samplewire::sink::{self, SinkError, SinkOptions, SinkSummary, Writer};
use samplewire::{Block, ReceiveError};

use crate::wait::{SLICE, interruptible, span, stoppable};
use crate::{errors, options, tables};

/// Records a stream, or several as one that has the channels of all, until it ends, `samples`
/// indexes are there or `seconds` are over.
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
    let duration = seconds.map(|it| span("duration", it)).transpose()?;
    let (address, options) = (opening.address(py)?, opening.to_receive()?);
    let opened = interruptible(py, move || options.open_interleaved(address))?;
    let receiver = opened.map_err(|error| errors::open_error(py, &error))?;
    let of_sink = |error| errors::sink_error(py, &error);
    let stream = receiver.info().stream_info();
    let sink = sink::open(&path, &stream, &sink_options).map_err(of_sink)?;
    let writer = Writer::start(sink, QUEUE_BLOCKS)?;
    let account = Account::new(receiver.info().first_index, samples);
    let until = duration.and_then(|it| Instant::now().checked_add(it));
    let recorded = stoppable(py, move |stop| run(receiver, writer, account, until, stop))?;
    let Recorded { summary, account, silent_s, end } = recorded.map_err(of_sink)?;
    end.and_then(|error| errors::receive_error(py, &error)).map_or(Ok(()), Err)?;
    let defect = |defect| PyRuntimeError::new_err(format!("the account does not add up: {defect}"));
    let balance = account.balance(summary.samples).map_err(defect)?;
    tables::recording(py, &summary, &balance, silent_s)
}

/// A recording that is over.
struct Recorded {
    summary: SinkSummary,
    account: Account,
    /// For how long the device had been silent at the end, where it was.
    silent_s: Option<f64>,
    end: Option<ReceiveError>,
}

/// Records into the writer and finishes it, whatever stops the recording.
fn run(
    mut receiver: Interleaved,
    mut writer: Writer,
    mut account: Account,
    until: Option<Instant>,
    stop: &AtomicBool,
) -> Result<Recorded, SinkError> {
    let mut result = writer.session(receiver.info().boot_id);
    let mut end = None;
    // Relaxed: a flag that is looked at again soon; nothing is ordered by it.
    while result.is_ok() && !account.is_full() && !stop.load(Ordering::Relaxed) {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            break;
        }
        match receiver.next_within(left.map_or(SLICE, |left| left.min(SLICE))) {
            Ok(Some(AlignedItem::Samples(block))) => {
                result = take(block, &mut writer, &mut account);
            }
            Ok(Some(AlignedItem::Gap(gap))) => {
                result = note(&gap, receiver.infos().len() > 1, &mut writer, &mut account);
            }
            Ok(None) => {}
            Err(ReceiveError::Stream { error, .. }) if receiver.infos().len() == 1 => {
                end = Some(*error);
                break;
            }
            Err(error) => {
                end = Some(error);
                break;
            }
        }
    }
    let silences = receiver.stats().map(|(stats, _)| stats.silent_ns);
    let silent_ns = silences.max().unwrap_or(0);
    let silent_s = (silent_ns > 0).then(|| Duration::from_nanos(silent_ns).as_secs_f64());
    receiver.close();
    let (summary, unheard) = writer.finish();
    result?;
    unheard.map_or(Ok(()), Err)?;
    Ok(Recorded { summary, account, silent_s, end })
}

/// Accounts for a gap, and for the stream that has it where there are several.
fn note(
    StreamGap { stream, gap }: &StreamGap,
    are_several: bool,
    writer: &mut Writer,
    account: &mut Account,
) -> Result<(), SinkError> {
    let gap = RecordedGap { stream: are_several.then_some(*stream), ..RecordedGap::from(gap) };
    account.take_gap(&gap, false).map_or(Ok(()), |gap| writer.gap(&gap))
}

/// Writes what of the block is still wanted.
fn take(block: Block, writer: &mut Writer, account: &mut Account) -> Result<(), SinkError> {
    let index = block.index();
    let samples = account.take_samples(index, block.len());
    if samples > 0 {
        let len_bytes = block.bytes().len() / block.len() * samples;
        writer.samples(block, index, 0..len_bytes)?;
    }
    Ok(())
}

/// Places before the sink, as the command has them.
const QUEUE_BLOCKS: usize = 512;

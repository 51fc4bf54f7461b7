//! Recording by the library's sinks, with no sample in Python.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use samplewire_proto::OutOfRange;
use samplewire_record::recorder::{
    Observer, OptionsOpener, Recorded, Recorder, RecorderOptions, Stop, open_first,
};
use samplewire_record::sink::{self, SinkError, SinkOptions, SinkSummary, Writer};

use crate::wait::{interruptible, span, stoppable};
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
        return Err(PyValueError::new_err(OutOfRange("samples", 0, "1 or more").to_string()));
    }
    let mut sink_options =
        SinkOptions::new().overwrite(overwrite).compress(compress).sha512(sha512);
    if let Some(name) = format {
        sink_options = sink_options.format(options::format_named(name)?);
    }
    let duration = seconds.map(|it| span("duration", it)).transpose()?;
    let opener = OptionsOpener { address: opening.address(py)?, options: opening.to_receive()? };
    let opened = interruptible(py, {
        let opener = opener.clone();
        move || open_first(&opener, None, false)
    })?;
    let receiver = opened.map_err(|error| errors::open_error(py, &error))?;
    options::warn_of_window(py, opening.window, [receiver.info()])?;
    let of_sink = |error| errors::sink_error(py, &error);
    let stream = receiver.info().stream_info();
    let has_disk = !["-", "null"].map(OsStr::new).contains(&path.as_os_str());
    let sink = sink::open(&path, &stream, &sink_options).map_err(of_sink)?;
    let mut writer = Writer::start(sink, QUEUE_BLOCKS)?;
    let options =
        RecorderOptions::new(Instant::now()).samples(samples).duration(duration).has_disk(has_disk);
    let (recorded, written) = stoppable(py, move |stop| {
        let mut watched = Watched { stop };
        let recorder = Recorder::new(options, receiver.info(), &mut writer, &mut watched);
        let recorded = recorder.run(&opener, receiver);
        (recorded, writer.finish())
    })?;
    conclude(py, recorded, written)
}

/// Stops a recording where Python is to stop.
struct Watched<'a> {
    stop: &'a AtomicBool,
}

impl Observer for Watched<'_> {
    fn should_stop(&mut self) -> bool {
        // Relaxed: a flag that is looked at again soon; nothing is ordered by it.
        self.stop.load(Ordering::Relaxed)
    }
}

/// The recording as Python sees it.
///
/// # Errors
/// What stopped it, where that was not to be.
fn conclude<'py>(
    py: Python<'py>,
    recorded: Recorded,
    (summary, unheard): (SinkSummary, Option<SinkError>),
) -> PyResult<Bound<'py, PyAny>> {
    let Recorded { stop, account, silent, .. } = recorded;
    let of_sink = |error| errors::sink_error(py, &error);
    let ended = match stop {
        Stop::Sink(error) => return Err(of_sink(error)),
        Stop::Ended(error) => errors::receive_error(py, &error),
        Stop::Samples | Stop::Duration | Stop::Requested => None,
        other => Some(PyRuntimeError::new_err(format!("the recording stopped: {other:?}"))),
    };
    unheard.map_or(Ok(()), |error| Err(of_sink(error)))?;
    ended.map_or(Ok(()), Err)?;
    let defect = |defect| PyRuntimeError::new_err(format!("the account does not add up: {defect}"));
    let balance = account.balance(summary.samples).map_err(defect)?;
    tables::recording(py, &summary, &balance, silent.map(|silent| silent.as_secs_f64()))
}

/// Places before the sink, as the command has them.
const QUEUE_BLOCKS: usize = 512;

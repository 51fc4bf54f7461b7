//! Waits without the GIL, in which Ctrl-C is seen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use samplewire_proto::OutOfRange;

/// The longest that a signal waits to be seen.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// A span that Python gave in seconds.
///
/// # Errors
/// `ValueError` unless it is at least 0, and a time.
pub(crate) fn span(name: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        let words = OutOfRange(name, format_args!("{seconds} s"), "0 s or more");
        PyValueError::new_err(words.to_string())
    })
}

/// The end of a wait that may have one.
pub(crate) fn until(name: &str, seconds: Option<f64>) -> PyResult<Option<Instant>> {
    Ok(seconds.map(|it| span(name, it)).transpose()?.and_then(|it| Instant::now().checked_add(it)))
}

/// Runs `work`, which may wait, in a separate thread. If a signal comes, the call returns, and the
/// thread ends later.
///
/// # Errors
/// The exception of a signal handler, or the system has no free thread.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let call = Call::start(work)?;
    loop {
        if let Some(value) = call.wait(py, SLICE)? {
            return Ok(value);
        }
        // What comes after a signal is dropped, which closes it.
        py.check_signals()?;
    }
}

/// Runs what ends soon after its flag is set, as a signal does; its end is waited for.
///
/// # Errors
/// See [`interruptible`].
pub(crate) fn stoppable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let call = Call::start({
        let stop = Arc::clone(&stop);
        move || work(&stop)
    })?;
    let mut signal = Ok(());
    loop {
        if let Some(value) = call.wait(py, SLICE)? {
            return signal.map(|()| value);
        }
        signal = signal.and_then(|()| py.check_signals());
        // Relaxed: a flag that is looked at again soon; nothing is ordered by it.
        stop.store(signal.is_err(), Ordering::Relaxed);
    }
}

/// Drops or ends what waits for a thread, which may wait for the GIL in turn.
pub(crate) fn without_gil(work: impl FnOnce() + Send) {
    Python::attach(|py| py.detach(work));
}

/// Work in a thread of its own.
struct Call<T>(Mutex<Receiver<T>>);

impl<T: Send + 'static> Call<T> {
    fn start(work: impl FnOnce() -> T + Send + 'static) -> PyResult<Self> {
        let (done, awaited) = sync_channel(1);
        let builder = Builder::new().name("samplewire-call".to_owned());
        builder.spawn(move || drop(done.send(work())))?;
        Ok(Self(Mutex::new(awaited)))
    }

    fn wait(&self, py: Python<'_>, timeout: Duration) -> PyResult<Option<T>> {
        match py.detach(|| self.0.lock().expect("one thread waits").recv_timeout(timeout)) {
            Ok(value) => Ok(Some(value)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(PyRuntimeError::new_err("the call's thread broke"))
            }
        }
    }
}

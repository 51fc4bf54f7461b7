//! Signals that end a command. The signal is stored, so that the command closes its files and
//! notifies the other side.

use std::ffi::c_int;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use samplewire::SendStream;
use samplewire::transmitter::SendError;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::console::Console;

/// Whether the user, or the system, wants the command to end.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    signal: Arc<AtomicUsize>,
    is_announced: Arc<AtomicBool>,
}

impl Interrupt {
    /// Stores SIGINT, SIGTERM and SIGHUP from here on; a second signal ends the process at once.
    ///
    /// # Errors
    /// The system rejects the handler.
    pub(crate) fn install() -> io::Result<Self> {
        Self::of(&[SIGINT, SIGTERM, SIGHUP])
    }

    /// As [`Interrupt::install`], but SIGHUP ends the process as if it had no handler: a terminal
    /// that is gone cannot be restored.
    ///
    /// # Errors
    /// The system rejects the handler.
    pub(crate) fn install_for_terminal() -> io::Result<Self> {
        Self::of(&[SIGINT, SIGTERM])
    }

    /// Stores these signals.
    ///
    /// # Errors
    /// The system rejects the handler.
    pub(crate) fn of(signals: &[c_int]) -> io::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        let is_second = Arc::new(AtomicBool::new(false));
        for &number in signals {
            // In the order in which they run: only the second signal finds the flag set.
            flag::register_conditional_shutdown(number, 128 + number, Arc::clone(&is_second))?;
            flag::register(number, Arc::clone(&is_second))?;
            flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        Ok(Self { signal, is_announced: Arc::default() })
    }

    /// The signal that came, if any.
    pub(crate) fn signal(&self) -> Option<u8> {
        // Relaxed: the flag is read again soon, and orders nothing.
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            number => u8::try_from(number).ok(),
        }
    }

    /// As [`Interrupt::signal`]. The first call that finds a signal prints that the command stops:
    /// the rest may take long.
    pub(crate) fn stop_signal(&self, console: &mut Console) -> Option<u8> {
        let signal = self.signal()?;
        // Relaxed: only which call is the first matters.
        if !self.is_announced.swap(true, Ordering::Relaxed) {
            console
                .note(format_args!("stopping: signal {signal} came; a second one does not wait"));
        }
        Some(signal)
    }
}

/// Waits until the device has reported its credit for an opened stream. Returns `false` if it
/// grants nothing for `timeout`, or `should_stop` returns true first.
///
/// # Errors
/// The port failed.
pub(crate) fn wait_ready(
    stream: &SendStream,
    timeout: Duration,
    mut should_stop: impl FnMut() -> bool,
) -> Result<bool, SendError> {
    let started = Instant::now();
    while !should_stop() {
        let left = timeout.saturating_sub(started.elapsed());
        let is_ready = stream.wait_ready(left.min(STOP_PAUSE))?;
        if is_ready || left.is_zero() {
            return Ok(is_ready);
        }
    }
    Ok(false)
}

/// The longest wait between two checks for a stop: a stop begins within 100 ms.
pub(crate) const STOP_PAUSE: Duration = Duration::from_millis(50);

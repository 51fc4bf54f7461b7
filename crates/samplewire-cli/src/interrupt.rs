//! Signals that end a command: noted once, so that files are closed and the other side is told.

use std::ffi::c_int;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether the user, or the system, wants the command to end.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Takes note of SIGINT, SIGTERM and SIGHUP from here on; a second one ends the process at
    /// once.
    ///
    /// # Errors
    /// The system takes no handler.
    pub(crate) fn install() -> io::Result<Self> {
        Self::of(&[SIGINT, SIGTERM, SIGHUP])
    }

    /// As [`Interrupt::install`], but for SIGHUP, which ends the process as if nobody took note: a
    /// terminal that is gone cannot be given back.
    ///
    /// # Errors
    /// The system takes no handler.
    pub(crate) fn install_for_terminal() -> io::Result<Self> {
        Self::of(&[SIGINT, SIGTERM])
    }

    fn of(signals: &[c_int]) -> io::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        let is_second = Arc::new(AtomicBool::new(false));
        for &number in signals {
            // In the order in which they run: only the second signal finds the flag set.
            flag::register_conditional_shutdown(number, 128 + number, Arc::clone(&is_second))?;
            flag::register(number, Arc::clone(&is_second))?;
            flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        Ok(Self { signal })
    }

    /// The signal that came, if one did.
    pub(crate) fn signal(&self) -> Option<u8> {
        // Relaxed: a flag that is looked at again soon; nothing is ordered by it.
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            number => u8::try_from(number).ok(),
        }
    }
}

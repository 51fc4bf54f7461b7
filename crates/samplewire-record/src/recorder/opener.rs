//! Opens the streams of a recording, once or until the device answers.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use samplewire::receiver::Interleaved;
use samplewire::{OpenError, ReceiveOptions, VerbsError};

use super::{STOP_PAUSE, Stop};

/// Opens the streams of a recording, and opens them again when they are lost.
pub trait Opener: Sync {
    /// Why the streams cannot be opened.
    type Error: Display + Send;

    /// Opens the streams. The device must answer within `timeout`, or within the time of the
    /// options.
    ///
    /// # Errors
    /// The streams are not open.
    ///
    /// # Blocking
    /// At most for `timeout`.
    fn open(&self, timeout: Option<Duration>) -> Result<Interleaved, Self::Error>;

    /// Returns the wait before the next attempt; `None` if another attempt would fail in the same
    /// way. See [`retry_after`].
    fn retry_after(&self, error: &Self::Error) -> Option<Duration>;
}

/// Opens streams with given options, over a socket.
#[derive(Clone, Debug)]
pub struct OptionsOpener {
    /// The options.
    pub options: ReceiveOptions,
    /// The device's address.
    pub address: SocketAddr,
}

impl Opener for OptionsOpener {
    type Error = OpenError;

    fn open(&self, timeout: Option<Duration>) -> Result<Interleaved, OpenError> {
        match timeout {
            Some(timeout) => self.options.clone().timeout(timeout).open_interleaved(self.address),
            None => self.options.open_interleaved(self.address),
        }
    }

    fn retry_after(&self, error: &OpenError) -> Option<Duration> {
        retry_after(error)
    }
}

/// Returns the wait before the next attempt to open; `None` if another attempt would fail in the
/// same way.
pub fn retry_after(error: &OpenError) -> Option<Duration> {
    match error {
        // The attempt itself already waited.
        OpenError::NoAnswer { .. } => Some(Duration::ZERO),
        OpenError::Link(_) => Some(PAUSE),
        // Its interface, or the peer, may come back.
        OpenError::Card(VerbsError::Down { .. }) => Some(PAUSE),
        OpenError::Card(error) if error.is_unreachable() => Some(PAUSE),
        OpenError::Refused { retry_ms: 1.., .. } => Some(PAUSE),
        _ => None,
    }
}

/// Opens the streams for the first time: one attempt, or until the device answers if `waits`.
///
/// # Errors
/// The opener's error, if another attempt would fail in the same way or `waits` is false.
///
/// # Blocking
/// Until the device answers, if `waits`; else as [`Opener::open`].
pub fn open_first<O: Opener>(
    opener: &O,
    timeout: Option<Duration>,
    waits: bool,
) -> Result<Interleaved, O::Error> {
    loop {
        let error = match opener.open(timeout) {
            Ok(receiver) => return Ok(receiver),
            Err(error) => error,
        };
        match opener.retry_after(&error).filter(|_| waits) {
            Some(pause) => sleep(pause),
            None => return Err(error),
        }
    }
}

/// Opens the streams again, until that succeeds or `due` returns a reason to stop. `due` is called
/// every 50 ms. An attempt that is running then still completes.
pub(super) fn reopen<O: Opener>(
    opener: &O,
    mut due: impl FnMut() -> Option<Stop>,
) -> Result<Interleaved, Stop> {
    thread::scope(|scope| {
        loop {
            let (done, opened) = sync_channel(1);
            scope.spawn(move || drop(done.send(opener.open(Some(ATTEMPT)))));
            let opened = loop {
                check(&mut due)?;
                match opened.recv_timeout(STOP_PAUSE) {
                    Ok(opened) => break opened,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => panic!("an attempt panicked"),
                }
            };
            let error = match opened {
                Ok(receiver) => return Ok(receiver),
                Err(error) => error,
            };
            let Some(pause) = opener.retry_after(&error) else {
                return Err(Stop::NotReopened(error.to_string()));
            };
            let failed_at = Instant::now();
            while failed_at.elapsed() < pause {
                check(&mut due)?;
                sleep(pause.saturating_sub(failed_at.elapsed()).min(STOP_PAUSE));
            }
        }
    })
}

/// Returns the reason to stop as an error.
fn check(due: &mut impl FnMut() -> Option<Stop>) -> Result<(), Stop> {
    due().map_or(Ok(()), Err)
}

/// The length of one attempt to open again. Its requests are 100 and 200 ms apart; those of a
/// longer attempt would be up to 800 ms apart. The recorder thus finds a returning device within
/// 200 ms.
const ATTEMPT: Duration = Duration::from_millis(300);

/// The pause between attempts that fail at once.
const PAUSE: Duration = Duration::from_millis(100);

//! Shows the work that remains after a stream has ended, if it takes long.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use samplewire_record::sink::Backlog;

use crate::cadence::Cadence;
use crate::console::Console;
use crate::figures::measured;
use crate::interrupt::{Interrupt, STOP_PAUSE};

/// Runs `work`. If that takes more than a second, prints the remaining work from `left`, and then
/// updates it in the status line each second.
pub(crate) fn finish<T: Send>(
    console: &mut Console,
    interrupt: &Interrupt,
    left: impl Fn() -> String,
    work: impl FnOnce() -> T + Send,
) -> T {
    thread::scope(|scope| {
        let (done, result) = sync_channel(1);
        scope.spawn(move || drop(done.send(work())));
        let (mut cadence, mut is_shown) = (Cadence::new(PERIOD, Instant::now()), false);
        loop {
            match result.recv_timeout(STOP_PAUSE) {
                Ok(value) => return value,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("the work panicked"),
            }
            interrupt.stop_signal(console);
            if !cadence.is_due(Instant::now()) {
                continue;
            }
            if std::mem::replace(&mut is_shown, true) {
                console.status(&left());
            } else {
                console.note(format_args!("{}", left()));
            }
        }
    })
}

/// The work that remains for a sink.
pub(crate) fn backlog_words(backlog: &Backlog, file: &str) -> String {
    let [write, hash] =
        [backlog.to_write_bytes(), backlog.to_hash_bytes()].map(|it| measured(it as f64, "B"));
    match (backlog.to_write_bytes(), backlog.to_hash_bytes()) {
        (0, 0) => format!("closing {file}"),
        (_, 0) => format!("writing {write} to {file}"),
        (0, _) => format!("making the SHA-512 of {file}: {hash} left"),
        (_, _) => format!("writing {write} to {file}, then its SHA-512: {hash} left"),
    }
}

/// How long nothing is shown, and the interval between updates.
const PERIOD: Duration = Duration::from_secs(1);

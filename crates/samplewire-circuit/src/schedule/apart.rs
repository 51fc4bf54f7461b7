//! Lines whose ends have replicas too: threads that work apart.
//!
//! All that the threads share is which indexes are whose: each takes some in a row, and has its
//! replicas fill, work on and consume one quantum after the other, the same, which is in its core's
//! cache all the time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::schedule::calls::Halt;
use crate::schedule::relay::PUBLISHED_EVERY;
use crate::schedule::worker::Worker;

/// Which indexes are still to be shared out.
pub(super) struct Indexes {
    /// How many a quantum has.
    len: u64,
    next: Alone,
    /// Where a block ended the stream: looked at before each quantum, and not with what changes.
    end: Alone,
}

/// A number in cache lines of its own.
#[repr(align(128))]
struct Alone(AtomicU64);

impl Indexes {
    /// All, in quanta of `len` samples.
    pub(super) fn new(len: u64) -> Self {
        Self { len, next: Alone(AtomicU64::new(0)), end: Alone(AtomicU64::new(u64::MAX)) }
    }

    /// The next `quanta`, each by its first index.
    fn take(&self, quanta: u64) -> impl Iterator<Item = u64> {
        // Relaxed, as all here: the number is all that goes from thread to thread.
        let begin = self.next.0.fetch_add(quanta * self.len, Ordering::Relaxed);
        (0..quanta).map(move |quantum| begin + quantum * self.len)
    }

    /// Whether the quantum at `index` comes before the end.
    pub(super) fn is_wanted(&self, index: u64) -> bool {
        index < self.end.0.load(Ordering::Relaxed)
    }

    /// The quantum at `index` is the last.
    pub(super) fn end_behind(&self, index: u64) {
        self.end.0.fetch_min(index + 1, Ordering::Relaxed);
    }
}

impl Worker<'_> {
    /// Takes shares of the indexes until the stream ends. All that were taken are worked on: what
    /// comes to the sinks has no hole.
    pub(super) fn apart(&mut self) -> Result<(), Halt> {
        let indexes = &self.relay.indexes;
        let (mut quanta, mut begin, mut published) = (1, Instant::now(), Instant::now());
        while !self.calls.shared.is_draining() {
            for index in indexes.take(quanta) {
                if self.calls.shared.is_stopped() {
                    return Err(Halt::Stopped);
                }
                if !indexes.is_wanted(index) {
                    return Ok(());
                }
                self.quanta[0].begin(index);
                self.work_on(0)?;
                if self.quanta[0].is_last {
                    indexes.end_behind(index);
                }
            }
            let end = Instant::now();
            quanta = match end - begin {
                took if took < SHARE_MIN => (2 * quanta).min(QUANTA_MAX),
                took if took > 4 * SHARE_MIN => (quanta / 2).max(1),
                _ => quanta,
            };
            begin = end;
            if end - published >= PUBLISHED_EVERY {
                self.publish();
                published = end;
            }
        }
        Ok(())
    }
}

/// How long a share should take: much longer than to take it, about 100 ns where another thread has
/// taken one meanwhile.
const SHARE_MIN: Duration = Duration::from_micros(50);
/// How many quanta a share has at most: what a graph that is drained finishes.
const QUANTA_MAX: u64 = 1_024;

//! What a program can observe while a recording runs.

use std::time::{Duration, Instant};

use samplewire::receiver::{Interleaved, ReceiverSnapshot};
use samplewire::{DeviceInfo, SampleIndex, TaiClock};

use super::Stop;
use crate::account::Account;
use crate::counters::{silence, total};
use crate::sigmf::{HostDrops, RecordedGap};

/// Observes a recording. The recording's own thread calls the methods, so a slow one delays the
/// stream. By default, each method does nothing.
pub trait Observer {
    /// Returns whether to stop. It is called at least every 50 ms.
    fn should_stop(&mut self) -> bool {
        false
    }

    /// The stream is open, for the first time or again.
    fn opened(&mut self, _receiver: &Interleaved) {}

    /// Returns what the host has dropped of the stream before its socket, over all openings. It is
    /// called when samples are missing. `received` are the packets received so far.
    fn host_drops(&mut self, _received: u64) -> HostDrops {
        HostDrops::NONE
    }

    /// Samples are missing. `is_held_up` states whether the program delayed the stream before the gap.
    fn gap(&mut self, _gap: &RecordedGap, _is_held_up: bool) {}

    /// Samples arrived and will be written: those from `index` on, channels interleaved.
    fn samples(&mut self, _index: SampleIndex, _bytes: &[u8]) {}

    /// Samples or a gap arrived, or 50 ms have passed.
    fn turn(&mut self, _progress: &Progress<'_>) {}

    /// The stream is closed. Its handles still return the final counters.
    fn closed(&mut self) {}

    /// The stream is lost and will be opened again.
    fn lost(&mut self, _stop: Stop) {}

    /// The stream is open again, `silence` after the last samples arrived.
    fn reopened(&mut self, _info: &DeviceInfo, _silence: Duration) {}
}

/// The progress of a recording.
#[derive(Debug)]
pub struct Progress<'a> {
    /// The time of this report.
    pub now: Instant,
    /// When the recording started.
    pub started: Instant,
    /// All indexes until `now`.
    pub account: &'a Account,
    /// Whether this is the last report of this opening.
    pub is_last: bool,
    pub(super) receiver: &'a Interleaved,
    /// The counters of earlier openings.
    pub(super) before: &'a ReceiverSnapshot,
    /// When the last samples arrived.
    pub(super) heard: Instant,
    /// The longest permitted time without samples.
    pub(super) silence_max: Option<Duration>,
}

/// A device that may be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// How long it has been silent.
    pub silent: Duration,
    /// How much longer until the recorder gives up.
    pub left: Duration,
}

impl Progress<'_> {
    /// How long the recording has run.
    pub fn elapsed(&self) -> Duration {
        self.now - self.started
    }

    /// Returns the counters of all streams and all openings; they are some milliseconds old.
    pub fn counters(&self) -> ReceiverSnapshot {
        let snapshots = self.receiver.stats().map(|(snapshot, _)| snapshot);
        total(snapshots, self.receiver.port_stats()).after(self.before)
    }

    /// The time of each stream's indexes, by the newest time that the device has stated.
    pub fn tai_clocks(&self) -> impl ExactSizeIterator<Item = Option<TaiClock>> {
        self.receiver.tai_clocks()
    }

    /// Returns how long the device has been silent according to `counters`, if it is silent.
    pub fn silence(&self, counters: &ReceiverSnapshot) -> Option<Silence> {
        let silent = silence(counters)?;
        let left = Duration::from_nanos(counters.dead_after_ns).saturating_sub(silent);
        let by_option = self.silence_max.map(|max| max.saturating_sub(self.now - self.heard));
        Some(Silence { silent, left: by_option.map_or(left, |by_option| by_option.min(left)) })
    }
}

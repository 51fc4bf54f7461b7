//! What a program sees of a recording while it runs.

use std::time::{Duration, Instant};

use samplewire::DeviceInfo;
use samplewire::receiver::{Interleaved, ReceiverSnapshot};

use super::Stop;
use crate::account::Account;
use crate::counters::{silence, total};
use crate::sigmf::RecordedGap;

/// Sees what happens to a recording, in the recording's own thread. Each method does nothing unless
/// it is implemented. What takes long holds the stream up.
pub trait Observer {
    /// Whether to stop. It is called at least every 50 ms.
    fn should_stop(&mut self) -> bool {
        false
    }

    /// The stream is open, for the first time or again.
    fn opened(&mut self, _receiver: &Interleaved) {}

    /// Samples are missing.
    fn gap(&mut self, _gap: &RecordedGap) {}

    /// Something has come, or 50 ms have passed.
    fn turn(&mut self, _progress: &Progress<'_>) {}

    /// The stream is closed; its final counters can be read by their handles.
    fn closed(&mut self) {}

    /// The stream is lost, and is opened again.
    fn lost(&mut self, _stop: Stop) {}

    /// The stream is open again, `silence` after the last samples.
    fn reopened(&mut self, _info: &DeviceInfo, _silence: Duration) {}
}

/// How far a recording is.
#[derive(Debug)]
pub struct Progress<'a> {
    /// When this was.
    pub now: Instant,
    /// When the recording started.
    pub started: Instant,
    /// All indexes so far.
    pub account: &'a Account,
    /// Whether the recording of this opening stops here.
    pub is_last: bool,
    pub(super) receiver: &'a Interleaved,
    /// The counters of earlier openings.
    pub(super) before: &'a ReceiverSnapshot,
    /// When samples came last.
    pub(super) heard: Instant,
    /// How long no samples may come.
    pub(super) silence_max: Option<Duration>,
}

/// A device that may be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// How long it has been silent.
    pub silent: Duration,
    /// How much longer it may be before it is given up.
    pub left: Duration,
}

impl Progress<'_> {
    /// How long the recording has run.
    pub fn elapsed(&self) -> Duration {
        self.now - self.started
    }

    /// The counters of all streams and all openings, as of some milliseconds ago.
    pub fn counters(&self) -> ReceiverSnapshot {
        let snapshots = self.receiver.stats().map(|(snapshot, _)| snapshot);
        total(snapshots, self.receiver.port_stats()).after(self.before)
    }

    /// How long the device has been silent by `counters`, where it is.
    pub fn silence(&self, counters: &ReceiverSnapshot) -> Option<Silence> {
        let silent = silence(counters)?;
        let left = Duration::from_nanos(counters.dead_after_ns).saturating_sub(silent);
        let by_option = self.silence_max.map(|max| max.saturating_sub(self.now - self.heard));
        Some(Silence { silent, left: by_option.map_or(left, |by_option| by_option.min(left)) })
    }
}

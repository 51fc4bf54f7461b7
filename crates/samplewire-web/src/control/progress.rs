//! The progress of a recording, as the page shows it.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use samplewire::SampleIndex;
use samplewire_record::sigmf::RecordedGap;
use serde_json::{Value, json};

use crate::action::Form;
use crate::source::lock;

/// What the tap, the recording's thread and the page's thread share of a recording.
#[derive(Debug)]
pub(crate) struct RecordingProgress {
    /// The files' name without the folder and an extension.
    pub(crate) name: String,
    pub(crate) form: Form,
    frame_bytes: u64,
    /// The requested first index; once it has begun, the first that is there or in a gap.
    first: AtomicU64,
    /// The index after the last so far.
    next: AtomicU64,
    samples: AtomicU64,
    gaps: AtomicU64,
    missing: AtomicU64,
    /// Of the missing: those for which the file had no room.
    behind: AtomicU64,
    events: AtomicU32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Why it ended.
    ended: String,
    /// What the verification found.
    reason: String,
}

/// How far a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its first index has not come.
    Waiting,
    Recording,
    /// What waits is written, and hashed.
    Finishing,
    Verifying,
    Proven,
    NotProven,
    /// It ended before its first index; its files are removed.
    Removed,
}

impl Phase {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Recording => "recording",
            Self::Finishing => "finishing",
            Self::Verifying => "verifying",
            Self::Proven => "proven",
            Self::NotProven => "not proven",
            Self::Removed => "removed",
        }
    }
}

impl RecordingProgress {
    pub(crate) fn new(name: String, form: Form, frame_bytes: usize, first: SampleIndex) -> Self {
        Self {
            name,
            form,
            frame_bytes: frame_bytes as u64,
            first: AtomicU64::new(first),
            next: AtomicU64::new(first),
            samples: AtomicU64::new(0),
            gaps: AtomicU64::new(0),
            missing: AtomicU64::new(0),
            behind: AtomicU64::new(0),
            events: AtomicU32::new(0),
            state: Mutex::new(State {
                phase: Phase::Waiting,
                ended: String::new(),
                reason: String::new(),
            }),
        }
    }

    /// Notes the first index that is to come.
    pub(crate) fn expect(&self, first: SampleIndex) {
        // Relaxed, here and below: figures for display, each of which stands alone.
        self.first.store(first, Ordering::Relaxed);
        self.next.store(first, Ordering::Relaxed);
    }

    /// Notes where it begins, before its first sample or gap.
    pub(crate) fn begin(&self, first: SampleIndex) {
        self.first.store(first, Ordering::Relaxed);
        lock(&self.state).phase = Phase::Recording;
    }

    pub(crate) fn add_samples(&self, index: SampleIndex, len: u64) {
        self.samples.fetch_add(len, Ordering::Relaxed);
        self.next.store(index.saturating_add(len), Ordering::Relaxed);
    }

    pub(crate) fn add_gap(&self, gap: &RecordedGap) {
        self.gaps.fetch_add(1, Ordering::Relaxed);
        self.missing.fetch_add(gap.count(), Ordering::Relaxed);
        self.next.store(gap.end(), Ordering::Relaxed);
    }

    /// Counts samples for which the file had no room. Their gap counts them as missing.
    pub(crate) fn add_behind(&self, len: u64) {
        self.behind.fetch_add(len, Ordering::Relaxed);
    }

    /// Counts an event that is queued for the file.
    pub(crate) fn add_event(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn events(&self) -> u32 {
        self.events.load(Ordering::Relaxed)
    }

    pub(crate) fn first(&self) -> SampleIndex {
        self.first.load(Ordering::Relaxed)
    }

    pub(crate) fn phase(&self) -> Phase {
        lock(&self.state).phase
    }

    /// Whether the tap still has it.
    pub(crate) fn is_under_way(&self) -> bool {
        matches!(self.phase(), Phase::Waiting | Phase::Recording)
    }

    /// Notes what is in the files, which are complete.
    pub(crate) fn settle(&self, samples: u64) {
        self.samples.store(samples, Ordering::Relaxed);
        lock(&self.state).phase = Phase::Verifying;
    }

    /// Notes the indexes that the files account for, and the samples that they have.
    pub(crate) fn place(&self, indexes: Range<SampleIndex>, samples: u64) {
        self.samples.store(samples, Ordering::Relaxed);
        self.first.store(indexes.start, Ordering::Relaxed);
        self.next.store(indexes.end, Ordering::Relaxed);
    }

    /// Notes why it ended. What was noted first stays.
    pub(crate) fn end(&self, words: &str) {
        let mut state = lock(&self.state);
        state.phase = Phase::Finishing;
        if state.ended.is_empty() {
            words.clone_into(&mut state.ended);
        }
    }

    /// Notes the result.
    pub(crate) fn judge(&self, phase: Phase, reason: String) {
        let mut state = lock(&self.state);
        (state.phase, state.reason) = (phase, reason);
    }

    /// One line for a log.
    pub(crate) fn words(&self) -> String {
        let (first, next) = (self.first(), self.next.load(Ordering::Relaxed));
        let state = lock(&self.state);
        let reason = if state.reason.is_empty() { "" } else { ": " };
        format!(
            "recording {} from index {first} to {next} ({}): {}{reason}{}",
            self.name,
            state.ended,
            state.phase.as_str(),
            state.reason,
        )
    }

    pub(crate) fn json(&self) -> Value {
        let of = |figure: &AtomicU64| figure.load(Ordering::Relaxed).to_string();
        let samples = self.samples.load(Ordering::Relaxed);
        let state = lock(&self.state);
        json!({
            "name": self.name,
            "form": self.form.as_str(),
            "state": state.phase.as_str(),
            "ended": state.ended,
            "reason": state.reason,
            "first": of(&self.first),
            "next": of(&self.next),
            "samples": samples.to_string(),
            "bytes": samples.saturating_mul(self.frame_bytes).to_string(),
            "gaps": of(&self.gaps),
            "missing": of(&self.missing),
            "behind": of(&self.behind),
            "events": self.events(),
        })
    }
}

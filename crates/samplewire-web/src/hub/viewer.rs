//! A connected page: its view, and how many frames it holds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use samplewire_record::sigmf::RecordedGap;
use tokio::sync::Notify;

use super::engine::{Gathered, Key, Picture, RunAbout};
use crate::account::GapEntry;
use crate::frame::{Frame, FrameGap};
use crate::message::ViewRequest;
use crate::source::{Source, lock};
use crate::spectra::Levels;
use crate::state::hop_position;

/// A connected page.
#[derive(Debug)]
pub(super) struct Viewer {
    pub(super) id: u64,
    pub(super) key: Option<Key>,
    /// The request for a stream that is not there.
    pub(super) waiting: Option<ViewRequest>,
    pub(super) period: Duration,
    pub(super) due: Instant,
    /// The last picture that was sent or omitted.
    pub(super) serial: u64,
    /// The number of the last frame, and of the last one that arrived.
    pub(super) number: u32,
    pub(super) seen: u32,
    pub(super) omitted: u32,
    /// Where frames cover all samples: those of the next ones.
    pub(super) gathered: Gathered,
    /// Samples of the frames of this view, and those that were delivered before the view, if it has one.
    pub(super) seen_samples: u64,
    pub(super) delivered_before: Option<u64>,
    /// The number of the first gap that was in no frame.
    pub(super) next_gap: Option<u64>,
    pub(super) wake: Arc<Notify>,
}

impl Viewer {
    /// Creates a page without a view; `wake` is notified when there is a frame for it.
    pub(super) fn new(id: u64, now: Instant, wake: Arc<Notify>) -> Self {
        Self {
            id,
            key: None,
            waiting: None,
            period: Duration::from_secs(1),
            due: now,
            serial: 0,
            number: 0,
            seen: 0,
            omitted: 0,
            gathered: Gathered::default(),
            seen_samples: 0,
            delivered_before: None,
            next_gap: None,
            wake,
        }
    }

    /// Whether it holds as many frames as it may.
    pub(super) const fn is_full(&self) -> bool {
        self.number - self.seen >= UNSEEN_MAX
    }

    /// Schedules the next frame one period later.
    pub(super) fn wait_from(&mut self, now: Instant) {
        let next = self.due + self.period;
        self.due = if next < now { now + self.period } else { next };
    }

    /// Counts samples from the next frame on.
    pub(super) const fn restart_share(&mut self) {
        self.seen_samples = 0;
        self.delivered_before = None;
    }

    /// Makes the frame of this page from a picture.
    pub(super) fn address(&mut self, picture: &Picture, key: Key, source: &Source) -> Frame {
        self.number += 1;
        let RunAbout { place, centre_hz, tai_ns, row_samples } = picture.run;
        let info = &source.about.streams[usize::from(key.stream)];
        let rate_hz = info.rate_hz();
        let from = self.next_gap.unwrap_or(place.gaps_before);
        self.next_gap = Some(place.gaps_before);
        let gaps_max = Frame::gaps_max(key.view.bins as usize);
        let oldest = place.gaps_before.saturating_sub(gaps_max as u64).max(from);
        let gaps = {
            let ledger = lock(&source.shared.ledger);
            ledger.gaps_in(oldest..place.gaps_before).map(gap_of).collect()
        };
        if self.delivered_before.is_some_and(|before| place.delivered_before < before) {
            self.restart_share();
        }
        let delivered_before = *self.delivered_before.get_or_insert(place.delivered_before);
        self.seen_samples += picture.len_samples;
        let centre_hz = if centre_hz.is_finite() { centre_hz } else { 0.0 };
        let (offset_hz, span_hz) = if info.format.is_complex() {
            (key.view.centre * rate_hz, rate_hz / f64::from(key.view.zoom))
        } else {
            (rate_hz / 4.0, rate_hz / 2.0)
        };
        Frame {
            source: key.source,
            stream: key.stream,
            channel: key.view.channel,
            number: self.number,
            omitted: self.omitted.saturating_add(self.gathered.omitted),
            transforms: picture.levels.transforms,
            index: place.index,
            len_samples: picture.len_samples,
            seen_samples: self.seen_samples,
            delivered_samples: place.delivered_before - delivered_before,
            gaps_before: place.gaps_before,
            rate_hz,
            centre_hz: centre_hz + offset_hz,
            span_hz,
            offset_db: Levels::OFFSET_DB,
            step_db: Levels::STEP_DB,
            row_samples: match row_samples {
                0 => (rate_hz * self.period.as_secs_f64()).round() as u64,
                row_samples => row_samples,
            },
            tai_ns,
            position: place.position,
            boot: place.boot,
            gaps,
            mean: picture.levels.mean.clone(),
            peak: picture.levels.peak.clone(),
        }
    }
}

fn gap_of(entry: &GapEntry) -> FrameGap {
    let gap: &RecordedGap = &entry.gap;
    FrameGap {
        first: gap.first,
        len: gap.count(),
        cause: gap.cause.position() as u8,
        hop: hop_position(entry.hop),
        stream: gap.stream,
        boot: entry.boot,
    }
}

/// Frames that a page has not confirmed. They take at most 1 MiB: see [`Frame::gaps_max`].
pub(super) const UNSEEN_MAX: u32 = 7;

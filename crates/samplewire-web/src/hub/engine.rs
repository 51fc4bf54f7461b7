//! A view that is computed: from runs to pictures, once for all of its viewers.

use std::sync::Arc;
use std::time::Duration;

use samplewire::source::StreamInfo;

use crate::spectra::{Levels, Spectra, SpectraError, View};
use crate::tap::Run;

/// A view that is computed.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) key: Key,
    spectra: Spectra,
    /// The frame that is not complete.
    pending: Option<Pending>,
    pub(super) latest: Option<Arc<Picture>>,
    /// How many pictures there were.
    pub(super) serial: u64,
}

/// What an engine computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Key {
    pub(super) source: u16,
    pub(super) stream: u16,
    pub(super) view: View,
}

/// A computed frame before it is addressed to a viewer.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) run: RunAbout,
    pub(super) levels: Levels,
    pub(super) len_samples: u64,
    pub(super) seen_samples: u64,
}

/// Runs without a gap between them.
#[derive(Clone, Copy, Debug)]
struct Pending {
    run: RunAbout,
    len_samples: u64,
}

/// A run without its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunAbout {
    pub(super) index: u64,
    pub(super) gaps_before: u64,
    pub(super) delivered_before: u64,
    pub(super) centre_hz: f64,
    pub(super) row_samples: u64,
}

/// How an engine takes a run.
pub(super) struct Taken<'a> {
    pub(super) info: &'a StreamInfo,
    pub(super) period: Duration,
    pub(super) seen_samples: u64,
    pub(super) is_every_sample: bool,
}

impl Engine {
    pub(super) const fn new(key: Key, spectra: Spectra) -> Self {
        Self { key, spectra, pending: None, latest: None, serial: 0 }
    }

    /// Adds a run. A frame is complete with it; where frames cover all samples, when it has those of a
    /// period, or when a run does not follow the last one.
    pub(super) fn take(&mut self, run: &Run, taken: &Taken<'_>) -> Result<(), SpectraError> {
        let Taken { info, period, seen_samples, is_every_sample } = *taken;
        let view = self.key.view;
        // A zoom takes a part: its filter starts with each run.
        let is_whole = is_every_sample && view.zoom == 1;
        let wanted = if is_whole { usize::MAX } else { view.run_samples(info, period) };
        let len_bytes = wanted.saturating_mul(info.frame_bytes()).min(run.bytes.len());
        let bytes = &run.bytes[..len_bytes];
        let follows = |it: Pending| {
            it.run.index + it.len_samples == run.index
                && it.run.centre_hz.to_bits() == run.centre_hz.to_bits()
        };
        if self.pending.is_some_and(|it| !follows(it)) {
            self.publish(seen_samples);
        }
        if self.pending.is_none() {
            self.spectra.clear();
        }
        self.spectra.add(run.index, bytes)?;
        // A recording's piece may be shorter than the view wants: a frame covers whole transforms.
        let bins = view.bins as usize;
        let len_samples = (bytes.len() / info.frame_bytes() / bins * bins) as u64;
        let pending =
            self.pending.get_or_insert(Pending { run: RunAbout::of(run), len_samples: 0 });
        pending.len_samples += len_samples;
        let arriving = (info.rate_hz() * period.as_secs_f64()) as u64;
        if !is_whole || pending.len_samples + bins as u64 > arriving {
            self.publish(seen_samples);
        }
        Ok(())
    }

    /// Completes the frame, if it has a transform.
    fn publish(&mut self, seen_samples: u64) {
        let Some(Pending { run, len_samples }) = self.pending.take() else { return };
        let Some(levels) = self.spectra.levels() else { return };
        self.serial += 1;
        self.latest = Some(Arc::new(Picture { run, levels, len_samples, seen_samples }));
    }
}

impl RunAbout {
    const fn of(run: &Run) -> Self {
        Self {
            index: run.index,
            gaps_before: run.gaps_before,
            delivered_before: run.delivered_before,
            centre_hz: run.centre_hz,
            row_samples: run.row_samples,
        }
    }
}

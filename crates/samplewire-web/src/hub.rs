//! Sources, views and viewers: which spectra are computed, and who gets them.
//!
//! Nothing here waits, and time is an argument. A view is computed once for all of its viewers. A
//! viewer holds at most [`viewer::UNSEEN_MAX`] frames that it has not confirmed; meanwhile its
//! frames are omitted.

mod engine;
mod viewer;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::failures::Failures;
use crate::message::ViewRequest;
use crate::source::{About, Role, Source};
use crate::spectra::{Spectra, View};
use crate::tap::Tap;
use engine::{Engine, Key};
use viewer::Viewer;

/// Everything that the page's thread knows.
#[derive(Debug)]
pub(crate) struct Hub {
    sources: Vec<Source>,
    engines: Vec<Engine>,
    viewers: Vec<Viewer>,
    next_viewer: u64,
    /// Wakes the page's thread.
    notify: Arc<Notify>,
    failures: Failures,
    /// Whether frames cover all samples.
    is_every_sample: bool,
}

/// Why a page is not admitted, or gets no view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("{VIEWERS_MAX} pages are connected, which is the maximum: close one and reload")]
    Viewers,
    #[error("{ZOOMS_MAX} zooms are in use, which is the maximum")]
    Zooms,
    #[error("{ENGINES_MAX} different views are in use, which is the maximum")]
    Engines,
    #[error("there is no such stream")]
    Stream,
    #[error("this view cannot be computed")]
    Failed,
}

impl Hub {
    pub(crate) fn new(notify: Arc<Notify>, failures: Failures) -> Self {
        Self {
            sources: Vec::new(),
            engines: Vec::new(),
            viewers: Vec::new(),
            next_viewer: 0,
            notify,
            failures,
            is_every_sample: false,
        }
    }

    /// Has frames cover all samples, as far as the page's thread can.
    pub(crate) const fn with_every_sample(mut self, is_every_sample: bool) -> Self {
        self.is_every_sample = is_every_sample;
        self
    }

    /// Whether frames cover all samples.
    pub(crate) const fn is_every_sample(&self) -> bool {
        self.is_every_sample
    }

    /// Adds a source whose agreed first index is `first`.
    pub(crate) fn add(&mut self, about: About, first: u64) -> Tap {
        let buffers = if self.is_every_sample { EVERY_BUFFERS } else { 1 };
        let (source, tap) = Source::new(about, first, buffers, Arc::clone(&self.notify));
        self.sources.push(source);
        // Pages may have requested the stream before it was there.
        let waiting = self.viewers.iter().filter_map(|it| Some((it.id, it.waiting?)));
        for (id, wanted) in waiting.collect::<Vec<_>>() {
            // A refusal is for the next request to report.
            let _is_shown = self.show(id, &wanted).is_ok();
        }
        tap
    }

    pub(crate) fn notify(&self) -> Arc<Notify> {
        Arc::clone(&self.notify)
    }

    pub(crate) fn failures(&self) -> Failures {
        self.failures.clone()
    }

    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// For a test that has the page's thread panic.
    #[cfg(test)]
    pub(crate) fn sources_mut(&mut self) -> &mut [Source] {
        &mut self.sources
    }

    pub(crate) fn viewers(&self) -> usize {
        self.viewers.len()
    }

    /// Admits a page; `wake` is notified when there is a frame for it.
    pub(crate) fn join(&mut self, now: Instant) -> Result<(u64, Arc<Notify>), Refusal> {
        if self.viewers.len() >= VIEWERS_MAX {
            return Err(Refusal::Viewers);
        }
        let (id, wake) = (self.next_viewer, Arc::new(Notify::new()));
        self.next_viewer += 1;
        self.viewers.push(Viewer::new(id, now, Arc::clone(&wake)));
        Ok((id, wake))
    }

    /// Forgets a page.
    pub(crate) fn leave(&mut self, id: u64) {
        self.viewers.retain(|viewer| viewer.id != id);
        self.drop_unused();
    }

    /// Gives a page the view that it requests, fitted to the stream.
    pub(crate) fn show(&mut self, id: u64, wanted: &ViewRequest) -> Result<View, Refusal> {
        let Some(at) = self.viewers.iter().position(|viewer| viewer.id == id) else {
            return Err(Refusal::Stream);
        };
        self.viewers[at].waiting = Some(*wanted);
        let source = self.sources.get(usize::from(wanted.source)).ok_or(Refusal::Stream)?;
        let info = source.about.streams.get(usize::from(wanted.stream)).ok_or(Refusal::Stream)?;
        let view = wanted.view.fitted_to(info);
        let key = Key { source: wanted.source, stream: wanted.stream, view };
        self.viewers[at].waiting = None;
        let before = self.viewers[at].key.replace(key);
        // The page's own view makes room for the next one.
        self.drop_unused();
        let serial = match self.engine(key) {
            Ok(engine) => engine.serial,
            Err(refusal) => {
                let kept = before.and_then(|key| Some((key, self.engine(key).ok()?.serial)));
                let viewer = &mut self.viewers[at];
                viewer.key = kept.map(|(key, _)| key);
                // An engine that was dropped and created again counts from 0.
                viewer.serial = kept.map_or(0, |(_, serial)| serial);
                return Err(refusal);
            }
        };
        let viewer = &mut self.viewers[at];
        if before.is_some_and(|before| before.source != key.source) {
            viewer.next_gap = None;
        }
        if before != Some(key) {
            viewer.gathered.clear();
            viewer.restart_share();
        }
        viewer.serial = serial;
        viewer.period = Duration::from_secs(1) / wanted.frames_per_second.max(1);
        self.notify.notify_one();
        Ok(view)
    }

    /// Notes that a page has received its frames up to `number`.
    pub(crate) fn seen(&mut self, id: u64, number: u32) {
        if let Some(viewer) = self.viewers.iter_mut().find(|viewer| viewer.id == id) {
            let was_full = viewer.is_full();
            // A number that was not sent is cut.
            viewer.seen = viewer.seen.max(number.min(viewer.number));
            if was_full {
                viewer.wake.notify_one();
            }
        }
    }

    /// Has a recording go on at a position, for all pages that see it.
    pub(crate) fn seek(&mut self, id: u64, position: u64) {
        let Some(viewer) = self.viewers.iter().find(|viewer| viewer.id == id) else { return };
        let Some(key) = viewer.key else { return };
        self.sources[usize::from(key.source)].shared.seek(position);
        for viewer in &mut self.viewers {
            if viewer.key.is_some_and(|it| it.source == key.source) {
                viewer.restart_share();
                viewer.next_gap = viewer.next_gap.filter(|_| {
                    self.sources[usize::from(key.source)].about.role != Role::Recording
                });
            }
        }
    }

    /// Returns the time between two runs: that which the fastest page wants, and at least what keeps
    /// to [`COPIED_MAX`]; `None` without a view.
    pub(crate) fn period(&self) -> Option<Duration> {
        let with_view = self.viewers.iter().filter(|viewer| viewer.key.is_some());
        let wanted = with_view.map(|viewer| viewer.period).min()?;
        if self.is_every_sample {
            return Some(wanted);
        }
        let run_bytes = self.engines.iter().map(|engine| {
            let source = &self.sources[usize::from(engine.key.source)];
            let info = &source.about.streams[usize::from(engine.key.stream)];
            engine.key.view.run_samples(info, wanted) * info.frame_bytes()
        });
        let longest = run_bytes.max().unwrap_or(0) as f64;
        Some(wanted.max(Duration::from_secs_f64(longest / COPIED_MAX)))
    }

    /// Requests runs of each stream that is viewed, and wakes the pages that may have a frame.
    pub(crate) fn request(&mut self) {
        let Some(period) = self.period() else { return };
        for (number, source) in (0_u16..).zip(&mut self.sources) {
            for (stream, lane) in (0_u16..).zip(&mut source.lanes) {
                let of_lane = |it: &&Engine| it.key.source == number && it.key.stream == stream;
                let info = &source.about.streams[usize::from(stream)];
                let engines = self.engines.iter().filter(of_lane);
                let mut bins = 1;
                let samples = |it: &Engine| match it.key.is_whole(self.is_every_sample) {
                    true => {
                        bins = it.key.view.bins.max(bins);
                        it.key.view.whole_run_samples(info, period)
                    }
                    false => it.key.view.run_samples(info, period),
                };
                if let Some(len_samples) = engines.map(samples).max() {
                    lane.request(View::whole_transforms(len_samples, bins, info));
                }
            }
        }
        for viewer in self.viewers.iter().filter(|viewer| self.has_left(viewer)) {
            viewer.wake.notify_one();
        }
    }

    /// Whether a page takes a picture that it did not get when it came: it was not due, for example, and
    /// no later one follows.
    fn has_left(&self, viewer: &Viewer) -> bool {
        let engine = self.engines.iter().find(|engine| Some(engine.key) == viewer.key);
        let has_new = engine.is_some_and(|it| it.serial != viewer.serial);
        !viewer.gathered.is_empty() || (has_new && !viewer.is_full())
    }

    /// Computes as [`compute`](Self::compute), and requests further runs at once where frames cover all
    /// samples.
    pub(crate) fn compute_and_request(&mut self) {
        let has_more = self.compute();
        if self.is_every_sample {
            self.request();
        }
        if has_more {
            self.notify.notify_one();
        }
    }

    /// Computes a run of each stream, and wakes the pages that see it. Returns whether further runs are
    /// complete.
    pub(crate) fn compute(&mut self) -> bool {
        let mut has_more = false;
        let period = self.period().unwrap_or(Duration::from_secs(1));
        for (number, source) in (0_u16..).zip(&mut self.sources) {
            for (stream, lane) in (0_u16..).zip(&mut source.lanes) {
                let Some(run) = lane.next() else { continue };
                let info = &source.about.streams[usize::from(stream)];
                for engine in &mut self.engines {
                    let key = engine.key;
                    if key.source != number || key.stream != stream {
                        continue;
                    }
                    let taken = if key.is_whole(self.is_every_sample) {
                        let viewers = self.viewers.iter_mut().filter(|it| it.key == Some(key));
                        let gather = viewers.map(|it| {
                            let is_full = it.is_full();
                            (&mut it.gathered, is_full)
                        });
                        engine.take_whole(&run, info, gather)
                    } else {
                        engine.take(&run, info, period)
                    };
                    if let Err(error) = taken {
                        self.failures.note(error.to_string());
                    }
                }
                lane.give_back(run);
                has_more |= lane.is_filled();
            }
        }
        for viewer in &self.viewers {
            viewer.wake.notify_one();
        }
        has_more
    }

    /// Writes the page's next frame to `out`, if one is due and the page takes it.
    pub(crate) fn frame(&mut self, id: u64, now: Instant, out: &mut Vec<u8>) -> bool {
        let Self { viewers, engines, sources, .. } = self;
        let Some(viewer) = viewers.iter_mut().find(|viewer| viewer.id == id) else {
            return false;
        };
        let Some(key) = viewer.key else { return false };
        // Frames come with the fastest page's period: one that is almost due is due.
        if now + viewer.period / 4 < viewer.due {
            return false;
        }
        let source = &sources[usize::from(key.source)];
        if key.is_whole(self.is_every_sample) {
            if viewer.gathered.is_empty() {
                return false;
            }
            if viewer.is_full() {
                viewer.gathered.omit();
            } else if let Some(picture) = viewer.gathered.next() {
                viewer.address(&picture, key, source).encode(out);
            }
            viewer.wait_from(now);
            return !out.is_empty();
        }
        let Some(engine) = engines.iter().find(|engine| engine.key == key) else { return false };
        let Some(picture) = &engine.latest else { return false };
        let missed = engine.serial - viewer.serial;
        if missed == 0 || viewer.is_full() {
            return false;
        }
        if viewer.number > 0 {
            // With a longer period than the fastest page's, not every picture was wanted.
            let late = now.saturating_duration_since(viewer.due).as_nanos();
            let late = late / viewer.period.as_nanos().max(1);
            let omitted = u128::from(missed - 1).min(late);
            viewer.omitted = viewer.omitted.saturating_add(omitted as u32);
        }
        viewer.serial = engine.serial;
        viewer.address(picture, key, source).encode(out);
        viewer.wait_from(now);
        true
    }

    fn engine(&mut self, key: Key) -> Result<&mut Engine, Refusal> {
        if let Some(at) = self.engines.iter().position(|engine| engine.key == key) {
            return Ok(&mut self.engines[at]);
        }
        let zooms = self.engines.iter().filter(|engine| engine.key.view.zoom > 1).count();
        if key.view.zoom > 1 && zooms >= ZOOMS_MAX {
            return Err(Refusal::Zooms);
        }
        if self.engines.len() >= ENGINES_MAX {
            return Err(Refusal::Engines);
        }
        let source = &self.sources[usize::from(key.source)];
        let info = &source.about.streams[usize::from(key.stream)];
        let spectra = Spectra::new(info, key.view).map_err(|error| {
            self.failures.note(error.to_string());
            Refusal::Failed
        })?;
        self.engines.push(Engine::new(key, spectra));
        Ok(self.engines.last_mut().expect("it was added"))
    }

    /// Drops engines without a viewer.
    fn drop_unused(&mut self) {
        let Self { engines, viewers, .. } = self;
        engines.retain(|engine| viewers.iter().any(|viewer| viewer.key == Some(engine.key)));
    }
}

/// Bytes a second that are copied of a stream, unless frames cover all samples: less than 1 % of
/// 250 MS/s of sc16.
const COPIED_MAX: f64 = 9.9e6;
/// Buffers of each stream where frames cover all samples: 4 MiB.
const EVERY_BUFFERS: usize = 16;
/// The most pages at once.
pub(crate) const VIEWERS_MAX: usize = 16;
/// The most zooms at once.
const ZOOMS_MAX: usize = 4;
/// The most different views at once.
const ENGINES_MAX: usize = 12;

#[cfg(test)]
mod tests;

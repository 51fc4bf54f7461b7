//! One opening of the stream: a loop that moves blocks from the receiver to the writer.

use std::time::{Duration, Instant};

use samplewire::receiver::{AlignedItem, Interleaved, StreamGap};
use samplewire::{Block, TaiClock};

use super::observer::{Observer, Progress};
use super::{Recorder, STOP_PAUSE, Stop};
use crate::counters::silence;
use crate::sigmf::RecordedGap;
use crate::sink::SinkError;

impl<V: Observer + ?Sized> Recorder<'_, V> {
    /// Records until something stops it.
    pub(super) fn record(&mut self, receiver: &mut Interleaved) -> Stop {
        self.observer.opened(receiver);
        loop {
            let now = Instant::now();
            let mut stop = self.turn(receiver, now);
            let is_timed = stop.is_some() || now.saturating_duration_since(self.timed) >= TIMED;
            // The error of a writer that has ended comes from its finish, or is the reason already.
            if is_timed
                && !self.writer.has_ended()
                && self.writer.has_room()
                && let Err(error) = self.note_time(time_of(receiver))
            {
                stop = Some(Stop::Sink(error));
            }
            let progress = Progress {
                now,
                started: self.options.started,
                account: &self.account,
                is_last: stop.is_some(),
                receiver,
                before: &self.before,
                heard: self.heard,
                silence_max: self.options.silence,
            };
            self.observer.turn(&progress);
            if let Some(stop) = stop {
                self.silent = silence(&progress.counters());
                return stop;
            }
        }
    }

    /// Returns a reason to stop that does not come from the stream, if any.
    pub(super) fn due(&mut self, now: Instant) -> Option<Stop> {
        if self.observer.should_stop() {
            return Some(Stop::Requested);
        }
        let is_over = self.left(now).is_some_and(|left| left.is_zero());
        is_over.then_some(Stop::Duration)
    }

    /// Returns the rest of the requested time.
    fn left(&self, now: Instant) -> Option<Duration> {
        let until = self.options.started.checked_add(self.options.duration?)?;
        Some(until.saturating_duration_since(now))
    }

    fn turn(&mut self, receiver: &mut Interleaved, now: Instant) -> Option<Stop> {
        if let Some(stop) = self.due(now) {
            return Some(stop);
        }
        let pause = self.left(now).map_or(STOP_PAUSE, |left| left.min(STOP_PAUSE));
        if !self.writer.has_room() {
            self.heard = now;
            std::thread::sleep(FULL_PAUSE);
            self.attribution.note_full_queue(self.account.range().end, now.elapsed());
            return None;
        }
        match receiver.next_within(pause) {
            Ok(Some(item)) => {
                self.heard = now;
                let taken = match item {
                    AlignedItem::Samples(block) => self.take(block),
                    AlignedItem::Gap(gap) => self.take_gap(&gap, receiver),
                };
                match taken {
                    Err(error) => Some(Stop::Sink(error)),
                    Ok(()) => self.account.is_full().then_some(Stop::Samples),
                }
            }
            Ok(None) => {
                let silence = self.options.silence.filter(|silence| now - self.heard > *silence);
                silence.map(Stop::Silence)
            }
            Err(error) => Some(Stop::of_streams(error, receiver.infos().len())),
        }
    }

    /// Accounts for a gap, and for the stream that has it if there are several.
    fn take_gap(
        &mut self,
        StreamGap { stream, gap }: &StreamGap,
        receiver: &Interleaved,
    ) -> Result<(), SinkError> {
        let stream = (receiver.infos().len() > 1).then_some(*stream);
        let gap = RecordedGap { stream, ..RecordedGap::from(gap) };
        // A stream that was opened again may begin before the end of the existing samples.
        let Some(gap) = self.account.ahead(&gap) else { return Ok(()) };
        let (gap, is_held_up) = self.attribution.attribute(gap, || receiver.stalls());
        if gap.not_repaired > 0 {
            let received = receiver.stats().map(|(snapshot, _)| snapshot.stream.received);
            let received = received.fold(self.before.stream.received, u64::saturating_add);
            self.account.note_host_drops(self.observer.host_drops(received));
        }
        self.note_time(time_of(receiver))?;
        let taken = self.account.take_gap(&gap, is_held_up);
        taken.map_or(Ok(()), |gap| self.gap(&gap, is_held_up))
    }

    /// Accounts for samples, and writes those that are still wanted.
    fn take(&mut self, block: Block) -> Result<(), SinkError> {
        let overlap = self.account.overlap(block.index(), block.len());
        let index = block.index() + overlap as u64;
        let count = self.account.take_samples(index, block.len() - overlap);
        if count == 0 {
            return Ok(());
        }
        let frame_bytes = block.bytes().len() / block.len();
        let bytes = overlap * frame_bytes..(overlap + count) * frame_bytes;
        self.observer.samples(index, &block.bytes()[bytes.clone()]);
        self.writer.samples(block, index, bytes)
    }
}

/// How often the writer gets the newest time of the device, besides before a gap: a part of a series
/// may begin without one.
const TIMED: Duration = Duration::from_secs(1);

/// The newest time that the device has stated.
fn time_of(receiver: &Interleaved) -> Option<TaiClock> {
    receiver.tai_clocks().next().flatten()
}

/// How long to wait for room in the writer's queue: shorter than the receiver's memory lasts.
const FULL_PAUSE: Duration = Duration::from_micros(200);

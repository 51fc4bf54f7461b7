//! The stream's end of a recording: copies the samples from one index to another for the file's
//! thread.
//!
//! Nothing here waits. Samples are copied into buffers of up to 256 KiB, which the file's thread
//! gives back. If it has no room for a block, for example because the disk stalls, the block is left
//! out of the recording, and a gap with the cause "disk behind" names its indexes. The stream is
//! unaffected.

mod layout;
mod unqueued;

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use samplewire::{SampleIndex, TaiClock};
use samplewire_record::sigmf::{RecordedCause, RecordedGap};
use samplewire_record::sink::{SinkError, Writer};

use super::progress::RecordingProgress;
use super::{EVENTS_MAX, Refused};
use crate::action::Form;
pub(crate) use layout::Layout;
pub(crate) use unqueued::UnqueuedSamples;

/// A part of a stream on its way to a file. When it is dropped, the recording's thread
/// finishes the file.
#[derive(Debug)]
pub(crate) struct RecordingInput {
    progress: Arc<RecordingProgress>,
    /// The first index; `None` for the next one, until it begins.
    from: Option<SampleIndex>,
    until: Option<SampleIndex>,
    /// Whether a page has set `until` to end it at once.
    is_stopped: bool,
    /// Whether its first index has come.
    has_begun: bool,
    /// The device's time, as the file has it.
    tai_clock: Option<TaiClock>,
    layout: Layout,
    /// `None` once it is over.
    writer: Option<Writer>,
    rest: UnqueuedSamples,
    /// The samples of the present block that are recorded.
    cut: Range<usize>,
    /// Why it cannot go on.
    failure: Option<String>,
    over: Sender<Over>,
}

/// What the recording's thread gets back.
#[derive(Debug)]
pub(crate) struct Over {
    pub(crate) writer: Writer,
    pub(crate) rest: UnqueuedSamples,
    /// Whether its first index has come.
    pub(crate) has_begun: bool,
}

impl RecordingInput {
    /// Creates the stream's end of a recording that `writer` writes. `over` gets the writer back.
    pub(crate) fn new(
        progress: Arc<RecordingProgress>,
        indexes: (Option<SampleIndex>, Option<SampleIndex>),
        layout: Layout,
        writer: Writer,
        over: Sender<Over>,
    ) -> Self {
        let (from, until) = indexes;
        Self {
            progress,
            from,
            until,
            is_stopped: false,
            has_begun: false,
            tai_clock: None,
            layout,
            writer: Some(writer),
            rest: UnqueuedSamples::default(),
            cut: 0..0,
            failure: None,
            over,
        }
    }

    pub(crate) const fn progress(&self) -> &Arc<RecordingProgress> {
        &self.progress
    }

    /// Fixes the first index, where the stream's next one is `next`.
    pub(crate) fn begin(&mut self, next: SampleIndex) -> Result<SampleIndex, Refused> {
        let from = *self.from.get_or_insert(next);
        if from < next {
            return Err(Refused::Passed { index: from, next });
        }
        if let Some(until) = self.until.filter(|&until| until <= next) {
            return Err(Refused::Passed { index: until, next });
        }
        self.progress.expect(from);
        Ok(from)
    }

    /// Sets the index after the last.
    pub(crate) fn stop_at(
        &mut self,
        at: Option<SampleIndex>,
        next: SampleIndex,
    ) -> Result<SampleIndex, Refused> {
        let first = self.progress.first();
        if let Some(index) = at.filter(|&at| at < first && at >= next) {
            return Err(Refused::Before { index, first });
        }
        let at = at.unwrap_or(next);
        if at < next {
            return Err(Refused::Passed { index: at, next });
        }
        (self.until, self.is_stopped) = (Some(at), at == next);
        Ok(at)
    }

    /// Notes an event.
    pub(crate) fn event(
        &mut self,
        at: Option<SampleIndex>,
        next: SampleIndex,
        text: String,
    ) -> Result<SampleIndex, Refused> {
        let (index, first) = (at.unwrap_or(next), self.progress.first());
        let progress = Arc::clone(&self.progress);
        let name = || progress.name.clone();
        if self.progress.form == Form::Raw {
            return Err(Refused::NoEvents { name: name() });
        }
        if index > next {
            return Err(Refused::NotCome { index, next });
        }
        if index < first {
            return Err(Refused::Before { index, first });
        }
        if self.progress.events() >= EVENTS_MAX {
            return Err(Refused::ManyEvents { name: name() });
        }
        if !self.has_slots() {
            return Err(Refused::Files(format!("{}: the disk is too slow", name())));
        }
        let writer = self.writer.as_mut().expect("it is not over");
        // The sample must be in the file's queue before it.
        let queued = self.rest.flush(writer).and_then(|()| writer.event(index, text));
        if let Err(error) = queued {
            let words = error.to_string();
            self.failure = Some(words.clone());
            return Err(Refused::Files(words));
        }
        self.progress.add_event();
        Ok(index)
    }

    /// Makes room for a block; returns whether any of it is recorded. Then [`Self::put`] adds the
    /// samples of each stream.
    pub(crate) fn open(&mut self, index: SampleIndex, len: usize) -> bool {
        let cut = self.within(index, len as u64);
        self.cut = cut.start as usize..cut.end as usize;
        if cut.is_empty() || self.failure.is_some() {
            return false;
        }
        let (at, count) = (index + cut.start, cut.end - cut.start);
        self.begin_with(at);
        let len_bytes = self.cut.len() * self.layout.frame_bytes;
        if !self.has_room(len_bytes) {
            self.leave_out(at, count);
            return false;
        }
        let writer = self.writer.as_mut().expect("it is not over");
        let rest = &mut self.rest;
        let is_next = rest.behind.is_none() && rest.end == at;
        let mut queued = Ok(());
        if !is_next || rest.bytes.len() + len_bytes > self.layout.buffer_bytes {
            queued = rest.flush(writer).and_then(|()| rest.name_left_out(writer, &self.progress));
        }
        if rest.bytes.is_empty() {
            rest.index = at;
        }
        rest.end = at + count;
        self.progress.add_samples(at, count);
        self.note(queued);
        self.failure.is_none()
    }

    /// Adds the samples of a stream, whose sample has `part_bytes` and lies `offset_bytes` behind the
    /// beginning of a sample of all streams. The streams come in order.
    pub(crate) fn put(&mut self, offset_bytes: usize, part_bytes: usize, bytes: &[u8]) {
        let bytes = &bytes[self.cut.start * part_bytes..self.cut.end * part_bytes];
        let out = &mut self.rest.bytes;
        if part_bytes == self.layout.frame_bytes {
            out.extend_from_slice(bytes);
            return;
        }
        if offset_bytes == 0 {
            out.resize(out.len() + self.cut.len() * self.layout.frame_bytes, 0);
        }
        let begin = out.len() - self.cut.len() * self.layout.frame_bytes + offset_bytes;
        let places = out[begin..].chunks_mut(self.layout.frame_bytes);
        for (sample, place) in bytes.chunks_exact(part_bytes).zip(places) {
            place[..part_bytes].copy_from_slice(sample);
        }
    }

    /// Records a gap of the stream.
    pub(crate) fn gap(&mut self, gap: &RecordedGap) {
        let cut = self.within(gap.first, gap.count());
        let count = cut.end - cut.start;
        if count == 0 || self.failure.is_some() {
            return;
        }
        // Of a gap that is cut, it is not known which of its indexes the source lost.
        let not_repaired = gap.not_repaired.min(count);
        let gap = RecordedGap {
            first: gap.first + cut.start,
            not_repaired,
            source_lost: count - not_repaired,
            host: gap.host.within(not_repaired),
            ..*gap
        };
        self.begin_with(gap.first);
        self.queue("gaps", |progress, writer| {
            progress.add_gap(&gap);
            writer.gap(&gap)
        });
    }

    /// Notes the centre frequency of the samples that follow; `None` if it is not known.
    pub(crate) fn tune(&mut self, centre_hz: Option<f64>) {
        if self.failure.is_none() {
            self.queue("changes of the centre frequency", |_, writer| writer.tune(centre_hz));
        }
    }

    /// Notes the device's time of the indexes that follow; `None` if it is not known. Without room for
    /// it, the recording keeps the last.
    pub(crate) fn time(&mut self, clock: Option<TaiClock>) {
        if self.failure.is_none() && self.tai_clock != clock && self.has_slots() {
            self.tai_clock = clock;
            self.queue("times", |_, writer| writer.time(clock));
        }
    }

    /// Queues what stands between two samples. Without room for it, the recording cannot go on.
    fn queue(
        &mut self,
        what: &str,
        put: impl FnOnce(&RecordingProgress, &mut Writer) -> Result<(), SinkError>,
    ) {
        if !self.has_slots() {
            self.failure = Some(format!("the disk is too slow for so many {what}"));
            return;
        }
        let writer = self.writer.as_mut().expect("it is not over");
        let rest = &mut self.rest;
        let queued = rest.flush(writer).and_then(|()| rest.name_left_out(writer, &self.progress));
        let queued = queued.and_then(|()| put(&self.progress, writer));
        self.note(queued);
    }

    /// Returns why it is over, if it is, where the stream's next index is `next`.
    pub(crate) fn is_over(&self, next: SampleIndex) -> Option<String> {
        let until = self.until.filter(|&until| next >= until);
        let words = until.map(|until| match self.is_stopped {
            true => "a page stopped it".to_owned(),
            false => format!("it reached index {until}"),
        });
        self.failure.clone().or(words)
    }

    /// Ends it.
    pub(crate) fn end(self, words: &str) {
        self.progress.end(words);
    }

    /// The part of `len` indexes from `index` on that is recorded.
    fn within(&self, index: SampleIndex, len: u64) -> Range<u64> {
        let offset = |limit: SampleIndex| limit.saturating_sub(index).min(len);
        let begin = self.from.map_or(0, offset);
        begin..self.until.map_or(len, offset).max(begin)
    }

    fn begin_with(&mut self, index: SampleIndex) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.progress.begin(index);
        }
    }

    /// Leaves samples out for which there is no room.
    fn leave_out(&mut self, at: SampleIndex, count: u64) {
        self.progress.add_behind(count);
        match &mut self.rest.behind {
            Some(behind) if behind.end() == at => behind.source_lost += count,
            Some(_) => self.failure = Some("the disk is too slow".to_owned()),
            behind @ None => {
                *behind = Some(RecordedGap::new(at, 0, count, RecordedCause::DiskBehind));
            }
        }
    }

    /// Whether the file has room for so many more bytes, and for what one block queues.
    fn has_room(&mut self, len_bytes: usize) -> bool {
        let gathered_bytes = self.rest.bytes.len() as u64;
        let writer = self.writer.as_mut().expect("it is not over");
        let waiting_bytes = writer.backlog().to_write_bytes() + gathered_bytes;
        // A block that is longer than the room waits alone.
        let is_empty = waiting_bytes == 0 || writer.has_ended();
        let fits = is_empty || waiting_bytes + len_bytes as u64 <= self.layout.room_bytes;
        fits && writer.has_room()
    }

    fn has_slots(&mut self) -> bool {
        self.writer.as_mut().expect("it is not over").has_room()
    }

    fn note(&mut self, queued: Result<(), SinkError>) {
        if let Err(error) = queued {
            self.failure = Some(error.to_string());
        }
    }
}

impl Drop for RecordingInput {
    fn drop(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        self.progress.end("the stream ended");
        // The recording's thread waits for it.
        let (rest, has_begun) = (std::mem::take(&mut self.rest), self.has_begun);
        let _is_kept = self.over.send(Over { writer, rest, has_begun }).is_ok();
    }
}

#[cfg(test)]
mod tests;

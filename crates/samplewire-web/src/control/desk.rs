//! The tap's end of the actions: carries orders out between two blocks.

use samplewire::SampleIndex;
use samplewire_record::sigmf::RecordedGap;

use super::{Done, Excerpt, Order, Refused, Request};
use crate::source::Shared;

/// The recording under way, if any.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    excerpt: Option<Excerpt>,
    /// Whether the present block is recorded, and the bytes of its streams so far.
    is_open: bool,
    offset_bytes: usize,
    is_ending: bool,
}

impl Desk {
    /// Whether a page has ended the stream.
    pub(crate) const fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// Carries waiting orders out. `next`: the stream's next index.
    pub(crate) fn obey(&mut self, shared: &Shared, next: SampleIndex) {
        while let Some(Request { order, reply }) = shared.orders.pop() {
            // A page that no longer waits was answered that nothing is done.
            if reply.is_closed() {
                continue;
            }
            let done = self.carry_out(order, shared, next);
            let _is_heard = reply.send(done).is_ok();
            self.end_if_over(next);
        }
    }

    fn carry_out(
        &mut self,
        order: Order,
        shared: &Shared,
        next: SampleIndex,
    ) -> Result<Done, Refused> {
        let done = |excerpt: &Excerpt, index| Done {
            name: Some(excerpt.kept().name.clone()),
            index: Some(index),
        };
        match (order, &mut self.excerpt) {
            (Order::Begin { .. }, Some(other)) => Err(Refused::UnderWay(other.kept().name.clone())),
            (Order::Begin { boot, .. }, None) if boot != shared.boot().number => {
                Err(Refused::Restarted)
            }
            (Order::Begin { mut excerpt, .. }, place @ None) => {
                let first = excerpt.begin(next)?;
                // It may have changed since the files were opened.
                excerpt.tune(shared.centre_hz());
                shared.list_recording(excerpt.kept());
                let done = done(&excerpt, first);
                *place = Some(*excerpt);
                Ok(done)
            }
            (Order::Stop { at }, Some(excerpt)) => {
                let at = excerpt.stop_at(at, next)?;
                Ok(done(excerpt, at))
            }
            (Order::Event { at, text }, Some(excerpt)) => {
                let index = excerpt.event(at, next, text)?;
                Ok(done(excerpt, index))
            }
            (Order::Stop { .. } | Order::Event { .. }, None) => Err(Refused::NoRecording),
            (Order::End, _) => {
                self.is_ending = true;
                self.end("a page ended the stream");
                Ok(Done { name: None, index: Some(next) })
            }
        }
    }

    /// Begins a block.
    pub(crate) fn open(&mut self, index: SampleIndex, len: usize) {
        self.offset_bytes = 0;
        self.is_open = self.excerpt.as_mut().is_some_and(|excerpt| excerpt.open(index, len));
    }

    /// Adds the samples of the block's next stream, whose sample has `part_bytes`.
    pub(crate) fn put(&mut self, part_bytes: usize, bytes: &[u8]) {
        if let (true, Some(excerpt)) = (self.is_open, &mut self.excerpt) {
            excerpt.put(self.offset_bytes, part_bytes, bytes);
            self.offset_bytes += part_bytes;
        }
    }

    /// Records a gap.
    pub(crate) fn gap(&mut self, gap: &RecordedGap) {
        if gap.is_estimated() {
            self.end("the device restarted");
        } else if let Some(excerpt) = &mut self.excerpt {
            excerpt.gap(gap);
        }
    }

    /// Notes the centre frequency of the samples that follow; `None` if it is not known.
    pub(crate) fn tune(&mut self, centre_hz: Option<f64>) {
        if let Some(excerpt) = &mut self.excerpt {
            excerpt.tune(centre_hz);
        }
    }

    /// Ends the recording if it has its last index, or cannot go on.
    pub(crate) fn end_if_over(&mut self, next: SampleIndex) {
        if let Some(words) = self.excerpt.as_ref().and_then(|excerpt| excerpt.is_over(next)) {
            self.end(&words);
        }
    }

    /// Ends the recording.
    pub(crate) fn end(&mut self, words: &str) {
        self.is_open = false;
        if let Some(excerpt) = self.excerpt.take() {
            excerpt.end(words);
        }
    }
}

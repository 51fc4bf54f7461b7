//! The tap's end of the actions: carries orders out between two blocks.

use samplewire::{SampleIndex, TaiClock};
use samplewire_record::sigmf::RecordedGap;

use super::{Done, Order, RecordingInput, Refused, Request};
use crate::source::Shared;

/// The recording under way, if any.
#[derive(Debug, Default)]
pub(crate) struct OrderExecutor {
    input: Option<RecordingInput>,
    /// Whether the present block is recorded, and the bytes of its streams so far.
    is_open: bool,
    offset_bytes: usize,
    is_ending: bool,
    /// The device's time of the indexes that follow.
    tai_clock: Option<TaiClock>,
}

impl OrderExecutor {
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
        let done = |input: &RecordingInput, index| Done {
            name: Some(input.progress().name.clone()),
            index: Some(index),
        };
        match (order, &mut self.input) {
            (Order::Begin { .. }, Some(other)) => {
                Err(Refused::UnderWay(other.progress().name.clone()))
            }
            (Order::Begin { boot, .. }, None) if boot != shared.boot().number => {
                Err(Refused::Restarted)
            }
            (Order::Begin { mut input, .. }, place @ None) => {
                let first = input.begin(next)?;
                // It may have changed since the files were opened.
                input.tune(shared.centre_hz());
                input.time(self.tai_clock);
                shared.list_recording(input.progress());
                let done = done(&input, first);
                *place = Some(*input);
                Ok(done)
            }
            (Order::Stop { at }, Some(input)) => {
                let at = input.stop_at(at, next)?;
                Ok(done(input, at))
            }
            (Order::Event { at, text }, Some(input)) => {
                let index = input.event(at, next, text)?;
                Ok(done(input, index))
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
        self.is_open = self.input.as_mut().is_some_and(|input| input.open(index, len));
    }

    /// Adds the samples of the block's next stream, whose sample has `part_bytes`.
    pub(crate) fn put(&mut self, part_bytes: usize, bytes: &[u8]) {
        if let (true, Some(input)) = (self.is_open, &mut self.input) {
            input.put(self.offset_bytes, part_bytes, bytes);
            self.offset_bytes += part_bytes;
        }
    }

    /// Records a gap.
    pub(crate) fn gap(&mut self, gap: &RecordedGap) {
        if gap.is_estimated() {
            self.end("the device restarted");
        } else if let Some(input) = &mut self.input {
            input.time(self.tai_clock);
            input.gap(gap);
        }
    }

    /// Notes the centre frequency of the samples that follow; `None` if it is not known.
    pub(crate) fn tune(&mut self, centre_hz: Option<f64>) {
        if let Some(input) = &mut self.input {
            input.time(self.tai_clock);
            input.tune(centre_hz);
        }
    }

    /// Sets the device's time of the indexes that follow. The recording gets it before its next capture,
    /// and at its end.
    pub(crate) const fn set_tai_clock(&mut self, clock: Option<TaiClock>) {
        self.tai_clock = clock;
    }

    /// Ends the recording if it has its last index, or cannot go on.
    pub(crate) fn end_if_over(&mut self, next: SampleIndex) {
        if let Some(words) = self.input.as_ref().and_then(|input| input.is_over(next)) {
            self.end(&words);
        }
    }

    /// Ends the recording.
    pub(crate) fn end(&mut self, words: &str) {
        self.is_open = false;
        if let Some(mut input) = self.input.take() {
            input.time(self.tai_clock);
            input.end(words);
        }
    }
}

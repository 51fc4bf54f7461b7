//! A played stream on a page: what the device plays, and what was missing at its time.

use std::ops::Range;

use samplewire::device::{PlayerOutput, UnderrunCause};
use samplewire::receiver::StatsHandle;
use samplewire::source::StreamInfo;
use samplewire::{Cause, SampleIndex, TaiClock};
use samplewire_record::sigmf::{RecordedCause, RecordedGap};
use samplewire_record::sink::{SinkError, WriteSamples};
use samplewire_web::{About, Counters, Page, Tap};

/// Shows a played stream, session after session.
#[derive(Debug)]
pub(crate) struct PlayedTap {
    tap: Tap,
    /// Samples that were missing, up to a second of them, before they are shown as one gap.
    missing: Option<RecordedGap>,
    /// The index after the last that was missing: zeros before it are not shown.
    missing_end: SampleIndex,
    second_samples: u64,
    /// The time of each index, if the device states it.
    time: Option<TaiClock>,
}

impl PlayedTap {
    /// Adds the stream to a page. `origin` names the device.
    pub(crate) fn new(page: &mut Page, origin: String, info: &StreamInfo) -> Self {
        let about = About { origin, ..About::new("emulate", std::slice::from_ref(info)) };
        // Each session begins at its own index.
        let (missing, missing_end) = (None, 0);
        Self {
            tap: page.add(about, 0),
            missing,
            missing_end,
            second_samples: info.rate_hz() as u64,
            time: None,
        }
    }

    /// Sets the time of each index, in all sessions.
    pub(crate) fn with_time(self, time: Option<TaiClock>) -> Self {
        Self { time, ..self }
    }

    /// Begins a session at `first`.
    pub(crate) fn begin_session(&mut self, first: SampleIndex, stats: StatsHandle) {
        self.tap.restart_at(first);
        self.tap.set_tai_clocks([self.time]);
        self.tap.count_by(Counters::Receiver(stats));
        self.missing_end = first;
    }

    /// Reports the end of a session, in words.
    pub(crate) fn end(&mut self, words: &str) {
        self.show_missing();
        self.tap.end(words);
    }

    fn samples(&mut self, first: SampleIndex, bytes: &[u8]) {
        if first >= self.missing_end {
            self.show_missing();
            self.tap.samples(first, [bytes]);
        }
    }

    fn missing(&mut self, due: &Range<SampleIndex>, cause: UnderrunCause) {
        let cause = match cause {
            UnderrunCause::Gap(cause) => RecordedCause::Stream(cause),
            // Each sample has its time as a deadline.
            UnderrunCause::RepairLate => RecordedCause::Stream(Cause::Deadline),
            UnderrunCause::SenderBehind | UnderrunCause::BurstLate => RecordedCause::Underrun,
        };
        let samples = due.end - due.start;
        let (not_repaired, source_lost) = match cause {
            RecordedCause::Stream(Cause::SourceOverflow) => (0, samples),
            _ => (samples, 0),
        };
        if self.missing.is_some_and(|gap| gap.end() != due.start || gap.cause != cause) {
            self.show_missing();
        }
        let gap = self.missing.get_or_insert(RecordedGap::new(due.start, 0, 0, cause));
        gap.not_repaired += not_repaired;
        gap.source_lost += source_lost;
        self.missing_end = due.end;
        if gap.count() >= self.second_samples {
            self.show_missing();
        }
    }

    fn show_missing(&mut self) {
        if let Some(gap) = self.missing.take() {
            self.tap.gap(&gap, false);
        }
    }
}

/// An output whose samples are shown as they are played.
pub(crate) struct ShownOutput<'a> {
    sink: &'a mut Box<dyn WriteSamples>,
    shown: Option<&'a mut PlayedTap>,
}

impl<'a> ShownOutput<'a> {
    pub(crate) fn new(
        sink: &'a mut Box<dyn WriteSamples>,
        shown: Option<&'a mut PlayedTap>,
    ) -> Self {
        Self { sink, shown }
    }
}

impl PlayerOutput for ShownOutput<'_> {
    type Error = SinkError;

    fn write(&mut self, first: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
        if let Some(shown) = &mut self.shown {
            shown.samples(first, bytes);
        }
        PlayerOutput::write(self.sink, first, bytes)
    }

    fn missing(&mut self, due: Range<SampleIndex>, cause: UnderrunCause) {
        if let Some(shown) = &mut self.shown {
            shown.missing(&due, cause);
        }
    }

    fn has_holes(&mut self) -> bool {
        self.sink.has_holes()
    }

    fn hole(&mut self, first: SampleIndex, samples: u64) -> Result<(), SinkError> {
        PlayerOutput::hole(self.sink, first, samples)
    }
}

#[cfg(test)]
mod tests {
    use samplewire_record::sink::NullSink;
    use samplewire_web::PageOptions;

    use super::*;

    #[test]
    fn zeros_of_an_underrun_are_a_gap_on_the_page_and_samples_in_the_file() {
        let mut page = Page::start(PageOptions::local()).unwrap();
        let info = StreamInfo::sc16("test", 1e6).unwrap();
        let mut shown = PlayedTap::new(&mut page, String::new(), &info);
        shown.tap.restart_at(100);
        assert_eq!(shown.tap.account().boots(), 1, "the first session");
        let mut sink: Box<dyn WriteSamples> = Box::new(NullSink::new(&info));
        let mut output = ShownOutput::new(&mut sink, Some(&mut shown));
        output.write(100, &[1; 40]).unwrap();
        output.missing(110..120, UnderrunCause::SenderBehind);
        output.write(110, &[0; 40]).unwrap();
        output.missing(120..125, UnderrunCause::SenderBehind);
        output.write(120, &[0; 20]).unwrap();
        output.write(125, &[1; 20]).unwrap();
        output.missing(130..140, UnderrunCause::Gap(Cause::SourceOverflow));
        output.write(130, &[0; 40]).unwrap();
        output.missing(140..147, UnderrunCause::RepairLate);
        output.write(140, &[0; 28]).unwrap();
        output.missing(147..150, UnderrunCause::BurstLate);
        output.write(147, &[0; 12]).unwrap();
        // The next burst.
        output.write(200, &[0; 40]).unwrap();
        let account = shown.tap.account();
        let balance = account.balance(account.delivered()).unwrap();
        assert_eq!((account.delivered(), account.missing(), balance.left_out), (25, 35, 50));
        let of_underruns = account.gap_samples()[RecordedCause::Underrun.position()];
        assert_eq!((&account.gap_samples()[..2], of_underruns), (&[10, 7][..], 18));
        assert_eq!(account.gaps(), 4);
        assert_eq!(sink.finish().unwrap().samples, 60);
    }

    #[test]
    fn long_underrun_is_shown_each_second() {
        let mut page = Page::start(PageOptions::local()).unwrap();
        let info = StreamInfo::sc16("test", 1e3).unwrap();
        let mut shown = PlayedTap::new(&mut page, String::new(), &info);
        for first in (0..2_500).step_by(10) {
            shown.missing(&(first..first + 10), UnderrunCause::RepairLate);
        }
        assert_eq!((shown.tap.account().gaps(), shown.tap.account().missing()), (2, 2_000));
        shown.end("finished");
        assert_eq!((shown.tap.account().gaps(), shown.tap.account().missing()), (3, 2_500));
    }
}

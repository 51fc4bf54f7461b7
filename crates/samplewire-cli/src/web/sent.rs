//! A sent stream on a page: what is read from its source to be sent.

use samplewire::source::{ReadSamples, StreamInfo};
use samplewire::transmitter::StatsHandle;
use samplewire::{BoxError, Cause, DeviceInfo, SampleIndex, TaiClock};
use samplewire_record::sigmf::{RecordedCause, RecordedGap};
use samplewire_web::{About, Counters, Page, Role, Tap};

/// Shows a sent stream, session after session.
#[derive(Debug)]
pub(crate) struct SentTap {
    tap: Tap,
    frame_bytes: usize,
    /// The index of the next sample.
    next: SampleIndex,
    /// The time of each index, if the device states it.
    time: Option<TaiClock>,
}

impl SentTap {
    /// Adds a stream that others open at `origin` to a page.
    pub(crate) fn from_device(
        page: &mut Page,
        verb: &str,
        origin: String,
        info: &StreamInfo,
        stats: StatsHandle,
    ) -> Self {
        let about = About { origin, ..About::new(verb, std::slice::from_ref(info)) };
        Self::new(page, about, stats, 0)
    }

    /// Adds a stream to a device to a page, from the index `first` on.
    pub(crate) fn to_device(
        page: &mut Page,
        verb: &str,
        device: &DeviceInfo,
        stats: StatsHandle,
        first: SampleIndex,
    ) -> Self {
        let about = About::device(verb, [device]);
        Self::new(page, about, stats, first).with_time(device.tai_clock())
    }

    fn new(page: &mut Page, about: About, stats: StatsHandle, first: SampleIndex) -> Self {
        let frame_bytes = about.streams[0].frame_bytes();
        let mut tap = page.add(About { role: Role::Sent, ..about }, first);
        tap.count_by(Counters::Sender(stats));
        Self { tap, frame_bytes, next: first, time: None }
    }

    /// Sets the time of each index, in all sessions.
    pub(crate) fn with_time(self, time: Option<TaiClock>) -> Self {
        Self { time, ..self }
    }

    /// Begins a session at `first`.
    pub(crate) fn begin_session(&mut self, first: SampleIndex) {
        self.tap.restart_at(first);
        self.tap.set_tai_clocks([self.time]);
        self.next = first;
    }

    /// Continues at `first`, which is not before the end of what was sent.
    pub(crate) const fn continue_at(&mut self, first: SampleIndex) {
        self.next = first;
    }

    /// Shows samples that are sent.
    pub(crate) fn samples(&mut self, bytes: &[u8]) {
        self.tap.samples(self.next, [bytes]);
        self.next += (bytes.len() / self.frame_bytes) as u64;
    }

    /// Counts samples for which there was no room.
    fn lose(&mut self, len_bytes: usize) {
        let samples = (len_bytes / self.frame_bytes) as u64;
        let gap =
            RecordedGap::new(self.next, 0, samples, RecordedCause::Stream(Cause::SourceOverflow));
        self.tap.gap(&gap, false);
        self.next += samples;
    }

    /// Reports the end of a session, in words.
    pub(crate) fn end(&mut self, words: &str) {
        self.tap.end(words);
    }
}

/// A source whose samples are shown as they are read.
pub(crate) struct ShownSource<'a> {
    source: &'a mut dyn ReadSamples,
    shown: Option<&'a mut SentTap>,
}

impl<'a> ShownSource<'a> {
    pub(crate) fn new(source: &'a mut dyn ReadSamples, shown: Option<&'a mut SentTap>) -> Self {
        Self { source, shown }
    }
}

impl ReadSamples for ShownSource<'_> {
    fn info(&self) -> &StreamInfo {
        self.source.info()
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let len_bytes = self.source.read(out)?;
        if let Some(shown) = &mut self.shown {
            shown.samples(&out[..len_bytes]);
        }
        Ok(len_bytes)
    }

    fn read_lost(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let len_bytes = self.source.read_lost(out)?;
        if let Some(shown) = &mut self.shown {
            shown.lose(len_bytes);
        }
        Ok(len_bytes)
    }

    fn start_at(&mut self, first: SampleIndex) {
        self.source.start_at(first);
        if let Some(shown) = &mut self.shown {
            shown.begin_session(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use samplewire::source::CounterSource;
    use samplewire_web::PageOptions;

    use super::*;

    #[test]
    fn what_finds_no_room_is_a_gap_of_the_device() {
        let mut page = Page::start(PageOptions::local()).unwrap();
        let mut source = CounterSource::new(1e6, 0).unwrap();
        let info = source.info().clone();
        let about = About { role: Role::Sent, ..About::new("test", std::slice::from_ref(&info)) };
        let mut shown =
            SentTap { tap: page.add(about, 100), frame_bytes: 4, next: 100, time: None };
        let mut out = [0; 400];
        let mut read = ShownSource::new(&mut source, Some(&mut shown));
        read.start_at(100);
        assert_eq!(read.read(&mut out).unwrap(), 400);
        assert_eq!(read.read_lost(&mut out).unwrap(), 400);
        assert_eq!(read.read(&mut out[..40]).unwrap(), 40);
        // The next session begins at an index that the last one had read, but not sent.
        read.start_at(305);
        assert_eq!(read.read(&mut out[..40]).unwrap(), 40);
        let account = shown.tap.account();
        assert_eq!((account.delivered(), account.missing(), account.gaps()), (120, 100, 1));
        assert_eq!(account.gap_samples()[0], 100);
        assert!(account.balance(120).is_ok());
    }
}

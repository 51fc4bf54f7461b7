//! Shows a recording to people, programs and other processes while it runs.

use std::time::{Duration, Instant};

use samplewire::DeviceInfo;
use samplewire::receiver::Interleaved;
use samplewire_record::recorder::{self, Observer, Progress};
use samplewire_record::sigmf::RecordedGap;

use super::reporter::{Reporter, Shown};
use super::stop::Stop;
use super::watch::Watch;
use crate::cadence::Cadence;
use crate::figures::span;
use crate::interrupt::Interrupt;

/// Prints a recording, and exports its counters.
#[derive(Debug)]
pub(super) struct RecordingView<'a> {
    reporter: &'a mut Reporter,
    interrupt: &'a Interrupt,
    watch: Watch,
    /// The length of the recording.
    duration: Option<Duration>,
    cadence: Cadence,
    status_cadence: Cadence,
}

impl<'a> RecordingView<'a> {
    /// Creates the view of a recording that started at `started`.
    pub(super) fn new(
        reporter: &'a mut Reporter,
        interrupt: &'a Interrupt,
        watch: Watch,
        started: Instant,
        duration: Option<Duration>,
    ) -> Self {
        Self {
            reporter,
            interrupt,
            watch,
            duration,
            cadence: Cadence::new(Duration::from_secs(1), started),
            status_cadence: Cadence::new(STATUS_PERIOD, started),
        }
    }
}

impl Observer for RecordingView<'_> {
    fn should_stop(&mut self) -> bool {
        self.interrupt.stop_signal(self.reporter.console()).is_some()
    }

    fn opened(&mut self, receiver: &Interleaved) {
        self.watch.follow(receiver);
    }

    fn gap(&mut self, gap: &RecordedGap) {
        self.reporter.gap(gap);
    }

    fn turn(&mut self, progress: &Progress<'_>) {
        self.watch.export(progress.account, progress.now, progress.is_last);
        if progress.is_last {
            return;
        }
        if self.cadence.is_due(progress.now) {
            let counters = progress.counters();
            self.reporter.interval(progress.elapsed(), progress.account, &counters);
        }
        if self.status_cadence.is_due(progress.now) {
            let counters = progress.counters();
            let silence = progress.silence(&counters);
            let shown = Shown { elapsed: progress.elapsed(), duration: self.duration, silence };
            self.reporter.status(shown, progress.account, &counters);
        }
    }

    fn closed(&mut self) {
        self.watch.close();
    }

    fn lost(&mut self, stop: recorder::Stop) {
        if let Some(console) = self.reporter.words() {
            let words = Stop::of(stop, self.interrupt).words();
            console.line(format_args!("lost: {words}; opening the stream again"));
        }
    }

    fn reopened(&mut self, info: &DeviceInfo, silence: Duration) {
        if let Some(console) = self.reporter.words() {
            let silence = span(silence.as_secs_f64());
            let first_index = info.first_index;
            console.line(format_args!("opened again: from index {first_index}, {silence} later"));
        }
    }
}

/// The interval between updates of the status line; a log gets a line each time.
const STATUS_PERIOD: Duration = Duration::from_secs(1);

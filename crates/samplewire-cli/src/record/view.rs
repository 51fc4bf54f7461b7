//! Shows a recording to people, programs and other processes while it runs.

use std::time::{Duration, Instant};

use samplewire::receiver::Interleaved;
use samplewire::{DeviceInfo, SampleIndex};
use samplewire_record::account::Account;
use samplewire_record::recorder::{self, Observer, Progress};
use samplewire_record::sigmf::{HostDrops, RecordedGap};
use samplewire_web::{About, Page, Tap};

use super::reporter::{Reporter, Shown};
use super::stop::Stop;
use super::watch::Watch;
use crate::cadence::Cadence;
use crate::console::Console;
use crate::figures::span;
use crate::host_watch::HostWatch;
use crate::interrupt::Interrupt;
use crate::web;

/// Prints a recording, and exports its counters.
#[derive(Debug)]
pub(super) struct RecordingView<'a> {
    reporter: &'a mut Reporter,
    interrupt: &'a Interrupt,
    watch: Watch,
    host: &'a mut HostWatch,
    /// The RDMA network card that writes the packets.
    device: Option<&'a str>,
    /// The length of the recording.
    duration: Option<Duration>,
    cadence: Cadence,
    status_cadence: Cadence,
    shown: Option<OnPage>,
}

/// The recording on a page.
#[derive(Debug)]
pub(super) struct OnPage {
    page: Page,
    tap: Tap,
    /// What the device stated at the last opening.
    info: DeviceInfo,
    cadence: Cadence,
}

impl OnPage {
    /// Shows the streams of `receiver` from the account's first index on.
    pub(super) fn new(mut page: Page, receiver: &Interleaved, account: &Account) -> Self {
        let info = receiver.info().clone();
        let tap = page.add(About::device("record", [&info]), account.range().start);
        let cadence = Cadence::new(COUNTERS_PERIOD, Instant::now());
        Self { page, tap, info, cadence }
    }

    fn gap(&mut self, gap: &RecordedGap, is_held_up: bool) {
        self.tap.gap(gap, is_held_up);
        if gap.is_estimated() {
            self.tap.restart_at(self.info.first_index);
            self.tap.set_device([&self.info]);
        }
    }

    /// Passes the final count of what the host dropped.
    pub(super) fn host_drops(&mut self, drops: HostDrops) {
        self.tap.host_drops(drops);
    }

    fn turn(&mut self, progress: &Progress<'_>, console: &mut Console) {
        if progress.is_last {
            let sums = [self.tap.account(), progress.account]
                .map(|account| (account.balance(account.delivered()), account.hops()));
            if sums[0] != sums[1] {
                console.warn(format_args!("the page's sums were wrong: please report this defect"));
            }
        }
        if self.cadence.is_due(progress.now) {
            self.tap.counters(&progress.counters());
            self.tap.set_tai_clocks(progress.tai_clocks());
            web::report_failure(&mut self.page, console);
        }
    }
}

impl<'a> RecordingView<'a> {
    /// Creates the view of a recording that started at `started`.
    pub(super) fn new(
        reporter: &'a mut Reporter,
        interrupt: &'a Interrupt,
        watch: Watch,
        host: &'a mut HostWatch,
        started: Instant,
        duration: Option<Duration>,
    ) -> Self {
        Self {
            reporter,
            interrupt,
            watch,
            host,
            device: None,
            duration,
            cadence: Cadence::new(Duration::from_secs(1), started),
            status_cadence: Cadence::new(STATUS_PERIOD, started),
            shown: None,
        }
    }

    /// Reports what the card that writes the packets counts.
    pub(super) const fn with_device(mut self, device: Option<&'a str>) -> Self {
        self.device = device;
        self
    }

    /// Shows the recording on a page too.
    pub(super) fn with_page(mut self, shown: Option<OnPage>) -> Self {
        self.shown = shown;
        self
    }

    /// Returns the page, which stays open behind the recording.
    pub(super) fn into_page(self) -> Option<OnPage> {
        self.shown
    }
}

impl Observer for RecordingView<'_> {
    fn should_stop(&mut self) -> bool {
        self.interrupt.stop_signal(self.reporter.console()).is_some()
    }

    fn opened(&mut self, receiver: &Interleaved) {
        self.host.follow(receiver.local_addr(), receiver.infos(), self.device);
        self.watch.follow(receiver);
    }

    fn host_drops(&mut self, received: u64) -> HostDrops {
        let drops = self.host.drops(received);
        if let Some(shown) = &mut self.shown {
            shown.tap.host_drops(drops);
        }
        drops
    }

    fn gap(&mut self, gap: &RecordedGap, is_held_up: bool) {
        self.reporter.gap(gap);
        if let Some(shown) = &mut self.shown {
            shown.gap(gap, is_held_up);
        }
    }

    fn samples(&mut self, index: SampleIndex, bytes: &[u8]) {
        if let Some(shown) = &mut self.shown {
            shown.tap.samples(index, [bytes]);
        }
    }

    fn turn(&mut self, progress: &Progress<'_>) {
        let host = || self.host.counts();
        self.watch.export(progress.account, host, progress.now, progress.is_last);
        if let Some(shown) = &mut self.shown {
            shown.turn(progress, self.reporter.console());
        }
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
        if let Some(shown) = &mut self.shown {
            shown.info = info.clone();
            shown.tap.set_device([info]);
        }
        if let Some(console) = self.reporter.words() {
            let silence = span(silence.as_secs_f64());
            let first_index = info.first_index;
            console.line(format_args!("opened again: from index {first_index}, {silence} later"));
        }
    }
}

/// The interval between updates of the status line; a log gets a line each time.
const STATUS_PERIOD: Duration = Duration::from_secs(1);

/// How often the page gets the counters.
const COUNTERS_PERIOD: Duration = Duration::from_millis(100);

//! Prints what happens in one direction of a bridge, and keeps the results of its sessions.

use std::time::{Duration, Instant};

use samplewire::receiver::ReceiveStream;
use samplewire::transmitter::SendStream;
use samplewire::{DeviceInfo, SampleIndex};
use samplewire_io::HostDropCounts;
use samplewire_record::sigmf::{HostDrops, RecordedGap};
use samplewire_web::{Counters, Tap};

use super::news::News;
use super::summary::Passed;
use crate::bridge::{Counts, Report, Session};
use crate::cadence::Cadence;
use crate::console::Console;
use crate::document::push_bounded;
use crate::figures::grouped;
use crate::host_watch::HostWatch;
use crate::interrupt::Interrupt;
use crate::metrics::{Entry, Exported, View, ended};
use crate::outcome::Outcome;
use crate::record::gap_lines::GapLines;
use samplewire_zmtp::{Notice, Socket};

/// The results of the sessions of one direction.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) outcome: Outcome,
    pub(super) sessions: Vec<Passed>,
    /// Sessions that are not listed: the list is bounded.
    pub(super) left_out: u64,
    /// Samples that no peer accepted at the end.
    pub(super) untaken: u64,
    /// The error that ended the direction.
    pub(super) error: Option<String>,
}

/// Prints a direction in its thread.
pub(super) struct Reporter {
    console: Console,
    interrupt: Interrupt,
    /// Whether peers open this end: it serves on after a session.
    is_device: bool,
    /// The counters of a device that receives.
    entry: Option<Entry>,
    /// What the host drops of the session.
    host: Option<HostWatch>,
    /// The RDMA network card that writes the packets, if one does.
    card: Option<String>,
    /// A copy of its counts, for metrics.
    host_counts: Exported<HostDropCounts>,
    /// Shows the samples on a page.
    tap: Option<Tap>,
    gaps: GapLines,
    news: News,
    cadence: Cadence,
    way: Way,
}

impl Reporter {
    pub(super) fn new(
        console: Console,
        interrupt: Interrupt,
        is_device: bool,
        entry: Option<Entry>,
        tap: Option<Tap>,
    ) -> Self {
        let outcome = Outcome::Whole;
        let way = Way { outcome, sessions: Vec::new(), left_out: 0, untaken: 0, error: None };
        Self {
            console,
            interrupt,
            is_device,
            entry,
            host: None,
            card: None,
            host_counts: Exported::default(),
            tap,
            gaps: GapLines::new(0.0),
            news: News::default(),
            cadence: Cadence::new(Duration::from_secs(1), Instant::now()),
            way,
        }
    }

    /// Counts what the host drops of the stream that is received, and what `card` counts, and exports it.
    pub(super) fn counting(
        mut self,
        card: Option<&str>,
        host_counts: Exported<HostDropCounts>,
    ) -> Self {
        self.card = card.map(str::to_owned);
        self.host_counts = host_counts;
        self
    }

    /// The device took nothing for `timeout`, or a signal came first.
    pub(super) fn not_ready(mut self, timeout: Duration) -> Way {
        match self.interrupt.signal() {
            Some(signal) => self.way.outcome = Outcome::Interrupted { signal },
            None => {
                self.way.outcome = Outcome::Unreachable;
                self.way.error = Some(format!("sending: the device took nothing for {timeout:?}"));
            }
        }
        self.way
    }

    /// The results. A device has already printed how its sessions ended.
    pub(super) fn finish(mut self, untaken: u64) -> Way {
        if self.is_device {
            (self.way.outcome, self.way.error) = (Outcome::Whole, None);
        }
        Way { untaken, ..self.way }
    }
}

impl Reporter {
    /// Updates the exported counts of the host.
    fn count_host(&self) {
        if let Some(host) = &self.host {
            self.host_counts.set(host.counts());
        }
    }

    /// Shows another session on the page, with what a device at the other end states.
    fn begin(&mut self, first: SampleIndex, counters: Counters, device: Option<&DeviceInfo>) {
        if let Some(tap) = &mut self.tap {
            tap.restart_at(first);
            tap.count_by(counters);
            tap.set_device(device);
        }
    }
}

impl Report for Reporter {
    fn receives(&mut self, stream: &ReceiveStream) {
        let info = stream.info();
        if self.is_device {
            self.console.line(format_args!("{} opened", info.address));
        }
        if let Some(entry) = &self.entry {
            let stats = stream.stats_handle();
            let (peer, packet_samples) = (Some(info.address), info.packet_samples);
            let (view, host) =
                (View { peer, packet_samples, ..View::default() }, self.host_counts.clone());
            entry.set(move || View {
                receiver: Some(stats.stats()),
                host: Some(host.get()),
                ..view.clone()
            });
        }
        self.begin(info.first_index, Counters::Receiver(stream.stats_handle()), Some(info));
        let mut host = HostWatch::new();
        host.follow(stream.local_addr(), std::iter::once(info), self.card.as_deref());
        self.host_counts.set(host.counts());
        self.host = Some(host);
        self.gaps = GapLines::new(info.rate_hz());
    }

    fn sends(&mut self, stream: &SendStream) {
        if self.is_device {
            self.console.line(format_args!("{} opened", stream.session().peer));
        }
        let (first, counters) =
            (stream.session().first_index, Counters::Sender(stream.stats_handle()));
        self.begin(first, counters, stream.device());
    }

    fn host_drops(&mut self, stream: &ReceiveStream) -> HostDrops {
        let received = stream.stats().stream.received;
        let drops = self.host.as_mut().map_or(HostDrops::NONE, |host| host.drops(received));
        if let Some(tap) = &mut self.tap {
            tap.host_drops(drops);
        }
        drops
    }

    fn gap(&mut self, gap: &RecordedGap, is_held_up: bool) {
        self.gaps.print(&mut self.console, gap);
        if let Some(tap) = &mut self.tap {
            tap.gap(gap, is_held_up);
        }
    }

    fn not_filled(&mut self, samples: u64) {
        self.console.warn(format_args!(
            "{} missing samples are more than a minute: no zeros replace these and later such gaps",
            grouped(samples)
        ));
    }

    fn samples(&mut self, index: SampleIndex, bytes: &[u8]) {
        if let Some(tap) = &mut self.tap {
            tap.samples(index, [bytes]);
        }
    }

    fn notice(&mut self, socket: &Socket, notice: &Notice) {
        self.news.print(socket, notice, &mut self.console);
    }

    fn passes(&mut self, now: Instant) {
        if self.cadence.is_due(now) {
            self.count_host();
            self.gaps.next_second(&mut self.console);
            self.news.next_second(&mut self.console);
        }
    }

    fn ended(&mut self, session: Session) {
        self.gaps.next_second(&mut self.console);
        self.count_host();
        if let (Counts::Received(received), Some(entry)) = (&session.counts, &self.entry) {
            let (last, host) = (Some(ended(&received.snapshot)), Some(self.host_counts.get()));
            entry.set(move || View { receiver: last, host, ..View::default() });
        }
        let passed = Passed::of(session, self.interrupt.signal(), self.host.take());
        passed.print(&mut self.console);
        if let Some(tap) = &mut self.tap {
            tap.end(&passed.words);
        }
        self.way.outcome = passed.outcome;
        self.way.error.clone_from(&passed.error);
        push_bounded(&mut self.way.sessions, &mut self.way.left_out, SESSIONS_MAX, passed);
    }
}

/// Maximum number of sessions listed in JSON.
const SESSIONS_MAX: usize = 1_000;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use samplewire::format::Format;
    use samplewire::source::StreamInfo;
    use samplewire::{DeviceOptions, SendOptions};
    use samplewire_testing::{PATIENCE, wait_for};
    use samplewire_web::{About, Page, PageOptions};

    use super::*;
    use crate::console::Lines;

    /// The account as the page reads it.
    fn account(page: &Page) -> String {
        let mut wire = TcpStream::connect(page.address()).unwrap();
        let (address, token) = (page.address(), page.token().as_str());
        let head = format!(
            "GET /api/account HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n"
        );
        wire.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        wire.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn page_of_a_sent_stream_has_what_the_playing_device_states() {
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        let played = StreamInfo { centre_frequency_hz: Some(2.5e9), ..info.clone() };
        let device = DeviceOptions::new().plays(played).listen("127.0.0.1:0").unwrap();
        let (address, listener) = (device.address, device.receive_listener);
        let mut listener = listener.expect("it plays");
        let accepting = std::thread::spawn(move || listener.accept(PATIENCE).unwrap().is_some());
        let stream = SendOptions::new().timeout(PATIENCE).open(address).unwrap();
        let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap();
        let tap = page.add(About::new("bridge", std::slice::from_ref(&info)), 0);
        let (console, interrupt) =
            (Console::new(Lines::Nowhere, false), Interrupt::of(&[]).unwrap());
        let mut reporter = Reporter::new(console, interrupt, false, None, Some(tap));
        assert!(account(&page).contains("\"centre_hz\":null"));
        reporter.sends(&stream);
        wait_for("the frequency", PATIENCE, || {
            account(&page).contains("\"centre_hz\":2500000000.0").then_some(())
        });
        assert!(accepting.join().unwrap());
    }
}

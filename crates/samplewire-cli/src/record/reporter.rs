//! Reports a recording: as text, as one JSON object, or as one JSON object per event.

use std::time::Duration;

use samplewire::receiver::ReceiverSnapshot;
use samplewire_record::account::Account;
use samplewire_record::recorder::Silence;
use samplewire_record::sigmf::RecordedGap;
use serde::Serialize;

use super::gap_lines::GapLines;
use super::json::{Document, End, Event, GapEntry, Interval, Start};
use crate::console::Console;
use crate::figures::{bits_per_second, grouped, measured, span};

/// The form of the report.
#[derive(Debug)]
pub(super) enum Form {
    /// Lines for people.
    Words,
    /// One object at the end.
    Json(Box<Document>),
    /// One object for each event.
    JsonStream,
}

/// Reports the progress and the result of a recording.
#[derive(Debug)]
pub(super) struct Reporter {
    console: Console,
    form: Form,
    gap_lines: GapLines,
    frame_bytes: u64,
    /// The counts at the end of the last interval.
    reported: Totals,
    /// The counts in the last status line.
    shown: Totals,
}

/// The parts of the status line that are not counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    /// How long the recording has run.
    pub(super) elapsed: Duration,
    /// How long it is to run.
    pub(super) duration: Option<Duration>,
    /// A device that may be gone.
    pub(super) silence: Option<Silence>,
}

/// The counts at the time of a report.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    elapsed: Duration,
    delivered: u64,
    missing: u64,
    received: u64,
    repaired: u64,
    late: u64,
}

impl Totals {
    fn of(elapsed: Duration, account: &Account, snapshot: &ReceiverSnapshot) -> Self {
        Self {
            elapsed,
            delivered: account.delivered(),
            missing: account.missing(),
            received: snapshot.stream.received,
            repaired: snapshot.stream.repaired,
            late: snapshot.stream.late,
        }
    }
}

impl Reporter {
    pub(super) fn new(console: Console, form: Form) -> Self {
        let (reported, shown) = (Totals::default(), Totals::default());
        Self { console, form, gap_lines: GapLines::new(0.0), frame_bytes: 0, reported, shown }
    }

    /// Returns the console if the report is text.
    pub(super) fn words(&mut self) -> Option<&mut Console> {
        matches!(self.form, Form::Words).then_some(&mut self.console)
    }

    /// Returns the console for warnings, whatever the form.
    pub(super) fn console(&mut self) -> &mut Console {
        &mut self.console
    }

    /// Reports that the stream is open.
    pub(super) fn start(&mut self, start: Start, rate_hz: f64, frame_bytes: usize) {
        self.gap_lines = GapLines::new(rate_hz);
        self.frame_bytes = frame_bytes as u64;
        match &mut self.form {
            Form::Words => {}
            Form::Json(document) => document.run.start = Some(start),
            Form::JsonStream => self.event(&Event::Start(&start)),
        }
    }

    /// Reports missing samples.
    pub(super) fn gap(&mut self, gap: &RecordedGap) {
        match &mut self.form {
            Form::Words => self.gap_lines.print(&mut self.console, gap),
            Form::Json(document) => document.push_gap(GapEntry::from(gap)),
            Form::JsonStream => self.event(&Event::Gap(&GapEntry::from(gap))),
        }
    }

    /// Reports the end of a second, or of the recording.
    pub(super) fn interval(
        &mut self,
        elapsed: Duration,
        account: &Account,
        snapshot: &ReceiverSnapshot,
    ) {
        let now = Totals::of(elapsed, account, snapshot);
        let before = std::mem::replace(&mut self.reported, now);
        let interval = interval(&before, &now, self.frame_bytes);
        match &mut self.form {
            Form::Words => self.gap_lines.next_second(&mut self.console),
            Form::Json(document) => document.run.push_interval(interval),
            Form::JsonStream => self.event(&Event::Interval(&interval)),
        }
    }

    /// Shows the progress.
    pub(super) fn status(
        &mut self,
        Shown { elapsed, duration, silence }: Shown,
        account: &Account,
        snapshot: &ReceiverSnapshot,
    ) {
        if !self.console.has_status() {
            return;
        }
        let now = Totals::of(elapsed, account, snapshot);
        let before = std::mem::replace(&mut self.shown, now);
        let bytes = (now.delivered - before.delivered) * self.frame_bytes;
        let rate = measured(bits_per_second(bytes, elapsed - before.elapsed), "b/s");
        let silence = silence.as_ref().map_or_else(String::new, silence_words);
        self.console.status(&format!(
            "{}{}  {} samples  {rate}  {} repaired  {} missing{silence}",
            span(elapsed.as_secs_f64()),
            share_words(elapsed, duration, account),
            grouped(now.delivered),
            grouped(now.repaired),
            grouped(now.missing)
        ));
    }

    /// Reports the end of the recording.
    pub(super) fn end(&mut self, end: End) {
        match &mut self.form {
            Form::Words => {}
            Form::Json(document) => document.run.end = Some(end),
            Form::JsonStream => self.event(&Event::End(&end)),
        }
    }

    /// Reports an error in JSON; in text, the caller prints it.
    pub(super) fn error(&mut self, text: String) {
        match &mut self.form {
            Form::Words => {}
            Form::Json(document) => document.run.error = Some(text),
            Form::JsonStream => self.event(&Event::Error(&text)),
        }
    }

    /// Prints the JSON object of the whole recording.
    pub(super) fn finish(&mut self) {
        if let Form::Json(document) = &self.form {
            let text = json(document, true);
            self.console.line(format_args!("{text}"));
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        let text = json(event, false);
        self.console.line(format_args!("{text}"));
    }
}

fn interval(before: &Totals, now: &Totals, frame_bytes: u64) -> Interval {
    let samples_delivered = now.delivered - before.delivered;
    let bytes = samples_delivered * frame_bytes;
    Interval {
        start_s: before.elapsed.as_secs_f64(),
        end_s: now.elapsed.as_secs_f64(),
        bytes,
        goodput_bps: bits_per_second(bytes, now.elapsed - before.elapsed),
        samples_delivered,
        samples_missing: now.missing - before.missing,
        packets_received: now.received - before.received,
        packets_repaired: now.repaired - before.repaired,
        packets_late: now.late - before.late,
    }
}

fn silence_words(silence: &Silence) -> String {
    let [silent, left] = [silence.silent, silence.left].map(|it| span(it.as_secs_f64()));
    format!("  device silent for {silent}, given up in {left}")
}

/// Returns ` (45 %)` if the total is known.
fn share_words(elapsed: Duration, duration: Option<Duration>, account: &Account) -> String {
    let by_time = duration.map(|duration| elapsed.as_secs_f64() / duration.as_secs_f64());
    let by_count = account.left().map(|left| {
        let taken = (account.delivered() + account.missing()) as f64;
        taken / (taken + left as f64)
    });
    match by_time.into_iter().chain(by_count).reduce(f64::max) {
        Some(share) => format!(" ({:.0} %)", share.min(1.0) * 100.0),
        None => String::new(),
    }
}

fn json(value: &impl Serialize, is_pretty: bool) -> String {
    let text =
        if is_pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    text.expect("the keys are strings and nothing here can fail to serialise")
}

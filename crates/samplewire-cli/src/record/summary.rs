//! The result of a recording: the outcome, the counters, the thresholds.

use std::time::Duration;

use samplewire::receiver::ReceiverSnapshot;
use samplewire_record::account::{Account, Balance, Defect};
use samplewire_record::counters::StreamCounters;
use samplewire_record::sigmf::RecordedCause;
use samplewire_record::sink::{Depth, SinkSummary};

use super::json::End;
use super::stop::Stop;
use crate::account;
use crate::arguments::values::{Subject, Threshold};
use crate::certainty::Doubts;
use crate::console::Console;
use crate::figures::{bits_per_second, grouped, indexes_words, measured, span};
use crate::hops;
use crate::host::HostHints;
use crate::lanes::{self, LaneEntry};
use crate::metrics::counters::ReceiverCounters;
use crate::metrics::latency::RepairLatency;
use crate::outcome::Outcome;
use crate::thresholds::{self, Crossed};

/// A finished recording.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) stop: Stop,
    pub(super) account: Account,
    /// All indexes by term.
    pub(super) balance: Result<Balance, Defect>,
    /// How long the device had been silent at the stop, if it was.
    pub(super) silent: Option<Duration>,
    /// How often the stream was opened.
    pub(super) openings: u32,
    pub(super) elapsed: Duration,
    pub(super) snapshot: ReceiverSnapshot,
    /// The counters of each stream.
    pub(super) lanes: Vec<StreamCounters>,
    pub(super) host: HostHints,
    pub(super) files: SinkSummary,
    /// How full the queue before the file was.
    pub(super) queue: Depth,
    pub(super) memory_bytes: usize,
    pub(super) frame_bytes: usize,
}

impl Summary {
    /// Returns the exceeded thresholds.
    pub(super) fn crossed(&self, thresholds: &[Threshold]) -> Vec<Crossed> {
        thresholds::crossed(thresholds, |subject| Some(self.count(subject)))
    }

    /// Returns the outcome: first errors, then thresholds, then missing samples.
    pub(super) fn outcome(&self, crossed: &[Crossed]) -> Outcome {
        match self.stop.outcome() {
            Outcome::Whole if !crossed.is_empty() => Outcome::Threshold,
            Outcome::Whole if self.is_incomplete() => Outcome::Incomplete,
            Outcome::Whole if self.is_whole() => Outcome::Whole,
            Outcome::Whole => Outcome::Missing,
            other => other,
        }
    }

    /// Prints the summary as text.
    pub(super) fn print(&self, console: &mut Console, outcome: Outcome, crossed: &[Crossed]) {
        let Self { elapsed, snapshot, .. } = self;
        let stream = &snapshot.stream;
        console.line(format_args!(
            "{}: {} samples in {}, {}",
            outcome_words(outcome),
            grouped(self.files.written_samples()),
            span(elapsed.as_secs_f64()),
            measured(bits_per_second(self.bytes(), *elapsed), "b/s")
        ));
        console.line(format_args!("  ended      {}", self.stop.words()));
        if let Some(silent) = self.silent {
            let silent = span(silent.as_secs_f64());
            console.line(format_args!(
                "  silent     nothing came from the device in the last {silent}: what it lost then \
                 is in no gap"
            ));
        }
        self.print_indexes(console);
        console.line(format_args!(
            "  packets    {} received, {} repaired, {} late, {} given up, {} duplicates",
            grouped(stream.received),
            grouped(stream.repaired),
            grouped(stream.late),
            grouped(stream.skipped),
            grouped(stream.duplicates)
        ));
        console.line(format_args!(
            "             {} reordered, {} corrupted, {} foreign, {} dropped by the socket",
            grouped(stream.reordered),
            grouped(snapshot.corrupted),
            grouped(snapshot.foreign),
            grouped(snapshot.socket_dropped)
        ));
        console.line(format_args!(
            "  requests   {} ranges requested again, {} credit stalls",
            grouped(stream.ranges),
            grouped(snapshot.starved)
        ));
        if let Some(words) = RepairLatency(stream.repair_latency).words() {
            console.line(format_args!("  repairs    {words} of the loss's detection"));
        }
        lanes::print(console, &self.lanes);
        let Depth { max, highest, full } = self.queue;
        console.line(format_args!(
            "  queue      at most {highest} of {max} quanta waited for the file, full {} times",
            grouped(full)
        ));
        let behind = self.account.gap_samples()[RecordedCause::DiskBehind.position()];
        if behind > 0 {
            console.line(format_args!(
                "  limit      the disk: at most {} samples found no memory that it did not hold",
                grouped(behind)
            ));
        }
        for crossed in crossed {
            console.line(format_args!("  threshold  {crossed}"));
        }
        let files: Vec<_> = self.file_names().collect();
        if !files.is_empty() {
            let samples = grouped(self.files.samples);
            console.line(format_args!("  files      {}: {samples} samples", files.join(", ")));
        }
    }

    fn print_indexes(&self, console: &mut Console) {
        let indexes = indexes_words(self.account.range());
        let boots = match self.account.boots() {
            1 => String::new(),
            boots => format!(" of the last of {boots} runs of the device"),
        };
        console.line(format_args!("  indexes    {indexes}{boots}"));
        if let Ok(balance) = &self.balance {
            console.line(format_args!("  account    {}", account::words(balance, "written")));
        }
        if self.openings > 1 {
            console.line(format_args!("  openings   {}", grouped(self.openings.into())));
        }
        let missing = self.account.missing();
        let doubts = self.doubts();
        let prefix = |cause| doubts.of_cause(cause).prefix();
        let causes = causes_words(self.account.gap_samples(), prefix);
        console.line(format_args!(
            "  missing    {} samples in {} gaps{causes}",
            grouped(missing),
            grouped(self.account.gaps())
        ));
        if missing > 0 {
            console
                .line(format_args!("  lost at    {}", hops::words(&self.account.hops(), &doubts)));
        }
        hops::print_hints(console, &self.account, &self.host);
        if let (Stop::Finished, Some(left @ 1..)) = (self.stop.root(), self.account.left()) {
            let left = grouped(left);
            console.line(format_args!("  short      the stream ended {left} before --nsamps"));
        }
    }

    /// Returns the summary for JSON.
    pub(super) fn json(&self, outcome: Outcome, crossed: &[Crossed]) -> End {
        let range = self.account.range();
        End {
            result: outcome.as_str(),
            exit_status: outcome.code(),
            reason: self.stop.words(),
            seconds: self.elapsed.as_secs_f64(),
            first_index: range.start,
            end_index: range.end,
            boots: self.account.boots(),
            openings: self.openings,
            account: self.balance.as_ref().ok().map(account::counts),
            silent_s: self.silent.map(|silent| silent.as_secs_f64()),
            bytes: self.bytes(),
            goodput_bps: bits_per_second(self.bytes(), self.elapsed),
            samples_delivered: self.account.delivered(),
            samples_missing: self.account.missing(),
            gaps: self.account.gaps(),
            gap_samples: account::gap_counts(self.account.gap_samples()),
            gap_samples_bounds: self.doubts().causes(),
            lost_at: hops::counts(&self.account.hops()),
            lost_at_bounds: self.doubts().hops(),
            host_hints: self.host.clone(),
            counters: ReceiverCounters::from(&self.snapshot),
            streams: self.lanes.iter().map(LaneEntry::from).collect(),
            memory_bytes: self.memory_bytes,
            files: self.file_names().collect(),
            file_samples: self.files.samples,
            file_bytes: self.files.bytes,
            sha512: self.files.sha512.clone(),
            queue_quanta: self.queue.max,
            queue_quanta_highest: self.queue.highest,
            queue_full: self.queue.full,
            thresholds_crossed: crossed.iter().map(Crossed::key).collect(),
        }
    }

    /// Returns the reasons why counts are not exact.
    fn doubts(&self) -> Doubts {
        Doubts::of(&self.account, &self.snapshot, &self.host)
    }

    /// Returns whether it ended before the requested samples were complete.
    fn is_incomplete(&self) -> bool {
        match self.stop.root() {
            Stop::Finished => self.account.left().is_some_and(|left| left > 0),
            Stop::Duration => self.silent.is_some(),
            _ => false,
        }
    }

    /// Returns whether all indexes of the range were delivered and written.
    fn is_whole(&self) -> bool {
        self.balance.as_ref().is_ok_and(Balance::is_whole)
    }

    fn file_names(&self) -> impl Iterator<Item = String> {
        self.files.files.iter().map(|path| path.display().to_string())
    }

    fn bytes(&self) -> u64 {
        self.account.delivered() * self.frame_bytes as u64
    }

    fn count(&self, subject: Subject) -> u64 {
        match subject {
            Subject::Gap => self.account.missing(),
            Subject::Late => self.snapshot.stream.late,
            Subject::Repaired => self.snapshot.stream.repaired,
            Subject::Corrupted => self.snapshot.corrupted,
            Subject::Duplicate => self.snapshot.stream.duplicates,
            Subject::Stall => self.snapshot.starved,
            Subject::Underflow => {
                unreachable!("nothing is played, and the option does not read it")
            }
        }
    }
}

/// Formats `: at most 4,000 deadline, 100 source overflow`; empty if no sample is missing. `prefix`
/// returns the words before a count.
pub(crate) fn causes_words(
    gap_samples: &[u64; RecordedCause::ALL.len()],
    prefix: impl Fn(RecordedCause) -> &'static str,
) -> String {
    let causes = RecordedCause::ALL.into_iter().zip(gap_samples);
    let causes: Vec<_> = causes
        .filter(|&(_, &samples)| samples > 0)
        .map(|(cause, &samples)| format!("{}{} {cause}", prefix(cause), grouped(samples)))
        .collect();
    if causes.is_empty() { String::new() } else { format!(": {}", causes.join(", ")) }
}

/// Returns the first words of the summary.
const fn outcome_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Whole => "whole",
        Outcome::Usage => "not recorded",
        Outcome::Unreachable => "broken off",
        Outcome::Missing => "not whole",
        Outcome::Incomplete => "incomplete",
        Outcome::Threshold => "above a threshold",
        Outcome::Interrupted { .. } => "interrupted",
    }
}

//! The result of a replay: the outcome, the counters, the thresholds.

use std::time::Duration;

use samplewire::transmitter::{SessionEnd, TransmitterSnapshot};

use super::json::End;
use super::progress::Sent;
use super::stop::Stop;
use crate::arguments::values::{Subject, Threshold};
use crate::congestion::congestion_words;
use crate::console::Console;
use crate::figures::{bits_per_second, grouped, indexes_words, measured, span};
use crate::metrics::counters::SenderCounters;
use crate::outcome::Outcome;
use crate::thresholds::{self, Crossed};

/// A finished replay.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) stop: Stop,
    pub(super) sent: Sent,
    /// How the session ended, unless the port failed.
    pub(super) end: Option<SessionEnd>,
    pub(super) snapshot: TransmitterSnapshot,
    pub(super) elapsed: Duration,
    pub(super) memory_bytes: usize,
    pub(super) frame_bytes: usize,
}

impl Summary {
    /// The exceeded thresholds.
    pub(super) fn crossed(&self, thresholds: &[Threshold]) -> Vec<Crossed> {
        thresholds::crossed(thresholds, |subject| self.count(subject))
    }

    /// The outcome: first errors, then thresholds, then samples missing at their time.
    pub(super) fn outcome(&self, crossed: &[Crossed]) -> Outcome {
        let is_whole = self.underflow().unwrap_or(0) == 0 && self.sent.late_packets == 0;
        match self.stop.outcome() {
            Outcome::Whole if !crossed.is_empty() => Outcome::Threshold,
            Outcome::Whole if is_whole => Outcome::Whole,
            Outcome::Whole => Outcome::Missing,
            other => other,
        }
    }

    /// Prints the result for people.
    pub(super) fn print(&self, console: &mut Console, outcome: Outcome, crossed: &[Crossed]) {
        let Self { sent, snapshot, elapsed, .. } = self;
        let stream = &snapshot.stream;
        console.line(format_args!(
            "{}: {} samples in {}, {}",
            outcome_words(outcome),
            grouped(sent.samples),
            span(elapsed.as_secs_f64()),
            measured(bits_per_second(self.bytes(), *elapsed), "b/s")
        ));
        console.line(format_args!("  ended      {}", self.stop.words()));
        console.line(format_args!("  indexes    {}", indexes_words(sent.first..sent.end)));
        console.line(format_args!("  bursts     {}", grouped(sent.bursts)));
        let underflow = match self.underflow() {
            Some(samples) => format!("{} samples were missing at their time", grouped(samples)),
            None => "the device could not report how many samples were missing".into(),
        };
        console.line(format_args!("  underflow  {underflow}"));
        console.line(format_args!(
            "  packets    {} sent, {} retransmissions, {} late, {} given up, {} credit stalls",
            grouped(stream.packets),
            grouped(stream.retransmissions),
            grouped(sent.late_packets),
            grouped(stream.skipped_by_peer.into()),
            grouped(stream.credit_stalls)
        ));
        if let Some(words) = congestion_words(stream) {
            console.line(format_args!("  congestion {words}"));
        }
        console.line(format_args!(
            "  feedback   {} reports, {} corrupted, {} foreign; round trip {}",
            grouped(stream.reports),
            grouped(snapshot.corrupted),
            grouped(snapshot.foreign + stream.foreign),
            span(snapshot.rtt_ns as f64 / 1e9)
        ));
        for crossed in crossed {
            console.line(format_args!("  threshold  {crossed}"));
        }
    }

    /// The result in JSON.
    pub(super) fn json(&self, outcome: Outcome, crossed: &[Crossed]) -> End {
        End {
            result: outcome.as_str(),
            exit_status: outcome.code(),
            reason: self.stop.words(),
            seconds: self.elapsed.as_secs_f64(),
            first_index: self.sent.first,
            end_index: self.sent.end,
            bursts: self.sent.bursts,
            bytes: self.bytes(),
            goodput_bps: bits_per_second(self.bytes(), self.elapsed),
            samples_sent: self.sent.samples,
            samples_underflow: self.underflow(),
            counters: SenderCounters {
                packets_late: self.sent.late_packets,
                ..SenderCounters::from(&self.snapshot)
            },
            memory_bytes: self.memory_bytes,
            thresholds_crossed: crossed.iter().map(Crossed::key).collect(),
        }
    }

    /// Samples missing at the device, if it reported them at the end.
    fn underflow(&self) -> Option<u64> {
        use samplewire::End as StreamEnd;
        let end = self.end.filter(|end| {
            matches!(end.end, StreamEnd::Finished { .. } | StreamEnd::ClosedByPeer(_))
        })?;
        Some(end.stats.underflow_at_peer)
    }

    fn bytes(&self) -> u64 {
        self.sent.samples * self.frame_bytes as u64
    }

    fn count(&self, subject: Subject) -> Option<u64> {
        match subject {
            Subject::Late => Some(self.sent.late_packets),
            Subject::Underflow => self.underflow(),
            Subject::Repaired => Some(self.snapshot.stream.retransmissions),
            Subject::Stall => Some(self.snapshot.stream.credit_stalls),
            Subject::Gap | Subject::Corrupted | Subject::Duplicate => {
                unreachable!(
                    "what is received is not counted here, and the option does not read it"
                )
            }
        }
    }
}

/// The first words of the summary.
const fn outcome_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Whole => "whole",
        Outcome::Usage => "not replayed",
        Outcome::Unreachable => "broken off",
        Outcome::Missing => "not in time",
        Outcome::Incomplete => "incomplete",
        Outcome::Threshold => "above a threshold",
        Outcome::Interrupted { .. } => "interrupted",
    }
}

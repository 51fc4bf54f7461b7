//! One session of a device: send, show progress, print the sums.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use samplewire::source::ReadSamples;
use samplewire::transmitter::{Listener, Overflow, PlaySummary, SendStream, SessionEnd};
use samplewire_io::FaultCounts;
use samplewire_io::FaultLog;
use samplewire_io::faults::Direction;
use samplewire_proto::SampleIndex;
use samplewire_proto::stream::End;
use samplewire_proto::wire::CloseReason;
use samplewire_web::Failures;

use super::metered::Metered;
use super::parts::Ending;
use crate::cadence::Cadence;
use crate::congestion::congestion_words;
use crate::console::Console;
use crate::failure::Failure;
use crate::faults::print_counts;
use crate::figures::{bits_per_second, grouped, indexes_words, measured, span};
use crate::outcome::Outcome;
use crate::web::{self, SentTap, ShownSource};

/// A stream of the device, for one session after another.
pub(super) struct Player {
    pub(super) listener: Listener,
    /// The number of the stream, if there are several.
    pub(super) stream: Option<u16>,
    pub(super) overflow: Overflow,
    /// The faults of the port, if it has only this stream.
    pub(super) faults: Option<FaultLog>,
    pub(super) ending: Ending,
    /// Shows the stream on a page.
    pub(super) shown: Option<SentTap>,
    /// Why the page failed.
    pub(super) failures: Option<Failures>,
}

/// The result of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Played {
    pub(super) outcome: Outcome,
    pub(super) has_source_ended: bool,
    /// The opener closed it before its first sample: streams that it opened together did not fit.
    pub(super) was_called_off: bool,
}

impl Player {
    /// Sends `source` until it or the session ends, or the command is interrupted.
    pub(super) fn play(
        &mut self,
        stream: &mut SendStream,
        source: &mut dyn ReadSamples,
        console: &mut Console,
    ) -> Result<Played, Failure> {
        let session = *stream.session();
        let id = match self.stream {
            Some(stream) => format!("stream {stream}, session {}", session.id),
            None => format!("session {}", session.id),
        };
        console.line(format_args!(
            "{id}: {} opened from index {}, packets of {} bytes",
            session.peer,
            session.first_index,
            grouped(session.payload_bytes as u64)
        ));
        let before = self.fault_counts();
        let refused_before = self.listener.stats().send_errors;
        let frame_bytes = source.info().frame_bytes() as u64;
        let read_bytes = AtomicU64::new(0);
        let started = Instant::now();
        let mut cadence = Cadence::new(STATUS_PERIOD, started);
        let ending = &self.ending;
        let mut is_short = false;
        let should_stop = || {
            let now = Instant::now();
            let is_due = cadence.is_due(now);
            if is_due && !is_short {
                let stats = self.listener.stats().stream;
                if stats.shortages > 0
                    && let Some(bps) = stats.allowed_bps()
                {
                    is_short = true;
                    console.line(format_args!(
                        "{id}: the path allows {}, less than the source needs, for longer than the \
                         window holds",
                        measured(bps as f64, "b/s")
                    ));
                }
            }
            if is_due && console.has_status() {
                let bytes = read_bytes.load(Ordering::Relaxed);
                let elapsed = now - started;
                console.status(&format!(
                    "{id}: {}  {} samples  {}",
                    span(elapsed.as_secs_f64()),
                    grouped(bytes / frame_bytes),
                    measured(bits_per_second(bytes, elapsed), "b/s")
                ));
            }
            if let Some(failures) = &self.failures {
                web::report(failures, console);
            }
            let is_interrupted = ending.has_come(console);
            if is_interrupted {
                console.line(format_args!(
                    "{id}: ends when the receiver has all samples; Ctrl-C again does not wait"
                ));
            }
            is_interrupted
        };
        let mut source = ShownSource::new(source, self.shown.as_mut());
        let mut metered = Metered::new(&mut source, &read_bytes);
        let summary = stream.play(&mut metered, self.overflow, should_stop)?;
        if let Some(shown) = &mut self.shown {
            shown.end(&end_words(summary.end.end));
        }
        // Other streams end at the same time; the lock keeps their lines apart.
        let _together = std::io::stdout().lock();
        let first_index = session.first_index;
        print_summary(console, &id, first_index, &summary, frame_bytes, started.elapsed());
        let refused = self.listener.stats().send_errors.saturating_sub(refused_before);
        if refused > 0 {
            console.line(format_args!(
                "  refused    {} packets to any address that this host refused to send",
                grouped(refused)
            ));
        }
        for ((side, counts), (_, before)) in self.fault_counts().iter().zip(before) {
            print_counts(console, side, &counts.since(&before));
        }
        Ok(Played {
            outcome: outcome(&summary),
            has_source_ended: matches!(summary.end.end, End::Finished { .. }),
            was_called_off: was_called_off(&summary, first_index),
        })
    }

    /// The faults injected so far, by side; empty without faults.
    fn fault_counts(&self) -> Vec<(&'static str, FaultCounts)> {
        let sides = [("data", Direction::Transmit), ("feedback", Direction::Receive)];
        self.faults
            .iter()
            .flat_map(|log| sides.map(|(side, way)| (side, log.counts(way))))
            .collect()
    }
}

fn print_summary(
    console: &mut Console,
    id: &str,
    first_index: SampleIndex,
    summary: &PlaySummary,
    frame_bytes: u64,
    elapsed: Duration,
) {
    let SessionEnd { end, stats, final_index } = summary.end;
    let indexes = final_index - first_index;
    // Samples that had not departed when the receiver closed do not count.
    let samples = indexes.saturating_sub(summary.overflow_samples);
    console.line(format_args!(
        "{id}: {}: {} samples in {}, {}",
        end_words(end),
        grouped(samples),
        span(elapsed.as_secs_f64()),
        measured(bits_per_second(samples * frame_bytes, elapsed), "b/s")
    ));
    console.line(format_args!("  indexes    {}", indexes_words(first_index..final_index)));
    console.line(format_args!(
        "  overflow   {} samples found no room and are lost",
        grouped(summary.overflow_samples)
    ));
    console.line(format_args!(
        "  packets    {} sent, {} retransmissions, {} credit stalls",
        grouped(stats.packets),
        grouped(stats.retransmissions),
        grouped(stats.credit_stalls)
    ));
    if let Some(words) = congestion_words(&stats) {
        console.line(format_args!("  congestion {words}"));
    }
    console.line(format_args!(
        "  receiver   reports {} received, {} given up, {} late",
        grouped(stats.received_by_peer.into()),
        grouped(stats.skipped_by_peer.into()),
        grouped(stats.late_at_peer.into())
    ));
}

fn outcome(summary: &PlaySummary) -> Outcome {
    match summary.end.end {
        End::Finished { .. }
        | End::Cancelled
        | End::ClosedByPeer(CloseReason::Finished | CloseReason::Cancelled) => {
            if summary.overflow_samples == 0 { Outcome::Whole } else { Outcome::Missing }
        }
        _ => Outcome::Unreachable,
    }
}

/// Whether the receiver ended a session before its first sample.
fn was_called_off(summary: &PlaySummary, first_index: SampleIndex) -> bool {
    let by_receiver = matches!(summary.end.end, End::ClosedByPeer(_) | End::PeerRestarted);
    by_receiver && summary.end.final_index == first_index && summary.overflow_samples == 0
}

/// How a session ended, as seen from the device.
fn end_words(end: End) -> String {
    match end {
        End::PeerRestarted => "the receiver is gone, or opened the stream again".into(),
        end => end.words("the receiver").to_string(),
    }
}

/// The interval between updates of the status line.
const STATUS_PERIOD: Duration = Duration::from_secs(1);

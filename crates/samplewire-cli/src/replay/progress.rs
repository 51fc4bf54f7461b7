//! The progress of a replay.

use std::time::{Duration, Instant};

use samplewire::transmitter::TransmitterSnapshot;
use samplewire::{SampleIndex, SendStream};

use super::json::{Document, Interval};
use crate::cadence::Cadence;
use crate::console::Console;
use crate::figures::{bits_per_second, grouped, measured, span};
use crate::interrupt::Interrupt;

/// What was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// Samples handed over to be sent.
    pub(super) samples: u64,
    /// Bursts that had samples.
    pub(super) bursts: u64,
    /// The first index, and the one after the last.
    pub(super) first: SampleIndex,
    pub(super) end: SampleIndex,
    /// Packets that reached the device after their time: the wire counts them modulo 2^16.
    pub(super) late_packets: u64,
}

/// Follows a replay and prints its progress.
pub(super) struct Progress<'a> {
    started: Instant,
    frame_bytes: u64,
    cadence: Cadence,
    console: &'a mut Console,
    document: &'a mut Document,
    sent: Sent,
    /// The index at which the current burst began.
    burst_first: SampleIndex,
    /// Samples of the previous bursts.
    samples_before: u64,
    late_seen: u16,
    reported: Reported,
}

/// The counts at the end of the last interval.
#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    elapsed: Duration,
    samples: u64,
    packets: u64,
    repaired: u64,
    late: u64,
}

impl<'a> Progress<'a> {
    pub(super) fn new(
        started: Instant,
        first: SampleIndex,
        frame_bytes: usize,
        console: &'a mut Console,
        document: &'a mut Document,
    ) -> Self {
        Self {
            started,
            frame_bytes: frame_bytes as u64,
            cadence: Cadence::new(PERIOD, started),
            console,
            document,
            sent: Sent { first, end: first, ..Sent::default() },
            burst_first: first,
            samples_before: 0,
            late_seen: 0,
            reported: Reported::default(),
        }
    }

    /// Reads the counters; the current burst has reached `index`.
    pub(super) fn look(&mut self, snapshot: &TransmitterSnapshot, index: SampleIndex) {
        self.take(snapshot, index);
        let now = Instant::now();
        if self.cadence.is_due(now) {
            self.interval(snapshot, now);
        }
    }

    /// The console for lines.
    pub(super) const fn console(&mut self) -> &mut Console {
        self.console
    }

    /// See [`Interrupt::stop_signal`].
    pub(super) fn stop_signal(&mut self, interrupt: &Interrupt) -> Option<u8> {
        interrupt.stop_signal(self.console)
    }

    /// Counts a finished burst.
    pub(super) fn burst(&mut self, first: SampleIndex, end: SampleIndex) {
        self.sent.bursts += u64::from(end > first);
        self.samples_before += end - first;
        self.sent.samples = self.samples_before;
        (self.sent.end, self.burst_first) = (end, end);
    }

    /// Prints the last interval.
    pub(super) fn finish(&mut self, stream: &SendStream) -> Sent {
        let snapshot = stream.stats();
        self.take(&snapshot, self.sent.end);
        self.interval(&snapshot, Instant::now());
        self.sent
    }

    fn take(&mut self, snapshot: &TransmitterSnapshot, index: SampleIndex) {
        let late = snapshot.stream.late_at_peer;
        self.sent.late_packets += u64::from(late.wrapping_sub(self.late_seen));
        self.late_seen = late;
        self.sent.samples = self.samples_before + index.saturating_sub(self.burst_first);
        self.sent.end = self.sent.end.max(index);
    }

    fn interval(&mut self, snapshot: &TransmitterSnapshot, now: Instant) {
        let stream = &snapshot.stream;
        let next = Reported {
            elapsed: now - self.started,
            samples: self.sent.samples,
            packets: stream.packets,
            repaired: stream.retransmissions,
            late: self.sent.late_packets,
        };
        let before = std::mem::replace(&mut self.reported, next);
        let bytes = (next.samples - before.samples) * self.frame_bytes;
        let goodput_bps = bits_per_second(bytes, next.elapsed - before.elapsed);
        self.document.push_interval(Interval {
            start_s: before.elapsed.as_secs_f64(),
            end_s: next.elapsed.as_secs_f64(),
            bytes,
            goodput_bps,
            samples_sent: next.samples - before.samples,
            position: stream.position_of_peer,
            packets_sent: next.packets.saturating_sub(before.packets),
            packets_repaired: next.repaired.saturating_sub(before.repaired),
            packets_late: next.late - before.late,
        });
        if self.console.has_status() {
            self.console.status(&format!(
                "{}  {} samples sent, {}  {} repaired  {} late",
                span(next.elapsed.as_secs_f64()),
                grouped(next.samples),
                measured(goodput_bps, "b/s"),
                grouped(next.repaired),
                grouped(next.late)
            ));
        }
    }
}

/// Length of an interval.
const PERIOD: Duration = Duration::from_secs(1);

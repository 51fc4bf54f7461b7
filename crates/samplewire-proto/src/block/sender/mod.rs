//! The sender of a transfer (`docs/block.md#sender`).
//!
//! ```text
//!            all DATA has left            MI
//!  Sending ---------------------> Waiting ----> Repeating
//!                     summary       |    <----      what is missing has left: summary
//!                                   |
//!                                   | OK, or 10 s without an answer
//!                                   v
//!                                 Ended
//! ```
//!
//! `OK` ends a transfer from `Repeating` too.

mod config;
#[cfg(test)]
mod tests;
mod transmit;

use super::counters::{Rejection, SenderStats};
use super::layout::Layout;
use super::pacing::Pacing;
use super::seq_set::SeqSet;
use super::wire::{Body, Frame, Header, Seqs, Summary};
use super::{ANSWER_FRAMES_MAX, CHECK_MAX, SILENCE_MAX};
use crate::clock::Rtt;
use crate::number::{Departure, Nanos};

pub use config::{SenderConfig, SenderConfigError};
use transmit::Kind;
pub use transmit::Transmit;

/// The sending end of one transfer.
#[derive(Clone, Debug)]
pub struct Sender<S> {
    header: Header,
    layout: Layout,
    summary: Summary,
    /// What the peer has listed and has not been repeated since.
    missing: SeqSet<S>,
    pacing: Pacing,
    rtt: Rtt,
    phase: Phase,
    event: Option<SendEnd>,
    stats: SenderStats,
}

/// How a transfer has ended for its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendEnd {
    /// The receiver has answered `OK`.
    Done,
    /// No answer came for [`SILENCE_MAX`] after a summary.
    Silent,
    /// The receiver lists packets again and again: 64 repeats and 64 for each packet did not help.
    Stalled,
    /// The receiver has computed the CRC for [`CHECK_MAX`].
    CheckTooLong,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// DATA leaves for the first time.
    Sending {
        /// The next packet.
        next: u32,
    },
    /// Missing DATA leaves again, in ascending order.
    Repeating(Repeats),
    /// A summary has left, and no answer has come.
    Waiting(Round),
    Ended,
}

/// What is repeated between two summaries.
#[derive(Clone, Copy, Debug)]
struct Repeats {
    /// Packets before it have been repeated.
    next: u32,
    /// The lists that have come.
    lists: u32,
    /// When every answer to the summaries before has come.
    settled_at: Nanos,
    /// When the rest of the present answer is no longer waited for.
    listed_at: Nanos,
}

impl Repeats {
    /// When the summary may leave.
    fn summary_at(&self) -> Nanos {
        self.settled_at.max(self.listed_at)
    }
}

/// The summaries since DATA left.
#[derive(Clone, Copy, Debug)]
struct Round {
    first_at: Nanos,
    last_at: Nanos,
    checking: Option<Checking>,
}

/// The receiver computes the CRC.
#[derive(Clone, Copy, Debug)]
struct Checking {
    /// Its first answer by `CK`, and its last.
    since: Nanos,
    heard_at: Nanos,
}

impl Round {
    /// When the sender gives up, and why.
    fn end(&self) -> (Nanos, SendEnd) {
        let heard_at = self.checking.map_or(self.first_at, |checking| checking.heard_at);
        let silent_at = heard_at + SILENCE_MAX;
        match self.checking.map(|checking| checking.since + CHECK_MAX) {
            Some(at) if at <= silent_at => (at, SendEnd::CheckTooLong),
            _ => (silent_at, SendEnd::Silent),
        }
    }
}

impl<S: AsRef<[u32]> + AsMut<[u32]>> Sender<S> {
    /// A sender of `bytes` bytes with the CRC-32C `crc`, which counts only in frames with a transfer
    /// ID. `memory` has a bit for each packet, 32 a word.
    ///
    /// # Errors
    /// See [`SenderConfigError`].
    pub fn new(
        config: SenderConfig,
        bytes: u64,
        crc: u32,
        memory: S,
    ) -> Result<Self, SenderConfigError> {
        config.check()?;
        let packet_bytes = config.packet_bytes;
        let layout = Layout::new(packet_bytes, bytes)
            .ok_or(SenderConfigError::TooLong { bytes, packet_bytes })?;
        let missing = SeqSet::new(memory);
        let (capacity, packets) = (missing.capacity(), layout.packets());
        if capacity < packets {
            return Err(SenderConfigError::Memory { capacity, packets });
        }
        let crc = config.transfer.map(|_| crc);
        Ok(Self {
            header: config.header(),
            layout,
            summary: Summary { packets, bytes, crc },
            missing,
            pacing: Pacing::new(config.bursts),
            rtt: Rtt::new(Nanos(REPEAT_MIN.0 / 2)),
            phase: Phase::Sending { next: 0 },
            event: None,
            stats: SenderStats::default(),
        })
    }

    /// Counters since the transfer began.
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// How many packets the transfer has.
    pub const fn packets(&self) -> u32 {
        self.layout.packets()
    }

    /// Takes a frame that has arrived. One that is not an answer to this transfer changes counters
    /// alone.
    pub fn handle(&mut self, now: Nanos, frame: &[u8]) {
        if let Err(reason) = self.take(now, frame) {
            self.stats.rejected[reason as usize] += 1;
        }
    }

    /// Acts on passed timers.
    pub fn handle_timeout(&mut self, now: Nanos) {
        if let Phase::Waiting(round) = self.phase {
            let (at, end) = round.end();
            if now >= at {
                self.end(end);
            }
        }
    }

    /// The next frame to send, if one may leave at `now`.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        match self.phase {
            Phase::Waiting(round) if now >= self.repeat_at(&round) => {
                Some(self.send_summary(now, round))
            }
            Phase::Waiting(_) | Phase::Ended => None,
            Phase::Sending { .. } | Phase::Repeating(_) if now < self.pacing.ready_at() => None,
            Phase::Sending { next } if next < self.layout.packets() => {
                self.phase = Phase::Sending { next: next + 1 };
                self.stats.data += 1;
                Some(self.send_data(now, next))
            }
            Phase::Sending { .. } => Some(self.send_first_summary(now)),
            Phase::Repeating(repeats) => {
                if let Some(seq) = self.missing.first_in(repeats.next, self.layout.packets()) {
                    self.missing.remove(seq);
                    self.phase = Phase::Repeating(Repeats { next: seq + 1, ..repeats });
                    self.stats.repeats += 1;
                    return Some(self.send_data(now, seq));
                }
                (now >= repeats.summary_at()).then(|| self.send_first_summary(now))
            }
        }
    }

    /// When to call [`Sender::handle_timeout`] and [`Sender::poll_transmit`] again at the latest;
    /// `None` when the transfer has ended.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        match self.phase {
            Phase::Sending { .. } => Some(self.pacing.ready_at()),
            Phase::Repeating(repeats) => {
                let next = self.missing.first_in(repeats.next, self.layout.packets());
                let due_at = if next.is_some() { Nanos(0) } else { repeats.summary_at() };
                Some(self.pacing.ready_at().max(due_at))
            }
            Phase::Waiting(round) => Some(self.repeat_at(&round).min(round.end().0)),
            Phase::Ended => None,
        }
    }

    /// How the transfer has ended, once.
    pub const fn poll_event(&mut self) -> Option<SendEnd> {
        self.event.take()
    }

    fn take(&mut self, now: Nanos, frame: &[u8]) -> Result<(), Rejection> {
        let Frame { header, body } = Frame::parse(frame).map_err(|_| Rejection::Wire)?;
        if header.destination != self.header.source {
            return Err(Rejection::OtherDestination);
        }
        if header.source != self.header.destination {
            return Err(Rejection::OtherSource);
        }
        if header.transfer != self.header.transfer {
            return Err(Rejection::OtherTransfer);
        }
        // Before its first summary a transfer has no answer.
        if matches!(self.phase, Phase::Sending { .. } | Phase::Ended) {
            return Err(Rejection::NotNow);
        }
        match body {
            Body::Data { .. } | Body::Summary(_) => return Err(Rejection::OtherDirection),
            Body::Complete => self.end(SendEnd::Done),
            Body::Checking => self.take_check(now),
            Body::Missing(seqs) if seqs.iter().any(|seq| seq >= self.layout.packets()) => {
                return Err(Rejection::BeyondEnd);
            }
            Body::Missing(seqs) => self.take_list(now, seqs),
        }
        Ok(())
    }

    /// Notes what is missing. The frames of an answer come while what they list is repeated: lists
    /// ascend, and so do repeats, so that a seq behind the last repeat is of an older answer.
    fn take_list(&mut self, now: Nanos, seqs: Seqs<'_>) {
        self.stats.lists += 1;
        if let Phase::Waiting(round) = self.phase {
            self.measure(now, round);
            let spread = round.last_at.since(round.first_at);
            let settled_at = now + spread;
            self.phase =
                Phase::Repeating(Repeats { next: 0, lists: 0, settled_at, listed_at: now });
        }
        let interval = self.interval();
        let Phase::Repeating(repeats) = &mut self.phase else { return };
        repeats.lists += 1;
        // Behind a full frame there is another, unless it is lost.
        let is_last = seqs.len() < self.header.seqs_max() || repeats.lists >= ANSWER_FRAMES_MAX;
        repeats.listed_at = if is_last { now } else { now + interval };
        for seq in seqs.iter() {
            if seq < repeats.next {
                self.stats.listed_again += 1;
            } else {
                self.missing.insert(seq);
            }
        }
        if self.stats.repeats >= REPEATS_MAX + REPEATS_MAX * u64::from(self.layout.packets()) {
            self.end(SendEnd::Stalled);
        }
    }

    /// The receiver needs time for the CRC. Each answered summary gives it [`SILENCE_MAX`] more.
    fn take_check(&mut self, now: Nanos) {
        let Phase::Waiting(round) = &mut self.phase else { return };
        if round.checking.is_some_and(|checking| checking.heard_at >= round.last_at) {
            return;
        }
        let since = round.checking.map_or(now, |checking| checking.since);
        round.checking = Some(Checking { since, heard_at: now });
        // No other answer to the summaries before is to come, but for the result.
        round.first_at = round.last_at;
        self.stats.checks += 1;
    }

    /// Measures the round trip by the first summary of a round. With more than one it may be less.
    fn measure(&mut self, now: Nanos, round: Round) {
        if round.first_at == round.last_at || self.rtt.measured().is_none() {
            self.rtt.take_echo(now, Departure::at(round.first_at), 0);
        }
    }

    /// The time between two summaries without an answer.
    fn interval(&self) -> Nanos {
        Nanos(2 * self.rtt.get().0).clamp(REPEAT_MIN, REPEAT_MAX)
    }

    /// When the summary is repeated.
    fn repeat_at(&self, round: &Round) -> Nanos {
        let interval = if round.checking.is_some() { CHECK_PAUSE } else { self.interval() };
        round.last_at + interval
    }

    fn send_data(&mut self, now: Nanos, seq: u32) -> Transmit {
        self.pacing.spend(now);
        let payload = self.layout.range(seq);
        Transmit { header: self.header, kind: Kind::Data { seq, payload } }
    }

    fn send_first_summary(&mut self, now: Nanos) -> Transmit {
        self.send_summary(now, Round { first_at: now, last_at: now, checking: None })
    }

    fn send_summary(&mut self, now: Nanos, round: Round) -> Transmit {
        self.pacing.spend(now);
        self.stats.summaries += 1;
        self.phase = Phase::Waiting(Round { last_at: now, ..round });
        Transmit { header: self.header, kind: Kind::Summary(self.summary) }
    }

    fn end(&mut self, end: SendEnd) {
        self.phase = Phase::Ended;
        self.event = Some(end);
    }
}

/// A summary is repeated after two round trips, within these limits (`docs/block.md#times`).
const REPEAT_MIN: Nanos = Nanos::from_millis(10);
const REPEAT_MAX: Nanos = Nanos::from_millis(1_000);

/// Time between two summaries while the receiver computes the CRC. At a loss of one half each way no answer comes in
/// [`SILENCE_MAX`] once in 10^12 times.
const CHECK_PAUSE: Nanos = Nanos::from_millis(100);

/// At a loss of one half a packet needs so many repeats once in 2^64 transfers.
const REPEATS_MAX: u64 = 64;

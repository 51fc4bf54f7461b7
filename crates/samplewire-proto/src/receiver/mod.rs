//! The receiver of a stream: a ring addressed by seq, holes that are requested by state, and an
//! account of every index.
//!
//! The payloads stay with the caller, addressed by seq. Drain order: hand over everything that has
//! arrived, then call [`Receiver::handle_timeout`], [`Receiver::poll_delivery`] until it is `None`,
//! [`Receiver::grant`] what the pool has, [`Receiver::poll_transmit`] until it is `None`,
//! [`Receiver::poll_event`], then sleep until [`Receiver::poll_timeout`]. Over RDMA packets come as
//! completed WRITEs ([`Receiver::handle_write`]).

mod account;
mod arrival;
mod config;
mod drops;
#[cfg(feature = "search")]
mod fingerprint;
mod output;
mod patience;
mod promise;
mod report;
mod ring;
mod schedule;
mod settled;
mod stats;
mod tolerance;
mod write;

use crate::clock::{DepartureClock, Rtt};
pub use crate::counters::ReceiverStats;
use crate::crc::Zeros;
use crate::gap::{Cause, Gap};
use crate::number::{Departure, Nanos, SampleIndex, Seq};
use crate::stream::{Carriage, End, Terms, TermsError, Violation};
use crate::wire::{CloseReason, Flags, HEADER_LEN, Header, Packet, ReportFields};

use account::Account;
pub use config::{Delivery, ReceiverConfig, ReceiverConfigError};
use drops::Drops;
pub use output::{Delivered, Placement};
use promise::Promise;
pub use ring::RecvSlot;
use ring::{Received, Ring, State};
use schedule::Schedule;
use settled::Settled;
use tolerance::Tolerance;
pub use write::Completed;

/// The receiving end of one stream.
#[derive(Clone, Debug)]
pub struct Receiver<S> {
    terms: Terms,
    delivery: Delivery,
    ring: Ring<S>,
    /// Lowest seq not accounted for; first seq not revealed; first seq not granted. In this order.
    next: Seq,
    highest_end: Seq,
    limit: Seq,
    /// Holes before this seq can no longer be repaired.
    gone_before: Seq,
    /// Holes before this seq have been waited for long enough.
    expired_end: Seq,
    account: Account,
    consumed_index: SampleIndex,
    settled: Settled,
    heard_at: Nanos,
    clock: DepartureClock,
    rtt: Rtt,
    promise: Promise,
    schedule: Schedule,
    number: Seq,
    drops: Drops,
    phase: Phase,
    /// Why the sender closed, once it has.
    close_reason: CloseReason,
    /// What ends the stream once all in order is delivered: a breach, or a failed queue pair.
    ending: Option<End>,
    /// Over RDMA: the index after the last sample written, and the zeros between a full payload and
    /// its record.
    written_index: SampleIndex,
    slot_pad: Zeros,
    answer_close: bool,
    event: Option<End>,
    stats: ReceiverStats,
}

/// The life of a receiver (`docs/protocol.md`, state table of the receiver).
///
/// ```text
/// Flowing --sender's CLOSE--> Draining --all accounted for--> Lingering --time--> Ended
///    any --silence, restart, violation--> Breaking --all accounted for--> Ended
///    any --cancel--> Cancelling --CLOSE_ACK or time--> Ended
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// DATA is accepted and requested.
    Flowing,
    /// CLOSE came: nothing lies at or after `final_seq`.
    Draining {
        /// The first seq after the stream.
        final_seq: Seq,
        /// The first index after the stream.
        final_index: SampleIndex,
    },
    /// All is accounted for; repeated CLOSEs are answered.
    Lingering {
        /// The first seq after the stream.
        final_seq: Seq,
        /// The first index after the stream.
        final_index: SampleIndex,
        /// When the last answer has been given.
        until: Nanos,
    },
    /// What was received is still delivered; what is missing is gone.
    Breaking(End),
    /// CLOSE is repeated until it is acknowledged.
    Cancelling {
        /// Why, as the CLOSE says.
        reason: CloseReason,
        /// How often the CLOSE has left.
        tries: u32,
        /// When it leaves again.
        next_try: Nanos,
    },
    /// Nothing is left to do.
    Ended,
}

impl<S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>> Receiver<S> {
    /// Starts a receiver on `slots`, a power of two of them that holds the window.
    ///
    /// # Errors
    /// A term out of range, or storage that does not fit it.
    pub fn new(
        terms: Terms,
        config: ReceiverConfig,
        slots: S,
        now: Nanos,
    ) -> Result<Self, TermsError> {
        terms.check(slots.as_ref().len())?;
        if terms.carriage == Carriage::Rdma && config.delivery() != Delivery::Complete {
            return Err(TermsError::RdmaDelivery);
        }
        let bound = tolerance::bound(terms.rtt, config.delivery());
        Ok(Self {
            delivery: config.delivery(),
            ring: Ring::new(slots),
            next: terms.first_seq,
            highest_end: terms.first_seq,
            limit: terms.first_seq,
            gone_before: terms.first_seq,
            expired_end: terms.first_seq,
            account: Account::new(terms.first_index, terms.packet_samples, config.jump_max()),
            consumed_index: terms.first_index,
            settled: Settled::new(Tolerance::new(terms.reorder_tolerance, bound)),
            heard_at: now,
            clock: DepartureClock::default(),
            rtt: Rtt::new(terms.rtt),
            promise: Promise::new(config.credit_floor(), terms.window, now),
            schedule: Schedule::new(terms.first_seq),
            number: Seq(0),
            drops: Drops::new(),
            phase: Phase::Flowing,
            close_reason: CloseReason::Finished,
            ending: None,
            written_index: terms.first_index,
            slot_pad: terms.slot_pad(),
            answer_close: false,
            event: None,
            stats: ReceiverStats::new(terms.reorder_tolerance),
            terms,
        })
    }

    /// The first seq that should not be granted yet: what the stream may be promised at present.
    pub fn promise_end(&self) -> Seq {
        self.next + self.promise.bound()
    }

    /// The first seq that is not granted.
    pub const fn limit(&self) -> Seq {
        self.limit
    }

    /// Promises that every seq before `limit` has a free place.
    ///
    /// # Panics
    /// When the promise would exceed the window: a place is never promised twice.
    pub fn grant(&mut self, limit: Seq) {
        let promised = limit.distance(self.next);
        assert!(
            promised <= self.terms.window as i32,
            "a promise of {promised} packets exceeds the window of {}",
            self.terms.window
        );
        self.limit = self.limit.max(limit);
    }

    /// Every seq before this one is delivered or given up.
    pub const fn released(&self) -> Seq {
        self.next
    }

    /// Whether the sender may still send something new.
    pub fn has_open_credit(&self) -> bool {
        self.highest_end.before(self.limit)
    }

    /// The index after the last sample accounted for.
    pub const fn next_index(&self) -> SampleIndex {
        self.account.next_index()
    }

    /// Packets that the sender may still send before it is granted more.
    pub fn credit(&self) -> u32 {
        self.limit.distance(self.highest_end).max(0) as u32
    }

    /// Packets that the terms let be on their way or await repair.
    pub const fn window(&self) -> u32 {
        self.terms.window
    }

    /// Samples of a full packet.
    pub const fn packet_samples(&self) -> u32 {
        self.terms.packet_samples
    }

    /// Whether packets are held that wait for one before them.
    pub fn has_waiting(&self) -> bool {
        self.next != self.highest_end
    }

    /// States the consumer's position, which REPORT carries.
    pub const fn set_consumed(&mut self, index: SampleIndex) {
        self.consumed_index = index;
    }

    /// Whether anything of the sender has come and was taken.
    pub const fn is_heard(&self) -> bool {
        self.settled.newest().is_some() || self.stats.received > 0
    }

    /// States what a device that plays has counted so far: packets of which samples came after
    /// their time, and samples that were not there at their time (`docs/protocol.md#6.10`).
    pub const fn note_play(&mut self, late_packets: u64, underflow_samples: u64) {
        self.stats.late_to_play = late_packets;
        self.stats.underflow_samples = underflow_samples;
    }

    /// Says that the socket has dropped `packets` since the last call, before what comes next: at
    /// most, where it counts joined packets as one.
    pub const fn note_local_drops(&mut self, packets: u32) {
        self.drops.note(packets);
    }

    /// States how many RDMA packets have come with the mark of congestion so far
    /// (`docs/protocol.md#8.1`).
    pub const fn note_marked(&mut self, packets: u64) {
        self.stats.marked = packets;
    }

    /// Smoothed round-trip time.
    pub fn rtt(&self) -> Nanos {
        self.rtt.get()
    }

    /// How long nothing valid has come of the sender, where one that lives is not silent for so
    /// long ([7.6](../../../docs/protocol.md#7.6)), also if some MARKs are lost; else 0.
    pub fn silence(&self, now: Nanos) -> Nanos {
        let silence = now.since(self.heard_at);
        let usual = Nanos(SILENCES * self.terms.silence_max().0) + self.rtt.get();
        if self.takes_packets() && silence >= usual { silence } else { Nanos(0) }
    }

    /// The silence after which the stream breaks off (`docs/protocol.md#7.7`).
    pub const fn dead_after(&self) -> Nanos {
        self.terms.dead_after
    }

    /// Where in its life the receiver is.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether packets of samples are still taken; none are once the stream has ended, or closes.
    pub const fn takes_packets(&self) -> bool {
        matches!(self.phase, Phase::Flowing | Phase::Draining { .. })
    }

    /// Whether nothing is left to do.
    pub const fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// Counters since the start.
    pub const fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// Takes a DATA packet whose CRC is right: `body` lies between header and CRC.
    pub fn handle_data(
        &mut self,
        now: Nanos,
        header: &Header,
        body: &[u8],
        is_marked: bool,
    ) -> Placement {
        if header.tag != self.terms.local_tag {
            self.stats.foreign += 1;
            return Placement::Ignore;
        }
        if !self.takes_packets() {
            return Placement::Ignore;
        }
        if self.terms.carriage == Carriage::Rdma {
            self.stats.unexpected += 1;
            return Placement::Ignore;
        }
        let seq = header.seq;
        if seq.distance(self.limit) >= 0 {
            self.stats.beyond_credit += 1;
            return Placement::Ignore;
        }
        if self.end_of_data().is_some_and(|end| seq.distance(end) >= 0) {
            self.stats.refused += 1;
            return Placement::Ignore;
        }
        let payload_at = self.terms.payload_offset as usize - HEADER_LEN;
        let samples = match self.valid_samples(header, body.get(payload_at..).unwrap_or(&[])) {
            Ok(samples) => samples,
            Err(violation) => {
                // What is in order by then is delivered first.
                self.ending.get_or_insert(End::Violation(violation));
                return Placement::Ignore;
            }
        };
        self.hear(now, header.departure);
        self.stats.received += 1;
        self.stats.marked += u64::from(is_marked);
        self.schedule.data_came();
        self.promise.count(now, self.rtt.get());
        if header.flags.contains(Flags::ASK) {
            self.schedule.ask();
        }
        let received = Received { index: header.index, samples, flags: header.flags };
        if self.place(now, header, received) {
            Placement::Store { seq, payload_at }
        } else {
            Placement::Ignore
        }
    }

    /// Takes any other packet whose CRC is right. `false` when it is not of this stream.
    pub fn handle(&mut self, now: Nanos, header: &Header, packet: &Packet<'_>) -> bool {
        if self.terms.is_denied_by(header, packet) {
            self.handle_unknown(now);
            return true;
        }
        if header.tag != self.terms.local_tag {
            self.stats.foreign += 1;
            return false;
        }
        match packet {
            Packet::Mark(mark) => self.handle_mark(now, header, mark),
            Packet::Close(close) => self.handle_close(now, header, close),
            Packet::CloseAck(_) if matches!(self.phase, Phase::Cancelling { .. }) => {
                self.phase = Phase::Ended;
            }
            _ => self.stats.unexpected += 1,
        }
        true
    }

    /// Acts on passed timers; to be called at each turn, also while the program takes nothing.
    pub fn handle_timeout(&mut self, now: Nanos) {
        match self.phase {
            Phase::Flowing | Phase::Draining { .. }
                if now >= self.heard_at + self.terms.dead_after =>
            {
                self.break_off(End::PeerSilent);
            }
            Phase::Lingering { until, .. } if now >= until => self.phase = Phase::Ended,
            Phase::Cancelling { tries: CANCEL_TRIES_MAX.., next_try, .. } if now >= next_try => {
                self.phase = Phase::Ended;
            }
            _ => {}
        }
        self.expire_holes(now);
    }

    /// The next packet or gap in order.
    pub fn poll_delivery(&mut self, now: Nanos) -> Option<Delivered> {
        let phase = self.phase;
        let delivered = self.deliver_next(now);
        if delivered.is_some() {
            return delivered;
        }
        if self.ending.is_some()
            && matches!(phase, Phase::Flowing | Phase::Draining { .. })
            && self.phase == phase
            && let Some(end) = self.ending.take()
        {
            self.start_cancel(now, reason_of(end), end);
        }
        self.tell_cut_short()
    }

    /// What had been given up when the stream was cancelled.
    fn tell_cut_short(&mut self) -> Option<Delivered> {
        if !matches!(self.phase, Phase::Cancelling { .. } | Phase::Ended) {
            return None;
        }
        let gap = self.account.gap_given_up()?;
        Some(self.deliver_gap(gap))
    }

    fn deliver_next(&mut self, now: Nanos) -> Option<Delivered> {
        if !matches!(self.phase, Phase::Flowing | Phase::Draining { .. } | Phase::Breaking(_)) {
            return None;
        }
        if self.next == self.highest_end {
            return self.finish(now);
        }
        let seq = self.next;
        match self.ring.get(seq) {
            State::Received(packet) => match self.account.gap_before(seq, &packet) {
                Ok(Some(gap)) => Some(self.deliver_gap(gap)),
                Ok(None) => Some(self.deliver(seq, &packet)),
                Err(violation) => {
                    self.violate(now, violation);
                    None
                }
            },
            State::Hole(hole) => {
                let cause = self.cause_to_give_up(now, seq, &hole)?;
                let is_local = self.drops.settle(seq, true) && cause != Cause::GoneAtSender;
                let cause = if is_local { Cause::ReceiverBehind } else { cause };
                self.ring.close(seq, State::GivenUp);
                self.advance();
                self.stats.skipped += 1;
                self.change_tolerance(now, Tolerance::lost);
                self.account.give_up(cause);
                Some(Delivered::Skipped { seq })
            }
            state => unreachable!("a revealed packet is received or a hole, not {state:?}"),
        }
    }

    /// Writes the next packet to send to `out` (at least [`REPORT_BYTES`]) and says its length.
    pub fn poll_transmit(&mut self, now: Nanos, out: &mut [u8]) -> Option<usize> {
        if self.answer_close {
            self.answer_close = false;
            return Some(self.emit_close_ack(now, out));
        }
        match self.phase {
            Phase::Flowing | Phase::Draining { .. } => {
                let present = self.present(now);
                (now >= self.schedule.due(&present)).then(|| self.emit_report(now, &present, out))
            }
            Phase::Cancelling { reason, tries, next_try }
                if tries < CANCEL_TRIES_MAX && now >= next_try =>
            {
                let pause = Nanos(self.rtt.get().0 << tries);
                let pause = pause.clamp(CANCEL_PAUSE_MIN, CANCEL_PAUSE_MAX);
                self.phase = Phase::Cancelling { reason, tries: tries + 1, next_try: now + pause };
                Some(self.emit_close(now, reason, out))
            }
            _ => None,
        }
    }

    /// When to call [`Receiver::handle_timeout`], [`Receiver::poll_delivery`] and
    /// [`Receiver::poll_transmit`] again at the latest.
    pub fn poll_timeout(&self, now: Nanos) -> Option<Nanos> {
        if self.answer_close {
            return Some(now);
        }
        match self.phase {
            Phase::Flowing | Phase::Draining { .. } => {
                let mut at = self.heard_at + self.terms.dead_after;
                at = at.min(self.schedule.due(&self.present(now)));
                Some(self.give_up_at(now).map_or(at, |give_up_at| at.min(give_up_at)))
            }
            Phase::Breaking(_) => Some(now),
            Phase::Lingering { until, .. } => Some(until),
            Phase::Cancelling { next_try, .. } => Some(next_try),
            Phase::Ended => None,
        }
    }

    /// How the stream ended, once; everything delivered came before.
    pub const fn poll_event(&mut self) -> Option<End> {
        self.event.take()
    }

    /// The clock by which the samples are played is at `index`: jumps are measured from it, and not
    /// from the end of what came before (`docs/protocol.md#6.10`).
    pub const fn set_clock(&mut self, index: SampleIndex) {
        self.account.set_clock(index);
    }

    /// Ends the stream early. Nothing more is delivered; the sender receives a CLOSE.
    pub fn cancel(&mut self, now: Nanos) {
        self.cancel_for(now, CloseReason::Cancelled);
    }

    /// Like [`Receiver::cancel`], with a reason for the sender.
    pub fn cancel_for(&mut self, now: Nanos, reason: CloseReason) {
        if self.takes_packets() {
            self.start_cancel(now, reason, End::Cancelled);
        }
    }

    /// The queue pair of the stream has failed: what it has completed is still delivered, then the
    /// sender receives a CLOSE (`docs/protocol.md#13.7`).
    pub fn queue_pair_failed(&mut self) {
        self.ending.get_or_insert(End::QueuePairFailed);
    }

    /// Whether holes are repaired: of one over RDMA the queue pair leaves none.
    fn is_repaired(&self) -> bool {
        self.delivery != Delivery::BestEffort && self.terms.carriage == Carriage::Data
    }

    /// Ends the stream because its sender has opened it again: samples that have come are still
    /// delivered.
    pub fn replaced(&mut self) {
        match self.phase {
            Phase::Flowing | Phase::Draining { .. } => self.break_off(End::PeerRestarted),
            Phase::Cancelling { .. } | Phase::Lingering { .. } => self.phase = Phase::Ended,
            Phase::Breaking(_) | Phase::Ended => {}
        }
    }

    fn start_cancel(&mut self, now: Nanos, reason: CloseReason, end: End) {
        self.phase = Phase::Cancelling { reason, tries: 0, next_try: now };
        self.ending = None;
        self.event = Some(end);
    }

    fn violate(&mut self, now: Nanos, violation: Violation) {
        let end = End::Violation(violation);
        self.start_cancel(now, reason_of(end), end);
    }

    fn break_off(&mut self, end: End) {
        self.gone_before = self.highest_end;
        self.phase = Phase::Breaking(end);
    }

    /// Notes a sign of life, and the newest departure.
    fn hear(&mut self, now: Nanos, departure: Departure) {
        self.heard_at = now;
        self.settled.hear(now, departure);
    }

    fn advance(&mut self) {
        self.next += 1;
        // Kept near, so that they can be compared.
        self.gone_before = self.gone_before.max(self.next);
        self.expired_end = self.expired_end.max(self.next);
    }

    fn deliver_gap(&mut self, gap: Gap) -> Delivered {
        self.stats.take_gap(&gap);
        Delivered::Gap(gap)
    }

    fn deliver(&mut self, seq: Seq, packet: &Received) -> Delivered {
        self.account.deliver(packet);
        self.drops.settle(seq, packet.flags.contains(Flags::RETRANSMISSION));
        self.ring.set(seq, State::Delivered);
        self.advance();
        self.stats.delivered += 1;
        self.stats.samples_delivered += u64::from(packet.samples);
        let (index, samples, flags) = (packet.index, packet.samples, packet.flags);
        Delivered::Packet { seq, index, samples, flags }
    }

    /// Ends the stream once all that was revealed is accounted for.
    fn finish(&mut self, now: Nanos) -> Option<Delivered> {
        let (gap, end) = match self.phase {
            Phase::Draining { final_seq, final_index } if self.next == final_seq => {
                match self.account.gap_before_end(final_index) {
                    Ok(gap) if self.close_reason == CloseReason::Finished => {
                        (gap, End::Finished { final_index })
                    }
                    Ok(gap) => (gap, End::ClosedByPeer(self.close_reason)),
                    Err(violation) => {
                        self.violate(now, violation);
                        return None;
                    }
                }
            }
            Phase::Breaking(end) => (self.account.gap_before_break(), end),
            _ => return None,
        };
        if let Some(gap) = gap {
            return Some(self.deliver_gap(gap));
        }
        self.event = Some(end);
        self.phase = match self.phase {
            Phase::Draining { final_seq, final_index } => {
                self.answer_close = true;
                let linger = Nanos(8 * self.rtt.get().0).clamp(LINGER_MIN, LINGER_MAX);
                Phase::Lingering { final_seq, final_index, until: now + linger }
            }
            _ => Phase::Ended,
        };
        None
    }
}

/// What the sender hears of an end of this end's making.
const fn reason_of(end: End) -> CloseReason {
    match end {
        End::Violation(Violation::JumpTooFar { .. }) => CloseReason::JumpTooFar,
        End::Violation(_) => CloseReason::Protocol,
        End::QueuePairFailed => CloseReason::QueuePairFailed,
        _ => CloseReason::Cancelled,
    }
}

/// Ranges that a REPORT lists at most, whatever the sender takes.
pub const RANGES_MAX: usize = 128;

/// What a packet of the receiver takes at most, in bytes.
pub const REPORT_BYTES: usize = ReportFields::packet_len(RANGES_MAX);

/// Silences of a sender that lives that make one of a sender that may not: three MARKs may be lost.
const SILENCES: u64 = 4;

const LINGER_MIN: Nanos = Nanos::from_millis(300);
const LINGER_MAX: Nanos = Nanos::from_millis(5_000);
const CANCEL_TRIES_MAX: u32 = 6;
const CANCEL_PAUSE_MIN: Nanos = Nanos::from_millis(5);
const CANCEL_PAUSE_MAX: Nanos = Nanos::from_millis(500);

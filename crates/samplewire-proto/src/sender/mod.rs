//! The sender of a stream: a ring of slots, repaired by state.
//!
//! A slot goes free -> held -> departed -> released. It departs again if and only if a REPORT lists
//! its seq and its last departure lies before that REPORT's `settled` (`docs/protocol.md#4.1`), so
//! lost, late, doubled or forged feedback does no harm and no timer guesses.
//!
//! The payloads stay with the caller, addressed by seq. Drain order: after any `handle`, `push` or
//! passed timeout call [`Sender::poll_transmit`] until it is `None`, then [`Sender::poll_event`],
//! then sleep until [`Sender::poll_timeout`]. Over RDMA call [`Sender::poll_write`] too: there packets
//! leave as WRITEs, which a queue pair repeats until they are complete.

mod breaker;
mod budget;
mod config;
mod control;
mod departure;
mod feedback;
#[cfg(feature = "search")]
mod fingerprint;
mod marks;
mod packet;
mod reaction;
mod requests;
mod stats;
mod write;

use crate::clock::{DepartureClock, Rtt};
pub use crate::counters::SenderStats;
use crate::crc;
use crate::number::{Departure, INDEX_MAX, Nanos, SampleIndex, Seq};
pub use crate::rate::FRAME_OVERHEAD_BYTES;
use crate::rate::Pacer;
use crate::stream::{Carriage, End, Terms, TermsError, WINDOW_SMALL};
use crate::tai::TaiClock;
use crate::wire::{CloseReason, Flags, Header, Packet};

use breaker::Breaker;
use budget::Budget;
pub use config::{SenderConfig, SenderConfigError};
pub use control::{Control, DcqcnConfig};
use feedback::LastReport;
use marks::Marks;
pub use packet::{DataTransmit, NewPacket, PushError, Transmit};
use reaction::Reaction;
use requests::Requests;
pub use write::WriteTransmit;

/// A packet of the ring: what a transmission needs besides the payload's bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendSlot {
    index: SampleIndex,
    payload_crc: u32,
    departure: Departure,
    samples: u32,
    len_bytes: u16,
    flags: Flags,
    is_repeat: bool,
    /// What the source lost just before it.
    lost_before: u64,
}

const _: () = assert!(size_of::<SendSlot>() <= 32);

/// The sending end of one stream.
#[derive(Clone, Debug)]
pub struct Sender<S> {
    terms: Terms,
    slots: S,
    /// Lowest seq held; first seq that never departed; first seq not pushed. In this order.
    oldest: Seq,
    sent: Seq,
    next: Seq,
    /// First seq that the receiver has not accounted for.
    accounted: Seq,
    /// Over RDMA: first seq whose WRITE is not complete. The queue pair may read what follows.
    written: Seq,
    /// First seq that the receiver has not promised to take.
    limit: Seq,
    next_index: SampleIndex,
    /// The index after the last sample that departed.
    sent_index: SampleIndex,
    source_lost: u64,
    /// The time of each index, if it is known.
    tai_clock: Option<TaiClock>,
    phase: Phase,
    last_report: Option<LastReport>,
    heard_at: Nanos,
    marks_sent: u32,
    clock: DepartureClock,
    rtt: Rtt,
    pacer: Pacer,
    reaction: Reaction,
    budget: Budget,
    marks: Marks,
    breaker: Breaker,
    requests: Requests,
    /// The header's CRC joins the payload's by this map when the payload is full.
    full_payload: crc::Shift,
    /// Over RDMA: the zeros between a full payload and its record.
    slot_pad: crc::Zeros,
    /// When the first CLOSE departed, and whether a REPORT has shown that one was taken.
    close_departure: Option<Departure>,
    is_close_taken: bool,
    answer_close: bool,
    event: Option<End>,
    stats: SenderStats,
}

/// The life of a sender (`docs/protocol.md`, state table of the sender).
///
/// ```text
/// Opening --first REPORT--> Flowing --close--> Closing --CLOSE_ACK--> Ended
///    any of them --receiver's CLOSE, silence, restart, breaker--> Ended
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No REPORT has come: nothing may depart but MARK.
    Opening,
    /// DATA departs as credit allows.
    Flowing,
    /// All is pushed; CLOSE takes the place of MARK once all has departed.
    Closing(CloseReason),
    /// Only a CLOSE of the receiver is still answered.
    Ended,
}

impl<S: AsRef<[SendSlot]> + AsMut<[SendSlot]>> Sender<S> {
    /// Starts a sender on `slots`, a power of two of them that holds the window.
    ///
    /// # Errors
    /// A term out of range, or storage that does not fit it.
    pub fn new(
        terms: Terms,
        config: SenderConfig,
        slots: S,
        now: Nanos,
    ) -> Result<Self, TermsError> {
        terms.check(slots.as_ref().len())?;
        let mut stats = SenderStats::default();
        let reaction = Reaction::new(config.control(), &terms, now, &mut stats);
        let mut sender = Self {
            slots,
            oldest: terms.first_seq,
            sent: terms.first_seq,
            next: terms.first_seq,
            accounted: terms.first_seq,
            written: terms.first_seq,
            limit: terms.first_seq,
            next_index: terms.first_index,
            sent_index: terms.first_index,
            source_lost: 0,
            tai_clock: None,
            phase: Phase::Opening,
            last_report: None,
            heard_at: now,
            marks_sent: 0,
            clock: DepartureClock::default(),
            rtt: Rtt::new(terms.rtt),
            pacer: Pacer::new(config.link_bps(), config.burst()),
            reaction,
            budget: Budget::new(terms.window, now),
            marks: Marks::new(now, terms.window),
            breaker: Breaker::new(now),
            requests: Requests::new(),
            full_payload: crc::Shift::new(terms.payload_bytes as usize),
            slot_pad: terms.slot_pad(),
            close_departure: None,
            is_close_taken: false,
            answer_close: false,
            event: None,
            stats,
            terms,
        };
        sender.follow_limit(now);
        Ok(sender)
    }

    /// How many packets can be pushed before the window is full.
    pub fn free_slots(&self) -> u32 {
        self.terms.window - (self.next - self.oldest)
    }

    /// Whether the stream takes packets: it is neither closing nor ended.
    pub const fn takes_more(&self) -> bool {
        !matches!(self.phase, Phase::Closing(_) | Phase::Ended)
    }

    /// Packets that are pushed and have not departed.
    pub fn waiting(&self) -> u32 {
        self.next - self.sent
    }

    /// Packets that the receiver lets depart for the first time at present.
    pub fn credit(&self) -> u32 {
        self.limit.distance(self.sent).max(0) as u32
    }

    /// Packets that may be held until the receiver has accounted for them.
    pub const fn window(&self) -> u32 {
        self.terms.window
    }

    /// The seq that the next [`Sender::push`] gets.
    pub const fn next_seq(&self) -> Seq {
        self.next
    }

    /// The index after the last sample pushed.
    pub const fn next_index(&self) -> SampleIndex {
        self.next_index
    }

    /// Every seq before this one is accounted for by the receiver, and no queue pair reads it: its
    /// payload may go.
    pub const fn released(&self) -> Seq {
        self.oldest
    }

    /// The index of the oldest sample that the receiver has not accounted for; that after the last
    /// pushed where it has all.
    pub fn oldest_index(&self) -> SampleIndex {
        if self.oldest == self.next { self.next_index } else { self.slot(self.oldest).index }
    }

    /// Smoothed round-trip time.
    pub fn rtt(&self) -> Nanos {
        self.rtt.get()
    }

    /// The same, once the stream itself has measured it.
    pub fn measured_rtt(&self) -> Option<Nanos> {
        self.rtt.measured()
    }

    /// Whether the receiver has reported: DATA may flow.
    pub fn is_reported(&self) -> bool {
        self.last_report.is_some()
    }

    /// Where in its life the sender is.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether the stream has ended.
    pub const fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// Counters since the start.
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// Takes a packet into the window; its payload must stay put until it is released.
    ///
    /// # Errors
    /// See [`PushError`]; nothing is taken then.
    pub fn push(&mut self, packet: NewPacket) -> Result<Seq, PushError> {
        if !self.takes_more() {
            return Err(PushError::Closed);
        }
        if self.free_slots() == 0 {
            return Err(PushError::Full(self.terms.window));
        }
        let samples = self.check_form(&packet)?;
        let seq = self.next;
        let is_loss =
            packet.flags.contains(Flags::OVERFLOW) && !packet.flags.contains(Flags::START);
        let lost_before = if is_loss { packet.index - self.next_index } else { 0 };
        self.source_lost += lost_before;
        *self.slot_mut(seq) = SendSlot {
            index: packet.index,
            payload_crc: packet.payload_crc,
            departure: Departure(0),
            samples,
            len_bytes: packet.len_bytes,
            flags: packet.flags,
            is_repeat: false,
            lost_before,
        };
        self.next_index = packet.index + u64::from(samples);
        self.next += 1;
        Ok(seq)
    }

    /// Counts samples that the source lost and that no later packet will report by its index
    /// (the stream ends with them): they lie between the last packet and the final index. A stream that
    /// closes has its end: nothing is counted then.
    pub fn lose_at_source(&mut self, samples: u64) {
        if self.takes_more() {
            self.source_lost += samples;
            self.next_index += samples;
        }
    }

    /// Sets the time of each index, which MARK states; `None` if it is not known.
    pub const fn set_tai_clock(&mut self, clock: Option<TaiClock>) {
        self.tai_clock = clock;
    }

    /// Ends the stream after all that was pushed has been accounted for.
    pub fn close(&mut self, now: Nanos) {
        self.close_for(now, CloseReason::Finished);
    }

    /// Like [`Sender::close`], with a reason for the receiver: a source that failed is no normal
    /// end.
    pub fn close_for(&mut self, now: Nanos, reason: CloseReason) {
        if matches!(self.phase, Phase::Opening | Phase::Flowing) {
            self.phase = Phase::Closing(reason);
            self.marks.restart(now, self.rtt.get());
        }
    }

    /// Ends the stream after what has departed: what was only pushed is dropped.
    pub fn cancel(&mut self, now: Nanos) {
        self.cancel_for(now, CloseReason::Cancelled);
    }

    /// The queue pair of the stream has failed, and reads no payload any more: the stream ends after
    /// the last packet that was posted (`docs/protocol.md#13.7`). One that closes, and of which the
    /// receiver has all, ends as it would have.
    pub fn queue_pair_failed(&mut self, now: Nanos) {
        self.written = self.sent;
        self.release();
        let is_complete = matches!(self.phase, Phase::Closing(_)) && self.oldest == self.next;
        if !is_complete {
            self.cancel_for(now, CloseReason::QueuePairFailed);
        }
    }

    fn cancel_for(&mut self, now: Nanos, reason: CloseReason) {
        // What a queue pair that failed has posted stays lost, whatever the program wishes.
        if self.is_ended() || self.phase == Phase::Closing(CloseReason::QueuePairFailed) {
            return;
        }
        if self.sent != self.next {
            // Samples that the source lost before the first packet dropped are still named.
            let dropped = self.slot(self.sent);
            let is_set = dropped.flags.contains(Flags::START);
            self.next_index = if is_set { self.sent_index } else { dropped.index };
            self.next = self.sent;
        }
        if !matches!(self.phase, Phase::Closing(_)) {
            self.marks.restart(now, self.rtt.get());
        }
        self.phase = Phase::Closing(reason);
    }

    /// Takes a packet whose CRC is right. `false` when it is not of this stream.
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
            Packet::Report(report) => self.handle_report(now, header, report),
            Packet::Close(close) => self.handle_close(header, close),
            Packet::CloseAck(ack) => self.handle_close_ack(header, ack),
            _ => self.stats.unexpected += 1,
        }
        true
    }

    /// Acts on passed timers.
    pub fn handle_timeout(&mut self, now: Nanos) {
        if self.is_ended() {
            return;
        }
        if now >= self.dead_at() {
            let is_closed = self.is_only_ack_missing();
            self.end(if is_closed { self.closed() } else { End::PeerSilent });
        }
    }

    /// The next packet to send, if one may leave at `now`. Control packets are written to
    /// `control`, which holds at least [`CONTROL_BYTES`].
    pub fn poll_transmit(&mut self, now: Nanos, control: &mut [u8]) -> Option<Transmit> {
        if self.answer_close {
            self.answer_close = false;
            return Some(self.emit_close_ack(now, control));
        }
        if self.is_ended() {
            return None;
        }
        if now >= self.marks.due(self.is_waiting()) && !self.is_shown_by_data(now) {
            return Some(self.emit_mark_or_close(now, control));
        }
        if now >= self.reaction.due() {
            self.reaction.handle_due(now, &mut self.stats);
            self.follow_limit(now);
        }
        if now < self.pacer.ready_at(now) || self.terms.carriage == Carriage::Rdma {
            return None;
        }
        let seq = self.next_repeat(now).or_else(|| self.next_new())?;
        Some(Transmit::Data(self.depart(now, seq)))
    }

    /// When to call [`Sender::handle_timeout`] and [`Sender::poll_transmit`] again at the latest.
    pub fn poll_timeout(&self, now: Nanos) -> Option<Nanos> {
        if self.is_ended() {
            return None;
        }
        let mut at = self.dead_at().min(self.marks.due(self.is_waiting()));
        // What is owed is paid earlier at a rate that rises.
        let ready_at = self.pacer.ready_at(now).min(self.reaction.due());
        if !self.requests.is_empty() {
            let budget_at =
                if self.budget.is_empty() { self.budget.ready_at(self.rtt.get()) } else { now };
            at = at.min(ready_at.max(budget_at));
        }
        if self.next_new().is_some() {
            at = at.min(ready_at);
        }
        Some(at)
    }

    /// How the stream ended, once.
    pub const fn poll_event(&mut self) -> Option<End> {
        self.event.take()
    }

    fn check_form(&self, packet: &NewPacket) -> Result<u32, PushError> {
        let (index, expected) = (packet.index, self.next_index);
        if index < expected {
            return Err(PushError::IndexRetreats { index, expected });
        }
        if index > INDEX_MAX {
            return Err(PushError::IndexTooLarge(index));
        }
        let may_jump =
            packet.flags.contains(Flags::OVERFLOW) || packet.flags.contains(Flags::START);
        if index > expected && !may_jump {
            return Err(PushError::IndexJumps { index, expected });
        }
        let full = self.terms.payload_bytes;
        let is_short =
            packet.flags.contains(Flags::END_OF_BURST) || packet.flags.contains(Flags::META);
        let fits = if is_short {
            packet.len_bytes >= 8 && packet.len_bytes <= full && packet.len_bytes.is_multiple_of(8)
        } else {
            packet.len_bytes == full
        };
        if !fits {
            return Err(PushError::PayloadLength(packet.len_bytes));
        }
        let is_burst_end =
            packet.flags.contains(Flags::END_OF_BURST) && !packet.flags.contains(Flags::META);
        let room_bytes = u64::from(packet.len_bytes.saturating_sub(8));
        let needed = u64::from(packet.burst_samples) * u64::from(full);
        if is_burst_end && needed > room_bytes * u64::from(self.terms.packet_samples) {
            return Err(PushError::BurstLength(packet.burst_samples));
        }
        Ok(if packet.flags.contains(Flags::META) {
            0
        } else if packet.flags.contains(Flags::END_OF_BURST) {
            packet.burst_samples
        } else {
            self.terms.packet_samples
        })
    }

    /// Paces to the limit of congestion control.
    fn follow_limit(&mut self, now: Nanos) {
        let full = control::full_frame_bytes(&self.terms);
        self.pacer.set_limit(now, self.reaction.limit(), full);
    }

    /// How a stream ends whose receiver has all.
    const fn closed(&self) -> End {
        match self.phase {
            Phase::Closing(CloseReason::QueuePairFailed) => End::QueuePairFailed,
            _ => End::Finished { final_index: self.next_index },
        }
    }

    fn end(&mut self, end: End) {
        self.phase = Phase::Ended;
        self.event = Some(end);
    }

    /// When silence ends the stream. A receiver that has everything may be gone before its
    /// CLOSE_ACK got through: that is waited for less long.
    fn dead_at(&self) -> Nanos {
        let patience = if self.is_only_ack_missing() {
            Nanos(16 * self.rtt.get().0).max(CLOSE_PATIENCE_MIN).min(self.terms.dead_after)
        } else {
            self.terms.dead_after
        };
        self.heard_at + patience
    }

    /// Whether the receiver has shown that it has everything and knows the final index.
    fn is_only_ack_missing(&self) -> bool {
        let is_closing = matches!(self.phase, Phase::Closing(_));
        is_closing && self.oldest == self.next && self.is_close_taken
    }

    /// Whether DATA leaves at once, and reveals what the MARK of a silence would.
    fn is_shown_by_data(&self, now: Nanos) -> bool {
        let leaves = self.next_new().is_some() && now >= self.pacer.ready_at(now);
        leaves && !self.marks.is_busy_due(now)
    }

    /// Whether the last credit is used of a window so small that the receiver reports on it at once.
    fn has_spent_small_window(&self) -> bool {
        let is_small = self.phase == Phase::Flowing && self.terms.window < WINDOW_SMALL;
        is_small && !self.sent.before(self.limit)
    }

    /// Whether something is not reported yet, waits for credit, or waits to be closed.
    fn is_waiting(&self) -> bool {
        self.oldest != self.next || !matches!(self.phase, Phase::Flowing)
    }

    /// Lets go of what nothing needs any more.
    const fn release(&mut self) {
        self.oldest = match self.terms.carriage {
            Carriage::Data => self.accounted,
            Carriage::Rdma => self.accounted.min(self.written),
        };
    }

    fn slot(&self, seq: Seq) -> &SendSlot {
        let slots = self.slots.as_ref();
        &slots[seq.0 as usize & (slots.len() - 1)]
    }

    fn slot_mut(&mut self, seq: Seq) -> &mut SendSlot {
        let slots = self.slots.as_mut();
        let mask = slots.len() - 1;
        &mut slots[seq.0 as usize & mask]
    }
}

const CLOSE_PATIENCE_MIN: Nanos = Nanos::from_millis(1_000);

/// What a control packet of the sender takes at most, in bytes.
pub const CONTROL_BYTES: usize = 64;

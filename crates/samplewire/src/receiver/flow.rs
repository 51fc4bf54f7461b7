//! An open stream to this program: protocol -> quanta -> ring of items. The caller owns the link:
//! an endpoint or a device.

mod item;

use std::net::SocketAddr;
use std::sync::Arc;

use samplewire_circuit::{Pool, Publisher, Quantum, Tag, TagKind};
use samplewire_io::{Clock, Ecn, Link, LinkError, Meta, Outgoing};
use samplewire_proto::receiver::{
    Delivered, Phase, Placement, REPORT_BYTES, Receiver, ReceiverConfig, RecvSlot,
};
use samplewire_proto::stream::{End, Terms, TermsError};
use samplewire_proto::wire::{Flags, Header, Packet, TlvKind, Tlvs};
use samplewire_proto::{Nanos, SampleIndex};
use samplewire_roce::wire::Frame;

use super::BlockQueue;
use super::hold::Hold;
use super::payload_ring::{PayloadRing, Step};
use super::shared::Shared;
use super::slots::Slots;
use super::stalls::Stalls;
use crate::counters::ReceiverSnapshot;
use crate::endpoint::Station;
use crate::port::BATCH_PACKETS;
use crate::wakeups::WakeHandle;
use item::Part;
pub(crate) use item::{Item, Run};

/// A receiver, its memory, and the items that wait for the program.
pub(crate) struct ReceiveFlow {
    peer: SocketAddr,
    clock: Clock,
    pub(crate) receiver: Receiver<Box<[RecvSlot]>>,
    payloads: PayloadRing,
    /// Of a stream over RDMA.
    slots: Option<Slots>,
    items: rtrb::Producer<Item>,
    shared: Arc<Shared>,
    frame_bytes: usize,
    hold: Hold,
    parts: Vec<Part>,
    /// Quanta handed over since the program was last woken.
    unrung: usize,
    /// Packets that came since the last [`ReceiveFlow::advance`].
    handled: u32,
    /// Whether anything was handed over since the last [`ReceiveFlow::advance`].
    has_handed_over: bool,
    /// When the receiver has work again, if this visit has computed it.
    due_at: Option<Nanos>,
    /// Whether all work but delivery was left for this turn.
    has_put_off: bool,
    /// A delivered quantum that does not fit into the ring of items yet.
    blocked: Option<Option<Quantum>>,
    /// When samples in a quantum that is not full are handed over.
    held_until: Option<Nanos>,
    /// Whether the sender has no credit because the program holds all quanta, and this is already
    /// counted.
    is_starved: bool,
    /// The time up to which such a stall is recorded.
    stalled_at: Option<Nanos>,
    stalls: Stalls,
    local_drops: Option<u32>,
    /// How the stream ended, until the program receives it.
    end: Option<Result<End, LinkError>>,
    /// Buffer for a packet to the sender.
    out: Box<[u8; REPORT_BYTES]>,
    pub(crate) snapshot: ReceiverSnapshot,
    publisher: Publisher<ReceiverSnapshot>,
    published_at: Nanos,
}

/// What a received stream is made of.
pub(crate) struct FlowParts {
    pub(crate) peer: SocketAddr,
    pub(crate) clock: Clock,
    pub(crate) terms: Terms,
    pub(crate) config: ReceiverConfig,
    /// Its quanta, which hold this many packets each.
    pub(crate) pool: Pool,
    pub(crate) quantum_packets: u32,
    /// Bytes of a sample of all channels.
    pub(crate) frame_bytes: usize,
    /// How long samples may wait for their quantum to fill.
    pub(crate) hold_max: Nanos,
    pub(crate) wake_handle: WakeHandle,
}

impl FlowParts {
    /// Both ends of the stream.
    ///
    /// # Errors
    /// The terms are out of range.
    pub(crate) fn build(self, now: Nanos) -> Result<(ReceiveFlow, BlockQueue), TermsError> {
        let Self { terms, pool, quantum_packets, .. } = self;
        let slots = vec![RecvSlot::default(); (terms.window as usize).next_power_of_two()];
        let items_len = items_max(terms.window, quantum_packets);
        let memory_bytes = size_of_val(&slots[..]) + items_len * size_of::<Item>();
        let receiver = Receiver::new(terms, self.config, slots.into_boxed_slice(), now)?;
        let payload_bytes = usize::from(terms.payload_bytes);
        let payloads =
            PayloadRing::new(pool, terms.first_seq, terms.window, quantum_packets, payload_bytes);
        let (items, items_out) = rtrb::RingBuffer::new(items_len);
        let (shared, publisher) = Shared::new(self.wake_handle);
        let shared = Arc::new(shared);
        let block_queue = BlockQueue {
            items: items_out,
            shared: Arc::clone(&shared),
            window: terms.window,
            block_samples_max: quantum_packets as usize * terms.packet_samples as usize,
            memory_bytes,
        };
        let parts = Vec::with_capacity(parts_max(payloads.quantum_packets()));
        let stalls = Stalls::new(receiver.window(), receiver.packet_samples());
        let flow = ReceiveFlow {
            peer: self.peer,
            clock: self.clock,
            receiver,
            payloads,
            slots: None,
            items,
            shared,
            frame_bytes: self.frame_bytes,
            hold: Hold::new(self.hold_max),
            parts,
            unrung: 0,
            handled: 0,
            has_handed_over: false,
            due_at: None,
            has_put_off: false,
            blocked: None,
            held_until: None,
            is_starved: false,
            stalled_at: None,
            stalls,
            local_drops: None,
            end: None,
            out: Box::new([0; REPORT_BYTES]),
            snapshot: ReceiverSnapshot::default(),
            publisher,
            published_at: Nanos(0),
        };
        Ok((flow, block_queue))
    }
}

impl ReceiveFlow {
    /// Lets the packets of the stream come over RDMA.
    pub(crate) fn set_slots(&mut self, slots: Slots) {
        self.slots = Some(slots);
    }

    /// Takes a frame of the stream's queue pair; `false` if it is of no such, or of a card.
    pub(crate) fn handle_frame(&mut self, now: Nanos, frame: &Frame<'_>) -> bool {
        let Some(slots) = &mut self.slots else { return false };
        let stored = slots.handle(now, frame, &self.receiver, &mut self.payloads);
        self.handled += u32::from(stored == Some(true));
        stored.is_some()
    }

    /// Takes the packets that the queue pair has completed, as many as a batch has; returns whether a
    /// card has written any.
    pub(crate) fn settle(&mut self, now: Nanos) -> bool {
        let Some(slots) = &mut self.slots else { return false };
        let limit = BATCH_PACKETS as u32;
        let stored = slots.settle(now, &mut self.receiver, &mut self.payloads, limit);
        self.handled += stored;
        stored > 0
    }

    /// Whether a network card writes the packets, so that no frame or packet says that one has come.
    pub(crate) fn is_on_card(&self) -> bool {
        self.slots.as_ref().is_some_and(Slots::is_card)
    }

    /// The card has reported a failure, of the queue pair of this number or of all.
    pub(crate) fn note_card_failure(&mut self, qpn: Option<u32>) {
        if let Some(slots) = &mut self.slots {
            slots.note_failure(qpn);
        }
    }

    /// Sets the sender's window.
    pub(crate) fn set_reach(&mut self, window: u32) {
        self.stalls = Stalls::new(window, self.receiver.packet_samples());
    }

    pub(crate) const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The index after the last sample accounted for.
    pub(crate) const fn next_index(&self) -> SampleIndex {
        self.receiver.next_index()
    }

    /// Whether the end is acknowledged and the program has everything, or wants nothing more.
    pub(crate) fn is_over(&self) -> bool {
        self.receiver.is_ended() && (self.end.is_none() || self.shared.is_stopped())
    }

    /// Whether the program has everything, and only repeated CLOSEs are still answered.
    pub(crate) fn lingers(&self) -> bool {
        matches!(self.receiver.phase(), Phase::Lingering { .. }) && self.end.is_none()
    }

    /// Whether the stream ended otherwise than by a CLOSE that it may have to answer again.
    pub(crate) const fn has_broken_off(&self) -> bool {
        matches!(self.receiver.phase(), Phase::Breaking(_) | Phase::Ended)
    }

    /// Whether the program's end is gone.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.items.is_abandoned()
    }

    /// Counts the socket's drops before the packets after them are handed over.
    pub(crate) fn note_drops(&mut self, meta: &Meta) {
        let Some(dropped) = meta.dropped else {
            self.local_drops = None;
            return;
        };
        // Drops before the stream's first packet do not belong to the stream. A packet that was
        // delayed on its way here carries an earlier count.
        let before = self.local_drops.unwrap_or(dropped);
        let fresh = dropped.wrapping_sub(before).cast_signed().max(0).cast_unsigned();
        self.local_drops = Some(before.wrapping_add(fresh));
        self.snapshot.socket_dropped += u64::from(fresh);
        self.receiver.note_local_drops(fresh.saturating_mul(meta.packets_per_drop));
    }

    /// Drops before the stream existed are not its losses.
    pub(crate) fn start_drops(&mut self, dropped: u32) {
        self.local_drops = Some(dropped);
    }

    /// Processes a packet of the peer; `false` if it is not of this stream.
    pub(crate) fn handle(
        &mut self,
        now: Nanos,
        header: &Header,
        packet: &Packet<'_>,
        ecn: Ecn,
    ) -> bool {
        let Packet::Data(body) = packet else {
            // A CLOSE may give up what is not complete.
            while self.settle(now) {}
            return self.receiver.handle(now, header, packet);
        };
        let foreign = self.receiver.stats().foreign;
        let placement = self.receiver.handle_data(now, header, body, ecn == Ecn::Ce);
        if let Placement::Store { seq, payload_at } = placement {
            self.handled += 1;
            self.payloads.store(seq, &body[payload_at..]);
        }
        self.receiver.stats().foreign == foreign
    }

    /// Whether so many packets have come since the last [`ReceiveFlow::advance`] that more are
    /// likely to follow.
    pub(crate) const fn is_crowded(&self) -> bool {
        self.handled >= HANDLED_FULL
    }

    /// Does the pending work after all received packets have been handled and settled: delivers, grants credit,
    /// reports, ends.
    pub(crate) fn advance(
        &mut self,
        now: Nanos,
        link: &mut dyn Link,
        station: Option<&mut Station>,
    ) -> Result<(), LinkError> {
        if self.shared.is_stopped() {
            self.receiver.cancel_for(now, self.shared.stop_reason());
        }
        self.due_at = None;
        self.receiver.handle_timeout(now);
        if self.handled > 0 {
            self.hold.came(now, self.handled);
        }
        self.deliver(now);
        self.shared.set_missing(self.receiver.has_waiting());
        // A batch that was not full was the last for now.
        if self.handled < HANDLED_FULL {
            self.ring();
        }
        if let Some(slots) = &mut self.slots {
            slots.transmit(now, station)?;
        }
        if self.puts_off() {
            return Ok(());
        }
        self.grant();
        self.transmit(now, link)?;
        if let Some(end) = self.receiver.poll_event() {
            self.publish(now);
            self.end = Some(Ok(end));
        }
        self.finish();
        Ok(())
    }

    /// Whether all work but delivery waits for the next turn. A thread that spins delivers first,
    /// if the program waits for samples. Without an I/O thread the next turn may come late. So the
    /// work is not delayed while the sender waits for credit, for a request or for the answer to
    /// its CLOSE.
    fn puts_off(&mut self) -> bool {
        let has_handed_over = std::mem::take(&mut self.has_handed_over);
        let handled = std::mem::take(&mut self.handled);
        let is_spared = self.receiver.has_open_credit()
            && !self.receiver.has_waiting()
            && matches!(self.receiver.phase(), Phase::Flowing);
        let is_awaited = has_handed_over && handled < HANDLED_FULL && is_spared;
        self.has_put_off = self.hold.max() == Nanos(0) && is_awaited && !self.has_put_off;
        self.has_put_off
    }

    /// The link has failed: the program may still take the received samples. Returns `true` once it
    /// has them all.
    pub(crate) fn fail(&mut self, error: Option<LinkError>) -> bool {
        if let Some(error) = error {
            self.end = Some(Err(error));
        }
        self.finish();
        self.end.is_none() || self.shared.is_stopped()
    }

    /// Hands everything that is in order to the program.
    fn deliver(&mut self, now: Nanos) {
        if let Some(quantum) = self.blocked.take()
            && !self.flush(quantum)
        {
            return;
        }
        let parts_before = self.parts.len();
        while let Some(delivered) = self.receiver.poll_delivery(now) {
            let step = match delivered {
                Delivered::Gap(gap) => {
                    if gap.source_lost > 0 && self.published_at != now {
                        // Publishes first whether the program held all quanta, so that this is
                        // known before the gap.
                        self.publish(now);
                    }
                    self.parts.push(Part::Gap(gap));
                    continue;
                }
                Delivered::Skipped { .. } => self.payloads.advance(),
                Delivered::Packet { index, samples, flags, .. } => {
                    if flags.contains(Flags::META) {
                        self.push_meta(index);
                    } else {
                        self.push_packet(now, index, samples, flags);
                    }
                    self.payloads.advance()
                }
            };
            if let Step::Past(quantum) = step {
                self.hold.filled();
                if !self.flush(quantum) {
                    return;
                }
            }
        }
        self.hand_over_late(now, self.parts.len() != parts_before);
    }

    /// Appends a packet's samples to the last run, or starts one.
    fn push_packet(&mut self, now: Nanos, index: SampleIndex, samples: u32, flags: Flags) {
        let (offset_bytes, len_samples) = (self.payloads.next_offset(), samples as usize);
        let len_bytes = len_samples * self.frame_bytes;
        let at = self.clock.instant_of(now);
        if flags.contains(Flags::START) {
            self.push_tag(index, TagKind::Start);
        }
        match self.parts.last_mut() {
            Some(Part::Run(run))
                if run.offset_bytes + run.len_bytes == offset_bytes && run.end_index() == index =>
            {
                run.len_bytes += len_bytes;
                run.len_samples += len_samples;
                run.at = at;
            }
            _ => {
                self.parts.push(Part::Run(Run { offset_bytes, len_bytes, index, len_samples, at }))
            }
        }
        if flags.contains(Flags::END_OF_BURST) {
            self.push_tag(index + u64::from(samples), TagKind::EndOfBurst);
        }
    }

    /// Turns the TLVs of a META packet into tags; skips those of a later version.
    fn push_meta(&mut self, index: SampleIndex) {
        let mut kinds = arrayvec::ArrayVec::<TagKind, META_TAGS_MAX>::new();
        if let Ok(tlvs) = Tlvs::parse(self.payloads.next_payload()) {
            for (kind, value) in tlvs.iter() {
                let Some(bits) = value.first_chunk() else { continue };
                let number = f64::from_be_bytes(*bits);
                let tag = match kind {
                    TlvKind::CENTRE_FREQUENCY => TagKind::Frequency { hz: number },
                    TlvKind::GAIN => TagKind::Gain { db: number },
                    _ => continue,
                };
                if kinds.try_push(tag).is_err() {
                    break;
                }
            }
        }
        for kind in kinds {
            self.push_tag(index, kind);
        }
    }

    fn push_tag(&mut self, index: SampleIndex, kind: TagKind) {
        self.parts.push(Part::Tag(Tag { index, kind }));
    }

    /// Whether the delivered part of the quantum ends a burst.
    fn is_burst_over(&self) -> bool {
        matches!(self.parts.last(), Some(Part::Tag(tag)) if tag.kind == TagKind::EndOfBurst)
    }

    /// Hands over a quantum that is not full once its burst is over, or once the stream's rate
    /// makes a longer wait useless.
    fn hand_over_late(&mut self, now: Nanos, has_grown: bool) {
        if self.parts.is_empty() {
            self.held_until = None;
            return;
        }
        let sleeps = self.hold.max() > Nanos(0);
        // No more samples of a finished burst will come.
        if !self.is_burst_over() {
            if sleeps && (has_grown || self.held_until.is_none()) {
                // Even without a hold, the thread first looks for other packets.
                self.held_until = Some(now + self.hold.begin(self.payloads.missing()));
                return;
            }
            if self.receiver.has_waiting() {
                // The duration of a repair does not reflect the stream's rate.
                self.hold.let_go();
                return;
            }
            if self.held_until.is_some_and(|until| now < until) {
                return;
            }
            self.hold.expired();
        }
        match self.payloads.exchange() {
            Step::Past(quantum) => {
                self.flush(quantum);
            }
            Step::Within => self.held_until = Some(now + self.hold.max()),
        }
    }

    /// Hands the rest over at the end of the stream, as far as the ring of items has room.
    fn finish(&mut self) {
        if self.end.is_none() {
            return;
        }
        if let Some(quantum) = self.blocked.take()
            && !self.flush(quantum)
        {
            return;
        }
        if !self.parts.is_empty() {
            let last = self.payloads.take_last();
            if !self.flush(last) {
                return;
            }
        }
        if self.items.is_full() {
            return;
        }
        if let Some(end) = self.end.take() {
            self.items.push(Item::End(end)).expect("the room was checked");
            self.shared.bell.ring();
        }
    }

    /// Pushes the parts of a quantum to the program; keeps all of them if the ring is full.
    fn flush(&mut self, quantum: Option<Quantum>) -> bool {
        if self.items.slots() < self.parts.len() {
            self.blocked = Some(quantum);
            return false;
        }
        self.held_until = None;
        let mut samples = quantum.map(Quantum::share);
        let mut left = self.parts.len();
        for part in self.parts.drain(..) {
            left -= 1;
            let item = match part {
                Part::Run(run) => {
                    // The last part takes the existing handle.
                    let samples = if left == 0 { samples.take() } else { samples.clone() };
                    Item::Run { samples: samples.expect("a run lies in a quantum"), run }
                }
                Part::Gap(gap) => Item::Gap(gap),
                Part::Tag(tag) => Item::Tag(tag),
            };
            self.items.push(item).expect("the room was checked");
        }
        self.has_handed_over = true;
        self.unrung += 1;
        if self.unrung >= self.payloads.quanta().div_ceil(UNRUNG_SHARE).min(UNRUNG_MAX) {
            self.ring();
        }
        true
    }

    /// Wakes the program if it waits for items.
    fn ring(&mut self) {
        if self.unrung > 0 {
            self.unrung = 0;
            self.shared.bell.ring();
        }
    }

    /// Grants credit for the quanta that are free. A stream that takes no more packets leaves them to
    /// others that share its pool.
    fn grant(&mut self) {
        if !self.receiver.takes_packets() {
            self.payloads.release_spare();
            return;
        }
        let promise_end = self.receiver.promise_end();
        let attached_end = self.payloads.attach(promise_end);
        let limit = attached_end.min(promise_end);
        match &mut self.slots {
            Some(slots) => slots.grant(&mut self.receiver, limit),
            None => self.receiver.grant(limit),
        }
    }

    fn transmit(&mut self, now: Nanos, link: &mut dyn Link) -> Result<(), LinkError> {
        self.receiver.set_consumed(self.shared.consumed());
        let (late_packets, underflow_samples) = self.shared.played();
        self.receiver.note_play(late_packets, underflow_samples);
        // Computed once per visit: most visits send nothing.
        self.due_at = self.receiver.poll_timeout(now);
        while self.due_at.is_some_and(|at| at <= now)
            && let Some(len) = self.receiver.poll_transmit(now, &mut self.out[..])
        {
            let packet =
                Outgoing { peer: self.peer, ecn: Ecn::NotEct, parts: [&self.out[..len], &[], &[]] };
            // A REPORT that finds the socket full may be lost: the next one is cumulative.
            link.send(&[packet])?;
            self.due_at = self.receiver.poll_timeout(now);
        }
        Ok(())
    }

    /// When there is work again, unless a packet comes; `None` if there is work now.
    pub(crate) fn wakes_at(&mut self, now: Nanos) -> Option<Nanos> {
        self.ring();
        self.note_stall(now);
        if self.slots.as_mut().is_some_and(Slots::arm) {
            return None;
        }
        let until = self.due_at(now)?;
        self.snapshot.starved += u64::from(self.needs_quanta() && !self.receiver.has_open_credit());
        Some(until)
    }

    /// The same for a thread that never sleeps. Counts that the credit ran out because the quanta
    /// did.
    pub(crate) fn spins_until(&mut self, now: Nanos) -> Nanos {
        self.note_stall(now);
        let is_starved = !self.receiver.has_open_credit() && self.needs_quanta();
        self.snapshot.starved += u64::from(is_starved && !self.is_starved);
        self.is_starved = is_starved;
        let has_work = self.has_put_off || self.unrung > 0 || self.blocked.is_some();
        if has_work || self.is_on_card() {
            // There is work left, or the program must be woken, or checked; or the card looked at.
            return now;
        }
        let until = self.due_at(now).unwrap_or(now);
        until.min(now + PUBLISH_PAUSE_IDLE)
    }

    /// Records how long the sender has had no credit because the program holds all quanta.
    fn note_stall(&mut self, now: Nanos) {
        let is_stalled = !self.receiver.has_open_credit() && self.needs_quanta();
        if let Some(at) = self.stalled_at.take() {
            self.stalls.note(self.receiver.next_index(), now.since(at).0);
        }
        self.stalled_at = is_stalled.then_some(now);
    }

    fn due_at(&mut self, now: Nanos) -> Option<Nanos> {
        let is_blocked = self.blocked.is_some() || self.end.is_some();
        if is_blocked || self.needs_quanta() {
            self.shared.starve();
            if self.receiver.takes_packets() {
                let attached_end = self.payloads.attach(self.receiver.promise_end());
                let has_more = attached_end.distance(self.receiver.limit()) > 0;
                if has_more && !is_blocked {
                    return None;
                }
            }
        }
        // What has broken off is to be delivered at once, which waits for the program here.
        let is_delivering = is_blocked && matches!(self.receiver.phase(), Phase::Breaking(_));
        let due_at = self.due_at.or_else(|| self.receiver.poll_timeout(now));
        let due_at = due_at.filter(|_| !is_delivering);
        let mut until = due_at.unwrap_or(now + SLEEP_MAX);
        if let Some(at) = self.slots.as_ref().and_then(|slots| slots.poll_timeout()) {
            until = until.min(at);
        }
        until = until.min(now + SLEEP_MAX);
        if is_blocked {
            until = (now + WAIT_MAX).min(until.max(now));
        } else if let Some(held_until) = self.held_until
            && !self.receiver.has_waiting()
        {
            until = until.min(held_until);
        }
        Some(until)
    }

    /// Whether the window could use another free quantum.
    fn needs_quanta(&self) -> bool {
        self.receiver.takes_packets() && self.payloads.needs_quanta(self.receiver.promise_end())
    }

    /// Whether to publish the counters.
    pub(crate) fn is_publishing(&self, now: Nanos, is_idle: bool) -> bool {
        let pause = if is_idle { PUBLISH_PAUSE_IDLE } else { PUBLISH_PAUSE };
        now.since(self.published_at) >= pause || self.receiver.is_ended()
    }

    pub(crate) fn publish(&mut self, now: Nanos) {
        self.published_at = now;
        self.snapshot.stream = *self.receiver.stats();
        if let Some(slots) = &self.slots {
            slots.add_to(&mut self.snapshot.stream);
        }
        self.snapshot.stalls = self.stalls;
        self.snapshot.rtt_ns = self.receiver.rtt().0;
        self.snapshot.credit = self.receiver.credit();
        self.snapshot.window = self.receiver.window();
        self.snapshot.silent_ns = self.receiver.silence(now).0;
        self.snapshot.dead_after_ns = self.receiver.dead_after().0;
        self.publisher.publish(&self.snapshot);
    }
}

/// Room for the parts of one quantum: each packet may have a gap, a run and two tags.
const fn parts_max(quantum_packets: u32) -> usize {
    quantum_packets as usize * (3 + META_TAGS_MAX) + 4
}

/// Room in the ring of items for the delivery of a window of packets.
pub(crate) const fn items_max(window: u32, quantum_packets: u32) -> usize {
    2 * window as usize + 2 * parts_max(quantum_packets)
}

/// Maximum number of tags per META packet; more are skipped.
const META_TAGS_MAX: usize = 4;

/// How long samples of a paused stream may wait for their quantum to fill, unless a player takes
/// them. Also how often the thread checks whether a slow program has made room.
pub(crate) const WAIT_MAX: Nanos = Nanos::from_millis(1);

/// A batch of this many packets is likely to be followed by more.
const HANDLED_FULL: u32 = BATCH_PACKETS as u32 / 2;

/// While packets keep coming, the program is woken once per this many quanta, or per this part of
/// the window: a wake costs more than checking a quantum.
const UNRUNG_MAX: usize = 4;
const UNRUNG_SHARE: usize = 16;

const SLEEP_MAX: Nanos = Nanos::from_millis(100);
const PUBLISH_PAUSE: Nanos = Nanos::from_millis(20);
const PUBLISH_PAUSE_IDLE: Nanos = Nanos::from_millis(2);

#[cfg(test)]
mod tests;

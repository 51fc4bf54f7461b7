//! The receiver's I/O thread: link -> protocol -> quanta -> ring of items.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use samplewire_circuit::{Quantum, SharedQuantum, Tag, TagKind};
use samplewire_io::{Batch, Ecn, Link, LinkError, Outgoing};
use samplewire_proto::receiver::{Delivered, Placement, REPORT_BYTES, Receiver, RecvSlot};
use samplewire_proto::stream::End;
use samplewire_proto::wire::{self, Flags, Packet, TlvKind, Tlvs, WireError};
use samplewire_proto::{Gap, Nanos, SampleIndex};

use super::guard::Guard;
use super::places::Places;
use super::shared::{Shared, Snapshot};
use crate::port::Clock;

/// What goes to the program, in order.
#[derive(Debug)]
pub(super) enum Item {
    /// Samples without a gap inside.
    Run { samples: SharedQuantum, run: Run },
    /// Samples that are missing before the next run.
    Gap(Gap),
    /// What changed at an index of the next run, or at the end of the last.
    Tag(Tag),
    /// The stream is over.
    End(Result<End, LinkError>),
}

/// Consecutive samples within a quantum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) offset_bytes: usize,
    pub(super) len_bytes: usize,
    pub(super) index: SampleIndex,
    pub(super) len_samples: usize,
}

/// What has been delivered of the quantum that is being filled.
#[derive(Clone, Copy, Debug)]
enum Part {
    Run(Run),
    Gap(Gap),
    Tag(Tag),
}

/// Everything the thread owns.
pub(super) struct Engine {
    link: Box<dyn Link>,
    peer: SocketAddr,
    clock: Clock,
    receiver: Receiver<Box<[RecvSlot]>>,
    places: Places,
    batch: Batch,
    items: rtrb::Producer<Item>,
    shared: Arc<Shared>,
    frame_bytes: usize,
    guard: Guard,
    /// Packets that were none of the protocol and carried another tag.
    strays: u64,
    parts: Vec<Part>,
    /// A quantum that is delivered and waits for room in the ring of items.
    blocked: Option<Option<Quantum>>,
    /// Since when samples wait in a quantum that is not full.
    waits_since: Option<Nanos>,
    local_drops: Option<u32>,
    /// How the stream ended, until the program has been told.
    end: Option<Result<End, LinkError>>,
    snapshot: Snapshot,
    published_at: Nanos,
}

impl Engine {
    pub(super) fn new(
        (link, peer, clock): (Box<dyn Link>, SocketAddr, Clock),
        (receiver, guard): (Receiver<Box<[RecvSlot]>>, Guard),
        places: Places,
        batch: Batch,
        items: rtrb::Producer<Item>,
        shared: Arc<Shared>,
        frame_bytes: usize,
    ) -> Self {
        let parts = Vec::with_capacity(parts_max(places.quantum_packets()));
        Self {
            link,
            peer,
            clock,
            receiver,
            places,
            batch,
            items,
            shared,
            frame_bytes,
            guard,
            strays: 0,
            parts,
            blocked: None,
            waits_since: None,
            local_drops: None,
            end: None,
            snapshot: Snapshot::default(),
            published_at: Nanos(0),
        }
    }

    /// Runs until the stream has ended, its end is acknowledged and the program has everything.
    pub(super) fn run(mut self) {
        while !self.receiver.is_ended() || self.end.is_some() {
            if let Err(error) = self.turn() {
                self.end = Some(Err(error));
                self.finish_without_link();
                break;
            }
            if self.shared.is_stopped() && self.receiver.is_ended() {
                break;
            }
        }
        self.publish(self.clock.now(), true);
    }

    fn turn(&mut self) -> Result<(), LinkError> {
        let now = self.clock.now();
        self.link.recv(&mut self.batch)?;
        let is_idle = self.batch.is_empty();
        self.take_arrivals(now);
        if self.shared.is_stopped() {
            self.receiver.cancel(now);
        }
        self.receiver.handle_timeout(now);
        self.receiver.set_consumed(self.shared.consumed());
        self.deliver(now);
        self.grant();
        self.transmit(now)?;
        if let Some(end) = self.receiver.poll_event() {
            self.publish_now(now);
            self.end = Some(Ok(end));
        }
        self.finish();
        self.publish(now, is_idle);
        if is_idle { self.wait(now) } else { Ok(()) }
    }

    /// What has arrived is still the program's when the link fails.
    fn finish_without_link(&mut self) {
        while self.end.is_some() && !self.shared.is_stopped() {
            self.finish();
            std::thread::sleep(Duration::from_nanos(WAIT_MAX.0));
        }
    }

    fn take_arrivals(&mut self, now: Nanos) {
        for (bytes, meta) in &self.batch {
            if meta.peer != self.peer {
                self.snapshot.foreign += 1;
                continue;
            }
            if let Some(dropped) = meta.dropped {
                let fresh = dropped.wrapping_sub(self.local_drops.unwrap_or(0));
                self.local_drops = Some(dropped);
                self.snapshot.socket_dropped += u64::from(fresh);
                self.receiver.note_local_drops(fresh);
            }
            match wire::parse(bytes) {
                Ok((header, Packet::Data(body))) => {
                    let is_marked = meta.ecn == Ecn::Ce;
                    let placement = self.receiver.handle_data(now, &header, body, is_marked);
                    if let Placement::Store { seq, payload_at } = placement {
                        self.places.store(seq, &body[payload_at..]);
                    }
                }
                Ok((header, packet)) => {
                    self.receiver.handle(now, &header, &packet);
                }
                Err(error) => {
                    self.strays += u64::from(self.guard.is_stray(bytes));
                    match error {
                        WireError::Crc => self.snapshot.corrupted += 1,
                        _ => self.snapshot.foreign += 1,
                    }
                }
            }
        }
    }

    /// Moves everything that is in order into the hands of the program.
    fn deliver(&mut self, now: Nanos) {
        if let Some(quantum) = self.blocked.take()
            && !self.flush(quantum)
        {
            return;
        }
        let parts_before = self.parts.len();
        while let Some(delivered) = self.receiver.poll_delivery(now) {
            let full = match delivered {
                Delivered::Gap(gap) => {
                    self.parts.push(Part::Gap(gap));
                    continue;
                }
                Delivered::Skipped { .. } => self.places.advance(),
                Delivered::Packet { index, samples, flags, .. } => {
                    if flags.contains(Flags::META) {
                        self.push_meta(index);
                    } else {
                        self.push_packet(index, samples, flags);
                    }
                    self.places.advance()
                }
            };
            if let Some(quantum) = full
                && !self.flush(Some(quantum))
            {
                return;
            }
        }
        self.hand_over_late(now, self.parts.len() != parts_before);
    }

    /// Appends a packet's samples to the last run, or starts one.
    fn push_packet(&mut self, index: SampleIndex, samples: u32, flags: Flags) {
        let (offset_bytes, len_samples) = (self.places.next_offset(), samples as usize);
        let len_bytes = len_samples * self.frame_bytes;
        if flags.contains(Flags::START) {
            self.push_tag(index, TagKind::Start);
        }
        match self.parts.last_mut() {
            Some(Part::Run(run))
                if run.offset_bytes + run.len_bytes == offset_bytes
                    && run.index + run.len_samples as u64 == index =>
            {
                run.len_bytes += len_bytes;
                run.len_samples += len_samples;
            }
            _ => self.parts.push(Part::Run(Run { offset_bytes, len_bytes, index, len_samples })),
        }
        if flags.contains(Flags::END_OF_BURST) {
            self.push_tag(index + u64::from(samples), TagKind::EndOfBurst);
        }
    }

    /// Turns the TLVs of a META packet into tags; those of a later version are skipped.
    fn push_meta(&mut self, index: SampleIndex) {
        let mut kinds = arrayvec::ArrayVec::<TagKind, META_TAGS_MAX>::new();
        if let Ok(tlvs) = Tlvs::parse(self.places.next_payload()) {
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

    /// Samples must not wait for their quantum to fill when the stream pauses.
    fn hand_over_late(&mut self, now: Nanos, has_grown: bool) {
        if self.parts.is_empty() {
            self.waits_since = None;
        } else if has_grown || self.waits_since.is_none() {
            self.waits_since = Some(now);
        } else if self.waits_since.is_some_and(|since| now.since(since) >= WAIT_MAX)
            && !self.receiver.has_waiting()
            && let Some(quantum) = self.places.exchange()
        {
            self.flush(Some(quantum));
        }
    }

    /// Hands the rest over at the end of the stream, as the ring of items has room.
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
            let last = self.places.take_last();
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

    /// Pushes the parts of a quantum to the program; keeps all of them when the ring has no room.
    fn flush(&mut self, quantum: Option<Quantum>) -> bool {
        if self.items.slots() < self.parts.len() {
            self.blocked = Some(quantum);
            return false;
        }
        self.waits_since = None;
        let samples = quantum.map(Quantum::share);
        for part in self.parts.drain(..) {
            let item = match (part, &samples) {
                (Part::Run(run), Some(samples)) => Item::Run { samples: samples.clone(), run },
                (Part::Run(_), None) => unreachable!("a run lies in a quantum"),
                (Part::Gap(gap), _) => Item::Gap(gap),
                (Part::Tag(tag), _) => Item::Tag(tag),
            };
            self.items.push(item).expect("the room was checked");
        }
        self.shared.bell.ring();
        true
    }

    fn grant(&mut self) {
        let promise_end = self.receiver.promise_end();
        let attached_end = self.places.attach(promise_end);
        self.receiver.grant(attached_end.min(promise_end));
    }

    fn transmit(&mut self, now: Nanos) -> Result<(), LinkError> {
        let mut out = [0; REPORT_BYTES];
        while let Some(len) = self.receiver.poll_transmit(now, &mut out) {
            let packet =
                Outgoing { peer: self.peer, ecn: Ecn::NotEct, parts: [&out[..len], &[], &[]] };
            // A REPORT that finds the socket full is as good as lost: the next one says more.
            self.link.send(&[packet])?;
        }
        Ok(())
    }

    fn wait(&mut self, now: Nanos) -> Result<(), LinkError> {
        let promise_end = self.receiver.promise_end();
        let is_blocked = self.blocked.is_some() || self.end.is_some();
        if is_blocked || self.places.lacks_quanta(promise_end) {
            self.shared.starve();
            let has_more = self.places.attach(promise_end).distance(self.receiver.limit()) > 0;
            if has_more && !is_blocked && !self.receiver.is_ended() {
                return Ok(());
            }
            self.snapshot.starved += u64::from(!self.receiver.has_open_credit());
        }
        let mut until = self.receiver.poll_timeout(now).unwrap_or(now + SLEEP_MAX);
        until = until.min(now + SLEEP_MAX);
        if let Some(since) = self.waits_since
            && !self.receiver.has_waiting()
        {
            until = until.min((since + WAIT_MAX).max(now + WAIT_MAX));
        }
        if is_blocked {
            until = (now + WAIT_MAX).min(until.max(now));
        }
        let span = until.since(self.clock.now());
        if span > Nanos(0) {
            self.link.wait(Duration::from_nanos(span.0))?;
        }
        Ok(())
    }

    fn publish(&mut self, now: Nanos, is_idle: bool) {
        let pause = if is_idle { PUBLISH_PAUSE_IDLE } else { PUBLISH_PAUSE };
        if now.since(self.published_at) >= pause || self.receiver.is_ended() {
            self.publish_now(now);
        }
    }

    fn publish_now(&mut self, now: Nanos) {
        self.published_at = now;
        self.snapshot.stream = *self.receiver.stats();
        let strays = self.strays + self.snapshot.stream.foreign;
        self.guard.watch(now, strays, &mut *self.link);
        self.snapshot.rtt_ns = self.receiver.rtt().0;
        self.shared.publish(&self.snapshot);
    }
}

/// Room for the parts of one quantum: each packet may have a gap, a run and two tags.
const fn parts_max(quantum_packets: u32) -> usize {
    quantum_packets as usize * (3 + META_TAGS_MAX) + 4
}

/// Room in the ring of items for a window of packets under delivery.
pub(super) const fn items_max(window: u32, quantum_packets: u32) -> usize {
    2 * window as usize + 2 * parts_max(quantum_packets)
}

/// Tags that one META packet may set; more are skipped.
const META_TAGS_MAX: usize = 4;

/// How long samples may wait for their quantum to fill once the stream pauses.
const WAIT_MAX: Nanos = Nanos::from_millis(1);

const SLEEP_MAX: Nanos = Nanos::from_millis(100);
const PUBLISH_PAUSE: Nanos = Nanos::from_millis(20);
const PUBLISH_PAUSE_IDLE: Nanos = Nanos::from_millis(2);

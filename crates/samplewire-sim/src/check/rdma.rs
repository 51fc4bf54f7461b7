//! Streams over RDMA ([protocol 13](../../../../docs/protocol.md#13)): books of both queue pairs, kept by
//! the frames that leave and reach each end.
//!
//! A connection delivers in order and once, so the place of a frame among the requests of its queue pair
//! says all of it: the packet, and the part of that. The books need no copy of the queue pairs' rules.

use samplewire_proto::wire::{
    Flags, QueuePairTerms, RECORD_LEN, SlotRecord, SlotRegion, record_at,
};
use samplewire_proto::{Nanos, SampleIndex, Seq};
use samplewire_roce::wire::{Body, Frame, NakCode, Packet, Syndrome};
use samplewire_roce::{Psn, Qpn};

use super::session::{Session, Side, samples_of};
use crate::payload;

/// What an opening settled of RDMA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RdmaTerms {
    pub(crate) sender: QueuePairTerms,
    pub(crate) receiver: QueuePairTerms,
    pub(crate) slots: SlotRegion,
}

/// Both queue pairs.
#[derive(Debug)]
pub(super) struct QueuePairs {
    pub(super) terms: RdmaTerms,
    first_psn: Psn,
    first_seq: Seq,
    mtu_bytes: usize,
    /// Of a WRITE.
    packets: u64,
    write_bytes: usize,
    /// Requests up to the last that has left, those that the sender knows to be acknowledged, and those
    /// that the receiver has taken: counts since the first.
    left: u64,
    acked: u64,
    taken: u64,
    /// Since when, by the sender's clock, the oldest request waits.
    waits_since: Nanos,
    has_failed: bool,
    /// It failed when its receiver had all: the stream ends as it would have.
    is_complete: bool,
    /// A CLOSE has said so.
    has_closed: bool,
    /// What the sender had posted and released before its latest turn.
    posted_before: Seq,
    released_before: Seq,
    released: Seq,
}

impl QueuePairs {
    pub(super) fn new(terms: RdmaTerms, payload_bytes: u16, first_seq: Seq) -> Self {
        let mtu_bytes = terms.sender.path_mtu_bytes.min(terms.receiver.path_mtu_bytes).into();
        let write_bytes = record_at(payload_bytes) + RECORD_LEN;
        Self {
            first_psn: Psn::new(terms.sender.first_psn),
            terms,
            first_seq,
            mtu_bytes,
            packets: write_bytes.div_ceil(mtu_bytes) as u64,
            write_bytes,
            left: 0,
            acked: 0,
            taken: 0,
            waits_since: Nanos(0),
            has_failed: false,
            is_complete: false,
            has_closed: false,
            posted_before: first_seq,
            released_before: first_seq,
            released: first_seq,
        }
    }

    /// The WRITEs before it are complete at the sender.
    fn written(&self) -> Seq {
        self.seq_of(self.acked)
    }

    /// The packet of a request.
    fn seq_of(&self, request: u64) -> Seq {
        self.first_seq + (request / self.packets) as u32
    }

    /// Requests of the packets before `end`, which is not before what is acknowledged.
    fn requests_before(&self, end: Seq) -> u64 {
        u64::from(end - self.first_seq) * self.packets
    }

    /// The count of a request that is `from`, or one of the 2^23 before or after it.
    fn request_of(&self, psn: Psn, from: u64) -> Option<u64> {
        let distance = psn.distance(self.first_psn + from as u32);
        from.checked_add_signed(distance.into())
    }

    /// Whether a frame is part of the packet that it must be.
    fn check_write(&self, request: u64, packet: &Packet<'_>) -> Result<(), String> {
        let Body::Request { reth, immediate, payload } = packet.body else {
            return Err(format!("{packet:?} of a sender"));
        };
        let seq = self.seq_of(request);
        let offset = (request % self.packets) as usize * self.mtu_bytes;
        let slots = &self.terms.slots;
        let is_placed = match reth {
            Some(reth) => {
                let place = (slots.rkey, slots.address_of(seq), self.write_bytes as u32);
                offset == 0 && (reth.key, reth.address, reth.len_bytes) == place
            }
            None => offset != 0,
        };
        let is_last = offset + self.mtu_bytes >= self.write_bytes;
        let is_named = immediate == is_last.then_some(seq.0);
        let len_bytes = self.mtu_bytes.min(self.write_bytes - offset);
        if is_placed && is_named && payload.len() == len_bytes {
            return Ok(());
        }
        Err(format!("{packet:?} at {offset} of packet {seq}: docs/protocol.md#13.4"))
    }
}

impl Session {
    pub(crate) const fn is_rdma(&self) -> bool {
        self.queue_pairs.is_some()
    }

    pub(crate) fn rdma(&self) -> Option<&RdmaTerms> {
        self.queue_pairs.as_deref().map(|it| &it.terms)
    }

    /// The number of the queue pair at one end, and the PSN that it takes next.
    pub(crate) fn expected(&self, is_sender: bool) -> Option<(Qpn, Psn)> {
        let books = self.queue_pairs.as_deref()?;
        let (own, taken) = if is_sender {
            (books.terms.sender, books.acked)
        } else {
            (books.terms.receiver, books.taken)
        };
        Some((Qpn::new(own.qpn), books.first_psn + taken as u32))
    }

    /// What a sender may let go of when the receiver has accounted for the packets before
    /// `accounted`: not what its queue pair may read again (`docs/protocol.md#13.5`).
    pub(super) fn released_of(&self, accounted: Seq) -> Seq {
        match &self.queue_pairs {
            Some(books) if !books.has_failed => {
                let written = books.written();
                if accounted.before(written) { accounted } else { written }
            }
            _ => accounted,
        }
    }

    /// Notes what a sender over RDMA has posted at `now`, by its clock; how many packets.
    pub(crate) fn posted_up_to(&mut self, now: Nanos, end: Seq) -> Result<u64, String> {
        let (sent, limit) = (self.feedback.sent, self.feedback.limit);
        let Some(books) = self.queue_pairs.as_mut().filter(|_| !self.is_forged) else {
            return Ok(0);
        };
        (books.posted_before, books.released_before) = (sent, books.released);
        let posted = end - sent;
        if posted > 0 && (limit.before(end) || self.pushed_end.before(end)) {
            let pushed_end = self.pushed_end;
            return Err(format!("packets {sent}..{end} posted of {pushed_end}, limit {limit}"));
        }
        if posted > 0 && books.acked == books.requests_before(sent) {
            books.waits_since = now;
        }
        self.feedback.sent = end;
        Ok(posted.into())
    }

    /// Holds what a sender over RDMA has released: what is accounted for, and complete at its queue pair.
    pub(crate) fn check_released(&mut self, released: Seq) -> Result<(), String> {
        let known = self.released_of(self.feedback.oldest);
        let Some(books) = self.queue_pairs.as_mut().filter(|_| !self.is_forged) else {
            return Ok(());
        };
        if known.before(released) || released.before(books.released) {
            let before = books.released;
            return Err(format!("released at {before}, then {released}, may be {known}"));
        }
        books.released = released;
        Ok(())
    }

    /// Whether a MARK says where its sender over RDMA stood in its latest turn: it is written before the
    /// turn has posted and heard all.
    pub(super) fn is_within_turn(&self, sent: Seq, oldest: Seq) -> bool {
        let Some(books) = &self.queue_pairs else { return false };
        let released = self.released_of(self.feedback.oldest);
        sent.within(books.posted_before, self.feedback.sent + 1)
            && oldest.within(books.released_before, released + 1)
    }

    /// Holds a frame that leaves the sender against what it is part of; whether it has left before.
    pub(crate) fn leaves_sender(&mut self, frame: &Frame<'_>) -> Result<bool, String> {
        let (sent, front) = (self.feedback.sent, self.front.next_seq);
        let Some(books) = self.queue_pairs.as_mut().filter(|_| !self.is_forged) else {
            return Ok(false);
        };
        let packet = frame.packet();
        if packet.body == Body::Cnp {
            return Ok(false);
        }
        // Some leave the queue pair and get no further: their station is not known yet.
        let (psn, possible) = (packet.bth.psn, books.acked..books.requests_before(sent));
        let request = books.request_of(psn, books.left).filter(|it| possible.contains(it));
        let Some(request) = request else {
            return Err(format!("request {psn} of {possible:?} leaves"));
        };
        let is_repeat = request < books.left;
        books.left = books.left.max(request + 1);
        books.check_write(request, &packet)?;
        let seq = books.seq_of(request);
        let offset = (request % books.packets) as usize * books.mtu_bytes;
        // The receiver may have forgotten what it has accounted for.
        if !seq.before(front) {
            self.check_bytes(seq, offset, &packet)?;
        }
        Ok(is_repeat)
    }

    /// Holds the bytes of a WRITE from `offset` on.
    fn check_bytes(&self, seq: Seq, offset: usize, packet: &Packet<'_>) -> Result<(), String> {
        let Body::Request { payload, .. } = packet.body else { return Ok(()) };
        if self.breach.is_some() {
            return Ok(());
        }
        let (record, agreed) = (*self.record(seq), &self.agreed);
        let frame_bytes = usize::from(agreed.payload_bytes) / agreed.packet_samples as usize;
        let valid_bytes = record.samples as usize * frame_bytes;
        let mut right = [0; payload::BYTES_MAX];
        let right = &mut right[..valid_bytes];
        payload::write(agreed.key, record.index, record.samples, record.flags, right);
        let part = right.get(offset..(offset + payload.len()).min(valid_bytes)).unwrap_or(&[]);
        if record.seq != seq || !payload.starts_with(part) {
            return Err(format!("a WRITE of packet {seq} leaves with wrong bytes: {record:?}"));
        }
        let Some(at) = record_at(agreed.payload_bytes).checked_sub(offset) else { return Ok(()) };
        let Some(bytes) = payload.get(at..).and_then(<[u8]>::first_chunk) else { return Ok(()) };
        let said = SlotRecord::parse(bytes, seq.0).map_err(|error| error.to_string())?;
        let flags = Flags::START | Flags::END_OF_BURST | Flags::OVERFLOW | Flags::META;
        let known = (record.index, record.samples, record.lost_before);
        let is_true = (said.index, said.samples, said.lost_before) == known
            && said.flags.0 == record.flags.0 & flags.0;
        if is_true { Ok(()) } else { Err(format!("{said:?} of {record:?}")) }
    }

    /// Notes a whole frame that reaches the sender; `now` is its clock.
    pub(crate) fn reaches_sender(&mut self, now: Nanos, frame: &Frame<'_>) {
        let Some(books) = &mut self.queue_pairs else { return };
        let packet = frame.packet();
        let Body::Acknowledge(aeth) = packet.body else { return };
        let waiting = books.acked..books.left;
        let about = books.request_of(packet.bth.psn, books.acked).filter(|it| waiting.contains(it));
        let Some(about) = about else { return };
        let acked = match aeth.syndrome {
            Syndrome::Ack(_) => about + 1,
            Syndrome::RnrNak(_) | Syndrome::Nak(_) => about,
            Syndrome::Reserved(_) => return,
        };
        if acked > books.acked {
            (books.acked, books.waits_since) = (acked, now);
        }
    }

    /// Holds a frame that leaves the receiver: it acknowledges what was taken, and nothing else.
    pub(crate) fn leaves_receiver(&self, frame: &Frame<'_>) -> Result<(), String> {
        let Some(books) = self.queue_pairs.as_ref().filter(|_| !self.is_forged) else {
            return Ok(());
        };
        let packet = frame.packet();
        let said = match packet.body {
            Body::Cnp => return Ok(()),
            Body::Acknowledge(aeth) => match aeth.syndrome {
                Syndrome::Ack(_) => Some(packet.bth.psn + 1),
                Syndrome::Nak(NakCode::SequenceError) => Some(packet.bth.psn),
                _ => None,
            },
            _ => None,
        };
        if said == Some(books.first_psn + books.taken as u32) {
            return Ok(());
        }
        Err(format!("{packet:?} of a receiver that has taken {} requests", books.taken))
    }

    /// Notes a whole frame that reaches the receiver; `now` is its clock.
    pub(crate) fn reaches_receiver(&mut self, now: Nanos, frame: &Frame<'_>) -> Result<(), String> {
        let Some(books) = self.queue_pairs.as_mut() else { return Ok(()) };
        let packet = frame.packet();
        let Body::Request { immediate, .. } = packet.body else { return Ok(()) };
        if packet.bth.psn != books.first_psn + books.taken as u32 {
            return Ok(());
        }
        books.taken += 1;
        match immediate {
            Some(seq) if !self.is_forged => self.written(now, Seq(seq)),
            _ => Ok(()),
        }
    }

    /// A WRITE is complete at the receiver.
    fn written(&mut self, now: Nanos, seq: Seq) -> Result<(), String> {
        // Given up before: the queue pair of its sender has failed.
        if seq != self.highest_end || self.receiver != Side::Live {
            return Ok(());
        }
        if !seq.before(self.granted) {
            return Err(format!("packet {seq} was written beyond the credit"));
        }
        self.record_mut(seq).has_arrived = true;
        self.held_packets += 1;
        if self.held_packets > self.agreed.receive_window {
            return Err(format!("{} packets held, more than the window", self.held_packets));
        }
        self.receiver_heard_at = now;
        self.feedback.received += 1;
        self.highest_end += 1;
        Ok(())
    }

    /// Whether a sender that closes has let go of more than its queue pair has completed: this has
    /// failed then.
    pub(crate) fn is_ahead_of_queue_pair(&self, released: Seq) -> bool {
        self.queue_pairs.as_ref().is_some_and(|it| it.written().before(released))
    }

    /// The queue pair of the sender has failed; `now` is its clock. Whether it had not before. The
    /// stream ends as it would have where the receiver has all.
    pub(crate) fn queue_pair_failed(
        &mut self,
        now: Nanos,
        is_complete: bool,
    ) -> Result<bool, String> {
        let (sent, patience) = (self.feedback.sent, self.agreed.dead_after);
        let Some(books) = self.queue_pairs.as_mut().filter(|it| !it.has_failed) else {
            return Ok(false);
        };
        (books.has_failed, books.is_complete) = (true, is_complete);
        let waited = now.since(books.waits_since);
        let (acked, posted) = (books.acked, books.requests_before(sent));
        if !self.is_forged && (acked == posted || waited < patience) {
            return Err(format!("queue pair failed, {acked} of {posted}, after {} ns", waited.0));
        }
        self.is_cut |= !is_complete;
        Ok(true)
    }

    /// Follows a CLOSE of a queue pair that failed in the turn in which its sender had taken more of its
    /// program than is known: of what it dropped the first packet says where it ends, and all of them
    /// what was lost before them.
    pub(super) fn follow_swallowed(&mut self, index: SampleIndex, source_lost: u64) {
        let Some(books) = self.queue_pairs.as_mut() else { return };
        if std::mem::replace(&mut books.has_closed, true) {
            return;
        }
        let (mut lost, mut end, mut ends) = (0, self.taken_index, self.final_index());
        for (place, packet) in self.submitted.iter().enumerate() {
            if packet.flags.contains(Flags::OVERFLOW) {
                let jump = packet.index - end;
                lost += jump;
                if place == 0 && end == self.pushed_index {
                    ends = end + jump;
                }
            }
            if (index, source_lost) == (ends, self.feedback.source_lost + lost) {
                self.lost_at_end = index - self.pushed_index;
                self.feedback.source_lost = source_lost;
                return;
            }
            end = packet.index + u64::from(samples_of(packet, self.agreed.packet_samples));
        }
    }

    /// Whether the stream ends by a queue pair that failed.
    pub(super) fn has_queue_pair_failed(&self) -> bool {
        self.queue_pairs.as_ref().is_some_and(|it| it.has_failed && !it.is_complete)
    }
}

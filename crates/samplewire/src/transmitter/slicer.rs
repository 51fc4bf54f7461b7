//! Cuts a quantum of samples into packets, as the window has room.

use samplewire_circuit::Quantum;
use samplewire_proto::crc::crc32c;
use samplewire_proto::sender::{NewPacket, PushError, SendSlot, Sender};
use samplewire_proto::wire::Flags;
use samplewire_proto::{SampleIndex, Seq};

use super::outbox::OUTBOX_PACKETS;
use super::retransmit_buffer::RetransmitBuffer;

/// What packets of a session look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Payload of a full packet.
    pub(crate) payload_bytes: usize,
    /// Bytes of one sample of all channels.
    pub(crate) frame_bytes: usize,
    /// The payload that ends a burst is a multiple of this (`docs/protocol.md#6.5`).
    pub(crate) granularity_bytes: usize,
}

/// A quantum of which not all packets are pushed.
#[derive(Debug)]
pub(super) struct Slicer {
    quantum: u32,
    offset_bytes: usize,
    left_bytes: usize,
    index: SampleIndex,
    flags: Flags,
    /// The burst ends with these samples, and no packet has said so.
    ends_burst: bool,
    form: Form,
}

impl Slicer {
    /// Starts on `quantum`, which holds `len_bytes` of samples and has room for one payload more.
    pub(super) fn new(
        held: &mut RetransmitBuffer,
        quantum: Quantum,
        len_bytes: usize,
        index: SampleIndex,
        flags: Flags,
        form: Form,
    ) -> Self {
        let quantum = held.insert(quantum);
        let ends_burst = flags.contains(Flags::END_OF_BURST);
        let flags = flags.without(Flags::END_OF_BURST);
        Self { quantum, offset_bytes: 0, left_bytes: len_bytes, index, flags, ends_burst, form }
    }

    /// Pushes packets while they depart soon; `true` when all are pushed.
    pub(super) fn push<S: AsRef<[SendSlot]> + AsMut<[SendSlot]>>(
        &mut self,
        sender: &mut Sender<S>,
        held: &mut RetransmitBuffer,
    ) -> Result<bool, PushError> {
        while self.left_bytes > 0 || self.ends_burst {
            if !self.form.has_room(sender) {
                return Ok(false);
            }
            let taken_bytes = self.push_one(sender, held)?;
            self.offset_bytes += self.form.payload_bytes;
            self.left_bytes -= taken_bytes;
            self.index += (taken_bytes / self.form.frame_bytes) as u64;
            self.flags = Flags::NONE;
        }
        held.close(self.quantum, sender.next_seq());
        Ok(true)
    }

    fn push_one<S: AsRef<[SendSlot]> + AsMut<[SendSlot]>>(
        &mut self,
        sender: &mut Sender<S>,
        held: &mut RetransmitBuffer,
    ) -> Result<usize, PushError> {
        let payload_bytes = self.form.payload_bytes;
        let (taken_bytes, flags, len_bytes) = if self.left_bytes >= payload_bytes {
            (payload_bytes, self.flags, payload_bytes)
        } else {
            let (taken_bytes, len_bytes) = self.end_burst(held);
            self.ends_burst &= taken_bytes < self.left_bytes;
            (taken_bytes, self.flags | Flags::END_OF_BURST, len_bytes)
        };
        let seq: Seq = sender.next_seq();
        let data = held.quantum_mut(self.quantum).data();
        let payload = &data[self.offset_bytes..self.offset_bytes + len_bytes];
        let packet = NewPacket {
            index: self.index,
            flags,
            burst_samples: (taken_bytes / self.form.frame_bytes) as u32,
            len_bytes: len_bytes as u16,
            payload_crc: crc32c(payload),
        };
        held.set_place(seq, self.quantum, self.offset_bytes);
        sender.push(packet)?;
        Ok(taken_bytes)
    }

    /// Ends the burst in this packet: pads the samples and writes how many are valid. Samples that
    /// do not fit beside their count move to a packet of their own. The bytes of samples, and of
    /// payload.
    fn end_burst(&self, held: &mut RetransmitBuffer) -> (usize, usize) {
        let Form { payload_bytes, frame_bytes, granularity_bytes } = self.form;
        let room = (payload_bytes - COUNT_BYTES) / frame_bytes * frame_bytes;
        let taken_bytes = self.left_bytes.min(room);
        let (start, next) = (self.offset_bytes, self.offset_bytes + payload_bytes);
        let data = held.quantum_mut(self.quantum).data_mut();
        data.copy_within(start + taken_bytes..start + self.left_bytes, next);
        let len_bytes = (taken_bytes + COUNT_BYTES).next_multiple_of(granularity_bytes);
        let count_at = len_bytes - COUNT_BYTES;
        data[start + taken_bytes..start + count_at].fill(0);
        let samples = (taken_bytes / frame_bytes) as u64;
        data[start + count_at..start + len_bytes].copy_from_slice(&samples.to_be_bytes());
        (taken_bytes, len_bytes)
    }
}

impl Form {
    /// Whether a packet more is to be pushed: the window has room for it, and it will depart soon,
    /// while the bytes that its CRC was taken of are still in a cache.
    pub(super) fn has_room<S>(&self, sender: &Sender<S>) -> bool
    where
        S: AsRef<[SendSlot]> + AsMut<[SendSlot]>,
    {
        let waiting = sender.waiting() as usize;
        let is_soon =
            waiting < OUTBOX_PACKETS && (waiting + 1) * self.payload_bytes <= WAITING_BYTES;
        sender.free_slots() > 0 && (waiting == 0 || is_soon)
    }
}

/// What is pushed and has not departed, at most: a part of a core's own cache.
const WAITING_BYTES: usize = 256 << 10;

/// The count of valid samples that ends the last packet of a burst.
const COUNT_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use samplewire_circuit::{Pool, PoolConfig};
    use samplewire_proto::sender::SenderConfig;
    use samplewire_proto::stream::{Carriage, Terms};
    use samplewire_proto::{Nanos, Tag};

    use super::*;

    const PAYLOAD: usize = 192;

    fn terms(payload_bytes: usize, window: u32) -> Terms {
        Terms {
            local_tag: Tag(1),
            peer_tag: Tag(2),
            is_opener: true,
            first_seq: Seq(0),
            first_index: 0,
            packet_samples: payload_bytes as u32 / 4,
            payload_bytes: payload_bytes as u16,
            payload_offset: 22,
            window,
            reorder_tolerance: 0,
            dead_after: Nanos::from_millis(15_000),
            idle_after: Nanos::from_millis(100),
            ranges_max: 32,
            rtt: Nanos(0),
            carriage: Carriage::Data,
        }
    }

    /// What `samples` of 4 bytes that end a burst become: the payload of each packet, in bytes, and
    /// the count in its last 8.
    fn ends(samples: usize, granularity_bytes: usize) -> Vec<(usize, u64)> {
        let terms = terms(PAYLOAD, 8);
        let slots = vec![SendSlot::default(); 8];
        let mut sender = Sender::new(terms, SenderConfig::default(), slots, Nanos(0)).unwrap();
        let mut held = RetransmitBuffer::new(8, 1);
        let pool = Pool::new(PoolConfig::new(1, 4 * PAYLOAD)).unwrap();
        let mut quantum = pool.take().unwrap();
        quantum.set_len(4 * PAYLOAD);
        quantum.data_mut().fill(0xFF);
        let form = Form { payload_bytes: PAYLOAD, frame_bytes: 4, granularity_bytes };
        let flags = Flags::START | Flags::END_OF_BURST;
        let mut slicer = Slicer::new(&mut held, quantum, 4 * samples, 0, flags, form);
        assert!(slicer.push(&mut sender, &mut held).unwrap());
        assert_eq!(sender.next_index(), samples as u64);
        let payload_of = |seq: u32| held.payload(Seq(seq), PAYLOAD);
        let full = (samples / (PAYLOAD / 4)) as u32;
        (full..sender.next_seq().0)
            .map(|seq| {
                let payload = payload_of(seq);
                // The count is the first that is no sample: samples are all ones, padding is zero.
                let len_bytes = (0..=PAYLOAD - COUNT_BYTES)
                    .step_by(granularity_bytes)
                    .filter(|end| *end >= COUNT_BYTES)
                    .chain([PAYLOAD])
                    .find(|end| payload[end - 8] == 0)
                    .unwrap();
                let count = payload[len_bytes - 8..len_bytes].try_into().unwrap();
                (len_bytes, u64::from_be_bytes(count))
            })
            .collect()
    }

    /// `docs/protocol.md#6.5`
    #[test]
    fn burst_ends_at_the_granularity_with_its_count_last() {
        assert_eq!(ends(10, 8), [(48, 10)]);
        assert_eq!(ends(10, 64), [(64, 10)]);
        assert_eq!(ends(14, 64), [(64, 14)]);
        assert_eq!(ends(15, 64), [(128, 15)]);
        assert_eq!(ends(46, 64), [(192, 46)]);
        assert_eq!(ends(47, 64), [(192, 46), (64, 1)], "one sample has no room beside the count");
        assert_eq!(ends(48, 64), [(64, 0)], "a full packet, and an end without samples");
        assert_eq!(ends(0, 8), [(8, 0)]);
    }

    /// Packets of this payload that are pushed before the first departs.
    fn pushed(payload_bytes: usize, window: u32) -> u32 {
        let slots = vec![SendSlot::default(); 256];
        let (terms, config) = (terms(payload_bytes, window), SenderConfig::default());
        let mut sender = Sender::new(terms, config, slots, Nanos(0)).unwrap();
        let mut held = RetransmitBuffer::new(256, 1);
        let len_bytes = 300 * payload_bytes;
        let pool = Pool::new(PoolConfig::new(1, len_bytes + payload_bytes)).unwrap();
        let mut quantum = pool.take().unwrap();
        quantum.set_len(len_bytes + payload_bytes);
        let form = Form { payload_bytes, frame_bytes: 4, granularity_bytes: 8 };
        let mut slicer = Slicer::new(&mut held, quantum, len_bytes, 0, Flags::NONE, form);
        assert!(!slicer.push(&mut sender, &mut held).unwrap());
        sender.next_seq().0
    }

    #[test]
    fn packets_are_cut_while_they_stay_in_a_cache_until_they_depart() {
        assert_eq!(pushed(8_192, 256), 32, "256 KiB");
        assert_eq!(pushed(1_024, 256), OUTBOX_PACKETS as u32, "as many as leave at once");
        assert_eq!(pushed(1_024, 100), 100, "as many as the window holds");
    }
}

//! Cuts a quantum of samples into packets, as the window has room.

use samplewire_circuit::Quantum;
use samplewire_proto::crc::crc32c;
use samplewire_proto::sender::{NewPacket, PushError, SendSlot, Sender};
use samplewire_proto::wire::Flags;
use samplewire_proto::{SampleIndex, Seq};

use super::held::Held;

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
        held: &mut Held,
        quantum: Quantum,
        len_bytes: usize,
        (index, flags): (SampleIndex, Flags),
        form: Form,
    ) -> Self {
        let quantum = held.insert(quantum);
        let ends_burst = flags.contains(Flags::END_OF_BURST);
        let flags = flags.without(Flags::END_OF_BURST);
        Self { quantum, offset_bytes: 0, left_bytes: len_bytes, index, flags, ends_burst, form }
    }

    /// Pushes packets while there is room; `true` when all are pushed.
    pub(super) fn push<S: AsRef<[SendSlot]> + AsMut<[SendSlot]>>(
        &mut self,
        sender: &mut Sender<S>,
        held: &mut Held,
    ) -> Result<bool, PushError> {
        while self.left_bytes > 0 || self.ends_burst {
            if sender.free_slots() == 0 {
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
        held: &mut Held,
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
    fn end_burst(&self, held: &mut Held) -> (usize, usize) {
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

/// The count of valid samples that ends the last packet of a burst.
const COUNT_BYTES: usize = 8;

//! What a stream over RDMA adds to the wire: two TLVs of OPEN and ACCEPT, and the record that ends
//! each slot (`docs/protocol.md#13`).
//!
//! A peer's numbers are checked here once. What a parser returns needs no further check of ranges,
//! only comparison with the terms of the stream.

use core::fmt;

use super::{Flags, TlvKind, TlvWriter, Tlvs, field};
use crate::number::Seq;

/// A number of a stream over RDMA that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {value} is not possible")]
pub struct RdmaError {
    /// The field.
    pub field: RdmaField,
    /// What it holds. For [`RdmaField::Length`] it is the number of bytes.
    pub value: u64,
}

/// A field of what this module reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RdmaField {
    /// Not in the bytes: how many there are.
    Length,
    /// A queue pair's number.
    Qpn,
    /// The PSN of its first request.
    FirstPsn,
    /// Its path MTU.
    PathMtuBytes,
    /// The address of slot 0.
    Address,
    /// From slot to slot.
    SlotBytes,
    /// How many slots.
    Slots,
    /// The index of the first sample.
    Index,
    /// Samples lost at the source.
    LostBefore,
    /// Samples in the slot.
    Samples,
    /// The packet's number.
    Seq,
    /// Flags of the packet.
    Flags,
    /// Bytes that are zero.
    Zero,
}

impl RdmaField {
    /// All, in the order of their declaration.
    pub const ALL: [Self; 13] = [
        Self::Length,
        Self::Qpn,
        Self::FirstPsn,
        Self::PathMtuBytes,
        Self::Address,
        Self::SlotBytes,
        Self::Slots,
        Self::Index,
        Self::LostBefore,
        Self::Samples,
        Self::Seq,
        Self::Flags,
        Self::Zero,
    ];

    /// The name that `vectors/README.md` gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Qpn => "qpn",
            Self::FirstPsn => "first_psn",
            Self::PathMtuBytes => "path_mtu_bytes",
            Self::Address => "address",
            Self::SlotBytes => "slot_bytes",
            Self::Slots => "slots",
            Self::Index => "index",
            Self::LostBefore => "lost_before",
            Self::Samples => "samples",
            Self::Seq => "seq",
            Self::Flags => "flags",
            Self::Zero => "zero",
        }
    }
}

impl fmt::Display for RdmaField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One end's queue pair (`docs/protocol.md#13.2`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairTerms {
    /// Its number: 2 to 2^24 - 2.
    pub qpn: u32,
    /// The PSN of its first request, below 2^24.
    pub first_psn: u32,
    /// Its path MTU in bytes: 256, 512, 1,024, 2,048 or 4,096.
    pub path_mtu_bytes: u16,
}

impl QueuePairTerms {
    /// Appends the TLV.
    #[must_use]
    pub fn push<'b>(&self, writer: TlvWriter<'b>) -> TlvWriter<'b> {
        let mut value = [0; QUEUE_PAIR_LEN];
        field::put_u32(&mut value, 0, self.qpn);
        field::put_u32(&mut value, 4, self.first_psn);
        field::put_u16(&mut value, 8, self.path_mtu_bytes);
        writer.push(TlvKind::QUEUE_PAIR, &value)
    }

    /// The queue pair of an OPEN or ACCEPT, `None` when the stream is not over RDMA.
    ///
    /// # Errors
    /// The first number that cannot be.
    pub fn find(tlvs: &Tlvs<'_>) -> Result<Option<Self>, RdmaError> {
        tlvs.find(TlvKind::QUEUE_PAIR).map(Self::parse).transpose()
    }

    fn parse(value: &[u8]) -> Result<Self, RdmaError> {
        check(RdmaField::Length, value.len() as u64, value.len() == QUEUE_PAIR_LEN)?;
        let terms = Self {
            qpn: field::get_u32(value, 0),
            first_psn: field::get_u32(value, 4),
            path_mtu_bytes: field::get_u16(value, 8),
        };
        // 0 and 1 are the queue pairs of management (A17.5.8 of InfiniBand's annex for RoCEv2).
        // FFFFFFh stands for multicast.
        check(RdmaField::Qpn, terms.qpn, (2..U24_MAX).contains(&terms.qpn))?;
        check(RdmaField::FirstPsn, terms.first_psn, terms.first_psn <= U24_MAX)?;
        check(
            RdmaField::PathMtuBytes,
            terms.path_mtu_bytes,
            PATH_MTUS.contains(&terms.path_mtu_bytes),
        )?;
        let zero = field::get_u16(value, 10);
        check(RdmaField::Zero, zero, zero == 0)?;
        Ok(terms)
    }
}

/// The receiver's memory: one slot for each packet of its window (`docs/protocol.md#13.3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRegion {
    /// The virtual address of the first slot, a multiple of 64.
    pub address: u64,
    /// The key of its memory region.
    pub rkey: u32,
    /// From one slot to the next: a multiple of 64, from 128 to 65,600.
    pub slot_bytes: u32,
    /// How many: a power of two, at most 2^24.
    pub slots: u32,
}

impl SlotRegion {
    /// Appends the TLV.
    #[must_use]
    pub fn push<'b>(&self, writer: TlvWriter<'b>) -> TlvWriter<'b> {
        let mut value = [0; SLOTS_LEN];
        field::put_u64(&mut value, 0, self.address);
        field::put_u32(&mut value, 8, self.rkey);
        field::put_u32(&mut value, 12, self.slot_bytes);
        field::put_u32(&mut value, 16, self.slots);
        writer.push(TlvKind::SLOTS, &value)
    }

    /// The slots of an OPEN or ACCEPT, `None` when its end sends or the stream is not over RDMA.
    ///
    /// # Errors
    /// The first number that cannot be.
    pub fn find(tlvs: &Tlvs<'_>) -> Result<Option<Self>, RdmaError> {
        tlvs.find(TlvKind::SLOTS).map(Self::parse).transpose()
    }

    fn parse(value: &[u8]) -> Result<Self, RdmaError> {
        check(RdmaField::Length, value.len() as u64, value.len() == SLOTS_LEN)?;
        let region = Self {
            address: field::get_u64(value, 0),
            rkey: field::get_u32(value, 8),
            slot_bytes: field::get_u32(value, 12),
            slots: field::get_u32(value, 16),
        };
        let Self { address, slot_bytes, slots, .. } = region;
        check(RdmaField::Slots, slots, slots.is_power_of_two() && slots <= SLOTS_MAX)?;
        let slot_is_whole = slot_bytes.is_multiple_of(ALIGNMENT as u32);
        let slot_fits = (SLOT_BYTES_MIN..=SLOT_BYTES_MAX).contains(&slot_bytes);
        check(RdmaField::SlotBytes, slot_bytes, slot_is_whole && slot_fits)?;
        let bytes = u64::from(slots) * u64::from(slot_bytes);
        let region_ends = address.checked_add(bytes).is_some();
        check(
            RdmaField::Address,
            address,
            address.is_multiple_of(ALIGNMENT as u64) && region_ends,
        )?;
        Ok(region)
    }

    /// The number of the slot that `seq` fills.
    pub const fn slot_of(&self, seq: Seq) -> u32 {
        seq.0 & (self.slots - 1)
    }

    /// The address that the WRITE of `seq` goes to.
    pub fn address_of(&self, seq: Seq) -> u64 {
        self.address + u64::from(self.slot_of(seq)) * u64::from(self.slot_bytes)
    }

    /// The length of every WRITE: the payload of a full packet, zeros up to a multiple of 64, and
    /// the record. `None` when a slot does not hold it.
    pub fn write_bytes(&self, payload_bytes: u16) -> Option<u32> {
        let write_bytes = record_at(payload_bytes) + RECORD_LEN;
        u32::try_from(write_bytes).ok().filter(|&bytes| bytes <= self.slot_bytes)
    }
}

/// What an OPEN or ACCEPT says of RDMA (`docs/protocol.md#13.1`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdmaOffer {
    /// The queue pair of the end that says it.
    pub queue_pair: QueuePairTerms,
    /// Its slots, where it receives.
    pub slots: Option<SlotRegion>,
}

impl RdmaOffer {
    /// Bytes of its TLVs, at most.
    pub(crate) const TLVS_LEN_MAX: usize = 4 + QUEUE_PAIR_LEN + 4 + SLOTS_LEN;

    /// Appends its TLVs.
    #[must_use]
    pub fn push<'b>(&self, writer: TlvWriter<'b>) -> TlvWriter<'b> {
        let writer = self.queue_pair.push(writer);
        match &self.slots {
            Some(slots) => slots.push(writer),
            None => writer,
        }
    }

    /// What the TLVs say, `None` when the stream is not to be over RDMA.
    ///
    /// # Errors
    /// The first number that cannot be.
    pub fn find(tlvs: &Tlvs<'_>) -> Result<Option<Self>, RdmaError> {
        let Some(queue_pair) = QueuePairTerms::find(tlvs)? else { return Ok(None) };
        Ok(Some(Self { queue_pair, slots: SlotRegion::find(tlvs)? }))
    }
}

/// What ends a slot: the packet that it holds (`docs/protocol.md#13.4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRecord {
    /// The index of the first sample.
    pub index: u64,
    /// How many samples the source lost just before it.
    pub lost_before: u64,
    /// How many samples the slot holds, 0 for metadata.
    pub samples: u32,
    /// The packet's number, as in the immediate.
    pub seq: Seq,
    /// CRC-32C of all bytes of the WRITE before the record.
    pub payload_crc: u32,
    /// START, END_OF_BURST, OVERFLOW and META.
    pub flags: Flags,
}

impl SlotRecord {
    /// The record as bytes.
    pub fn to_bytes(&self) -> [u8; RECORD_LEN] {
        let mut bytes = [0; RECORD_LEN];
        field::put_u64(&mut bytes, at::INDEX, self.index);
        field::put_u64(&mut bytes, at::LOST_BEFORE, self.lost_before);
        field::put_u32(&mut bytes, at::SAMPLES, self.samples);
        field::put_u32(&mut bytes, at::SEQ, self.seq.0);
        field::put_u32(&mut bytes, at::PAYLOAD_CRC, self.payload_crc);
        bytes[at::FLAGS] = self.flags.0;
        bytes
    }

    /// Reads the record of the slot that a WRITE with this immediate completed.
    ///
    /// # Errors
    /// The first number that cannot be: the peer breaks the protocol.
    pub fn parse(bytes: &[u8; RECORD_LEN], immediate: u32) -> Result<Self, RdmaError> {
        let record = Self {
            index: field::get_u64(bytes, at::INDEX),
            lost_before: field::get_u64(bytes, at::LOST_BEFORE),
            samples: field::get_u32(bytes, at::SAMPLES),
            seq: Seq(field::get_u32(bytes, at::SEQ)),
            payload_crc: field::get_u32(bytes, at::PAYLOAD_CRC),
            flags: Flags(bytes[at::FLAGS]),
        };
        let Self { index, lost_before, samples, seq, flags, .. } = record;
        check(RdmaField::Seq, seq.0, seq.0 == immediate)?;
        check(RdmaField::Index, index, index <= INDEX_MAX)?;
        let is_known = flags.without(RECORD_FLAGS) == Flags::NONE;
        check(RdmaField::Flags, flags.0, is_known)?;
        let has_loss = flags.contains(Flags::OVERFLOW);
        check(
            RdmaField::LostBefore,
            lost_before,
            lost_before <= index && has_loss == (lost_before > 0),
        )?;
        check(RdmaField::Samples, samples, samples == 0 || !flags.contains(Flags::META))?;
        let reserved = &bytes[at::RESERVED..];
        let non_zero = reserved.iter().copied().find(|&byte| byte != 0).unwrap_or(0);
        check(RdmaField::Zero, non_zero, non_zero == 0)?;
        Ok(record)
    }
}

/// Where the record stands in the slot of a stream with this payload: the next multiple of 64.
pub fn record_at(payload_bytes: u16) -> usize {
    usize::from(payload_bytes).next_multiple_of(ALIGNMENT)
}

fn check(field: RdmaField, value: impl Into<u64>, is_possible: bool) -> Result<(), RdmaError> {
    if is_possible { Ok(()) } else { Err(RdmaError { field, value: value.into() }) }
}

/// Where each field of the record stands.
mod at {
    pub(super) const INDEX: usize = 0;
    pub(super) const LOST_BEFORE: usize = 8;
    pub(super) const SAMPLES: usize = 16;
    pub(super) const SEQ: usize = 20;
    pub(super) const PAYLOAD_CRC: usize = 24;
    pub(super) const FLAGS: usize = 28;
    pub(super) const RESERVED: usize = 29;
}

/// The length of a record in bytes.
pub const RECORD_LEN: usize = 64;
const ALIGNMENT: usize = 64;
const QUEUE_PAIR_LEN: usize = 12;
const SLOTS_LEN: usize = 20;
const U24_MAX: u32 = (1 << 24) - 1;
const PATH_MTUS: [u16; 5] = [256, 512, 1024, 2048, 4096];
const SLOTS_MAX: u32 = 1 << 24;
const SLOT_BYTES_MIN: u32 = 128;
/// The longest payload of ACCEPT's 16-bit field, aligned, and a record.
const SLOT_BYTES_MAX: u32 = 65_536 + 64;
const INDEX_MAX: u64 = 1 << 63;
const RECORD_FLAGS: Flags = Flags(0x17);

#[cfg(test)]
mod tests;

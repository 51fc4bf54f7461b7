//! Borrowed blocks of samples, with their gaps and tags.

use std::ffi::{CStr, c_char, c_void};

use samplewire::{Block, Cause, Gap};
use samplewire_circuit::{Tag, TagKind, Tags};

use crate::arguments::not_null;
use crate::receiver::LOANS;
use crate::result::{Failure, guard, sw_result};
use crate::sized::{read, sized, write};

/// Maximum number of gaps in one block; further gaps come with a block of their own.
pub const SW_GAPS_MAX: usize = 4;

/// Maximum number of tags in one block.
pub const SW_TAGS_MAX: usize = 8;

const _: () = assert!(SW_TAGS_MAX == Tags::LEN_MAX && SW_GAPS_MAX == Block::GAPS_MAX);

/// Why samples were not delivered.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum sw_cause {
    /// The source lost them before they became packets.
    SourceOverflow = 0,
    /// They were not repaired within the deadline.
    Deadline = 1,
    /// The sender no longer holds them.
    GoneAtSender = 2,
    /// Best effort: this end requested no repair.
    NeverAsked = 3,
    /// This host did not take them from its socket in time.
    ReceiverBehind = 4,
}

/// A range of sample indexes that was not delivered.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_gap {
    /// The first index that is missing.
    pub first: u64,
    /// Number of missing samples.
    pub count: u64,
    /// Number of these that were sent and not repaired.
    pub not_repaired: u64,
    /// Number of these that were lost at the source.
    pub source_lost: u64,
    /// A `sw_cause`.
    pub cause: u32,
    /// 0.
    pub reserved: u32,
}

/// The kind of a tag.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum sw_tag_kind {
    /// A kind of a later version.
    Unknown = 0,
    /// The index was set on purpose: a stream or a burst begins.
    Start = 1,
    /// The sample before the tag's index is the last of a burst.
    EndOfBurst = 2,
    /// The source lost samples just before the tag's index: `value` is their number.
    Overflow = 3,
    /// The centre frequency changed: `value` is in hertz.
    Frequency = 4,
    /// The gain changed: `value` is in decibels.
    Gain = 5,
    /// The sample rate changed: `value` is in hertz.
    Rate = 6,
    /// A block of a circuit did not pass on samples just before the tag's index: `value` is their
    /// number.
    Gap = 7,
    /// A sync word ends in the byte at the tag's index: `value` is the bit, from the highest, 0, to
    /// the lowest, 7.
    Sync = 8,
}

/// An event at one sample index.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_tag {
    /// The first sample index that it applies to.
    pub index: u64,
    /// See `kind`.
    pub value: f64,
    /// A `sw_tag_kind`.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
}

/// Samples without a gap, borrowed from the library. Release the block in any order and from any
/// thread, even after the receiver was freed. Do not access the samples after that; gaps and tags
/// are a copy. While a program holds all memory, the sender must wait.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_block {
    /// Set it to `sizeof(sw_block)` before the call.
    pub struct_size: usize,
    /// For the library: the owner of the block.
    pub owner: *mut c_void,
    /// For the library: the handle of the block. 0 if there is nothing to release.
    pub handle: u64,
    /// Little-endian, channels interleaved, aligned for their format; NULL for gaps or tags alone.
    pub samples: *const c_void,
    /// Their length in bytes.
    pub len_bytes: usize,
    /// Number of samples, each with all channels.
    pub count: u64,
    /// The index of the first sample; for a block without samples, the index after its gaps.
    pub index: u64,
    /// Number of valid `gaps`.
    pub gaps_len: u32,
    /// Number of valid `tags`.
    pub tags_len: u32,
    /// The gaps just before the first sample, in order.
    pub gaps: [sw_gap; SW_GAPS_MAX],
    /// The events at these samples, and at the index after the last.
    pub tags: [sw_tag; SW_TAGS_MAX],
}

sized!(
    sw_block {
        owner: *mut c_void,
        handle: u64,
        samples: *const c_void,
        len_bytes: usize,
        count: u64,
        index: u64,
        gaps_len: u32,
        tags_len: u32,
        gaps: [sw_gap; SW_GAPS_MAX],
        tags: [sw_tag; SW_TAGS_MAX],
    },
    sw_block::empty(0)
);

/// Returns a block, and clears it; `SW_RESULT_STALE` if it was returned before, even through a
/// copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_block_release(block: *mut sw_block) -> sw_result {
    guard(|| {
        not_null("block", block)?;
        // SAFETY: `block` is NULL or has `struct_size` bytes (the caller's contract).
        let seen = unsafe { read(block)? };
        let loans = LOANS.get(seen.owner).ok();
        let taken = loans.as_ref().and_then(|loans| loans.blocks.take(seen.handle));
        if taken.is_none() {
            let (index, handle) = (seen.index, seen.handle);
            let text = format!(
                "the block with index {index}, handle {handle}, is not on loan: it was released \
                 before, or never was one"
            );
            return Err(Failure::new(sw_result::Stale, text));
        }
        drop(taken);
        if let Some(loans) = loans {
            loans.forget_when_over(seen.owner);
        }
        let cleared = sw_block { index: seen.index, ..sw_block::empty(0) };
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(block, &cleared)? };
        Ok(sw_result::Ok)
    })
}

/// The text of a cause, e.g. `never asked`; "unknown cause" for an unknown number. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sw_cause_str(cause: u32) -> *const c_char {
    let name: &CStr = match Cause::ALL.get(cause as usize) {
        Some(Cause::SourceOverflow) => c"source overflow",
        Some(Cause::Deadline) => c"deadline",
        Some(Cause::GoneAtSender) => c"gone at sender",
        Some(Cause::NeverAsked) => c"never asked",
        Some(Cause::ReceiverBehind) => c"receiver behind",
        None => c"unknown cause",
    };
    name.as_ptr()
}

impl sw_block {
    /// An empty block at `index`.
    pub(crate) const fn empty(index: u64) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            owner: std::ptr::null_mut(),
            handle: 0,
            samples: std::ptr::null(),
            len_bytes: 0,
            count: 0,
            index,
            gaps_len: 0,
            tags_len: 0,
            gaps: [sw_gap::NONE; SW_GAPS_MAX],
            tags: [sw_tag::NONE; SW_TAGS_MAX],
        }
    }

    /// The gaps and tags of `block`.
    pub(crate) fn notes_of(block: &Block) -> Self {
        let mut notes = Self::empty(block.index());
        for (to, gap) in notes.gaps.iter_mut().zip(block.gaps()) {
            *to = sw_gap::of(gap);
            notes.gaps_len += 1;
        }
        for (to, tag) in notes.tags.iter_mut().zip(block.tags()) {
            *to = sw_tag::of(tag);
            notes.tags_len += 1;
        }
        notes
    }

    /// All fields of `block`; the samples stay in place.
    pub(crate) fn of(block: &Block) -> Self {
        let bytes = block.bytes();
        let samples = if bytes.is_empty() { std::ptr::null() } else { bytes.as_ptr().cast() };
        let (len_bytes, count) = (bytes.len(), block.len() as u64);
        Self { samples, len_bytes, count, ..Self::notes_of(block) }
    }

    /// Removes the first samples, which have been copied, and their gaps and tags.
    pub(crate) fn skip(&mut self, len_bytes: usize, sample_bytes: usize) {
        let samples = (len_bytes / sample_bytes) as u64;
        (self.gaps_len, self.tags_len) = (0, 0);
        (self.index, self.count) = (self.index + samples, self.count - samples);
        self.samples = self.samples.wrapping_byte_add(len_bytes);
        self.len_bytes -= len_bytes;
    }
}

impl sw_gap {
    pub(crate) const NONE: Self =
        Self { first: 0, count: 0, not_repaired: 0, source_lost: 0, cause: 0, reserved: 0 };

    pub(crate) const fn of(gap: &Gap) -> Self {
        Self {
            first: gap.first,
            count: gap.count(),
            not_repaired: gap.not_repaired,
            source_lost: gap.source_lost,
            cause: gap.cause as u32,
            reserved: 0,
        }
    }
}

impl sw_tag {
    pub(crate) const NONE: Self = Self { index: 0, value: 0.0, kind: 0, reserved: 0 };

    pub(crate) const fn of(tag: &Tag) -> Self {
        let (kind, value) = match tag.kind {
            TagKind::Start => (sw_tag_kind::Start, 0.0),
            TagKind::EndOfBurst => (sw_tag_kind::EndOfBurst, 0.0),
            TagKind::Overflow { lost_samples } => (sw_tag_kind::Overflow, lost_samples as f64),
            TagKind::Gap { lost_samples, .. } => (sw_tag_kind::Gap, lost_samples as f64),
            TagKind::Sync { bit, .. } => (sw_tag_kind::Sync, bit as f64),
            TagKind::Frequency { hz } => (sw_tag_kind::Frequency, hz),
            TagKind::Gain { db } => (sw_tag_kind::Gain, db),
            TagKind::Rate { hz } => (sw_tag_kind::Rate, hz),
            _ => (sw_tag_kind::Unknown, 0.0),
        };
        Self { index: tag.index, value, kind: kind as u32, reserved: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_keep_their_index_and_value() {
        let of = |kind| {
            let tag = sw_tag::of(&Tag { index: 5, kind });
            assert_eq!(tag.index, 5);
            (tag.kind, tag.value)
        };
        assert_eq!(of(TagKind::Start), (sw_tag_kind::Start as u32, 0.0));
        assert_eq!(of(TagKind::Overflow { lost_samples: 7 }), (sw_tag_kind::Overflow as u32, 7.0));
        let gap = TagKind::Gap { lost_samples: 9, cause: "decimation" };
        assert_eq!(of(gap), (sw_tag_kind::Gap as u32, 9.0));
        assert_eq!(of(TagKind::Sync { bit: 3, wrong_bits: 1 }), (sw_tag_kind::Sync as u32, 3.0));
        assert_eq!(of(TagKind::Gain { db: -2.5 }), (sw_tag_kind::Gain as u32, -2.5));
    }

    #[test]
    fn causes_have_the_numbers_and_words_of_the_library() {
        for cause in Cause::ALL {
            // SAFETY: `sw_cause_str` returns a static text that ends with a zero byte.
            let words = unsafe { CStr::from_ptr(sw_cause_str(cause as u32)) };
            assert_eq!(words.to_str().unwrap(), cause.as_str());
        }
        assert_eq!(sw_cause::ReceiverBehind as u32, Cause::ReceiverBehind as u32);
    }
}

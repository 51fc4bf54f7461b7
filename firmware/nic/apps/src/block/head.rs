//! What the DATA of a transfer begins with, in words: a frame of the same transfer shows by a few accesses
//! to packet memory, where each takes a processor ten cycles or more.

use core::cmp::Ordering;
use core::hint::black_box;

use samplewire_nic_driver::{Buffer, Bus, FRAME_OFFSET};
use samplewire_proto::block::wire::FRAME_BYTES_MIN;

/// The bytes ahead of the seq: addresses, EtherType, type, and the transfer ID if there is one.
#[derive(Debug)]
pub(super) struct Head {
    words: [u32; WORDS],
    /// The bits that are compared.
    mask: [u32; WORDS],
    /// The word whose last byte is the first of the seq.
    seq_word: usize,
}

/// Of a packet of the transfer.
#[derive(Debug)]
pub(super) struct Data {
    pub(super) seq: u32,
    pub(super) payload_len: usize,
}

impl Head {
    /// That of DATA in a buffer.
    pub(super) fn new<B: Bus>(buffer: &mut Buffer<B>) -> Self {
        let words =
            buffer.units(END, |units: &mut [u32]| core::array::from_fn(|n| units[FIRST + n]));
        let has_id = words[TYPE_WORD].to_le_bytes()[TYPE_BYTE] & WITH_ID != 0;
        let seq_word = if has_id { SEQ_WORD_WITH_ID } else { SEQ_WORD };
        let mask = core::array::from_fn(|n| match n.cmp(&seq_word) {
            Ordering::Less => u32::MAX,
            Ordering::Equal => 0x00FF_FFFF,
            Ordering::Greater => 0,
        });
        Self { words, mask, seq_word }
    }

    /// The packet in a buffer, if its frame begins alike.
    #[inline(always)]
    pub(super) fn data<B: Bus>(&self, buffer: &mut Buffer<B>) -> Option<Data> {
        let (words, control) = buffer.units(END, |units: &mut [u32]| {
            (core::array::from_fn::<u32, WORDS, _>(|n| units[FIRST + n]), units[0])
        });
        let mut differing = 0;
        for ((word, known), mask) in words.iter().zip(&self.words).zip(&self.mask) {
            differing |= (word ^ known) & mask;
        }
        let [_, flags, low, high] = in_memory(control.to_le_bytes());
        let len = usize::from(u16::from_le_bytes([low, high]));
        // A returned buffer is one that was sent. Behind a shorter frame are bytes of an older one.
        if differing != 0 || flags & RETURNED != 0 || len < FRAME_BYTES_MIN {
            return None;
        }
        let [_, _, _, b0] = in_memory(words[self.seq_word].to_le_bytes());
        let [b1, b2, b3, _] = in_memory(words[self.seq_word + 1].to_le_bytes());
        let seq = u32::from_le_bytes(in_memory([b3, b2, b1, b0]));
        Some(Data { seq, payload_len: len - (4 * self.seq_word + 3 + SEQ_LEN) })
    }
}

/// Bytes that are moved by loads and stores: a processor without a barrel shifter takes 24 cycles to shift
/// one from an end of a word to the other.
#[inline(always)]
fn in_memory(bytes: [u8; 4]) -> [u8; 4] {
    black_box(bytes)
}

/// Words of a frame up to its seq, with a transfer ID.
const WORDS: usize = 6;
const FIRST: usize = FRAME_OFFSET / 4;
const END: usize = FRAME_OFFSET + 4 * WORDS;
const TYPE_WORD: usize = 3;
const TYPE_BYTE: usize = 2;
const WITH_ID: u8 = 0x10;
/// With a transfer ID the seq is at byte 19, else at byte 15.
const SEQ_WORD: usize = 3;
const SEQ_WORD_WITH_ID: usize = 4;
const SEQ_LEN: usize = 4;
const RETURNED: u8 = 1 << 7;

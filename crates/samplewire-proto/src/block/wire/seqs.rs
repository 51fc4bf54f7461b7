//! A list of packets that are missing.

use super::SEQ_LEN;
use crate::wire::field;

/// The seqs of a list, read from their bytes one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seqs<'a>(&'a [u8]);

impl<'a> Seqs<'a> {
    /// A list of whole seqs.
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        debug_assert!(bytes.len().is_multiple_of(SEQ_LEN));
        Self(bytes)
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "a list that was parsed has one at least")]
    pub const fn len(&self) -> usize {
        self.0.len() / SEQ_LEN
    }

    /// Each of them, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.0.chunks_exact(SEQ_LEN).map(|seq| field::get_u32(seq, 0))
    }
}

//! A buffer that gathers samples for one write.

use std::fmt;

/// Bytes that begin at a multiple of [`ALIGN_BYTES`], as direct writes require.
#[derive(Default)]
pub(super) struct Gather {
    memory: Vec<u8>,
    start: usize,
    len: usize,
    capacity: usize,
}

impl Gather {
    /// Allocates memory for `capacity` bytes.
    pub(super) fn new(capacity: usize) -> Self {
        let memory = vec![0; capacity + ALIGN_BYTES];
        let start = memory.as_ptr().align_offset(ALIGN_BYTES).min(ALIGN_BYTES);
        Self { memory, start, len: 0, capacity }
    }

    /// Copies as many of `bytes` as there is room for; returns the rest.
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (piece, rest) = bytes.split_at(bytes.len().min(self.capacity - self.len));
        let end = self.start + self.len;
        self.memory[end..end + piece.len()].copy_from_slice(piece);
        self.len += piece.len();
        rest
    }

    /// Returns the gathered bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }

    /// Removes the first `len_bytes`.
    pub(super) fn forget(&mut self, len_bytes: usize) {
        let first = self.start + len_bytes;
        self.memory.copy_within(first..self.start + self.len, self.start);
        self.len -= len_bytes;
    }

    /// Returns how many bytes were gathered.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no room left.
    pub(super) const fn is_full(&self) -> bool {
        self.len == self.capacity
    }
}

impl fmt::Debug for Gather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { len, capacity, .. } = self;
        f.debug_struct("Gather")
            .field("len", len)
            .field("capacity", capacity)
            .finish_non_exhaustive()
    }
}

/// The largest sector and page size of the supported machines.
pub(super) const ALIGN_BYTES: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_aligned_and_stay_in_order() {
        let mut gather = Gather::new(10);
        assert!(gather.take(&[1, 2, 3, 4]).is_empty());
        assert_eq!(gather.take(&[5, 6, 7, 8, 9, 10, 11, 12]), [11, 12]);
        assert!(gather.is_full());
        gather.forget(8);
        assert_eq!((gather.bytes(), gather.len()), ([9, 10].as_slice(), 2));
        assert_eq!(gather.bytes().as_ptr().align_offset(ALIGN_BYTES), 0);
    }
}

//! Reads bytes in memory repeatedly.

use std::fmt;

/// A table that is read again from its beginning after its end.
pub(super) struct Looped {
    table: Vec<u8>,
    position_bytes: usize,
    /// How many bytes are left; `None` for an endless table.
    left_bytes: Option<u64>,
}

impl Looped {
    /// Repeats `table` up to `total_bytes`, or endlessly for `None`.
    ///
    /// # Panics
    /// If the table is empty.
    pub(super) fn new(mut table: Vec<u8>, total_bytes: Option<u64>) -> Self {
        assert!(!table.is_empty(), "nothing to repeat");
        let len_bytes = table.len();
        if len_bytes < PIECE_BYTES_MIN && total_bytes.is_none_or(|total| total > len_bytes as u64) {
            table = table.repeat(PIECE_BYTES_MIN.div_ceil(len_bytes));
        }
        Self { table, position_bytes: 0, left_bytes: total_bytes }
    }

    /// Fills the beginning of `out` and returns how many bytes; fewer than all only at the end.
    pub(super) fn read(&mut self, out: &mut [u8]) -> usize {
        let len_bytes = match self.left_bytes {
            Some(left) => usize::try_from(left).unwrap_or(usize::MAX).min(out.len()),
            None => out.len(),
        };
        let mut rest = &mut out[..len_bytes];
        while !rest.is_empty() {
            let ahead = &self.table[self.position_bytes..];
            let (piece, after) = rest.split_at_mut(ahead.len().min(rest.len()));
            piece.copy_from_slice(&ahead[..piece.len()]);
            self.position_bytes = (self.position_bytes + piece.len()) % self.table.len();
            rest = after;
        }
        self.left_bytes = self.left_bytes.map(|left| left - len_bytes as u64);
        len_bytes
    }
}

impl fmt::Debug for Looped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Looped")
            .field("table_bytes", &self.table.len())
            .field("position_bytes", &self.position_bytes)
            .field("left_bytes", &self.left_bytes)
            .finish()
    }
}

/// A shorter table is repeated at the start, since each copied piece has a cost.
const PIECE_BYTES_MIN: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn all(looped: &mut Looped, piece_bytes: usize) -> Vec<u8> {
        let mut piece = vec![0; piece_bytes];
        let mut bytes = Vec::new();
        loop {
            let len_bytes = looped.read(&mut piece);
            if len_bytes == 0 {
                return bytes;
            }
            bytes.extend(&piece[..len_bytes]);
        }
    }

    #[test]
    fn table_repeats_until_its_total_whatever_the_pieces() {
        for piece_bytes in [1, 2, 3, 7, 1000, 100_000] {
            for total_bytes in [1_u64, 3, 4, 100_001] {
                let mut looped = Looped::new(vec![1, 2, 3], Some(total_bytes));
                let expected: Vec<u8> = (0..total_bytes).map(|at| (at % 3) as u8 + 1).collect();
                assert_eq!(all(&mut looped, piece_bytes), expected);
                assert_eq!(looped.read(&mut [0; 4]), 0, "the end stays the end");
            }
        }
    }

    #[test]
    fn endless_table_fills_every_piece() {
        let mut looped = Looped::new((0..=255).collect(), None);
        let mut piece = [0; 333];
        for round in 0..1000 {
            assert_eq!(looped.read(&mut piece), 333);
            assert_eq!(piece[0], (round * 333 % 256) as u8);
        }
    }
}

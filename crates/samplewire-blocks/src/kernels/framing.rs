//! What frames need: checksums, cyclic prefixes, sync words.

use samplewire_proto::crc::crc32c;

/// Writes into the last 4 bytes of `frame` the CRC-32C (Castagnoli, RFC 3720) of those before, in
/// network byte order, as the packets of the stream protocol have it.
///
/// ```
/// use samplewire_blocks::kernels::{checked, seal};
///
/// let mut frame = *b"123456789____";
/// seal(&mut frame);
/// assert_eq!(frame[9..], [0xE3, 0x06, 0x92, 0x83]);
/// assert_eq!(checked(&frame), Some(&b"123456789"[..]));
/// ```
///
/// # Panics
/// When `frame` has fewer than 4 bytes.
pub fn seal(frame: &mut [u8]) {
    let (covered, trailer) = frame.split_last_chunk_mut::<CRC_BYTES>().expect("room for a CRC");
    *trailer = crc32c(covered).to_be_bytes();
}

/// The bytes before the CRC that [`seal`] wrote; `None` when it is not theirs, or not there.
pub fn checked(frame: &[u8]) -> Option<&[u8]> {
    let (covered, trailer) = frame.split_last_chunk::<CRC_BYTES>()?;
    (crc32c(covered).to_be_bytes() == *trailer).then_some(covered)
}

/// What [`seal`] needs behind the data, in bytes.
pub const CRC_BYTES: usize = 4;

/// Makes the first `prefix` samples copies of the last: of a symbol that stands behind room for
/// its cyclic prefix.
///
/// ```
/// let mut symbol = [0, 0, 1, 2, 3, 4];
/// samplewire_blocks::kernels::fill_cyclic_prefix(&mut symbol, 2);
/// assert_eq!(symbol, [3, 4, 1, 2, 3, 4]);
/// ```
///
/// # Panics
/// When the symbol behind the prefix is shorter than it.
pub fn fill_cyclic_prefix<S: Copy>(samples: &mut [S], prefix: usize) {
    let (room, symbol) = samples.split_at_mut(prefix);
    room.copy_from_slice(&symbol[symbol.len() - prefix..]);
}

/// A pattern of bits that marks where a frame begins, the highest bit of the first byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncWord {
    bits: u64,
    len_bits: u32,
}

impl SyncWord {
    /// The pattern of 1 to 8 bytes.
    ///
    /// # Errors
    /// [`SyncError::Length`] when it has another length.
    pub fn new(bytes: &[u8]) -> Result<Self, SyncError> {
        if !(1..=8).contains(&bytes.len()) {
            return Err(SyncError::Length { len_bytes: bytes.len() });
        }
        let bits = bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        Ok(Self { bits, len_bits: 8 * bytes.len() as u32 })
    }

    /// Its length.
    pub fn len_bytes(&self) -> usize {
        (self.len_bits / 8) as usize
    }

    /// Writes it.
    ///
    /// # Panics
    /// When `room` is not of its length.
    pub fn write(&self, room: &mut [u8]) {
        room.copy_from_slice(&self.bits.to_be_bytes()[8 - self.len_bytes()..]);
    }
}

/// Finds a [`SyncWord`] at any bit of a stream of bytes, with up to so many bits wrong.
///
/// ```
/// use samplewire_blocks::kernels::{SyncSearch, SyncWord};
///
/// let mut search = SyncSearch::new(SyncWord::new(&[0xA5, 0x0F])?, 1)?;
/// let mut found = Vec::new();
/// search.push(&[0x0A], |end_bit, errors| found.push((end_bit, errors)));
/// search.push(&[0x50, 0xE0], |end_bit, errors| found.push((end_bit, errors)));
/// assert_eq!(found, [(20, 1)]);
/// # Ok::<(), samplewire_blocks::kernels::SyncError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SyncSearch {
    word: SyncWord,
    errors_max: u32,
    /// The last 64 bits.
    last: u64,
    /// How many bits came.
    bits: u64,
}

impl SyncSearch {
    /// A search that takes up to `errors_max` wrong bits, which must be fewer than half of the
    /// word's.
    ///
    /// # Errors
    /// [`SyncError::Tolerance`] when they are not.
    pub fn new(word: SyncWord, errors_max: u32) -> Result<Self, SyncError> {
        let len_bits = word.len_bits;
        if errors_max >= len_bits / 2 {
            return Err(SyncError::Tolerance { errors_max, len_bits });
        }
        Ok(Self { word, errors_max, last: 0, bits: 0 })
    }

    /// Searches on in `bytes`, and calls `found` for each word that ends there, with the number of
    /// bits since the beginning up to the word's last, and how many of the word's are wrong.
    pub fn push(&mut self, bytes: &[u8], mut found: impl FnMut(u64, u32)) {
        let mask = u64::MAX >> (64 - self.word.len_bits);
        for byte in bytes {
            let window = u128::from(self.last) << 8 | u128::from(*byte);
            for later_bits in (0..8).rev() {
                let difference = ((window >> later_bits) as u64 ^ self.word.bits) & mask;
                let end_bit = self.bits + 8 - later_bits;
                if difference.count_ones() <= self.errors_max
                    && end_bit >= u64::from(self.word.len_bits)
                {
                    found(end_bit, difference.count_ones());
                }
            }
            self.last = window as u64;
            self.bits += 8;
        }
    }

    /// Restarts, as after a gap.
    pub fn restart(&mut self) {
        self.bits = 0;
    }
}

/// Why a word cannot be searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// Too short or too long.
    #[error("a sync word of {len_bytes} bytes: must be 1 to 8")]
    Length {
        /// Its length.
        len_bytes: usize,
    },
    /// It would be found where there is nothing.
    #[error("{errors_max} wrong bits of {len_bits}: must be fewer than half of them")]
    Tolerance {
        /// The requested number.
        errors_max: u32,
        /// The length of the word.
        len_bits: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tests::{cuts, noise};

    fn bytes(len: usize, seed: u64) -> Vec<u8> {
        noise(len, seed).into_iter().map(|number| (number * 1e6) as i32 as u8).collect()
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        for len in 0..=130 {
            let mut frame = bytes(len + CRC_BYTES, 1);
            seal(&mut frame);
            assert_eq!(checked(&frame), Some(&frame[..len]));
            for bit in 0..8 * frame.len() {
                frame[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(checked(&frame), None, "{len} {bit}");
                frame[bit / 8] ^= 1 << (bit % 8);
            }
        }
        assert_eq!(checked(&[0; 3]), None);
    }

    #[test]
    fn prefix_of_every_length_is_the_end_of_the_symbol() {
        for symbol in 0..=130 {
            for prefix in [0, 1, symbol / 4, symbol] {
                let prefix = prefix.min(symbol);
                let mut samples: Vec<usize> = (0..prefix + symbol).collect();
                fill_cyclic_prefix(&mut samples, prefix);
                assert!(samples[..prefix].iter().copied().eq(symbol..symbol + prefix));
                assert!(samples[prefix..].iter().copied().eq(prefix..symbol + prefix));
            }
        }
    }

    /// Which words end where, by the definition.
    fn reference(stream: &[u8], pattern: &[u8], errors_max: u32) -> Vec<(u64, u32)> {
        let bits = |bytes: &[u8]| -> Vec<bool> {
            let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1 == 1;
            (0..8 * bytes.len()).map(bit).collect()
        };
        let (stream, pattern) = (bits(stream), bits(pattern));
        let errors = |at: usize| {
            stream[at..].iter().zip(&pattern).filter(|(got, want)| got != want).count() as u32
        };
        let ends = pattern.len()..=stream.len();
        let found = ends.map(|end| (end as u64, errors(end - pattern.len())));
        found.filter(|(_, errors)| *errors <= errors_max).collect()
    }

    #[test]
    fn words_are_found_at_every_bit_with_their_errors_in_pieces_of_any_length() {
        for (len, errors_max) in [(1, 0), (1, 3), (2, 1), (4, 10), (8, 0), (8, 24)] {
            let pattern = bytes(len, 2);
            let mut stream = bytes(400, 3);
            // The word itself from every bit of a byte on, once with a bit flipped.
            for at in 0..8 {
                let place = &mut stream[30 * (at + 1)..][..len + 1];
                let mut word = [0; 16];
                word[..len].copy_from_slice(&pattern);
                let shifted = (u128::from_be_bytes(word) >> at).to_be_bytes();
                place.copy_from_slice(&shifted[..len + 1]);
                place[0] ^= u8::from(at == 7);
            }
            let want = reference(&stream, &pattern, errors_max);
            assert!(want.len() >= 7);
            let word = SyncWord::new(&pattern).unwrap();
            for longest in [1, 5, 100] {
                let mut search = SyncSearch::new(word, errors_max).unwrap();
                let mut found = Vec::new();
                for cut in cuts(400, longest, 4).windows(2) {
                    search.push(&stream[cut[0]..cut[1]], |end, errors| found.push((end, errors)));
                }
                assert_eq!(found, want, "{len} bytes");
            }
        }
    }

    #[test]
    fn word_is_written_and_found_again_after_a_restart() {
        let word = SyncWord::new(&[0x1A, 0xCF, 0xFC, 0x1D]).unwrap();
        let mut frame = [0; 4];
        word.write(&mut frame);
        assert_eq!(frame, [0x1A, 0xCF, 0xFC, 0x1D]);
        let mut search = SyncSearch::new(word, 0).unwrap();
        let mut found = Vec::new();
        search.push(&frame[..3], |end, _| found.push(end));
        search.restart();
        search.push(&frame[3..], |end, _| found.push(end));
        assert_eq!(found, []);
        search.push(&frame, |end, _| found.push(end));
        assert_eq!(found, [40]);
    }

    #[test]
    fn words_and_tolerances_out_of_range_are_named() {
        let error = SyncWord::new(&[0; 9]).unwrap_err().to_string();
        assert_eq!(error, "a sync word of 9 bytes: must be 1 to 8");
        let word = SyncWord::new(&[0; 2]).unwrap();
        let error = SyncSearch::new(word, 8).unwrap_err().to_string();
        assert_eq!(error, "8 wrong bits of 16: must be fewer than half of them");
    }
}

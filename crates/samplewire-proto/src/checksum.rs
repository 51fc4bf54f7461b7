//! The checksum of the Internet's headers (RFC 1071).

/// The ones' complement sum of 16-bit words. Each part but the last has an even length.
///
/// The sum does not depend on the byte order in which it is taken (section 2 of the RFC), nor on how many
/// words are added at once, as a carry out of one goes into the next.
#[derive(Clone, Copy, Debug, Default)]
pub struct InternetSum(u64);

impl InternetSum {
    /// Adds bytes; a last odd one counts as if a zero followed.
    pub fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<4>();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        // 2^32 words fit before the sum wraps.
        self.0 += words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum::<u64>();
        self.0 += u64::from(u32::from_ne_bytes(last));
    }

    /// The checksum: 0 where the bytes hold a right one.
    pub const fn complement(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        !(sum as u16).to_be()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071, section 3: the sum of these bytes is DDF2.
    #[test]
    fn sum_is_that_of_the_example() {
        let mut sum = InternetSum::default();
        sum.add(&[0x00, 0x01, 0xF2, 0x03]);
        sum.add(&[0xF4, 0xF5, 0xF6, 0xF7]);
        assert_eq!(sum.complement(), !0xDDF2);
        sum.add(&(!0xDDF2u16).to_be_bytes());
        assert_eq!(sum.complement(), 0);
        sum.add(&[0x12]);
        assert_eq!(sum.complement(), !0x1200, "ffff + 1200, with the carry");
    }

    #[test]
    fn parts_of_any_even_length_give_the_sum_of_the_whole() {
        let bytes: Vec<u8> = (0..1_001_u32).map(|n| (n * 37 + n / 7) as u8).collect();
        let (words, last) = bytes.as_chunks::<2>();
        let sum: u32 = words.iter().map(|it| u32::from(u16::from_be_bytes(*it))).sum();
        let mut sum = sum + (u32::from(last[0]) << 8);
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        let expected = !(sum as u16);
        for step in [2, 4, 6, 14, 998, 1_000] {
            let mut parts = InternetSum::default();
            bytes.chunks(step).for_each(|part| parts.add(part));
            assert_eq!(parts.complement(), expected, "parts of {step}");
        }
    }
}

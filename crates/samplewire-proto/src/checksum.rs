//! The checksum of the Internet's headers (RFC 1071).

/// The ones' complement sum of 16-bit words. Each part but the last has an even length.
#[derive(Clone, Copy, Debug, Default)]
pub struct InternetSum(u64);

impl InternetSum {
    /// Adds bytes; a last odd one counts as if a zero followed.
    pub fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<2>();
        // 2^48 words fit before the sum wraps.
        self.0 += words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum::<u64>();
        if let [last] = rest {
            self.0 += u64::from(*last) << 8;
        }
    }

    /// The checksum: 0 where the bytes hold a right one.
    pub const fn complement(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        !(sum as u16)
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
}

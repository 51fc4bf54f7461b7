//! What the board's test source sends: the value of each byte follows from its place alone.

/// Whether `bytes` are those of the 64-bit counter from byte `at` of the stream on.
///
/// Word `k` of the stream, bytes `8 k` to `8 k + 7`, is `k` in little-endian order.
pub fn is_counter(at: u64, bytes: &[u8]) -> bool {
    let lead = (at.wrapping_neg() % 8).min(bytes.len() as u64) as usize;
    let (head, rest) = bytes.split_at(lead);
    let (words, tail) = rest.as_chunks::<8>();
    let first_word = (at + lead as u64) / 8;
    let mut is_right = is_counter_bytewise(at, head);
    for (word, k) in words.iter().zip(first_word..) {
        is_right &= u64::from_le_bytes(*word) == k;
    }
    is_right && is_counter_bytewise(at + (lead + 8 * words.len()) as u64, tail)
}

fn is_counter_bytewise(at: u64, bytes: &[u8]) -> bool {
    bytes.iter().zip(at..).all(|(&byte, at)| byte == (at / 8).to_le_bytes()[(at % 8) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_is_known_from_every_place() {
        let stream: Vec<u8> = (0..100_u64).flat_map(u64::to_le_bytes).collect();
        for from in 0..40 {
            for end in from..60 {
                assert!(is_counter(from as u64, &stream[from..end]));
            }
            let mut wrong = stream[from..from + 30].to_vec();
            wrong[from % 30] ^= 0x10;
            assert!(!is_counter(from as u64, &wrong));
        }
    }
}

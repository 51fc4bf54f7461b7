//! Unpredictable numbers from a secret seed.

use siphasher::sip128::SipHasher24;

use crate::number::Tag;

/// Draws tags, nonces and keys: SipHash-2-4-128 of a counter, keyed with the seed.
///
/// The seed must come from the operating system's or the device's source of randomness; equal
/// seeds draw equal numbers.
#[derive(Clone, Debug)]
pub struct Secrets {
    hasher: SipHasher24,
    drawn: u64,
}

impl Secrets {
    /// Starts from 16 secret random bytes.
    pub fn new(seed: [u8; 16]) -> Self {
        Self { hasher: SipHasher24::new_with_key(&seed), drawn: 0 }
    }

    /// Draws a tag, never [`Tag::NONE`].
    pub fn tag(&mut self) -> Tag {
        Tag((self.draw().0 as u32).max(1))
    }

    /// Draws a tag whose bits in `mask` are those of `slot`, for a table of streams. The other bits
    /// are unpredictable.
    pub fn tag_of(&mut self, slot: u32, mask: u32) -> Tag {
        let tag = self.tag().0 & !mask | slot;
        Tag(if tag == Tag::NONE.0 { mask + 1 } else { tag })
    }

    /// Draws a nonce, never 0.
    pub fn nonce(&mut self) -> u64 {
        self.draw().0.max(1)
    }

    /// Draws a key.
    pub fn key(&mut self) -> [u8; 16] {
        let (high, low) = self.draw();
        ((high as u128) << 64 | low as u128).to_be_bytes()
    }

    /// The number at `place` of a secret order of all numbers below 2^24: another at each place below
    /// 2^24. Who knows some of them does not know the others.
    pub fn shuffled_u24(&self, place: u32) -> u32 {
        // A Feistel network: it maps one to one, whatever its round function.
        let mut left = (place >> 12) as u16 & HALF_MAX;
        let mut right = place as u16 & HALF_MAX;
        for round in 0..FEISTEL_ROUNDS {
            let [high, low] = right.to_be_bytes();
            // No draw has an input as short.
            let (hash, _) = self.hasher.hash(&[round, high, low]).as_u64();
            (left, right) = (right, left ^ hash as u16 & HALF_MAX);
        }
        u32::from(left) << 12 | u32::from(right)
    }

    fn draw(&mut self) -> (u64, u64) {
        self.drawn += 1;
        self.hasher.hash(&self.drawn.to_be_bytes()).as_u64()
    }
}

/// 12 bits.
const HALF_MAX: u16 = 0xFFF;
const FEISTEL_ROUNDS: u8 = 6;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn equal_seeds_draw_equal_numbers_and_others_do_not() {
        let draw = |seed| {
            let mut secrets = Secrets::new([seed; 16]);
            (secrets.tag(), secrets.nonce(), secrets.key())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1).0, draw(2).0);
        assert_ne!(draw(1).1, draw(2).1);
        assert_ne!(draw(1).2, draw(2).2);
        let key = draw(1).2;
        let (high, low) = key.split_at(8);
        assert!(high != low && high != [0; 8] && low != [0; 8], "all 16 bytes are drawn");
    }

    #[test]
    fn drawn_numbers_do_not_repeat() {
        let mut secrets = Secrets::new([7; 16]);
        let nonces: HashSet<u64> = (0..1000).map(|_| secrets.nonce()).collect();
        assert_eq!(nonces.len(), 1000);
    }

    #[test]
    fn shuffled_numbers_are_all_different_and_of_one_key() {
        let (secrets, others) = (Secrets::new([1; 16]), Secrets::new([2; 16]));
        let places = 1 << 17;
        let mut seen = vec![false; 1 << 24];
        let (mut neighbours, mut same) = (0, 0);
        for place in 0..places {
            let number = secrets.shuffled_u24(place);
            assert!(!std::mem::replace(&mut seen[number as usize], true), "{number} again");
            neighbours += u32::from(secrets.shuffled_u24(place + 1).abs_diff(number) < 1 << 12);
            same += u32::from(others.shuffled_u24(place) == number);
        }
        // By chance one in 2^11, and none.
        assert!(neighbours < places >> 10, "{neighbours} follow on the one before");
        assert!(same < 4, "{same} numbers do not depend on the key");
        let last = (1 << 24) - 1;
        assert!(secrets.shuffled_u24(last) <= last);
    }
}

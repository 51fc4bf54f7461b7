//! A set of packets: one bit for each, in memory that the caller provides.

/// The seqs from 0 up to a capacity, each in the set or not.
#[derive(Clone, Debug)]
pub(super) struct SeqSet<S>(S);

impl<S: AsRef<[u32]> + AsMut<[u32]>> SeqSet<S> {
    /// An empty set in `words`, 32 packets a word.
    pub(super) fn new(words: S) -> Self {
        let mut set = Self(words);
        set.clear();
        set
    }

    /// How many packets it has room for.
    pub(super) fn capacity(&self) -> u32 {
        let bits = self.0.as_ref().len().saturating_mul(BITS as usize);
        u32::try_from(bits).unwrap_or(u32::MAX)
    }

    pub(super) fn clear(&mut self) {
        self.0.as_mut().fill(0);
    }

    pub(super) fn contains(&self, seq: u32) -> bool {
        self.word(seq / BITS) & bit(seq) != 0
    }

    pub(super) fn insert(&mut self, seq: u32) {
        self.0.as_mut()[(seq / BITS) as usize] |= bit(seq);
    }

    pub(super) fn remove(&mut self, seq: u32) {
        self.0.as_mut()[(seq / BITS) as usize] &= !bit(seq);
    }

    /// Removes every seq from `first` on.
    pub(super) fn truncate(&mut self, first: u32) {
        if first >= self.capacity() {
            return;
        }
        let at = (first / BITS) as usize;
        let words = self.0.as_mut();
        words[at] &= bit(first) - 1;
        words[at + 1..].fill(0);
    }

    /// How many there are, with none from `end` on: what a soft core counts is not the whole memory.
    pub(super) fn len_below(&self, end: u32) -> u32 {
        let words = &self.0.as_ref()[..end.div_ceil(BITS) as usize];
        words.iter().map(|word| word.count_ones()).sum()
    }

    /// The first one in `first..end` that is in the set.
    pub(super) fn first_in(&self, first: u32, end: u32) -> Option<u32> {
        self.find(first, end, 0)
    }

    /// The first one in `first..end` that is not.
    pub(super) fn first_not_in(&self, first: u32, end: u32) -> Option<u32> {
        self.find(first, end, u32::MAX)
    }

    /// The first bit in `first..end` that is not that of `skipped`.
    fn find(&self, first: u32, end: u32, skipped: u32) -> Option<u32> {
        if first >= end {
            return None;
        }
        let mut at = first / BITS;
        let mut found = (self.word(at) ^ skipped) & !(bit(first) - 1);
        while found == 0 {
            at += 1;
            if at > (end - 1) / BITS {
                return None;
            }
            found = self.word(at) ^ skipped;
        }
        let seq = at * BITS + found.trailing_zeros();
        (seq < end).then_some(seq)
    }

    fn word(&self, at: u32) -> u32 {
        self.0.as_ref()[at as usize]
    }
}

const fn bit(seq: u32) -> u32 {
    1 << (seq % BITS)
}

const BITS: u32 = u32::BITS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_seq_is_found_alone_and_its_neighbours_are_not() {
        for seq in 0..96 {
            let mut set = SeqSet::new([u32::MAX; 3]);
            assert_eq!((set.len_below(96), set.capacity(), set.first_in(0, 96)), (0, 96, None));
            set.insert(seq);
            set.insert(seq);
            assert!(set.contains(seq) && set.len_below(96) == 1);
            for first in 0..96 {
                for end in 0..=96 {
                    let is_within = (first..end).contains(&seq);
                    assert_eq!(set.first_in(first, end), is_within.then_some(seq));
                }
            }
            set.remove(seq);
            assert_eq!(set.len_below(96), 0);
        }
    }

    #[test]
    fn each_seq_that_is_missing_is_found_alone() {
        for seq in 0..96 {
            let mut set = SeqSet::new([0; 3]);
            (0..96).filter(|other| *other != seq).for_each(|other| set.insert(other));
            for first in 0..96 {
                for end in 0..=96 {
                    let is_within = (first..end).contains(&seq);
                    assert_eq!(set.first_not_in(first, end), is_within.then_some(seq));
                }
            }
        }
    }

    #[test]
    fn truncated_set_keeps_what_lies_before() {
        for first in 0..=100 {
            let mut set = SeqSet::new([0; 3]);
            (0..96).for_each(|seq| set.insert(seq));
            set.truncate(first);
            assert_eq!(set.len_below(96), first.min(96));
            assert_eq!(set.first_not_in(0, 96), (first < 96).then_some(first));
        }
    }
}

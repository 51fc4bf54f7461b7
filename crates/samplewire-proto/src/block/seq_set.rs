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
        if first >= end {
            return None;
        }
        let mut at = first / BITS;
        let mut found = self.word(at) & !(bit(first) - 1);
        while found == 0 {
            at += 1;
            if at > (end - 1) / BITS {
                return None;
            }
            found = self.word(at);
        }
        let seq = at * BITS + found.trailing_zeros();
        (seq < end).then_some(seq)
    }

    /// Those in `first..end` that are not, in ascending order.
    pub(super) fn absent(&self, first: u32, end: u32) -> Absent<'_> {
        let absent = if first < end { !self.word(first / BITS) >> (first % BITS) } else { 0 };
        Absent { words: self.0.as_ref(), absent, next: first, end }
    }

    fn word(&self, at: u32) -> u32 {
        self.0.as_ref()[at as usize]
    }
}

/// The seqs of a range that are not in a set. Steps from bit to bit: a soft core without a barrel shifter
/// takes a hundred cycles to mask those before one and to count the zeros ahead of it.
#[derive(Clone, Debug)]
pub(super) struct Absent<'a> {
    words: &'a [u32],
    /// The bits of the word of `next` from there on, inverted.
    absent: u32,
    next: u32,
    end: u32,
}

impl Iterator for Absent<'_> {
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        while self.next < self.end {
            if self.absent == 0 {
                self.next = (self.next | (BITS - 1)).checked_add(1)?;
                if self.next < self.end {
                    self.absent = !self.words[(self.next / BITS) as usize];
                }
                continue;
            }
            let (seq, is_absent) = (self.next, self.absent & 1 != 0);
            self.absent >>= 1;
            // In the last word of all seqs the end is before the last one.
            self.next += 1;
            if self.next.is_multiple_of(BITS) && self.next < self.end {
                self.absent = !self.words[(self.next / BITS) as usize];
            }
            if is_absent {
                return Some(seq);
            }
        }
        None
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
                    assert_eq!(
                        set.absent(first, end).collect::<Vec<_>>(),
                        Vec::from_iter(is_within.then_some(seq))
                    );
                }
            }
        }
    }

    #[test]
    fn last_word_of_all_seqs_ends() {
        let words = [0];
        let absent = Absent { words: &words, absent: 0, next: u32::MAX, end: u32::MAX };
        assert_eq!(absent.count(), 0);
        let absent = Absent { words: &words, absent: 0, next: u32::MAX - 31, end: u32::MAX };
        assert_eq!(absent.count(), 0, "all of it is in the set");
    }

    #[test]
    fn truncated_set_keeps_what_lies_before() {
        for first in 0..=100 {
            let mut set = SeqSet::new([0; 3]);
            (0..96).for_each(|seq| set.insert(seq));
            set.truncate(first);
            assert_eq!(set.len_below(96), first.min(96));
            assert_eq!(
                set.absent(0, 96).collect::<Vec<_>>(),
                (first.min(96)..96).collect::<Vec<_>>()
            );
        }
    }
}

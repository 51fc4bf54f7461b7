//! Bounds how many answers go to packets of no stream, and how many REFUSEs (`docs/protocol.md#7.6`,
//! `docs/protocol.md#3.17`).

use crate::number::Nanos;

/// A bucket of 64 tokens, one more every millisecond: a stranger gets no more answers.
#[derive(Clone, Debug)]
pub struct Bucket {
    tokens: u64,
    /// Up to when tokens have come in.
    filled_to: Nanos,
}

impl Bucket {
    /// A full bucket.
    pub const fn new() -> Self {
        Self { tokens: CAPACITY, filled_to: Nanos(0) }
    }

    /// Takes a token if there is one.
    pub fn take(&mut self, now: Nanos) -> bool {
        let came = now.since(self.filled_to).0 / INTERVAL.0;
        if came >= CAPACITY - self.tokens {
            // Part of an interval fills a full bucket no further.
            (self.tokens, self.filled_to) = (CAPACITY, now.max(self.filled_to));
        } else {
            self.tokens += came;
            self.filled_to = self.filled_to + Nanos(came * INTERVAL.0);
        }
        let is_full = self.tokens > 0;
        self.tokens -= u64::from(is_full);
        is_full
    }
}

impl Default for Bucket {
    fn default() -> Self {
        Self::new()
    }
}

/// The streams that a restarted device can report at once as ended.
const CAPACITY: u64 = 64;
const INTERVAL: Nanos = Nanos::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_gives_its_capacity_at_once_then_one_an_interval() {
        let mut bucket = Bucket::new();
        let start = Nanos::from_millis(5_000);
        let given = |bucket: &mut Bucket, now| (0..1000).filter(|_| bucket.take(now)).count();
        assert_eq!(given(&mut bucket, start), 64);
        assert_eq!(given(&mut bucket, start + Nanos(999_999)), 0);
        assert_eq!(given(&mut bucket, start + Nanos::from_millis(3)), 3);
        assert_eq!(given(&mut bucket, start + Nanos::from_millis(9_000)), 64);
        // What came of an interval before the bucket was used counts for nothing.
        let later = start + Nanos(20_000_999_999);
        assert_eq!(given(&mut bucket, later), 64);
        assert_eq!(given(&mut bucket, later + Nanos(999_999)), 0);
        assert_eq!(given(&mut bucket, later + Nanos(1_000_000)), 1);
    }
}

//! Time since the start, in steps of a millisecond, without a division.

use crate::soc;

/// Counts milliseconds of the board's time. It is read once in 2^32 ns at least.
#[derive(Debug)]
pub struct Clock {
    /// The time at the last whole millisecond.
    last: u32,
    millis: u64,
}

impl Clock {
    /// A clock that begins at 0.
    pub fn new() -> Self {
        Self { last: soc::time_ns(), millis: 0 }
    }

    /// Milliseconds since it began; true with the first reading of each.
    pub fn read(&mut self) -> (u64, bool) {
        let passed = soc::time_ns().wrapping_sub(self.last);
        if passed < NS_PER_MS {
            return (self.millis, false);
        }
        let millis = passed / NS_PER_MS;
        self.last = self.last.wrapping_add(millis * NS_PER_MS);
        self.millis += u64::from(millis);
        (self.millis, true)
    }

    /// The low word of the time `ms` after the last whole millisecond, at most 2,000.
    pub const fn after_ms(&self, ms: u32) -> u32 {
        self.last.wrapping_add(ms * NS_PER_MS)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

const NS_PER_MS: u32 = 1_000_000;

//! Time since the start, in steps of a millisecond.

use crate::soc;

/// Counts milliseconds.
#[derive(Debug)]
pub struct Clock {
    /// The time at the last whole millisecond.
    last_ns: u64,
    millis: u64,
}

impl Clock {
    /// A clock that begins at 0.
    pub fn new() -> Self {
        Self { last_ns: soc::time_ns(), millis: 0 }
    }

    /// Milliseconds since it began; true with the first reading of each.
    pub fn read(&mut self) -> (u64, bool) {
        let passed = soc::time_ns() - self.last_ns;
        if passed < NS_PER_MS {
            return (self.millis, false);
        }
        // A division of 64 bits takes thousands of cycles.
        let millis = match u32::try_from(passed) {
            Ok(passed) => u64::from(passed / NS_PER_MS as u32),
            Err(_) => passed / NS_PER_MS,
        };
        self.last_ns += millis * NS_PER_MS;
        self.millis += millis;
        (self.millis, true)
    }

    /// The time `ms` after the last whole millisecond, in nanoseconds since the start.
    pub const fn after_ms(&self, ms: u32) -> u64 {
        self.last_ns + ms as u64 * NS_PER_MS
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

const NS_PER_MS: u64 = 1_000_000;

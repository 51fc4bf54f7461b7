//! Time since the start, in steps of a millisecond, without a division.

use crate::soc;

/// Counts milliseconds of the cycle count. It is read once in 2^32 cycles at least.
#[derive(Debug)]
pub struct Clock {
    /// The cycle count at the last whole millisecond.
    last: u32,
    millis: u64,
}

impl Clock {
    /// A clock that begins at 0.
    pub fn new() -> Self {
        Self { last: soc::cycles(), millis: 0 }
    }

    /// Milliseconds since it began; true with the first reading of each.
    pub fn read(&mut self) -> (u64, bool) {
        let passed = soc::cycles().wrapping_sub(self.last);
        if passed < CYCLES_PER_MS {
            return (self.millis, false);
        }
        let millis = passed / CYCLES_PER_MS;
        self.last = self.last.wrapping_add(millis * CYCLES_PER_MS);
        self.millis += u64::from(millis);
        (self.millis, true)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// The clock of the processors: 125 MHz, as 1 Gb/s Ethernet has it.
const CYCLES_PER_MS: u32 = 125_000;

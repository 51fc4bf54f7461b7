//! Whether packets come by few, to somebody who looks all the time.
//!
//! For the kernel's count of drops (SO_RXQ_OVFL) and for joined packets (UDP_GRO) each receive reads
//! the end of the packet's buffer: a line of memory that the sender's core has in its cache, and writes
//! next. A packet alone waits for that and gains nothing: nothing is joined, and a socket that is looked
//! at soon enough does not fill.

use std::time::{Duration, Instant};

/// Follows what the looks at a socket find, and says when both options are worth their price.
#[derive(Debug)]
pub(super) struct Lone {
    /// The options are off.
    is_spared: bool,
    looked_at: Instant,
    /// When something came last.
    came_at: Instant,
    /// Messages that came with it, with no pause between them.
    crowd: usize,
    /// Pauses in a row that ended by few.
    streak: u32,
}

impl Lone {
    /// Of a socket that has both options.
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { is_spared: false, looked_at: now, came_at: now, crowd: 0, streak: 0 }
    }

    pub(super) const fn is_spared(&self) -> bool {
        self.is_spared
    }

    /// A look begins at a buffer of so many bytes; says whether the options must be on before it makes
    /// room, since the buffer may have filled.
    pub(super) fn begin(&mut self, now: Instant, buffer_bytes: usize) -> bool {
        let fills_in = Duration::from_nanos(buffer_bytes as u64 / WIRE_BYTES_PER_NS);
        let is_late = now.saturating_duration_since(self.looked_at) > fills_in;
        self.looked_at = now;
        if is_late {
            self.streak = 0;
        }
        is_late && self.is_spared
    }

    /// The look found so many messages; says whether the options are to be on, where that changes.
    pub(super) fn end(&mut self, messages: usize) -> Option<bool> {
        if messages == 0 {
            return None;
        }
        let is_apart = self.looked_at.saturating_duration_since(self.came_at) >= PAUSE;
        self.came_at = self.looked_at;
        self.crowd = if is_apart { messages } else { self.crowd + messages };
        if self.crowd > FEW {
            self.streak = 0;
            return self.is_spared.then_some(true);
        }
        self.streak += u32::from(is_apart);
        (self.streak >= STREAK && !self.is_spared).then_some(false)
    }

    /// The options are on, or off.
    pub(super) const fn set(&mut self, are_on: bool) {
        self.is_spared = !are_on;
        self.streak = 0;
    }
}

/// 100 Gb/s. What the kernel charges for a packet beside its bytes is about as much again, and it
/// grants twice what it says.
const WIRE_BYTES_PER_NS: u64 = 12;

/// Less than a round trip over loopback.
const PAUSE: Duration = Duration::from_micros(2);

/// Messages that fill no buffer, and of which joining would make nothing.
const FEW: usize = 8;

/// Turning the options off and on again costs four calls.
const STREAK: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const BUFFER_BYTES: usize = 212_992;

    /// Looks so long apart, in ns, that find so many messages; all that was said.
    fn look(lone: &mut Lone, looks: &[(u64, usize)]) -> Vec<bool> {
        let mut said = Vec::new();
        for &(after_ns, messages) in looks {
            let now = lone.looked_at + Duration::from_nanos(after_ns);
            if lone.begin(now, BUFFER_BYTES) {
                said.push(true);
                lone.set(true);
            }
            if let Some(are_on) = lone.end(messages) {
                said.push(are_on);
                lone.set(are_on);
            }
        }
        said
    }

    /// Lone packets 4 us apart, with looks between them.
    fn lone_packets(packets: u32) -> Vec<(u64, usize)> {
        [(1_000, 0), (2_000, 0), (1_000, 1)].repeat(packets as usize)
    }

    #[test]
    fn packets_by_few_are_spared_until_many_come() {
        let mut lone = Lone::new();
        assert!(look(&mut lone, &lone_packets(STREAK - 1)).is_empty());
        assert_eq!(look(&mut lone, &lone_packets(1)), [false]);
        let few = [(4_000, 2), (300, FEW - 2), (4_000, FEW), (300, 0), (4_000, 1)];
        assert!(look(&mut lone, &few).is_empty());
        assert_eq!(look(&mut lone, &[(4_000, 1), (300, 0), (300, FEW)]), [true]);
        assert!(look(&mut lone, &lone_packets(STREAK - 1)).is_empty(), "from the beginning");
    }

    #[test]
    fn packets_without_a_pause_are_many() {
        assert!(look(&mut Lone::new(), &[(600, 1), (600, 0)].repeat(1_000)).is_empty());
    }

    #[test]
    fn options_are_on_before_a_look_that_comes_late() {
        let mut lone = Lone::new();
        look(&mut lone, &lone_packets(STREAK));
        assert!(look(&mut lone, &[(17_000, 1)]).is_empty());
        assert_eq!(look(&mut lone, &[(18_000, 1)]), [true]);
        assert!(look(&mut lone, &[(1_000_000, 1)].repeat(1_000)).is_empty(), "always late");
    }
}

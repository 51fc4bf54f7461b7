//! Detects packets that come a few at a time to a thread that polls.
//!
//! For the kernel's count of drops (SO_RXQ_OVFL) and for joined packets (UDP_GRO) each receive
//! reads the end of the packet's buffer. The sender's core has this cache line and writes it next.
//! A single packet waits for that and gains nothing: nothing is joined, and a socket that was just
//! empty has dropped nothing.
//!
//! So joining stays off until many packets come at once. From then on it stays on: packets that the
//! kernel joined just before joining ended could not be split. The count of drops is turned off and
//! on repeatedly. It is on before a poll of a buffer that may have filled. One case is not counted:
//! if the thread was delayed within a poll, packets that came into the room made by that poll come
//! without a count.

use std::time::{Duration, Instant};

/// Tracks the results of the polls of a socket.
#[derive(Debug)]
pub(super) struct SinglePacketMode {
    /// Drops are not counted.
    is_spared: bool,
    /// When a look began that found nothing.
    emptied_at: Instant,
    /// When something came last, and how many messages since the last pause.
    came_at: Instant,
    crowd: usize,
    /// Nothing was there at the last look.
    is_empty: bool,
    /// Pauses in a row that ended by few.
    streak: u32,
}

impl SinglePacketMode {
    /// Of a socket whose drops are counted.
    pub(super) fn new() -> Self {
        let now = Instant::now();
        let (emptied_at, came_at) = (now, now);
        Self { is_spared: false, emptied_at, came_at, crowd: 0, is_empty: false, streak: 0 }
    }

    pub(super) const fn is_spared(&self) -> bool {
        self.is_spared
    }

    /// Whether many have come without a pause.
    pub(super) const fn is_crowd(&self) -> bool {
        self.crowd > FEW
    }

    /// A look begins at a buffer of so many bytes; says whether drops must be counted before it makes
    /// room: the buffer may have filled since it was empty.
    pub(super) fn begin(&mut self, now: Instant, buffer_bytes: usize) -> bool {
        let fills_in = Duration::from_nanos(buffer_bytes as u64 / WIRE_BYTES_PER_NS);
        let is_late = now.saturating_duration_since(self.emptied_at) > fills_in;
        if is_late {
            self.streak = 0;
        }
        is_late && self.is_spared
    }

    /// The look that began at `now` found so many messages; says whether drops are to be counted, where
    /// that changes.
    pub(super) fn end(&mut self, now: Instant, messages: usize) -> Option<bool> {
        if messages == 0 {
            (self.emptied_at, self.is_empty) = (now, true);
            return None;
        }
        let is_apart = self.is_empty && now.saturating_duration_since(self.came_at) >= PAUSE;
        (self.came_at, self.is_empty) = (now, false);
        self.crowd = if is_apart { messages } else { self.crowd + messages };
        if self.is_crowd() {
            self.streak = 0;
            return self.is_spared.then_some(true);
        }
        self.streak += u32::from(is_apart);
        (self.streak >= STREAK && !self.is_spared).then_some(false)
    }

    /// Drops are counted from now on, or not.
    pub(super) const fn set(&mut self, are_counted: bool) {
        self.is_spared = !are_counted;
        self.streak = 0;
    }
}

/// 100 Gb/s, of full packets: what the kernel charges for one is then about twice its length, and it
/// grants twice what it says.
const WIRE_BYTES_PER_NS: u64 = 12;

/// Less than a round trip over loopback.
const PAUSE: Duration = Duration::from_micros(2);

/// Messages that fill no buffer, and of which joining would make nothing.
const FEW: usize = 8;

/// Leaving the count out, and asking for it again, costs two calls.
const STREAK: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const BUFFER_BYTES: usize = 212_992;

    /// A socket, and the time at which it was looked at last.
    struct Bench {
        single_packet: SinglePacketMode,
        now: Instant,
    }

    impl Bench {
        fn new() -> Self {
            let single_packet = SinglePacketMode::new();
            Self { now: single_packet.came_at, single_packet }
        }

        /// Looks so long apart, in ns, that find so many messages; all that was said.
        fn look(&mut self, looks: &[(u64, usize)]) -> Vec<bool> {
            let mut said = Vec::new();
            for &(after_ns, messages) in looks {
                self.now += Duration::from_nanos(after_ns);
                let first = self.single_packet.begin(self.now, BUFFER_BYTES).then_some(true);
                first.into_iter().for_each(|are_counted| self.single_packet.set(are_counted));
                let then = self.single_packet.end(self.now, messages);
                then.into_iter().for_each(|are_counted| self.single_packet.set(are_counted));
                said.extend(first.into_iter().chain(then));
            }
            said
        }
    }

    /// Single packets 4 us apart, with looks between them.
    fn lone_packets(packets: u32) -> Vec<(u64, usize)> {
        [(1_000, 0), (2_000, 0), (1_000, 1)].repeat(packets as usize)
    }

    #[test]
    fn packets_by_few_are_spared_until_many_come() {
        let mut bench = Bench::new();
        assert!(bench.look(&lone_packets(STREAK - 1)).is_empty());
        assert_eq!(bench.look(&lone_packets(1)), [false]);
        let few = [(2_000, 0), (2_000, 2), (300, FEW - 2), (300, 0), (4_000, FEW), (300, 0)];
        assert!(bench.look(&few).is_empty());
        assert!(!bench.single_packet.is_crowd());
        assert_eq!(bench.look(&[(4_000, 1), (300, 0), (300, FEW)]), [true]);
        assert!(bench.single_packet.is_crowd());
        assert!(bench.look(&lone_packets(STREAK - 1)).is_empty(), "from the beginning");
    }

    #[test]
    fn packets_without_a_pause_are_many() {
        let mut bench = Bench::new();
        assert!(bench.look(&[(600, 1), (600, 0)].repeat(1_000)).is_empty());
        assert!(bench.single_packet.is_crowd());
    }

    #[test]
    fn socket_that_is_never_empty_has_many() {
        let mut bench = Bench::new();
        assert!(bench.look(&[(4_000, 1)].repeat(1_000)).is_empty());
        assert!(bench.single_packet.is_crowd());
    }

    #[test]
    fn drops_are_counted_before_a_look_that_comes_late() {
        let mut bench = Bench::new();
        bench.look(&lone_packets(STREAK));
        assert!(bench.look(&[(1_000, 0), (17_000, 1)]).is_empty());
        assert_eq!(bench.look(&[(1_000, 1)]), [true], "it was empty long ago");
        bench.look(&lone_packets(STREAK));
        assert_eq!(bench.look(&[(1_000, 0), (18_000, 1)]), [true]);
        assert!(bench.look(&[(20_000, 0), (18_000, 1)].repeat(1_000)).is_empty(), "always late");
    }
}

//! What a socket dropped because it had no room, out of all that the kernel counts as its drops.
//!
//! SO_RXQ_OVFL gives `sk_drops`, which also rises for each packet whose UDP checksum is wrong: when it
//! is queued where a filter is attached, else when it is received. Such a packet was damaged on its
//! way. No count of one socket separates the two, but the count of wrong checksums of the network
//! namespace does: of `n` new drops while `m` checksums were wrong at least `n - m` had no room. That is
//! exact while no other socket of the namespace gets damaged packets.
//!
//! The namespace's count costs some 20 us to read, so it is read only when drops have risen, and at
//! most [`READS_MAX`] times at once and one a millisecond. A rise for which there is no read left is
//! counted with the next one.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Follows the drops of one socket.
#[derive(Debug)]
pub(super) struct Drops {
    /// Where the namespace counts, where it can be read.
    errors: Option<ChecksumErrors>,
    /// The kernel's count of drops, as far as it is settled, and how many of them had no room.
    counted: u32,
    without_room: u32,
    /// Wrong checksums that no drop has been settled by: of the present second, and of the one before.
    fresh: u32,
    old: u32,
    aged_at: Instant,
    reads_left: u32,
    refilled_at: Instant,
    /// The namespace was read in this look at the socket.
    is_read: bool,
}

impl Drops {
    /// Of a socket that has dropped nothing yet, in the namespace of the calling thread.
    pub(super) fn new(is_v6: bool) -> Self {
        Self::of(ChecksumErrors::open(is_v6), Instant::now())
    }

    fn of(errors: Option<ChecksumErrors>, now: Instant) -> Self {
        Self {
            errors,
            counted: 0,
            without_room: 0,
            fresh: 0,
            old: 0,
            aged_at: now,
            reads_left: READS_MAX,
            refilled_at: now,
            is_read: false,
        }
    }

    /// A look at the socket begins.
    pub(super) const fn begin(&mut self) {
        self.is_read = false;
    }

    /// How many packets the socket had no room for, where the kernel has counted `counted` drops.
    pub(super) fn without_room(&mut self, counted: u32, now: impl FnOnce() -> Instant) -> u32 {
        let drops = counted.wrapping_sub(self.counted).cast_signed();
        if drops > 0 && (self.is_read || self.read(now())) {
            self.settle(counted, drops.cast_unsigned());
        }
        self.without_room
    }

    /// Drops that a filter made are not of interest, and what was damaged meanwhile neither.
    pub(super) const fn skip(&mut self, counted: u32) {
        self.counted = counted;
    }

    /// Reads the namespace's count, unless that was done too often; whether drops can be settled.
    fn read(&mut self, now: Instant) -> bool {
        let Some(errors) = &mut self.errors else { return true };
        let refilled = now.saturating_duration_since(self.refilled_at).as_millis();
        if refilled > 0 {
            self.refilled_at = now;
            let reads = u32::try_from(refilled).unwrap_or(READS_MAX);
            self.reads_left = self.reads_left.saturating_add(reads).min(READS_MAX);
        }
        if self.reads_left == 0 {
            return false;
        }
        self.reads_left -= 1;
        self.is_read = true;
        if now.saturating_duration_since(self.aged_at) >= AGE {
            // What other sockets got long ago says nothing of the drops of this one.
            (self.old, self.fresh, self.aged_at) = (self.fresh, 0, now);
        }
        self.fresh = self.fresh.saturating_add(errors.rise());
        true
    }

    const fn settle(&mut self, counted: u32, drops: u32) {
        let by_old = if drops < self.old { drops } else { self.old };
        let left = drops - by_old;
        let by_fresh = if left < self.fresh { left } else { self.fresh };
        self.old -= by_old;
        self.fresh -= by_fresh;
        self.counted = counted;
        self.without_room = self.without_room.wrapping_add(left - by_fresh);
    }
}

/// The namespace's count of UDP packets whose checksum was wrong.
#[derive(Debug)]
struct ChecksumErrors {
    /// Opened once: it stays with the namespace of the socket.
    file: File,
    is_v6: bool,
    count: u64,
}

impl ChecksumErrors {
    fn open(is_v6: bool) -> Option<Self> {
        let name = if is_v6 { "snmp6" } else { "snmp" };
        let file = File::open(format!("/proc/thread-self/net/{name}")).ok()?;
        let mut errors = Self { file, is_v6, count: 0 };
        errors.count = errors.read()?;
        Some(errors)
    }

    /// By how much it has risen since the last call.
    fn rise(&mut self) -> u32 {
        let Some(count) = self.read() else { return 0 };
        let rise = count.saturating_sub(self.count);
        self.count = count;
        u32::try_from(rise).unwrap_or(u32::MAX)
    }

    fn read(&self) -> Option<u64> {
        let mut text = [0; TEXT_BYTES];
        let mut len = 0;
        loop {
            match self.file.read_at(&mut text[len..], len as u64).ok()? {
                0 => break,
                more => len += more,
            }
        }
        let text = std::str::from_utf8(&text[..len]).ok()?;
        if self.is_v6 { of_snmp6(text) } else { of_snmp(text) }
    }
}

/// `InCsumErrors` of UDP in `/proc/net/snmp`: a line of names, and one of counts.
fn of_snmp(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, counts) = (lines.next()?, lines.next()?);
    let (_, count) = names.split(' ').zip(counts.split(' ')).find(|(name, _)| *name == NAME)?;
    count.parse().ok()
}

/// The same of UDP over IPv6 in `/proc/net/snmp6`: a name and a count a line.
fn of_snmp6(text: &str) -> Option<u64> {
    let of_line = |line: &str| line.strip_prefix("Udp6")?.strip_prefix(NAME)?.trim().parse().ok();
    text.lines().find_map(of_line)
}

const NAME: &str = "InCsumErrors";

/// More than both files have.
const TEXT_BYTES: usize = 8 << 10;

/// Reads in a row; one more for each millisecond.
const READS_MAX: u32 = 64;

/// How long a wrong checksum explains a drop, at least: longer than a packet waits in a socket.
const AGE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    const SNMP: &str = "Ip: Forwarding DefaultTTL\nIp: 1 64\n\
        Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors\n\
        Udp: 9 8 7 6 5 4 312\nUdpLite: InDatagrams InCsumErrors\nUdpLite: 1 2\n";

    #[test]
    fn checksum_errors_are_found_in_both_files() {
        assert_eq!((of_snmp(SNMP), of_snmp("")), (Some(312), None));
        let snmp6 = "Udp6InErrors   \t7\nUdp6InCsumErrors                \t3\nUdpLite6InErrors 1\n";
        assert_eq!((of_snmp6(snmp6), of_snmp6("Udp6InErrors 7\n")), (Some(3), None));
        for is_v6 in [false, true] {
            assert!(ChecksumErrors::open(is_v6).is_some(), "this kernel counts them");
        }
    }

    /// Drops of a socket in a namespace whose counts the test writes.
    struct Bench {
        drops: Drops,
        file: File,
        now: Instant,
    }

    impl Bench {
        fn new() -> Self {
            let file = tempfile::tempfile().unwrap();
            let errors = ChecksumErrors { file: file.try_clone().unwrap(), is_v6: true, count: 0 };
            let now = Instant::now();
            let mut bench = Self { drops: Drops::of(Some(errors), now), file, now };
            bench.set_errors(0);
            bench
        }

        fn set_errors(&mut self, count: u32) {
            self.file.rewind().unwrap();
            write!(self.file, "Udp6InCsumErrors {count:10}").unwrap();
        }

        /// A look so long after the last finds that the kernel has counted so many drops.
        fn look(&mut self, after_us: u64, counted: u32) -> u32 {
            self.now += Duration::from_micros(after_us);
            self.drops.begin();
            self.drops.without_room(counted, || self.now)
        }
    }

    #[test]
    fn damaged_packets_are_not_without_room() {
        let mut bench = Bench::new();
        assert_eq!(bench.look(10, 5), 5);
        bench.set_errors(3);
        assert_eq!(bench.look(10, 8), 5, "all three were damaged");
        bench.set_errors(4);
        assert_eq!(bench.look(10, 12), 8, "one of four");
        assert_eq!(bench.look(10, 13), 9);
    }

    #[test]
    fn checksum_error_that_is_counted_before_its_drop_explains_it_later() {
        let mut bench = Bench::new();
        bench.set_errors(2);
        assert_eq!(bench.look(10, 1), 0);
        assert_eq!(bench.look(1_500_000, 2), 0, "within two seconds");
        bench.set_errors(9);
        assert_eq!(bench.look(10, 3), 0);
        assert_eq!((bench.look(1_000_000, 4), bench.look(1_000_000, 5)), (0, 1), "too long ago");
    }

    #[test]
    fn reads_are_bounded_and_drops_wait_for_the_next() {
        let mut bench = Bench::new();
        for counted in 1..=READS_MAX {
            assert_eq!(bench.look(1, counted), counted);
        }
        assert_eq!(bench.look(1, READS_MAX + 1), READS_MAX, "there is no read left");
        assert_eq!(bench.look(1_000, READS_MAX + 2), READS_MAX + 2);
    }

    #[test]
    fn drops_of_a_filter_are_left_out() {
        let mut bench = Bench::new();
        bench.drops.skip(1_000);
        assert_eq!(bench.look(10, 1_002), 2);
    }
}

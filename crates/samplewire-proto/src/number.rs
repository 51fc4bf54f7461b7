//! The numbers of the protocol, each a type of its own because it wraps or has a unit.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A sample index: one index is one instant on all channels. Never wraps: 2^63 samples last 29
/// years at 10 Gsamples/s.
pub type SampleIndex = u64;

/// The largest index of a packet; sums of indexes and counts then fit 64 bits.
pub const INDEX_MAX: SampleIndex = 1 << 63;

/// Nanoseconds of a monotonic clock whose origin is the caller's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// A span of whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// A span of whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// The span since `earlier`, zero when `earlier` lies in the future.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, span: Self) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

/// A packet number in serial arithmetic (RFC 1982): comparisons hold over half the number space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// The signed distance from `other` to `self`.
    pub const fn distance(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// Whether `self` comes before `other`.
    pub const fn before(self, other: Self) -> bool {
        self.distance(other) < 0
    }

    /// Whether `self` lies in `[first, end)`.
    pub const fn within(self, first: Self, end: Self) -> bool {
        self.0.wrapping_sub(first.0) < end.0.wrapping_sub(first.0)
    }

    /// The later of two.
    pub const fn max(self, other: Self) -> Self {
        if self.before(other) { other } else { self }
    }

    /// The earlier of two.
    pub const fn min(self, other: Self) -> Self {
        if other.before(self) { other } else { self }
    }
}

impl Add<u32> for Seq {
    type Output = Self;
    fn add(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count))
    }
}

impl AddAssign<u32> for Seq {
    fn add_assign(&mut self, count: u32) {
        self.0 = self.0.wrapping_add(count);
    }
}

impl Sub<u32> for Seq {
    type Output = Self;
    fn sub(self, count: u32) -> Self {
        Self(self.0.wrapping_sub(count))
    }
}

impl Sub for Seq {
    type Output = u32;
    /// How many packets from `first` up to `self`, for `self` not before `first`.
    fn sub(self, first: Self) -> u32 {
        self.0.wrapping_sub(first.0)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An instant of a sender's clock in units of 16 ns. Wraps at 68.7 s, sound over half of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Departure(pub u32);

impl Departure {
    /// The length of one unit in nanoseconds.
    pub const UNIT_NS: u64 = 16;

    /// The instant `now` of the local clock in departure units.
    pub const fn at(now: Nanos) -> Self {
        Self((now.0 / Self::UNIT_NS) as u32)
    }

    /// A span in departure units, saturating.
    pub const fn units(span: Nanos) -> u32 {
        let units = span.0 / Self::UNIT_NS;
        if units > u32::MAX as u64 { u32::MAX } else { units as u32 }
    }

    /// A span of departure units in nanoseconds.
    pub const fn span_ns(units: u32) -> Nanos {
        Nanos(units as u64 * Self::UNIT_NS)
    }

    /// The signed distance from `other` to `self` in units.
    pub const fn distance(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// The span from `earlier` to `self` in units, where it is known that `earlier` is not later:
    /// holds over the whole wrap, 68.7 s.
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Whether `self` comes before `other`.
    pub const fn before(self, other: Self) -> bool {
        self.distance(other) < 0
    }

    /// The instant `units` later.
    pub const fn plus(self, units: u32) -> Self {
        Self(self.0.wrapping_add(units))
    }

    /// The instant `units` earlier.
    pub const fn minus(self, units: u32) -> Self {
        Self(self.0.wrapping_sub(units))
    }
}

/// Names a stream to the receiver of a packet, which chose it. Unguessable; 0 = none yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tag(pub u32);

impl Tag {
    /// The tag of a packet whose receiver has not chosen one yet.
    pub const NONE: Self = Self(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seq_comparisons_hold_across_the_wrap() {
        let before = Seq(u32::MAX);
        let after = before + 2;
        assert_eq!(after, Seq(1));
        assert!(before.before(after) && !after.before(before));
        assert_eq!(after - before, 2);
        assert!(Seq(0).within(before, after) && !after.within(before, after));
        assert_eq!(before.max(after), after);
        assert_eq!(before.min(after), before);
    }

    #[test]
    fn spans_are_cut_to_what_their_numbers_hold() {
        let units = |ns| Departure::units(Nanos(ns));
        assert_eq!((units(15), units(16), units(31)), (0, 1, 1));
        assert_eq!(Departure::span_ns(u32::MAX), Nanos(u64::from(u32::MAX) * 16));
        assert_eq!(units(u64::from(u32::MAX) * 16), u32::MAX);
        assert_eq!((units(1 << 36), units(u64::MAX)), (u32::MAX, u32::MAX));
        assert_eq!(Nanos(3).since(Nanos(5)), Nanos(0));
        assert_eq!((Nanos(3) - Nanos(5), Nanos(3) + Nanos(u64::MAX)), (Nanos(0), Nanos(u64::MAX)));
        assert_eq!(
            (Nanos::from_micros(3), Nanos::from_millis(3)),
            (Nanos(3_000), Nanos(3_000_000))
        );
        assert_eq!(format!("{:>3}", Seq(7)), "  7");
    }

    #[test]
    fn empty_range_holds_no_seq() {
        assert!(!Seq(5).within(Seq(5), Seq(5)));
    }

    #[test]
    fn departures_wrap_after_68_seconds() {
        let early = Departure::at(Nanos::from_millis(68_700));
        let late = Departure::at(Nanos::from_millis(68_800));
        assert!(late.0 < early.0, "the counter wrapped");
        assert!(early.before(late));
        assert_eq!(late.distance(early), 100_000_000 / 16);
    }

    #[test]
    fn span_from_an_earlier_departure_holds_beyond_half_of_the_wrap() {
        for units in [0, 1, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, u32::MAX] {
            for start in [0, 7, i32::MAX as u32, u32::MAX].map(Departure) {
                assert_eq!(start.plus(units).since(start), units);
            }
        }
    }
}

//! The random generator of the whole workspace: numbers from a seed, with no state outside it.

use core::ops::RangeInclusive;

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
///
/// One addition and one mix a number, any seed is good, the period is 2^64. It draws faults, tests and
/// simulated worlds, so that a seed replays on every machine: every draw uses integers alone. It is not
/// for secrets; tags, nonces and cookies come from SipHash under a key.
///
/// No other generator exists in the workspace. What looks alike is none: hashes that give a value for an
/// index without a sequence (the kernels' noise in `samplewire-blocks`, the search's fingerprints, the
/// samples of a test pattern), and the generators of the SystemVerilog and Python benches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(u64);

impl Rng {
    /// The sequence of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The sequence number `stream` of `seed`: places that the mix has put far from each other.
    pub const fn stream(seed: u64, stream: u64) -> Self {
        Self::new(seed ^ stream.wrapping_mul(STREAM_FACTOR)).fork()
    }

    /// A generator of its own for a part that draws at its own pace.
    pub const fn fork(&mut self) -> Self {
        Self(self.draw())
    }

    /// The next 64 bits.
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(INCREMENT);
        mix(self.0)
    }

    /// A number below `end`, 0 where that is 0; the bias is at most `end` / 2^64.
    pub const fn below(&mut self, end: u64) -> u64 {
        ((self.draw() as u128 * end as u128) >> 64) as u64
    }

    /// An index of something that has `len` places, 0 where there are none.
    pub const fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A number in a range.
    pub const fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        *range.start() + self.below(*range.end() - *range.start() + 1)
    }

    /// A number in a range, such that each power of two is as likely as the next.
    pub fn spread(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (low, high) = (range.start().max(&1).ilog2(), range.end().ilog2());
        let power = self.within(low.into()..=high.into());
        let drawn = (1u64 << power) + self.below(1 << power);
        drawn.clamp(*range.start(), *range.end())
    }

    /// True with these odds; those of [`Odds::NEVER`] cost no draw.
    #[inline]
    pub const fn chance(&mut self, odds: Odds) -> bool {
        odds.0 > 0 && self.draw() <= odds.0
    }

    /// True once in `n` times.
    pub const fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `choices`.
    ///
    /// # Panics
    /// When there are none.
    pub const fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }
}

/// A probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Odds(u64);

impl Odds {
    /// 0.
    pub const NEVER: Self = Self(0);

    /// `parts` in a million, at most all.
    pub const fn ppm(parts: u64) -> Self {
        let parts = if parts > 1_000_000 { 1_000_000 } else { parts };
        Self((parts as u128 * u64::MAX as u128 / 1_000_000) as u64)
    }

    /// A share from 0 to 1; what lies outside counts as the nearer of them, no number as 0.
    pub const fn of(share: f64) -> Self {
        // A cast of a float saturates, and that of no number is 0.
        Self((share * TWO_TO_64) as u64)
    }
}

/// The finaliser of SplitMix64: a bijection whose output looks random.
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// 2^64 by the golden ratio, odd.
const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;
/// Odd, and far from [`INCREMENT`]: multiples of it are no neighbours in a sequence.
const STREAM_FACTOR: u64 = 0xD6E8_FEB8_6659_FD93;
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_draws_of_seed_zero_are_those_of_the_paper() {
        let mut rng = Rng::new(0);
        let drawn = [rng.draw(), rng.draw(), rng.draw()];
        assert_eq!(drawn, [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
    }

    #[test]
    fn odds_are_met_and_the_extremes_are_certain() {
        for odds in [Odds::ppm(10_000), Odds::of(0.01)] {
            let mut rng = Rng::new(1);
            let hits = (0..100_000).filter(|_| rng.chance(odds)).count();
            assert!((900..1_100).contains(&hits), "{hits}");
        }
        let mut rng = Rng::new(1);
        let always = [Odds::ppm(1_000_000), Odds::ppm(u64::MAX), Odds::of(1.0), Odds::of(7.0)];
        assert!(always.iter().all(|odds| (0..1_000).all(|_| rng.chance(*odds))));
        for never in [Odds::ppm(0), Odds::of(0.0), Odds::of(-1.0), Odds::of(f64::NAN)] {
            assert_eq!(never, Odds::NEVER);
        }
        let before = rng.clone();
        assert!(!rng.chance(Odds::NEVER) && rng == before, "it costs no draw");
    }

    #[test]
    fn draws_stay_within_their_range_and_reach_its_ends() {
        let mut rng = Rng::new(2);
        let drawn: [_; 1_000] = core::array::from_fn(|_| rng.within(3..=9));
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&9)));
        assert!((0..10_000).all(|_| (5..=70_000).contains(&rng.spread(5..=70_000))));
        assert_eq!((rng.below(0), rng.below(1), rng.index(0)), (0, 0, 0));
    }

    #[test]
    fn streams_of_a_seed_have_nothing_in_common() {
        let first = |stream| Rng::stream(7, stream).draw();
        assert_eq!(first(1), first(1));
        assert!((2..100).all(|stream| first(stream) != first(1)));
    }
}

//! Randomness from a seed. Integers alone, so that a seed replays on every machine.

use std::ops::RangeInclusive;

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own for a part that draws at its own pace.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.draw())
    }

    pub(crate) const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(end)) >> 64) as u64
    }

    pub(crate) fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    /// Draws such that each power of two is as likely as the next.
    pub(crate) fn spread(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (low, high) = (range.start().max(&1).ilog2(), range.end().ilog2());
        let power = self.within(low.into()..=high.into());
        let drawn = (1u64 << power) + self.below(1 << power);
        drawn.clamp(*range.start(), *range.end())
    }

    pub(crate) fn chance(&mut self, odds: Odds) -> bool {
        odds.0 > 0 && self.draw() <= odds.0
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// A probability; zero costs no draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Odds(u64);

impl Odds {
    pub(crate) const NEVER: Self = Self(0);

    /// `parts` in a million.
    pub(crate) const fn ppm(parts: u64) -> Self {
        let parts = if parts > 1_000_000 { 1_000_000 } else { parts };
        Self((parts as u128 * u64::MAX as u128 / 1_000_000) as u64)
    }
}

/// The finaliser of SplitMix64: a bijection whose output looks random.
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odds_are_met_and_the_extremes_are_certain() {
        let mut rng = Rng::new(1);
        let hits = (0..100_000).filter(|_| rng.chance(Odds::ppm(10_000))).count();
        assert!((900..1_100).contains(&hits), "{hits}");
        assert!((0..1_000).all(|_| rng.chance(Odds::ppm(1_000_000))));
        assert!((0..1_000).all(|_| !rng.chance(Odds::NEVER)));
    }

    #[test]
    fn draws_stay_within_their_range() {
        let mut rng = Rng::new(2);
        for _ in 0..10_000 {
            assert!((3..=9).contains(&rng.within(3..=9)));
            assert!((5..=70_000).contains(&rng.spread(5..=70_000)));
        }
    }
}

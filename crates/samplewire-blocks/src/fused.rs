//! Several blocks that each map single samples, in one pass.

use std::hint::black_box;

use multiversion::multiversion;
use samplewire_circuit::{Flow, InPlace, Quantum, Sample, Work};

/// Maps each sample without regard to its neighbours, and keeps no state between samples. So it can
/// be [`Fused`]. Implemented by a function of one sample, and by a pair: the first map runs before
/// the second.
pub trait Elementwise<T>: Clone + Send {
    /// How many maps it consists of, one after the other.
    const MAPS: usize = 1;

    /// What becomes of `sample`.
    fn map(&self, sample: T) -> T;

    /// Maps each of `samples`. What consists of several maps has all samples through one before the
    /// next.
    #[inline(always)]
    fn map_some<const N: usize>(&self, samples: &mut [T; N])
    where
        T: Copy,
    {
        for sample in samples {
            *sample = self.map(*sample);
        }
    }
}

/// Blocks that follow one another, fused to one: each sample is loaded once, goes through all of them,
/// and is stored once. Between blocks of a graph it is stored and loaded at each.
///
/// The samples are those that the blocks in a row come to, bit by bit. The graph has one block more,
/// with one name and one line in its report.
///
/// ```
/// use samplewire_blocks::{ChainExt, Constant, Fused, Gain, Probe, Saxpy, chain};
///
/// let (probe, reading) = Probe::new();
/// chain(Constant::new(2.0_f32))
///     .head(10_000)
///     .in_place(Fused::new(Gain::new(0.5)).then(Saxpy::new(-3.0, 1.0)).then(f32::abs))
///     .in_place(probe)
///     .for_each(|quantum| assert_eq!(quantum.samples()[0], 2.0))
///     .run()?;
/// assert_eq!(reading.mean_power(), 4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Fused<E> {
    map: E,
}

impl<E> Fused<E> {
    /// A block of its own of `map`.
    pub const fn new(map: E) -> Self {
        Self { map }
    }

    /// This, and `next` on what it comes to.
    pub fn then<N>(self, next: N) -> Fused<(E, N)> {
        Fused { map: (self.map, next) }
    }
}

impl<T: Sample, E: Elementwise<T>> InPlace<T> for Fused<E> {
    fn work(&mut self, quantum: &mut Quantum<T>) -> Work {
        map_each(quantum.samples_mut(), &self.map);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T, F: Fn(T) -> T + Clone + Send> Elementwise<T> for F {
    #[inline(always)]
    fn map(&self, sample: T) -> T {
        self(sample)
    }
}

impl<T, E: Elementwise<T>> Elementwise<T> for Fused<E> {
    const MAPS: usize = E::MAPS;

    #[inline(always)]
    fn map(&self, sample: T) -> T {
        self.map.map(sample)
    }

    #[inline(always)]
    fn map_some<const N: usize>(&self, samples: &mut [T; N])
    where
        T: Copy,
    {
        self.map.map_some(samples);
    }
}

impl<T, A: Elementwise<T>, B: Elementwise<T>> Elementwise<T> for (A, B) {
    const MAPS: usize = A::MAPS + B::MAPS;

    #[inline(always)]
    fn map(&self, sample: T) -> T {
        self.1.map(self.0.map(sample))
    }

    #[inline(always)]
    fn map_some<const N: usize>(&self, samples: &mut [T; N])
    where
        T: Copy,
    {
        self.0.map_some(samples);
        self.1.map_some(samples);
    }
}

#[multiversion(targets = "simd")]
fn map_each<T: Copy, E: Elementwise<T>>(samples: &mut [T], map: &E) {
    let rest = match size_of::<T>() {
        _ if E::MAPS <= SAMPLE_BY_SAMPLE_MAX => samples,
        0..=4 => map_groups::<64, T, E>(samples, map),
        5..=8 => map_groups::<32, T, E>(samples, map),
        _ => map_groups::<16, T, E>(samples, map),
    };
    for sample in rest {
        *sample = map.map(*sample);
    }
}

/// Maps samples by `N`, which fit a core's registers together (256 bytes), and leaves the rest.
#[inline(always)]
fn map_groups<'a, const N: usize, T: Copy, E: Elementwise<T>>(
    samples: &'a mut [T],
    map: &E,
) -> &'a mut [T] {
    let (groups, rest) = samples.as_chunks_mut::<N>();
    for group in groups {
        // Its constants are loaded for each group: together they would take the registers.
        let map = black_box(map);
        let mut held = *group;
        map.map_some(&mut held);
        *group = held;
    }
    rest
}

/// Up to this many maps, each sample goes through all of them in turn: a core has enough other
/// samples under way while one waits for its results. With more maps it has too few.
const SAMPLE_BY_SAMPLE_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use num_complex::Complex32;

    use super::*;
    use crate::Gain;

    /// Has samples of every length up to 200 go through four and eight of `one`, at once and in a
    /// row.
    fn at_once_and_in_a_row<T>(sample: impl Fn(f32) -> T, one: impl Elementwise<T> + Copy)
    where
        T: Copy + PartialEq + std::fmt::Debug,
    {
        let four = Fused::new(one).then(one).then(one).then(one);
        let eight = four.then(four);
        for len in 0..=200_u16 {
            let were: Vec<T> = (0..len).map(|at| sample(f32::from(at) - 31.3)).collect();
            let row = |maps| were.iter().map(move |&was| (0..maps).fold(was, |x, _| one.map(x)));
            let (mut by_four, mut by_eight) = (were.clone(), were.clone());
            map_each(&mut by_four, &four);
            map_each(&mut by_eight, &eight);
            assert!(by_four.into_iter().eq(row(4)), "{len} samples");
            assert!(by_eight.into_iter().eq(row(8)), "{len} samples");
        }
    }

    #[test]
    fn many_maps_at_once_make_what_they_make_in_a_row_of_every_length_and_size_of_sample() {
        at_once_and_in_a_row(|x| x, |x: f32| 0.3 * x + 1.7);
        at_once_and_in_a_row(|x| Complex32::new(x, -x), Gain::new(0.3));
        at_once_and_in_a_row(f64::from, |x: f64| 0.3 * x + 1.7);
        at_once_and_in_a_row(|x| [f64::from(x), 1.0], |[x, y]: [f64; 2]| [0.3 * x, x + y]);
    }
}

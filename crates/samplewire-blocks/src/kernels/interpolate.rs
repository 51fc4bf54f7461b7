//! Filters of finite impulse response that raise the rate.

use bytemuck::{cast_slice, cast_slice_mut};

use super::Floats;
use super::fir::{FirError, MAX, filter};

/// A filter of real taps on real or complex samples that gives `interpolation` outputs for each
/// input: what a filter of these taps makes of the input with `interpolation - 1` zeros behind each
/// sample, without the products with the zeros.
///
/// Output `n * interpolation + p` is the sum of `taps[p + k * interpolation] * input[n - k]`, so
/// that a pass band of gain 1 has taps whose sum is `interpolation`. Symmetric taps delay a signal
/// by `(taps - 1) / 2` outputs. Samples before the first are zeros. However the input is split over
/// calls, the outputs have the same bits; see [`Fir`](super::Fir) for machines.
///
/// ```
/// use samplewire_blocks::kernels::InterpolatingFir;
///
/// let mut hold = InterpolatingFir::new(&[1.0, 1.0, 1.0], 3)?;
/// let mut output = [0.0; 8];
/// assert_eq!(hold.process(&[1.0, 2.0, 3.0], &mut output), (2, 6));
/// assert_eq!(output, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 0.0, 0.0]);
/// # Ok::<(), samplewire_blocks::kernels::FirError>(())
/// ```
#[derive(Clone, Debug)]
pub struct InterpolatingFir<S> {
    /// For each of an input's outputs its taps, the last first, each as often as a sample has parts.
    phases: Box<[f32]>,
    interpolation: usize,
    /// The parts of the inputs that a sum takes besides the newest, and room for [`PIECE`] samples.
    seam: Box<[f32]>,
    /// The outputs of one phase.
    room: Box<[S]>,
}

impl<S: Floats> InterpolatingFir<S> {
    /// A filter of 1 to 2^20 taps, that of the newest input first, and an interpolation of 1 to 2^20.
    ///
    /// # Errors
    /// [`FirError`] when one is out of range.
    pub fn new(taps: &[f32], interpolation: usize) -> Result<Self, FirError> {
        if !(1..=MAX).contains(&taps.len()) {
            return Err(FirError::Taps { taps: taps.len() });
        }
        if !(1..=MAX).contains(&interpolation) {
            return Err(FirError::Interpolation { interpolation });
        }
        let len = taps.len().div_ceil(interpolation);
        // Phases that have fewer taps get zeros before the first input's.
        let tap = |phase: usize, at: usize| taps.get(phase + at * interpolation).unwrap_or(&0.0);
        let phase = |phase| (0..len).rev().flat_map(move |at| vec![*tap(phase, at); S::PARTS]);
        Ok(Self {
            phases: (0..interpolation).flat_map(phase).collect(),
            interpolation,
            seam: vec![0.0; (len - 1 + PIECE) * S::PARTS].into_boxed_slice(),
            room: vec![S::zeroed(); PIECE].into_boxed_slice(),
        })
    }

    /// Filters from the front of `input` to the front of `output` until either ends, all outputs of
    /// an input or none: how many inputs were consumed, and how many outputs produced.
    pub fn process(&mut self, input: &[S], output: &mut [S]) -> (usize, usize) {
        let (history, interpolation) = (self.history(), self.interpolation);
        let inputs = input.len().min(output.len() / interpolation);
        let outputs = output.chunks_mut(PIECE * interpolation);
        for (input, output) in input[..inputs].chunks(PIECE).zip(outputs) {
            let parts: &[f32] = cast_slice(input);
            let seam = &mut self.seam[..history + parts.len()];
            seam[history..].copy_from_slice(parts);
            let room = &mut self.room[..input.len()];
            for (phase, taps) in self.phases.chunks_exact(history + S::PARTS).enumerate() {
                filter::<S>(seam, 0, S::PARTS, taps, cast_slice_mut(room));
                let places = output[phase..].iter_mut().step_by(interpolation);
                places.zip(&*room).for_each(|(output, sum)| *output = *sum);
            }
            seam.copy_within(parts.len().., 0);
        }
        (inputs, inputs * interpolation)
    }

    /// Restarts, as after a gap: the samples before the next are zeros.
    pub fn restart(&mut self) {
        let history = self.history();
        self.seam[..history].fill(0.0);
    }

    /// So many outputs come for one input.
    pub fn interpolation(&self) -> usize {
        self.interpolation
    }

    /// The parts of the inputs that a sum takes besides the newest.
    fn history(&self) -> usize {
        self.seam.len() - PIECE * S::PARTS
    }
}

/// Samples that are filtered at a time: they and the outputs of one phase stay in the first cache.
const PIECE: usize = 512;

#[cfg(test)]
mod tests {
    use num_complex::Complex32;

    use super::*;
    use crate::kernels::tests::{complex_noise, cuts, noise};

    /// The definition, in f64: a filter of all taps on the input with zeros between.
    fn reference(input: &[Complex32], taps: &[f32], interpolation: usize) -> Vec<[f64; 2]> {
        let mut raised = vec![Complex32::ZERO; input.len() * interpolation];
        for (at, sample) in input.iter().enumerate() {
            raised[at * interpolation] = *sample;
        }
        let sum_at = |n: usize| {
            let mut sum = [0.0; 2];
            for (tap, sample) in taps.iter().zip(raised[..=n].iter().rev()) {
                sum[0] += f64::from(*tap) * f64::from(sample.re);
                sum[1] += f64::from(*tap) * f64::from(sample.im);
            }
            sum
        };
        (0..raised.len()).map(sum_at).collect()
    }

    fn filtered<S: Floats>(fir: &mut InterpolatingFir<S>, input: &[S], cuts: &[usize]) -> Vec<S> {
        let mut output = Vec::new();
        for cut in cuts.windows(2) {
            let piece = &input[cut[0]..cut[1]];
            let mut room = vec![S::zeroed(); piece.len() * fir.interpolation()];
            assert_eq!(fir.process(piece, &mut room), (piece.len(), room.len()));
            output.extend_from_slice(&room);
        }
        output
    }

    #[test]
    fn outputs_are_the_sums_of_the_definition_at_all_lengths() {
        let input = complex_noise(131, 1);
        for taps in [1, 2, 3, 7, 16, 31, 64, 100] {
            let taps = noise(taps, taps as u64);
            let bound = taps.iter().map(|tap| f64::from(tap.abs())).sum::<f64>();
            let bound = bound * taps.len() as f64 * f64::from(f32::EPSILON);
            for interpolation in [1, 2, 3, 8, 13, 40] {
                let want = reference(&input, &taps, interpolation);
                for len in [0, 1, 2, 15, 16, 17, 63, 64, 65, 130, 131] {
                    let mut fir = InterpolatingFir::new(&taps, interpolation).unwrap();
                    let output = filtered(&mut fir, &input[..len], &[0, len]);
                    assert_eq!(output.len(), len * interpolation);
                    for (got, want) in output.iter().zip(&want) {
                        let error = (f64::from(got.re) - want[0]).abs();
                        let error = error.max((f64::from(got.im) - want[1]).abs());
                        assert!(error <= bound, "{got} for {want:?}, {len} by {interpolation}");
                    }
                }
            }
        }
    }

    #[test]
    fn pieces_and_rooms_of_any_length_give_the_bits_of_the_whole() {
        let input = complex_noise(1_500, 2);
        for (taps, interpolation) in [(1, 3), (17, 2), (64, 4), (5, 9)] {
            let taps = noise(taps, 3);
            let new = || InterpolatingFir::new(&taps, interpolation).unwrap();
            let whole = filtered(&mut new(), &input, &[0, 1_500]);
            for longest in [3, 40, 700] {
                let cuts = cuts(1_500, longest, longest as u64);
                assert_eq!(filtered(&mut new(), &input, &cuts), whole, "{longest}");
            }
            let (mut fir, mut output, mut rest) = (new(), Vec::new(), &input[..]);
            for room in (0..60).cycle() {
                let mut room = vec![Complex32::ZERO; room];
                let (consumed, produced) = fir.process(rest, &mut room);
                assert_eq!(produced, consumed * interpolation);
                assert!(consumed == rest.len() || room.len() - produced < interpolation);
                output.extend_from_slice(&room[..produced]);
                rest = &rest[consumed..];
                if rest.is_empty() {
                    break;
                }
            }
            assert_eq!(output, whole);
        }
    }

    #[test]
    fn real_samples_are_filtered_as_the_first_part_of_complex_ones() {
        let (input, taps) = (complex_noise(300, 4), noise(23, 5));
        let real: Vec<f32> = input.iter().map(|sample| sample.re).collect();
        let complex = filtered(&mut InterpolatingFir::new(&taps, 5).unwrap(), &input, &[0, 300]);
        let got = filtered(&mut InterpolatingFir::new(&taps, 5).unwrap(), &real, &[0, 300]);
        assert!(got.iter().eq(complex.iter().map(|sample| &sample.re)));
    }

    #[test]
    fn impulse_brings_the_taps_and_a_restart_forgets_it() {
        let taps = [1.0, 2.0, 3.0, 4.0, 5.0];
        let mut fir = InterpolatingFir::new(&taps, 2).unwrap();
        assert_eq!(filtered(&mut fir, &[1.0, 0.0], &[0, 2]), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(filtered(&mut fir, &[0.0, 1.0], &[0, 2]), [5.0, 0.0, 1.0, 2.0]);
        fir.restart();
        assert_eq!(filtered(&mut fir, &[0.0, 0.0], &[0, 2]), [0.0; 4]);
    }

    #[test]
    fn sizes_out_of_range_are_named() {
        let error = |taps: usize, interpolation| {
            let made = InterpolatingFir::<f32>::new(&vec![0.0; taps], interpolation);
            made.unwrap_err().to_string()
        };
        assert_eq!(error(0, 1), "a filter of 0 taps: must be 1 to 1048576");
        assert_eq!(error(1, 0), "an interpolation by 0: must be 1 to 1048576");
    }
}

//! Filters of finite impulse response, with or without decimation.

use std::marker::PhantomData;

use bytemuck::cast_slice_mut;
use multiversion::multiversion;
use multiversion::target::target_cfg_f;

use super::Floats;

/// A filter of real taps on real or complex samples that gives one output for every
/// `decimation` inputs, by direct sums.
///
/// The output that stands for input `n` is the sum of `taps[k] * input[n - k]`: symmetric taps
/// delay a signal by `(taps - 1) / 2` inputs ([`group_delay_samples`](Self::group_delay_samples)).
/// Samples before the first are zeros. However the input is split over calls, the outputs have
/// the same bits. From one machine to the next their last bits may differ, by whether it fuses a
/// product and a sum.
///
/// ```
/// use samplewire_blocks::kernels::Fir;
///
/// let mut mean_of_two = Fir::new(&[0.5, 0.5], 2)?;
/// let mut samples = [1.0, 3.0, 5.0, 7.0, 9.0];
/// assert_eq!(mean_of_two.process(&mut samples), 3);
/// assert_eq!(samples[..3], [0.5, 4.0, 8.0]);
/// # Ok::<(), samplewire_blocks::kernels::FirError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fir<S> {
    /// The last tap first, each as often as a sample has parts: the order of the samples.
    taps: Box<[f32]>,
    decimation: usize,
    /// How many inputs come before that of the next output.
    skip: usize,
    /// The parts of the last `taps - 1` inputs.
    history: Box<[f32]>,
    /// Room for the history and twice as many inputs behind it.
    seam: Box<[f32]>,
    symmetric: bool,
    samples: PhantomData<S>,
}

impl<S: Floats> Fir<S> {
    /// A filter of 1 to 2^20 taps, that of the newest input first, and a decimation of 1 to 2^20.
    /// The first output stands for the first input.
    ///
    /// # Errors
    /// [`FirError`] when one is out of range.
    pub fn new(taps: &[f32], decimation: usize) -> Result<Self, FirError> {
        if !(1..=MAX).contains(&taps.len()) {
            return Err(FirError::Taps { taps: taps.len() });
        }
        if !(1..=MAX).contains(&decimation) {
            return Err(FirError::Decimation { decimation });
        }
        let history = vec![0.0; (taps.len() - 1) * S::PARTS].into_boxed_slice();
        Ok(Self {
            taps: taps.iter().rev().flat_map(|tap| vec![*tap; S::PARTS]).collect(),
            decimation,
            skip: 0,
            seam: vec![0.0; 3 * history.len()].into_boxed_slice(),
            history,
            symmetric: taps.iter().eq(taps.iter().rev()),
            samples: PhantomData,
        })
    }

    /// Filters `samples` where they stand: the outputs are at the front, as many as it returns.
    pub fn process(&mut self, samples: &mut [S]) -> usize {
        let (len, history) = (samples.len(), self.history.len() / S::PARTS);
        let outputs = self.outputs_of(len);
        let head = len.min(2 * history);
        let outputs_of_head = self.outputs_of(head);
        let parts: &mut [f32] = cast_slice_mut(samples);
        let seam = &mut self.seam[..(history + head) * S::PARTS];
        seam[..self.history.len()].copy_from_slice(&self.history);
        seam[self.history.len()..].copy_from_slice(&parts[..head * S::PARTS]);
        let last = match parts.len().checked_sub(self.history.len()) {
            Some(first) => &parts[first..],
            None => &seam[seam.len() - self.history.len()..],
        };
        self.history.copy_from_slice(last);

        // Behind the head no output takes the place of an input that a later one needs: without
        // decimation because the last come first, with decimation because the place of an output
        // lags behind its first input once twice the history lies before it.
        if self.decimation == 1 {
            if len > head {
                dense(&mut parts[(head - history) * S::PARTS..], &self.taps, S::PARTS);
            }
            dense(seam, &self.taps, S::PARTS);
            parts[..head * S::PARTS].copy_from_slice(&seam[self.history.len()..]);
        } else {
            let step = self.decimation * S::PARTS;
            if outputs > outputs_of_head {
                let input = self.skip + outputs_of_head * self.decimation - history;
                let first = (input - outputs_of_head) * S::PARTS;
                let parts = &mut parts[outputs_of_head * S::PARTS..];
                strided::<S>(parts, first, step, outputs - outputs_of_head, &self.taps);
            }
            strided::<S>(seam, self.skip * S::PARTS, step, outputs_of_head, &self.taps);
            let parts = &mut parts[..outputs_of_head * S::PARTS];
            parts.copy_from_slice(&seam[..parts.len()]);
        }
        self.skip = self.skip + outputs * self.decimation - len;
        outputs
    }

    /// How many outputs the next `len` inputs give.
    pub fn outputs_of(&self, len: usize) -> usize {
        len.saturating_sub(self.skip).div_ceil(self.decimation)
    }

    /// How many inputs come before the one that the next output stands for.
    pub fn skip(&self) -> usize {
        self.skip
    }

    /// Begins anew, as after a gap: the samples before the next are zeros, and `skip` inputs come
    /// before the one that the next output stands for.
    pub fn restart(&mut self, skip: usize) {
        self.history.fill(0.0);
        self.skip = skip;
    }

    /// By how many inputs symmetric taps delay every frequency; `None` for others.
    pub fn group_delay_samples(&self) -> Option<f64> {
        let taps = self.taps.len() / S::PARTS;
        self.symmetric.then(|| (taps - 1) as f64 / 2.0)
    }
}

/// Why a filter cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FirError {
    /// Too few or too many taps.
    #[error("a filter of {taps} taps: must be 1 to {MAX}")]
    Taps {
        /// How many there are.
        taps: usize,
    },
    /// The decimation is out of range.
    #[error("a decimation by {decimation}: must be 1 to {MAX}")]
    Decimation {
        /// The decimation asked for.
        decimation: usize,
    },
}

/// Replaces each sample behind the first `taps - 1` by the output for it, the last first.
#[multiversion(targets = "simd")]
fn dense(parts: &mut [f32], taps: &[f32], parts_of_sample: usize) {
    if target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64")) {
        dense_by::<true>(parts, taps, parts_of_sample);
    } else {
        dense_by::<false>(parts, taps, parts_of_sample);
    }
}

#[inline(always)]
fn dense_by<const FUSED: bool>(parts: &mut [f32], taps: &[f32], parts_of_sample: usize) {
    let history = taps.len() - parts_of_sample;
    let mut end = parts.len();
    while end - history >= WIDE {
        end -= WIDE;
        dense_block::<FUSED, WIDE>(&mut parts[end - history..end + WIDE], taps, parts_of_sample);
    }
    while end - history >= LANES {
        end -= LANES;
        dense_block::<FUSED, LANES>(&mut parts[end - history..end + LANES], taps, parts_of_sample);
    }
    while end > history {
        end -= 1;
        dense_block::<FUSED, 1>(&mut parts[end - history..end + 1], taps, parts_of_sample);
    }
}

/// Replaces the last `LEN` parts of `window`, which has as many more as the history.
#[inline(always)]
fn dense_block<const FUSED: bool, const LEN: usize>(
    window: &mut [f32],
    taps: &[f32],
    parts_of_sample: usize,
) {
    let mut sums = [0.0; LEN];
    for at in (0..taps.len()).step_by(parts_of_sample) {
        let inputs: &[f32; LEN] = window[at..at + LEN].try_into().expect("the range has LEN");
        for (sum, input) in sums.iter_mut().zip(inputs) {
            *sum = multiply_add::<FUSED>(*input, taps[at], *sum);
        }
    }
    window[taps.len() - parts_of_sample..].copy_from_slice(&sums);
}

/// Writes `outputs` to the front, each the sum over a window; the windows begin at `first`, `step`
/// parts apart, and none before the place of its output.
fn strided<S: Floats>(parts: &mut [f32], first: usize, step: usize, outputs: usize, taps: &[f32]) {
    if S::PARTS == 1 {
        strided_on::<1>(parts, first, step, outputs, taps);
    } else {
        strided_on::<2>(parts, first, step, outputs, taps);
    }
}

#[multiversion(targets = "simd")]
fn strided_on<const PARTS: usize>(
    parts: &mut [f32],
    first: usize,
    step: usize,
    outputs: usize,
    taps: &[f32],
) {
    if target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64")) {
        strided_by::<true, PARTS>(parts, first, step, outputs, taps);
    } else {
        strided_by::<false, PARTS>(parts, first, step, outputs, taps);
    }
}

#[inline(always)]
fn strided_by<const FUSED: bool, const PARTS: usize>(
    parts: &mut [f32],
    first: usize,
    step: usize,
    outputs: usize,
    taps: &[f32],
) {
    let mut output = 0;
    while output + 4 <= outputs {
        let first = first + output * step;
        let window = |number: usize| &parts[first + number * step..][..taps.len()];
        let windows = (window(0), window(1), window(2), window(3));
        let sums = four_dot_products::<FUSED>(windows, taps);
        for (number, lanes) in sums.into_iter().enumerate() {
            let sum = sum_of_lanes::<PARTS>(lanes);
            parts[(output + number) * PARTS..][..PARTS].copy_from_slice(&sum);
        }
        output += 4;
    }
    while output < outputs {
        let window = &parts[first + output * step..][..taps.len()];
        let sum = sum_of_lanes::<PARTS>(dot_product::<FUSED>(window, taps));
        parts[output * PARTS..][..PARTS].copy_from_slice(&sum);
        output += 1;
    }
}

/// The sum over a window, by lanes.
#[inline(always)]
fn dot_product<const FUSED: bool>(window: &[f32], taps: &[f32]) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    let ((taps, last_taps), (window, last)) = (taps.as_chunks(), window.as_chunks());
    for (taps, inputs) in taps.iter().zip(window) {
        add_lanes::<FUSED>(&mut sums, inputs, taps);
    }
    add_last::<FUSED>(&mut sums, last, last_taps);
    sums
}

/// The sums over four windows, with one pass over the taps.
#[inline(always)]
fn four_dot_products<const FUSED: bool>(
    windows: (&[f32], &[f32], &[f32], &[f32]),
    taps: &[f32],
) -> [[f32; LANES]; 4] {
    let (taps, last_taps) = taps.as_chunks();
    let (window_0, last_0) = windows.0.as_chunks();
    let (window_1, last_1) = windows.1.as_chunks();
    let (window_2, last_2) = windows.2.as_chunks();
    let (window_3, last_3) = windows.3.as_chunks();
    // Four variables and one loop for each: what the compiler keeps in registers.
    let (mut sums_0, mut sums_1) = ([0.0; LANES], [0.0; LANES]);
    let (mut sums_2, mut sums_3) = ([0.0; LANES], [0.0; LANES]);
    let inputs = window_0.iter().zip(window_1).zip(window_2.iter().zip(window_3));
    for (taps, ((inputs_0, inputs_1), (inputs_2, inputs_3))) in taps.iter().zip(inputs) {
        add_lanes::<FUSED>(&mut sums_0, inputs_0, taps);
        add_lanes::<FUSED>(&mut sums_1, inputs_1, taps);
        add_lanes::<FUSED>(&mut sums_2, inputs_2, taps);
        add_lanes::<FUSED>(&mut sums_3, inputs_3, taps);
    }
    add_last::<FUSED>(&mut sums_0, last_0, last_taps);
    add_last::<FUSED>(&mut sums_1, last_1, last_taps);
    add_last::<FUSED>(&mut sums_2, last_2, last_taps);
    add_last::<FUSED>(&mut sums_3, last_3, last_taps);
    [sums_0, sums_1, sums_2, sums_3]
}

#[inline(always)]
fn add_lanes<const FUSED: bool>(
    sums: &mut [f32; LANES],
    inputs: &[f32; LANES],
    taps: &[f32; LANES],
) {
    for lane in 0..LANES {
        sums[lane] = multiply_add::<FUSED>(inputs[lane], taps[lane], sums[lane]);
    }
}

#[inline(always)]
fn add_last<const FUSED: bool>(sums: &mut [f32; LANES], inputs: &[f32], taps: &[f32]) {
    for ((sum, input), tap) in sums.iter_mut().zip(inputs).zip(taps) {
        *sum = multiply_add::<FUSED>(*input, *tap, *sum);
    }
}

/// Adds the lanes that belong to the same part.
#[inline(always)]
fn sum_of_lanes<const PARTS: usize>(lanes: [f32; LANES]) -> [f32; PARTS] {
    let mut sums = lanes;
    for lane in 0..8 {
        sums[lane] += sums[lane + 8];
    }
    for lane in 0..4 {
        sums[lane] += sums[lane + 4];
    }
    for lane in 0..2 {
        sums[lane] += sums[lane + 2];
    }
    if PARTS == 1 {
        sums[0] += sums[1];
    }
    let mut parts = [0.0; PARTS];
    parts.copy_from_slice(&sums[..PARTS]);
    parts
}

#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f32, b: f32, sum: f32) -> f32 {
    if FUSED { a.mul_add(b, sum) } else { a * b + sum }
}

/// Parts that are summed side by side: the widest registers hold as many.
const LANES: usize = 16;
/// Parts of the output that share a pass over the taps: four of the widest registers.
const WIDE: usize = 4 * LANES;
/// Of taps, and of the decimation.
const MAX: usize = 1 << 20;

#[cfg(test)]
mod tests;

//! Filters of finite impulse response, with or without decimation.

use std::marker::PhantomData;

use bytemuck::{cast_slice, cast_slice_mut};
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
/// let mut output = [0.0; 4];
/// assert_eq!(mean_of_two.process(&[1.0, 3.0, 5.0, 7.0, 9.0], &mut output), (5, 3));
/// assert_eq!(output, [0.5, 4.0, 8.0, 0.0]);
/// # Ok::<(), samplewire_blocks::kernels::FirError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fir<S> {
    /// The last tap first, each as often as a sample has parts: the order of the samples.
    taps: Box<[f32]>,
    decimation: usize,
    /// How many inputs come before that of the next output.
    skip: usize,
    /// The parts of the last `taps - 1` inputs, and room for [`PIECE`] more samples, or as many as
    /// those before them.
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
        let history = taps.len() - 1;
        Ok(Self {
            taps: taps.iter().rev().flat_map(|tap| vec![*tap; S::PARTS]).collect(),
            decimation,
            skip: 0,
            seam: vec![0.0; (history + history.max(PIECE)) * S::PARTS].into_boxed_slice(),
            symmetric: taps.iter().eq(taps.iter().rev()),
            samples: PhantomData,
        })
    }

    /// Filters from the front of `input` to the front of `output` until either ends: how many
    /// inputs were consumed, and how many outputs produced.
    pub fn process(&mut self, input: &[S], output: &mut [S]) -> (usize, usize) {
        let outputs = self.outputs_of(input.len());
        let (consumed, produced) = if outputs <= output.len() {
            (input.len(), outputs)
        } else {
            (self.inputs_of(output.len()), output.len())
        };
        let inputs: &[f32] = cast_slice(&input[..consumed]);
        let outputs: &mut [f32] = cast_slice_mut(&mut output[..produced]);
        let step = self.decimation * S::PARTS;
        let history = self.history();

        // The first windows begin in the history, the others in the input.
        let head = inputs.len().min(history);
        let of_head = self.outputs_of(head / S::PARTS).min(produced);
        self.seam[history..history + head].copy_from_slice(&inputs[..head]);
        let (outputs_of_head, rest) = outputs.split_at_mut(of_head * S::PARTS);
        let first = self.skip * S::PARTS;
        filter::<S>(&self.seam[..history + head], first, step, &self.taps, outputs_of_head);
        let first = first + of_head * step;
        if !rest.is_empty() {
            filter::<S>(inputs, first - history, step, &self.taps, rest);
        }

        if inputs.len() >= history {
            self.seam[..history].copy_from_slice(&inputs[inputs.len() - history..]);
        } else {
            self.seam.copy_within(head..head + history, 0);
        }
        self.skip = self.skip + produced * self.decimation - consumed;
        (consumed, produced)
    }

    /// Filters `samples` where they stand, each replaced by the output for it.
    ///
    /// # Panics
    /// When the filter decimates.
    pub fn process_in_place(&mut self, samples: &mut [S]) {
        assert_eq!(self.decimation, 1, "the decimation of a filter that works in place");
        let history = self.history();
        for piece in samples.chunks_mut(PIECE) {
            // Through a copy in the first cache: the sums need inputs that outputs replace.
            let parts: &mut [f32] = cast_slice_mut(piece);
            let seam = &mut self.seam[..history + parts.len()];
            seam[history..].copy_from_slice(parts);
            filter::<S>(seam, 0, S::PARTS, &self.taps, parts);
            self.seam.copy_within(parts.len()..parts.len() + history, 0);
        }
    }

    /// How many outputs the next `inputs` give.
    pub fn outputs_of(&self, inputs: usize) -> usize {
        inputs.saturating_sub(self.skip).div_ceil(self.decimation)
    }

    /// How many inputs the next `outputs` need.
    pub fn inputs_of(&self, outputs: usize) -> usize {
        match outputs.checked_sub(1) {
            Some(before_last) => self.skip + before_last * self.decimation + 1,
            None => 0,
        }
    }

    /// Begins anew, as after a gap: the samples before the next are zeros, and `skip` inputs come
    /// before the one that the next output stands for.
    pub fn restart(&mut self, skip: usize) {
        let history = self.history();
        self.seam[..history].fill(0.0);
        self.skip = skip;
    }

    /// One output comes for so many inputs.
    pub fn decimation(&self) -> usize {
        self.decimation
    }

    /// By how many inputs symmetric taps delay every frequency; `None` for others.
    pub fn group_delay_samples(&self) -> Option<f64> {
        let taps = self.taps.len() / S::PARTS;
        self.symmetric.then(|| (taps - 1) as f64 / 2.0)
    }

    /// The parts of the inputs that a sum takes besides the newest.
    fn history(&self) -> usize {
        self.taps.len() - S::PARTS
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

/// Writes to each sample of `outputs` the sum over a window of `inputs`; the windows begin at part
/// `first`, `step` parts apart.
fn filter<S: Floats>(inputs: &[f32], first: usize, step: usize, taps: &[f32], outputs: &mut [f32]) {
    if step == S::PARTS {
        dense(&inputs[first..], taps, S::PARTS, outputs);
    } else if S::PARTS == 1 {
        strided::<1>(inputs, first, step, taps, outputs);
    } else {
        strided::<2>(inputs, first, step, taps, outputs);
    }
}

/// The sums over windows one sample apart: many outputs side by side, tap by tap.
#[multiversion(targets = "simd")]
fn dense(inputs: &[f32], taps: &[f32], parts_of_sample: usize, outputs: &mut [f32]) {
    if target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64")) {
        dense_by::<true>(inputs, taps, parts_of_sample, outputs);
    } else {
        dense_by::<false>(inputs, taps, parts_of_sample, outputs);
    }
}

#[inline(always)]
fn dense_by<const FUSED: bool>(
    inputs: &[f32],
    taps: &[f32],
    parts_of_sample: usize,
    outputs: &mut [f32],
) {
    let (wide, rest) = outputs.as_chunks_mut::<WIDE>();
    let (narrow, last) = rest.as_chunks_mut::<LANES>();
    let (behind_wide, behind_narrow) = (wide.len() * WIDE, narrow.len() * LANES);
    for (at, outputs) in wide.iter_mut().enumerate() {
        dense_block::<FUSED, WIDE>(&inputs[at * WIDE..], taps, parts_of_sample, outputs);
    }
    let inputs = &inputs[behind_wide..];
    for (at, outputs) in narrow.iter_mut().enumerate() {
        dense_block::<FUSED, LANES>(&inputs[at * LANES..], taps, parts_of_sample, outputs);
    }
    let inputs = &inputs[behind_narrow..];
    for (at, output) in last.iter_mut().enumerate() {
        let output = std::array::from_mut(output);
        dense_block::<FUSED, 1>(&inputs[at..], taps, parts_of_sample, output);
    }
}

#[inline(always)]
fn dense_block<const FUSED: bool, const LEN: usize>(
    inputs: &[f32],
    taps: &[f32],
    parts_of_sample: usize,
    outputs: &mut [f32; LEN],
) {
    let inputs = &inputs[..taps.len() - parts_of_sample + LEN];
    let mut sums = [0.0; LEN];
    for at in (0..taps.len()).step_by(parts_of_sample) {
        let inputs: &[f32; LEN] = inputs[at..at + LEN].try_into().expect("the range has LEN");
        for (sum, input) in sums.iter_mut().zip(inputs) {
            *sum = multiply_add::<FUSED>(*input, taps[at], *sum);
        }
    }
    *outputs = sums;
}

/// The sums over windows further apart: lanes of one output side by side, four outputs at a time.
#[multiversion(targets = "simd")]
fn strided<const PARTS: usize>(
    inputs: &[f32],
    first: usize,
    step: usize,
    taps: &[f32],
    outputs: &mut [f32],
) {
    if target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64")) {
        strided_by::<true, PARTS>(inputs, first, step, taps, outputs);
    } else {
        strided_by::<false, PARTS>(inputs, first, step, taps, outputs);
    }
}

#[inline(always)]
fn strided_by<const FUSED: bool, const PARTS: usize>(
    inputs: &[f32],
    first: usize,
    step: usize,
    taps: &[f32],
    outputs: &mut [f32],
) {
    let window = |number: usize| &inputs[first + number * step..][..taps.len()];
    let samples = outputs.len() / PARTS;
    let mut at = 0;
    while at + 4 <= samples {
        let windows = (window(at), window(at + 1), window(at + 2), window(at + 3));
        for lanes in four_dot_products::<FUSED>(windows, taps) {
            outputs[at * PARTS..][..PARTS].copy_from_slice(&sum_of_lanes::<PARTS>(lanes));
            at += 1;
        }
    }
    while at < samples {
        let lanes = dot_product::<FUSED>(window(at), taps);
        outputs[at * PARTS..][..PARTS].copy_from_slice(&sum_of_lanes::<PARTS>(lanes));
        at += 1;
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
/// Samples that are filtered in place at a time.
const PIECE: usize = 1024;
/// Of taps, and of the decimation.
const MAX: usize = 1 << 20;

#[cfg(test)]
mod tests;

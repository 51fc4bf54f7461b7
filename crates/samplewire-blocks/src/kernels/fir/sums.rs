//! The sums of filters, over samples in a row.

use std::hint::black_box;

use multiversion::multiversion;
use multiversion::target::target_cfg_f;

use crate::kernels::Floats;

/// Writes to each sample of `outputs` the sum over a window of `inputs`; the windows begin at part
/// `first`, `step` parts apart.
pub(crate) fn filter<S: Floats>(
    inputs: &[f32],
    first: usize,
    step: usize,
    taps: &[f32],
    outputs: &mut [f32],
) {
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
    let taps = &Laned::new(taps);
    let shared = overlapping::<FUSED, PARTS>(inputs, first, step, taps, outputs);
    let (first, outputs) = (first + shared * step, &mut outputs[shared * PARTS..]);
    let window = |number: usize| &inputs[first + number * step..][..taps.len];
    // Lanes are added up in a loop of their own and one output at a time, which `black_box` is for:
    // else the compiler sums all windows by two lanes, or gathers the lanes of eight outputs.
    let mut lanes = [[0.0; LANES]; TILE];
    for (tile, outputs) in outputs.chunks_mut(TILE * PARTS).enumerate() {
        let (begin, len) = (tile * TILE, outputs.len() / PARTS);
        let (fours, rest) = lanes[..len].as_chunks_mut();
        for (at, lanes) in (begin..).step_by(4).zip(&mut *fours) {
            let windows = (window(at), window(at + 1), window(at + 2), window(at + 3));
            four_dot_products::<FUSED>(windows, taps, lanes);
        }
        for (at, lanes) in (begin + 4 * fours.len()..).zip(rest) {
            *lanes = dot_product::<FUSED>(window(at), taps);
        }
        for (output, lanes) in outputs.chunks_exact_mut(PARTS).zip(&lanes) {
            output.copy_from_slice(&sum_of_lanes::<PARTS>(black_box(lanes)));
        }
    }
}

/// The sums over windows of which some begin [`LANES`] apart, four of those at a time: says of how
/// many outputs, which are whole tiles. Loads are what sums take longest for, as most lie across two
/// lines of the cache, and those of four such windows are the same but for three.
#[inline(always)]
fn overlapping<const FUSED: bool, const PARTS: usize>(
    inputs: &[f32],
    first: usize,
    step: usize,
    taps: &Laned<'_>,
    outputs: &mut [f32],
) -> usize {
    let apart = LANES / step;
    if !LANES.is_multiple_of(step) || 4 * apart > TILE {
        return 0;
    }
    let mut lanes = [[0.0; LANES]; TILE];
    let tiles = outputs.chunks_exact_mut(TILE * PARTS);
    let count = tiles.len() * TILE;
    for (tile, outputs) in tiles.enumerate() {
        let inputs = &inputs[first + tile * TILE * step..];
        for at in (0..TILE).step_by(4 * apart).flat_map(|four| four..four + apart) {
            four_overlapping::<FUSED>(&inputs[at * step..], taps, &mut lanes[at..], apart);
        }
        for (output, lanes) in outputs.chunks_exact_mut(PARTS).zip(&lanes) {
            output.copy_from_slice(&sum_of_lanes::<PARTS>(black_box(lanes)));
        }
    }
    count
}

/// The sums over the windows that begin at each [`LANES`], with one pass over inputs and taps, to
/// places so far apart.
#[inline(always)]
fn four_overlapping<const FUSED: bool>(
    all: &[f32],
    taps: &Laned<'_>,
    sums: &mut [[f32; LANES]],
    apart: usize,
) {
    let inputs = all[..3 * LANES + taps.len].as_chunks().0;
    let (mut sums_0, mut sums_1) = ([0.0; LANES], [0.0; LANES]);
    let (mut sums_2, mut sums_3) = ([0.0; LANES], [0.0; LANES]);
    // Seven loads for sixteen products.
    let (fours, rest) = taps.whole.as_chunks::<4>();
    for (at, taps) in fours.iter().enumerate() {
        let inputs: &[_; 7] = inputs[4 * at..][..7].try_into().expect("there are 7");
        for (at, taps) in taps.iter().enumerate() {
            add_lanes::<FUSED, _>(&mut sums_0, &inputs[at], taps);
            add_lanes::<FUSED, _>(&mut sums_1, &inputs[at + 1], taps);
            add_lanes::<FUSED, _>(&mut sums_2, &inputs[at + 2], taps);
            add_lanes::<FUSED, _>(&mut sums_3, &inputs[at + 3], taps);
        }
    }
    for (taps, inputs) in rest.iter().zip(inputs[4 * fours.len()..].windows(4)) {
        add_lanes::<FUSED, _>(&mut sums_0, &inputs[0], taps);
        add_lanes::<FUSED, _>(&mut sums_1, &inputs[1], taps);
        add_lanes::<FUSED, _>(&mut sums_2, &inputs[2], taps);
        add_lanes::<FUSED, _>(&mut sums_3, &inputs[3], taps);
    }
    sums[0] = sums_0;
    sums[apart] = sums_1;
    sums[2 * apart] = sums_2;
    sums[3 * apart] = sums_3;
    if !taps.rest.is_empty() {
        for (at, sums) in sums.iter_mut().step_by(apart).take(4).enumerate() {
            taps.add_rest::<FUSED>(sums, &all[at * LANES..][..taps.len]);
        }
    }
}

/// The sum over a window, by lanes.
#[inline(always)]
fn dot_product<const FUSED: bool>(window: &[f32], taps: &Laned<'_>) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    for (taps, inputs) in taps.whole.iter().zip(window.as_chunks().0) {
        add_lanes::<FUSED, _>(&mut sums, inputs, taps);
    }
    if !taps.rest.is_empty() {
        taps.add_rest::<FUSED>(&mut sums, window);
    }
    sums
}

/// The sums over four windows, with one pass over the taps.
#[inline(always)]
fn four_dot_products<const FUSED: bool>(
    windows: (&[f32], &[f32], &[f32], &[f32]),
    taps: &Laned<'_>,
    sums: &mut [[f32; LANES]; 4],
) {
    let (window_0, window_1) = (windows.0.as_chunks().0, windows.1.as_chunks().0);
    let (window_2, window_3) = (windows.2.as_chunks().0, windows.3.as_chunks().0);
    // Four variables and one loop for each: what the compiler keeps in registers.
    let (mut sums_0, mut sums_1) = ([0.0; LANES], [0.0; LANES]);
    let (mut sums_2, mut sums_3) = ([0.0; LANES], [0.0; LANES]);
    let inputs = window_0.iter().zip(window_1).zip(window_2.iter().zip(window_3));
    for (taps, ((inputs_0, inputs_1), (inputs_2, inputs_3))) in taps.whole.iter().zip(inputs) {
        add_lanes::<FUSED, _>(&mut sums_0, inputs_0, taps);
        add_lanes::<FUSED, _>(&mut sums_1, inputs_1, taps);
        add_lanes::<FUSED, _>(&mut sums_2, inputs_2, taps);
        add_lanes::<FUSED, _>(&mut sums_3, inputs_3, taps);
    }
    *sums = [sums_0, sums_1, sums_2, sums_3];
    if !taps.rest.is_empty() {
        for (sums, window) in sums.iter_mut().zip([windows.0, windows.1, windows.2, windows.3]) {
            taps.add_rest::<FUSED>(sums, window);
        }
    }
}

/// Taps by lanes, and those that are left behind.
struct Laned<'a> {
    whole: &'a [[f32; LANES]],
    rest: &'a [f32],
    /// The rest in the highest lanes: for the last inputs of a window, of which the others have been
    /// summed.
    last: [f32; LANES],
    /// All ones in these lanes.
    mask: [u32; LANES],
    len: usize,
}

impl<'a> Laned<'a> {
    #[inline(always)]
    fn new(taps: &'a [f32]) -> Self {
        let (whole, rest) = taps.as_chunks();
        let (mut last, mut mask) = ([0.0; LANES], [0; LANES]);
        last[LANES - rest.len()..].copy_from_slice(rest);
        mask[LANES - rest.len()..].fill(u32::MAX);
        Self { whole, rest, last, mask, len: taps.len() }
    }

    /// Adds the products of the rest with the last inputs of `window`, which is as long as the taps.
    #[inline(always)]
    fn add_rest<const FUSED: bool>(&self, sums: &mut [f32; LANES], window: &[f32]) {
        match window.last_chunk::<LANES>() {
            Some(inputs) => {
                // Zeros, and not zero times what may be infinite.
                let masked = |lane| f32::from_bits(f32::to_bits(inputs[lane]) & self.mask[lane]);
                add_lanes::<FUSED, _>(sums, &std::array::from_fn(masked), &self.last);
            }
            None => add_few::<FUSED>(sums, window, self.rest),
        }
    }
}

#[inline(always)]
fn add_lanes<const FUSED: bool, const LEN: usize>(
    sums: &mut [f32; LEN],
    inputs: &[f32; LEN],
    taps: &[f32; LEN],
) {
    for lane in 0..LEN {
        sums[lane] = multiply_add::<FUSED>(inputs[lane], taps[lane], sums[lane]);
    }
}

/// Adds fewer products than there are lanes.
#[inline(always)]
fn add_few<const FUSED: bool>(sums: &mut [f32; LANES], inputs: &[f32], taps: &[f32]) {
    for ((sum, input), tap) in sums.iter_mut().zip(inputs).zip(taps) {
        *sum = multiply_add::<FUSED>(*input, *tap, *sum);
    }
}

/// Adds the lanes that belong to the same part.
#[inline(always)]
fn sum_of_lanes<const PARTS: usize>(lanes: &[f32; LANES]) -> [f32; PARTS] {
    let mut sums = *lanes;
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
/// Outputs whose lanes are added up together.
const TILE: usize = 16;
/// Parts of the output that share a pass over the taps: four of the widest registers.
const WIDE: usize = 4 * LANES;

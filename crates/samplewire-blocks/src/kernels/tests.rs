//! What the tests of several kernels need.

use num_complex::Complex32;

/// Numbers from -1 to 1 that a seed repeats, without end.
fn numbers(seed: u64) -> impl Iterator<Item = f32> {
    (1..).map(move |at| {
        let word = (at ^ seed << 32_u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let word = (word ^ word >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (word >> 40) as f32 / (1 << 23) as f32 - 1.0
    })
}

pub(super) fn noise(len: usize, seed: u64) -> Vec<f32> {
    numbers(seed).take(len).collect()
}

/// Complex samples whose parts are from -1 to 1.
pub(super) fn complex_noise(len: usize, seed: u64) -> Vec<Complex32> {
    noise(2 * len, seed).chunks(2).map(|parts| Complex32::new(parts[0], parts[1])).collect()
}

/// Where to cut `len` samples into pieces of 0 to `longest`: the ends among them.
pub(super) fn cuts(len: usize, longest: usize, seed: u64) -> Vec<usize> {
    let mut cuts = vec![0];
    for piece in numbers(seed) {
        let at = cuts[cuts.len() - 1] + (piece.abs() * (longest + 1) as f32) as usize;
        cuts.push(at.min(len));
        if at >= len {
            break;
        }
    }
    cuts
}

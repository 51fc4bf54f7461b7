use num_complex::Complex32;

use super::*;
use crate::kernels::tests::{complex_noise, cuts, noise};

/// The definition, in f64: output `m` stands for input `skip + m * decimation`.
fn reference(input: &[Complex32], taps: &[f32], decimation: usize, skip: usize) -> Vec<[f64; 2]> {
    let outputs = (skip..input.len()).step_by(decimation);
    let sum_at = |n: usize| {
        let mut sum = [0.0; 2];
        for (tap, input) in taps.iter().zip(input[..=n].iter().rev()) {
            sum[0] += f64::from(*tap) * f64::from(input.re);
            sum[1] += f64::from(*tap) * f64::from(input.im);
        }
        sum
    };
    outputs.map(sum_at).collect()
}

fn close(got: &[Complex32], want: &[[f64; 2]], taps: &[f32]) {
    assert_eq!(got.len(), want.len());
    // Inputs reach 1: each of the roundings is at most half a unit of the sum of magnitudes.
    let bound = taps.iter().map(|tap| f64::from(tap.abs())).sum::<f64>();
    let bound = bound * taps.len() as f64 * f64::from(f32::EPSILON);
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        let error = (f64::from(got.re) - want[0]).abs().max((f64::from(got.im) - want[1]).abs());
        assert!(error <= bound, "{got} for {want:?} at {at}");
    }
}

/// Filters what lies between the cuts in turn.
fn filtered<S: Floats>(fir: &mut Fir<S>, input: &[S], cuts: &[usize]) -> Vec<S> {
    let mut output = Vec::new();
    for cut in cuts.windows(2) {
        let piece = &input[cut[0]..cut[1]];
        let mut room = vec![S::zeroed(); fir.outputs_of(piece.len())];
        assert_eq!(fir.process(piece, &mut room), (piece.len(), room.len()));
        output.extend_from_slice(&room);
    }
    output
}

#[test]
fn outputs_are_the_sums_of_the_definition_at_all_sizes() {
    let input = complex_noise(700, 1);
    for taps in [1, 2, 3, 7, 8, 9, 16, 31, 63, 64, 65, 200] {
        let taps = noise(taps, taps as u64);
        for decimation in [1, 2, 3, 4, 7, 8, 16, 50, 1000] {
            let mut fir = Fir::new(&taps, decimation).unwrap();
            let output = filtered(&mut fir, &input, &[0, 700]);
            close(&output, &reference(&input, &taps, decimation, 0), &taps);
        }
    }
}

#[test]
fn every_length_up_to_130_and_every_phase_is_right() {
    let input = complex_noise(131, 2);
    let taps = noise(17, 3);
    for len in 0..=130 {
        for decimation in [1, 2, 5] {
            for skip in 0..decimation {
                let mut fir = Fir::new(&taps, decimation).unwrap();
                fir.restart(skip);
                let output = filtered(&mut fir, &input[..len], &[0, len]);
                close(&output, &reference(&input[..len], &taps, decimation, skip), &taps);
            }
        }
    }
}

#[test]
fn pieces_of_any_length_give_the_bits_of_the_whole() {
    let input = complex_noise(3000, 4);
    for (seed, taps) in [1, 2, 15, 64, 129].into_iter().enumerate() {
        let taps = noise(taps, 5);
        for decimation in [1, 2, 3, 4, 8, 11, 16] {
            let new = || Fir::new(&taps, decimation).unwrap();
            let whole = filtered(&mut new(), &input, &[0, 3000]);
            for longest in [3, 40, 500] {
                let cuts = cuts(3000, longest, seed as u64 + longest as u64);
                assert_eq!(filtered(&mut new(), &input, &cuts), whole, "{longest} {decimation}");
                assert_eq!(
                    into_rooms(&mut new(), &input, longest),
                    whole,
                    "{longest} {decimation}"
                );
            }
        }
    }
}

/// Filters all of the input into rooms of 0 to `longest`.
fn into_rooms(fir: &mut Fir<Complex32>, input: &[Complex32], longest: usize) -> Vec<Complex32> {
    let (mut output, mut rest) = (Vec::new(), input);
    for room in cuts(100_000, longest, 9).windows(2).map(|cut| cut[1] - cut[0]) {
        let mut room = vec![Complex32::ZERO; room];
        let (consumed, produced) = fir.process(rest, &mut room);
        assert!(produced == room.len() || consumed == rest.len());
        output.extend_from_slice(&room[..produced]);
        rest = &rest[consumed..];
        if rest.is_empty() {
            break;
        }
    }
    output
}

#[test]
fn in_place_the_bits_are_the_same() {
    let input = complex_noise(5000, 11);
    for taps in [1, 2, 64, 1500] {
        let taps = noise(taps, 12);
        let new = || Fir::new(&taps, 1).unwrap();
        let whole = filtered(&mut new(), &input, &[0, 5000]);
        for longest in [7, 3000, 10_000] {
            let (mut fir, mut samples) = (new(), input.clone());
            for cut in cuts(5000, longest, 13).windows(2) {
                fir.process_in_place(&mut samples[cut[0]..cut[1]]);
            }
            assert_eq!(samples, whole, "{longest}");
        }
    }
}

#[test]
#[should_panic(expected = "decimation")]
fn a_decimator_does_not_work_in_place() {
    Fir::new(&[1.0], 2).unwrap().process_in_place(&mut [1.0]);
}

#[test]
fn real_samples_are_filtered_as_the_first_part_of_complex_ones() {
    let input = complex_noise(1000, 6);
    let real: Vec<f32> = input.iter().map(|sample| sample.re).collect();
    for decimation in [1, 4, 8, 16] {
        for taps in [5, 61, 64] {
            let taps = noise(taps, 7);
            let cuts = cuts(1000, 300, 8);
            let output = filtered(&mut Fir::new(&taps, decimation).unwrap(), &real, &cuts);
            let complex: Vec<Complex32> =
                output.iter().map(|re| Complex32::new(*re, 0.0)).collect();
            let mut want = reference(&input, &taps, decimation, 0);
            want.iter_mut().for_each(|sum| sum[1] = 0.0);
            close(&complex, &want, &taps);
        }
    }
}

#[test]
fn an_impulse_brings_the_taps_and_a_restart_forgets_it() {
    let taps = [1.0, 2.0, 3.0];
    let mut fir = Fir::new(&taps, 1).unwrap();
    let mut samples = [1.0, 0.0, 0.0, 0.0, 1.0];
    fir.process_in_place(&mut samples);
    assert_eq!(samples, [1.0, 2.0, 3.0, 0.0, 1.0]);
    fir.restart(0);
    let mut samples = [0.0, 1.0];
    fir.process_in_place(&mut samples);
    assert_eq!(samples, [0.0, 1.0]);
}

#[test]
fn what_is_no_number_leaves_with_the_last_tap() {
    for (count, decimation) in [1, 2, 4, 5, 16].iter().flat_map(|d| [10, 21, 40].map(|n| (n, *d))) {
        for odd in [f32::NAN, f32::INFINITY] {
            let mut fir = Fir::new(&noise(count, 9), decimation).unwrap();
            let mut samples = noise(1_000, 10);
            samples[400] = odd;
            let output = filtered(&mut fir, &samples, &[0, 1_000]);
            for (at, sample) in output.iter().enumerate() {
                let is_reached = (400..400 + count).contains(&(at * decimation));
                assert_eq!(sample.is_finite(), !is_reached, "{count} / {decimation}: {at}");
                assert_eq!(sample.is_nan(), is_reached && odd.is_nan(), "{count}: {at}");
            }
        }
    }
}

/// The definition for complex taps, in f64.
fn reference_complex(input: &[Complex32], taps: &[Complex32], decimation: usize) -> Vec<[f64; 2]> {
    let part = |part: fn(&Complex32) -> f32| {
        let taps: Vec<f32> = taps.iter().map(part).collect();
        reference(input, &taps, decimation, 0)
    };
    let sums = part(|tap| tap.re).into_iter().zip(part(|tap| tap.im));
    sums.map(|(re, im)| [re[0] - im[1], re[1] + im[0]]).collect()
}

#[test]
fn complex_taps_give_the_sums_of_the_definition_at_all_lengths() {
    let input = complex_noise(131, 20);
    for count in [1, 2, 17, 64] {
        let taps = complex_noise(count, 21);
        let magnitudes: Vec<f32> = taps.iter().map(|tap| tap.re.abs() + tap.im.abs()).collect();
        for decimation in [1, 2, 5] {
            for len in 0..=131 {
                let mut fir = Fir::with_complex_taps(&taps, decimation).unwrap();
                let output = filtered(&mut fir, &input[..len], &[0, len]);
                let want = reference_complex(&input[..len], &taps, decimation);
                // Twice: the sum of two sums is rounded too.
                close(&output, &want, &[&magnitudes[..], &magnitudes].concat());
            }
        }
    }
}

#[test]
fn complex_taps_give_the_bits_of_the_whole_in_pieces_and_in_place_and_forget() {
    let input = complex_noise(5000, 22);
    for (count, decimation) in [(1, 1), (64, 1), (33, 2), (17, 9)] {
        let taps = complex_noise(count, 23);
        let new = || Fir::with_complex_taps(&taps, decimation).unwrap();
        let whole = filtered(&mut new(), &input, &[0, 5000]);
        for longest in [7, 500, 3000] {
            let cuts = cuts(5000, longest, 24);
            assert_eq!(filtered(&mut new(), &input, &cuts), whole, "{longest}");
            assert_eq!(into_rooms(&mut new(), &input, longest), whole, "{longest}");
            if decimation == 1 {
                let (mut fir, mut samples) = (new(), input.clone());
                for cut in cuts.windows(2) {
                    fir.process_in_place(&mut samples[cut[0]..cut[1]]);
                }
                assert_eq!(samples, whole, "{longest}");
            }
        }
        let mut fir = new();
        filtered(&mut fir, &input, &[0, 5000]);
        fir.restart(0);
        assert_eq!(filtered(&mut fir, &input, &[0, 5000]), whole);
    }
}

#[test]
fn only_symmetric_taps_have_one_delay() {
    let [one, up] = [Complex32::ONE, Complex32::I];
    let complex = |last| {
        let fir = Fir::with_complex_taps(&[one + up, one, last], 1);
        fir.unwrap().group_delay_samples()
    };
    assert_eq!((complex(one - up), complex(one + up)), (Some(1.0), None));
    let delay = |taps: &[f32]| Fir::<f32>::new(taps, 1).unwrap().group_delay_samples();
    assert_eq!(delay(&[1.0, 2.0, 1.0]), Some(1.0));
    assert_eq!(delay(&[1.0, 1.0]), Some(0.5));
    assert_eq!(delay(&[1.0, 2.0]), None);
}

#[test]
fn sizes_out_of_range_are_named() {
    let error = |taps: usize, decimation| {
        Fir::<f32>::new(&vec![0.0; taps], decimation).unwrap_err().to_string()
    };
    assert_eq!(error(0, 1), "a filter of 0 taps: must be 1 to 1048576");
    assert_eq!(error(1, 0), "a decimation by 0: must be 1 to 1048576");
    assert_eq!(error(1, MAX + 1), "a decimation by 1048577: must be 1 to 1048576");
    assert_eq!(Fir::with_complex_taps(&[], 1).unwrap_err(), FirError::Taps { taps: 0 });
}

use num_complex::Complex;

use super::sealed::Arithmetic;
use super::*;

/// The definition: the nearest fraction, as exactly as rationals are.
fn reference<A: Part, B: Part>(value: A) -> B {
    if A::ZERO != B::ZERO && size_of::<A>() == size_of::<B>() {
        return cast(cast::<A, [u8; 1]>(value).map(|byte| byte ^ 0x80));
    }
    // All types of part but f64 fit, and f64 is not narrowed before its one rounding.
    B::of_f64(value.to_f64())
}

/// Values of a type: its ends, those around zero, and a spread that a seed repeats.
trait Spread: Part + PartialEq + std::fmt::Debug {
    fn spread() -> Vec<Self>;
}

fn words() -> impl Iterator<Item = u64> {
    (0..5000_u64).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29))
}

macro_rules! spread_integers {
    ($($integer:ident)*) => {$(
        impl Spread for $integer {
            fn spread() -> Vec<$integer> {
                let ends = [$integer::MIN, $integer::MIN + 1, 0, 1, $integer::MAX - 1, $integer::MAX];
                ends.into_iter().chain(words().map(|word| word as $integer)).collect()
            }
        }
    )*};
}

macro_rules! spread_floats {
    ($($float:ident)*) => {$(
        impl Spread for $float {
            fn spread() -> Vec<$float> {
                let ends = [0.0, 1.0, 1e30, $float::INFINITY, 0.5 / 128.0, 1.5 / 128.0, 0.999_999_9];
                let ends = ends.into_iter().flat_map(|end: $float| [end, -end]);
                let spread = words().map(|word| (word as i32 as f64 / 2e9) as $float);
                ends.chain(spread).collect()
            }
        }
    )*};
}

spread_integers!(i8 u8 i16 i32);
spread_floats!(f32 f64);

/// Every length up to 130 from every place in 17, and the three ways in.
fn pair_agrees<A: Spread, B: Spread>() {
    let input = A::spread();
    let want: Vec<B> = input.iter().map(|value| reference(*value)).collect();
    let mut output = vec![B::zeroed(); input.len()];
    convert(&input, &mut output);
    assert_eq!(output, want);
    for start in 0..17 {
        for len in 0..=130 {
            let (input, want) = (&input[start..start + len], &want[start..start + len]);
            let mut output = vec![B::zeroed(); len];
            convert(input, &mut output);
            assert_eq!(output, want);
        }
    }
    for len in (0..=130).chain([2000]) {
        let mut bytes = vec![0; len * size_of::<A>().max(size_of::<B>()) + 1];
        bytes[..len * size_of::<A>()].copy_from_slice(cast_slice(&input[..len]));
        convert_in_place::<A, B>(&mut bytes, len);
        assert_eq!(bytes[..len * size_of::<B>()], *cast_slice::<B, u8>(&want[..len]), "{len}");
    }
    let odd = |bytes: &[u8]| [&[0], bytes].concat();
    let input: Vec<u8> = input.iter().flat_map(|value| le_bytes(*value)).collect();
    let want: Vec<u8> = want.iter().flat_map(|value| le_bytes(*value)).collect();
    let mut output = odd(&vec![0; want.len()]);
    convert_le_bytes::<A, B>(&odd(&input)[1..], &mut output[1..]);
    assert_eq!(output[1..], want);
}

fn le_bytes<P: Part>(value: P) -> Vec<u8> {
    cast_slice(&[value.to_le()]).to_vec()
}

macro_rules! pairs {
    ($($name:ident: $from:ident)*) => {$(
        #[test]
        fn $name() {
            pair_agrees::<$from, i8>();
            pair_agrees::<$from, u8>();
            pair_agrees::<$from, i16>();
            pair_agrees::<$from, i32>();
            pair_agrees::<$from, f32>();
            pair_agrees::<$from, f64>();
        }
    )*};
}

pairs! {
    i8_becomes_the_nearest_of_every_type: i8
    u8_becomes_the_nearest_of_every_type: u8
    i16_becomes_the_nearest_of_every_type: i16
    i32_becomes_the_nearest_of_every_type: i32
    f32_becomes_the_nearest_of_every_type: f32
    f64_becomes_the_nearest_of_every_type: f64
}

fn converted<A: Part, B: Part>(input: &[A]) -> Vec<B> {
    let mut output = vec![B::zeroed(); input.len()];
    convert(input, &mut output);
    output
}

fn survives<A: Spread, B: Part>(values: &[A]) {
    assert_eq!(converted::<B, A>(&converted::<A, B>(values)), values);
}

#[test]
fn every_value_survives_wider_types_and_back() {
    let (bytes, words): (Vec<i8>, Vec<i16>) =
        ((i8::MIN..=i8::MAX).collect(), (i16::MIN..=i16::MAX).collect());
    survives::<_, u8>(&bytes);
    survives::<_, i16>(&bytes);
    survives::<_, f32>(&bytes);
    survives::<_, i32>(&bytes);
    let unsigned: Vec<u8> = (0..=u8::MAX).collect();
    survives::<_, i8>(&unsigned);
    survives::<_, i16>(&unsigned);
    survives::<_, f32>(&unsigned);
    survives::<_, i32>(&unsigned);
    survives::<_, i32>(&words);
    survives::<_, f32>(&words);
    survives::<_, f64>(&i32::spread());
}

#[test]
fn values_known_by_hand_come_out() {
    assert_eq!(converted::<i8, i16>(&[-128, -1, 1, 127]), [-32_768, -256, 256, 32_512]);
    assert_eq!(converted::<i16, i32>(&[i16::MIN, 1]), [i32::MIN, 65_536]);
    assert_eq!(converted::<u8, i16>(&[0, 127, 128, 255]), [-32_640, -128, 128, 32_640]);
    assert_eq!(converted::<u8, i32>(&[0, 255]), [-32_640 << 16, 32_640 << 16]);
    // Ties go to the even one, and the step that 127 has not is its own end.
    assert_eq!(converted::<i16, i8>(&[128, 384, -128, -384, 32_767]), [0, 2, 0, -2, 127]);
    assert_eq!(
        converted::<f32, i16>(&[0.5, -1.0, 1.0, 0.5 / 32_768.0]),
        [16_384, -32_768, 32_767, 0]
    );
    assert_eq!(converted::<f64, i32>(&[0.5, -1.0, 1.0]), [1 << 30, i32::MIN, i32::MAX]);
    assert_eq!(converted::<i32, f32>(&[i32::MIN, 1 << 30]), [-1.0, 0.5]);
    // 2^31 - 1 needs 31 bits: f32 has its neighbour, f64 itself.
    assert_eq!(converted::<i32, f32>(&[i32::MAX]), [1.0]);
    assert_eq!(converted::<i32, f64>(&[i32::MAX]), [1.0 - 0.5_f64.powi(31)]);
}

#[test]
fn floats_round_to_nearest_and_ties_to_even() {
    for step in -70_000..70_000 {
        let value = step as f32 / 65_536.0;
        let nearest = |scale: f32, zero: f32| (value * scale + zero).round_ties_even();
        assert_eq!(i16::of_f32(value), nearest(32_768.0, 0.0) as i16, "{value}");
        assert_eq!(i8::of_f32(value), nearest(128.0, 0.0) as i8, "{value}");
        assert_eq!(u8::of_f32(value), nearest(128.0, 127.5) as u8, "{value}");
        // Halves of steps at both ends and about zero.
        for halves in [-1 << 32, 0, 1 << 32] {
            let halves = i64::from(step) + halves;
            let nearest = (halves as f64 / 2.0).round_ties_even() as i32;
            assert_eq!(i32::of_f64(halves as f64 / 2.0_f64.powi(32)), nearest, "{halves}");
        }
    }
}

#[test]
fn not_a_number_is_zero_in_integers_and_stays_in_floats() {
    let every = [f32::NAN, -f32::NAN, f32::from_bits(0x7F80_0001)];
    assert_eq!(converted::<f32, i16>(&every), [0; 3]);
    assert_eq!(converted::<f32, i8>(&every), [0; 3]);
    assert_eq!(converted::<f32, u8>(&every), [128; 3]);
    assert_eq!(converted::<f32, i32>(&every), [0; 3]);
    assert!(converted::<f32, f64>(&every).iter().all(|value| value.is_nan()));
    assert_eq!(converted::<f64, i32>(&[f64::NAN]), [0]);
}

#[test]
fn parts_of_complex_samples_stay_together() {
    let input = [Complex::new(1_i16, 2), Complex::new(3, 4), Complex::new(5, 6)];
    let mut output = [Complex::new(0.0_f32, 0.0); 3];
    convert(&input, &mut output);
    assert_eq!(
        output.map(|sample| sample * 32_768.0),
        input.map(|s| Complex::new(s.re.into(), s.im.into()))
    );
}

#[test]
#[should_panic(expected = "parts to convert")]
fn lengths_that_differ_are_refused() {
    convert(&[0_i16; 3], &mut [0.0_f32; 2]);
}

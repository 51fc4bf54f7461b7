//! Times each kernel on data that stay in the first cache.
//!
//! `cargo run --release -p samplewire-blocks --example kernels [NAME]`: nanoseconds a call and
//! samples a second, the best and the median of 200 rounds.

use std::hint::black_box;
use std::time::Instant;

use bytemuck::{cast_slice, cast_slice_mut};
use num_complex::Complex32;
use samplewire_blocks::kernels::{
    self, ConvertFrom, Fir, Floats, InterpolatingFir, Levels, Noise, Oscillator, Ramp, Spectrum,
    Window,
};
use samplewire_circuit::{Pool, PoolConfig, Quantum, Sample};

fn main() {
    let chosen = std::env::args().nth(1).unwrap_or_default();
    let bench = Bench { chosen };
    println!(
        "{:<34} {:>8} {:>10} {:>10} {:>9}",
        "kernel", "samples", "best ns", "median ns", "MS/s"
    );
    arithmetic(&bench);
    convert::<i16, f32>(&bench, "convert i16 to f32");
    convert::<f32, i16>(&bench, "convert f32 to i16");
    convert::<i8, f32>(&bench, "convert i8 to f32");
    convert::<f32, i8>(&bench, "convert f32 to i8");
    convert::<u8, f32>(&bench, "convert u8 to f32");
    convert::<i16, i8>(&bench, "convert i16 to i8");
    convert::<i32, f32>(&bench, "convert i32 to f32");
    convert::<f32, i32>(&bench, "convert f32 to i32");
    for decimation in [1, 2, 4, 8, 16] {
        fir::<Complex32>(&bench, "fc32", 64, decimation);
    }
    fir::<f32>(&bench, "f32", 64, 1);
    fir::<f32>(&bench, "f32", 64, 8);
    fir::<Complex32>(&bench, "fc32", 61, 8);
    other_firs(&bench);
    generators(&bench);
    probes(&bench);
}

fn arithmetic(bench: &Bench) {
    let (mut block, mut other) = (block(), block());
    let (floats, other) = (samples::<f32>(&mut block), samples::<f32>(&mut other));
    bench.time("copy f32, for comparison", LEN, || black_box(&mut *floats).copy_from_slice(other));
    bench.time("saxpy f32", LEN, || kernels::saxpy(black_box(floats), 0.5, 0.5));
    bench.time("gain f32", LEN, || kernels::gain(black_box(floats), 1.0));
    bench.time("add f32", LEN, || kernels::add(black_box(floats), other));
    bench.time("multiply f32", LEN, || kernels::multiply(black_box(floats), other));
    let (complex, other) = (cast_slice_mut(floats), cast_slice(other));
    bench.time("multiply fc32", LEN / 2, || kernels::multiply_complex(black_box(complex), other));
}

fn convert<A: Sample, B: Sample + ConvertFrom<A>>(bench: &Bench, name: &str) {
    let (mut from, mut to) = (block(), block());
    let (from, to) = (&samples::<A>(&mut from)[..LEN], &mut samples::<B>(&mut to)[..LEN]);
    bench.time(name, LEN, || kernels::convert(black_box(from), to));
    let mut bytes = block();
    let in_place = || kernels::convert_in_place::<A, B>(black_box(bytes.data_mut()), LEN);
    bench.time(&format!("{name}, in place"), LEN, in_place);
}

fn fir<S: Sample + Floats>(bench: &Bench, name: &str, taps: usize, decimation: usize) {
    let (mut input, mut output) = (block(), block());
    let (input, output) = (samples::<S>(&mut input), samples::<S>(&mut output));
    let mut fir = Fir::new(&vec![1.0 / taps as f32; taps], decimation).expect("both are in range");
    let name = format!("fir {taps} taps / {decimation} {name}");
    bench.time(&name, input.len(), || _ = black_box(fir.process(black_box(input), output)));
    if decimation == 1 {
        let (name, len) = (format!("{name}, in place"), input.len());
        bench.time(&name, len, || fir.process_in_place(black_box(input)));
    }
}

fn other_firs(bench: &Bench) {
    let (mut input, mut output) = (block(), block());
    let (input, output) = (samples::<Complex32>(&mut input), samples(&mut output));
    for decimation in [1, 8] {
        let taps = [Complex32::new(0.01, 0.01); 64];
        let mut fir = Fir::with_complex_taps(&taps, decimation).expect("both are in range");
        let name = format!("fir 64 complex taps / {decimation} fc32");
        bench.time(&name, input.len(), || _ = black_box(fir.process(black_box(input), output)));
    }
    let mut fir = InterpolatingFir::new(&[1.0 / 64.0; 64], 8).expect("both are in range");
    let input = &input[..output.len() / 8];
    bench.time("fir 64 taps x 8 fc32, of outputs", output.len(), || {
        _ = black_box(fir.process(black_box(input), output));
    });
}

fn generators(bench: &Bench) {
    let mut block = block();
    let oscillator = Oscillator::new(0.123).expect("it is below 0.5");
    let noise = Noise::new(1, 0.1);
    let complex = samples::<Complex32>(&mut block);
    let len = complex.len();
    bench.time("rotate fc32", len, || oscillator.rotate(1 << 40, black_box(complex)));
    bench.time("tone fc32", len, || oscillator.tone(1 << 40, 0.5, black_box(complex)));
    bench.time("noise fc32", len, || noise.fill(1 << 40, black_box(&mut *complex)));
    let floats = samples::<f32>(&mut block);
    bench.time("cosine f32", LEN, || oscillator.cosine(1 << 40, 0.5, black_box(floats)));
    bench.time("noise f32", LEN, || noise.fill(1 << 40, black_box(&mut *floats)));
    let ramp = Ramp::new(1 << 16).expect("it is below 2^24");
    bench.time("ramp f32", LEN, || ramp.fill(1 << 40, black_box(floats)));
}

fn probes(bench: &Bench) {
    let mut block = block();
    let mut levels = Levels::default();
    let floats = samples::<f32>(&mut block);
    bench.time("levels f32", LEN, || levels.add(black_box(&*floats)));
    let complex = samples::<Complex32>(&mut block);
    let len = complex.len();
    bench.time("levels fc32", len, || levels.add(black_box(&*complex)));
    for bins in [1024, 4096] {
        let mut spectrum = Spectrum::new(bins, Window::Hann, 8).expect("both are in range");
        let name = format!("spectrum {bins} bins, Hann, mean of 8");
        bench.time(&name, len, || {
            let mut rest = black_box(&*complex);
            while spectrum.next(&mut rest).is_some() {}
        });
    }
}

/// A quantum as blocks get it: 16 KiB at a multiple of 64 bytes.
fn block() -> Quantum {
    let pool = Pool::new(PoolConfig::new(1, LEN * 4)).expect("16 KiB can be had");
    let mut quantum = pool.take().expect("nothing was taken");
    quantum.set_len(LEN * 4);
    quantum
}

fn samples<S: Sample>(quantum: &mut Quantum) -> &mut [S] {
    quantum.as_mut_slice().expect("its bytes are a whole number of samples")
}

/// Which kernels are timed: those whose name has this in it.
struct Bench {
    chosen: String,
}

impl Bench {
    /// Prints how long `call` takes, which handles `samples`.
    fn time(&self, name: &str, samples: usize, mut call: impl FnMut()) {
        if !name.contains(&self.chosen) {
            return;
        }
        let mut round = |calls: u32| {
            let start = Instant::now();
            for _ in 0..calls {
                call();
            }
            start.elapsed().as_nanos() as f64 / f64::from(calls)
        };
        let calls = (ROUND_NS / round(16)).clamp(1.0, 1e6) as u32;
        let mut times_ns: Vec<f64> = (0..ROUNDS).map(|_| round(calls)).collect();
        times_ns.sort_by(f64::total_cmp);
        let (best_ns, median_ns) = (times_ns[0], times_ns[ROUNDS / 2]);
        let rate = samples as f64 / best_ns * 1e3;
        println!("{name:<34} {samples:>8} {best_ns:>10.1} {median_ns:>10.1} {rate:>9.0}");
    }
}

const LEN: usize = 4096;
const ROUNDS: usize = 200;
const ROUND_NS: f64 = 500e3;

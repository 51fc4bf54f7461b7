//! Measures the speed of sources. On an idle machine:
//! `cargo test --release -p samplewire speed -- --ignored --nocapture --test-threads 1`.

use std::hint::black_box;
use std::time::Instant;

use samplewire::format::convert;

use super::*;

/// Reads `total_bytes` in pieces of a packet's payload; prints and returns bytes per second.
fn bytes_per_second(spec: &str, options: &SourceOptions, total_bytes: usize) -> f64 {
    let mut source = spec.parse::<SourceSpec>().unwrap().open(options).unwrap();
    let mut piece = vec![0; 8_000];
    let started = Instant::now();
    for _ in 0..total_bytes / piece.len() {
        assert_eq!(source.read(black_box(&mut piece)).unwrap(), 8_000);
    }
    let rate = total_bytes as f64 / started.elapsed().as_secs_f64();
    let samples = rate / source.info().frame_bytes() as f64;
    println!("{spec}: {:.2} GB/s, {:.0} Msamples/s", rate / 1e9, samples / 1e6);
    rate
}

#[test]
#[ignore = "measures: needs --release and an idle machine"]
fn generators_exceed_200_million_samples_a_second() {
    for spec in ["counter", "null", "tone:1e6", "chirp", "scene", "noise"] {
        let rate = bytes_per_second(spec, &SourceOptions::new(), 2_000_000_000);
        assert!(rate > 200e6 * 4.0, "{spec}: {rate} bytes/s");
    }
}

#[test]
#[ignore = "measures: needs --release and an idle machine"]
fn looped_recording_exceeds_2_gigabytes_a_second() {
    let Some(path) = test_recording() else { return };
    let options = SourceOptions::new().repeat(Repeat::Forever);
    let rate = bytes_per_second(path.to_str().unwrap(), &options, 4_000_000_000);
    assert!(rate > 2e9, "{rate} bytes/s");
}

#[test]
#[ignore = "measures: needs --release and an idle machine"]
fn conversions_exceed_200_million_samples_a_second() {
    let complex = [Format::Sc8, Format::Uc8, Format::Sc16, Format::Fc32];
    for (from, to) in complex.into_iter().flat_map(|from| complex.map(|to| (from, to))) {
        let input = vec![1; 8_000];
        let mut output = vec![0; 8_000 * 4];
        let started = Instant::now();
        for _ in 0..20_000 {
            convert(from, to, black_box(&input), black_box(&mut output)).unwrap();
        }
        let samples = 20_000 * 8_000 / from.sample_bytes();
        let rate = samples as f64 / started.elapsed().as_secs_f64();
        println!("{from} to {to}: {:.0} Msamples/s", rate / 1e6);
        assert!(rate > 200e6, "{from} to {to}: {rate} samples/s");
    }
}

//! Tones of known frequency and level.

use samplewire::format::convert;
use samplewire_blocks::kernels::Oscillator;

use super::*;

const PERIOD: Duration = Duration::from_secs(1);
const FORMATS: [Format; 4] = [Format::Sc8, Format::Uc8, Format::Sc16, Format::Fc32];

fn tone(format: Format, frequency: f64, amplitude: f32, samples: usize) -> Vec<u8> {
    let mut tone = vec![Complex32::ZERO; samples];
    Oscillator::new(frequency).unwrap().tone(0, amplitude, &mut tone);
    let mut bytes = vec![0; samples * format.sample_bytes()];
    convert(Format::Fc32, format, bytemuck::cast_slice(&tone), &mut bytes).unwrap();
    bytes
}

/// The highest bin and its level in dBFS.
fn highest(bytes: &[u8]) -> (usize, f32) {
    let (bin, &byte) = bytes.iter().enumerate().max_by_key(|&(_, &byte)| byte).unwrap();
    (bin, Levels::db(byte))
}

#[test]
fn tone_is_in_its_bin_at_its_level_in_every_format() {
    for format in FORMATS {
        let info = StreamInfo::new(format, 1, 1e6).unwrap();
        for bins in [256, 2_048, 65_536] {
            let view = View::whole(bins).fitted_to(&info);
            let mut spectra = Spectra::new(&info, view).unwrap();
            let bins = view.bins as i64;
            for (bin, amplitude) in [(bins / 8, 0.5), (-bins / 3, 0.25), (3, 0.7)] {
                let samples = tone(
                    format,
                    bin as f64 / bins as f64,
                    amplitude,
                    view.run_samples(&info, PERIOD),
                );
                let levels = spectra.compute(1_000_003, &samples).unwrap().unwrap();
                for bytes in [&levels.mean, &levels.peak] {
                    let (found, db) = highest(bytes);
                    assert_eq!(found as i64, bin + bins / 2, "{format} {bins}");
                    let expected = 20.0 * amplitude.log10();
                    assert!((db - expected).abs() < 0.5, "{format} {bins}: {db} for {expected}");
                }
            }
        }
    }
}

#[test]
fn real_samples_show_half_the_spectrum() {
    let info = StreamInfo::new(Format::R16, 1, 1e6).unwrap();
    let view = View::whole(2_048).fitted_to(&info);
    let mut spectra = Spectra::new(&info, view).unwrap();
    let samples = (0..view.run_samples(&info, PERIOD)).flat_map(|at| {
        let turn = std::f64::consts::TAU * (300 * at) as f64 / 2_048.0;
        ((16_384.0 * turn.cos()) as i16).to_le_bytes()
    });
    let levels = spectra.compute(0, &samples.collect::<Vec<_>>()).unwrap().unwrap();
    assert_eq!(levels.mean.len(), 1_024);
    let (bin, db) = highest(&levels.mean);
    assert_eq!(bin, 300);
    assert!((db + 6.02).abs() < 0.5, "{db}");
}

#[test]
fn each_channel_has_its_own_spectrum() {
    let info = StreamInfo::new(Format::Sc16, 2, 1e6).unwrap();
    let len = View::whole(2_048).run_samples(&info, PERIOD);
    let [first, second] =
        [100, -200].map(|bin| tone(Format::Sc16, f64::from(bin) / 2_048.0, 0.5, len));
    let pairs = first.chunks_exact(4).zip(second.chunks_exact(4));
    let bytes: Vec<u8> = pairs.flat_map(|(one, two)| [one, two].concat()).collect();
    for (channel, bin) in [(0, 100), (1, -200), (9, -200)] {
        let view = View { channel, ..View::whole(2_048) }.fitted_to(&info);
        let levels = Spectra::new(&info, view).unwrap().compute(0, &bytes).unwrap().unwrap();
        assert_eq!(highest(&levels.mean).0 as i32, 1_024 + bin, "{channel}");
    }
}

#[test]
fn zoom_shows_its_part_at_the_same_level() {
    let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
    for (zoom, centre) in [(4, 0.2), (16, -0.3), (2, 0.25)] {
        let view = View { zoom, centre, ..View::whole(1_024) }.fitted_to(&info);
        let bins = f64::from(view.bins);
        let frequency = centre + 100.0 / bins / f64::from(zoom);
        let samples = tone(Format::Sc16, frequency, 0.5, view.run_samples(&info, PERIOD));
        let levels = Spectra::new(&info, view).unwrap().compute(0, &samples).unwrap().unwrap();
        let (bin, db) = highest(&levels.peak);
        assert!((bin as f64 - bins / 2.0 - 100.0).abs() <= 0.5, "zoom {zoom}: {bin}");
        assert!((db + 6.02).abs() < 0.5, "zoom {zoom}: {db}");
    }
}

#[test]
fn runs_do_not_mix() {
    let info = StreamInfo::sc16("", 1e6).unwrap();
    let view = View::whole(1_024).fitted_to(&info);
    let mut spectra = Spectra::new(&info, view).unwrap();
    let loud = tone(Format::Sc16, 0.25, 0.9, 1_500);
    // A transform and a half: the rest must not be part of the next run.
    assert_eq!(spectra.compute(0, &loud).unwrap().unwrap().transforms, 1);
    let silence = vec![0; 4 * 1_024];
    let levels = spectra.compute(1_500, &silence).unwrap().unwrap();
    assert!(levels.peak.iter().all(|&byte| byte == 0), "{:?}", highest(&levels.peak));
    assert_eq!(spectra.compute(9_000, &silence[4..]).unwrap(), None, "a sample is missing");
    assert_eq!(spectra.compute(90_000, &silence).unwrap().unwrap().transforms, 1);
}

#[test]
fn views_are_fitted_to_the_stream() {
    let sc16 = StreamInfo::sc16("", 1e6).unwrap();
    let fc32 = StreamInfo::new(Format::Fc32, 1, 1e6).unwrap();
    let real = StreamInfo::new(Format::R16, 1, 1e6).unwrap();
    let wide = StreamInfo::new(Format::Sc16, 1_000, 1e6).unwrap();
    assert_eq!(View::whole(65_536).fitted_to(&sc16).bins, 65_536);
    assert_eq!(View::whole(65_536).fitted_to(&fc32).bins, 32_768);
    assert_eq!(View::whole(2_048).fitted_to(&wide).bins, 64);
    let zoomed = View { zoom: 64, centre: 0.5, ..View::whole(65_536) };
    assert_eq!(zoomed.fitted_to(&sc16), View { zoom: 64, centre: 0.492_187_5, ..View::whole(512) });
    assert_eq!(zoomed.fitted_to(&real), View::whole(65_536));
}

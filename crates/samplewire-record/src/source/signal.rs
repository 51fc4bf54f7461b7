//! Periodic signals: computed once as a table, then copied.

use std::f64::consts::TAU;

use samplewire::BoxError;
use samplewire::format::convert;
use samplewire::source::{ReadSamples, StreamInfo, nearest_ratio, whole_frames};
use samplewire_blocks::kernels::{NOISE_RMS, noise_pair, scramble};
use samplewire_proto::wire::Format;

use super::SourceError;
use super::looped::Looped;

/// A periodic signal of one channel, continuous where it repeats. Endless.
#[derive(Debug)]
pub struct SignalSource {
    info: StreamInfo,
    table: Looped,
}

impl SignalSource {
    /// Repeats `samples`, complex fractions of full scale; real formats use the first part.
    fn new(name: String, info: StreamInfo, samples: impl Iterator<Item = [f64; 2]>) -> Self {
        let format = info.format;
        let parts = if format.is_complex() { 2 } else { 1 };
        let bytes = |sample: [f64; 2]| {
            sample.into_iter().take(parts).flat_map(|part| (part as f32).to_le_bytes())
        };
        let floats: Vec<u8> = samples.flat_map(bytes).collect();
        let native = if format.is_complex() { Format::Fc32 } else { Format::Rf32 };
        let mut table = vec![0; floats.len() / native.sample_bytes() * format.sample_bytes()];
        convert(native, format, &floats, &mut table)
            .expect("both are complex or both real, and the table holds the samples");
        Self { info: StreamInfo { name: name.into(), ..info }, table: Looped::new(table, None) }
    }
}

impl ReadSamples for SignalSource {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        Ok(self.table.read(whole_frames(out, self.info.frame_bytes())))
    }
}

/// Creates a tone at half of full scale.
///
/// The frequency is rounded to one whose period fits a table of 65,536 samples. The error is below
/// the sample rate over 2^16 times the table's length, and zero for every simple fraction of the
/// rate. A negative frequency rotates in the other direction.
///
/// # Errors
/// [`SourceError::Frequency`] above half the sample rate, [`SourceError::Rate`] if the rate is out
/// of range.
pub fn tone(format: Format, rate_hz: f64, frequency_hz: f64) -> Result<SignalSource, SourceError> {
    let info = StreamInfo::new(format, 1, rate_hz)?;
    let fits = frequency_hz.abs() * 2.0 <= rate_hz;
    let (cycles, period) = nearest_ratio(frequency_hz.abs() / rate_hz, TONE_SAMPLES_MAX)
        .filter(|_| fits)
        .ok_or(SourceError::Frequency { frequency_hz, rate_hz })?;
    let samples = (0..u64::from(period)).map(|at| {
        // The remainder keeps the angle exact: cycles * at may be large.
        let turn = (cycles * at % u64::from(period)) as f64 / f64::from(period);
        polar(0.5, turn * frequency_hz.signum())
    });
    Ok(SignalSource::new(format!("tone {frequency_hz} Hz"), info, samples))
}

/// Creates a linear sweep at half of full scale over 90 % of the band. It rises in 262,144 samples,
/// then starts again at the lowest frequency without a phase jump.
///
/// # Errors
/// [`SourceError::Rate`] if the rate is out of range.
pub fn chirp(format: Format, rate_hz: f64) -> Result<SignalSource, SourceError> {
    let info = StreamInfo::new(format, 1, rate_hz)?;
    let samples = (0..CHIRP_SAMPLES).map(|at| {
        // The integral of a frequency from -0.45 to 0.45: equal at both ends.
        let time = f64::from(at) / f64::from(CHIRP_SAMPLES);
        polar(0.5, 0.45 * time * (time - 1.0) * f64::from(CHIRP_SAMPLES))
    });
    Ok(SignalSource::new("chirp".into(), info, samples))
}

/// Creates several signals in one band, which repeat after 524,288 samples: three carriers, a
/// frequency-modulated signal, bursts of a phase-modulated one, and noise 60 dB below full scale.
///
/// | signal | frequency / rate | level |
/// |---|---|---|
/// | carriers | -0.3125, 0.0625, 0.21875 | -20, -30, -40 dB |
/// | FM, deviation 0.03, 16 cycles | -0.125 | -20 dB |
/// | bursts, a tenth of the time, 64 samples a symbol | 0.375 | -14 dB |
///
/// # Errors
/// [`SourceError::Rate`] if the rate is out of range.
pub fn scene(format: Format, rate_hz: f64, seed: u64) -> Result<SignalSource, SourceError> {
    let info = StreamInfo::new(format, 1, rate_hz)?;
    let samples = (0..SCENE_SAMPLES).map(|at| scene_at(at, seed));
    Ok(SignalSource::new("scene".into(), info, samples))
}

fn scene_at(at: u32, seed: u64) -> [f64; 2] {
    let time = f64::from(at);
    let mut sum = [0.0; 2];
    let mut add = |signal: [f64; 2]| {
        sum[0] += signal[0];
        sum[1] += signal[1];
    };
    for (frequency, amplitude) in CARRIERS {
        add(polar(amplitude, frequency * time));
    }
    let modulation = 16.0 / f64::from(SCENE_SAMPLES);
    add(polar(0.1, -0.125 * time + 0.03 / modulation / TAU * (TAU * modulation * time).sin()));
    if at % BURST_PERIOD_SAMPLES < BURST_PERIOD_SAMPLES / 10 {
        let symbol = scramble(seed.wrapping_add(u64::from(at / 64))) % 4;
        add(polar(0.2, 0.375 * time + symbol as f64 / 4.0));
    }
    let noise = noise_pair(scramble(!seed ^ u64::from(at)));
    add(noise.map(|part| f64::from(part) / NOISE_RMS * 1e-3));
    sum
}

fn polar(amplitude: f64, turns: f64) -> [f64; 2] {
    let (sine, cosine) = (TAU * turns.fract()).sin_cos();
    [amplitude * cosine, amplitude * sine]
}

/// Frequency over sample rate, amplitude over full scale.
const CARRIERS: [(f64, f64); 3] = [(-0.3125, 0.1), (0.0625, 0.031_6), (0.218_75, 0.01)];
const TONE_SAMPLES_MAX: u32 = 1 << 16;
const CHIRP_SAMPLES: u32 = 1 << 18;
const SCENE_SAMPLES: u32 = 1 << 19;
const BURST_PERIOD_SAMPLES: u32 = 1 << 15;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &mut SignalSource, samples: usize) -> Vec<[f64; 2]> {
        let mut bytes = vec![0; samples * 8];
        assert_eq!(source.read(&mut bytes).unwrap(), samples * 8);
        let part = |bytes: &[u8]| f64::from(f32::from_le_bytes(bytes.try_into().unwrap()));
        bytes.chunks(8).map(|sample| [part(&sample[..4]), part(&sample[4..])]).collect()
    }

    /// Returns the amplitude at one frequency (over the sample rate).
    fn amplitude(samples: &[[f64; 2]], frequency: f64) -> f64 {
        let (mut i, mut q) = (0.0, 0.0);
        for (at, sample) in samples.iter().enumerate() {
            let [cosine, sine] = polar(1.0, -frequency * at as f64);
            i += sample[0] * cosine - sample[1] * sine;
            q += sample[0] * sine + sample[1] * cosine;
        }
        (i * i + q * q).sqrt() / samples.len() as f64
    }

    #[test]
    fn tone_has_its_frequency_and_no_seam() {
        for (frequency_hz, rate_hz) in [(1e6, 20e6), (-123_456.0, 2e6), (0.0, 1e6), (5e5, 1e6)] {
            let mut source = tone(Format::Fc32, rate_hz, frequency_hz).unwrap();
            let samples = read(&mut source, 200_000);
            let level = amplitude(&samples, frequency_hz / rate_hz);
            assert!((level - 0.5).abs() < 1e-4, "{frequency_hz} at {rate_hz}: {level}");
        }
    }

    #[test]
    fn tone_beyond_half_the_rate_is_named() {
        for frequency_hz in [500_001.0, -1e9, f64::NAN] {
            let error = tone(Format::Sc16, 1e6, frequency_hz).err().unwrap();
            assert!(matches!(error, SourceError::Frequency { .. }), "{error}");
        }
    }

    #[test]
    fn real_tone_is_a_cosine() {
        let mut source = tone(Format::R16, 4e6, 1e6).unwrap();
        let mut bytes = [0; 8];
        source.read(&mut bytes).unwrap();
        assert_eq!(bytes, [0x00, 0x40, 0, 0, 0x00, 0xC0, 0, 0]);
    }

    #[test]
    fn chirp_sweeps_the_band_and_returns_without_a_jump() {
        let mut source = chirp(Format::Fc32, 1e6).unwrap();
        let samples = read(&mut source, CHIRP_SAMPLES as usize + 64);
        let start = &samples[..32];
        let middle = &samples[CHIRP_SAMPLES as usize / 2..][..32];
        assert!(amplitude(start, -0.45) > 0.49);
        assert!(amplitude(middle, 0.0) > 0.49);
        let step = |at: usize| {
            let (a, b) = (samples[at], samples[at + 1]);
            (a[0] * b[0] + a[1] * b[1]) / 0.25
        };
        let seam = CHIRP_SAMPLES as usize - 1;
        assert!((step(seam) - (TAU * 0.45).cos()).abs() < 1e-3, "{}", step(seam));
    }

    #[test]
    fn scene_holds_every_signal_of_its_table() {
        let mut source = scene(Format::Fc32, 1e6, 1).unwrap();
        let samples = read(&mut source, SCENE_SAMPLES as usize);
        for (frequency, level) in CARRIERS {
            let found = amplitude(&samples, frequency);
            assert!((found / level - 1.0).abs() < 0.02, "{frequency}: {found}");
        }
        let empty_band = amplitude(&samples, 0.47);
        assert!(empty_band < 1e-4, "{empty_band}");
        let burst = amplitude(&samples[64..128], 0.375);
        let silence = amplitude(&samples[BURST_PERIOD_SAMPLES as usize / 2..][..4096], 0.375);
        assert!(burst > 0.15 && silence < 0.005, "{burst} {silence}");
        let peak = samples.iter().flatten().fold(0.0_f64, |peak, part| peak.max(part.abs()));
        assert!(peak < 0.5, "{peak}");
    }
}

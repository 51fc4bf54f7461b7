//! The parameters of a point.

use samplewire_proto::random::mix;
use samplewire_proto::rate::{DcqcnParams, WireRate};
use samplewire_proto::{Nanos, Rng};

use super::super::Preset;
use samplewire_switch::Marking;

/// What senders, receivers and switch do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Of the senders.
    pub params: DcqcnParams,
    /// Of the switch.
    pub marking: Marking,
    /// Of the receivers.
    pub report_spacing: Nanos,
}

impl Parameters {
    /// Those of a point: the presets first, then others around the preset `samplewire`, drawn evenly
    /// by their logarithms. K is T.
    pub(super) fn of(number: usize, seed: u64, line_bps: u64) -> Self {
        let preset = Preset::ALL.get(number).copied();
        let base = preset.unwrap_or(Preset::Samplewire);
        let mut drawn = Self {
            params: base.params(line_bps),
            marking: base.marking(line_bps),
            report_spacing: base.report_spacing(),
        };
        if preset.is_some() {
            return drawn;
        }
        let mut rng = Rng::new(mix(seed ^ mix(number as u64)));
        let mut between = |low: f64, high: f64| {
            // 53 bits, as many as the number has.
            let share = (rng.draw() >> 11) as f64 / (1u64 << 53) as f64;
            low * (high / low).powf(share)
        };
        let line = line_bps as f64;
        let Self { params, marking, .. } = &mut drawn;
        marking.min_bytes = between(5e3, 2e5) as u64;
        marking.max_bytes = (marking.min_bytes as f64 * between(1.0, 20.0)) as u64;
        marking.probability_max = between(0.01, 1.0);
        params.gain_shift = between(4.0, 11.0) as u8;
        params.rise_period = Nanos(between(20e3, 500e3) as u64);
        params.alpha_period = params.rise_period;
        params.rise_bytes = between(1e5, 2e7) as u32;
        params.recovery_stages = between(1.0, 11.0) as u8;
        params.additive = WireRate::from_bps((line * between(1e-4, 1e-2)) as u64);
        let hyper = line * between(1e-3, 1e-1);
        params.hyper = WireRate::from_bps(hyper as u64).max(params.additive);
        *params = DcqcnParams { first_cut: params.line, ..*params };
        drawn
    }

    /// The swept values by name, in the units of the CSV file.
    pub(super) fn values(&self) -> [(&'static str, f64); 9] {
        let Self { params, marking, .. } = self;
        [
            ("kmin_kb", marking.min_bytes as f64 / 1e3),
            ("kmax_kb", marking.max_bytes as f64 / 1e3),
            ("pmax", marking.probability_max),
            ("g", 0.5f64.powi(params.gain_shift.into())),
            ("t_us", params.rise_period.0 as f64 / 1e3),
            ("b_kb", f64::from(params.rise_bytes) / 1e3),
            ("f", params.recovery_stages.into()),
            ("rai_mbps", megabits(params.additive)),
            ("rhai_mbps", megabits(params.hyper)),
        ]
    }
}

/// A rate in the unit of the CSV file.
pub(super) fn megabits(rate: WireRate) -> f64 {
    rate.bps() as f64 / 1e6
}

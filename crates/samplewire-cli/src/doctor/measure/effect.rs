//! What a wrong value costs on this host, in figures and words.

use serde::Serialize;

use super::pair::Run;
use super::trials::Trial;
use crate::console::Console;
use crate::doctor::check::Check;
use crate::figures::measured;

/// A setting that was tried.
#[derive(Debug, PartialEq, Serialize)]
pub(in crate::doctor) struct Effect {
    /// The check of the setting.
    check: String,
    /// The setting with both values, the wrong one first.
    what: String,
    #[serde(flatten)]
    figures: Option<Figures>,
    /// Why there are no figures; null if there are.
    why: Option<String>,
}

/// The figures of all pairs.
#[derive(Debug, PartialEq, Serialize)]
struct Figures {
    pairs: usize,
    /// With the right value: the median of bits per second.
    right_bps: f64,
    /// The rate with the wrong value / that with the right one.
    rate: Spread,
    /// The same of the CPU time of the whole host for each byte.
    cpu: Spread,
    /// Samples that were missing in all runs with the right and with the wrong value.
    missing: [u64; 2],
}

/// A ratio over all pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Effect {
    /// The effect of a trial: of its pairs, the right value first, or why there are none.
    pub(super) fn of(trial: &Trial, pairs: &[[Run; 2]], why: Option<String>) -> Self {
        let figures = why.is_none().then(|| Figures::of(pairs));
        Self { check: trial.check.to_owned(), what: trial.what.clone(), figures, why }
    }

    /// Whether it is that of a check, with figures.
    pub(in crate::doctor) fn is_of(&self, check: &Check) -> bool {
        self.check == check.id && self.figures.is_some()
    }

    /// The figures in a few words.
    pub(in crate::doctor) fn words(&self) -> String {
        match &self.figures {
            Some(Figures { rate, cpu, .. }) => format!("measured here: rate {rate}, CPU {cpu}"),
            None => "not measured".to_owned(),
        }
    }

    /// Prints a line of the table.
    fn print(&self, console: &mut Console) {
        let Self { check, what, figures, why } = self;
        let Some(Figures { right_bps, rate, cpu, missing: [right, wrong], .. }) = figures else {
            let why = why.as_deref().unwrap_or_default();
            console.line(format_args!("  {check:<18} {what:<42} {why}"));
            return;
        };
        let right_bps = measured(*right_bps, "b/s");
        console
            .line(format_args!("  {check:<18} {what:<42} {right_bps:>10}  rate {rate}  CPU {cpu}"));
        if right + wrong > 0 {
            console.line(format_args!(
                "    missing samples: {wrong} with the first value, {right} with the second"
            ));
        }
    }
}

/// Prints the effects as a table.
pub(in crate::doctor) fn print(console: &mut Console, effects: &[Effect]) {
    if effects.is_empty() {
        return;
    }
    console.line(format_args!(
        "measured here: first value / second value, median (range); b/s with the second"
    ));
    for effect in effects {
        effect.print(console);
    }
}

impl Figures {
    fn of(pairs: &[[Run; 2]]) -> Self {
        let spread = |ratio: &dyn Fn(&[Run; 2]) -> f64| Spread::of(pairs.iter().map(ratio));
        let missing = |side: usize| pairs.iter().map(|pair| pair[side].missing).sum();
        Self {
            pairs: pairs.len(),
            right_bps: Spread::of(pairs.iter().map(|[right, _]| right.bps)).median,
            rate: spread(&|[right, wrong]| wrong.bps / right.bps),
            cpu: spread(&|[right, wrong]| wrong.cpu_per_byte() / right.cpu_per_byte()),
            missing: [missing(0), missing(1)],
        }
    }
}

impl Spread {
    /// The spread of some numbers, one at least.
    fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = numbers.collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
        let median = at(last / 2).midpoint(at(last.div_ceil(2)));
        Self { median, least: at(0), most: at(last) }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { median, least, most } = self;
        write!(f, "{median:.2} ({least:.2}..{most:.2})")
    }
}

#[cfg(test)]
mod tests {
    use super::super::trials::Change;
    use super::*;

    fn run(bps: f64, cpu_s: f64, missing: u64) -> Run {
        Run { bps, bytes: 1_000, cpu_s, missing, refused: None }
    }

    fn trial() -> Trial {
        let what = "GRO: off / on".to_owned();
        Trial { check: "card.gro", what, right: Change::None, wrong: Change::None }
    }

    #[test]
    fn effect_is_the_median_of_the_ratios_of_each_pair() {
        let pairs = [
            [run(100.0, 1.0, 0), run(50.0, 2.0, 3)],
            [run(200.0, 1.0, 0), run(180.0, 1.0, 0)],
            [run(100.0, 2.0, 1), run(70.0, 3.0, 0)],
        ];
        let figures = Figures::of(&pairs);
        assert_eq!(figures.rate, Spread { median: 0.7, least: 0.5, most: 0.9 });
        assert_eq!(figures.cpu, Spread { median: 1.5, least: 1.0, most: 2.0 });
        assert_eq!((figures.right_bps, figures.missing), (100.0, [1, 3]));
        assert_eq!(figures.rate.to_string(), "0.70 (0.50..0.90)");
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 9.0].into_iter()).median, 3.0);
    }

    #[test]
    fn setting_that_is_not_granted_has_no_figures() {
        let pairs = [[run(1.0, 1.0, 0), run(1.0, 1.0, 0)]];
        let effect = Effect::of(&trial(), &pairs, Some("not granted here".to_owned()));
        assert_eq!((effect.figures, effect.why.as_deref()), (None, Some("not granted here")));
    }
}

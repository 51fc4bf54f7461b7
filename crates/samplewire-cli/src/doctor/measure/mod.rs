//! `--measure`: what a setting costs on this host, as pairs of runs with the right and the wrong value.
//!
//! Without a device, both ends run in network namespaces of their own with a veth pair between them,
//! and the settings are those of this pair. With one, only options of the receiver are paired. Settings
//! of the host are changed with `--yes` alone, from the old value to that of the fix and back.

mod pair;
mod trials;

use std::time::Duration;

use serde::Serialize;

use super::apply::Changes;
use super::check::{Check, Checked};
use super::context::Context;
use super::fix::Place;
use crate::arguments::DoctorArguments;
use crate::console::Console;
use crate::failure::Failure;
use crate::figures::measured;
use crate::interrupt::Interrupt;
use pair::{Ends, Run};
use trials::{Change, Trial};

/// What a wrong value costs on this host.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Effect {
    /// The check of the setting.
    check: String,
    /// The setting with both values.
    what: String,
    pairs: usize,
    /// With the right value: the median of bits per second.
    right_bps: f64,
    /// The rate with the wrong value, in parts of that with the right one.
    rate: Spread,
    /// The same of the CPU time of the whole host for each byte.
    cpu: Spread,
    /// Samples that were missing in all runs with the right and with the wrong value.
    missing: [u64; 2],
}

/// A ratio over all pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

/// The settings that are tried.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    /// The findings, whose settings may be changed.
    checked: &'a [Checked],
    /// Pairs of runs for each setting.
    pairs: u8,
    /// Whether settings of the host may be changed.
    may_change: bool,
    /// Runs only trials of these checks and groups; all if empty.
    only: &'a [String],
}

impl<'a> Bench<'a> {
    pub(super) fn new(checked: &'a [Checked], arguments: &'a DoctorArguments) -> Self {
        let pairs = arguments.measure.unwrap_or_default();
        Self { checked, pairs, may_change: arguments.yes, only: &arguments.only }
    }
}

/// Runs all trials.
pub(super) fn run(
    console: &mut Console,
    context: &Context<'_>,
    bench: &Bench<'_>,
) -> Result<Vec<Effect>, Failure> {
    let ends = match context.peer {
        Some(peer) => Ends::of_device(peer),
        None => Ends::own_pair()?,
    };
    let mut changes = Changes::new(context.reader);
    let mut trials = trials::of_ends(&ends);
    if bench.may_change {
        trials.extend(host_trials(bench, context.peer.is_some(), &mut changes)?);
    }
    trials.retain(|trial| trial.is_chosen(bench.only));
    if trials.is_empty() {
        let words = "--measure: no setting of these checks can be paired here";
        return Err(Failure::Contradiction(words.to_owned()));
    }
    let undo_file = trials.iter().any(Trial::is_of_host).then(|| changes.write()).transpose()?;
    let effects = run_all(console, &ends, &changes, &trials, usize::from(bench.pairs));
    undo_file.map_or(Ok(()), |path| changes.end(&path))?;
    effects
}

fn run_all(
    console: &mut Console,
    ends: &Ends,
    changes: &Changes<'_>,
    trials: &[Trial],
    pairs: usize,
) -> Result<Vec<Effect>, Failure> {
    let interrupt = Interrupt::install()?;
    for trial in trials.iter().filter(|trial| !trial.is_of_host()) {
        trial.right.make(ends, changes)?;
    }
    // The MTU is the usual one but where it is tried.
    ends.set_mtu(trials::MTU_USUAL)?;
    let steps = trials.len() * pairs;
    let mut effects = Vec::new();
    for (number, trial) in trials.iter().enumerate() {
        let mut runs = Vec::with_capacity(pairs);
        for pair in 0..pairs {
            if interrupt.signal().is_some() {
                return Ok(effects);
            }
            let step = number * pairs + pair + 1;
            console.status(&format!("pair {step} of {steps}: {}", trial.what));
            runs.push(run_pair(ends, changes, trial, pair % 2 == 1)?);
        }
        trial.end(ends, changes)?;
        effects.push(Effect::of(trial, &runs));
    }
    console.status("");
    Ok(effects)
}

/// The settings of the findings: of the interface only if the stream passes it.
fn host_trials(
    bench: &Bench<'_>,
    has_device: bool,
    changes: &mut Changes<'_>,
) -> Result<Vec<Trial>, Failure> {
    let mut trials = Vec::new();
    for item in bench.checked {
        let Some(fix) = item.finding().and_then(|found| found.fix.as_ref()) else { continue };
        for setting in &fix.settings {
            if matches!(setting.place, Place::Card(..)) && !has_device {
                continue;
            }
            let number = changes.add(setting)?;
            trials.push(Trial::of_host(item.check.id, setting, number));
        }
    }
    Ok(trials)
}

/// Runs with both values, the right one first or last.
fn run_pair(
    ends: &Ends,
    changes: &Changes<'_>,
    trial: &Trial,
    wrong_first: bool,
) -> Result<[Run; 2], Failure> {
    let with = |change: &Change| {
        change.make(ends, changes)?;
        ends.run(change.arguments(), SPAN)
    };
    if wrong_first {
        let wrong = with(&trial.wrong)?;
        return Ok([with(&trial.right)?, wrong]);
    }
    Ok([with(&trial.right)?, with(&trial.wrong)?])
}

impl Effect {
    fn of(trial: &Trial, pairs: &[[Run; 2]]) -> Self {
        let spread = |ratio: &dyn Fn(&[Run; 2]) -> f64| Spread::of(pairs.iter().map(ratio));
        let missing = |side: usize| pairs.iter().map(|pair| pair[side].missing).sum();
        Self {
            check: trial.check.to_owned(),
            what: trial.what.clone(),
            pairs: pairs.len(),
            right_bps: Spread::of(pairs.iter().map(|[right, _]| right.bps)).median,
            rate: spread(&|[right, wrong]| wrong.bps / right.bps),
            cpu: spread(&|[right, wrong]| wrong.cpu_per_byte() / right.cpu_per_byte()),
            missing: [missing(0), missing(1)],
        }
    }

    /// Whether it is that of a check.
    pub(super) fn is_of(&self, check: &Check) -> bool {
        self.check == check.id
    }

    /// The figures in a few words.
    pub(super) fn words(&self) -> String {
        format!("measured here: rate {}, CPU {}", self.rate, self.cpu)
    }

    /// Prints a line of the table.
    fn print(&self, console: &mut Console) {
        let Self { check, what, rate, cpu, missing: [right, wrong], .. } = self;
        console.line(format_args!(
            "  {check:<18} {what:<42} {:>10}  rate {rate}  CPU {cpu}",
            measured(self.right_bps, "b/s")
        ));
        if right + wrong > 0 {
            console.line(format_args!(
                "    missing samples: {wrong} with the first, {right} with the second"
            ));
        }
    }
}

/// Prints the effects as a table.
pub(super) fn print(console: &mut Console, effects: &[Effect]) {
    let Some(pairs) = effects.first().map(|effect| effect.pairs) else { return };
    console.line(format_args!(
        "measured here, {pairs} pairs of {} s: the first value in parts of the second, median (range)",
        SPAN.as_secs_f64()
    ));
    for effect in effects {
        effect.print(console);
    }
}

impl Spread {
    /// The spread of some ratios, one at least.
    fn of(ratios: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = ratios.collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
        Self { median: at(last / 2), least: at(0), most: at(last) }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { median, least, most } = self;
        write!(f, "{median:.2} ({least:.2}..{most:.2})")
    }
}

/// The time of a run.
const SPAN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn run(bps: f64, cpu_s: f64, missing: u64) -> Run {
        Run { bps, bytes: 1_000, cpu_s, missing }
    }

    #[test]
    fn effect_is_the_median_of_the_ratios_of_each_pair() {
        let trial = Trial {
            check: "card.gro",
            what: "GRO off".into(),
            right: Change::None,
            wrong: Change::None,
        };
        let pairs = [
            [run(100.0, 1.0, 0), run(50.0, 2.0, 3)],
            [run(200.0, 1.0, 0), run(180.0, 1.0, 0)],
            [run(100.0, 2.0, 1), run(70.0, 3.0, 0)],
        ];
        let effect = Effect::of(&trial, &pairs);
        assert_eq!(effect.rate, Spread { median: 0.7, least: 0.5, most: 0.9 });
        assert_eq!(effect.cpu, Spread { median: 1.5, least: 1.0, most: 2.0 });
        assert_eq!((effect.right_bps, effect.missing), (100.0, [1, 3]));
        assert_eq!(effect.rate.to_string(), "0.70 (0.50..0.90)");
    }
}

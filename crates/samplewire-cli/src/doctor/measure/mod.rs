//! `--measure`: what a setting costs on this host, as pairs of runs with the right and the wrong value.
//!
//! Without a device, both ends run in network namespaces of their own with a veth pair between them,
//! and the settings are those of this pair. With one, only options of the receiver are paired. Settings
//! of the host are changed with `--yes` alone, from the old value to that of the fix and back.

mod effect;
mod pair;
mod trials;

use std::time::Duration;

use super::apply::Changes;
use super::check::Checked;
use super::context::Context;
use crate::arguments::DoctorArguments;
use crate::console::Console;
use crate::failure::Failure;
use crate::figures::span;
use crate::interrupt::Interrupt;
pub(super) use effect::{Effect, print};
use pair::{Ends, Run};
use trials::{Change, Trial};

/// What was measured.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) effects: Vec<Effect>,
    /// The signal that ended it early.
    pub(super) signal: Option<u8>,
}

/// Runs all trials that the arguments choose.
pub(super) fn run(
    console: &mut Console,
    context: &Context<'_>,
    checked: &[Checked],
    arguments: &DoctorArguments,
) -> Result<Measured, Failure> {
    let pairs = usize::from(arguments.measure.unwrap_or_default());
    let ends = match context.peer {
        Some(peer) => Ends::of_device(peer),
        None => Ends::own_pair()?,
    };
    let mut changes = Changes::new(context.reader);
    let mut trials = trials::of_ends(&ends);
    if arguments.yes {
        trials.extend(trials::of_findings(checked, &ends, &mut changes)?);
    }
    trials.retain(|trial| trial.is_chosen(&arguments.only));
    if trials.is_empty() {
        let words = "--measure: no setting of these checks can be paired here";
        return Err(Failure::Contradiction(words.to_owned()));
    }
    let time_s = (2 * pairs * trials.len()) as f64 * RUN_S;
    let count = trials.len();
    console.note(format_args!("{count} settings, {pairs} pairs each: about {}", span(time_s)));
    if !trials.iter().any(Trial::is_of_host) {
        return run_all(console, &ends, &changes, &trials, pairs);
    }
    let undo_file = changes.write()?;
    console.note(format_args!("old values are in {}: doctor --undo {0}", undo_file.display()));
    let measured = run_all(console, &ends, &changes, &trials, pairs);
    let restored = changes.end(&undo_file);
    if let (Err(error), Err(_)) = (&measured, &restored) {
        console.error(format_args!("{error}"), None);
    }
    restored?;
    measured
}

fn run_all(
    console: &mut Console,
    ends: &Ends,
    changes: &Changes<'_>,
    trials: &[Trial],
    pairs: usize,
) -> Result<Measured, Failure> {
    let interrupt = Interrupt::install()?;
    for trial in trials.iter().filter(|trial| !trial.is_of_host()) {
        trial.right.make(ends, changes)?;
    }
    // The MTU is the usual one but where it is tried.
    ends.set_mtu(trials::MTU_USUAL)?;
    let mut measured = Measured::default();
    for (number, trial) in trials.iter().enumerate() {
        let mut runs = Vec::with_capacity(pairs);
        let mut why = None;
        for pair in 0..pairs {
            measured.signal = interrupt.signal();
            if measured.signal.is_some() {
                let (done, all) = (measured.effects.len(), trials.len());
                console.warn(format_args!("ended after {done} of {all} settings"));
                trial.end(ends, changes)?;
                return Ok(measured);
            }
            let step = number * pairs + pair + 1;
            console.status(&format!("pair {step} of {}: {}", trials.len() * pairs, trial.what));
            match run_pair(ends, changes, trial, pair % 2 == 1) {
                Ok(both) => runs.push(both),
                // The other settings can be measured all the same.
                Err(error) => why = Some(error.to_string()),
            }
            why = why.or_else(|| runs.last()?[0].refused.clone());
            if why.is_some() {
                break;
            }
        }
        trial.end(ends, changes)?;
        measured.effects.push(Effect::of(trial, &runs, why));
    }
    console.status("");
    Ok(measured)
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

/// The time of a stream.
const SPAN: Duration = Duration::from_secs(1);
/// The time of a run with its start and end, in seconds.
const RUN_S: f64 = 1.2;

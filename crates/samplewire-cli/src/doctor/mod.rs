//! `doctor`: diagnoses a host that loses samples.
//!
//! The [`table`] has the checks; each reads through one [`reader`] and computes its limit from the
//! [`demand`] of the stream. What corrects a finding is data ([`fix`]), which [`apply`] runs and undoes.

mod apply;
mod check;
mod context;
mod demand;
mod fix;
mod live;
mod measure;
mod reader;
mod record;
mod redact;
mod report;
mod table;
mod undo_file;

use check::{Check, Checked};
use context::Context;
use measure::Measured;
use reader::Reader;

use crate::arguments::DoctorArguments;
use crate::arguments::values::FindingSubject;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::thresholds::crossed_of;
use crate::wiring;

/// Diagnoses, and corrects or restores where that is requested.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<Outcome, Failure> {
    let reader = Reader::new(arguments.root.clone());
    let mut console = Console::new(Lines::Stdout, false);
    if let Some(path) = &arguments.undo {
        apply::undo(&mut console, &reader, path)?;
        return Ok(Outcome::Whole);
    }
    check_arguments(arguments)?;
    let peer = arguments.address.as_deref().map(wiring::address).transpose()?;
    let context = Context::new(&reader, arguments, peer);
    let checked = diagnose(&context, &arguments.only);
    let counts = report::Counts::of(&checked);
    let measured = match arguments.measure {
        Some(_) => measure::run(&mut console, &context, &checked, arguments)?,
        None => Measured::default(),
    };
    let effects = &measured.effects;
    if arguments.json {
        let document = report::Document::new(&context, &checked, &counts, effects);
        let text = serde_json::to_string_pretty(&document).map_err(std::io::Error::from)?;
        console.line(format_args!("{text}"));
    } else {
        report::print(&mut console, &context, &checked, &counts, effects);
        measure::print(&mut console, effects);
    }
    if let Some(folder) = &arguments.record {
        record::write(&reader, folder)?;
        console.note(format_args!("recorded to {}", folder.display()));
    }
    if arguments.fix {
        apply::fix(&mut console, &reader, &checked, arguments.yes)?;
    }
    let count_of = |subject| Some(counts.of_subject(subject));
    let crossed = crossed_of(&arguments.fail_on, FindingSubject::as_str, count_of);
    for crossed in &crossed {
        console.error(format_args!("threshold  {crossed}"), None);
    }
    if let Some(signal) = measured.signal {
        return Ok(Outcome::Interrupted { signal });
    }
    Ok(if crossed.is_empty() { Outcome::Whole } else { Outcome::Threshold })
}

/// Runs all checks, or those of `only`; within each group the worst finding comes first.
fn diagnose(context: &Context<'_>, only: &[String]) -> Vec<Checked> {
    let is_chosen = |check: &&Check| only.is_empty() || only.iter().any(|it| check.is_named(it));
    let chosen = table::checks().filter(is_chosen);
    let answered = chosen.map(|check| Checked { check, answer: (check.read)(context) });
    let mut checked: Vec<Checked> = answered.collect();
    for group in checked.chunk_by_mut(|a, b| a.check.group() == b.check.group()) {
        group.sort_by(Checked::order);
    }
    checked
}

fn check_arguments(arguments: &DoctorArguments) -> Result<(), Failure> {
    if let Some(name) = &arguments.interface
        && !context::is_interface_name(name)
    {
        let name = crate::plain::plain(name, 40);
        return Err(Failure::Contradiction(format!("--interface: `{name}` is no interface name")));
    }
    for name in &arguments.only {
        if !table::checks().any(|check| check.is_named(name)) {
            let name = crate::plain::plain(name, 40);
            return Err(Failure::Contradiction(format!(
                "--only: `{name}` is no check and no group"
            )));
        }
    }
    if let Some(root) = &arguments.root
        && !root.is_dir()
    {
        let source = std::io::Error::from(std::io::ErrorKind::NotADirectory);
        return Err(Failure::of_file(root)(source));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! A diagnosis in words and in JSON.

use serde::Serialize;

use super::check::{Checked, NoReading, Reading};
use super::context::Context;
use super::fix::Fix;
use super::measure::Effect;
use crate::arguments::values::FindingSubject;
use crate::console::Console;
use crate::figures::{exact, grouped, measured, span};
use crate::plain::plain;

/// How many checks ended in which way.
#[derive(Debug, Serialize)]
pub(super) struct Counts {
    severe: u64,
    finding: u64,
    unread: u64,
    good: u64,
    not_applicable: u64,
}

impl Counts {
    /// Counts a diagnosis.
    pub(super) fn of(checked: &[Checked]) -> Self {
        let count =
            |is_so: &dyn Fn(&Checked) -> bool| checked.iter().filter(|it| is_so(it)).count() as u64;
        let finding = count(&|it| it.finding().is_some());
        let unread = count(&Checked::is_unread);
        let good = count(&|it| it.answer.is_ok()) - finding;
        Self {
            severe: count(&|it| state(it) == "severe"),
            finding,
            unread,
            good,
            not_applicable: checked.len() as u64 - finding - unread - good,
        }
    }

    /// The count of a threshold.
    pub(super) const fn of_subject(&self, subject: FindingSubject) -> u64 {
        match subject {
            FindingSubject::Severe => self.severe,
            FindingSubject::Finding => self.finding,
            FindingSubject::Unread => self.unread,
        }
    }
}

/// Prints the findings of each group, and what could not be read.
pub(super) fn print(
    console: &mut Console,
    context: &Context<'_>,
    checked: &[Checked],
    counts: &Counts,
    effects: &[Effect],
) {
    let demand = &context.demand;
    let interface = context.interface_name().unwrap_or("no interface");
    console.line(format_args!(
        "{interface}: {}, packets of {} bytes, stall {}",
        exact(demand.rate_hz, "S/s"),
        grouped(demand.payload_bytes as u64),
        span(demand.stall.as_secs_f64()),
    ));
    console.line(format_args!(
        "  demand     {} packets/s, {} on the wire, {:.2} cores",
        grouped(demand.packets_per_s() as u64),
        measured(demand.wire_bits_per_s(), "b/s"),
        demand.cores()
    ));
    for group in checked.chunk_by(|a, b| a.check.group() == b.check.group()) {
        let shown = group.iter().filter(|it| it.finding().is_some() || it.is_unread());
        for (at, item) in shown.enumerate() {
            if at == 0 {
                console.line(format_args!("{}", item.check.group()));
            }
            print_item(console, item, effects);
        }
    }
    let Counts { severe, finding, unread, good, not_applicable } = counts;
    console.line(format_args!(
        "findings: {finding}, severe: {severe}, not readable: {unread}, good: {good}, not applicable: \
         {not_applicable}"
    ));
}

fn print_item(console: &mut Console, item: &Checked, effects: &[Effect]) {
    let check = item.check;
    if let Err(NoReading::Unread(error)) = &item.answer {
        console.line(format_args!("  unread     {}: {error}", check.id));
        return;
    }
    let Some(Reading { value, limit, fix, .. }) = item.finding() else { return };
    let (value, severity) = (plain(value, VALUE_CHARS_MAX), check.severity.as_str());
    console
        .line(format_args!("  {severity:<10} {}: {}: {value}, not {limit}", check.id, check.title));
    console.line(format_args!("    why      {}", check.reason));
    let known = || check.measured.unwrap_or("not measured").to_owned();
    let measured =
        effects.iter().find(|effect| effect.is_of(check)).map_or_else(known, Effect::words);
    console.line(format_args!("    cost     {} ({measured})", check.cost));
    let Some(Fix { settings, advice }) = fix else { return };
    for setting in settings.iter().take(SETTINGS_SHOWN) {
        console.line(format_args!("    fix      {}", setting.command_line()));
        let [file, line] = setting.persistence();
        console.line(format_args!("    keep     {file}: {line}"));
    }
    if let Some(more) = settings.len().checked_sub(SETTINGS_SHOWN).filter(|&more| more > 0) {
        console.line(format_args!("    fix      {more} more of the kind (--fix lists all)"));
    }
    if let Some(advice) = advice {
        console.line(format_args!("    by hand  {advice}"));
    }
}

/// `severe`, `risk`, `note`, `good`, `unread` or `not applicable`.
fn state(item: &Checked) -> &'static str {
    match &item.answer {
        Ok(reading) if reading.is_right() => "good",
        Ok(_) => item.check.severity.as_str(),
        Err(NoReading::Unread(_)) => "unread",
        Err(NoReading::NotApplicable(_)) => "not applicable",
    }
}

/// The object of `doctor --json`. Later versions add fields, and never change them.
#[derive(Debug, Serialize)]
pub(super) struct Document<'a> {
    version: &'static str,
    /// The interface towards the device; null if none is known.
    interface: Option<&'a str>,
    /// Whether it was read from a recorded tree.
    recorded: bool,
    rate_hz: f64,
    packets_per_s: f64,
    payload_bytes: f64,
    stall_s: f64,
    counts: &'a Counts,
    /// All checks: group by group, the worst finding of a group first.
    checks: Vec<Entry<'a>>,
    /// What `--measure` found.
    effects: &'a [Effect],
}

/// A check.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    id: &'static str,
    group: &'static str,
    title: &'static str,
    /// `severe`, `risk` and `note` are findings; `good`, `unread` or `not applicable`.
    state: &'static str,
    /// Null without a value.
    value: Option<&'a str>,
    limit: Option<&'a str>,
    /// How far beyond its limit a value is, as a ratio.
    excess: Option<f64>,
    reason: &'static str,
    cost: &'static str,
    /// The figure in docs/performance.md; null: not measured.
    measured: Option<&'static str>,
    /// Why there is no value.
    why: Option<String>,
    /// What corrects a finding, as commands: lists of words.
    commands: Vec<Vec<String>>,
    /// The lines that keep the settings after a restart.
    keep: Vec<Keep>,
    /// What people must do.
    advice: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Keep {
    file: String,
    line: String,
}

impl<'a> Document<'a> {
    /// All of a diagnosis.
    pub(super) fn new(
        context: &'a Context<'_>,
        checked: &'a [Checked],
        counts: &'a Counts,
        effects: &'a [Effect],
    ) -> Self {
        let demand = &context.demand;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            interface: context.interface_name(),
            recorded: context.reader.is_recorded(),
            rate_hz: demand.rate_hz,
            packets_per_s: demand.packets_per_s(),
            payload_bytes: demand.payload_bytes,
            stall_s: demand.stall.as_secs_f64(),
            counts,
            checks: checked.iter().map(Entry::new).collect(),
            effects,
        }
    }
}

impl<'a> Entry<'a> {
    fn new(item: &'a Checked) -> Self {
        let check = item.check;
        let reading = item.answer.as_ref().ok();
        let fix = item.finding().and_then(|reading| reading.fix.as_ref());
        let settings = fix.map(|fix| &fix.settings[..]).unwrap_or_default();
        let keep = settings.iter().map(|setting| {
            let [file, line] = setting.persistence();
            Keep { file, line }
        });
        Self {
            id: check.id,
            group: check.group(),
            title: check.title,
            state: state(item),
            value: reading.map(|reading| reading.value.as_str()),
            limit: reading.map(|reading| reading.limit.as_str()),
            excess: reading.map(|reading| reading.excess),
            reason: check.reason,
            cost: check.cost,
            measured: check.measured,
            why: match &item.answer {
                Ok(_) => None,
                Err(NoReading::Unread(error)) => Some(error.to_string()),
                Err(NoReading::NotApplicable(why)) => Some(why.clone()),
            },
            commands: settings.iter().map(|setting| setting.command()).collect(),
            keep: keep.collect(),
            advice: fix.and_then(|fix| fix.advice.as_deref()),
        }
    }
}

const VALUE_CHARS_MAX: usize = 200;
const SETTINGS_SHOWN: usize = 2;

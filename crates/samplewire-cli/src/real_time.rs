//! What a stream was given of its real-time options, for people and as JSON.

use samplewire::Granted;
use samplewire::real_time::{Lack, Pages, Waits};
use serde::Serialize;

use crate::console::Console;

/// Prints what was had, where `is_told` and anything was asked for; warns of what was not, with what
/// mends it. Of several streams each thing is told once.
pub(crate) fn print(console: &mut Console, granted: &[&Granted], is_told: bool) {
    let mut told: Vec<String> = Vec::new();
    let mut lacks: Vec<&Lack> = Vec::new();
    for granted in granted.iter().filter(|granted| granted.is_asked()) {
        let words = granted.to_string();
        if is_told && !told.contains(&words) {
            console.line(format_args!("  I/O thread {words}"));
            told.push(words);
        }
        lacks.extend(granted.lacks.iter().filter(|lack| !lacks.contains(lack)).collect::<Vec<_>>());
    }
    if lacks.is_empty() {
        return;
    }
    let words: Vec<String> = lacks.iter().map(|lack| lack.to_string()).collect();
    let mut text = format!("{}; the stream runs without", words.join("; "));
    let (by_right, alone): (Vec<&Lack>, Vec<&Lack>) =
        lacks.iter().partition(|lack| lack.capability.is_some());
    if !by_right.is_empty() {
        let rights: Vec<_> = by_right.iter().filter_map(|lack| lack.capability).collect();
        let commands: Vec<_> = by_right.iter().map(|lack| &lack.command[..]).collect();
        let program = std::env::current_exe();
        let program = program.map_or_else(|_| "samplewire".into(), |it| it.display().to_string());
        text += &format!(
            "\n  tip: sudo setcap {}=ep {program}   # or, up to the hard limits: {}",
            rights.join(","),
            commands.join("; ")
        );
    }
    for lack in alone {
        text += &format!("\n  tip: {}", lack.command);
    }
    console.warn(format_args!("{text}"));
}

/// The same as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct RealTimeEntry {
    /// The CPU that the I/O thread stays on; null where it may run on any.
    cpu: Option<usize>,
    /// Its priority under SCHED_FIFO; null for an ordinary thread.
    priority: Option<u32>,
    /// Bytes of the process that stay in memory; null where that was not had.
    locked_bytes: Option<u64>,
    /// Of the samples' memory: `huge`, `transparent` or `small`; null where that was not asked.
    pages: Option<&'static str>,
    /// How late its timers may end; null where that was not set.
    timer_slack_ns: Option<u64>,
    /// How long it rests where it has nothing to do; null where that was not set.
    coalesce_ns: Option<u64>,
    /// `asleep` or `spinning`.
    waits: &'static str,
    /// What was asked for and could not be had.
    lacks: Vec<LackEntry>,
}

#[derive(Debug, Serialize)]
struct LackEntry {
    what: String,
    why: String,
    /// The capability that would give it, or null.
    capability: Option<&'static str>,
    /// A command that would.
    command: String,
}

impl From<&Granted> for RealTimeEntry {
    fn from(granted: &Granted) -> Self {
        let lack = |lack: &Lack| LackEntry {
            what: lack.what.clone(),
            why: lack.why.clone(),
            capability: lack.capability,
            command: lack.command.clone(),
        };
        Self {
            cpu: granted.cpu,
            priority: granted.priority,
            locked_bytes: granted.locked_bytes,
            pages: granted.pages.map(|pages| match pages {
                Pages::Huge => "huge",
                Pages::Transparent { huge_bytes: 1.. } => "transparent",
                Pages::Transparent { .. } | Pages::Small => "small",
            }),
            timer_slack_ns: granted.timer_slack.map(|slack| slack.as_nanos() as u64),
            coalesce_ns: granted.coalesce.map(|rest| rest.as_nanos() as u64),
            waits: match granted.waits {
                Waits::Asleep => "asleep",
                Waits::Spinning | Waits::BothSpinning | Waits::Inline => "spinning",
            },
            lacks: granted.lacks.iter().map(lack).collect(),
        }
    }
}

//! The real-time options that a stream got, for people and as JSON.

use samplewire::Granted;
use samplewire::real_time::{Pages, Refusal, Waits};
use serde::Serialize;

use crate::console::Console;

/// With `is_printed`, prints the options that were granted, if any were requested. Warns of the
/// others, with the command that grants them. Each line is printed once, even for several streams.
pub(crate) fn print(console: &mut Console, granted: &[&Granted], is_printed: bool) {
    let mut printed: Vec<String> = Vec::new();
    let mut refused: Vec<&Refusal> = Vec::new();
    for granted in granted.iter().filter(|granted| granted.is_asked()) {
        let words = granted.to_string();
        if is_printed && !printed.contains(&words) {
            console.line(format_args!("  I/O thread {words}"));
            printed.push(words);
        }
        refused
            .extend(granted.refused.iter().filter(|it| !refused.contains(it)).collect::<Vec<_>>());
    }
    if refused.is_empty() {
        return;
    }
    let words: Vec<String> = refused.iter().map(|it| it.to_string()).collect();
    let mut text = format!("{}; the stream runs without", words.join("; "));
    let (by_right, alone): (Vec<&Refusal>, Vec<&Refusal>) =
        refused.iter().partition(|it| it.capability.is_some());
    if !by_right.is_empty() {
        let rights: Vec<_> = by_right.iter().filter_map(|it| it.capability).collect();
        let commands: Vec<_> = by_right.iter().map(|it| &it.command[..]).collect();
        let program = std::env::current_exe();
        let program = program.map_or_else(|_| "samplewire".into(), |it| it.display().to_string());
        text += &format!(
            "\n  tip: sudo setcap {}=ep {program}   # replaces the rights it has; or, up to the hard limits: {}",
            rights.join(","),
            commands.join("; ")
        );
    }
    for item in alone {
        text += &format!("\n  tip: {}", item.command);
    }
    console.warn(format_args!("{text}"));
}

/// The same as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct RealTimeEntry {
    /// The CPU that the I/O thread is pinned to; null if it may run on any.
    cpu: Option<usize>,
    /// Its priority under SCHED_FIFO; null for an ordinary thread.
    priority: Option<u32>,
    /// Bytes of the process locked in memory; null if not locked.
    locked_bytes: Option<u64>,
    /// The pages of the samples' memory: `huge`, `transparent` or `small`; null if not requested.
    pages: Option<&'static str>,
    /// How late its timers may end; null if not set.
    timer_slack_ns: Option<u64>,
    /// How long it sleeps when it has no work; null if not set.
    coalesce_ns: Option<u64>,
    /// `asleep`, `spinning`, `both-spinning` or `inline`.
    waits: &'static str,
    /// Options that were requested and not granted.
    refused: Vec<RefusalEntry>,
}

#[derive(Debug, Serialize)]
struct RefusalEntry {
    what: String,
    why: String,
    /// The capability that would grant it, or null.
    capability: Option<&'static str>,
    /// A command that would grant it.
    command: String,
}

impl From<&Granted> for RealTimeEntry {
    fn from(granted: &Granted) -> Self {
        let entry = |it: &Refusal| RefusalEntry {
            what: it.what.clone(),
            why: it.why.clone(),
            capability: it.capability,
            command: it.command.clone(),
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
                Waits::Spinning => "spinning",
                Waits::BothSpinning => "both-spinning",
                Waits::Inline => "inline",
            },
            refused: granted.refused.iter().map(entry).collect(),
        }
    }
}

//! A swarm on all cores for some minutes, or until so many hostile packets, and what it has seen.

use std::io::{self, Write};
use std::time::Duration;

use crate::check::{Tally, Transitions};
use crate::swarm::{SwarmOptions, SwarmResult, swarm};

/// When a soak ends.
#[derive(Clone, Copy, Debug)]
pub enum SoakEnd {
    /// After this time.
    Time(Duration),
    /// When so many hostile packets have come.
    Hostile(u64),
}

/// Runs seeds from `start` on up to `end` on `threads` threads, and writes tables of what was
/// counted and of each transition of the state tables.
///
/// # Errors
/// Those of `out`.
pub fn soak(
    start: u64,
    end: SoakEnd,
    threads: usize,
    out: &mut (dyn Write + Send),
) -> io::Result<SwarmResult> {
    let seeds = start..u64::MAX;
    let (time, hostile) = match end {
        SoakEnd::Time(time) => (Some(time), None),
        SoakEnd::Hostile(packets) => (None, Some(packets)),
    };
    let options = SwarmOptions { seeds, threads, time, hostile, trace: false, tap_packets: None };
    let result = swarm(&options, out)?;
    write_tally(&result.tally, out)?;
    write_transitions(&result.transitions, out)?;
    writeln!(out, "{:>16}  failures", result.failures.len())?;
    Ok(result)
}

fn write_tally(tally: &Tally, out: &mut dyn Write) -> io::Result<()> {
    tally.named().iter().try_for_each(|(name, count)| writeln!(out, "{count:>16}  {name}"))
}

fn write_transitions(transitions: &Transitions, out: &mut dyn Write) -> io::Result<()> {
    for (row, count) in transitions.iter() {
        let machine = format!("{:?}", row.machine);
        writeln!(out, "{count:>16}  {machine:<8} {} --{}--> {}", row.from, row.event, row.to)?;
    }
    for row in transitions.unknown() {
        writeln!(out, "not in the state tables: {row:?}")?;
    }
    Ok(())
}

//! An exhaustive search: every order of events of a small network, with the real machines.
//!
//! A state is a device, two hosts, what is in flight between them, and what faults may still
//! happen. From each state every event is tried that is possible there: a packet arrives, is lost
//! or doubled, a timer fires, a machine restarts, a program opens or cancels. States are visited
//! breadth first and recognised by a fingerprint. Each is kept as the event that led to it, and
//! rebuilt by running the events from the start. So every finding is a run of the real code, and
//! the first failure found has the fewest events. `docs/testing.md` describes what is checked, what
//! bounds the search, and where its fingerprint takes two states for one.

mod canon;
mod device;
mod explore;
mod heal;
mod host;
mod ledger;
mod mutant;
mod packet;
mod scenario;
mod world;

use std::io::{self, Write};

pub use explore::Explored;
use explore::Explorer;
pub use ledger::{Broken, Property};
pub use mutant::Mutant;
use scenario::SCENARIOS;
use world::World;

/// What to search, and how far.
#[derive(Clone, Copy, Debug)]
pub struct SearchOptions {
    /// States at most, over all scenarios: what one does not need, the next ones may take.
    pub states: u64,
    /// Orders the events of a state, and with them which of two states with one fingerprint is
    /// gone on from.
    pub seed: u64,
    /// From one in how many states the network heals and everything must end.
    pub heals_one_in: u64,
    /// A rule that is broken on purpose.
    pub mutant: Option<Mutant>,
}

/// What a search has seen, scenario by scenario, up to the first failure.
#[derive(Clone, Debug, Default)]
pub struct SearchResult {
    /// Each scenario.
    pub scenarios: Vec<Explored>,
    /// What did not hold.
    pub failure: Option<SearchFailure>,
}

/// A run in which something did not hold.
#[derive(Clone, Debug)]
pub struct SearchFailure {
    /// In which scenario.
    pub scenario: &'static str,
    /// What did not hold.
    pub broken: Broken,
    /// The events that lead there, each with what was sent.
    pub path: Vec<String>,
}

impl SearchResult {
    /// States that were found.
    pub fn states(&self) -> u64 {
        self.scenarios.iter().map(|explored| explored.states).sum()
    }
}

/// Searches every scenario and writes a line for each, and the path to a failure.
///
/// # Errors
/// Those of `out`.
pub fn search(options: &SearchOptions, out: &mut dyn Write) -> io::Result<SearchResult> {
    let mut result = SearchResult::default();
    let mut states_left = options.states;
    for (at, scenario) in SCENARIOS.iter().enumerate() {
        let share = states_left / (SCENARIOS.len() - at) as u64;
        let start = World::at_start(scenario, options.mutant);
        let mut explorer = Explorer::new(start, options);
        let found = explorer.run(share);
        states_left -= explorer.explored().states;
        writeln!(out, "{}", explorer.explored())?;
        result.scenarios.push(explorer.explored().clone());
        if let Err(failure) = found {
            write_failure(&failure, out)?;
            result.failure = Some(failure);
            break;
        }
    }
    let is_whole =
        if result.failure.is_none() { "everything holds" } else { "a property is broken" };
    writeln!(out, "{} states, {is_whole}", result.states())?;
    Ok(result)
}

fn write_failure(failure: &SearchFailure, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}", failure.scenario, failure.broken)?;
    failure.path.iter().try_for_each(|line| writeln!(out, "  {line}"))
}

#[cfg(test)]
mod tests;

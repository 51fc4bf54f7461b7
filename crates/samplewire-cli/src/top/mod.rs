//! `top`: shows the streams of this host, read from the processes that own them.

mod history;
mod live;
mod once;
mod ports;
mod survey;
mod view;
mod words;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};

use samplewire_web::Process;

use crate::arguments::TopArguments;
use crate::failure::Failure;
use crate::metrics::client::Endpoint;
use crate::outcome::Outcome;
use crate::wiring;

use survey::Surveyor;

/// Shows streams until the user quits, or once if standard output is not a terminal.
pub(crate) fn run(arguments: &TopArguments) -> Result<Outcome, Failure> {
    let wanted = arguments.addresses.iter().map(|text| wiring::address(text));
    let surveyor =
        Surveyor { wanted: wanted.collect::<Result<_, _>>()?, from: arguments.from.clone() };
    if arguments.once || arguments.json || !io::stdout().is_terminal() {
        once::run(&surveyor, arguments)
    } else {
        live::run(surveyor, arguments.interval)
    }
}

/// The processes of this user that have streams, in the order of their numbers.
///
/// # Blocking
/// As [`Surveyor::look`].
pub(crate) fn processes() -> Vec<Process> {
    let mut found = BTreeMap::new();
    for facts in Surveyor::default().look().streams {
        let (Endpoint::Local(socket), Ok(id)) = (facts.key.endpoint, facts.pid.parse()) else {
            continue;
        };
        let process = found.entry(id).or_insert_with(|| Process {
            id,
            socket,
            verb: facts.verb,
            streams: Vec::new(),
        });
        if process.streams.len() < NAMES_MAX && !facts.name.is_empty() {
            process.streams.push(facts.name);
        }
    }
    found.into_values().collect()
}

/// Names of streams in the description of a process.
const NAMES_MAX: usize = 4;

#[cfg(test)]
mod tests;

//! `top`: shows the streams of this host, read from the processes that own them.

mod history;
#[cfg(feature = "live")]
mod live;
mod once;
mod ports;
mod survey;
#[cfg(feature = "live")]
mod view;
mod words;

use std::collections::BTreeMap;
#[cfg(feature = "live")]
use std::io::{self, IsTerminal};

use samplewire_web::Process;

use crate::arguments::TopArguments;
use crate::failure::Failure;
use crate::metrics::client::Endpoint;
use crate::outcome::Outcome;
use crate::wiring;

use survey::{Facts, Surveyor};

/// Shows streams until the user quits, or once if standard output is not a terminal, or if the live view is
/// not built.
pub(crate) fn run(arguments: &TopArguments) -> Result<Outcome, Failure> {
    let wanted = arguments.addresses.iter().map(|text| wiring::address(text));
    let surveyor =
        Surveyor { wanted: wanted.collect::<Result<_, _>>()?, from: arguments.from.clone() };
    #[cfg(feature = "live")]
    if !arguments.once && !arguments.json && io::stdout().is_terminal() {
        return live::run(surveyor, arguments.interval);
    }
    once::run(&surveyor, arguments)
}

/// The processes of this user whose streams `samplewire web` can show, in the order of their numbers.
/// One of `last` that does not answer stays while it has its socket.
///
/// # Blocking
/// As [`Surveyor::look`].
pub(crate) fn processes(last: &[Process]) -> Vec<Process> {
    let survey = Surveyor::default().look();
    let mut found = shown(survey.streams);
    keep_silent(&mut found, last, &survey.answered);
    found.into_values().collect()
}

/// Adds those of `last` that did not answer, and have their socket.
fn keep_silent(found: &mut BTreeMap<u32, Process>, last: &[Process], answered: &[Endpoint]) {
    for process in last {
        let endpoint = Endpoint::Local(process.socket.clone());
        if !answered.contains(&endpoint) && process.socket.exists() {
            found.entry(process.id).or_insert_with(|| process.clone());
        }
    }
}

/// The processes of streams, by number.
fn shown(streams: Vec<Facts>) -> BTreeMap<u32, Process> {
    let mut found = BTreeMap::new();
    for facts in streams.into_iter().filter(|facts| facts.has_page) {
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
    found
}

/// Names of streams in the description of a process.
const NAMES_MAX: usize = 4;

#[cfg(all(test, feature = "live"))]
mod tests;

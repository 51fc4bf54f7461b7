//! `top`: shows the streams of this host, read from the processes that own them.

mod history;
mod live;
mod once;
mod ports;
mod survey;
mod view;
mod words;

use std::io::{self, IsTerminal};

use crate::arguments::TopArguments;
use crate::failure::Failure;
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

#[cfg(test)]
mod tests;

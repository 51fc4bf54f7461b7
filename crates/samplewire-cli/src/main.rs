//! The `samplewire` command: a software device, a probe, a recorder, a verifier of recordings, a
//! demonstration, a live view, the simulator, transfers of files, and a reader of captures.
//!
//! Exit status: `docs/statistics.md#how-a-run-ended`, [`outcome::Outcome`].

#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "live"), expect(dead_code, reason = "what only the live view uses"))]

mod account;
mod arguments;
mod bridge;
mod bridging;
mod cadence;
mod capture;
mod card;
mod certainty;
mod congestion;
mod console;
mod decode;
mod demo;
mod dissector;
mod doctor;
mod document;
mod emulate;
mod failure;
mod faults;
mod figures;
mod find;
mod finishing;
mod hops;
mod host;
mod host_watch;
mod interrupt;
mod lanes;
mod latency;
mod memory;
mod metrics;
mod nic;
mod outcome;
mod plain;
mod plot;
mod probe;
mod process;
mod rate;
mod real_time;
mod record;
mod replay;
mod roce;
mod settings;
mod shell;
mod sim;
mod stream;
mod study;
mod switch;
mod thresholds;
mod top;
mod verify;
mod web;
mod wiring;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::{Cli, Command};
use failure::Failure;
use outcome::Outcome;

fn main() -> ExitCode {
    let words = match settings::expand(std::env::args_os(), &Cli::command()) {
        Ok(words) => words,
        Err(error) => return fail(&error.into()),
    };
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    match run(&cli.command) {
        Ok(outcome) => outcome.into(),
        Err(failure) => fail(&failure),
    }
}

fn fail(failure: &Failure) -> ExitCode {
    failure.print();
    failure.outcome().into()
}

fn run(command: &Command) -> Result<Outcome, Failure> {
    match command {
        Command::Emulate(arguments) => emulate::run(arguments),
        Command::Find(arguments) => find::run(arguments),
        Command::Probe(arguments) => probe::run(arguments),
        Command::Record(arguments) => record::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Replay(arguments) => replay::run(arguments),
        Command::Rate(arguments) => rate::run(arguments),
        Command::Latency(arguments) => latency::run(arguments),
        Command::Bridge(arguments) => bridging::run(arguments),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Top(arguments) => top::run(arguments),
        Command::Web(arguments) => web::run(arguments),
        Command::Demo(arguments) => demo::run(arguments),
        Command::Sim(arguments) => sim::run(arguments),
        Command::Study(arguments) => study::run(arguments),
        Command::Roce(arguments) => roce::run(arguments),
        Command::Nic(arguments) => nic::run(arguments),
        Command::Switch(arguments) => switch::run(arguments),
        Command::Decode(arguments) => decode::run(arguments),
        Command::Dissector(arguments) => dissector::run(arguments),
        Command::Completions { shell } => shell::completions(*shell),
        Command::Man { folder } => shell::manual(folder),
    }
}

/// Prints what clap has to say: help and version are no errors.
fn explain(error: &clap::Error) -> ExitCode {
    let is_printed = error.print().is_ok();
    if is_printed && !error.use_stderr() { ExitCode::SUCCESS } else { Outcome::Usage.into() }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// Folders that another program could use: they know no option, console or exit status.
    const LIBRARIES: [&str; 3] = ["bridge", "capture", "metrics"];

    /// Those that are compiled with the feature `live` alone.
    const LIVE: [&str; 3] = ["top/live.rs", "top/view.rs", "top/tests.rs"];

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("the sources are beside the test");
        let paths = entries.map(|entry| entry.expect("it can be read").path());
        paths.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn libraries_use_libraries_and_words_for_numbers_alone() {
        for library in LIBRARIES {
            for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(library)) {
                let text = fs::read_to_string(&path).expect("text");
                for used in text.split("crate::").skip(1) {
                    let name = used.split(|it: char| !it.is_alphanumeric() && it != '_').next();
                    let name = name.expect("a part before it");
                    let is_right = LIBRARIES.contains(&name) || name == "figures";
                    assert!(is_right, "{}: crate::{name}", path.display());
                }
                assert!(!text.contains("clap"), "{}", path.display());
            }
        }
    }

    #[test]
    fn command_of_the_demonstration_has_no_live_view_that_another_file_could_use() {
        for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
            let text = fs::read_to_string(&path).expect("text");
            let is_live = LIVE.iter().any(|it| path.ends_with(it)) || path.ends_with("main.rs");
            assert!(is_live || !text.contains("ratatui"), "{}", path.display());
        }
    }
}

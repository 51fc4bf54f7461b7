//! `completions` and `man`: shell completions and manual pages.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Cli;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::outcome::Outcome;

/// Prints the completions.
pub(crate) fn completions(shell: Shell) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Outcome::Whole)
}

/// Writes a page for the command and one for each verb.
pub(crate) fn manual(folder: &Path) -> Result<Outcome, Failure> {
    let write = || {
        fs::create_dir_all(folder)?;
        clap_mangen::generate_to(Cli::command(), folder)
    };
    write().map_err(Failure::of_file(folder))?;
    Console::new(Lines::Stdout, false)
        .line(format_args!("{}: written; `man {NAME}` shows the first page", folder.display()));
    Ok(Outcome::Whole)
}

const NAME: &str = "samplewire";

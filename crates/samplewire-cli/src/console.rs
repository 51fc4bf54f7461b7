//! Output for people: lines, and one status line that is rewritten in place.
//!
//! If the reader is gone, the output ends, but never the command.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a command prints its lines.
#[derive(Debug)]
pub(crate) struct Console {
    lines: Lines,
    status: Status,
}

/// Which of the two outputs takes the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// Standard output.
    Stdout,
    /// Standard error, because standard output carries samples or JSON.
    Stderr,
    /// None: another form was requested, or the reader is gone.
    Nowhere,
}

/// How the status line is shown; it goes to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Off,
    /// Rewritten in place.
    InPlace,
    /// A line each time, for files.
    Appended,
}

impl Console {
    /// Lines go to `lines`. There is a status line if standard error is a terminal, or the user
    /// requests it.
    pub(crate) fn new(lines: Lines, wants_status: bool) -> Self {
        let status = match (io::stderr().is_terminal(), wants_status) {
            (true, _) => Status::InPlace,
            (false, true) => Status::Appended,
            (false, false) => Status::Off,
        };
        Self { lines, status }
    }

    /// Prints a line.
    pub(crate) fn line(&mut self, text: fmt::Arguments<'_>) {
        // No status line of another thread comes between.
        let _stderr = io::stderr().lock();
        self.clear_status();
        let printed = match self.lines {
            Lines::Stdout => writeln!(io::stdout().lock(), "{text}"),
            Lines::Stderr => writeln!(io::stderr().lock(), "{text}"),
            Lines::Nowhere => Ok(()),
        };
        if printed.is_err() {
            self.lines = Lines::Nowhere;
        }
    }

    /// Prints a warning to standard error, whatever the form of the output.
    pub(crate) fn warn(&mut self, text: fmt::Arguments<'_>) {
        self.clear_status();
        self.write_stderr(format_args!("warning: {text}\n"));
    }

    /// Prints a line to standard error, whatever the form of the output.
    pub(crate) fn note(&mut self, text: fmt::Arguments<'_>) {
        self.clear_status();
        self.write_stderr(format_args!("{text}\n"));
    }

    /// Prints an error to standard error, and what to do next.
    pub(crate) fn error(&mut self, text: fmt::Arguments<'_>, tip: Option<&str>) {
        self.clear_status();
        self.write_stderr(format_args!("error: {text}\n"));
        if let Some(tip) = tip {
            self.write_stderr(format_args!("  tip: {tip}\n"));
        }
    }

    /// Whether a status line would be visible.
    pub(crate) fn has_status(&self) -> bool {
        self.status != Status::Off
    }

    /// Shows the status line, cut after [`STATUS_CHARS_MAX`].
    pub(crate) fn status(&mut self, text: &str) {
        match self.status {
            Status::Off => {}
            Status::InPlace => {
                let shown = format_args!("\r\x1b[K{text:.STATUS_CHARS_MAX$}");
                // A line of another thread comes before both, or after both.
                let _stderr = io::stderr().lock();
                self.write_stderr(shown);
                IS_STATUS_SHOWN.store(true, Ordering::Relaxed);
            }
            Status::Appended => self.write_stderr(format_args!("{text}\n")),
        }
    }

    /// Removes the status line.
    fn clear_status(&mut self) {
        // Relaxed: the lock of standard error orders it.
        let _stderr = io::stderr().lock();
        if IS_STATUS_SHOWN.swap(false, Ordering::Relaxed) {
            self.write_stderr(format_args!("\r\x1b[K"));
        }
    }

    fn write_stderr(&mut self, text: fmt::Arguments<'_>) {
        let mut stderr = io::stderr().lock();
        if stderr.write_fmt(text).and_then(|()| stderr.flush()).is_err() {
            self.status = Status::Off;
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.clear_status();
    }
}

/// Whether the terminal shows a status line: there is one terminal, and a console for each thread
/// that prints.
static IS_STATUS_SHOWN: AtomicBool = AtomicBool::new(false);

/// A status line that wraps cannot be rewritten; terminals have 80 columns or more.
const STATUS_CHARS_MAX: usize = 79;

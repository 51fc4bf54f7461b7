//! What the demonstration shows while it runs.

use std::io::{self, IsTerminal};
use std::time::Duration;

use samplewire::receiver::ReceiverSnapshot;
use samplewire_io::FaultCounts;

use super::spectrum::COLUMNS;
use crate::console::Console;
use crate::figures::{bits_per_second, exact, grouped, measured, span};
use samplewire::account::Account;

/// A few lines that are rewritten in place on a terminal, and follow each other elsewhere.
#[derive(Debug)]
pub(super) struct Screen {
    is_terminal: bool,
    is_drawn: bool,
    axis: String,
}

/// What is shown.
pub(super) struct Frame<'a> {
    pub(super) elapsed: Duration,
    pub(super) spectrum: &'a str,
    pub(super) account: &'a Account,
    pub(super) snapshot: &'a ReceiverSnapshot,
    pub(super) faults: &'a FaultCounts,
    pub(super) frame_bytes: usize,
}

impl Screen {
    pub(super) fn new(rate_hz: f64) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let is_terminal = io::stdout().is_terminal() && !is_dumb;
        Self { is_terminal, is_drawn: false, axis: axis(rate_hz) }
    }

    /// How often it should be drawn.
    pub(super) const fn period(&self) -> Duration {
        if self.is_terminal { Duration::from_millis(200) } else { Duration::from_secs(1) }
    }

    /// Draws, over the last frame where that can be done.
    pub(super) fn draw(&mut self, console: &mut Console, frame: &Frame<'_>) {
        let [stream, wire, receiver] = frame.words();
        let lines = [frame.spectrum, &self.axis, &stream, &wire, &receiver];
        if self.is_terminal {
            let up = if self.is_drawn { format!("\x1b[{}A", lines.len()) } else { String::new() };
            console.line(format_args!("{up}\x1b[K  {}", lines.join("\n\x1b[K  ")));
        } else {
            console.line(format_args!("  {}", lines.join("\n  ")));
        }
        self.is_drawn = true;
    }
}

impl Frame<'_> {
    /// Lines that never wrap on 80 columns: then they could not be rewritten.
    fn words(&self) -> [String; 3] {
        let delivered = self.account.delivered();
        let bytes = delivered * self.frame_bytes as u64;
        let stream = &self.snapshot.stream;
        [
            format!(
                "{:<10} {} samples, {}, {} missing",
                span(self.elapsed.as_secs_f64()),
                grouped(delivered),
                measured(bits_per_second(bytes, self.elapsed), "b/s"),
                grouped(self.account.missing())
            ),
            format!(
                "wire       {} packets lost, {} corrupted",
                grouped(self.faults.lost),
                grouped(self.faults.corrupted)
            ),
            format!(
                "receiver   {} packets repaired, {} reordered, {} late",
                grouped(stream.repaired),
                grouped(stream.reordered),
                grouped(stream.late)
            ),
        ]
    }
}

/// The ends of the band under the ends of the line, and the middle under its middle.
fn axis(rate_hz: f64) -> String {
    let (left, right) = (exact(-rate_hz / 2.0, "Hz"), exact(rate_hz / 2.0, "Hz"));
    let half = COLUMNS / 2;
    let right = format!("0{right:>width$}", width = COLUMNS - half - 1);
    format!("{left:<half$}{right}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_is_as_wide_as_the_spectrum() {
        let axis = axis(10e6);
        assert_eq!(axis.len(), COLUMNS);
        assert!(axis.starts_with("-5 MHz") && axis.ends_with("5 MHz"), "{axis}");
        assert_eq!(axis.as_bytes()[COLUMNS / 2], b'0');
    }
}

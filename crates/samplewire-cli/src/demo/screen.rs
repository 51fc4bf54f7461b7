//! The display of the demonstration while it runs.

use std::io::{self, IsTerminal};
use std::time::Duration;

use rustix::termios::tcgetwinsize;
use samplewire::receiver::ReceiverSnapshot;
use samplewire_io::FaultCounts;
use samplewire_record::account::Account;

use super::colors::Colors;
use super::picture::{self, Picture};
use super::spectrum::{COLUMNS, Levels, block_of};
use crate::console::Console;
use crate::figures::{bits_per_second, exact, grouped, measured, span};

/// On a terminal, a picture or a few lines that are redrawn in place. Elsewhere, consecutive lines.
#[derive(Debug)]
pub(super) struct Screen {
    form: Form,
    /// Rows of the last frame.
    drawn_rows: usize,
    axis: String,
    /// The last spectrum.
    levels: Levels,
}

#[derive(Debug)]
enum Form {
    /// A waterfall in colours.
    Picture(Picture),
    /// The spectrum in one line, redrawn in place.
    Lines,
    /// The same, appended.
    Log,
}

/// The content of the display.
pub(super) struct Frame<'a> {
    pub(super) elapsed: Duration,
    pub(super) account: &'a Account,
    pub(super) snapshot: &'a ReceiverSnapshot,
    pub(super) faults: &'a FaultCounts,
    pub(super) frame_bytes: usize,
}

impl Screen {
    pub(super) fn new(rate_hz: f64) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let is_terminal = io::stdout().is_terminal() && !is_dumb;
        let colors = Colors::of(|name| std::env::var(name).ok());
        let form = match colors {
            _ if !is_terminal => Form::Log,
            Some(colors) if has_room() => Form::Picture(Picture::new(colors)),
            _ => Form::Lines,
        };
        Self { form, drawn_rows: 0, axis: axis(rate_hz), levels: [0.0; COLUMNS] }
    }

    /// Returns the interval between frames.
    pub(super) const fn period(&self) -> Duration {
        match self.form {
            Form::Picture(_) => Duration::from_millis(100),
            Form::Lines => Duration::from_millis(200),
            Form::Log => Duration::from_secs(1),
        }
    }

    /// Draws, over the last frame if the output is a terminal. `levels` are those of the newest
    /// spectrum, if there is a newer one.
    pub(super) fn draw(
        &mut self,
        console: &mut Console,
        levels: Option<Levels>,
        frame: &Frame<'_>,
    ) {
        self.levels = levels.unwrap_or(self.levels);
        let rows = match &mut self.form {
            Form::Picture(picture) => {
                picture.push(self.levels);
                frame.beside(picture.rows(&self.axis))
            }
            Form::Lines | Form::Log => {
                let spectrum = self.levels.iter().map(|&level| block_of(level)).collect();
                [spectrum, self.axis.clone()].into_iter().chain(frame.words()).collect()
            }
        };
        if let Form::Log = self.form {
            console.line(format_args!("  {}", rows.join("\n  ")));
            return;
        }
        let up = match self.drawn_rows {
            0 => String::new(),
            rows => format!("\x1b[{rows}A"),
        };
        console.line(format_args!("{up}\x1b[K  {}", rows.join("\n\x1b[K  ")));
        self.drawn_rows = rows.len();
    }
}

impl Frame<'_> {
    /// Returns lines that fit 80 columns: a line that wraps could not be redrawn.
    fn words(&self) -> [String; 3] {
        let stream = &self.snapshot.stream;
        [
            format!(
                "{:<10} {} samples, {}, {} missing",
                span(self.elapsed.as_secs_f64()),
                grouped(self.account.delivered()),
                self.rate_words(),
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

    /// Returns the rows of a picture, with figures beside them on a wide terminal, else below.
    fn beside(&self, mut rows: Vec<String>) -> Vec<String> {
        let is_wide = size().is_some_and(|(columns, _)| columns >= WIDE_COLUMNS);
        if !is_wide {
            rows.extend(self.words());
            return rows;
        }
        for (row, text) in rows.iter_mut().zip(self.panel()) {
            row.push_str("   ");
            row.push_str(&text);
        }
        rows
    }

    /// Returns the counts of the wire and of the receiver, one per line.
    fn panel(&self) -> [String; 13] {
        let count = |name: &str, count: u64| format!("  {name:<14}{:>14}", grouped(count));
        let (faults, stream) = (self.faults, &self.snapshot.stream);
        [
            format!("{}, {}", span(self.elapsed.as_secs_f64()), self.rate_words()),
            String::new(),
            "packets on the wire".to_owned(),
            count("carried", faults.packets),
            count("lost", faults.lost),
            count("corrupted", faults.corrupted),
            count("doubled", faults.duplicated),
            count("reordered", faults.reordered),
            "packets repaired".to_owned(),
            count("in time", stream.repaired),
            "samples".to_owned(),
            count("delivered", self.account.delivered()),
            count("missing", self.account.missing()),
        ]
    }

    fn rate_words(&self) -> String {
        let bytes = self.account.delivered() * self.frame_bytes as u64;
        measured(bits_per_second(bytes, self.elapsed), "b/s")
    }
}

/// Returns whether the terminal has room for the picture with the figures below.
fn has_room() -> bool {
    size().is_some_and(|(columns, rows)| columns >= COLUMNS + 2 && rows > picture::ROWS + 3)
}

/// Returns the columns and rows of the terminal.
fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    Some((size.ws_col.into(), size.ws_row.into()))
}

/// Labels both ends and the middle of the band, below the spectrum.
fn axis(rate_hz: f64) -> String {
    let (left, right) = (exact(-rate_hz / 2.0, "Hz"), exact(rate_hz / 2.0, "Hz"));
    let half = COLUMNS / 2;
    let right = format!("0{right:>width$}", width = COLUMNS - half - 1);
    format!("{left:<half$}{right}")
}

/// The minimum width at which the figures are beside the picture.
const WIDE_COLUMNS: usize = 100;

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

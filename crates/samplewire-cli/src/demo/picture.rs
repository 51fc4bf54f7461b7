//! The coloured picture: a spectrum above a waterfall, with figures beside or below.

use std::collections::VecDeque;
use std::fmt::Write;

use super::colors::Colors;
use super::spectrum::{COLUMNS, Levels, block_of};

/// The latest spectra, and how they are drawn.
#[derive(Debug)]
pub(super) struct Picture {
    colors: Colors,
    /// Newest first.
    history: VecDeque<Levels>,
}

impl Picture {
    /// Creates an empty picture.
    pub(super) fn new(colors: Colors) -> Self {
        Self { colors, history: VecDeque::with_capacity(LINES) }
    }

    /// Adds a spectrum, and removes the oldest line of the waterfall.
    pub(super) fn push(&mut self, levels: Levels) {
        self.history.truncate(LINES - 1);
        self.history.push_front(levels);
    }

    /// Returns the rows from top to bottom, each [`COLUMNS`] cells wide.
    pub(super) fn rows(&self, axis: &str) -> Vec<String> {
        let newest = self.history.front().copied().unwrap_or([0.0; COLUMNS]);
        let bars = (0..BAR_ROWS).rev().map(|row| self.bars(&newest, row));
        let waterfall = (0..WATERFALL_ROWS).map(|row| self.waterfall(row));
        bars.chain([axis.to_owned()]).chain(waterfall).collect()
    }

    /// Returns the part of the spectrum's bars in this row, counted from below.
    fn bars(&self, levels: &Levels, row: usize) -> String {
        let color = self.colors.at((row + 2) as f32 / (BAR_ROWS + 1) as f32);
        let mut text = format!("\x1b[38;{color}m");
        text.extend(levels.iter().map(|level| block_of(level * BAR_ROWS as f32 - row as f32)));
        text.push_str(RESET);
        text
    }

    /// Returns two lines of the waterfall, the newer one above. A half block has one colour, and
    /// the rest of its cell the other.
    fn waterfall(&self, row: usize) -> String {
        let mut text = String::new();
        let [above, below] = [0, 1].map(|line| self.history.get(2 * row + line));
        for column in 0..COLUMNS {
            let [above, below] =
                [above, below].map(|line| self.colors.at(line.map_or(0.0, |it| it[column])));
            write!(text, "\x1b[38;{above};48;{below}m▀").expect("strings take all");
        }
        text.push_str(RESET);
        text
    }
}

/// Rows of a [`Picture`].
pub(super) const ROWS: usize = BAR_ROWS + 1 + WATERFALL_ROWS;

const BAR_ROWS: usize = 6;
const WATERFALL_ROWS: usize = 8;
const LINES: usize = 2 * WATERFALL_ROWS;
const RESET: &str = "\x1b[0m";

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the cells of a row without colour sequences.
    fn cells(row: &str) -> Vec<char> {
        let pieces = row.split('\x1b').skip(1);
        pieces.flat_map(|it| it.split_once('m').expect("SGR").1.chars()).collect()
    }

    #[test]
    fn bars_stand_as_high_as_their_levels() {
        let mut picture = Picture::new(Colors::Rgb);
        let mut levels = [0.0; COLUMNS];
        (levels[3], levels[4]) = (1.0, 0.5);
        picture.push(levels);
        let rows = picture.rows("axis");
        assert_eq!((rows.len(), &rows[BAR_ROWS][..]), (ROWS, "axis"));
        let heights =
            |column: usize| rows[..BAR_ROWS].iter().filter(|row| cells(row)[column] != ' ').count();
        assert_eq!([heights(3), heights(4), heights(5)], [BAR_ROWS, BAR_ROWS / 2, 0]);
    }

    #[test]
    fn waterfall_shows_the_newest_line_on_top_and_forgets_the_oldest() {
        let mut picture = Picture::new(Colors::Indexed);
        for line in 0..=LINES {
            picture.push([line as f32 / LINES as f32; COLUMNS]);
        }
        let rows = picture.rows("");
        let color = |line: usize| Colors::Indexed.at(line as f32 / LINES as f32);
        let first = format!("\x1b[38;{};48;{}m▀", color(LINES), color(LINES - 1));
        assert!(rows[BAR_ROWS + 1].starts_with(&first), "{:?}", rows[BAR_ROWS + 1]);
        let last = format!("\x1b[38;{};48;{}m▀", color(2), color(1));
        assert!(rows[ROWS - 1].starts_with(&last), "{:?}", rows[ROWS - 1]);
        assert_eq!(cells(&rows[ROWS - 1]).len(), COLUMNS);
    }
}

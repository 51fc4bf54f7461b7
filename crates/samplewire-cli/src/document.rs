//! The JSON document of a command that runs for a time, structured like iperf3's: what was agreed,
//! the counts of each second, the sums.

use serde::Serialize;

use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::outcome::Outcome;

/// The JSON object that a command prints at its end.
pub(crate) trait Report: Serialize + Default {
    /// Records an error.
    fn fail(&mut self, words: String);
}

/// Runs a command that reports in lines, or with `is_json` in one object at its end. The object is
/// printed even if the command fails.
pub(crate) fn run<R: Report>(
    is_json: bool,
    wants_status: bool,
    work: impl FnOnce(&mut Console, &mut R) -> Result<Outcome, Failure>,
) -> Result<Outcome, Failure> {
    let lines = if is_json { Lines::Nowhere } else { Lines::Stdout };
    let mut report = R::default();
    let result = work(&mut Console::new(lines, wants_status), &mut report);
    if let Err(failure) = &result {
        report.fail(failure.to_string());
    }
    if is_json {
        let text = serde_json::to_string_pretty(&report).map_err(std::io::Error::from)?;
        Console::new(Lines::Stdout, false).line(format_args!("{text}"));
    }
    result
}

/// One object for the whole run; `S`, `I` and `E` are the command's own.
#[derive(Debug, Serialize)]
pub(crate) struct Document<S, I, E> {
    /// What was agreed; null if the stream was not opened.
    pub(crate) start: Option<S>,
    /// One for each second, and one for the remainder.
    pub(crate) intervals: Vec<I>,
    /// Intervals that are not listed: the list is bounded.
    pub(crate) intervals_left_out: u64,
    /// The sums; null if the stream was not opened.
    pub(crate) end: Option<E>,
    /// The error; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl<S, I, E> Document<S, I, E> {
    /// Keeps an interval if there is room.
    pub(crate) fn push_interval(&mut self, interval: I) {
        push_bounded(&mut self.intervals, &mut self.intervals_left_out, INTERVALS_MAX, interval);
    }
}

impl<S: Serialize, I: Serialize, E: Serialize> Report for Document<S, I, E> {
    fn fail(&mut self, words: String) {
        self.error = Some(words);
    }
}

impl<S, I, E> Default for Document<S, I, E> {
    fn default() -> Self {
        let (start, end, error) = (None, None, None);
        Self { start, intervals: Vec::new(), intervals_left_out: 0, end, error }
    }
}

/// Keeps an item of a bounded list, or counts it.
pub(crate) fn push_bounded<T>(list: &mut Vec<T>, left_out: &mut u64, max: usize, item: T) {
    if list.len() < max {
        list.push(item);
    } else {
        *left_out += 1;
    }
}

/// One day of intervals.
const INTERVALS_MAX: usize = 86_400;

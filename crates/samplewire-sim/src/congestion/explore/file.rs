//! The file of a sweep: CSV, one line for each point, in the order in which they ended.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::{ExploreOptions, Parameters, Point};

/// Why the file of a sweep cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ExploreFileError {
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// It holds another sweep.
    #[error("it begins with `{found}`, and this sweep with `{expected}`")]
    OtherSweep {
        /// Its first line.
        found: String,
        /// That of this sweep.
        expected: String,
    },
    /// A line of it is none of a sweep.
    #[error("line {number} is no point: `{line}`")]
    Line {
        /// Counted from 1.
        number: usize,
        /// What it holds.
        line: String,
    },
}

/// Opens the file of a sweep, which begins where there is none, and returns its points. A last line
/// without its end was torn when a sweep was stopped: it is cut off.
///
/// # Errors
///
/// The file cannot be used.
pub fn open_points(
    path: &Path,
    options: &ExploreOptions,
) -> Result<(File, Vec<Point>), ExploreFileError> {
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let mut bytes = vec![];
    file.read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let text = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = text.lines();
    let expected = head_of(options);
    let found = [lines.next(), lines.next()];
    let points = if let [Some(first), Some(second)] = found {
        let found = format!("{first}\n{second}\n");
        if found != expected {
            let first = expected.lines().next().unwrap_or_default().to_owned();
            let found = found.lines().next().unwrap_or_default().to_owned();
            return Err(ExploreFileError::OtherSweep { found, expected: first });
        }
        let points = lines.enumerate().map(|(place, line)| {
            let wrong = || ExploreFileError::Line { number: place + 3, line: line.to_owned() };
            point_of(line, options).ok_or_else(wrong)
        });
        let points = points.collect::<Result<Vec<_>, _>>()?;
        file.set_len(end as u64)?;
        points
    } else if expected.as_bytes().starts_with(&bytes) {
        // Empty, or torn within its head.
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(expected.as_bytes())?;
        vec![]
    } else {
        let found = text.lines().next().unwrap_or_default().to_owned();
        let expected = expected.lines().next().unwrap_or_default().to_owned();
        return Err(ExploreFileError::OtherSweep { found, expected });
    };
    file.seek(SeekFrom::End(0))?;
    Ok((file, points))
}

/// The lines before the points.
fn head_of(options: &ExploreOptions) -> String {
    let ExploreOptions { seed, line_bps, wire_bytes, .. } = *options;
    let values = Parameters::of(0, seed, line_bps).values();
    let names: Vec<_> = values.into_iter().map(|value| value.0).collect();
    format!(
        "# samplewire sim explore: seed {seed}, line {line_bps} b/s, frames of {wire_bytes} bytes\n\
         number,preset,{},utilisation,jain,queue_p99_kb,join_ms,leave_ms,dropped\n",
        names.join(",")
    )
}

pub(super) fn line_of(point: &Point) -> String {
    let values: Vec<_> =
        point.parameters.values().iter().map(|value| format!("{:.6}", value.1)).collect();
    format!(
        "{},{},{},{:.6},{:.6},{:.3},{:.3},{:.3},{}\n",
        point.number,
        point.preset().map_or("", |preset| preset.name()),
        values.join(","),
        point.utilisation,
        point.jain,
        point.queue_kb,
        point.join_ms,
        point.leave_ms,
        point.dropped
    )
}

/// A point of a line. Its parameters follow from its number.
fn point_of(line: &str, options: &ExploreOptions) -> Option<Point> {
    let cells: Vec<&str> = line.split(',').collect();
    let [number, .., utilisation, jain, queue_kb, join_ms, leave_ms, dropped] = cells[..] else {
        return None;
    };
    let number: usize = number.parse().ok()?;
    let point = Point {
        number,
        parameters: Parameters::of(number, options.seed, options.line_bps),
        utilisation: utilisation.parse().ok()?,
        jain: jain.parse().ok()?,
        queue_kb: queue_kb.parse().ok()?,
        join_ms: join_ms.parse().ok()?,
        leave_ms: leave_ms.parse().ok()?,
        dropped: dropped.parse().ok()?,
    };
    // It is what this sweep would have written.
    (line_of(&point).trim_end() == line).then_some(point)
}

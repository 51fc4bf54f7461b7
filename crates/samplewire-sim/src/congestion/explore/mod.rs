//! A sweep over parameters of senders and switch: each point is drawn from its number and a seed, run
//! through two scenarios, and appended to a file, so that a sweep goes on where it stopped.

mod draw;
mod file;
mod pareto;
mod svg;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use samplewire_proto::Nanos;

use super::{CongestionError, Control, Preset, Scenario, congestion};

use draw::Parameters;
pub use file::{ExploreFileError, open_points};
pub use pareto::pareto_front;
pub use svg::write_explore_svg;

/// What to sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExploreOptions {
    /// How many points; the first are the presets.
    pub points: usize,
    /// Decides every point.
    pub seed: u64,
    /// The line's rate, in bits a second.
    pub line_bps: u64,
    /// What a frame takes of the wire.
    pub wire_bytes: u32,
    /// Points at a time.
    pub threads: usize,
}

/// A point: parameters, and the worst of what its scenarios showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Its number, which with the seed decides its parameters.
    pub number: usize,
    /// What was run.
    pub parameters: Parameters,
    /// The lowest share of the link that was in use.
    pub utilisation: f64,
    /// The lowest of Jain's indexes.
    pub jain: f64,
    /// The queue's length that 99 % of the frames found at most, in KB.
    pub queue_kb: f64,
    /// How long a sender that joins takes to 80 % of its share.
    pub join_ms: f64,
    /// How long it takes until 95 % of the link is used after a sender has left.
    pub leave_ms: f64,
    /// Frames that found no room in 2 MB.
    pub dropped: u64,
}

impl Point {
    /// The preset that it is, if it is one.
    pub fn preset(&self) -> Option<Preset> {
        Preset::ALL.get(self.number).copied()
    }
}

/// Runs the points that are not in `done`, and appends each to `file`; all points in the order of their
/// numbers.
///
/// # Errors
///
/// Those of the file.
///
/// # Panics
///
/// A point whose parameters contradict each other: none is drawn so.
pub fn explore(
    options: &ExploreOptions,
    done: Vec<Point>,
    file: &mut File,
    progress: &mut (dyn Write + Send),
) -> io::Result<Vec<Point>> {
    let numbers: HashSet<usize> = done.iter().map(|point| point.number).collect();
    let left: Vec<usize> = (0..options.points).filter(|number| !numbers.contains(number)).collect();
    let next = AtomicUsize::new(0);
    let shared = Mutex::new((done, file, progress));
    thread::scope(|scope| {
        let work = || -> io::Result<()> {
            // Relaxed: each place is taken once, and nothing else depends on the order.
            while let Some(&number) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                let point = run(options, number).expect("drawn within the ranges");
                let mut shared = shared.lock().expect("no worker panics while it holds the lock");
                let (points, file, progress) = &mut *shared;
                file.write_all(file::line_of(&point).as_bytes())?;
                points.push(point);
                writeln!(progress, "{} of {} points", points.len(), options.points)?;
            }
            Ok(())
        };
        let workers: Vec<_> = (0..options.threads.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no point panics"))
    })?;
    let mut points = shared.into_inner().expect("no worker panics while it holds the lock").0;
    points.retain(|point| point.number < options.points);
    points.sort_by_key(|point| point.number);
    Ok(points)
}

fn run(options: &ExploreOptions, number: usize) -> Result<Point, CongestionError> {
    let ExploreOptions { line_bps, wire_bytes, seed, .. } = *options;
    let parameters = Parameters::of(number, seed, line_bps);
    let mut incast = Scenario::star(Preset::Samplewire, SENDERS, line_bps, line_bps, wire_bytes);
    incast.span = (Nanos::from_millis(100), Nanos::from_millis(200));
    let mut turns = Scenario::turns(Preset::Samplewire, line_bps, wire_bytes);
    let mut runs = vec![];
    for scenario in [&mut incast, &mut turns] {
        scenario.seed = seed;
        scenario.report_spacing = parameters.report_spacing;
        scenario.switch.marking = Some(parameters.marking);
        scenario.set_control(Control::Dcqcn(parameters.params));
        runs.push(congestion(scenario)?);
    }
    let milliseconds = |span: Option<Nanos>| span.map_or(f64::NAN, |span| span.0 as f64 / 1e6);
    Ok(Point {
        number,
        parameters,
        utilisation: runs.iter().map(|run| run.utilisation).fold(f64::MAX, f64::min),
        jain: runs.iter().map(|run| run.jain).fold(f64::MAX, f64::min),
        queue_kb: runs.iter().map(|run| run.queue_p99_bytes).max().unwrap_or(0) as f64 / 1e3,
        join_ms: milliseconds(runs[1].join),
        leave_ms: milliseconds(runs[1].leave),
        dropped: runs.iter().map(|run| run.dropped).sum(),
    })
}

/// Senders of the steady scenario.
const SENDERS: usize = 8;

//! Stages that are found by measuring.

use std::time::{Duration, Instant};

use crate::graph::{Graph, Placement, RunError};
use crate::group::{Group, Polled};
use crate::schedule::stage::run_on_threads;
use crate::schedule::{Scheduler, Waiting, partition};

/// How long blocks are measured: so many parts of so much work.
const PARTS: usize = 5;
const PART: Duration = Duration::from_millis(10);
/// Blocks that have not worked so much after this are light enough for one thread.
const PART_MAX: Duration = Duration::from_secs(2);
const THREADS_MAX: usize = 256;

/// Measures what each block costs, and shares the blocks out among threads accordingly.
///
/// A run begins on the calling thread alone, on any CPU. After 50 ms of work, in parts of which each
/// block's least cost counts (others may have had the CPU meanwhile), the blocks are cut into stages,
/// in the order in which they were added, so that the thread with most to do has as little as can be.
/// A quantum that comes from another thread, also one that comes home, costs a stage 1.4 ns for each
/// cache line of its samples and 100 ns besides (as between two cores of one package), which a cut must
/// be worth: a chain of light blocks stays on the calling thread, and so do blocks that work for less
/// than 10 ms in 2 s. Samples are where they were, and none is lost or moved, when the threads take
/// over.
///
/// Blocks are started on the calling thread and stopped on the one that they end on.
pub struct Automatic {
    threads: usize,
    cores: Vec<usize>,
    waiting: Waiting,
}

impl Automatic {
    /// On up to `threads` (1 to 256) threads.
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.clamp(1, THREADS_MAX), cores: Vec::new(), waiting: Waiting::Sleep }
    }
}

threads!(Automatic);

impl Scheduler for Automatic {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let mut groups = graph.split(&Placement::together(graph));
        let mut costs = Costs::new(graph);
        let parts = if self.threads > 1 { PARTS } else { 0 };
        for _ in 0..parts {
            match poll_for(&mut groups, Some(PART)) {
                Polling::Worked => costs.take_part(graph),
                Polling::Rested => break,
                Polling::Done => return graph.join(groups),
            }
        }
        let stage_of = partition::stages(graph, &costs.least(), self.threads);
        if stage_of.iter().any(|&stage| stage > 0) {
            let mut placement = Placement::by(graph, |block| stage_of[block.number()]);
            if self.waiting == Waiting::Spin {
                placement = placement.spinning();
            }
            match graph.regroup(groups, &placement) {
                Ok(stages) => {
                    let control = graph.control();
                    return graph.join(run_on_threads(stages, &self.cores, &control));
                }
                // A stream has ended: what is left is little.
                Err(before) => groups = before,
            }
        }
        poll_for(&mut groups, None);
        graph.join(groups)
    }
}

/// What a call of each block costs.
struct Costs {
    /// As of the end of the last part.
    before: Vec<(Duration, u64)>,
    /// The least mean of a part.
    least: Vec<Option<Duration>>,
}

impl Costs {
    fn new(graph: &Graph) -> Self {
        let timed: Vec<_> = graph.nodes.iter().map(|node| node.meter.timed()).collect();
        Self { least: vec![None; timed.len()], before: timed }
    }

    fn take_part(&mut self, graph: &Graph) {
        for ((node, before), least) in graph.nodes.iter().zip(&mut self.before).zip(&mut self.least)
        {
            let now = node.meter.timed();
            let (timed, calls) = (now.0 - before.0, now.1 - before.1);
            if let Some(mean) = timed.checked_div(calls as u32) {
                *least = Some(least.map_or(mean, |least| least.min(mean)));
            }
            *before = now;
        }
    }

    /// In seconds; 0 for one that was not called.
    fn least(&self) -> Vec<f64> {
        self.least.iter().map(|least| least.unwrap_or_default().as_secs_f64()).collect()
    }
}

/// What became of polling.
#[derive(PartialEq, Eq)]
enum Polling {
    Worked,
    /// It slept more.
    Rested,
    Done,
}

/// Polls the one group of `groups`, as [`Sequence`](crate::Sequence) does, until it has worked for
/// `work` or is done.
fn poll_for(groups: &mut [Group], work: Option<Duration>) -> Polling {
    let group = &mut groups[0];
    let begin = Instant::now();
    let mut asleep = Duration::ZERO;
    loop {
        match group.poll() {
            Polled::Moved => {}
            Polled::Waiting | Polled::Asleep => {
                let lay_down = Instant::now();
                group.sleep(Duration::from_secs(1));
                asleep += lay_down.elapsed();
            }
            // No other group could move.
            Polled::Idle => group.stall(),
            Polled::Done => return Polling::Done,
        }
        let Some(work) = work else { continue };
        let elapsed = begin.elapsed();
        if elapsed.saturating_sub(asleep) >= work {
            group.publish();
            return Polling::Worked;
        }
        if elapsed >= PART_MAX {
            return Polling::Rested;
        }
    }
}

//! Stages that are found by measuring.

use std::time::{Duration, Instant};

use crate::graph::{Graph, Placement, RunError};
use crate::group::{Group, Polled};
use crate::schedule::stage::run_on_threads;
use crate::schedule::{Scheduler, Waiting, partition};

/// How long blocks are measured: so many parts of so much work.
const PARTS: usize = 5;
const PART: Duration = Duration::from_millis(10);

/// Measures what each block costs, and shares the blocks out among threads accordingly.
///
/// A run begins on the calling thread alone. After 50 ms of work, in parts of which each block's
/// least cost counts (others may have had the CPU meanwhile), the blocks are cut into stages, in the order in which they were added, so that the thread with most to do has as
/// little as can be. A quantum that goes from one thread to another costs the next 20 ns for each
/// cache line of its samples and 200 ns besides, which a cut must be worth: a chain of light blocks
/// stays on the calling thread. Samples are where they were, and none is lost or moved, when the
/// threads take over.
///
/// Blocks are started on the calling thread and stopped on the one that they end on.
pub struct Automatic {
    threads: usize,
    cores: Vec<usize>,
    waiting: Waiting,
}

impl Automatic {
    /// On up to `threads` (at least 1) threads.
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.max(1), cores: Vec::new(), waiting: Waiting::Sleep }
    }
}

threads!(Automatic);

impl Scheduler for Automatic {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let mut groups = graph.split(&Placement::together(graph));
        if self.threads == 1 {
            poll_for(&mut groups, None);
            return graph.join(groups);
        }
        let mut costs = Costs::new(graph);
        for _ in 0..PARTS {
            if poll_for(&mut groups, Some(PART)) {
                return graph.join(groups);
            }
            costs.take_part(graph);
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

/// Polls the one group of `groups`, as [`Sequence`](crate::Sequence) does, until it has worked for
/// `work`: whether it is done before.
fn poll_for(groups: &mut [Group], work: Option<Duration>) -> bool {
    let group = &mut groups[0];
    let mut begin = Instant::now();
    loop {
        match group.poll() {
            Polled::Moved => {}
            Polled::Waiting => {
                let asleep = Instant::now();
                group.sleep(Duration::from_secs(1));
                begin += asleep.elapsed();
            }
            // Nobody else could move.
            Polled::Idle => group.stall(),
            Polled::Done => return true,
        }
        if work.is_some_and(|work| begin.elapsed() >= work) {
            group.publish();
            return false;
        }
    }
}

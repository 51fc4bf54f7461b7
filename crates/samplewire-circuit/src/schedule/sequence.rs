//! All blocks in turn on the calling thread.

use std::time::Duration;

use crate::graph::{Graph, Placement, RunError};
use crate::group::Polled;
use crate::schedule::Scheduler;

/// Runs all blocks in turn on the calling thread: no atomics between them, and the quantum that came
/// home last goes round again while it is in a cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequence;

impl Sequence {
    /// On the calling thread.
    pub const fn new() -> Self {
        Self
    }
}

impl Scheduler for Sequence {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let mut groups = graph.split(&Placement::together(graph));
        for group in &mut groups {
            loop {
                match group.poll() {
                    Polled::Moved => {}
                    Polled::Waiting | Polled::Asleep => {
                        group.sleep(Duration::from_secs(1));
                    }
                    // No other group could move.
                    Polled::Idle => group.stall(),
                    Polled::Done => break,
                }
            }
        }
        graph.join(groups)
    }
}

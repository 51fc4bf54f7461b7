//! What all threads of a running graph see.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::graph::dot::Dot;
use crate::graph::picture::Picture;
use crate::graph::report::{BlockReport, CircuitReport, RunError};
use crate::graph::svg::Svg;
use crate::meter::Meter;
use crate::wait::Bell;

/// Stops a graph, has it drain, and reads its counters; clones do the same.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
}

impl Control {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Stops soon: samples that are under way are dropped, their quanta come home.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// Has every source end: the graph is over when what is under way has gone through.
    pub fn drain(&self) {
        self.shared.is_draining.store(true, Ordering::Relaxed);
        self.shared.ring_all();
    }

    /// Stops for a reason of a scheduler's.
    pub(crate) fn fail(&self, error: RunError) {
        self.shared.fail(error);
    }

    /// What each block has done.
    pub fn blocks(&self) -> Vec<BlockReport> {
        self.shared.blocks()
    }

    /// See [`Graph::dot`](crate::Graph::dot).
    pub fn dot(&self) -> String {
        self.shared.dot()
    }

    /// See [`Graph::svg`](crate::Graph::svg).
    pub fn svg(&self) -> String {
        self.shared.svg()
    }
}

/// What all groups of a graph share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) names: Vec<Arc<str>>,
    kinds: Vec<&'static str>,
    meters: Vec<Arc<Meter>>,
    /// From which block to which, and whose quanta.
    streams: Vec<(usize, usize, usize)>,
    /// And the block whose rate each has.
    circuits: Vec<(CircuitReport, usize)>,
    /// When it was split last, and when its last group was done.
    span: Mutex<Option<(Instant, Option<Instant>)>>,
    is_stopped: AtomicBool,
    is_draining: AtomicBool,
    /// Groups that sleep until another moves.
    idle: AtomicUsize,
    error: Mutex<Option<RunError>>,
    bells: Mutex<Vec<Arc<Bell>>>,
    /// For each block its group.
    group_of: Mutex<Vec<usize>>,
}

impl Shared {
    pub(super) fn new(
        blocks: Vec<(Arc<str>, &'static str, Arc<Meter>)>,
        streams: Vec<(usize, usize, usize)>,
        circuits: Vec<(CircuitReport, usize)>,
    ) -> Self {
        Self {
            names: blocks.iter().map(|block| block.0.clone()).collect(),
            kinds: blocks.iter().map(|block| block.1).collect(),
            meters: blocks.into_iter().map(|block| block.2).collect(),
            streams,
            circuits,
            span: Mutex::new(None),
            is_stopped: AtomicBool::new(false),
            is_draining: AtomicBool::new(false),
            idle: AtomicUsize::new(0),
            error: Mutex::new(None),
            bells: Mutex::new(Vec::new()),
            group_of: Mutex::new(Vec::new()),
        }
    }

    /// Stops every group soon.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.ring_all();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Stops every group for `error`, unless another came before.
    pub(crate) fn fail(&self, error: RunError) {
        lock(&self.error).get_or_insert(error);
        self.stop();
    }

    /// Stops every group because none can move; the join finds out why.
    ///
    /// A stop comes first: a group that has seen it is gone, and others may not be rung yet.
    pub(crate) fn fail_stalled(&self) {
        if !self.is_stopped() {
            self.fail(RunError::Stalled { waits: String::new(), quanta: String::new() });
        }
    }

    /// The group with this bell is done.
    pub(crate) fn leave(&self, bell: &Arc<Bell>) {
        let mut bells = lock(&self.bells);
        bells.retain(|other| !Arc::ptr_eq(other, bell));
        if bells.is_empty()
            && let Some((_, end)) = &mut *lock(&self.span)
        {
            end.get_or_insert_with(Instant::now);
        }
    }

    /// The groups were joined: what was asked of them is not asked of the next.
    pub(crate) fn is_over(&self) {
        self.is_stopped.store(false, Ordering::Relaxed);
        self.is_draining.store(false, Ordering::Relaxed);
    }

    /// What stopped the groups.
    pub(crate) fn take_error(&self) -> Option<RunError> {
        lock(&self.error).take()
    }

    /// It begins to run.
    pub(crate) fn begin(&self) {
        *lock(&self.span) = Some((Instant::now(), None));
    }

    /// The groups that there are.
    pub(crate) fn set_bells(&self, bells: Vec<Arc<Bell>>) {
        self.idle.store(0, Ordering::Relaxed);
        *lock(&self.bells) = bells;
    }

    /// For each block its group; none where a block runs in several.
    pub(crate) fn set_group_of(&self, group_of: Vec<usize>) {
        *lock(&self.group_of) = group_of;
    }

    /// How many groups there are.
    pub(crate) fn groups(&self) -> usize {
        lock(&self.bells).len()
    }

    /// Whether no group was rung since it lay down.
    pub(crate) fn all_asleep(&self) -> bool {
        lock(&self.bells).iter().all(|bell| bell.is_announced())
    }

    /// Groups that sleep until another moves.
    pub(crate) fn idle(&self) -> &AtomicUsize {
        &self.idle
    }

    pub(crate) fn blocks(&self) -> Vec<BlockReport> {
        let group_of = lock(&self.group_of).clone();
        let of_each = |node: usize| BlockReport {
            name: self.names[node].clone(),
            kind: self.kinds[node],
            counters: self.meters[node].counters(),
            group: group_of.get(node).copied(),
        };
        (0..self.names.len()).map(of_each).collect()
    }

    pub(crate) fn circuits(&self) -> Vec<CircuitReport> {
        let with_rate = |(circuit, taken_by): &(CircuitReport, usize)| CircuitReport {
            rate_hz: self.meters[*taken_by].rate_hz(),
            ..circuit.clone()
        };
        self.circuits.iter().map(with_rate).collect()
    }

    pub(crate) fn dot(&self) -> String {
        self.drawn(|picture| Dot(picture).to_string())
    }

    pub(crate) fn svg(&self) -> String {
        self.drawn(|picture| Svg(picture).to_string())
    }

    /// The graph as a picture.
    fn drawn(&self, draw: impl FnOnce(Picture<'_>) -> String) -> String {
        let ran = |(begin, end): (Instant, Option<Instant>)| {
            end.unwrap_or_else(Instant::now).duration_since(begin)
        };
        let elapsed = lock(&self.span).map_or(Duration::ZERO, ran);
        let (blocks, circuits) = (self.blocks(), self.circuits());
        let streams = &self.streams;
        draw(Picture { blocks: &blocks, streams, circuits: &circuits, elapsed })
    }

    fn ring_all(&self) {
        lock(&self.bells).iter().for_each(|bell| bell.ring());
    }
}

/// What it guards is whole between any two lines.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graph_that_was_stopped_has_not_stalled() {
        let shared = Shared::new(Vec::new(), Vec::new(), Vec::new());
        shared.stop();
        shared.fail_stalled();
        assert!(shared.take_error().is_none());
        shared.is_over();
        shared.fail_stalled();
        assert!(matches!(shared.take_error(), Some(RunError::Stalled { .. })));
    }
}

//! What is measured of a run.

use samplewire_proto::Nanos;

use super::scenario::{FlowSpec, Scenario};
use samplewire_switch::SwitchCounts;

/// What a run showed; rates count wire bytes of frames that were of use.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// Share of the servers' links that was in use.
    pub utilisation: f64,
    /// Jain's index of the flows' rates: mean over windows of 10 ms.
    pub jain: f64,
    /// The length of the servers' queues that 99 % of the frames found at most, in bytes.
    pub queue_p99_bytes: u64,
    /// The longest of these queues from the start of the run.
    pub queue_max_bytes: u64,
    /// Mean of the queue that frames found, in bytes.
    pub queue_mean_bytes: f64,
    /// Frames dropped from the start of the run.
    pub dropped: u64,
    /// Share of the frames that switches marked, within the span.
    pub marked: f64,
    /// PAUSE frames from the start of the run.
    pub pauses: u64,
    /// Cuts of all flows.
    pub cuts: u64,
    /// Frames that left senders.
    pub departures: u64,
    /// Those of them that had left before.
    pub repeats: u64,
    /// Packets that found no room at their converter.
    pub overflows: u64,
    /// Mean rate of each flow from its begin or that of the span, in bits a second.
    pub rates_bps: Vec<f64>,
    /// The longest time in which a flow that joined reached 80 % of its share, over 5 ms.
    pub join: Option<Nanos>,
    /// The longest time until 95 % of the link was used over 5 ms, after a flow had left.
    pub leave: Option<Nanos>,
    /// When the last frame of a flow of bounded length came.
    pub last_at: Nanos,
    /// What happened when.
    pub timeline: Timeline,
}

/// A run in steps of 1 ms from its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// How many flows there are.
    pub flows: usize,
    /// Step by step: what came of each flow, in wire bytes.
    pub bytes: Vec<u64>,
    /// Step by step: `R_C` of each flow at the end, in bits a second; 0 where nothing limits it.
    pub rates_bps: Vec<u64>,
    /// Step by step: notifications that came to each sender.
    pub notifications: Vec<u32>,
    /// The longest queue of each step, in bytes.
    pub queue_bytes: Vec<u64>,
}

impl Timeline {
    /// One step.
    pub const STEP: Nanos = Nanos::from_millis(1);
}

#[derive(Debug)]
pub(super) struct Measure {
    span: (Nanos, Nanos),
    capacity_bps: u64,
    specs: Vec<FlowSpec>,
    /// The hosts whose queues count.
    servers: Vec<usize>,
    queues: Vec<u32>,
    queue_max: u64,
    last_at: Nanos,
    /// What the switches had counted when the span began.
    before: SwitchCounts,
    timeline: Timeline,
}

impl Measure {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let steps = step_of(scenario.span.1) + 1;
        let flows = scenario.flows.len();
        Self {
            span: scenario.span,
            capacity_bps: scenario.capacity_bps(),
            specs: scenario.flows.clone(),
            servers: scenario.servers(),
            queues: Vec::new(),
            queue_max: 0,
            last_at: Nanos(0),
            before: SwitchCounts::default(),
            timeline: Timeline {
                flows,
                bytes: vec![0; steps * flows],
                rates_bps: vec![0; steps * flows],
                notifications: vec![0; steps * flows],
                queue_bytes: vec![0; steps],
            },
        }
    }

    /// A frame has come to the queue of a host; that of a server counts.
    pub(super) fn queue(&mut self, now: Nanos, to: usize, bytes: u64) {
        if self.servers.binary_search(&to).is_err() {
            return;
        }
        self.queue_max = self.queue_max.max(bytes);
        let longest = &mut self.timeline.queue_bytes[step_of(now)];
        *longest = bytes.max(*longest);
        if now >= self.span.0 {
            self.queues.push(bytes as u32);
        }
    }

    /// A frame of use has come.
    pub(super) fn delivered(&mut self, at: Nanos, flow: usize, wire_bytes: u32) {
        self.timeline.bytes[step_of(at) * self.specs.len() + flow] += u64::from(wire_bytes);
        if self.specs[flow].frames.is_some() {
            self.last_at = at;
        }
    }

    /// What the switches have counted at the end of a step.
    pub(super) fn counted(&mut self, at: Nanos, counts: SwitchCounts) {
        if at <= self.span.0 {
            self.before = counts;
        }
    }

    pub(super) fn notified(&mut self, at: Nanos, flow: usize) {
        self.timeline.notifications[step_of(at) * self.specs.len() + flow] += 1;
    }

    /// `R_C` at the end of the step before `at`.
    pub(super) fn rate(&mut self, at: Nanos, flow: usize, bps: u64) {
        self.timeline.rates_bps[(step_of(at) - 1) * self.specs.len() + flow] = bps;
    }

    pub(super) fn result(mut self, counts: SwitchCounts) -> RunResult {
        self.queues.sort_unstable();
        let total: u64 = self.queues.iter().map(|&bytes| u64::from(bytes)).sum();
        let p99 = self.queues.get(self.queues.len() * 99 / 100).copied().unwrap_or(0);
        let (from, end) = (step_of(self.span.0), step_of(self.span.1));
        RunResult {
            utilisation: self.used(from, end),
            jain: self.jain(from, end),
            queue_p99_bytes: p99.into(),
            queue_max_bytes: self.queue_max,
            queue_mean_bytes: total as f64 / self.queues.len().max(1) as f64,
            dropped: counts.dropped,
            marked: share(
                counts.marked - self.before.marked,
                counts.forwarded - self.before.forwarded,
            ),
            pauses: counts.pauses,
            cuts: 0,
            departures: 0,
            repeats: 0,
            overflows: 0,
            rates_bps: (0..self.specs.len()).map(|flow| self.mean_bps(flow, from, end)).collect(),
            join: self.slowest(|spec| spec.joins_at, |it, flow, from| it.has_share(flow, from)),
            leave: self.slowest(
                |spec| spec.leaves_at,
                |it, _, from| it.used(from, from + SETTLED_STEPS) >= 0.95,
            ),
            last_at: self.last_at,
            timeline: self.timeline,
        }
    }

    fn flow_bytes(&self, flow: usize, from: usize, end: usize) -> u64 {
        (from..end).map(|step| self.timeline.bytes[step * self.specs.len() + flow]).sum()
    }

    fn mean_bps(&self, flow: usize, from: usize, end: usize) -> f64 {
        let spec = &self.specs[flow];
        let from = from.max(step_of(spec.joins_at));
        let end = end.min(step_of(spec.leaves_at));
        bps(self.flow_bytes(flow, from, end), end.saturating_sub(from))
    }

    /// The share of the capacity that was in use.
    fn used(&self, from: usize, end: usize) -> f64 {
        let counted = (0..self.specs.len()).filter(|&flow| !self.specs[flow].is_victim);
        let bytes = counted.map(|flow| self.flow_bytes(flow, from, end)).sum();
        bps(bytes, end - from) / self.capacity_bps as f64
    }

    /// The flows that count and are there from one step to another.
    fn present(&self, from: usize, end: usize) -> impl Iterator<Item = usize> + '_ {
        let is_there = move |spec: &FlowSpec| {
            step_of(spec.joins_at) <= from && step_of(spec.leaves_at) >= end && !spec.is_victim
        };
        (0..self.specs.len()).filter(move |&flow| is_there(&self.specs[flow]))
    }

    fn jain(&self, from: usize, end: usize) -> f64 {
        let windows = (from..end).step_by(WINDOW_STEPS).map(|at| (at, at + WINDOW_STEPS));
        let indexes = windows.filter(|&(_, to)| to <= end).filter_map(|(from, to)| {
            let shares: Vec<u64> =
                self.present(from, to).map(|flow| self.flow_bytes(flow, from, to)).collect();
            (!shares.is_empty()).then(|| jain(&shares))
        });
        let indexes: Vec<f64> = indexes.collect();
        indexes.iter().sum::<f64>() / indexes.len().max(1) as f64
    }

    /// Whether a flow has 80 % of its share in the steps from `from` on.
    fn has_share(&self, flow: usize, from: usize) -> bool {
        let end = from + SETTLED_STEPS;
        let flows = self.present(from, end).count().max(1);
        let share = self.capacity_bps as f64 / flows as f64;
        bps(self.flow_bytes(flow, from, end), SETTLED_STEPS) >= 0.8 * share
    }

    /// The longest time from an instant of a flow within the span until something holds; the rest of
    /// the span where it never does. `None` if there is no such instant.
    fn slowest(
        &self,
        instant: impl Fn(&FlowSpec) -> Nanos,
        holds: impl Fn(&Self, usize, usize) -> bool,
    ) -> Option<Nanos> {
        let last = step_of(self.span.1);
        let took = self.specs.iter().enumerate().filter_map(|(flow, spec)| {
            let at = instant(spec);
            let is_within = at > self.span.0 && at < self.span.1;
            let found = (step_of(at)..).take_while(|from| from + SETTLED_STEPS <= last);
            is_within.then(|| {
                let from = found.into_iter().find(|&from| holds(self, flow, from));
                let end = from.map_or(last, |from| from + SETTLED_STEPS);
                Nanos(end as u64 * Timeline::STEP.0).since(at)
            })
        });
        took.max()
    }
}

fn step_of(at: Nanos) -> usize {
    (at.0 / Timeline::STEP.0).min(usize::MAX as u64 / 2) as usize
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn bps(bytes: u64, steps: usize) -> f64 {
    (bytes * 8) as f64 / (steps.max(1) as f64 * Timeline::STEP.0 as f64 / 1e9)
}

/// Jain's index of fairness: 1 where all have as much, 1/n where one has all.
fn jain(shares: &[u64]) -> f64 {
    let sum: u64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64).powi(2)).sum();
    if sum == 0 { 0.0 } else { (sum as f64).powi(2) / (shares.len() as f64 * squares) }
}

/// Fairness is judged over so long, so that senders that take turns are not called fair.
const WINDOW_STEPS: usize = 10;

/// Whether a share is reached is judged over so long.
const SETTLED_STEPS: usize = 5;

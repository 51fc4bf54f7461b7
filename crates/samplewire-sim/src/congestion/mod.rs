//! Congestion on virtual time: flows that share the port of a switch, each under its reaction point.
//!
//! A flow here is a source that always has data, one frame after the other, behind a port of its
//! own; the machine is [`Dcqcn`] itself, the switch is [`Switch`]. It has no repair, so it shows what
//! the control alone does. One seed decides everything.

mod flow;
mod measure;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use samplewire_proto::rate::{DcqcnParams, ParamsError};
use samplewire_proto::{Nanos, Rng};

use crate::switch::{FrameIn, Marking, Switch, SwitchConfig, SwitchConfigError};
use flow::Flow;
use measure::Measure;

/// Some senders to one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Incast {
    /// How many senders.
    pub senders: usize,
    /// The rate of each sender's link, in bits a second.
    pub sender_bps: u64,
    /// The rate of the link that they share.
    pub shared_bps: u64,
    /// What a frame takes of the wire.
    pub wire_bytes: u32,
    /// From a sender to the receiver and back, without queues.
    pub loop_delay: Nanos,
    /// A receiver reports a mark at once, but not more often than this.
    pub report_spacing: Nanos,
    /// How senders react; without it they send at their links' rate.
    pub control: Option<DcqcnParams>,
    /// Buffer and marks.
    pub switch: SwitchConfig,
    /// Decides which frames are marked, and when each sender begins within the first 100 us.
    pub seed: u64,
    /// When to measure from, and until when.
    pub span: (Nanos, Nanos),
}

/// What a run showed; rates count wire bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct IncastResult {
    /// Share of the shared link that was in use.
    pub utilisation: f64,
    /// Jain's index of the senders' rates: mean over windows of 10 ms.
    pub jain: f64,
    /// The queue's length that 99 % of the frames found at most, in bytes.
    pub queue_p99_bytes: u64,
    /// The longest queue from the start of the run.
    pub queue_max_bytes: u64,
    /// Mean of the queue that frames found, in bytes.
    pub queue_mean_bytes: f64,
    /// Frames dropped from the start of the run.
    pub dropped: u64,
    /// Share of the frames that were marked.
    pub marked: f64,
    /// Cuts of all senders.
    pub cuts: u64,
}

/// Why a scenario cannot run.
#[derive(Debug, thiserror::Error)]
pub enum CongestionError {
    /// See [`SwitchConfig`].
    #[error(transparent)]
    Switch(#[from] SwitchConfigError),
    /// See [`DcqcnParams`].
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The table could not be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A sender may send its next frame.
    Depart(usize),
    /// A frame has come to the switch.
    AtSwitch(usize),
    /// The receiver reports what was marked.
    Report(usize),
    /// A report has come to its sender.
    Notify(usize),
    /// A port of the switch is done.
    Switch,
}

/// Runs a scenario to the end of its span.
///
/// # Errors
///
/// Parameters that contradict each other.
pub fn incast(scenario: &Incast) -> Result<IncastResult, CongestionError> {
    World::new(scenario)?.run()
}

struct World<'a> {
    scenario: &'a Incast,
    switch: Switch<usize>,
    flows: Vec<Flow>,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    /// Orders what happens at one instant by when it was planned.
    planned: u64,
    /// The instant that the switch is planned for.
    switch_at: Option<Nanos>,
    measure: Measure,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Incast) -> Result<Self, CongestionError> {
        let mut rng = Rng::new(scenario.seed);
        let mut ports = vec![scenario.sender_bps; scenario.senders];
        ports.push(scenario.shared_bps);
        let flows = (0..scenario.senders)
            .map(|_| Flow::new(scenario, Nanos(rng.below(100_000))))
            .collect::<Result<Vec<_>, _>>()?;
        let mut world = Self {
            scenario,
            switch: Switch::new(scenario.switch, &ports, rng.draw())?,
            flows,
            events: BinaryHeap::new(),
            planned: 0,
            switch_at: None,
            measure: Measure::new(scenario),
        };
        for index in 0..scenario.senders {
            let at = world.flows[index].next_departure(Nanos(0));
            world.plan(at, Event::Depart(index));
        }
        Ok(world)
    }

    fn plan(&mut self, at: Nanos, event: Event) {
        self.events.push(Reverse((at, self.planned, event)));
        self.planned += 1;
    }

    fn run(mut self) -> Result<IncastResult, CongestionError> {
        let quarter = Nanos(self.scenario.loop_delay.0 / 4);
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            if now >= self.scenario.span.1 {
                break;
            }
            match event {
                Event::Depart(index) => {
                    // A rate that fell since this was planned has moved it.
                    let at = self.flows[index].next_departure(now);
                    if at > now {
                        self.plan(at, event);
                        continue;
                    }
                    let left = self.flows[index].depart(now);
                    self.plan(left + quarter, Event::AtSwitch(index));
                    let next = self.flows[index].next_departure(now);
                    self.plan(next, event);
                }
                Event::AtSwitch(index) => self.arrive(now, index),
                Event::Switch => self.forward(now),
                Event::Report(index) => {
                    self.flows[index].reported();
                    self.plan(now + quarter + quarter, Event::Notify(index));
                }
                Event::Notify(index) => self.flows[index].notify(now),
            }
        }
        let cuts = self.flows.iter().map(Flow::cuts).sum();
        Ok(self.measure.result(*self.switch.counts(), cuts))
    }

    fn arrive(&mut self, now: Nanos, index: usize) {
        let egress = self.scenario.senders;
        let frame = FrameIn {
            ingress: index,
            egress,
            class: 0,
            wire_bytes: self.scenario.wire_bytes,
            is_ecn_capable: true,
            frame: index,
        };
        self.measure.queue(now, self.switch.queued_bytes(egress));
        self.switch.handle_frame(now, frame);
        self.plan_switch();
    }

    fn forward(&mut self, now: Nanos) {
        self.switch_at = None;
        let quarter = Nanos(self.scenario.loop_delay.0 / 4);
        while let Some(out) = self.switch.poll_transmit(now) {
            self.measure.forwarded(out.at, out.frame);
            if out.is_marked
                && let Some(at) = self.flows[out.frame].marked(out.at + quarter)
            {
                self.plan(at, Event::Report(out.frame));
            }
        }
        self.plan_switch();
    }

    fn plan_switch(&mut self) {
        if let Some(at) = self.switch.poll_timeout()
            && self.switch_at.is_none_or(|planned| at < planned)
        {
            self.switch_at = Some(at);
            self.plan(at, Event::Switch);
        }
    }
}

/// One row of the table of [`sweep`]: the worst of several seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestionRow {
    /// How many senders shared the link.
    pub senders: usize,
    /// The lowest share of the link that was in use.
    pub utilisation: f64,
    /// The lowest of Jain's indexes.
    pub jain: f64,
    /// The highest of the lengths that 99 % of the frames found at most, in bytes.
    pub queue_p99_bytes: u64,
    /// The longest queue, the start of the senders included, in bytes.
    pub queue_max_bytes: u64,
    /// Frames dropped in all runs.
    pub dropped: u64,
    /// The highest share of marked frames.
    pub marked: f64,
}

/// Runs a scenario with each number of senders and each seed from 1 on, and writes a table to `out`
/// as it grows.
///
/// # Errors
///
/// Parameters that contradict each other, and those of `out`.
pub fn sweep(
    scenario: &Incast,
    senders: &[usize],
    seeds: u64,
    out: &mut dyn Write,
) -> Result<Vec<CongestionRow>, CongestionError> {
    let mut rows = vec![];
    writeln!(
        out,
        "{:>8} {:>11} {:>7} {:>13} {:>13} {:>8} {:>8}",
        "senders", "utilisation", "Jain", "queue p99 KB", "longest KB", "dropped", "marked"
    )?;
    for &senders in senders {
        let mut row = CongestionRow {
            senders,
            utilisation: f64::MAX,
            jain: f64::MAX,
            queue_p99_bytes: 0,
            queue_max_bytes: 0,
            dropped: 0,
            marked: 0.0,
        };
        for seed in 1..=seeds {
            let run = incast(&Incast { senders, seed, ..*scenario })?;
            row.utilisation = row.utilisation.min(run.utilisation);
            row.jain = row.jain.min(run.jain);
            row.queue_p99_bytes = row.queue_p99_bytes.max(run.queue_p99_bytes);
            row.queue_max_bytes = row.queue_max_bytes.max(run.queue_max_bytes);
            row.dropped += run.dropped;
            row.marked = row.marked.max(run.marked);
        }
        writeln!(
            out,
            "{:>8} {:>11.4} {:>7.4} {:>13.1} {:>13.1} {:>8} {:>8.4}",
            row.senders,
            row.utilisation,
            row.jain,
            row.queue_p99_bytes as f64 / 1e3,
            row.queue_max_bytes as f64 / 1e3,
            row.dropped,
            row.marked
        )?;
        rows.push(row);
    }
    Ok(rows)
}

impl Incast {
    /// Two senders at `line_bps` into a link of `shared_bps`, under the preset for their line, with a
    /// loop of 4 us, a buffer of 2 MB and marks as frames leave the queue; measured from 0.2 to 0.4 s.
    pub fn new(line_bps: u64, shared_bps: u64, wire_bytes: u32) -> Self {
        let preset = DcqcnParams::samplewire(line_bps);
        Self {
            senders: 2,
            sender_bps: line_bps,
            shared_bps,
            wire_bytes,
            loop_delay: Nanos::from_micros(4),
            // As often as a stream that flows sends REPORTs (`docs/protocol.md#4.5`).
            report_spacing: Nanos::from_micros(20),
            control: Some(preset),
            switch: SwitchConfig {
                marking: Some(Marking::samplewire(line_bps)),
                ..SwitchConfig::plain(2_000_000)
            },
            seed: 1,
            span: (Nanos::from_millis(200), Nanos::from_millis(400)),
        }
    }
}

//! Congestion on virtual time: flows through a network of switches, each under its reaction point.
//!
//! A flow here is a source that always has data, one frame after the other. The reaction point is
//! [`Dcqcn`](samplewire_proto::rate::Dcqcn) itself, the switches are
//! [`Switch`](samplewire_switch::Switch). Flows repeat nothing, or are the endpoints of streams and of
//! RoCE themselves ([`endpoints`]). One seed decides everything.

mod endpoints;
mod explore;
mod flow;
mod measure;
mod network;
mod preset;
mod reference;
mod scenario;
mod svg;
mod table;
#[cfg(test)]
mod tests;
mod topology;

use std::io;

use samplewire_proto::rate::ParamsError;
use samplewire_proto::{Nanos, Odds, Rng};

use endpoints::Carriage;
use flow::Flow;
use measure::{Measure, Timeline};
use network::{Happening, Network, Travelling};
use samplewire_switch::SwitchConfigError;

pub use explore::{
    ExploreFileError, ExploreOptions, Point as ExplorePoint, explore, open_points, pareto_front,
    write_explore_svg,
};
pub use measure::RunResult as CongestionResult;
pub use preset::Preset;
pub use scenario::{Control, Scenario, Traffic};
pub use svg::write_congestion_svg;
pub use table::{CongestionRow, congestion_row, write_congestion_csv, write_congestion_table};

/// Why a scenario cannot run.
#[derive(Debug, thiserror::Error)]
pub enum CongestionError {
    /// See [`SwitchConfig`](crate::SwitchConfig).
    #[error(transparent)]
    Switch(#[from] SwitchConfigError),
    /// See [`DcqcnParams`](samplewire_proto::rate::DcqcnParams).
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// An endpoint cannot run so.
    #[error(transparent)]
    Stream(#[from] samplewire::OpenError),
    /// Streams follow the preset `samplewire` of their line; the name of the other one.
    #[error("streams follow the preset samplewire, and not {0}")]
    StreamPreset(&'static str),
    /// Endpoints follow integers, and not [`Control::Reference`].
    #[error("streams and RoCE do not follow the control reference: it is for steady traffic")]
    EndpointReference,
    /// [`Control::Reference`] with other rules than [`Rules::Paper`](samplewire_proto::rate::Rules::Paper).
    #[error("the control reference follows the rules of the paper alone")]
    ReferenceRules,
    /// The output could not be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Runs a scenario to the end of its span.
///
/// # Errors
///
/// Parameters that contradict each other.
pub fn congestion(scenario: &Scenario) -> Result<CongestionResult, CongestionError> {
    match scenario.traffic {
        Traffic::Steady => Ok(World::new(scenario)?.run()),
        Traffic::Stream { window } => endpoints::run(scenario, Carriage::Stream, window),
        Traffic::Roce { window } => endpoints::run(scenario, Carriage::Roce, window),
        Traffic::Both { window } => endpoints::run(scenario, Carriage::Both, window),
    }
}

/// A frame of a flow.
#[derive(Clone, Copy, Debug)]
struct FlowFrame {
    flow: usize,
}

/// What hosts plan.
#[derive(Clone, Copy, Debug)]
enum Plan {
    /// A flow may send its next frame.
    Depart(usize),
    /// A receiver reports what was marked.
    Report(usize),
    /// A report has come to its sender.
    Notify(usize),
    /// A step of the timeline ends.
    Step,
}

struct World<'a> {
    scenario: &'a Scenario,
    network: Network<'a, FlowFrame, Plan>,
    flows: Vec<Flow>,
    /// The flow of each host.
    flow_of: Vec<Option<usize>>,
    rng: Rng,
    measure: Measure,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario) -> Result<Self, CongestionError> {
        let mut rng = Rng::new(scenario.seed);
        let mut flows = vec![];
        let mut flow_of = vec![None; scenario.topology.hosts.len()];
        for (index, &spec) in scenario.flows.iter().enumerate() {
            let begin = spec.joins_at + Nanos(rng.below(scenario.spread.0.max(1)));
            flows.push(Flow::new(scenario, spec, begin)?);
            flow_of[spec.from] = Some(index);
        }
        let Scenario { topology, switch, wire_delay, .. } = scenario;
        let network = Network::new(topology, *switch, *wire_delay, &mut rng)?;
        let measure = Measure::new(scenario);
        let mut world = Self { scenario, network, flows, flow_of, rng, measure };
        for index in 0..world.flows.len() {
            world.plan_departure(Nanos(0), index);
        }
        world.network.plan(Timeline::STEP, Plan::Step);
        Ok(world)
    }

    fn run(mut self) -> CongestionResult {
        while let Some((now, happening)) = self.network.next(self.scenario.span.1) {
            match happening {
                Happening::Own(plan) => self.handle(now, plan),
                Happening::Queued { to, bytes } => self.measure.queue(now, to, bytes),
                Happening::Delivered(frame) => self.take(now, &frame),
                Happening::Paused { host, until } => {
                    if let Some(index) = self.flow_of[host] {
                        self.flows[index].pause(until);
                        self.plan_departure(now, index);
                    }
                }
            }
        }
        let mut result = self.measure.result(self.network.counts());
        result.cuts = self.flows.iter().map(Flow::cuts).sum();
        result.departures = self.flows.iter().map(Flow::sent).sum();
        result
    }

    fn handle(&mut self, now: Nanos, plan: Plan) {
        match plan {
            Plan::Depart(index) => self.depart(now, index),
            Plan::Report(index) => {
                let flow = &mut self.flows[index];
                flow.reported();
                let way = flow.way();
                if !self.rng.chance(Odds::ppm(self.scenario.report_loss_ppm)) {
                    self.network.plan(now + way, Plan::Notify(index));
                }
            }
            Plan::Notify(index) => {
                self.flows[index].notify(now);
                self.measure.notified(now, index);
            }
            Plan::Step => {
                for (index, flow) in self.flows.iter_mut().enumerate() {
                    let is_there = (flow.spec.joins_at..flow.spec.leaves_at).contains(&now);
                    let rate = flow.rate(now).filter(|_| is_there);
                    self.measure.rate(now, index, rate.map_or(0, |rate| rate.bps()));
                }
                self.measure.counted(now, self.network.counts());
                self.network.plan(now + Timeline::STEP, Plan::Step);
            }
        }
    }

    /// Plans the next departure of a flow, unless it is planned for that instant.
    fn plan_departure(&mut self, now: Nanos, index: usize) {
        let flow = &mut self.flows[index];
        let next = flow.next_departure(now);
        if next != flow.planned_at {
            flow.planned_at = next;
            if let Some(at) = next {
                self.network.plan(at, Plan::Depart(index));
            }
        }
    }

    fn depart(&mut self, now: Nanos, index: usize) {
        let flow = &mut self.flows[index];
        // What was planned again since is void.
        if flow.planned_at != Some(now) {
            return;
        }
        flow.planned_at = None;
        // A rate that fell since this was planned has moved it.
        if flow.next_departure(now) == Some(now) {
            self.send(now, index);
        }
        self.plan_departure(now, index);
    }

    /// Sends the next frame of a flow.
    fn send(&mut self, now: Nanos, index: usize) {
        let flow = &mut self.flows[index];
        let left_at = flow.depart(now);
        let frame = Travelling {
            to: flow.spec.to,
            wire_bytes: self.scenario.wire_bytes,
            is_ecn_capable: true,
            is_marked: false,
            frame: FlowFrame { flow: index },
        };
        self.network.send(left_at, flow.spec.from, frame);
    }

    fn take(&mut self, now: Nanos, frame: &Travelling<FlowFrame>) {
        let FlowFrame { flow: index } = frame.frame;
        let flow = &mut self.flows[index];
        if frame.is_marked
            && let Some(at) = flow.marked(now)
        {
            self.network.plan(at, Plan::Report(index));
        }
        self.measure.delivered(now, index, frame.wire_bytes);
    }
}

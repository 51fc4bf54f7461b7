//! Endpoints through the network: those of streams, of crate `samplewire`, and queue pairs of
//! `samplewire-roce`, at both ends, unchanged.
//!
//! Packets of a host leave its interface one after the other; what a receiver sends (REPORTs,
//! acknowledgements, notifications) takes the way back through the same switches, at the same priority.

mod roce;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Instant;

use samplewire_io::Ecn;
use samplewire_proto::{Nanos, Odds, Rng};

use super::CongestionError;
use super::measure::{Measure, RunResult, Timeline};
use super::network::{Happening, Network, Travelling};
use super::scenario::Scenario;
use roce::RoceEnd;
use stream::StreamEnd;

/// One end of a flow.
trait End {
    /// A packet of the peer is there.
    fn put(&mut self, now: Nanos, bytes: &[u8], ecn: Ecn);

    /// Does what is due; what departs is added to `leaving`.
    fn run(&mut self, now: Nanos, leaving: &mut Vec<Leaving>);

    /// When it is due again.
    fn due_at(&self) -> Nanos;

    /// The sender ends its flow.
    fn leave(&mut self);

    /// Whether a packet to this sender reports marks: a REPORT or a congestion notification.
    fn is_report(&self, bytes: &[u8]) -> bool;

    /// Packets that have come once, at a receiver.
    fn received(&self) -> u64;

    /// Counters of a sender.
    fn figures(&self) -> Figures;
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug)]
struct Figures {
    /// `R_C`, 0 where nothing is limited.
    limit_bps: u64,
    notifications: u64,
    cuts: u64,
    departures: u64,
    repeats: u64,
    /// Packets that found no room at their converter.
    overflows: u64,
}

/// A packet on its way out.
struct Leaving {
    bytes: Box<[u8]>,
    /// What it takes of the wire.
    wire_bytes: u32,
    is_ect: bool,
}

/// Which flows are RoCE. The others are streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carriage {
    Stream,
    Roce,
    /// Every second one.
    Both,
}

/// A packet between two ends.
#[derive(Debug)]
struct Packet {
    to: usize,
    bytes: Box<[u8]>,
}

/// What is planned.
#[derive(Clone, Copy, Debug)]
enum Plan {
    /// An end has something to do.
    Wake(usize),
    /// A host's interface may send the next packet.
    Interface(usize),
    /// A step of the timeline ends.
    Step,
}

/// The interface of a host: what waits, and until when it is in use.
#[derive(Debug, Default)]
struct Interface {
    waiting: VecDeque<Travelling<Packet>>,
    free_at: Nanos,
    paused_until: Nanos,
}

struct World<'a> {
    scenario: &'a Scenario,
    network: Network<'a, Packet, Plan>,
    /// Of flow `n`: `2 n` sends, `2 n + 1` receives.
    ends: Vec<Box<dyn End>>,
    /// The instant that each end is planned for.
    planned_at: Vec<Option<Nanos>>,
    interfaces: Vec<Interface>,
    rng: Rng,
    measure: Measure,
}

/// Runs flows to the end of the scenario's span.
pub(super) fn run(
    scenario: &Scenario,
    carriage: Carriage,
    window: u32,
) -> Result<RunResult, CongestionError> {
    let mut rng = Rng::new(scenario.seed);
    let epoch = Instant::now();
    let mut ends: Vec<Box<dyn End>> = vec![];
    for (flow, spec) in scenario.flows.iter().enumerate() {
        let begin = spec.joins_at + Nanos(rng.below(scenario.spread.0.max(1)));
        let is_odd = flow % 2 == 1;
        if carriage == Carriage::Roce || carriage == Carriage::Both && is_odd {
            let [sender, receiver] = RoceEnd::pair(scenario, flow, window, begin, &mut rng)?;
            ends.push(Box::new(sender));
            ends.push(Box::new(receiver));
        } else {
            let sender = StreamEnd::sender(scenario, flow, window, epoch, &mut rng)?;
            ends.push(Box::new(sender));
            let receiver = StreamEnd::receiver(scenario, flow, window, begin, epoch, &mut rng)?;
            ends.push(Box::new(receiver));
        }
    }
    let Scenario { topology, switch, wire_delay, .. } = scenario;
    let network = Network::new(topology, *switch, *wire_delay, &mut rng)?;
    let interfaces = topology.hosts.iter().map(|_| Interface::default()).collect();
    let measure = Measure::new(scenario);
    let planned_at = vec![Some(Nanos(1_000)); ends.len()];
    Ok(World { scenario, network, ends, planned_at, interfaces, rng, measure }.run())
}

impl World<'_> {
    fn run(mut self) -> RunResult {
        for end in 0..self.ends.len() {
            self.network.plan(Nanos(1_000), Plan::Wake(end));
        }
        self.network.plan(Timeline::STEP, Plan::Step);
        while let Some((now, happening)) = self.network.next(self.scenario.span.1) {
            match happening {
                Happening::Own(Plan::Wake(end)) => {
                    if self.planned_at[end] == Some(now) {
                        self.wake(now, end);
                    }
                }
                Happening::Own(Plan::Interface(host)) => self.start(now, host),
                Happening::Own(Plan::Step) => self.step(now),
                Happening::Queued { to, bytes } => self.measure.queue(now, to, bytes),
                Happening::Delivered(frame) => self.take(now, frame),
                Happening::Paused { host, until } => {
                    self.interfaces[host].paused_until = until;
                    self.start(now, host);
                }
            }
        }
        let mut result = self.measure.result(self.network.counts());
        for end in self.ends.iter().step_by(2) {
            let figures = end.figures();
            result.cuts += figures.cuts;
            result.departures += figures.departures;
            result.repeats += figures.repeats;
            result.overflows += figures.overflows;
        }
        result
    }

    /// Lets an end do what is due, and plans when it is due again.
    fn wake(&mut self, now: Nanos, index: usize) {
        let scenario = self.scenario;
        let end = &mut self.ends[index];
        let spec = &scenario.flows[index / 2];
        if index.is_multiple_of(2) && now >= spec.leaves_at {
            end.leave();
        }
        let mut leaving = vec![];
        end.run(now, &mut leaving);
        let (from, to) =
            if index.is_multiple_of(2) { (spec.from, spec.to) } else { (spec.to, spec.from) };
        for Leaving { bytes, wire_bytes, is_ect } in leaving {
            let frame = Travelling {
                to,
                wire_bytes,
                is_ecn_capable: is_ect,
                is_marked: false,
                frame: Packet { to: index ^ 1, bytes },
            };
            self.interfaces[from].waiting.push_back(frame);
        }
        self.start(now, from);
        let end = &mut self.ends[index];
        let mut due = end.due_at();
        if index.is_multiple_of(2) && spec.leaves_at > now {
            due = due.min(spec.leaves_at);
        }
        let due = due.max(now + Nanos(1));
        if self.planned_at[index] != Some(due) {
            self.planned_at[index] = Some(due);
            self.network.plan(due, Plan::Wake(index));
        }
    }

    /// Puts what waits at an idle interface on its wire.
    fn start(&mut self, now: Nanos, host: usize) {
        let interface = &mut self.interfaces[host];
        if interface.free_at > now || interface.waiting.is_empty() {
            return;
        }
        if interface.paused_until > now {
            return self.network.plan(interface.paused_until, Plan::Interface(host));
        }
        let Some(frame) = interface.waiting.pop_front() else { return };
        let bits = u64::from(frame.wire_bytes) * 8_000_000_000;
        let span = Nanos(bits.div_ceil(self.scenario.topology.host_bps(host)));
        interface.free_at = now + span;
        self.network.send(now + span, host, frame);
        self.network.plan(now + span, Plan::Interface(host));
    }

    fn take(&mut self, now: Nanos, frame: Travelling<Packet>) {
        let Packet { to, bytes } = frame.frame;
        let is_data = to % 2 == 1;
        let is_report = !is_data && self.ends[to].is_report(&bytes);
        let mut is_lost = |ppm: u64| self.rng.chance(Odds::ppm(ppm));
        if is_report && is_lost(self.scenario.report_loss_ppm) {
            return;
        }
        let is_stray = is_data && is_lost(self.scenario.stray_marks_ppm);
        let is_marked = frame.is_ecn_capable && (frame.is_marked || is_stray);
        let ecn = match (is_marked, frame.is_ecn_capable) {
            (true, _) => Ecn::Ce,
            (false, true) => Ecn::Ect0,
            (false, false) => Ecn::NotEct,
        };
        let before = self.ends[to].received();
        let notified = self.ends[to].figures().notifications;
        self.ends[to].put(now, &bytes, ecn);
        self.wake(now, to);
        let flow = to / 2;
        if self.ends[to].received() > before {
            self.measure.delivered(now, flow, frame.wire_bytes);
        }
        for _ in notified..self.ends[to].figures().notifications {
            self.measure.notified(now, flow);
        }
    }

    fn step(&mut self, now: Nanos) {
        for (flow, end) in self.ends.iter().step_by(2).enumerate() {
            let is_there = now < self.scenario.flows[flow].leaves_at;
            self.measure.rate(now, flow, if is_there { end.figures().limit_bps } else { 0 });
        }
        self.measure.counted(now, self.network.counts());
        self.network.plan(now + Timeline::STEP, Plan::Step);
    }
}

//! Frames on their way through links and switches, and when what happens.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use samplewire_proto::{Nanos, Rng};

use super::topology::{End, Topology};
use samplewire_switch::{FrameIn, Switch, SwitchConfig, SwitchConfigError, SwitchCounts};

/// The switches of a topology, the links, and the agenda of all. `F` is what a frame carries, `T`
/// what its owner plans.
#[derive(Debug)]
pub(super) struct Network<'a, F, T> {
    topology: &'a Topology,
    switches: Vec<Switch<Travelling<F>>>,
    /// The instant that each switch is planned for.
    due: Vec<Option<Nanos>>,
    events: BinaryHeap<Reverse<Planned<F, T>>>,
    /// Orders what happens at one instant by when it was planned.
    planned: u64,
    wire_delay: Nanos,
    has_pfc: bool,
}

/// A frame from one host to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Travelling<F> {
    pub(super) to: usize,
    pub(super) wire_bytes: u32,
    pub(super) is_ecn_capable: bool,
    pub(super) is_marked: bool,
    pub(super) frame: F,
}

/// What concerns the hosts.
#[derive(Debug)]
pub(super) enum Happening<F, T> {
    /// The owner's own.
    Own(T),
    /// A frame will join the queue to its host, which is so long.
    Queued { to: usize, bytes: u64 },
    /// A frame has come whole.
    Delivered(Travelling<F>),
    /// A host must not send until then.
    Paused { host: usize, until: Nanos },
}

#[derive(Debug)]
struct Planned<F, T> {
    at: Nanos,
    number: u64,
    event: Event<F, T>,
}

#[derive(Debug)]
enum Event<F, T> {
    Own(T),
    Arrive { switch: usize, port: usize, frame: Travelling<F> },
    Deliver(Travelling<F>),
    Switch(usize),
    Pause { to: End, class: usize, until: Nanos },
}

impl<'a, F, T> Network<'a, F, T> {
    pub(super) fn new(
        topology: &'a Topology,
        config: SwitchConfig,
        wire_delay: Nanos,
        rng: &mut Rng,
    ) -> Result<Self, SwitchConfigError> {
        let switches = topology.switches.iter().map(|ports| {
            let bps: Vec<u64> = ports.iter().map(|port| port.bps).collect();
            Switch::new(config, &bps, rng.draw())
        });
        let switches = switches.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            topology,
            due: vec![None; switches.len()],
            switches,
            events: BinaryHeap::new(),
            planned: 0,
            wire_delay,
            has_pfc: config.pfc.is_some(),
        })
    }

    /// Plans something of the owner.
    pub(super) fn plan(&mut self, at: Nanos, own: T) {
        self.push(at, Event::Own(own));
    }

    /// Takes a frame whose last byte leaves a host at `left_at`.
    pub(super) fn send(&mut self, left_at: Nanos, from: usize, frame: Travelling<F>) {
        let (switch, port) = self.topology.hosts[from];
        self.push(left_at + self.wire_delay, Event::Arrive { switch, port, frame });
    }

    /// What happens next, before `end`.
    pub(super) fn next(&mut self, end: Nanos) -> Option<(Nanos, Happening<F, T>)> {
        loop {
            if self.events.peek()?.0.at >= end {
                return None;
            }
            let Reverse(Planned { at: now, event, .. }) = self.events.pop()?;
            match event {
                Event::Own(own) => return Some((now, Happening::Own(own))),
                Event::Deliver(frame) => return Some((now, Happening::Delivered(frame))),
                // A switch that was planned for sooner since plans again.
                Event::Switch(index) if self.due[index] != Some(now) => {}
                Event::Switch(index) => {
                    self.due[index] = None;
                    self.switches[index].handle_timeout(now);
                    self.drain(now, index);
                }
                Event::Arrive { switch, port, frame } => {
                    let egress = self.topology.routes[switch][frame.to];
                    let bytes = self.switches[switch].queued_bytes(egress);
                    let to = frame.to;
                    let is_last = self.topology.switches[switch][egress].to == End::Host(to);
                    self.arrive(now, switch, port, egress, frame);
                    if is_last {
                        return Some((now, Happening::Queued { to, bytes }));
                    }
                }
                Event::Pause { to: End::Host(host), until, .. } => {
                    return Some((now, Happening::Paused { host, until }));
                }
                Event::Pause { to: End::Switch { index, port }, class, until } => {
                    self.switches[index].handle_pause(now, port, class, until);
                    self.drain(now, index);
                }
            }
        }
    }

    /// Counts of all switches.
    pub(super) fn counts(&self) -> SwitchCounts {
        let mut all = SwitchCounts::default();
        for switch in &self.switches {
            let SwitchCounts { forwarded, dropped, marked, pauses } = *switch.counts();
            all.forwarded += forwarded;
            all.dropped += dropped;
            all.marked += marked;
            all.pauses += pauses;
        }
        all
    }

    fn arrive(
        &mut self,
        now: Nanos,
        switch: usize,
        ingress: usize,
        egress: usize,
        frame: Travelling<F>,
    ) {
        let (wire_bytes, is_ecn_capable) = (frame.wire_bytes, frame.is_ecn_capable);
        let frame = FrameIn { ingress, egress, class: CLASS, wire_bytes, is_ecn_capable, frame };
        self.switches[switch].handle_frame(now, frame);
        self.drain(now, switch);
    }

    /// Takes what a switch has sent, and plans its next instant.
    fn drain(&mut self, now: Nanos, index: usize) {
        while let Some(out) = self.switches[index].poll_transmit(now) {
            let mut frame = out.frame;
            frame.is_marked |= out.is_marked;
            let at = out.at + self.wire_delay;
            match self.topology.switches[index][out.egress].to {
                End::Host(_) => self.push(at, Event::Deliver(frame)),
                End::Switch { index: switch, port } => {
                    self.push(at, Event::Arrive { switch, port, frame });
                }
            }
        }
        while self.has_pfc
            && let Some(pause) = self.switches[index].poll_pause(now)
        {
            let to = self.topology.switches[index][pause.port].to;
            let at = now + self.wire_delay;
            self.push(at, Event::Pause { to, class: pause.class, until: at + pause.span });
        }
        if let Some(at) = self.switches[index].poll_timeout()
            && self.due[index].is_none_or(|planned| at < planned)
        {
            self.due[index] = Some(at);
            self.push(at, Event::Switch(index));
        }
    }

    fn push(&mut self, at: Nanos, event: Event<F, T>) {
        self.events.push(Reverse(Planned { at, number: self.planned, event }));
        self.planned += 1;
    }
}

impl<F, T> PartialEq for Planned<F, T> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<F, T> Eq for Planned<F, T> {}

impl<F, T> PartialOrd for Planned<F, T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<F, T> Ord for Planned<F, T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// All data have one priority.
const CLASS: usize = 0;

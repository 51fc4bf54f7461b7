//! One sender and what its receiver knows of it.

use samplewire_proto::Nanos;
use samplewire_proto::rate::{Dcqcn, Notified, Rules, WireRate};

use super::CongestionError;
use super::reference::Reference;
use super::scenario::{Control, FlowSpec, Scenario};

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) spec: FlowSpec,
    reaction: Reaction,
    /// Bytes owed to the rate, in 2^-16, at `paid_at`; departures wait until nothing is owed.
    debt_q16: u64,
    paid_at: Nanos,
    /// Until when its own link is in use.
    link_free_at: Nanos,
    paused_until: Nanos,
    frame_span: Nanos,
    wire_bytes: u32,
    rtt: Nanos,
    /// The instant that its next departure is planned for.
    pub(super) planned_at: Option<Nanos>,
    is_report_planned: bool,
    report_from: Nanos,
    report_spacing: Nanos,
    sent: u64,
    cuts: u64,
}

/// How the rate follows from notifications.
#[derive(Debug)]
enum Reaction {
    None,
    Fixed(WireRate),
    Dcqcn(Box<Dcqcn>),
    Reference(Box<Reference>),
}

impl Flow {
    pub(super) fn new(
        scenario: &Scenario,
        spec: FlowSpec,
        begin: Nanos,
    ) -> Result<Self, CongestionError> {
        let bits = u64::from(scenario.wire_bytes) * 8 * 1_000_000_000;
        let reaction = match spec.control {
            Control::None => Reaction::None,
            Control::Fixed(rate) => Reaction::Fixed(rate.max(WireRate::from_raw(1))),
            Control::Dcqcn(params) => Reaction::Dcqcn(Box::new(Dcqcn::new(params, begin)?)),
            Control::Reference(params) => {
                params.check()?;
                if params.rules != Rules::Paper {
                    return Err(CongestionError::ReferenceRules);
                }
                Reaction::Reference(Box::new(Reference::new(params, begin)))
            }
        };
        let links = scenario.topology.links_between(spec.from, spec.to);
        Ok(Self {
            reaction,
            debt_q16: 0,
            paid_at: begin,
            link_free_at: begin,
            paused_until: Nanos(0),
            frame_span: Nanos(bits.div_ceil(scenario.topology.host_bps(spec.from))),
            wire_bytes: scenario.wire_bytes,
            rtt: Nanos(2 * links * scenario.wire_delay.0),
            planned_at: None,
            is_report_planned: false,
            report_from: Nanos(0),
            report_spacing: scenario.report_spacing,
            sent: 0,
            cuts: 0,
            spec,
        })
    }

    /// When the next frame may leave, not before `now`, at the rate of `now`; `None` from the flow's
    /// end on.
    pub(super) fn next_departure(&mut self, now: Nanos) -> Option<Nanos> {
        let now = now.max(self.paid_at);
        let rate = self.rate(now);
        if let Some(rate) = rate {
            let rate = u64::from(rate.raw());
            self.debt_q16 = self.debt_q16.saturating_sub(now.since(self.paid_at).0 * rate);
            self.paid_at = now;
        }
        if self.spec.frames.is_some_and(|frames| self.sent >= frames) {
            return None;
        }
        let owed = rate.map_or(Nanos(0), |rate| Nanos(self.debt_q16.div_ceil(rate.raw().into())));
        let at = (now + owed).max(self.link_free_at).max(self.paused_until);
        (at < self.spec.leaves_at).then_some(at)
    }

    /// `R_C` at `now`, if there is one.
    pub(super) fn rate(&mut self, now: Nanos) -> Option<WireRate> {
        match &mut self.reaction {
            Reaction::None => None,
            Reaction::Fixed(rate) => Some(*rate),
            Reaction::Dcqcn(machine) => {
                machine.handle_time(now);
                Some(machine.rate())
            }
            Reaction::Reference(machine) => {
                machine.handle_time(now);
                Some(machine.rate())
            }
        }
    }

    /// Sends a frame: when its last byte has left.
    pub(super) fn depart(&mut self, now: Nanos) -> Nanos {
        match &mut self.reaction {
            Reaction::None => {}
            Reaction::Fixed(_) => self.debt_q16 += u64::from(self.wire_bytes) << 16,
            Reaction::Dcqcn(machine) => {
                machine.handle_departure(now, self.wire_bytes as u16);
                self.debt_q16 += u64::from(self.wire_bytes) << 16;
            }
            Reaction::Reference(machine) => {
                machine.handle_departure(now, self.wire_bytes);
                self.debt_q16 += u64::from(self.wire_bytes) << 16;
            }
        }
        self.link_free_at = now + self.frame_span;
        self.sent += 1;
        self.link_free_at
    }

    /// The neighbour requests silence until then.
    pub(super) fn pause(&mut self, until: Nanos) {
        self.paused_until = until;
    }

    /// The receiver has a marked frame; when it reports, if no report is planned.
    pub(super) fn marked(&mut self, now: Nanos) -> Option<Nanos> {
        if self.is_report_planned {
            return None;
        }
        self.is_report_planned = true;
        let at = now.max(self.report_from);
        self.report_from = at + self.report_spacing;
        Some(at)
    }

    pub(super) fn reported(&mut self) {
        self.is_report_planned = false;
    }

    /// A notification has come.
    pub(super) fn notify(&mut self, now: Nanos) {
        // What was paid until here was paid at the rate before.
        self.next_departure(now);
        let notified = match &mut self.reaction {
            Reaction::None | Reaction::Fixed(_) => Notified::Ignored,
            Reaction::Dcqcn(machine) => machine.handle_notification(now, self.rtt),
            Reaction::Reference(machine) => machine.handle_notification(now, self.rtt),
        };
        self.cuts += u64::from(notified == Notified::Cut);
    }

    pub(super) const fn cuts(&self) -> u64 {
        self.cuts
    }

    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }

    /// One way without queues.
    pub(super) const fn way(&self) -> Nanos {
        Nanos(self.rtt.0 / 2)
    }
}

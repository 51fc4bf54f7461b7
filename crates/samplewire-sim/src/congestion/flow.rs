//! One sender and what its receiver knows of it.

use samplewire_proto::Nanos;
use samplewire_proto::rate::{Dcqcn, Notified, Rules, WireRate};

use super::CongestionError;
use super::reference::Reference;
use super::scenario::{Control, FlowSpec, Scenario, Traffic};

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
    repair: Option<GoBackN>,
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

/// Both ends of a go-back-N flow: the sender repeats everything from the first frame on that is
/// missing, and the receiver takes frames in order alone.
#[derive(Clone, Copy, Debug, Default)]
struct GoBackN {
    window: u64,
    next: u64,
    acked: u64,
    /// One above the highest that was sent.
    end: u64,
    progress_at: Nanos,
    repeats: u64,
    expected: u64,
    has_nacked: bool,
}

/// What a receiver answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// Everything before it has come.
    pub(super) expected: u64,
    /// Whether a frame is missing.
    pub(super) is_nack: bool,
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
        let repair = match scenario.traffic {
            Traffic::Steady | Traffic::Stream { .. } => None,
            Traffic::GoBackN { window } => Some(GoBackN { window, ..GoBackN::default() }),
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
            repair,
            sent: 0,
            cuts: 0,
            spec,
        })
    }

    /// When the next frame may leave, not before `now`, at the rate of `now`; `None` while a window
    /// is full, and from the flow's end on.
    pub(super) fn next_departure(&mut self, now: Nanos) -> Option<Nanos> {
        let now = now.max(self.paid_at);
        let rate = self.rate(now);
        if let Some(rate) = rate {
            let rate = u64::from(rate.raw());
            self.debt_q16 = self.debt_q16.saturating_sub(now.since(self.paid_at).0 * rate);
            self.paid_at = now;
        }
        if self.repair.is_some_and(|it| it.next >= it.acked + it.window)
            || self.spec.frames.is_some_and(|frames| self.sent >= frames)
        {
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

    /// Sends a frame: when its last byte has left, and its number.
    pub(super) fn depart(&mut self, now: Nanos) -> (Nanos, u64) {
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
        let seq = self.repair.as_mut().map_or(self.sent - 1, |it| it.depart(now));
        (self.link_free_at, seq)
    }

    /// The neighbour requests silence until then.
    pub(super) fn pause(&mut self, until: Nanos) {
        self.paused_until = until;
    }

    /// The receiver has a frame: whether it is of use, and what it answers at once.
    pub(super) fn arrived(&mut self, seq: u64) -> (bool, Option<Answer>) {
        let Some(repair) = &mut self.repair else { return (true, None) };
        if seq == repair.expected {
            repair.expected += 1;
            repair.has_nacked = false;
            return (true, Some(Answer { expected: repair.expected, is_nack: false }));
        }
        let is_nack = seq > repair.expected && !repair.has_nacked;
        repair.has_nacked |= is_nack;
        (false, is_nack.then_some(Answer { expected: repair.expected, is_nack }))
    }

    /// The sender has an answer.
    pub(super) fn answered(&mut self, now: Nanos, answer: Answer) {
        let Some(repair) = &mut self.repair else { return };
        if answer.expected > repair.acked {
            repair.acked = answer.expected;
            repair.next = repair.next.max(answer.expected);
            repair.progress_at = now;
        }
        if answer.is_nack && answer.expected == repair.acked {
            repair.next = repair.acked;
            repair.progress_at = now;
        }
    }

    /// Goes back where no answer has come for too long; when to look again.
    pub(super) fn check_silence(&mut self, now: Nanos) -> Option<Nanos> {
        let repair = self.repair.as_mut()?;
        if now.since(repair.progress_at) >= SILENCE && repair.next > repair.acked {
            repair.next = repair.acked;
            repair.progress_at = now;
            repair.has_nacked = false;
        }
        Some(now.max(repair.progress_at) + SILENCE)
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

    pub(super) fn repeats(&self) -> u64 {
        self.repair.map_or(0, |it| it.repeats)
    }

    /// One way without queues.
    pub(super) const fn way(&self) -> Nanos {
        Nanos(self.rtt.0 / 2)
    }
}

impl GoBackN {
    fn depart(&mut self, now: Nanos) -> u64 {
        if self.next == self.acked {
            self.progress_at = now;
        }
        let seq = self.next;
        self.repeats += u64::from(seq < self.end);
        self.next += 1;
        self.end = self.end.max(self.next);
        seq
    }
}

/// A go-back-N sender that hears nothing for so long repeats its window: 4.096 us times 2^14, which
/// is what perftest sets for RDMA (`--qp-timeout`).
const SILENCE: Nanos = Nanos(4_096 << 14);

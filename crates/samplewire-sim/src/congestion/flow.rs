//! One sender and what its receiver knows of it.

use samplewire_proto::Nanos;
use samplewire_proto::rate::{Dcqcn, Notified, ParamsError};

use super::Incast;

#[derive(Debug)]
pub(super) struct Flow {
    control: Option<Dcqcn>,
    /// Bytes owed to the rate, in 2^-16, at `paid_at`; departures wait until nothing is owed.
    debt_q16: u64,
    paid_at: Nanos,
    /// Until when its own link is in use.
    link_free_at: Nanos,
    frame_span: Nanos,
    wire_bytes: u32,
    rtt: Nanos,
    is_report_planned: bool,
    report_from: Nanos,
    report_spacing: Nanos,
    cuts: u64,
}

impl Flow {
    pub(super) fn new(scenario: &Incast, begin: Nanos) -> Result<Self, ParamsError> {
        let bits = u64::from(scenario.wire_bytes) * 8 * 1_000_000_000;
        Ok(Self {
            control: scenario.control.map(|params| Dcqcn::new(params, begin)).transpose()?,
            debt_q16: 0,
            paid_at: begin,
            link_free_at: begin,
            frame_span: Nanos(bits.div_ceil(scenario.sender_bps)),
            wire_bytes: scenario.wire_bytes,
            rtt: scenario.loop_delay,
            is_report_planned: false,
            report_from: Nanos(0),
            report_spacing: scenario.report_spacing,
            cuts: 0,
        })
    }

    /// When the next frame may leave, not before `now`, at the rate of `now`.
    pub(super) fn next_departure(&mut self, now: Nanos) -> Nanos {
        let now = now.max(self.paid_at);
        let Some(control) = &mut self.control else { return self.link_free_at.max(now) };
        control.handle_time(now);
        let rate = u64::from(control.rate().raw());
        self.debt_q16 = self.debt_q16.saturating_sub(now.since(self.paid_at).0 * rate);
        self.paid_at = now;
        (now + Nanos(self.debt_q16.div_ceil(rate))).max(self.link_free_at)
    }

    /// Sends a frame; when its last byte has left.
    pub(super) fn depart(&mut self, now: Nanos) -> Nanos {
        if let Some(control) = &mut self.control {
            control.handle_departure(now, self.wire_bytes as u16);
            self.debt_q16 += u64::from(self.wire_bytes) << 16;
        }
        self.link_free_at = now + self.frame_span;
        self.link_free_at
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

    pub(super) fn notify(&mut self, now: Nanos) {
        // What was paid until here was paid at the rate before.
        self.next_departure(now);
        if let Some(control) = &mut self.control {
            self.cuts += u64::from(control.handle_notification(now, self.rtt) == Notified::Cut);
        }
    }

    pub(super) fn cuts(&self) -> u64 {
        self.cuts
    }
}

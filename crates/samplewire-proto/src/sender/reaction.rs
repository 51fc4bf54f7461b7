//! The reaction point inside a sender: from notifications to a limit of the rate
//! (`docs/protocol.md#8`).

use super::control::{Control, DcqcnConfig};
use crate::counters::SenderStats;
#[cfg(feature = "search")]
use crate::fingerprint::Fingerprint;
use crate::number::Nanos;
use crate::rate::{Dcqcn, DcqcnParams, FRAME_OVERHEAD_BYTES, Notified, WireRate};
use crate::stream::Terms;

/// The limit of congestion control on a sender's rate.
///
/// ```text
///          a cut below the line's rate
/// free ------------------------------------> limited
///      <------------------------------------
///        rate and target at the line's again
/// ```
///
/// A free sender compares twice per packet and does nothing else, so that a path without marks costs
/// nothing.
#[derive(Clone, Debug)]
pub(crate) struct Reaction {
    kind: Kind,
    /// What the source needs of the wire; the highest rate where that is unknown.
    needed: WireRate,
    /// How long the window holds what the source gives, where its rate is known.
    ring: Option<Nanos>,
    /// For how long the limit has been below what the source needs.
    short_for: Nanos,
    is_limited: bool,
    /// When the rate may rise next without a departure; never for a free sender.
    due: Nanos,
    /// When a departure ends a span of the meter; never where there is none.
    span_end: Nanos,
    /// Up to when the limited time and its bytes are counted.
    counted_to: Nanos,
}

#[derive(Clone, Debug)]
enum Kind {
    None,
    Fixed(WireRate),
    /// The line's rate is known.
    Line(Dcqcn),
    /// It is not, so what departs is measured. The machine is that of the last notification that
    /// found the sender free.
    Measured(Meter, Option<Dcqcn>),
}

impl Reaction {
    pub(crate) fn new(
        control: &Control,
        terms: &Terms,
        now: Nanos,
        stats: &mut SenderStats,
    ) -> Self {
        let (kind, source) = match control {
            Control::None => (Kind::None, None),
            Control::Fixed(rate) => (Kind::Fixed(*rate), None),
            Control::Dcqcn(config) => (Kind::of(config, terms, now), config.source()),
        };
        let span_end = if matches!(kind, Kind::Measured(..)) { now + SPAN } else { NEVER };
        let mut reaction = Self {
            kind,
            needed: source.map_or(WireRate::MAX, |source| source.wire_rate(terms)),
            ring: source.map(|source| source.window_span(terms)),
            short_for: Nanos(0),
            is_limited: false,
            due: NEVER,
            span_end,
            counted_to: now,
        };
        reaction.settle(stats);
        reaction
    }

    /// The limit, if there is one.
    pub(crate) fn limit(&self) -> Option<WireRate> {
        match &self.kind {
            Kind::Fixed(rate) => Some(*rate),
            Kind::Line(flow) | Kind::Measured(_, Some(flow)) if self.is_limited => {
                Some(flow.rate())
            }
            _ => None,
        }
    }

    /// When to call [`Reaction::handle_due`] next.
    pub(crate) const fn due(&self) -> Nanos {
        self.due
    }

    /// Handles the rises of the rate up to `now`.
    #[cold]
    pub(crate) fn handle_due(&mut self, now: Nanos, stats: &mut SenderStats) {
        self.count(now, stats);
        if let Some(flow) = self.kind.flow() {
            flow.handle_time(now);
        }
        self.settle(stats);
    }

    /// Takes a packet of so many bytes on the wire that leaves at `now`; returns whether the limit
    /// may have changed.
    #[inline]
    pub(crate) fn handle_departure(
        &mut self,
        now: Nanos,
        frame_bytes: u32,
        stats: &mut SenderStats,
    ) -> bool {
        if now >= self.span_end {
            self.end_span(now, stats);
        }
        if self.is_limited {
            self.handle_limited_departure(now, frame_bytes, stats);
            return true;
        }
        false
    }

    /// Takes a notification of congestion: it cuts at most once per `max(D, rtt)`.
    pub(crate) fn handle_notification(&mut self, now: Nanos, rtt: Nanos, stats: &mut SenderStats) {
        self.count(now, stats);
        if let Kind::Measured(meter, flow) = &mut self.kind {
            let has_machine = flow.as_ref().is_some_and(|flow| now < flow.cut_from());
            if !self.is_limited && !has_machine {
                *flow = Some(meter.start(now, stats));
            }
        }
        let Some(flow) = self.kind.flow() else { return };
        stats.cuts += u64::from(flow.handle_notification(now, rtt) == Notified::Cut);
        self.settle(stats);
    }

    #[inline(never)]
    fn handle_limited_departure(&mut self, now: Nanos, frame_bytes: u32, stats: &mut SenderStats) {
        self.count(now, stats);
        if let Some(flow) = self.kind.flow() {
            flow.handle_departure(now, u16::try_from(frame_bytes).unwrap_or(u16::MAX));
        }
        self.settle(stats);
    }

    #[cold]
    fn end_span(&mut self, now: Nanos, stats: &SenderStats) {
        if let Kind::Measured(meter, _) = &mut self.kind {
            meter.end_span(now, stats);
            self.span_end = now + SPAN;
        }
    }

    /// Counts the time for which the source had too little, and what the limit allowed in it.
    fn count(&mut self, now: Nanos, stats: &mut SenderStats) {
        let limit = self.limit().filter(|&limit| self.is_limited && limit < self.needed);
        if let Some(limit) = limit {
            let span = now.since(self.counted_to);
            stats.limited_ns += span.0;
            stats.limited_bytes += ((u128::from(limit.raw()) * u128::from(span.0)) >> 16) as u64;
            let before = self.short_for;
            self.short_for = before + span;
            let has_outlasted = |ring: Nanos| before <= ring && self.short_for > ring;
            stats.shortages += u64::from(self.ring.is_some_and(has_outlasted));
        } else {
            self.short_for = Nanos(0);
        }
        self.counted_to = now;
    }

    /// Follows the machine after a change.
    fn settle(&mut self, stats: &mut SenderStats) {
        let flow = self.kind.flow().filter(|flow| !flow.is_at_line());
        self.due = flow.as_ref().map_or(NEVER, |flow| flow.rise_due());
        self.is_limited = flow.is_some();
        stats.limit_bps = self.limit().map_or(0, WireRate::bps);
    }
}

#[cfg(feature = "search")]
impl Reaction {
    /// Passes what decides how the limit goes on.
    pub(super) fn fingerprint(&self, now: Nanos, into: &mut impl Fingerprint) {
        into.word(self.is_limited.into());
        into.word(self.limit().map_or(0, |limit| limit.raw().into()));
        if let Kind::Line(flow) | Kind::Measured(_, Some(flow)) = &self.kind {
            let (timer, bytes) = flow.stages();
            for part in [flow.target().raw(), flow.alpha(), timer.into(), bytes.into()] {
                into.word(part.into());
            }
            into.word(flow.bytes_left().into());
            into.instant(now, flow.cut_from());
            into.instant(now, flow.due());
            into.instant(now, flow.rise_due());
        }
    }
}

impl Kind {
    fn of(config: &DcqcnConfig, terms: &Terms, now: Nanos) -> Self {
        match config.params(terms) {
            Some(params) => Self::Line(machine(params, now)),
            None => Self::Measured(Meter::new(now), None),
        }
    }

    fn flow(&mut self) -> Option<&mut Dcqcn> {
        match self {
            Self::Line(flow) | Self::Measured(_, Some(flow)) => Some(flow),
            _ => None,
        }
    }
}

/// The rate of departures (`docs/protocol.md#8.5`).
#[derive(Clone, Copy, Debug)]
struct Meter {
    /// When the present span began, and what had departed by then.
    begin: Nanos,
    begin_bytes: u64,
    /// The rate of the span before.
    last: WireRate,
}

impl Meter {
    const fn new(now: Nanos) -> Self {
        Self { begin: now, begin_bytes: 0, last: WireRate::from_raw(0) }
    }

    fn end_span(&mut self, now: Nanos, stats: &SenderStats) {
        let last = self.present(now, stats);
        *self = Self { begin: now, begin_bytes: wire_bytes(stats), last };
    }

    /// The rate of the present span, which counts as [`SPAN`] long at least.
    fn present(&self, now: Nanos, stats: &SenderStats) -> WireRate {
        let bytes = wire_bytes(stats) - self.begin_bytes;
        let span_ns = now.since(self.begin).max(SPAN).0;
        let raw = (u128::from(bytes) << 16).div_ceil(u128::from(span_ns));
        WireRate::from_raw(u32::try_from(raw).unwrap_or(u32::MAX))
    }

    /// A machine that starts from the measured rate. The line counts as twice as fast: once that is
    /// reached, the sender is free again.
    fn start(&self, now: Nanos, stats: &SenderStats) -> Dcqcn {
        let measured = self.last.max(self.present(now, stats));
        let minimum = DcqcnParams::samplewire(WireRate::MAX.bps()).minimum;
        let start = measured.max(minimum);
        let line = WireRate::from_raw(2 * start.raw());
        let preset = DcqcnParams::samplewire(line.bps());
        machine(DcqcnParams { line, start, first_cut: line, ..preset }, now)
    }
}

/// DATA that departed, in bytes on the wire.
fn wire_bytes(stats: &SenderStats) -> u64 {
    stats.bytes + u64::from(FRAME_OVERHEAD_BYTES) * (stats.packets + stats.retransmissions)
}

fn machine(params: DcqcnParams, now: Nanos) -> Dcqcn {
    Dcqcn::new(params, now).expect("the parameters were checked, or are a preset's")
}

/// The span over which departures are measured.
const SPAN: Nanos = Nanos::from_millis(1);
const NEVER: Nanos = Nanos(u64::MAX);

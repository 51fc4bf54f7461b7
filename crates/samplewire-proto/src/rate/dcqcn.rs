//! The reaction point of DCQCN, in integers.

use super::WireRate;
use super::params::{DcqcnParams, ParamsError, Rules, STAGES_MAX};
use crate::number::Nanos;

/// The rate of one flow, by its notifications, its departures and the time.
///
/// ```text
///                 cut: target = rate, rate -= rate alpha / 2, alpha rises, counts = 0
///                   |
///                   v
///   fast recovery: the target stays ---- one count reaches F ----> additive: target += R_AI
///                                                                       |
///                                              both counts exceed F     v
///                                                        hyper: target += R_HAI
/// ```
///
/// At each expiry of the timer or of the byte counter the rate goes half of the way to its target.
/// Calls come in the order of time. What is due at one instant happens in this order: alpha decays,
/// the timer expires, the byte counter expires, a cut. The expiries up to `now` happen in every
/// call, at most [`STEPS_MAX`](Self::STEPS_MAX) of them below the line's rate: after a longer silence
/// the rest follows in the next calls, in the same order, and until then the rate is too low and never
/// too high. At the line's rate all of them happen in one call, but not by [`Rules::Hpcc`].
///
/// Rounding is such that every quantity reaches its limit: alpha 0 and 1, and the rate its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dcqcn {
    params: DcqcnParams,
    rate: WireRate,
    target: WireRate,
    /// In 2^-16; 1 is the highest.
    alpha: u32,
    timer_count: u8,
    byte_count: u8,
    /// Until the byte counter expires; above 0.
    bytes_left: u32,
    alpha_due: Nanos,
    rise_due: Nanos,
    /// The earliest instant of the next cut.
    cut_from: Nanos,
    has_cut: bool,
    /// Whether a notification came since alpha changed; [`Rules::Hpcc`] alone.
    is_notified: bool,
}

/// What a notification did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notified {
    /// The rate was cut.
    Cut,
    /// It came within the interval after a cut, and nothing changed.
    Ignored,
}

impl Dcqcn {
    /// Expiries that one call handles.
    pub const STEPS_MAX: u32 = 256;

    /// A flow that starts at `now` at the parameters' start rate, on its way to the line's rate.
    ///
    /// # Errors
    ///
    /// The first parameter that does not hold.
    pub fn new(params: DcqcnParams, now: Nanos) -> Result<Self, ParamsError> {
        params.check()?;
        Ok(Self {
            params,
            rate: params.start,
            target: params.start,
            alpha: ALPHA_ONE,
            timer_count: 0,
            byte_count: 0,
            bytes_left: params.rise_bytes,
            alpha_due: now + params.alpha_period,
            rise_due: now + params.rise_period,
            cut_from: now,
            has_cut: false,
            is_notified: false,
        })
    }

    /// `R_C`: the rate to pace departures at.
    pub fn rate(&self) -> WireRate {
        self.rate
    }

    /// `R_T`: the rate that it recovers to.
    pub fn target(&self) -> WireRate {
        self.target
    }

    /// Alpha, the estimate of congestion, in 2^-16.
    pub fn alpha(&self) -> u32 {
        self.alpha
    }

    /// Expiries of the timer and of the byte counter since the last cut, each at most 31.
    pub fn stages(&self) -> (u8, u8) {
        (self.timer_count, self.byte_count)
    }

    /// Wire bytes until the byte counter expires.
    pub fn bytes_left(&self) -> u32 {
        self.bytes_left
    }

    /// When an expiry is due next.
    pub fn due(&self) -> Nanos {
        self.alpha_due.min(self.rise_due)
    }

    /// When the timer expires next.
    pub fn rise_due(&self) -> Nanos {
        self.rise_due
    }

    /// The earliest instant of the next cut.
    pub fn cut_from(&self) -> Nanos {
        self.cut_from
    }

    /// Whether rate and target are the line's: no expiry changes them.
    pub fn is_at_line(&self) -> bool {
        self.rate == self.params.line && self.target == self.params.line
    }

    /// Handles what is due up to `now`.
    pub fn handle_time(&mut self, now: Nanos) {
        for _ in 0..Self::STEPS_MAX {
            if self.due() > now {
                return;
            }
            if self.is_at_line() && self.params.rules == Rules::Paper {
                return self.catch_up(now);
            }
            if self.alpha_due <= self.rise_due {
                self.update_alpha();
                self.alpha_due = self.alpha_due + self.params.alpha_period;
            } else {
                self.timer_count = (self.timer_count + 1).min(STAGES_MAX);
                self.rise_due = self.rise_due + self.params.rise_period;
                self.rise();
            }
        }
    }

    /// Takes a packet of so many bytes on the wire that leaves at `now`, a repeat too.
    pub fn handle_departure(&mut self, now: Nanos, wire_bytes: u16) {
        self.handle_time(now);
        if self.params.rules == Rules::Hpcc {
            return;
        }
        let bytes = u32::from(wire_bytes);
        if bytes < self.bytes_left {
            self.bytes_left -= bytes;
            return;
        }
        self.bytes_left += self.params.rise_bytes - bytes;
        self.byte_count = (self.byte_count + 1).min(STAGES_MAX);
        self.rise();
    }

    /// Takes a notification of congestion; cuts at most once per `max(D, rtt)`. A round trip above
    /// 2^32 - 1 ns counts as so long.
    pub fn handle_notification(&mut self, now: Nanos, rtt: Nanos) -> Notified {
        self.handle_time(now);
        self.is_notified = self.params.rules == Rules::Hpcc;
        if now < self.cut_from {
            return Notified::Ignored;
        }
        let params = &self.params;
        self.target = self.rate;
        // Half of alpha, rounded down: the cut never exceeds what alpha says.
        let cut = ((u64::from(self.rate.raw()) * u64::from(self.alpha)) >> (ALPHA_BITS + 1)) as u32;
        let mut rate = WireRate::from_raw(self.rate.raw() - cut);
        if !self.has_cut {
            rate = rate.min(params.first_cut);
        }
        self.rate = rate.max(params.minimum);
        if params.rules == Rules::Paper {
            self.alpha += scaled_up(ALPHA_ONE - self.alpha, params.gain_shift);
            self.alpha_due = now + params.alpha_period;
        }
        self.timer_count = 0;
        self.byte_count = 0;
        self.bytes_left = params.rise_bytes;
        self.rise_due = now + params.rise_period;
        self.cut_from = now + params.cut_interval.max(rtt.min(RTT_MAX));
        self.has_cut = true;
        Notified::Cut
    }

    /// Handles what is due up to `now` of a flow at the line's rate, however long that takes: no expiry
    /// changes the rate. Alpha and the timer's count are then what calls at each expiry give.
    fn catch_up(&mut self, now: Nanos) {
        let decays = periods(now, self.alpha_due, self.params.alpha_period);
        // Alpha is 0 after some 2,000 of them at g = 2^-8.
        for _ in 0..decays {
            if self.alpha == 0 {
                break;
            }
            self.alpha -= scaled_up(self.alpha, self.params.gain_shift);
        }
        self.alpha_due = self.alpha_due + Nanos(decays * self.params.alpha_period.0);
        let expiries = periods(now, self.rise_due, self.params.rise_period);
        let count = expiries.saturating_add(self.timer_count.into());
        self.timer_count = count.min(STAGES_MAX.into()) as u8;
        self.rise_due = self.rise_due + Nanos(expiries * self.params.rise_period.0);
    }

    /// Rounded up, so that alpha reaches 0 and 1.
    fn update_alpha(&mut self) {
        let shift = self.params.gain_shift;
        if self.params.rules == Rules::Hpcc {
            let is_notified = core::mem::take(&mut self.is_notified);
            if !self.has_cut {
                return;
            }
            if is_notified {
                self.alpha += scaled_up(ALPHA_ONE - self.alpha, shift);
                return;
            }
        }
        self.alpha -= scaled_up(self.alpha, shift);
    }

    /// One step of the rate towards its target, and of the target towards the line.
    fn rise(&mut self) {
        let stages = self.params.recovery_stages;
        let (low, high) = if self.params.rules == Rules::Hpcc {
            (self.timer_count, self.timer_count)
        } else if self.timer_count < self.byte_count {
            (self.timer_count, self.byte_count)
        } else {
            (self.byte_count, self.timer_count)
        };
        let step = if high < stages {
            0
        } else if low > stages {
            self.params.hyper.raw()
        } else {
            self.params.additive.raw()
        };
        // Below 2^25, so no sum wraps.
        self.target = WireRate::from_raw(self.target.raw() + step).min(self.params.line);
        self.rate = WireRate::from_raw((self.rate.raw() + self.target.raw()).div_ceil(2));
    }
}

/// How often something of this period happens up to `now` that is due at `due`.
const fn periods(now: Nanos, due: Nanos, period: Nanos) -> u64 {
    if due.0 > now.0 { 0 } else { now.since(due).0 / period.0 + 1 }
}

/// `value` times 2^-`shift`, rounded up.
const fn scaled_up(value: u32, shift: u8) -> u32 {
    (value + (1 << shift) - 1) >> shift
}

/// Round trips have 32 bits in the RTL.
const RTT_MAX: Nanos = Nanos(u32::MAX as u64);
const ALPHA_BITS: u32 = 16;
const ALPHA_ONE: u32 = 1 << ALPHA_BITS;

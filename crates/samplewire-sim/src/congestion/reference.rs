//! The reaction point in floating point, as the paper states it, to judge the integers by.

use samplewire_proto::Nanos;
use samplewire_proto::rate::{DcqcnParams, Notified, WireRate};

/// The machine of [`Dcqcn`](samplewire_proto::rate::Dcqcn) without rounding. Rates are in 2^-16
/// bytes per nanosecond, alpha is 0 to 1.
#[derive(Debug)]
pub(super) struct Reference {
    params: DcqcnParams,
    rate: f64,
    target: f64,
    alpha: f64,
    timer_count: u32,
    byte_count: u32,
    bytes: u64,
    alpha_due: Nanos,
    rise_due: Nanos,
    cut_from: Nanos,
}

impl Reference {
    pub(super) fn new(params: DcqcnParams, now: Nanos) -> Self {
        let start = params.start.raw().into();
        Self {
            params,
            rate: start,
            target: start,
            alpha: 1.0,
            timer_count: 0,
            byte_count: 0,
            bytes: 0,
            alpha_due: now + params.alpha_period,
            rise_due: now + params.rise_period,
            cut_from: now,
        }
    }

    pub(super) fn rate(&self) -> WireRate {
        WireRate::from_raw(self.rate.round() as u32)
    }

    pub(super) fn handle_time(&mut self, now: Nanos) {
        while self.alpha_due.min(self.rise_due) <= now {
            if self.alpha_due <= self.rise_due {
                self.alpha *= 1.0 - self.gain();
                self.alpha_due = self.alpha_due + self.params.alpha_period;
            } else {
                self.timer_count += 1;
                self.rise_due = self.rise_due + self.params.rise_period;
                self.rise();
            }
        }
    }

    pub(super) fn handle_departure(&mut self, now: Nanos, wire_bytes: u32) {
        self.handle_time(now);
        self.bytes += u64::from(wire_bytes);
        if self.bytes >= self.params.rise_bytes.into() {
            self.bytes -= u64::from(self.params.rise_bytes);
            self.byte_count += 1;
            self.rise();
        }
    }

    pub(super) fn handle_notification(&mut self, now: Nanos, rtt: Nanos) -> Notified {
        self.handle_time(now);
        if now < self.cut_from {
            return Notified::Ignored;
        }
        self.target = self.rate;
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(self.params.minimum.raw().into());
        self.alpha += self.gain() * (1.0 - self.alpha);
        (self.timer_count, self.byte_count, self.bytes) = (0, 0, 0);
        self.alpha_due = now + self.params.alpha_period;
        self.rise_due = now + self.params.rise_period;
        self.cut_from = now + self.params.cut_interval.max(rtt);
        Notified::Cut
    }

    fn gain(&self) -> f64 {
        0.5f64.powi(self.params.gain_shift.into())
    }

    fn rise(&mut self) {
        let stages = u32::from(self.params.recovery_stages);
        let low = self.timer_count.min(self.byte_count);
        let high = self.timer_count.max(self.byte_count);
        let step = match () {
            () if high < stages => 0.0,
            () if low > stages => self.params.hyper.raw().into(),
            () => self.params.additive.raw().into(),
        };
        self.target = (self.target + step).min(self.params.line.raw().into());
        self.rate = f64::midpoint(self.rate, self.target);
    }
}

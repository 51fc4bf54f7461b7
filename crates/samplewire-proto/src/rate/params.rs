//! The constants of the machine, and what must hold among them.

use super::WireRate;
use crate::number::Nanos;

/// The parameters of [`Dcqcn`](super::Dcqcn), by the symbols of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DcqcnParams {
    /// g is 2^-`gain_shift`: the weight of one notification in alpha. 1 to 16.
    pub gain_shift: u8,
    /// K: without a cut for so long, alpha decays once. 1 ns to 2^20 - 1 ns.
    pub alpha_period: Nanos,
    /// T: the period of the timer that raises the rate. 1 ns to 2^20 - 1 ns.
    pub rise_period: Nanos,
    /// B: so many wire bytes raise the rate once, too. 2^16 to 2^26 - 1.
    pub rise_bytes: u32,
    /// F: from so many expiries on, fast recovery ends. 1 to 31.
    pub recovery_stages: u8,
    /// `R_AI`: what additive increase adds to the target.
    pub additive: WireRate,
    /// `R_HAI`: what hyper increase adds to the target.
    pub hyper: WireRate,
    /// The lowest rate, above 0.
    pub minimum: WireRate,
    /// The rate before the first notification.
    pub start: WireRate,
    /// The rate after the first cut, if that is lower than what the cut gives.
    pub first_cut: WireRate,
    /// D: the shortest time between two cuts; a round trip that is longer counts in its place. At
    /// most 2^20 - 1 ns.
    pub cut_interval: Nanos,
    /// The rate of the link: the highest rate.
    pub line: WireRate,
    /// Which rules the machine follows.
    pub rules: Rules,
}

/// Variants of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// Those of the paper, of `docs/congestion.md` and of the RTL.
    #[default]
    Paper,
    /// Those of the ns-3 code of HPCC, for comparisons; no RTL follows them. Alpha changes once in
    /// each K from the first cut on: it rises if a notification came within K, and falls otherwise.
    /// There is no byte counter.
    Hpcc,
}

/// Parameters that contradict each other or lie out of their range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamsError {
    /// See [`DcqcnParams::gain_shift`].
    #[error("gain shift {0}: must be 1 to 16")]
    GainShift(u8),
    /// See [`DcqcnParams::alpha_period`].
    #[error("alpha period of {} ns: must be 1 to {SPAN_MAX} ns", .0.0)]
    AlphaPeriod(Nanos),
    /// See [`DcqcnParams::rise_period`].
    #[error("rise period of {} ns: must be 1 to {SPAN_MAX} ns", .0.0)]
    RisePeriod(Nanos),
    /// See [`DcqcnParams::rise_bytes`].
    #[error("byte counter of {0} bytes: must be {BYTES_MIN} to {BYTES_MAX}")]
    RiseBytes(u32),
    /// See [`DcqcnParams::recovery_stages`].
    #[error("recovery stages {0}: must be 1 to {STAGES_MAX}")]
    RecoveryStages(u8),
    /// See [`DcqcnParams::cut_interval`].
    #[error("cut interval of {} ns: must be at most {SPAN_MAX} ns", .0.0)]
    CutInterval(Nanos),
    /// See [`DcqcnParams::minimum`].
    #[error("minimum rate 0: must be above 0")]
    MinimumZero,
    /// The lowest rate is above the highest one.
    #[error(
        "minimum rate of {} b/s: must be at most the line's {} b/s", .minimum.bps(), .line.bps()
    )]
    MinimumAboveLine {
        /// The lowest rate.
        minimum: WireRate,
        /// The highest rate.
        line: WireRate,
    },
    /// A rate is not within the lowest and the highest one.
    #[error("{name} rate of {} b/s: must be {} to {} b/s", .rate.bps(), .minimum.bps(), .line.bps())]
    Outside {
        /// `start` or `first cut`.
        name: &'static str,
        /// Its value.
        rate: WireRate,
        /// The lowest rate.
        minimum: WireRate,
        /// The highest rate.
        line: WireRate,
    },
}

impl DcqcnParams {
    /// The preset for streams on a line of so many bits a second; *simulated* (`docs/congestion.md`).
    /// No rate of it exceeds the line's.
    pub const fn samplewire(line_bps: u64) -> Self {
        let line = WireRate::from_bps(line_bps);
        let is_fast = line_bps > 20_000_000_000;
        let (additive, hyper, start, rise_bytes) = if is_fast {
            (10_000_000, 200_000_000, 400_000_000, 2_000_000)
        } else {
            (5_000_000, 100_000_000, 100_000_000, 1_000_000)
        };
        Self {
            gain_shift: 8,
            alpha_period: Nanos::from_micros(55),
            rise_period: Nanos::from_micros(55),
            rise_bytes,
            recovery_stages: 5,
            additive: WireRate::from_bps(additive),
            hyper: WireRate::from_bps(hyper),
            minimum: lower(WireRate::from_bps(10_000_000), line),
            start: lower(WireRate::from_bps(start), line),
            first_cut: line,
            cut_interval: Nanos::from_micros(50),
            line,
            rules: Rules::Paper,
        }
    }

    /// The values of the paper: its table of parameters used in the testbed, at 40 Gb/s. Flows start
    /// at the line's rate. The paper states neither a minimum nor `R_HAI`: the minimum is that of
    /// [`samplewire`](Self::samplewire), and `R_HAI` ten times `R_AI`.
    ///
    /// Source: Zhu et al., SIGCOMM 2015, sections 3.3 and 5.2 (K = T = 55 us, F = 5, B = 10 MB,
    /// `R_AI` = 40 Mb/s, g = 1/256, 50 us between CNPs).
    pub const fn paper(line_bps: u64) -> Self {
        let line = WireRate::from_bps(line_bps);
        Self {
            rise_bytes: 10_000_000,
            additive: lower(WireRate::from_bps(40_000_000), line),
            hyper: lower(WireRate::from_bps(400_000_000), line),
            start: line,
            ..Self::samplewire(line_bps)
        }
    }

    /// The values of the ns-3 code of HPCC for DCQCN: K = 1 us, D = 4 us, T = 300 us, F = 1, and
    /// for each 25 Gb/s of the line `R_AI` = 5 Mb/s and `R_HAI` = 50 Mb/s. Flows start at the line's
    /// rate and keep at least 100 Mb/s.
    ///
    /// Source: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, its simulator's
    /// `rdma-hw.cc` and its configurations.
    pub const fn hpcc(line_bps: u64) -> Self {
        let line = WireRate::from_bps(line_bps);
        Self {
            alpha_period: Nanos::from_micros(1),
            rise_period: Nanos::from_micros(300),
            recovery_stages: 1,
            additive: WireRate::from_bps(line_bps / 25 * 5 / 1_000),
            hyper: WireRate::from_bps(line_bps / 25 * 50 / 1_000),
            minimum: lower(WireRate::from_bps(100_000_000), line),
            start: line,
            cut_interval: Nanos::from_micros(4),
            rules: Rules::Hpcc,
            ..Self::samplewire(line_bps)
        }
    }

    /// Checks every range and relation.
    ///
    /// # Errors
    ///
    /// The first parameter that is out of its range.
    pub fn check(&self) -> Result<(), ParamsError> {
        if !(1..=16).contains(&self.gain_shift) {
            return Err(ParamsError::GainShift(self.gain_shift));
        }
        if !(1..=SPAN_MAX).contains(&self.alpha_period.0) {
            return Err(ParamsError::AlphaPeriod(self.alpha_period));
        }
        if !(1..=SPAN_MAX).contains(&self.rise_period.0) {
            return Err(ParamsError::RisePeriod(self.rise_period));
        }
        if !(BYTES_MIN..=BYTES_MAX).contains(&self.rise_bytes) {
            return Err(ParamsError::RiseBytes(self.rise_bytes));
        }
        if !(1..=STAGES_MAX).contains(&self.recovery_stages) {
            return Err(ParamsError::RecoveryStages(self.recovery_stages));
        }
        if self.cut_interval.0 > SPAN_MAX {
            return Err(ParamsError::CutInterval(self.cut_interval));
        }
        if self.minimum.raw() == 0 {
            return Err(ParamsError::MinimumZero);
        }
        let (minimum, line) = (self.minimum, self.line);
        if minimum > line {
            return Err(ParamsError::MinimumAboveLine { minimum, line });
        }
        for (name, rate) in [("start", self.start), ("first cut", self.first_cut)] {
            if !(minimum..=line).contains(&rate) {
                return Err(ParamsError::Outside { name, rate, minimum, line });
            }
        }
        Ok(())
    }
}

const fn lower(a: WireRate, b: WireRate) -> WireRate {
    if a.raw() < b.raw() { a } else { b }
}

/// Spans have 20 bits in the RTL.
const SPAN_MAX: u64 = (1 << 20) - 1;
/// One packet, of at most 2^16 - 1 bytes, ends at most one period of the byte counter.
const BYTES_MIN: u32 = 1 << 16;
const BYTES_MAX: u32 = (1 << 26) - 1;
/// Counts of expiries have 5 bits and stop at their highest value.
pub(super) const STAGES_MAX: u8 = 31;

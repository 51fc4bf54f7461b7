//! A check: what it reads, and what follows from the value.

use std::cmp::Ordering;

use super::context::Context;
use super::fix::Fix;
use super::reader::ReadError;

/// An entry of the table.
#[derive(Debug)]
pub(super) struct Check {
    /// `group.name`, stable over versions.
    pub(super) id: &'static str,
    /// What is read, in words.
    pub(super) title: &'static str,
    /// What a wrong value does.
    pub(super) severity: Severity,
    /// Reads the value and computes the limit.
    pub(super) read: fn(&Context<'_>) -> Answer,
    /// Why there is a limit, and how it is computed.
    pub(super) reason: &'static str,
    /// What a wrong value costs.
    pub(super) cost: &'static str,
    /// The figure of `docs/performance.md` for this cost, with its machine; `None`: not measured.
    pub(super) measured: Option<&'static str>,
}

impl Check {
    /// The group, which is the first part of the ID.
    pub(super) fn group(&self) -> &'static str {
        self.id.split('.').next().unwrap_or_default()
    }

    /// Whether a name is its ID or its group.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.id == name || self.group() == name
    }
}

/// The effect of a wrong value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// It limits the stream, without loss of its own.
    Note,
    /// It loses samples under load, or has lost packets since the host started.
    Risk,
    /// It loses samples at this rate.
    Severe,
}

impl Severity {
    /// The word in the output.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Risk => "risk",
            Self::Severe => "severe",
        }
    }
}

/// What a check returns.
pub(super) type Answer = Result<Reading, NoReading>;

/// A value and its limit.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) value: String,
    pub(super) limit: String,
    /// How far the value is from its limit, as a ratio: above 1 it is wrong.
    pub(super) excess: f64,
    pub(super) fix: Option<Fix>,
}

/// Why a check has no value.
#[derive(Debug)]
pub(super) enum NoReading {
    /// It does not apply to this host.
    NotApplicable(String),
    /// The value cannot be read.
    Unread(ReadError),
}

impl From<ReadError> for NoReading {
    fn from(error: ReadError) -> Self {
        Self::Unread(error)
    }
}

impl Reading {
    /// A value that must be `least` or more.
    pub(super) fn at_least(has: f64, least: f64, words: impl Fn(f64) -> String) -> Self {
        let excess = if least <= 0.0 { 0.0 } else { (least / has.max(0.0)).min(EXCESS_MAX) };
        let limit = format!("at least {}", words(least));
        Self { value: words(has), limit, excess, fix: None }
    }

    /// A value that must be `most` or less.
    pub(super) fn at_most(has: f64, most: f64, words: impl Fn(f64) -> String) -> Self {
        let excess = match has.partial_cmp(&most) {
            Some(Ordering::Less | Ordering::Equal) => 0.0,
            _ => (has / most.max(0.0)).min(EXCESS_MAX),
        };
        let limit = format!("at most {}", words(most));
        Self { value: words(has), limit, excess, fix: None }
    }

    /// A value that is right or wrong.
    pub(super) fn state(
        is_right: bool,
        value: impl Into<String>,
        limit: impl Into<String>,
    ) -> Self {
        let excess = if is_right { 0.0 } else { EXCESS_OF_STATE };
        Self { value: value.into(), limit: limit.into(), excess, fix: None }
    }

    /// A count that must be 0.
    pub(super) fn none(count: u64, what: &str) -> Self {
        let value = format!("{} {what}", crate::figures::grouped(count));
        let excess = if count == 0 { 0.0 } else { 1.0 + count as f64 };
        Self { value, limit: "0".into(), excess, fix: None }
    }

    /// Adds what corrects the value.
    pub(super) fn with_fix(mut self, fix: impl Into<Fix>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Whether the value is within its limit.
    pub(super) fn is_right(&self) -> bool {
        self.excess <= 1.0
    }
}

/// A check with its answer.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) check: &'static Check,
    pub(super) answer: Answer,
}

impl Checked {
    /// The reading, if it is beyond its limit.
    pub(super) fn finding(&self) -> Option<&Reading> {
        self.answer.as_ref().ok().filter(|reading| !reading.is_right())
    }

    /// Whether the value could not be read.
    pub(super) const fn is_unread(&self) -> bool {
        matches!(self.answer, Err(NoReading::Unread(_)))
    }

    /// The order in a group: findings first, the most severe and the largest excess before others.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let rank = |it: &Self| it.finding().map(|found| (it.check.severity, found.excess));
        rank(other).partial_cmp(&rank(self)).unwrap_or(Ordering::Equal)
    }
}

/// JSON has no infinity.
const EXCESS_MAX: f64 = 1e9;

/// The excess of a state that is wrong: there is no ratio.
const EXCESS_OF_STATE: f64 = 10.0;

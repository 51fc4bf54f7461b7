//! Counts above what `--fail-on` accepts.

use std::fmt;

use crate::arguments::values::{Subject, Threshold};
use crate::figures::grouped;

/// A threshold that is exceeded, with its count: `gap: 12, limit 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crossed {
    name: &'static str,
    count_max: u64,
    /// `None`: not known.
    count: Option<u64>,
}

impl Crossed {
    /// The threshold as the option has it: `gap=0`.
    pub(crate) fn key(&self) -> String {
        format!("{}={}", self.name, self.count_max)
    }
}

impl fmt::Display for Crossed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count.map_or("not known".into(), grouped);
        write!(f, "{}: {count}, limit {}", self.name, grouped(self.count_max))
    }
}

/// The thresholds that are exceeded; a count that is not known exceeds every one.
pub(crate) fn crossed(
    thresholds: &[Threshold],
    count_of: impl Fn(Subject) -> Option<u64>,
) -> Vec<Crossed> {
    crossed_of(thresholds, Subject::as_str, count_of)
}

/// See [`crossed`], for counts of other names.
pub(crate) fn crossed_of<S: Copy>(
    thresholds: &[Threshold<S>],
    name_of: fn(S) -> &'static str,
    count_of: impl Fn(S) -> Option<u64>,
) -> Vec<Crossed> {
    let counted = thresholds.iter().map(|&Threshold { subject, count_max }| Crossed {
        name: name_of(subject),
        count_max,
        count: count_of(subject),
    });
    counted.filter(|it| it.count.is_none_or(|count| count > it.count_max)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_above_its_threshold_or_unknown_is_named() {
        let thresholds = [(Subject::Gap, 999), (Subject::Late, 1_000), (Subject::Underflow, 7)]
            .map(|(subject, count_max)| Threshold { subject, count_max });
        let found =
            crossed(&thresholds, |subject| (subject != Subject::Underflow).then_some(1_000));
        let words: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(words, ["gap: 1,000, limit 999", "underflow: not known, limit 7"]);
        let keys: Vec<_> = found.iter().map(Crossed::key).collect();
        assert_eq!(keys, ["gap=999", "underflow=7"]);
    }
}

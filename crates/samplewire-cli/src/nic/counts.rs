//! What `--fail-on` limits, and the exit status.

use crate::arguments::NicCount;
use crate::arguments::values::Threshold;
use crate::console::Console;
use crate::outcome::Outcome;
use crate::thresholds::crossed_of;

/// The result of a measurement: a count above its threshold, or one that no threshold covers and that
/// means that something is missing.
pub(super) fn judge(
    console: &mut Console,
    thresholds: &[Threshold<NicCount>],
    counts: &[(NicCount, u64)],
) -> Outcome {
    let count = |subject| {
        let found = counts.iter().find(|count| count.0 == subject);
        found.expect("the command line takes what is counted").1
    };
    let crossed = crossed_of(thresholds, NicCount::as_str, |subject| Some(count(subject)));
    for crossed in &crossed {
        console.line(format_args!("threshold  {crossed}"));
    }
    let is_covered = |subject| thresholds.iter().any(|threshold| threshold.subject == subject);
    let is_missing = counts.iter().any(|&(subject, count)| {
        matches!(subject, NicCount::Lost | NicCount::Wrong) && count > 0 && !is_covered(subject)
    });
    match (!crossed.is_empty(), is_missing) {
        (true, _) => Outcome::Threshold,
        (false, true) => Outcome::Missing,
        (false, false) => Outcome::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::Lines;

    #[test]
    fn losses_count_unless_a_threshold_accepts_them() {
        let judge = |thresholds: &[(NicCount, u64)], counts: &[(NicCount, u64)]| {
            let thresholds: Vec<_> = thresholds
                .iter()
                .map(|&(subject, count_max)| Threshold { subject, count_max })
                .collect();
            super::judge(&mut Console::new(Lines::Nowhere, false), &thresholds, counts)
        };
        let (lost, late) = (NicCount::Lost, NicCount::Late);
        assert_eq!(judge(&[], &[(lost, 0), (late, 7)]), Outcome::Whole);
        assert_eq!(judge(&[], &[(lost, 1), (late, 0)]), Outcome::Missing);
        assert_eq!(judge(&[(lost, 1)], &[(lost, 1), (late, 0)]), Outcome::Whole);
        assert_eq!(judge(&[(lost, 1)], &[(lost, 2), (late, 0)]), Outcome::Threshold);
        assert_eq!(judge(&[(late, 0)], &[(lost, 2), (late, 0)]), Outcome::Missing);
    }
}

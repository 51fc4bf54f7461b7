//! The account of a stream (`docs/statistics.md#the-account`) in words and in JSON.

use std::collections::BTreeMap;

use samplewire_record::account::{Balance, Defect};
use samplewire_record::sigmf::RecordedCause;

use crate::figures::grouped;

/// Numbers of JSON by their keys.
pub(crate) type Counts = BTreeMap<&'static str, u64>;

/// `100 indexes: 60 written, 40 missing`; `samples` is the word for the samples that are present.
/// Other terms appear if they are not zero.
pub(crate) fn words(balance: &Balance, samples: &str) -> String {
    let Balance { indexes, samples: there, missing, left_out, not_written, before_first } =
        *balance;
    let (indexes, there, missing) = (grouped(indexes), grouped(there), grouped(missing));
    let mut words = format!("{indexes} indexes: {there} {samples}, {missing} missing");
    let others = [
        (left_out, "left out by the device"),
        (not_written, "received but not written"),
        (before_first, "before the first sample"),
    ];
    for (count, term) in others.into_iter().filter(|other| other.0 > 0) {
        words += &format!(", {} {term}", grouped(count));
    }
    words
}

/// All terms of an account in JSON.
pub(crate) fn counts(balance: &Balance) -> Counts {
    let Balance { indexes, samples, missing, left_out, not_written, before_first } = *balance;
    [
        ("indexes", indexes),
        ("samples", samples),
        ("missing", missing),
        ("left_out", left_out),
        ("not_written", not_written),
        ("before_first", before_first),
    ]
    .into()
}

/// Samples missing, by cause, in JSON.
pub(crate) fn gap_counts(samples: &[u64; RecordedCause::ALL.len()]) -> Counts {
    RecordedCause::ALL.into_iter().map(RecordedCause::key).zip(*samples).collect()
}

/// The error text for an account that does not add up: the numbers, and that the defect is in this
/// program.
pub(crate) fn defect_words(defect: &Defect) -> String {
    format!("the account of indexes does not add up: {defect}. {REPORT}")
}

const REPORT: &str = "This is a defect of samplewire, please report it";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_term_that_is_not_zero_is_named() {
        let terms = Balance {
            indexes: 237,
            samples: 170,
            missing: 10,
            left_out: 20,
            not_written: 20,
            before_first: 17,
        };
        assert_eq!(
            words(&terms, "written"),
            "237 indexes: 170 written, 10 missing, 20 left out by the device, 20 received but not \
             written, 17 before the first sample"
        );
        let whole = Balance { indexes: 5, samples: 5, missing: 0, ..terms };
        let whole = Balance { left_out: 0, not_written: 0, before_first: 0, ..whole };
        assert_eq!(words(&whole, "delivered"), "5 indexes: 5 delivered, 0 missing");
    }
}

//! At which index a stream begins.

use std::ops::RangeInclusive;

use samplewire_proto::SampleIndex;
use samplewire_proto::number::INDEX_MAX;

/// The first index of a stream whose opener requests `asked`; 0 requests the earliest. The result
/// is never before the start of `bounds`. A request after the end of `bounds` fails with `None`.
pub(super) fn first_index(
    asked: SampleIndex,
    bounds: RangeInclusive<SampleIndex>,
) -> Option<SampleIndex> {
    let first = match asked {
        0 => *bounds.start(),
        index => bounds.contains(&index).then_some(index)?,
    };
    (first <= FIRST_INDEX_MAX).then_some(first)
}

/// The largest index at which a stream may begin, so that enough indexes remain.
const FIRST_INDEX_MAX: SampleIndex = INDEX_MAX / 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_of_now_is_the_first_that_there_is() {
        assert_eq!(first_index(0, 7..=9), Some(7));
        // The clock's index may be before the end of what was sent.
        #[expect(clippy::reversed_empty_ranges, reason = "it is what is asked")]
        let passed = 9..=7;
        assert_eq!(first_index(0, passed), Some(9));
    }

    #[test]
    fn index_that_has_passed_or_lies_too_far_ahead_is_refused() {
        let found: Vec<_> = (6..=10).map(|asked| first_index(asked, 7..=9)).collect();
        assert_eq!(found, [None, Some(7), Some(8), Some(9), None]);
    }

    #[test]
    fn index_that_leaves_no_room_to_go_on_is_refused() {
        let max = FIRST_INDEX_MAX;
        assert_eq!(first_index(max, 0..=u64::MAX), Some(max));
        assert_eq!(first_index(max + 1, 0..=u64::MAX), None);
        assert_eq!(first_index(0, max + 1..=u64::MAX), None);
    }
}

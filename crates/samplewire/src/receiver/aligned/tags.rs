//! The tags of one stream that belong to later samples, or to the rest of a block.

use arrayvec::ArrayVec;
use samplewire_circuit::{Tag, Tags};
use samplewire_proto::SampleIndex;

/// Ordered by index.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingTags {
    tags: ArrayVec<Tag, LEN_MAX>,
    /// The number of tags that belong to the last returned samples.
    given: usize,
}

impl PendingTags {
    /// Takes the tags of a block. If there are too many, keeps the first: the others are not worth
    /// a stall.
    pub(super) fn put(&mut self, tags: &[Tag]) {
        let room = self.tags.remaining_capacity();
        self.tags.extend(tags.iter().take(room).copied());
    }

    /// Returns the tags up to `end`, which is the index after the last sample.
    pub(super) fn give(&mut self, end: SampleIndex) {
        self.given = self.tags.iter().take_while(|tag| tag.index <= end).count();
    }

    /// The tags of the last returned samples.
    pub(super) fn given(&self) -> &[Tag] {
        &self.tags[..self.given]
    }

    /// Drops the returned tags.
    pub(super) fn forget_given(&mut self) {
        self.tags.drain(..std::mem::take(&mut self.given));
    }
}

/// The number of tags that two blocks carry.
const LEN_MAX: usize = 2 * Tags::LEN_MAX;

#[cfg(test)]
mod tests {
    use samplewire_circuit::TagKind;

    use super::*;

    fn tags(indexes: impl IntoIterator<Item = u64>) -> Vec<Tag> {
        indexes.into_iter().map(|index| Tag { index, kind: TagKind::Start }).collect()
    }

    #[test]
    fn tag_is_given_once_with_the_samples_that_it_is_at_or_behind() {
        let mut pending = PendingTags::default();
        pending.put(&tags([3, 10, 11]));
        pending.give(10);
        assert_eq!(pending.given(), tags([3, 10]));
        pending.forget_given();
        // It came after the samples before it had been returned.
        pending.put(&tags([12]));
        pending.give(20);
        assert_eq!(pending.given(), tags([11, 12]));
        pending.forget_given();
        pending.give(30);
        assert_eq!(pending.given(), []);
    }

    #[test]
    fn crowd_of_tags_is_bounded() {
        let mut pending = PendingTags::default();
        pending.put(&tags(0..LEN_MAX as u64 + 5));
        pending.give(u64::MAX);
        assert_eq!(pending.given(), tags(0..LEN_MAX as u64));
    }
}

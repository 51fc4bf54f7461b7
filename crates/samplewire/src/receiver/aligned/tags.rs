//! The tags of one stream that are to come with samples which are given later, or in pieces.

use arrayvec::ArrayVec;
use samplewire_circuit::{Tag, Tags};
use samplewire_proto::SampleIndex;

/// In order of their indexes.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingTags {
    tags: ArrayVec<Tag, LEN_MAX>,
    /// How many of them are given with the samples that were given last.
    given: usize,
}

impl PendingTags {
    /// Takes the tags of a block; of a crowd the first: the rest is not worth a stall.
    pub(super) fn put(&mut self, tags: &[Tag]) {
        let room = self.tags.remaining_capacity();
        self.tags.extend(tags.iter().take(room).copied());
    }

    /// Gives those up to the end of samples, which is the index after the last.
    pub(super) fn give(&mut self, end: SampleIndex) {
        self.given = self.tags.iter().take_while(|tag| tag.index <= end).count();
    }

    /// Those that were given last.
    pub(super) fn given(&self) -> &[Tag] {
        &self.tags[..self.given]
    }

    /// Lets go of what was given.
    pub(super) fn forget_given(&mut self) {
        self.tags.drain(..std::mem::take(&mut self.given));
    }
}

/// What two blocks carry.
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
        // It came when the samples before it had been given.
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

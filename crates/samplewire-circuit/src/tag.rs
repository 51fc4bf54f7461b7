//! Tags: what changed at which sample, carried inside the quantum.

use std::ops::Deref;

/// An event at one sample index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tag {
    /// The sample index from which it holds.
    pub index: u64,
    /// What happened.
    pub kind: TagKind,
}

/// What a [`Tag`] says.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum TagKind {
    /// The index was set on purpose: a stream or a burst begins.
    Start,
    /// The sample before the tag's index is the last of a burst.
    EndOfBurst,
    /// The source lost samples just before the tag's index.
    Overflow {
        /// How many: 0 where they were fewer than one of the stream's rate.
        lost_samples: u64,
    },
    /// The stream goes on at the tag's index, behind samples that a block did not pass on.
    Gap {
        /// How many: 0 where they were fewer than one of the stream's rate.
        lost_samples: u64,
        /// What they were lost for.
        cause: &'static str,
    },
    /// A sync word ends in the sample at the tag's index: a byte.
    Sync {
        /// Its last bit is this one, counted from the highest, 0, to the lowest, 7.
        bit: u8,
        /// How many of its bits are wrong.
        wrong_bits: u8,
    },
    /// The centre frequency changed.
    Frequency {
        /// In hertz.
        hz: f64,
    },
    /// The gain changed.
    Gain {
        /// In decibels.
        db: f64,
    },
    /// The sample rate changed.
    Rate {
        /// In samples per second and channel.
        hz: f64,
    },
}

impl TagKind {
    /// How many samples are missing before the tag's index.
    pub(crate) fn lost_samples_mut(&mut self) -> Option<&mut u64> {
        match self {
            Self::Overflow { lost_samples } | Self::Gap { lost_samples, .. } => Some(lost_samples),
            _ => None,
        }
    }

    /// Whether both say that samples are missing, for the same cause.
    fn is_loss_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Overflow { .. }, Self::Overflow { .. }) => true,
            (Self::Gap { cause, .. }, Self::Gap { cause: other, .. }) => cause == other,
            _ => false,
        }
    }
}

/// The tags of one quantum, in the order in which they were added: at most [`Tags::LEN_MAX`].
///
/// Derefs to a slice. Adding one more than fits is an error that hands the tag back, so the caller
/// either starts another quantum at that index or counts the loss.
///
/// ```
/// use samplewire_circuit::{Tag, TagKind, Tags};
///
/// let mut tags = Tags::default();
/// tags.push(Tag { index: 7, kind: TagKind::Start })?;
/// assert_eq!(tags[0].index, 7);
/// # Ok::<(), samplewire_circuit::TagsFull>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Tags {
    /// First: where there are none, nothing else is looked at.
    len: usize,
    entries: [Tag; Self::LEN_MAX],
}

impl Tags {
    /// How many tags a quantum holds.
    pub const LEN_MAX: usize = 8;

    /// Where their count ends.
    #[cfg(not(loom))]
    pub(crate) const COUNT_END_BYTES: usize = std::mem::offset_of!(Self, entries);

    /// Adds a tag.
    ///
    /// # Errors
    /// [`TagsFull`] with the tag when there are [`Tags::LEN_MAX`] already.
    pub fn push(&mut self, tag: Tag) -> Result<(), TagsFull> {
        let entry = self.entries.get_mut(self.len).ok_or(TagsFull { tag })?;
        *entry = tag;
        self.len += 1;
        Ok(())
    }

    /// Adds a tag behind those of its index and before those of later ones.
    ///
    /// # Errors
    /// See [`Tags::push`].
    pub fn insert(&mut self, tag: Tag) -> Result<(), TagsFull> {
        let at = self.iter().rposition(|other| other.index <= tag.index).map_or(0, |at| at + 1);
        self.push(tag)?;
        self.entries[at..self.len].rotate_right(1);
        Ok(())
    }

    /// Adds a tag before the first sample behind all that are there. Those that say that samples are
    /// missing then stand together at that sample, one for each cause.
    ///
    /// # Errors
    /// See [`Tags::push`].
    pub(crate) fn push_before_samples(&mut self, mut tag: Tag) -> Result<(), TagsFull> {
        let Some(lost) = tag.kind.lost_samples_mut().copied() else { return self.push(tag) };
        let mut is_added = false;
        for other in &mut self.entries[..self.len] {
            let is_same = !is_added && other.kind.is_loss_as(&tag.kind);
            if let Some(sum) = other.kind.lost_samples_mut() {
                other.index = tag.index;
                if is_same {
                    *sum = sum.saturating_add(lost);
                    is_added = true;
                }
            }
        }
        if is_added { Ok(()) } else { self.push(tag) }
    }

    /// Removes all tags.
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

impl Default for Tags {
    fn default() -> Self {
        let unused = Tag { index: 0, kind: TagKind::Start };
        Self { entries: [unused; Self::LEN_MAX], len: 0 }
    }
}

impl Deref for Tags {
    type Target = [Tag];
    fn deref(&self) -> &[Tag] {
        &self.entries[..self.len]
    }
}

impl PartialEq for Tags {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

/// A quantum holds no further tag.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{tag:?} does not fit: the quantum holds {max} tags already", max = Tags::LEN_MAX)]
pub struct TagsFull {
    /// The tag that was not added.
    pub tag: Tag,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninth_tag_is_handed_back() {
        let mut tags = Tags::default();
        let tag = |index| Tag { index, kind: TagKind::Overflow { lost_samples: index } };
        for index in 0..8 {
            tags.push(tag(index)).unwrap();
        }
        assert_eq!(tags.push(tag(8)), Err(TagsFull { tag: tag(8) }));
        assert_eq!(
            tags.iter().map(|tag| tag.index).collect::<Vec<_>>(),
            (0..8).collect::<Vec<_>>()
        );
        tags.clear();
        assert!(tags.is_empty());
    }

    #[test]
    fn losses_without_a_sample_between_become_one_for_each_cause() {
        let gap = |index, lost_samples, cause| {
            let kind = TagKind::Gap { lost_samples, cause };
            Tag { index, kind }
        };
        let overflow =
            |index, lost_samples| Tag { index, kind: TagKind::Overflow { lost_samples } };
        let start = Tag { index: 3, kind: TagKind::Start };
        let mut tags = Tags::default();
        let given = [gap(3, 3, "a"), start, gap(5, 2, "b"), overflow(6, 1), gap(9, 3, "a")];
        given.into_iter().for_each(|tag| tags.push_before_samples(tag).unwrap());
        assert_eq!(*tags, [gap(9, 6, "a"), start, gap(9, 2, "b"), overflow(9, 1)]);
    }

    #[test]
    fn inserted_tag_stands_behind_those_of_its_index() {
        let mut tags = Tags::default();
        for (index, hz) in [(5, 0.0), (9, 1.0), (5, 2.0), (0, 3.0), (7, 4.0)] {
            tags.insert(Tag { index, kind: TagKind::Rate { hz } }).unwrap();
        }
        let order = tags.iter().map(|tag| match tag.kind {
            TagKind::Rate { hz } => (tag.index, hz),
            _ => unreachable!("all are rates"),
        });
        let expected = [(0, 3.0), (5, 0.0), (5, 2.0), (7, 4.0), (9, 1.0)];
        assert_eq!(order.collect::<Vec<_>>(), expected);
    }
}

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
        /// How many.
        lost_samples: u64,
    },
    /// The stream goes on at the tag's index, behind samples that a block did not pass on.
    Gap {
        /// How many.
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
pub struct Tags {
    entries: [Tag; Self::LEN_MAX],
    len: usize,
}

impl Tags {
    /// How many tags a quantum holds.
    pub const LEN_MAX: usize = 8;

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

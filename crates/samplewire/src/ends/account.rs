//! Which samples of a received stream are in a graph, and why others are not.

use samplewire_circuit::{Published, Tag, TagKind, Tags};
use samplewire_proto::stream::End;
use samplewire_proto::{Cause, Gap, SampleIndex};

use crate::published::words;

/// The gaps of a stream by cause, and how far it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The index of the first sample.
    pub first_index: SampleIndex,
    /// The index after the last sample that was delivered or is missing, as of the last gap or the
    /// end of the stream.
    pub next_index: SampleIndex,
    /// How the stream ended, once it has.
    pub end: Option<End>,
    /// Samples missing after the last delivered one; no quantum reports them.
    pub missing_at_end: u64,
    /// Tags that found no room in a quantum: never those of gaps.
    pub tags_lost: u64,
    /// Gaps and samples by cause.
    by_cause: [(u64, u64); Cause::ALL.len()],
}

words!(Account { first_index, next_index, end, missing_at_end, tags_lost, by_cause });

impl Account {
    /// Of a stream whose first sample has this index.
    pub(super) fn from_index(first_index: SampleIndex) -> Self {
        Self { first_index, next_index: first_index, ..Self::default() }
    }

    /// Gaps of this cause, and the samples in them.
    pub fn of(&self, cause: Cause) -> (u64, u64) {
        self.by_cause[place(cause)]
    }

    /// Each cause with its gaps and the samples in them; none are left out.
    pub fn causes(&self) -> impl Iterator<Item = (Cause, u64, u64)> {
        Cause::ALL.into_iter().zip(self.by_cause).map(|(cause, of)| (cause, of.0, of.1))
    }

    /// Samples in gaps of any cause.
    pub fn missing_samples(&self) -> u64 {
        self.by_cause.iter().map(|of| of.1).sum()
    }

    /// Counts a gap.
    pub(super) fn count(&mut self, gap: &Gap) {
        self.count_of(gap.cause, gap.not_repaired);
        self.count_of(Cause::SourceOverflow, gap.source_lost);
        self.next_index = gap.end();
    }

    fn count_of(&mut self, cause: Cause, samples: u64) {
        let of = &mut self.by_cause[place(cause)];
        *of = (of.0 + u64::from(samples > 0), of.1 + samples);
    }
}

/// Reads an [`Account`] while the graph runs, and when it has ended.
#[derive(Clone, Debug)]
pub struct AccountHandle(pub(super) Published<Account>);

impl AccountHandle {
    /// The account as of the last gap or the end.
    pub fn read(&self) -> Account {
        self.0.read()
    }
}

/// What is missing before the next sample, by cause: gaps that follow one another are one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missing([u64; Cause::ALL.len()]);

impl Missing {
    pub(super) fn add(&mut self, gap: &Gap) {
        self.0[place(gap.cause)] += gap.not_repaired;
        self.0[place(Cause::SourceOverflow)] += gap.source_lost;
    }

    pub(super) fn samples(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The tags for the sample at `index`: fewer than a quantum holds. Nothing is missing after.
    pub(super) fn take_tags(&mut self, index: SampleIndex) -> Tags {
        let mut tags = Tags::default();
        for (cause, samples) in Cause::ALL.into_iter().zip(std::mem::take(&mut self.0)) {
            if samples > 0 {
                let kind = kind_of(cause, samples);
                tags.push(Tag { index, kind }).expect("fewer causes than places for tags");
            }
        }
        tags
    }
}

fn kind_of(cause: Cause, lost_samples: u64) -> TagKind {
    match cause {
        Cause::SourceOverflow => TagKind::Overflow { lost_samples },
        _ => TagKind::Gap { lost_samples, cause: cause.as_str() },
    }
}

/// The missing samples before a tag, and their cause. Samples that a block of the graph did not
/// pass on count as lost at the source for the blocks after it.
pub fn missing_before(kind: &TagKind) -> Option<(Cause, u64)> {
    match *kind {
        TagKind::Overflow { lost_samples } => Some((Cause::SourceOverflow, lost_samples)),
        TagKind::Gap { lost_samples, cause: words } => {
            let known = Cause::ALL.into_iter().find(|cause| cause.as_str() == words);
            Some((known.unwrap_or(Cause::SourceOverflow), lost_samples))
        }
        _ => None,
    }
}

fn place(cause: Cause) -> usize {
    Cause::ALL.iter().position(|&other| other == cause).expect("all causes are there")
}

const _: () = assert!(Cause::ALL.len() <= Tags::LEN_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_between_two_samples_are_one_tag_for_each_cause() {
        let (mut account, mut at_hand) = (Account::default(), Missing::default());
        let gaps = [
            Gap { first: 10, not_repaired: 5, source_lost: 0, cause: Cause::Deadline },
            Gap { first: 15, not_repaired: 2, source_lost: 3, cause: Cause::Deadline },
            Gap { first: 20, not_repaired: 1, source_lost: 0, cause: Cause::ReceiverBehind },
        ];
        for gap in &gaps {
            account.count(gap);
            at_hand.add(gap);
        }
        assert_eq!(at_hand.samples(), 11);
        let tags = at_hand.take_tags(21);
        let found: Vec<_> = tags.iter().map(|tag| missing_before(&tag.kind).unwrap()).collect();
        assert_eq!(
            found,
            [(Cause::SourceOverflow, 3), (Cause::Deadline, 7), (Cause::ReceiverBehind, 1)]
        );
        assert!(at_hand.samples() == 0 && at_hand.take_tags(21).is_empty());
        assert_eq!((account.missing_samples(), account.next_index), (11, 21));
        assert_eq!(account.of(Cause::Deadline), (2, 7));
    }
}

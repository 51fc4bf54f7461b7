//! When each part of the world acts next.
//!
//! A world has few parts (links and processes), each of which knows its own next instant. Packets
//! on their way lie in order within their link. One minimum over a short array therefore does what
//! a heap of all events would, without its memory.

use samplewire_proto::Nanos;

/// The next instant of each part, by number.
#[derive(Debug)]
pub(crate) struct Agenda {
    at: Vec<u64>,
}

impl Agenda {
    pub(crate) fn new(parts: usize) -> Self {
        Self { at: vec![NEVER; parts] }
    }

    pub(crate) fn set(&mut self, part: usize, at: Option<Nanos>) {
        self.at[part] = at.map_or(NEVER, |at| at.0);
    }

    /// Moves a part's instant forward to `at`, never back.
    pub(crate) fn hasten(&mut self, part: usize, at: Nanos) {
        self.at[part] = self.at[part].min(at.0);
    }

    /// The part that acts next; of several at one instant the lowest.
    pub(crate) fn next(&self) -> Option<(Nanos, usize)> {
        let mut next = (NEVER, 0);
        for (part, &at) in self.at.iter().enumerate() {
            if at < next.0 {
                next = (at, part);
            }
        }
        (next.0 != NEVER).then_some((Nanos(next.0), next.1))
    }
}

const NEVER: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_part_acts_and_ties_go_to_the_lowest() {
        let mut agenda = Agenda::new(3);
        assert_eq!(agenda.next(), None);
        agenda.set(2, Some(Nanos(5)));
        agenda.set(1, Some(Nanos(5)));
        assert_eq!(agenda.next(), Some((Nanos(5), 1)));
        agenda.hasten(2, Nanos(4));
        agenda.hasten(2, Nanos(9));
        assert_eq!(agenda.next(), Some((Nanos(4), 2)));
    }
}

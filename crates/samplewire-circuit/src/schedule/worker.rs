//! What one thread of a relay works on: its replicas, its quanta, and where it counts its calls.

use std::time::Duration;

use crate::group::WAITING_MAX;
use crate::quantum::Quantum;
use crate::schedule::calls::{Calls, Filled, Halt, Post};
use crate::schedule::relay::{Account, Relay, stop};
use crate::task::Visit;
use crate::wait::Bell;

/// One thread's part of a relay.
pub(super) struct Worker<'a> {
    pub(super) relay: &'a Relay,
    pub(super) number: usize,
    /// This thread's replicas.
    pub(super) middle: Vec<(Box<dyn Visit>, Post)>,
    /// Where this thread's calls of the blocks at the ends are counted.
    pub(super) first: Vec<Post>,
    pub(super) last: Vec<Post>,
    /// Its quanta: first the run of this turn, in its order. Those are refilled each turn, and stay
    /// in a cache.
    pub(super) quanta: Vec<Filled>,
    /// How many are of the run.
    run: usize,
    /// How many to fill in a turn at most: no more than there are.
    run_max: usize,
    pub(super) calls: Calls<'a>,
}

impl<'a> Worker<'a> {
    /// The relay's thread `number`, with its replicas of the blocks in the middle, its posts at the
    /// ends, and its quanta.
    pub(super) fn new(
        relay: &'a Relay,
        number: usize,
        middle: Vec<(Box<dyn Visit>, Post)>,
        (first, last): (Vec<Post>, Vec<Post>),
        quanta: Vec<Quantum>,
    ) -> Self {
        let quanta = quanta.into_iter().map(Filled::new).collect();
        let bell: &Bell = &relay.bells[number];
        let calls = Calls::new(&relay.shared, &relay.indexes, bell);
        Self { relay, number, middle, first, last, quanta, run: 0, run_max: 1, calls }
    }

    /// Whether neither end is called in turns.
    pub(super) fn is_apart(&self) -> bool {
        self.first.is_empty() && self.last.is_empty()
    }

    /// Stops its replicas, and lets its quanta go.
    pub(super) fn stop(&mut self) {
        let shared = self.calls.shared;
        self.middle.iter_mut().for_each(|(block, post)| stop(shared, post.node, &mut **block));
        self.quanta.clear();
        self.publish();
    }

    /// Its replicas, for the graph.
    pub(super) fn into_blocks(self) -> Vec<Box<dyn Visit>> {
        self.middle.into_iter().map(|(block, _)| block).collect()
    }

    /// Passes to the line's end what it worked on.
    pub(super) fn pass_on(
        &mut self,
        last: &mut [Box<dyn Visit>],
        account: &mut Account,
    ) -> Result<(), Halt> {
        account.under_way -= self.run;
        for filled in &mut self.quanta[..self.run] {
            if !account.is_over && filled.goes_on {
                for (block, post) in last.iter_mut().zip(&mut self.last) {
                    if !self.calls.visit(&mut **block, post, filled)? {
                        break;
                    }
                }
            }
            if filled.is_last {
                self.relay.indexes.end_behind(filled.quantum.index());
                (account.is_over, account.is_ending) = (true, true);
            }
        }
        self.run = 0;
        Ok(())
    }

    /// Has the line's beginning fill what it is to work on.
    pub(super) fn fill(
        &mut self,
        first: &mut [Box<dyn Visit>],
        account: &mut Account,
    ) -> Result<(), Halt> {
        let mut looks = 0;
        account.is_ending |= self.calls.shared.is_draining();
        // A quantum that a paced block has waited with does not wait for those that follow.
        self.calls.has_waited = false;
        while !account.is_ending && self.run < self.run_max && !self.calls.has_waited {
            let filled = &mut self.quanta[self.run];
            filled.begin(account.next_index);
            let made = match first.first_mut() {
                Some(source) => self.calls.fill((source, &mut self.first[0]), filled)?,
                None => Some(self.relay.len),
            };
            let Some(made) = made else {
                if account.under_way > 0 || self.run > 0 {
                    // There is something to pass on meanwhile.
                    break;
                }
                self.calls.wait(&mut looks, WAITING_MAX, || false)?;
                account.is_ending = self.calls.shared.is_draining();
                continue;
            };
            account.next_index = filled.quantum.index().wrapping_add(made);
            for (block, post) in first.iter_mut().zip(&mut self.first).skip(1) {
                if !filled.goes_on || !self.calls.visit(&mut **block, post, filled)? {
                    break;
                }
            }
            account.is_ending = filled.is_last;
            if filled.goes_on || filled.is_last {
                self.run += 1;
                continue;
            }
            // A source may have nothing for ever, or a block behind it discard everything.
            if self.calls.shared.is_stopped() {
                return Err(Halt::Stopped);
            }
            account.is_ending = self.calls.shared.is_draining();
            if account.under_way > 0 || self.run > 0 {
                break;
            }
        }
        account.under_way += self.run;
        Ok(())
    }

    /// Works on what was filled: first on what was filled last, while it is in a cache.
    pub(super) fn work(&mut self) -> Result<(), Halt> {
        for at in (0..self.run).rev() {
            if self.quanta[at].goes_on {
                self.work_on(at)?;
            }
        }
        Ok(())
    }

    /// Has this thread's replicas work on the quantum `at` this place.
    pub(super) fn work_on(&mut self, at: usize) -> Result<(), Halt> {
        let filled = &mut self.quanta[at];
        let mut middle = self.middle.iter_mut();
        if self.first.is_empty()
            && let Some((source, post)) = middle.next()
        {
            self.calls.make((source, post), filled, self.relay.len)?;
        }
        for (block, post) in middle {
            if !filled.goes_on || !self.calls.visit(&mut **block, post, filled)? {
                break;
            }
        }
        Ok(())
    }

    /// It worked on its last run for so long: makes runs as long as they should be.
    pub(super) fn took(&mut self, work: Duration) {
        let was_full = self.run == self.run_max;
        self.run_max = match work {
            work if work < WORK_MIN && was_full => (2 * self.run_max).min(self.fitting()),
            work if work > 4 * WORK_MIN => (self.run_max / 2).max(1),
            _ => self.run_max,
        };
    }

    /// How many of its quanta fit a core's second cache together.
    fn fitting(&self) -> usize {
        let bytes = self.quanta[0].quantum.pool().config().capacity_bytes.max(1);
        self.quanta.len().min(RUN_BYTES_MAX / bytes).max(1)
    }

    pub(super) fn publish(&self) {
        let posts = self.middle.iter().map(|(_, post)| post);
        posts.chain(&self.first).chain(&self.last).for_each(|post| post.counting.publish());
        self.relay.meters.iter().for_each(|(whole, parts)| whole.set_sum(parts));
    }
}

/// How long a thread should work on a run: many times as long as it takes to pass the baton on, some
/// 100 ns with what both threads then fetch from one another.
const WORK_MIN: Duration = Duration::from_micros(4);
/// How long a run's samples are at most, all together, so that they stay in a core's second cache; a run
/// has one quantum at least.
const RUN_BYTES_MAX: usize = 256 * 1024;

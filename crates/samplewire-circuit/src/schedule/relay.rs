//! The relay of [`ByQuantum`](crate::ByQuantum): threads that work on quanta of one line and take
//! turns at its ends.
//!
//! The turn goes round the threads. Who has it passes the quanta that it worked on to the line's end
//! and has its beginning fill them again, then hands the turn on and works on them. Fills and ends
//! are so in one order. What changes at each turn is one cache line, besides the blocks' own state.
//! An end that has replicas is of the work, and where both have them there are no turns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::channel::Bell;
use crate::graph::Shared;
use crate::group::{Parked, WAITING_MAX, failed, panicked};
use crate::meter::Meter;
use crate::quantum::Quantum;
use crate::schedule::Waiting;
use crate::schedule::apart::Indexes;
use crate::schedule::calls::{Calls, Filled, Halt, Post};
use crate::task::{Names, Visit};

/// What the threads of a relay have in common.
#[repr(align(128))]
pub(super) struct Relay {
    /// The number of the thread that has the turn.
    turn: AtomicUsize,
    /// For who has the turn: never waited for.
    ends: Mutex<Ends>,
    bells: Vec<Arc<Bell>>,
    shared: Arc<Shared>,
    /// Where the stream ends; where nothing is called in turns, whose indexes are whose too.
    indexes: Indexes,
    /// How many samples a quantum holds.
    len: u64,
    /// For each node its meter, and the meters of its parts on the threads.
    meters: Vec<(Arc<Meter>, Vec<Arc<Meter>>)>,
}

/// The two ends of the line.
struct Ends {
    first: Vec<Box<dyn Visit>>,
    last: Vec<Box<dyn Visit>>,
    /// The index that follows what the source made last.
    next_index: u64,
    /// Quanta that were filled and have not come to the line's end.
    under_way: usize,
    /// No quantum will be filled.
    is_ending: bool,
    /// A block ended the stream at the line's end: what still comes goes home.
    is_over: bool,
}

/// One thread of a relay, in cache lines of its own.
#[repr(align(128))]
pub(super) struct Worker<'a> {
    relay: &'a Relay,
    number: usize,
    /// This thread's replicas.
    middle: Vec<(Box<dyn Visit>, Post)>,
    /// Where this thread's calls of the blocks at the ends are counted.
    first: Vec<Post>,
    last: Vec<Post>,
    pub(super) free: Vec<Quantum>,
    /// The quanta of this turn, in their order.
    run: Vec<Filled>,
    pub(super) calls: Calls<'a>,
}

impl Relay {
    /// A relay of as many threads as each of `meters` has parts.
    pub(super) fn new(
        first: Vec<Box<dyn Visit>>,
        last: Vec<Box<dyn Visit>>,
        meters: Vec<(Arc<Meter>, Vec<Arc<Meter>>)>,
        shared: Arc<Shared>,
        waiting: Waiting,
        len: u64,
    ) -> Self {
        let bell = |_: &Arc<Meter>| Arc::new(Bell::new(waiting == Waiting::Spin));
        let bells: Vec<_> = meters[0].1.iter().map(bell).collect();
        shared.begin();
        shared.set_bells(bells.clone());
        shared.set_homes(Vec::new());
        let indexes = Indexes::new(len);
        let ends =
            Ends { first, last, next_index: 0, under_way: 0, is_ending: false, is_over: false };
        let (turn, ends) = (AtomicUsize::new(0), Mutex::new(ends));
        Self { turn, ends, bells, shared, indexes, len, meters }
    }

    /// Stops the blocks at the ends, once all threads are done, and gives them back.
    pub(super) fn into_blocks(self) -> [Vec<Box<dyn Visit>>; 2] {
        let Self { shared, meters, ends, bells, .. } = self;
        meters.iter().for_each(|(whole, parts)| whole.set_sum(parts));
        bells.iter().for_each(|bell| shared.leave(bell));
        let mut ends = ends.into_inner().unwrap_or_else(PoisonError::into_inner);
        let nodes = (0..ends.first.len()).chain(meters.len() - ends.last.len()..);
        for (node, block) in nodes.zip(ends.first.iter_mut().chain(&mut ends.last)) {
            stop(&shared, node, &mut **block);
        }
        [ends.first, ends.last]
    }

    /// Who has the turn waits for nobody.
    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Worker<'a> {
    /// The relay's thread `number`, with its replicas of the blocks in the middle, its posts at the
    /// ends, and its quanta.
    pub(super) fn new(
        relay: &'a Relay,
        number: usize,
        middle: Vec<(Box<dyn Visit>, Post)>,
        (first, last): (Vec<Post>, Vec<Post>),
        free: Vec<Quantum>,
    ) -> Self {
        let run = Vec::with_capacity(free.len());
        let bell = &*relay.bells[number];
        // Until it runs: on its thread.
        let (shared, indexes, waker) = (&relay.shared, &relay.indexes, Waker::noop().clone());
        let calls = Calls { shared, bell, indexes, waker, at: 0 };
        Self { relay, number, middle, first, last, free, run, calls }
    }

    /// Runs to the end of the stream, or until the graph is stopped.
    pub(super) fn run(&mut self) {
        self.calls.waker = Parked::waker(thread::current());
        // What a panic leaves is not used again but for dropping it.
        let halted = catch_unwind(AssertUnwindSafe(|| {
            self.start()?;
            let is_apart = self.first.is_empty() && self.last.is_empty();
            if is_apart { self.apart(&self.relay.indexes) } else { self.turns() }
        }));
        let (shared, at) = (self.calls.shared, self.calls.at);
        match halted {
            Ok(Ok(()) | Err(Halt::Stopped)) => {}
            Ok(Err(Halt::Failed(failure))) => shared.fail(failed(shared, at, failure)),
            Err(panic) => shared.fail(panicked(shared, at, &*panic)),
        }
        self.middle.iter_mut().for_each(|(block, post)| stop(shared, post.node, &mut **block));
        self.run.clear();
        self.free.clear();
        self.publish();
    }

    /// Its replicas, for the graph.
    pub(super) fn into_blocks(self) -> Vec<Box<dyn Visit>> {
        self.middle.into_iter().map(|(block, _)| block).collect()
    }

    /// Starts its replicas, and the first thread the blocks at the ends too: it has the first turn.
    fn start(&mut self) -> Result<(), Halt> {
        let waker = Waker::from(Arc::new(Everybody(self.relay.bells.clone())));
        let names = Names { names: &self.relay.shared.names, waker: &|_| waker.clone() };
        let at = &mut self.calls.at;
        let mut start = |block: &mut Box<dyn Visit>, post: &Post| {
            *at = post.node;
            block.start(&names.of(post.node)).map_err(Halt::Failed)
        };
        if self.number == 0 {
            let mut ends = self.relay.ends();
            let Ends { first, last, .. } = &mut *ends;
            let ends = first.iter_mut().zip(&self.first).chain(last.iter_mut().zip(&self.last));
            for (block, post) in ends {
                start(block, post)?;
            }
        }
        self.middle.iter_mut().try_for_each(|(block, post)| start(block, post))
    }

    fn turns(&mut self) -> Result<(), Halt> {
        for turn in 1_u32.. {
            self.wait_for_turn()?;
            let is_done = self.turn()?;
            self.hand_on();
            if is_done {
                break;
            }
            self.work()?;
            if turn.is_multiple_of(PUBLISHED_EVERY) {
                self.publish();
            }
        }
        Ok(())
    }

    fn wait_for_turn(&self) -> Result<(), Halt> {
        let mut looks = 0;
        // Acquire pairs with the Release in `hand_on`: the ends are as they were left.
        while self.relay.turn.load(Ordering::Acquire) != self.number {
            self.calls.wait(&mut looks, WOKEN_MAX, || {
                self.relay.turn.load(Ordering::Relaxed) == self.number
            })?;
        }
        if self.calls.shared.is_stopped() { Err(Halt::Stopped) } else { Ok(()) }
    }

    fn hand_on(&self) {
        let next = if self.number + 1 == self.relay.bells.len() { 0 } else { self.number + 1 };
        self.relay.turn.store(next, Ordering::Release);
        self.relay.bells[next].ring();
    }

    /// Passes on what it worked on, and has the source fill more: whether nothing is left to do.
    fn turn(&mut self) -> Result<bool, Halt> {
        let mut ends = self.relay.ends();
        self.pass_on(&mut ends)?;
        self.fill(&mut ends)?;
        Ok(ends.is_ending && ends.under_way == 0)
    }

    fn pass_on(&mut self, ends: &mut Ends) -> Result<(), Halt> {
        ends.under_way -= self.run.len();
        for mut filled in self.run.drain(..) {
            if !ends.is_over && filled.goes_on {
                for (block, post) in ends.last.iter_mut().zip(&mut self.last) {
                    if !self.calls.visit(&mut **block, post, &mut filled)? {
                        break;
                    }
                }
            }
            if filled.is_last {
                self.relay.indexes.end_behind(filled.quantum.index());
                (ends.is_over, ends.is_ending) = (true, true);
            }
            self.free.push(filled.quantum);
        }
        Ok(())
    }

    fn fill(&mut self, ends: &mut Ends) -> Result<(), Halt> {
        // Others look at the cache line of the ends: it is written once.
        let mut next_index = ends.next_index;
        let mut looks = 0;
        let mut is_ending = ends.is_ending || self.calls.shared.is_draining();
        while !is_ending && let Some(quantum) = self.free.pop() {
            let mut filled = Filled::new(quantum, next_index);
            let made = match ends.first.first_mut() {
                Some(source) => self.calls.fill((source, &mut self.first[0]), &mut filled)?,
                None => Some(self.relay.len),
            };
            let Some(made) = made else {
                self.free.push(filled.quantum);
                if ends.under_way > 0 || !self.run.is_empty() {
                    // There is something to pass on meanwhile.
                    break;
                }
                self.calls.wait(&mut looks, WAITING_MAX, || false)?;
                is_ending = self.calls.shared.is_draining();
                continue;
            };
            next_index = filled.quantum.index().wrapping_add(made);
            for (block, post) in ends.first.iter_mut().zip(&mut self.first).skip(1) {
                if !filled.goes_on || !self.calls.visit(&mut **block, post, &mut filled)? {
                    break;
                }
            }
            is_ending = filled.is_last;
            if filled.goes_on || filled.is_last {
                self.run.push(filled);
            } else {
                self.free.push(filled.quantum);
            }
        }
        ends.next_index = next_index;
        ends.under_way += self.run.len();
        ends.is_ending = is_ending;
        Ok(())
    }

    /// Works on what was filled: first on what was filled last, while it is in a cache.
    fn work(&mut self) -> Result<(), Halt> {
        let mut run = std::mem::take(&mut self.run);
        let mut first = run.iter_mut().rev().filter(|filled| filled.goes_on);
        let halted = first.try_for_each(|filled| self.work_on(filled));
        self.run = run;
        halted
    }

    /// Has this thread's replicas work on a quantum.
    pub(super) fn work_on(&mut self, filled: &mut Filled) -> Result<(), Halt> {
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

    pub(super) fn publish(&self) {
        let posts = self.middle.iter().map(|(_, post)| post);
        posts.chain(&self.first).chain(&self.last).for_each(|post| post.counting.publish());
        self.relay.meters.iter().for_each(|(whole, parts)| whole.set_sum(parts));
    }
}

/// Wakes every thread: a block at the ends is called on any.
struct Everybody(Vec<Arc<Bell>>);

impl Wake for Everybody {
    fn wake(self: Arc<Self>) {
        self.0.iter().for_each(|bell| bell.ring());
    }
}

/// Stops a block; a failure or a panic stops the graph.
fn stop(shared: &Shared, node: usize, block: &mut dyn Visit) {
    match catch_unwind(AssertUnwindSafe(|| block.stop())) {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => shared.fail(failed(shared, node, failure)),
        Err(panic) => shared.fail(panicked(shared, node, &*panic)),
    }
}

/// Turns between two times that a thread publishes its counters.
const PUBLISHED_EVERY: u32 = 64;
/// How long a thread sleeps at most that others wake.
const WOKEN_MAX: Duration = Duration::from_secs(1);

//! The relay of [`ByQuantum`](crate::ByQuantum): threads that work on quanta of one line and take
//! turns at its ends.
//!
//! A baton goes round the threads. Its holder passes the quanta that it worked on to the line's end
//! and has the line's beginning fill them again. Then it passes the baton on and works on the new
//! quanta. So fills and ends keep one order. Each turn moves the baton's cache line and the blocks'
//! own state between cores. An end that has replicas is part of the work. If both ends have
//! replicas, there are no turns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use crate::channel::{Held, Place};
use crate::graph::Shared;
use crate::group::{failed, panicked};
use crate::meter::Meter;
use crate::schedule::apart::Indexes;
use crate::schedule::calls::Halt;
use crate::schedule::worker::Worker;
use crate::schedule::{LOOKS, Waiting};
use crate::task::{Names, Visit};
use crate::wait::{Bell, thread_waker};

/// What the threads of a relay have in common, and none changes at each turn.
pub(super) struct Relay {
    pub(super) bells: Vec<Arc<Bell>>,
    pub(super) shared: Arc<Shared>,
    /// Where the stream ends; where nothing is called in turns, whose indexes are whose too.
    pub(super) indexes: Indexes,
    /// How many samples a quantum holds.
    pub(super) len: u64,
    /// For each node its meter, and the meters of its parts on the threads.
    pub(super) meters: Vec<(Arc<Meter>, Vec<Arc<Meter>>)>,
}

/// The two ends of the line: the baton.
pub(super) struct Ends {
    first: Box<[Box<dyn Visit>]>,
    last: Box<[Box<dyn Visit>]>,
    account: Account,
}

/// What became of quanta at the ends.
#[derive(Clone, Copy, Default)]
pub(super) struct Account {
    /// The index that follows what the source made last.
    pub(super) next_index: u64,
    /// Quanta that were filled and have not come to the line's end.
    pub(super) under_way: usize,
    /// No quantum will be filled.
    pub(super) is_ending: bool,
    /// A block ended the stream at the line's end: what still comes returns to its pool.
    pub(super) is_over: bool,
}

/// One thread of a relay, in cache lines of its own.
#[repr(align(128))]
pub(super) struct Runner<'a> {
    place: Place<Ends>,
    worker: Worker<'a>,
}

impl Relay {
    /// A relay of as many threads as each of `meters` has parts.
    pub(super) fn new(
        meters: Vec<(Arc<Meter>, Vec<Arc<Meter>>)>,
        shared: Arc<Shared>,
        waiting: Waiting,
        len: u64,
    ) -> Self {
        let bell = |_: &Arc<Meter>| Arc::new(Bell::of(waiting == Waiting::Spin));
        let bells: Vec<_> = meters[0].1.iter().map(bell).collect();
        shared.begin();
        shared.set_bells(bells.clone());
        shared.set_group_of(Vec::new());
        Self { bells, shared, indexes: Indexes::new(len), len, meters }
    }

    /// Stops the blocks at the ends, once all threads are done, and gives them back.
    pub(super) fn into_blocks(self, ends: Ends) -> [Vec<Box<dyn Visit>>; 2] {
        let Self { shared, meters, bells, .. } = self;
        let Ends { mut first, mut last, .. } = ends;
        meters.iter().for_each(|(whole, parts)| whole.set_sum(parts));
        bells.iter().for_each(|bell| shared.leave(bell));
        let nodes = (0..first.len()).chain(meters.len() - last.len()..);
        for (node, block) in nodes.zip(first.iter_mut().chain(&mut last)) {
            stop(&shared, node, &mut **block);
        }
        [first.into_vec(), last.into_vec()]
    }
}

impl Ends {
    /// Before anything was filled.
    pub(super) fn new(first: Vec<Box<dyn Visit>>, last: Vec<Box<dyn Visit>>) -> Self {
        let (first, last) = (first.into_boxed_slice(), last.into_boxed_slice());
        Self { first, last, account: Account::default() }
    }
}

impl<'a> Runner<'a> {
    /// The thread at `place`.
    pub(super) fn new(place: Place<Ends>, worker: Worker<'a>) -> Self {
        Self { place, worker }
    }

    /// Runs to the end of the stream, or until the graph is stopped.
    pub(super) fn run(&mut self) {
        self.worker.calls.waker = thread_waker();
        // What a panic leaves is not used again but for dropping it.
        let halted = catch_unwind(AssertUnwindSafe(|| {
            self.start()?;
            if self.worker.is_apart() { self.worker.apart() } else { self.turns() }
        }));
        let (shared, at) = (self.worker.calls.shared, self.worker.calls.at);
        match halted {
            Ok(Ok(()) | Err(Halt::Stopped)) => {}
            Ok(Err(Halt::Failed(failure))) => shared.fail(failed(shared, at, failure)),
            Err(panic) => shared.fail(panicked(shared, at, &*panic)),
        }
        self.worker.stop();
    }

    /// Its replicas, for the graph, and its place.
    pub(super) fn into_parts(self) -> (Vec<Box<dyn Visit>>, Place<Ends>) {
        (self.worker.into_blocks(), self.place)
    }

    /// Starts its replicas, and the first thread the blocks at the ends too: it has the first turn.
    fn start(&mut self) -> Result<(), Halt> {
        let Self { place, worker } = self;
        let waker = Waker::from(Arc::new(Everybody(worker.relay.bells.clone())));
        let names = Names { names: &worker.relay.shared.names, waker };
        if worker.number == 0 {
            let mut ends = place.hold().expect("the first has the first turn");
            let Ends { first, last, .. } = &mut *ends;
            let posts = worker.first.iter().chain(&worker.last);
            for (block, post) in first.iter_mut().chain(last).zip(posts) {
                worker.calls.start(&mut **block, post, &names)?;
            }
        }
        let mut middle = worker.middle.iter_mut();
        middle.try_for_each(|(block, post)| worker.calls.start(&mut **block, post, &names))
    }

    fn turns(&mut self) -> Result<(), Halt> {
        let Self { place, worker } = self;
        let (mut begin, mut published) = (None, Instant::now());
        for turn in 1_u32.. {
            let mut ends = wait_for_turn(place, worker)?;
            // Others look at the baton's cache line: it is written once.
            let mut account = ends.account;
            worker.pass_on(&mut ends.last, &mut account)?;
            worker.fill(&mut ends.first, &mut account)?;
            ends.account = account;
            ends.pass_on();
            worker.relay.bells[place.next()].ring();
            if account.is_ending && account.under_way == 0 {
                break;
            }
            if turn.is_multiple_of(LOOKED_EVERY) {
                begin = Some(Instant::now());
            }
            worker.work()?;
            if let Some(begin) = begin.take() {
                let end = Instant::now();
                worker.took(end - begin);
                if end - published >= PUBLISHED_EVERY {
                    worker.publish();
                    published = end;
                }
            }
        }
        Ok(())
    }
}

fn wait_for_turn<'a>(
    place: &'a mut Place<Ends>,
    worker: &Worker<'_>,
) -> Result<Held<'a, Ends>, Halt> {
    let mut looks = 0;
    while !place.is_here() {
        if looks == LOOKS {
            // It may be long.
            worker.publish();
        }
        worker.calls.wait(&mut looks, WOKEN_MAX, || place.is_here())?;
    }
    if worker.calls.shared.is_stopped() {
        return Err(Halt::Stopped);
    }
    Ok(place.hold().expect("no other thread passes it on"))
}

/// Wakes every thread: a block at the ends is called on any.
struct Everybody(Vec<Arc<Bell>>);

impl Wake for Everybody {
    fn wake(self: Arc<Self>) {
        self.0.iter().for_each(|bell| bell.ring());
    }
}

/// Stops a block; a failure or a panic stops the graph.
pub(super) fn stop(shared: &Shared, node: usize, block: &mut dyn Visit) {
    match catch_unwind(AssertUnwindSafe(|| block.stop())) {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => shared.fail(failed(shared, node, failure)),
        Err(panic) => shared.fail(panicked(shared, node, &*panic)),
    }
}

/// One turn in so many is timed.
const LOOKED_EVERY: u32 = 64;
/// How often a thread publishes its counters, but for the turns until it looks.
pub(super) const PUBLISHED_EVERY: Duration = Duration::from_millis(10);
/// How long a thread sleeps at most that others wake.
const WOKEN_MAX: Duration = Duration::from_secs(1);

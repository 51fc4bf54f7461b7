//! How a thread of a relay calls blocks, counts the calls, and waits.

use std::hint::spin_loop;
use std::sync::Arc;
use std::task::Waker;
use std::thread;
use std::time::Duration;

use crate::block::{Failure, Flow};
use crate::graph::Shared;
use crate::group::WAITING_MAX;
use crate::meter::{Counting, Meter};
use crate::quantum::Quantum;
use crate::sample::SampleSize;
use crate::schedule::LOOKS;
use crate::schedule::apart::Indexes;
use crate::task::{EXCHANGED, Names, Visit};
use crate::wait::Bell;

/// What a worker's calls need besides block and quantum.
pub(super) struct Calls<'a> {
    pub(super) shared: &'a Shared,
    /// Where the stream ends.
    pub(super) indexes: &'a Indexes,
    pub(super) bell: &'a Bell,
    pub(super) waker: Waker,
    /// The node at work.
    pub(super) at: usize,
    /// Whether a block has waited with a quantum, since this was last set to false.
    pub(super) has_waited: bool,
}

/// Where a thread's calls of a block are counted: in cache lines of that thread's.
#[repr(align(128))]
pub(super) struct Post {
    pub(super) node: usize,
    pub(super) sample_size: SampleSize,
    pub(super) counting: Counting,
}

/// A quantum of one thread's, in cache lines of that thread's: each call writes here what came of it.
#[repr(align(128))]
pub(super) struct Filled {
    pub(super) quantum: Quantum,
    /// Whether there is something in it for the next block.
    pub(super) goes_on: bool,
    /// Whether a block ended the stream with it.
    pub(super) is_last: bool,
}

impl Filled {
    /// One in which there is nothing yet.
    pub(super) fn new(quantum: Quantum) -> Self {
        Self { quantum, goes_on: false, is_last: false }
    }

    /// Empties it for samples from `index` on.
    pub(super) fn begin(&mut self, index: u64) {
        self.quantum.reset();
        self.quantum.set_index(index);
        (self.goes_on, self.is_last) = (true, false);
    }
}

/// Why a worker does not go on.
pub(super) enum Halt {
    /// The graph was stopped.
    Stopped,
    /// A block failed.
    Failed(Failure),
}

// What is called for each quantum is inlined: calls and results between cost 5 % where a block takes
// 150 ns.
impl<'a> Calls<'a> {
    /// Those of a thread that waits by `bell`, and is not running yet.
    pub(super) fn new(shared: &'a Shared, indexes: &'a Indexes, bell: &'a Bell) -> Self {
        Self { shared, indexes, bell, waker: Waker::noop().clone(), at: 0, has_waited: false }
    }

    /// Starts a block.
    pub(super) fn start(
        &mut self,
        block: &mut dyn Visit,
        post: &Post,
        names: &Names<'_>,
    ) -> Result<(), Halt> {
        self.at = post.node;
        block.start(&names.of(post.node)).map_err(Halt::Failed)
    }

    /// Has a block work on a quantum until it does not wait: whether the next block may.
    #[inline(always)]
    pub(super) fn visit(
        &mut self,
        block: &mut dyn Visit,
        post: &mut Post,
        filled: &mut Filled,
    ) -> Result<bool, Halt> {
        self.at = post.node;
        let samples = post.sample_size.samples(filled.quantum.len()) as u64;
        let mut looks = 0;
        loop {
            let pool = std::ptr::from_ref(filled.quantum.pool());
            let flow = post.counting.call(0, || block.visit(&mut filled.quantum));
            if !std::ptr::eq(filled.quantum.pool(), pool) {
                return Err(Halt::Failed(EXCHANGED.into()));
            }
            match flow {
                Ok(Flow::Pass) => {
                    post.counting.made(samples);
                    break;
                }
                Ok(Flow::End) => {
                    post.counting.made(samples);
                    filled.is_last = true;
                    break;
                }
                Ok(Flow::Wait | Flow::Sleep) if self.is_behind_end(filled) => {
                    filled.goes_on = false;
                    return Ok(false);
                }
                Ok(Flow::Wait | Flow::Sleep) => {
                    self.has_waited = true;
                    self.wait(&mut looks, WAITING_MAX, || false)?;
                }
                Ok(Flow::Discard) => {
                    post.counting.made(samples);
                    filled.goes_on = false;
                    return Ok(false);
                }
                Err(failure) => return Err(Halt::Failed(failure)),
            }
        }
        filled.goes_on = !filled.quantum.is_empty();
        Ok(filled.goes_on)
    }

    /// Has the source fill a quantum once: how many samples it made, `None` when it waits.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        (source, post): (&mut Box<dyn Visit>, &mut Post),
        filled: &mut Filled,
    ) -> Result<Option<u64>, Halt> {
        self.at = post.node;
        let flow = post.counting.call(0, || source.visit(&mut filled.quantum));
        match flow.map_err(Halt::Failed)? {
            Flow::Wait | Flow::Sleep => return Ok(None),
            Flow::Pass => {}
            Flow::End => filled.is_last = true,
            Flow::Discard => {
                filled.goes_on = false;
                return Ok(Some(0));
            }
        }
        let made = post.sample_size.samples(filled.quantum.len()) as u64;
        post.counting.made(made);
        post.counting.rate(filled.quantum.rate_hz());
        filled.goes_on = made > 0;
        Ok(Some(made))
    }

    /// Has a replica of the source fill a quantum with `len` samples, or end the stream.
    #[inline(always)]
    pub(super) fn make(
        &mut self,
        (source, post): (&mut Box<dyn Visit>, &mut Post),
        filled: &mut Filled,
        len: u64,
    ) -> Result<(), Halt> {
        let why = match self.fill((source, post), filled)? {
            Some(made) if made == len || filled.is_last => return Ok(()),
            Some(made) => format!("made {made} samples of {len}, and has replicas"),
            // What it waits for, an end among them, may wait for what this thread holds.
            None => "waits, and has replicas".into(),
        };
        Err(Halt::Failed(why.into()))
    }

    /// Whether a block has ended the stream before this quantum, which is then not waited for.
    fn is_behind_end(&self, filled: &Filled) -> bool {
        !self.indexes.is_wanted(filled.quantum.index())
    }

    /// Waits a little: polls for a while first, then sleeps for up to `sleep_max`, unless something
    /// is `ready`.
    #[inline]
    pub(super) fn wait(
        &self,
        looks: &mut u32,
        sleep_max: Duration,
        ready: impl Fn() -> bool,
    ) -> Result<(), Halt> {
        if self.shared.is_stopped() {
            return Err(Halt::Stopped);
        }
        if *looks < LOOKS || self.bell.spins() {
            *looks += 1;
            spin_loop();
            return Ok(());
        }
        self.bell.announce_to(&self.waker);
        if !ready() && !self.shared.is_stopped() {
            thread::park_timeout(sleep_max);
        }
        self.bell.clear();
        Ok(())
    }
}

impl Post {
    pub(super) fn new(node: usize, sample_size: SampleSize, part: &Arc<Meter>) -> Self {
        Self { node, sample_size, counting: Counting::new(Arc::clone(part)) }
    }
}

//! Groups: tasks that run on one thread at a time, in turn.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::block::Failure;
use crate::graph::{RunError, Shared};
use crate::task::{Names, Progress, Task, words_of_panic};
use crate::wait::{Bell, thread_waker};

/// Blocks of a graph that run on one thread at a time: what a scheduler polls, from
/// [`Graph::split`](crate::Graph::split).
///
/// As a future it is done when its blocks are, on any executor.
// In cache lines of its own: others of its graph lie beside it, and are polled on other threads.
#[repr(align(128))]
pub struct Group {
    tasks: Vec<Task>,
    shared: Arc<Shared>,
    bell: Arc<Bell>,
    state: State,
    /// Polls since the counters were published.
    polls: u32,
    /// How long it has slept without a wake while every other group slept too.
    idle: Duration,
    /// Of one that never sleeps: looks that found nothing since it was last watched.
    looks: u32,
    /// Since when it found nothing.
    idle_since: Option<Instant>,
    /// Whether it had found nothing for long when it was last watched.
    is_overdue: bool,
    /// Whether it is among those that had nothing to do for long.
    is_idle: bool,
    /// As a future: whether something outside of the graph is to wake it.
    waits_outside: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Fresh,
    Started,
    /// The sources have been requested to end.
    Draining,
    Done,
}

/// What a group came to, or a [`Custom`](crate::Custom) block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// It did something: poll it again.
    Moved,
    /// A block waits for something outside of the graph, and is to be asked again soon.
    Waiting,
    /// A block waits for something outside of the graph that wakes its group, by the block's
    /// [`Waker`](crate::Context::waker).
    Asleep,
    /// There is nothing to do before another group has moved.
    Idle,
    /// All its blocks have ended.
    Done,
}

impl Group {
    pub(crate) fn new(tasks: Vec<Task>, shared: Arc<Shared>, bell: Arc<Bell>) -> Self {
        Self {
            tasks,
            shared,
            bell,
            state: State::Fresh,
            polls: 0,
            idle: Duration::ZERO,
            looks: 0,
            idle_since: None,
            is_overdue: false,
            is_idle: false,
            waits_outside: false,
        }
    }

    /// Gives each task a turn. A failure or a panic of a block stops the graph, as do groups that
    /// never sleep and all have nothing to do for a second.
    pub fn poll(&mut self) -> Polled {
        let polled = self.poll_tasks();
        if self.bell.spins() {
            self.watch(polled);
        }
        polled
    }

    fn poll_tasks(&mut self) -> Polled {
        if self.state != State::Started && !self.change_state() {
            return Polled::Done;
        }
        if self.shared.is_stopped() || self.shared.is_draining() && self.state == State::Started {
            self.state = if self.shared.is_stopped() { self.end() } else { self.drain() };
            return Polled::Moved;
        }
        let mut progress = Progress::Done;
        for task in &mut self.tasks {
            // What a panic leaves is not used again but for dropping it.
            let polled = match catch_unwind(AssertUnwindSafe(|| task.poll())) {
                Ok(Ok(polled)) => polled,
                Ok(Err(failure)) => {
                    self.shared.fail(failed(&self.shared, task.at(), failure));
                    return Polled::Moved;
                }
                Err(panic) => {
                    self.shared.fail(panicked(&self.shared, task.at(), &*panic));
                    return Polled::Moved;
                }
            };
            progress = progress.max(polled);
        }
        self.polls += 1;
        if progress != Progress::Moved || self.polls >= PUBLISHED_EVERY {
            self.publish();
        }
        match progress {
            Progress::Moved => Polled::Moved,
            Progress::Waiting => Polled::Waiting,
            Progress::Asleep => Polled::Asleep,
            Progress::Idle => Polled::Idle,
            Progress::Done => {
                self.state = self.end();
                Polled::Done
            }
        }
    }

    /// Finds out whether groups that never sleep stand still.
    fn watch(&mut self, polled: Polled) {
        if polled != Polled::Idle {
            self.looks = 0;
            self.is_overdue = false;
            if self.idle_since.take().is_some() && std::mem::take(&mut self.is_idle) {
                // Relaxed, here and below: a count, looked at a second after it was last changed.
                self.shared.idle().fetch_sub(1, Ordering::Relaxed);
            }
            return;
        }
        self.looks += 1;
        if self.looks < WATCHED_EVERY {
            return;
        }
        self.looks = 0;
        let since = *self.idle_since.get_or_insert_with(Instant::now);
        if since.elapsed() < STALLED_AFTER {
            return;
        }
        // This poll may be as old as that: the thread may have been off its core since.
        if !std::mem::replace(&mut self.is_overdue, true) {
            return;
        }
        if !std::mem::replace(&mut self.is_idle, true) {
            self.shared.idle().fetch_add(1, Ordering::Relaxed);
        } else if self.shared.idle().load(Ordering::Relaxed) >= self.shared.groups() {
            self.stall();
        }
    }

    /// Polls once more, and sleeps when there still is nothing to do: until another group or a block
    /// wakes this one, or `timeout_max` has passed.
    ///
    /// # Blocking
    /// So long.
    pub fn sleep(&mut self, timeout_max: Duration) -> Polled {
        self.bell.announce();
        let polled = self.poll();
        match polled {
            // Rung meanwhile: a block may have used up the wake.
            Polled::Idle | Polled::Waiting | Polled::Asleep if !self.bell.is_announced() => {
                self.idle = Duration::ZERO;
            }
            Polled::Idle => {
                let begin = Instant::now();
                // Relaxed: a count, looked at after a long sleep.
                self.shared.idle().fetch_add(1, Ordering::Relaxed);
                thread::park_timeout(timeout_max);
                let idle = self.shared.idle().fetch_sub(1, Ordering::Relaxed);
                let is_alone = idle >= self.shared.groups() && self.shared.all_asleep();
                self.idle = if is_alone { self.idle + begin.elapsed() } else { Duration::ZERO };
                if self.idle >= STALLED_AFTER {
                    self.stall();
                }
            }
            Polled::Waiting => thread::park_timeout(timeout_max.min(WAITING_MAX)),
            Polled::Asleep => thread::park_timeout(timeout_max),
            Polled::Moved | Polled::Done => self.idle = Duration::ZERO,
        }
        self.bell.clear();
        polled
    }

    /// Whether it never sleeps: see [`Placement::spinning`](crate::Placement::spinning).
    pub fn spins(&self) -> bool {
        self.bell.spins()
    }

    /// As a future that is pending: whether something outside of the graph is to wake it.
    pub(crate) fn waits_outside(&self) -> bool {
        self.waits_outside
    }

    /// Fails the graph because it has stalled; the error names which block waits for what.
    pub(crate) fn stall(&self) {
        self.shared.fail_stalled();
    }

    /// Starts what is fresh; `false` when it is done.
    fn change_state(&mut self) -> bool {
        if self.state == State::Fresh {
            // Made here, so that no later sleep allocates.
            thread_waker();
            let waker = Waker::from(Arc::clone(&self.bell));
            let names = Names { names: &self.shared.names, waker };
            self.state = State::Started;
            for task in &mut self.tasks {
                // Another group has failed: what is not started need not be stopped.
                if self.shared.is_stopped() {
                    break;
                }
                if let Err((node, failure)) = task.start(&names) {
                    self.shared.fail(failed(&self.shared, node, failure));
                    break;
                }
            }
        }
        self.state != State::Done
    }

    fn drain(&mut self) -> State {
        self.tasks.iter_mut().for_each(Task::drain);
        State::Draining
    }

    /// Stops every block.
    fn end(&mut self) -> State {
        for task in &mut self.tasks {
            if let Err((node, failure)) = task.stop() {
                self.shared.fail(failed(&self.shared, node, failure));
            }
        }
        self.publish();
        self.shared.leave(&self.bell);
        State::Done
    }

    fn publish(&mut self) {
        self.polls = 0;
        self.tasks.iter().for_each(Task::publish);
    }

    pub(crate) fn into_tasks(self) -> Vec<Task> {
        self.tasks
    }
}

impl Future for Group {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut polled = Group::poll(&mut self);
        let waits = matches!(polled, Polled::Idle | Polled::Waiting | Polled::Asleep);
        if waits && !self.bell.spins() {
            self.bell.announce_to(context.waker());
            polled = Group::poll(&mut self);
            self.waits_outside = polled == Polled::Asleep;
            if polled == Polled::Idle || self.waits_outside {
                return Poll::Pending;
            }
            self.bell.clear();
        }
        if polled == Polled::Done {
            return Poll::Ready(());
        }
        // The block may wait without waking the group, so the group is polled again.
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group").field("state", &self.state).finish_non_exhaustive()
    }
}

/// The failure of the block at `node`.
pub(crate) fn failed(shared: &Shared, node: usize, failure: Failure) -> RunError {
    RunError::Failed { block: shared.names[node].clone(), failure }
}

/// The panic of the block at `node`, with what it said.
pub(crate) fn panicked(shared: &Shared, node: usize, panic: &(dyn Any + Send)) -> RunError {
    let message = words_of_panic(panic).to_owned();
    RunError::Panicked { block: shared.names[node].clone(), message }
}

/// How many looks of a group that never sleeps pass until the clock is read.
const WATCHED_EVERY: u32 = 1_024;
/// How many polls at most pass between two times that the counters are published.
const PUBLISHED_EVERY: u32 = 64;
/// How long every group sleeps without a wake before the graph counts as stalled.
const STALLED_AFTER: Duration = Duration::from_secs(1);
/// How long a block that waits without a waker is left alone.
pub(crate) const WAITING_MAX: Duration = Duration::from_micros(200);

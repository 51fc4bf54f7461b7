//! Blocks as futures on an executor of a few threads.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

use async_task::{Runnable, Task};

use crate::graph::{BlockView, Graph, Placement, RunError, Shared};
use crate::group::Group;
use crate::schedule::{Scheduler, spawn};

/// Runs blocks as futures on an executor of a few threads: for graphs of more branches than there are
/// CPUs. Whichever thread is free polls the group that was woken first.
///
/// Each turn of a group, up to 64 quanta, costs a lock of the queue that the threads share. The
/// groups are ordinary futures: to run them on another executor, await each [`Group`] that
/// [`Graph::split`] gives, and [`Graph::join`] them.
pub struct Async {
    threads: usize,
    group_of: Box<dyn FnMut(BlockView<'_>) -> usize>,
}

impl Async {
    /// Each block in a group of its own, on `threads` (at least 1) threads.
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.max(1), group_of: Box::new(|block| block.number()) }
    }

    /// Each block in the group whose number `group_of` says: blocks that follow one another in one
    /// group pass quanta on without a channel between.
    #[must_use]
    pub fn groups(self, group_of: impl FnMut(BlockView<'_>) -> usize + 'static) -> Self {
        Self { group_of: Box::new(group_of), ..self }
    }
}

impl Scheduler for Async {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let placement = Placement::by(graph, &mut self.group_of);
        let groups = graph.split(&placement);
        let executor =
            Arc::new(Executor::new(groups.len(), self.threads, Arc::clone(graph.shared())));
        let tasks: Vec<_> = groups.into_iter().map(|group| executor.spawn(group)).collect();
        let control = graph.control();
        thread::scope(|scope| {
            for number in 0..self.threads {
                if !spawn(scope, format!("async {number}"), &control, || executor.run()) {
                    // The graph was stopped: there is little left to poll, and perhaps no other thread.
                    executor.run();
                    break;
                }
            }
        });
        graph.join(tasks.into_iter().map(output).collect())
    }
}

/// What a future that is done came to.
fn output(mut task: Task<Group>) -> Group {
    match Pin::new(&mut task).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(group) => group,
        Poll::Pending => unreachable!("the executor runs until every future is done"),
    }
}

/// The futures that were woken, and the threads that poll them.
struct Executor {
    queue: Mutex<Queue>,
    woken: Condvar,
    threads: usize,
    shared: Arc<Shared>,
}

struct Queue {
    /// Room for every future: each is in it once at most.
    ready: VecDeque<Runnable>,
    /// Futures that are not done.
    left: usize,
    /// Threads that wait.
    idle: usize,
    /// Futures that wait for something outside of the graph.
    outside: usize,
}

impl Executor {
    fn new(futures: usize, threads: usize, shared: Arc<Shared>) -> Self {
        let ready = VecDeque::with_capacity(futures);
        let queue = Queue { ready, left: futures, idle: 0, outside: 0 };
        Self { queue: Mutex::new(queue), woken: Condvar::new(), threads, shared }
    }

    fn spawn(self: &Arc<Self>, mut group: Group) -> Task<Group> {
        let (executor, queue) = (Arc::clone(self), Arc::clone(self));
        #[expect(clippy::async_yields_async, reason = "a group that is done, for the join")]
        let run = async move {
            let mut was_outside = false;
            poll_fn(|context| {
                let polled = Pin::new(&mut group).poll(context);
                let is_outside = polled.is_pending() && group.waits_outside();
                if was_outside != is_outside {
                    executor.count_outside(is_outside);
                    was_outside = is_outside;
                }
                polled
            })
            .await;
            executor.end();
            group
        };
        let (runnable, task) = async_task::spawn(run, move |runnable| queue.push(runnable));
        runnable.schedule();
        task
    }

    /// Polls futures until all are done.
    fn run(&self) {
        while let Some(runnable) = self.next() {
            runnable.run();
        }
    }

    /// The future that was woken first; `None` when all are done.
    fn next(&self) -> Option<Runnable> {
        let mut queue = self.lock();
        loop {
            if let Some(runnable) = queue.ready.pop_front() {
                return Some(runnable);
            }
            if queue.left == 0 {
                return None;
            }
            if queue.idle + 1 == self.threads && queue.outside == 0 {
                // No group moves, and nothing will wake one.
                drop(queue);
                self.shared.fail_stalled();
                queue = self.lock();
                if queue.ready.is_empty() && queue.left > 0 {
                    queue = self.wait(queue);
                }
                continue;
            }
            queue = self.wait(queue);
        }
    }

    fn wait<'a>(&self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        queue.idle += 1;
        queue = self.woken.wait(queue).unwrap_or_else(PoisonError::into_inner);
        queue.idle -= 1;
        queue
    }

    fn push(&self, runnable: Runnable) {
        let mut queue = self.lock();
        queue.ready.push_back(runnable);
        let is_waited_for = queue.idle > 0;
        drop(queue);
        if is_waited_for {
            self.woken.notify_one();
        }
    }

    /// A future waits for something outside of the graph, or does so no more.
    fn count_outside(&self, is_outside: bool) {
        let mut queue = self.lock();
        queue.outside = if is_outside { queue.outside + 1 } else { queue.outside - 1 };
    }

    /// A future is done.
    fn end(&self) {
        let mut queue = self.lock();
        queue.left -= 1;
        if queue.left == 0 {
            self.woken.notify_all();
        }
    }

    /// What it guards is whole between any two lines.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

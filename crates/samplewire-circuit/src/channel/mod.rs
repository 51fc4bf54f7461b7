//! Channels: how quanta get from one task to the next, and home.
//!
//! No push is ever refused: a channel has room for every quantum of its circuit. What is short is
//! quanta, and that shows where they are taken ([`Take`]).

mod baton;
mod local;
mod ring;
mod word;

use std::sync::Arc;

pub(crate) use baton::{Held, Place, baton};
pub(crate) use local::Local;
pub(crate) use ring::{Consumer, Producer, ring};
pub(crate) use word::Word;

use crate::atomic::{AtomicBool, Ordering};
use crate::pool::Pool;
use crate::quantum::Quantum;
use crate::wait::Bell;

use std::collections::VecDeque;

/// What the two ends of a channel say to each other besides quanta.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// The producer pushes no more.
    ended: AtomicBool,
    /// The consumer takes no more.
    closed: AtomicBool,
}

/// Where quanta leave a task.
pub(crate) struct Outlet<W: Word> {
    way: Way<W, Producer<W>>,
    signals: Arc<Signals>,
    /// The other task's, when it runs in another group.
    bell: Option<Arc<Bell>>,
}

/// Where quanta enter a task.
pub(crate) struct Inlet<W: Word> {
    way: Way<W, Consumer<W>>,
    signals: Arc<Signals>,
    bell: Option<Arc<Bell>>,
}

enum Way<W: Word, E> {
    Local(Local<VecDeque<W>>),
    Ring(E),
}

/// The ends of a channel between tasks of one group.
pub(crate) fn local_channel<W: Word>() -> (Outlet<W>, Inlet<W>) {
    let signals = Arc::<Signals>::default();
    let queue = Local::new(VecDeque::new());
    let out = Outlet { way: Way::Local(queue.clone()), signals: signals.clone(), bell: None };
    (out, Inlet { way: Way::Local(queue), signals, bell: None })
}

/// The ends of a channel between two groups, for up to `capacity` quanta.
pub(crate) fn ring_channel<W: Word>(
    capacity: usize,
    producers: Arc<Bell>,
    consumers: Arc<Bell>,
) -> (Outlet<W>, Inlet<W>) {
    let signals = Arc::<Signals>::default();
    let (producer, consumer) = ring(capacity);
    let out = Outlet { way: Way::Ring(producer), signals: signals.clone(), bell: Some(consumers) };
    (out, Inlet { way: Way::Ring(consumer), signals, bell: Some(producers) })
}

impl<W: Word> Outlet<W> {
    /// Passes `word` on.
    #[inline]
    pub(crate) fn push(&mut self, word: W) {
        match &mut self.way {
            Way::Local(queue) => queue.with(|queue| queue.push_back(word)),
            Way::Ring(producer) => producer.push(word),
        }
        self.wake();
    }

    /// Whether the consumer takes no more.
    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: nothing is read that it would order; a quantum more or less does no harm.
        self.signals.closed.load(Ordering::Relaxed)
    }

    /// Whether both ends run in one group.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.way, Way::Local(_))
    }

    /// Marks the end: no more will come.
    pub(crate) fn end(&mut self) {
        // Release: a reader that sees the mark sees all that was pushed before.
        self.signals.ended.store(true, Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        if let Some(bell) = &self.bell {
            bell.ring();
        }
    }
}

/// What an inlet has.
pub(crate) enum Arrival<W> {
    /// The next.
    Next(W),
    /// Nothing now.
    Empty,
    /// Nothing any more.
    Ended,
}

impl<W: Word> Inlet<W> {
    /// Takes the next.
    #[inline]
    pub(crate) fn pop(&mut self) -> Arrival<W> {
        if let Some(word) = self.take() {
            return Arrival::Next(word);
        }
        // Acquire pairs with the Release in `end`: what was pushed before it is seen below.
        if !self.signals.ended.load(Ordering::Acquire) {
            return Arrival::Empty;
        }
        self.take().map_or(Arrival::Ended, Arrival::Next)
    }

    /// Says that no more will be taken.
    pub(crate) fn close(&mut self) {
        self.signals.closed.store(true, Ordering::Relaxed);
        if let Some(bell) = &self.bell {
            bell.ring();
        }
    }

    #[inline]
    fn take(&mut self) -> Option<W> {
        match &mut self.way {
            Way::Local(queue) => queue.with(VecDeque::pop_front),
            Way::Ring(consumer) => consumer.pop(),
        }
    }
}

/// The way home of a circuit's quanta, from one task.
pub(crate) enum Give {
    /// From the group where they are taken again.
    Local(Local<Vec<Quantum>>),
    /// From another.
    Ring(Producer<Quantum>, Arc<Bell>),
    /// To each pool of several circuits, where their quanta go over one edge.
    Several(Vec<(Pool, Give)>),
}

impl Give {
    /// Gives `quantum` back.
    #[inline]
    pub(crate) fn give(&mut self, mut quantum: Quantum) {
        quantum.end_loan();
        match self {
            Self::Local(free) => free.with(|free| free.push(quantum)),
            Self::Ring(producer, bell) => {
                producer.push(quantum);
                bell.ring();
            }
            Self::Several(ways) => {
                let way = ways.iter_mut().find(|(pool, _)| pool.owns(&quantum));
                way.expect("an edge says whose quanta go over it").1.give(quantum);
            }
        }
    }
}

/// Where a circuit's quanta are taken: those that came back last first, while they may still be in a
/// cache.
pub(crate) struct Take {
    free: Local<Vec<Quantum>>,
    rings: Vec<Consumer<Quantum>>,
    pool: Pool,
}

impl Take {
    /// Takes from `free`, which the tasks of this group give to, and from `rings`, one for each task
    /// of another group.
    pub(crate) fn new(
        free: Local<Vec<Quantum>>,
        rings: Vec<Consumer<Quantum>>,
        pool: Pool,
    ) -> Self {
        Self { free, rings, pool }
    }

    /// Takes an empty quantum.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Quantum> {
        let mut quantum = match self.free.with(Vec::pop) {
            Some(quantum) => quantum,
            None => self.take_from_afar()?,
        };
        quantum.reset();
        Some(quantum)
    }

    /// Gives back one that was not used.
    pub(crate) fn untake(&mut self, quantum: Quantum) {
        self.free.with(|free| free.push(quantum));
    }

    /// The pool of its quanta.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// How many are home.
    pub(crate) fn home(&mut self) -> usize {
        while let Some(quantum) = self.take_from_afar() {
            self.untake(quantum);
        }
        self.free.with(|free| free.len())
    }

    fn take_from_afar(&mut self) -> Option<Quantum> {
        let came = self.rings.iter_mut().find_map(Consumer::pop);
        // A block that dropped its quantum, or panicked, gave it to the pool.
        came.or_else(|| self.pool.take())
    }
}

impl<W> Arrival<W> {
    /// The same with what arrived made something else.
    pub(crate) fn map<V>(self, make: impl FnOnce(W) -> V) -> Arrival<V> {
        match self {
            Self::Next(word) => Arrival::Next(make(word)),
            Self::Empty => Arrival::Empty,
            Self::Ended => Arrival::Ended,
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::config::PoolConfig;
    use loom::thread;

    /// A reader that sees the end has got all that was pushed before it.
    #[test]
    fn end_comes_last_by_orders_that_all_matter() {
        crate::model::every_order_matters(&[push_and_end]);
    }

    fn push_and_end() {
        loom::model(|| {
            let pool = Pool::new(PoolConfig::new(1, 64)).expect("a small pool");
            let quantum = pool.take().expect("nothing was taken yet");
            let bells = [true, true].map(|spins| Arc::new(Bell::of(spins)));
            let [producers, consumers] = bells;
            let (mut outlet, mut inlet) = ring_channel(1, producers, consumers);
            let other = thread::spawn(move || {
                outlet.push(quantum);
                outlet.end();
            });
            let mut count = 0;
            loop {
                match inlet.pop() {
                    Arrival::Next(_) => count += 1,
                    Arrival::Empty => thread::yield_now(),
                    Arrival::Ended => break,
                }
            }
            assert_eq!(count, 1);
            other.join().expect("no thread of a model panics");
        });
    }
}

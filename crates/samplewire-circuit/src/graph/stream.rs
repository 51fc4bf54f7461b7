//! The ends of connections while a graph is being built.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which builder a token is from, and what made it.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) builder: BuilderId,
    /// The block that a stream leaves.
    pub(super) name: Arc<str>,
}

/// Identifies a builder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BuilderId(u64);

impl BuilderId {
    /// One that no other builder of this process has.
    pub(super) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: a number that differs from all others, which orders nothing.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A stream of `T` that leaves a block and is not connected yet. Each is used once, so that the
/// block that takes it may work on its quanta in place.
#[must_use = "a stream that is connected to nothing is an error of the graph"]
#[derive(Debug)]
pub struct Stream<T> {
    pub(super) origin: Origin,
    pub(super) edge: usize,
    pub(super) samples: PhantomData<fn() -> T>,
}

/// A stream of `T` that several blocks read; each clone is one of them.
#[derive(Debug)]
pub struct SharedStream<T> {
    pub(super) origin: Origin,
    /// The broadcast, or the [`BorrowedSource`](crate::BorrowedSource).
    pub(super) node: usize,
    pub(super) circuit: usize,
    pub(super) samples: PhantomData<fn() -> T>,
}

impl<T> Clone for SharedStream<T> {
    fn clone(&self) -> Self {
        let Self { origin, node, circuit, samples } = self;
        Self { origin: origin.clone(), node: *node, circuit: *circuit, samples: *samples }
    }
}

/// The end of a loop that is still to be closed.
#[must_use = "a loop that is not closed is an error of the graph"]
#[derive(Debug)]
pub struct Feedback<T> {
    pub(super) origin: Origin,
    pub(super) node: usize,
    pub(super) samples: PhantomData<fn() -> T>,
}

/// A stream of `T` to be read: its own, or one of several readers'.
#[derive(Debug)]
pub enum Readable<T> {
    /// For this reader alone.
    Own(Stream<T>),
    /// For several.
    Shared(SharedStream<T>),
}

impl<T> From<Stream<T>> for Readable<T> {
    fn from(stream: Stream<T>) -> Self {
        Self::Own(stream)
    }
}

impl<T> From<SharedStream<T>> for Readable<T> {
    fn from(stream: SharedStream<T>) -> Self {
        Self::Shared(stream)
    }
}

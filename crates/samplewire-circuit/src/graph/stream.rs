//! The ends of connections while a graph is being built.

use std::marker::PhantomData;

/// A stream of `T` that leaves a block and is still connected to none. Each is used once: who takes
/// it may work on its quanta in place.
#[must_use = "a stream that is connected to nothing is an error of the graph"]
#[derive(Debug)]
pub struct Stream<T> {
    pub(super) edge: usize,
    pub(super) samples: PhantomData<fn() -> T>,
}

/// A stream of `T` that several blocks read; each clone is one of them.
#[derive(Debug)]
pub struct SharedStream<T> {
    /// The broadcast.
    pub(super) node: usize,
    pub(super) circuit: usize,
    pub(super) samples: PhantomData<fn() -> T>,
}

impl<T> Clone for SharedStream<T> {
    fn clone(&self) -> Self {
        Self { node: self.node, circuit: self.circuit, samples: PhantomData }
    }
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

/// The quanta of one circuit, for the block that fills them.
#[must_use = "a circuit that no block takes quanta of is an error of the graph"]
#[derive(Debug)]
pub struct Circuit<T> {
    pub(super) circuit: usize,
    pub(super) samples: PhantomData<fn() -> T>,
}

//! Graphs without branches, as one expression.

use std::any::type_name;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::block::{BorrowedSource, Failure, Flow, InPlace, Sink, Source, Transform, Work};
use crate::graph::Graph;
use crate::graph::builder::GraphBuilder;
use crate::graph::check::BuildError;
use crate::graph::circuit::{Circuit, Shape};
use crate::graph::report::{Report, RunError};
use crate::graph::stream::{Readable, SharedStream, Stream};
use crate::quantum::Quantum;
use crate::sample::Sample;
use crate::schedule::Sequence;

/// A chain that begins with `source`.
///
/// ```
/// use samplewire_circuit::blocks::{Head, NullSource};
/// use samplewire_circuit::{Done, Failure, Ratio, Transform, chain};
///
/// /// The sum of each two samples.
/// struct Sums;
///
/// impl Transform<f32, f32> for Sums {
///     fn ratio(&self) -> Ratio {
///         Ratio::decimate(2)
///     }
///
///     fn work(&mut self, input: &[f32], output: &mut [f32]) -> Result<Done, Failure> {
///         let pairs = input.chunks_exact(2).zip(&mut *output);
///         let produced = pairs.map(|(pair, sum)| *sum = pair[0] + pair[1]).count();
///         Ok(Done { consumed: 2 * produced, produced })
///     }
/// }
///
/// let report = chain(NullSource)
///     .in_place(Head::new(10_000))
///     .transform(Sums)
///     .for_each(|quantum| assert!(quantum.samples().iter().all(|&sum| sum == 0.0)))
///     .run()?;
/// assert_eq!(report.block("sink").unwrap().counters.samples, 5_000);
/// # Ok::<(), samplewire_circuit::RunError>(())
/// ```
pub fn chain<T: Sample, B: Source<T> + 'static>(source: B) -> Chain<T> {
    let mut graph = GraphBuilder::new();
    let stream = graph.source(name_by_type::<B>("source"), source, Circuit::default());
    Chain { graph, stream, failure: None, samples: PhantomData }
}

/// A chain that begins with samples which `source` lends: the first block behind it reads them.
pub fn chain_borrowed<T: Sample, B: BorrowedSource<T> + 'static>(
    source: B,
) -> Chain<T, SharedStream<T>> {
    let mut graph = GraphBuilder::new();
    let stream = graph.borrowed_source(name_by_type::<B>("source"), source, Circuit::default());
    Chain { graph, stream, failure: None, samples: PhantomData }
}

/// Blocks in a row, on the way to a [`Graph`]: begun by [`chain`] or [`chain_borrowed`], ended by
/// [`Chain::sink`] or [`Chain::for_each`].
///
/// It is a [`GraphBuilder`] and the stream at its end, `S`. A stream that is [shared](SharedStream)
/// cannot be worked on in place; behind a sink there is none. What follows a block of the chain is about
/// that block: [`Chain::named`], [`Chain::quanta`], [`Chain::samples_max`], [`Chain::circuit`]. Unless
/// named, a block has the name of its type in words (`PowerSpectrum` is "power spectrum"; a second one
/// is "power spectrum 2") and a closure is the "sink"; the sizes are those of [`Circuit`].
///
/// What is wrong with a block is kept, and returned by [`Chain::build`] and [`Chain::run`].
#[must_use = "a chain does nothing until it is run"]
pub struct Chain<T, S = Stream<T>> {
    graph: GraphBuilder,
    stream: S,
    /// The first block that could not be made, and why.
    failure: Option<(usize, Failure)>,
    samples: PhantomData<fn() -> T>,
}

impl<T, S> Chain<T, S> {
    /// Names the last block, and its circuit unless that has a name of its own.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        if let Some(node) = self.graph.nodes.last_mut() {
            node.name = name.into();
        }
        self
    }

    /// Changes the circuit whose quanta come at the end: in a chain that is the last.
    fn set(&mut self, change: impl FnOnce(&mut Shape)) {
        if let Some(plan) = self.graph.plans.last_mut() {
            change(&mut plan.shape);
        }
    }

    /// Keeps why a block could not be made; the stream that would leave it.
    fn missing<B: Sample>(&mut self, name: String, failure: Failure) -> Stream<B> {
        let stream = self.graph.missing(name);
        let node = self.graph.nodes.len() - 1;
        self.failure.get_or_insert((node, failure));
        stream
    }

    /// `wanted`, or with a number where a block has that name.
    fn free_name(&self, wanted: &str) -> String {
        let is_free = |name: &str| self.graph.nodes.iter().all(|node| &*node.name != name);
        let numbered = (2..).map(|number| format!("{wanted} {number}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
        names.find(|name| is_free(name)).expect("there are more names than blocks")
    }
}

impl<T: Sample, S: Into<Readable<T>>> Chain<T, S> {
    /// How many quanta the circuit has that the last block passes on, at least 1.
    pub fn quanta(mut self, quanta: usize) -> Self {
        self.set(|shape| shape.quanta = Some(quanta));
        self
    }

    /// Adds a block that reads the stream, and fills the quanta of another circuit.
    pub fn transform<B: Sample, X: Transform<T, B> + 'static>(self, block: X) -> Chain<B> {
        self.try_transform(Ok::<_, Failure>(block))
    }

    /// Adds a block that may not have been made: its error is kept. For blocks' own methods on chains,
    /// and constructors that may fail.
    pub fn try_transform<B: Sample, X: Transform<T, B> + 'static, E: Into<Failure>>(
        mut self,
        block: Result<X, E>,
    ) -> Chain<B> {
        let name = self.free_name(&name_by_type::<X>("transform"));
        let stream = match block {
            Ok(block) => self.graph.transform(name, block, self.stream, Circuit::default()),
            Err(error) => self.missing(name, error.into()),
        };
        Chain { graph: self.graph, stream, failure: self.failure, samples: PhantomData }
    }

    /// Ends the chain in a block.
    pub fn sink<B: Sink<T> + 'static>(self, block: B) -> Chain<T, ()> {
        self.end(&name_by_type::<B>("sink"), block)
    }

    /// Ends the chain in a call for each quantum. A [`Sink`] can fail, too, and end the stream.
    pub fn for_each(self, call: impl FnMut(&Quantum<T>) + Send + 'static) -> Chain<T, ()> {
        self.end("sink", ForEach(call))
    }

    fn end<B: Sink<T> + 'static>(mut self, name: &str, block: B) -> Chain<T, ()> {
        let name = self.free_name(name);
        self.graph.sink(name, block, self.stream);
        Chain { graph: self.graph, stream: (), failure: self.failure, samples: PhantomData }
    }
}

impl<T: Sample> Chain<T> {
    /// How many samples a quantum holds of the circuit that the last block passes on, at least 1.
    pub fn samples_max(mut self, samples_max: usize) -> Self {
        self.set(|shape| shape.samples_max = Some(samples_max));
        self
    }

    /// The circuit that the last block passes on, in place of all that was set of it.
    pub fn circuit(mut self, circuit: Circuit<T>) -> Self {
        self.set(|shape| *shape = circuit.shape);
        self
    }

    /// Adds a block that works on the stream's quanta in place.
    pub fn in_place<B: InPlace<T> + 'static>(self, block: B) -> Self {
        self.try_in_place(Ok::<_, Failure>(block))
    }

    /// See [`Chain::try_transform`].
    pub fn try_in_place<B: InPlace<T> + 'static, E: Into<Failure>>(
        mut self,
        block: Result<B, E>,
    ) -> Self {
        let name = self.free_name(&name_by_type::<B>("in place"));
        self.stream = match block {
            Ok(block) => self.graph.in_place(name, block, self.stream),
            Err(error) => self.missing(name, error.into()),
        };
        self
    }
}

impl<T> Chain<T, ()> {
    /// The graph: for a [`Control`](crate::Control) of it, its pictures, and any [scheduler](crate::Scheduler).
    ///
    /// # Errors
    /// [`BuildError`]: the first thing that was wrong in the chain.
    pub fn build(self) -> Result<Graph, BuildError> {
        if let Some((node, failure)) = self.failure {
            return Err(BuildError::Block { block: self.graph.nodes[node].name.clone(), failure });
        }
        self.graph.build()
    }

    /// Builds the graph and runs it on this thread ([`Sequence`]), until the stream has ended.
    ///
    /// # Errors
    /// [`RunError`]: the first thing that was wrong in the chain, or why the graph stopped.
    ///
    /// # Blocking
    /// Until then.
    pub fn run(self) -> Result<Report, RunError> {
        self.build()?.run(Sequence::new())
    }
}

impl<T, S> std::fmt::Debug for Chain<T, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.graph.nodes.iter().map(|node| &node.name);
        f.debug_struct("Chain").field("blocks", &names.collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

/// A call as a [`Sink`].
struct ForEach<F>(F);

impl<T: Sample, F: FnMut(&Quantum<T>) + Send> Sink<T> for ForEach<F> {
    fn consume(&mut self, quantum: &Quantum<T>) -> Work {
        (self.0)(quantum);
        Ok(Flow::Pass)
    }
}

/// The last name of the type `B`'s path, in words; `otherwise` for a type that has none.
fn name_by_type<B>(otherwise: &str) -> String {
    let path = type_name::<B>().split('<').next().unwrap_or_default();
    let name = path.rsplit("::").next().unwrap_or_default();
    if !name.starts_with(char::is_alphabetic) {
        return otherwise.to_owned();
    }
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && words.ends_with(char::is_lowercase) {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words.replace('_', " ")
}

//! Building a graph: blocks, and the streams between them.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::block::{BorrowedSource, InPlace, Join, Sink, Source, Transform};
use crate::graph::Graph;
use crate::graph::check::{BuildError, check_sizes, check_streams};
use crate::graph::circuit::{Circuit, Content, Plan, Shape};
use crate::graph::node::{Edge, Kind, Node};
use crate::graph::stream::{BuilderId, Feedback, Origin, Readable, SharedStream, Stream};
use crate::sample::{Sample, SampleSize};
use crate::task::{Consuming, Crossing, Filling, Joining, Lending, Own, Working};

/// Blocks, and the streams between them, on the way to a [`Graph`].
///
/// A stream has a type and is used once; a [`Circuit`] gives the quanta of one stream, which go home
/// from wherever it ends. For a line of blocks [`chain`](crate::chain) is shorter: this is for graphs
/// whose streams part and meet.
///
/// ```
/// use samplewire_circuit::blocks::{Head, NullSink, NullSource};
/// use samplewire_circuit::{Circuit, Flow, GraphBuilder, InPlace, Quantum, Sequence, Work};
///
/// struct Gain(f32);
/// impl InPlace<f32> for Gain {
///     fn work(&mut self, quantum: &mut Quantum<f32>) -> Work {
///         quantum.samples_mut().iter_mut().for_each(|sample| *sample *= self.0);
///         Ok(Flow::Pass)
///     }
/// }
///
/// let mut graph = GraphBuilder::new();
/// let stream = graph.source("source", NullSource, Circuit::default());
/// let stream = graph.in_place("gain", Gain(2.0), stream);
/// let stream = graph.in_place("head", Head::new(10_000), stream);
/// graph.sink("sink", NullSink, stream);
/// let report = graph.build()?.run(Sequence::new())?;
/// assert_eq!(report.block("sink").unwrap().counters.samples, 10_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GraphBuilder {
    id: BuilderId,
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    pub(super) plans: Vec<Plan>,
    /// What was wrong first.
    error: Option<BuildError>,
}

impl GraphBuilder {
    /// Without blocks.
    pub fn new() -> Self {
        let (nodes, edges, plans) = Default::default();
        Self { id: BuilderId::next(), nodes, edges, plans, error: None }
    }

    /// A block that fills the circuit's quanta.
    pub fn source<T: Sample, B: Source<T> + 'static>(
        &mut self,
        name: impl Into<Arc<str>>,
        block: B,
        circuit: Circuit<T>,
    ) -> Stream<T> {
        let kind = Kind::Source(Some(Box::new(Filling(Own::new(block), PhantomData))));
        let node = self.node::<T>(name, kind);
        self.take(node, circuit)
    }

    /// Adds a block that lends samples, which others read in place. Several blocks may read the
    /// stream; none may change its samples.
    ///
    /// ```compile_fail
    /// # use samplewire_circuit::{Circuit, GraphBuilder, InPlace, BorrowedSource};
    /// # fn connect<S: BorrowedSource<i16> + 'static, B: InPlace<i16> + 'static>(source: S, block: B) {
    /// let mut graph = GraphBuilder::new();
    /// let stream = graph.borrowed_source("wire", source, Circuit::default());
    /// graph.in_place("block", block, stream); // expected `Stream`, found `SharedStream`
    /// # }
    /// ```
    pub fn borrowed_source<T: Sample, B: BorrowedSource<T> + 'static>(
        &mut self,
        name: impl Into<Arc<str>>,
        block: B,
        circuit: Circuit<T>,
    ) -> SharedStream<T> {
        let len_max = block.samples_max();
        let lending = Lending { block: Own::new(block), len_max, samples: PhantomData };
        let node = self.node::<T>(name, Kind::Source(Some(Box::new(lending))));
        let circuit = self.own(node, circuit, Content::Borrowed(len_max));
        SharedStream { origin: self.origin(node), node, circuit, samples: PhantomData }
    }

    /// A block that works on the stream's quanta in place.
    pub fn in_place<T: Sample, B: InPlace<T> + 'static>(
        &mut self,
        name: impl Into<Arc<str>>,
        block: B,
        stream: Stream<T>,
    ) -> Stream<T> {
        let kind = Kind::InPlace(Some(Box::new(Working(Own::new(block), PhantomData))));
        let node = self.node::<T>(name, kind);
        let circuit = self.connect(&stream, node);
        self.output(node, circuit, false)
    }

    /// A block in which a stream ends: one of its own, or one that several read.
    pub fn sink<T: Sample, B: Sink<T> + 'static>(
        &mut self,
        name: impl Into<Arc<str>>,
        block: B,
        stream: impl Into<Readable<T>>,
    ) {
        let block = Box::new(Consuming(Own::new(block), PhantomData));
        let stream = stream.into();
        let kind = match stream {
            Readable::Own(_) => Kind::Sink(Some(block)),
            Readable::Shared(_) => Kind::Reader(Some(block)),
        };
        let node = self.node::<T>(name, kind);
        self.read(stream, node);
    }

    /// A block that reads a stream, its own or one that several read, and fills the quanta of
    /// another circuit.
    pub fn transform<A: Sample, B: Sample, X: Transform<A, B> + 'static>(
        &mut self,
        name: impl Into<Arc<str>>,
        block: X,
        stream: impl Into<Readable<A>>,
        circuit: Circuit<B>,
    ) -> Stream<B> {
        let kind = Kind::Transform {
            block: Some(Box::new(Crossing(Own::new(block), PhantomData))),
            output_size: SampleSize::of::<B>(),
        };
        let node = self.node::<A>(name, kind);
        self.read(stream.into(), node);
        self.take(node, circuit)
    }

    /// A block that works on the first stream's quanta together with the second's samples of the
    /// same indexes: see [`Join`].
    ///
    /// Two spare quanta like those of the first are made for it: a gap of the second in the middle of
    /// a quantum makes two of it.
    ///
    /// The rates of both must be equal where they are known: the graph fails else.
    ///
    /// ```
    /// use samplewire_circuit::blocks::{Head, NullSink, NullSource};
    /// use samplewire_circuit::{Circuit, Failure, GraphBuilder, Join, Sequence};
    ///
    /// struct Sum;
    /// impl Join<f32, f32> for Sum {
    ///     fn work(&mut self, first: &mut [f32], second: &[f32]) -> Result<(), Failure> {
    ///         first.iter_mut().zip(second).for_each(|(first, second)| *first += second);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut graph = GraphBuilder::new();
    /// let left = graph.source("left", NullSource, Circuit::default());
    /// let right = graph.source("right", NullSource, Circuit::default());
    /// let sum = graph.join("sum", Sum, left, right);
    /// let sum = graph.in_place("head", Head::new(10_000), sum);
    /// graph.sink("sink", NullSink, sum);
    /// let report = graph.build()?.run(Sequence::new())?;
    /// assert_eq!(report.block("sink").unwrap().counters.samples, 10_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn join<A: Sample, B: Sample, J: Join<A, B> + 'static>(
        &mut self,
        name: impl Into<Arc<str>>,
        block: J,
        first: Stream<A>,
        second: impl Into<Readable<B>>,
    ) -> Stream<A> {
        let name = name.into();
        let block: Option<Box<dyn crate::task::Pair>> =
            Some(Box::new(Joining(Own::new(block), PhantomData)));
        let node = self.node::<A>(name.clone(), Kind::Join { block, spare: NONE });
        let circuit = self.connect(&first, node);
        self.read(second.into(), node);
        if circuit != NONE {
            let shape = Circuit::<A>::default().named(format!("{name}: spares")).shape;
            let content = Content::Spares(first.edge);
            let made = self.plan::<A>(shape, content, node);
            if let Kind::Join { spare, .. } = &mut self.nodes[node].kind {
                *spare = made;
            }
        }
        self.output(node, circuit, false)
    }

    /// Several streams on one, in the order in which quanta come, and those that wait in turn: for
    /// packets and bursts. Each quantum keeps its index, so that the stream's indexes may go back.
    ///
    /// ```
    /// use samplewire_circuit::blocks::{Head, NullSink, NullSource};
    /// use samplewire_circuit::{Circuit, GraphBuilder, Sequence};
    ///
    /// let mut graph = GraphBuilder::new();
    /// let streams = ["one", "two", "three"].map(|name| {
    ///     let stream = graph.source(name, NullSource, Circuit::default());
    ///     graph.in_place(format!("head of {name}"), Head::new(1_000), stream)
    /// });
    /// let stream = graph.merge("all", streams);
    /// graph.sink::<f32, _>("sink", NullSink, stream);
    /// let report = graph.build()?.run(Sequence::new())?;
    /// assert_eq!(report.block("sink").unwrap().counters.samples, 3_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge<T: Sample>(
        &mut self,
        name: impl Into<Arc<str>>,
        streams: impl IntoIterator<Item = Stream<T>>,
    ) -> Stream<T> {
        let node = self.node::<T>(name, Kind::Merge);
        let circuits: Vec<_> =
            streams.into_iter().map(|stream| self.connect(&stream, node)).collect();
        self.output(node, circuits.first().copied().unwrap_or(NONE), false)
    }

    /// The stream that comes out of a loop, whose other end [`GraphBuilder::close`] closes.
    ///
    /// It begins with `initial_quanta` of the circuit, all zeros, from index 0 on; behind them comes
    /// what goes into the loop, with its index shifted by their length: sample n is what went in as
    /// sample n - `initial_quanta` * `len`. What goes in is copied, so that it may go elsewhere too.
    ///
    /// A loop that cannot move ends the graph with [`RunError::Stalled`](crate::RunError::Stalled):
    /// one that holds fewer samples than a block of it keeps back. A [`Join`] with another stream
    /// keeps back at most a quantum of that, so this stream's must be no longer than
    /// `initial_quanta` * `len`.
    ///
    /// ```
    /// use samplewire_circuit::blocks::{Head, NullSink, NullSource};
    /// use samplewire_circuit::{Circuit, Failure, GraphBuilder, Join, Sequence};
    ///
    /// /// y[n] = x[n] + y[n - D] / 2.
    /// struct Echo;
    /// impl Join<f32, f32> for Echo {
    ///     fn work(&mut self, x: &mut [f32], y: &[f32]) -> Result<(), Failure> {
    ///         x.iter_mut().zip(y).for_each(|(x, y)| *x += y / 2.0);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut graph = GraphBuilder::new();
    /// let input = graph.source("source", NullSource, Circuit::new(4, 64));
    /// let input = graph.in_place("head", Head::new(10_000), input);
    /// let (feedback, delayed) = graph.feedback("loop", Circuit::new(3, 64), 2);
    /// let output = graph.join("echo", Echo, input, delayed);
    /// let output = graph.broadcast("both", output);
    /// graph.close(feedback, output.clone());
    /// graph.sink("sink", NullSink, output);
    /// let report = graph.build()?.run(Sequence::new())?;
    /// assert_eq!(report.block("sink").unwrap().counters.samples, 10_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn feedback<T: Sample>(
        &mut self,
        name: impl Into<Arc<str>>,
        circuit: Circuit<T>,
        initial_quanta: usize,
    ) -> (Feedback<T>, Stream<T>) {
        let node = self.node::<T>(name, Kind::Feedback { initial: initial_quanta });
        let stream = self.take(node, circuit);
        (Feedback { origin: self.origin(node), node, samples: PhantomData }, stream)
    }

    /// Leads a stream into a loop.
    pub fn close<T: Sample>(&mut self, feedback: Feedback<T>, stream: impl Into<Readable<T>>) {
        let stream = stream.into();
        let origin = match &stream {
            Readable::Own(stream) => &stream.origin,
            Readable::Shared(stream) => &stream.origin,
        };
        if feedback.origin.builder == self.id {
            self.read(stream, feedback.node);
        } else {
            let (block, name) = (origin.name.clone(), feedback.origin.name);
            let what = "the feedback";
            self.error.get_or_insert(BuildError::Foreign { block, what, name });
        }
    }

    /// The stream for several readers: each clone that is connected is one. The last to have read a
    /// quantum sends it home.
    pub fn broadcast<T: Sample>(
        &mut self,
        name: impl Into<Arc<str>>,
        stream: Stream<T>,
    ) -> SharedStream<T> {
        let node = self.node::<T>(name, Kind::Broadcast);
        let circuit = self.connect(&stream, node);
        SharedStream { origin: self.origin(node), node, circuit, samples: PhantomData }
    }

    /// The graph, if it can run.
    ///
    /// # Errors
    /// [`BuildError`] names the block and the edge, or the circuit, that cannot be.
    pub fn build(self) -> Result<Graph, BuildError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let Self { nodes, edges, plans, .. } = self;
        check_streams(&nodes, &edges)?;
        let mut rounds = Vec::with_capacity(plans.len());
        for plan in plans {
            rounds.push(plan.round(&nodes, &edges, &rounds)?);
        }
        check_sizes(&nodes, &edges, &rounds)?;
        Ok(Graph::new(nodes, edges, rounds))
    }

    /// A block that could not be made, and the stream that would leave it: such a graph is not built.
    pub(super) fn missing<T: Sample>(&mut self, name: String) -> Stream<T> {
        let node = self.node::<T>(name, Kind::Source(None));
        self.output(node, NONE, false)
    }

    pub(super) fn node<T: Sample>(&mut self, name: impl Into<Arc<str>>, kind: Kind) -> usize {
        self.nodes.push(Node {
            name: name.into(),
            kind,
            inputs: Vec::new(),
            outputs: Vec::new(),
            takes: None,
            meter: Arc::default(),
            sample_size: SampleSize::of::<T>(),
        });
        self.nodes.len() - 1
    }

    /// Has `node` take the circuit's quanta, which leave it.
    pub(super) fn take<T: Sample>(&mut self, node: usize, circuit: Circuit<T>) -> Stream<T> {
        let circuit = self.own(node, circuit, Content::Own);
        self.output(node, circuit, false)
    }

    /// Has `node` take the circuit's quanta.
    fn own<T: Sample>(&mut self, node: usize, circuit: Circuit<T>, content: Content) -> usize {
        let circuit = self.plan::<T>(circuit.shape, content, node);
        self.nodes[node].takes = Some(circuit);
        circuit
    }

    fn plan<T: Sample>(&mut self, shape: Shape, content: Content, taken_by: usize) -> usize {
        self.plans.push(Plan { shape, content, sample_bytes: size_of::<T>(), taken_by });
        self.plans.len() - 1
    }

    pub(super) fn output<T>(&mut self, node: usize, circuit: usize, is_shared: bool) -> Stream<T> {
        let edge = self.edges.len();
        let guests = self.guests(node, circuit);
        self.edges.push(Edge { from: node, to: None, circuit, guests, is_shared });
        self.nodes[node].outputs.push(edge);
        Stream { origin: self.origin(node), edge, samples: PhantomData }
    }

    /// The circuits, besides `circuit`, of the quanta that leave `node`.
    fn guests(&self, node: usize, circuit: usize) -> Vec<usize> {
        let Node { kind, inputs, takes, .. } = &self.nodes[node];
        let worked_on = match (kind, takes) {
            (_, Some(_)) => &[],
            (Kind::Join { .. }, None) => inputs.get(..1).unwrap_or_default(),
            (_, None) => inputs.as_slice(),
        };
        let mut guests: Vec<_> = worked_on.iter().flat_map(|&e| self.edges[e].circuits()).collect();
        if let Kind::Join { spare, .. } = kind {
            guests.push(*spare);
        }
        guests.sort_unstable();
        guests.dedup();
        guests.retain(|&guest| guest != circuit);
        guests
    }

    pub(super) fn read<T>(&mut self, stream: Readable<T>, node: usize) {
        let stream = match stream {
            Readable::Own(stream) => stream,
            Readable::Shared(shared) => {
                if !self.is_ours(node, "the stream of", &shared.origin) {
                    return;
                }
                self.output(shared.node, shared.circuit, true)
            }
        };
        self.connect(&stream, node);
    }

    /// Leads a stream to `node`: the circuit of its quanta.
    fn connect<T>(&mut self, stream: &Stream<T>, node: usize) -> usize {
        if !self.is_ours(node, "the stream of", &stream.origin) {
            return NONE;
        }
        let edge = &mut self.edges[stream.edge];
        edge.to = Some(node);
        self.nodes[node].inputs.push(stream.edge);
        edge.circuit
    }

    fn origin(&self, node: usize) -> Origin {
        Origin { builder: self.id, name: self.nodes[node].name.clone() }
    }

    /// Whether a token that `node` is connected to is from here: the graph's error else.
    fn is_ours(&mut self, node: usize, what: &'static str, origin: &Origin) -> bool {
        let is_ours = origin.builder == self.id;
        if !is_ours {
            let (block, name) = (self.nodes[node].name.clone(), origin.name.clone());
            self.error.get_or_insert(BuildError::Foreign { block, what, name });
        }
        is_ours
    }
}

impl Default for GraphBuilder {
    fn default() -> Self {
        Self::new()
    }
}

/// The circuit of a graph that has an error.
const NONE: usize = usize::MAX;

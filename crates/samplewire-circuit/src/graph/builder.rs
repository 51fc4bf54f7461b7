//! Building a graph: blocks, and the streams between them.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::block::{InPlace, Sink, Source, Transform};
use crate::config::PoolConfig;
use crate::graph::Graph;
use crate::graph::check::{BuildError, check};
use crate::graph::node::{Edge, Kind, Node, Round};
use crate::graph::stream::{BuilderId, Circuit, Origin, Readable, SharedStream, Stream};
use crate::pool::Pool;
use crate::sample::Sample;
use crate::task::{Consuming, Crossing, Filling, Working};

/// Blocks, and the streams between them, on the way to a [`Graph`].
///
/// A stream has a type and is used once; a circuit gives the quanta of one stream, which go home
/// from wherever it ends.
///
/// ```
/// use samplewire_circuit::blocks::{Head, NullSink, NullSource};
/// use samplewire_circuit::{Flow, GraphBuilder, InPlace, Quantum, Sequence, Work};
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
/// let circuit = graph.circuit("samples", 4, 4_096);
/// let stream = graph.source("source", NullSource, circuit);
/// let stream = graph.in_place("gain", Gain(2.0), stream);
/// let stream = graph.in_place("head", Head::new(1_000_000), stream);
/// graph.sink("sink", NullSink, stream);
/// let report = graph.build()?.run(Sequence::new())?;
/// assert_eq!(report.block("sink").unwrap().counters.samples, 1_000_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GraphBuilder {
    id: BuilderId,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    rounds: Vec<Round>,
    /// What was wrong first.
    error: Option<BuildError>,
}

impl GraphBuilder {
    /// Without blocks.
    pub fn new() -> Self {
        let (nodes, edges, rounds) = Default::default();
        Self { id: BuilderId::next(), nodes, edges, rounds, error: None }
    }

    /// A circuit of `quanta` (at least 1) of `len` samples each, on the heap.
    ///
    /// More quanta ride out longer stalls, fewer bound the latency: at most `quanta * len` samples
    /// are under way.
    pub fn circuit<T: Sample>(
        &mut self,
        name: impl Into<Arc<str>>,
        quanta: usize,
        len: usize,
    ) -> Circuit<T> {
        let len_bytes = len.saturating_mul(size_of::<T>());
        self.circuit_of(name, PoolConfig::new(quanta, len_bytes))
    }

    /// A circuit of the quanta of a pool of its own: margins and huge pages as `config` says.
    pub fn circuit_of<T: Sample>(
        &mut self,
        name: impl Into<Arc<str>>,
        config: PoolConfig,
    ) -> Circuit<T> {
        let name = name.into();
        let circuit = self.rounds.len();
        let origin = Origin { builder: self.id, name: name.clone() };
        match Pool::new(config) {
            Ok(pool) => self.rounds.push(Round {
                name,
                free: std::iter::from_fn(|| pool.take()).collect(),
                pool,
                taken_by: None,
                sample: T::NAME,
                sample_bytes: size_of::<T>(),
            }),
            Err(error) => {
                self.error.get_or_insert(BuildError::Circuit { circuit: name, error });
            }
        }
        Circuit { origin, circuit, samples: PhantomData }
    }

    /// A block that fills the circuit's quanta.
    pub fn source<T: Sample, B: Source<T> + 'static>(
        &mut self,
        name: impl Into<Arc<str>>,
        block: B,
        circuit: Circuit<T>,
    ) -> Stream<T> {
        let kind = Kind::Source(Some(Box::new(Filling(block, PhantomData))));
        let node = self.node::<T>(name, kind);
        self.take(node, circuit)
    }

    /// A block that works on the stream's quanta in place.
    pub fn in_place<T: Sample, B: InPlace<T> + 'static>(
        &mut self,
        name: impl Into<Arc<str>>,
        block: B,
        stream: Stream<T>,
    ) -> Stream<T> {
        let kind = Kind::InPlace(Some(Box::new(Working(block, PhantomData))));
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
        let block = Box::new(Consuming(block, PhantomData));
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
            block: Some(Box::new(Crossing(block, PhantomData))),
            output_shift: shift::<B>(),
        };
        let node = self.node::<A>(name, kind);
        self.read(stream.into(), node);
        self.take(node, circuit)
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
        check(&self.nodes, &self.edges, &self.rounds)?;
        Ok(Graph::new(self.nodes, self.edges, self.rounds))
    }

    fn node<T: Sample>(&mut self, name: impl Into<Arc<str>>, kind: Kind) -> usize {
        self.nodes.push(Node {
            name: name.into(),
            kind,
            inputs: Vec::new(),
            outputs: Vec::new(),
            takes: None,
            meter: Arc::default(),
            sample_shift: shift::<T>(),
        });
        self.nodes.len() - 1
    }

    /// Has `node` take the circuit's quanta, which leave it.
    fn take<T>(&mut self, node: usize, circuit: Circuit<T>) -> Stream<T> {
        let circuit = match self.is_ours(node, "circuit", &circuit.origin) {
            true => circuit.circuit,
            false => NONE,
        };
        self.nodes[node].takes = Some(circuit);
        if let Some(round) = self.rounds.get_mut(circuit) {
            round.taken_by = Some(node);
        }
        self.output(node, circuit, false)
    }

    fn output<T>(&mut self, node: usize, circuit: usize, is_shared: bool) -> Stream<T> {
        let edge = self.edges.len();
        self.edges.push(Edge { from: node, to: None, circuit, is_shared });
        self.nodes[node].outputs.push(edge);
        Stream { origin: self.origin(node), edge, samples: PhantomData }
    }

    fn read<T>(&mut self, stream: Readable<T>, node: usize) {
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

/// The two's logarithm of a sample's size in bytes.
const fn shift<T>() -> u32 {
    size_of::<T>().trailing_zeros()
}

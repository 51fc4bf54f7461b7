//! Circuits on the way to a graph: how many quanta, and of how many samples.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::block::Ratio;
use crate::config::PoolConfig;
use crate::graph::check::BuildError;
use crate::graph::node::{Edge, Kind, Node, Round};
use crate::pool::Pool;
use crate::sample::Sample;

/// The quanta that one block fills: how many, and of how many samples each. What is not set follows
/// from the block.
///
/// | | unless set |
/// |---|---|
/// | name | the block's |
/// | quanta | 4: one is filled, one is read, and two bridge the delay of a thread. 16 for borrowed samples: such quanta have no memory |
/// | samples in a quantum | behind a source 64 KiB: four of these fit a core's second cache. Behind a [`Transform`](crate::Transform) what it makes of a whole input quantum, in equal parts of at most 64 KiB, rounded up to its [`output_multiple`](crate::Transform::output_multiple) |
///
/// So each circuit of a chain holds the same span of time, and a block far behind does not wait for
/// many quanta of the source to fill one of its own.
///
/// The memory is taken by [`GraphBuilder::build`](crate::GraphBuilder::build). A clone is another
/// circuit like it.
///
/// ```
/// use samplewire_circuit::blocks::{Head, NullSink, NullSource};
/// use samplewire_circuit::{Circuit, GraphBuilder};
///
/// let mut graph = GraphBuilder::new();
/// let stream = graph.source("zeros", NullSource, Circuit::<f32>::default().quanta(2));
/// graph.sink("sink", NullSink, stream);
/// let circuit = &graph.build()?.circuits()[0];
/// assert_eq!((&*circuit.name, circuit.quanta, circuit.len), ("zeros", 2, 16_384));
/// # Ok::<(), samplewire_circuit::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Circuit<T> {
    pub(super) shape: Shape,
    samples: PhantomData<fn() -> T>,
}

impl<T: Sample> Circuit<T> {
    /// `quanta` (at least 1) of at most `samples_max` samples (at least 1) each.
    ///
    /// More quanta ride out longer stalls, fewer bound the latency: at most `quanta * samples_max`
    /// samples are under way.
    pub fn new(quanta: usize, samples_max: usize) -> Self {
        Self::default().quanta(quanta).samples_max(samples_max)
    }

    /// The name in errors, reports and pictures; that of the block unless set.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.shape.name = Some(name.into());
        self
    }

    /// How many quanta go round, at least 1.
    #[must_use]
    pub fn quanta(mut self, quanta: usize) -> Self {
        self.shape.quanta = Some(quanta);
        self
    }

    /// How many samples a quantum holds, at least 1. Quanta of borrowed samples hold what their
    /// [`BorrowedSource`](crate::BorrowedSource) declares: the graph cannot be built with another length.
    #[must_use]
    pub fn samples_max(mut self, samples_max: usize) -> Self {
        self.shape.samples_max = Some(samples_max);
        self
    }

    /// See [`PoolConfig::head_bytes`].
    #[must_use]
    pub fn head_bytes(mut self, head_bytes: usize) -> Self {
        self.shape.config = self.shape.config.head_bytes(head_bytes);
        self
    }

    /// See [`PoolConfig::tail_bytes`].
    #[must_use]
    pub fn tail_bytes(mut self, tail_bytes: usize) -> Self {
        self.shape.config = self.shape.config.tail_bytes(tail_bytes);
        self
    }

    /// See [`PoolConfig::huge_pages`].
    #[must_use]
    pub fn huge_pages(mut self, huge_pages: bool) -> Self {
        self.shape.config = self.shape.config.huge_pages(huge_pages);
        self
    }
}

impl<T: Sample> Default for Circuit<T> {
    /// All follows from the block.
    fn default() -> Self {
        let (name, quanta, samples_max) = (None, None, None);
        let shape = Shape { name, quanta, samples_max, config: PoolConfig::new(0, 0) };
        Self { shape, samples: PhantomData }
    }
}

/// What is set of a circuit.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) name: Option<Arc<str>>,
    pub(super) quanta: Option<usize>,
    pub(super) samples_max: Option<usize>,
    /// The margins and the pages; the rest comes from the fields above.
    config: PoolConfig,
}

/// A circuit of a graph that is being built.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) shape: Shape,
    pub(super) content: Content,
    pub(super) sample_bytes: usize,
    /// The node that takes its quanta.
    pub(super) taken_by: usize,
}

/// Where the memory of a circuit's quanta comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// A pool of its own.
    Own,
    /// A lender, at most so many samples at once.
    Borrowed(usize),
    /// A pool of a join's, for quanta like those of this edge.
    Spares(usize),
}

impl Plan {
    /// The circuit with its quanta. Those whose streams lead to its block are in `rounds`, but for one
    /// that leads back.
    pub(super) fn round(
        self,
        nodes: &[Node],
        edges: &[Edge],
        rounds: &[Round],
    ) -> Result<Round, BuildError> {
        let node = &nodes[self.taken_by];
        let name = self.shape.name.clone().unwrap_or_else(|| self.default_name(node, rounds));
        let (pool, len) = match self.content {
            Content::Own => {
                let len = self.len(node, &name, edges, rounds)?;
                let capacity_bytes = len.saturating_mul(self.sample_bytes);
                let quanta = self.quanta(node);
                (Pool::new(PoolConfig { quanta, capacity_bytes, ..self.shape.config }), len)
            }
            Content::Borrowed(len) => {
                if let Some(samples_max) = self.shape.samples_max {
                    let block = node.name.clone();
                    return Err(BuildError::Borrowed { circuit: name, block, len, samples_max });
                }
                (Pool::of_borrowers(self.quanta(node)), len)
            }
            Content::Spares(edge) => {
                // Quanta of every circuit that a merge put on the stream fit a spare.
                let circuits = edges[edge].circuits().filter_map(|circuit| rounds.get(circuit));
                let configs = circuits.map(|round| round.pool.config());
                let config = configs.reduce(larger).unwrap_or(self.shape.config);
                let len = config.capacity_bytes / self.sample_bytes;
                (Pool::new(PoolConfig { quanta: self.quanta(node), ..config }), len)
            }
        };
        let pool = pool.map_err(|error| BuildError::Circuit { circuit: name.clone(), error })?;
        let free = std::iter::from_fn(|| pool.take()).collect();
        Ok(Round { name, pool, taken_by: self.taken_by, free, len })
    }

    /// The block's; of a block with several circuits each has its number.
    fn default_name(&self, node: &Node, rounds: &[Round]) -> Arc<str> {
        match rounds.iter().filter(|round| round.taken_by == self.taken_by).count() {
            0 => node.name.clone(),
            others => format!("{} {}", node.name, others + 1).into(),
        }
    }

    fn quanta(&self, node: &Node) -> usize {
        self.shape.quanta.unwrap_or(match (self.content, &node.kind) {
            (Content::Spares(_), _) => SPARES,
            (Content::Borrowed(_), _) => QUANTA_BORROWED,
            // Those with which the loop begins, and as many as elsewhere.
            (Content::Own, Kind::Feedback { initial }) => initial.saturating_add(QUANTA),
            (Content::Own, _) => QUANTA,
        })
    }

    /// How many samples a quantum of its own memory holds.
    fn len(
        &self,
        node: &Node,
        name: &Arc<str>,
        edges: &[Edge],
        rounds: &[Round],
    ) -> Result<usize, BuildError> {
        let (ratio, multiple) = match &node.kind {
            Kind::Transform { block: Some(block), .. } => {
                (block.ratio(), block.output_multiple().max(1))
            }
            _ => (Ratio::ONE, 1),
        };
        if let Some(len) = self.shape.samples_max {
            if (1..multiple).contains(&len) {
                let (circuit, block) = (name.clone(), node.name.clone());
                return Err(BuildError::Multiple { circuit, block, len, multiple });
            }
            return Ok(len);
        }
        let most = (LEN_BYTES_MAX / self.sample_bytes.max(1)).max(1);
        let circuits = node.inputs.iter().flat_map(|&edge| edges[edge].circuits());
        let inputs = circuits.filter_map(|circuit| rounds.get(circuit));
        let len = inputs.map(|round| round.len).max().map_or(most, |input_len| {
            let numerator = input_len as u128 * u128::from(ratio.interpolation.max(1));
            let outputs = numerator.div_ceil(u128::from(ratio.decimation.max(1)));
            let outputs = usize::try_from(outputs).unwrap_or(usize::MAX).max(1);
            outputs.div_ceil(outputs.div_ceil(most))
        });
        Ok(len.checked_next_multiple_of(multiple).unwrap_or(usize::MAX))
    }
}

/// A shape in which quanta of both fit.
fn larger(one: PoolConfig, other: PoolConfig) -> PoolConfig {
    PoolConfig {
        capacity_bytes: one.capacity_bytes.max(other.capacity_bytes),
        head_bytes: one.head_bytes.max(other.head_bytes),
        tail_bytes: one.tail_bytes.max(other.tail_bytes),
        ..one
    }
}

/// Quanta of a circuit: one is filled, one is read, and two bridge the delay of a thread. On one
/// thread the one that came home last goes round again, and the others stay out of the cache.
const QUANTA: usize = 4;
/// Quanta of a circuit of borrowed samples. They have no memory, so that more than [`QUANTA`] cost
/// almost nothing. A loan may be as short as a packet.
const QUANTA_BORROWED: usize = 16;
/// Quanta that a join has for gaps in the middle of others.
const SPARES: usize = 2;
/// Bytes in a quantum: [`QUANTA`] of them are 256 KiB, which fit a core's second cache, and what a
/// block costs for each quantum is small beside what it does to so many samples.
const LEN_BYTES_MAX: usize = 64 << 10;

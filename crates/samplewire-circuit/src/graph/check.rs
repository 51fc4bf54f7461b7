//! What must hold before a graph can run.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::block::{Failure, Ratio};
use crate::config::PoolError;
use crate::graph::node::{Edge, Kind, Node, Round};

/// Why a graph cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no block.
    #[error("the graph has no block")]
    Empty,
    /// Two blocks have one name.
    #[error("two blocks are named '{name}': errors and figures could not distinguish them")]
    Name {
        /// The name.
        name: Arc<str>,
    },
    /// A block's output is connected to nothing.
    #[error("the output of '{block}' is connected to nothing: end it in a sink")]
    Open {
        /// The block.
        block: Arc<str>,
    },
    /// A circuit's memory cannot be allocated.
    #[error("circuit '{circuit}': {error}")]
    Circuit {
        /// The circuit.
        circuit: Arc<str>,
        /// Why.
        error: PoolError,
    },
    /// A block could not be made: its constructor's error.
    #[error("'{block}': {failure}")]
    Block {
        /// The block.
        block: Arc<str>,
        /// Why.
        failure: Failure,
    },
    /// A stream belongs to another graph.
    #[error("'{block}' is connected to {what} '{name}' of another graph's builder")]
    Foreign {
        /// The block.
        block: Arc<str>,
        /// `the stream of` or `the feedback`.
        what: &'static str,
        /// The block that the stream leaves, or the feedback.
        name: Arc<str>,
    },
    /// A loop is open.
    #[error("the feedback '{feedback}' is not closed: nothing would follow its initial quanta")]
    Unclosed {
        /// The feedback.
        feedback: Arc<str>,
    },
    /// A loop could never move: it begins with none, or leaves none to be filled meanwhile.
    #[error(
        "the feedback '{feedback}' begins with {initial_quanta} of the {quanta} quanta of circuit \
         '{circuit}': must be 1 at least, and leave 1"
    )]
    Initial {
        /// The feedback.
        feedback: Arc<str>,
        /// The circuit.
        circuit: Arc<str>,
        /// What it is to begin with.
        initial_quanta: usize,
        /// What there is.
        quanta: usize,
    },
    /// A join would wait for ever for a branch that keeps back more than the other can hold.
    #[error(
        "the join '{join}' cannot move: '{transform}' keeps back {kept_samples} samples of '{from}', \
         and the {quanta} quanta of circuit '{circuit}' hold {held_samples}: must hold as many"
    )]
    Uneven {
        /// The join.
        join: Arc<str>,
        /// What keeps samples back to fill quanta of its own: the last of its branch.
        transform: Arc<str>,
        /// Where the two branches part.
        from: Arc<str>,
        /// How many samples are kept back there.
        kept_samples: u64,
        /// The circuit whose quanta wait for the join meanwhile.
        circuit: Arc<str>,
        /// How many those are.
        quanta: usize,
        /// How many samples they hold.
        held_samples: u64,
    },
    /// A merge has nothing to merge.
    #[error("'{block}' merges no stream")]
    NoInput {
        /// The block.
        block: Arc<str>,
    },
    /// A transform never has room for what it makes at once.
    #[error(
        "circuit '{circuit}': a quantum of {len} samples has no room for the {multiple} that \
         '{block}' makes at once"
    )]
    Multiple {
        /// The circuit.
        circuit: Arc<str>,
        /// The transform.
        block: Arc<str>,
        /// Samples in a quantum.
        len: usize,
        /// Samples that it makes at once.
        multiple: usize,
    },
    /// A length was set for a circuit whose samples are borrowed.
    #[error(
        "circuit '{circuit}': quanta of {samples_max} samples were requested, but '{block}' lends \
         {len}: set only the number of quanta"
    )]
    Borrowed {
        /// The circuit.
        circuit: Arc<str>,
        /// The lender.
        block: Arc<str>,
        /// The most samples that it lends at once.
        len: usize,
        /// The length that was set.
        samples_max: usize,
    },
}

/// What must hold of the blocks and their streams.
pub(super) fn check_streams(nodes: &[Node], edges: &[Edge]) -> Result<(), BuildError> {
    if nodes.is_empty() {
        return Err(BuildError::Empty);
    }
    let mut names = BTreeSet::new();
    for node in nodes {
        if !names.insert(&node.name) {
            return Err(BuildError::Name { name: node.name.clone() });
        }
        let has_readers = matches!(node.kind, Kind::Broadcast | Kind::Source(_));
        let is_open = has_readers && node.outputs.is_empty();
        if is_open || node.outputs.iter().any(|&edge| edges[edge].to.is_none()) {
            return Err(BuildError::Open { block: node.name.clone() });
        }
        match node.kind {
            Kind::Merge if node.inputs.is_empty() => {
                return Err(BuildError::NoInput { block: node.name.clone() });
            }
            Kind::Feedback { .. } if node.inputs.is_empty() => {
                return Err(BuildError::Unclosed { feedback: node.name.clone() });
            }
            _ => {}
        }
    }
    Ok(())
}

/// What must hold of the circuits.
pub(super) fn check_sizes(
    nodes: &[Node],
    edges: &[Edge],
    rounds: &[Round],
) -> Result<(), BuildError> {
    nodes.iter().try_for_each(|node| check_loop(node, rounds))?;
    nodes
        .iter()
        .filter(|node| matches!(node.kind, Kind::Join { .. }))
        .try_for_each(|join| check_join(join, nodes, edges, rounds))
}

/// Checks a join of two branches of one broadcast, of which one reads that itself: while the other
/// keeps samples back, the broadcast's quanta wait.
fn check_join(
    join: &Node,
    nodes: &[Node],
    edges: &[Edge],
    rounds: &[Round],
) -> Result<(), BuildError> {
    let branches = [0, 1].map(|input| branch(join.inputs[input], nodes, edges, rounds));
    for (one, other) in [(0, 1), (1, 0)] {
        for parting in branches[one].iter().filter(|parting| parting.transform.is_none()) {
            let far = branches[other].iter().find(|far| far.broadcast == parting.broadcast);
            let Some(&Parting { kept_samples, transform: Some(transform), .. }) = far else {
                continue;
            };
            let broadcast = &nodes[parting.broadcast];
            let edge = &edges[broadcast.inputs[0]];
            let held =
                |circuit: usize| rounds[circuit].pool.len().saturating_mul(rounds[circuit].len);
            let held_samples = edge.circuits().map(held).fold(0, usize::saturating_add) as u64;
            if kept_samples > held_samples {
                let round = &rounds[edge.circuit];
                return Err(BuildError::Uneven {
                    join: join.name.clone(),
                    transform: nodes[transform].name.clone(),
                    from: broadcast.name.clone(),
                    kept_samples,
                    circuit: round.name.clone(),
                    quanta: round.pool.len(),
                    held_samples,
                });
            }
        }
    }
    Ok(())
}

/// A broadcast on the way to a join.
struct Parting {
    broadcast: usize,
    /// Samples of it that transforms behind it take before the join gets any.
    kept_samples: u64,
    /// The last of those.
    transform: Option<usize>,
}

/// The broadcasts from which a stream comes.
fn branch(mut edge: usize, nodes: &[Node], edges: &[Edge], rounds: &[Round]) -> Vec<Parting> {
    let mut partings = Vec::new();
    let (mut kept_samples, mut transform) = (0, None);
    loop {
        let node = edges[edge].from;
        match &nodes[node].kind {
            Kind::InPlace(_) => {}
            Kind::Broadcast => partings.push(Parting { broadcast: node, kept_samples, transform }),
            Kind::Transform { block: Some(block), .. } => {
                let Ratio { interpolation, decimation } = block.ratio();
                let filled = kept_samples.max(rounds[edges[edge].circuit].len as u64);
                let numerator = u128::from(filled) * u128::from(decimation);
                kept_samples = (numerator / u128::from(interpolation.max(1))) as u64;
                transform.get_or_insert(node);
            }
            _ => return partings,
        }
        edge = nodes[node].inputs[0];
    }
}

/// Checks that a loop can begin, and go on.
fn check_loop(node: &Node, rounds: &[Round]) -> Result<(), BuildError> {
    let Kind::Feedback { initial } = node.kind else { return Ok(()) };
    let round = &rounds[node.takes.expect("it takes the quanta of its circuit")];
    let quanta = round.pool.len();
    if (1..quanta).contains(&initial) {
        return Ok(());
    }
    let (feedback, circuit) = (node.name.clone(), round.name.clone());
    Err(BuildError::Initial { feedback, circuit, initial_quanta: initial, quanta })
}

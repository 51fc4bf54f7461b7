//! What must hold before a graph can run.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::config::PoolError;
use crate::graph::node::{Edge, Kind, Node, Round};

/// Why a graph cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no block.
    #[error("the graph has no block")]
    Empty,
    /// Two blocks have one name.
    #[error("two blocks are named '{name}': errors and figures could not tell them apart")]
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
    /// No block fills the quanta of a circuit.
    #[error("no block fills the quanta of circuit '{circuit}'")]
    Unused {
        /// The circuit.
        circuit: Arc<str>,
    },
    /// A circuit's memory cannot be had.
    #[error("circuit '{circuit}': {error}")]
    Circuit {
        /// The circuit.
        circuit: Arc<str>,
        /// Why.
        error: PoolError,
    },
    /// A stream or a circuit belongs to another graph.
    #[error("'{block}' is connected to {what} '{name}' of another graph's builder")]
    Foreign {
        /// The block.
        block: Arc<str>,
        /// `the stream of` or `circuit`.
        what: &'static str,
        /// The block that the stream leaves, or the circuit.
        name: Arc<str>,
    },
    /// A quantum has no room for a sample.
    #[error(
        "circuit '{circuit}': a quantum of {len_bytes} bytes holds no {sample} ({sample_bytes} bytes)"
    )]
    Small {
        /// The circuit.
        circuit: Arc<str>,
        /// Bytes in a quantum.
        len_bytes: usize,
        /// The sample's type.
        sample: &'static str,
        /// The sample's size in bytes.
        sample_bytes: usize,
    },
}

pub(super) fn check(nodes: &[Node], edges: &[Edge], rounds: &[Round]) -> Result<(), BuildError> {
    if nodes.is_empty() {
        return Err(BuildError::Empty);
    }
    let mut names = BTreeSet::new();
    for node in nodes {
        if !names.insert(&node.name) {
            return Err(BuildError::Name { name: node.name.clone() });
        }
        let is_open = matches!(node.kind, Kind::Broadcast) && node.outputs.is_empty();
        if is_open || node.outputs.iter().any(|&edge| edges[edge].to.is_none()) {
            return Err(BuildError::Open { block: node.name.clone() });
        }
    }
    for round in rounds {
        if round.taken_by.is_none() {
            return Err(BuildError::Unused { circuit: round.name.clone() });
        }
        let len_bytes = round.pool.capacity_bytes();
        if len_bytes < round.sample_bytes {
            return Err(BuildError::Small {
                circuit: round.name.clone(),
                len_bytes,
                sample: round.sample,
                sample_bytes: round.sample_bytes,
            });
        }
    }
    Ok(())
}

//! A graph that is one line, in the parts that [`ByQuantum`](crate::ByQuantum) runs differently.

use crate::graph::{Graph, Kind, RunError};
use crate::task::Visit;

/// The nodes of a graph that is one line.
pub(super) struct Line {
    /// The source, and what follows it before the first block that has replicas; none where the
    /// source has them too.
    pub(super) first: Vec<usize>,
    /// Blocks that have replicas.
    pub(super) middle: Vec<usize>,
    /// What is left, up to the sink; none where that has replicas too.
    pub(super) last: Vec<usize>,
}

impl Line {
    /// # Errors
    /// [`RunError::Schedule`] names the block that is not of one line, or has no replica.
    pub(super) fn of(graph: &Graph) -> Result<Self, RunError> {
        let is_odd = |node: usize| match graph.nodes[node].kind {
            Kind::Source(_) => node != 0,
            Kind::InPlace(_) | Kind::Sink(_) => false,
            _ => true,
        };
        let nodes = 0..graph.nodes.len();
        if let Some(odd) = nodes.clone().find(|&node| is_odd(node)) {
            let (name, kind) = (&graph.nodes[odd].name, graph.nodes[odd].kind.as_str());
            return Err(RunError::Schedule(format!(
                "'{name}' ({kind}): by quantum runs graphs of one source, blocks in place and one \
                 sink; take ByStage"
            )));
        }
        // Streams lead from block to block in their order: one source, and one sink, the last.
        let has_replica = |&node: &usize| match &graph.nodes[node].kind {
            Kind::Source(block) | Kind::InPlace(block) | Kind::Sink(block) => {
                block.as_ref().is_some_and(|block| block.replicate().is_some())
            }
            _ => false,
        };
        let mut between = 1..nodes.end - 1;
        let begin = between.clone().find(has_replica);
        let end = between.rfind(has_replica).map(|last| last + 1);
        let (Some(mut begin), Some(mut end)) = (begin, end) else {
            return Err(without_replica(graph, nodes.len().min(2) - 1));
        };
        // The ends, where nothing stands between.
        begin -= usize::from(begin == 1 && has_replica(&0));
        end += usize::from(end + 1 == nodes.end && has_replica(&end));
        if let Some(node) = (begin..end).find(|node| !has_replica(node)) {
            return Err(without_replica(graph, node));
        }
        Ok(Self {
            first: (0..begin).collect(),
            middle: (begin..end).collect(),
            last: (end..nodes.end).collect(),
        })
    }

    /// The blocks in the middle, and replicas of them, so that there are `count` of each.
    ///
    /// # Errors
    /// [`RunError::Schedule`] names the block that gave no replica.
    pub(super) fn replicate(
        &self,
        graph: &mut Graph,
        count: usize,
    ) -> Result<Vec<Vec<Box<dyn Visit>>>, RunError> {
        let mut middles = Vec::new();
        for _ in 1..count {
            let mut middle = Vec::new();
            for &node in &self.middle {
                let replica = block(graph, node).as_ref().and_then(|block| block.replicate());
                middle.push(replica.ok_or_else(|| without_replica(graph, node))?);
            }
            middles.push(middle);
        }
        middles.insert(0, take(graph, &self.middle));
        Ok(middles)
    }
}

/// Takes the blocks of `nodes` out of the graph.
pub(super) fn take(graph: &mut Graph, nodes: &[usize]) -> Vec<Box<dyn Visit>> {
    let mut taken = |&node| block(graph, node).take().expect("a joined graph has its blocks");
    nodes.iter().map(&mut taken).collect()
}

/// Puts the blocks of `nodes` back.
pub(super) fn put_back(graph: &mut Graph, nodes: &[usize], blocks: Vec<Box<dyn Visit>>) {
    for (&node, own) in nodes.iter().zip(blocks) {
        *block(graph, node) = Some(own);
    }
}

fn block(graph: &mut Graph, node: usize) -> &mut Option<Box<dyn Visit>> {
    match &mut graph.nodes[node].kind {
        Kind::Source(block) | Kind::InPlace(block) | Kind::Sink(block) => block,
        _ => unreachable!("a line has no others"),
    }
}

fn without_replica(graph: &Graph, node: usize) -> RunError {
    let name = &graph.nodes[node].name;
    RunError::Schedule(format!(
        "'{name}' has no replica (InPlace::replicate), and by quantum would work on quanta out of \
         their order: take ByStage, or move it next to the source or the sink"
    ))
}

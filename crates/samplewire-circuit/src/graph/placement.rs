//! Where blocks run.

use crate::graph::Graph;

/// Which group each block runs in, and whether groups may sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    pub(crate) group_of: Vec<usize>,
    pub(crate) spins: bool,
}

impl Placement {
    /// All in one group.
    pub fn together(graph: &Graph) -> Self {
        Self::by(graph, |_| 0)
    }

    /// Each block in the group whose number `group_of` says. Groups that have no block run nothing.
    pub fn by(graph: &Graph, group_of: impl FnMut(BlockView<'_>) -> usize) -> Self {
        Self { group_of: graph.blocks().map(group_of).collect(), spins: false }
    }

    /// Groups never sleep: a group that hands them a quantum does not check whether they sleep.
    #[must_use]
    pub fn spinning(self) -> Self {
        Self { spins: true, ..self }
    }

    /// How many groups there are.
    pub(crate) fn groups(&self) -> usize {
        self.group_of.iter().max().map_or(0, |most| most + 1)
    }
}

/// One block of a graph.
#[derive(Clone, Copy, Debug)]
pub struct BlockView<'a> {
    graph: &'a Graph,
    number: usize,
}

impl<'a> BlockView<'a> {
    pub(super) fn new(graph: &'a Graph, number: usize) -> Self {
        Self { graph, number }
    }

    /// Its place among the blocks.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        &self.graph.nodes[self.number].name
    }

    /// What it is: `source`, `in place`, `transform`, `join`, `merge`, `feedback`, `custom`, `broadcast` or
    /// `sink`.
    pub fn kind(&self) -> &'static str {
        self.graph.nodes[self.number].kind.as_str()
    }

    /// The blocks whose streams lead to it.
    pub fn inputs(&self) -> impl Iterator<Item = BlockView<'a>> {
        let graph = self.graph;
        let from = |&edge: &usize| BlockView { graph, number: graph.edges[edge].from };
        graph.nodes[self.number].inputs.iter().map(from)
    }
}

//! Tasks made of nodes, their blocks, and the ways between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::channel::{Give, Inlet};
use crate::graph::node::{Edge, Kind, Node, Round};
use crate::graph::split::Run;
use crate::graph::ways::{Ends, Ways};
use crate::meter::Counting;
use crate::ports::{Account, OutputPort, Ports};
use crate::quantum::Quantum;
use crate::task::{
    CustomTask, FeedbackHead, Head, Input, JoinHead, Line, MergeHead, Reader, Station, Tail, Task,
    TransformHead,
};

/// Makes tasks of nodes.
pub(super) struct Build<'a, 'b> {
    pub(super) nodes: &'a mut [Node],
    pub(super) edges: &'a [Edge],
    pub(super) rounds: &'a [Round],
    pub(super) ends: &'a mut Ends,
    pub(super) ways: &'a mut Ways<'b>,
    pub(super) input_gives: &'a mut BTreeMap<usize, Give>,
}

impl Build<'_, '_> {
    pub(super) fn task(&mut self, run: &Run, give: Give) -> Task {
        let first = run.nodes[0];
        if matches!(self.nodes[first].kind, Kind::Reader(_)) {
            return self.reader(first, give);
        }
        if matches!(self.nodes[first].kind, Kind::Custom { .. }) {
            return self.custom(first, &run.circuits, give);
        }
        let head = self.head(first);
        let mut stations = Vec::new();
        for &node in &run.nodes {
            let block = match &mut self.nodes[node].kind {
                Kind::Source(block) | Kind::InPlace(block) | Kind::Sink(block) => block.take(),
                Kind::Transform { .. }
                | Kind::Join { .. }
                | Kind::Merge
                | Kind::Feedback { .. }
                | Kind::Broadcast => continue,
                Kind::Reader(_) | Kind::Custom { .. } => unreachable!("tasks of their own"),
            };
            stations.push(self.station(node, block.expect("a joined graph has its blocks")));
        }
        let last = *run.nodes.last().expect("a task has nodes");
        let tail = self.tail(last);
        Task::Line(Box::new(Line::new(first, head, stations, tail, give)))
    }

    fn reader(&mut self, node: usize, give: Give) -> Task {
        let input = Input::new(self.ends.way(self.nodes[node].inputs[0]), give);
        let Kind::Reader(block) = &mut self.nodes[node].kind else {
            unreachable!("asked for a reader");
        };
        let block = block.take().expect("a joined graph has its blocks");
        Task::Reader(Box::new(Reader::new(input, self.station(node, block))))
    }

    fn head(&mut self, first: usize) -> Head {
        let Node { inputs, takes, meter, sample_size, .. } = &self.nodes[first];
        let (inputs, takes, sample_size) = (inputs.clone(), *takes, *sample_size);
        let counting = Counting::new(Arc::clone(meter));
        match &mut self.nodes[first].kind {
            Kind::Source(_) => {
                let take = self.ways.take(takes.expect("a source has a circuit"));
                Head::Free { take, next_index: 0, is_draining: false }
            }
            Kind::Transform { block, output_size } => {
                let block = block.take().expect("a joined graph has its blocks");
                let output_size = *output_size;
                let input = self.input(first, inputs[0]);
                let take = self.ways.take(takes.expect("a transform has a circuit"));
                let station = self.station(first, block);
                Head::Transform(Box::new(TransformHead::new(station, output_size, input, take)))
            }
            Kind::Join { block, spare } => {
                let block = block.take().expect("a joined graph has its blocks");
                let spare = self.ways.take(*spare);
                let input = self.input(first, inputs[1]);
                let station = self.station(first, block);
                Head::Join(Box::new(JoinHead::new(station, self.inlet(inputs[0]), input, spare)))
            }
            Kind::Feedback { initial } => {
                let initial = *initial;
                let circuit = takes.expect("a feedback has a circuit");
                let (take, round) = (self.ways.take(circuit), &self.rounds[circuit]);
                let len = round.len;
                let input = self.input(first, inputs[0]);
                let feedback = FeedbackHead::new(input, take, counting, len, sample_size, initial);
                Head::Feedback(Box::new(feedback))
            }
            Kind::Merge => {
                let inlets = inputs.iter().map(|&edge| self.inlet(edge)).collect();
                Head::Merge(MergeHead::new(inlets))
            }
            _ => Head::Inlet(self.inlet(inputs[0])),
        }
    }

    fn custom(&mut self, number: usize, circuits: &[usize], give: Give) -> Task {
        let of_circuit = |&circuit: &usize| {
            let Round { pool, name, .. } = &self.rounds[circuit];
            (pool.clone(), name.clone())
        };
        let Node { inputs, outputs, kind: Kind::Custom { block, takes }, .. } =
            &mut self.nodes[number]
        else {
            unreachable!("asked for a custom block");
        };
        let inputs = inputs.iter().map(|&edge| self.ends.way(edge)).collect();
        let output = |(&edge, &circuit): (&usize, &Option<usize>)| OutputPort {
            outlet: self.ends.outlets.remove(&edge).expect("made for it"),
            take: circuit.map(|circuit| self.ways.take(circuit)),
            circuits: self.edges[edge]
                .circuits()
                .map(|circuit| circuits.binary_search(&circuit).expect("one of the node's"))
                .collect(),
        };
        let outputs = outputs.iter().zip(&*takes).map(output).collect();
        let block = block.take().expect("a joined graph has its blocks");
        let account = Arc::new(Account::new(circuits.iter().map(of_circuit).collect()));
        let ports = Ports::new(inputs, outputs, give, account);
        Task::Custom(Box::new(CustomTask::new(self.station(number, block), ports)))
    }

    fn inlet(&mut self, edge: usize) -> Inlet<Quantum> {
        self.ends.inlets.remove(&edge).expect("made for it")
    }

    /// What `node` reads without working on it.
    fn input(&mut self, node: usize, edge: usize) -> Input {
        let give = self.input_gives.remove(&node).expect("made for it");
        Input::new(self.ends.way(edge), give)
    }

    fn tail(&mut self, last: usize) -> Tail {
        let outputs = &self.nodes[last].outputs;
        let Some(first) = outputs.first() else { return Tail::Home };
        match self.ends.outlets.remove(first) {
            Some(outlet) => Tail::Outlet(outlet),
            None => {
                let made = |edge| self.ends.shared_outlets.remove(edge).expect("made for it");
                Tail::Broadcast(outputs.iter().map(made).collect())
            }
        }
    }

    fn station<B: ?Sized>(&self, node: usize, block: Box<B>) -> Station<B> {
        let Node { meter, sample_size, .. } = &self.nodes[node];
        let counting = Counting::new(Arc::clone(meter));
        Station { node, sample_size: *sample_size, counting, block }
    }
}

//! What groups of tasks had, for others of the same blocks.

use std::collections::BTreeMap;

use crate::channel::{Arrival, Inlet, Take};
use crate::graph::Graph;
use crate::graph::node::{Node, Round};
use crate::quantum::{Quantum, SharedQuantum};
use crate::task::{CustomTask, Head, Held, Reader, Station, Task, Tour, Visit};

/// What tasks had when they were taken apart between two turns; empty of a graph that has not run.
#[derive(Default)]
pub(super) struct Carried {
    /// Quanta that were on their way over an edge, in their order.
    pub(super) waiting: BTreeMap<usize, Vec<Quantum>>,
    pub(super) shared_waiting: BTreeMap<usize, Vec<SharedQuantum>>,
    /// By the node with which their line began.
    pub(super) heads: BTreeMap<usize, Head>,
    /// By their nodes, as all below.
    pub(super) stations: BTreeMap<usize, Station<dyn Visit>>,
    pub(super) readers: BTreeMap<usize, Reader>,
    pub(super) customs: BTreeMap<usize, CustomTask>,
    /// The quanta that a block was working on.
    held: BTreeMap<usize, Vec<Quantum>>,
}

impl Carried {
    /// Takes `tasks` apart, none of which is [ending](Task::is_ending). Quanta that are home go to
    /// the graph.
    pub(super) fn of(graph: &mut Graph, tasks: Vec<Task>) -> Self {
        let mut carried = Self::default();
        for mut task in tasks {
            let Graph { nodes, rounds, .. } = graph;
            task.tour(&mut Gather { nodes, rounds, carried: &mut carried });
            match task {
                Task::Line(line) => carried.take_line(graph, *line),
                Task::Reader(reader) => {
                    carried.readers.insert(reader.node(), *reader);
                }
                Task::Custom(custom) => {
                    carried.customs.insert(custom.node(), *custom);
                }
            }
        }
        // The last that came home is taken first again.
        graph.rounds.iter_mut().for_each(|round| round.free.reverse());
        carried
    }

    fn take_line(&mut self, graph: &Graph, line: crate::task::Line) {
        let (first, head, stations, held) = line.into_parts();
        self.heads.insert(first, head);
        for Held { quantum, at, .. } in held {
            let before = |at: usize| graph.nodes[stations[at].node].outputs[0];
            // Behind the last block there is a broadcast.
            let node = match stations.get(at) {
                Some(station) => station.node,
                None if at > 0 => graph.edges[before(at - 1)].to.expect("connected"),
                None => first,
            };
            self.held.entry(node).or_default().push(quantum);
        }
        self.stations.extend(stations.into_iter().map(|station| (station.node, station)));
    }

    /// The quanta for the block of `node`, `at` in its line, in the order in which a line holds them:
    /// those that came over `edge` where this is no channel any more, and what it was working on.
    pub(super) fn held(&mut self, node: usize, edge: Option<usize>, at: usize) -> Vec<Held> {
        let waiting = edge.and_then(|edge| self.waiting.remove(&edge)).unwrap_or_default();
        let held = self.held.remove(&node).unwrap_or_default();
        let quanta = waiting.into_iter().rev().chain(held);
        quanta.map(|quantum| Held { quantum, at, is_last: false }).collect()
    }
}

/// Takes the quanta out of the channels.
struct Gather<'a> {
    nodes: &'a [Node],
    rounds: &'a mut [Round],
    carried: &'a mut Carried,
}

impl Tour for Gather<'_> {
    fn inlet(&mut self, node: usize, input: usize, inlet: &mut Inlet<Quantum>) {
        let waiting = self.carried.waiting.entry(self.nodes[node].inputs[input]).or_default();
        while let Arrival::Next(quantum) = inlet.pop() {
            waiting.push(quantum);
        }
    }

    fn shared_inlet(&mut self, node: usize, input: usize, inlet: &mut Inlet<SharedQuantum>) {
        let edge = self.nodes[node].inputs[input];
        let waiting = self.carried.shared_waiting.entry(edge).or_default();
        while let Arrival::Next(quantum) = inlet.pop() {
            waiting.push(quantum);
        }
    }

    fn home(&mut self, take: &mut Take) {
        let round = self.rounds.iter_mut().find(|round| round.pool.is_same(take.pool()));
        let round = round.expect("circuits are taken from");
        while let Some(quantum) = take.take() {
            round.free.push(quantum);
        }
    }
}

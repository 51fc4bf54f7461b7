//! Where everything is in a graph that has stalled.

use std::collections::BTreeMap;

use crate::channel::{Arrival, Inlet, Take, Word};
use crate::graph::Graph;
use crate::graph::node::{Edge, Node, Round};
use crate::quantum::{Quantum, SharedQuantum};

/// Collects what the tasks of a stalled graph wait for and hold.
pub(crate) struct Survey<'a> {
    nodes: &'a [Node],
    edges: &'a [Edge],
    rounds: &'a [Round],
    waits: Vec<String>,
    /// For each circuit how many quanta are where.
    places: Vec<BTreeMap<String, usize>>,
}

impl<'a> Survey<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        let Graph { nodes, edges, rounds, .. } = graph;
        let places = rounds.iter().map(|_| BTreeMap::new()).collect();
        Self { nodes, edges, rounds, waits: Vec::new(), places }
    }

    /// Which block waits for what, and where the quanta of each circuit are.
    pub(super) fn into_texts(self) -> (String, String) {
        let of_round = |(round, places): (&Round, &BTreeMap<String, usize>)| {
            let places: Vec<_> =
                places.iter().map(|(place, count)| format!("{count} {place}")).collect();
            format!("'{}' has {}: {}", round.name, round.pool.len(), places.join(", "))
        };
        let circuits: Vec<_> = self.rounds.iter().zip(&self.places).map(of_round).collect();
        (self.waits.join("; "), circuits.join("; "))
    }

    /// `node` waits for what comes by one of its inputs.
    pub(crate) fn waits_for_input(&mut self, node: usize, input: usize) {
        let name = &self.nodes[node].name;
        let from = &self.nodes[self.edges[self.nodes[node].inputs[input]].from].name;
        self.waits.push(format!("'{name}' waits for samples from '{from}'"));
    }

    /// `node` waits for a free quantum.
    pub(crate) fn waits_for_quantum(&mut self, node: usize, take: &Take) {
        let name = &self.nodes[node].name;
        let round = self.rounds.iter().find(|round| round.pool.is_same(take.pool()));
        let circuit = &round.expect("circuits are taken from").name;
        self.waits.push(format!("'{name}' waits for a free quantum of circuit '{circuit}'"));
    }

    /// `node` does not report why it waits.
    pub(crate) fn is_idle(&mut self, node: usize) {
        self.waits.push(format!("'{}' is idle", self.nodes[node].name));
    }

    /// Takes the quanta that came by an input of `node`.
    pub(crate) fn inlet(&mut self, node: usize, input: usize, inlet: &mut Inlet<Quantum>) {
        self.clear(node, input, inlet, |quantum| quantum);
    }

    /// Takes the quanta that came by an input of `node`, and to others.
    pub(crate) fn shared_inlet(
        &mut self,
        node: usize,
        input: usize,
        inlet: &mut Inlet<SharedQuantum>,
    ) {
        self.clear(node, input, inlet, |quantum| quantum);
    }

    /// `quantum` is with `node`.
    pub(crate) fn held(&mut self, node: usize, quantum: &Quantum) {
        self.count(quantum, format!("with '{}'", self.nodes[node].name));
    }

    /// Looks at the quanta of a circuit that are home.
    pub(crate) fn home(&mut self, take: &mut Take) {
        let round = self.rounds.iter().position(|round| round.pool.is_same(take.pool()));
        let home = take.home();
        if home > 0 {
            self.places[round.expect("circuits are taken from")].insert("home".into(), home);
        }
    }

    /// Counts, and gives to their pools, the quanta that came by an input of `node`.
    fn clear<W: Word>(
        &mut self,
        node: usize,
        input: usize,
        inlet: &mut Inlet<W>,
        quantum: impl Fn(&W) -> &Quantum,
    ) {
        let name = &self.nodes[node].name;
        let from = &self.nodes[self.edges[self.nodes[node].inputs[input]].from].name;
        let place = format!("on the way from '{from}' to '{name}'");
        while let Arrival::Next(word) = inlet.pop() {
            self.count(quantum(&word), place.clone());
        }
    }

    fn count(&mut self, quantum: &Quantum, place: String) {
        let round = self.rounds.iter().position(|round| round.pool.owns(quantum));
        *self.places[round.expect("quanta are of circuits")].entry(place).or_default() += 1;
    }
}

//! The channels and the ways home of a graph's quanta, for one placement of its blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::channel::{Consumer, Give, Inlet, Local, Outlet, Take};
use crate::channel::{local_channel, ring, ring_channel};
use crate::graph::node::{Edge, Round};
use crate::graph::{Graph, Placement};
use crate::quantum::{Quantum, SharedQuantum};
use crate::task::Way;
use crate::wait::Bell;

/// The ends of the channels that the edges become.
pub(super) struct Ends {
    pub(super) outlets: BTreeMap<usize, Outlet<Quantum>>,
    pub(super) inlets: BTreeMap<usize, Inlet<Quantum>>,
    pub(super) shared_outlets: BTreeMap<usize, Outlet<SharedQuantum>>,
    pub(super) shared_inlets: BTreeMap<usize, Inlet<SharedQuantum>>,
}

impl Ends {
    pub(super) fn new(
        graph: &Graph,
        placement: &Placement,
        bells: &[Arc<Bell>],
        is_channel: impl Fn(&Edge) -> bool,
    ) -> Self {
        let mut ends = Self {
            outlets: BTreeMap::new(),
            inlets: BTreeMap::new(),
            shared_outlets: BTreeMap::new(),
            shared_inlets: BTreeMap::new(),
        };
        for (number, edge) in graph.edges.iter().enumerate().filter(|(_, edge)| is_channel(edge)) {
            let to = edge.to.expect("a graph's edges are connected");
            let groups = (placement.group_of[edge.from], placement.group_of[to]);
            let capacity = edge.circuits().map(|circuit| graph.rounds[circuit].pool.len()).sum();
            if edge.is_shared {
                let (outlet, inlet) = channel(groups, capacity, bells);
                ends.shared_outlets.insert(number, outlet);
                ends.shared_inlets.insert(number, inlet);
            } else {
                let (outlet, inlet) = channel(groups, capacity, bells);
                ends.outlets.insert(number, outlet);
                ends.inlets.insert(number, inlet);
            }
        }
        ends
    }

    /// Where a node that may only read finds an edge's quanta.
    pub(super) fn way(&mut self, edge: usize) -> Way {
        match self.inlets.remove(&edge) {
            Some(inlet) => Way::Owned(inlet),
            None => Way::Shared(self.shared_inlets.remove(&edge).expect("made for it")),
        }
    }
}

fn channel<W: crate::channel::Word>(
    (from, to): (usize, usize),
    capacity: usize,
    bells: &[Arc<Bell>],
) -> (Outlet<W>, Inlet<W>) {
    if from == to {
        local_channel()
    } else {
        ring_channel(capacity, bells[from].clone(), bells[to].clone())
    }
}

/// The ways home, circuit by circuit.
pub(super) struct Ways<'a> {
    graph_rounds: Vec<Free>,
    /// The group in which each circuit's quanta are taken.
    taken_in: Vec<usize>,
    bells: &'a [Arc<Bell>],
}

/// The free quanta of a circuit, the ways home from other groups, and its pool.
type Free = (Local<Vec<Quantum>>, Vec<Consumer<Quantum>>, crate::pool::Pool);

impl<'a> Ways<'a> {
    pub(super) fn new(graph: &mut Graph, placement: &Placement, bells: &'a [Arc<Bell>]) -> Self {
        let group_of = |round: &Round| placement.group_of[round.taken_by];
        let taken_in = graph.rounds.iter().map(group_of).collect();
        let graph_rounds = graph
            .rounds
            .iter_mut()
            .map(|round| {
                let free = Local::new(std::mem::take(&mut round.free));
                (free, Vec::new(), round.pool.clone())
            })
            .collect();
        Self { graph_rounds, taken_in, bells }
    }

    /// The way home from a task in `group`.
    pub(super) fn give(&mut self, circuits: &[usize], group: usize) -> Give {
        if let &[circuit] = circuits {
            return self.give_one(circuit, group);
        }
        let mut way = |&circuit: &usize| {
            (self.graph_rounds[circuit].2.clone(), self.give_one(circuit, group))
        };
        Give::Several(circuits.iter().map(&mut way).collect())
    }

    fn give_one(&mut self, circuit: usize, group: usize) -> Give {
        let (free, rings, pool) = &mut self.graph_rounds[circuit];
        let home = self.taken_in[circuit];
        if home == group {
            return Give::Local(free.clone());
        }
        let (producer, consumer) = ring(pool.len());
        rings.push(consumer);
        Give::Ring(producer, self.bells[home].clone())
    }

    /// Where the circuit's quanta are taken; once, when all ways home are made.
    pub(super) fn take(&mut self, circuit: usize) -> Take {
        let (free, rings, pool) = &mut self.graph_rounds[circuit];
        Take::new(free.clone(), std::mem::take(rings), pool.clone())
    }
}

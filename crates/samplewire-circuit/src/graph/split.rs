//! From a graph to groups of tasks, and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::channel::{Bell, Consumer, Give, Inlet, Local, Outlet, Take};
use crate::channel::{local_channel, ring, ring_channel};
use crate::graph::carry::Carried;
use crate::graph::node::{Edge, Kind, Node, Round};
use crate::graph::survey::Survey;
use crate::graph::{Graph, Placement, RunError, Shared};
use crate::group::Group;
use crate::meter::Counting;
use crate::ports::{Account, OutputPort, Ports};
use crate::quantum::{Quantum, SharedQuantum};
use crate::task::{
    CustomTask, FeedbackHead, Head, Input, JoinHead, Line, MergeHead, Reader, Station, Tail, Task,
    TransformHead, Way,
};

/// Nodes that are to be one task.
struct Run {
    nodes: Vec<usize>,
    group: usize,
    /// The circuits of the quanta that visit them.
    circuits: Vec<usize>,
}

pub(super) fn split(graph: &mut Graph, placement: &Placement) -> Vec<Group> {
    let bells = bells(graph, placement);
    graph.shared().begin();
    let tasks = tasks(graph, placement, &bells, Carried::default());
    groups(graph, tasks, bells, Group::new)
}

/// See [`Graph::regroup`].
pub(super) fn regroup(
    graph: &mut Graph,
    groups_before: Vec<Group>,
    placement: &Placement,
) -> Result<Vec<Group>, Vec<Group>> {
    if !groups_before.iter().all(Group::goes_on) {
        return Err(groups_before);
    }
    let bells = bells(graph, placement);
    let carried =
        Carried::of(graph, groups_before.into_iter().flat_map(Group::into_tasks).collect());
    let tasks = tasks(graph, placement, &bells, carried);
    Ok(groups(graph, tasks, bells, Group::started))
}

/// A bell for each group, which all know from now on.
fn bells(graph: &Graph, placement: &Placement) -> Vec<Arc<Bell>> {
    let bells: Vec<_> =
        (0..placement.groups()).map(|_| Arc::new(Bell::new(placement.spins))).collect();
    graph.shared().set_bells(bells.clone());
    graph.shared().set_homes(placement.group_of.iter().map(|&at| Arc::clone(&bells[at])).collect());
    bells
}

fn groups(
    graph: &Graph,
    tasks: Vec<Vec<Task>>,
    bells: Vec<Arc<Bell>>,
    group: fn(Vec<Task>, Arc<Shared>, Arc<Bell>) -> Group,
) -> Vec<Group> {
    let of = |(tasks, bell)| group(tasks, Arc::clone(graph.shared()), bell);
    tasks.into_iter().zip(bells).map(of).collect()
}

/// For each group its tasks, with what was `carried` from others of the same blocks.
fn tasks(
    graph: &mut Graph,
    placement: &Placement,
    bells: &[Arc<Bell>],
    mut carried: Carried,
) -> Vec<Vec<Task>> {
    let runs = runs(graph, placement);
    let run_of: BTreeMap<usize, usize> = runs
        .iter()
        .enumerate()
        .flat_map(|(run, it)| it.nodes.iter().map(move |&n| (n, run)))
        .collect();
    let mut ends = Ends::new(graph, placement, bells, &mut carried, |edge: &Edge| {
        let to = edge.to.expect("a graph's edges are connected");
        !graph.nodes[to].kind.is_visited() || run_of[&edge.from] != run_of[&to]
    });
    let mut ways = Ways::new(graph, placement, bells);
    // Every way home is made before the circuits' free sides are closed.
    let gives: Vec<_> = runs.iter().map(|run| ways.give(&run.circuits, run.group)).collect();
    let mut input_gives = BTreeMap::new();
    for (number, node) in graph.nodes.iter().enumerate() {
        let read = match node.kind {
            Kind::Transform { .. } | Kind::Feedback { .. } => node.inputs[0],
            Kind::Join { .. } => node.inputs[1],
            _ => continue,
        };
        let circuits: Vec<_> = graph.edges[read].circuits().collect();
        input_gives.insert(number, ways.give(&circuits, placement.group_of[number]));
    }
    let mut tasks: Vec<Vec<Task>> = bells.iter().map(|_| Vec::new()).collect();
    for (run, give) in runs.into_iter().zip(gives) {
        let mut build = Build {
            nodes: &mut graph.nodes,
            edges: &graph.edges,
            rounds: &graph.rounds,
            ends: &mut ends,
            ways: &mut ways,
            input_gives: &mut input_gives,
            carried: &mut carried,
        };
        tasks[run.group].push(build.task(&run, give));
    }
    tasks
}

/// Which nodes are one task: those that follow one another on the same quanta in one group.
fn runs(graph: &Graph, placement: &Placement) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut run_of = vec![usize::MAX; graph.nodes.len()];
    for (number, node) in graph.nodes.iter().enumerate() {
        let group = placement.group_of[number];
        let fused = if node.kind.is_visited() {
            let from = graph.edges[node.inputs[0]].from;
            let is_custom = matches!(graph.nodes[from].kind, Kind::Custom { .. });
            (placement.group_of[from] == group && !is_custom).then(|| run_of[from])
        } else {
            None
        };
        let run = fused.unwrap_or_else(|| {
            let of_edge = |&edge: &usize| graph.edges[edge].circuits();
            let mut circuits: Vec<_> = match (&node.kind, node.takes, node.outputs.first()) {
                (Kind::Custom { .. }, ..) => {
                    node.inputs.iter().chain(&node.outputs).flat_map(of_edge).collect()
                }
                (_, Some(circuit), _) => vec![circuit],
                (_, None, Some(edge)) => of_edge(edge).collect(),
                (_, None, None) => of_edge(&node.inputs[0]).collect(),
            };
            circuits.sort_unstable();
            circuits.dedup();
            runs.push(Run { nodes: Vec::new(), group, circuits });
            runs.len() - 1
        });
        runs[run].nodes.push(number);
        run_of[number] = run;
    }
    runs
}

/// The ends of the channels that the edges become.
struct Ends {
    outlets: BTreeMap<usize, Outlet<Quantum>>,
    inlets: BTreeMap<usize, Inlet<Quantum>>,
    shared_outlets: BTreeMap<usize, Outlet<SharedQuantum>>,
    shared_inlets: BTreeMap<usize, Inlet<SharedQuantum>>,
}

impl Ends {
    fn new(
        graph: &Graph,
        placement: &Placement,
        bells: &[Arc<Bell>],
        carried: &mut Carried,
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
                let waiting = carried.shared_waiting.remove(&number).unwrap_or_default();
                let (outlet, inlet) = channel(groups, capacity, waiting, bells);
                ends.shared_outlets.insert(number, outlet);
                ends.shared_inlets.insert(number, inlet);
            } else {
                let waiting = carried.waiting.remove(&number).unwrap_or_default();
                let (outlet, inlet) = channel(groups, capacity, waiting, bells);
                ends.outlets.insert(number, outlet);
                ends.inlets.insert(number, inlet);
            }
        }
        ends
    }

    /// Where a node that may only read finds an edge's quanta.
    fn way(&mut self, edge: usize) -> Way {
        match self.inlets.remove(&edge) {
            Some(inlet) => Way::Owned(inlet),
            None => Way::Shared(self.shared_inlets.remove(&edge).expect("made for it")),
        }
    }
}

fn channel<W: crate::channel::Word>(
    (from, to): (usize, usize),
    capacity: usize,
    waiting: Vec<W>,
    bells: &[Arc<Bell>],
) -> (Outlet<W>, Inlet<W>) {
    if from == to {
        local_channel(waiting)
    } else {
        ring_channel(capacity, waiting, bells[from].clone(), bells[to].clone())
    }
}

/// The ways home, circuit by circuit.
struct Ways<'a> {
    graph_rounds: Vec<Free>,
    /// The group in which each circuit's quanta are taken.
    taken_in: Vec<usize>,
    bells: &'a [Arc<Bell>],
}

/// The free quanta of a circuit, the ways home from other groups, and its pool.
type Free = (Local<Vec<Quantum>>, Vec<Consumer<Quantum>>, crate::pool::Pool);

impl<'a> Ways<'a> {
    fn new(graph: &mut Graph, placement: &Placement, bells: &'a [Arc<Bell>]) -> Self {
        let taker = |round: &Round| round.taken_by.expect("a graph's circuits are used");
        let taken_in = graph.rounds.iter().map(|round| placement.group_of[taker(round)]).collect();
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
    fn give(&mut self, circuits: &[usize], group: usize) -> Give {
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
    fn take(&mut self, circuit: usize) -> Take {
        let (free, rings, pool) = &mut self.graph_rounds[circuit];
        Take::new(free.clone(), std::mem::take(rings), pool.clone())
    }
}

/// Makes tasks of nodes.
struct Build<'a, 'b> {
    nodes: &'a mut [Node],
    edges: &'a [Edge],
    rounds: &'a [Round],
    ends: &'a mut Ends,
    ways: &'a mut Ways<'b>,
    input_gives: &'a mut BTreeMap<usize, Give>,
    carried: &'a mut Carried,
}

impl Build<'_, '_> {
    fn task(&mut self, run: &Run, give: Give) -> Task {
        let first = run.nodes[0];
        if matches!(self.nodes[first].kind, Kind::Reader(_)) {
            return self.reader(first, give);
        }
        if matches!(self.nodes[first].kind, Kind::Custom { .. }) {
            return self.custom(first, &run.circuits, give);
        }
        let head = self.head(first);
        let (mut stations, mut held) = (Vec::new(), Vec::new());
        for &node in &run.nodes {
            let edge = self.nodes[node].inputs.first().copied();
            held.extend(self.carried.held(node, edge, stations.len()));
            if let Some(station) = self.carried.stations.remove(&node) {
                stations.push(station);
                continue;
            }
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
        Task::Line(Box::new(Line::new(first, head, stations, tail, give, held)))
    }

    fn reader(&mut self, node: usize, give: Give) -> Task {
        let input = Input::new(self.ends.way(self.nodes[node].inputs[0]), give);
        if let Some(mut reader) = self.carried.readers.remove(&node) {
            reader.rewire(input);
            return Task::Reader(Box::new(reader));
        }
        let Kind::Reader(block) = &mut self.nodes[node].kind else {
            unreachable!("asked for a reader");
        };
        let block = block.take().expect("a joined graph has its blocks");
        Task::Reader(Box::new(Reader::new(input, self.station(node, block))))
    }

    fn head(&mut self, first: usize) -> Head {
        if let Some(head) = self.carried.heads.remove(&first) {
            return self.rewired(first, head);
        }
        let Node { inputs, takes, meter, sample_shift, .. } = &self.nodes[first];
        let (inputs, takes, sample_shift) = (inputs.clone(), *takes, *sample_shift);
        let counting = Counting::new(Arc::clone(meter));
        match &mut self.nodes[first].kind {
            Kind::Source(_) => {
                let take = self.ways.take(takes.expect("a source has a circuit"));
                Head::Free { take, next_index: 0, is_draining: false }
            }
            Kind::Transform { block, output_shift } => {
                let block = block.take().expect("a joined graph has its blocks");
                let output_shift = *output_shift;
                let input = self.input(first, inputs[0]);
                let take = self.ways.take(takes.expect("a transform has a circuit"));
                let station = self.station(first, block);
                Head::Transform(Box::new(TransformHead::new(station, output_shift, input, take)))
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
                let feedback = FeedbackHead::new(input, take, counting, len, sample_shift, initial);
                Head::Feedback(Box::new(feedback))
            }
            Kind::Merge => {
                let inlets = inputs.iter().map(|&edge| self.inlet(edge)).collect();
                Head::Merge(MergeHead::new(inlets))
            }
            _ => Head::Inlet(self.inlet(inputs[0])),
        }
    }

    /// A head as it was, on the ways of this split.
    fn rewired(&mut self, first: usize, head: Head) -> Head {
        let Node { inputs, takes, kind, .. } = &self.nodes[first];
        let (inputs, takes) = (inputs.clone(), *takes);
        let spare = if let Kind::Join { spare, .. } = kind { Some(*spare) } else { None };
        let mut take = || self.ways.take(takes.or(spare).expect("it takes quanta"));
        match head {
            Head::Free { next_index, is_draining, .. } => {
                Head::Free { take: take(), next_index, is_draining }
            }
            Head::Inlet(_) => Head::Inlet(self.inlet(inputs[0])),
            Head::Transform(mut transform) => {
                let take = take();
                transform.rewire(self.input(first, inputs[0]), take);
                Head::Transform(transform)
            }
            Head::Join(mut join) => {
                let spare = take();
                let input = self.input(first, inputs[1]);
                join.rewire(self.inlet(inputs[0]), input, spare);
                Head::Join(join)
            }
            Head::Feedback(mut feedback) => {
                let take = take();
                feedback.rewire(self.input(first, inputs[0]), take);
                Head::Feedback(feedback)
            }
            Head::Merge(mut merge) => {
                merge.rewire(inputs.iter().map(|&edge| self.inlet(edge)).collect());
                Head::Merge(merge)
            }
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
        if let Some(mut task) = self.carried.customs.remove(&number) {
            task.ports().rewire(inputs, outputs, give);
            return Task::Custom(Box::new(task));
        }
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
        let Node { meter, sample_shift, .. } = &self.nodes[node];
        let counting = Counting::new(Arc::clone(meter));
        Station { node, sample_shift: *sample_shift, counting, block }
    }
}

pub(super) fn join(graph: &mut Graph, groups: Vec<Group>) -> Result<(), RunError> {
    let mut tasks: Vec<_> = groups.into_iter().flat_map(Group::into_tasks).collect();
    let mut error = graph.shared().take_error();
    graph.shared().is_over();
    if let Some(RunError::Stalled { waits, quanta }) = &mut error {
        let mut survey = Survey::new(graph);
        tasks.iter_mut().for_each(|task| task.tour(&mut survey));
        (*waits, *quanta) = survey.into_texts();
    }
    let mut kept = None;
    for task in tasks {
        match task {
            Task::Reader(reader) => {
                let station = reader.into_station();
                if let Kind::Reader(place) = &mut graph.nodes[station.node].kind {
                    *place = Some(station.block);
                }
            }
            Task::Custom(custom) => {
                let (station, held) = custom.into_station();
                if held > 0 {
                    let block = graph.nodes[station.node].name.clone();
                    kept.get_or_insert(RunError::Kept { block, held });
                }
                if let Kind::Custom { block, .. } = &mut graph.nodes[station.node].kind {
                    *block = Some(station.block);
                }
            }
            Task::Line(line) => {
                let (_, head, stations, _) = line.into_parts();
                match head {
                    Head::Transform(head) => {
                        let station = head.into_station();
                        if let Kind::Transform { block, .. } = &mut graph.nodes[station.node].kind {
                            *block = Some(station.block);
                        }
                    }
                    Head::Join(head) => {
                        let station = head.into_station();
                        if let Kind::Join { block, .. } = &mut graph.nodes[station.node].kind {
                            *block = Some(station.block);
                        }
                    }
                    Head::Free { .. } | Head::Inlet(_) | Head::Merge(_) | Head::Feedback(_) => {}
                }
                for station in stations {
                    let (Kind::Source(place) | Kind::InPlace(place) | Kind::Sink(place)) =
                        &mut graph.nodes[station.node].kind
                    else {
                        unreachable!("stations are of these kinds");
                    };
                    *place = Some(station.block);
                }
            }
        }
    }
    // All that was under way went back to the pools with its task.
    let mut lost = None;
    for round in &mut graph.rounds {
        round.free.clear();
        let (quanta, home) = (round.pool.len(), round.pool.free());
        round.free = std::iter::from_fn(|| round.pool.take()).collect();
        if home < quanta {
            let circuit = round.name.clone();
            lost.get_or_insert(RunError::Lost { circuit, missing: quanta - home, quanta });
        }
    }
    error.or(kept).or(lost).map_or(Ok(()), Err)
}

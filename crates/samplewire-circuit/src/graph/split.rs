//! From a graph to groups of tasks, and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::graph::assemble::Build;
use crate::graph::node::{Edge, Kind};
use crate::graph::survey::Survey;
use crate::graph::ways::{Ends, Ways};
use crate::graph::{Graph, Placement, RunError};
use crate::group::Group;
use crate::task::{Head, Task};
use crate::wait::Bell;

/// Nodes that are to be one task.
pub(super) struct Run {
    pub(super) nodes: Vec<usize>,
    pub(super) group: usize,
    /// The circuits of the quanta that visit them.
    pub(super) circuits: Vec<usize>,
}

pub(super) fn split(graph: &mut Graph, placement: &Placement) -> Vec<Group> {
    let bells = bells(graph, placement);
    graph.shared().begin();
    let tasks = tasks(graph, placement, &bells);
    let group = |(tasks, bell)| Group::new(tasks, Arc::clone(graph.shared()), bell);
    tasks.into_iter().zip(bells).map(group).collect()
}

/// A bell for each group, which all know from now on.
fn bells(graph: &Graph, placement: &Placement) -> Vec<Arc<Bell>> {
    let bells: Vec<_> =
        (0..placement.groups()).map(|_| Arc::new(Bell::of(placement.spins))).collect();
    graph.shared().set_bells(bells.clone());
    graph.shared().set_group_of(placement.group_of.clone());
    bells
}

/// For each group its tasks.
fn tasks(graph: &mut Graph, placement: &Placement, bells: &[Arc<Bell>]) -> Vec<Vec<Task>> {
    let runs = runs(graph, placement);
    let run_of: BTreeMap<usize, usize> = runs
        .iter()
        .enumerate()
        .flat_map(|(run, it)| it.nodes.iter().map(move |&n| (n, run)))
        .collect();
    let mut ends = Ends::new(graph, placement, bells, |edge: &Edge| {
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

pub(super) fn join(graph: &mut Graph, groups: Vec<Group>) -> Result<(), RunError> {
    let mut tasks: Vec<_> = groups.into_iter().flat_map(Group::into_tasks).collect();
    let mut error = graph.shared().take_error();
    graph.shared().is_over();
    if let Some(RunError::Stalled { waits, quanta }) = &mut error {
        let mut survey = Survey::new(graph);
        tasks.iter_mut().for_each(|task| task.survey(&mut survey));
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
                let (head, stations) = line.into_parts();
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

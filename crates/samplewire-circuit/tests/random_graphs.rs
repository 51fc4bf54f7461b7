//! Graphs, placements and streams drawn from a seed, checked against lists of samples.
//!
//! `SAMPLEWIRE_SEED=n cargo test -p samplewire-circuit --test random_graphs` runs one seed,
//! `SAMPLEWIRE_ROUNDS=n` so many from that on, or from 0.

#[path = "../../../fuzz/checks/graph.rs"]
mod graph;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;

use std::time::Duration;
use std::{env, thread};

use graph::{Draw, Drawn, placement};
use replay::{corpus_passes, run_random};
use samplewire_circuit::{Graph, Group, Polled, RunError, Scheduler};

#[test]
fn every_sample_of_random_graphs_arrives_once_in_order_with_its_index() {
    let seed = number("SAMPLEWIRE_SEED");
    let rounds = number("SAMPLEWIRE_ROUNDS").unwrap_or(if seed.is_some() { 1 } else { 300 });
    let first = seed.unwrap_or(0);
    (0..rounds).map(|round| first.wrapping_add(round)).for_each(run);
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text}: must be a number")))
}

fn run(seed: u64) {
    println!("seed {seed}");
    let mut draw = Draw::of_seed(seed);
    Drawn::new(&mut draw, 40_000).run(OnThreads(draw));
}

#[test]
fn corpus_of_graph() {
    corpus_passes("graph", graph::check);
}

#[test]
fn bytes_without_order_are_graphs() {
    run_random(200, graph::check, |rng| replay::bytes(rng, 0, 640));
}

/// Each group on a thread that sleeps or spins.
struct OnThreads(Draw);

impl Scheduler for OnThreads {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let placement = placement(graph, &mut self.0);
        let groups = graph.split(&placement);
        let groups = thread::scope(|scope| {
            let spawn = |group| scope.spawn(move || poll_to_the_end(group));
            let threads: Vec<_> = groups.into_iter().map(spawn).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        graph.join(groups)
    }
}

fn poll_to_the_end(mut group: Group) -> Group {
    loop {
        match group.poll() {
            Polled::Done => return group,
            Polled::Moved => {}
            Polled::Idle | Polled::Waiting | Polled::Asleep if group.spins() => thread::yield_now(),
            Polled::Idle | Polled::Waiting | Polled::Asleep => {
                group.sleep(Duration::from_millis(500));
            }
        }
    }
}

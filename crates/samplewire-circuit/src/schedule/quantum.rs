//! Whole lines, quantum by quantum, on several threads.

use std::sync::Arc;
use std::thread;

use crate::channel::baton;
use crate::graph::{Graph, RunError};
use crate::meter::Meter;
use crate::schedule::calls::Post;
use crate::schedule::line::{Line, put_back, take};
use crate::schedule::relay::{Ends, Relay, Runner};
use crate::schedule::worker::Worker;
use crate::schedule::{Scheduler, Waiting, pin, spawn};

/// Runs a line of blocks on several threads, each quantum wholly on one of them: its samples stay in
/// that core's caches.
///
/// For graphs of one line: a source, blocks in place, a sink. Blocks that
/// [replicate](crate::InPlace::replicate) have a replica on each thread. Those before the first of
/// them and those behind the last are called by one thread at a time with quanta in their order:
/// started on the first thread, called on any. So samples arrive as under any other scheduler.
///
/// The threads share the circuit's quanta out among themselves and take turns: in its turn a thread
/// passes what it worked on to the sink, and has the source fill quanta again: as many as it works on
/// for 4 us, of the quanta that it has and that fit 256 KiB together, and one at least; where a block
/// behind the source has waited with a quantum, none after it. With fewer quanta than threads, threads
/// are left out.
///
/// A source and a sink may have replicas too ([`Source::replicate`](crate::Source::replicate),
/// [`Sink::replicate`](crate::Sink::replicate)), where no block stands between them and those. With
/// both there are no turns, and each thread has one quantum go round in its core's cache; a graph that
/// is drained finishes the shares that were begun, of some 100 us and at most 1,024 quanta.
pub struct ByQuantum {
    threads: usize,
    cores: Vec<usize>,
    waiting: Waiting,
}

impl ByQuantum {
    /// On `threads` (at least 1) threads.
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.max(1), cores: Vec::new(), waiting: Waiting::Sleep }
    }
}

threads!(ByQuantum);

impl Scheduler for ByQuantum {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let line = Line::of(graph)?;
        let threads = self.threads.min(graph.rounds[0].free.len());
        let middles = line.replicate(graph, threads)?;
        let meters: Vec<_> = graph.nodes.iter().map(|node| parts(&node.meter, threads)).collect();
        let ends = Ends::new(take(graph, &line.first), take(graph, &line.last));
        let shared = Arc::clone(graph.shared());
        let len = graph.rounds[0].len as u64;
        let relay = Relay::new(meters.clone(), shared, self.waiting, len);
        let mut free = std::mem::take(&mut graph.rounds[0].free);
        let mut runners = Vec::with_capacity(threads);
        for ((number, middle), place) in middles.into_iter().enumerate().zip(baton(ends, threads)) {
            let post = |&node: &usize| {
                Post::new(node, graph.nodes[node].sample_size, &meters[node].1[number])
            };
            let middle = middle.into_iter().zip(line.middle.iter().map(post)).collect();
            let ends =
                (line.first.iter().map(post).collect(), line.last.iter().map(post).collect());
            let share = free.split_off(free.len() - free.len() / (threads - number));
            let worker = Worker::new(&relay, number, middle, ends, share);
            runners.push(Runner::new(place, worker));
        }
        let control = graph.control();
        thread::scope(|scope| {
            for (number, runner) in runners.iter_mut().enumerate() {
                let core = self.cores.get(number % self.cores.len().max(1)).copied();
                let own = control.clone();
                let run = move || {
                    pin(core, &own);
                    runner.run();
                };
                if !spawn(scope, format!("quantum {number}"), &control, run) {
                    break;
                }
            }
        });
        // The first thread had the blocks themselves, the others replicas.
        let (own, place) = runners.swap_remove(0).into_parts();
        drop(runners);
        let ends = place.into_value().expect("the other places are gone");
        let [first, last] = relay.into_blocks(ends);
        for (nodes, blocks) in [(&line.first, first), (&line.middle, own), (&line.last, last)] {
            put_back(graph, nodes, blocks);
        }
        graph.join(Vec::new())
    }
}

/// A block's meter, and one for each thread that count on from it together.
fn parts(whole: &Arc<Meter>, threads: usize) -> (Arc<Meter>, Vec<Arc<Meter>>) {
    let parts: Vec<_> = (0..threads).map(|_| Arc::<Meter>::default()).collect();
    parts[0].set_sum(std::slice::from_ref(whole));
    (Arc::clone(whole), parts)
}

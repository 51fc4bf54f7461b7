//! Nothing allocates after the pool was made, and when a graph runs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use samplewire_circuit::blocks::{Head, NullSource};
use samplewire_circuit::{
    Async, ByQuantum, ByStage, Circuit, Flow, Graph, GraphBuilder, InPlace, Pool, PoolConfig,
    Quantum, Report, RunError, Sequence, Sink, Tag, TagKind, Waiting, Work,
};

/// The system's allocator, counting calls.
struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises hold for the system's allocator alike.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) }
    }
}

static CALLS: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One after the other: calls are counted for the whole process.
#[test]
fn quanta_go_round_and_graphs_run_without_an_allocation() {
    allocates_nothing(&quanta_go_round);
    if cfg!(miri) {
        // It looks for more than calls where graphs are tested, and takes its time.
        return;
    }
    runs_without_an_allocation(&|graph| graph.run(Sequence::new()));
    for waiting in [Waiting::Sleep, Waiting::Spin] {
        runs_without_an_allocation(&|graph| {
            let stages = ByStage::even(&graph, 2).waiting(waiting);
            graph.run(stages)
        });
    }
    for threads in [1, 2] {
        runs_without_an_allocation(&|graph| graph.run(ByQuantum::new(threads)));
        runs_without_an_allocation(&|graph| graph.run(Async::new(threads)));
    }
}

fn quanta_go_round() -> usize {
    let pool = Pool::new(PoolConfig::new(4, 8_000)).unwrap();
    let rounds = if cfg!(miri) { 100 } else { 10_000 };
    let before = CALLS.load(Ordering::Relaxed);
    for index in 0..rounds {
        let mut quantum = pool.take().unwrap();
        quantum.set_len(8_000);
        quantum.data_mut()[0] = index as u8;
        quantum.set_index(index);
        quantum.push_tag(Tag { index, kind: TagKind::Gain { db: 3.0 } }).unwrap();
        let shared = quantum.share();
        assert_eq!(shared.clone().data()[0], index as u8);
    }
    CALLS.load(Ordering::Relaxed) - before
}

/// Another of its kind for each thread.
struct Negate;

impl InPlace<f32> for Negate {
    fn work(&mut self, quantum: &mut Quantum<f32>) -> Work {
        quantum.samples_mut().iter_mut().for_each(|sample| *sample = -*sample);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(Self)
    }
}

/// Counts the allocator's calls in the middle half of a stream: at its beginning threads start, at
/// its end those that are done leave before the last quantum is here.
#[derive(Default)]
struct Watch {
    quanta: usize,
    before: usize,
}

impl Sink<f32> for Watch {
    fn consume(&mut self, _: &Quantum<f32>) -> Work {
        let calls = CALLS.load(Ordering::Relaxed);
        self.quanta += 1;
        if self.quanta == 1 {
            // The other threads go to sleep meanwhile; nothing shows that they do.
            thread::sleep(Duration::from_millis(20));
        } else if self.quanta == QUANTA / 4 {
            self.before = calls;
        } else if self.quanta == QUANTA * 3 / 4 {
            ALLOCATED.store(calls - self.before, Ordering::Relaxed);
        }
        Ok(Flow::Pass)
    }
}

/// What was allocated in the middle of the last run.
static ALLOCATED: AtomicUsize = AtomicUsize::new(usize::MAX);
const QUANTA: usize = 1_000;

fn runs_without_an_allocation(run: &dyn Fn(Graph) -> Result<Report, RunError>) {
    allocates_nothing(&|| allocated_by(run));
}

/// In one of a few runs: on a busy machine a thread may start late, and so may the test harness's.
fn allocates_nothing(run: &dyn Fn() -> usize) {
    let allocated: Vec<usize> =
        (0..10).map(|_| run()).take_while(|&allocated| allocated > 0).collect();
    assert!(allocated.len() < 10, "calls of the allocator in each run: {allocated:?}");
}

fn allocated_by(run: &dyn Fn(Graph) -> Result<Report, RunError>) -> usize {
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(8, 64).named("samples");
    let stream = graph.source("source", NullSource, circuit);
    let stream = graph.in_place("negate", Negate, stream);
    let stream = graph.in_place("head", Head::new(64 * QUANTA as u64), stream);
    graph.sink("watch", Watch::default(), stream);
    run(graph.build().unwrap()).unwrap();
    ALLOCATED.swap(usize::MAX, Ordering::Relaxed)
}

//! Stages that are found by measuring.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use samplewire_circuit::blocks::{Head, NullSource};
use samplewire_circuit::{
    Automatic, Circuit, Flow, GraphBuilder, InPlace, Quantum, Report, Sink, Work,
};

type Threads = Arc<Mutex<BTreeSet<String>>>;

/// Works for so long on a quantum, and notes on which threads; for no time it does nothing.
struct Busy(Duration, Threads);

impl InPlace<f32> for Busy {
    fn work(&mut self, _: &mut Quantum<f32>) -> Work {
        if self.0.is_zero() {
            return Ok(Flow::Pass);
        }
        note(&self.1);
        let begin = Instant::now();
        while begin.elapsed() < self.0 {}
        Ok(Flow::Pass)
    }
}

fn note(threads: &Threads) {
    let id: ThreadId = thread::current().id();
    threads.lock().unwrap().insert(format!("{id:?}"));
}

/// Indexes in a row, and on which threads they came.
#[derive(Clone, Default)]
struct Row {
    next: Arc<Mutex<u64>>,
    threads: Threads,
}

impl Sink<f32> for Row {
    fn consume(&mut self, quantum: &Quantum<f32>) -> Work {
        let mut next = self.next.lock().unwrap();
        assert_eq!(quantum.index(), *next);
        if next.is_multiple_of(1_000 * LEN as u64) {
            note(&self.threads);
        }
        *next = quantum.end_index();
        Ok(Flow::Pass)
    }
}

const LEN: usize = 256;

/// Runs a chain of blocks that work so long: its report, the threads of each, and the sink.
fn run(works: &[Duration], quanta: u64) -> (Report, Vec<Threads>, Row) {
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(8, LEN).named("samples");
    let mut stream = graph.source("source", NullSource, circuit);
    stream = graph.in_place("head", Head::new(quanta * LEN as u64), stream);
    let mut threads = Vec::new();
    for (number, &work) in works.iter().enumerate() {
        threads.push(Threads::default());
        stream = graph.in_place(format!("{number}"), Busy(work, threads[number].clone()), stream);
    }
    let row = Row::default();
    graph.sink("row", row.clone(), stream);
    let report = graph.build().unwrap().run(Automatic::new(2)).unwrap();
    (report, threads, row)
}

#[test]
fn two_heavy_blocks_come_to_two_threads_and_no_sample_is_moved() {
    let (report, threads, row) = run(&[Duration::from_micros(100); 2], 1_500);
    assert_eq!(*row.next.lock().unwrap(), 1_500 * LEN as u64);
    let sets: Vec<_> = threads.iter().map(|threads| threads.lock().unwrap().clone()).collect();
    // Both began on the calling thread, and each went to one of its own.
    assert_eq!(sets.iter().map(BTreeSet::len).collect::<Vec<_>>(), [2, 2], "{sets:?}");
    assert_eq!(sets[0].intersection(&sets[1]).count(), 1, "{sets:?}");
    assert_eq!(report.block("1").unwrap().counters.calls, 1_500);
}

#[test]
fn light_blocks_stay_on_the_calling_thread() {
    let (_, _, row) = run(&[Duration::ZERO; 3], 2_000_000);
    assert_eq!(*row.next.lock().unwrap(), 2_000_000 * LEN as u64);
    let here = format!("{:?}", thread::current().id());
    assert_eq!(*row.threads.lock().unwrap(), BTreeSet::from([here]));
}

#[test]
fn stream_that_ends_while_blocks_are_measured_comes_whole() {
    let (report, _, row) = run(&[Duration::from_micros(10); 2], 20);
    assert_eq!(*row.next.lock().unwrap(), 20 * LEN as u64);
    assert_eq!(report.block("0").unwrap().counters.calls, 20);
}

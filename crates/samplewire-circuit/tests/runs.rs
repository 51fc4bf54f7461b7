//! Lines by quantum whose ends have no replicas, where threads work on runs of several quanta.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use samplewire_circuit::blocks::{Head, NullSink, NullSource};
use samplewire_circuit::{
    ByQuantum, Circuit, Failure, Flow, GraphBuilder, InPlace, Quantum, Sink, Source, Work,
};

const LEN: u64 = 64;
/// Runs grow within some hundred turns.
const QUANTA_MOST: u64 = 10_000_000;

#[derive(Clone, Copy, Debug)]
enum Fate {
    End,
    Failure,
    Panic,
}

impl Fate {
    fn come(self) -> Work {
        match self {
            Self::End => Ok(Flow::End),
            Self::Failure => Err("the coil is hot".into()),
            Self::Panic => panic!("enough"),
        }
    }
}

/// An end without replicas, whose fate comes within a run: at a quantum that the thread of the one
/// before it brings.
#[derive(Clone, Default)]
struct Fated {
    indexes: Arc<Mutex<Vec<u64>>>,
    fate: Option<Fate>,
    last: Option<ThreadId>,
    has_met: bool,
    stops: Arc<AtomicUsize>,
}

impl Fated {
    fn meet(&mut self, index: u64) -> Work {
        if self.has_met {
            return Err("called behind its fate".into());
        }
        self.indexes.lock().unwrap().push(index);
        if index > QUANTA_MOST * LEN {
            return Err("no thread brings two quanta in a row".into());
        }
        let thread = thread::current().id();
        let is_within_run = self.last.replace(thread) == Some(thread);
        let fate = self.fate.filter(|_| is_within_run);
        self.has_met = fate.is_some();
        fate.map_or(Ok(Flow::Pass), Fate::come)
    }
}

impl Source<u8> for Fated {
    fn fill(&mut self, quantum: &mut Quantum<u8>) -> Work {
        quantum.fill();
        self.meet(quantum.index())
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.stops.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Sink<u8> for Fated {
    fn consume(&mut self, quantum: &Quantum<u8>) -> Work {
        self.meet(quantum.index())
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.stops.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Runs a line between `ends`: what came of it, and the indexes that came to each.
fn fated(ends: [Option<Fate>; 2], (quanta, threads): (usize, usize)) -> (String, [Vec<u64>; 2]) {
    let [source, sink] = ends.map(|fate| Fated { fate, ..Fated::default() });
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(quanta, LEN as usize).named("samples");
    let stream = graph.source("source", source.clone(), circuit);
    let stream = graph.in_place("worked", Worked::default(), stream);
    graph.sink("sink", sink.clone(), stream);
    let result = graph.build().unwrap().run(ByQuantum::new(threads));
    let indexes = [&source, &sink].map(|end| {
        assert_eq!(end.stops.load(Ordering::Relaxed), 1);
        let indexes = std::mem::take(&mut *end.indexes.lock().unwrap());
        assert!(
            indexes.iter().zip(0..).all(|(index, quantum)| *index == quantum * LEN),
            "in order"
        );
        indexes
    });
    (result.map_or_else(|error| error.to_string(), |_| "over".to_owned()), indexes)
}

#[test]
#[cfg_attr(miri, ignore = "its runs have one quantum")]
fn end_failure_and_panic_of_an_end_within_a_run_lose_nothing_before_it_and_name_it() {
    for sizes in [(8, 2), (32, 2), (12, 3)] {
        let (words, [made, came]) = fated([Some(Fate::End), None], sizes);
        assert_eq!((words.as_str(), made), ("over", came));
        let (words, [made, came]) = fated([None, Some(Fate::End)], sizes);
        assert!(words == "over" && came.len() <= made.len());
        for (fate, what) in
            [(Fate::Failure, ": the coil is hot"), (Fate::Panic, " panicked: enough")]
        {
            for (ends, name) in [([Some(fate), None], "source"), ([None, Some(fate)], "sink")] {
                let (words, [made, came]) = fated(ends, sizes);
                assert_eq!(words, format!("'{name}'{what}"));
                // What is missing is under way: the fate met the circuit's other quanta.
                assert!(came.len() <= made.len() && made.len() <= came.len() + sizes.0, "{name}");
            }
        }
    }
}

/// Waits before each quantum; says how many have passed that nothing has worked on, at most.
struct Paced {
    is_due: bool,
    passed: usize,
    worked: Arc<AtomicUsize>,
    ahead_max: Arc<AtomicUsize>,
}

impl InPlace<u8> for Paced {
    fn work(&mut self, _: &mut Quantum<u8>) -> Work {
        self.is_due = !self.is_due;
        if self.is_due {
            return Ok(Flow::Wait);
        }
        self.passed += 1;
        let ahead = self.passed - self.worked.load(Ordering::Relaxed);
        self.ahead_max.fetch_max(ahead, Ordering::Relaxed);
        Ok(Flow::Pass)
    }
}

/// Counts quanta, over all replicas.
#[derive(Clone, Default)]
struct Worked(Arc<AtomicUsize>);

impl InPlace<u8> for Worked {
    fn work(&mut self, _: &mut Quantum<u8>) -> Work {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[test]
fn quantum_that_a_paced_block_lets_pass_is_worked_on_before_the_next_is_due() {
    let (worked, ahead_max) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let quanta = if cfg!(miri) { 20 } else { 50_000 };
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(32, LEN as usize).named("samples");
    let stream = graph.source("source", NullSource, circuit);
    let stream = graph.in_place("head", Head::new(quanta * LEN), stream);
    let (paced, own) = (Arc::clone(&worked), Arc::clone(&ahead_max));
    let paced = Paced { is_due: false, passed: 0, worked: paced, ahead_max: own };
    let stream = graph.in_place("paced", paced, stream);
    let stream = graph.in_place("worked", Worked(worked), stream);
    graph.sink("sink", NullSink, stream);
    graph.build().unwrap().run(ByQuantum::new(2)).unwrap();
    let ahead_max = ahead_max.load(Ordering::Relaxed);
    assert!(ahead_max <= 2, "{ahead_max} quanta where each of two threads works on one");
}

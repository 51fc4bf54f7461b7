//! Lines by quantum: the order of samples, ends, failures, stops.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use samplewire_circuit::blocks::{Head, NullSink, NullSource};
use samplewire_circuit::{
    ByQuantum, Circuit, Context, Failure, Flow, Graph, GraphBuilder, InPlace, Quantum, Sink,
    Source, Waiting, Work,
};

const LEN: u64 = 64;
const TOTAL: u64 = if cfg!(miri) { 20 * LEN } else { 500 * LEN };

/// Sample n is n; waits, leaves quanta empty, and skips indexes.
#[derive(Default)]
struct Moody {
    calls: u64,
}

impl Source<f64> for Moody {
    fn fill(&mut self, quantum: &mut Quantum<f64>) -> Work {
        self.calls += 1;
        match self.calls % 11 {
            3 => return Ok(Flow::Wait),
            5 => return Ok(Flow::Pass),
            7 => quantum.set_index(quantum.index() + 10 * LEN),
            _ => {}
        }
        let index = quantum.index();
        (index..).zip(quantum.fill()).for_each(|(index, sample)| *sample = index as f64);
        Ok(Flow::Pass)
    }
}

/// Doubles samples; waits before each third quantum, discards those whose index is a multiple of 7
/// quanta.
#[derive(Clone, Default)]
struct Double {
    calls: u64,
}

impl InPlace<f64> for Double {
    fn work(&mut self, quantum: &mut Quantum<f64>) -> Work {
        self.calls += 1;
        if self.calls.is_multiple_of(3) {
            return Ok(Flow::Wait);
        }
        if quantum.index().is_multiple_of(7 * LEN) {
            return Ok(Flow::Discard);
        }
        quantum.samples_mut().iter_mut().for_each(|sample| *sample *= 2.0);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Looks whether quanta come in order with the samples of their index; counts samples.
#[derive(Clone, Default)]
struct Ordered {
    next: u64,
    samples: Arc<Mutex<u64>>,
}

impl Sink<f64> for Ordered {
    fn consume(&mut self, quantum: &Quantum<f64>) -> Work {
        let index = quantum.index();
        if index < self.next || !(index..).zip(quantum.samples()).all(|(n, &s)| s == (2 * n) as f64)
        {
            return Err(format!("{quantum:?} where {} is next", self.next).into());
        }
        self.next = quantum.end_index();
        *self.samples.lock().unwrap() += quantum.len() as u64;
        Ok(Flow::Pass)
    }
}

fn under_each(check: impl Fn(usize, ByQuantum)) {
    if cfg!(miri) {
        // It takes its time.
        return check(3, ByQuantum::new(2));
    }
    for (quanta, threads) in [(1, 2), (2, 1), (2, 2), (8, 2), (8, 3), (7, 4)] {
        check(quanta, ByQuantum::new(threads));
    }
    // Threads that spin want a core each.
    check(5, ByQuantum::new(2).waiting(Waiting::Spin));
}

#[test]
fn samples_arrive_in_order_whatever_blocks_say() {
    under_each(|quanta, schedule| {
        let sink = Ordered::default();
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(quanta, LEN as usize).named("samples");
        let stream = graph.source("moody", Moody::default(), circuit);
        let stream = graph.in_place("double", Double::default(), stream);
        let stream = graph.in_place("head", Head::new(TOTAL + 5), stream);
        graph.sink("ordered", sink.clone(), stream);
        let report = graph.build().unwrap().run(schedule).unwrap();
        assert_eq!(*sink.samples.lock().unwrap(), TOTAL + 5);
        let [doubled, ordered] =
            ["double", "ordered"].map(|name| report.block(name).unwrap().counters);
        assert_eq!(ordered.samples, TOTAL + 5);
        assert!(doubled.calls > TOTAL / LEN && doubled.samples > TOTAL);
    });
}

/// Says that it has replicas, and waits.
#[derive(Clone)]
struct Dry;

impl Source<f64> for Dry {
    fn fill(&mut self, quantum: &mut Quantum<f64>) -> Work {
        quantum.fill().fill(1.0);
        Ok(if quantum.index() >= TOTAL / 2 { Flow::Wait } else { Flow::Pass })
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[test]
fn source_with_replicas_that_waits_is_an_error() {
    under_each(|quanta, schedule| {
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(quanta, LEN as usize).named("samples");
        let stream = graph.source("dry", Dry, circuit);
        let stream = graph.in_place("head", Double::default(), stream);
        graph.sink("sink", NullSink, stream);
        let error = graph.build().unwrap().run(schedule).unwrap_err().to_string();
        assert!(error.contains("dry") && error.contains("waits, and has replicas"), "{error}");
    });
}

/// Its life, counted over all replicas.
#[derive(Clone, Default)]
struct Life {
    started: Arc<AtomicUsize>,
    stopped: Arc<AtomicUsize>,
    /// What happens at this quantum, counted from 0 by its index.
    fate: Option<(u64, Fate)>,
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    End,
    Failure,
    Panic,
}

impl InPlace<u8> for Life {
    fn work(&mut self, quantum: &mut Quantum<u8>) -> Work {
        match self.fate {
            Some((at, fate)) if quantum.index() == at * LEN => match fate {
                Fate::End => Ok(Flow::End),
                Fate::Failure => Err("the coil is hot".into()),
                Fate::Panic => panic!("enough"),
            },
            _ => Ok(Flow::Pass),
        }
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        assert_eq!(context.name, "life");
        self.started.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.stopped.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Life {
    /// The graph of this life, with `quanta`.
    fn graph(&self, quanta: usize) -> Graph {
        self.graph_to(NullSink, quanta)
    }

    fn graph_to(&self, sink: impl Sink<u8> + 'static, quanta: usize) -> Graph {
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(quanta, LEN as usize).named("samples");
        let stream = graph.source("source", NullSource, circuit);
        let stream = graph.in_place("life", self.clone(), stream);
        graph.sink("sink", sink, stream);
        graph.build().unwrap()
    }
}

/// The indexes of quanta that came, by any of its replicas if it has some.
#[derive(Clone, Default)]
struct Came {
    indexes: Arc<Mutex<Vec<u64>>>,
    has_replicas: bool,
}

impl Sink<u8> for Came {
    fn consume(&mut self, quantum: &Quantum<u8>) -> Work {
        self.indexes.lock().unwrap().push(quantum.index());
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        self.has_replicas.then(|| self.clone())
    }
}

#[test]
fn end_in_a_replica_is_the_last_that_arrives_and_every_replica_is_stopped() {
    under_each(|quanta, schedule| {
        let life = Life { fate: Some((10, Fate::End)), ..Life::default() };
        let came = Came::default();
        let report = life.graph_to(came.clone(), quanta).run(schedule).unwrap();
        assert_eq!(report.block("sink").unwrap().counters.samples, 11 * LEN);
        let expected: Vec<_> = (0..11).map(|quantum| quantum * LEN).collect();
        assert_eq!(*came.indexes.lock().unwrap(), expected);
        let started = life.started.load(Ordering::Relaxed);
        assert!(started >= 1 && started == life.stopped.load(Ordering::Relaxed), "{started}");
    });
}

#[test]
fn ends_that_have_replicas_get_all_before_the_end_once() {
    under_each(|quanta, schedule| {
        let life = Life { fate: Some((100, Fate::End)), ..Life::default() };
        let came = Came { has_replicas: true, ..Came::default() };
        let report = life.graph_to(came.clone(), quanta).run(schedule).unwrap();
        let mut indexes = came.indexes.lock().unwrap();
        indexes.sort_unstable();
        let expected: Vec<_> = (0..=100).map(|quantum| quantum * LEN).collect();
        assert_eq!(indexes[..101], expected);
        assert!(indexes.is_sorted_by(|one, next| one < next), "each once");
        let sink = report.block("sink").unwrap().counters;
        assert_eq!((sink.calls, sink.samples), (indexes.len() as u64, indexes.len() as u64 * LEN));
    });
}

/// Sample n is n, up to `TOTAL` and a few; one made wrongly leaves every fifth quantum short.
#[derive(Clone, Default)]
struct Count {
    calls: u64,
    is_wrong: bool,
}

impl Source<f64> for Count {
    fn fill(&mut self, quantum: &mut Quantum<f64>) -> Work {
        self.calls += 1;
        let index = quantum.index();
        let left = (TOTAL + 5).saturating_sub(index);
        let len = left.min(quantum.capacity() as u64) as usize;
        quantum.set_len(if self.is_wrong && self.calls.is_multiple_of(5) { len / 2 } else { len });
        (index..).zip(quantum.samples_mut()).for_each(|(index, sample)| *sample = index as f64);
        Ok(if left <= LEN { Flow::End } else { Flow::Pass })
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Doubles samples.
#[derive(Clone)]
struct Twice;

impl InPlace<f64> for Twice {
    fn work(&mut self, quantum: &mut Quantum<f64>) -> Work {
        quantum.samples_mut().iter_mut().for_each(|sample| *sample *= 2.0);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// A graph from `source` to a sink that wants samples in order.
fn in_order(source: Count, sink: Ordered, quanta: usize) -> Graph {
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(quanta, LEN as usize).named("samples");
    let stream = graph.source("count", source, circuit);
    let stream = graph.in_place("twice", Twice, stream);
    graph.sink("ordered", sink, stream);
    graph.build().unwrap()
}

#[test]
fn replicas_of_a_source_fill_in_order_for_a_sink_that_has_none() {
    under_each(|quanta, schedule| {
        let sink = Ordered::default();
        in_order(Count::default(), sink.clone(), quanta).run(schedule).unwrap();
        assert_eq!(*sink.samples.lock().unwrap(), TOTAL + 5);
    });
}

#[test]
fn replica_of_a_source_that_leaves_a_quantum_short_is_named() {
    under_each(|quanta, schedule| {
        let source = Count { is_wrong: true, ..Count::default() };
        let error = in_order(source, Ordered::default(), quanta).run(schedule).unwrap_err();
        let words = "'count': made 32 samples of 64, and has replicas";
        assert_eq!(error.to_string(), words);
    });
}

#[test]
fn failure_and_panic_of_a_replica_name_it() {
    for (fate, words) in
        [(Fate::Failure, "'life': the coil is hot"), (Fate::Panic, "'life' panicked: enough")]
    {
        under_each(|quanta, schedule| {
            let life = Life { fate: Some((10, fate)), ..Life::default() };
            let error = life.graph(quanta).run(schedule).unwrap_err();
            assert_eq!(error.to_string(), words);
        });
    }
}

#[test]
fn drain_passes_on_what_is_under_way_and_stop_ends() {
    under_each(|quanta, schedule| {
        let graph = Life::default().graph(quanta);
        let control = graph.control();
        let drain = std::thread::spawn(move || {
            while control.blocks().iter().any(|block| block.counters.samples == 0) {
                std::thread::yield_now();
            }
            control.drain();
        });
        let report = graph.run(schedule).unwrap();
        drain.join().unwrap();
        let [made, came] =
            ["source", "sink"].map(|name| report.block(name).unwrap().counters.samples);
        assert!(made == came && came > 0, "{made} {came}");
    });
    under_each(|quanta, schedule| {
        let graph = Life::default().graph(quanta);
        graph.control().stop();
        graph.run(schedule).unwrap();
    });
}

/// Never has a sample, and does not wait either.
struct Empty(Arc<AtomicUsize>);

impl Source<f64> for Empty {
    fn fill(&mut self, _: &mut Quantum<f64>) -> Work {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Flow::Pass)
    }
}

#[test]
fn source_that_passes_nothing_for_ever_is_drained_and_stopped() {
    for is_drained in [true, false] {
        let calls = Arc::new(AtomicUsize::new(0));
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(4, LEN as usize).named("samples");
        let stream = graph.source("source", Empty(Arc::clone(&calls)), circuit);
        let stream = graph.in_place("double", Double::default(), stream);
        graph.sink("sink", Ordered::default(), stream);
        let graph = graph.build().unwrap();
        let control = graph.control();
        let ending = std::thread::spawn(move || {
            while calls.load(Ordering::Relaxed) < 10 {
                std::thread::yield_now();
            }
            if is_drained { control.drain() } else { control.stop() }
        });
        graph.run(ByQuantum::new(2)).unwrap();
        ending.join().unwrap();
    }
}

#[test]
fn block_without_replica_between_others_is_named() {
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::<u8>::new(4, 64).named("samples");
    let stream = graph.source("source", NullSource, circuit);
    let stream = graph.in_place("life", Life::default(), stream);
    let stream = graph.in_place("head", Head::new(100), stream);
    let stream = graph.in_place("afterlife", Life::default(), stream);
    graph.sink("sink", NullSink, stream);
    let error = graph.build().unwrap().run(ByQuantum::new(2)).unwrap_err().to_string();
    assert!(error.starts_with("'head' has no replica"), "{error}");
}

#[test]
fn graph_that_is_no_line_names_the_block() {
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::<u8>::new(4, 64).named("samples");
    let stream = graph.source("source", NullSource, circuit);
    let stream = graph.broadcast("both", stream);
    graph.sink("first", NullSink, stream.clone());
    graph.sink("second", NullSink, stream);
    let error = graph.build().unwrap().run(ByQuantum::new(2)).unwrap_err().to_string();
    assert!(error.starts_with("'both' (broadcast): by quantum runs"), "{error}");
}

#[test]
fn cpu_that_is_not_there_is_named() {
    let error = Life::default().graph(2).run(ByQuantum::new(2).cores(&[5_000])).unwrap_err();
    assert!(error.to_string().starts_with("CPU 5000: "), "{error}");
}

//! Samples that a graph reads in another owner's memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Waker;
use std::time::{Duration, Instant};

use samplewire_circuit::{
    BorrowedSource, ByStage, Circuit, Context, Done, Failure, Flow, Graph, GraphBuilder, Loan,
    Pool, PoolConfig, Quantum, Report, RunError, Sequence, SharedQuantum, Sink, Transform, Waiting,
    Work,
};

/// Lends quanta of a pool of its own, in two parts each.
struct Ring {
    pool: Pool,
    rest: Option<SharedQuantum>,
    next: i32,
    end: i32,
    samples_max: usize,
}

impl Ring {
    fn new(quanta: usize, end: i32) -> Self {
        let pool = Pool::new(PoolConfig::new(quanta, 4 * LEN)).unwrap();
        Self { pool, rest: None, next: 0, end, samples_max: LEN / 2 }
    }
}

impl BorrowedSource<i32> for Ring {
    fn samples_max(&self) -> usize {
        self.samples_max
    }

    fn lend(&mut self, quantum: &mut Quantum<i32>) -> Work {
        quantum.set_rate_hz(1e6);
        if let Some(rest) = self.rest.take() {
            quantum.borrow(Loan::new(rest, 2 * LEN..4 * LEN)?)?;
            return Ok(Flow::Pass);
        }
        if self.next == self.end {
            return Ok(Flow::End);
        }
        // None is free while readers have them all.
        let Some(mut samples) = self.pool.take() else { return Ok(Flow::Wait) };
        samples.set_len(4 * LEN);
        let ramp = samples.as_mut_slice::<i32>()?.iter_mut();
        (self.next..).zip(ramp).for_each(|(value, sample)| *sample = value);
        self.next += LEN as i32;
        let samples = samples.share();
        self.rest = Some(samples.clone());
        quantum.borrow(Loan::new(samples, 0..2 * LEN)?)?;
        Ok(Flow::Pass)
    }
}

/// Samples in a quantum of the ring.
const LEN: usize = 256;

#[derive(Clone, Default)]
struct Sum(Arc<AtomicU64>);

impl Sink<i32> for Sum {
    fn consume(&mut self, quantum: &Quantum<i32>) -> Work {
        for (index, &sample) in (quantum.index()..).zip(quantum.samples()) {
            assert_eq!(sample as u64, index);
            self.0.fetch_add(index, Ordering::Relaxed);
        }
        assert_eq!(quantum.rate_hz(), 1e6);
        Ok(Flow::Pass)
    }
}

struct Widen;

impl Transform<i32, f64> for Widen {
    fn work(&mut self, input: &[i32], output: &mut [f64]) -> Result<Done, Failure> {
        output.iter_mut().zip(input).for_each(|(wide, &sample)| *wide = f64::from(sample));
        let len = input.len().min(output.len());
        Ok(Done { consumed: len, produced: len })
    }
}

#[derive(Clone, Default)]
struct Last(Arc<Mutex<f64>>);

impl Sink<f64> for Last {
    fn consume(&mut self, quantum: &Quantum<f64>) -> Work {
        *self.0.lock().unwrap() = *quantum.samples().last().unwrap();
        Ok(Flow::Pass)
    }
}

fn graph(quanta: usize, end: i32) -> (Graph, Pool, Sum, Last) {
    let ring = Ring::new(quanta, end);
    let (pool, sum, last) = (ring.pool.clone(), Sum::default(), Last::default());
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::default().quanta(8).named("ring");
    let wide = Circuit::new(2, 100).named("wide");
    let stream = graph.borrowed_source("source", ring, circuit);
    graph.sink("sum", sum.clone(), stream.clone());
    let stream = graph.transform("widen", Widen, stream, wide);
    graph.sink("last", last.clone(), stream);
    (graph.build().unwrap(), pool, sum, last)
}

#[test]
fn lent_samples_are_read_in_place_and_go_back() {
    let end = if cfg!(miri) { 2_048 } else { 1 << 15 };
    let run: [fn(Graph) -> Result<Report, RunError>; 3] = [
        |graph| graph.run(Sequence::new()),
        |graph| {
            let stages = ByStage::even(&graph, 2);
            graph.run(stages)
        },
        |graph| {
            let stages = ByStage::even(&graph, 3).waiting(Waiting::Spin);
            graph.run(stages)
        },
    ];
    for run in run {
        let (graph, pool, sum, last) = graph(3, end);
        let report = run(graph).unwrap();
        let end = end as u64;
        assert_eq!(sum.0.load(Ordering::Relaxed), end * (end - 1) / 2);
        assert_eq!(*last.0.lock().unwrap(), (end - 1) as f64);
        assert_eq!(report.block("source").unwrap().counters.samples, end);
        assert_eq!(report.circuits[0].samples_max(), 8 * LEN / 2);
        let at_most = [8 * LEN as u32 / 2, 200].map(|samples| Duration::from_micros(1) * samples);
        let latencies: Vec<_> =
            report.circuits.iter().map(|it| it.latency_max().unwrap()).collect();
        assert_eq!(latencies, at_most);
        assert_eq!(pool.free(), 3, "all were given back");
    }
}

#[test]
fn more_samples_than_were_declared_are_refused() {
    let mut graph = GraphBuilder::new();
    let source = Ring { samples_max: LEN / 2 - 1, ..Ring::new(1, 512) };
    let stream = graph.borrowed_source("source", source, Circuit::default());
    graph.sink("sum", Sum::default(), stream);
    let error = graph.build().unwrap().run(Sequence::new()).unwrap_err();
    assert_eq!(error.to_string(), "'source': lends 128 samples: it declared 127 at most");
}

#[test]
fn borrowed_source_without_a_reader_is_refused() {
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::default().quanta(1);
    let _stream = graph.borrowed_source("source", Ring::new(1, 512), circuit);
    let error = graph.build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the output of 'source' is connected to nothing: end it in a sink"
    );
}

/// Sleeps until another thread has woken it, and ends.
struct Sleeper {
    start: mpsc::Sender<Waker>,
    calls: Arc<AtomicU64>,
    is_up: Arc<AtomicU64>,
}

impl BorrowedSource<i32> for Sleeper {
    fn samples_max(&self) -> usize {
        LEN
    }

    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        Ok(self.start.send(context.waker.clone())?)
    }

    fn lend(&mut self, _: &mut Quantum<i32>) -> Work {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(if self.is_up.load(Ordering::Acquire) == 0 { Flow::Sleep } else { Flow::End })
    }
}

#[test]
#[cfg_attr(miri, ignore = "it takes the time")]
fn block_that_sleeps_is_left_alone_until_it_is_woken() {
    let (start, started) = mpsc::channel();
    let (calls, is_up) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let source = Sleeper { start, calls: calls.clone(), is_up: is_up.clone() };
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::default().quanta(1);
    let stream = graph.borrowed_source("source", source, circuit);
    graph.sink("sum", Sum::default(), stream);
    let graph = graph.build().unwrap();
    let begin = Instant::now();
    let run = std::thread::spawn(move || graph.run(Sequence::new()));
    let waker = started.recv().unwrap();
    // What is measured: how often it is called in a time without work.
    std::thread::sleep(Duration::from_millis(300));
    is_up.store(1, Ordering::Release);
    waker.wake();
    run.join().unwrap().unwrap();
    assert!(begin.elapsed() < Duration::from_millis(900), "it was woken");
    assert!(calls.load(Ordering::Relaxed) < 10, "{calls:?} calls while nothing came");
}

#[test]
fn source_that_sleeps_is_drained() {
    let (start, started) = mpsc::channel();
    let calls = Arc::<AtomicU64>::default();
    let source = Sleeper { start, calls: calls.clone(), is_up: Arc::default() };
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::default().quanta(1);
    let stream = graph.borrowed_source("source", source, circuit);
    graph.sink("sum", Sum::default(), stream);
    let graph = graph.build().unwrap();
    let control = graph.control();
    let run = std::thread::spawn(move || graph.run(Sequence::new()));
    started.recv().unwrap();
    while calls.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    control.drain();
    let report = run.join().unwrap().unwrap();
    assert!(control.dot().contains("source\\nsource\\n"), "{}", control.dot());
    assert_eq!(report.block("sum").unwrap().counters.calls, 0);
}

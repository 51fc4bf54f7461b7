//! Blocks that do what they should not: the graph ends, and says whose fault it was.

mod schedulers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use samplewire_circuit::blocks::{Head, NullSink, NullSource};
use samplewire_circuit::{
    ByQuantum, Circuit, Context, Custom, Done, Failure, Flow, GraphBuilder, InPlace, Polled, Pool,
    PoolConfig, Ports, Quantum, RunError, Sequence, Sink, Source, Tag, TagKind, Transform, Work,
};
use schedulers::under_each_scheduler;

/// Panics when it is started, or when it is stopped.
struct Jumpy {
    at_start: bool,
}

impl InPlace<f32> for Jumpy {
    fn work(&mut self, _: &mut Quantum<f32>) -> Work {
        Ok(Flow::Pass)
    }

    fn start(&mut self, _: &Context<'_>) -> Result<(), Failure> {
        assert!(!self.at_start, "no start");
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Failure> {
        assert!(self.at_start, "no stop");
        Ok(())
    }
}

#[test]
fn panic_at_the_start_or_the_stop_ends_the_graph_and_names_the_block() {
    for (at_start, words) in [(true, "no start"), (false, "no stop")] {
        under_each_scheduler(|run| {
            let mut graph = GraphBuilder::new();
            let circuit = Circuit::new(4, 64).named("samples");
            let stream = graph.source("source", NullSource, circuit);
            let stream = graph.in_place("head", Head::new(10_000), stream);
            let stream = graph.in_place("jumpy", Jumpy { at_start }, stream);
            graph.sink("sink", NullSink, stream);
            let error = run(graph.build().unwrap()).unwrap_err().to_string();
            assert_eq!(error, format!("'jumpy': panicked: {words}"));
        });
    }
}

/// Counts how often it was started and stopped; one of them fails at its start.
#[derive(Clone, Default)]
struct Counting {
    fails: bool,
    started: Arc<AtomicU32>,
    stopped: Arc<AtomicU32>,
}

impl Counting {
    fn failing() -> Self {
        Self { fails: true, ..Self::default() }
    }

    fn begin(&self) -> Result<(), Failure> {
        if self.fails {
            return Err("no coolant".into());
        }
        self.started.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn end(&self) -> Result<(), Failure> {
        self.stopped.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl InPlace<f32> for Counting {
    fn work(&mut self, _: &mut Quantum<f32>) -> Work {
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn start(&mut self, _: &Context<'_>) -> Result<(), Failure> {
        self.begin()
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.end()
    }
}

impl Custom for Counting {
    fn work(&mut self, _: &mut Ports) -> Result<Polled, Failure> {
        Ok(Polled::Idle)
    }

    fn start(&mut self, _: &Context<'_>) -> Result<(), Failure> {
        self.begin()
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.end()
    }
}

#[test]
fn only_blocks_that_started_are_stopped() {
    let check = |result: Result<_, RunError>, blocks: &[Counting]| {
        assert_eq!(result.unwrap_err().to_string(), "'1': no coolant");
        for (number, Counting { started, stopped, .. }) in blocks.iter().enumerate() {
            let counts = [started, stopped].map(|count| count.load(Ordering::Relaxed));
            assert_eq!(counts[0], counts[1], "block {number}");
            assert!(number != 1 || counts == [0, 0]);
        }
    };
    let line = |blocks: &[Counting]| {
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(4, 64).named("samples");
        let mut stream = graph.source("source", NullSource, circuit);
        for (number, block) in blocks.iter().enumerate() {
            stream = graph.in_place(format!("{number}"), block.clone(), stream);
        }
        graph.sink("sink", NullSink, stream);
        graph.build().unwrap()
    };
    let blocks = || [Counting::default(), Counting::failing(), Counting::default()];
    under_each_scheduler(|run| {
        let blocks = blocks();
        check(run(line(&blocks)).map(|_| ()), &blocks);

        let [first, failing, last] = &blocks;
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(4, 64).named("samples");
        let stream = graph.source("source", NullSource, circuit);
        let stream = graph.in_place("0", first.clone(), stream);
        for (name, block) in [("1", failing), ("2", last)] {
            let circuit = Circuit::<f32>::new(1, 1).named(name);
            let stream = graph.custom(name, |ports| (block.clone(), ports.output(circuit).1));
            graph.sink(format!("sink of {name}"), NullSink, stream);
        }
        graph.sink("sink", NullSink, stream);
        check(run(graph.build().unwrap()).map(|_| ()), &blocks);
    });
    let blocks = blocks();
    check(line(&blocks).run(ByQuantum::new(2)).map(|_| ()), &blocks);
}

/// Swaps its quantum for one of a pool of its own.
struct Swapper(Option<Quantum<f32>>);

impl InPlace<f32> for Swapper {
    fn work(&mut self, quantum: &mut Quantum<f32>) -> Work {
        if let Some(other) = &mut self.0 {
            std::mem::swap(quantum, other);
        }
        Ok(Flow::Pass)
    }
}

#[test]
fn block_that_swaps_quanta_is_named() {
    under_each_scheduler(|run| {
        let pool = Pool::new(PoolConfig::new(1, 256)).unwrap();
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(4, 64).named("samples");
        let stream = graph.source("source", NullSource, circuit);
        let other = pool.take().unwrap().cast().unwrap();
        let stream = graph.in_place("swapper", Swapper(Some(other)), stream);
        graph.sink("sink", NullSink, stream);
        let error = run(graph.build().unwrap()).unwrap_err().to_string();
        assert_eq!(error, "'swapper': passes a quantum that is not its circuit's");
    });
}

/// Bursts of 100 samples, each ended by a tag behind its last.
struct Bursts(u64);

impl Source<f32> for Bursts {
    fn fill(&mut self, quantum: &mut Quantum<f32>) -> Work {
        quantum.set_len(100);
        quantum.push_tag(Tag { index: quantum.end_index(), kind: TagKind::EndOfBurst })?;
        self.0 -= 1;
        Ok(if self.0 == 0 { Flow::End } else { Flow::Pass })
    }
}

struct Copy;

impl Transform<f32, f32> for Copy {
    fn work(&mut self, input: &[f32], output: &mut [f32]) -> Result<Done, Failure> {
        let len = input.len().min(output.len());
        output[..len].copy_from_slice(&input[..len]);
        Ok(Done { consumed: len, produced: len })
    }
}

struct Ends(std::sync::mpsc::Sender<u64>);

impl Sink<f32> for Ends {
    fn consume(&mut self, quantum: &Quantum<f32>) -> Work {
        let ends = quantum.tags().iter().filter(|tag| tag.kind == TagKind::EndOfBurst);
        ends.for_each(|tag| self.0.send(tag.index).unwrap());
        Ok(Flow::Pass)
    }
}

#[test]
fn ends_of_bursts_cross_from_circuit_to_circuit() {
    for len in [30, 50, 100, 130] {
        let (ends, seen) = std::sync::mpsc::channel();
        let mut graph = GraphBuilder::new();
        let (bursts, copies) =
            (Circuit::new(2, 100).named("bursts"), Circuit::new(2, len).named("copies"));
        let stream = graph.source("bursts", Bursts(7), bursts);
        let stream = graph.transform("copy", Copy, stream, copies);
        graph.sink("ends", Ends(ends), stream);
        graph.build().unwrap().run(Sequence::new()).unwrap();
        let seen: Vec<u64> = seen.iter().collect();
        assert_eq!(seen, [100, 200, 300, 400, 500, 600, 700], "quanta of {len}");
    }
}

//! Blocks that do what they should not: the graph ends, and says whose fault it was.

mod schedulers;

use samplewire_circuit::blocks::{Head, NullSink, NullSource};
use samplewire_circuit::{
    Context, Done, Failure, Flow, GraphBuilder, InPlace, Pool, PoolConfig, Quantum, Sequence, Sink,
    Source, Tag, TagKind, Transform, Work,
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
            let circuit = graph.circuit("samples", 4, 64);
            let stream = graph.source("source", NullSource, circuit);
            let stream = graph.in_place("head", Head::new(10_000), stream);
            let stream = graph.in_place("jumpy", Jumpy { at_start }, stream);
            graph.sink("sink", NullSink, stream);
            let error = run(graph.build().unwrap()).unwrap_err().to_string();
            assert_eq!(error, format!("'jumpy': panicked: {words}"));
        });
    }
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
        let circuit = graph.circuit("samples", 4, 64);
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
        let (bursts, copies) = (graph.circuit("bursts", 2, 100), graph.circuit("copies", 2, len));
        let stream = graph.source("bursts", Bursts(7), bursts);
        let stream = graph.transform("copy", Copy, stream, copies);
        graph.sink("ends", Ends(ends), stream);
        graph.build().unwrap().run(Sequence::new()).unwrap();
        let seen: Vec<u64> = seen.iter().collect();
        assert_eq!(seen, [100, 200, 300, 400, 500, 600, 700], "quanta of {len}");
    }
}

//! Chains: what blocks and circuits are named, how large quanta are, and what becomes of errors.

use std::sync::mpsc;

use samplewire_circuit::blocks::{Head, NullSink, NullSource};
use samplewire_circuit::{
    BorrowedSource, ByStage, Circuit, CircuitReport, Done, Failure, Flow, Graph, GraphBuilder,
    InPlace, Quantum, Ratio, RunError, Sequence, Source, Transform, Work, chain, chain_borrowed,
};

/// Each sample is its index.
struct Indexes;

impl Source<f32> for Indexes {
    fn fill(&mut self, quantum: &mut Quantum<f32>) -> Work {
        let index = quantum.index();
        (index..).zip(quantum.fill()).for_each(|(index, sample)| *sample = index as f32);
        Ok(Flow::Pass)
    }
}

struct Double;

impl InPlace<f32> for Double {
    fn work(&mut self, quantum: &mut Quantum<f32>) -> Work {
        quantum.samples_mut().iter_mut().for_each(|sample| *sample *= 2.0);
        Ok(Flow::Pass)
    }
}

/// Makes `ratio` outputs of an input, each its value, `multiple` at once.
#[derive(Clone, Copy)]
struct Resample {
    ratio: Ratio,
    multiple: usize,
}

impl Transform<f32, f64> for Resample {
    fn ratio(&self) -> Ratio {
        self.ratio
    }

    fn output_multiple(&self) -> usize {
        self.multiple
    }

    fn work(&mut self, input: &[f32], output: &mut [f64]) -> Result<Done, Failure> {
        let (up, down) = (self.ratio.interpolation as usize, self.ratio.decimation as usize);
        let groups = (input.len() / down).min(output.len() / up);
        let pairs = input.chunks_exact(down).zip(output.chunks_exact_mut(up));
        pairs.for_each(|(group, made)| made.fill(f64::from(group[0])));
        Ok(Done { consumed: groups * down, produced: groups * up })
    }
}

const EIGHTH: Resample = Resample { ratio: Ratio::decimate(8), multiple: 1 };

/// Names, quanta and lengths.
fn circuits(graph: &Graph) -> Vec<(String, usize, usize)> {
    let of = |it: CircuitReport| (it.name.to_string(), it.quanta, it.len);
    graph.circuits().into_iter().map(of).collect()
}

fn names(graph: &Graph) -> Vec<String> {
    graph.blocks().map(|block| block.name().to_string()).collect()
}

#[test]
fn chain_brings_what_its_blocks_make_to_its_end() {
    for threads in [1, 2] {
        let (seen, samples) = mpsc::channel();
        let graph = chain(Indexes)
            .in_place(Head::new(100_000))
            .in_place(Double)
            .transform(EIGHTH)
            .for_each(move |quantum| seen.send(quantum.samples().to_vec()).unwrap())
            .build()
            .unwrap();
        let report = match threads {
            1 => graph.run(Sequence::new()).unwrap(),
            _ => {
                let stages = ByStage::even(&graph, threads);
                graph.run(stages).unwrap()
            }
        };
        let samples: Vec<f64> = samples.iter().flatten().collect();
        let expected: Vec<f64> = (0..12_500).map(|at| f64::from(at * 16)).collect();
        assert!(samples == expected);
        assert_eq!(report.block("sink").unwrap().counters.samples, 12_500);
    }
}

#[test]
fn blocks_have_the_names_of_their_types() {
    let graph = chain(NullSource)
        .in_place(Double)
        .in_place(Double)
        .in_place(Double)
        .named("the third")
        .in_place(Double)
        .transform(EIGHTH)
        .for_each(|_| {})
        .build()
        .unwrap();
    let expected =
        ["null source", "double", "double 2", "the third", "double 3", "resample", "sink"];
    assert_eq!(names(&graph), expected);
    let graph = chain::<f32, _>(NullSource).sink(NullSink).named("end").build().unwrap();
    assert_eq!(names(&graph), ["null source", "end"]);
}

#[test]
fn circuits_have_the_names_of_their_blocks_and_hold_as_long_as_their_inputs() {
    let graph = chain(NullSource).transform(EIGHTH).sink(NullSink).build().unwrap();
    // 64 KiB of f32, and an eighth of them.
    let expected = [("null source".into(), 4, 16_384), ("resample".into(), 4, 2_048)];
    assert_eq!(circuits(&graph), expected);
}

#[test]
fn quanta_hold_equal_parts_of_what_is_made_of_an_input_and_whole_groups() {
    let len = |input, interpolation, decimation, multiple| {
        let block = Resample { ratio: Ratio { interpolation, decimation }, multiple };
        let chain = chain(NullSource).samples_max(input).transform(block);
        circuits(&chain.sink(NullSink).build().unwrap())[1].2
    };
    // 64 KiB hold 8,192 f64.
    assert_eq!(len(8_192, 1, 1, 1), 8_192);
    assert_eq!(len(8_194, 1, 1, 1), 4_097);
    assert_eq!(len(1_000, 30, 1, 1), 7_500);
    assert_eq!(len(1_001, 1, 8, 1), 126);
    assert_eq!(len(3, 1, 8, 1), 1);
    assert_eq!(len(1_000, 1, 8, 100), 200);
    assert_eq!(len(1_000, 1, 8, 20_000), 20_000);
}

#[test]
fn what_is_set_counts_more_than_what_follows() {
    let graph = chain(NullSource)
        .named("zeros")
        .quanta(2)
        .samples_max(800)
        .in_place(Double)
        .quanta(3)
        .transform(EIGHTH)
        .named("slow")
        .circuit(Circuit::new(5, 600).named("slow quanta").head_bytes(128))
        .sink(NullSink)
        .build()
        .unwrap();
    // A block that works in place passes on the quanta of the block before it.
    assert_eq!(circuits(&graph), [("zeros".into(), 3, 800), ("slow quanta".into(), 5, 600)]);
}

/// Lends nothing, 1,000 samples at most.
struct Lender;

impl BorrowedSource<f32> for Lender {
    fn samples_max(&self) -> usize {
        1_000
    }

    fn lend(&mut self, _: &mut Quantum<f32>) -> Work {
        Ok(Flow::End)
    }
}

#[test]
fn lent_quanta_are_as_long_as_their_source_declares() {
    let graph = chain_borrowed(Lender).transform(EIGHTH).sink(NullSink).build().unwrap();
    assert_eq!(circuits(&graph), [("lender".into(), 16, 1_000), ("resample".into(), 4, 125)]);
    let report = chain_borrowed(Lender).quanta(3).sink(NullSink).run().unwrap();
    assert_eq!(report.circuits[0].quanta, 3);
}

#[test]
fn joins_loops_and_custom_blocks_have_circuits_like_their_inputs() {
    use samplewire_circuit::{Custom, Join, Output, Polled, Ports};

    struct Sum;
    impl Join<f32, f32> for Sum {
        fn work(&mut self, first: &mut [f32], second: &[f32]) -> Result<(), Failure> {
            first.iter_mut().zip(second).for_each(|(first, second)| *first += second);
            Ok(())
        }
    }

    struct Outputs([Output<f32>; 2]);
    impl Custom for Outputs {
        fn work(&mut self, _: &mut Ports) -> Result<Polled, Failure> {
            let Self(_outputs) = self;
            Ok(Polled::Done)
        }
    }

    let mut graph = GraphBuilder::new();
    let input = graph.source("input", NullSource, Circuit::new(4, 100));
    let (feedback, delayed) = graph.feedback("loop", Circuit::default(), 2);
    let sum = graph.join("sum", Sum, input, delayed);
    let sum = graph.broadcast("both", sum);
    graph.close(feedback, sum.clone());
    let [one, two] = graph.custom("two", |ports| {
        let _input = ports.shared_input(sum);
        let (one, two) = (ports.output(Circuit::default()), ports.output(Circuit::default()));
        (Outputs([one.0, two.0]), [one.1, two.1])
    });
    graph.sink("one", NullSink, one);
    graph.sink("other", NullSink, two);
    let expected = [
        ("input", 4, 100),
        ("loop", 6, 100),
        ("sum: spares", 2, 100),
        ("two", 4, 100),
        ("two 2", 4, 100),
    ];
    let expected = expected.map(|(name, quanta, len)| (name.to_owned(), quanta, len));
    assert_eq!(circuits(&graph.build().unwrap()), expected);
}

#[test]
fn error_of_a_constructor_comes_out_at_the_end_of_the_chain() {
    let made = |is_made: bool| is_made.then_some(Double).ok_or("a factor out of range");
    let run = |first, second| {
        let no_taps = || Err::<Resample, _>("no taps");
        let chain = chain(Indexes).in_place(Head::new(16)).try_in_place(made(first)).quanta(2);
        match second {
            true => chain.transform(EIGHTH).sink(NullSink).run(),
            false => {
                chain.try_transform(no_taps()).named("filter").samples_max(1).sink(NullSink).run()
            }
        }
    };
    assert!(run(true, true).is_ok());
    let error = run(true, false).unwrap_err();
    assert!(matches!(&error, RunError::Build(_)));
    assert_eq!(error.to_string(), "'filter': no taps");
    assert_eq!(run(false, true).unwrap_err().to_string(), "'double': a factor out of range");
    assert_eq!(run(false, false).unwrap_err().to_string(), "'double': a factor out of range");
}

#[test]
fn graph_of_a_chain_is_drained_and_drawn() {
    let graph = chain(Indexes).sink(NullSink).named("end").build().unwrap();
    let control = graph.control();
    control.drain();
    graph.run(Sequence::new()).unwrap();
    assert!(control.svg().contains(">end</text>"), "{}", control.svg());
}

//! Buffers handed from thread to thread, and copied instead: what either costs.
//!
//! ```text
//! cargo run --release -p samplewire-blocks --example rings -- \
//!     [--schedule stage|copy] [--cores C] [--floats N] [--quanta Q] [--seconds S] [--json]
//! ```
//!
//! `stage`: Q quanta of N floats go from a source to a sink through C threads, untouched. Each
//! thread spins on a CPU of its own; by hand, through rings between such threads. `copy`: a block
//! copies the quanta of one circuit to those of another on one CPU; by hand, memcpy.

mod bench;

use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

use bench::arguments::Arguments;
use bench::{Compared, Count, Rate, by_hand, pin};
use samplewire_circuit::blocks::NullSource;
use samplewire_circuit::{
    ByStage, Circuit, Done, Failure, Flow, GraphBuilder, InPlace, Quantum, Sequence, Sink,
    Transform, Waiting, Work,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    let &Arguments { cores, floats, quanta, duration, .. } = &arguments;
    let Compared { ours, by_hand, ratio } = match arguments.schedule.as_deref().unwrap_or("stage") {
        "stage" if cores > 1 => Compared::new(
            duration,
            |slice| hand_on(&arguments, slice),
            |slice| by_hand::stages(cores, 0, floats, quanta, slice),
        )?,
        "copy" if cores == 1 => {
            pin(0)?;
            Compared::new(
                duration,
                |slice| copy(&arguments, slice),
                |slice| by_hand::copies(floats, slice),
            )?
        }
        schedule => {
            return Err(format!("--schedule {schedule} --cores {cores}: not understood").into());
        }
    };
    let (ours, by_hand) = (ours.buffers_per_s, by_hand.buffers_per_s);
    if arguments.json {
        println!(
            "{{\"buffers_per_s\":{ours:.0},\"hand_written_buffers_per_s\":{by_hand:.0},\
             \"ratio\":{ratio:.4}}}"
        );
    } else {
        let (ours, by_hand) = (ours / 1e6, by_hand / 1e6);
        println!("{ours:.2} M buffers/s, by hand {by_hand:.2}; {ratio:.3} of that");
    }
    Ok(())
}

/// From thread to thread.
fn hand_on(arguments: &Arguments, slice: Duration) -> Result<Rate, Box<dyn Error>> {
    let &Arguments { cores, floats, quanta, .. } = arguments;
    let (sink, rate) = Counting::new(floats, slice);
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(quanta, floats).named("floats");
    let mut stream = graph.source("source", NullSource, circuit);
    for stage in 1..cores - 1 {
        stream = graph.in_place(format!("stage {stage}"), Nothing, stream);
    }
    graph.sink("sink", sink, stream);
    let cpus: Vec<_> = (0..cores).collect();
    let stages = ByStage::new(|block| block.number()).cores(&cpus).waiting(Waiting::Spin);
    graph.build()?.run(stages)?;
    Ok(rate.recv()?)
}

/// From circuit to circuit.
fn copy(arguments: &Arguments, slice: Duration) -> Result<Rate, Box<dyn Error>> {
    let &Arguments { floats, quanta, .. } = arguments;
    let (sink, rate) = Counting::new(floats, slice);
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(quanta, floats).named("floats");
    let stream = graph.source("source", NullSource, circuit);
    let copies = Circuit::new(quanta, floats).named("copies");
    let stream = graph.transform("copy", Copying, stream, copies);
    graph.sink("sink", sink, stream);
    graph.build()?.run(Sequence::new())?;
    Ok(rate.recv()?)
}

/// Has a quantum go through its thread.
struct Nothing;

impl InPlace<f32> for Nothing {
    fn work(&mut self, _: &mut Quantum<f32>) -> Work {
        Ok(Flow::Pass)
    }
}

/// From one circuit to another.
struct Copying;

impl Transform<f32, f32> for Copying {
    fn work(&mut self, input: &[f32], output: &mut [f32]) -> Result<Done, Failure> {
        let len = input.len().min(output.len());
        output[..len].copy_from_slice(&input[..len]);
        Ok(Done { consumed: len, produced: len })
    }
}

/// Counts what comes, and ends it when the time is over.
struct Counting {
    count: Count,
    rates: mpsc::Sender<Rate>,
}

impl Counting {
    fn new(floats: usize, duration: Duration) -> (Self, mpsc::Receiver<Rate>) {
        let (rates, rate) = mpsc::channel();
        (Self { count: Count::new(floats, duration), rates }, rate)
    }
}

impl Sink<f32> for Counting {
    fn consume(&mut self, _: &Quantum<f32>) -> Work {
        let Some(rate) = self.count.one() else { return Ok(Flow::Pass) };
        self.rates.send(rate)?;
        Ok(Flow::End)
    }
}

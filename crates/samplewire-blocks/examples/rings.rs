//! Buffers handed from thread to thread, and copied instead: what either costs.
//!
//! ```text
//! cargo run --release -p samplewire-blocks --example rings -- \
//!     [--schedule stage|copy] [--cores C] [--floats N] [--quanta Q] [--seconds S] [--json]
//! ```
//!
//! `stage`: Q quanta of N floats, which nobody touches, go from a source to a sink through C threads,
//! each of which spins on a CPU of its own; by hand, through rings between such threads. `copy`: a
//! block copies the quanta of one circuit to those of another on one CPU; by hand, memcpy.

mod bench;

use std::error::Error;
use std::sync::mpsc;

use bench::arguments::Arguments;
use bench::{Count, Rate, by_hand, pin};
use samplewire_circuit::blocks::NullSource;
use samplewire_circuit::{
    ByStage, Done, Failure, Flow, GraphBuilder, InPlace, Quantum, Sequence, Sink, Transform,
    Waiting, Work,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    let &Arguments { cores, floats, quanta, duration, .. } = &arguments;
    let (rates, rate) = mpsc::channel();
    let sink = Counting { count: Count::new(floats, duration), rates };
    let mut graph = GraphBuilder::new();
    let circuit = graph.circuit("floats", quanta, floats);
    let mut stream = graph.source("source", NullSource, circuit);
    let schedule = arguments.schedule.as_deref().unwrap_or("stage");
    let hand = match schedule {
        "stage" if cores > 1 => {
            for stage in 1..cores - 1 {
                stream = graph.in_place(format!("stage {stage}"), Nothing, stream);
            }
            graph.sink("sink", sink, stream);
            let cpus: Vec<_> = (0..cores).collect();
            let stages = ByStage::new(|block| block.number()).cores(&cpus).waiting(Waiting::Spin);
            graph.build()?.run(stages)?;
            by_hand::stages(cores, 0, floats, quanta, duration)
        }
        "copy" if cores == 1 => {
            let copies = graph.circuit("copies", quanta, floats);
            let stream = graph.transform("copy", Copying, stream, copies);
            graph.sink("sink", sink, stream);
            pin(0)?;
            graph.build()?.run(Sequence::new())?;
            by_hand::copies(floats, duration)
        }
        _ => return Err(format!("--schedule {schedule} --cores {cores}: not understood").into()),
    };
    let (ours, hand) = (rate.recv()?.buffers_per_s, hand.buffers_per_s);
    if arguments.json {
        println!(
            "{{\"buffers_per_s\":{ours:.0},\"hand_written_buffers_per_s\":{hand:.0},\
             \"ratio\":{:.4}}}",
            ours / hand
        );
    } else {
        println!(
            "{:.2} M buffers/s, by hand {:.2}, which is {:.3} of that",
            ours / 1e6,
            hand / 1e6,
            ours / hand
        );
    }
    Ok(())
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

impl Sink<f32> for Counting {
    fn consume(&mut self, _: &Quantum<f32>) -> Work {
        let Some(rate) = self.count.one() else { return Ok(Flow::Pass) };
        self.rates.send(rate)?;
        Ok(Flow::End)
    }
}

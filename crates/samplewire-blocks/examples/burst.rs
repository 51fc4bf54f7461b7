//! How long a burst takes from its source to its sink on one CPU, in a graph and written by hand.
//!
//! ```text
//! cargo run --release -p samplewire-blocks --example burst -- \
//!     [--kernels M] [--floats N] [--quanta Q] [--seconds S] [--json]
//! ```
//!
//! A burst is Q quanta of N floats that the source has at once, after a silence in which the thread
//! sleeps; each passes M blocks of `y = a x + b`. Timed is from the source's first call to the sink's
//! last.

mod bench;

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bench::arguments::Arguments;
use bench::by_hand::{Buffer, pass};
use bench::{A, B, pin};
use samplewire_blocks::kernels;
use samplewire_circuit::{
    Circuit, Flow, GraphBuilder, InPlace, Quantum, Sequence, Sink, Source, Work,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    pin(0)?;
    let hand = summary(by_hand(&arguments))?;
    let ours = summary(in_graph(&arguments)?)?;
    if arguments.json {
        println!(
            "{{\"p50_ns\":{},\"p99_ns\":{},\"hand_written_p50_ns\":{},\"hand_written_p99_ns\":{},\
             \"bursts\":{}}}",
            ours.p50_ns, ours.p99_ns, hand.p50_ns, hand.p99_ns, ours.bursts
        );
    } else {
        let ratio = ours.p50_ns as f64 / hand.p50_ns as f64;
        println!(
            "p50 {} ns, p99 {} ns of {} bursts; by hand p50 {} ns, p99 {} ns: {ratio:.3} of that",
            ours.p50_ns, ours.p99_ns, ours.bursts, hand.p50_ns, hand.p99_ns
        );
    }
    Ok(())
}

fn by_hand(arguments: &Arguments) -> Vec<u64> {
    // As in the graph, a buffer that has reached the sink is filled again.
    let mut buffers = [Buffer::new(arguments.floats), Buffer::new(arguments.floats)];
    let mut latencies_ns = Vec::with_capacity(BURSTS_MAX);
    let start = Instant::now();
    while start.elapsed() < arguments.duration && latencies_ns.len() < BURSTS_MAX {
        thread::park_timeout(SILENCE);
        let begin = Instant::now();
        for quantum in 0..arguments.quanta {
            pass(arguments.kernels, buffers[quantum % 2].floats());
        }
        latencies_ns.push(begin.elapsed().as_nanos() as u64);
    }
    latencies_ns
}

fn in_graph(arguments: &Arguments) -> Result<Vec<u64>, Box<dyn Error>> {
    let epoch = Instant::now();
    let begin_ns = Arc::new(AtomicU64::new(0));
    let (latencies, received) = mpsc::channel();
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(arguments.quanta, arguments.floats).named("floats");
    let source = Bursts {
        epoch,
        begin_ns: Arc::clone(&begin_ns),
        quanta: arguments.quanta,
        left: arguments.quanta,
        next: epoch,
    };
    let mut stream = graph.source("source", source, circuit);
    for kernel in 0..arguments.kernels {
        stream = graph.in_place(format!("saxpy {kernel}"), Saxpy, stream);
    }
    let sink = Timing {
        epoch,
        begin_ns,
        quanta: arguments.quanta,
        left: arguments.quanta,
        latencies_ns: Vec::with_capacity(BURSTS_MAX),
        duration: arguments.duration,
        latencies,
    };
    graph.sink("sink", sink, stream);
    graph.build()?.run(Sequence::new())?;
    Ok(received.recv()?)
}

struct Summary {
    p50_ns: u64,
    p99_ns: u64,
    bursts: usize,
}

fn summary(mut latencies_ns: Vec<u64>) -> Result<Summary, String> {
    let bursts = latencies_ns.len();
    if bursts < BURSTS_LEAST {
        return Err(format!("{bursts} bursts are too few for p99: --seconds gives more"));
    }
    latencies_ns.sort_unstable();
    let at = |share: f64| latencies_ns[(bursts as f64 * share) as usize];
    Ok(Summary { p50_ns: at(0.5), p99_ns: at(0.99), bursts })
}

/// Has nothing for a while, and then so many quanta at once.
struct Bursts {
    epoch: Instant,
    begin_ns: Arc<AtomicU64>,
    quanta: usize,
    left: usize,
    next: Instant,
}

impl Source<f32> for Bursts {
    fn fill(&mut self, quantum: &mut Quantum<f32>) -> Work {
        if self.left == self.quanta {
            let now = Instant::now();
            if now < self.next {
                return Ok(Flow::Wait);
            }
            // Relaxed, here and in the sink: both are on one thread.
            self.begin_ns.store((now - self.epoch).as_nanos() as u64, Ordering::Relaxed);
        }
        quantum.fill();
        self.left -= 1;
        if self.left == 0 {
            self.left = self.quanta;
            self.next = Instant::now() + SILENCE;
        }
        Ok(Flow::Pass)
    }
}

/// `y = a x + b`.
struct Saxpy;

impl InPlace<f32> for Saxpy {
    fn work(&mut self, quantum: &mut Quantum<f32>) -> Work {
        kernels::saxpy(quantum.samples_mut(), A, B);
        Ok(Flow::Pass)
    }
}

/// Takes the time of the last quantum of each burst.
struct Timing {
    epoch: Instant,
    begin_ns: Arc<AtomicU64>,
    quanta: usize,
    left: usize,
    latencies_ns: Vec<u64>,
    duration: Duration,
    latencies: mpsc::Sender<Vec<u64>>,
}

impl Sink<f32> for Timing {
    fn consume(&mut self, _: &Quantum<f32>) -> Work {
        self.left -= 1;
        if self.left > 0 {
            return Ok(Flow::Pass);
        }
        self.left = self.quanta;
        let elapsed = self.epoch.elapsed();
        self.latencies_ns.push(elapsed.as_nanos() as u64 - self.begin_ns.load(Ordering::Relaxed));
        if elapsed < self.duration && self.latencies_ns.len() < BURSTS_MAX {
            return Ok(Flow::Pass);
        }
        self.latencies.send(std::mem::take(&mut self.latencies_ns))?;
        Ok(Flow::End)
    }
}

const SILENCE: Duration = Duration::from_micros(100);

const BURSTS_LEAST: usize = 100;

const BURSTS_MAX: usize = 1 << 20;

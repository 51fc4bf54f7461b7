//! A chain of saxpy kernels in a graph, and the same written by hand: what the runtime costs.
//!
//! ```text
//! cargo run --release -p samplewire-blocks --example saxpy -- \
//!     [--kernels M] [--cores C] [--floats N] [--quanta Q] \
//!     [--schedule sequence|fused|stage|quantum|in-order|async] [--by-hand in-order] \
//!     [--seconds S] [--json]
//! ```
//!
//! A source that writes nothing, M blocks of `y = a x + b` in place, a sink that reads nothing; Q
//! quanta of N floats go round, on the first C CPUs. By `quantum` source and sink have replicas, one
//! on each CPU; `in-order` is by quantum with one sink, to which all come in their order. `fused` is in
//! sequence with one block in place of the M, which maps each sample M times and stores it once (M is 1,
//! 2, 4, 8 or 16). `async` has the same stages as `stage`, each a future on an executor whose threads
//! sleep when there is nothing to do. By hand it is loops over the same kernel: on one CPU over two
//! buffers, by stage with rings between pinned threads, by quantum a loop on each CPU, none of which
//! knows of another; with `--by-hand in-order` these take turns at counting.

mod bench;

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use async_executor::Executor;
use bench::arguments::Arguments;
use bench::{A, B, Compared, Count, Rate, by_hand, check, pin};
use event_listener::Event;
use futures_lite::future::block_on;
use samplewire_blocks::{Fused, kernels};
use samplewire_circuit::blocks::NullSource;
use samplewire_circuit::{
    BlockView, ByQuantum, ByStage, Circuit, Flow, Graph, GraphBuilder, Group, InPlace, Placement,
    Quantum, RunError, Scheduler, Sequence, Sink, Stream, Waiting, Work,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    let &Arguments { kernels, cores, floats, quanta, duration, .. } = &arguments;
    let by_hand = |slice| match cores {
        1 => by_hand::chain(kernels, floats, slice),
        _ => by_hand::stages(cores, kernels, floats, quanta, slice),
    };
    let compared = match arguments.schedule.as_deref().unwrap_or("sequence") {
        "sequence" if cores == 1 => {
            pin(0)?;
            Compared::new(duration, |slice| run(&arguments, slice, Sequence::new()), by_hand)?
        }
        "fused" if cores == 1 => {
            pin(0)?;
            Compared::new(duration, |slice| run_fused(&arguments, slice), by_hand)?
        }
        "stage" if cores > 1 => {
            let cpus: Vec<_> = (0..cores).collect();
            let scheduler = || ByStage::new(stages(kernels, cores)).cores(&cpus);
            let spinning = |slice| run(&arguments, slice, scheduler().waiting(Waiting::Spin));
            Compared::new(duration, spinning, by_hand)?
        }
        "quantum" | "in-order" => {
            let cpus: Vec<_> = (0..cores).collect();
            let scheduler = || ByQuantum::new(cores).cores(&cpus).waiting(Waiting::Spin);
            let by_hand = |slice| match arguments.by_hand.as_deref() {
                Some("in-order") => by_hand::in_order(cores, kernels, floats, quanta, slice),
                _ => by_hand::chains(cores, kernels, floats, slice),
            };
            Compared::new(duration, |slice| run(&arguments, slice, scheduler()), by_hand)?
        }
        "async" => {
            pin(0)?;
            Compared::new(
                duration,
                |slice| run(&arguments, slice, Async { kernels, cores }),
                by_hand,
            )?
        }
        schedule => {
            return Err(format!("--schedule {schedule} --cores {cores}: not understood").into());
        }
    };
    report(&arguments, &compared);
    Ok(())
}

fn run(
    arguments: &Arguments,
    slice: Duration,
    scheduler: impl Scheduler,
) -> Result<Rate, Box<dyn Error>> {
    run_chain(arguments, slice, scheduler, |graph, mut stream| {
        for kernel in 0..arguments.kernels {
            stream = graph.in_place(format!("saxpy {kernel}"), Saxpy, stream);
        }
        stream
    })
}

/// One block that does what `kernels` in a row do.
fn run_fused(arguments: &Arguments, slice: Duration) -> Result<Rate, Box<dyn Error>> {
    let one = Fused::new(samplewire_blocks::Saxpy::new(A, B));
    let two = one.then(one);
    let four = two.then(two);
    let eight = four.then(four);
    match arguments.kernels {
        1 => run_one(arguments, slice, one),
        2 => run_one(arguments, slice, two),
        4 => run_one(arguments, slice, four),
        8 => run_one(arguments, slice, eight),
        16 => run_one(arguments, slice, eight.then(eight)),
        kernels => Err(format!("--schedule fused --kernels {kernels}: 1, 2, 4, 8 or 16").into()),
    }
}

fn run_one(
    arguments: &Arguments,
    slice: Duration,
    block: impl InPlace<f32> + 'static,
) -> Result<Rate, Box<dyn Error>> {
    run_chain(arguments, slice, Sequence::new(), |graph, stream| {
        graph.in_place("fused", block, stream)
    })
}

/// A chain with what `add` puts between source and sink.
fn run_chain(
    arguments: &Arguments,
    slice: Duration,
    scheduler: impl Scheduler,
    add: impl FnOnce(&mut GraphBuilder, Stream<f32>) -> Stream<f32>,
) -> Result<Rate, Box<dyn Error>> {
    let (rates, came) = mpsc::channel();
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(arguments.quanta, arguments.floats).named("floats");
    let stream = graph.source("source", NullSource, circuit);
    let stream = add(&mut graph, stream);
    let count = Some(Count::new(arguments.floats, slice));
    let is_alone = arguments.schedule.as_deref() != Some("quantum");
    let sinks = if is_alone { 1 } else { arguments.cores.min(arguments.quanta) };
    let left = Arc::new(AtomicUsize::new(sinks));
    graph.sink("sink", Counting { count, rates, left }, stream);
    graph.build()?.run(scheduler)?;
    Ok(came.iter().sum())
}

/// The kernels in equal parts, the source with the first and the sink with the last: as by hand.
fn stages(kernels: usize, cores: usize) -> impl FnMut(BlockView<'_>) -> usize + 'static {
    move |block| match block.number() {
        0 => 0,
        number if number <= kernels => {
            let kernel = number - 1;
            (0..cores).rfind(|stage| kernels * stage / cores <= kernel).unwrap_or(0)
        }
        _ => cores - 1,
    }
}

/// The stages as futures on an executor, which has a thread on each CPU.
struct Async {
    kernels: usize,
    cores: usize,
}

impl Scheduler for Async {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let placement = Placement::by(graph, stages(self.kernels, self.cores));
        let executor = Executor::new();
        // In an array, because a bare group is a future again.
        let to_its_end = async |mut group: Group| {
            (&mut group).await;
            [group]
        };
        let tasks: Vec<_> =
            graph.split(&placement).into_iter().map(|it| executor.spawn(to_its_end(it))).collect();
        let is_over = Event::new();
        let groups = thread::scope(|scope| {
            for cpu in 0..self.cores {
                // Listens before anybody can say it.
                let (executor, over) = (&executor, is_over.listen());
                scope.spawn(move || {
                    pin(cpu).expect("there are as many CPUs as were requested");
                    block_on(executor.run(over))
                });
            }
            let groups = tasks.into_iter().flat_map(block_on).collect();
            is_over.notify(usize::MAX);
            groups
        });
        graph.join(groups)
    }
}

fn report(arguments: &Arguments, compared: &Compared) {
    let &Compared { ours, by_hand, ratio } = compared;
    let (ours, by_hand) = (ours.samples_per_s, by_hand.samples_per_s);
    if arguments.json {
        println!(
            "{{\"samples_per_s\":{ours:.0},\"hand_written_samples_per_s\":{by_hand:.0},\
             \"ratio\":{ratio:.4}}}"
        );
    } else {
        let (ours, by_hand) = (ours / 1e9, by_hand / 1e9);
        println!("{ours:.2} Gsample/s, by hand {by_hand:.2}; {ratio:.3} of that");
    }
}

/// `y = a x + b`.
#[derive(Clone)]
struct Saxpy;

impl InPlace<f32> for Saxpy {
    fn work(&mut self, quantum: &mut Quantum<f32>) -> Work {
        kernels::saxpy(quantum.samples_mut(), A, B);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Counts what comes; the last of its replicas whose time is over ends it.
#[derive(Clone)]
struct Counting {
    /// Until its time is over.
    count: Option<Count>,
    rates: mpsc::Sender<Rate>,
    /// Those that still count.
    left: Arc<AtomicUsize>,
}

impl Sink<f32> for Counting {
    fn consume(&mut self, quantum: &Quantum<f32>) -> Work {
        let Some(rate) = self.count.as_mut().and_then(Count::one) else { return Ok(Flow::Pass) };
        self.count = None;
        check(quantum.samples());
        self.rates.send(rate)?;
        let is_last = self.left.fetch_sub(1, Ordering::Relaxed) == 1;
        Ok(if is_last { Flow::End } else { Flow::Pass })
    }

    fn replicate(&self) -> Option<Self> {
        (self.left.load(Ordering::Relaxed) > 1).then(|| self.clone())
    }
}

//! A chain of saxpy kernels in FutureSDR: a source that writes nothing, M times `y = a x + b` in
//! place, a sink that reads nothing.
//!
//! ```text
//! cargo run --release -- [--kernels M] [--floats N] [--buffers Q] [--cores C]
//!                        [--schedule default|local|smol|flow] [--seconds S]
//! ```
//!
//! Q buffers of N floats go round (`buffer::circuit`): in the sink they are dropped, which takes them
//! back to the source. `local` is a local domain, whose inboxes and tasks stay on its one pinned
//! thread; `smol` is the default scheduler with C pinned threads; `flow` gives every thread, of which
//! there is one for each core of the machine, a stretch of the chain. `default` is what one has without
//! a thought for speed: the default scheduler on the first C CPUs, its threads not pinned to one each,
//! and the default buffers, which are circular and of a size of their own (N and Q do not count), between
//! blocks of the kind `Apply`. Prints one JSON object; the rate is of samples that came to the sink.

mod arguments;
mod blocks;
mod count;
mod default;

use std::error::Error;

use futuresdr::prelude::*;
use futuresdr::runtime::dev::{BlockInbox, LocalBlockInbox};
use futuresdr::runtime::scheduler::{FlowScheduler, Scheduler, SmolScheduler};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::arguments::{Arguments, Schedule};
use crate::blocks::{Saxpy, Sink, Source};
use crate::count::Outcome;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let Outcome { samples, seconds } = match arguments.schedule {
        Schedule::Default => run_default(&arguments)?,
        Schedule::Local => run_local(&arguments)?,
        Schedule::Smol => {
            run_normal(&arguments, |_| SmolScheduler::with_config(arguments.cores, true))?
        }
        Schedule::Flow => run_normal(&arguments, |blocks| {
            FlowScheduler::with_pinned_blocks(stretches(blocks, arguments.cores))
        })?,
    };
    let samples_per_s = samples as f64 / seconds;
    println!(
        "{{\"samples_per_s\":{samples_per_s:.0},\"seconds\":{seconds:.6},\"samples\":{samples}}}"
    );
    Ok(())
}

fn run_default(arguments: &Arguments) -> Result<Outcome, Box<dyn Error>> {
    let mut cpus = CpuSet::new();
    (0..arguments.cores).for_each(|cpu| cpus.set(cpu));
    // Threads that are started later inherit it, and their scheduler has one for each of them.
    sched_setaffinity(None, &cpus)?;
    let mut graph = Flowgraph::new();
    let source = graph.add(default::Source::new())?;
    let kernels = (0..arguments.kernels)
        .map(|_| graph.add(default::saxpy()))
        .collect::<Result<Vec<_>, _>>()?;
    let sink = graph.add(default::Sink::new(arguments.kernels, arguments.duration))?;
    graph.stream(&source, |b| b.output(), &kernels[0], |b| b.input())?;
    for pair in kernels.windows(2) {
        graph.stream(&pair[0], |b| b.output(), &pair[1], |b| b.input())?;
    }
    let last = kernels.last().expect("one kernel or more");
    graph.stream(last, |b| b.output(), &sink, |b| b.input())?;
    let graph = Runtime::new().run(graph)?;
    Ok(graph.block(&sink)?.outcome())
}

fn run_local(arguments: &Arguments) -> Result<Outcome, Box<dyn Error>> {
    let &Arguments { kernels, floats, buffers, duration, .. } = arguments;
    let mut graph = Flowgraph::new();
    let domain = graph.local_domain_pinned(0)?;
    let sink = graph.with_local_domain(domain, move |domain| {
        let source = domain.add(Source::<LocalBlockInbox>::new(buffers, floats));
        let sink = domain.add(Sink::<LocalBlockInbox>::new(duration));
        let mut last = None;
        for _ in 0..kernels {
            let kernel = domain.add(Saxpy::<LocalBlockInbox>::new());
            match &last {
                None => domain.stream_local(
                    &source,
                    |source| source.output(),
                    &kernel,
                    |kernel| kernel.input(),
                )?,
                Some(last) => domain.stream_local(
                    last,
                    |last: &mut Saxpy<_>| last.output(),
                    &kernel,
                    |kernel| kernel.input(),
                )?,
            }
            last = Some(kernel);
        }
        let last = last.expect("one kernel or more");
        domain.stream_local(&last, |last| last.output(), &sink, |sink| sink.input())?;
        Ok(sink)
    })?;
    let graph = Runtime::new().run(graph)?;
    Ok(graph.with(&sink, |sink| sink.outcome())?)
}

fn run_normal<S: Scheduler>(
    arguments: &Arguments,
    scheduler: impl FnOnce(&[BlockId]) -> S,
) -> Result<Outcome, Box<dyn Error>> {
    let mut graph = Flowgraph::new();
    let source = graph.add(Source::<BlockInbox>::new(arguments.buffers, arguments.floats))?;
    let kernels = (0..arguments.kernels)
        .map(|_| graph.add(Saxpy::<BlockInbox>::new()))
        .collect::<Result<Vec<_>, _>>()?;
    let sink = graph.add(Sink::<BlockInbox>::new(arguments.duration))?;
    graph.stream(&source, |b| b.output(), &kernels[0], |b| b.input())?;
    for pair in kernels.windows(2) {
        graph.stream(&pair[0], |b| b.output(), &pair[1], |b| b.input())?;
    }
    let last = kernels.last().expect("one kernel or more");
    graph.stream(last, |b| b.output(), &sink, |b| b.input())?;
    let chain: Vec<_> = [source.id()]
        .into_iter()
        .chain(kernels.iter().map(|kernel| kernel.id()))
        .chain([sink.id()])
        .collect();
    let graph = Runtime::with_scheduler(scheduler(&chain)).run(graph)?;
    Ok(graph.block(&sink)?.outcome())
}

/// The chain in as many stretches, with the source in the first and the sink in the last.
fn stretches(chain: &[BlockId], cores: usize) -> Vec<Vec<BlockId>> {
    let kernels = chain.len() - 2;
    (0..cores)
        .map(|core| {
            let start = if core == 0 { 0 } else { 1 + kernels * core / cores };
            let end =
                if core + 1 == cores { chain.len() } else { 1 + kernels * (core + 1) / cores };
            chain[start..end].to_vec()
        })
        .collect()
}

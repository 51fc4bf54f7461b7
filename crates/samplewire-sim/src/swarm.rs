//! Many runs, each from its seed.

use std::io::{self, Write};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::check::{Tally, Transitions};
use crate::plan::Plan;
use crate::scenes;
use crate::tap::Tap;
use crate::world::World;

/// What to run.
#[derive(Clone, Debug)]
pub struct SwarmOptions {
    /// The seeds.
    pub seeds: Range<u64>,
    /// Runs at a time.
    pub threads: usize,
    /// Starts no run after this time.
    pub time: Option<Duration>,
    /// Starts no run after so many hostile packets.
    pub hostile: Option<u64>,
    /// Writes a line for every packet of every run; for one seed.
    pub trace: bool,
    /// Keeps so many packets of a run, the last ones; for one seed.
    pub tap_packets: Option<usize>,
}

/// What came of a swarm.
#[derive(Clone, Debug, Default)]
pub struct SwarmResult {
    /// Seeds that were run.
    pub runs: u64,
    /// Counts over all runs.
    pub tally: Tally,
    /// Transitions over all runs.
    pub transitions: Transitions,
    /// Seeds in which something did not hold, with what.
    pub failures: Vec<(u64, String)>,
    /// The packets of the run that ended last, if requested.
    pub tap: Option<Tap>,
}

/// What came of one run.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Counts.
    pub tally: Tally,
    /// Transitions.
    pub transitions: Transitions,
    /// What did not hold.
    pub failure: Option<String>,
    /// A line for every packet, if requested.
    pub trace: String,
    /// Its packets, if requested.
    pub tap: Option<Tap>,
}

impl RunResult {
    fn failed(what: &str) -> Self {
        Self {
            tally: Tally::default(),
            transitions: Transitions::default(),
            failure: Some(what.to_owned()),
            trace: String::new(),
            tap: None,
        }
    }
}

/// Runs one seed.
pub fn run_seed(seed: u64, trace: bool) -> RunResult {
    run_tapped(seed, trace, None)
}

/// Runs one seed, and keeps the last `tap_packets` packets of it.
pub(crate) fn run_tapped(seed: u64, trace: bool, tap_packets: Option<usize>) -> RunResult {
    run_plan(scenes::plan(seed), seed, trace, tap_packets)
}

fn run_plan(plan: Plan, seed: u64, trace: bool, tap_packets: Option<usize>) -> RunResult {
    Runner::new().run(Job { plan, seed, trace, tap_packets })
}

/// One run.
struct Job {
    plan: Plan,
    seed: u64,
    trace: bool,
    tap_packets: Option<usize>,
}

/// A thread that runs plans, one after another. A step that does not end is a failure of its run; the
/// thread stays behind then, since nothing can stop it.
struct Runner {
    jobs: Sender<Job>,
    ended: Receiver<RunResult>,
    steps: Arc<AtomicU64>,
}

impl Runner {
    fn new() -> Self {
        let (jobs, taken) = mpsc::channel::<Job>();
        let (sends, ended) = mpsc::channel();
        let steps = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&steps);
        thread::spawn(move || {
            while let Ok(job) = taken.recv()
                && sends.send(run_counted(&job, Arc::clone(&counted))).is_ok()
            {}
        });
        Self { jobs, ended, steps }
    }

    fn run(&mut self, job: Job) -> RunResult {
        self.jobs.send(job).expect("the thread lives as long as its runner");
        let mut steps_before = None;
        loop {
            match self.ended.recv_timeout(STEP_TIME_MAX) {
                Ok(run) => return run,
                Err(RecvTimeoutError::Disconnected) => return self.give_up("the run died"),
                Err(RecvTimeoutError::Timeout) => {
                    // Relaxed: nothing else is read by it.
                    let steps = Some(self.steps.load(Ordering::Relaxed));
                    if steps == steps_before {
                        return self.give_up("a step does not end: a packet costs without bound");
                    }
                    steps_before = steps;
                }
            }
        }
    }

    fn give_up(&mut self, what: &str) -> RunResult {
        *self = Self::new();
        RunResult::failed(what)
    }
}

fn run_counted(job: &Job, steps: Arc<AtomicU64>) -> RunResult {
    let Job { ref plan, seed, trace, tap_packets } = *job;
    let mut world = World::new(plan, seed);
    world.steps = steps;
    world.net.tap = tap_packets.map(|packets_max| Tap::new(packets_max, plan));
    if trace {
        world.net.trace.start();
    }
    // What panics is a failure like another, and what was counted until then counts.
    let outcome = catch_unwind(AssertUnwindSafe(|| world.run()));
    if let Err(panic) = outcome {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default();
        world.checker.fail(format!("panic: {text}"));
    }
    RunResult {
        tally: world.checker.tally,
        failure: world.checker.failure().map(str::to_owned),
        trace: world.net.trace.take(),
        tap: world.net.tap.take(),
        transitions: std::mem::take(&mut world.checker.transitions),
    }
}

/// Runs every seed and writes what failed, with the command that replays it, and a summary.
///
/// # Errors
/// Those of `out`.
pub fn swarm(options: &SwarmOptions, out: &mut (dyn Write + Send)) -> io::Result<SwarmResult> {
    let started = Instant::now();
    let next = AtomicU64::new(options.seeds.start);
    let is_over = AtomicBool::new(false);
    let shared = Mutex::new((SwarmResult::default(), out));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads.max(1))
            .map(|_| scope.spawn(|| work(options, started, &next, &is_over, &shared)))
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("a worker catches panics of runs"))
    })?;
    let (result, out) = shared.into_inner().expect("no worker panics while it holds the lock");
    let (tally, failures) = (&result.tally, result.failures.len());
    let seconds = started.elapsed().as_secs_f64();
    writeln!(
        out,
        "{} runs, {} data packets, {} RDMA writes, {} hostile packets, {} losses, {} openings, {} closings, \
         {} restarts, {} indexes accounted for, {failures} failures, {seconds:.1} s",
        result.runs,
        tally.data_packets,
        tally.writes,
        tally.hostile(),
        tally.losses,
        tally.openings,
        tally.closings,
        tally.restarts,
        tally.indexes_delivered + tally.indexes_in_gaps,
    )?;
    Ok(result)
}

/// The command that runs one seed again, with a line and a pcapng record for every packet.
pub fn replay_command(seed: u64) -> String {
    format!("samplewire sim swarm --seeds {seed}..{} --trace --pcap {seed}.pcapng", seed + 1)
}

type Shared<'a> = Mutex<(SwarmResult, &'a mut (dyn Write + Send))>;

/// Runs seeds until there are none, time is up or failures are enough.
fn work(
    options: &SwarmOptions,
    started: Instant,
    next: &AtomicU64,
    is_over: &AtomicBool,
    shared: &Shared<'_>,
) -> io::Result<()> {
    let mut runner = Runner::new();
    loop {
        // Relaxed: each seed is taken once, and nothing else depends on the order.
        let seed = next.fetch_add(1, Ordering::Relaxed);
        let is_late = options.time.is_some_and(|time| started.elapsed() > time);
        if seed >= options.seeds.end || is_late || is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (trace, tap_packets) = (options.trace, options.tap_packets);
        let run = runner.run(Job { plan: scenes::plan(seed), seed, trace, tap_packets });
        let mut shared = shared.lock().expect("no worker panics while it holds the lock");
        let (result, out) = &mut *shared;
        result.runs += 1;
        result.tally += run.tally;
        result.transitions.add(&run.transitions);
        result.tap = run.tap;
        out.write_all(run.trace.as_bytes())?;
        if let Some(what) = run.failure {
            writeln!(out, "seed {seed}: {what}")?;
            writeln!(out, "  replay: {}", replay_command(seed))?;
            result.failures.push((seed, what));
        }
        let is_enough = options.hostile.is_some_and(|most| result.tally.hostile() >= most);
        if is_enough || result.failures.len() >= FAILURES_MAX {
            is_over.store(true, Ordering::Relaxed);
        }
    }
}

/// A step costs some microseconds, and not this on any machine, however busy.
const STEP_TIME_MAX: Duration = Duration::from_secs(30);

/// After so many failures the rest says nothing more.
const FAILURES_MAX: usize = 20;

#[cfg(test)]
mod tests;

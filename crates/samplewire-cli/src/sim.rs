//! `sim`: the protocol on virtual time.

mod congestion;
mod json;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use samplewire_sim::{
    Figure, FigurePart, RepairOptions, RepairRow, SearchOptions, SoakEnd, SwarmOptions,
    SwarmResult, Tap, figures, repair, search, soak, swarm, write_csv, write_svg,
};
use serde::Serialize;

use crate::arguments::{SimArguments, SimRun};
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::figures::grouped;
use crate::outcome::Outcome;

/// Runs what was requested, and prints progress.
pub(crate) fn run(arguments: &SimArguments) -> Result<Outcome, Failure> {
    match &arguments.run {
        SimRun::Swarm { seeds, threads, trace, pcap, pcap_packets, json } => {
            let options = SwarmOptions {
                seeds: seeds.clone(),
                threads: threads_or_all(*threads)?,
                time: None,
                hostile: None,
                trace: *trace,
                tap_packets: pcap.is_some().then_some(*pcap_packets),
            };
            run_swarm(&options, pcap.as_deref(), *json)
        }
        SimRun::Soak { duration, hostile, first, threads, json } => {
            let (started, threads) = (Instant::now(), threads_or_all(*threads)?);
            let end = hostile.map_or(SoakEnd::Time(*duration), SoakEnd::Hostile);
            let result = soak(*first, end, threads, &mut *words(*json))?;
            let outcome = outcome(&result);
            if *json {
                let elapsed = started.elapsed();
                print(&json::Swarm::new(outcome, *first, elapsed, &result, None))?;
            }
            Ok(outcome)
        }
        SimRun::Repair { csv, svg, json } => {
            run_repair([(csv.as_deref(), write_csv as Writer), (svg.as_deref(), write_svg)], *json)
        }
        SimRun::Congestion(options) => congestion::run_congestion(options),
        SimRun::Explore(arguments) => congestion::run_explore(arguments),
        SimRun::Figures { parts, packets, json } => {
            let parts = if parts.is_empty() { &FigurePart::ALL[..] } else { parts };
            let all = figures(parts, *packets, &mut *words(*json))?;
            let hold = all.iter().all(Figure::holds);
            let outcome = if hold { Outcome::Whole } else { Outcome::Threshold };
            if *json {
                print(&json::Figures::new(outcome, &all))?;
            }
            Ok(outcome)
        }
        SimRun::Search { states, seed, heal_one_in, mutant, json } => {
            let (states, seed, heals_one_in) = (*states, *seed, *heal_one_in);
            let options = SearchOptions { states, seed, heals_one_in, mutant: *mutant };
            let result = search(&options, &mut *words(*json))?;
            let outcome = if result.failure.is_none() { Outcome::Whole } else { Outcome::Missing };
            if *json {
                print(&json::Search::new(outcome, seed, &result))?;
            }
            Ok(outcome)
        }
    }
}

fn run_swarm(
    options: &SwarmOptions,
    pcap: Option<&Path>,
    is_json: bool,
) -> Result<Outcome, Failure> {
    // All files are opened before the work starts.
    let pcap = match pcap {
        Some(path) => {
            check_one_seed(&options.seeds)?;
            Some((path, Failure::create(path)?))
        }
        None => None,
    };
    let started = Instant::now();
    let result = swarm(options, &mut *words(is_json))?;
    let mut written = None;
    if let Some((path, file)) = pcap
        && let Some(tap) = &result.tap
    {
        written = Some(write_pcap(path, file, tap)?);
    }
    let outcome = outcome(&result);
    if is_json {
        let (first, elapsed) = (options.seeds.start, started.elapsed());
        print(&json::Swarm::new(outcome, first, elapsed, &result, written))?;
    }
    Ok(outcome)
}

/// A file has the packets of one world: two worlds would share addresses and times.
fn check_one_seed(seeds: &Range<u64>) -> Result<(), Failure> {
    let Range { start, end } = seeds;
    if end - start == 1 {
        return Ok(());
    }
    Err(Failure::Contradiction(format!(
        "--pcap takes the packets of one seed, and --seeds {start}..{end} are {}: name one, as in \
         --seeds {start}..{}",
        end - start,
        start + 1,
    )))
}

/// Writes the file and summarises it on standard error: the last line of standard output is the
/// result.
fn write_pcap(path: &Path, mut file: BufWriter<File>, tap: &Tap) -> Result<json::Pcap, Failure> {
    tap.write_pcapng(&mut file).map_err(Failure::of_file(path))?;
    let (file, packets) = (path.display().to_string(), tap.packets());
    let left_out = tap.left_out();
    let mut console = Console::new(Lines::Stderr, false);
    console.line(format_args!("{file}: {} departures and arrivals", grouped(packets as u64)));
    if left_out > 0 {
        console.warn(format_args!(
            "the first {} are left out: --pcap-packets {} takes all",
            grouped(left_out),
            packets as u64 + left_out,
        ));
    }
    Ok(json::Pcap { file, packets, left_out })
}

fn run_repair(forms: [(Option<&Path>, Writer); 2], is_json: bool) -> Result<Outcome, Failure> {
    // The files are opened before the work starts, which takes minutes.
    let mut files = vec![];
    for (path, write) in forms {
        if let Some(path) = path {
            files.push((path, Failure::create(path)?, write));
        }
    }
    let rows = repair(&RepairOptions::new(), &mut *words(is_json))?;
    for (path, mut file, write) in files {
        write(&rows, &mut file).and_then(|()| file.flush()).map_err(Failure::of_file(path))?;
    }
    if is_json {
        print(&json::Repair::new(&rows))?;
    }
    Ok(Outcome::Whole)
}

/// Writes a table in one of its forms.
type Writer = fn(&[RepairRow], &mut dyn Write) -> io::Result<()>;

/// Where words go: nowhere if the output is JSON.
fn words(is_json: bool) -> Box<dyn Write + Send> {
    if is_json { Box::new(io::sink()) } else { Box::new(io::stdout()) }
}

fn print(document: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    Console::new(Lines::Stdout, false).line(format_args!("{text}"));
    Ok(())
}

fn threads_or_all(threads: Option<usize>) -> io::Result<usize> {
    threads.map_or_else(|| std::thread::available_parallelism().map(usize::from), Ok)
}

fn outcome(result: &SwarmResult) -> Outcome {
    if result.failures.is_empty() { Outcome::Whole } else { Outcome::Missing }
}

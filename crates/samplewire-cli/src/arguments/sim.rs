//! Options of `sim`.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use samplewire_sim::{FigurePart, Mutant};

use super::congestion::{CONGESTION_EXAMPLES, CongestionOptions, ExploreArguments};
use super::values;

/// Runs the simulator.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SimArguments {
    #[command(subcommand)]
    pub(crate) run: SimRun,
}

/// What to simulate.
#[derive(Debug, Subcommand)]
pub(crate) enum SimRun {
    /// Run simulated worlds, one for each seed; a failure prints the command that replays it
    #[command(after_help = "Example:\n  samplewire sim swarm --seeds 7..8 --pcap 7.pcapng")]
    Swarm {
        /// The seeds, without the last
        #[arg(long, value_name = "A..B", default_value = "0..1000", value_parser = seeds)]
        seeds: Range<u64>,

        /// Number of threads [default: all processors]
        #[arg(long, value_name = "N", value_parser = values::threads())]
        threads: Option<usize>,

        /// Print every packet and fault
        #[arg(long, conflicts_with = "json")]
        trace: bool,

        /// Write the packets of one seed to a pcapng file, in virtual time
        #[arg(long, value_name = "FILE.pcapng")]
        pcap: Option<PathBuf>,

        /// Maximum number of departures and arrivals in the file: the last ones
        #[arg(long, value_name = "N", default_value_t = 1_000_000, requires = "pcap")]
        pcap_packets: usize,

        /// Print one JSON object instead of words
        #[arg(long)]
        json: bool,
    },
    /// Run seeds for a time, then count packets, faults and each transition of the state tables
    #[command(after_help = "Example:\n  samplewire sim soak --duration 10min")]
    Soak {
        /// How long to run
        #[arg(long, visible_alias = "seconds", value_name = "TIME", default_value = "10min",
              value_parser = values::time)]
        duration: Duration,

        /// Run until so many hostile packets have come instead, such as 100M
        #[arg(long, value_name = "COUNT", value_parser = values::count,
              conflicts_with = "duration")]
        hostile: Option<u64>,

        /// The first seed
        #[arg(long, value_name = "SEED", default_value_t = 0)]
        first: u64,

        /// Number of threads [default: all processors]
        #[arg(long, value_name = "N", value_parser = values::threads())]
        threads: Option<usize>,

        /// Print one JSON object instead of words
        #[arg(long)]
        json: bool,
    },
    /// Repair latency and goodput over loss, round trip and window
    #[command(after_help = "Example:\n  samplewire sim repair --svg repair.svg")]
    Repair {
        /// Also write the table as CSV
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,

        /// Also draw it as SVG
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,

        /// Print one JSON object instead of words
        #[arg(long)]
        json: bool,
    },
    /// How senders share links of switches that mark: utilisation, fairness, queue, losses
    #[command(after_help = CONGESTION_EXAMPLES)]
    Congestion(CongestionOptions),
    /// Sweep the parameters of congestion control; a sweep that was stopped goes on
    #[command(
        after_help = "Example:\n  samplewire sim explore sweep.csv --points 1000 --svg sweep.svg"
    )]
    Explore(ExploreArguments),
    /// Measure the figures that must hold, each against its bound
    #[command(after_help = "Example:\n  samplewire sim figures --parts latency,rings")]
    Figures {
        /// What to measure: latency, bursts, goodput (minutes), duplicates, rings [default: all]
        #[arg(long, value_name = "PART,..", value_delimiter = ',', value_parser = part)]
        parts: Vec<FigurePart>,

        /// Packets of each figure; more packets take longer and scatter less
        #[arg(long, value_name = "N", default_value_t = 10_100_000)]
        packets: u64,

        /// Print one JSON object instead of words
        #[arg(long)]
        json: bool,
    },
    /// Search every order of events of a small network; a failure prints the events that lead to it
    #[command(after_help = "Example:\n  samplewire sim search --states 4100000 --heal-one-in 8")]
    Search {
        /// Maximum number of states, over all scenarios
        #[arg(long, value_name = "N", default_value_t = 6_000_000)]
        states: u64,

        /// The order in which events are tried; each seed visits other states
        #[arg(long, value_name = "SEED", default_value_t = 0)]
        seed: u64,

        /// In one of how many states, 1 or more, the network heals and everything must end
        #[arg(long, value_name = "N", default_value = "1",
              value_parser = values::between::<u64>(1, u64::MAX))]
        heal_one_in: u64,

        /// Break a rule on purpose, to check that the search finds it
        #[arg(long, value_name = "NAME", value_parser = mutant)]
        mutant: Option<Mutant>,

        /// Print one JSON object instead of words
        #[arg(long)]
        json: bool,
    },
}

/// Reads the name of a broken rule.
fn mutant(text: &str) -> Result<Mutant, String> {
    let found = Mutant::ALL.into_iter().find(|mutant| mutant.name() == text);
    found.ok_or_else(|| format!("`{text}` is none of {}", Mutant::ALL.map(Mutant::name).join(", ")))
}

/// Reads the name of a part of the figures.
fn part(text: &str) -> Result<FigurePart, String> {
    let found = FigurePart::ALL.into_iter().find(|part| part.name() == text);
    let names = FigurePart::ALL.map(FigurePart::name).join(", ");
    found.ok_or_else(|| format!("`{text}` is none of {names}"))
}

/// Reads `A..B`.
fn seeds(text: &str) -> Result<Range<u64>, String> {
    let range = text.split_once("..").and_then(|(first, end)| {
        let range: Range<u64> = first.parse().ok()?..end.parse().ok()?;
        (!range.is_empty()).then_some(range)
    });
    range.ok_or_else(|| format!("`{text}` is not A..B with A below B"))
}

const AFTER_HELP: &str = "\
The shipped protocol code runs on virtual time, under faults drawn from a seed. A checker accounts \
for every sample index. docs/testing.md lists the checks.

Exit status: 0 everything holds, 1 usage, 3 an index is unaccounted for or a property of the \
search is broken, 4 a figure misses its bound.";

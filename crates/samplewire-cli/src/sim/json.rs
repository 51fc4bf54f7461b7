//! The objects of `sim --json`.

use std::collections::BTreeMap;
use std::time::Duration;

use samplewire_sim::{
    Bound, CongestionRow, ExplorePoint, Figure, RepairRow, SearchResult, SwarmResult,
    replay_command,
};
use serde::Serialize;

use crate::outcome::Outcome;

/// The object of `sim swarm` and `sim soak`.
#[derive(Debug, Serialize)]
pub(super) struct Swarm<'a> {
    result: &'static str,
    exit_status: u8,
    first_seed: u64,
    runs: u64,
    elapsed_s: f64,
    counts: BTreeMap<String, u64>,
    transitions: Vec<Transition>,
    failures: Vec<SwarmFailure<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pcap: Option<Pcap>,
}

/// A transition of the protocol's state tables, and how often it was taken.
#[derive(Debug, Serialize)]
struct Transition {
    machine: String,
    from: &'static str,
    event: &'static str,
    to: &'static str,
    count: u64,
}

/// A seed with a violated property.
#[derive(Debug, Serialize)]
struct SwarmFailure<'a> {
    seed: u64,
    what: &'a str,
    replay: String,
}

/// The contents of the pcapng file.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Pcap {
    pub(super) file: String,
    pub(super) packets: usize,
    pub(super) left_out: u64,
}

/// The object of `sim repair`: a row for each cell of the table.
#[derive(Debug, Serialize)]
pub(super) struct Repair {
    rows: Vec<RepairCell>,
}

/// One cell; latencies in round trips, losses and shares as fractions.
#[derive(Debug, Serialize)]
struct RepairCell {
    rtt_us: u64,
    window_percent: u64,
    loss: f64,
    repairs: u64,
    p50_rtt: f64,
    p98_rtt: f64,
    p999_rtt: f64,
    max_rtt: f64,
    goodput: f64,
    unneeded: f64,
    go_back_n: f64,
}

/// The object of `sim congestion`: a row for each case.
#[derive(Debug, Serialize)]
pub(super) struct Congestion {
    rows: Vec<CongestionLine>,
}

/// One row: the worst of its seeds. Shares are fractions.
#[derive(Debug, Serialize)]
struct CongestionLine {
    case: String,
    utilisation: f64,
    jain: f64,
    queue_mean_bytes: f64,
    queue_p99_bytes: u64,
    queue_max_bytes: u64,
    dropped: u64,
    marked: f64,
    pauses: u64,
    departures: u64,
    repeats: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    victim_bps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    join_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leave_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    done_ms: Option<f64>,
}

/// The object of `sim explore`: the points that no other point beats.
#[derive(Debug, Serialize)]
pub(super) struct Explore {
    points: usize,
    front: Vec<ExploreLine>,
}

#[derive(Debug, Serialize)]
struct ExploreLine {
    number: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<&'static str>,
    utilisation: f64,
    jain: f64,
    queue_p99_kb: f64,
    join_ms: f64,
    leave_ms: f64,
}

/// The object of `sim figures`.
#[derive(Debug, Serialize)]
pub(super) struct Figures<'a> {
    result: &'static str,
    exit_status: u8,
    figures: Vec<FigureLine<'a>>,
}

/// One figure and its bound, one of the two.
#[derive(Debug, Serialize)]
struct FigureLine<'a> {
    name: &'a str,
    value: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<u64>,
    holds: bool,
}

/// The object of `sim search`.
#[derive(Debug, Serialize)]
pub(super) struct Search<'a> {
    result: &'static str,
    exit_status: u8,
    seed: u64,
    states: u64,
    scenarios: Vec<Scenario>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<SearchFailure<'a>>,
}

/// The results of one scenario.
#[derive(Debug, Serialize)]
struct Scenario {
    scenario: &'static str,
    states: u64,
    expanded: u64,
    events: u64,
    healed: u64,
    depth: u32,
    depth_whole: u32,
    exhausted: bool,
    elapsed_s: f64,
    memory_bytes: u64,
}

/// A violated property, and the events that lead to it.
#[derive(Debug, Serialize)]
struct SearchFailure<'a> {
    scenario: &'static str,
    property: String,
    what: &'a str,
    path: &'a [String],
}

impl<'a> Search<'a> {
    pub(super) fn new(outcome: Outcome, seed: u64, result: &'a SearchResult) -> Self {
        let scenarios = result.scenarios.iter().map(|explored| Scenario {
            scenario: explored.scenario,
            states: explored.states,
            expanded: explored.expanded,
            events: explored.events,
            healed: explored.healed,
            depth: explored.depth,
            depth_whole: explored.depth_whole,
            exhausted: explored.is_exhausted,
            elapsed_s: explored.elapsed.as_secs_f64(),
            memory_bytes: explored.memory_bytes,
        });
        let failure = result.failure.as_ref().map(|failure| SearchFailure {
            scenario: failure.scenario,
            property: format!("{:?}", failure.broken.property),
            what: &failure.broken.what,
            path: &failure.path,
        });
        Self {
            result: outcome.as_str(),
            exit_status: outcome.code(),
            seed,
            states: result.states(),
            scenarios: scenarios.collect(),
            failure,
        }
    }
}

impl<'a> Swarm<'a> {
    pub(super) fn new(
        outcome: Outcome,
        first_seed: u64,
        elapsed: Duration,
        result: &'a SwarmResult,
        pcap: Option<Pcap>,
    ) -> Self {
        let counts = result.tally.named();
        let transitions = result.transitions.iter().map(|(row, count)| Transition {
            machine: format!("{:?}", row.machine).to_lowercase(),
            from: row.from,
            event: row.event,
            to: row.to,
            count,
        });
        let failures = result.failures.iter().map(|(seed, what)| SwarmFailure {
            seed: *seed,
            what,
            replay: replay_command(*seed),
        });
        Self {
            result: outcome.as_str(),
            exit_status: outcome.code(),
            first_seed,
            runs: result.runs,
            elapsed_s: elapsed.as_secs_f64(),
            counts: counts.map(|(name, count)| (name.replace(' ', "_"), count)).into(),
            transitions: transitions.collect(),
            failures: failures.collect(),
            pcap,
        }
    }
}

impl Repair {
    pub(super) fn new(rows: &[RepairRow]) -> Self {
        Self { rows: rows.iter().map(RepairCell::new).collect() }
    }
}

impl Congestion {
    pub(super) fn new(rows: &[CongestionRow]) -> Self {
        let line = |row: &CongestionRow| CongestionLine {
            case: row.name.clone(),
            utilisation: row.utilisation,
            jain: row.jain,
            queue_mean_bytes: row.queue_mean_bytes,
            queue_p99_bytes: row.queue_p99_bytes,
            queue_max_bytes: row.queue_max_bytes,
            dropped: row.dropped,
            marked: row.marked,
            pauses: row.pauses,
            departures: row.departures,
            repeats: row.repeats,
            victim_bps: row.victim_bps,
            join_ms: row.join_ms,
            leave_ms: row.leave_ms,
            done_ms: row.done_ms,
        };
        Self { rows: rows.iter().map(line).collect() }
    }
}

impl Explore {
    pub(super) fn new(front: &[&ExplorePoint], points: usize) -> Self {
        let line = |point: &&ExplorePoint| ExploreLine {
            number: point.number,
            preset: point.preset().map(|preset| preset.name()),
            utilisation: point.utilisation,
            jain: point.jain,
            queue_p99_kb: point.queue_kb,
            join_ms: point.join_ms,
            leave_ms: point.leave_ms,
        };
        Self { points, front: front.iter().map(line).collect() }
    }
}

impl RepairCell {
    fn new(row: &RepairRow) -> Self {
        let [p50_rtt, p98_rtt, p999_rtt, max_rtt] =
            row.latency_permille.map(|permille| permille as f64 / 1e3);
        Self {
            rtt_us: row.rtt.0 / 1_000,
            window_percent: row.window_percent,
            loss: row.loss_ppm as f64 / 1e6,
            repairs: row.repairs,
            p50_rtt,
            p98_rtt,
            p999_rtt,
            max_rtt,
            goodput: row.goodput_permille as f64 / 1e3,
            unneeded: row.unneeded_ppm as f64 / 1e6,
            go_back_n: row.go_back_n_permille as f64 / 1e3,
        }
    }
}

impl<'a> Figures<'a> {
    pub(super) fn new(outcome: Outcome, figures: &'a [Figure]) -> Self {
        let (result, exit_status) = (outcome.as_str(), outcome.code());
        Self { result, exit_status, figures: figures.iter().map(FigureLine::new).collect() }
    }
}

impl<'a> FigureLine<'a> {
    fn new(figure: &'a Figure) -> Self {
        let (at_most, at_least) = match figure.bound {
            Bound::AtMost(bound) => (Some(bound), None),
            Bound::AtLeast(bound) => (None, Some(bound)),
        };
        let holds = figure.holds();
        Self { name: &figure.name, value: figure.value, at_most, at_least, holds }
    }
}

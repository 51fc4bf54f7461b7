//! `sim congestion` and `sim explore`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use samplewire_proto::Nanos;
use samplewire_proto::rate::WireRate;
use samplewire_sim::{
    CongestionResult, CongestionRow, Control, ETHERNET_BYTES, ExploreOptions, ExplorePoint, Preset,
    Scenario, Traffic, congestion_row, explore, open_points, pareto_front, write_congestion_csv,
    write_congestion_svg, write_congestion_table, write_explore_svg,
};

use super::json;
use crate::arguments::{
    CongestionOptions, ExploreArguments, ScenarioKind, SimControl, TrafficKind,
};
use crate::failure::Failure;
use crate::outcome::Outcome;

/// Runs the scenarios, and writes what was requested of them.
pub(super) fn run_congestion(options: &CongestionOptions) -> Result<Outcome, Failure> {
    let scenarios = scenarios(options)?;
    // The files are opened before the work starts.
    let (csv, svg) = (opened(options.csv.as_deref())?, opened(options.svg.as_deref())?);
    let mut rows: Vec<CongestionRow> = vec![];
    let mut last: Option<CongestionResult> = None;
    for (name, mut scenario) in scenarios {
        let (row, run) = congestion_row(name, &mut scenario, options.seeds)?;
        rows.push(row);
        last = Some(run);
    }
    if let Some((path, mut file)) = csv {
        let written = write_congestion_csv(&rows, &mut file).and_then(|()| file.flush());
        written.map_err(Failure::of_file(path))?;
    }
    if let (Some((path, mut file)), Some(run), Some(row)) = (svg, &last, rows.last()) {
        let title = format!("{}, {}", row.name, control_name(options.control));
        let written = write_congestion_svg(&run.timeline, &title, &mut file);
        written.and_then(|()| file.flush()).map_err(Failure::of_file(path))?;
    }
    if options.json {
        super::print(&json::Congestion::new(&rows))?;
    } else {
        write_congestion_table(&rows, &mut io::stdout())?;
    }
    Ok(Outcome::Whole)
}

/// Refuses options that only others give a meaning.
fn check(options: &CongestionOptions) -> Result<(), Failure> {
    let CongestionOptions { scenario, senders, shared, .. } = options;
    let is_star = *scenario == ScenarioKind::Star;
    let refused = [
        (
            options.burst.is_some() && options.traffic != TrafficKind::Steady,
            "--burst is for --traffic steady: set that, or leave --burst out",
        ),
        (
            options.window.is_some() && options.traffic == TrafficKind::Steady,
            "--window is for --traffic roce, stream or both: steady senders have none",
        ),
        (
            options.congested_acks_cut
                && !matches!(options.traffic, TrafficKind::Roce | TrafficKind::Both),
            "--congested-acks-cut is for --traffic roce or both: others have no acknowledgements",
        ),
        (
            options.control == SimControl::Reference && options.traffic != TrafficKind::Steady,
            "--control reference is for --traffic steady: choose --control dcqcn",
        ),
        (
            senders.is_some() && !is_star,
            "--senders is for --scenario star: the other scenarios have their own number",
        ),
        (
            shared.is_some() && !is_star,
            "--shared is for --scenario star: the other scenarios have their own links",
        ),
        (
            options.control == SimControl::Reference && options.preset == Preset::Hpcc,
            "--control reference has no rules for --preset hpcc: choose --control dcqcn or another \
             preset",
        ),
    ];
    let found = refused.into_iter().find(|it| it.0);
    found.map_or(Ok(()), |(_, words)| Err(contradiction(words)))
}

/// What to run, with a name each.
fn scenarios(options: &CongestionOptions) -> Result<Vec<(String, Scenario)>, Failure> {
    check(options)?;
    let line_bps = options.line as u64;
    let wire_bytes = options.mtu + ETHERNET_BYTES;
    let preset = options.preset;
    let star = |&senders: &u16| {
        let shared_bps = options.shared.unwrap_or(options.line) as u64;
        let scenario = Scenario::star(preset, senders.into(), line_bps, shared_bps, wire_bytes);
        (format!("{senders} senders"), scenario)
    };
    let mut scenarios = match options.scenario {
        ScenarioKind::Star => {
            let senders = options.senders.as_deref();
            senders.unwrap_or(&CongestionOptions::SENDERS).iter().map(star).collect()
        }
        ScenarioKind::Turns => {
            vec![("2 to 3 to 1 senders".into(), Scenario::turns(preset, line_bps, wire_bytes))]
        }
        ScenarioKind::TwoSwitches => {
            vec![("two switches".into(), Scenario::two_switches(preset, line_bps, wire_bytes))]
        }
        ScenarioKind::ReturnPath => {
            vec![("way back".into(), Scenario::return_path(preset, line_bps, wire_bytes))]
        }
        ScenarioKind::Camera => {
            vec![("camera".into(), Scenario::camera(preset, line_bps, wire_bytes))]
        }
    };
    let params = preset.params(line_bps);
    let control = match (options.control, options.control_rate) {
        (SimControl::Fixed, None) => {
            return Err(contradiction(
                "--control fixed needs the rate to keep to: add --control-rate",
            ));
        }
        (SimControl::Fixed, Some(bps)) => Control::Fixed(WireRate::from_bps(bps as u64)),
        (_, Some(_)) => {
            return Err(contradiction(
                "--control-rate is the rate of --control fixed: set that, too",
            ));
        }
        (SimControl::None, None) => Control::None,
        (SimControl::Dcqcn, None) => Control::Dcqcn(params),
        (SimControl::Reference, None) => Control::Reference(params),
    };
    let window = options.window.unwrap_or(WINDOW);
    let traffic = match options.traffic {
        TrafficKind::Steady => Traffic::Steady,
        TrafficKind::Roce => Traffic::Roce { window },
        TrafficKind::Stream => Traffic::Stream { window },
        TrafficKind::Both => Traffic::Both { window },
    };
    for (_, scenario) in &mut scenarios {
        scenario.set_control(control);
        scenario.traffic = traffic;
        scenario.congested_acks_cut = options.congested_acks_cut;
        scenario.report_loss_ppm = (options.report_loss * 1e6) as u64;
        scenario.switch.buffer_bytes = options.buffer;
        if let (Some(marking), Some(at)) = (&mut scenario.switch.marking, options.mark) {
            marking.at = at;
        }
        scenario.spread = Nanos(options.spread.as_nanos() as u64);
        if let Some(frames) = options.burst {
            scenario.set_burst(frames);
        }
        if options.pfc {
            scenario.set_pfc();
        }
    }
    Ok(scenarios)
}

/// Runs a sweep or what is left of it.
pub(super) fn run_explore(arguments: &ExploreArguments) -> Result<Outcome, Failure> {
    let options = ExploreOptions {
        points: arguments.points as usize,
        seed: arguments.seed,
        line_bps: arguments.line as u64,
        wire_bytes: arguments.mtu + ETHERNET_BYTES,
        threads: super::threads_or_all(arguments.threads)?,
    };
    let path: &Path = &arguments.file;
    let (mut file, done) = open_points(path, &options)
        .map_err(|source| Failure::Explore { path: path.display().to_string(), source })?;
    let svg = opened(arguments.svg.as_deref())?;
    let points = explore(&options, done, &mut file, &mut *super::words(arguments.json))
        .map_err(Failure::of_file(path))?;
    if let Some((path, mut file)) = svg {
        let written = write_explore_svg(&points, &mut file).and_then(|()| file.flush());
        written.map_err(Failure::of_file(path))?;
    }
    let front = pareto_front(&points);
    let shown = |point: &&ExplorePoint| {
        front.binary_search(&point.number).is_ok() || (point.preset().is_some() && !arguments.json)
    };
    let shown: Vec<&ExplorePoint> = points.iter().filter(shown).collect();
    if arguments.json {
        super::print(&json::Explore::new(&shown, points.len()))?;
    } else {
        write_front(&shown, &front, &mut io::stdout())?;
    }
    Ok(Outcome::Whole)
}

/// The presets and the front, a line each.
fn write_front(shown: &[&ExplorePoint], front: &[usize], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>6} {:>11} {:>6} {:>11} {:>7} {:>9} {:>8} {:>8} {:>8}",
        "point",
        "preset",
        "front",
        "utilisation",
        "Jain",
        "queue KB",
        "join ms",
        "leave ms",
        "dropped"
    )?;
    for point in shown {
        writeln!(
            out,
            "{:>6} {:>11} {:>6} {:>11.4} {:>7.4} {:>9.1} {:>8.1} {:>8.1} {:>8}",
            point.number,
            point.preset().map_or("", |preset| preset.name()),
            if front.binary_search(&point.number).is_ok() { "yes" } else { "" },
            point.utilisation,
            point.jain,
            point.queue_kb,
            point.join_ms,
            point.leave_ms,
            point.dropped
        )?;
    }
    Ok(())
}

/// A file that was requested, with its path.
fn opened(path: Option<&Path>) -> Result<Option<(&Path, BufWriter<File>)>, Failure> {
    path.map(|path| Ok((path, Failure::create(path)?))).transpose()
}

fn contradiction(words: &str) -> Failure {
    Failure::Contradiction(words.into())
}

/// Packets of a stream or a go-back-N sender on their way at most.
const WINDOW: u32 = 256;

const fn control_name(control: SimControl) -> &'static str {
    match control {
        SimControl::None => "no control",
        SimControl::Fixed => "fixed rates",
        SimControl::Dcqcn => "DCQCN",
        SimControl::Reference => "DCQCN in floating point",
    }
}

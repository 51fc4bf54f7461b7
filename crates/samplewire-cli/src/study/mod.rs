//! `study`: measurements over a range of settings, as tables and plots.

mod iperf3;
mod measure;
mod pacing;
mod plot;
mod results;

use std::io::Write;
use std::path::Path;

use crate::arguments::{Study, StudyArguments, WindowArguments};
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::figures::measured;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use iperf3::Transport;
use results::{Peer, Point, Results};

/// Runs the requested study.
pub(crate) fn run(arguments: &StudyArguments) -> Result<Outcome, Failure> {
    match &arguments.study {
        Study::Window(arguments) => run_window(arguments),
        Study::Pacing(arguments) => pacing::run(arguments),
    }
}

fn run_window(arguments: &WindowArguments) -> Result<Outcome, Failure> {
    // Opened before the work starts, so that a wrong path does not cost minutes.
    let csv = arguments.csv.as_deref().map(Failure::create).transpose()?;
    let svg =
        arguments.svg.as_deref().map(|path| Failure::create(path).map(|_| path)).transpose()?;
    let interrupt = Interrupt::install()?;
    let mut console = Console::new(Lines::Stdout, false);
    let mut results = Results::new(arguments);
    let peers = if arguments.no_iperf3 { Vec::new() } else { installed_peers(&mut console) };
    let steps = usize::from(arguments.rounds)
        * arguments.mtu.len()
        * (arguments.windows.len() * arguments.damage.len() + peers.len());
    let mut done = 0;
    for round in 0..arguments.rounds {
        for &mtu in &arguments.mtu {
            let mut step = |words: String| {
                done += 1;
                console.status(&format!("{done} of {steps}: MTU {mtu}, {words}"));
            };
            for &window in &arguments.windows {
                for &damage in &arguments.damage {
                    if let Some(signal) = interrupt.signal() {
                        return Ok(Outcome::Interrupted { signal });
                    }
                    step(format!("window {window}, damage {damage}"));
                    let point = Point { mtu, window, damage };
                    let seed = arguments.seed.wrapping_add(u64::from(round));
                    results.take(point, measure::goodput_bps(&point, arguments.duration, seed)?);
                }
            }
            for &transport in &peers {
                if let Some(signal) = interrupt.signal() {
                    return Ok(Outcome::Interrupted { signal });
                }
                step(format!("iperf3 {}", transport.name()));
                let goodput_bps = iperf3::goodput_bps(transport, mtu, arguments.duration)?;
                results.take_peer(Peer { mtu, transport }, goodput_bps);
            }
        }
    }
    if let Some(mut file) = csv {
        let path = arguments.csv.as_deref().unwrap_or(Path::new(""));
        let written = results.write_csv(&mut file).and_then(|()| file.flush());
        written.map_err(Failure::of_file(path))?;
    }
    if let Some(path) = svg {
        plot::draw(&results, path)?;
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&results.json()).map_err(std::io::Error::from)?;
        console.line(format_args!("{text}"));
    } else {
        print(&mut console, &results);
    }
    Ok(Outcome::Whole)
}

fn installed_peers(console: &mut Console) -> Vec<Transport> {
    if iperf3::is_installed() {
        return vec![Transport::Tcp, Transport::Udp];
    }
    console.warn(format_args!("iperf3 is not installed and is left out: apt install iperf3"));
    Vec::new()
}

fn print(console: &mut Console, results: &Results) {
    for &mtu in &results.mtus {
        console.line(format_args!("MTU {mtu}: median goodput of {} rounds", results.rounds));
        let heads: String =
            results.damages.iter().map(|damage| format!("{:>12}", damage_words(*damage))).collect();
        console.line(format_args!("{:>8}{heads}", "window"));
        for &window in &results.windows {
            let cells = results.damages.iter().map(|&damage| {
                let median = results.median_bps(&Point { mtu, window, damage });
                format!("{:>12}", median.map_or("-".to_owned(), |bps| measured(bps, "b/s")))
            });
            console.line(format_args!("{window:>8}{}", cells.collect::<String>()));
        }
        for (peer, median) in results.peers_of(mtu) {
            let words = format!("iperf3 {}", peer.transport.name());
            console.line(format_args!("{words:>12}{:>16}", measured(median, "b/s")));
        }
    }
}

fn damage_words(damage: f64) -> String {
    if damage == 0.0 { "no damage".to_owned() } else { format!("{damage:e}") }
}

//! `study pacing`: how exactly a thread waits.

use std::time::{Duration, Instant};

use samplewire_io::thread;
use serde::Serialize;

use crate::arguments::PacingArguments;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::figures::span;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

/// The JSON of the study. Fields are added in later versions, never changed.
#[derive(Debug, Serialize)]
struct Pacing {
    timer_slack_ns: u64,
    rows: Vec<Row>,
}

/// One requested wait.
#[derive(Debug, Serialize)]
struct Row {
    requested_seconds: f64,
    rounds: u32,
    sleep: Actual,
    spin: Actual,
}

/// How long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Actual {
    median_ns: u64,
    p99_ns: u64,
}

pub(super) fn run(arguments: &PacingArguments) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::install()?;
    let mut console = Console::new(Lines::Stdout, false);
    let timer_slack_ns = thread::timer_slack()?.as_nanos() as u64;
    let mut pacing = Pacing { timer_slack_ns, rows: Vec::new() };
    for &seconds in &arguments.requests {
        console.status(&format!("{seconds:e} s"));
        let request = request(seconds);
        let rounds = rounds(request, arguments.rounds);
        let (mut sleeps, mut spins) = (Vec::new(), Vec::new());
        // By turns: what else the host does concerns both.
        for _ in 0..rounds {
            sleeps.push(time(|_| std::thread::sleep(request)));
            spins.push(time(|began| thread::wait_until(began + request)));
            if let Some(signal) = interrupt.signal() {
                return Ok(Outcome::Interrupted { signal });
            }
        }
        let (sleep, spin) = (Actual::of(sleeps), Actual::of(spins));
        pacing.rows.push(Row { requested_seconds: seconds, rounds, sleep, spin });
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&pacing).map_err(std::io::Error::from)?;
        console.line(format_args!("{text}"));
    } else {
        print(&mut console, &pacing);
    }
    Ok(Outcome::Whole)
}

/// A wait in whole nanoseconds, rounded up as other languages do.
fn request(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9).ceil() as u64)
}

/// How often a wait is measured.
fn rounds(request: Duration, most: u32) -> u32 {
    let in_time = TIME_MAX.as_nanos() / request.as_nanos().max(1);
    most.min(u32::try_from(in_time).unwrap_or(u32::MAX).max(ROUNDS_MIN))
}

fn time(wait: impl FnOnce(Instant)) -> u64 {
    let began = Instant::now();
    wait(began);
    began.elapsed().as_nanos() as u64
}

impl Actual {
    /// Of one time at least.
    fn of(mut times_ns: Vec<u64>) -> Self {
        times_ns.sort_unstable();
        let at =
            |share: f64| times_ns[((share * times_ns.len() as f64).ceil() as usize).max(1) - 1];
        Self { median_ns: at(0.5), p99_ns: at(0.99) }
    }
}

fn print(console: &mut Console, pacing: &Pacing) {
    let slack = span(pacing.timer_slack_ns as f64 / 1e9);
    console.line(format_args!("actual waits; timer slack {slack}"));
    console.line(format_args!(
        "{:>12} {:>7} {:>12} {:>12} {:>12} {:>12}",
        "requested, s", "rounds", "sleep", "p99", "spin", "p99"
    ));
    for Row { requested_seconds, rounds, sleep, spin } in &pacing.rows {
        let [sleep, spin] = [sleep, spin]
            .map(|it| [it.median_ns, it.p99_ns].map(|ns| format!("{:.2} us", ns as f64 / 1e3)));
        console.line(format_args!(
            "{requested_seconds:>12e} {rounds:>7} {:>12} {:>12} {:>12} {:>12}",
            sleep[0], sleep[1], spin[0], spin[1]
        ));
    }
}

/// How long the waits of one request take at most, unless there are fewer than [`ROUNDS_MIN`].
const TIME_MAX: Duration = Duration::from_secs(1);

const ROUNDS_MIN: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_rounded_up_and_long_ones_are_few() {
        let ns = |seconds| request(seconds).as_nanos();
        assert_eq!([ns(0.0), ns(1e-323), ns(1e-9), ns(1.5e-9), ns(0.1)], [0, 1, 1, 2, 100_000_000]);
        let of = |seconds| rounds(request(seconds), 1_000);
        assert_eq!([of(0.0), of(1e-6), of(1e-2), of(0.1), of(1.0)], [1_000, 1_000, 100, 10, 5]);
        assert_eq!(rounds(request(1.0), 2), 2);
        let actual = Actual::of((1..=200).collect());
        assert_eq!(actual, Actual { median_ns: 100, p99_ns: 198 });
        assert_eq!(Actual::of(vec![7]), Actual { median_ns: 7, p99_ns: 7 });
    }
}

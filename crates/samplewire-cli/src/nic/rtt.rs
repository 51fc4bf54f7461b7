//! `nic rtt`: the round trip of frames.

use samplewire_io::ether::FrameReceive;
use serde::Serialize;

use super::counts::judge;
use super::link::{Link, Role};
use super::trips::{Clockwork, Trips};
use super::{NicError, check_sizes, mac_words, print_link};
use crate::arguments::{NicCount, RttArguments};
use crate::console::Console;
use crate::document::{self, Report};
use crate::failure::Failure;
use crate::figures::{grouped, span};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

/// The JSON of a measurement. Fields are added in later versions, never changed.
#[derive(Debug, Default, Serialize)]
struct Rtt {
    link: String,
    peer: String,
    memory_bytes: usize,
    points: Vec<Trips>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Report for Rtt {
    fn fail(&mut self, words: String) {
        self.error = Some(words);
    }
}

pub(super) fn run(arguments: &RttArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, false, |console, report: &mut Rtt| {
        let interrupt = Interrupt::install()?;
        let mut link = Link::open(&arguments.link, Role::Sender, FrameReceive::Calls)?;
        check_sizes(&link, &arguments.trips.sizes)?;
        let mut clockwork = Clockwork::new(arguments.trips.count);
        report.link = arguments.link.link.to_string();
        (report.peer, report.memory_bytes) = (mac_words(arguments.peer), link.memory_bytes());
        print_link(console, &report.link, &link, arguments.peer);
        console.line(format_args!(
            "{:>6} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>6} {:>6} {:>6}",
            "bytes", "min", "median", "p99", "max", "sent", "returned", "lost", "wrong", "late"
        ));
        for &size in &arguments.trips.sizes {
            let (peer, options) = (arguments.peer, &arguments.trips);
            let trips = clockwork.measure(&mut link, peer, size, options, &interrupt)?;
            if let Some(signal) = interrupt.stop_signal(console) {
                return Ok(Outcome::Interrupted { signal });
            }
            print(&trips, console);
            report.points.push(trips);
        }
        link.print_faults(console);
        if report.points.iter().all(|trips| trips.returned + trips.wrong == 0) {
            return Err(NicError::NothingBack(arguments.peer).into());
        }
        Ok(judge(console, &arguments.fail_on, &counts(&report.points)))
    })
}

/// The counts of all sizes.
pub(super) fn counts<'a>(points: impl IntoIterator<Item = &'a Trips>) -> [(NicCount, u64); 3] {
    let mut counts = [(NicCount::Lost, 0), (NicCount::Wrong, 0), (NicCount::Late, 0)];
    for trips in points {
        counts[0].1 += trips.lost;
        counts[1].1 += trips.wrong;
        counts[2].1 += trips.late;
    }
    counts
}

fn print(trips: &Trips, console: &mut Console) {
    let seconds = |ns: u64| span(ns as f64 / 1e9);
    console.line(format_args!(
        "{:>6} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>6} {:>6} {:>6}",
        trips.bytes,
        seconds(trips.min_ns),
        seconds(trips.median_ns),
        seconds(trips.p99_ns),
        seconds(trips.max_ns),
        grouped(trips.sent),
        grouped(trips.returned),
        grouped(trips.lost),
        grouped(trips.wrong),
        grouped(trips.late),
    ));
}

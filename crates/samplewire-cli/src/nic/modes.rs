//! `nic modes`: processor, NIC and MAC of a board apart, by subtraction.

use samplewire_io::ether::FrameReceive;
use serde::Serialize;

use super::counts::judge;
use super::link::{Link, Role};
use super::registers::Registers;
use super::rtt::counts;
use super::trips::{Clockwork, Trips};
use super::{NicError, check_sizes, mac_words};
use crate::arguments::{ConsoleAddress, LinkName, LinkOptions, ModesArguments};
use crate::console::Console;
use crate::document::{self, Report};
use crate::failure::Failure;
use crate::figures::span;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

/// The JSON of a measurement. Fields are added in later versions, never changed.
#[derive(Debug, Default, Serialize)]
struct Modes {
    peer: String,
    points: Vec<Parts>,
    /// Every measurement, in order.
    trips: Vec<Measured>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// One measurement of one mode and size.
#[derive(Debug, Serialize)]
struct Measured {
    round: u16,
    mode: Mode,
    #[serde(flatten)]
    trips: Trips,
}

/// Whose loop sends frames back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Normal,
    Nic,
    Mac,
}

/// The parts of one size: medians over the rounds, and their spread.
#[derive(Debug, Serialize)]
struct Parts {
    bytes: u16,
    processor: Part,
    nic: Part,
    mac: Part,
}

/// A difference of two medians, of each round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Part {
    median_ns: i64,
    min_ns: i64,
    max_ns: i64,
}

impl Report for Modes {
    fn fail(&mut self, words: String) {
        self.error = Some(words);
    }
}

impl Mode {
    const ALL: [Self; 3] = [Self::Normal, Self::Nic, Self::Mac];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Nic => "nic",
            Self::Mac => "mac",
        }
    }

    /// The board in this mode; clap has seen to it that there is one.
    fn link(self, arguments: &ModesArguments) -> Option<&LinkName> {
        let own = match self {
            Self::Normal => &arguments.normal,
            Self::Nic => &arguments.nic,
            Self::Mac => &arguments.mac_loop,
        };
        own.as_ref().or(arguments.link.as_ref())
    }
}

pub(super) fn run(arguments: &ModesArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, false, |console, report: &mut Modes| {
        report.peer = mac_words(arguments.peer);
        let interrupt = Interrupt::install()?;
        let measured = measure(arguments, &interrupt, console, &mut report.trips);
        if let Some(registers) = &arguments.registers {
            switch(registers, Mode::Normal)?;
        }
        measured?;
        if let Some(signal) = interrupt.stop_signal(console) {
            return Ok(Outcome::Interrupted { signal });
        }
        for mode in Mode::ALL {
            let mut of_mode = report.trips.iter().filter(|it| it.mode == mode);
            if of_mode.all(|it| it.trips.returned + it.trips.wrong == 0) {
                return Err(NicError::NothingBackIn(mode.as_str()).into());
            }
        }
        let sizes = arguments.trips.sizes.iter();
        report.points = sizes.map(|&bytes| parts(bytes, &report.trips)).collect();
        print(&report.points, console);
        let trips = report.trips.iter().map(|measured| &measured.trips);
        Ok(judge(console, &arguments.fail_on, &counts(trips)))
    })
}

/// Measures all modes in turn, in each round the same frames, so that a change of the host's speed
/// concerns all of them.
fn measure(
    arguments: &ModesArguments,
    interrupt: &Interrupt,
    console: &mut Console,
    measured: &mut Vec<Measured>,
) -> Result<(), Failure> {
    let mut clockwork = Clockwork::new(arguments.trips.count);
    for round in 0..arguments.rounds {
        for mode in Mode::ALL {
            if interrupt.signal().is_some() {
                return Ok(());
            }
            console.status(&format!(
                "round {} of {}: {}",
                round + 1,
                arguments.rounds,
                mode.as_str()
            ));
            if let Some(console) = &arguments.registers {
                switch(console, mode)?;
            }
            let link =
                mode.link(arguments).ok_or_else(|| Failure::Contradiction(NO_LINK.into()))?;
            let options = LinkOptions { link: link.clone(), mac: None, fault: Vec::new() };
            let mut link = Link::open(&options, Role::Sender, FrameReceive::Calls)?;
            check_sizes(&link, &arguments.trips.sizes)?;
            for &size in &arguments.trips.sizes {
                let (peer, options) = (arguments.peer, &arguments.trips);
                let trips = clockwork.measure(&mut link, peer, size, options, interrupt)?;
                measured.push(Measured { round, mode, trips });
            }
        }
    }
    Ok(())
}

/// Switches a board to a mode.
fn switch(console: &ConsoleAddress, mode: Mode) -> Result<(), NicError> {
    let mut registers = Registers::connect(console)?;
    registers.write("nic.mode", if mode == Mode::Nic { NIC_LOOPBACK } else { 0 })?;
    let others = registers.read("sender.control")? & !(LOOPBACK_MASK << LOOPBACK_SHIFT);
    let loopback = if mode == Mode::Mac { FAR_LOOPBACK } else { 0 };
    registers.write("sender.control", others | loopback << LOOPBACK_SHIFT)
}

/// The parts of one size.
fn parts(bytes: u16, measured: &[Measured]) -> Parts {
    let medians = |mode: Mode| {
        let of_mode = measured.iter().filter(move |it| it.mode == mode && it.trips.bytes == bytes);
        of_mode.map(|it| it.trips.median_ns as i64)
    };
    let less = |whole: Mode, part: Mode| {
        Part::of(medians(whole).zip(medians(part)).map(|(whole, part)| whole - part).collect())
    };
    Parts {
        bytes,
        processor: less(Mode::Normal, Mode::Nic),
        nic: less(Mode::Nic, Mode::Mac),
        mac: Part::of(medians(Mode::Mac).collect()),
    }
}

impl Part {
    /// Of one value at least.
    fn of(mut values: Vec<i64>) -> Self {
        values.sort_unstable();
        let last = values.len() - 1;
        Self { median_ns: values[last / 2], min_ns: values[0], max_ns: values[last] }
    }
}

fn print(points: &[Parts], console: &mut Console) {
    let words = ["processor", "NIC", "MAC, host and cable"];
    console.line(format_args!("{:>6} {:>28} {:>28} {:>28}", "bytes", words[0], words[1], words[2]));
    for Parts { bytes, processor, nic, mac } in points {
        let [processor, nic, mac] = [processor, nic, mac].map(|part| {
            let seconds = |ns: i64| {
                let sign = if ns < 0 { "-" } else { "" };
                format!("{sign}{}", span(ns.unsigned_abs() as f64 / 1e9))
            };
            let Part { median_ns, min_ns, max_ns } = *part;
            format!("{} ({} to {})", seconds(median_ns), seconds(min_ns), seconds(max_ns))
        });
        console.line(format_args!("{bytes:>6} {processor:>28} {nic:>28} {mac:>28}"));
    }
}

const NO_LINK: &str = "a board for each mode: LINK, or --normal, --nic and --mac-loop";

/// Of `nic.mode`.
const NIC_LOOPBACK: u32 = 1;

/// Of `sender.control`: the far loop-back of the MAC side.
const FAR_LOOPBACK: u32 = 2;
const LOOPBACK_MASK: u32 = 3;
const LOOPBACK_SHIFT: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_differences_of_the_same_round_and_size() {
        let mut measured = vec![];
        for (round, [normal, nic, mac]) in
            [[90, 50, 30], [190, 152, 130], [95, 49, 31]].iter().enumerate()
        {
            for (mode, median_ns) in [(Mode::Normal, normal), (Mode::Nic, nic), (Mode::Mac, mac)] {
                for bytes in [64, 128] {
                    let median_ns = if bytes == 64 { *median_ns } else { 1_000 };
                    let trips = Trips { bytes, median_ns, ..Trips::default() };
                    measured.push(Measured { round: round as u16, mode, trips });
                }
            }
        }
        let Parts { processor, nic, mac, .. } = parts(64, &measured);
        assert_eq!(processor, Part { median_ns: 40, min_ns: 38, max_ns: 46 });
        assert_eq!(nic, Part { median_ns: 20, min_ns: 18, max_ns: 22 });
        assert_eq!(mac, Part { median_ns: 31, min_ns: 30, max_ns: 130 });
        assert_eq!(parts(128, &measured).processor, Part { median_ns: 0, min_ns: 0, max_ns: 0 });
    }
}

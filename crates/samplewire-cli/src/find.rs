//! `find`: lists the devices on the local networks.

use samplewire::find::{ANSWERS_MAX, Found};
use serde::Serialize;

use crate::arguments::FindArguments;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::probe::Device;
use crate::stream::stream_words;

/// Queries all devices and prints those that answer.
pub(crate) fn run(arguments: &FindArguments) -> Result<Outcome, Failure> {
    let found = samplewire::find(arguments.port, arguments.timeout)?;
    let mut console = Console::new(Lines::Stdout, false);
    if arguments.json {
        let text = serde_json::to_string_pretty(&Answer::new(&found));
        console.line(format_args!("{}", text.map_err(std::io::Error::from)?));
    } else {
        print(&mut console, &found);
    }
    if found.devices.is_empty() {
        return Err(Failure::NoDeviceFound { port: arguments.port });
    }
    Ok(Outcome::Whole)
}

fn print(console: &mut Console, found: &Found) {
    for (number, device) in found.devices.iter().enumerate() {
        let info = &device.info;
        console.line(format_args!("Found device {number}"));
        console.line(format_args!("  address = {}", info.address));
        for address in &device.other_addresses {
            console.line(format_args!("  also    = {address}"));
        }
        console.line(format_args!("  stream  = {}", stream_words(&info.stream_info())));
        if info.streams > 1 {
            console.line(format_args!("  streams = {}", info.streams));
        }
        console.line(format_args!("  boot    = {:016x}", info.boot_id));
    }
    for failure in &found.failures {
        console.line(format_args!("answered, but does not say what it streams: {failure}"));
    }
    if found.is_cut {
        console.line(format_args!("more than {ANSWERS_MAX} answered; the others were not asked"));
    }
}

/// The object of `find --json`.
#[derive(Debug, Serialize)]
struct Answer {
    devices: Vec<Entry>,
    /// Errors of devices that answered, but did not describe their streams.
    failures: Vec<String>,
    /// More devices answered than are queried.
    is_cut: bool,
}

/// A device, as in `probe --json`, with its other addresses.
#[derive(Debug, Serialize)]
struct Entry {
    #[serde(flatten)]
    device: Device,
    other_addresses: Vec<String>,
}

impl Answer {
    fn new(found: &Found) -> Self {
        let entries = found.devices.iter().map(|device| Entry {
            device: Device::new(&device.info),
            other_addresses: device.other_addresses.iter().map(ToString::to_string).collect(),
        });
        Self {
            devices: entries.collect(),
            failures: found.failures.iter().map(ToString::to_string).collect(),
            is_cut: found.is_cut,
        }
    }
}

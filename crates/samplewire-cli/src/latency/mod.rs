//! `latency`: how long before its time a burst must be sent, measured from received samples.

mod histogram;
mod json;
mod trial;

use std::time::Duration;

use samplewire::{ReceiveOptions, ReceiveStream, SendOptions, SendStream};

use crate::arguments::LatencyArguments;
use crate::console::Console;
use crate::document;
use crate::failure::Failure;
use crate::figures::{grouped, span};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::probe::Device;
use crate::real_time;
use crate::stream::stream_words;
use crate::wiring;

use histogram::{BAR_MAX, Histogram, bar};
use json::{Document, Lead, RoundTrips};
use trial::{Broken, Trial};

/// Measures, and reports in the requested form.
pub(crate) fn run(arguments: &LatencyArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, false, |console, document| measure(arguments, console, document))
}

fn measure(
    arguments: &LatencyArguments,
    console: &mut Console,
    document: &mut Document,
) -> Result<Outcome, Failure> {
    let exporter = wiring::export("latency", &arguments.metrics, console)?;
    let address = wiring::address(&arguments.address)?;
    let control = arguments.control.control()?;
    let interrupt = Interrupt::install()?;
    document.version = env!("CARGO_PKG_VERSION");
    let udp = arguments.link.apply(arguments.control.udp_options());
    let probes = ReceiveOptions::new().timeout(arguments.timeout).udp(udp.clone());
    let mut round_trips = Vec::new();
    for _ in 0..arguments.rounds {
        if let Some(signal) = interrupt.signal() {
            return Ok(Outcome::Interrupted { signal });
        }
        round_trips.push(probes.probe(address)?.rtt);
    }
    if let Some(histogram) = Histogram::of(round_trips) {
        print_round_trips(console, &histogram);
        document.round_trips = Some(RoundTrips::new(&histogram));
    }
    // One owner for both: a device without a second stream then says so, instead of being busy.
    let owner = samplewire::draw_owner()?;
    // One thread answers sooner than two, and it calls all the time.
    let real_time = arguments.real_time.options_inline();
    let receiver = ReceiveOptions::new()
        .owner(owner)
        .timeout(arguments.timeout)
        .udp(udp.clone())
        .real_time(real_time.clone());
    let port = receiver.port(address)?;
    let receiver = port.open(address, &receiver)?;
    let sender = SendOptions::new()
        .owner(owner)
        .control(control)
        .timeout(arguments.timeout)
        .udp(udp)
        .real_time(real_time);
    let transmitter = sender.open_on(&port, address)?;
    drop(port);
    check(arguments, &receiver, &transmitter)?;
    let _printed = exporter.registry().add_opened([receiver.counters()], None, Some(&transmitter));
    let device = transmitter.device().expect("this end opened");
    console.line(format_args!("device     {}", stream_words(&device.stream_info())));
    document.device = Some(Device::new(device));
    let granted = [receiver.granted(), transmitter.granted()];
    real_time::print(console, &granted, true);
    document.real_time = granted.map(Into::into).into();
    console.line(format_args!("lead       bursts     late"));
    let bypass = receiver.capabilities().bypass.clone();
    let mut trial = match Trial::new(receiver, transmitter, arguments, &interrupt) {
        Ok(trial) => trial,
        Err(broken) => return Ok(conclude(&interrupt, console, document, &broken)),
    };
    for &lead in &arguments.leads {
        let late = match trial.run(lead, &interrupt) {
            Ok(late) => late,
            Err(broken) => return Ok(conclude(&interrupt, console, document, &broken)),
        };
        if let Some(signal) = interrupt.signal() {
            return Ok(Outcome::Interrupted { signal });
        }
        let share = late as f64 / arguments.bursts as f64;
        console.line(format_args!(
            "{:<10} {:>6} {:>8}  {:>5.1} %  {}",
            span(lead.as_secs_f64()),
            grouped(arguments.bursts),
            grouped(late),
            share * 100.0,
            bar(share)
        ));
        document.leads.push(Lead {
            lead_s: lead.as_secs_f64(),
            bursts: arguments.bursts,
            bursts_late: late,
        });
    }
    wiring::print_bypass(console, &arguments.link, bypass.as_ref(), true);
    trial.close();
    Ok(Outcome::Whole)
}

fn conclude(
    interrupt: &Interrupt,
    console: &mut Console,
    document: &mut Document,
    broken: &Broken,
) -> Outcome {
    if let Some(signal) = interrupt.signal() {
        return Outcome::Interrupted { signal };
    }
    let text = broken.0.clone();
    console.error(format_args!("{text}"), None);
    document.error = Some(text);
    Outcome::Unreachable
}

/// Checks that a lead is meaningful: one clock, and bursts of one packet.
fn check(
    arguments: &LatencyArguments,
    receiver: &ReceiveStream,
    stream: &SendStream,
) -> Result<(), Failure> {
    let from = receiver.info();
    let to = stream.device().expect("this end opened");
    let refuse = |text: String| Err(Failure::Contradiction(text));
    if from.boot_id != to.boot_id || from.rate_numerator == 0 || from.rate_hz() != to.rate_hz() {
        return refuse(format!("the two streams of {} have no clock in common", from.address));
    }
    let room = to.payload_bytes as usize - COUNT_BYTES;
    let samples_max = (room / to.frame_bytes()) as u64;
    if arguments.nsamps > samples_max {
        let (nsamps, address) = (arguments.nsamps, from.address);
        return refuse(format!(
            "--nsamps {nsamps}: a packet to {address} has room for {samples_max}"
        ));
    }
    Ok(())
}

fn print_round_trips(console: &mut Console, histogram: &Histogram) {
    let at = |share| span(histogram.at(share).as_secs_f64());
    console.line(format_args!(
        "round trip {} times: {} to {}, median {}, 99 % {}",
        grouped(histogram.len() as u64),
        at(0.0),
        at(1.0),
        at(0.5),
        at(0.99)
    ));
    let bins = histogram.bins();
    let most = bins.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    for (below, count) in bins {
        let bar = "#".repeat(count * BAR_MAX / most);
        let below = span(Duration::as_secs_f64(&below));
        console.line(format_args!("  below {below:>9} {:>6}  {bar}", grouped(count as u64)));
    }
}

/// The count that ends a burst, after its samples.
const COUNT_BYTES: usize = 8;

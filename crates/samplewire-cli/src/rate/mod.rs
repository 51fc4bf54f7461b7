//! `rate`: measures the sample rate, and the samples that are lost, late or missing.

pub(crate) mod json;
pub(crate) mod receive;
pub(crate) mod tally;
mod transmit;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use samplewire::source::StreamInfo;
use samplewire::{AlignedStreams, Control, ReceiveOptions, SendOptions, SendStream};
use samplewire_record::chain::{ChainSink, ChainSpec};
use samplewire_record::sink::NullSink;

use crate::account;
use crate::arguments::{RateArguments, Way};
use crate::cadence::Cadence;
use crate::console::Console;
use crate::document;
use crate::failure::Failure;
use crate::figures::span;
use crate::host_watch::HostWatch;
use crate::interrupt::Interrupt;
use crate::metrics::Exported;
use crate::outcome::Outcome;
use crate::probe::Device;
use crate::real_time;
use crate::stream::{path_words, stream_words};
use crate::thresholds::Crossed;
use crate::web;
use crate::wiring::{self, Flow};

use json::{Document, Start};
use receive::Receiving;
use tally::{Received, Sent, Tally};
use transmit::Transmitting;

/// Measures, and reports in the requested form.
pub(crate) fn run(arguments: &RateArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, false, |console, document| measure(arguments, console, document))
}

fn measure(
    arguments: &RateArguments,
    console: &mut Console,
    document: &mut Document,
) -> Result<Outcome, Failure> {
    let exporter = wiring::export("rate", &arguments.metrics, console)?;
    let mut page = web::start_if(&arguments.web, &exporter, console)?;
    let address = wiring::address(&arguments.address)?;
    wiring::check_channels(&arguments.channels)?;
    arguments.carriage.check()?;
    if arguments.way == Way::Transmit && arguments.chain.is_some() {
        return Err(Failure::Contradiction(
            "--chain processes what is received, and --way transmit receives nothing".into(),
        ));
    }
    if arguments.way == Way::Transmit && !arguments.channels.is_empty() {
        return Err(Failure::Contradiction(
            "--channels names streams to receive, and --way transmit receives none".into(),
        ));
    }
    let control = arguments.control.control_if(arguments.way != Way::Receive)?;
    let host = HostWatch::new();
    let (receiver, transmitter) = open(arguments, address, control)?;
    let (counters, host_counts) =
        (receiver.iter().flat_map(|it| it.counters()), Exported::default());
    let exported = Some(host_counts.clone());
    let _printed = exporter.registry().add_opened(counters, exported, transmitter.as_ref());
    let interrupt = Interrupt::install()?;
    announce(arguments, console, document, receiver.as_ref(), transmitter.as_ref());
    let received = receiver.as_ref().map(AlignedStreams::capabilities);
    let sent = transmitter.as_ref().map(SendStream::capabilities);
    let mut bypasses: Vec<_> =
        received.into_iter().chain(sent).filter_map(|it| it.bypass.clone()).collect();
    let is_over = AtomicBool::new(false);
    let started = Instant::now();
    let chain = match (&arguments.chain, &receiver) {
        (Some(spec), Some(receiver)) => Some(chain(spec, &receiver.info().stream_info())?),
        _ => None,
    };
    let tap = match (&mut page, &receiver) {
        (Some(page), Some(receiver)) => Some(web::follow(page, "rate", receiver)),
        _ => None,
    };
    let mut receiving = receiver.map(|it| {
        let device = arguments.carriage.device_of(it.info()).map(str::to_owned);
        let receiving = Receiving::new(it, chain, host);
        receiving.counting(device.as_deref(), host_counts).with_tap(tap)
    });
    let sent_tap = match (&mut page, &transmitter) {
        (Some(page), Some(stream)) => Some(transmit::follow(page, stream)),
        _ => None,
    };
    let mut transmitting =
        transmitter.map(|it| Transmitting::new(it, arguments).with_tap(sent_tap));
    let watched =
        (receiving.as_ref().map(Receiving::watch), transmitting.as_ref().map(Transmitting::watch));
    let (received, sent) = std::thread::scope(|scope| {
        let received = receiving.take().map(|it| scope.spawn(|| it.run(&is_over)));
        let sent = transmitting.take().map(|it| scope.spawn(|| it.run(&is_over, &interrupt)));
        let mut cadence = Cadence::new(Duration::from_secs(1), started);
        let mut reported = Tally::default();
        loop {
            std::thread::sleep(PAUSE);
            let now = Instant::now();
            if let Some(page) = &mut page {
                web::report_failure(page, console);
            }
            let has_ended = received.as_ref().is_some_and(|it| it.is_finished())
                || sent.as_ref().is_some_and(|it| it.is_finished());
            let elapsed = now - started;
            let is_interrupted = interrupt.stop_signal(console).is_some();
            let ends = has_ended || is_interrupted || elapsed >= arguments.duration;
            if ends || cadence.is_due(now) {
                let tally = Tally::of(elapsed, &watched.0, &watched.1);
                let interval = tally.since(&reported);
                console.line(format_args!("{}", interval.words()));
                document.push_interval(interval.json());
                reported = tally;
            }
            if ends {
                // Relaxed: the flag is read again soon, and orders nothing.
                is_over.store(true, Ordering::Relaxed);
                let received = received.map(|it| it.join().expect("receiving does not panic"));
                return (received, sent.map(|it| it.join().expect("sending does not panic")));
            }
        }
    });
    let totals = Totals { received, sent, signal: interrupt.signal() };
    let outcome = conclude(arguments, console, document, &totals);
    if let Some(end) = &mut document.end {
        end.links = bypasses.iter().map(Into::into).collect();
    }
    // Both ways share a link.
    bypasses.dedup();
    for log in &bypasses {
        wiring::print_bypass(console, &arguments.link, Some(log), true);
    }
    Ok(outcome)
}

/// What a measurement has found.
struct Totals {
    received: Option<Received>,
    sent: Option<Sent>,
    /// The signal that ended it, if one did.
    signal: Option<u8>,
}

fn conclude(
    arguments: &RateArguments,
    console: &mut Console,
    document: &mut Document,
    totals: &Totals,
) -> Outcome {
    let (received, sent) = (totals.received.as_ref(), totals.sent.as_ref());
    let crossed = tally::crossed(&arguments.fail_on, received, sent);
    let defect = received.and_then(|it| it.balance().err());
    let is_broken =
        received.is_some_and(|it| it.error.is_some()) || sent.is_some_and(|it| it.error.is_some());
    let is_whole = received.is_none_or(Received::is_whole) && sent.is_none_or(Sent::is_whole);
    let outcome = match totals.signal {
        Some(signal) => Outcome::Interrupted { signal },
        None if is_broken => Outcome::Unreachable,
        None if !crossed.is_empty() => Outcome::Threshold,
        None if received.is_some_and(|it| it.silent.is_some()) => Outcome::Incomplete,
        None if defect.is_some() => Outcome::Missing,
        None if is_whole || !arguments.fail_on.is_empty() => Outcome::Whole,
        None => Outcome::Missing,
    };
    if let Some(received) = received {
        received.print(console);
    }
    if let Some(sent) = sent {
        sent.print(console);
    }
    for crossed in &crossed {
        console.line(format_args!("threshold  {crossed}"));
    }
    let errors = [
        received.and_then(|it| it.error.clone()),
        sent.and_then(|it| it.error.clone()),
        defect.map(|defect| account::defect_words(&defect)),
    ];
    for error in errors.iter().flatten() {
        console.error(format_args!("{error}"), None);
    }
    document.error = errors.into_iter().flatten().next();
    document.end = Some(json::End {
        result: outcome.as_str(),
        exit_status: outcome.code(),
        receive: received.map(Received::json),
        transmit: sent.map(Sent::json),
        thresholds_crossed: crossed.iter().map(Crossed::key).collect(),
        links: Vec::new(),
    });
    outcome
}

fn announce(
    arguments: &RateArguments,
    console: &mut Console,
    document: &mut Document,
    aligned: Option<&AlignedStreams>,
    transmitter: Option<&SendStream>,
) {
    let from = aligned.map(AlignedStreams::info);
    let to = transmitter.and_then(SendStream::device);
    console.line(format_args!(
        "samplewire {VERSION}: measuring {} for {}",
        arguments.address,
        span(arguments.duration.as_secs_f64())
    ));
    for (word, info) in [("from", from), ("to", to)] {
        if let Some(info) = info {
            let (stream, path) = (stream_words(&info.stream_info()), path_words(info));
            console.line(format_args!("  {word:<10} {stream}; {path}"));
        }
    }
    if let Some(info) = from {
        wiring::print_carriage(console, arguments.carriage.carriage(), info);
    }
    let devices = aligned.into_iter().flat_map(AlignedStreams::infos).chain(to);
    let window = wiring::granted_window(console, arguments.window, devices);
    let received = aligned.map(AlignedStreams::capabilities);
    let sent = transmitter.map(SendStream::capabilities);
    for (capabilities, flow) in [(received, Flow::In), (sent, Flow::Out)] {
        if let Some(capabilities) = capabilities {
            wiring::print_buffer(console, capabilities, flow, true);
        }
    }
    let granted = aligned.map(AlignedStreams::granted).into_iter();
    let granted: Vec<_> = granted.chain(transmitter.map(SendStream::granted)).collect();
    real_time::print(console, &granted, true);
    document.start = Some(Start {
        version: VERSION,
        receive: from.map(Device::new),
        transmit: to.map(Device::new),
        window_packets: arguments.window,
        window_packets_requested: arguments.window,
        window_packets_granted: window,
        receive_buffer_bytes: received.map_or(0, |it| it.receive_buffer_bytes),
        send_buffer_bytes: sent.map_or(0, |it| it.send_buffer_bytes),
        real_time: granted.into_iter().map(Into::into).collect(),
    });
}

/// A chain whose output is discarded.
fn chain(spec: &ChainSpec, info: &StreamInfo) -> Result<ChainSink, Failure> {
    let behind = ChainSink::info_behind(spec, info)?;
    Ok(ChainSink::start(spec, info, Box::new(NullSink::new(&behind)))?)
}

/// Opens the streams.
fn open(
    arguments: &RateArguments,
    address: SocketAddr,
    control: Control,
) -> Result<(Option<AlignedStreams>, Option<SendStream>), Failure> {
    // One owner for both: a device without a second stream then says so, instead of being busy.
    let owner = samplewire::draw_owner()?;
    let receive = receiver_options(arguments).owner(owner);
    let receive = receive.streams(arguments.channels.iter().copied());
    let send = send_options(arguments).control(control).owner(owner);
    let counted = |error| Failure::from(error).counted();
    Ok(match arguments.way {
        Way::Receive => (Some(receive.open_aligned(address).map_err(counted)?), None),
        Way::Transmit => (None, Some(send.open(address)?)),
        Way::Both if arguments.link.may_bypass() => {
            // One link has an interface.
            let port = receive.port(address)?;
            let receiver = port.open_aligned(address, &receive).map_err(counted)?;
            (Some(receiver), Some(send.open_on(&port, address)?))
        }
        Way::Both => {
            let receiver = receive.open_aligned(address).map_err(counted)?;
            (Some(receiver), Some(send.open(address)?))
        }
    })
}

fn receiver_options(arguments: &RateArguments) -> ReceiveOptions {
    let options = ReceiveOptions::new()
        .delivery(arguments.delivery)
        .window(arguments.window)
        .timeout(arguments.timeout)
        .udp(arguments.link.apply(wiring::udp_options()))
        .real_time(arguments.real_time.options().slow(arguments.slow.factor));
    let options = arguments.carriage.apply(options);
    match arguments.mtu {
        Some(bytes) => options.mtu(bytes),
        None => options,
    }
}

fn send_options(arguments: &RateArguments) -> SendOptions {
    let options = SendOptions::new()
        .delivery(arguments.delivery)
        .window(arguments.window)
        .timeout(arguments.timeout)
        .udp(arguments.link.apply(arguments.control.udp_options()))
        .real_time(arguments.real_time.options().slow(arguments.slow.factor));
    match arguments.mtu {
        Some(bytes) => options.mtu(bytes),
        None => options,
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How often the loop checks for work.
const PAUSE: Duration = Duration::from_millis(20);

//! `bridge`: a device's streams to and from ZeroMQ sockets ([`crate::zmtp`]).

mod ending;
mod inward;
mod json;
mod news;
mod open;
mod outward;
mod session;
mod shape;
mod summary;
mod wait;
mod watch;

use std::time::{Duration, Instant};

use samplewire_io::FaultLog;
use samplewire_io::faults::Direction;

use crate::arguments::BridgeArguments;
use crate::arguments::values::delivery_words;
use crate::cadence::Cadence;
use crate::console::{Console, Lines};
use crate::document;
use crate::failure::Failure;
use crate::faults::{FaultPair, print_counts};
use crate::figures::{grouped, measured, span};
use crate::interrupt::Interrupt;
use crate::metrics::{self, About, Exporter, View};
use crate::outcome::Outcome;
use crate::probe::Device;
use crate::real_time;
use crate::stream::{path_words, stream_words};
use crate::wiring::{self, Flow};
use crate::zmtp::Socket;

use ending::Ending;
use inward::Inward;
use json::{Document, SocketEntry, Start};
use open::Opened;
use outward::Outward;
use session::{Spout, Tap, Way};
use shape::Shape;
use watch::{Carried, Watch};

/// Carries samples until it is interrupted or a stream ends, and reports in the requested form.
pub(crate) fn run(arguments: &BridgeArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, arguments.progress, |console, document| {
        bridge(arguments, console, document)
    })
}

/// The directions of a bridge.
#[derive(Default)]
struct Ways {
    outward: Option<(Tap, Outward)>,
    inward: Option<(Spout, Inward)>,
    faults: Vec<FaultLog>,
}

fn bridge(
    arguments: &BridgeArguments,
    console: &mut Console,
    document: &mut Document,
) -> Result<Outcome, Failure> {
    let exporter = wiring::export("bridge", &arguments.metrics, console)?;
    let faults = FaultPair::new(&arguments.faults)?;
    let mut entries = Vec::new();
    let ways = match (&arguments.listen, &arguments.address) {
        (Some(text), _) => listening(
            arguments,
            text,
            faults.as_ref(),
            (&exporter, &mut entries),
            (console, document),
        ),
        (None, Some(text)) => opening(
            arguments,
            text,
            faults.as_ref(),
            (&exporter, &mut entries),
            (console, document),
        ),
        (None, None) => unreachable!("the option parser wants one of both"),
    }?;
    if let Some(faults) = &faults {
        faults.print(console);
    }
    let logs = ways.faults.clone();
    let outcome = carry(arguments, ways, console, document)?;
    for log in &logs {
        print_counts(console, "sent", &log.counts(Direction::Transmit));
        print_counts(console, "received", &log.counts(Direction::Receive));
    }
    Ok(outcome)
}

/// Listens as a device.
fn listening(
    arguments: &BridgeArguments,
    text: &str,
    faults: Option<&FaultPair>,
    (exporter, entries): (&Exporter, &mut Vec<metrics::Entry>),
    (console, document): (&mut Console, &mut Document),
) -> Result<Ways, Failure> {
    let (device, log) = open::listen(arguments, wiring::address(text)?, faults)?;
    let mut ways = Ways { faults: log.into_iter().collect(), ..Ways::default() };
    let mut listeners = device.listeners;
    let listener = listeners.pop();
    let granted = listener.as_ref().map(|it| it.granted().clone());
    let granted = granted.or(device.receive_listener.as_ref().map(|it| it.granted().clone()));
    console.line(format_args!(
        "samplewire {VERSION}: a bridge to ZeroMQ, listening on {}",
        device.address
    ));
    let mut start = Start {
        version: VERSION,
        listening: Some(device.address.to_string()),
        receive: None,
        transmit: None,
        window_packets_requested: arguments.window,
        window_packets_granted: None,
        sockets: Vec::new(),
        real_time: granted.iter().map(Into::into).collect(),
    };
    if let Some(receive_listener) = device.receive_listener {
        console.line(format_args!("  takes      {}", stream_words(receive_listener.info())));
        let outward = outward(arguments, receive_listener.info(), (console, &mut start))?;
        let about = About {
            device: device.address,
            stream: u16::from(listener.is_some()),
            direction: metrics::Direction::Receive,
            info: receive_listener.info().clone(),
        };
        let entry = exporter.registry().add(about, View::default);
        ways.outward = Some((Tap::Listens(Box::new(receive_listener), entry), outward));
    }
    if let Some(listener) = listener {
        console.line(format_args!("  gives      {}", stream_words(listener.info())));
        entries.push(exporter.registry().add_device(0, &listener));
        let inward = inward(arguments, listener.info(), (console, &mut start))?;
        wiring::print_buffer(console, listener.capabilities(), Flow::Out, true);
        ways.inward = Some((Spout::Listens(Box::new(listener)), inward));
    }
    real_time::print(console, &Vec::from_iter(&granted), true);
    document.start = Some(start);
    Ok(ways)
}

/// Opens a device.
fn opening(
    arguments: &BridgeArguments,
    text: &str,
    faults: Option<&FaultPair>,
    (exporter, entries): (&Exporter, &mut Vec<metrics::Entry>),
    (console, document): (&mut Console, &mut Document),
) -> Result<Ways, Failure> {
    let opened = Opened::open(arguments, wiring::address(text)?, faults)?;
    let Opened { receiver, sender, faults } = opened;
    let mut ways = Ways { faults, ..Ways::default() };
    let counters = receiver.as_ref().map(|it| it.counters());
    entries.extend(exporter.registry().add_opened(counters, sender.as_ref()));
    let granted = receiver.iter().map(|it| it.granted().clone());
    let granted: Vec<_> = granted.chain(sender.iter().map(|it| it.granted().clone())).collect();
    console.line(format_args!("samplewire {VERSION}: a bridge between {text} and ZeroMQ"));
    let to = sender.as_ref().and_then(|it| it.device());
    let devices = receiver.iter().map(|it| it.info()).chain(to);
    let window = wiring::granted_window(console, arguments.window, devices);
    let mut start = Start {
        version: VERSION,
        listening: None,
        receive: receiver.as_ref().map(|it| Device::new(it.info())),
        transmit: to.map(Device::new),
        window_packets_requested: arguments.window,
        window_packets_granted: Some(window),
        sockets: Vec::new(),
        real_time: granted.iter().map(Into::into).collect(),
    };
    if let Some(receiver) = receiver {
        let (info, path) = (receiver.info().stream_info(), path_words(receiver.info()));
        console.line(format_args!("  from       {}; {path}", stream_words(&info)));
        console.line(format_args!("  delivery   {}", delivery_words(arguments.delivery)));
        wiring::print_buffer(console, receiver.capabilities(), Flow::In, true);
        let outward = outward(arguments, &info, (console, &mut start))?;
        ways.outward = Some((Tap::Opened(Box::new(receiver)), outward));
    }
    if let Some(sender) = sender {
        let device = sender.device().expect("this end opened");
        let info = device.stream_info();
        console.line(format_args!("  to         {}; {}", stream_words(&info), path_words(device)));
        wiring::print_buffer(console, sender.capabilities(), Flow::Out, true);
        let inward = inward(arguments, &info, (console, &mut start))?;
        let lead = (arguments.lead.as_secs_f64() * info.rate_hz()).round() as u64;
        let (stream, timeout) = (Box::new(sender), arguments.timeout);
        ways.inward = Some((Spout::Opened { stream, lead, timeout }, inward));
    }
    real_time::print(console, &Vec::from_iter(&granted), true);
    document.start = Some(start);
    Ok(ways)
}

/// The sockets that a stream goes to.
fn outward(
    arguments: &BridgeArguments,
    info: &samplewire::source::StreamInfo,
    (console, start): (&mut Console, &mut Start),
) -> Result<Outward, Failure> {
    let (kind, endpoints) = arguments.outward().expect("samples go to sockets");
    let stream = (info.format, info.channels);
    let shape = open::shape(arguments, (kind, endpoints.len()), stream)?;
    let sockets = open::sockets(arguments, kind, endpoints, &shape)?;
    print_sockets(&sockets, &shape, console, start);
    let (gaps, items_max) = (arguments.gaps, arguments.items as usize);
    Ok(Outward::new(shape, gaps, items_max, sockets, Watch::default())?)
}

/// The sockets that a stream comes from.
fn inward(
    arguments: &BridgeArguments,
    info: &samplewire::source::StreamInfo,
    (console, start): (&mut Console, &mut Start),
) -> Result<Inward, Failure> {
    let (kind, endpoints) = arguments.inward().expect("samples come from sockets");
    let stream = (info.format, info.channels);
    let shape = open::shape(arguments, (kind, endpoints.len()), stream)?;
    let sockets = open::sockets(arguments, kind, endpoints, &shape)?;
    print_sockets(&sockets, &shape, console, start);
    Ok(Inward::new(shape, sockets, Watch::default())?)
}

fn print_sockets(sockets: &[Socket], shape: &Shape, console: &mut Console, start: &mut Start) {
    for socket in sockets {
        let (kind, format, address) = (socket.kind(), shape.zmq, socket.address());
        let verb = if socket.is_listening() { "listening on" } else { "connecting to" };
        console.line(format_args!("  {:<10} {format}, {verb} tcp://{address}", kind.as_str()));
        start.sockets.push(SocketEntry {
            kind: kind.as_str(),
            endpoint: socket.name().to_string(),
            address: address.to_string(),
            is_listening: socket.is_listening(),
            format: format.as_str(),
        });
    }
}

/// Carries both directions until they end.
fn carry(
    arguments: &BridgeArguments,
    ways: Ways,
    console: &mut Console,
    document: &mut Document,
) -> Result<Outcome, Failure> {
    let ending = Ending::new(Interrupt::install()?);
    console.line(format_args!("carrying samples; Ctrl-C ends"));
    let watches = (
        ways.outward.as_ref().map(|(_, outward)| outward.watch.clone()),
        ways.inward.as_ref().map(|(_, inward)| inward.watch.clone()),
    );
    let lines = if arguments.json { Lines::Nowhere } else { Lines::Stdout };
    let started = Instant::now();
    let (mut reported, mut reported_at) = (carried(&watches), Duration::ZERO);
    let (outward, inward) = std::thread::scope(|scope| {
        let outward = ways.outward.map(|(tap, outward)| {
            let ending = &ending;
            scope.spawn(move || {
                let result =
                    session::serve_outward(tap, outward, ending, &mut Console::new(lines, false));
                ending.end();
                result
            })
        });
        let inward = ways.inward.map(|(spout, inward)| {
            let ending = &ending;
            scope.spawn(move || {
                let result =
                    session::serve_inward(spout, inward, ending, &mut Console::new(lines, false));
                ending.end();
                result
            })
        });
        let mut cadence = Cadence::new(Duration::from_secs(1), started);
        loop {
            std::thread::sleep(PAUSE);
            let is_over = outward.as_ref().is_none_or(|it| it.is_finished())
                && inward.as_ref().is_none_or(|it| it.is_finished());
            if is_over || cadence.is_due(Instant::now()) {
                let (now, at) = (carried(&watches), started.elapsed());
                let interval = interval((reported_at, reported), (at, now));
                if console.has_status() && !is_over {
                    console.status(&interval_words(&interval));
                }
                document.push_interval(interval);
                (reported, reported_at) = (now, at);
            }
            if is_over {
                let outward = outward.map(|it| it.join().expect("a way does not panic"));
                return (outward, inward.map(|it| it.join().expect("a way does not panic")));
            }
        }
    });
    let (outward, inward) = (outward.transpose()?, inward.transpose()?);
    Ok(conclude(console, document, (outward, inward), &watches, &ending))
}

type Watches = (Option<Watch>, Option<Watch>);
type Moment = (Option<Carried>, Option<Carried>);

fn carried(watches: &Watches) -> Moment {
    (watches.0.as_ref().map(Watch::carried), watches.1.as_ref().map(Watch::carried))
}

fn interval((start, before): (Duration, Moment), (end, now): (Duration, Moment)) -> json::Interval {
    let flow = |before: Option<Carried>, now: Option<Carried>| {
        before.zip(now).map(|(before, now)| json::Flow::between(&before, &now))
    };
    json::Interval {
        start_s: start.as_secs_f64(),
        end_s: end.as_secs_f64(),
        to_zmq: flow(before.0, now.0),
        from_zmq: flow(before.1, now.1),
    }
}

/// `4.0 s  to ZeroMQ 23.0 MS/s, 0 missing  from ZeroMQ 23.0 MS/s`
fn interval_words(interval: &json::Interval) -> String {
    let seconds = (interval.end_s - interval.start_s).max(f64::MIN_POSITIVE);
    let rate = |flow: &json::Flow| measured(flow.samples as f64 / seconds, "S/s");
    let mut words = span(interval.end_s);
    if let Some(flow) = &interval.to_zmq {
        let (rate, missing) = (rate(flow), grouped(flow.samples_missing));
        words += &format!("  to ZeroMQ {rate}, {missing} missing");
    }
    if let Some(flow) = &interval.from_zmq {
        words += &format!("  from ZeroMQ {}", rate(flow));
    }
    words
}

fn conclude(
    console: &mut Console,
    document: &mut Document,
    (outward, inward): (Option<Way>, Option<Way>),
    watches: &Watches,
    ending: &Ending,
) -> Outcome {
    let untaken = outward.as_ref().map_or(0, |way| way.untaken);
    let (to, from) = carried(watches);
    if let Some(to) = &to {
        summary::print_sockets(console, "to ZeroMQ", to, untaken);
    }
    if let Some(from) = &from {
        summary::print_sockets(console, "from ZeroMQ", from, 0);
    }
    let ways: Vec<Way> = outward.into_iter().chain(inward).collect();
    let errors: Vec<String> = ways.iter().filter_map(|way| way.error.clone()).collect();
    for error in &errors {
        console.error(format_args!("{error}"), None);
    }
    let worst = |all: Outcome, one: Outcome| if all.code() == 0 { one } else { all };
    let mut outcome = ways.iter().map(|way| way.outcome).fold(Outcome::Whole, worst);
    if let (Some(signal), true) = (ending.signal(), outcome == Outcome::Whole)
        && document.start.as_ref().is_some_and(|start| start.listening.is_none())
    {
        outcome = Outcome::Interrupted { signal };
    }
    let sessions = ways.iter().flat_map(|way| &way.sessions);
    let flow = |all: Option<Carried>| all.map(|all| json::Flow::between(&Carried::default(), &all));
    document.error = errors.into_iter().next();
    document.end = Some(json::End {
        result: outcome.as_str(),
        exit_status: outcome.code(),
        to_zmq: flow(to),
        from_zmq: flow(from),
        samples_untaken: untaken,
        sessions: sessions.map(summary::Passed::json).collect(),
        sessions_left_out: ways.iter().map(|way| way.left_out).sum(),
    });
    outcome
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How often the loop checks for work.
const PAUSE: Duration = Duration::from_millis(20);

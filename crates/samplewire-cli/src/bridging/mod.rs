//! `bridge`: a device's streams to and from ZeroMQ sockets ([`crate::bridge`]).

mod json;
mod news;
mod open;
mod report;
mod summary;

use std::ops::Range;
use std::time::{Duration, Instant};

use samplewire::Carriage;
use samplewire::source::StreamInfo;
use samplewire_io::faults::Direction;
use samplewire_io::xdp::XdpLog;
use samplewire_io::{FaultLog, HostDropCounts};
use samplewire_web::{About as Shown, Page, Role, Tap as PageTap};

use crate::arguments::BridgeArguments;
use crate::arguments::values::delivery_words;
use crate::bridge::{
    Carried, Ending, Inward, Outward, Shape, Spout, Tap, Watch, serve_inward, serve_outward,
};
use crate::cadence::Cadence;
use crate::console::{Console, Lines};
use crate::document;
use crate::failure::Failure;
use crate::faults::{FaultPair, print_counts};
use crate::figures::{grouped, measured, span};
use crate::interrupt::{Interrupt, wait_ready};
use crate::metrics::{self, About, Entry, Exported, Registry, View};
use crate::outcome::Outcome;
use crate::probe::Device;
use crate::real_time;
use crate::stream::{path_words, stream_words};
use crate::web;
use crate::wiring::{self, Flow};
use samplewire_zmtp::Socket;

use json::{Document, SocketEntry, Start};
use open::Opened;
use report::{Reporter, Way};

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
    /// The exported counters of a device that receives.
    received: Option<Entry>,
    /// Those of the other streams.
    entries: Vec<Entry>,
    /// What the host drops of the stream that is received.
    host_counts: Exported<HostDropCounts>,
    faults: Vec<FaultLog>,
    /// How the packets of each link travel, if they may bypass the kernel.
    bypasses: Vec<XdpLog>,
    /// Show the streams on a page.
    outward_tap: Option<PageTap>,
    inward_tap: Option<PageTap>,
}

fn bridge(
    arguments: &BridgeArguments,
    console: &mut Console,
    document: &mut Document,
) -> Result<Outcome, Failure> {
    arguments.carriage.check()?;
    if let Some(device) = arguments.carriage.verbs().filter(|_| arguments.listen.is_some()) {
        return Err(Failure::Contradiction(format!(
            "--verbs {device} contradicts --listen: a card receives streams that this end opens"
        )));
    }
    let over_rdma =
        if arguments.listen.is_some() { arguments.inward() } else { arguments.outward() };
    if arguments.carriage.carriage() == Carriage::Rdma && over_rdma.is_none() {
        return Err(Failure::Contradiction(
            "--carriage rdma: no stream goes from a device to a host here, and devices do not play \
             over RDMA"
                .into(),
        ));
    }
    let exporter = wiring::export("bridge", &arguments.metrics, console)?;
    let mut page = web::start_if(&arguments.web, &exporter, console)?;
    let faults = FaultPair::new(&arguments.faults)?;
    let (registry, faults) = (exporter.registry(), faults.as_ref());
    let setup =
        Setup { arguments, faults, registry, page: page.as_mut(), console, sockets: Vec::new() };
    let (ways, start) = match (&arguments.listen, &arguments.address) {
        (Some(text), _) => setup.listening(text),
        (None, Some(text)) => setup.opening(text),
        (None, None) => unreachable!("the option parser wants one of both"),
    }?;
    document.start = Some(start);
    if let Some(faults) = faults {
        faults.print(console);
    }
    let (logs, bypasses) = (ways.faults.clone(), ways.bypasses.clone());
    let outcome = carry(arguments, ways, page, console, document)?;
    for log in &logs {
        print_counts(console, "sent", &log.counts(Direction::Transmit));
        print_counts(console, "received", &log.counts(Direction::Receive));
    }
    for log in &bypasses {
        wiring::print_bypass(console, &arguments.link, Some(log), true);
    }
    Ok(outcome)
}

/// Opens both sides of a bridge, and prints what was agreed.
struct Setup<'a> {
    arguments: &'a BridgeArguments,
    faults: Option<&'a FaultPair>,
    registry: &'a Registry,
    page: Option<&'a mut Page>,
    console: &'a mut Console,
    /// The sockets, for the document.
    sockets: Vec<SocketEntry>,
}

impl Setup<'_> {
    /// Listens as a device.
    fn listening(mut self, text: &str) -> Result<(Ways, Start), Failure> {
        let address = wiring::address(text)?;
        let (device, logs) = open::listen(self.arguments, address, self.faults)?;
        let mut ways = Ways {
            faults: logs.faults.into_iter().collect(),
            bypasses: logs.bypass.into_iter().collect(),
            ..Ways::default()
        };
        let mut listeners = device.listeners;
        let listener = listeners.pop();
        let granted = listener.as_ref().map(|it| it.granted().clone());
        let granted = granted.or(device.receive_listener.as_ref().map(|it| it.granted().clone()));
        self.console.line(format_args!(
            "samplewire {VERSION}: a bridge to ZeroMQ, listening on {}",
            device.address
        ));
        if let Some(receive_listener) = device.receive_listener {
            let info = receive_listener.info();
            self.console.line(format_args!("  takes      {}", stream_words(info)));
            let outward = self.outward(info)?;
            let about = About {
                device: device.address,
                stream: u16::from(listener.is_some()),
                direction: metrics::Direction::Receive,
                info: info.clone(),
            };
            ways.received = Some(self.registry.add(about, View::default));
            ways.outward_tap = self.tap(Role::Received, info, device.address.to_string());
            ways.outward = Some((Tap::Listens(Box::new(receive_listener)), outward));
        }
        if let Some(listener) = listener {
            self.console.line(format_args!("  gives      {}", stream_words(listener.info())));
            ways.entries.push(self.registry.add_device(0, &listener));
            ways.inward_tap = self.tap(Role::Sent, listener.info(), device.address.to_string());
            let inward = self.inward(listener.info())?;
            wiring::print_buffer(self.console, listener.capabilities(), Flow::Out, true);
            ways.inward = Some((Spout::Listens(Box::new(listener)), inward));
        }
        real_time::print(self.console, &Vec::from_iter(&granted), true);
        let start = Start {
            version: VERSION,
            listening: Some(device.address.to_string()),
            receive: None,
            transmit: None,
            window_packets_requested: self.arguments.window,
            window_packets_granted: None,
            sockets: self.sockets,
            real_time: granted.iter().map(Into::into).collect(),
        };
        Ok((ways, start))
    }

    /// Opens a device.
    fn opening(mut self, text: &str) -> Result<(Ways, Start), Failure> {
        let opened = Opened::open(self.arguments, wiring::address(text)?, self.faults)?;
        let Opened { receiver, sender, faults, bypasses } = opened;
        let mut ways = Ways { faults, bypasses, ..Ways::default() };
        let counters = receiver.as_ref().map(|it| it.counters());
        ways.entries =
            self.registry.add_opened(counters, Some(ways.host_counts.clone()), sender.as_ref());
        let granted = receiver.iter().map(|it| it.granted().clone());
        let granted: Vec<_> = granted.chain(sender.iter().map(|it| it.granted().clone())).collect();
        self.console.line(format_args!("samplewire {VERSION}: a bridge between {text} and ZeroMQ"));
        let to = sender.as_ref().and_then(|it| it.device());
        let devices = receiver.iter().map(|it| it.info()).chain(to);
        let window = wiring::granted_window(self.console, self.arguments.window, devices);
        let mut start = Start {
            version: VERSION,
            listening: None,
            receive: receiver.as_ref().map(|it| Device::new(it.info())),
            transmit: to.map(Device::new),
            window_packets_requested: self.arguments.window,
            window_packets_granted: Some(window),
            sockets: Vec::new(),
            real_time: granted.iter().map(Into::into).collect(),
        };
        if let Some(receiver) = receiver {
            wiring::print_carriage(
                self.console,
                self.arguments.carriage.carriage(),
                receiver.info(),
            );
            let (info, path) = (receiver.info().stream_info(), path_words(receiver.info()));
            self.console.line(format_args!("  from       {}; {path}", stream_words(&info)));
            let delivery = delivery_words(self.arguments.delivery);
            self.console.line(format_args!("  delivery   {delivery}"));
            wiring::print_buffer(self.console, receiver.capabilities(), Flow::In, true);
            ways.outward_tap = self.tap(Role::Received, &info, text.to_owned());
            ways.outward = Some((Tap::Opened(Box::new(receiver)), self.outward(&info)?));
        }
        if let Some(sender) = sender {
            let device = sender.device().expect("this end opened");
            let (info, path) = (device.stream_info(), path_words(device));
            self.console.line(format_args!("  to         {}; {path}", stream_words(&info)));
            wiring::print_buffer(self.console, sender.capabilities(), Flow::Out, true);
            let lead = (self.arguments.lead.as_secs_f64() * info.rate_hz()).round() as u64;
            ways.inward_tap = self.tap(Role::Sent, &info, text.to_owned());
            let inward = self.inward(&info)?;
            ways.inward = Some((Spout::Opened { stream: Box::new(sender), lead }, inward));
        }
        real_time::print(self.console, &Vec::from_iter(&granted), true);
        start.sockets = self.sockets;
        Ok((ways, start))
    }

    /// Shows a stream on the page, if there is one.
    fn tap(&mut self, role: Role, info: &StreamInfo, origin: String) -> Option<PageTap> {
        let streams = std::slice::from_ref(info);
        let shown = Shown { role, origin, ..Shown::new("bridge", streams) };
        // Each session begins at its own index.
        self.page.as_mut().map(|page| page.add(shown, 0))
    }

    /// The sockets that a stream goes to.
    fn outward(&mut self, info: &StreamInfo) -> Result<Outward, Failure> {
        let (kind, endpoints) = self.arguments.outward().expect("samples go to sockets");
        let shape = open::shape(self.arguments, kind, endpoints.len(), info)?;
        let sockets = open::sockets(self.arguments, kind, endpoints, &shape)?;
        self.print_sockets(&sockets, &shape);
        let (gaps, items_max) = (self.arguments.gaps, self.arguments.items as usize);
        Ok(Outward::new(shape, gaps, items_max, sockets)?)
    }

    /// The sockets that a stream comes from.
    fn inward(&mut self, info: &StreamInfo) -> Result<Inward, Failure> {
        let (kind, endpoints) = self.arguments.inward().expect("samples come from sockets");
        let shape = open::shape(self.arguments, kind, endpoints.len(), info)?;
        let sockets = open::sockets(self.arguments, kind, endpoints, &shape)?;
        self.print_sockets(&sockets, &shape);
        Ok(Inward::new(shape, sockets)?)
    }

    fn print_sockets(&mut self, sockets: &[Socket], shape: &Shape) {
        for socket in sockets {
            let (kind, format, address) = (socket.kind(), shape.zmq, socket.address());
            let verb = if socket.is_listening() { "listening on" } else { "connecting to" };
            self.console
                .line(format_args!("  {:<10} {format}, {verb} tcp://{address}", kind.as_str()));
            self.sockets.push(SocketEntry {
                kind: kind.as_str(),
                endpoint: socket.name().to_string(),
                address: address.to_string(),
                is_listening: socket.is_listening(),
                format: format.as_str(),
            });
        }
    }
}

/// Carries both directions until they end.
fn carry(
    arguments: &BridgeArguments,
    ways: Ways,
    mut page: Option<Page>,
    console: &mut Console,
    document: &mut Document,
) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::install()?;
    let ending = Ending::new({
        let interrupt = interrupt.clone();
        move || interrupt.signal().is_some()
    });
    console.line(format_args!("carrying samples; Ctrl-C ends"));
    let watches = Watches {
        outward: ways.outward.as_ref().map(|(_, outward)| outward.watch().clone()),
        inward: ways.inward.as_ref().map(|(_, inward)| inward.watch().clone()),
    };
    let (is_device, timeout) = (arguments.listen.is_some(), arguments.timeout);
    let lines = if arguments.json { Lines::Nowhere } else { Lines::Stdout };
    let reporter = |entry, tap| {
        Reporter::new(Console::new(lines, false), interrupt.clone(), is_device, entry, tap)
    };
    let _exported = ways.entries;
    let started = Instant::now();
    let (mut reported, mut reported_at) = (watches.now(), Duration::ZERO);
    let (outward, inward) = std::thread::scope(|scope| {
        let ending = &ending;
        let outward = ways.outward.map(|(tap, outward)| {
            let card = match &tap {
                Tap::Opened(receiver) => arguments.carriage.device_of(receiver.info()),
                Tap::Listens(_) => None,
            };
            let mut report =
                reporter(ways.received, ways.outward_tap).counting(card, ways.host_counts);
            scope.spawn(move || {
                let served = serve_outward(tap, outward, ending, &mut report);
                ending.end();
                Ok::<_, Failure>(report.finish(served?))
            })
        });
        let inward = ways.inward.map(|(spout, inward)| {
            let report = reporter(None, ways.inward_tap);
            scope.spawn(move || {
                let result = send(spout, inward, timeout, ending, report);
                ending.end();
                result
            })
        });
        let mut cadence = Cadence::new(Duration::from_secs(1), started);
        loop {
            std::thread::sleep(PAUSE);
            interrupt.stop_signal(console);
            if let Some(page) = &mut page {
                web::report_failure(page, console);
            }
            let is_over = outward.as_ref().is_none_or(|it| it.is_finished())
                && inward.as_ref().is_none_or(|it| it.is_finished());
            if is_over || cadence.is_due(Instant::now()) {
                let (now, at) = (watches.now(), started.elapsed());
                let interval = interval(&reported, &now, reported_at..at);
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
    let outward: Option<Way> = outward.transpose()?;
    let ways = outward.into_iter().chain(inward.transpose()?).collect();
    Ok(conclude(console, document, ways, &watches.now(), interrupt.signal()))
}

/// Sends once the device takes samples.
fn send(
    spout: Spout,
    inward: Inward,
    timeout: Duration,
    ending: &Ending,
    mut report: Reporter,
) -> Result<Way, Failure> {
    if let Spout::Opened { stream, .. } = &spout {
        let is_ready = wait_ready(stream, timeout, || ending.has_come());
        if !is_ready.map_err(|error| Failure::Play(error.into()))? {
            return Ok(report.not_ready(timeout));
        }
    }
    serve_inward(spout, inward, ending, &mut report)?;
    Ok(report.finish(0))
}

/// The counts of both directions, while they change.
struct Watches {
    outward: Option<Watch>,
    inward: Option<Watch>,
}

/// The counts of both directions at one moment.
struct Moment {
    to_zmq: Option<Carried>,
    from_zmq: Option<Carried>,
}

impl Watches {
    fn now(&self) -> Moment {
        Moment {
            to_zmq: self.outward.as_ref().map(Watch::carried),
            from_zmq: self.inward.as_ref().map(Watch::carried),
        }
    }
}

fn interval(before: &Moment, now: &Moment, time: Range<Duration>) -> json::Interval {
    let flow = |before: Option<Carried>, now: Option<Carried>| {
        before.zip(now).map(|(before, now)| json::Flow::between(&before, &now))
    };
    json::Interval {
        start_s: time.start.as_secs_f64(),
        end_s: time.end.as_secs_f64(),
        to_zmq: flow(before.to_zmq, now.to_zmq),
        from_zmq: flow(before.from_zmq, now.from_zmq),
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
    ways: Vec<Way>,
    carried: &Moment,
    signal: Option<u8>,
) -> Outcome {
    // Only the direction to ZeroMQ leaves any.
    let untaken = ways.iter().map(|way| way.untaken).sum();
    if let Some(to) = &carried.to_zmq {
        summary::print_sockets(console, "to ZeroMQ", to, untaken);
    }
    if let Some(from) = &carried.from_zmq {
        summary::print_sockets(console, "from ZeroMQ", from, 0);
    }
    let errors: Vec<String> = ways.iter().filter_map(|way| way.error.clone()).collect();
    for error in &errors {
        console.error(format_args!("{error}"), None);
    }
    let worst = |all: Outcome, one: Outcome| if all.code() == 0 { one } else { all };
    let mut outcome = ways.iter().map(|way| way.outcome).fold(Outcome::Whole, worst);
    if let (Some(signal), true) = (signal, outcome == Outcome::Whole)
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
        to_zmq: flow(carried.to_zmq),
        from_zmq: flow(carried.from_zmq),
        samples_untaken: untaken,
        sessions: sessions.map(summary::Passed::json).collect(),
        sessions_left_out: ways.iter().map(|way| way.left_out).sum(),
    });
    outcome
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How often the loop checks for work.
const PAUSE: Duration = Duration::from_millis(20);

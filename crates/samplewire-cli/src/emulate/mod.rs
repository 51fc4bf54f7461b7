//! `emulate`: a device in software.

mod metered;
mod parts;
mod play;
mod session;
mod supply;
mod time;
mod underruns;

use std::path::Path;
use std::time::Instant;

use samplewire::device::SampleClock;
use samplewire::format::Format;
use samplewire::source::StreamInfo;
use samplewire::transmitter::Overflow;
use samplewire::{DeviceOptions, Listener};
use samplewire_io::faults::Direction;
use samplewire_io::links::LINKS_MAX;
use samplewire_io::{Links, Xdp};
use samplewire_record::source::SourceSpec;
use samplewire_web::Page;

use crate::arguments::values::Pace;
use crate::arguments::{EmulateArguments, TimeSource};
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::faults::{FaultPair, print_counts};
use crate::figures::{exact, grouped, measured, span};
use crate::interrupt::Interrupt;
use crate::memory::check_window;
use crate::metrics::{self, About};
use crate::outcome::Outcome;
use crate::real_time;
use crate::stream::stream_words;
use crate::web::{self, SentTap};
use crate::wiring::{self, Flow, Wiring};

use parts::{Ending, Part};
use play::Stage;
use session::Player;
use supply::Supply;
use time::StartTime;

/// Serves session after session until it is interrupted.
pub(crate) fn run(arguments: &EmulateArguments) -> Result<Outcome, Failure> {
    let mut console = Console::new(Lines::Stdout, arguments.progress);
    let exporter = wiring::export("emulate", &arguments.metrics, &mut console)?;
    let mut page = web::start_if(&arguments.web, &exporter, &mut console)?;
    let addresses = arguments.listen.iter().map(|text| wiring::address(text));
    let addresses = addresses.collect::<Result<Vec<_>, _>>()?;
    if addresses.len() > LINKS_MAX {
        return Err(Failure::Contradiction(format!("--listen: at most {LINKS_MAX} addresses")));
    }
    let faults = FaultPair::new(&arguments.faults)?;
    let supplies = Supply::of(arguments)?;
    // Opening a source takes time, so options that are invalid even for the smallest packets fail
    // first.
    let windows = supplies.len().max(1) as u32;
    let packet_bytes = |mtu_bytes| arguments.payload.map_or(mtu_bytes, usize::from);
    check_window(arguments.window, windows, packet_bytes(IP_BYTES_MIN))?;
    let sources = supplies.iter().map(Supply::open).collect::<Result<Vec<_>, _>>()?;
    let sends: Vec<_> =
        supplies.iter().zip(&sources).map(|(supply, source)| supply.info(&**source)).collect();
    let plays = arguments.play.as_ref().map(|_| played_info(arguments, sends.first()));
    let plays = plays.transpose()?;
    let udp = arguments.link.apply(arguments.control.udp_options());
    let wiring = match &addresses[..] {
        [address] => Xdp::bind(*address, &udp).map(Wiring::new),
        several => Links::bind(several, &udp).map(Wiring::new),
    };
    let mut wiring = wiring.map_err(|error| Failure::Listen(error.into()))?;
    if let Some(faults) = &faults {
        // With both, data is the side of the sent samples.
        wiring = match sends.is_empty() {
            false => wiring.with_faults(&faults.data, &faults.feedback)?,
            true => wiring.with_faults(&faults.feedback, &faults.data)?,
        };
    }
    check_window(arguments.window, windows, packet_bytes(wiring.link.capabilities().mtu_bytes))?;
    let time = start_time(arguments)?;
    let clock = clock(arguments, &sends, plays.as_ref(), time)?;
    let options = device_options(arguments, !sends.is_empty())?;
    let options = sends.iter().cloned().fold(options, DeviceOptions::sends);
    let options = plays.iter().cloned().fold(options, DeviceOptions::plays);
    let options = clock.into_iter().fold(options, DeviceOptions::clock);
    let device = options.listen_over(wiring.link).map_err(Failure::of_listening)?;
    let ending = Ending::new(Interrupt::install()?);
    let _printed: Vec<_> = supplies
        .iter()
        .zip(&device.listeners)
        .map(|(supply, it)| exporter.registry().add_device(supply.stream, it))
        .collect();
    let granted = match (device.listeners.first(), &device.receive_listener) {
        (Some(transmitter), _) => Some(transmitter.granted().clone()),
        (None, receive_listener) => {
            receive_listener.as_ref().map(|receive_listener| receive_listener.granted().clone())
        }
    };
    let stage = device.receive_listener.map(|receive_listener| {
        let about = About {
            device: device.address,
            // The number of the played stream follows those of the sent streams.
            stream: sends.len() as u16,
            direction: metrics::Direction::Receive,
            info: receive_listener.info().clone(),
        };
        let entry = exporter.registry().add(about, metrics::View::default);
        Stage::open(arguments, receive_listener, entry, clock, ending.clone())
    });
    let mut stage = stage.transpose()?.flatten();
    let addresses: Vec<_> = device.addresses.iter().map(ToString::to_string).collect();
    console.line(format_args!(
        "samplewire {VERSION}: a device, listening on {}",
        addresses.join(", ")
    ));
    print_sends(&mut console, arguments, &supplies, &device.listeners, clock);
    if let Some(info) = &plays {
        print_plays(&mut console, arguments, info, clock);
    }
    if let Some(time) = &time {
        console.line(format_args!("  time       {}", time.words()));
    }
    if let Some(faults) = &faults {
        faults.print(&mut console);
    }
    real_time::print(&mut console, &Vec::from_iter(&granted), true);
    let peers = match (sends.len(), &stage) {
        (0, _) => "a sender",
        (1, None) => "a receiver",
        (_, None) => "receivers",
        (1, Some(_)) => "a receiver and a sender",
        (_, Some(_)) => "receivers and a sender",
    };
    console.line(format_args!("waiting for {peers}; Ctrl-C ends"));
    let failures = page.as_ref().map(|page| page.failures().clone());
    let mut taps = shown(page.as_mut(), &device.listeners, &addresses.join(", "), time);
    if let (Some(page), Some(stage)) = (&mut page, &mut stage) {
        stage.show(page, addresses.join(", "), time);
    }
    let has_several = sends.len() > 1;
    let streams = device.listeners.into_iter().zip(supplies).zip(sources);
    let senders = streams.map(|((listener, supply), source)| {
        let overflow = overflow(arguments, listener.info(), clock);
        let stream = has_several.then_some(supply.stream);
        let faults = wiring.logs.faults.clone().filter(|_| !has_several);
        let (shown, failures) = (taps.next(), failures.clone());
        let ending = ending.clone();
        let player = Player { listener, stream, overflow, faults, ending, shown, failures };
        Part::Sends { player: Box::new(player), supply, source }
    });
    let parts = senders.chain(stage.map(|stage| Part::Plays(Box::new(stage)))).collect();
    let outcome = parts::serve(parts, arguments.once, &ending, &mut console)?;
    wiring::print_bypass(&mut console, &arguments.link, wiring.logs.bypass.as_ref(), true);
    if let Some(log) = wiring.logs.faults.filter(|_| has_several) {
        print_counts(&mut console, "data", &log.counts(Direction::Transmit));
        print_counts(&mut console, "feedback", &log.counts(Direction::Receive));
    }
    Ok(outcome)
}

/// Shows the first streams of a device on a page.
fn shown(
    page: Option<&mut Page>,
    listeners: &[Listener],
    origin: &str,
    time: Option<StartTime>,
) -> impl Iterator<Item = SentTap> + use<> {
    let taps: Vec<_> = page.map_or_else(Vec::new, |page| {
        let listeners = listeners.iter().take(SHOWN_MAX);
        let tap = |listener: &Listener| {
            let (info, stats) = (listener.info(), listener.stats_handle());
            let tap = SentTap::from_device(page, "emulate", origin.to_owned(), info, stats);
            tap.with_time(time.and_then(|time| time.clock_of(info)))
        };
        listeners.map(tap).collect()
    });
    taps.into_iter()
}

/// The time of index 0, if the device states times.
///
/// # Errors
/// The device has no clock, or a slow one.
fn start_time(arguments: &EmulateArguments) -> Result<Option<StartTime>, Failure> {
    let Some(TimeSource::System) = arguments.time_source else { return Ok(None) };
    let refused =
        |words| Err(Failure::Contradiction(format!("--time-source system: with {words}")));
    if matches!(arguments.rate, Some(Pace::Max { .. })) {
        return refused("--rate max the samples have no time");
    }
    if arguments.slow.factor > 1 {
        return refused("--slow the samples have no time of the system");
    }
    Ok(Some(StartTime::read()))
}

/// The clock of a device that plays, states times, or whose streams share one index.
///
/// # Errors
/// It would count two rates.
fn clock(
    arguments: &EmulateArguments,
    sends: &[StreamInfo],
    plays: Option<&StreamInfo>,
    time: Option<StartTime>,
) -> Result<Option<SampleClock>, Failure> {
    if matches!(arguments.rate, Some(Pace::Max { .. })) {
        return Ok(None);
    }
    if let [Some(sent_hz), Some(played_hz)] =
        [sends.first(), plays].map(|info| info.map(StreamInfo::rate_hz))
        && sent_hz != played_hz
    {
        return Err(Failure::Contradiction(format!(
            "the device sends {} and plays {}, but has one clock: use a --chain that keeps the \
             rate, or a device for each stream",
            exact(sent_hz, "S/s"),
            exact(played_hz, "S/s")
        )));
    }
    let of_sent = || sends.first().filter(|_| sends.len() > 1 || time.is_some());
    Ok(plays.or_else(of_sent).map(|info| match time {
        Some(time) => time.start(info),
        None => SampleClock::start(info, Instant::now()).slowed(arguments.slow.factor),
    }))
}

/// The stream that the device plays: as its source, unless the options differ.
fn played_info(
    arguments: &EmulateArguments,
    source: Option<&StreamInfo>,
) -> Result<StreamInfo, Failure> {
    let rate_hz = match arguments.rate {
        Some(Pace::Clock { rate_hz } | Pace::Max { rate_hz: Some(rate_hz) }) => Some(rate_hz),
        Some(Pace::Max { rate_hz: None }) | None => None,
    };
    let format = arguments.format.or(source.map(|info| info.format)).unwrap_or(Format::Sc16);
    let channels = arguments.channels.or(source.map(|info| info.channels)).unwrap_or(1);
    let rate_hz = rate_hz.or(source.map(StreamInfo::rate_hz)).unwrap_or(PLAY_RATE_HZ);
    let mut info = StreamInfo::new(format, channels, rate_hz)?;
    if let Some(name) = arguments.play.as_deref().and_then(Path::file_stem) {
        info.name = name.to_string_lossy().into_owned().into();
    }
    Ok(info)
}

fn overflow(
    arguments: &EmulateArguments,
    info: &StreamInfo,
    clock: Option<SampleClock>,
) -> Overflow {
    match (arguments.rate, clock) {
        (Some(Pace::Max { .. }), _) => Overflow::Wait,
        (_, Some(clock)) => Overflow::Keep(clock),
        (_, None) => Overflow::Lose { rate_hz: info.rate_hz() / f64::from(arguments.slow.factor) },
    }
}

fn device_options(arguments: &EmulateArguments, sends: bool) -> Result<DeviceOptions, Failure> {
    let mut options = DeviceOptions::new()
        .window(arguments.window)
        .carriage(arguments.carriage.carriage())
        .play_jump_max(arguments.play_jump_max)
        .control(arguments.control.control_if(sends)?)
        .real_time(arguments.real_time.options().slow(arguments.slow.factor));
    if let Some(payload_bytes) = arguments.payload {
        options = options.payload_bytes(payload_bytes);
    }
    if let Some(mtu_bytes) = arguments.mtu {
        options = options.mtu(mtu_bytes);
    }
    if let Some(link_bps) = arguments.link_rate {
        options = options.link_bps(link_bps as u64);
    }
    Ok(options)
}

fn print_sends(
    console: &mut Console,
    arguments: &EmulateArguments,
    supplies: &[Supply<'_>],
    listeners: &[Listener],
    clock: Option<SampleClock>,
) {
    let (Some(supply), Some(first)) = (supplies.first(), listeners.first()) else { return };
    for (supply, listener) in supplies.iter().zip(listeners) {
        let stream = stream_words(listener.info());
        match listeners.len() {
            1 => console.line(format_args!("  stream     {stream}")),
            _ => console.line(format_args!("  stream {:<3} {stream}", supply.stream)),
        }
    }
    let info = first.info();
    console.line(format_args!("  source     {}", source_words(supply.spec, info)));
    if let Some(chain) = &arguments.chain {
        console.line(format_args!("  chain      {chain}"));
    }
    let pace = pace_words(overflow(arguments, info, clock));
    console.line(format_args!("  pace       {pace}"));
    let payload = match arguments.payload {
        Some(bytes) => format!("{} bytes", grouped(bytes.into())),
        None => "as much as the path is shown to carry".to_owned(),
    };
    console.line(format_args!("  payload    {payload}"));
    let memory_bytes: usize = listeners.iter().map(Listener::memory_bytes).sum();
    let each = if listeners.len() > 1 { " each" } else { "" };
    console.line(format_args!(
        "  window     {} packets{each}, in {} of memory",
        grouped(arguments.window.into()),
        measured(memory_bytes as f64, "B")
    ));
    wiring::print_buffer(console, first.capabilities(), Flow::Out, true);
}

fn print_plays(
    console: &mut Console,
    arguments: &EmulateArguments,
    info: &StreamInfo,
    clock: Option<SampleClock>,
) {
    let Some(file) = &arguments.play else { return };
    console.line(format_args!("  plays      {}", stream_words(info)));
    console.line(format_args!("  into       {}", file.display()));
    let pace = match clock {
        Some(_) => "its own: index is time, what is not there is an underrun",
        None => "as fast as the sender sends",
    };
    console.line(format_args!("  clock      {pace}"));
}

/// `scene, without end`.
fn source_words(spec: &SourceSpec, info: &StreamInfo) -> String {
    let len = match info.len_samples {
        Some(samples) => {
            let seconds = span(samples as f64 / info.rate_hz());
            format!("{} samples ({seconds})", grouped(samples))
        }
        None => "without end".to_owned(),
    };
    format!("{spec}, {len}")
}

const fn pace_words(overflow: Overflow) -> &'static str {
    match overflow {
        Overflow::Wait => "as fast as the receiver takes it",
        Overflow::Lose { .. } | Overflow::Keep(_) => {
            "that of a converter, which cannot wait: what finds no room is lost"
        }
    }
}

/// Streams on a page: each takes 3 MB.
const SHOWN_MAX: usize = 16;

/// The default rate of a played stream: that of generators.
const PLAY_RATE_HZ: f64 = 20e6;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The smallest IP packet size that a stream can be set to, in bytes.
const IP_BYTES_MIN: usize = 576;

//! `emulate`: a device in software.

mod metered;
mod play;
mod session;
mod underruns;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use samplewire::OpenError;
use samplewire::device::{Device, DeviceConfig, SampleClock};
use samplewire::format::Format;
use samplewire::source::{Source, SourceOptions, SourceSpec, StreamInfo};
use samplewire::transmitter::{Overflow, PlayError, Transmitter, TransmitterOptions};
use samplewire_io::Udp;
use samplewire_proto::SampleIndex;

use crate::arguments::EmulateArguments;
use crate::arguments::values::Pace;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::faults::FaultPair;
use crate::figures::{grouped, measured, span};
use crate::interrupt::Interrupt;
use crate::memory::check_window;
use crate::outcome::Outcome;
use crate::stream::stream_words;
use crate::wiring::{self, Flow, Wiring};

use play::Stage;
use session::Player;

/// Serves session after session until it is interrupted.
pub(crate) fn run(arguments: &EmulateArguments) -> Result<Outcome, Failure> {
    let address = wiring::address(&arguments.listen)?;
    let faults = FaultPair::new(&arguments.faults)?;
    let spec = match (&arguments.source, &arguments.play) {
        (Some(spec), _) => Some(spec),
        (None, None) => Some(&SourceSpec::Scene),
        (None, Some(_)) => None,
    };
    let source = spec.map(|spec| open_source(arguments, spec, 0)).transpose()?;
    let sends = source.as_ref().map(|source| source.info().clone());
    let plays = arguments.play.as_ref().map(|_| played_info(arguments, sends.as_ref()));
    let plays = plays.transpose()?;
    let socket = Udp::bind(address, &wiring::udp_options())
        .map_err(|error| Failure::Listen(error.into()))?;
    let mut wiring = Wiring::new(socket);
    if let Some(faults) = &faults {
        // Of the two, data is what carries samples.
        wiring = match sends {
            Some(_) => wiring.with_faults(&faults.data, &faults.feedback)?,
            None => wiring.with_faults(&faults.feedback, &faults.data)?,
        };
    }
    let mtu_bytes = wiring.link.capabilities().mtu_bytes;
    check_window(arguments.window, arguments.payload.map_or(mtu_bytes, usize::from))?;
    let clock = match (&plays, arguments.rate) {
        (None, _) | (Some(_), Some(Pace::Max { .. })) => None,
        (Some(info), _) => Some(SampleClock::start(info, Instant::now())),
    };
    let config = DeviceConfig { sends: sends.as_ref(), plays: plays.as_ref(), clock };
    let device = Device::listen_over(wiring.link, config, &transmitter_options(arguments))
        .map_err(refused_to_listen)?;
    let interrupt = Interrupt::install()?;
    let stage = device.inlet.map(|inlet| Stage::open(arguments, inlet, clock, interrupt.clone()));
    let stage = stage.transpose()?.flatten();
    let mut console = Console::new(Lines::Stdout, arguments.progress);
    console.line(format_args!("samplewire {VERSION}: a device, listening on {}", device.address));
    let overflow = sends.as_ref().map(|info| overflow(arguments.rate, info, clock));
    if let (Some(overflow), Some(transmitter), Some(spec)) = (overflow, &device.transmitter, spec) {
        print_sends(&mut console, (arguments, spec), transmitter, overflow);
    }
    if let Some(info) = &plays {
        print_plays(&mut console, arguments, info, clock);
    }
    if let Some(faults) = &faults {
        faults.print(&mut console);
    }
    let player = device.transmitter.zip(overflow).map(|(transmitter, overflow)| Player {
        transmitter,
        overflow,
        faults: wiring.logs.faults,
        interrupt,
    });
    let sender = player.zip(spec).zip(source);
    match (sender, stage) {
        (Some(((player, spec), source)), None) => {
            console.line(format_args!("waiting for a receiver; Ctrl-C ends"));
            serve(player, (spec, source), arguments, &mut console)
        }
        (None, Some(stage)) => {
            console.line(format_args!("waiting for a sender; Ctrl-C ends"));
            stage.serve(arguments.once, &mut console)
        }
        (Some(((player, spec), source)), Some(stage)) => {
            console.line(format_args!("waiting for a receiver and a sender; Ctrl-C ends"));
            // One status line is enough.
            let mut words = Console::new(Lines::Stdout, false);
            std::thread::scope(|scope| {
                let given_up = stage.given_up();
                let played = scope.spawn(move || {
                    let played = stage.serve(arguments.once, &mut words);
                    played.unwrap_or_else(|failure| {
                        // The other half goes on, perhaps for long.
                        failure.print();
                        failure.outcome()
                    })
                });
                let sent = serve(player, (spec, source), arguments, &mut console);
                // Relaxed: a flag that is looked at again soon; nothing is ordered by it.
                given_up.store(sent.is_err(), Ordering::Relaxed);
                let played = played.join().expect("playing does not panic");
                sent.map(|sent| if sent == Outcome::Whole { played } else { sent })
            })
        }
        (None, None) => unreachable!("a device sends or plays"),
    }
}

fn serve(
    mut player: Player,
    (spec, mut source): (&SourceSpec, Box<dyn Source>),
    arguments: &EmulateArguments,
    console: &mut Console,
) -> Result<Outcome, Failure> {
    while player.interrupt.signal().is_none() {
        let opened = player.transmitter.wait_session(SESSION_PAUSE).map_err(PlayError::from)?;
        let Some(session) = opened else { continue };
        let played = player.play(&session, &mut *source, console)?;
        let is_used_up = *spec == SourceSpec::Stdin && played.has_source_ended;
        if arguments.once || is_used_up {
            return Ok(played.outcome);
        }
        source = open_source(arguments, spec, played.next_index)?;
    }
    Ok(Outcome::Whole)
}

/// What the device takes: as its source, unless the options say otherwise.
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
        info.name = name.to_string_lossy().into_owned();
    }
    Ok(info)
}

fn open_source(
    arguments: &EmulateArguments,
    spec: &SourceSpec,
    first_index: SampleIndex,
) -> Result<Box<dyn Source>, Failure> {
    let mut options = SourceOptions::new()
        .repeat(arguments.repeat)
        .verify(arguments.verify)
        .first_index(first_index);
    if let Some(Pace::Clock { rate_hz } | Pace::Max { rate_hz: Some(rate_hz) }) = arguments.rate {
        options = options.rate_hz(rate_hz);
    }
    if let Some(format) = arguments.format {
        options = options.format(format);
    }
    if let Some(channels) = arguments.channels {
        options = options.channels(channels);
    }
    Ok(spec.open(&options)?)
}

fn overflow(pace: Option<Pace>, info: &StreamInfo, clock: Option<SampleClock>) -> Overflow {
    match (pace, clock) {
        (Some(Pace::Max { .. }), _) => Overflow::Wait,
        (_, Some(clock)) => Overflow::Keep(clock),
        (_, None) => Overflow::Lose { rate_hz: info.rate_hz() },
    }
}

fn transmitter_options(arguments: &EmulateArguments) -> TransmitterOptions {
    let mut options = TransmitterOptions::new().window(arguments.window);
    if let Some(payload_bytes) = arguments.payload {
        options = options.payload_bytes(payload_bytes);
    }
    if let Some(mtu_bytes) = arguments.mtu {
        options = options.mtu(mtu_bytes);
    }
    if let Some(link_bps) = arguments.link_rate {
        options = options.link_bps(link_bps as u64);
    }
    options
}

/// A value out of range is no trouble of the port.
fn refused_to_listen(error: OpenError) -> Failure {
    match error {
        OpenError::OptionRange { .. } | OpenError::Pool(_) => Failure::Open(error),
        _ => Failure::Listen(error),
    }
}

fn print_sends(
    console: &mut Console,
    (arguments, spec): (&EmulateArguments, &SourceSpec),
    transmitter: &Transmitter,
    overflow: Overflow,
) {
    let info = transmitter.info();
    console.line(format_args!("  stream     {}", stream_words(info)));
    console.line(format_args!("  source     {}", source_words(spec, info)));
    console.line(format_args!("  pace       {}", pace_words(overflow)));
    let payload = match arguments.payload {
        Some(bytes) => format!("{} bytes", grouped(bytes.into())),
        None => "as much as the path is shown to carry".to_owned(),
    };
    console.line(format_args!("  payload    {payload}"));
    console.line(format_args!(
        "  window     {} packets, in {} of memory",
        grouped(arguments.window.into()),
        measured(transmitter.memory_bytes() as f64, "B")
    ));
    wiring::print_buffer(console, transmitter.capabilities(), Flow::Out, true);
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
        Some(_) => "that of its clock: index is time, what is not there is an underrun",
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

/// How often it is looked whether the command was interrupted.
const SESSION_PAUSE: Duration = Duration::from_millis(100);

/// The rate of what is played unless something says otherwise: that of generators.
const PLAY_RATE_HZ: f64 = 20e6;

const VERSION: &str = env!("CARGO_PKG_VERSION");

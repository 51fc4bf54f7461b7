//! `emulate`: a device in software.

mod metered;
mod session;

use std::time::Duration;

use samplewire::OpenError;
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

use session::Player;

/// Serves session after session until it is interrupted.
pub(crate) fn run(arguments: &EmulateArguments) -> Result<Outcome, Failure> {
    let address = wiring::address(&arguments.listen)?;
    let faults = FaultPair::new(&arguments.faults)?;
    let source = open_source(arguments, 0)?;
    let overflow = overflow(arguments.rate, source.info());
    let socket = Udp::bind(address, &wiring::udp_options())
        .map_err(|error| Failure::Listen(error.into()))?;
    let mut wiring = Wiring::new(socket);
    if let Some(faults) = &faults {
        wiring = wiring.with_faults(&faults.data, &faults.feedback)?;
    }
    let mtu_bytes = wiring.link.capabilities().mtu_bytes;
    check_window(arguments.window, arguments.payload.map_or(mtu_bytes, usize::from))?;
    let transmitter =
        Transmitter::listen_over(wiring.link, source.info(), &transmitter_options(arguments))
            .map_err(refused_to_listen)?;
    let interrupt = Interrupt::install()?;
    let mut console = Console::new(Lines::Stdout, arguments.progress);
    print_start(&mut console, arguments, &transmitter, overflow);
    if let Some(faults) = &faults {
        faults.print(&mut console);
    }
    console.line(format_args!("waiting for a receiver; Ctrl-C ends"));
    let player = Player { transmitter, overflow, faults: wiring.logs.faults, interrupt };
    serve(player, source, arguments, &mut console)
}

fn serve(
    mut player: Player,
    mut source: Box<dyn Source>,
    arguments: &EmulateArguments,
    console: &mut Console,
) -> Result<Outcome, Failure> {
    while player.interrupt.signal().is_none() {
        let opened = player.transmitter.wait_session(SESSION_PAUSE).map_err(PlayError::from)?;
        let Some(session) = opened else { continue };
        let played = player.play(&session, &mut *source, console)?;
        let is_used_up = arguments.source == SourceSpec::Stdin && played.has_source_ended;
        if arguments.once || is_used_up {
            return Ok(played.outcome);
        }
        source = open_source(arguments, played.next_index)?;
    }
    Ok(Outcome::Whole)
}

fn open_source(
    arguments: &EmulateArguments,
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
    Ok(arguments.source.open(&options)?)
}

fn overflow(pace: Option<Pace>, info: &StreamInfo) -> Overflow {
    match pace {
        Some(Pace::Max { .. }) => Overflow::Wait,
        Some(Pace::Clock { .. }) | None => Overflow::Lose { rate_hz: info.rate_hz() },
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

fn print_start(
    console: &mut Console,
    arguments: &EmulateArguments,
    transmitter: &Transmitter,
    overflow: Overflow,
) {
    let info = transmitter.info();
    let version = env!("CARGO_PKG_VERSION");
    console.line(format_args!(
        "samplewire {version}: a device, listening on {}",
        transmitter.local_addr()
    ));
    console.line(format_args!("  stream     {}", stream_words(info)));
    console.line(format_args!("  source     {}", source_words(arguments, info)));
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

/// `scene, without end`.
fn source_words(arguments: &EmulateArguments, info: &StreamInfo) -> String {
    let len = match info.len_samples {
        Some(samples) => {
            let seconds = span(samples as f64 / info.rate_hz());
            format!("{} samples ({seconds})", grouped(samples))
        }
        None => "without end".to_owned(),
    };
    format!("{}, {len}", arguments.source)
}

const fn pace_words(overflow: Overflow) -> &'static str {
    match overflow {
        Overflow::Wait => "as fast as the receiver takes it",
        Overflow::Lose { .. } => {
            "that of a converter, which cannot wait: what finds no room is lost"
        }
    }
}

/// How often it is looked whether the command was interrupted.
const SESSION_PAUSE: Duration = Duration::from_millis(100);

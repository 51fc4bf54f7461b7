//! `replay`: sends a recording to a device, which plays it.

mod bursts;
mod json;
mod progress;
mod stop;
mod summary;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use samplewire::source::ReadSamples;
use samplewire::transmitter::{PlayError, SendError, SessionEnd};
use samplewire::{DeviceInfo, SampleIndex, SendOptions, SendStream, Underflow};
use samplewire_io::Xdp;
use samplewire_io::faults::Direction;
use samplewire_record::source::{ConvertingSource, SourceOptions, open_recording};
use samplewire_web::Page;

use crate::arguments::ReplayArguments;
use crate::arguments::values::{At, delivery_words};
use crate::console::Console;
use crate::document;
use crate::failure::Failure;
use crate::faults::{FaultPair, print_counts};
use crate::figures::{exact, grouped, measured, span};
use crate::finishing;
use crate::interrupt::{Interrupt, wait_ready};
use crate::memory::check_window;
use crate::outcome::Outcome;
use crate::probe::Device;
use crate::real_time;
use crate::stream::{path_words, stream_words};
use crate::web::{self, SentTap, ShownSource};
use crate::wiring::{self, Flow, Wiring};

use bursts::Limited;
use json::{Document, Start};
use progress::Progress;
use stop::Stop;
use summary::Summary;

/// Replays, and reports in the requested form.
pub(crate) fn run(arguments: &ReplayArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, arguments.progress, |console, document| {
        replay(arguments, console, document)
    })
}

fn replay(
    arguments: &ReplayArguments,
    console: &mut Console,
    document: &mut Document,
) -> Result<Outcome, Failure> {
    let exporter = wiring::export("replay", &arguments.metrics, console)?;
    let mut page = web::start_if(&arguments.web, &exporter, console)?;
    let address = wiring::address(&arguments.address)?;
    let faults = FaultPair::new(&arguments.faults)?;
    let source = open_source(arguments)?;
    let socket = Xdp::client(address, &arguments.link.apply(arguments.control.udp_options()))
        .map_err(|error| Failure::Open(error.into()))?;
    let mut wiring = Wiring::new(socket);
    if let Some(faults) = &faults {
        wiring = wiring.with_faults(&faults.data, &faults.feedback)?;
    }
    let capabilities = wiring.link.capabilities();
    let packet_bytes = arguments.mtu.unwrap_or(usize::MAX).min(capabilities.mtu_bytes);
    check_window(arguments.window, 1, packet_bytes)?;
    let Wiring { link, logs } = wiring;
    let mut stream = send_options(arguments)?.open_over(link, address)?;
    let started = Instant::now();
    let interrupt = Interrupt::install()?;
    let device = stream.device().expect("this end opened").clone();
    let _printed = exporter.registry().add_opened([], None, Some(&stream));
    let format = source.info().format;
    let mut source = fitted(source, arguments, &device, console)?;
    let first = first_index(arguments, &device);
    announce(arguments, console, document, &stream, &device, first);
    if format != device.format {
        console.line(format_args!("  converted  from {format} to {}", device.format));
    }
    if let Some(faults) = &faults {
        faults.print(console);
    }
    wiring::print_buffer(console, &capabilities, Flow::Out, true);
    real_time::print(console, &[stream.granted()], true);
    let shown = page
        .as_mut()
        .map(|page| SentTap::to_device(page, "replay", &device, stream.stats_handle(), first));
    let progress = Progress::new(started, first, device.frame_bytes(), console, document);
    let mut replay = Replay { arguments, stream: &mut stream, progress, interrupt, page, shown };
    let (stop, end) = replay.run(&mut *source, first)?;
    let sent = replay.progress.finish(replay.stream);
    let snapshot = stream.stats();
    let memory_bytes = stream.memory_bytes();
    let elapsed = started.elapsed();
    let summary = Summary {
        stop,
        sent,
        end,
        snapshot,
        elapsed,
        memory_bytes,
        frame_bytes: device.frame_bytes(),
    };
    let crossed = summary.crossed(&arguments.fail_on);
    let outcome = summary.outcome(&crossed);
    summary.print(console, outcome, &crossed);
    if let Some(faults) = &logs.faults {
        print_counts(console, "data", &faults.counts(Direction::Transmit));
        print_counts(console, "feedback", &faults.counts(Direction::Receive));
    }
    wiring::print_bypass(console, &arguments.link, logs.bypass.as_ref(), true);
    document.end = Some(summary.json(outcome, &crossed));
    if summary.stop.is_error() {
        let text = summary.stop.words();
        console.error(format_args!("{text}"), summary.stop.tip());
        document.error = Some(text);
    }
    Ok(outcome)
}

/// A running replay.
struct Replay<'a> {
    arguments: &'a ReplayArguments,
    stream: &'a mut SendStream,
    progress: Progress<'a>,
    interrupt: Interrupt,
    page: Option<Page>,
    shown: Option<SentTap>,
}

impl Replay<'_> {
    /// Sends all bursts, waits until they are played, and closes.
    fn run(
        &mut self,
        source: &mut dyn ReadSamples,
        first: SampleIndex,
    ) -> Result<(Stop, Option<SessionEnd>), Failure> {
        let timeout = self.arguments.timeout;
        let is_interrupted = || self.progress.stop_signal(&self.interrupt).is_some();
        match wait_ready(self.stream, timeout, is_interrupted) {
            Ok(true) => {}
            Ok(false) => {
                let stop = self.interrupt.signal().map_or(Stop::NoCredit(timeout), Stop::Signal);
                return Ok((stop, None));
            }
            Err(error) => return Ok((Stop::Port(error.to_string()), None)),
        }
        let sent = self.send(source, first);
        let stop = match sent {
            Ok(stop) => stop,
            Err(PlayError::Source(error)) => {
                // The previous samples must still be played.
                self.stream.finish(0).map_err(PlayError::from)?;
                return Err(Failure::of_source(error));
            }
            Err(PlayError::Transmit(SendError::Ended(end))) => {
                return Ok((Stop::Broken(end.end), Some(*end)));
            }
            Err(PlayError::Transmit(error)) => return Ok((Stop::Port(error.to_string()), None)),
        };
        let closed = match stop {
            Stop::Finished => self.stream.finish(0),
            _ => {
                let Self { stream, progress, interrupt, .. } = self;
                let left = || "waiting for the device to close the stream".to_owned();
                let cancel = || stream.cancel();
                finishing::finish(progress.console(), interrupt, left, cancel)
            }
        };
        Ok(match closed {
            Ok(end) => (stop.of_end(end.end), Some(end)),
            Err(error) => (Stop::Port(error.to_string()), None),
        })
    }

    fn send(
        &mut self,
        source: &mut dyn ReadSamples,
        first: SampleIndex,
    ) -> Result<Stop, PlayError> {
        let Self { arguments, stream, progress, interrupt, page, shown } = self;
        let pause = arguments.pause.unwrap_or_default().as_secs_f64();
        let pause_samples = (pause * stream.info().rate_hz()).round() as u64;
        let mut next = first;
        loop {
            if let Some(shown) = shown {
                shown.continue_at(next);
            }
            let mut source = ShownSource::new(source, shown.as_mut());
            let mut burst = Limited::new(&mut source, arguments.burst);
            let stats = stream.stats_handle();
            let on_progress = |index| {
                progress.look(&stats.stats(), index);
                if let Some(page) = page {
                    web::report_failure(page, progress.console());
                }
                progress.stop_signal(interrupt).is_some()
            };
            let end = stream.send_burst(&mut burst, next, on_progress)?;
            progress.burst(next, end);
            next = end;
            if interrupt.signal().is_some() || burst.has_ended() {
                break;
            }
            next += pause_samples;
        }
        if let Some(signal) = interrupt.signal() {
            return Ok(Stop::Signal(signal));
        }
        let stats = stream.stats_handle();
        let mut moved = (0, Instant::now());
        let mut has_stalled = false;
        let is_played = stream.wait_played(next, || {
            let snapshot = stats.stats();
            progress.look(&snapshot, next);
            let position = snapshot.stream.position_of_peer;
            if position != moved.0 {
                moved = (position, Instant::now());
            }
            has_stalled = moved.1.elapsed() > STALL_MAX;
            has_stalled || progress.stop_signal(interrupt).is_some()
        })?;
        Ok(match (is_played, interrupt.signal()) {
            (true, _) => Stop::Finished,
            (false, Some(signal)) => Stop::Signal(signal),
            (false, None) => Stop::Stalled(moved.0),
        })
    }
}

fn open_source(arguments: &ReplayArguments) -> Result<Box<dyn ReadSamples>, Failure> {
    let mut options = SourceOptions::new().repeat(arguments.repeat).verify(arguments.verify);
    let is_raw = samplewire_record::sigmf::Paths::existing(&arguments.file).is_none();
    if is_raw {
        // Raw samples have no rate, and need none: the device's clock sets the pace.
        options = options.rate_hz(RAW_RATE_HZ);
    }
    if let Some(format) = arguments.format {
        options = options.format(format);
    }
    if let Some(channels) = arguments.channels {
        options = options.channels(channels);
    }
    Ok(Box::new(open_recording(&arguments.file, &options)?))
}

/// Converts the source to the device's format.
fn fitted(
    source: Box<dyn ReadSamples>,
    arguments: &ReplayArguments,
    device: &DeviceInfo,
    console: &mut Console,
) -> Result<Box<dyn ReadSamples>, Failure> {
    let info = source.info();
    let file = arguments.file.display();
    if info.channels != device.channels {
        let (has, takes) = (info.channels, device.channels);
        return Err(Failure::Contradiction(format!(
            "{file} has {has} channels, and {} takes {takes}",
            device.address
        )));
    }
    let (rate, device_rate) = (info.rate_hz(), device.rate_hz());
    let is_rate_known = samplewire_record::sigmf::Paths::existing(&arguments.file).is_some();
    if is_rate_known && device_rate > 0.0 && rate != device_rate {
        let (rate, device_rate) = (exact(rate, "S/s"), exact(device_rate, "S/s"));
        console.warn(format_args!("{file} was taken at {rate} and is played at {device_rate}"));
    }
    if info.format == device.format {
        return Ok(source);
    }
    let converted = ConvertingSource::new(source, device.format);
    Ok(Box::new(converted.map_err(|error| {
        Failure::Contradiction(format!("{file} does not fit {}: {error}", device.address))
    })?))
}

fn send_options(arguments: &ReplayArguments) -> Result<SendOptions, Failure> {
    let mut options = SendOptions::new()
        .delivery(arguments.delivery)
        .underflow(arguments.underflow)
        .timeout(arguments.timeout)
        .window(arguments.window)
        .control(arguments.control.control()?)
        .real_time(arguments.real_time.options());
    if let At::Index(index) = arguments.at {
        options = options.start_index(index);
    }
    if let Some(mtu_bytes) = arguments.mtu {
        options = options.mtu(mtu_bytes);
    }
    if let Some(link_bps) = arguments.link_rate {
        options = options.link_bps(link_bps as u64);
    }
    if let Some(owner) = arguments.owner {
        options = options.owner(owner);
    }
    Ok(options)
}

fn first_index(arguments: &ReplayArguments, device: &DeviceInfo) -> SampleIndex {
    match arguments.at {
        At::Index(_) => device.first_index,
        At::After(lead) => {
            device.first_index + (lead.as_secs_f64() * device.rate_hz()).round() as u64
        }
    }
}

/// Prints what was agreed.
fn announce(
    arguments: &ReplayArguments,
    console: &mut Console,
    document: &mut Document,
    stream: &SendStream,
    device: &DeviceInfo,
    first_index: SampleIndex,
) {
    // A clock before 1970 is written as 1970.
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let delivery = delivery_words(arguments.delivery);
    let underflow = match arguments.underflow {
        Underflow::Zeros => "zeros",
        Underflow::Stop => "stop",
    };
    let file = arguments.file.display().to_string();
    let address = device.address;
    console.line(format_args!("samplewire {VERSION}: replaying {file} to {address}"));
    console.line(format_args!("  plays      {}", stream_words(&device.stream_info())));
    console.line(format_args!("  path       {}", path_words(device)));
    let lead = (first_index - device.first_index) as f64 / device.rate_hz().max(f64::MIN_POSITIVE);
    console.line(format_args!(
        "  start      index {first_index}, {} after the opening; underflow: {underflow}",
        span(lead)
    ));
    console.line(format_args!("  delivery   {delivery}"));
    console.line(format_args!(
        "  window     {} packets of {} bytes, {} at the device; {} of memory",
        grouped(arguments.window.into()),
        grouped(device.payload_bytes.into()),
        grouped(device.window.into()),
        measured(stream.memory_bytes() as f64, "B")
    ));
    let window = wiring::granted_window(console, arguments.window, [device]);
    document.start = Some(Start {
        version: VERSION,
        unix_time_s: since_1970.as_secs_f64(),
        device: Device::new(device),
        file,
        delivery,
        underflow,
        first_index,
        window_packets: arguments.window,
        window_packets_requested: arguments.window,
        window_packets_granted: window,
        memory_bytes: stream.memory_bytes(),
        real_time: stream.granted().into(),
    });
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Any rate: nothing depends on it.
const RAW_RATE_HZ: f64 = 1.0;

/// How long a device may stay at one index before the command gives up.
const STALL_MAX: std::time::Duration = std::time::Duration::from_secs(10);

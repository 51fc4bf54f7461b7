//! `record`: a device's stream into a file.

mod gap_lines;
pub(crate) mod json;
mod recording;
mod reporter;
mod stop;
pub(crate) mod summary;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use samplewire::sink::{self, SinkOptions, SinkSummary};
use samplewire::{Receiver, ReceiverOptions};
use samplewire_io::faults::Direction;
use samplewire_io::{Capabilities, Udp};

use crate::account::Account;
use crate::arguments::RecordArguments;
use crate::arguments::values::delivery_words;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::faults::{FaultPair, print_counts};
use crate::figures::{grouped, measured};
use crate::interrupt::Interrupt;
use crate::memory::check_window;
use crate::outcome::Outcome;
use crate::probe::Device;
use crate::stream::{path_words, stream_of, stream_words};
use crate::wiring::{self, Flow, Logs, Wiring};

use json::Start;
use recording::Recording;
use reporter::{Form, Reporter};
use stop::Stop;
use summary::Summary;

/// Records, and tells of it in the form that was asked for.
pub(crate) fn run(arguments: &RecordArguments) -> Result<Outcome, Failure> {
    let is_piped = arguments.file.as_os_str() == "-";
    let lines = if is_piped { Lines::Stderr } else { Lines::Stdout };
    let form = match (arguments.json, arguments.json_stream) {
        (true, _) => Form::Json(Box::default()),
        (false, true) => Form::JsonStream,
        (false, false) => Form::Words,
    };
    let mut reporter = Reporter::new(Console::new(lines, arguments.progress), form);
    let result = record(arguments, &mut reporter);
    if let Err(failure) = &result {
        reporter.error(failure.to_string());
    }
    reporter.finish();
    result
}

fn record(arguments: &RecordArguments, reporter: &mut Reporter) -> Result<Outcome, Failure> {
    let address = wiring::address(&arguments.address)?;
    let faults = FaultPair::new(&arguments.faults)?;
    let socket = Udp::client(address, &wiring::udp_options())
        .map_err(|error| Failure::Open(error.into()))?;
    let mut wiring = Wiring::new(socket);
    if let Some(faults) = &faults {
        wiring = wiring.with_faults(&faults.feedback, &faults.data)?;
    }
    if let Some(path) = &arguments.capture {
        wiring = wiring.with_capture(path, arguments.overwrite)?;
    }
    let capabilities = wiring.link.capabilities();
    let packet_bytes = arguments.mtu.unwrap_or(usize::MAX).min(capabilities.mtu_bytes);
    check_window(arguments.window, packet_bytes)?;
    let Wiring { link, logs } = wiring;
    let mut receiver = Receiver::open_over(link, address, &receiver_options(arguments))?;
    let started = Instant::now();
    // From here on there is something to close.
    let interrupt = Interrupt::install()?;
    announce(arguments, reporter, &receiver, &capabilities, faults.as_ref());
    let info = receiver.info().clone();
    let mut sink = sink::open(&arguments.file, &stream_of(&info), &sink_options(arguments))
        .map_err(Failure::Create)?;
    sink.session(info.boot_id).map_err(Failure::Create)?;
    let mut recording = Recording {
        receiver: &mut receiver,
        sink: &mut *sink,
        reporter,
        interrupt: &interrupt,
        account: Account::new(info.first_index, arguments.nsamps),
        started,
        duration: arguments.duration,
        silence: arguments.timeout,
    };
    let stop = recording.run();
    let account = recording.account;
    let elapsed = started.elapsed();
    let memory_bytes = receiver.memory_bytes();
    let snapshot = receiver.close();
    reporter.interval(elapsed, &account, &snapshot);
    let (stop, files) = match sink.finish() {
        Ok(files) => (stop, files),
        // Of two errors the first says more.
        Err(_) if stop.is_error() => (stop, SinkSummary::default()),
        Err(error) => (Stop::of_sink(error), SinkSummary::default()),
    };
    let frame_bytes = info.frame_bytes();
    let summary = Summary { stop, account, elapsed, snapshot, files, memory_bytes, frame_bytes };
    Ok(conclude(arguments, reporter, &summary, &logs))
}

/// Says how it went.
fn conclude(
    arguments: &RecordArguments,
    reporter: &mut Reporter,
    summary: &Summary,
    logs: &Logs,
) -> Outcome {
    let crossed = summary.crossed(&arguments.fail_on);
    let outcome = summary.outcome(&crossed);
    if let Some(console) = reporter.words() {
        summary.print(console, outcome, &crossed);
        if let Some(faults) = &logs.faults {
            print_counts(console, "data", &faults.counts(Direction::Receive));
            print_counts(console, "feedback", &faults.counts(Direction::Transmit));
        }
    }
    if let (Some(log), Some(path)) = (&logs.capture, &arguments.capture) {
        let is_told = reporter.words().is_some();
        wiring::print_capture(reporter.console(), log, path, is_told);
    }
    reporter.end(summary.json(outcome, &crossed));
    if summary.stop.is_error() {
        let text = summary.stop.words();
        reporter.console().error(format_args!("{text}"), summary.stop.tip());
        reporter.error(text);
    }
    outcome
}

fn receiver_options(arguments: &RecordArguments) -> ReceiverOptions {
    let mut options = ReceiverOptions::new().delivery(arguments.delivery).window(arguments.window);
    if let Some(timeout) = arguments.timeout {
        options = options.timeout(timeout);
    }
    if let Some(mtu_bytes) = arguments.mtu {
        options = options.mtu(mtu_bytes);
    }
    if let Some(owner) = arguments.owner {
        options = options.owner(owner);
    }
    options
}

fn sink_options(arguments: &RecordArguments) -> SinkOptions {
    let options = SinkOptions::new().overwrite(arguments.overwrite).sha512(!arguments.no_hash);
    match arguments.format {
        Some(format) => options.format(format),
        None => options,
    }
}

/// States what was agreed and what is taken.
fn announce(
    arguments: &RecordArguments,
    reporter: &mut Reporter,
    receiver: &Receiver,
    capabilities: &Capabilities,
    faults: Option<&FaultPair>,
) {
    let info = receiver.info();
    // A clock before 1970 is written as 1970.
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let delivery = delivery_words(arguments.delivery);
    let file = arguments.file.display().to_string();
    let start = Start {
        version: VERSION,
        unix_time_s: since_1970.as_secs_f64(),
        device: Device::new(info),
        file: file.clone(),
        delivery: delivery.clone(),
        window_packets: arguments.window,
        memory_bytes: receiver.memory_bytes(),
        receive_buffer_bytes: capabilities.receive_buffer_bytes,
        send_buffer_bytes: capabilities.send_buffer_bytes,
    };
    reporter.start(start, info.rate_hz(), info.frame_bytes());
    let is_told = reporter.words().is_some();
    if let Some(console) = reporter.words() {
        let address = info.address;
        console.line(format_args!("samplewire {VERSION}: recording from {address} to {file}"));
        console.line(format_args!(
            "  stream     {}, from index {}",
            stream_words(&stream_of(info)),
            info.first_index
        ));
        console.line(format_args!("  path       {}", path_words(info)));
        console.line(format_args!("  delivery   {delivery}"));
        console.line(format_args!(
            "  window     {} packets of {} bytes, in {} of memory",
            grouped(arguments.window.into()),
            grouped(info.payload_bytes.into()),
            measured(receiver.memory_bytes() as f64, "B")
        ));
        if let Some(faults) = faults {
            faults.print(console);
        }
    }
    wiring::print_buffer(reporter.console(), capabilities, Flow::In, is_told);
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

//! `record`: records a device's stream into a file.

mod dialer;
pub(crate) mod gap_lines;
pub(crate) mod json;
mod reporter;
mod stop;
pub(crate) mod summary;
mod view;
mod watch;

use std::ffi::OsStr;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use samplewire::format::Format;
use samplewire::receiver::Interleaved;
use samplewire::source::StreamInfo;
use samplewire_io::faults::Direction;
use samplewire_record::chain::ChainSink;
use samplewire_record::recorder::{Recorded, Recorder, RecorderOptions, open_first};
use samplewire_record::sigmf::Notes;
use samplewire_record::sink::{self, SinkOptions, WriteSamples, Writer};

use crate::account;
use crate::arguments::RecordArguments;
use crate::arguments::values::delivery_words;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::faults::{FaultPair, print_counts};
use crate::figures::{grouped, measured};
use crate::finishing::{self, backlog_words};
use crate::host_watch::HostWatch;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::probe::Device;
use crate::real_time;
use crate::stream::{path_words, stream_words};
use crate::web;
use crate::wiring::{self, Flow, Logs};

use dialer::Dialer;
use json::Start;
use reporter::{Form, Reporter};
use stop::Stop;
use summary::Summary;
use view::{OnPage, RecordingView};
use watch::Watch;

/// Records, and reports in the requested form.
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
    let exporter = wiring::export("record", &arguments.metrics, reporter.console())?;
    let page = web::start_if(&arguments.web, &exporter, reporter.console())?;
    let found = match arguments.append {
        true => {
            sink::resumable(&arguments.file, arguments.split.is_some()).map_err(Failure::Create)?
        }
        false => None,
    };
    // The name is checked first, so that no stream is opened for an invalid name.
    sink::check_name(&arguments.file, &sink_options(arguments, None)).map_err(Failure::Create)?;
    let dialer = Dialer::new(arguments, found.as_ref().and_then(|found| found.owner))?;
    let mut host = HostWatch::new();
    let receiver = open_first(&dialer, arguments.timeout, arguments.reconnect)?;
    let started = Instant::now();
    // After this point there is something to close.
    let interrupt = Interrupt::install()?;
    announce(arguments, reporter, &receiver, dialer.faults.as_ref());
    let info = receiver.info();
    let mut notes = Notes::default();
    notes.set_streams(receiver.infos().map(|info| info.stream));
    let options = sink_options(arguments, dialer.owner).notes(notes);
    let sink = open_sink(arguments, &info.stream_info(), &options)?;
    let mut writer = Writer::start(sink, QUEUE_QUANTA)?;
    let memory_bytes = receiver.memory_bytes();
    let options = RecorderOptions::new(started)
        .samples(arguments.nsamps)
        .duration(arguments.duration)
        .silence(arguments.timeout)
        .reconnect(arguments.reconnect)
        .has_disk(!["-", "null"].map(OsStr::new).contains(&arguments.file.as_os_str()))
        .found(found);
    let watch = Watch::new(exporter.registry(), &options.account(info));
    let duration = arguments.duration;
    let shown = page.map(|page| OnPage::new(page, &receiver, &options.account(info)));
    let mut view = RecordingView::new(reporter, &interrupt, watch, &mut host, started, duration)
        .with_device(arguments.carriage.device_of(info))
        .with_page(shown);
    let recorder = Recorder::new(options, info, &mut writer, &mut view);
    let recorded = recorder.run(&dialer, receiver);
    let mut shown = view.into_page();
    let Recorded { mut account, counters: snapshot, silent, info, streams: lanes, .. } = recorded;
    let (drops, host) = host.finish(snapshot.stream.received);
    account.note_host_drops(drops);
    if let Some(shown) = &mut shown {
        shown.host_drops(drops);
    }
    let stop = Stop::of(recorded.stop, &interrupt);
    let elapsed = recorded.stopped - started;
    reporter.interval(elapsed, &account, &snapshot);
    let queue = writer.depth();
    let (backlog, file) = (writer.backlog(), arguments.file.display().to_string());
    let left = || backlog_words(&backlog, &file);
    let (files, error) =
        finishing::finish(reporter.console(), &interrupt, left, || writer.finish());
    let stop = match error {
        // The first of two errors is closer to the cause.
        Some(error) if !stop.is_error() => Stop::of_sink(error),
        _ => stop,
    };
    let frame_bytes = info.frame_bytes();
    let summary = Summary {
        stop,
        balance: account.balance(files.taken_samples()),
        account,
        silent,
        openings: recorded.openings,
        elapsed,
        snapshot,
        lanes,
        host,
        files,
        queue,
        memory_bytes,
        frame_bytes,
    };
    Ok(conclude(arguments, reporter, &summary, &dialer.into_logs()))
}

/// Prints the result and returns the outcome.
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
    let is_text = reporter.words().is_some();
    wiring::print_bypass(reporter.console(), &arguments.link, logs.bypass.as_ref(), is_text);
    if let (Some(log), Some(path)) = (&logs.capture, &arguments.capture) {
        wiring::print_capture(reporter.console(), log, path, is_text);
    }
    reporter.end(summary.json(outcome, &crossed));
    if let Err(defect) = &summary.balance {
        reporter.console().error(format_args!("{}", account::defect_words(defect)), None);
        reporter.error(account::defect_words(defect));
    }
    if summary.stop.is_error() {
        let text = summary.stop.words();
        reporter.console().error(format_args!("{text}"), summary.stop.tip());
        reporter.error(text);
    }
    outcome
}

/// Opens the file, and puts the chain before it if there is one.
fn open_sink(
    arguments: &RecordArguments,
    info: &StreamInfo,
    options: &SinkOptions,
) -> Result<Box<dyn WriteSamples>, Failure> {
    let Some(spec) = &arguments.chain else {
        return sink::open(&arguments.file, info, options).map_err(Failure::Create);
    };
    let behind = ChainSink::info_behind(spec, info)?;
    let sink = sink::open(&arguments.file, &behind, options).map_err(Failure::Create)?;
    Ok(Box::new(ChainSink::start(spec, info, sink)?))
}

/// Returns the format that the options or the file's name state.
fn written_format(arguments: &RecordArguments) -> Option<Format> {
    arguments.format.or_else(|| sink::named_format(&arguments.file))
}

fn sink_options(arguments: &RecordArguments, owner: Option<u64>) -> SinkOptions {
    let mut options = SinkOptions::new()
        .overwrite(arguments.overwrite)
        .append(arguments.append)
        .direct(arguments.direct)
        .compress(arguments.compress.is_some())
        .sha512(!arguments.no_hash);
    if let Some(owner) = owner {
        options = options.owner(owner);
    }
    if let Some(part_bytes) = arguments.split {
        options = options.split(part_bytes);
    }
    match arguments.format {
        Some(format) => options.format(format),
        None => options,
    }
}

/// Reports the agreed parameters and the allocated memory.
fn announce(
    arguments: &RecordArguments,
    reporter: &mut Reporter,
    receiver: &Interleaved,
    faults: Option<&FaultPair>,
) {
    let capabilities = receiver.capabilities();
    let info = receiver.info();
    let infos = receiver.infos();
    let window = wiring::granted_window(reporter.console(), arguments.window, infos);
    let unless_stated = if arguments.chain.is_some() { Format::Fc32 } else { info.format };
    let written = written_format(arguments).unwrap_or(unless_stated);
    // A clock before 1970 is written as 1970.
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let delivery = delivery_words(arguments.delivery);
    let file = arguments.file.display().to_string();
    let start = Start {
        version: VERSION,
        unix_time_s: since_1970.as_secs_f64(),
        device: Device::new(info),
        streams: receiver.infos().map(Device::new).collect(),
        file: file.clone(),
        delivery: delivery.clone(),
        file_format: written.as_str(),
        window_packets: window,
        window_packets_requested: arguments.window,
        window_packets_granted: window,
        memory_bytes: receiver.memory_bytes(),
        receive_buffer_bytes: capabilities.receive_buffer_bytes,
        send_buffer_bytes: capabilities.send_buffer_bytes,
        real_time: vec![receiver.granted().into()],
    };
    reporter.start(start, info.rate_hz(), info.frame_bytes());
    let is_text = reporter.words().is_some();
    if let Some(console) = reporter.words() {
        let address = info.address;
        console.line(format_args!("samplewire {VERSION}: recording from {address} to {file}"));
        console.line(format_args!(
            "  stream     {}, from index {}",
            stream_words(&info.stream_info()),
            info.first_index
        ));
        if receiver.infos().len() > 1 {
            for info in receiver.infos() {
                let words = stream_words(&info.stream_info());
                console.line(format_args!("  stream {:<3} {words}", info.stream));
            }
        }
        console.line(format_args!("  path       {}", path_words(info)));
        wiring::print_carriage(console, arguments.carriage.carriage(), info);
        console.line(format_args!("  delivery   {delivery}"));
        if let Some(chain) = &arguments.chain {
            console.line(format_args!("  chain      {chain}, then {written}"));
        } else if written != info.format {
            console.line(format_args!("  converted  from {} to {written}", info.format));
        }
        console.line(format_args!(
            "  window     {} packets of {} bytes{}, in {} of memory",
            grouped(window.into()),
            grouped(info.payload_bytes.into()),
            if receiver.infos().len() > 1 { " each" } else { "" },
            measured(receiver.memory_bytes() as f64, "B")
        ));
        console.line(format_args!("  queue      up to {QUEUE_QUANTA} quanta before the file"));
        if let Some(faults) = faults {
            faults.print(console);
        }
    }
    wiring::print_buffer(reporter.console(), capabilities, Flow::In, is_text);
    real_time::print(reporter.console(), &[receiver.granted()], is_text);
}

/// The maximum number of quanta that wait for the file; a window of the default size has fewer.
const QUEUE_QUANTA: usize = 512;

const VERSION: &str = env!("CARGO_PKG_VERSION");

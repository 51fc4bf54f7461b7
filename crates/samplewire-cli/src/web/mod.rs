//! `web`: shows a device's streams in a browser. And the pages of other verbs.

mod played;
mod sent;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use samplewire::AlignedStreams;
use samplewire_web::{
    About, Control, Failures, Folder, Page, PageOptions, Process, Recording, Tap, Token,
};

use crate::account;
use crate::arguments::{WebAccess, WebArguments, WebControl, WebOption};
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::finishing;
use crate::host_watch::HostWatch;
use crate::interrupt::{Interrupt, STOP_PAUSE};
use crate::metrics::{Exported, Exporter};
use crate::outcome::Outcome;
use crate::rate::receive::Receiving;
use crate::rate::tally::Received;
use crate::real_time;
use crate::stream::{path_words, stream_words};
use crate::top;
use crate::wiring::{self, Flow};
pub(crate) use played::{PlayedTap, ShownOutput};
pub(crate) use sent::{SentTap, ShownSource};

/// Opens the device, and serves the page until a signal comes or the time is over.
pub(crate) fn run(arguments: &WebArguments) -> Result<Outcome, Failure> {
    let mut console = Console::new(Lines::Stdout, false);
    if let Some(path) = &arguments.recording {
        return show_recording(arguments, path, &mut console);
    }
    let Some(text) = arguments.address.as_deref() else {
        return show_processes(arguments, &mut console);
    };
    let exporter = wiring::export("web", &arguments.metrics, &mut console)?;
    let address = wiring::address(text)?;
    wiring::check_channels(&arguments.channels)?;
    // A page that cannot be served is an error before the device is opened.
    let mut page = start(options(arguments)?)?;
    answer(&page, &exporter);
    let host = HostWatch::new();
    let aligned = open(arguments, address)?;
    let host_counts = Exported::default();
    let exported = Some(host_counts.clone());
    let _printed = exporter.registry().add_opened(aligned.counters(), exported, None);
    let interrupt = Interrupt::install()?;
    announce(arguments, text, &mut console, &aligned);
    let tap = follow(&mut page, "web", &aligned);
    // Printed once the page has the stream: a script may read it at once.
    print(&page, &mut console);
    let receiving =
        Receiving::new(aligned, None, host).counting(None, host_counts).with_tap(Some(tap));
    let received = receive(arguments, receiving, &mut page, &interrupt, &mut console);
    let left = || "completing the files of a recording".to_owned();
    finishing::finish(&mut console, &interrupt, left, || page.finish_recordings());
    report_recordings(&mut page, &mut console);
    Ok(conclude(&received, &interrupt, &mut console))
}

/// Serves the page of a recording until a signal comes or the time is over.
fn show_recording(
    arguments: &WebArguments,
    path: &Path,
    console: &mut Console,
) -> Result<Outcome, Failure> {
    let mut page = start(options(arguments)?)?;
    let _shown = Recording::show(&mut page, path)?;
    serve(arguments, &mut page, console)
}

/// Serves the page of all processes of this user until a signal comes or the time is over.
fn show_processes(arguments: &WebArguments, console: &mut Console) -> Result<Outcome, Failure> {
    let last = Mutex::<Vec<Process>>::default();
    let list = move || {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = top::processes(&last);
        last.clone()
    };
    let mut page = start(options(arguments)?.processes(list))?;
    serve(arguments, &mut page, console)
}

/// Serves a page without a stream of this process until a signal comes or the time is over.
fn serve(
    arguments: &WebArguments,
    page: &mut Page,
    console: &mut Console,
) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::install()?;
    print(page, console);
    let started = Instant::now();
    loop {
        std::thread::sleep(STOP_PAUSE);
        report_failure(page, console);
        if let Some(signal) = interrupt.stop_signal(console).and(interrupt.signal()) {
            return Ok(Outcome::Interrupted { signal });
        }
        if arguments.duration.is_some_and(|it| started.elapsed() >= it) {
            return Ok(Outcome::Whole);
        }
    }
}

/// Receives until the end, which is not that of the stream: the page stays open behind it.
fn receive(
    arguments: &WebArguments,
    receiving: Receiving,
    page: &mut Page,
    interrupt: &Interrupt,
    console: &mut Console,
) -> Received {
    let is_over = AtomicBool::new(false);
    let started = Instant::now();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiving.run(&is_over));
        let (mut has_ended, mut has_failed) = (false, false);
        loop {
            std::thread::sleep(STOP_PAUSE);
            if received.is_finished() && !has_ended {
                has_ended = true;
                console.line(format_args!("the stream has ended; Ctrl-C ends the page"));
            }
            has_failed |= report_failure(page, console);
            report_recordings(page, console);
            let is_late = arguments.duration.is_some_and(|it| started.elapsed() >= it);
            let is_interrupted = interrupt.stop_signal(console).is_some();
            if is_late || is_interrupted || (has_failed && has_ended) {
                // Relaxed: the flag is read again soon, and orders nothing.
                is_over.store(true, Ordering::Relaxed);
                return received.join().expect("receiving does not panic");
            }
        }
    })
}

fn conclude(received: &Received, interrupt: &Interrupt, console: &mut Console) -> Outcome {
    received.print(console);
    if let Some(error) = &received.error {
        console.error(format_args!("{error}"), None);
    }
    let defect = received.balance().err();
    if let Some(defect) = &defect {
        console.error(format_args!("{}", account::defect_words(defect)), None);
    }
    match interrupt.signal() {
        Some(signal) => Outcome::Interrupted { signal },
        None if received.error.is_some() => Outcome::Unreachable,
        None if received.silent.is_some() => Outcome::Incomplete,
        None if received.is_whole() => Outcome::Whole,
        None => Outcome::Missing,
    }
}

fn open(arguments: &WebArguments, address: SocketAddr) -> Result<AlignedStreams, Failure> {
    let options = samplewire::receive()
        .delivery(arguments.delivery)
        .window(arguments.window)
        .timeout(arguments.timeout)
        .udp(arguments.interface.apply(wiring::udp_options()))
        .real_time(arguments.real_time.options())
        .streams(arguments.channels.iter().copied());
    let options = match arguments.mtu {
        Some(bytes) => options.mtu(bytes),
        None => options,
    };
    options.open_aligned(address).map_err(|error| Failure::from(error).counted())
}

fn announce(
    arguments: &WebArguments,
    address: &str,
    console: &mut Console,
    aligned: &AlignedStreams,
) {
    let info = aligned.info();
    let version = env!("CARGO_PKG_VERSION");
    console.line(format_args!("samplewire {version}: showing {address}"));
    for info in aligned.infos() {
        let stream = stream_words(&info.stream_info());
        console.line(format_args!("  stream {:<3} {stream}", info.stream));
    }
    console.line(format_args!("  path       {}", path_words(info)));
    wiring::granted_window(console, arguments.window, aligned.infos());
    wiring::print_buffer(console, aligned.capabilities(), Flow::In, true);
    real_time::print(console, &[aligned.granted()], true);
}

/// Starts the page of a verb: where `--web` requests it, and for this user's `samplewire web`. Returns
/// none without both. Prints the URL, if there is one.
///
/// # Errors
/// [`Failure::Web`]: the page of `--web` cannot be served.
pub(crate) fn start_if(
    option: &WebOption,
    exporter: &Exporter,
    console: &mut Console,
) -> Result<Option<Page>, Failure> {
    let Some(address) = option.address else {
        return Ok(start_local(exporter, console));
    };
    let page = start(PageOptions::new(address).every_sample(option.every_sample))?;
    answer(&page, exporter);
    print(&page, console);
    Ok(Some(page))
}

/// Starts the page that only this user's `samplewire web` reads. The verb goes on without it.
fn start_local(exporter: &Exporter, console: &mut Console) -> Option<Page> {
    if !exporter.is_seen() {
        return None;
    }
    match Page::start(PageOptions::local()) {
        Ok(page) => {
            answer(&page, exporter);
            Some(page)
        }
        Err(error) => {
            console.warn(format_args!("`samplewire web` does not see this: {error}"));
            None
        }
    }
}

/// Lets the socket of this process answer for the page.
fn answer(page: &Page, exporter: &Exporter) {
    let local = page.local().clone();
    exporter.registry().pass_api(move |stream, read| {
        // Without room the connection is closed, and its client tries again.
        let _is_taken = local.take(stream, read);
    });
}

/// Shows received streams on a page.
pub(crate) fn follow(page: &mut Page, verb: &str, aligned: &AlignedStreams) -> Tap {
    page.add(About::device(verb, aligned.infos()), aligned.info().first_index)
}

/// Prints why the page failed, once; returns whether it has.
pub(crate) fn report_failure(page: &mut Page, console: &mut Console) -> bool {
    report(page.failures(), console)
}

/// See [`report_failure`].
pub(crate) fn report(failures: &Failures, console: &mut Console) -> bool {
    let failure = failures.take();
    if let Some(words) = &failure {
        console.warn(format_args!("the page: {words}; the stream goes on"));
    }
    failure.is_some()
}

/// Prints the results of recordings that the page started.
fn report_recordings(page: &mut Page, console: &mut Console) {
    while let Some(words) = page.take_report() {
        console.line(format_args!("{words}"));
    }
}

/// What the page may do; `None` if it only shows.
fn control(options: &WebControl) -> Result<Option<Control>, Failure> {
    if !options.is_allowed {
        return Ok(None);
    }
    let Some(path) = &options.folder else { return Ok(Some(Control::new())) };
    let failed = |source| Failure::Folder { path: path.display().to_string(), source };
    Ok(Some(Control::new().folder(Folder::open(path).map_err(failed)?)))
}

/// The options of `web`.
fn options(arguments: &WebArguments) -> Result<PageOptions, Failure> {
    let WebAccess { token_file, names } = &arguments.access;
    let mut options = PageOptions::new(arguments.listen).every_sample(arguments.every_sample);
    if let Some(control) = control(&arguments.control)? {
        options = options.control(control);
    }
    if let Some(path) = token_file {
        options = options.token(read_token(path)?);
    }
    Ok(names.iter().fold(options, |options, name| options.name(name)))
}

fn start(options: PageOptions) -> Result<Page, Failure> {
    Ok(Page::start(options)?)
}

fn read_token(path: &Path) -> Result<Token, Failure> {
    let failed = |source| Failure::Token { path: path.display().to_string(), source };
    Token::read(path).map_err(failed)
}

fn print(page: &Page, console: &mut Console) {
    console.note(format_args!("page: {}", page.url()));
    let ip = page.address().ip();
    if !ip.is_loopback() {
        console.warn(format_args!(
            "the page is reachable from other hosts at {ip}, without encryption: prefer `ssh -L` to \
             127.0.0.1"
        ));
    }
}

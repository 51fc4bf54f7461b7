//! `switch`: forwards Ethernet frames through the model of the simulator.

mod driver;
pub(crate) mod figures;
mod json;
mod lateness;

use std::time::{Duration, Instant};

use samplewire_io::ether::{Dgram, EtherLink, Tap};
use samplewire_io::{Clock, thread};
use samplewire_proto::Nanos;
use samplewire_sim::{CnpConfig, EtherSwitch, EtherSwitchConfig, Marking, MarkingPoint};

use crate::arguments::{MarkAt, SwitchArguments};
use crate::cadence::Cadence;
use crate::console::Console;
use crate::document;
use crate::failure::Failure;
use crate::figures::{grouped, measured, span};
use crate::interrupt::Interrupt;
use crate::metrics::{Exported, PortFigures};
use crate::outcome::Outcome;
use crate::wiring;

use driver::{Driver, Port};
use json::{Document, End, Interval, Late, Start};
use lateness::Lateness;

/// Forwards, and reports in the requested form.
pub(crate) fn run(arguments: &SwitchArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, arguments.progress, |console, document| {
        forward(arguments, console, document)
    })
}

fn forward(
    arguments: &SwitchArguments,
    console: &mut Console,
    document: &mut Document,
) -> Result<Outcome, Failure> {
    let exporter = wiring::export("switch", &arguments.metrics, console)?;
    let (bps, slow) = (arguments.rate as u64, arguments.slow.factor);
    let marking = marking(arguments, bps)?;
    let config = EtherSwitchConfig {
        buffer_bytes: arguments.buffer,
        marking,
        loss: arguments.loss,
        seed: arguments.seed,
        cnp: cnp(arguments)?,
    };
    let ports = arguments.taps.len() + arguments.dgrams.len();
    if ports > PORTS_MAX {
        return Err(Failure::Contradiction(format!(
            "{ports} ports: a switch has {PORTS_MAX} at most"
        )));
    }
    // Before a device is made.
    let switch = EtherSwitch::new(config, &vec![bps; ports])?;
    let mut links: Vec<Box<dyn EtherLink>> = Vec::new();
    for name in &arguments.taps {
        links.push(Box::new(Tap::open(name)?));
    }
    for address in &arguments.dgrams {
        links.push(Box::new(Dgram::open(address)?));
    }
    let interrupt = Interrupt::install()?;
    // Of this thread: by default the kernel lets its sleeps end up to 50 us late.
    thread::set_timer_slack(TIMER_SLACK)?;
    let clock = Clock::start(slow);
    let ports = links.into_iter().map(|link| Port::new(link, bps)).collect();
    let driver = Driver::new(switch, ports, clock, slow).map_err(std::io::Error::from)?;
    let mut run = Run { arguments, driver, clock, bps, started: Instant::now() };
    let before = figures::look(&mut run.driver)?;
    announce(arguments, console, document, &before, marking);
    let exported = Exported::new(before.clone());
    exporter.registry().add_switch(exported.clone());
    run.watch(console, document, &interrupt, &exported, before)?;
    let last = figures::look(&mut run.driver)?;
    conclude(console, document, &last, &run.driver.late);
    Ok(Outcome::Whole)
}

/// A running switch.
struct Run<'a> {
    arguments: &'a SwitchArguments,
    driver: Driver,
    clock: Clock,
    bps: u64,
    started: Instant,
}

impl Run<'_> {
    /// Forwards until the time is over or a signal comes; reports each second.
    fn watch(
        &mut self,
        console: &mut Console,
        document: &mut Document,
        interrupt: &Interrupt,
        exported: &Exported<Vec<PortFigures>>,
        mut before: Vec<PortFigures>,
    ) -> Result<(), Failure> {
        let mut export = Cadence::new(EXPORT_PERIOD, self.started);
        let mut report = Cadence::new(REPORT_PERIOD, self.started);
        let mut reported_at = self.started;
        loop {
            let now = Instant::now();
            let is_done = self.driver.turn(self.clock.time_of(now))?;
            let elapsed = now - self.started;
            let is_over = self.arguments.duration.is_some_and(|duration| elapsed >= duration)
                || interrupt.stop_signal(console).is_some();
            // Also between two turns of an overloaded switch, which never gets to the end of what is
            // due.
            if is_over || export.is_due(now) {
                let figures = figures::look(&mut self.driver)?;
                exported.set(figures.clone());
                if is_over || report.is_due(now) {
                    let span = (now - reported_at) / self.arguments.slow.factor;
                    let ports = figures::interval(&before, &figures, self.bps, span);
                    self.report(console, now, &figures::words(&figures, &ports, self.bps));
                    document.push_interval(Interval {
                        start_s: (reported_at - self.started).as_secs_f64(),
                        end_s: elapsed.as_secs_f64(),
                        ports,
                    });
                    (before, reported_at) = (figures, now);
                }
            }
            if is_over {
                return Ok(());
            }
            if is_done {
                self.driver.wait(WAIT_MAX).map_err(std::io::Error::from)?;
            }
        }
    }

    /// The line of a second: in place on a terminal.
    fn report(&self, console: &mut Console, now: Instant, words: &str) {
        let elapsed = span((now - self.started).as_secs_f64());
        if console.has_status() {
            console.status(&format!("{elapsed}: {words}"));
        } else {
            console.line(format_args!("{elapsed:>8}  {words}"));
        }
    }
}

/// The marks that the options ask for.
fn marking(arguments: &SwitchArguments, bps: u64) -> Result<Option<Marking>, Failure> {
    let preset = Marking::samplewire(bps);
    let at = match arguments.mark {
        MarkAt::Enqueue => MarkingPoint::Enqueue,
        MarkAt::Dequeue => MarkingPoint::Dequeue,
        MarkAt::None => {
            let given = [
                (arguments.kmin.is_some(), "--kmin"),
                (arguments.kmax.is_some(), "--kmax"),
                (arguments.pmax.is_some(), "--pmax"),
            ];
            return match given.iter().find(|(is_given, _)| *is_given) {
                Some((_, option)) => Err(Failure::Contradiction(format!(
                    "--mark none marks nothing: leave {option} out"
                ))),
                None => Ok(None),
            };
        }
    };
    Ok(Some(Marking {
        at,
        min_bytes: arguments.kmin.unwrap_or(preset.min_bytes),
        max_bytes: arguments.kmax.unwrap_or(preset.max_bytes),
        probability_max: arguments.pmax.unwrap_or(preset.probability_max),
    }))
}

/// The congestion notifications that the options ask for.
fn cnp(arguments: &SwitchArguments) -> Result<Option<CnpConfig>, Failure> {
    let SwitchArguments { proxy_cnp, cnp_above, cnp_interval, mark, .. } = *arguments;
    if proxy_cnp && mark == MarkAt::None {
        return Err(Failure::Contradiction(
            "--mark none marks nothing: leave --proxy-cnp out".to_owned(),
        ));
    }
    let config = CnpConfig {
        proxies: proxy_cnp,
        above_bps: cnp_above.map(|bps| bps as u64),
        interval: Nanos(u64::try_from(cnp_interval.as_nanos()).unwrap_or(u64::MAX)),
    };
    Ok((proxy_cnp || cnp_above.is_some()).then_some(config))
}

fn announce(
    arguments: &SwitchArguments,
    console: &mut Console,
    document: &mut Document,
    ports: &[PortFigures],
    marking: Option<Marking>,
) {
    let names: Vec<String> = ports.iter().map(|port| port.name.clone()).collect();
    let (rate, slow) = (measured(arguments.rate, "b/s"), arguments.slow.factor);
    console.line(format_args!("samplewire {VERSION}: a switch of {} ports", names.len()));
    console.line(format_args!("  ports      {}", names.join(", ")));
    match slow {
        1 => console.line(format_args!("  rate       {rate} each")),
        _ => console.line(format_args!(
            "  rate       {rate} each, {slow} times slower: {} of the host",
            measured(arguments.rate / f64::from(slow), "b/s")
        )),
    }
    console.line(format_args!("  buffer     {} bytes", grouped(arguments.buffer)));
    if let Some(Marking { min_bytes, max_bytes, probability_max, at }) = marking {
        let (min, max) = (measured(min_bytes as f64, "B"), measured(max_bytes as f64, "B"));
        let at = at_words(at);
        console.line(format_args!(
            "  marks      from {min} of queue, {probability_max} at {max}, all above; at {at}"
        ));
    }
    if arguments.proxy_cnp {
        console.line(format_args!("  CNPs       for receivers that send none"));
    }
    if let Some(bps) = arguments.cnp_above {
        console.line(format_args!("  CNPs       to flows above {}", measured(bps, "b/s")));
    }
    if arguments.loss > 0.0 {
        console.line(format_args!("  loses      {} of all frames", arguments.loss));
    }
    console.line(format_args!("forwarding; Ctrl-C ends"));
    document.start = Some(Start {
        version: VERSION,
        ports: names,
        rate_bps: arguments.rate as u64,
        slow,
        buffer_bytes: arguments.buffer,
        marking: marking.map(|marking| json::Marking {
            at: at_words(marking.at),
            kmin_bytes: marking.min_bytes,
            kmax_bytes: marking.max_bytes,
            pmax: marking.probability_max,
        }),
        loss: arguments.loss,
        seed: arguments.seed,
        proxy_cnp: arguments.proxy_cnp,
        cnp_above_bps: arguments.cnp_above.map(|bps| bps as u64),
        cnp_interval_ns: arguments.cnp_interval.as_nanos() as u64,
    });
}

fn conclude(
    console: &mut Console,
    document: &mut Document,
    ports: &[PortFigures],
    late: &Lateness,
) {
    figures::print(console, ports);
    let [p50, p99, max] = [late.at(0.5), late.at(0.99), late.max()];
    console.line(format_args!(
        "lateness of frames: half within {}, 99 % within {}, all within {}",
        span(p50.as_secs_f64()),
        span(p99.as_secs_f64()),
        span(max.as_secs_f64())
    ));
    let ns = |time: Duration| time.as_nanos() as u64;
    document.end = Some(End {
        result: Outcome::Whole.as_str(),
        exit_status: Outcome::Whole.code(),
        ports: ports.iter().map(Into::into).collect(),
        late: Late { p50_ns: ns(p50), p99_ns: ns(p99), max_ns: ns(max) },
    });
}

const fn at_words(at: MarkingPoint) -> &'static str {
    match at {
        MarkingPoint::Enqueue => "enqueue",
        MarkingPoint::Dequeue => "dequeue",
    }
}

/// How late a frame may leave by the kernel's choice.
const TIMER_SLACK: Duration = Duration::from_micros(1);

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A frame for an unknown station is copied to every port.
const PORTS_MAX: usize = 64;

/// How old exported counters are.
const EXPORT_PERIOD: Duration = Duration::from_millis(100);

const REPORT_PERIOD: Duration = Duration::from_secs(1);

/// How soon a signal, or the end of the time, is noticed.
const WAIT_MAX: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, BorrowedFd};
    use std::os::unix::net::UnixDatagram;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use clap::Parser;
    use samplewire_io::ether::EtherError;
    use samplewire_proto::Nanos;

    use super::*;
    use crate::console::Lines;

    /// A link on which the next frame is always there, and that sees what is exported by then.
    struct Endless {
        socket: UnixDatagram,
        exported: Exported<Vec<PortFigures>>,
        has_seen_counts: Arc<AtomicBool>,
    }

    impl EtherLink for Endless {
        fn name(&self) -> &str {
            "endless"
        }

        fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
            let has_counts = self.exported.get().iter().any(|port| port.counts.frames_in > 0);
            self.has_seen_counts.fetch_or(has_counts, Ordering::Relaxed);
            into[..60].fill(0x02);
            Ok(Some(60))
        }

        fn send(&mut self, _frame: &[u8]) -> Result<bool, EtherError> {
            Ok(true)
        }

        fn flush(&mut self) -> Result<bool, EtherError> {
            Ok(true)
        }

        fn forget(&mut self) -> usize {
            0
        }

        fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
            Ok(None)
        }
    }

    impl AsFd for Endless {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.socket.as_fd()
        }
    }

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: SwitchArguments,
    }

    #[test]
    fn overloaded_switch_exports_and_reports_what_it_has_got_to() {
        let line = "x --tap a --tap b --rate 10T --duration 500ms";
        let arguments = Line::try_parse_from(line.split(' ')).expect("a switch").arguments;
        let bps = arguments.rate as u64;
        let config = EtherSwitchConfig {
            buffer_bytes: 1 << 20,
            marking: None,
            loss: 0.0,
            seed: 1,
            cnp: None,
        };
        let switch = EtherSwitch::new(config, &[bps; 2]).unwrap();
        let exported = Exported::new(Vec::new());
        let has_seen_counts = Arc::new(AtomicBool::new(false));
        let port = || {
            let link = Endless {
                socket: UnixDatagram::unbound().unwrap(),
                exported: exported.clone(),
                has_seen_counts: Arc::clone(&has_seen_counts),
            };
            Port::new(Box::new(link), bps)
        };
        let clock = Clock::start(1);
        let driver = Driver::new(switch, vec![port(), port()], clock, 1).unwrap();
        let mut run = Run { arguments: &arguments, driver, clock, bps, started: Instant::now() };
        let (mut console, mut document) =
            (Console::new(Lines::Nowhere, false), Document::default());
        let before = figures::look(&mut run.driver).unwrap();
        let interrupt = Interrupt::of(&[]).unwrap();
        run.watch(&mut console, &mut document, &interrupt, &exported, before).unwrap();
        assert!(!run.driver.turn(Nanos(u64::MAX)).unwrap(), "more is always due");
        assert!(has_seen_counts.load(Ordering::Relaxed), "they are exported while it runs");
        assert!(document.intervals.iter().all(|it| it.ports[0].bytes_in > 0));
        assert!(!document.intervals.is_empty());
    }
}

//! `nic rate`: the throughput of frames that come back.

use samplewire_io::ether::FrameReceive;
use samplewire_proto::Nanos;
use samplewire_proto::block::trial::Order;
use samplewire_proto::block::{Bursts, Scheme};
use serde::Serialize;

use super::counts::judge;
use super::exchange::{Exchange, Exchanger};
use super::link::{Link, Role};
use super::order::Orders;
use super::probe::Probes;
use super::scheme::scheme;
use super::{NicError, check_sizes, mac_words, print_link};
use crate::arguments::{NicCount, NicRateArguments};
use crate::console::Console;
use crate::document::{self, Report};
use crate::failure::Failure;
use crate::figures::{grouped, measured, span};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

/// The JSON of a measurement. Fields are added in later versions, never changed.
#[derive(Debug, Default, Serialize)]
struct Rate {
    link: String,
    peer: String,
    memory_bytes: usize,
    scheme: u8,
    points: Vec<Point>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// One size.
#[derive(Debug, Serialize)]
struct Point {
    /// Behind Ethernet's header.
    bytes: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ns: Option<u64>,
    sent: u64,
    returned: u64,
    lost: u64,
    /// `None` where a board counts what comes back.
    wrong: Option<u64>,
    duplicate: Option<u64>,
    seconds: f64,
    /// Of frames that came back, behind their headers.
    bits_per_second: f64,
}

impl Report for Rate {
    fn fail(&mut self, words: String) {
        self.error = Some(words);
    }
}

pub(super) fn run(arguments: &NicRateArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, false, |console, report: &mut Rate| {
        let interrupt = Interrupt::install()?;
        let mut link = Link::open(&arguments.link, Role::Sender, FrameReceive::Calls)?;
        check_sizes(&link, &arguments.sizes)?;
        let scheme = scheme(&arguments.scheme);
        if arguments.by_board {
            let frames = arguments.count;
            let is_right = |&size: &u16| Order { run: 0, scheme, frames, size }.is_in_range();
            if !arguments.sizes.iter().all(is_right) {
                return Err(NicError::BeyondBoard.into());
            }
            let not_counted = [NicCount::Wrong, NicCount::Duplicate];
            if let Some(limit) =
                arguments.fail_on.iter().find(|limit| not_counted.contains(&limit.subject))
            {
                return Err(NicError::NotCounted(limit.subject.as_str()).into());
            }
        }
        let mut orders = arguments.by_board.then(Orders::new);
        let mut exchanger = Exchanger::new(arguments.count);
        report.link = arguments.link.link.to_string();
        (report.peer, report.memory_bytes) = (mac_words(arguments.peer), link.memory_bytes());
        report.scheme = scheme.number();
        print_link(console, &report.link, &link, arguments.peer);
        console.line(format_args!(
            "{:>6} {:>6} {:>9} {:>11} {:>10} {:>10} {:>6} {:>6} {:>9}",
            "bytes",
            "burst",
            "delay",
            "throughput",
            "sent",
            "returned",
            "lost",
            "wrong",
            "duplicate"
        ));
        for &size in &arguments.sizes {
            let probes = Probes::pattern(link.mac(), arguments.peer, size.into());
            let count = arguments.count;
            let mut run = |scheme| match &mut orders {
                Some(orders) => {
                    let run = super::random() as u32;
                    let order = Order { run, scheme, frames: count, size };
                    orders.run(&mut link, arguments.peer, order, &interrupt)
                }
                None => exchanger.run(&mut link, &probes, scheme, count, &interrupt),
            };
            let scheme = match arguments.search {
                true => search(scheme, &mut run)?,
                false => scheme,
            };
            let exchange = run(scheme)?;
            if let Some(signal) = interrupt.stop_signal(console) {
                return Ok(Outcome::Interrupted { signal });
            }
            let point = Point::new(size, scheme, &exchange, arguments.by_board);
            print(&point, console);
            report.points.push(point);
        }
        link.print_faults(console);
        if report.points.iter().all(|point| point.returned + point.wrong.unwrap_or(0) == 0) {
            return Err(NicError::NothingBack(arguments.peer).into());
        }
        let sum = |count: fn(&Point) -> u64| report.points.iter().map(count).sum();
        let counts = [
            (NicCount::Lost, sum(|point| point.lost)),
            (NicCount::Wrong, sum(|point| point.wrong.unwrap_or(0))),
            (NicCount::Duplicate, sum(|point| point.duplicate.unwrap_or(0))),
        ];
        Ok(judge(console, &arguments.fail_on, &counts))
    })
}

impl Point {
    fn new(bytes: u16, scheme: Scheme, exchange: &Exchange, by_board: bool) -> Self {
        let (burst, delay) = scheme.setting();
        let counted = |count: u64| (!by_board).then_some(count);
        Self {
            bytes,
            burst,
            delay_ns: delay.map(|delay| delay.0),
            sent: exchange.sent,
            returned: exchange.returned,
            lost: exchange.lost(),
            wrong: counted(exchange.wrong),
            duplicate: counted(exchange.duplicate),
            seconds: exchange.time.as_secs_f64(),
            bits_per_second: exchange.bits_per_second(),
        }
    }
}

fn print(point: &Point, console: &mut Console) {
    let burst = point.burst.map_or("-".to_owned(), |burst| burst.to_string());
    let delay = point.delay_ns.map_or("-".to_owned(), |ns| span(ns as f64 / 1e9));
    let counted = |count: Option<u64>| count.map_or("-".to_owned(), grouped);
    console.line(format_args!(
        "{:>6} {burst:>6} {delay:>9} {:>11} {:>10} {:>10} {:>6} {:>6} {:>9}",
        point.bytes,
        measured(point.bits_per_second, "b/s"),
        grouped(point.sent),
        grouped(point.returned),
        grouped(point.lost),
        counted(point.wrong),
        counted(point.duplicate),
    ));
}

/// Finds the fastest setting of a scheme that loses no frame: the shortest delay of scheme 1, else the
/// longest burst. It has to hold in a second trial.
///
/// # Errors
/// The link broke, or every setting loses frames.
fn search(
    scheme: Scheme,
    run: &mut impl FnMut(Scheme) -> Result<Exchange, Failure>,
) -> Result<Scheme, Failure> {
    let setting = |step: u32| match scheme {
        // From 1 ms down to 61 ns, each half of the one before, and then none.
        Scheme::Delay(_) if step == DELAY_STEPS => Scheme::Delay(Nanos(0)),
        Scheme::Delay(_) => Scheme::Delay(Nanos(DELAY_MAX.0 >> step)),
        Scheme::Bursts(Bursts { gap, .. }) => Scheme::Bursts(Bursts { frames: step + 1, gap }),
        Scheme::Returns(_) => Scheme::Returns(step + 1),
    };
    let steps = if matches!(scheme, Scheme::Delay(_)) { DELAY_STEPS + 1 } else { BURSTS };
    let mut loses_none = |step| -> Result<bool, Failure> {
        for _ in 0..TRIALS {
            let exchange = run(setting(step))?;
            if exchange.returned < exchange.sent || exchange.sent == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    };
    // Longer bursts and shorter delays lose no fewer frames: bisection.
    let (mut good, mut bad) = (0, steps);
    if !loses_none(good)? {
        return Err(NicError::AlwaysLost(scheme.number()).into());
    }
    while bad - good > 1 {
        let middle = good.midpoint(bad);
        if loses_none(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(setting(good))
}

const DELAY_MAX: Nanos = Nanos::from_millis(1);
const DELAY_STEPS: u32 = 15;

/// The longest burst is that of 256 frames.
const BURSTS: u32 = 256;

/// How often a setting is tried.
const TRIALS: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    /// A link that loses frames beyond a setting.
    fn found(scheme: Scheme, is_lossless: impl Fn(Scheme) -> bool) -> Result<Scheme, String> {
        let mut run = |scheme| {
            let returned = if is_lossless(scheme) { 10 } else { 9 };
            Ok(Exchange { sent: 10, returned, ..Exchange::default() })
        };
        search(scheme, &mut run).map_err(|error| error.to_string())
    }

    #[test]
    fn search_finds_the_edge_of_loss() {
        let bursts = Bursts { frames: 1, gap: Nanos(100_000) };
        for edge in [1, 2, 17, 255, 256] {
            let is_lossless = |scheme: Scheme| scheme.setting().0 <= Some(edge);
            assert_eq!(found(Scheme::Returns(9), is_lossless), Ok(Scheme::Returns(edge)));
            let expected = Scheme::Bursts(Bursts { frames: edge, ..bursts });
            assert_eq!(found(Scheme::Bursts(bursts), is_lossless), Ok(expected));
        }
        let is_lossless = |scheme: Scheme| scheme.setting().1 >= Some(Nanos(8_000));
        let delay = |ns| Ok(Scheme::Delay(Nanos(ns)));
        assert_eq!(found(Scheme::Delay(Nanos(5)), is_lossless), delay(15_625));
        assert_eq!(found(Scheme::Delay(Nanos(5)), |_| true), delay(0));
        let error = found(Scheme::Returns(9), |_| false).unwrap_err();
        assert!(error.contains("scheme 3"), "{error}");
    }
}

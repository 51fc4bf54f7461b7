//! `demo`: a device and a receiver in one process, over a wire that loses packets.

mod colors;
mod comparison;
mod device;
mod picture;
mod screen;
mod spectrum;
mod verdict;

use std::time::{Duration, Instant};

use samplewire::{Block, ReceiveOptions, ReceiveStream};
use samplewire_io::FaultLog;
use samplewire_io::faults::Direction;
use samplewire_proto::stream::End;
use samplewire_record::account::Account;

use crate::arguments::DemoArguments;
use crate::arguments::values::delivery_words;
use crate::cadence::Cadence;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::figures::{grouped, measured};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::stream::{path_words, stream_words};
use crate::wiring;

use comparison::Comparison;
use device::{Device, scene};
use screen::{Frame, Screen};
use spectrum::Spectrum;
use verdict::Verdict;

/// Streams for a while and accounts for every index.
pub(crate) fn run(arguments: &DemoArguments) -> Result<Outcome, Failure> {
    let mut console = Console::new(Lines::Stdout, false);
    let exporter = wiring::export("demo", &arguments.metrics, &mut console)?;
    let interrupt = Interrupt::install()?;
    // Created before the stream is open: it takes longer than the window lasts.
    let comparison = Comparison::new(scene(arguments)?);
    let device = Device::start(arguments, &interrupt, exporter.registry())?;
    let options = ReceiveOptions::new().delivery(arguments.delivery).window(WINDOW);
    let opened = options.open(device.address);
    let mut receiver = match opened {
        Ok(receiver) => receiver,
        Err(error) => {
            device.finish()?;
            return Err(error.into());
        }
    };
    let _entries = exporter.registry().add_opened([receiver.counters()], None, None);
    print_start(&mut console, arguments, &device, &receiver);
    let first_index = receiver.info().first_index;
    let mut show =
        Show { account: Account::new(first_index, None), comparison, spectrum: Spectrum::new() };
    let end = show.run(&mut receiver, &device.faults, arguments, &mut console)?;
    let snapshot = receiver.close();
    let faults = device.faults.clone();
    let Some(played) = device.finish()? else { return Ok(Outcome::Unreachable) };
    let Show { account, comparison, .. } = &show;
    let (account, mismatch) = (account, comparison.mismatch());
    let wire = faults.counts(Direction::Transmit);
    let verdict = Verdict { account, snapshot: &snapshot, played: &played, end, mismatch, wire };
    verdict.print(&mut console, &faults);
    Ok(conclude(&mut console, &verdict, &interrupt))
}

/// The state of a running demonstration.
struct Show {
    account: Account,
    comparison: Comparison,
    spectrum: Spectrum,
}

impl Show {
    /// Receives until the stream ends; returns how it ended, unless the port failed.
    fn run(
        &mut self,
        receiver: &mut ReceiveStream,
        faults: &FaultLog,
        arguments: &DemoArguments,
        console: &mut Console,
    ) -> Result<Option<End>, Failure> {
        let mut screen = Screen::new(arguments.rate);
        let started = Instant::now();
        let mut cadence = Cadence::new(screen.period(), started);
        while receiver.end().is_none() {
            match receiver.next_within(PAUSE_MAX) {
                Ok(Some(block)) => self.take(&block)?,
                Ok(None) => {}
                Err(_) => break,
            }
            let now = Instant::now();
            if cadence.is_due(now) {
                let frame = Frame {
                    elapsed: now - started,
                    account: &self.account,
                    snapshot: &receiver.stats(),
                    faults: &faults.counts(Direction::Transmit),
                    frame_bytes: receiver.info().frame_bytes(),
                };
                screen.draw(console, self.spectrum.levels(), &frame);
            }
        }
        match receiver.end() {
            Some(Ok(end)) => Ok(Some(*end)),
            _ => Ok(None),
        }
    }

    /// Accounts for a block and compares its samples.
    fn take(&mut self, block: &Block) -> Result<(), Failure> {
        for gap in block.gaps() {
            self.account.take_gap(&gap.into(), false);
            self.comparison.skip(gap.count()).map_err(Failure::of_source)?;
        }
        self.account.take_samples(block.index(), block.len());
        self.comparison.take(block.index(), block.bytes()).map_err(Failure::of_source)?;
        self.spectrum.take(block.bytes());
        Ok(())
    }
}

fn print_start(
    console: &mut Console,
    arguments: &DemoArguments,
    device: &Device,
    receiver: &ReceiveStream,
) {
    let version = env!("CARGO_PKG_VERSION");
    let info = receiver.info();
    console.line(format_args!(
        "samplewire {version}: a device and a receiver, over UDP on the loopback interface"
    ));
    console.line(format_args!("  stream     {}", stream_words(&info.stream_info())));
    console.line(format_args!("  path       {}", path_words(info)));
    console.line(format_args!(
        "  faults     each way 1 % lost, 1 % reordered, 0.1 % corrupted, 0.1 % doubled"
    ));
    console.line(format_args!("  seed       {}", arguments.seed));
    console.line(format_args!("  delivery   {}", delivery_words(arguments.delivery)));
    console.line(format_args!(
        "  window     {} packets of {} bytes",
        grouped(info.window.into()),
        grouped(info.payload_bytes.into())
    ));
    console.line(format_args!(
        "  memory     {} in the device, {} in the receiver",
        measured(device.memory_bytes as f64, "B"),
        measured(receiver.memory_bytes() as f64, "B")
    ));
}

fn conclude(console: &mut Console, verdict: &Verdict<'_>, interrupt: &Interrupt) -> Outcome {
    let faults = verdict.faults();
    for fault in &faults {
        console.line(format_args!("it does not hold: {fault}"));
    }
    if !faults.is_empty() {
        return Outcome::Missing;
    }
    console.line(format_args!(
        "\nit holds: every index is delivered once, or missing with its cause,"
    ));
    console.line(format_args!("and every sample that was delivered is as it was sent"));
    interrupt.signal().map_or(Outcome::Whole, |signal| Outcome::Interrupted { signal })
}

/// In packets: 0.29 s of the default rate, so that a busy machine loses nothing at the source.
const WINDOW: u32 = 8_192;

/// The longest delay of a frame.
const PAUSE_MAX: Duration = Duration::from_millis(50);

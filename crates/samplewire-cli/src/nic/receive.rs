//! `nic receive`: a file by block transfer.

use std::time::{Duration, Instant};

use samplewire_io::ether::{FRAME_BYTES_MAX, FrameReceive};
use samplewire_proto::Nanos;
use samplewire_proto::block::{ReceiveEvent, ReceiveFailure, ReceiverConfig, Types};
use serde::Serialize;

use super::block::{Receiving, take_all};
use super::counts::judge;
use super::file::PartFile;
use super::link::{Link, Role};
use super::scheme::nanos;
use super::{NicError, mac_words};
use crate::arguments::{NicCount, NicReceiveArguments};
use crate::cadence::Cadence;
use crate::console::Console;
use crate::document::{self, Report};
use crate::failure::Failure;
use crate::figures::{bits_per_second, grouped, measured, span};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

/// The JSON of a transfer. Fields are added in later versions, never changed.
#[derive(Debug, Default, Serialize)]
struct Received {
    result: Option<&'static str>,
    link: String,
    /// Null before a transfer began.
    peer: Option<String>,
    memory_bytes: usize,
    bytes: u64,
    packets: u64,
    duplicate: u64,
    summaries: u64,
    lists: u64,
    rejected: u64,
    /// Frames that found no room on their way into this process.
    dropped: u64,
    seconds: f64,
    bits_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Report for Received {
    fn fail(&mut self, words: String) {
        self.error = Some(words);
    }
}

pub(super) fn run(arguments: &NicReceiveArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, false, |console, report: &mut Received| {
        let interrupt = Interrupt::install()?;
        let link = Link::open(&arguments.link, Role::Receiver, FrameReceive::Ring)?;
        let receiving =
            Receiving::new(config(arguments, &link), PartFile::create(&arguments.file)?)?;
        report.link = arguments.link.link.to_string();
        report.memory_bytes = link.memory_bytes();
        console.line(format_args!(
            "{}: {} waits for a transfer, {} for frames",
            report.link,
            mac_words(link.mac()),
            measured(report.memory_bytes as f64, "B")
        ));
        let began = Instant::now();
        let mut run = Run { arguments, link, receiving, began, done: None, peer: None };
        let ended = run.work(&interrupt, console);
        run.fill(report)?;
        run.link.print_faults(console);
        ended?;
        if let Some(signal) = interrupt.stop_signal(console)
            && run.done.is_none()
        {
            return Ok(Outcome::Interrupted { signal });
        }
        report.print(console);
        let counts =
            [(NicCount::Duplicate, report.duplicate), (NicCount::Rejected, report.rejected)];
        let outcome = judge(console, &arguments.fail_on, &counts);
        report.result = Some(outcome.as_str());
        Ok(outcome)
    })
}

fn config(arguments: &NicReceiveArguments, link: &Link) -> ReceiverConfig {
    ReceiverConfig {
        peer: arguments.peer,
        types: if arguments.block.plain { Types::Plain } else { Types::WithId },
        packet_bytes: arguments.block.packet_bytes,
        ..ReceiverConfig::new(link.mac(), arguments.bytes_max)
    }
}

struct Run<'a> {
    arguments: &'a NicReceiveArguments,
    link: Link,
    receiving: Receiving<PartFile>,
    began: Instant,
    done: Option<Done>,
    peer: Option<String>,
}

/// A transfer that is complete.
#[derive(Clone, Copy, Debug)]
struct Done {
    bytes: u64,
    time: Nanos,
    /// Until when the sender is answered.
    until: Nanos,
    /// Requests of the sender by then.
    summaries: u64,
}

impl Run<'_> {
    /// Receives, and answers the sender for a time.
    fn work(&mut self, interrupt: &Interrupt, console: &mut Console) -> Result<(), Failure> {
        let mut into = vec![0; FRAME_BYTES_MAX + 1];
        let mut status = Cadence::new(STATUS_PERIOD, self.began);
        loop {
            let Self { link, receiving, .. } = self;
            let has_more = take_all(link, &mut into, |now, frame| receiving.take(now, frame))?;
            if let Some(header) = receiving.receiver.transfer() {
                self.peer.get_or_insert_with(|| mac_words(header.source));
            }
            if let Some(event) = receiving.poll(link.now())? {
                self.take(event, console)?;
            }
            self.receiving.send(&mut self.link)?;
            self.link.flush()?;
            if interrupt.signal().is_some() || self.is_over()? {
                return Ok(());
            }
            if status.is_due(Instant::now()) && self.done.is_none() {
                let stats = self.receiving.receiver.stats();
                console.status(&format!(
                    "{}: {} packets",
                    span(self.began.elapsed().as_secs_f64()),
                    grouped(stats.data)
                ));
            }
            if !has_more && !self.receiving.is_checking() {
                self.link.wait(self.receiving.until())?;
            }
        }
    }

    fn take(&mut self, event: ReceiveEvent, console: &mut Console) -> Result<(), Failure> {
        let now = self.link.now();
        match event {
            ReceiveEvent::Complete { .. } => {}
            ReceiveEvent::Done { bytes } => {
                self.receiving.store.keep(bytes)?;
                let summaries = self.receiving.receiver.stats().summaries;
                let time = now.since(self.receiving.began_at.unwrap_or(now));
                let until = now + nanos(self.arguments.linger);
                self.done = Some(Done { bytes, time, until, summaries });
            }
            ReceiveEvent::Failed(ReceiveFailure::Superseded) => {
                console.note(format_args!("the sender has begun again"));
                self.receiving.store.reset()?;
                self.receiving.listen();
            }
            ReceiveEvent::Failed(failure) => {
                let frames = self.receiving.receiver.stats().data;
                return Err(NicError::Received { failure, frames }.into());
            }
        }
        Ok(())
    }

    /// Whether the sender is answered no longer, or none has begun in time.
    fn is_over(&mut self) -> Result<bool, NicError> {
        let now = self.link.now();
        let summaries = self.receiving.receiver.stats().summaries;
        if let Some(done) = &mut self.done {
            if summaries > done.summaries {
                done.summaries = summaries;
                done.until = now + nanos(self.arguments.linger);
            }
            return Ok(now >= done.until);
        }
        match self.arguments.wait {
            Some(wait) if self.peer.is_none() && self.began.elapsed() >= wait => {
                Err(NicError::NoTransfer(wait))
            }
            _ => Ok(false),
        }
    }

    fn fill(&mut self, report: &mut Received) -> Result<(), Failure> {
        let stats = self.receiving.receiver.stats();
        let time = self.done.map_or(Duration::ZERO, |done| Duration::from_nanos(done.time.0));
        report.peer = self.peer.take();
        report.bytes = self.done.map_or(0, |done| done.bytes);
        (report.packets, report.duplicate) = (stats.data, stats.duplicates);
        (report.summaries, report.lists) = (stats.summaries, stats.lists);
        report.rejected = stats.rejected.iter().sum();
        report.dropped = self.link.dropped()?;
        report.seconds = time.as_secs_f64();
        report.bits_per_second = bits_per_second(report.bytes, time);
        Ok(())
    }
}

impl Received {
    fn print(&self, console: &mut Console) {
        console.line(format_args!(
            "received {} bytes in {}, {}; {} packets, {} duplicate; {} summaries, {} lists, \
             {} rejected; {} dropped",
            grouped(self.bytes),
            span(self.seconds),
            measured(self.bits_per_second, "b/s"),
            grouped(self.packets),
            grouped(self.duplicate),
            grouped(self.summaries),
            grouped(self.lists),
            grouped(self.rejected),
            grouped(self.dropped),
        ));
    }
}

const STATUS_PERIOD: Duration = Duration::from_secs(1);

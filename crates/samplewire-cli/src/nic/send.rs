//! `nic send`: a file by block transfer.

use std::time::{Duration, Instant};

use samplewire_io::ether::{FRAME_BYTES_MAX, FrameReceive};
use samplewire_proto::block::wire::Header;
use samplewire_proto::block::{Bursts, MacAddress, SendEnd, SenderConfig, TransferId};
use serde::Serialize;

use super::block::{Sending, take_all};
use super::counts::judge;
use super::file::SentFile;
use super::link::{Link, Role};
use super::scheme::nanos;
use super::{NicError, check_frame, mac_words, print_link, random};
use crate::arguments::{NicCount, NicSendArguments};
use crate::cadence::Cadence;
use crate::console::Console;
use crate::document::{self, Report};
use crate::failure::Failure;
use crate::figures::{bits_per_second, grouped, measured, span};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

/// The JSON of a transfer. Fields are added in later versions, never changed.
#[derive(Debug, Default, Serialize)]
struct Sent {
    result: Option<&'static str>,
    link: String,
    peer: String,
    memory_bytes: usize,
    bytes: u64,
    packets: u32,
    repeated: u64,
    summaries: u64,
    lists: u64,
    /// Answers that the peer computes the CRC.
    checks: u64,
    rejected: u64,
    seconds: f64,
    bits_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Report for Sent {
    fn fail(&mut self, words: String) {
        self.error = Some(words);
    }
}

pub(super) fn run(arguments: &NicSendArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, false, |console, report| {
        let interrupt = Interrupt::install()?;
        let outcome = transfer(arguments, &interrupt, console, report)?;
        report.result = Some(outcome.as_str());
        Ok(outcome)
    })
}

fn transfer(
    arguments: &NicSendArguments,
    interrupt: &Interrupt,
    console: &mut Console,
    report: &mut Sent,
) -> Result<Outcome, Failure> {
    let mut file = SentFile::open(&arguments.file)?;
    let mut link = Link::open(&arguments.link, Role::Sender, FrameReceive::Calls)?;
    let config = config(arguments, link.mac());
    config.check().map_err(NicError::from)?;
    let header =
        Header { destination: config.peer, source: config.local, transfer: config.transfer };
    check_frame(&link, header.data_frame_len(config.packet_bytes.into()))?;
    let stopped = |console: &mut Console| {
        let signal = interrupt.stop_signal(console).expect("a signal came");
        Ok(Outcome::Interrupted { signal })
    };
    let Some(crc) = file.crc(|| interrupt.signal().is_some())? else { return stopped(console) };
    let bytes = file.len_bytes;
    let mut sending = Sending::new(config, bytes, crc, file)?;
    report.link = arguments.link.link.to_string();
    (report.peer, report.memory_bytes) = (mac_words(arguments.peer), link.memory_bytes());
    print_link(console, &report.link, &link, arguments.peer);
    let (mut into, started) = (vec![0; FRAME_BYTES_MAX + 1], Instant::now());
    let mut status = Cadence::new(STATUS_PERIOD, started);
    let end = loop {
        take_all(&mut link, &mut into, |now, frame| {
            sending.sender.handle(now, frame);
            Ok(())
        })?;
        let has_more = sending.send(&mut link)?;
        link.flush()?;
        if let Some(end) = sending.poll_end() {
            break Some(end);
        }
        if interrupt.signal().is_some() {
            break None;
        }
        if status.is_due(Instant::now()) {
            let stats = sending.sender.stats();
            console.status(&format!(
                "{}: {} of {} packets, {} repeated{}",
                span(started.elapsed().as_secs_f64()),
                grouped(stats.data),
                grouped(sending.sender.packets().into()),
                grouped(stats.repeats),
                if stats.checks > 0 { "; the peer computes the CRC" } else { "" }
            ));
        }
        if !has_more {
            link.wait(sending.until())?;
        }
    };
    report.fill(&sending, bytes, started.elapsed());
    link.print_faults(console);
    match end {
        None => stopped(console),
        Some(SendEnd::Done) => {
            report.print(console);
            let counts =
                [(NicCount::Repeated, report.repeated), (NicCount::Rejected, report.rejected)];
            Ok(judge(console, &arguments.fail_on, &counts))
        }
        Some(end) => Err(NicError::Sent { end, peer: arguments.peer }.into()),
    }
}

fn config(arguments: &NicSendArguments, local: MacAddress) -> SenderConfig {
    let transfer = (!arguments.block.plain).then(|| TransferId(random() as u32));
    let default = SenderConfig::new(local, arguments.peer, transfer);
    SenderConfig {
        packet_bytes: arguments.block.packet_bytes.unwrap_or(default.packet_bytes),
        bursts: arguments.burst.map(|frames| Bursts { frames, gap: nanos(arguments.delay) }),
        ..default
    }
}

impl Sent {
    fn fill(&mut self, sending: &Sending<SentFile>, bytes: u64, elapsed: Duration) {
        let stats = sending.sender.stats();
        (self.bytes, self.packets) = (bytes, sending.sender.packets());
        (self.repeated, self.summaries, self.lists) = (stats.repeats, stats.summaries, stats.lists);
        (self.checks, self.rejected) = (stats.checks, stats.rejected.iter().sum());
        self.seconds = elapsed.as_secs_f64();
        self.bits_per_second = bits_per_second(bytes, elapsed);
    }

    fn print(&self, console: &mut Console) {
        console.line(format_args!(
            "sent {} bytes in {}, {}; {} packets, {} repeated; {} summaries, {} lists, {} rejected",
            grouped(self.bytes),
            span(self.seconds),
            measured(self.bits_per_second, "b/s"),
            grouped(self.packets.into()),
            grouped(self.repeated),
            grouped(self.summaries),
            grouped(self.lists),
            grouped(self.rejected),
        ));
    }
}

const STATUS_PERIOD: Duration = Duration::from_secs(1);

//! `roce write` and `roce send`: a file to a peer.

use std::fs::File;
use std::io::{self, Read};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use samplewire_proto::Rng;
use samplewire_roce::Psn;
use samplewire_roce::qp::Event;
use samplewire_roce::requester::{
    AckTimeout, PayloadAt, RequesterConfig, SendStatus, Verb, WorkRequest,
};
use samplewire_roce::responder::{Placement, ResponderConfig};
use serde::Serialize;

use super::line::Line;
use super::station::{Memory, Station};
use super::{RoceError, seed};
use crate::arguments::SendArguments;
use crate::cadence::Cadence;
use crate::console::Console;
use crate::document::{self, Report};
use crate::failure::Failure;
use crate::figures::{bits_per_second, grouped, measured, span};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

/// How the messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Write,
    Send,
}

/// The JSON of a transfer. Fields are added in later versions, never changed.
#[derive(Debug, Default, Serialize)]
struct Sent {
    result: Option<&'static str>,
    bytes: u64,
    messages: u64,
    seconds: f64,
    bits_per_second: f64,
    mtu_bytes: u32,
    packets: u64,
    retransmissions: u64,
    sequence_naks: u64,
    rnr_naks: u64,
    timeouts: u64,
    cnps: u64,
    cuts: u64,
    frames_invalid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Report for Sent {
    fn fail(&mut self, words: String) {
        self.error = Some(words);
    }
}

pub(super) fn run(arguments: &SendArguments, kind: Kind) -> Result<Outcome, Failure> {
    document::run(arguments.json, false, |console, report| {
        transfer(arguments, kind, console, report)
    })
}

fn transfer(
    arguments: &SendArguments,
    kind: Kind,
    console: &mut Console,
    report: &mut Sent,
) -> Result<Outcome, Failure> {
    let mut file = Input::open(&arguments.file)?;
    let options = &arguments.station;
    let mut station = Station::open(options, MESSAGES, 0, Vec::new())?;
    let mut rng = Rng::new(seed());
    station.renew(&mut rng);
    let psn = Psn::new(options.psn.unwrap_or(rng.draw() as u32));
    let mut exchange = TcpStream::connect_timeout(&arguments.to, CONNECT_PATIENCE)
        .map_err(|source| RoceError::Exchange { address: arguments.to, source })?;
    let mine = Line {
        address: options.ip,
        qpn: station.qp.number().get(),
        psn: psn.get(),
        mtu: options.mtu.bytes(),
        rkey: 0,
        region_address: 0,
        region_bytes: 0,
    };
    mine.write(&mut exchange)?;
    let peer = Line::read(&mut exchange, || station.answer()).map_err(RoceError::Line)?;
    if let Some(len) = file.len_bytes.filter(|len| kind == Kind::Write && *len > peer.region_bytes)
    {
        return Err(RoceError::Region { len, region_bytes: peer.region_bytes }.into());
    }
    let mtu = peer.mtu_with(options.mtu);
    let way = station.find(peer.address, peer.qpn()).map_err(RoceError::Find)?;
    let responder = ResponderConfig { psn: peer.psn(), mtu, ..ResponderConfig::default() };
    station.qp.ready_to_receive(way, responder).expect("it is in INIT");
    let requester = RequesterConfig {
        psn,
        mtu,
        window: arguments.window,
        ack_every: ACK_EVERY.min(arguments.window),
        timeout: AckTimeout::new(arguments.timeout).expect("clap checks the range"),
        ..RequesterConfig::default()
    };
    station.qp.ready_to_send(requester).expect("clap checks the ranges");
    if let Some(bps) = arguments.line_rate {
        station.react(bps as u64);
    }
    console.line(format_args!(
        "{} to {} as queue pair {} of {}, {} bytes a packet",
        arguments.file.display(),
        peer.address,
        peer.qpn,
        station.qp.number(),
        mtu.bytes()
    ));
    let started = Instant::now();
    let mut run = Run {
        kind,
        peer,
        immediate: arguments.immediate,
        buffers: Buffers::new(arguments.message),
        posted: 0,
        bytes: 0,
    };
    let ended = run.finish(&mut station, &mut file, console);
    let elapsed = started.elapsed();
    let (qp, requester, _) = station.qp.stats();
    *report = Sent {
        bytes: run.bytes,
        messages: requester.messages,
        seconds: elapsed.as_secs_f64(),
        bits_per_second: bits_per_second(run.bytes, elapsed),
        mtu_bytes: mtu.bytes(),
        packets: requester.packets,
        retransmissions: requester.retransmissions,
        sequence_naks: requester.sequence_naks,
        rnr_naks: requester.rnr_naks,
        timeouts: requester.timeouts,
        cnps: qp.cnps,
        cuts: qp.cuts,
        frames_invalid: station.invalid,
        ..Sent::default()
    };
    let outcome = ended?;
    report.result = Some(outcome.as_str());
    console.line(format_args!(
        "{} bytes in {}, {}; {} packets, {} retransmissions; NAKs: {} sequence, {} not ready; {} timeouts",
        grouped(report.bytes),
        span(report.seconds),
        measured(report.bits_per_second, "b/s"),
        grouped(report.packets),
        grouped(report.retransmissions),
        grouped(report.sequence_naks),
        grouped(report.rnr_naks),
        grouped(report.timeouts),
    ));
    Ok(outcome)
}

struct Run {
    kind: Kind,
    peer: Line,
    immediate: Option<u32>,
    buffers: Buffers,
    posted: u64,
    /// Bytes that the peer has acknowledged.
    bytes: u64,
}

impl Run {
    fn finish(
        &mut self,
        station: &mut Station,
        file: &mut Input,
        console: &mut Console,
    ) -> Result<Outcome, Failure> {
        let interrupt = Interrupt::install()?;
        let started = Instant::now();
        let mut status = Cadence::new(STATUS_PERIOD, started);
        let mut offset = 0;
        let mut done = 0;
        let mut is_read = false;
        loop {
            while !is_read && station.qp.requester().free_slots() > 0 {
                let len = self.buffers.fill(self.posted, file)?;
                is_read = len == 0;
                if !is_read {
                    self.post(station, offset, len)?;
                    offset += u64::from(len);
                }
            }
            let has_more = station.turn(&mut self.buffers)?;
            while let Some(event) = station.poll_event() {
                let Event::Sent(sent) = event else { continue };
                if sent.status != SendStatus::Done {
                    return Err(RoceError::Failed { status: sent.status, bytes: self.bytes }.into());
                }
                self.bytes += u64::from(self.buffers.len(sent.id));
                done += 1;
            }
            if is_read && done == self.posted {
                return Ok(Outcome::Whole);
            }
            if let Some(signal) = interrupt.stop_signal(console) {
                return Ok(Outcome::Interrupted { signal });
            }
            if status.is_due(Instant::now()) {
                console.status(&format!(
                    "{}: {}",
                    span(started.elapsed().as_secs_f64()),
                    measured(self.bytes as f64, "B")
                ));
            }
            let is_room = !is_read && station.qp.requester().free_slots() > 0;
            if !has_more && !is_room {
                station.wait(WAIT_MAX)?;
            }
        }
    }

    fn post(&mut self, station: &mut Station, offset: u64, len: u32) -> Result<(), Failure> {
        let verb = match self.kind {
            Kind::Send => Verb::Send,
            Kind::Write => {
                let end = offset + u64::from(len);
                let Line { region_address, region_bytes, rkey, .. } = self.peer;
                if end > region_bytes {
                    return Err(RoceError::Region { len: end, region_bytes }.into());
                }
                Verb::Write { address: region_address + offset, key: rkey }
            }
        };
        let request = WorkRequest {
            id: self.posted,
            verb,
            len_bytes: len,
            immediate: self.immediate,
            ..WorkRequest::default()
        };
        station.qp.post_send(request).expect("a place is free, and the connection stands");
        self.posted += 1;
        Ok(())
    }
}

/// The messages that are posted; message n is in buffer n modulo their number.
struct Buffers(Vec<Vec<u8>>, usize);

impl Buffers {
    fn new(message_bytes: u32) -> Self {
        Self(vec![Vec::new(); MESSAGES], message_bytes as usize)
    }

    /// Reads the next message; its length, 0 at the end of the file.
    fn fill(&mut self, id: u64, file: &mut Input) -> Result<u32, Failure> {
        let len = self.1;
        let buffer = &mut self.0[place(id)];
        buffer.clear();
        file.read(len as u64, buffer)?;
        Ok(buffer.len() as u32)
    }

    fn len(&self, id: u64) -> u32 {
        self.0[place(id)].len() as u32
    }
}

impl Memory for Buffers {
    fn payload(&self, at: PayloadAt) -> &[u8] {
        &self.0[place(at.id)][at.offset as usize..][..at.len_bytes as usize]
    }

    /// This end has neither regions nor receive requests.
    fn place(&mut self, _: Placement, _: &[u8]) {}
}

/// What is sent.
struct Input {
    name: String,
    reader: Box<dyn Read>,
    /// Of a file.
    len_bytes: Option<u64>,
}

impl Input {
    fn open(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        if name == "-" {
            return Ok(Self { name, reader: Box::new(io::stdin()), len_bytes: None });
        }
        let fail = |source| Failure::Output { path: name.clone(), source };
        let file = File::open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        let len_bytes = metadata.is_file().then_some(metadata.len());
        Ok(Self { name, reader: Box::new(file), len_bytes })
    }

    /// Reads up to `len` bytes, fewer only at the end.
    fn read(&mut self, len: u64, into: &mut Vec<u8>) -> Result<(), Failure> {
        let read = self.reader.by_ref().take(len).read_to_end(into);
        read.map(drop).map_err(|source| Failure::Output { path: self.name.clone(), source })
    }
}

const fn place(id: u64) -> usize {
    (id % MESSAGES as u64) as usize
}

/// Messages that are posted at a time.
const MESSAGES: usize = 8;
const ACK_EVERY: u32 = 16;
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
const STATUS_PERIOD: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_millis(20);

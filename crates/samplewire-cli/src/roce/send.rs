//! `roce write` and `roce send`: a file to a peer.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use samplewire_proto::Rng;
use samplewire_roce::qp::Event;
use samplewire_roce::requester::{
    AckTimeout, PayloadAt, RequesterConfig, SendStatus, Verb, WorkRequest,
};
use samplewire_roce::responder::{Placement, ResponderConfig};
use samplewire_roce::{PathMtu, Psn};
use serde::Serialize;

use super::exchange::{Exchange, Heard, LastLine, Line, LineError};
use super::input::{Input, Next};
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
        let interrupt = Interrupt::install()?;
        let ended = transfer(arguments, kind, &interrupt, console, report);
        // What waits for the peer ends with an error where a signal came.
        let outcome = match interrupt.stop_signal(console) {
            Some(signal) => Outcome::Interrupted { signal },
            None => ended?,
        };
        report.result = Some(outcome.as_str());
        Ok(outcome)
    })
}

fn transfer(
    arguments: &SendArguments,
    kind: Kind,
    interrupt: &Interrupt,
    console: &mut Console,
    report: &mut Sent,
) -> Result<Outcome, Failure> {
    let input = Input::open(&arguments.file, arguments.message)?;
    let mut station = Station::open(&arguments.station, MESSAGES, 0, Vec::new())?;
    station.reacts = arguments.line_rate.is_some();
    let connected = connect(arguments, kind, &input, &mut station, interrupt)?;
    console.line(format_args!(
        "{} to {} as queue pair {} of {}, {} bytes a packet",
        arguments.file.display(),
        connected.peer.address,
        connected.peer.qpn,
        station.qp.number(),
        connected.mtu.bytes()
    ));
    let started = Instant::now();
    let mut run = Run {
        kind,
        peer: connected.peer,
        immediate: arguments.immediate,
        exchange: connected.exchange,
        input,
        messages: Messages::default(),
        bytes: 0,
    };
    let ended = run.finish(&mut station, interrupt, console);
    report.fill(&run, &station, connected.mtu, started.elapsed());
    let outcome = ended?;
    console.line(format_args!(
        "{} bytes in {}, {}; {} packets, {} retransmissions; NAKs: {} sequence, {} not ready; \
         {} timeouts",
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

struct Connected {
    exchange: Exchange,
    peer: Line,
    mtu: PathMtu,
}

/// Exchanges the lines and makes the queue pair ready.
fn connect(
    arguments: &SendArguments,
    kind: Kind,
    input: &Input,
    station: &mut Station,
    interrupt: &Interrupt,
) -> Result<Connected, RoceError> {
    let options = &arguments.station;
    let mut rng = Rng::new(seed());
    station.renew(&mut rng);
    let psn = Psn::new(options.psn.unwrap_or(rng.draw() as u32));
    let refused = |source| RoceError::Exchange { address: arguments.to, source };
    let mut exchange = Exchange::connect(arguments.to).map_err(refused)?;
    let mine = Line {
        address: options.ip,
        qpn: station.qp.number().get(),
        psn: psn.get(),
        mtu: options.mtu.bytes(),
        rkey: 0,
        region_address: 0,
        region_bytes: 0,
    };
    exchange.say(&mine).map_err(refused)?;
    let line = exchange.wait(interrupt, || station.idle()).map_err(RoceError::Line)?;
    let peer = Line::parse(&line).map_err(RoceError::Line)?;
    if let Some(len) = input.len_bytes.filter(|len| kind == Kind::Write && *len > peer.region_bytes)
    {
        return Err(RoceError::Region { len, region_bytes: peer.region_bytes });
    }
    let mtu = peer.mtu_with(options.mtu);
    let way = station.find(&peer, mtu, interrupt).map_err(RoceError::Find)?;
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
    Ok(Connected { exchange, peer, mtu })
}

impl Sent {
    fn fill(&mut self, run: &Run, station: &Station, mtu: PathMtu, elapsed: Duration) {
        let (qp, requester, _) = station.qp.stats();
        *self = Self {
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
            ..Self::default()
        };
    }
}

struct Run {
    kind: Kind,
    peer: Line,
    immediate: Option<u32>,
    exchange: Exchange,
    input: Input,
    messages: Messages,
    /// Bytes that the peer has acknowledged.
    bytes: u64,
}

impl Run {
    fn finish(
        &mut self,
        station: &mut Station,
        interrupt: &Interrupt,
        console: &mut Console,
    ) -> Result<Outcome, Failure> {
        let started = Instant::now();
        let mut status = Cadence::new(STATUS_PERIOD, started);
        loop {
            let is_read = self.post(station)?;
            let has_more = station.turn(&mut self.messages)?;
            self.complete(station)?;
            if is_read && self.messages.is_empty() {
                return self.conclude(station, interrupt);
            }
            if let Some(advice) = station.advice() {
                console.warn(format_args!("{advice}"));
            }
            if let Some(signal) = interrupt.signal() {
                return Ok(Outcome::Interrupted { signal });
            }
            if status.is_due(Instant::now()) {
                let elapsed = span(started.elapsed().as_secs_f64());
                console.status(&format!("{elapsed}: {}", measured(self.bytes as f64, "B")));
            }
            if !has_more {
                self.hear()?;
                station.wait(WAIT_MAX)?;
            }
        }
    }

    /// Posts what was read, as far as there is room; whether that was the last of the file.
    fn post(&mut self, station: &mut Station) -> Result<bool, Failure> {
        while station.qp.requester().free_slots() > 0 {
            let bytes = match self.input.next()? {
                Next::Message(bytes) => bytes,
                Next::Nothing => return Ok(false),
                Next::End => return Ok(true),
            };
            let (len_bytes, offset) = (bytes.len() as u32, self.messages.end_bytes);
            let verb = match self.kind {
                Kind::Send => Verb::Send,
                Kind::Write => {
                    let end = offset + u64::from(len_bytes);
                    let Line { region_address, region_bytes, rkey, .. } = self.peer;
                    if end > region_bytes {
                        return Err(RoceError::Region { len: end, region_bytes }.into());
                    }
                    Verb::Write { address: region_address + offset, key: rkey }
                }
            };
            let id = self.messages.push(bytes);
            let immediate = self.immediate;
            let request = WorkRequest { id, verb, len_bytes, immediate, ..WorkRequest::default() };
            station.qp.post_send(request).expect("a place is free, and the connection stands");
        }
        Ok(false)
    }

    fn complete(&mut self, station: &mut Station) -> Result<(), Failure> {
        while let Some(event) = station.poll_event() {
            let Event::Sent(sent) = event else { continue };
            if sent.status != SendStatus::Done {
                // The peer may have said why.
                self.hear()?;
                return Err(RoceError::Failed { status: sent.status, bytes: self.bytes }.into());
            }
            let bytes = self.messages.pop();
            self.bytes += bytes.len() as u64;
            self.input.give_back(bytes);
        }
        Ok(())
    }

    /// Fails where the peer has ended the connection, or says that it failed.
    fn hear(&mut self) -> Result<(), RoceError> {
        match self.exchange.hear().map_err(RoceError::Line)? {
            Heard::Nothing => Ok(()),
            Heard::Closed => Err(RoceError::Closed { bytes: self.bytes }),
            Heard::Line(line) => self.check_last(&line),
        }
    }

    /// Tells the peer that this is all, and hears that it has kept it.
    fn conclude(
        &mut self,
        station: &mut Station,
        interrupt: &Interrupt,
    ) -> Result<Outcome, Failure> {
        let last = LastLine { bytes: Some(self.bytes), error: None };
        self.exchange.say(&last).map_err(|error| RoceError::Line(error.into()))?;
        // An acknowledgement may be lost: the peer's repeat of it is of no use, but ARP is answered.
        let line = self.exchange.wait(interrupt, || station.idle());
        self.check_last(&line.map_err(RoceError::Last)?)?;
        Ok(Outcome::Whole)
    }

    fn check_last(&self, line: &str) -> Result<(), RoceError> {
        match LastLine::parse(line).map_err(RoceError::Last)? {
            LastLine { error: Some(error), .. } => Err(RoceError::Last(LineError::Refused(error))),
            LastLine { bytes, .. } if bytes == Some(self.bytes) => Ok(()),
            LastLine { bytes, .. } => {
                Err(RoceError::Kept { kept: bytes.unwrap_or(0), sent: self.bytes })
            }
        }
    }
}

/// The messages that are posted, the oldest first.
#[derive(Default)]
struct Messages {
    posted: VecDeque<Vec<u8>>,
    /// The number of the oldest.
    first: u64,
    end_bytes: u64,
}

impl Messages {
    fn is_empty(&self) -> bool {
        self.posted.is_empty()
    }

    /// Returns the message's number.
    fn push(&mut self, bytes: Vec<u8>) -> u64 {
        self.end_bytes += bytes.len() as u64;
        self.posted.push_back(bytes);
        self.first + self.posted.len() as u64 - 1
    }

    fn pop(&mut self) -> Vec<u8> {
        self.first += 1;
        self.posted.pop_front().expect("messages complete in order, each once")
    }
}

impl Memory for Messages {
    fn payload(&self, at: PayloadAt) -> &[u8] {
        let message = &self.posted[(at.id - self.first) as usize];
        &message[at.offset as usize..][..at.len_bytes as usize]
    }

    /// This end has neither regions nor receive requests.
    fn place(&mut self, _: Placement, _: &[u8]) {}
}

/// Messages that are posted at a time.
const MESSAGES: usize = 8;
const ACK_EVERY: u32 = 16;
const STATUS_PERIOD: Duration = Duration::from_secs(1);
/// A file that is read slowly is looked at so often.
const WAIT_MAX: Duration = Duration::from_millis(5);

//! `roce write` and `roce send`: a file to a peer.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use samplewire_roce::PathMtu;
use samplewire_roce::qp::Event;
use samplewire_roce::requester::{PayloadAt, SendStatus, Verb, WorkRequest};
use samplewire_roce::responder::Placement;
use serde::Serialize;

use super::RoceError;
use super::connect::{self, connect};
use super::exchange::{Exchange, Heard};
use super::input::{Input, Next};
use super::line::Line;
use super::station::{Memory, Station};
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
    cnp_received: u64,
    acks_marked: u64,
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
    let sender = &arguments.sender;
    let mut station = Station::open(&sender.station, MESSAGES, 0, Vec::new())?;
    let connected = connect(sender, sender.station.mtu, &mut station, interrupt, console)?;
    let region_bytes = connected.peer.region_bytes;
    if let Some(len) = input.len_bytes.filter(|len| kind == Kind::Write && *len > region_bytes) {
        return Err(RoceError::Region { len, region_bytes }.into());
    }
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
         {} timeouts; {} CNPs, {} marked ACKs, {} cuts",
        grouped(report.bytes),
        span(report.seconds),
        measured(report.bits_per_second, "b/s"),
        grouped(report.packets),
        grouped(report.retransmissions),
        grouped(report.sequence_naks),
        grouped(report.rnr_naks),
        grouped(report.timeouts),
        grouped(report.cnp_received),
        grouped(report.acks_marked),
        grouped(report.cuts),
    ));
    Ok(outcome)
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
            cnp_received: qp.cnp_received,
            acks_marked: qp.acks_marked,
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
                connect::conclude(&mut self.exchange, self.bytes, station, interrupt)?;
                return Ok(Outcome::Whole);
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
            Heard::Line(line) => connect::check_last(&line, self.bytes),
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
const STATUS_PERIOD: Duration = Duration::from_secs(1);
/// A file that is read slowly is looked at so often.
const WAIT_MAX: Duration = Duration::from_millis(5);

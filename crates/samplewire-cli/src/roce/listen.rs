//! `roce listen`: keeps what peers write and send, one connection after the other.

use std::io;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use samplewire_proto::{Nanos, Rng};
use samplewire_roce::qp::Event;
use samplewire_roce::requester::{PayloadAt, RequesterConfig};
use samplewire_roce::responder::{
    Fault, Placement, ReceiveRequest, ReceiveStatus, ResponderConfig,
};
use samplewire_roce::{Access, Psn, Region};
use serde::Serialize;

use super::arrivals::{Arrival, Arrivals};
use super::exchange::{Exchange, Heard, LastLine, Line, LineError};
use super::output::Output;
use super::station::{FindError, Memory, Station};
use super::{RoceError, seed};
use crate::arguments::ListenArguments;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::figures::{bits_per_second, grouped, measured, span};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

/// The JSON of a connection. Fields are added in later versions, never changed.
#[derive(Debug, Serialize)]
struct Connection {
    /// `whole`, or why the connection failed.
    result: String,
    bytes_sent: u64,
    messages: u64,
    bytes_written: u64,
    /// The region up to the last byte that was written.
    region_end: u64,
    /// Messages with immediate data, and the last of it.
    immediates: u64,
    last_immediate: Option<u32>,
    seconds: f64,
    bits_per_second: f64,
    packets: u64,
    duplicates: u64,
    out_of_order: u64,
    requests_marked: u64,
    cnp_sent: u64,
    frames_invalid: u64,
}

pub(super) fn run(arguments: &ListenArguments) -> Result<Outcome, Failure> {
    let lines = if arguments.json { Lines::Nowhere } else { Lines::Stdout };
    let mut console = Console::new(lines, false);
    let interrupt = Interrupt::install()?;
    let mut listener = Listener::open(arguments, interrupt)?;
    let place = match (&listener.arrivals, &arguments.peer) {
        (Some(arrivals), _) => arrivals.address()?.to_string(),
        (None, path) => path.as_ref().expect("one or the other").display().to_string(),
    };
    console.line(format_args!(
        "listening: connection lines at {place}, station {}; {} to write to",
        arguments.station.ip,
        measured(arguments.region as f64, "B")
    ));
    loop {
        let Some(Arrival { exchange, from, line }) = listener.accept()? else {
            let signal = listener.interrupt.stop_signal(&mut console);
            return Ok(Outcome::Interrupted { signal: signal.expect("it ended the wait") });
        };
        let ended = match listener.connect(exchange, line, &mut console) {
            Ok(mut exchange) => listener.serve(&mut exchange, &mut console)?,
            Err(error) if arguments.peer.is_some() => return Err(error.into()),
            // One peer's mistake ends nothing for the next.
            Err(error) => {
                if listener.interrupt.signal().is_none() {
                    console.warn(format_args!("{from}: {error}"));
                }
                continue;
            }
        };
        print(arguments, &mut console, &from, &ended)?;
        if arguments.once || arguments.peer.is_some() {
            let is_whole = ended.result == WHOLE;
            return Ok(if is_whole { Outcome::Whole } else { Outcome::Incomplete });
        }
    }
}

/// A station that waits for peers.
struct Listener<'a> {
    arguments: &'a ListenArguments,
    /// None where a file has the line of the peer.
    arrivals: Option<Arrivals>,
    interrupt: Interrupt,
    rng: Rng,
    key: u32,
    station: Station,
    memory: Received,
}

/// How a connection went.
struct Served {
    begun: Option<Instant>,
    last: Instant,
    /// `whole`, or why it failed.
    result: String,
    /// What the peer has sent by its own count.
    sent_bytes: Option<u64>,
}

impl<'a> Listener<'a> {
    fn open(arguments: &'a ListenArguments, interrupt: Interrupt) -> Result<Self, Failure> {
        let mut rng = Rng::new(seed());
        let key = rng.draw() as u32;
        let memory = Received::new(arguments)?;
        let region = Region::new(key, REGION_ADDRESS, arguments.region, Access::Write);
        let regions = vec![region.map_err(RoceError::Memory)?];
        let receives = arguments.receives.into();
        let mut station = Station::open(&arguments.station, 1, receives, regions)?;
        // The peer counts the marks of acknowledgements.
        station.is_ecn_capable = true;
        let address = arguments.exchange;
        let refused = |source| RoceError::Exchange { address: address.to_string(), source };
        let socket = match arguments.peer {
            Some(_) => None,
            None => Some(TcpListener::bind(address).map_err(refused)?),
        };
        let arrivals = socket.map(Arrivals::new).transpose()?;
        Ok(Self { arguments, arrivals, interrupt, rng, key, station, memory })
    }

    /// Waits for a peer, and meanwhile answers for this station's address; `None` after a signal.
    fn accept(&mut self) -> Result<Option<Arrival>, Failure> {
        let Some(arrivals) = &mut self.arrivals else {
            let path = self.arguments.peer.as_deref().expect("one or the other");
            let from = path.display().to_string();
            let mut exchange = Exchange::of_file(path)
                .map_err(|source| RoceError::Exchange { address: from.clone(), source })?;
            let line = exchange.wait(&self.interrupt, || Ok(()));
            return Ok(Some(Arrival { exchange, from, line }));
        };
        while self.interrupt.signal().is_none() {
            if let Some(arrival) = arrivals.poll(Instant::now()) {
                return Ok(Some(arrival));
            }
            self.station.turn(&mut self.memory)?;
            self.station.wait(ACCEPT_PERIOD)?;
        }
        Ok(None)
    }

    /// Exchanges the lines and makes the queue pair ready. A peer that is refused hears why.
    fn connect(
        &mut self,
        mut exchange: Exchange,
        line: Result<String, LineError>,
        console: &mut Console,
    ) -> Result<Exchange, RoceError> {
        let agreed = self.agree(&exchange, line).and_then(|mine| {
            exchange.say(&mine).map_err(|error| RoceError::Line(error.into()))?;
            Ok(mine)
        });
        match agreed {
            Ok(mine) => {
                mine.show(&exchange, console);
                Ok(exchange)
            }
            Err(error) => {
                let refusal = LastLine { bytes: None, error: Some(error.to_string()) };
                // It may be gone.
                drop(exchange.say(&refusal));
                self.station.end();
                Err(error)
            }
        }
    }

    fn agree(
        &mut self,
        exchange: &Exchange,
        line: Result<String, LineError>,
    ) -> Result<Line, RoceError> {
        let Self { arguments, interrupt, station, rng, .. } = self;
        let peer = line.and_then(|line| Line::parse(&line)).map_err(RoceError::Line)?;
        let options = &arguments.station;
        station.renew(options.qpn, rng);
        let psn = Psn::new(options.psn.unwrap_or(rng.draw() as u32));
        let mtu = peer.mtu_with(options.mtu);
        for id in 0..arguments.receives.into() {
            let request = ReceiveRequest { id, len_bytes: arguments.message };
            station.qp.post_receive(request).expect("the queue is empty");
        }
        let way = loop {
            match station.find(&peer, mtu, interrupt) {
                // A peer that says nothing may start later.
                Err(FindError::NoStation { .. }) if !exchange.is_live() => {}
                found => break found.map_err(RoceError::Find)?,
            }
        };
        let cnp_interval = (!arguments.no_cnp).then_some(arguments.cnp_interval);
        let responder = ResponderConfig {
            psn: peer.psn(),
            mtu,
            cnp_interval: cnp_interval.map(|span| Nanos(span.as_nanos() as u64)),
            ..ResponderConfig::default()
        };
        station.qp.ready_to_receive(way, responder).expect("it is in INIT");
        let requester = RequesterConfig { psn, mtu, ..RequesterConfig::default() };
        station.qp.ready_to_send(requester).expect("the default is in range");
        Ok(Line {
            address: options.ip,
            qpn: station.qp.number().get(),
            psn: psn.get(),
            mtu: mtu.bytes(),
            rkey: self.key,
            region_address: REGION_ADDRESS,
            region_bytes: arguments.region,
        })
    }

    /// Serves a connection to its end, and keeps what came.
    fn serve(
        &mut self,
        exchange: &mut Exchange,
        console: &mut Console,
    ) -> Result<Connection, Failure> {
        let mut served = match self.memory.out.as_mut().map_or(Ok(()), Output::begin) {
            Ok(()) => self.receive(exchange, console)?,
            Err(error) => Served::failed(error.to_string()),
        };
        let came = self.memory.sent + self.memory.written;
        if let Some(sent) = served.sent_bytes.filter(|sent| *sent != came) {
            served.result = format!("{} of {} bytes came", grouped(came), grouped(sent));
        }
        if let Err(error) = self.memory.finish(served.result == WHOLE) {
            served.result = error.to_string();
        }
        let last = if served.result == WHOLE {
            LastLine { bytes: Some(came), error: None }
        } else {
            if let Some(path) = self.memory.out.as_mut().and_then(Output::broken) {
                console.warn(format_args!("{} has what came", path.display()));
            }
            LastLine { bytes: None, error: Some(served.result.clone()) }
        };
        // It may be gone.
        drop(exchange.say(&last));
        let connection = self.sum_up(&served, came);
        self.station.end();
        self.memory.clear();
        Ok(connection)
    }

    fn receive(
        &mut self,
        exchange: &mut Exchange,
        console: &mut Console,
    ) -> Result<Served, Failure> {
        let Self { station, memory, interrupt, arguments, .. } = self;
        let limit = exchange.is_live().then_some(arguments.idle);
        let mut served = Served::failed(String::new());
        let mut looked = Instant::now();
        loop {
            let before = station.qp.responder().stats().packets;
            let has_more = station.turn(memory)?;
            if station.qp.responder().stats().packets > before {
                served.last = Instant::now();
                served.begun.get_or_insert(served.last);
            }
            if let Err(error) = keep(station, memory) {
                return Ok(served.because(error.to_string()));
            }
            if let Some(advice) = station.advice() {
                console.warn(format_args!("{advice}"));
            }
            if let Some(fault) = station.qp.responder().fault() {
                // The NAK has left with the turn.
                return Ok(served.because(fault_words(fault).to_owned()));
            }
            // A flood of frames has no end.
            if has_more && looked.elapsed() < SERVE_PERIOD {
                continue;
            }
            looked = Instant::now();
            match exchange.hear() {
                Ok(Heard::Line(line)) => return Ok(served.heard(&line)),
                Ok(Heard::Closed) => return Ok(served.because(CLOSED.to_owned())),
                Ok(Heard::Nothing) => {}
                Err(error) => return Ok(served.because(format!("the exchange: {error}"))),
            }
            if interrupt.signal().is_some() {
                // A peer that says nothing has no other end.
                let result = if exchange.is_live() { "interrupted" } else { WHOLE };
                return Ok(served.because(result.to_owned()));
            }
            if let Some(limit) = limit.filter(|limit| served.last.elapsed() > *limit) {
                let time = span(limit.as_secs_f64());
                return Ok(served.because(format!("the peer sent nothing for {time} (--idle)")));
            }
            if !has_more {
                station.wait(SERVE_PERIOD)?;
            }
        }
    }

    fn sum_up(&self, served: &Served, bytes: u64) -> Connection {
        let (qp, _, responder) = self.station.qp.stats();
        let elapsed = served.begun.map_or(Duration::ZERO, |begun| served.last - begun);
        Connection {
            result: served.result.clone(),
            bytes_sent: self.memory.sent,
            messages: responder.messages,
            bytes_written: self.memory.written,
            region_end: self.memory.region_end,
            immediates: self.memory.immediates,
            last_immediate: self.memory.last_immediate,
            seconds: elapsed.as_secs_f64(),
            bits_per_second: bits_per_second(bytes, elapsed),
            packets: responder.packets,
            duplicates: responder.duplicates,
            out_of_order: responder.out_of_order,
            requests_marked: qp.requests_marked,
            cnp_sent: qp.cnp_sent,
            frames_invalid: self.station.invalid,
        }
    }
}

impl Served {
    fn failed(result: String) -> Self {
        Self { begun: None, last: Instant::now(), result, sent_bytes: None }
    }

    fn because(self, result: String) -> Self {
        Self { result, ..self }
    }

    /// The peer's last line has come.
    fn heard(self, line: &str) -> Self {
        match LastLine::parse(line) {
            Ok(LastLine { error: Some(error), .. }) => self.because(format!("the peer: {error}")),
            Ok(LastLine { bytes, .. }) => {
                Self { result: WHOLE.to_owned(), sent_bytes: bytes, ..self }
            }
            Err(error) => self.because(format!("the peer's last line: {error}")),
        }
    }
}

/// Keeps the messages that are complete, and posts their receive requests again.
fn keep(station: &mut Station, memory: &mut Received) -> io::Result<()> {
    while let Some(event) = station.poll_event() {
        let Event::Received(received) = event else { continue };
        let (len, immediate) = match received.status {
            ReceiveStatus::Send { len_bytes, immediate } => (len_bytes, immediate),
            ReceiveStatus::Write { immediate, .. } => (0, Some(immediate)),
            ReceiveStatus::Failed | ReceiveStatus::Flushed => continue,
        };
        memory.keep(received.id, len)?;
        if let Some(immediate) = immediate {
            memory.immediates += 1;
            memory.last_immediate = Some(immediate);
        }
        let request = ReceiveRequest { id: received.id, len_bytes: memory.message_bytes };
        station.qp.post_receive(request).expect("its place is free");
    }
    Ok(())
}

const fn fault_words(fault: Fault) -> &'static str {
    match fault {
        Fault::Order => "packets in an order that no message has",
        Fault::Unsupported => "a READ, an atomic or an invalidation",
        Fault::Length => "a packet of a wrong length",
        Fault::TooLong => "a SEND longer than --message",
        Fault::Key => "a write with a wrong key",
        Fault::Rights => "a write without the right to",
        Fault::Bounds => "a write outside the region",
    }
}

fn print(
    arguments: &ListenArguments,
    console: &mut Console,
    from: &str,
    ended: &Connection,
) -> Result<(), Failure> {
    if arguments.json {
        let text = serde_json::to_string(ended).map_err(io::Error::from)?;
        Console::new(Lines::Stdout, false).line(format_args!("{text}"));
        return Ok(());
    }
    console.line(format_args!(
        "{from}: {}; {} bytes sent, {} written, in {}, {}; {} packets, {} duplicates, {} out of \
         order, {} marked; {} CNPs",
        ended.result,
        grouped(ended.bytes_sent),
        grouped(ended.bytes_written),
        span(ended.seconds),
        measured(ended.bits_per_second, "b/s"),
        grouped(ended.packets),
        grouped(ended.duplicates),
        grouped(ended.out_of_order),
        grouped(ended.requests_marked),
        grouped(ended.cnp_sent),
    ));
    Ok(())
}

/// The memory that peers write to and send into, and what is kept of it.
struct Received {
    region: Vec<u8>,
    messages: Vec<Vec<u8>>,
    message_bytes: u32,
    out: Option<Output>,
    sent: u64,
    written: u64,
    region_end: u64,
    immediates: u64,
    last_immediate: Option<u32>,
}

impl Received {
    fn new(arguments: &ListenArguments) -> Result<Self, Failure> {
        let receives = usize::from(arguments.receives);
        let needed = arguments.region + receives as u64 * u64::from(arguments.message);
        let fail = |words: &str| RoceError::Reserve { needed, words: words.to_owned() };
        let len = usize::try_from(needed).map_err(|_| fail("more than there are addresses"))?;
        // Zeros that the system has not given yet take no memory.
        Vec::<u8>::new().try_reserve_exact(len).map_err(|error| fail(&error.to_string()))?;
        Ok(Self {
            region: vec![0; arguments.region as usize],
            messages: (0..receives).map(|_| vec![0; arguments.message as usize]).collect(),
            message_bytes: arguments.message,
            out: arguments.out.as_deref().map(Output::open).transpose()?,
            sent: 0,
            written: 0,
            region_end: 0,
            immediates: 0,
            last_immediate: None,
        })
    }

    /// Forgets what a connection has brought. Not when the next one begins: its sender would not
    /// wait for an acknowledgement until gigabytes are zero.
    fn clear(&mut self) {
        self.region[..self.region_end as usize].fill(0);
        (self.sent, self.written, self.region_end) = (0, 0, 0);
        (self.immediates, self.last_immediate) = (0, None);
    }

    /// Keeps a message.
    fn keep(&mut self, id: u64, len: u32) -> io::Result<()> {
        self.sent += u64::from(len);
        let message = &self.messages[id as usize][..len as usize];
        self.out.as_mut().map_or(Ok(()), |out| out.write(message))
    }

    /// Keeps what was written, where no messages came; in the file's place if that is all.
    fn finish(&mut self, is_whole: bool) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        if self.sent == 0 {
            out.write(&self.region[..self.region_end as usize])?;
        }
        if is_whole { out.keep() } else { Ok(()) }
    }
}

impl Memory for Received {
    fn payload(&self, _: PayloadAt) -> &[u8] {
        unreachable!("this end posts nothing to send")
    }

    fn place(&mut self, placement: Placement, payload: &[u8]) {
        let place = match placement {
            Placement::Nothing => return,
            Placement::Region { offset, .. } => {
                self.written += payload.len() as u64;
                self.region_end = self.region_end.max(offset + payload.len() as u64);
                &mut self.region[offset as usize..]
            }
            Placement::Receive { id, offset } => &mut self.messages[id as usize][offset as usize..],
        };
        place[..payload.len()].copy_from_slice(payload);
    }
}

/// Where peers see the region: not 0, so that a missing address is found.
const REGION_ADDRESS: u64 = 0x1000_0000;

const ACCEPT_PERIOD: Duration = Duration::from_millis(20);
const SERVE_PERIOD: Duration = Duration::from_millis(5);

/// The result of a connection that is complete at both ends.
const WHOLE: &str = "whole";
const CLOSED: &str = "the peer closed the exchange without a last line";

#[cfg(test)]
mod tests;

//! `roce listen`: keeps what peers write and send, one connection after the other.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use samplewire_proto::Rng;
use samplewire_roce::qp::Event;
use samplewire_roce::requester::{PayloadAt, RequesterConfig};
use samplewire_roce::responder::{Placement, ReceiveRequest, ReceiveStatus, ResponderConfig};
use samplewire_roce::{Access, Psn, Region};
use serde::Serialize;

use super::line::Line;
use super::station::{Memory, Station};
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
    frames_invalid: u64,
}

pub(super) fn run(arguments: &ListenArguments) -> Result<Outcome, Failure> {
    let lines = if arguments.json { Lines::Nowhere } else { Lines::Stdout };
    let mut console = Console::new(lines, false);
    let interrupt = Interrupt::install()?;
    let mut rng = Rng::new(seed());
    let key = rng.draw() as u32;
    let region = Region::new(key, REGION_ADDRESS, arguments.region, Access::Write)
        .map_err(RoceError::Memory)?;
    let mut station =
        Station::open(&arguments.station, 1, arguments.receives.into(), vec![region])?;
    let refused = |source| RoceError::Exchange { address: arguments.exchange, source };
    let listener = TcpListener::bind(arguments.exchange).map_err(refused)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    console.line(format_args!(
        "listening: connection lines at {address}, station {}; {} to write to",
        arguments.station.ip,
        measured(arguments.region as f64, "B")
    ));
    let mut memory = Received::new(arguments)?;
    loop {
        let Some((mut exchange, from)) = accept(&listener, &interrupt, &mut station, &mut memory)?
        else {
            let signal = interrupt.stop_signal(&mut console).expect("it ended the wait");
            return Ok(Outcome::Interrupted { signal });
        };
        let connected = connect(arguments, &mut station, &mut exchange, &mut rng, key);
        if let Err(error) = connected {
            // One peer's mistake ends nothing for the next.
            console.warn(format_args!("{from}: {error}"));
            continue;
        }
        memory.begin(arguments.out.as_deref())?;
        let served = serve(&mut station, &mut memory, &exchange, &interrupt)?;
        let ended = conclude(&station, &mut memory, served)?;
        print(arguments, &mut console, from, &ended)?;
        if let Some(signal) = interrupt.stop_signal(&mut console) {
            return Ok(Outcome::Interrupted { signal });
        }
        if arguments.once {
            return Ok(if served.failure.is_none() { Outcome::Whole } else { Outcome::Incomplete });
        }
    }
}

/// Waits for a peer, and meanwhile answers for this station's address; `None` after a signal.
fn accept(
    listener: &TcpListener,
    interrupt: &Interrupt,
    station: &mut Station,
    memory: &mut Received,
) -> Result<Option<(TcpStream, SocketAddr)>, Failure> {
    while interrupt.signal().is_none() {
        match listener.accept() {
            Ok((stream, from)) => {
                stream.set_nonblocking(false)?;
                return Ok(Some((stream, from)));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The peer left before it was accepted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error.into()),
        }
        station.turn(memory)?;
        station.wait(ACCEPT_PERIOD)?;
    }
    Ok(None)
}

/// Exchanges the lines and makes the queue pair ready.
fn connect(
    arguments: &ListenArguments,
    station: &mut Station,
    exchange: &mut TcpStream,
    rng: &mut Rng,
    key: u32,
) -> Result<(), RoceError> {
    let peer = Line::read(exchange, || station.answer()).map_err(RoceError::Line)?;
    station.renew(rng);
    let options = &arguments.station;
    let psn = Psn::new(options.psn.unwrap_or(rng.draw() as u32));
    let mtu = peer.mtu_with(options.mtu);
    for id in 0..arguments.receives.into() {
        let request = ReceiveRequest { id, len_bytes: arguments.message };
        station.qp.post_receive(request).expect("the queue is empty");
    }
    let way = station.find(peer.address, peer.qpn()).map_err(RoceError::Find)?;
    let responder = ResponderConfig { psn: peer.psn(), mtu, ..ResponderConfig::default() };
    station.qp.ready_to_receive(way, responder).expect("it is in INIT");
    let requester = RequesterConfig { psn, mtu, ..RequesterConfig::default() };
    station.qp.ready_to_send(requester).expect("the default is in range");
    let mine = Line {
        address: options.ip,
        qpn: station.qp.number().get(),
        psn: psn.get(),
        mtu: mtu.bytes(),
        rkey: key,
        region_address: REGION_ADDRESS,
        region_bytes: arguments.region,
    };
    mine.write(exchange).map_err(|error| RoceError::Line(error.into()))
}

/// How a connection went.
#[derive(Clone, Copy)]
struct Served {
    elapsed: Duration,
    failure: Option<&'static str>,
}

/// Serves the connection until the peer closes the exchange, or it fails.
fn serve(
    station: &mut Station,
    memory: &mut Received,
    exchange: &TcpStream,
    interrupt: &Interrupt,
) -> Result<Served, Failure> {
    exchange.set_nonblocking(true)?;
    let mut begun: Option<Instant> = None;
    let mut last = Instant::now();
    let served = |begun: Option<Instant>, last: Instant, failure| Served {
        elapsed: begun.map_or(Duration::ZERO, |begun| last - begun),
        failure,
    };
    let mut taken = 0;
    loop {
        let has_more = station.turn(memory)?;
        let packets = station.qp.responder().stats().packets;
        if packets > taken {
            taken = packets;
            last = Instant::now();
            begun.get_or_insert(last);
        }
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
        if let Some(fault) = station.qp.responder().fault() {
            // The NAK has left with the turn.
            return Ok(served(begun, last, Some(fault_words(fault))));
        }
        if interrupt.signal().is_some() {
            return Ok(served(begun, last, Some("interrupted")));
        }
        if has_more {
            continue;
        }
        match (&mut &*exchange).read(&mut [0; 64]) {
            Ok(0) => return Ok(served(begun, last, None)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return Ok(served(begun, last, Some("the peer broke the exchange off"))),
        }
        station.wait(SERVE_PERIOD)?;
    }
}

fn fault_words(fault: samplewire_roce::responder::Fault) -> &'static str {
    use samplewire_roce::responder::Fault;
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

/// Completes the file and sums up.
fn conclude(
    station: &Station,
    memory: &mut Received,
    served: Served,
) -> Result<Connection, Failure> {
    memory.finish()?;
    let (_, _, responder) = station.qp.stats();
    let bytes = memory.sent + memory.written;
    Ok(Connection {
        result: served.failure.unwrap_or("whole").to_owned(),
        bytes_sent: memory.sent,
        messages: responder.messages,
        bytes_written: memory.written,
        region_end: memory.region_end,
        immediates: memory.immediates,
        last_immediate: memory.last_immediate,
        seconds: served.elapsed.as_secs_f64(),
        bits_per_second: bits_per_second(bytes, served.elapsed),
        packets: responder.packets,
        duplicates: responder.duplicates,
        out_of_order: responder.out_of_order,
        frames_invalid: station.invalid,
    })
}

fn print(
    arguments: &ListenArguments,
    console: &mut Console,
    from: SocketAddr,
    ended: &Connection,
) -> Result<(), Failure> {
    if arguments.json {
        let text = serde_json::to_string(ended).map_err(io::Error::from)?;
        Console::new(Lines::Stdout, false).line(format_args!("{text}"));
        return Ok(());
    }
    console.line(format_args!(
        "{from}: {}; {} bytes sent, {} written, in {}, {}; {} packets, {} duplicates, {} out of order",
        ended.result,
        grouped(ended.bytes_sent),
        grouped(ended.bytes_written),
        span(ended.seconds),
        measured(ended.bits_per_second, "b/s"),
        grouped(ended.packets),
        grouped(ended.duplicates),
        grouped(ended.out_of_order),
    ));
    Ok(())
}

/// The memory that peers write to and send into, and what is kept of it.
struct Received {
    region: Vec<u8>,
    messages: Vec<Vec<u8>>,
    message_bytes: u32,
    out: Option<(String, File)>,
    sent: u64,
    written: u64,
    region_end: u64,
    immediates: u64,
    last_immediate: Option<u32>,
}

impl Received {
    fn new(arguments: &ListenArguments) -> Result<Self, Failure> {
        let mut region = Vec::new();
        let len = usize::try_from(arguments.region).unwrap_or(usize::MAX);
        region.try_reserve_exact(len).map_err(|error| RoceError::Reserve {
            len: arguments.region,
            words: error.to_string(),
        })?;
        region.resize(len, 0);
        Ok(Self {
            region,
            messages: vec![vec![0; arguments.message as usize]; arguments.receives.into()],
            message_bytes: arguments.message,
            out: None,
            sent: 0,
            written: 0,
            region_end: 0,
            immediates: 0,
            last_immediate: None,
        })
    }

    /// Begins a connection, and its file.
    fn begin(&mut self, out: Option<&Path>) -> Result<(), Failure> {
        self.region[..self.region_end as usize].fill(0);
        (self.sent, self.written, self.region_end) = (0, 0, 0);
        (self.immediates, self.last_immediate) = (0, None);
        self.out = match out {
            None => None,
            Some(path) => {
                let name = path.display().to_string();
                let created = File::create(path);
                let file =
                    created.map_err(|source| Failure::Output { path: name.clone(), source })?;
                Some((name, file))
            }
        };
        Ok(())
    }

    /// Keeps a message.
    fn keep(&mut self, id: u64, len: u32) -> Result<(), Failure> {
        self.sent += u64::from(len);
        let message = &self.messages[id as usize][..len as usize];
        write(self.out.as_mut(), message)
    }

    /// Keeps what was written, where no messages came.
    fn finish(&mut self) -> Result<(), Failure> {
        if self.sent == 0 {
            write(self.out.as_mut(), &self.region[..self.region_end as usize])?;
        }
        self.out = None;
        Ok(())
    }
}

fn write(out: Option<&mut (String, File)>, bytes: &[u8]) -> Result<(), Failure> {
    let Some((name, file)) = out else { return Ok(()) };
    file.write_all(bytes).map_err(|source| Failure::Output { path: name.clone(), source })
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

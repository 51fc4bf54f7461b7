//! `roce listen`: keeps what peers write and send, one connection after the other.

use std::io;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::RoceError;
use super::arrivals::{Arrival, Arrivals};
use super::exchange::{Exchange, Heard, LineError};
use super::line::{LastLine, Line};
use crate::arguments::ListenArguments;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::figures::{bits_per_second, grouped, measured, span};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

use end::{Counters, End, Ended, Turn};
use kept::Kept;
use software::Software;
use verbs::Verbs;

mod end;
mod kept;
mod software;
mod verbs;

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
    #[serde(flatten)]
    counters: Counters,
}

pub(super) fn run(arguments: &ListenArguments) -> Result<Outcome, Failure> {
    match &arguments.verbs {
        Some(device) => listen(arguments, Verbs::open(arguments, device)?),
        None => listen(arguments, Software::open(arguments)?),
    }
}

fn listen(arguments: &ListenArguments, end: impl End) -> Result<Outcome, Failure> {
    let lines = if arguments.json { Lines::Nowhere } else { Lines::Stdout };
    let mut console = Console::new(lines, false);
    let interrupt = Interrupt::install()?;
    let mut listener = Listener::open(arguments, interrupt, end)?;
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

/// An end that waits for peers.
struct Listener<'a, E> {
    arguments: &'a ListenArguments,
    /// None where a file has the line of the peer.
    arrivals: Option<Arrivals>,
    interrupt: Interrupt,
    end: E,
    kept: Kept,
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

impl<'a, E: End> Listener<'a, E> {
    fn open(arguments: &'a ListenArguments, interrupt: Interrupt, end: E) -> Result<Self, Failure> {
        let kept = Kept::open(arguments.out.as_deref())?;
        let address = arguments.exchange;
        let refused = |source| RoceError::Exchange { address: address.to_string(), source };
        let socket = match arguments.peer {
            Some(_) => None,
            None => Some(TcpListener::bind(address).map_err(refused)?),
        };
        let arrivals = socket.map(Arrivals::new).transpose()?;
        Ok(Self { arguments, arrivals, interrupt, end, kept })
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
            self.end.idle(ACCEPT_PERIOD)?;
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
                exchange.show(&mine, console);
                Ok(exchange)
            }
            Err(error) => {
                let refusal = LastLine::failed(&error.to_string());
                // It may be gone.
                drop(exchange.say(&refusal));
                self.end.end(None);
                Err(error)
            }
        }
    }

    fn agree(
        &mut self,
        exchange: &Exchange,
        line: Result<String, LineError>,
    ) -> Result<Line, RoceError> {
        let peer = line.and_then(|line| Ok(Line::parse(&line)?)).map_err(RoceError::Line)?;
        self.end.connect(&peer, exchange.is_live(), &self.interrupt)
    }

    /// Serves a connection to its end, and keeps what came.
    fn serve(
        &mut self,
        exchange: &mut Exchange,
        console: &mut Console,
    ) -> Result<Connection, Failure> {
        let mut served = match self.kept.begin() {
            Ok(()) => self.receive(exchange, console)?,
            Err(error) => Served::failed(error.to_string()),
        };
        let stated = served.sent_bytes.map(|bytes| bytes.saturating_sub(self.kept.sent));
        let ended = self.end.end(stated);
        let came = self.kept.sent + ended.written;
        if let Some(sent) = served.sent_bytes.filter(|sent| *sent != came) {
            served.result = format!("{} of {} bytes came", grouped(came), grouped(sent));
        }
        let written = &self.end.region()[..ended.region_end as usize];
        if let Err(error) = self.kept.finish(written, served.result == WHOLE) {
            served.result = error.to_string();
        }
        let last = if served.result == WHOLE {
            LastLine::of(came)
        } else {
            if let Some(path) = self.kept.broken() {
                console.warn(format_args!("{} has what came", path.display()));
            }
            LastLine::failed(&served.result)
        };
        // It may be gone.
        drop(exchange.say(&last));
        let connection = self.sum_up(&served, ended, came);
        // Not when the next one begins: its sender would not wait for an acknowledgement until
        // gigabytes are zero.
        self.end.clear();
        self.kept.clear();
        Ok(connection)
    }

    fn receive(
        &mut self,
        exchange: &mut Exchange,
        console: &mut Console,
    ) -> Result<Served, Failure> {
        let Self { end, kept, interrupt, arguments, .. } = self;
        let limit = exchange.is_live().then_some(arguments.idle);
        let mut served = Served::failed(String::new());
        let mut looked = Instant::now();
        loop {
            let turn = end.turn(kept)?;
            served.note(&turn);
            if let Some(advice) = end.advice() {
                console.warn(format_args!("{advice}"));
            }
            if let Some(fault) = turn.fault {
                return Ok(served.because(fault));
            }
            // A flood of frames has no end.
            if turn.has_more && looked.elapsed() < SERVE_PERIOD {
                continue;
            }
            looked = Instant::now();
            let heard = exchange.hear();
            if !matches!(heard, Ok(Heard::Nothing)) {
                // What came before it may still wait.
                let turn = end.turn(kept)?;
                served.note(&turn);
                if let Some(fault) = turn.fault {
                    return Ok(served.because(fault));
                }
            }
            match heard {
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
            if !turn.has_more {
                end.wait(SERVE_PERIOD)?;
            }
        }
    }

    fn sum_up(&self, served: &Served, ended: Ended, bytes: u64) -> Connection {
        let elapsed = served.begun.map_or(Duration::ZERO, |begun| served.last - begun);
        Connection {
            result: served.result.clone(),
            bytes_sent: self.kept.sent,
            messages: ended.messages,
            bytes_written: ended.written,
            region_end: ended.region_end,
            immediates: self.kept.immediates,
            last_immediate: self.kept.last_immediate,
            seconds: elapsed.as_secs_f64(),
            bits_per_second: bits_per_second(bytes, elapsed),
            counters: ended.counters,
        }
    }
}

impl Served {
    fn failed(result: String) -> Self {
        Self { begun: None, last: Instant::now(), result, sent_bytes: None }
    }

    fn note(&mut self, turn: &Turn) {
        if turn.has_come {
            self.last = Instant::now();
            self.begun.get_or_insert(self.last);
        }
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
    let counters = &ended.counters;
    console.line(format_args!(
        "{from}: {}; {} bytes sent, {} written, in {}, {}; {} packets, {} duplicates, {} out of \
         order, {} marked; {} CNPs",
        ended.result,
        grouped(ended.bytes_sent),
        grouped(ended.bytes_written),
        span(ended.seconds),
        measured(ended.bits_per_second, "b/s"),
        count(counters.packets),
        count(counters.duplicates),
        count(counters.out_of_order),
        count(counters.requests_marked),
        count(counters.cnp_sent),
    ));
    Ok(())
}

/// A counter, where there is one.
fn count(counter: Option<u64>) -> String {
    counter.map_or_else(|| "?".to_owned(), grouped)
}

const ACCEPT_PERIOD: Duration = Duration::from_millis(20);
const SERVE_PERIOD: Duration = Duration::from_millis(5);

/// The result of a connection that is complete at both ends.
const WHOLE: &str = "whole";
const CLOSED: &str = "the peer closed the exchange without a last line";

#[cfg(test)]
mod tests;

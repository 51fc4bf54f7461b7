//! Serves sessions one after another: the one that was opened, or those of a device.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use samplewire::End;
use samplewire::device::{AcceptedStream, ReceiveListener};
use samplewire::receiver::ReceiveStream;
use samplewire::transmitter::{Listener, SendError, SendStream, SessionEnd};
use samplewire_proto::wire::CloseReason;
use samplewire_record::counters::silence;

use super::ending::Ending;
use super::inward::{Inward, PumpError};
use super::outward::Outward;
use super::summary::{Passed, Received, Sent};
use super::wait::PAUSE;
use crate::console::Console;
use crate::failure::Failure;
use crate::host::HostHints;
use crate::interrupt::wait_ready;
use crate::metrics::{Entry, View, ended};
use crate::outcome::Outcome;
use crate::rate::tally;

/// Where the samples for ZeroMQ come from.
pub(super) enum Tap {
    /// A stream that this end opened.
    Opened(Box<ReceiveStream>),
    /// Peers that open this device.
    Listens(Box<ReceiveListener>, Entry),
}

/// Where the samples from ZeroMQ go.
pub(super) enum Spout {
    /// A stream that this end opened. Its device plays the first sample `lead` samples later.
    Opened { stream: Box<SendStream>, lead: u64, timeout: Duration },
    /// Peers that open this device.
    Listens(Box<Listener>),
}

/// The results of the sessions of one direction.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) outcome: Outcome,
    pub(super) sessions: Vec<Passed>,
    /// Sessions that are not listed: the list is bounded.
    pub(super) left_out: u64,
    /// Samples that no peer accepted at the end.
    pub(super) untaken: u64,
    /// The error that ended the direction.
    pub(super) error: Option<String>,
}

impl Way {
    const fn new() -> Self {
        Self { outcome: Outcome::Whole, sessions: Vec::new(), left_out: 0, untaken: 0, error: None }
    }

    fn push(&mut self, passed: Passed, console: &mut Console) {
        passed.print(console);
        self.outcome = passed.outcome;
        self.error.clone_from(&passed.error);
        crate::document::push_bounded(&mut self.sessions, &mut self.left_out, SESSIONS_MAX, passed);
    }

    /// For a device, which serves on: it already reported how its sessions ended.
    fn of_device(mut self) -> Self {
        (self.outcome, self.error) = (Outcome::Whole, None);
        self
    }
}

/// Carries streams to ZeroMQ until both directions end.
pub(super) fn serve_outward(
    tap: Tap,
    mut outward: Outward,
    ending: &Ending,
    console: &mut Console,
) -> Result<Way, Failure> {
    let mut way = Way::new();
    match tap {
        Tap::Opened(receiver) => {
            let passed = receive(*receiver, &mut outward, ending, console)?;
            way.push(passed, console);
        }
        Tap::Listens(mut receive_listener, entry) => {
            while !ending.has_come() {
                outward.turn(Instant::now(), console);
                let Some(AcceptedStream { receiver, .. }) = receive_listener.accept(PAUSE)? else {
                    continue;
                };
                console.line(format_args!("{} opened", receiver.info().address));
                entry.set({
                    let (info, stats) = (receiver.info(), receiver.stats_handle());
                    let (peer, packet_samples) = (Some(info.address), info.packet_samples);
                    let view = View { peer, packet_samples, ..View::default() };
                    move || View { receiver: Some(stats.stats()), ..view.clone() }
                });
                let passed = receive(receiver, &mut outward, ending, console)?;
                if let Passed { received: Some(received), .. } = &passed {
                    let last = Some(ended(&received.tally.snapshot));
                    entry.set(move || View { receiver: last, ..View::default() });
                }
                way.push(passed, console);
            }
            way = way.of_device();
        }
    }
    ending.end();
    way.untaken = outward.drain(console)?;
    Ok(way)
}

fn receive(
    mut receiver: ReceiveStream,
    outward: &mut Outward,
    ending: &Ending,
    console: &mut Console,
) -> Result<Passed, Failure> {
    let (peer, frame_bytes) = (receiver.info().address, receiver.info().frame_bytes());
    let (host, before) = (HostHints::now(peer), outward.watch.carried());
    let started = Instant::now();
    let account = outward.pump(&mut receiver, ending, console)?;
    let elapsed = started.elapsed();
    let zeros = outward.watch.carried().zeros - before.zeros;
    let silent = silence(&receiver.stats());
    let (words, error) = match receiver.end() {
        None => ("ended here".to_owned(), None),
        Some(Ok(end)) => (end_words(*end), is_broken(*end).then(|| end_words(*end))),
        Some(Err(error)) => ("the port failed".to_owned(), Some(error.to_string())),
    };
    let (snapshot, lanes, host) = (receiver.close(), Vec::new(), host.until_now(peer));
    let tally = tally::Received {
        chain_samples: None,
        account,
        silent,
        snapshot,
        lanes,
        host,
        elapsed,
        frame_bytes,
        error: None,
    };
    let outcome = match (ending.signal(), &error) {
        (Some(signal), _) => Outcome::Interrupted { signal },
        (None, Some(_)) => Outcome::Unreachable,
        (None, None) if !tally.is_whole() => Outcome::Missing,
        (None, None) => Outcome::Whole,
    };
    let error = error.map(|words| format!("receiving: {words}"));
    let received = Some(Received { tally, zeros });
    Ok(Passed { peer, outcome, words, received, sent: None, error })
}

/// Carries samples from ZeroMQ into streams until both directions end.
pub(super) fn serve_inward(
    spout: Spout,
    mut inward: Inward,
    ending: &Ending,
    console: &mut Console,
) -> Result<Way, Failure> {
    let mut way = Way::new();
    match spout {
        Spout::Opened { mut stream, lead, timeout } => {
            let is_over = || ending.has_come();
            match wait_ready(&stream, timeout, is_over).map_err(port_failure)? {
                true => {
                    let passed = send(&mut stream, lead, (&mut inward, ending), console)?;
                    way.push(passed, console);
                }
                false => match ending.signal() {
                    Some(signal) => way.outcome = Outcome::Interrupted { signal },
                    None => {
                        way.outcome = Outcome::Unreachable;
                        let words = format!("sending: the device took nothing for {timeout:?}");
                        way.error = Some(words);
                    }
                },
            }
        }
        Spout::Listens(mut listener) => {
            while !ending.has_come() {
                inward.idle(Instant::now(), console);
                let stream = listener.accept(PAUSE).map_err(port_failure)?;
                let Some(mut stream) = stream else { continue };
                console.line(format_args!("{} opened", stream.session().peer));
                let passed = send(&mut stream, 0, (&mut inward, ending), console)?;
                way.push(passed, console);
            }
            way = way.of_device();
        }
    }
    ending.end();
    // Print the last events too.
    inward.turn(Instant::now(), console);
    Ok(way)
}

fn send(
    stream: &mut SendStream,
    lead: u64,
    (inward, ending): (&mut Inward, &Ending),
    console: &mut Console,
) -> Result<Passed, Failure> {
    let before = inward.watch.carried();
    let started = Instant::now();
    let end = match inward.pump(stream, lead, ending, console) {
        Ok(()) => finish(stream).map_err(port_failure)?,
        Err(PumpError::Transmit(SendError::Ended(end))) => *end,
        Err(PumpError::Transmit(error)) => return Err(port_failure(error)),
        Err(PumpError::System(error)) => return Err(error.into()),
    };
    let samples = inward.watch.carried().samples - before.samples;
    let unsent = stream.next_index().saturating_sub(end.final_index);
    let words = end_words(end.end);
    let is_broken = is_broken(end.end);
    let outcome = match (ending.signal(), is_broken) {
        (Some(signal), _) => Outcome::Interrupted { signal },
        (None, true) => Outcome::Unreachable,
        (None, false) => Outcome::Whole,
    };
    let sent = Sent {
        samples,
        unsent,
        end_index: end.final_index,
        stats: end.stats,
        elapsed: started.elapsed(),
        frame_bytes: stream.info().frame_bytes(),
    };
    let error = is_broken.then(|| format!("sending: {words}"));
    Ok(Passed {
        peer: stream.session().peer,
        outcome,
        words,
        received: None,
        sent: Some(sent),
        error,
    })
}

/// Ends a session when the other end has all samples, or after [`FINISH_MAX`]: the other end may
/// hold samples back that no peer accepts.
fn finish(stream: &mut SendStream) -> Result<SessionEnd, SendError> {
    let canceller = stream.canceller();
    std::thread::scope(|scope| {
        let (done, wait) = mpsc::channel::<()>();
        scope.spawn(move || {
            if wait.recv_timeout(FINISH_MAX) == Err(mpsc::RecvTimeoutError::Timeout) {
                canceller.cancel();
            }
        });
        let end = stream.finish(0);
        drop(done);
        end
    })
}

fn port_failure(error: SendError) -> Failure {
    Failure::Play(error.into())
}

/// Whether a stream ended other than by request.
const fn is_broken(end: End) -> bool {
    !matches!(
        end,
        End::Finished { .. }
            | End::Cancelled
            | End::ClosedByPeer(CloseReason::Finished | CloseReason::Cancelled)
    )
}

/// How a stream ended, as seen from either end.
fn end_words(end: End) -> String {
    match end {
        End::Finished { .. } => "finished".into(),
        End::Cancelled => "closed here".into(),
        End::ClosedByPeer(CloseReason::Finished | CloseReason::Cancelled) => {
            "closed by the other end".into()
        }
        End::ClosedByPeer(reason) => format!("closed by the other end ({reason:?})"),
        End::PeerRestarted => "the other end is gone, or another opened the stream".into(),
        End::QueuePairFailed => "the queue pair failed".into(),
        End::PeerSilent => "the other end fell silent".into(),
        End::CircuitBreaker => "more than half of all packets were retransmissions".into(),
        End::Violation(violation) => format!("the other end broke the protocol: {violation}"),
    }
}

/// Maximum number of sessions listed in JSON.
const SESSIONS_MAX: usize = 1_000;

/// How long the other end may take for the last samples.
const FINISH_MAX: Duration = Duration::from_secs(2);

//! Serves sessions one after another: the one that was opened, or those of a device.

use std::io;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use samplewire::device::{AcceptedStream, PortError, ReceiveListener};
use samplewire::receiver::ReceiveStream;
use samplewire::transmitter::{Listener, SendError, SendStream, SessionEnd};
use samplewire_record::counters::silence;

use super::ending::Ending;
use super::inward::{Inward, PumpError};
use super::outward::Outward;
use super::report::{Counts, Received, Report, Sent, Session};
use super::wait::PAUSE;

/// Where the samples for ZeroMQ come from.
pub(crate) enum Tap {
    /// A stream that this end opened.
    Opened(Box<ReceiveStream>),
    /// Peers that open this device.
    Listens(Box<ReceiveListener>),
}

/// Where the samples from ZeroMQ go.
pub(crate) enum Spout {
    /// A stream that this end opened, whose device has granted credit. It plays the first sample
    /// `lead` samples later.
    Opened { stream: Box<SendStream>, lead: u64 },
    /// Peers that open this device.
    Listens(Box<Listener>),
}

/// Why a direction broke.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BridgeError {
    /// The port of a device that receives failed.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The port of a stream that is sent failed.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The system call that waits failed.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Carries streams to ZeroMQ until both directions end. Returns the number of samples that no peer
/// accepted at the end.
///
/// # Errors
/// See [`BridgeError`]. How a stream ended is no error.
pub(crate) fn serve_outward(
    tap: Tap,
    mut outward: Outward,
    ending: &Ending,
    report: &mut dyn Report,
) -> Result<u64, BridgeError> {
    match tap {
        Tap::Opened(receiver) => receive(*receiver, &mut outward, ending, report)?,
        Tap::Listens(mut receive_listener) => {
            while !ending.has_come() {
                outward.turn(Instant::now(), report);
                if let Some(AcceptedStream { receiver, .. }) = receive_listener.accept(PAUSE)? {
                    receive(receiver, &mut outward, ending, report)?;
                }
            }
        }
    }
    ending.end();
    Ok(outward.drain(report)?)
}

fn receive(
    mut receiver: ReceiveStream,
    outward: &mut Outward,
    ending: &Ending,
    report: &mut dyn Report,
) -> io::Result<()> {
    let (peer, frame_bytes) = (receiver.info().address, receiver.info().frame_bytes());
    report.receives(&receiver);
    let (before, started) = (outward.watch().carried(), Instant::now());
    let account = outward.pump(&mut receiver, ending, report)?;
    let elapsed = started.elapsed();
    let zeros = outward.watch().carried().zeros - before.zeros;
    let silent = silence(&receiver.stats());
    let end = receiver.end().map(|end| end.as_ref().copied().map_err(ToString::to_string));
    let received = Received { account, silent, snapshot: receiver.close(), zeros };
    let counts = Counts::Received(Box::new(received));
    report.ended(Session { peer, elapsed, frame_bytes, end, counts });
    Ok(())
}

/// Carries samples from ZeroMQ into streams until both directions end.
///
/// # Errors
/// See [`BridgeError`]. How a stream ended is no error.
pub(crate) fn serve_inward(
    spout: Spout,
    mut inward: Inward,
    ending: &Ending,
    report: &mut dyn Report,
) -> Result<(), BridgeError> {
    match spout {
        Spout::Opened { mut stream, lead } => {
            send(&mut stream, lead, &mut inward, ending, report)?;
        }
        Spout::Listens(mut listener) => {
            while !ending.has_come() {
                inward.idle(Instant::now(), report);
                if let Some(mut stream) = listener.accept(PAUSE)? {
                    send(&mut stream, 0, &mut inward, ending, report)?;
                }
            }
        }
    }
    ending.end();
    // Report the last events too.
    inward.turn(Instant::now(), report);
    Ok(())
}

fn send(
    stream: &mut SendStream,
    lead: u64,
    inward: &mut Inward,
    ending: &Ending,
    report: &mut dyn Report,
) -> Result<(), BridgeError> {
    report.sends(stream);
    let (before, started) = (inward.watch().carried(), Instant::now());
    let end = match inward.pump(stream, lead, ending, report) {
        Ok(()) => finish(stream)?,
        Err(PumpError::Transmit(SendError::Ended(end))) => *end,
        Err(PumpError::Transmit(error)) => return Err(error.into()),
        Err(PumpError::System(error)) => return Err(error.into()),
    };
    let sent = Sent {
        samples: inward.watch().carried().samples - before.samples,
        unsent: stream.next_index().saturating_sub(end.final_index),
        end_index: end.final_index,
        stats: end.stats,
    };
    report.ended(Session {
        peer: stream.session().peer,
        elapsed: started.elapsed(),
        frame_bytes: stream.info().frame_bytes(),
        end: Some(Ok(end.end)),
        counts: Counts::Sent(sent),
    });
    Ok(())
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

/// How long the other end may take for the last samples.
const FINISH_MAX: Duration = Duration::from_secs(2);

//! The result of a session, for people.

use std::net::SocketAddr;
use std::time::Duration;

use samplewire::End;
use samplewire_proto::wire::CloseReason;

use super::json;
use crate::bridge::{self, Carried, Counts, Session};
use crate::console::Console;
use crate::figures::{bits_per_second, grouped, measured, span};
use crate::host_watch::HostWatch;
use crate::outcome::Outcome;
use crate::rate::tally;

/// A finished session.
#[derive(Debug)]
pub(super) struct Passed {
    peer: SocketAddr,
    pub(super) outcome: Outcome,
    /// How it ended.
    pub(super) words: String,
    /// For a stream to ZeroMQ: its counts, and the zeros that replaced gaps and pauses.
    received: Option<(tally::Received, u64)>,
    /// For a stream from ZeroMQ.
    sent: Option<Sent>,
    /// The error that ended it.
    pub(super) error: Option<String>,
}

/// Counts of a sent stream.
#[derive(Debug)]
struct Sent {
    counts: bridge::Sent,
    elapsed: Duration,
    frame_bytes: usize,
}

impl Passed {
    /// `signal` has come, if any; `host` has counted what the host dropped of a received
    /// stream.
    pub(super) fn of(session: Session, signal: Option<u8>, host: Option<HostWatch>) -> Self {
        let Session { peer, elapsed, frame_bytes, end, counts } = session;
        let (words, error) = match end {
            None => ("ended here".to_owned(), None),
            Some(Ok(end)) => {
                let words = end.words("the other end").to_string();
                (words.clone(), is_broken(end).then_some(words))
            }
            Some(Err(error)) => ("the port failed".to_owned(), Some(error)),
        };
        let (received, sent) = match counts {
            Counts::Received(received) => {
                let bridge::Received { mut account, silent, snapshot, zeros } = *received;
                let counted = host.map(|host| host.finish(snapshot.stream.received));
                let (drops, host) = counted.unwrap_or_default();
                account.note_host_drops(drops);
                let tally = tally::Received {
                    chain_samples: None,
                    account,
                    silent,
                    snapshot,
                    lanes: Vec::new(),
                    host,
                    elapsed,
                    frame_bytes,
                    error: None,
                };
                (Some((tally, zeros)), None)
            }
            Counts::Sent(counts) => (None, Some(Sent { counts, elapsed, frame_bytes })),
        };
        let is_whole = received.as_ref().is_none_or(|(tally, _)| tally.is_whole());
        let outcome = match (signal, &error) {
            (Some(signal), _) => Outcome::Interrupted { signal },
            (None, Some(_)) => Outcome::Unreachable,
            (None, None) if !is_whole => Outcome::Missing,
            (None, None) => Outcome::Whole,
        };
        let way = if received.is_some() { "receiving" } else { "sending" };
        let error = error.map(|words| format!("{way}: {words}"));
        Self { peer, outcome, words, received, sent, error }
    }

    pub(super) fn print(&self, console: &mut Console) {
        let Self { peer, words, .. } = self;
        if let Some((tally, zeros)) = &self.received {
            console.line(format_args!("from {peer}: {words}"));
            tally.print(console);
            console.line(format_args!(
                "  zeros      {} samples stand for gaps and pauses",
                grouped(*zeros)
            ));
        }
        if let Some(sent) = &self.sent {
            console.line(format_args!("to {peer}: {words}"));
            sent.print(console);
        }
    }

    pub(super) fn json(&self) -> json::SessionEntry {
        json::SessionEntry {
            way: if self.received.is_some() { "to_zmq" } else { "from_zmq" },
            peer: self.peer.to_string(),
            result: self.outcome.as_str(),
            reason: self.words.clone(),
            samples_zero: self.received.as_ref().map(|(_, zeros)| *zeros),
            receive: self.received.as_ref().map(|(tally, _)| tally.json()),
            transmit: self.sent.as_ref().map(Sent::json),
        }
    }
}

impl Sent {
    fn bytes(&self) -> u64 {
        self.counts.samples * self.frame_bytes as u64
    }

    fn print(&self, console: &mut Console) {
        let Self { counts, elapsed, .. } = self;
        console.line(format_args!(
            "sent       {} samples in {}, {}",
            grouped(counts.samples),
            span(elapsed.as_secs_f64()),
            measured(bits_per_second(self.bytes(), *elapsed), "b/s")
        ));
        if counts.unsent > 0 {
            let unsent = grouped(counts.unsent);
            console.line(format_args!("  unsent     {unsent} samples had not departed"));
        }
        console.line(format_args!(
            "  packets    {} sent, {} retransmissions, {} credit stalls",
            grouped(counts.stats.packets),
            grouped(counts.stats.retransmissions),
            grouped(counts.stats.credit_stalls)
        ));
    }

    fn json(&self) -> json::Transmit {
        json::Transmit {
            seconds: self.elapsed.as_secs_f64(),
            bytes: self.bytes(),
            goodput_bps: bits_per_second(self.bytes(), self.elapsed),
            samples_sent: self.counts.samples,
            samples_unsent: self.counts.unsent,
            end_index: self.counts.end_index,
            packets_sent: self.counts.stats.packets,
            packets_repaired: self.counts.stats.retransmissions,
            credit_stalls: self.counts.stats.credit_stalls,
        }
    }
}

/// Prints the counts of all sockets in one direction.
pub(super) fn print_sockets(console: &mut Console, word: &str, carried: &Carried, untaken: u64) {
    let Carried { samples, messages, .. } = *carried;
    console.line(format_args!(
        "{word:<10} {} samples and {} zeros in {} messages",
        grouped(samples),
        grouped(carried.zeros),
        grouped(messages)
    ));
    if carried.dropped_messages > 0 {
        console.line(format_args!(
            "  dropped    {} messages ({}) for subscribers that are too slow",
            grouped(carried.dropped_messages),
            measured(carried.dropped_bytes as f64, "B")
        ));
    }
    if carried.torn_bytes > 0 {
        let bytes = measured(carried.torn_bytes as f64, "B");
        console.line(format_args!("  torn       {bytes} of messages whose peers went away"));
    }
    if untaken > 0 {
        let untaken = grouped(untaken);
        console
            .line(format_args!("  untaken    {untaken} samples that no peer requested at the end"));
    }
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

//! The result of a session, for people.

use std::net::SocketAddr;
use std::time::Duration;

use samplewire_proto::SampleIndex;
use samplewire_proto::sender::SenderStats;

use super::json;
use super::watch::Carried;
use crate::console::Console;
use crate::figures::{bits_per_second, grouped, measured, span};
use crate::outcome::Outcome;
use crate::rate::tally;

/// A finished session.
#[derive(Debug)]
pub(super) struct Passed {
    pub(super) peer: SocketAddr,
    pub(super) outcome: Outcome,
    /// How it ended.
    pub(super) words: String,
    /// For a stream to ZeroMQ.
    pub(super) received: Option<Received>,
    /// For a stream from ZeroMQ.
    pub(super) sent: Option<Sent>,
    /// The error that ended it.
    pub(super) error: Option<String>,
}

/// Counts of a received stream.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) tally: tally::Received,
    /// Zeros that replaced gaps and pauses.
    pub(super) zeros: u64,
}

/// Counts of a sent stream.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) samples: u64,
    /// Samples of these that had not departed at the end.
    pub(super) unsent: u64,
    pub(super) end_index: SampleIndex,
    pub(super) stats: SenderStats,
    pub(super) elapsed: Duration,
    pub(super) frame_bytes: usize,
}

impl Passed {
    pub(super) fn print(&self, console: &mut Console) {
        let Self { peer, words, .. } = self;
        if let Some(Received { tally, zeros }) = &self.received {
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
            samples_zero: self.received.as_ref().map(|received| received.zeros),
            receive: self.received.as_ref().map(|received| received.tally.json()),
            transmit: self.sent.as_ref().map(Sent::json),
        }
    }
}

impl Sent {
    fn bytes(&self) -> u64 {
        self.samples * self.frame_bytes as u64
    }

    fn print(&self, console: &mut Console) {
        let Self { stats, elapsed, .. } = self;
        console.line(format_args!(
            "sent       {} samples in {}, {}",
            grouped(self.samples),
            span(elapsed.as_secs_f64()),
            measured(bits_per_second(self.bytes(), *elapsed), "b/s")
        ));
        if self.unsent > 0 {
            let unsent = grouped(self.unsent);
            console.line(format_args!("  unsent     {unsent} samples had not departed"));
        }
        console.line(format_args!(
            "  packets    {} sent, {} retransmissions, {} credit stalls",
            grouped(stats.packets),
            grouped(stats.retransmissions),
            grouped(stats.credit_stalls)
        ));
    }

    fn json(&self) -> json::Transmit {
        json::Transmit {
            seconds: self.elapsed.as_secs_f64(),
            bytes: self.bytes(),
            goodput_bps: bits_per_second(self.bytes(), self.elapsed),
            samples_sent: self.samples,
            samples_unsent: self.unsent,
            end_index: self.end_index,
            packets_sent: self.stats.packets,
            packets_repaired: self.stats.retransmissions,
            credit_stalls: self.stats.credit_stalls,
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

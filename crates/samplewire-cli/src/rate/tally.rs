//! The counts of each second and the totals.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use samplewire::receiver::ReceiverSnapshot;
use samplewire::transmitter::TransmitterSnapshot;
use samplewire_record::account::{Account, Balance, Defect};
use samplewire_record::counters::StreamCounters;

use super::{json, receive, transmit};
use crate::account;
use crate::arguments::values::{Subject, Threshold};
use crate::certainty::Doubts;
use crate::console::Console;
use crate::figures::{bits_per_second, grouped, measured, span};
use crate::hops;
use crate::host::HostHints;
use crate::lanes::{self, LaneEntry};
use crate::metrics::counters::{ReceiverCounters, SenderCounters};
use crate::thresholds::{self, Crossed};

/// The counts up to a moment, or between two moments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    start: Duration,
    end: Duration,
    receive: Option<Flow>,
    transmit: Option<Flow>,
}

/// The counts of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    bytes: u64,
    samples: u64,
    missing: u64,
    late: u64,
    repaired: u64,
    stalls: u64,
}

impl Tally {
    pub(super) fn of(
        elapsed: Duration,
        receive: &Option<Arc<receive::Watch>>,
        transmit: &Option<Arc<transmit::Watch>>,
    ) -> Self {
        // Relaxed: figures for display.
        let receive = receive.as_ref().map(|watch| {
            let samples = watch.samples.load(Ordering::Relaxed);
            Flow {
                bytes: samples * watch.frame_bytes,
                samples,
                missing: watch.missing.load(Ordering::Relaxed),
                late: watch.late.load(Ordering::Relaxed),
                repaired: watch.repaired.load(Ordering::Relaxed),
                stalls: 0,
            }
        });
        let transmit = transmit.as_ref().map(|watch| {
            let samples = watch.samples.load(Ordering::Relaxed);
            let stream = watch.stats.stats().stream;
            Flow {
                bytes: samples * watch.frame_bytes,
                samples,
                missing: 0,
                late: watch.late.load(Ordering::Relaxed),
                repaired: stream.retransmissions,
                stalls: stream.credit_stalls,
            }
        });
        Self { start: Duration::ZERO, end: elapsed, receive, transmit }
    }

    /// The counts since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        let flow = |now: Option<Flow>, before: Option<Flow>| {
            let before = before.unwrap_or_default();
            now.map(|now| Flow {
                bytes: now.bytes - before.bytes,
                samples: now.samples - before.samples,
                missing: now.missing - before.missing,
                late: now.late - before.late,
                repaired: now.repaired.saturating_sub(before.repaired),
                stalls: now.stalls.saturating_sub(before.stalls),
            })
        };
        Self {
            start: before.end,
            end: self.end,
            receive: flow(self.receive, before.receive),
            transmit: flow(self.transmit, before.transmit),
        }
    }

    /// A line for each direction, of at most 80 columns.
    pub(super) fn words(&self) -> String {
        let elapsed = self.end - self.start;
        let received = self.receive.map(|flow| {
            format!(
                "received {}, {} missing, {} late, {} repaired",
                measured(bits_per_second(flow.bytes, elapsed), "b/s"),
                grouped(flow.missing),
                grouped(flow.late),
                grouped(flow.repaired)
            )
        });
        let sent = self.transmit.map(|flow| {
            format!(
                "sent     {}, {} late, {} repaired, {} stalls",
                measured(bits_per_second(flow.bytes, elapsed), "b/s"),
                grouped(flow.late),
                grouped(flow.repaired),
                grouped(flow.stalls)
            )
        });
        let lines: Vec<_> = received.into_iter().chain(sent).collect();
        format!("{:>8}  {}", span(self.end.as_secs_f64()), lines.join("\n          "))
    }

    pub(super) fn json(&self) -> json::Interval {
        let elapsed = self.end - self.start;
        let flow = |flow: Option<Flow>| {
            flow.map(|flow| json::Flow {
                bytes: flow.bytes,
                goodput_bps: bits_per_second(flow.bytes, elapsed),
                samples: flow.samples,
                samples_missing: flow.missing,
                packets_late: flow.late,
                packets_repaired: flow.repaired,
            })
        };
        json::Interval {
            start_s: self.start.as_secs_f64(),
            end_s: self.end.as_secs_f64(),
            receive: flow(self.receive),
            transmit: flow(self.transmit),
        }
    }
}

/// The totals of the received streams.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) account: Account,
    /// How long the device had been silent at the end, if it was.
    pub(crate) silent: Option<Duration>,
    pub(crate) snapshot: ReceiverSnapshot,
    /// The same for each stream.
    pub(crate) lanes: Vec<StreamCounters>,
    pub(crate) host: HostHints,
    pub(crate) elapsed: Duration,
    pub(crate) frame_bytes: usize,
    /// Samples behind the chain, if there is one.
    pub(crate) chain_samples: Option<u64>,
    /// The error that ended it.
    pub(crate) error: Option<String>,
}

impl Received {
    pub(crate) fn is_whole(&self) -> bool {
        self.balance().is_ok_and(|balance| balance.is_whole())
    }

    /// The account of all indexes.
    pub(crate) fn balance(&self) -> Result<Balance, Defect> {
        self.account.balance(self.account.delivered())
    }

    /// Why its counts may not be exact.
    fn doubts(&self) -> Doubts {
        let doubts = Doubts::of(&self.account, &self.snapshot, &self.host);
        if self.lanes.len() > 1 { doubts.of_several_streams() } else { doubts }
    }

    fn bytes(&self) -> u64 {
        self.account.delivered() * self.frame_bytes as u64
    }

    pub(crate) fn print(&self, console: &mut Console) {
        let Self { account, snapshot, elapsed, .. } = self;
        let stream = &snapshot.stream;
        console.line(format_args!(
            "received   {} samples in {}, {}",
            grouped(account.delivered()),
            span(elapsed.as_secs_f64()),
            measured(bits_per_second(self.bytes(), *elapsed), "b/s")
        ));
        if let Some(samples) = self.chain_samples {
            console.line(format_args!("  chain      {} samples behind it", grouped(samples)));
        }
        if let Ok(balance) = self.balance() {
            console.line(format_args!("  account    {}", account::words(&balance, "delivered")));
        }
        if let Some(silent) = self.silent {
            let silent = span(silent.as_secs_f64());
            console.line(format_args!(
                "  silent     nothing came from the device in the last {silent}"
            ));
        }
        let colon = if account.missing() > 0 { ": " } else { "" };
        console.line(format_args!(
            "  missing    {} samples in {} gaps{colon}{}",
            grouped(account.missing()),
            grouped(account.gaps()),
            hops::words(&account.hops(), &self.doubts())
        ));
        hops::print_hints(console, account, &self.host);
        console.line(format_args!(
            "  packets    {} received, {} repaired, {} late, {} reordered, {} duplicates",
            grouped(stream.received),
            grouped(stream.repaired),
            grouped(stream.late),
            grouped(stream.reordered),
            grouped(stream.duplicates)
        ));
        console.line(format_args!(
            "             {} corrupted, {} dropped by the socket; {} credit stalls",
            grouped(snapshot.corrupted),
            grouped(snapshot.socket_dropped),
            grouped(snapshot.starved)
        ));
        lanes::print(console, &self.lanes);
    }

    pub(crate) fn json(&self) -> json::Receive {
        json::Receive {
            seconds: self.elapsed.as_secs_f64(),
            bytes: self.bytes(),
            goodput_bps: bits_per_second(self.bytes(), self.elapsed),
            account: self.balance().ok().as_ref().map(account::counts),
            silent_s: self.silent.map(|silent| silent.as_secs_f64()),
            samples_delivered: self.account.delivered(),
            samples_behind_chain: self.chain_samples,
            samples_missing: self.account.missing(),
            gaps: self.account.gaps(),
            lost_at: hops::counts(&self.account.hops()),
            lost_at_bounds: self.doubts().hops(),
            host_hints: self.host.clone(),
            counters: ReceiverCounters::from(&self.snapshot),
            streams: self.lanes.iter().map(LaneEntry::from).collect(),
        }
    }
}

/// The totals of the sent stream.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) samples: u64,
    pub(super) late: u64,
    /// Samples missing at their time, if the device reported them.
    pub(super) underflow: Option<u64>,
    pub(super) snapshot: TransmitterSnapshot,
    pub(super) elapsed: Duration,
    pub(super) frame_bytes: usize,
    /// The error that ended it.
    pub(super) error: Option<String>,
}

impl Sent {
    pub(super) fn is_whole(&self) -> bool {
        self.underflow == Some(0) && self.late == 0
    }

    fn bytes(&self) -> u64 {
        self.samples * self.frame_bytes as u64
    }

    pub(super) fn print(&self, console: &mut Console) {
        let stream = &self.snapshot.stream;
        console.line(format_args!(
            "sent       {} samples in {}, {}",
            grouped(self.samples),
            span(self.elapsed.as_secs_f64()),
            measured(bits_per_second(self.bytes(), self.elapsed), "b/s")
        ));
        let underflow = match self.underflow {
            Some(samples) => format!("{} samples were missing at their time", grouped(samples)),
            None => "the device could not report how many samples were missing".into(),
        };
        console.line(format_args!("  underflow  {underflow}"));
        console.line(format_args!(
            "  packets    {} sent, {} retransmissions, {} late; {} credit stalls",
            grouped(stream.packets),
            grouped(stream.retransmissions),
            grouped(self.late),
            grouped(stream.credit_stalls)
        ));
    }

    pub(super) fn json(&self) -> json::Transmit {
        json::Transmit {
            seconds: self.elapsed.as_secs_f64(),
            bytes: self.bytes(),
            goodput_bps: bits_per_second(self.bytes(), self.elapsed),
            samples_sent: self.samples,
            samples_underflow: self.underflow,
            counters: SenderCounters {
                packets_late: self.late,
                ..SenderCounters::from(&self.snapshot)
            },
        }
    }
}

/// The exceeded thresholds.
pub(super) fn crossed(
    thresholds: &[Threshold],
    received: Option<&Received>,
    sent: Option<&Sent>,
) -> Vec<Crossed> {
    thresholds::crossed(thresholds, |subject| {
        let of_received = received.map_or(0, |it| match subject {
            Subject::Gap => it.account.missing(),
            Subject::Late => it.snapshot.stream.late,
            Subject::Repaired => it.snapshot.stream.repaired,
            Subject::Corrupted => it.snapshot.corrupted,
            Subject::Duplicate => it.snapshot.stream.duplicates,
            Subject::Stall => it.snapshot.starved,
            Subject::Underflow => 0,
        });
        let of_sent = sent.map_or(Some(0), |it| match subject {
            Subject::Late => Some(it.late),
            Subject::Repaired => Some(it.snapshot.stream.retransmissions),
            Subject::Corrupted => Some(it.snapshot.corrupted),
            Subject::Stall => Some(it.snapshot.stream.credit_stalls),
            Subject::Underflow => it.underflow,
            Subject::Gap | Subject::Duplicate => Some(0),
        });
        of_sent.map(|of_sent| of_sent.saturating_add(of_received))
    })
}

//! What is measured of a run.

use samplewire_proto::Nanos;

use super::{Incast, IncastResult};
use crate::switch::SwitchCounts;

/// Fairness is judged over so long, so that senders that take turns are not called fair.
const WINDOW: Nanos = Nanos::from_millis(10);

#[derive(Debug)]
pub(super) struct Measure {
    span: (Nanos, Nanos),
    shared_bps: u64,
    wire_bytes: u64,
    /// Frames of each sender in each window, window by window.
    frames: Vec<u64>,
    senders: usize,
    queues: Vec<u32>,
    queue_max: u64,
}

impl Measure {
    pub(super) fn new(scenario: &Incast) -> Self {
        let (from, end) = scenario.span;
        let windows = (end.since(from).0 / WINDOW.0) as usize;
        Self {
            span: scenario.span,
            shared_bps: scenario.shared_bps,
            wire_bytes: scenario.wire_bytes.into(),
            frames: vec![0; windows * scenario.senders],
            senders: scenario.senders,
            queues: Vec::new(),
            queue_max: 0,
        }
    }

    /// A frame has come to a queue of so many bytes.
    pub(super) fn queue(&mut self, now: Nanos, bytes: u64) {
        self.queue_max = self.queue_max.max(bytes);
        if now >= self.span.0 {
            self.queues.push(bytes as u32);
        }
    }

    pub(super) fn forwarded(&mut self, at: Nanos, sender: usize) {
        if at < self.span.0 {
            return;
        }
        let window = (at.since(self.span.0).0 / WINDOW.0) as usize;
        if let Some(frames) = self.frames.get_mut(window * self.senders + sender) {
            *frames += 1;
        }
    }

    pub(super) fn result(mut self, counts: SwitchCounts, cuts: u64) -> IncastResult {
        let windows = self.frames.len() / self.senders;
        let span_ns = windows as u64 * WINDOW.0;
        let frames: u64 = self.frames.iter().sum();
        let bits = (frames * self.wire_bytes * 8) as f64;
        let jain = self.frames.chunks(self.senders).map(jain).sum::<f64>() / windows as f64;
        self.queues.sort_unstable();
        let total: u64 = self.queues.iter().map(|&bytes| u64::from(bytes)).sum();
        let p99 = self.queues.get(self.queues.len() * 99 / 100).copied().unwrap_or(0);
        IncastResult {
            utilisation: bits / (self.shared_bps as f64 * span_ns as f64 / 1e9),
            jain,
            queue_p99_bytes: p99.into(),
            queue_max_bytes: self.queue_max,
            queue_mean_bytes: total as f64 / self.queues.len().max(1) as f64,
            dropped: counts.dropped,
            marked: counts.marked as f64 / counts.forwarded.max(1) as f64,
            cuts,
        }
    }
}

/// Jain's index of fairness: 1 where all have as much, 1/n where one has all.
fn jain(shares: &[u64]) -> f64 {
    let sum: u64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64).powi(2)).sum();
    if sum == 0 { 0.0 } else { (sum as f64).powi(2) / (shares.len() as f64 * squares) }
}

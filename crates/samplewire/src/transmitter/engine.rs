//! The thread of a transmitter that opened: it has its link for itself, and one stream.

use std::net::SocketAddr;
use std::sync::Arc;

use samplewire_io::{Batch, Link, LinkError, Resilient};
use samplewire_proto::Nanos;
use samplewire_proto::wire::{self, WireError};

use super::outflow::Outflow;
use crate::calls::Calls;
use crate::driver;
use crate::port::{Clock, LINGER_MAX, LINK_FULL_PAUSE, PortCounts};

/// Everything the thread owns.
pub(super) struct Engine {
    link: Resilient,
    peer: SocketAddr,
    clock: Clock,
    calls: Arc<Calls>,
    outflow: Outflow,
    batch: Batch,
    counts: PortCounts,
    spins: bool,
    stopped_at: Option<Nanos>,
}

impl Engine {
    pub(super) fn new(
        (link, peer, clock): (Resilient, SocketAddr, Clock),
        calls: Arc<Calls>,
        outflow: Outflow,
        batch: Batch,
        spins: bool,
    ) -> Self {
        let (counts, stopped_at) = (PortCounts::default(), None);
        Self { link, peer, clock, calls, outflow, batch, counts, spins, stopped_at }
    }

    fn turn(&mut self) -> Result<(), LinkError> {
        // There is one stream, which is looked at in any case.
        self.calls.take(|_| {});
        let now = self.clock.now();
        // What was submitted leaves first.
        let has_pushed = self.outflow.push();
        let took_all = self.outflow.transmit(now, &mut self.link)?;
        self.link.recv(&mut self.batch)?;
        let has_arrivals = !self.batch.is_empty();
        self.take_arrivals(now);
        self.outflow.announce();
        self.outflow.recycle();
        self.outflow.note_end(now, &mut self.link);
        self.counts.link = self.link.error_counts();
        self.outflow.publish(now, &self.counts);
        if self.spins {
            return Ok(());
        }
        if !took_all {
            return self.link.wait(LINK_FULL_PAUSE);
        }
        if has_arrivals && let Some(pause) = self.outflow.dull_pause(now) {
            std::thread::sleep(pause);
        }
        if has_arrivals || has_pushed { Ok(()) } else { self.wait(now) }
    }

    fn take_arrivals(&mut self, now: Nanos) {
        for (bytes, meta) in &self.batch {
            match wire::parse(bytes) {
                Ok((header, packet)) if meta.peer == self.peer => {
                    self.outflow.handle(now, meta.peer, &header, &packet);
                }
                Err(WireError::Crc) => self.counts.corrupted += 1,
                Ok(_) | Err(_) => self.counts.foreign += 1,
            }
        }
    }

    fn wait(&mut self, now: Nanos) -> Result<(), LinkError> {
        let span = self.outflow.wakes_at(now).since(self.clock.now());
        self.calls.sleep(&mut self.link, span, || self.outflow.is_idle())
    }
}

impl driver::Engine for Engine {
    /// `false` when the stream has ended, or the program is gone and the device knows.
    fn step(&mut self) -> bool {
        if !self.outflow.is_open() {
            return false;
        }
        if let Err(error) = self.turn() {
            self.outflow.fail(&error);
            return false;
        }
        if self.outflow.is_stopped() {
            let now = self.clock.now();
            let since = *self.stopped_at.get_or_insert(now);
            self.outflow.cancel(now);
            if now.since(since) > LINGER_MAX {
                return false;
            }
        }
        true
    }
}

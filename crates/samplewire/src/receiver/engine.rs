//! The thread of a receiver that opened: it has its link for itself.

use std::sync::Arc;
use std::time::Duration;

use samplewire_io::{Batch, Link, LinkError, Resilient};
use samplewire_proto::wire::{self, WireError};
use samplewire_proto::{Nanos, Tag};

use super::guard::{Guard, is_stray};
use super::inflow::{Inflow, WAIT_MAX};
use crate::calls::Calls;
use crate::drive;
use crate::port::Clock;

/// Everything the thread owns.
pub(super) struct Engine {
    link: Resilient,
    clock: Clock,
    calls: Arc<Calls>,
    inflow: Inflow,
    batch: Batch,
    guard: Guard,
    /// Of this end and of the device's.
    tags: (Tag, Tag),
    /// Packets that were none of the protocol and carried another tag.
    strays: u64,
    spins: bool,
    /// Until then a turn that finds nothing has nothing to do.
    quiet_until: Nanos,
    /// The link has failed: only what has come is still the program's.
    is_broken: bool,
}

impl Engine {
    pub(super) fn new(
        (link, clock): (Resilient, Clock),
        calls: Arc<Calls>,
        inflow: Inflow,
        batch: Batch,
        tags: (Tag, Tag),
        spins: bool,
    ) -> Self {
        Self {
            link,
            clock,
            calls,
            inflow,
            batch,
            guard: Guard::new(),
            tags,
            strays: 0,
            spins,
            quiet_until: Nanos(0),
            is_broken: false,
        }
    }

    fn turn(&mut self) -> Result<(), LinkError> {
        let mut is_called = false;
        self.calls.take(|_| is_called = true);
        let now = self.clock.now();
        self.link.recv(&mut self.batch)?;
        let is_idle = self.batch.is_empty();
        if is_idle && !is_called && now < self.quiet_until {
            return Ok(());
        }
        self.take_arrivals(now);
        self.inflow.advance(now, &mut self.link)?;
        if self.inflow.is_publishing(now, is_idle) {
            self.publish(now);
        }
        if self.spins {
            self.quiet_until = self.inflow.spins_until(now);
            return Ok(());
        }
        if is_idle { self.wait(now) } else { Ok(()) }
    }

    fn take_arrivals(&mut self, now: Nanos) {
        for (bytes, meta) in &self.batch {
            if meta.peer != self.inflow.peer() {
                self.inflow.snapshot.foreign += 1;
                continue;
            }
            self.inflow.note_drops(meta);
            match wire::parse(bytes) {
                Ok((header, packet)) => {
                    self.inflow.handle(now, &header, &packet, meta.ecn);
                }
                Err(error) => {
                    self.strays += u64::from(is_stray(bytes, self.tags.0));
                    match error {
                        WireError::Crc => self.inflow.snapshot.corrupted += 1,
                        _ => self.inflow.snapshot.foreign += 1,
                    }
                }
            }
        }
    }

    fn wait(&mut self, now: Nanos) -> Result<(), LinkError> {
        let Some(until) = self.inflow.wakes_at(now) else { return Ok(()) };
        let span = until.since(self.clock.now());
        self.calls.sleep(&mut self.link, span, || true)
    }

    fn publish(&mut self, now: Nanos) {
        self.inflow.snapshot.note_link(self.link.error_counts());
        self.inflow.publish(now);
        let strays = self.strays + self.inflow.snapshot.stream.foreign;
        if self.guard.watch(now, strays, &mut self.link) {
            let (local, peer) = self.tags;
            self.guard.raise(now, (&[local.0], &[peer.0]), &mut self.link);
        }
    }
}

impl drive::Engine for Engine {
    /// `false` when the stream has ended, its end is acknowledged and the program has everything.
    fn step(&mut self) -> bool {
        let is_over = if self.is_broken {
            if !self.spins {
                std::thread::sleep(Duration::from_nanos(WAIT_MAX.0));
            }
            self.inflow.fail(None)
        } else if let Err(error) = self.turn() {
            self.is_broken = true;
            self.inflow.fail(Some(error))
        } else {
            self.inflow.is_over()
        };
        if is_over {
            self.publish(self.clock.now());
        }
        !is_over
    }
}

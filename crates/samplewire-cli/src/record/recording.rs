//! The loop of a recording: from the receiver into the sink, until something stops it.

use std::time::{Duration, Instant};

use samplewire::sink::{Sink, SinkError};
use samplewire::{Block, Receiver};

use super::reporter::Reporter;
use super::stop::Stop;
use crate::account::Account;
use crate::cadence::Cadence;
use crate::interrupt::Interrupt;

/// A recording under way.
pub(super) struct Recording<'a> {
    pub(super) receiver: &'a mut Receiver,
    pub(super) sink: &'a mut dyn Sink,
    pub(super) reporter: &'a mut Reporter,
    pub(super) interrupt: &'a Interrupt,
    pub(super) account: Account,
    pub(super) started: Instant,
    pub(super) duration: Option<Duration>,
    /// How long no samples may come; `None` leaves it to the protocol.
    pub(super) silence: Option<Duration>,
}

impl Recording<'_> {
    /// Records until something stops it.
    pub(super) fn run(&mut self) -> Stop {
        let mut cadence = Cadence::new(Duration::from_secs(1), self.started);
        let mut status_cadence = Cadence::new(STATUS_PERIOD, self.started);
        let mut heard = self.started;
        loop {
            let now = Instant::now();
            if let Some(stop) = self.turn(now, &mut heard) {
                return stop;
            }
            if cadence.is_due(now) {
                let snapshot = self.receiver.stats();
                self.reporter.interval(now - self.started, &self.account, &snapshot);
            }
            if status_cadence.is_due(now) {
                let snapshot = self.receiver.stats();
                self.reporter.status(now - self.started, self.duration, &self.account, &snapshot);
            }
        }
    }

    fn turn(&mut self, now: Instant, heard: &mut Instant) -> Option<Stop> {
        if let Some(signal) = self.interrupt.signal() {
            return Some(Stop::Signal(signal));
        }
        let pause = match self.duration.map(|duration| self.started + duration) {
            Some(end) if end <= now => return Some(Stop::Duration),
            Some(end) => PAUSE_MAX.min(end - now),
            None => PAUSE_MAX,
        };
        if let Some(block) = self.receiver.next_within(pause) {
            *heard = now;
            if let Err(error) = self.take(&block) {
                return Some(Stop::of_sink(error));
            }
            return self.account.is_full().then_some(Stop::Samples);
        }
        match (self.receiver.end(), self.silence) {
            (Some(Ok(end)), _) => Some(Stop::of_stream(*end)),
            (Some(Err(error)), _) => Some(Stop::Port(error.to_string())),
            (None, Some(silence)) if now - *heard > silence => Some(Stop::Silence(silence)),
            _ => None,
        }
    }

    /// Accounts for a block and writes it.
    fn take(&mut self, block: &Block) -> Result<(), SinkError> {
        for gap in block.gaps() {
            if let Some(gap) = self.account.take_gap(&gap.into()) {
                self.reporter.gap(&gap);
                self.sink.gap(&gap)?;
            }
        }
        let count = self.account.take_samples(block.index(), block.len());
        if count > 0 {
            let frame_bytes = block.bytes().len() / block.len();
            self.sink.write(block.index(), &block.bytes()[..count * frame_bytes])?;
        }
        Ok(())
    }
}

/// The longest that an interruption waits to be seen.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// How often the status line is rewritten; a log gets a line each time.
const STATUS_PERIOD: Duration = Duration::from_secs(1);

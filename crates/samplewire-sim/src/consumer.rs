//! What stands behind a receiver: a program that takes packets, or a DAC that plays on.

use samplewire_proto::Nanos;

use crate::rng::Rng;

/// How packets are taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum ConsumerSpec {
    /// At once.
    #[default]
    Immediate,
    /// One in so many nanoseconds, now and then with a pause.
    Slow { interval: Nanos, pause: Nanos, pause_one_in: u64 },
    /// One in so many nanoseconds, delivered or not, once so many have come: a DAC. What comes
    /// after its time is dropped and counted.
    Player { interval: Nanos, prefill: u32 },
}

/// A consumer and the packets it holds.
#[derive(Debug)]
pub(crate) struct Consumer {
    spec: ConsumerSpec,
    held: u32,
    next_at: Option<Nanos>,
    /// Packets whose time has passed before they came.
    owed: u64,
    /// Instants at which there was nothing to play.
    pub(crate) underruns: u64,
    rng: Rng,
}

impl Consumer {
    pub(crate) const fn new(spec: ConsumerSpec, rng: Rng) -> Self {
        Self { spec, held: 0, next_at: None, owed: 0, underruns: 0, rng }
    }

    /// Takes over a place; `true` when it is free again at once.
    pub(crate) fn take(&mut self, now: Nanos) -> bool {
        match self.spec {
            ConsumerSpec::Immediate => return true,
            ConsumerSpec::Slow { interval, .. } => {
                if self.next_at.is_none() {
                    self.next_at = Some(now + interval);
                }
            }
            ConsumerSpec::Player { interval, prefill } => {
                if self.owed > 0 {
                    self.owed -= 1;
                    return true;
                }
                if self.next_at.is_none() && self.held + 1 >= prefill {
                    self.next_at = Some(now + interval);
                }
            }
        }
        self.held += 1;
        false
    }

    /// Gives back the places of packets that have been used by `now`.
    pub(crate) fn run(&mut self, now: Nanos) -> u32 {
        let mut freed = 0;
        while let Some(at) = self.next_at
            && at <= now
        {
            match self.spec {
                ConsumerSpec::Immediate => self.next_at = None,
                ConsumerSpec::Slow { interval, pause, pause_one_in } => {
                    freed += 1;
                    self.held -= 1;
                    let is_pausing = pause_one_in > 0 && self.rng.one_in(pause_one_in);
                    let wait = if is_pausing { pause } else { interval };
                    self.next_at = (self.held > 0).then_some(at + wait);
                }
                ConsumerSpec::Player { interval, .. } => {
                    if self.held == 0 {
                        let missed = now.since(at).0 / interval.0 + 1;
                        self.owed += missed;
                        self.underruns += missed;
                        self.next_at = Some(at + Nanos(missed * interval.0));
                        break;
                    }
                    self.held -= 1;
                    freed += 1;
                    self.next_at = Some(at + interval);
                }
            }
        }
        freed
    }

    /// When it gives a place back next.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        self.next_at.filter(|_| self.held > 0)
    }

    /// Gives back all places at the end of the stream.
    pub(crate) fn end(&mut self) -> u32 {
        self.next_at = None;
        std::mem::take(&mut self.held)
    }
}

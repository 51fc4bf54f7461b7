//! What stands behind a receiver: a program that takes packets, or a DAC that plays on.

use samplewire_proto::receiver::Delivered;
use samplewire_proto::stream::Underflow;
use samplewire_proto::wire::Flags;
use samplewire_proto::{Nanos, Rng, SampleIndex};

use crate::check::Tally;
use crate::dac::Dac;

/// How packets are taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum ConsumerSpec {
    /// At once.
    #[default]
    Immediate,
    /// One in so many nanoseconds, now and then with a pause.
    Slow { interval: Nanos, pause: Nanos, pause_one_in: u64 },
    /// A full one in so many nanoseconds, delivered or not, once so many have come: a DAC.
    Player { interval: Nanos, prefill: u32, underflow: Underflow },
}

impl ConsumerSpec {
    /// A player does as the sender wishes where samples are not there at their time.
    pub(crate) const fn with_underflow(self, underflow: Underflow) -> Self {
        match self {
            Self::Player { interval, prefill, .. } => Self::Player { interval, prefill, underflow },
            Self::Immediate | Self::Slow { .. } => self,
        }
    }
}

/// A consumer and the packets it holds.
#[derive(Debug)]
pub(crate) struct Consumer {
    kind: Kind,
    rng: Rng,
}

#[derive(Debug)]
enum Kind {
    Immediate,
    Slow { interval: Nanos, pause: Nanos, pause_one_in: u64, held: u32, next_at: Option<Nanos> },
    Player(Box<Dac>),
}

impl Consumer {
    /// A consumer of full packets of `packet_samples`, a `window` of them at most.
    pub(crate) fn new(spec: ConsumerSpec, packet_samples: u32, window: u32, rng: Rng) -> Self {
        let kind = match spec {
            ConsumerSpec::Immediate => Kind::Immediate,
            ConsumerSpec::Slow { interval, pause, pause_one_in } => {
                Kind::Slow { interval, pause, pause_one_in, held: 0, next_at: None }
            }
            ConsumerSpec::Player { interval, prefill, underflow } => {
                let dac = Dac::new((interval, packet_samples), prefill, window, underflow);
                Kind::Player(Box::new(dac))
            }
        };
        Self { kind, rng }
    }

    /// Whether it takes more.
    pub(crate) fn has_room(&self) -> bool {
        match &self.kind {
            Kind::Immediate | Kind::Slow { .. } => true,
            Kind::Player(dac) => dac.has_room(),
        }
    }

    /// Takes what is delivered, with its place; says how many places are free at once.
    pub(crate) fn take(&mut self, now: Nanos, delivered: &Delivered) -> u32 {
        match (&mut self.kind, delivered) {
            (Kind::Player(dac), _) => play(dac, now, delivered),
            (_, Delivered::Gap(_)) => 0,
            (Kind::Slow { interval, held, next_at, .. }, Delivered::Packet { .. }) => {
                next_at.get_or_insert(now + *interval);
                *held += 1;
                0
            }
            _ => 1,
        }
    }

    /// Gives back the places of packets that have been used by `now`.
    pub(crate) fn run(&mut self, now: Nanos) -> u32 {
        match &mut self.kind {
            Kind::Immediate => 0,
            Kind::Slow { interval, pause, pause_one_in, held, next_at } => {
                let mut freed = 0;
                while let Some(at) = *next_at
                    && at <= now
                {
                    freed += 1;
                    *held -= 1;
                    let is_pausing = *pause_one_in > 0 && self.rng.one_in(*pause_one_in);
                    let wait = if is_pausing { *pause } else { *interval };
                    *next_at = (*held > 0).then_some(at + wait);
                }
                freed
            }
            Kind::Player(dac) => dac.run(now),
        }
    }

    /// When it gives a place back next.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        match &self.kind {
            Kind::Immediate => None,
            Kind::Slow { held, next_at, .. } => next_at.filter(|_| *held > 0),
            Kind::Player(dac) => dac.next_at(),
        }
    }

    /// How many places it holds.
    pub(crate) fn held(&self) -> u32 {
        match &self.kind {
            Kind::Immediate => 0,
            Kind::Slow { held, .. } => *held,
            Kind::Player(dac) => dac.held(),
        }
    }

    /// The index that a player plays next.
    pub(crate) const fn plays(&self) -> Option<SampleIndex> {
        match &self.kind {
            Kind::Player(dac) => dac.plays(),
            Kind::Immediate | Kind::Slow { .. } => None,
        }
    }

    /// Whether a player has stopped because samples were not there at their time.
    pub(crate) const fn is_stopped(&self) -> bool {
        match &self.kind {
            Kind::Player(dac) => dac.is_stopped(),
            Kind::Immediate | Kind::Slow { .. } => false,
        }
    }

    /// Adds what a player has played to the counts of the run, at the end of its stream.
    pub(crate) fn close(&mut self, tally: &mut Tally) {
        if let Kind::Player(dac) = &mut self.kind {
            dac.close(tally);
        }
    }

    /// Lets go of all places at the end of the stream.
    pub(crate) fn end(&mut self) {
        match &mut self.kind {
            Kind::Immediate => {}
            Kind::Slow { held, next_at, .. } => (*held, *next_at) = (0, None),
            Kind::Player(dac) => dac.end(),
        }
    }
}

fn play(dac: &mut Dac, now: Nanos, delivered: &Delivered) -> u32 {
    match delivered {
        Delivered::Packet { .. } if dac.is_stopped() => 1,
        Delivered::Packet { index, samples, flags, .. } => {
            if flags.contains(Flags::START) {
                dac.start(*index);
            }
            if *samples > 0 {
                dac.take(now, *index, *samples);
            }
            if flags.contains(Flags::END_OF_BURST) && !flags.contains(Flags::META) {
                dac.end_burst(index + u64::from(*samples));
            }
            u32::from(*samples == 0)
        }
        Delivered::Skipped { .. } => 1,
        Delivered::Gap(gap) => {
            dac.lack(gap);
            0
        }
    }
}

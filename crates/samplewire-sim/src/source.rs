//! What stands behind a sender: a converter that cannot be stopped, or a program.

use samplewire_proto::wire::{CloseReason, Flags};
use samplewire_proto::{Nanos, Odds, Rng, SampleIndex};

use crate::check::Breach;

/// How a source makes packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceSpec {
    /// Packets in all; `None` goes on until the stream is ended.
    pub(crate) packets: Option<u64>,
    pub(crate) pace: Pace,
    pub(crate) samples: u32,
    /// How often a packet ends a burst; the next then sets its index.
    pub(crate) end_of_burst: Odds,
    /// How often samples are lost in front of the window besides what finds it full.
    pub(crate) overflow: Odds,
    /// What happens after the last packet.
    pub(crate) ends: Ending,
    /// How its sender breaks the rules, if it does.
    pub(crate) breach: Option<Breach>,
}

/// When packets are made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// Whenever the window has room.
    Greedy,
    /// One in so many nanoseconds, by the machine's clock, room or not: an ADC. What finds the
    /// window full is lost and counted by index.
    Converter(Nanos),
    /// One in so many nanoseconds, and it waits for room.
    Paced(Nanos),
    /// So many at once, and so many nanoseconds between the starts of two bursts.
    Bursts { packets: u32, every: Nanos },
}

/// How a source ends its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Close,
    /// What has not departed is dropped.
    Cancel,
    /// It closes, and cancels so much later what has not departed by then.
    CloseThenCancel(Nanos),
    /// It says that it failed.
    Fail,
    /// It leaves that to the receiver.
    Never,
}

/// A source and where it stands.
#[derive(Debug)]
pub(crate) struct Source {
    spec: SourceSpec,
    left: u64,
    next_at: Nanos,
    next_index: SampleIndex,
    lost: u64,
    /// All that it has lost.
    lost_in_all: u64,
    /// Packets of the present burst.
    burst: u32,
    sets_index: bool,
    is_done: bool,
    cancels_at: Option<Nanos>,
    rng: Rng,
}

impl Source {
    pub(crate) fn new(spec: SourceSpec, first_index: SampleIndex, now: Nanos, rng: Rng) -> Self {
        Self {
            left: spec.packets.unwrap_or(u64::MAX),
            spec,
            next_at: now,
            next_index: first_index,
            lost: 0,
            lost_in_all: 0,
            burst: 0,
            sets_index: false,
            is_done: false,
            cancels_at: None,
            rng,
        }
    }

    /// When the source makes its next packet, by its clock; `None` while it waits for room.
    pub(crate) fn next_at(&self, has_room: bool) -> Option<Nanos> {
        let is_over = self.is_done || (self.left == 0 && self.spec.ends == Ending::Never);
        match self.spec.pace {
            _ if is_over => self.cancels_at,
            Pace::Converter(_) => Some(self.next_at),
            Pace::Paced(_) | Pace::Bursts { .. } if has_room => Some(self.next_at),
            Pace::Greedy if has_room => Some(Nanos(0)),
            Pace::Paced(_) | Pace::Bursts { .. } | Pace::Greedy => None,
        }
    }

    /// Whether its packets cannot wait.
    pub(crate) const fn is_converter(&self) -> bool {
        matches!(self.spec.pace, Pace::Converter(_))
    }

    /// How many samples it has lost.
    pub(crate) const fn lost_in_all(&self) -> u64 {
        self.lost_in_all
    }

    /// Makes the packets that are due and pushes those that find room.
    pub(crate) fn run(&mut self, now: Nanos, outlet: &mut impl Outlet) -> Result<(), String> {
        if outlet.is_ended() {
            self.cancels_at = None;
            return Ok(());
        }
        if self.is_done {
            if self.cancels_at.is_some_and(|at| now >= at) {
                self.cancels_at = None;
                self.cancel(now, outlet);
            }
            return Ok(());
        }
        while self.left > 0 {
            let has_room = outlet.has_room(self.may_break());
            match self.spec.pace {
                Pace::Greedy if !has_room => break,
                Pace::Greedy => {}
                Pace::Paced(interval) => {
                    if now < self.next_at || !has_room {
                        break;
                    }
                    self.next_at = self.next_at.max(now - interval) + interval;
                }
                Pace::Bursts { packets, every } => {
                    if now < self.next_at || !has_room {
                        break;
                    }
                    self.burst += 1;
                    if self.burst == packets {
                        self.burst = 0;
                        self.next_at = self.next_at + every;
                    }
                }
                Pace::Converter(interval) => {
                    if now < self.next_at {
                        break;
                    }
                    self.next_at = self.next_at + interval;
                }
            }
            self.left -= 1;
            if has_room {
                self.push(outlet)?;
            } else {
                self.lose(self.spec.samples.into());
            }
        }
        if self.left == 0 {
            self.finish(now, outlet);
        }
        Ok(())
    }

    /// Whether the next packet may not follow the last.
    pub(crate) fn may_break(&self) -> bool {
        self.lost > 0 || self.sets_index || self.spec.overflow != Odds::NEVER
    }

    const fn lose(&mut self, samples: u64) {
        self.lost += samples;
        self.lost_in_all += samples;
    }

    fn push(&mut self, outlet: &mut impl Outlet) -> Result<(), String> {
        if self.rng.chance(self.spec.overflow) {
            let samples = self.rng.within(1..=5_000);
            self.lose(samples);
        }
        let mut flags = Flags::NONE;
        let mut index = self.next_index + self.lost;
        if self.lost > 0 {
            flags = flags | Flags::OVERFLOW;
            self.lost = 0;
        } else if std::mem::take(&mut self.sets_index) {
            flags = flags | Flags::START;
            index += self.rng.within(0..=5_000);
        }
        let mut samples = self.spec.samples;
        if self.rng.chance(self.spec.end_of_burst) {
            flags = flags | Flags::END_OF_BURST;
            // The count takes half of the payload.
            samples = self.rng.within(0..=u64::from(self.spec.samples / 2)) as u32;
            self.sets_index = true;
        }
        self.next_index = index + u64::from(samples);
        outlet.push(index, flags, samples)
    }

    fn finish(&mut self, now: Nanos, outlet: &mut impl Outlet) {
        if self.spec.ends == Ending::Never {
            return;
        }
        self.is_done = true;
        match self.spec.ends {
            Ending::Cancel => return self.cancel(now, outlet),
            Ending::CloseThenCancel(span) => self.cancels_at = Some(now + span),
            Ending::Fail | Ending::Close | Ending::Never => {}
        }
        let is_failed = self.spec.ends == Ending::Fail;
        let reason = if is_failed { CloseReason::DeviceFault } else { CloseReason::Finished };
        outlet.close(now, self.lost, reason);
    }

    fn cancel(&mut self, now: Nanos, outlet: &mut impl Outlet) {
        outlet.cancel(now);
    }
}

/// Where a source puts its packets.
pub(crate) trait Outlet {
    /// Whether the stream has ended.
    fn is_ended(&self) -> bool;

    /// Whether there is room for a packet, also for one that does not follow the last.
    fn has_room(&mut self, may_break: bool) -> bool;

    /// Takes a packet; of one that ends a burst, so many samples are valid.
    fn push(&mut self, index: SampleIndex, flags: Flags, samples: u32) -> Result<(), String>;

    /// Ends the stream after what was pushed, and so many samples that were lost after it.
    fn close(&mut self, now: Nanos, lost: u64, reason: CloseReason);

    /// Ends the stream with what has departed.
    fn cancel(&mut self, now: Nanos);
}

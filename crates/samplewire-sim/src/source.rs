//! What stands behind a sender: a converter that cannot be stopped, or a program.

use samplewire_proto::crc::crc32c;
use samplewire_proto::sender::{NewPacket, SendSlot, Sender};
use samplewire_proto::wire::Flags;
use samplewire_proto::{Nanos, SampleIndex};

use crate::check::Session;
use crate::payload;
use crate::rng::{Odds, Rng};

/// How a source makes packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceSpec {
    /// Packets in all; `None` goes on until somebody ends the stream.
    pub(crate) packets: Option<u64>,
    pub(crate) pace: Pace,
    pub(crate) samples: u32,
    /// How often a packet ends a burst; the next then sets its index.
    pub(crate) end_of_burst: Odds,
    pub(crate) meta: Odds,
    /// How often samples are lost in front of the window besides what finds it full.
    pub(crate) overflow: Odds,
    /// What happens after the last packet.
    pub(crate) ends: Ending,
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
    /// Packets of the present burst.
    burst: u32,
    sets_index: bool,
    is_done: bool,
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
            burst: 0,
            sets_index: false,
            is_done: false,
            rng,
        }
    }

    /// When the source makes its next packet, by its clock; `None` while it waits for room.
    pub(crate) fn next_at(&self, free_slots: u32) -> Option<Nanos> {
        let is_over = self.is_done || (self.left == 0 && self.spec.ends == Ending::Never);
        match self.spec.pace {
            _ if is_over => None,
            Pace::Converter(_) => Some(self.next_at),
            Pace::Paced(_) | Pace::Bursts { .. } if free_slots > 0 => Some(self.next_at),
            Pace::Greedy if free_slots > 0 => Some(Nanos(0)),
            Pace::Paced(_) | Pace::Bursts { .. } | Pace::Greedy => None,
        }
    }

    /// The event that the source's end is to its sender.
    pub(crate) const fn end_event(&self) -> &'static str {
        match self.spec.ends {
            Ending::Close | Ending::Never => "close",
            Ending::Cancel => "cancel",
        }
    }

    /// Makes the packets that are due and pushes those that find room.
    pub(crate) fn run(
        &mut self,
        now: Nanos,
        sender: &mut Sender<Vec<SendSlot>>,
        session: &mut Session,
    ) -> Result<(), String> {
        if self.is_done || sender.is_ended() {
            return Ok(());
        }
        while self.left > 0 {
            let has_room = sender.free_slots() > 0;
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
                self.push(sender, session)?;
            } else {
                self.lost += u64::from(self.spec.samples);
            }
        }
        if self.left == 0 {
            self.finish(now, sender, session);
        }
        Ok(())
    }

    fn push(
        &mut self,
        sender: &mut Sender<Vec<SendSlot>>,
        session: &mut Session,
    ) -> Result<(), String> {
        if self.rng.chance(self.spec.overflow) {
            self.lost += self.rng.within(1..=5_000);
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
        if self.rng.chance(self.spec.meta) {
            flags = flags | Flags::META;
            samples = 0;
        } else if self.rng.chance(self.spec.end_of_burst) {
            flags = flags | Flags::END_OF_BURST;
            // The count takes half of the payload.
            samples = self.rng.within(0..=u64::from(self.spec.samples / 2)) as u32;
            self.sets_index = true;
        }
        let bytes = payload::of(session.agreed.key, index, samples, flags);
        let packet = NewPacket {
            index,
            flags,
            burst_samples: samples,
            len_bytes: payload::BYTES as u16,
            payload_crc: crc32c(&bytes),
        };
        let seq = sender.push(packet).map_err(|error| format!("push refused: {error}"))?;
        self.next_index = index + u64::from(samples);
        session.pushed(seq, &packet)
    }

    fn finish(&mut self, now: Nanos, sender: &mut Sender<Vec<SendSlot>>, session: &mut Session) {
        match self.spec.ends {
            Ending::Never => return,
            Ending::Close => {
                sender.lose_at_source(self.lost);
                session.lost_at_end(self.lost);
                sender.close(now);
            }
            Ending::Cancel => {
                sender.cancel(now);
                session.cut(sender.next_seq());
            }
        }
        self.is_done = true;
    }
}

//! A program that receives a stream: it takes each block at once and gives it back as its consumer
//! does.

use std::collections::VecDeque;
use std::time::Duration;

use samplewire::receiver::{Block, ReceiveStream};
use samplewire_circuit::{Tag, TagKind};
use samplewire_proto::stream::Underflow;
use samplewire_proto::wire::CloseReason;
use samplewire_proto::{Nanos, Rng};

use super::Turn;
use crate::check::{Progress, SessionId};
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

/// The program's half of a stream that comes in.
#[derive(Debug)]
pub(super) struct TakeProgram {
    stream: ReceiveStream,
    pub(super) session: SessionId,
    consumer: Consumer,
    rng: Rng,
    /// The stream has ended, and the program has been handed everything.
    is_over: bool,
}

/// When blocks are given back.
#[derive(Debug)]
enum Consumer {
    Immediate,
    /// A packet's samples in so long, now and then with a pause.
    Slow {
        spec: SlowSpec,
        held: VecDeque<(u32, Block)>,
        next_at: Nanos,
    },
    /// At their time of play.
    Player(Box<Dac>, VecDeque<Block>),
}

#[derive(Clone, Copy, Debug)]
struct SlowSpec {
    interval: Nanos,
    pause: Nanos,
    pause_one_in: u64,
    packet_samples: u32,
}

impl TakeProgram {
    pub(super) fn new(
        turn: &mut Turn<'_>,
        stream: ReceiveStream,
        session: SessionId,
        spec: ConsumerSpec,
    ) -> Self {
        let agreed = &turn.checker.sessions[session].agreed;
        let (packet_samples, window) = (agreed.packet_samples, agreed.receive_window);
        let consumer = match spec {
            ConsumerSpec::Immediate => Consumer::Immediate,
            ConsumerSpec::Slow { interval, pause, pause_one_in } => Consumer::Slow {
                spec: SlowSpec { interval, pause, pause_one_in, packet_samples },
                held: VecDeque::new(),
                next_at: turn.now,
            },
            ConsumerSpec::Player { interval, prefill, underflow } => {
                // A player that waits for more than the quanta hold waits for ever.
                let prefill = prefill.min(window - window / UNFILLED_SHARE).max(1);
                let room = window + Block::GAPS_MAX as u32 + 1;
                let dac = Dac::new((interval, packet_samples), prefill, room, underflow);
                Consumer::Player(Box::new(dac), VecDeque::new())
            }
        };
        Self { stream, session, consumer, rng: turn.rng.fork(), is_over: false }
    }

    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// When it gives something back next.
    pub(super) fn next_at(&self) -> Option<Nanos> {
        match &self.consumer {
            Consumer::Immediate => None,
            Consumer::Slow { held, next_at, .. } => (!held.is_empty()).then_some(*next_at),
            Consumer::Player(dac, _) => dac.next_at(),
        }
    }

    /// Gives back what has been used, and takes what has come.
    pub(super) fn run(&mut self, turn: &mut Turn<'_>, is_gone: bool) {
        self.give_back(turn.now);
        if is_gone && !self.is_over {
            let stats = self.stream.stats().stream;
            let session = &mut turn.checker.sessions[self.session];
            let (delivered, skipped) = (stats.delivered, stats.skipped);
            let progress = Progress { delivered, skipped, next_index: None, is_breaking: true };
            let held = session.advance_to(turn.now, &progress);
            turn.checker.note(self.session, held.map(|_| ()));
        }
        while self.has_room()
            && let Ok(Some(block)) = self.stream.next_within(Duration::ZERO)
        {
            let held = self.take(turn, block);
            turn.checker.note(self.session, held);
        }
        if let Some(Ok(end)) = self.stream.end()
            && !self.is_over
        {
            self.is_over = true;
            let stats = self.stream.stats().stream;
            turn.checker.handed_end(self.session, turn.now, *end, &stats);
            if let Consumer::Player(dac, _) = &mut self.consumer {
                dac.close(&mut turn.checker.tally);
            }
        }
    }

    fn has_room(&self) -> bool {
        match &self.consumer {
            Consumer::Immediate | Consumer::Slow { .. } => true,
            Consumer::Player(dac, _) => dac.has_room_for(Block::GAPS_MAX + 1),
        }
    }

    fn take(&mut self, turn: &mut Turn<'_>, block: Block) -> Result<(), String> {
        let checker = &mut turn.checker;
        let session = &mut checker.sessions[self.session];
        let is_forged = session.is_forged;
        for gap in block.gaps() {
            session.take_handed_gap(gap)?;
            checker.tally.gaps += 1;
            checker.tally.indexes_in_gaps += if is_forged { 0 } else { gap.count() };
        }
        let is_leading = |index: u64| !block.is_empty() && index == block.index();
        let is_start = |tag: &&Tag| tag.kind == TagKind::Start;
        let starts = || block.tags().iter().filter(is_start).map(|tag| tag.index);
        starts().filter(|&at| is_leading(at)).for_each(|at| session.follow_start(at));
        if !block.is_empty() {
            let taken = session.take_samples(block.index(), block.len(), block.bytes())?;
            checker.tally.indexes_delivered += taken;
        }
        starts().filter(|&at| !is_leading(at)).for_each(|at| session.follow_start(at));
        match &mut self.consumer {
            Consumer::Immediate => {}
            Consumer::Slow { spec, held, next_at } => {
                let packets = (block.len() as u32).div_ceil(spec.packet_samples);
                if held.is_empty() {
                    *next_at = turn.now + Nanos(spec.interval.0 * u64::from(packets));
                }
                held.push_back((packets, block));
            }
            Consumer::Player(dac, held) => {
                play(dac, turn.now, &block);
                if !block.is_empty() && !dac.is_stopped() {
                    held.push_back(block);
                }
            }
        }
        Ok(())
    }

    fn give_back(&mut self, now: Nanos) {
        match &mut self.consumer {
            Consumer::Immediate => {}
            Consumer::Slow { spec, held, next_at } => {
                while *next_at <= now && held.pop_front().is_some() {
                    let is_pausing = spec.pause_one_in > 0 && self.rng.one_in(spec.pause_one_in);
                    let packets = held.front().map_or(0, |(packets, _)| *packets);
                    let span = Nanos(spec.interval.0 * u64::from(packets));
                    *next_at = *next_at + if is_pausing { spec.pause } else { span };
                }
            }
            Consumer::Player(dac, held) => {
                let freed = dac.run(now);
                drop(held.drain(..(freed as usize).min(held.len())));
                if let Some(index) = dac.plays() {
                    self.stream.note_play(index, 0, 0);
                }
                if dac.is_stopped() {
                    self.stream.stop_for(CloseReason::Underflow);
                }
            }
        }
    }

    /// Whether a player has ended the stream, because samples were not there at their time.
    pub(super) const fn has_stopped(&self) -> bool {
        matches!(&self.consumer, Consumer::Player(dac, _) if dac.is_stopped())
    }
}

/// Gives a block to a player.
fn play(dac: &mut Dac, now: Nanos, block: &Block) {
    block.gaps().iter().for_each(|gap| dac.take_gap(gap));
    if dac.is_stopped() {
        return;
    }
    let is_leading = |index: u64| !block.is_empty() && index == block.index();
    let pass_tags = |dac: &mut Dac, leads: bool| {
        for tag in block.tags().iter().filter(|tag| is_leading(tag.index) == leads) {
            match tag.kind {
                TagKind::Start => dac.start(tag.index),
                TagKind::EndOfBurst => dac.end_burst(tag.index),
                _ => {}
            }
        }
    };
    pass_tags(dac, true);
    if !block.is_empty() {
        dac.take(now, block.index(), block.len() as u32);
    }
    pass_tags(dac, false);
}

/// Blocks may be shorter than their quanta: so large a share of a window is not waited for.
const UNFILLED_SHARE: u32 = 2;

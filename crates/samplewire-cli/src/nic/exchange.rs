//! Frames that leave by a scheme and come back: the run of `nic rate` and of pictures.

use std::time::Duration;

use samplewire_proto::Nanos;
use samplewire_proto::block::{NextFrame, Pace, Scheme};

use super::link::{Link, Until};
use super::probe::{Back, Probes};
use crate::failure::Failure;
use crate::figures::bits_per_second;
use crate::interrupt::Interrupt;

/// What came of the frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchange {
    pub(super) sent: u64,
    /// As they left, each counted once.
    pub(super) returned: u64,
    pub(super) wrong: u64,
    pub(super) duplicate: u64,
    /// Content of the frames that were sent, and of those that came back.
    pub(super) sent_bytes: u64,
    pub(super) returned_bytes: u64,
    /// From the first frame sent to the last.
    pub(super) send_time: Duration,
    /// From the first frame back to the last.
    pub(super) return_time: Duration,
    /// From the first frame sent to the last back.
    pub(super) time: Duration,
}

impl Exchange {
    pub(super) const fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.returned + self.wrong)
    }

    /// Bits of frames that came back a second.
    pub(super) fn bits_per_second(&self) -> f64 {
        bits_per_second(self.returned_bytes, self.time)
    }
}

/// Memory of an exchange, taken once.
pub(super) struct Exchanger {
    frame: Box<[u8]>,
    into: Box<[u8]>,
    /// A bit for each frame: whether it has come back.
    is_back: Vec<u64>,
}

impl Exchanger {
    /// For so many frames.
    pub(super) fn new(frames: u32) -> Self {
        let words = (frames as usize).div_ceil(WORD);
        let bytes = || vec![0; samplewire_io::ether::FRAME_BYTES_MAX + 1].into();
        Self { frame: bytes(), into: bytes(), is_back: vec![0; words] }
    }

    /// Sends frames by a scheme until all have come back, or none comes any more. Ends early at a signal.
    ///
    /// # Errors
    /// The link broke.
    pub(super) fn run(
        &mut self,
        link: &mut Link,
        probes: &Probes,
        scheme: Scheme,
        frames: u32,
        interrupt: &Interrupt,
    ) -> Result<Exchange, Failure> {
        self.is_back.fill(0);
        let (mut exchange, mut pace) = (Exchange::default(), Pace::new(scheme));
        let (mut next, mut waiting) = (0, None);
        let mut times = Times::begin(link.now());
        loop {
            let mut has_more =
                self.take_all(link, probes, frames, &mut exchange, &mut pace, &mut times)?;
            let mut until = Until::Frame;
            for _ in 0..TURN_FRAMES_MAX {
                if next == frames {
                    break;
                }
                let now = link.now();
                match pace.next(now) {
                    NextFrame::Now => {}
                    NextFrame::At(at) => {
                        until = Until::Exactly(at);
                        break;
                    }
                    NextFrame::OnReturn => break,
                }
                let len = *waiting.get_or_insert_with(|| probes.write(next, &mut self.frame));
                if !link.send(&self.frame[..len])? {
                    break;
                }
                pace.spend(now);
                times.sent(now);
                (exchange.sent, waiting) = (exchange.sent + 1, None);
                exchange.sent_bytes += probes.counted_bytes(next);
                next += 1;
            }
            link.flush()?;
            let is_over = next == frames
                && (exchange.returned + exchange.wrong >= u64::from(frames)
                    || link.now() >= times.moved_at + SILENCE);
            if is_over || interrupt.signal().is_some() {
                times.fill(&mut exchange);
                return Ok(exchange);
            }
            has_more |=
                next < frames && waiting.is_none() && pace.next(link.now()) == NextFrame::Now;
            if !has_more {
                link.wait(until)?;
            }
        }
    }

    /// Takes the frames that have come, up to a number; whether there may be more.
    fn take_all(
        &mut self,
        link: &mut Link,
        probes: &Probes,
        frames: u32,
        exchange: &mut Exchange,
        pace: &mut Pace,
        times: &mut Times,
    ) -> Result<bool, Failure> {
        for _ in 0..TURN_FRAMES_MAX {
            let Some(len) = link.recv(&mut self.into)? else { return Ok(false) };
            let back = probes.check(&self.into[..len], frames);
            if back == Back::Foreign {
                continue;
            }
            let now = link.now();
            pace.take_return(now);
            match back {
                Back::Right(number) if self.mark(number) => {
                    exchange.returned += 1;
                    exchange.returned_bytes += probes.counted_bytes(number);
                    times.returned(now);
                }
                Back::Right(_) => exchange.duplicate += 1,
                Back::Wrong | Back::Foreign => exchange.wrong += 1,
            }
        }
        Ok(true)
    }

    /// Notes a frame; whether it is the first one of its number.
    fn mark(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / WORD, 1 << (number as usize % WORD));
        let is_fresh = self.is_back[word] & bit == 0;
        self.is_back[word] |= bit;
        is_fresh
    }
}

/// When frames left and came.
struct Times {
    first_sent: Option<Nanos>,
    last_sent: Nanos,
    first_back: Option<Nanos>,
    last_back: Nanos,
    moved_at: Nanos,
}

impl Times {
    const fn begin(now: Nanos) -> Self {
        Self { first_sent: None, last_sent: now, first_back: None, last_back: now, moved_at: now }
    }

    fn sent(&mut self, now: Nanos) {
        self.first_sent.get_or_insert(now);
        (self.last_sent, self.moved_at) = (now, now);
    }

    fn returned(&mut self, now: Nanos) {
        self.first_back.get_or_insert(now);
        (self.last_back, self.moved_at) = (now, now);
    }

    fn fill(&self, exchange: &mut Exchange) {
        let span = |first: Option<Nanos>, last: Nanos| {
            Duration::from_nanos(first.map_or(0, |first| last.since(first).0))
        };
        exchange.send_time = span(self.first_sent, self.last_sent);
        exchange.return_time = span(self.first_back, self.last_back);
        exchange.time = span(self.first_sent, self.last_back);
    }
}

const WORD: usize = u64::BITS as usize;

/// Frames between two looks at what comes and at what may leave.
const TURN_FRAMES_MAX: usize = 64;

/// A frame that has not come back when nothing has moved for so long is lost.
const SILENCE: Nanos = Nanos::from_millis(200);

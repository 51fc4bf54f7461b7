//! Playing a source into a stream: as fast as it goes, or at the rate of a converter's clock.

use std::time::{Duration, Instant};

use samplewire_io::thread;
use samplewire_proto::SampleIndex;
use samplewire_proto::wire::{CloseReason, Flags};

use super::{Filling, SendError, SendStream, Session, SessionEnd};
use crate::device::SampleClock;
use crate::driver::ON_TIME;
use crate::error::BoxError;
use crate::source::ReadSamples;

/// What a source does whose samples find no room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Overflow {
    /// It waits: a file.
    Wait,
    /// It cannot: a converter. The newest samples are lost and counted. The rate is in samples
    /// per second.
    Lose {
        /// Samples per second. 0 if the rate is not known: the source then is not paced.
        rate_hz: f64,
    },
    /// As [`Overflow::Lose`], and the index of each sample is its time by this clock, which the
    /// device plays by too.
    Keep(SampleClock),
}

/// What was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaySummary {
    /// Samples handed over to be sent.
    pub samples: u64,
    /// Samples lost at the source.
    pub overflow_samples: u64,
    /// How the stream ended.
    pub end: SessionEnd,
}

/// Why playing broke off.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The source failed; what it had given before was sent and accounted for.
    #[error(transparent)]
    Source(#[from] BoxError),
    /// The port failed.
    #[error(transparent)]
    Transmit(#[from] SendError),
}

/// The state of one performance.
struct Play {
    index: SampleIndex,
    samples: u64,
    lost: u64,
    /// Lost since the last quantum that was sent.
    lost_before: u64,
    /// The index of the next sample is set on purpose.
    is_start: bool,
}

impl SendStream {
    /// Plays `source` until it ends, `should_stop` says so, or the stream ends; the source gets the
    /// index of its first sample ([`ReadSamples::start_at`]). A stream that ends early is no
    /// error: the summary says how.
    ///
    /// # Errors
    /// The source or the port failed.
    ///
    /// # Blocking
    /// Until the receiver has everything.
    pub fn play(
        &mut self,
        source: &mut dyn ReadSamples,
        overflow: Overflow,
        mut should_stop: impl FnMut() -> bool,
    ) -> Result<PlaySummary, PlayError> {
        let mut play = Play {
            index: self.session.first_index,
            samples: 0,
            lost: 0,
            lost_before: 0,
            is_start: false,
        };
        source.start_at(self.session.first_index);
        let result = self.play_on(source, overflow, &mut should_stop, &mut play);
        let end = match result {
            Ok(()) => self.finish(play.lost_before)?,
            Err(PlayError::Transmit(SendError::Ended(end))) => *end,
            Err(PlayError::Source(error)) => {
                self.finish_for(play.lost_before, CloseReason::DeviceFault)?;
                return Err(error.into());
            }
            Err(error) => return Err(error),
        };
        Ok(PlaySummary { samples: play.samples, overflow_samples: play.lost, end })
    }

    /// Sends `source` as one burst whose first sample has index `first`, until it ends or
    /// `should_stop` says so. That is called before each quantum, and every 50 ms while there is no
    /// room, with the index that the burst has come to. The stream stays open; a burst that is
    /// stopped has no end, and its caller [cancels](SendStream::cancel) the stream.
    ///
    /// # Errors
    /// The source or the port failed, the stream has ended, or `first` lies before the end of what was
    /// sent.
    ///
    /// # Blocking
    /// Until all is handed over to be sent: the last window of it may not have departed.
    pub fn send_burst(
        &mut self,
        source: &mut dyn ReadSamples,
        first: SampleIndex,
        mut should_stop: impl FnMut(SampleIndex) -> bool,
    ) -> Result<SampleIndex, PlayError> {
        let mut play = Play { index: first, samples: 0, lost: 0, lost_before: 0, is_start: true };
        let mut has_more = true;
        let mut result = Ok(());
        while !should_stop(play.index) {
            let Some(filling) = self.quantum(STOP_PAUSE)? else { continue };
            if !has_more {
                // What was sent is a whole burst, also when its source has failed.
                let flags = if play.is_start { Flags::START } else { Flags::NONE };
                self.submit(filling, 0, play.index, flags | Flags::END_OF_BURST)?;
                break;
            }
            match self.fill(source, filling, &mut play) {
                Ok(is_filled) => has_more = is_filled,
                Err(error @ PlayError::Transmit(_)) => return Err(error),
                Err(error) => (has_more, result) = (false, Err(error)),
            }
        }
        result.map(|()| play.index)
    }

    /// Waits until the device has all that was submitted and says that it has played what lies
    /// before `index`, so that what it counts is complete; `false` when `should_stop`, which is
    /// asked every 10 ms, says so first.
    ///
    /// # Errors
    /// The port failed, or the stream has ended.
    ///
    /// # Blocking
    /// As long as the device plays.
    pub fn wait_played(
        &mut self,
        index: SampleIndex,
        mut should_stop: impl FnMut() -> bool,
    ) -> Result<bool, SendError> {
        let mut waited = Duration::ZERO;
        let (mut reports, mut changes) = (0, 0);
        loop {
            self.check()?;
            let stats = self.stats().stream;
            if self.slot.pool.free() == self.slot.pool.len() && stats.position_of_peer >= index {
                // REPORTs may have left before the player looked at the last sample, and counters may
                // be older than that. The second change from here on is of one that left later.
                if waited >= PLAYER_LOOKS_WITHIN {
                    changes += u32::from(stats.reports != reports);
                }
                reports = stats.reports;
                if changes >= 2 {
                    return Ok(true);
                }
                waited += PLAYED_PAUSE;
            }
            if should_stop() {
                return Ok(false);
            }
            self.pause(PLAYED_PAUSE);
        }
    }

    fn play_on(
        &mut self,
        source: &mut dyn ReadSamples,
        overflow: Overflow,
        should_stop: &mut dyn FnMut() -> bool,
        play: &mut Play,
    ) -> Result<(), PlayError> {
        let Session { first_index, quantum_packets, payload_bytes, .. } = self.session;
        let room_bytes = quantum_packets as usize * payload_bytes;
        let room_samples = (room_bytes / self.slot.info.frame_bytes()) as u64;
        let mut discarded = vec![0; room_bytes];
        let _on_time = (overflow != Overflow::Wait).then(OnTime::begin);
        let start = Instant::now();
        if let Overflow::Keep(clock) = overflow
            && let Some(clock) = clock.tai_clock()
        {
            self.set_tai_clock(Some(clock));
        }
        while !should_stop() {
            let next = play.index + room_samples;
            let at = match overflow {
                Overflow::Wait => None,
                Overflow::Lose { rate_hz } => Some(time_of(next - first_index, start, rate_hz)),
                Overflow::Keep(clock) => Some(clock.instant_of(next)),
            };
            let patience = match at {
                None => STOP_PAUSE,
                Some(at) if self.wait_for(at, should_stop)? => Duration::ZERO,
                Some(_) => return Ok(()),
            };
            match (self.quantum(patience)?, overflow) {
                (Some(filling), _) => {
                    if !self.fill(source, filling, play)? {
                        return Ok(());
                    }
                }
                (None, Overflow::Wait) => {}
                (None, Overflow::Lose { .. } | Overflow::Keep(_)) => {
                    let samples =
                        (source.read_lost(&mut discarded)? / self.slot.info.frame_bytes()) as u64;
                    if samples == 0 {
                        return Ok(());
                    }
                    play.index += samples;
                    play.lost += samples;
                    play.lost_before += samples;
                }
            }
        }
        Ok(())
    }

    /// Sleeps for `span`; where there is no I/O thread, does its work.
    fn pause(&self, span: Duration) {
        if self.slot.port.granted.waits.is_program_spinning() {
            self.slot.wait_until(span, |_| None::<()>);
        } else {
            std::thread::sleep(span);
        }
    }

    /// Waits until `at`; `false` when `should_stop` says so first.
    ///
    /// # Errors
    /// The port failed, or the stream has ended.
    fn wait_for(
        &self,
        at: Instant,
        should_stop: &mut dyn FnMut() -> bool,
    ) -> Result<bool, SendError> {
        loop {
            let left = at.saturating_duration_since(Instant::now());
            self.pause(left.min(STOP_PAUSE));
            if left <= STOP_PAUSE {
                return Ok(true);
            }
            self.check()?;
            if should_stop() {
                return Ok(false);
            }
        }
    }

    /// Fills and submits one quantum; `false` when the source has ended. What was read before an
    /// error is sent.
    fn fill(
        &mut self,
        source: &mut dyn ReadSamples,
        mut filling: Filling,
        play: &mut Play,
    ) -> Result<bool, PlayError> {
        let room = filling.bytes_mut();
        let mut len_bytes = 0;
        let mut result = Ok(true);
        // A short read is not the end: less than a full quantum would end a burst.
        while len_bytes < room.len() {
            match source.read(&mut room[len_bytes..]) {
                Ok(0) => {
                    result = Ok(false);
                    break;
                }
                Ok(read_bytes) => len_bytes += read_bytes,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        let mut flags = if play.lost_before > 0 { Flags::OVERFLOW } else { Flags::NONE };
        if play.is_start {
            flags = flags | Flags::START;
        }
        if len_bytes > 0 {
            (play.lost_before, play.is_start) = (0, false);
        }
        self.submit(filling, len_bytes, play.index, flags)?;
        let samples = (len_bytes / self.slot.info.frame_bytes()) as u64;
        play.index += samples;
        play.samples += samples;
        Ok(result?)
    }
}

/// When so many samples have been taken since `start`: at once where no clock counts to that time.
fn time_of(samples: u64, start: Instant, rate_hz: f64) -> Instant {
    let span = Duration::try_from_secs_f64(samples as f64 / rate_hz).unwrap_or_default();
    start.checked_add(span).unwrap_or(start)
}

/// While it lives, sleeps of the calling thread end as soon as the system can wake it. By default they
/// may end 50 us later, and so would the samples of a converter.
struct OnTime(Option<Duration>);

impl OnTime {
    /// Where the system refuses, sleeps end as late as before.
    fn begin() -> Self {
        let usual = thread::timer_slack().ok().filter(|usual| *usual > ON_TIME);
        Self(usual.filter(|_| thread::set_timer_slack(ON_TIME).is_ok()))
    }
}

impl Drop for OnTime {
    fn drop(&mut self) {
        if let Some(usual) = self.0 {
            // It was granted before.
            let _is_set = thread::set_timer_slack(usual).is_ok();
        }
    }
}

/// The longest wait, for room or for a converter's time, between two looks at whether to stop.
const STOP_PAUSE: Duration = Duration::from_millis(50);

/// How long a device's player may take to look at what has come.
const PLAYER_LOOKS_WITHIN: Duration = Duration::from_millis(30);

/// How often it is looked how far a device has played; its counters are as old.
const PLAYED_PAUSE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_without_a_rate_is_not_waited_for() {
        let start = Instant::now();
        assert_eq!(time_of(2_000, start, 1e6), start + Duration::from_millis(2));
        for rate_hz in [0.0, -1.0, f64::NAN, f64::MIN_POSITIVE, 1e-16] {
            assert_eq!(time_of(2_000, start, rate_hz), start, "{rate_hz}");
        }
    }
}

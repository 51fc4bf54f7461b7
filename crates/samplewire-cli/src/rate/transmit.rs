//! Sends zeros to the device, at the rate that it accepts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use samplewire::BoxError;
use samplewire::source::{NullSource, ReadSamples, StreamInfo};
use samplewire::transmitter::{PlayError, SendError, StatsHandle};
use samplewire::{End, SendStream};
use samplewire_web::Page;

use super::tally::Sent;
use crate::arguments::RateArguments;
use crate::interrupt::{Interrupt, wait_ready};
use crate::web::{SentTap, ShownSource};

/// A running stream to a device.
pub(super) struct Transmitting {
    stream: SendStream,
    lead: Duration,
    timeout: Duration,
    /// Shows the samples on a page.
    tap: Option<SentTap>,
    watch: Arc<Watch>,
}

/// Counts for other threads.
#[derive(Debug)]
pub(super) struct Watch {
    /// Samples handed over.
    pub(super) samples: AtomicU64,
    /// Packets that came after their time.
    pub(super) late: AtomicU64,
    pub(super) stats: StatsHandle,
    pub(super) frame_bytes: u64,
}

impl Transmitting {
    pub(super) fn new(stream: SendStream, arguments: &RateArguments) -> Self {
        let watch = Arc::new(Watch {
            samples: AtomicU64::new(0),
            late: AtomicU64::new(0),
            stats: stream.stats_handle(),
            frame_bytes: stream.info().frame_bytes() as u64,
        });
        Self { stream, lead: arguments.lead, timeout: arguments.timeout, tap: None, watch }
    }

    /// Shows the samples on a page too.
    pub(super) fn with_tap(mut self, tap: Option<SentTap>) -> Self {
        self.tap = tap;
        self
    }

    pub(super) fn watch(&self) -> Arc<Watch> {
        Arc::clone(&self.watch)
    }

    /// Sends until the measurement ends, waits until everything is played, and closes.
    pub(super) fn run(mut self, is_over: &AtomicBool, interrupt: &Interrupt) -> Sent {
        let started = Instant::now();
        let frame_bytes = self.stream.info().frame_bytes();
        let mut late = Late::default();
        let result = self.send(is_over, interrupt, &mut late);
        late.look(&self.watch);
        let elapsed = started.elapsed();
        let snapshot = self.stream.stats();
        let samples = self.watch.samples.load(Ordering::Relaxed);
        let late = late.packets;
        let (underflow, error) = match result {
            Ok(underflow) => (underflow, None),
            Err(error) => (None, Some(format!("sending: {error}"))),
        };
        if let Some(tap) = &mut self.tap {
            tap.end(error.as_deref().unwrap_or("finished"));
        }
        Sent { samples, late, underflow, snapshot, elapsed, frame_bytes, error }
    }

    /// How many samples were missing at their time; `None` if the command was interrupted.
    fn send(
        &mut self,
        is_over: &AtomicBool,
        interrupt: &Interrupt,
        late: &mut Late,
    ) -> Result<Option<u64>, PlayError> {
        let is_interrupted = || interrupt.signal().is_some();
        let Self { stream, lead, timeout, tap, watch } = self;
        if !wait_ready(stream, *timeout, is_interrupted)? {
            if is_interrupted() {
                return Ok(None);
            }
            let text = format!("the device took nothing for {timeout:?}");
            return Err(PlayError::Transmit(SendError::Port(text)));
        }
        let info = stream.info();
        let zeros = NullSource::new(info.format, info.channels, info.rate_hz().max(1.0))
            .map_err(|error| PlayError::Source(error.into()))?;
        let mut zeros = Zeros { zeros, is_over };
        let first =
            stream.session().first_index + (lead.as_secs_f64() * info.rate_hz()).round() as u64;
        if let Some(tap) = tap {
            tap.continue_at(first);
        }
        let mut shown = ShownSource::new(&mut zeros, tap.as_mut());
        let end = stream.send_burst(&mut shown, first, |index| {
            // Relaxed: figures for display, and a flag that is read again soon.
            watch.samples.store(index - first, Ordering::Relaxed);
            late.look(watch);
            is_interrupted()
        })?;
        watch.samples.store(end - first, Ordering::Relaxed);
        let mut moved = (0, Instant::now());
        stream.wait_played(end, || {
            let position = late.look(watch);
            if position != moved.0 {
                moved = (position, Instant::now());
            }
            moved.1.elapsed() > STALL_MAX || is_interrupted()
        })?;
        if is_interrupted() {
            stream.cancel()?;
            return Ok(None);
        }
        let end = stream.finish(0)?;
        match end.end {
            End::Finished { .. } => Ok(Some(end.stats.underflow_at_peer)),
            other => {
                let text = other.words("the device").to_string();
                Err(PlayError::Transmit(SendError::Port(text)))
            }
        }
    }
}

/// Shows a stream to a device on a page.
pub(super) fn follow(page: &mut Page, stream: &SendStream) -> SentTap {
    let device = stream.device().expect("this end opened");
    let first = stream.session().first_index;
    SentTap::to_device(page, "rate", device, stream.stats_handle(), first)
}

/// Zeros until the measurement ends.
struct Zeros<'a> {
    zeros: NullSource,
    is_over: &'a AtomicBool,
}

impl ReadSamples for Zeros<'_> {
    fn info(&self) -> &StreamInfo {
        self.zeros.info()
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        // Relaxed: the flag is read again soon, and orders nothing.
        if self.is_over.load(Ordering::Relaxed) { Ok(0) } else { self.zeros.read(out) }
    }
}

/// Counts late packets, which the wire counts modulo 2^16.
#[derive(Debug, Default)]
struct Late {
    seen: u16,
    packets: u64,
}

impl Late {
    /// Reads the counters; returns the index that is played.
    fn look(&mut self, watch: &Watch) -> u64 {
        let stream = watch.stats.stats().stream;
        self.packets += u64::from(stream.late_at_peer.wrapping_sub(self.seen));
        self.seen = stream.late_at_peer;
        watch.late.store(self.packets, Ordering::Relaxed);
        stream.position_of_peer
    }
}

/// How long a device may stay at one index before the command gives up.
const STALL_MAX: Duration = Duration::from_secs(10);

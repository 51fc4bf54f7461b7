//! Sends bursts in answer to samples.

use std::time::{Duration, Instant};

use samplewire::receiver::ReceiveStream;
use samplewire::transmitter::SendError;
use samplewire::{ReceiveError, SampleIndex, SendStream};
use samplewire_proto::wire::Flags;

use crate::arguments::LatencyArguments;
use crate::interrupt::{Interrupt, wait_ready};

/// Both open streams of a device.
pub(super) struct Trial {
    receiver: ReceiveStream,
    sender: SendStream,
    rate_hz: f64,
    bursts: u64,
    samples: u64,
    /// The index after the last burst.
    next: SampleIndex,
    late_seen: u16,
}

/// Why the trial cannot continue.
#[derive(Debug)]
pub(super) struct Broken(pub(super) String);

impl From<ReceiveError> for Broken {
    fn from(error: ReceiveError) -> Self {
        Self(format!("receiving: {error}"))
    }
}

impl From<SendError> for Broken {
    fn from(error: SendError) -> Self {
        Self(format!("sending: {error}"))
    }
}

impl Trial {
    pub(super) fn new(
        mut receiver: ReceiveStream,
        sender: SendStream,
        arguments: &LatencyArguments,
        interrupt: &Interrupt,
    ) -> Result<Self, Broken> {
        let is_interrupted = || {
            drain(&mut receiver);
            interrupt.signal().is_some()
        };
        if !wait_ready(&sender, arguments.timeout, is_interrupted)? {
            return Err(Broken("the device took no burst (--timeout)".into()));
        }
        Ok(Self {
            rate_hz: receiver.info().rate_hz(),
            bursts: arguments.bursts,
            samples: arguments.nsamps,
            next: sender.session().first_index,
            late_seen: sender.stats().stream.late_at_peer,
            receiver,
            sender,
        })
    }

    /// Sends the bursts of one lead; returns how many were late.
    pub(super) fn run(&mut self, lead: Duration, interrupt: &Interrupt) -> Result<u64, Broken> {
        let lead_samples = (lead.as_secs_f64() * self.rate_hz).round() as u64;
        let mut sent = 0;
        drain(&mut self.receiver);
        let mut heard = Instant::now();
        while sent < self.bursts && interrupt.signal().is_none() {
            let Some(newest) = self.newest(&mut heard)? else { continue };
            let first = newest + lead_samples;
            // Bursts do not overlap, and a late burst does not make the next one late.
            if first < self.next + lead_samples {
                continue;
            }
            self.send(first)?;
            sent += 1;
        }
        let until = Instant::now() + lead + PLAYED_MAX;
        let next = self.next;
        let Self { receiver, sender, .. } = self;
        let is_late = || {
            drain(receiver);
            Instant::now() > until || interrupt.signal().is_some()
        };
        if sent > 0 && !sender.wait_played(next, is_late)? {
            return Err(Broken(format!("the device has not come to index {next}")));
        }
        let late = self.sender.stats().stream.late_at_peer;
        let count = late.wrapping_sub(self.late_seen);
        self.late_seen = late;
        Ok(count.into())
    }

    /// The index after the newest received sample.
    fn newest(&mut self, heard: &mut Instant) -> Result<Option<SampleIndex>, Broken> {
        let mut newest = None;
        let mut patience = WAIT_MAX;
        // Where the stream is as fast as this host, there is always another.
        for _ in 0..BLOCKS_MAX {
            let Some(block) = self.receiver.next_within(patience)? else { break };
            newest = Some(block.index() + block.len() as u64);
            patience = Duration::ZERO;
        }
        if newest.is_some() {
            *heard = Instant::now();
        } else if heard.elapsed() > SILENCE_MAX {
            return Err(Broken("the device sends no samples any more".into()));
        }
        Ok(newest)
    }

    fn send(&mut self, first: SampleIndex) -> Result<(), Broken> {
        let Some(mut filling) = self.sender.quantum(SILENCE_MAX)? else {
            return Err(Broken("the device takes no more bursts".into()));
        };
        let len_bytes = self.samples as usize * self.sender.info().frame_bytes();
        filling.bytes_mut()[..len_bytes].fill(0);
        let flags = Flags::START | Flags::END_OF_BURST;
        self.sender.submit(filling, len_bytes, first, flags)?;
        self.next = first + self.samples;
        Ok(())
    }

    /// Ends both streams; errors do not matter after the measurement.
    pub(super) fn close(mut self) {
        let _ended = self.sender.finish(0).is_ok();
        self.receiver.close();
    }
}

/// Takes samples that are here: otherwise they fill the window during a wait, and the next bursts answer
/// samples that are as old as that. Where a stream is as fast as this host, some are left for the next
/// call. An error comes again when samples are needed.
fn drain(receiver: &mut ReceiveStream) {
    for _ in 0..BLOCKS_MAX {
        let Ok(Some(_)) = receiver.next_within(Duration::ZERO) else { return };
    }
}

/// So many blocks are taken at a time.
const BLOCKS_MAX: usize = 256;

/// How long one wait for samples takes, and all together.
const WAIT_MAX: Duration = Duration::from_millis(20);
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// How long after the last burst the device may take to report that it is played.
const PLAYED_MAX: Duration = Duration::from_secs(5);

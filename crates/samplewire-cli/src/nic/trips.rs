//! Round trips of single frames.

use std::time::{Duration, Instant};

use samplewire_io::ether::FRAME_BYTES_MAX;
use samplewire_proto::block::MacAddress;
use serde::Serialize;

use super::link::{Link, Until};
use super::probe::{Back, Probes};
use super::scheme::nanos;
use crate::arguments::TripOptions;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// The round trips of one size.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Trips {
    /// Behind Ethernet's header.
    pub(super) bytes: u16,
    pub(super) sent: u64,
    pub(super) returned: u64,
    pub(super) lost: u64,
    pub(super) wrong: u64,
    /// Frames that came back after they had been given up: they count as lost.
    pub(super) late: u64,
    pub(super) min_ns: u64,
    pub(super) median_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) max_ns: u64,
}

/// Memory of measurements, taken once.
pub(super) struct Clockwork {
    frame: Box<[u8]>,
    into: Box<[u8]>,
    times_ns: Vec<u64>,
}

impl Clockwork {
    /// For so many frames of a size.
    pub(super) fn new(frames: u32) -> Self {
        let bytes = || vec![0; FRAME_BYTES_MAX + 1].into();
        Self { frame: bytes(), into: bytes(), times_ns: Vec::with_capacity(frames as usize) }
    }

    /// Sends frames of one size, each when the one before has come back or is lost. Ends early at a
    /// signal.
    ///
    /// # Errors
    /// The link broke.
    pub(super) fn measure(
        &mut self,
        link: &mut Link,
        peer: MacAddress,
        size: u16,
        options: &TripOptions,
        interrupt: &Interrupt,
    ) -> Result<Trips, Failure> {
        self.times_ns.clear();
        let probes = Probes::pattern(link.mac(), peer, size.into());
        let mut trips = Trips { bytes: size, ..Trips::default() };
        for number in 0..options.count {
            if interrupt.signal().is_some() {
                break;
            }
            let len = probes.write(number, &mut self.frame);
            let sent_at = Instant::now();
            let mut is_taken = link.send(&self.frame[..len])?;
            while !is_taken && sent_at.elapsed() < options.timeout {
                link.wait(Until::Frame)?;
                is_taken = link.send(&self.frame[..len])?;
            }
            link.flush()?;
            trips.sent += 1;
            let back = match is_taken {
                true => self.wait_for(number, link, &probes, sent_at, options, &mut trips)?,
                false => None,
            };
            match back {
                Some(time) => self.times_ns.push(time.as_nanos() as u64),
                None => trips.lost += 1,
            }
        }
        // A frame that came back changed is not lost.
        trips.lost -= trips.wrong.min(trips.lost);
        trips.fill(&mut self.times_ns);
        Ok(trips)
    }

    /// The round trip of a frame; `None` when it does not come back in time, or comes back changed.
    fn wait_for(
        &mut self,
        number: u32,
        link: &mut Link,
        probes: &Probes,
        sent_at: Instant,
        options: &TripOptions,
        trips: &mut Trips,
    ) -> Result<Option<Duration>, Failure> {
        let gives_up_at = link.now() + nanos(options.timeout);
        loop {
            while let Some(len) = link.recv(&mut self.into)? {
                let time = sent_at.elapsed();
                match probes.check(&self.into[..len], options.count) {
                    Back::Right(back) if back == number => return Ok(Some(time)),
                    Back::Right(_) => trips.late += 1,
                    Back::Wrong => {
                        trips.wrong += 1;
                        return Ok(None);
                    }
                    Back::Foreign => {}
                }
                // A flood of others does not delay the end.
                if time >= options.timeout {
                    break;
                }
            }
            if link.now() >= gives_up_at {
                return Ok(None);
            }
            if options.spin {
                std::hint::spin_loop();
            } else {
                link.wait(Until::Asleep(gives_up_at))?;
            }
        }
    }
}

impl Trips {
    fn fill(&mut self, times_ns: &mut [u64]) {
        times_ns.sort_unstable();
        let at = |share: f64| {
            let rank = (share * times_ns.len() as f64).ceil() as usize;
            times_ns.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        self.returned = times_ns.len() as u64;
        (self.min_ns, self.median_ns) = (at(0.0), at(0.5));
        (self.p99_ns, self.max_ns) = (at(0.99), at(1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_sorted_times() {
        let mut trips = Trips::default();
        trips.fill(&mut (1..=200).rev().collect::<Vec<_>>());
        let Trips { returned, min_ns, median_ns, p99_ns, max_ns, .. } = trips;
        assert_eq!((returned, min_ns, median_ns, p99_ns, max_ns), (200, 1, 100, 198, 200));
        trips.fill(&mut []);
        assert_eq!((trips.returned, trips.max_ns), (0, 0));
    }
}

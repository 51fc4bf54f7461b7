//! Where samples were lost. Each missing sample was lost at one hop between converter and file.

use samplewire_proto::Cause;

use crate::sigmf::{HostDrops, RecordedCause, RecordedGap};

/// A place on the path of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// The source, or the device's own memory.
    Device,
    /// Everything between the device's socket and this host's network card; also losses whose place
    /// is not known.
    Wire,
    /// This host's network card, or its driver.
    Nic,
    /// This host's kernel, between the driver and the socket.
    Kernel,
    /// This host's socket.
    Socket,
    /// The program was too slow to take samples from its receiver, so the device lost samples.
    Application,
    /// The file was too slow, so the device lost samples.
    Disk,
}

impl Hop {
    /// Every hop, from the source to the file.
    pub const ALL: [Self; 7] = [
        Self::Device,
        Self::Wire,
        Self::Nic,
        Self::Kernel,
        Self::Socket,
        Self::Application,
        Self::Disk,
    ];

    /// Returns the name for people, for JSON and for labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Wire => "wire",
            Self::Nic => "nic",
            Self::Kernel => "kernel",
            Self::Socket => "socket",
            Self::Application => "application",
            Self::Disk => "disk",
        }
    }

    /// Returns the hop at which the samples of a gap with this cause were lost. Those of the wire may
    /// have come as far as this host's kernel.
    pub const fn of(cause: RecordedCause) -> Self {
        match cause {
            RecordedCause::Stream(Cause::SourceOverflow) | RecordedCause::DeviceRestarted => {
                Self::Device
            }
            RecordedCause::Stream(Cause::Deadline | Cause::GoneAtSender | Cause::NeverAsked)
            | RecordedCause::Reconnected
            // The sender was late, or the path: it is not known which.
            | RecordedCause::Underrun => Self::Wire,
            RecordedCause::Stream(Cause::ReceiverBehind) => Self::Socket,
            RecordedCause::RecorderRestarted => Self::Application,
            RecordedCause::DiskBehind => Self::Disk,
        }
    }
}

/// Samples missing, by hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hops([u64; Hop::ALL.len()]);

impl Hops {
    /// Nothing is missing.
    pub const NONE: Self = Self([0; Hop::ALL.len()]);

    /// Counts gaps by cause alone, when it is not known whether the program delayed the stream.
    pub fn of_causes(samples: impl IntoIterator<Item = (RecordedCause, u64)>) -> Self {
        let mut hops = Self::NONE;
        for (cause, samples) in samples {
            hops.count(Hop::of(cause), samples);
        }
        hops
    }

    /// Adds a gap. `is_held_up` states that the program held all of its receiver's memory; then the
    /// source's losses count for the program.
    pub fn add(&mut self, gap: &RecordedGap, is_held_up: bool) {
        for (cause, samples) in gap.by_cause() {
            let hop = match Hop::of(cause) {
                Hop::Device if is_held_up && !gap.is_estimated() => Hop::Application,
                hop => hop,
            };
            self.count(hop, samples);
        }
    }

    /// Returns the counts with the losses on the path split: what the host has dropped is not the
    /// wire's. Drops beyond these losses are of packets that a retransmission replaced.
    #[must_use]
    pub fn with_host(mut self, host: HostDrops) -> Self {
        let HostDrops { nic, kernel } = host.within(self.of(Hop::Wire));
        self.0[Hop::Wire as usize] -= nic + kernel;
        self.0[Hop::Nic as usize] = nic;
        self.0[Hop::Kernel as usize] = kernel;
        self
    }

    /// Samples lost at `hop`.
    pub const fn of(&self, hop: Hop) -> u64 {
        self.0[hop as usize]
    }

    fn count(&mut self, hop: Hop, samples: u64) {
        let sum = &mut self.0[hop as usize];
        *sum = sum.saturating_add(samples);
    }

    /// Returns the hop with the most samples; of equal ones the first on the path. The counts of
    /// `application` and `disk` are upper bounds: `docs/statistics.md`, "How exact that is".
    pub fn most(&self) -> Hop {
        // `max_by_key` returns the last of equal ones.
        let most = Hop::ALL.into_iter().rev().max_by_key(|&hop| self.of(hop));
        most.expect("there are hops")
    }

    /// The sum over all hops.
    pub fn total(&self) -> u64 {
        self.0.into_iter().fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_hops_the_first_on_the_path_has_most() {
        assert_eq!(Hops::NONE.most(), Hop::Device);
        for (at, hop) in Hop::ALL.into_iter().enumerate() {
            let mut hops = Hops::NONE;
            for later in &Hop::ALL[at..] {
                hops.count(*later, 7);
            }
            assert_eq!(hops.most(), hop);
            hops.count(Hop::Disk, 1);
            assert_eq!(hops.most(), Hop::Disk);
        }
    }

    #[test]
    fn every_sample_of_a_gap_is_lost_at_one_hop() {
        for is_held_up in [false, true] {
            let mut hops = Hops::NONE;
            let mut samples = 0;
            for (cause, count) in RecordedCause::ALL.into_iter().zip(1..) {
                let (not_repaired, source_lost) = (10 * count, count);
                let gap = RecordedGap::new(0, not_repaired, source_lost, cause);
                hops.add(&gap, is_held_up);
                samples += gap.count();
                assert_eq!(hops.total(), samples, "{cause}");
            }
        }
    }

    #[test]
    fn drops_of_the_host_are_at_most_the_losses_on_the_path() {
        let mut lost = Hops::NONE;
        lost.count(Hop::Device, 5);
        lost.count(Hop::Wire, 100);
        lost.count(Hop::Socket, 7);
        let split = |nic, kernel| {
            let hops = lost.with_host(HostDrops { nic, kernel });
            assert_eq!((hops.total(), hops.of(Hop::Device), hops.of(Hop::Socket)), (112, 5, 7));
            [Hop::Wire, Hop::Nic, Hop::Kernel].map(|hop| hops.of(hop))
        };
        assert_eq!(split(0, 0), [100, 0, 0]);
        assert_eq!(split(30, 69), [1, 30, 69]);
        assert_eq!(split(30, 70), [0, 30, 70]);
        assert_eq!(split(30, 71), [0, 30, 70]);
        assert_eq!(split(101, 1), [0, 100, 0]);
        assert_eq!(split(u64::MAX, u64::MAX), [0, 100, 0]);
    }
}

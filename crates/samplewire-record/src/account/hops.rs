//! Where samples were lost: each that is missing was lost at one hop between converter and file.

use samplewire_proto::Cause;

use crate::sigmf::{RecordedCause, RecordedGap};

/// A place on the way of a sample. The host's interface is none of these: what it drops is of all
/// programs, and its share of a stream's losses is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// The source, or the device's own memory.
    Device,
    /// Everything between the device's socket and this host's; also what cannot be decided.
    Wire,
    /// This host's socket.
    Socket,
    /// The program took too slowly what its receiver held, so the device lost it.
    Application,
    /// The file took it too slowly, so the device lost it.
    Disk,
}

impl Hop {
    /// Every hop, from the source to the file.
    pub const ALL: [Self; 5] =
        [Self::Device, Self::Wire, Self::Socket, Self::Application, Self::Disk];

    /// The word for it, for people, in JSON and as a label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Wire => "wire",
            Self::Socket => "socket",
            Self::Application => "application",
            Self::Disk => "disk",
        }
    }

    /// Where the samples were lost that a gap of `cause` counts.
    pub const fn of(cause: RecordedCause) -> Self {
        match cause {
            RecordedCause::Stream(Cause::SourceOverflow) | RecordedCause::DeviceRestarted => {
                Self::Device
            }
            RecordedCause::Stream(Cause::Deadline | Cause::GoneAtSender | Cause::NeverAsked)
            | RecordedCause::Reconnected => Self::Wire,
            RecordedCause::Stream(Cause::ReceiverBehind) => Self::Socket,
            RecordedCause::RecorderRestarted => Self::Application,
            RecordedCause::DiskBehind => Self::Disk,
        }
    }
}

/// Samples missing, by hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hops {
    device: u64,
    wire: u64,
    socket: u64,
    application: u64,
    disk: u64,
}

impl Hops {
    /// Nothing is missing.
    pub const NONE: Self = Self { device: 0, wire: 0, socket: 0, application: 0, disk: 0 };

    /// What gaps of these causes count, where it is not known whether the program held the stream up.
    pub fn of_causes(samples: impl IntoIterator<Item = (RecordedCause, u64)>) -> Self {
        let mut hops = Self::NONE;
        for (cause, samples) in samples {
            *hops.of_mut(Hop::of(cause)) += samples;
        }
        hops
    }

    /// Adds a gap. What the source lost while the program held all that its receiver has,
    /// `is_held_up`, was lost by the program.
    pub fn add(&mut self, gap: &RecordedGap, is_held_up: bool) {
        for (cause, samples) in gap.by_cause() {
            let hop = match Hop::of(cause) {
                Hop::Device if is_held_up && !gap.is_estimated() => Hop::Application,
                hop => hop,
            };
            *self.of_mut(hop) += samples;
        }
    }

    /// Samples lost at `hop`.
    pub const fn of(&self, hop: Hop) -> u64 {
        match hop {
            Hop::Device => self.device,
            Hop::Wire => self.wire,
            Hop::Socket => self.socket,
            Hop::Application => self.application,
            Hop::Disk => self.disk,
        }
    }

    const fn of_mut(&mut self, hop: Hop) -> &mut u64 {
        match hop {
            Hop::Device => &mut self.device,
            Hop::Wire => &mut self.wire,
            Hop::Socket => &mut self.socket,
            Hop::Application => &mut self.application,
            Hop::Disk => &mut self.disk,
        }
    }

    /// The sum over all hops.
    pub fn total(&self) -> u64 {
        Hop::ALL.into_iter().map(|hop| self.of(hop)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_of_a_gap_is_lost_at_one_hop() {
        for is_held_up in [false, true] {
            let mut hops = Hops::NONE;
            let mut samples = 0;
            for (cause, count) in RecordedCause::ALL.into_iter().zip(1..) {
                let (not_repaired, source_lost) = (10 * count, count);
                let gap = RecordedGap { first: 0, not_repaired, source_lost, cause, stream: None };
                hops.add(&gap, is_held_up);
                samples += gap.count();
                assert_eq!(hops.total(), samples, "{cause}");
            }
        }
    }
}

//! Parameters that belong together: of the senders, of the switch and of the receivers.

use samplewire_proto::Nanos;
use samplewire_proto::rate::DcqcnParams;

use samplewire_switch::{Marking, MarkingPoint};

/// A set of parameters for a line's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Ours, for streams.
    Samplewire,
    /// Those of the DCQCN paper, with marks as frames join the queue.
    Paper,
    /// Those of HPCC's simulator.
    Hpcc,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Samplewire, Self::Paper, Self::Hpcc];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Samplewire => "samplewire",
            Self::Paper => "paper",
            Self::Hpcc => "hpcc",
        }
    }

    /// What senders on a line of so many bits a second follow.
    pub const fn params(self, line_bps: u64) -> DcqcnParams {
        match self {
            Self::Samplewire => DcqcnParams::samplewire(line_bps),
            Self::Paper => DcqcnParams::paper(line_bps),
            Self::Hpcc => DcqcnParams::hpcc(line_bps),
        }
    }

    /// How the switch marks: Kmin 5 KB, Kmax 200 KB and Pmax 1 % in the paper (section 5.2), 100 and
    /// 400 KB for each 25 Gb/s and 20 % in HPCC's configurations.
    pub const fn marking(self, line_bps: u64) -> Marking {
        match self {
            Self::Samplewire => Marking::samplewire(line_bps),
            Self::Paper => Marking {
                min_bytes: 5_000,
                max_bytes: 200_000,
                probability_max: 0.01,
                at: MarkingPoint::Enqueue,
            },
            Self::Hpcc => Marking {
                min_bytes: 100_000 * (line_bps / 1_000_000) / 25_000,
                max_bytes: 400_000 * (line_bps / 1_000_000) / 25_000,
                probability_max: 0.2,
                at: MarkingPoint::Dequeue,
            },
        }
    }

    /// The shortest time between two notifications of one flow: that of REPORTs in a stream that flows
    /// (`docs/protocol.md#4.5`). With the others every marked frame notifies; the paper's 50 us
    /// between CNPs are the senders' D.
    pub const fn report_spacing(self) -> Nanos {
        match self {
            Self::Samplewire => Nanos::from_micros(20),
            Self::Paper | Self::Hpcc => Nanos(0),
        }
    }
}

//! `roce`: files over reliable connections of RoCEv2.

mod arrivals;
mod bench;
mod connect;
mod exchange;
mod input;
mod line;
mod listen;
mod output;
mod send;
mod station;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::time::Duration;

use samplewire_io::thread;
use samplewire_io::verbs::VerbsError;
use samplewire_roce::RegionError;
use samplewire_roce::requester::SendStatus;

use crate::arguments::{RoceArguments, RoceVerb};
use crate::failure::Failure;
use crate::outcome::Outcome;

pub(crate) use exchange::LineError;
pub(crate) use station::FindError;

/// Why a transfer failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RoceError {
    #[error("connection lines at {address}: {source}")]
    Exchange { address: String, source: io::Error },
    #[error("the peer's connection line: {0}")]
    Line(LineError),
    #[error(transparent)]
    Find(FindError),
    #[error("{len} bytes do not fit the peer's region of {region_bytes}")]
    Region { len: u64, region_bytes: u64 },
    #[error("--region: {0}")]
    Memory(RegionError),
    #[error("--region and --receives of --message take {needed} bytes: {words}")]
    Reserve { needed: u64, words: String },
    #[error("the peer closed the connection, after {bytes} bytes")]
    Closed { bytes: u64 },
    #[error("the peer's last line: {0}")]
    Last(LineError),
    #[error(transparent)]
    Verbs(#[from] VerbsError),
    #[error("interrupted")]
    Interrupted,
    #[error("the peer has kept {kept} of {sent} bytes")]
    Kept { kept: u64, sent: u64 },
    #[error("{}, after {bytes} bytes", status_words(*status))]
    Failed { status: SendStatus, bytes: u64 },
}

/// Does what the verb names.
pub(crate) fn run(arguments: &RoceArguments) -> Result<Outcome, Failure> {
    thread::set_timer_slack(TIMER_SLACK)?;
    match &arguments.verb {
        RoceVerb::Listen(arguments) => listen::run(arguments),
        RoceVerb::Write(arguments) => send::run(arguments, send::Kind::Write),
        RoceVerb::Send(arguments) => send::run(arguments, send::Kind::Send),
        RoceVerb::Bench(arguments) => bench::run(arguments),
    }
}

impl RoceError {
    /// The exit status.
    pub(crate) const fn outcome(&self) -> Outcome {
        match self {
            Self::Region { .. } | Self::Memory(_) | Self::Reserve { .. } => Outcome::Usage,
            Self::Find(FindError::Mtu { .. } | FindError::Twice(_)) => Outcome::Usage,
            Self::Verbs(VerbsError::Device { .. } | VerbsError::Address { .. }) => Outcome::Usage,
            Self::Exchange { .. } | Self::Line(_) | Self::Find(_) | Self::Verbs(_) => {
                Outcome::Unreachable
            }
            Self::Interrupted
            | Self::Failed { .. }
            | Self::Closed { .. }
            | Self::Last(_)
            | Self::Kept { .. } => Outcome::Incomplete,
        }
    }

    /// What to do next.
    pub(crate) fn tip(&self) -> Option<&'static str> {
        match self {
            Self::Region { .. } => Some("start `samplewire roce listen` with a larger --region"),
            Self::Find(FindError::NoStation { .. }) => {
                Some("are both ends on one link? --next-hop names the router to another network")
            }
            Self::Find(FindError::Mtu { .. }) => {
                Some("a smaller --mtu, or `ip link set IF mtu 4200` at both ends")
            }
            Self::Failed { status: SendStatus::RetriesExceeded, bytes: 0 } => Some(
                "no acknowledgement came: do both interfaces take packets of --mtu and 64 bytes of \
                 headers, and does a firewall pass UDP port 4791?",
            ),
            Self::Verbs(error) => verbs_tip(error),
            _ => None,
        }
    }
}

/// What to do where a card cannot be used.
pub(crate) fn verbs_tip(error: &VerbsError) -> Option<&'static str> {
    Some(match error {
        VerbsError::Library { .. } => {
            "install libibverbs and its drivers: `apt-get install libibverbs1 ibverbs-providers` or \
             `dnf install libibverbs`"
        }
        VerbsError::Device { .. } => {
            "`rdma link` lists the devices; `rdma link add rxe0 type rxe netdev eth0` makes one in \
             software (Soft-RoCE); its driver is of the package ibverbs-providers"
        }
        VerbsError::Down { .. } => "`ip link set IF up` for the interface that `rdma link` names",
        VerbsError::Address { .. } => {
            "--ip is an IPv4 address of the interface that `rdma link` names: see `ip address`"
        }
        VerbsError::Memory { .. } => {
            "registered memory is locked: raise `ulimit -l`, or take a smaller --region"
        }
        error if error.is_unreachable() => {
            "is the peer on this link, or is there a route to it? `ip neighbour` shows who answers"
        }
        VerbsError::Call { operation: "open", .. } => {
            "this user needs the right to open /dev/infiniband/uverbs*"
        }
        VerbsError::Kind { .. } | VerbsError::Call { .. } => return None,
    })
}

fn status_words(status: SendStatus) -> String {
    match status {
        SendStatus::Done => "done".into(),
        SendStatus::Nak(code) => format!("the peer refused a message: {code}"),
        SendStatus::RetriesExceeded => "the peer does not answer".into(),
        SendStatus::RnrRetriesExceeded => "the peer had no receive request".into(),
        SendStatus::Flushed => "the connection failed".into(),
    }
}

/// Late packets of a limited rate are made up for within 50 us, which is what the system's own slack
/// takes.
const TIMER_SLACK: Duration = Duration::from_micros(1);

/// From the system's randomness.
fn seed() -> u64 {
    RandomState::new().hash_one(())
}

//! `nic`: raw Ethernet frames to a board with the NIC, or between two hosts.

mod block;
mod counts;
mod echo;
mod exchange;
mod file;
mod image;
mod link;
mod modes;
mod order;
mod probe;
mod rate;
mod receive;
mod registers;
mod regs;
mod rtt;
mod scheme;
mod send;
mod trips;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::time::Duration;

use samplewire_io::ether::EtherError;
use samplewire_io::thread;
use samplewire_proto::block::trial::Order;
use samplewire_proto::block::{
    MacAddress, ReceiveFailure, ReceiverConfigError, SendEnd, SenderConfigError,
};

use crate::arguments::{ConsoleAddress, NicArguments, NicVerb};
use crate::console::Console;
use crate::failure::Failure;
use crate::figures::{measured, span};
use crate::outcome::Outcome;
use link::Link;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NicError {
    #[error("frames of {bytes} bytes exceed the {max} that the interface takes")]
    TooLong { bytes: usize, max: usize },
    #[error("none of the frames to {} came back", mac_words(*.0))]
    NothingBack(MacAddress),
    #[error("no frame came back in mode {0}")]
    NothingBackIn(&'static str),
    #[error("{} has not reported what came back", mac_words(*.0))]
    NoReport(MacAddress),
    #[error(
        "a board sends frames of 46 to {} bytes, {} at a time, with delays of 1 s and of a minute in all at most",
        Order::SIZE_MAX,
        Order::FRAMES_MAX
    )]
    BeyondBoard,
    #[error("a board does not count {0} frames, and `--fail-on` names them")]
    NotCounted(&'static str),
    #[error("scheme {0} loses frames at every setting")]
    AlwaysLost(u8),
    #[error("{path}: {words}")]
    File { path: String, words: &'static str },
    #[error("{}", end_words(*.end, *.peer))]
    Sent { end: SendEnd, peer: MacAddress },
    #[error("{failure}, after {frames} frames of data")]
    Received { failure: ReceiveFailure, frames: u64 },
    #[error("{0} has taken no frame for 10 s")]
    Refused(String),
    #[error("no transfer began within {}", span(.0.as_secs_f64()))]
    NoTransfer(Duration),
    #[error("{at}: {error}")]
    Console { at: ConsoleAddress, error: io::Error },
    #[error("`{line}`: {words}")]
    Line { line: String, words: String },
    #[error(transparent)]
    Sender(#[from] SenderConfigError),
    #[error(transparent)]
    Receiver(#[from] ReceiverConfigError),
}

/// Does what the verb names.
pub(crate) fn run(arguments: &NicArguments) -> Result<Outcome, Failure> {
    // Pauses of 100 us, and round trips.
    thread::set_timer_slack(TIMER_SLACK)?;
    match &arguments.verb {
        NicVerb::Rtt(arguments) => rtt::run(arguments),
        NicVerb::Rate(arguments) => rate::run(arguments),
        NicVerb::Send(arguments) => send::run(arguments),
        NicVerb::Receive(arguments) => receive::run(arguments),
        NicVerb::Image(arguments) => image::run(arguments),
        NicVerb::Modes(arguments) => modes::run(arguments),
        NicVerb::Echo(arguments) => echo::run(arguments),
        NicVerb::Regs(arguments) => regs::run(arguments),
    }
}

impl NicError {
    /// The exit status.
    pub(crate) const fn outcome(&self) -> Outcome {
        match self {
            Self::NothingBack(_) | Self::NothingBackIn(_) => Outcome::Unreachable,
            Self::NoReport(_) => Outcome::Unreachable,
            Self::NoTransfer(_) | Self::Refused(_) | Self::Console { .. } => Outcome::Unreachable,
            Self::Sent { end: SendEnd::Silent, .. } => Outcome::Unreachable,
            Self::Sent { .. } | Self::Received { .. } => Outcome::Incomplete,
            Self::AlwaysLost(_) => Outcome::Missing,
            Self::TooLong { .. }
            | Self::BeyondBoard
            | Self::NotCounted(_)
            | Self::Line { .. }
            | Self::File { .. }
            | Self::Sender(_)
            | Self::Receiver(_) => Outcome::Usage,
        }
    }

    /// What to do next.
    pub(crate) const fn tip(&self) -> Option<&'static str> {
        match self {
            Self::TooLong { .. } => {
                Some("smaller --sizes or --packet-bytes, or `ip link set IF mtu 9000` at both ends")
            }
            Self::NothingBack(_) | Self::NothingBackIn(_) => Some(
                "is --peer the address of a board that sends frames back, or of a host that runs \
                 `samplewire nic echo`, and are both ends on one link?",
            ),
            Self::NoReport(_) => Some(
                "does the board at --peer run the image send, and does it work for no other host?",
            ),
            Self::BeyondBoard => Some("choose --sizes, --count and --delay within these"),
            Self::NotCounted(_) => Some("limit lost frames alone, as in --fail-on lost=0"),
            Self::AlwaysLost(_) => Some("other programs or a busy host lose frames too: try again"),
            Self::Sent { end: SendEnd::Silent, .. } => Some(
                "is `samplewire nic receive` running there, with the same --plain and \
                 --packet-bytes? `samplewire nic rtt` shows whether frames come back",
            ),
            Self::Received { failure: ReceiveFailure::Silent, .. } => {
                Some("the sender has ended, or the link is down: start both ends again")
            }
            Self::Received { failure: ReceiveFailure::Crc { .. }, .. } => Some(
                "bytes changed on the way or in memory, or the file changed while it was sent: \
                 start both ends again",
            ),
            Self::Console { at: ConsoleAddress::Tcp(_), .. } => Some(
                "does the board run the image stack or stack_apart, and does `ping` reach it? One \
                 connection is served at a time",
            ),
            Self::Console { .. } => Some("`make board` prints the path of the board's registers"),
            Self::NoTransfer(_) => {
                Some("start `samplewire nic send` with this end's address as --peer")
            }
            _ => None,
        }
    }
}

/// What to do where a link of raw frames cannot be opened.
pub(crate) fn link_tip(error: &EtherError) -> Option<&'static str> {
    Some(match (error.operation, error.source.kind()) {
        ("AF_PACKET", io::ErrorKind::PermissionDenied) => {
            "raw frames need CAP_NET_RAW: run it with sudo, or give this program the right \
             (docs/command.md#rights); a link unix:PATH to a simulated board needs no right"
        }
        ("type" | "address", io::ErrorKind::NotFound) => {
            "`ip link` lists the interfaces; the socket of a simulated board is unix:PATH"
        }
        ("connect", io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            "start the simulated board first: `make board BOARD=\"--unix PATH\"`"
        }
        _ => return None,
    })
}

fn end_words(end: SendEnd, peer: MacAddress) -> String {
    let peer = mac_words(peer);
    match end {
        SendEnd::Done => format!("{peer} has all"),
        SendEnd::Silent => format!("no answer from {peer} for 10 s"),
        SendEnd::Stalled => format!("{peer} lists packets as missing again and again"),
        SendEnd::CheckTooLong => format!("{peer} has computed the CRC for an hour"),
    }
}

fn mac_words(address: MacAddress) -> String {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

/// The link, both ends and the memory, in one line.
fn print_link(console: &mut Console, name: &str, link: &Link, peer: MacAddress) {
    console.line(format_args!(
        "{name}: {} to {}, {} for frames",
        mac_words(link.mac()),
        mac_words(peer),
        measured(link.memory_bytes() as f64, "B")
    ));
}

/// An error where the link does not take frames of one of the sizes, without their headers.
fn check_sizes(link: &Link, sizes: &[u16]) -> Result<(), NicError> {
    let longest = usize::from(sizes.iter().copied().max().unwrap_or(0));
    check_frame(link, longest + ETHERNET_BYTES)
}

fn check_frame(link: &Link, bytes: usize) -> Result<(), NicError> {
    match link.frame_bytes_max() {
        Some(max) if bytes > max => Err(NicError::TooLong { bytes, max }),
        _ => Ok(()),
    }
}

/// From the system's randomness.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

const ETHERNET_BYTES: usize = 14;

/// How late the kernel may wake this program by choice.
const TIMER_SLACK: Duration = Duration::from_micros(1);

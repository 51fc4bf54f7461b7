//! A stream as it is told of: what it is, and what is counted.

use std::net::SocketAddr;

use samplewire::DeviceInfo;
use samplewire::Listener;
use samplewire::device::PlayCounts;
use samplewire::receiver::{self, ReceiverSnapshot};
use samplewire::source::StreamInfo;
use samplewire::transmitter::{StatsHandle, TransmitterSnapshot};

use samplewire_record::account::Account;

/// What does not change while a stream is told of.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// The address of the device, whichever end this is.
    pub(crate) device: SocketAddr,
    /// The number of the stream at the device.
    pub(crate) stream: u16,
    /// Which way the samples go.
    pub(crate) direction: Direction,
    /// The samples.
    pub(crate) info: StreamInfo,
}

/// Which way samples go, seen from this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Into this process.
    Receive,
    /// Out of it.
    Transmit,
}

impl Direction {
    /// The value of the label.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::Transmit => "transmit",
        }
    }
}

/// The counters of a moment; what a stream does not have is not there.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The other end; `None` for a device that nobody has opened.
    pub(crate) peer: Option<SocketAddr>,
    /// Samples of a full packet; 0 while that is not agreed.
    pub(crate) packet_samples: u32,
    /// What a receiver counts.
    pub(crate) receiver: Option<ReceiverSnapshot>,
    /// What a sender counts.
    pub(crate) sender: Option<TransmitterSnapshot>,
    /// Whether the sender is a device's, which listens.
    pub(crate) is_listening: bool,
    /// What a device counts that plays.
    pub(crate) player: Option<PlayCounts>,
    /// What a recording holds.
    pub(crate) recording: Option<Account>,
}

impl About {
    /// The stream of that number that a device sends.
    pub(crate) fn sent(stream: u16, listener: &Listener) -> Self {
        let (device, info) = (listener.local_addr(), listener.info().clone());
        Self { device, stream, direction: Direction::Transmit, info }
    }

    /// A stream that this end opened.
    pub(crate) fn opened(info: &DeviceInfo, direction: Direction) -> Self {
        Self { device: info.address, stream: info.stream, direction, info: info.stream_info() }
    }
}

/// What a session counted that is over: of its credit, its window and its round trip nothing is left.
pub(crate) fn ended(last: &ReceiverSnapshot) -> ReceiverSnapshot {
    ReceiverSnapshot { rtt_ns: 0, credit: 0, window: 0, silent_ns: 0, ..*last }
}

/// Tells of a receiver that this end opened.
pub(crate) fn of_receiver(
    info: &DeviceInfo,
    stats: receiver::StatsHandle,
) -> impl Fn() -> View + Send + use<> {
    let (peer, packet_samples) = (Some(info.address), info.packet_samples);
    move || View { peer, packet_samples, receiver: Some(stats.stats()), ..View::default() }
}

/// Shows a stream that is sent: to the device that was opened, or to receivers of this one.
pub(crate) fn of_sender(
    stats: StatsHandle,
    opened: Option<SocketAddr>,
) -> impl Fn() -> View + Send {
    let is_listening = opened.is_none();
    move || {
        let (session, mut sender) = (stats.session(), stats.stats());
        if session.is_none() {
            sender.rtt_ns = 0;
        }
        View {
            peer: session.map(|session| session.peer).or(opened),
            packet_samples: session.map_or(0, |session| session.packet_samples),
            sender: Some(sender),
            is_listening,
            ..View::default()
        }
    }
}

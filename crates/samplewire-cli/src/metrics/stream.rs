//! An exported stream: its description and its counters.

use std::net::SocketAddr;

use samplewire::DeviceInfo;
use samplewire::Listener;
use samplewire::device::PlayCounts;
use samplewire::receiver::{self, ReceiverSnapshot};
use samplewire::source::StreamInfo;
use samplewire::transmitter::{StatsHandle, TransmitterSnapshot};

use samplewire_io::HostDropCounts;
use samplewire_record::account::Account;

use super::Exported;

/// The constant part of an exported stream.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// The address of the device, for either end.
    pub(crate) device: SocketAddr,
    /// The number of the stream at the device.
    pub(crate) stream: u16,
    /// Direction of the samples.
    pub(crate) direction: Direction,
    /// The format of the samples.
    pub(crate) info: StreamInfo,
}

/// Direction of the samples, seen from this process.
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

/// The counters at one moment; those that a stream does not have are absent.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The other end; `None` for a device that is not open.
    pub(crate) peer: Option<SocketAddr>,
    /// Samples of a full packet; 0 until they are agreed.
    pub(crate) packet_samples: u32,
    /// The counters of a receiver.
    pub(crate) receiver: Option<ReceiverSnapshot>,
    /// The counters of a sender.
    pub(crate) sender: Option<TransmitterSnapshot>,
    /// Whether the sender belongs to a listening device.
    pub(crate) is_listening: bool,
    /// The counters of a device that plays.
    pub(crate) player: Option<PlayCounts>,
    /// The account of a recording.
    pub(crate) recording: Option<Account>,
    /// What the host drops.
    pub(crate) host: Option<HostDropCounts>,
}

impl About {
    /// The stream with this number that a device sends.
    pub(crate) fn sent(stream: u16, listener: &Listener) -> Self {
        let (device, info) = (listener.local_addr(), listener.info().clone());
        Self { device, stream, direction: Direction::Transmit, info }
    }

    /// A stream that this end opened.
    pub(crate) fn opened(info: &DeviceInfo, direction: Direction) -> Self {
        Self { device: info.address, stream: info.stream, direction, info: info.stream_info() }
    }
}

/// The counts of a finished session: credit, window and round trip are zero.
pub(crate) fn ended(last: &ReceiverSnapshot) -> ReceiverSnapshot {
    ReceiverSnapshot { rtt_ns: 0, credit: 0, window: 0, silent_ns: 0, ..*last }
}

/// Exports a receiver that this end opened, and what the host drops of it.
pub(crate) fn of_receiver(
    info: &DeviceInfo,
    stats: receiver::StatsHandle,
    host: Option<Exported<HostDropCounts>>,
) -> impl Fn() -> View + Send + use<> {
    let (peer, packet_samples) = (Some(info.address), info.packet_samples);
    move || View {
        peer,
        packet_samples,
        receiver: Some(stats.stats()),
        host: host.as_ref().map(Exported::get),
        ..View::default()
    }
}

/// Exports a sent stream: to an opened device, or from this device to receivers.
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

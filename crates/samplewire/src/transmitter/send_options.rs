//! What the user of a transmitter that opens may choose.

use std::time::Duration;

use samplewire_io::UdpOptions;
use samplewire_proto::session::OpenConfig;
use samplewire_proto::stream::Underflow;
use samplewire_proto::wire::Role;
use samplewire_proto::{SampleIndex, Seq};

use crate::delivery::Delivery;
use crate::error::OpenError;
use crate::opening::{self, Limits};
use crate::port::RANGES_MAX;
use crate::real_time::RealTime;
use crate::receiver::WINDOW_DEFAULT;

/// Choices for [`SendStream::open`](super::SendStream::open), with the defaults of the command
/// line.
#[derive(Clone, Debug)]
pub struct SendOptions {
    delivery: Delivery,
    pub(super) window: u32,
    stream: Option<u16>,
    owner: Option<u64>,
    timeout: Duration,
    packet_bytes_max: usize,
    pub(super) link_bps: u64,
    start_index: SampleIndex,
    first_seq: Seq,
    underflow: Underflow,
    pub(super) udp: UdpOptions,
    pub(super) real_time: RealTime,
}

impl SendOptions {
    /// Complete delivery, a window of 1,024 packets, the first stream that the device takes, 3 s to
    /// open, no pacing; the device plays zeros when samples are not there in time.
    pub fn new() -> Self {
        Self {
            delivery: Delivery::Complete,
            window: WINDOW_DEFAULT,
            stream: None,
            owner: None,
            timeout: Duration::from_secs(3),
            packet_bytes_max: 9_000,
            link_bps: 0,
            start_index: 0,
            first_seq: Seq(0),
            underflow: Underflow::Zeros,
            udp: UdpOptions::new(),
            real_time: RealTime::new(),
        }
    }

    /// What the device does about a lost packet; default [`Delivery::Complete`].
    #[must_use]
    pub const fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Packets held for repair, 1 to 2^24; default 1,024. Memory is window times payload.
    #[must_use]
    pub const fn window(mut self, packets: u32) -> Self {
        self.window = packets;
        self
    }

    /// The device's stream; default: its first that takes samples.
    #[must_use]
    pub const fn stream(mut self, stream: u16) -> Self {
        self.stream = Some(stream);
        self
    }

    /// Names this program to the device: the same owner takes a stream over at once, another is
    /// refused while it is open. Default: drawn anew for each transmitter.
    #[must_use]
    pub const fn owner(mut self, owner: u64) -> Self {
        self.owner = Some(owner);
        self
    }

    /// How long to try to open, 1 ms to 1 h; default 3 s.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The largest IP packet to send, headers included, 576 to 9,000; default 9,000 or the MTU of
    /// the first hop, whichever is less. Smaller ones are tried when it does not get through.
    #[must_use]
    pub const fn mtu(mut self, bytes: usize) -> Self {
        self.packet_bytes_max = bytes;
        self
    }

    /// Paces departures to this many bits a second of wire time, 10^4 to 10^13; 0 (the default)
    /// does not pace.
    #[must_use]
    pub const fn link_bps(mut self, link_bps: u64) -> Self {
        self.link_bps = link_bps;
        self
    }

    /// The index of the first sample, which the device refuses when its time has passed; default 0:
    /// what the device plays when it is opened, and [`Flags::START`](samplewire_proto::wire::Flags)
    /// sets the rest.
    #[must_use]
    pub const fn start_index(mut self, index: SampleIndex) -> Self {
        self.start_index = index;
        self
    }

    /// The seq of the first packet, for tests of its wrap; default 0.
    #[doc(hidden)]
    #[must_use]
    pub const fn first_seq(mut self, seq: Seq) -> Self {
        self.first_seq = seq;
        self
    }

    /// What the device does when samples are not there in time; default zeros.
    #[must_use]
    pub const fn underflow(mut self, underflow: Underflow) -> Self {
        self.underflow = underflow;
        self
    }

    /// Options of the UDP socket.
    #[must_use]
    pub const fn udp(mut self, options: UdpOptions) -> Self {
        self.udp = options;
        self
    }

    /// What the I/O thread and the quanta may have of the machine; default nothing.
    #[must_use]
    pub fn real_time(mut self, options: RealTime) -> Self {
        self.real_time = options;
        self
    }

    pub(super) const fn limits(&self) -> Limits {
        Limits {
            packet_bytes_max: self.packet_bytes_max,
            window: self.window,
            timeout: self.timeout,
            is_stream_chosen: self.stream.is_some(),
        }
    }

    pub(super) fn open_config(&self) -> Result<OpenConfig, OpenError> {
        let owner = opening::owner(self.owner)?;
        let (delivery, deadline_us) = opening::delivery_on_the_wire(self.delivery.checked()?);
        Ok(OpenConfig::new(Role::Send, self.stream.unwrap_or(0), owner)
            .with_delivery(delivery, deadline_us)
            .with_start_index(self.start_index)
            .with_first_seq(self.first_seq)
            .with_ranges_max(RANGES_MAX)
            .with_underflow(self.underflow))
    }
}

impl Default for SendOptions {
    fn default() -> Self {
        Self::new()
    }
}

//! What the user of a receiver may choose.

use std::net::SocketAddr;
use std::time::Duration;

use samplewire_io::UdpOptions;
use samplewire_proto::{SampleIndex, Seq};

use crate::delivery::Delivery;
use crate::opening::Limits;
use crate::real_time::RealTime;

/// Choices for [`ReceiveStream::open`](super::ReceiveStream::open), with the defaults of the command line.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    pub(super) delivery: Delivery,
    pub(super) window: u32,
    pub(super) stream: Option<u16>,
    pub(super) start_index: SampleIndex,
    pub(super) first_seq: Seq,
    pub(super) owner: Option<u64>,
    pub(super) timeout: Duration,
    pub(super) packet_bytes_max: usize,
    pub(super) udp: UdpOptions,
    pub(super) real_time: RealTime,
}

impl ReceiveOptions {
    /// Complete delivery, a window of 1,024 packets, the first stream that sends, 3 s to open.
    pub fn new() -> Self {
        Self {
            delivery: Delivery::Complete,
            window: WINDOW_DEFAULT,
            stream: None,
            start_index: 0,
            first_seq: Seq(0),
            owner: None,
            timeout: Duration::from_secs(3),
            packet_bytes_max: 9_000,
            udp: UdpOptions::new(),
            real_time: RealTime::new(),
        }
    }

    /// How complete the delivery is; default [`Delivery::Complete`].
    #[must_use]
    pub const fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Packets that may be on the way or wait for a repair, 1 to 2^24; default 1,024. No more are
    /// used than the device holds. Memory is window times payload. Below 2.5 times rate times round
    /// trip, repairs slow the stream.
    #[must_use]
    pub const fn window(mut self, packets: u32) -> Self {
        self.window = packets;
        self
    }

    /// The device's stream; default: its first that sends.
    #[must_use]
    pub const fn stream(mut self, stream: u16) -> Self {
        self.stream = Some(stream);
        self
    }

    /// The index of the first sample to come; default 0, which means that of now. A device refuses
    /// one that has passed, or is too far ahead (a minute, for one with a clock).
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

    /// Names this program to the device: the same owner takes a stream over at once, another is
    /// refused while it is open. Default: drawn anew for each receiver.
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

    /// The largest IP packet to ask for, headers included, 576 to 9,000; default 9,000 or the MTU
    /// of the first hop, whichever is less. Smaller ones are tried when it does not get through.
    #[must_use]
    pub const fn mtu(mut self, bytes: usize) -> Self {
        self.packet_bytes_max = bytes;
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

    pub(super) fn link(&self, address: SocketAddr) -> Result<samplewire_io::Udp, super::OpenError> {
        Ok(samplewire_io::Udp::client(address, &self.udp)?)
    }
}

impl Default for ReceiveOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// The window in packets unless chosen.
pub const WINDOW_DEFAULT: u32 = 1_024;

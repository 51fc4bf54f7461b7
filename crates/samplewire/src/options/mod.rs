//! What a program chooses before a stream opens or a device listens.
//!
//! [`ReceiveOptions`] and [`SendOptions`] share the choices of [`OpenOptions`]; [`DeviceOptions`]
//! are those of the other side.

mod address;
mod control;
mod device;
mod receive;
mod send;

use std::net::SocketAddr;
use std::time::Duration;

use samplewire_io::{UdpOptions, Xdp};
use samplewire_proto::session::OpenConfig;
use samplewire_proto::wire::Role;
use samplewire_proto::{SampleIndex, Seq};

use crate::delivery::Delivery;
use crate::error::OpenError;
use crate::opening::{self, Limits};
use crate::real_time::RealTime;

pub use address::{DEFAULT_PORT, ToAddress, resolve};
pub use control::{Control, ControlError};
#[doc(hidden)]
pub use device::DrawnTerms;
pub use device::{DeviceOptions, device};
pub use receive::{ReceiveOptions, ReceiveSide, receive};
pub use send::{SendOptions, SendSide, send};

/// The choices that both directions of an opening share. `Side` holds those of one direction:
/// [`ReceiveOptions`], [`SendOptions`].
#[derive(Clone, Debug)]
pub struct OpenOptions<Side> {
    delivery: Delivery,
    pub(crate) window: u32,
    /// Empty: the first stream that goes the right way and is free.
    streams: Vec<u16>,
    start_index: SampleIndex,
    first_seq: Seq,
    pub(crate) owner: Option<u64>,
    pub(crate) timeout: Duration,
    packet_bytes_max: usize,
    udp: UdpOptions,
    pub(crate) real_time: RealTime,
    side: Side,
}

impl<Side> OpenOptions<Side> {
    fn of_side(side: Side) -> Self {
        Self {
            delivery: Delivery::Complete,
            window: WINDOW_DEFAULT,
            streams: Vec::new(),
            start_index: 0,
            first_seq: Seq(0),
            owner: None,
            timeout: Duration::from_secs(3),
            packet_bytes_max: 9_000,
            udp: UdpOptions::new(),
            real_time: RealTime::new(),
            side,
        }
    }

    /// What the receiving end does about a lost packet; default [`Delivery::Complete`].
    #[must_use]
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// The same as [`Delivery::Deadline`]: a packet that is not repaired in this time, 1 us to 30 s,
    /// becomes a gap.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        self.delivery(Delivery::Deadline(deadline))
    }

    /// Packets in flight or held for repair, 1 to 2^24; default 1,024. A stream uses at most what the
    /// device holds. Memory is window times payload. Below 2.5 times rate times round trip, repairs
    /// slow the stream.
    #[must_use]
    pub fn window(mut self, packets: u32) -> Self {
        self.window = packets;
        self
    }

    /// The device's stream, numbered from 0; default: its first that goes this way and is free.
    #[must_use]
    pub fn stream(mut self, stream: u16) -> Self {
        self.streams = vec![stream];
        self
    }

    /// The index of the first sample; default 0: the device's present index. A device refuses an
    /// index that has passed, or that is too far ahead (a minute, for one with a clock).
    #[must_use]
    pub fn start_index(mut self, index: SampleIndex) -> Self {
        self.start_index = index;
        self
    }

    /// The seq of the first packet, for tests of its wrap; default 0.
    #[doc(hidden)]
    #[must_use]
    pub fn first_seq(mut self, seq: Seq) -> Self {
        self.first_seq = seq;
        self
    }

    /// An ID of this program: the same owner takes a stream over at once, another is refused while
    /// the stream is open. Default: a random one for each opening.
    #[must_use]
    pub fn owner(mut self, owner: u64) -> Self {
        self.owner = Some(owner);
        self
    }

    /// How long to try to open, 1 ms to 1 h; default 3 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The largest IP packet, headers included, 576 to 9,000 bytes; default 9,000 or the MTU of the
    /// first hop, whichever is less. When packets of this size do not get through, the opening tries
    /// smaller ones.
    #[must_use]
    pub fn mtu(mut self, bytes: usize) -> Self {
        self.packet_bytes_max = bytes;
        self
    }

    /// Options of the UDP socket.
    #[must_use]
    pub fn udp(mut self, options: UdpOptions) -> Self {
        self.udp = options;
        self
    }

    /// CPU, priority, memory and waiting of the I/O thread; default: as the system sets them.
    #[must_use]
    pub fn real_time(mut self, options: RealTime) -> Self {
        self.real_time = options;
        self
    }

    pub(crate) fn link(&self, address: SocketAddr) -> Result<Xdp, OpenError> {
        Ok(Xdp::client(address, &self.udp)?)
    }

    /// The speed of the interface towards an address, if it is set or known.
    fn line_bps(&self, address: SocketAddr) -> Option<u64> {
        self.udp.line_bps_towards(address)
    }

    pub(crate) const fn limits(&self) -> Limits {
        Limits {
            packet_bytes_max: self.packet_bytes_max,
            window: self.window,
            timeout: self.timeout,
            is_stream_chosen: !self.streams.is_empty(),
        }
    }

    /// The streams that were named, in their order.
    pub(crate) fn named_streams(&self) -> &[u16] {
        &self.streams
    }

    /// The streams that were named, where that is more than one.
    pub(crate) fn several_streams(&self) -> Option<&[u16]> {
        (self.streams.len() > 1).then_some(&self.streams)
    }

    /// Checks that these options open one stream.
    ///
    /// # Errors
    /// They name several.
    pub(crate) fn check_single(&self) -> Result<(), OpenError> {
        match self.streams.len() {
            0 | 1 => Ok(()),
            several => Err(OpenError::Contradiction {
                one: format!("streams (of {several})"),
                other: "open (of one stream)".into(),
                hint: "use open_each or open_aligned".into(),
            }),
        }
    }

    /// An OPEN of the first stream that was named, or of the device's first.
    pub(crate) fn open_config(&self, role: Role) -> Result<OpenConfig, OpenError> {
        let owner = opening::owner(self.owner)?;
        let (delivery, deadline_us) = opening::delivery_on_the_wire(self.delivery.checked()?);
        let stream = self.streams.first().copied().unwrap_or(0);
        Ok(OpenConfig::new(role, stream, owner)
            .with_delivery(delivery, deadline_us)
            .with_start_index(self.start_index)
            .with_first_seq(self.first_seq))
    }
}

/// The window in packets unless chosen.
pub const WINDOW_DEFAULT: u32 = 1_024;

//! Choices of a device: its streams, and how its port works.

use std::time::{Duration, Instant};

use samplewire_io::{Link, UdpOptions, Xdp};
use samplewire_proto::stream::Carriage;

use super::{Control, ToAddress, WINDOW_DEFAULT};
use crate::device::{Device, SampleClock};
use crate::driver::Stepped;
use crate::endpoint::StationConfig;
use crate::error::OpenError;
use crate::port::{RANGES_MAX, bind_each};
use crate::real_time::RealTime;
use crate::source::StreamInfo;

/// Choices of a device, with the defaults of the command line: a window of 1,024 packets, the largest
/// payload that the path carries, no pacing, congestion control, no clock.
///
/// ```
/// use samplewire::StreamInfo;
///
/// let info = StreamInfo::sc16("adc0", 250e6)?;
/// let device = samplewire::device().sends(info).listen("127.0.0.1:0")?;
/// assert!(device.address.ip().is_loopback());
///
/// let error = samplewire::device().listen("127.0.0.1:0").unwrap_err();
/// assert!(error.to_string().starts_with("a device of 0 streams"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceOptions {
    pub(crate) sends: Vec<StreamInfo>,
    pub(crate) plays: Option<StreamInfo>,
    pub(crate) clock: Option<SampleClock>,
    pub(crate) window: u32,
    pub(crate) payload_bytes: Option<u16>,
    pub(crate) link_bps: u64,
    pub(crate) control: Control,
    pub(crate) reorder_tolerance: Duration,
    pub(crate) packet_bytes_max: usize,
    pub(crate) udp: UdpOptions,
    pub(crate) real_time: RealTime,
    pub(crate) play_jump_max: Duration,
    pub(crate) drawn: DrawnTerms,
    carriage: Carriage,
}

/// The default options of a device.
pub fn device() -> DeviceOptions {
    DeviceOptions::new()
}

/// Terms of a stream that programs do not choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnTerms {
    /// After how long a silence a peer counts as gone, in milliseconds.
    pub dead_ms: u16,
    /// How often an idle stream reports, in milliseconds.
    pub idle_ms: u16,
    /// How many ranges of a REPORT this end takes.
    pub ranges_max: u16,
}

impl DrawnTerms {
    const DEFAULT: Self = Self { dead_ms: 15_000, idle_ms: 100, ranges_max: RANGES_MAX };
}

impl DeviceOptions {
    /// The defaults; the same as [`device`].
    pub fn new() -> Self {
        Self {
            sends: Vec::new(),
            plays: None,
            clock: None,
            window: WINDOW_DEFAULT,
            payload_bytes: None,
            link_bps: 0,
            control: Control::default(),
            reorder_tolerance: Duration::from_micros(50),
            packet_bytes_max: 9_000,
            udp: UdpOptions::new(),
            real_time: RealTime::new(),
            play_jump_max: PLAY_JUMP_MAX,
            drawn: DrawnTerms::DEFAULT,
            carriage: Carriage::Data,
        }
    }

    /// Adds a stream that the device sends, at most 1,024 in all. They are numbered from 0, in the order
    /// in which they are added.
    #[must_use]
    pub fn sends(mut self, info: StreamInfo) -> Self {
        self.sends.push(info);
        self
    }

    /// The stream that the device plays. Its number follows those of the streams that it sends.
    #[must_use]
    pub fn plays(mut self, info: StreamInfo) -> Self {
        self.plays = Some(info);
        self
    }

    /// The clock of the samples, one for all streams. Default none: the indexes of each stream
    /// continue from session to session, and samples that come in are taken as fast as they are used.
    #[must_use]
    pub const fn clock(mut self, clock: SampleClock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Packets held for repair, or that may wait to be played, 1 to 2^24; default 1,024. Memory is
    /// window times payload.
    #[must_use]
    pub const fn window(mut self, packets: u32) -> Self {
        self.window = packets;
        self
    }

    /// Payload of a packet in bytes: a multiple of 8 and of the bytes of one sample of all
    /// channels, at most 8,940. Default: the largest multiple of 64 that the path carries. Larger
    /// payloads cost less per sample; a receiver behind a smaller MTU is refused.
    #[must_use]
    pub const fn payload_bytes(mut self, bytes: u16) -> Self {
        self.payload_bytes = Some(bytes);
        self
    }

    /// Paces the departures of each stream to this many bits a second of wire time, 10^4 to 10^13; 0
    /// (the default) does not pace.
    #[must_use]
    pub const fn link_bps(mut self, link_bps: u64) -> Self {
        self.link_bps = link_bps;
        self
    }

    /// How marks of congestion limit the rate of each stream besides [`link_bps`](Self::link_bps):
    /// departures keep to the lower of the two. Default: DCQCN.
    #[must_use]
    pub const fn control(mut self, control: Control) -> Self {
        self.control = control;
        self
    }

    /// How much later a packet may arrive than one that left after it before it counts as lost, 0 to
    /// 1 s; default 50 us. A larger value delays repairs, a smaller one repeats packets that were only
    /// reordered.
    #[must_use]
    pub const fn reorder_tolerance(mut self, span: Duration) -> Self {
        self.reorder_tolerance = span;
        self
    }

    /// The largest IP packet to send, headers included, 576 to 9,000; default 9,000 or the
    /// interface's MTU, whichever is less.
    #[must_use]
    pub const fn mtu(mut self, bytes: usize) -> Self {
        self.packet_bytes_max = bytes;
        self
    }

    /// Options of the UDP socket.
    #[must_use]
    pub fn udp(mut self, options: UdpOptions) -> Self {
        self.udp = options;
        self
    }

    /// How far ahead a stream that the device plays may start, and its index may jump, at the rate of
    /// the device's samples; default 60 s. What lies further ahead is refused, or ends the stream
    /// (`docs/protocol.md#6.10`). More lets senders plan further ahead; but a device with a clock
    /// belongs to the sender until the jump is over, and one without a clock plays as many zeros for
    /// what the sender lost.
    #[must_use]
    pub const fn play_jump_max(mut self, span: Duration) -> Self {
        self.play_jump_max = span;
        self
    }

    /// Terms that programs do not choose, for tests of each.
    #[doc(hidden)]
    #[must_use]
    pub const fn drawn(mut self, drawn: DrawnTerms) -> Self {
        self.drawn = drawn;
        self
    }

    /// CPU, priority, memory and waiting of the I/O thread; default: as the system sets them.
    #[must_use]
    pub fn real_time(mut self, options: RealTime) -> Self {
        self.real_time = options;
        self
    }

    /// How packets of sent streams may travel, default [`Carriage::Data`]. Over RDMA they do where their
    /// receivers ask for it; the device listens on one address of an interface, which has a station
    /// beside the kernel, and that needs CAP_NET_RAW ([`StationConfig::of_host`]).
    #[must_use]
    pub const fn carriage(mut self, carriage: Carriage) -> Self {
        self.carriage = carriage;
        self
    }

    /// Listens on `address`; port 0 lets the system choose, and [`Device::address`] states which.
    ///
    /// # Errors
    /// The port is in use, there is no stream or more than 1,024, an option is out of range or
    /// contradicts another, or the system refuses memory or a thread.
    pub fn listen(&self, address: impl ToAddress) -> Result<Device, OpenError> {
        let link = Xdp::bind(address.to_address()?, &self.udp)?;
        self.listen_over(Box::new(link))
    }

    /// Listens on each of these addresses, 1 to 8, with one I/O thread: for receivers behind several
    /// network cards. A stream can be opened at any of them, and goes by the one at which it was opened.
    /// [`Device::addresses`] states them. The largest packet is that of the interface with the least MTU.
    ///
    /// ```
    /// let info = samplewire::StreamInfo::sc16("adc0", 250e6)?;
    /// let device = samplewire::device().sends(info).listen_each(&["127.0.0.1:0", "127.0.0.2:0"])?;
    /// assert_eq!(device.addresses.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// See [`DeviceOptions::listen`]; also if there is no address or more than 8, or several and streams
    /// over RDMA.
    pub fn listen_each<A: ToAddress>(&self, addresses: &[A]) -> Result<Device, OpenError> {
        let locals = addresses.iter().map(ToAddress::to_address).collect::<Result<Vec<_>, _>>()?;
        self.listen_over(bind_each(&locals, &self.udp)?)
    }

    /// Like [`DeviceOptions::listen`], over a link of the caller's: with faults, a capture, in memory.
    ///
    /// # Errors
    /// See [`DeviceOptions::listen`].
    pub fn listen_over(&self, link: Box<dyn Link>) -> Result<Device, OpenError> {
        let station = match (self.carriage, &link.local_addrs()[..]) {
            (Carriage::Data, _) => None,
            (Carriage::Rdma, [local]) => Some(StationConfig::of_host(*local)?),
            (Carriage::Rdma, several) => {
                return Err(OpenError::Contradiction {
                    one: format!("{} addresses to listen on", several.len()),
                    other: "a carriage of RDMA".into(),
                    hint: "a station has one address".into(),
                });
            }
        };
        Device::start(link, station, self)
    }

    /// Like [`DeviceOptions::listen_over`], with a station: the streams that go out do so over RDMA
    /// where their receivers ask for it (`docs/protocol.md#13`).
    ///
    /// # Errors
    /// See [`DeviceOptions::listen`].
    pub fn listen_rdma(
        &self,
        link: Box<dyn Link>,
        station: StationConfig,
    ) -> Result<Device, OpenError> {
        Device::start(link, Some(station), self)
    }

    /// A device whose endpoint is stepped, and takes a packet in a turn. Times count from `epoch`;
    /// `seeds` replace the system's randomness.
    ///
    /// # Errors
    /// An option is out of range, or the system refuses memory.
    #[doc(hidden)]
    pub fn listen_stepped(
        &self,
        link: Box<dyn Link>,
        station: Option<StationConfig>,
        epoch: Instant,
        seeds: [[u8; 16]; 2],
    ) -> Result<(Device, Stepped), OpenError> {
        Device::stepped(link, station, self, epoch, seeds)
    }
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// One minute: senders plan bursts seconds ahead, up to the maximum lead of a sent stream. It is
/// also the longest time that a sender which is gone can hold a device.
pub(crate) const PLAY_JUMP_MAX: Duration = Duration::from_secs(60);

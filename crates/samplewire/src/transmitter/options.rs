//! What the user of a transmitter may choose.

use std::time::Duration;

use samplewire_io::UdpOptions;

use crate::port::RANGES_MAX;
use crate::real_time::RealTime;
use crate::receiver::WINDOW_DEFAULT;

/// Choices for the port of a device, whichever way its streams go
/// ([`Listener::listen`](super::Listener::listen),
/// [`Device::listen_over`](crate::device::Device::listen_over)), with the defaults of the command
/// line.
#[derive(Clone, Debug)]
pub struct TransmitterOptions {
    pub(crate) window: u32,
    pub(crate) payload_bytes: Option<u16>,
    pub(crate) link_bps: u64,
    pub(crate) reorder_tolerance_ns: u64,
    pub(crate) packet_bytes_max: usize,
    pub(crate) udp: UdpOptions,
    pub(crate) real_time: RealTime,
    pub(crate) play_jump_max: Duration,
    pub(crate) drawn: DrawnTerms,
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

impl TransmitterOptions {
    /// A window of 1,024 packets, the payload that the path was shown to carry, no pacing.
    pub fn new() -> Self {
        Self {
            window: WINDOW_DEFAULT,
            payload_bytes: None,
            link_bps: 0,
            reorder_tolerance_ns: 50_000,
            packet_bytes_max: 9_000,
            udp: UdpOptions::new(),
            real_time: RealTime::new(),
            play_jump_max: PLAY_JUMP_MAX,
            drawn: DrawnTerms::DEFAULT,
        }
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

    /// How much later a packet may arrive than one that left after it before it counts as lost, in
    /// ns, 0 to 1 s; default 50 us. More waits longer for repairs, less repeats what was only
    /// reordered.
    #[must_use]
    pub const fn reorder_tolerance_ns(mut self, ns: u64) -> Self {
        self.reorder_tolerance_ns = ns;
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
    pub const fn udp(mut self, options: UdpOptions) -> Self {
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

    /// What the I/O thread and the quanta may have of the machine; default nothing.
    #[must_use]
    pub fn real_time(mut self, options: RealTime) -> Self {
        self.real_time = options;
        self
    }
}

impl Default for TransmitterOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// A minute: senders plan bursts seconds ahead, as far as a stream out may be told to start; and the
/// longest that a sender which is gone can hold a device.
pub(crate) const PLAY_JUMP_MAX: Duration = Duration::from_secs(60);

//! The NIC as a device of smoltcp: tokens are buffers in packet memory, and nothing is copied here.

use samplewire_nic_driver::{Buffer, Bus, Server};
use smoltcp::phy::{self, ChecksumCapabilities, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

use super::checksum::{self, Verdict};

/// A server of the NIC.
#[derive(Debug)]
pub(super) struct Device<B: Bus> {
    server: Server<B>,
    /// A buffer ahead of its use: a frame is given to the stack only when an answer could be sent.
    spare: Option<Buffer<B>>,
    pub(super) counters: DeviceCounters,
}

/// What the device has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Frames given to the stack.
    pub received: u32,
    /// Frames sent.
    pub sent: u32,
    /// Received frames that were dropped: a wrong checksum or length.
    pub bad_checksum: u32,
    /// Received frames that were dropped: fragments.
    pub fragments: u32,
    /// Received frames that were dropped: no buffer was free for an answer.
    pub no_buffer: u32,
}

impl<B: Bus> Device<B> {
    pub(super) fn new(server: Server<B>) -> Self {
        Self { server, spare: None, counters: DeviceCounters::default() }
    }

    /// Whether there is a spare buffer.
    fn has_spare(&mut self) -> bool {
        if self.spare.is_none() {
            self.spare = self.server.allocate();
        }
        self.spare.is_some()
    }
}

impl<B: Bus> phy::Device for Device<B> {
    type RxToken<'a>
        = RxToken<B>
    where
        Self: 'a;
    type TxToken<'a>
        = TxToken<'a, B>
    where
        Self: 'a;

    /// The next good frame, of one that is popped: a loop over bad ones would have no bound.
    fn receive(&mut self, _: Instant) -> Option<(RxToken<B>, TxToken<'_, B>)> {
        if !self.has_spare() {
            // While received frames have all buffers none becomes free: that of the oldest is the spare.
            self.spare = self.server.receive();
            self.counters.no_buffer += u32::from(self.spare.is_some());
            return None;
        }
        let mut buffer = self.server.receive()?;
        match checksum::verify(&mut buffer) {
            Verdict::Good => {}
            Verdict::Bad => {
                self.counters.bad_checksum += 1;
                return None;
            }
            Verdict::Fragment => {
                self.counters.fragments += 1;
                return None;
            }
        }
        self.counters.received += 1;
        Some((RxToken(buffer), TxToken(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<TxToken<'_, B>> {
        self.has_spare().then_some(TxToken(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME_BYTES_MAX;
        // `checksum` verifies and fills them.
        capabilities.checksum = ChecksumCapabilities::ignored();
        capabilities
    }
}

/// A received frame.
pub(super) struct RxToken<B: Bus>(Buffer<B>);

impl<B: Bus> phy::RxToken for RxToken<B> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(mut self, f: F) -> R {
        self.0.frame(|frame| f(frame))
    }
}

/// The right to send a frame: the device has a spare buffer.
pub(super) struct TxToken<'a, B: Bus>(&'a mut Device<B>);

impl<B: Bus> phy::TxToken for TxToken<'_, B> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut buffer = self.0.spare.take().expect("a token is made when there is one");
        let result = buffer.fill(len, f);
        checksum::fill(&mut buffer);
        self.0.counters.sent += 1;
        self.0.server.transmit(buffer);
        result
    }
}

/// The longest Ethernet frame, without FCS.
const FRAME_BYTES_MAX: usize = 1514;

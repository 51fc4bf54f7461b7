//! A device and a receiver of it in one thread: the bench calls each when it has something to do.

use std::error::Error;
use std::time::Duration;

use samplewire::{
    Block, DeviceOptions, Listener, RealTime, ReceiveOptions, ReceiveStream, SendStream,
    StreamInfo, Waits,
};
use samplewire_io::{Link, Udp, UdpOptions, memory};
use samplewire_proto::wire::Flags;

use crate::link::{Coupled, Driven};
use crate::machine;

/// Both ends of a stream.
pub(crate) struct Stream {
    pub(crate) sender: SendStream,
    pub(crate) receiver: ReceiveStream,
    listener: Listener,
    device: Driven,
}

/// A device that is not open yet, and the link to it.
pub(crate) struct Closed {
    device: Driven,
    link: Box<dyn Link>,
    address: std::net::SocketAddr,
    mtu_bytes: usize,
}

impl Closed {
    /// Over a link in memory.
    pub(crate) fn in_memory(payload_bytes: u16) -> Result<Self, Box<dyn Error>> {
        let (far, near) = memory::pair(1_024, MTU_BYTES, MTU_BYTES)?;
        Self::over(Box::new(far), payload_bytes, |_| Ok(near))
    }

    /// Over sockets on loopback.
    pub(crate) fn over_udp(payload_bytes: u16) -> Result<Self, Box<dyn Error>> {
        let far = Udp::bind("127.0.0.1:0".parse()?, &UdpOptions::new())?;
        Self::over(Box::new(far), payload_bytes, |address| {
            Ok(Udp::client(address, &UdpOptions::new())?)
        })
    }

    fn over<L: Link + 'static>(
        far: Box<dyn Link>,
        payload_bytes: u16,
        near: impl FnOnce(std::net::SocketAddr) -> Result<L, Box<dyn Error>>,
    ) -> Result<Self, Box<dyn Error>> {
        let options = DeviceOptions::new()
            .sends(StreamInfo::sc16("", 1e9)?)
            .window(WINDOW)
            .payload_bytes(payload_bytes)
            .real_time(RealTime::new().waits(Waits::Inline));
        let mut device = options.listen_over(far)?;
        let driven = Driven::default();
        let link = Box::new(Coupled::new(near(device.address)?, &driven));
        driven.lend(device.listeners.remove(0));
        let mtu_bytes = if payload_bytes > 1_408 { MTU_BYTES } else { 1_500 };
        Ok(Self { device: driven, link, address: device.address, mtu_bytes })
    }

    /// Opens the stream; the device runs meanwhile.
    pub(crate) fn open(self) -> Result<Opened, Box<dyn Error>> {
        let options = ReceiveOptions::new()
            .window(WINDOW)
            .mtu(self.mtu_bytes)
            .real_time(RealTime::new().waits(Waits::Inline));
        let receiver = options.open_over(self.link, self.address)?;
        Ok(Opened { device: self.device, receiver })
    }
}

/// A stream that is open, while its device still runs when the receiver does.
pub(crate) struct Opened {
    device: Driven,
    receiver: ReceiveStream,
}

impl Opened {
    /// From now on each end runs when it is called.
    pub(crate) fn start(self) -> Result<Stream, Box<dyn Error>> {
        let Self { device, mut receiver } = self;
        let mut listener = device.take_back();
        for _ in 0..OPENING_TURNS {
            let is_silent = receiver.next_within(Duration::ZERO)?.is_none();
            assert!(is_silent, "nothing was sent");
            if let Some(sender) = listener.accept(Duration::ZERO)? {
                return Ok(Stream { sender, receiver, listener, device });
            }
            machine::advance(OPENING_NS);
        }
        Err("the device heard nothing of its receiver".into())
    }

    /// Closes it; the device runs meanwhile.
    pub(crate) fn close(self) {
        self.receiver.close();
    }
}

impl Stream {
    /// Hands over a quantum of so many bytes, or a full one, and has it sent. Where no quantum is free
    /// nothing is sent but what is due.
    pub(crate) fn send(&mut self, len_bytes: Option<usize>) -> Result<(), Box<dyn Error>> {
        if let Some(filling) = self.sender.quantum(Duration::ZERO)? {
            let session = self.sender.session();
            let full_bytes = session.quantum_packets as usize * session.payload_bytes;
            let len_bytes = len_bytes.unwrap_or(full_bytes);
            let index = self.sender.next_index();
            self.sender.submit(filling, len_bytes, index, Flags::NONE)?;
        }
        self.sender.turn();
        Ok(())
    }

    /// Closes it; the device runs meanwhile.
    pub(crate) fn close(self) {
        self.device.lend(self.listener);
        self.receiver.close();
    }

    /// Waits for a block.
    pub(crate) fn next(&mut self) -> Block {
        loop {
            if let Ok(Some(block)) = self.receiver.next_within(Duration::ZERO) {
                return block;
            }
        }
    }

    /// Takes all blocks that are there; how many samples they have.
    pub(crate) fn receive(&mut self) -> usize {
        let mut samples = 0;
        while let Ok(Some(block)) = self.receiver.next_within(Duration::ZERO) {
            assert!(block.gaps().is_empty(), "nothing is lost here: {:?}", block.gaps());
            samples += block.len();
        }
        samples
    }
}

/// The device shows a stream when it has heard of its receiver.
const OPENING_TURNS: usize = 1_000;
const OPENING_NS: u64 = 10_000;

/// Of both ends.
const WINDOW: u32 = 64;
const MTU_BYTES: usize = 9_000;

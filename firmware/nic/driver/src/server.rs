//! The queues of one server: a processor or a task of it.

use crate::buffer::Buffer;
use crate::bus::Bus;
use crate::regs::nic as regs;

/// One of the NIC's four servers.
#[derive(Clone, Copy, Debug)]
pub struct Server<B> {
    bus: B,
    receive: u32,
    transmit: u32,
}

impl<B: Bus> Server<B> {
    /// The server `number`.
    ///
    /// # Panics
    /// When `number` is above 3.
    pub fn new(bus: B, number: u32) -> Self {
        assert!(number < SERVERS_MAX, "the NIC has four servers");
        let step = number * (regs::RECEIVE_1 - regs::RECEIVE_0);
        Self { bus, receive: regs::RECEIVE_0 + step, transmit: regs::TRANSMIT_0 + step }
    }

    /// The oldest received frame.
    pub fn receive(&self) -> Option<Buffer<B>> {
        Buffer::popped(self.bus, self.bus.read(self.receive))
    }

    /// A free buffer, to send a frame of one's own.
    pub fn allocate(&self) -> Option<Buffer<B>> {
        Buffer::popped(self.bus, self.bus.read(regs::FREE))
    }

    /// Sends the frame. The NIC then frees the buffer.
    ///
    /// This cannot fail: the NIC has 64 buffers at most at a time, so no queue is ever full, the value
    /// is a buffer, and this program had it. It needs the queues in hardware.
    pub fn transmit(&self, buffer: Buffer<B>) {
        self.bus.write(self.transmit, buffer.into_address());
    }

    /// Sends a frame of `len` bytes that stays in its buffer: once it has left, [`Server::receive`]
    /// returns it ([`Buffer::is_returned`]). Frames of one server come back in the order in which they
    /// were given.
    ///
    /// As [`Server::transmit`] it cannot fail. A program that keeps buffers has to see to it that it
    /// gives the NIC no more than 64: those that [`Nic::start`](crate::Nic::start) gave it, less those
    /// kept, and these.
    pub fn send_and_return(&self, mut buffer: Buffer<B>, len: usize) {
        buffer.set_len_to_return(len);
        self.transmit(buffer);
    }
}

/// Servers of the NIC.
pub(crate) const SERVERS_MAX: u32 = 4;

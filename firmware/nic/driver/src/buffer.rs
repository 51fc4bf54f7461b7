//! A packet buffer that this program has.

use core::fmt;
use core::mem::ManuallyDrop;

use crate::bus::{Bus, Pointer, Unit};
use crate::regs::nic as regs;

/// A packet buffer: a control word and a frame. Dropping it frees it.
pub struct Buffer<B: Bus> {
    pointer: Pointer,
    bus: B,
}

impl<B: Bus> Buffer<B> {
    pub(crate) fn popped(bus: B, value: u32) -> Option<Self> {
        Some(Self { pointer: Pointer::popped(value)?, bus })
    }

    /// Its address, without freeing it: it goes to another owner.
    pub(crate) fn into_address(self) -> u32 {
        ManuallyDrop::new(self).pointer.address()
    }

    /// Its address in packet memory: no other buffer has the same.
    pub const fn address(&self) -> u32 {
        self.pointer.address()
    }

    /// Whether the frame is one that left by [`Server::send_and_return`](crate::Server::send_and_return),
    /// and not one that was received.
    pub fn is_returned(&mut self) -> bool {
        self.control(|control| control[FLAGS_HALF] & RETAIN != 0)
    }

    /// Bytes of the frame, as its control word states.
    pub fn len(&mut self) -> usize {
        self.control(|control| usize::from(control[LENGTH_HALF]))
    }

    /// Whether the frame has no bytes. Received frames have some.
    pub fn is_empty(&mut self) -> bool {
        self.len() == 0
    }

    /// The cycle count when the first beat of the received frame came.
    pub fn received_at(&mut self) -> u32 {
        self.bus.memory(&mut self.pointer, FRAME_OFFSET, |control: &mut [u32]| control[1])
    }

    /// Gives `f` the frame's bytes, from its destination address on.
    pub fn frame<R>(&mut self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        let len = self.len();
        self.bus.memory(&mut self.pointer, (FRAME_OFFSET + len).next_multiple_of(4), |bytes| {
            f(&mut bytes[FRAME_OFFSET..FRAME_OFFSET + len])
        })
    }

    /// Makes it a frame of `len` bytes, which `f` writes.
    ///
    /// The NIC sends frames of 14 bytes or more, and at most the buffer's size less 8.
    pub fn fill<R>(&mut self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
        self.set_len(len);
        self.frame(f)
    }

    /// States that the frame has `len` bytes, and that the NIC frees its buffer.
    ///
    /// # Panics
    /// When `len` is above 65,535.
    pub fn set_len(&mut self, len: usize) {
        self.set_control(len, 0);
    }

    /// States that the frame has `len` bytes, and that its buffer comes back.
    pub(crate) fn set_len_to_return(&mut self, len: usize) {
        self.set_control(len, RETAIN);
    }

    fn set_control(&mut self, len: usize, flags: u16) {
        let len = u16::try_from(len).expect("a length of 16 bits");
        self.control(|control| (control[FLAGS_HALF], control[LENGTH_HALF]) = (flags, len));
    }

    /// Gives `f` the first `bytes` bytes of the buffer in units of `T`. The frame is at byte
    /// [`FRAME_OFFSET`].
    ///
    /// Accesses to whole words take the same time as those to bytes. `bytes` is a multiple of 4 and at
    /// most the size of buffers.
    pub fn units<T: Unit, R>(&mut self, bytes: usize, f: impl FnOnce(&mut [T]) -> R) -> R {
        self.bus.memory(&mut self.pointer, bytes, f)
    }

    /// The low word of the control word is in two halves: a shift takes a processor up to 16 cycles.
    fn control<R>(&mut self, f: impl FnOnce(&mut [u16]) -> R) -> R {
        self.bus.memory(&mut self.pointer, 4, f)
    }
}

impl<B: Bus> fmt::Debug for Buffer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Buffer").field(&self.pointer).finish()
    }
}

impl<B: Bus> Drop for Buffer<B> {
    fn drop(&mut self) {
        push_free(self.bus, self.pointer.address());
    }
}

/// Pushes an address to the free queue, and returns the result. While another port has the queue's lock
/// it tries again: the lock ends after `lock_cycles` at most.
pub(crate) fn push_free<B: Bus>(bus: B, address: u32) -> u32 {
    loop {
        bus.write(regs::FREE, address);
        let result = bus.read(regs::PUSH_RESULT);
        if result != LOCKED {
            return result;
        }
    }
}

/// Where the frame is in its buffer, in bytes.
pub const FRAME_OFFSET: usize = 8;

/// Which halves of the control word have the frame's length, and its flags.
const LENGTH_HALF: usize = 1;
const FLAGS_HALF: usize = 0;
/// `retain`, of a frame to be sent. A received frame has 0 there.
const RETAIN: u16 = 1 << 15;

/// Result of a push to the free queue while another port has its lock.
const LOCKED: u32 = 3;

//! What the driver needs of the hardware: the NIC's and the sender's registers, and packet memory.

use core::num::NonZeroU32;

/// Registers and packet memory. On a processor of the SoC the runtime has it, on a host the model.
pub trait Bus: Copy {
    /// Reads a register of the NIC; `offset` in bytes. Of a queue register this is a pop.
    fn read(self, offset: u32) -> u32;

    /// Writes a register of the NIC. Of a queue register this is a push.
    fn write(self, offset: u32, value: u32);

    /// Reads a register of the sender; 0 in a build without one.
    fn read_sender(self, offset: u32) -> u32;

    /// Writes a register of the sender.
    fn write_sender(self, offset: u32, value: u32);

    /// Gives `f` the `bytes` bytes of packet memory from the buffer `at` on, in units of `T`.
    ///
    /// `bytes` is at most the size of the buffers, and a multiple of 4.
    fn memory<T: Unit, R>(self, at: &mut Pointer, bytes: usize, f: impl FnOnce(&mut [T]) -> R)
    -> R;
}

/// What packet memory is accessed in: bytes, and halves and words, the first byte in the lowest bits.
pub trait Unit: Copy + sealed::Sealed + 'static {
    /// From the first bytes of `bytes`.
    fn read(bytes: &[u8]) -> Self;
    /// To the first bytes of `bytes`.
    fn write(self, bytes: &mut [u8]);
}

/// The address of a buffer that the NIC has given away: proof that this program alone accesses it.
///
/// Only the driver makes one, from what a queue register returned, and it cannot be copied. Its bits are
/// inverted: the address 0 is a buffer's, and an `Option` of a buffer has the size of a buffer.
#[derive(Debug, PartialEq, Eq)]
pub struct Pointer(NonZeroU32);

impl Pointer {
    /// A pointer that a queue has returned; none if the value has the bits of a result: the queue is
    /// empty, locked, or its memory fails.
    pub(crate) const fn popped(value: u32) -> Option<Self> {
        if value & RESULT_MASK != 0 {
            return None;
        }
        match NonZeroU32::new(!value) {
            Some(inverted) => Some(Self(inverted)),
            None => None,
        }
    }

    /// The address in packet memory.
    pub const fn address(&self) -> u32 {
        !self.0.get()
    }
}

/// Buffers have 128 bytes or more, so the low bits of their addresses are 0.
const RESULT_MASK: u32 = 0x7;

macro_rules! units {
    ($($unit:ty),*) => {
        $(impl Unit for $unit {
            fn read(bytes: &[u8]) -> Self {
                let (first, _) = bytes.split_first_chunk().expect("a whole unit");
                Self::from_le_bytes(*first)
            }
            fn write(self, bytes: &mut [u8]) {
                bytes[..size_of::<Self>()].copy_from_slice(&self.to_le_bytes());
            }
        }
        impl sealed::Sealed for $unit {})*
    };
}
units!(u8, u16, u32);

mod sealed {
    pub trait Sealed {}
}

//! The addresses of the hardware, and all that is `unsafe` in the firmware.
//!
//! A processor of the SoC sees its registers and packet memory at fixed addresses, as whole words or,
//! in memory, as bytes and halves too. No other code of the firmware forms an address.

use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use core::slice;
use core::sync::atomic::{Ordering, compiler_fence};

use samplewire_nic_driver::{Bus, Pointer, Unit};

/// The NIC and the sender as a processor of the SoC sees them.
#[derive(Clone, Copy, Debug)]
pub struct Mmio;

impl Bus for Mmio {
    #[inline(always)]
    fn read(self, offset: u32) -> u32 {
        let value = read(NIC + offset as usize);
        // A popped buffer is read behind the pop.
        compiler_fence(Ordering::SeqCst);
        value
    }

    #[inline(always)]
    fn write(self, offset: u32, value: u32) {
        // A buffer is written ahead of its push.
        compiler_fence(Ordering::SeqCst);
        write(NIC + offset as usize, value);
    }

    fn read_sender(self, offset: u32) -> u32 {
        read(SENDER + offset as usize)
    }

    fn write_sender(self, offset: u32, value: u32) {
        write(SENDER + offset as usize, value);
    }

    #[inline(always)]
    fn memory<T: Unit, R>(
        self,
        at: &mut Pointer,
        bytes: usize,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> R {
        let first = with_exposed_provenance_mut(MEMORY + at.address() as usize);
        // SAFETY: the address is that of a buffer, which has `bytes` bytes (contract of
        // `Bus::memory`) of packet memory and is aligned to 128. `T` is an integer of 1, 2 or 4 bytes
        // (`Unit` is sealed), of which every value is valid. The NIC popped the buffer for the driver,
        // so it does not access it, and `at` is the only `Pointer` to it and is borrowed.
        f(unsafe { slice::from_raw_parts_mut(first, bytes / size_of::<T>()) })
    }
}

/// Reads a register of the SoC.
pub(crate) fn read_soc(word: usize) -> u32 {
    read(SOC + 4 * word)
}

/// Writes a register of the SoC.
#[inline(always)]
pub(crate) fn write_soc(word: usize, value: u32) {
    write(SOC + 4 * word, value);
}

/// Writes the lowest byte of a register of the SoC alone.
#[inline(always)]
pub(crate) fn write_soc_byte(word: usize, value: u8) {
    write(SOC + 4 * word, value);
}

/// Whether the stack has not grown over the word that the start code marked.
pub(crate) fn stack_is_intact() -> bool {
    unsafe extern "C" {
        static _stack_limit: u32;
    }
    // SAFETY: the linker script defines the symbol at an aligned word of program memory, which the
    // start code has written and nothing else uses.
    unsafe { (&raw const _stack_limit).read_volatile() == STACK_MARK }
}

#[inline(always)]
fn read(address: usize) -> u32 {
    // SAFETY: the address is that of a register, at a multiple of 4 (callers in this file). Registers
    // are no memory of the program, so a read of one breaks no reference.
    unsafe { with_exposed_provenance::<u32>(address).read_volatile() }
}

#[inline(always)]
fn write<T: Unit>(address: usize, value: T) {
    // SAFETY: as for `read`; `T` is an integer of at most 4 bytes (`Unit` is sealed).
    unsafe { with_exposed_provenance_mut::<T>(address).write_volatile(value) }
}

const NIC: usize = 0x1000_0000;
const MEMORY: usize = 0x2000_0000;
const SENDER: usize = 0x3000_0000;
const SOC: usize = 0xF000_0000;

/// As `start.s` writes it.
const STACK_MARK: u32 = 0x57AC_C0DE;

//! Links `samplewire-proto` into a program that has neither `std` nor an allocator.
//!
//! `std` brings a panic handler, so a second one does not compile beside it; `alloc` does not link
//! without a global allocator. That this file compiles shows, on any host, that nothing below
//! `samplewire-proto` brings either.

#![no_std]

use samplewire_proto as _;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

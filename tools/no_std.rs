//! Links `samplewire-proto` and `samplewire-roce` into a program that has neither `std` nor an
//! allocator.
//!
//! `std` brings a panic handler, so a second one does not compile beside it; `alloc` does not link
//! without a global allocator. That this file compiles shows, on any host, that nothing below the
//! two brings either.

#![no_std]

use samplewire_proto as _;
use samplewire_roce as _;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

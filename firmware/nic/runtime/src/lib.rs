//! What an image needs beside its application: start code, the hardware, and the panic handler.
//!
//! The memory map is that of `docs/firmware.md`. All `unsafe` code of the firmware is in `mmio.rs`,
//! but for the attribute that [`entry!`] gives the main function its name with.

#![no_std]

mod clock;
mod mmio;
mod panic;
pub mod soc;
mod start;

pub use clock::Clock;
pub use mmio::Mmio;

/// Makes a function `fn() -> !` the program of the image.
#[macro_export]
macro_rules! entry {
    ($main:path) => {
        // SAFETY: the start code alone uses this name, and calls it once as `extern "C" fn() -> !`.
        #[unsafe(export_name = "firmware_main")]
        extern "C" fn firmware_main() -> ! {
            let main: fn() -> ! = $main;
            main()
        }
    };
}

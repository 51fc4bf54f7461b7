//! A panic and a trap: where it happened goes to the console, and the program ends.

use core::panic::PanicInfo;

use crate::soc::{exit, print, print_hex};

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    // Only where: with a use of the message, all messages of an image and what formats them stay in it,
    // 8 KB of `stack`.
    if let Some(location) = info.location() {
        print("panic: ");
        print(location.file());
        print(":0x");
        print_hex(location.line());
    }
    print("\n");
    exit(EXIT_PANIC)
}

// SAFETY: the start code alone uses this name.
#[unsafe(export_name = "firmware_trap")]
extern "C" fn trap(cause: u32, at: u32) -> ! {
    print("trap: cause 0x");
    print_hex(cause);
    print(" at 0x");
    print_hex(at);
    print("\n");
    exit(EXIT_TRAP)
}

const EXIT_PANIC: u32 = 101;
const EXIT_TRAP: u32 = 102;

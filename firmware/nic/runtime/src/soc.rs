//! The registers of the SoC itself: which processor this is, time and the console.

use crate::mmio;

/// The number of this processor, from 0.
pub fn core() -> u32 {
    mmio::read_soc(CORE) & 0xFF
}

/// Processors of the SoC.
pub fn cores() -> u32 {
    mmio::read_soc(CORE) >> 8 & 0xFF
}

/// The low word of the cycle count.
#[inline]
pub fn cycles() -> u32 {
    mmio::read_soc(CYCLES)
}

/// Nanoseconds since the start, by the time base of the board.
pub fn time_ns() -> u64 {
    // Reading the low word keeps the high one.
    let low = mmio::read_soc(TIME);
    u64::from(mmio::read_soc(TIME + 1)) << 32 | u64::from(low)
}

/// Sleeps until a frame is in the receive queue of this processor's server.
#[inline]
pub fn sleep() {
    mmio::write_soc(SLEEP, 1);
}

/// Sleeps as [`sleep`] does, until `time_ns` at the latest. That is within 2^31 ns.
pub fn sleep_until(time_ns: u64) {
    mmio::write_soc(WAKE, time_ns as u32);
    mmio::write_soc(WAKE_ON, 1);
    mmio::write_soc(SLEEP, 1);
}

/// Stops this processor, whose server gets no frames.
pub fn stop() -> ! {
    loop {
        mmio::write_soc(SLEEP, 1);
        // It stops at the first access behind the write.
        cycles();
    }
}

/// Sets the register of the CRC-32C, which is reflected and not inverted.
#[inline]
pub fn set_crc(register: u32) {
    mmio::write_soc(CRC, register);
}

/// The register of the CRC-32C.
#[inline]
pub fn crc() -> u32 {
    mmio::read_soc(CRC)
}

/// Adds the four bytes of a word to the CRC-32C, the lowest first.
#[inline(always)]
pub fn add_word_to_crc(word: u32) {
    mmio::write_soc(CRC_ADD, word);
}

/// Adds a byte to the CRC-32C.
#[inline(always)]
pub fn add_byte_to_crc(byte: u8) {
    mmio::write_soc_byte(CRC_ADD, byte);
}

/// Writes to the console.
#[inline(never)]
pub fn print(text: &str) {
    for byte in text.bytes() {
        mmio::write_soc(CONSOLE, u32::from(byte));
    }
}

/// Writes a number to the console, as 8 hexadecimal digits.
#[inline(never)]
pub fn print_hex(value: u32) {
    for byte in value.to_be_bytes() {
        for digit in [byte >> 4, byte & 15] {
            let first = if digit < 10 { b'0' } else { b'a' - 10 };
            mmio::write_soc(CONSOLE, u32::from(first + digit));
        }
    }
}

/// Ends a simulation with `code`. A board stops.
pub fn exit(code: u32) -> ! {
    mmio::write_soc(EXIT, code);
    #[expect(clippy::empty_loop, reason = "nothing wakes a processor that has ended")]
    loop {}
}

/// Panics if the stack has grown into the data of the program at any time.
pub fn check_stack() {
    assert!(mmio::stack_is_intact(), "stack overflow");
}

const CORE: usize = 0;
const CYCLES: usize = 1;
const SLEEP: usize = 3;
const WAKE: usize = 4;
const WAKE_ON: usize = 5;
const CONSOLE: usize = 6;
const EXIT: usize = 7;
const TIME: usize = 10;
const CRC: usize = 12;
const CRC_ADD: usize = 13;

//! Builds packets of every type, damages them, and parses both.

#![no_main]

#[path = "../checks/decode.rs"]
mod decode;
#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/packets.rs"]
mod packets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| packets::check(bytes));

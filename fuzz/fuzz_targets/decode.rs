//! Feeds any bytes to the packet parser.

#![no_main]

#[path = "../checks/decode.rs"]
mod decode;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| decode::check(bytes));

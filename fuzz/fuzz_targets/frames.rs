//! Reads any bytes as an Ethernet frame.

#![no_main]

#[path = "../checks/frames.rs"]
mod frames;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| frames::check(bytes));

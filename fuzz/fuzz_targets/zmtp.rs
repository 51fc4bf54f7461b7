//! Feeds any bytes to the state machines that read the input of a ZeroMQ peer.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/zmtp.rs"]
mod zmtp;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| zmtp::check(bytes));

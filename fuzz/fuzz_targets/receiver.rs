//! Runs a receiver through arbitrary operations.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/receiver.rs"]
mod receiver;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| receiver::check(bytes));

//! Drives a sender of the block transfer through any operations.

#![no_main]

#[path = "../checks/block_sender.rs"]
mod block_sender;
#[path = "../checks/input.rs"]
mod input;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| block_sender::check(bytes));

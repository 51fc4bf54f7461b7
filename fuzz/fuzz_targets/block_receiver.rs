//! Drives a receiver of the block transfer through any operations.

#![no_main]

#[path = "../checks/block_receiver.rs"]
mod block_receiver;
#[path = "../checks/input.rs"]
mod input;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| block_receiver::check(bytes));

//! Parses frames of the block transfer of any bytes.

#![no_main]

#[path = "../checks/block_wire.rs"]
mod block_wire;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| block_wire::check(bytes));

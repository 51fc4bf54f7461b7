//! Reads frames of any bytes, and frames of any fields.

#![no_main]

#[path = "../checks/roce_wire.rs"]
mod roce_wire;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| roce_wire::check(bytes));

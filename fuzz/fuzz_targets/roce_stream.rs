//! Writes into the slots of a stream's receiver, by frames of any kind in any order.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/roce_stream.rs"]
mod roce_stream;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| roce_stream::check(bytes));

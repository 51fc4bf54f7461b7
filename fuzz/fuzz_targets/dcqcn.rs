//! Notifies, sends and waits in any order.

#![no_main]

#[path = "../checks/dcqcn.rs"]
mod dcqcn;
#[path = "../checks/input.rs"]
mod input;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dcqcn::check(bytes));

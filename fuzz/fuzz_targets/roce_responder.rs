//! Sends requests of any kind in any order.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/roce_responder.rs"]
mod roce_responder;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| roce_responder::check(bytes));

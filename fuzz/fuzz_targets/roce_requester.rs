//! Posts, acknowledges and waits in any order.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/roce_requester.rs"]
mod roce_requester;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| roce_requester::check(bytes));

//! Runs openers and a listener through arbitrary operations.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/session.rs"]
mod session;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| session::check(bytes));

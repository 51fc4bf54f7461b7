//! Passes frames of any bytes through the switch.

#![no_main]

#[path = "../checks/ether_switch.rs"]
mod ether_switch;
#[path = "../checks/input.rs"]
mod input;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ether_switch::check(bytes));

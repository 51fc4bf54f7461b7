//! Reads any bytes as replies over netlink.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/netlink.rs"]
mod netlink;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netlink::check(bytes));

//! Reads any bytes as types of the kernel.

#![no_main]

#[path = "../checks/btf.rs"]
mod btf;
#[path = "../checks/input.rs"]
mod input;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| btf::check(bytes));

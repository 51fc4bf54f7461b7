//! Feeds any bytes to the parser of TLVs.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/tlvs.rs"]
mod tlvs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tlvs::check(bytes));

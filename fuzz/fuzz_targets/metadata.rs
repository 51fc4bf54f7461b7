//! Feeds any text to the reader of SigMF metadata.

#![no_main]

#[path = "../checks/metadata.rs"]
mod metadata;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| metadata::check(bytes));

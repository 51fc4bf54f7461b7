//! Feeds any text and any bytes to what reads messages and frames of the web page.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/web.rs"]
mod web;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| web::check(bytes));

//! Feeds any text to the readers of the lines that both ends of a RoCEv2 connection exchange.

#![no_main]

#[path = "../checks/connection_line.rs"]
mod connection_line;
#[path = "../checks/input.rs"]
mod input;
#[path = "../../crates/samplewire-cli/src/roce/line.rs"]
mod line;
#[path = "../../crates/samplewire-cli/src/plain.rs"]
mod plain;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| connection_line::check(bytes));

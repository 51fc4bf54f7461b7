//! Moves a queue pair between its states, and hands it requests, frames and times in any order.

#![no_main]

#[path = "../checks/input.rs"]
mod input;
#[path = "../checks/roce_queue_pair.rs"]
mod roce_queue_pair;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| roce_queue_pair::check(bytes));

//! Builds graphs of blocks, and runs them in any order of their groups.

#![no_main]

#[path = "../checks/graph.rs"]
mod graph;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| graph::check(bytes));

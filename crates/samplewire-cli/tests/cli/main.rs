//! The command as users meet it: the real binary, over UDP on the loopback interface.

mod bad_input;
mod captures;
mod channels;
mod decoding;
mod demonstration;
mod dissector;
mod exit_status;
mod finding;
mod harness;
mod interruption;
mod json;
mod kills;
mod measuring;
mod metrics;
mod mutations;
mod playing;
mod real_time;
mod recording;
mod restarts;
mod settings;
mod simulation;
mod study;
mod verification;

//! The command as users meet it: the real binary, over UDP on the loopback interface.

mod bad_input;
mod demonstration;
mod exit_status;
mod harness;
mod interruption;
mod json;
mod recording;
mod simulation;

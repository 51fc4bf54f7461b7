//! The option of verbs that can run in slow motion.

use clap::Args;

use super::values;

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct SlowOption {
    /// Slow motion: run the clock of the protocol this many times slower than the host's, 1 to 1000.
    /// At 50, a path of 10 Gb/s needs 200 Mb/s of the host. Rates of the stream and time-outs of
    /// the protocol, the opening's included, are in slow time. emulate, record, rate, switch and roce
    /// have this option; use the same N for all
    #[arg(long = "slow", id = "slow", value_name = "N", default_value_t = 1,
        value_parser = values::between::<u32>(1, 1_000))]
    pub(crate) factor: u32,
}

//! Options of `demo`.

use std::time::Duration;

use clap::Args;
use samplewire::Delivery;

use super::MetricsOption;
use super::values;

/// Demonstrates the protocol.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DemoArguments {
    /// How long to stream
    #[arg(long, visible_alias = "seconds", value_name = "TIME", default_value = "5s",
        value_parser = values::time)]
    pub(crate) duration: Duration,

    /// Samples per second of the generated scene, 4 bytes each
    #[arg(long, value_name = "RATE", default_value = "10M", value_parser = values::rate)]
    pub(crate) rate: f64,

    /// Seed of the faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// complete, deadline:TIME or best-effort; every mode but complete shows gaps
    #[arg(long, value_name = "DELIVERY", default_value = "complete", value_parser = values::delivery)]
    pub(crate) delivery: Delivery,

    #[command(flatten)]
    pub(crate) metrics: MetricsOption,
}

const AFTER_HELP: &str = "\
On the way, 1 % of the packets are lost, 1 % reordered, 0.1 % corrupted and 0.1 % duplicated, in \
each direction. Every received sample is compared with the sent one, and every index is accounted \
for.

Example:
  samplewire demo --duration 10s --delivery deadline:5ms

Exit status: 0 every index is accounted for, 3 otherwise.";

//! Options of `probe`.

use std::time::Duration;

use clap::Args;

use super::values;

/// Queries a device.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ProbeArguments {
    /// The device: HOST, HOST:PORT or [IPV6]:PORT; the port is 9100 unless given
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,

    /// How long to wait for an answer
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = values::time)]
    pub(crate) timeout: Duration,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const AFTER_HELP: &str = "\
A stream that another host receives is not disturbed.

Example:
  samplewire probe 10.0.0.2

Exit status: 0 the device answers, 1 usage, 2 unreachable or refused.";

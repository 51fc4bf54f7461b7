//! Options of `probe`.

use std::time::Duration;

use clap::Args;
use samplewire::Carriage;

use super::carriage::carriage_parser;
use super::{InterfaceOption, values};

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

    /// How packets are to travel: data, or rdma: shows whether the device offers RDMA, and the stream
    /// that would result. It needs no privilege
    #[arg(long, value_name = "HOW", default_value = "data", value_parser = carriage_parser())]
    pub(crate) carriage: Carriage,

    #[command(flatten)]
    pub(crate) interface: InterfaceOption,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const AFTER_HELP: &str = "\
A stream that another host receives is not disturbed.

Examples:
  samplewire probe 10.0.0.2
  samplewire probe 10.0.0.2 --carriage rdma

Exit status: 0 the device answers, 1 usage, 2 unreachable or refused.";

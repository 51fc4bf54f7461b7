//! Options of `latency`.

use std::time::Duration;

use clap::Args;

use super::values;
use super::{ControlOptions, LinkOption, MetricsOption, RealTimeOptions};

/// Measures how much lead a timed transmission needs.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct LatencyArguments {
    /// The device: HOST, HOST:PORT or [IPV6]:PORT; the port is 9100 unless given
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,

    /// Leads to try, e.g. 1ms,5ms
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "200us,500us,1ms,2ms,5ms,10ms,20ms",
        value_parser = values::time
    )]
    pub(crate) leads: Vec<Duration>,

    /// Bursts for each lead
    #[arg(long, value_name = "N", default_value = "100", value_parser = values::count)]
    pub(crate) bursts: u64,

    /// Samples in a burst; all must fit in one packet
    #[arg(long, value_name = "N", default_value = "100", value_parser = values::count)]
    pub(crate) nsamps: u64,

    /// Round trips to measure before the bursts; 0 for none
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) rounds: u32,

    /// Give up if the device does not answer the opening within this time
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = values::time)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) control: ControlOptions,

    #[command(flatten)]
    pub(crate) metrics: MetricsOption,

    #[command(flatten)]
    pub(crate) link: LinkOption,

    #[command(flatten)]
    pub(crate) real_time: RealTimeOptions,

    /// Print one JSON object at the end
    #[arg(long)]
    pub(crate) json: bool,
}

const AFTER_HELP: &str = "\
The command receives samples, and sends a burst whose first index is one lead after the newest of \
them. The device reports how many samples came too late. A lead without late bursts thus covers \
the round trip and both hosts. The device must send and play at the same time, by one clock.

Examples:
  samplewire emulate --source counter --play null --rate 1M     in one terminal
  samplewire latency 127.0.0.1                                  in another
  samplewire latency 10.0.0.2 --leads 300us,400us,500us --bursts 1000

Exit status: 0 measured, 1 usage, 2 unreachable, refused or broken off, 130 Ctrl-C, 128 + N any \
other signal N";

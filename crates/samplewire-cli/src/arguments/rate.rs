//! Options of `rate`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use samplewire::Delivery;
use samplewire::options::WINDOW_DEFAULT;

use super::values::{self, Threshold};
use super::{MetricsOption, RealTimeOptions};

/// A measurement of a device's streams.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RateArguments {
    /// The device: HOST, HOST:PORT or [IPV6]:PORT; the port is 9100 unless given
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,

    /// Which way samples go: from the device, to the device, or both ways at once
    #[arg(long, value_name = "WAY", default_value = "receive")]
    pub(crate) way: Way,

    /// Receive these streams of the device in line, e.g. 0,1: they begin at one index, and what one
    /// lacks counts as missing for all [default: the first stream that sends]
    #[arg(long, value_name = "STREAMS", value_delimiter = ',', value_parser = values::stream)]
    pub(crate) channels: Vec<u16>,

    /// How long to send and receive; what waits at a device that plays is played after that
    #[arg(long, visible_alias = "seconds", value_name = "TIME", default_value = "10s",
        value_parser = values::time)]
    pub(crate) duration: Duration,

    /// complete, deadline:5ms or best-effort, both ways
    #[arg(long, value_name = "DELIVERY", default_value = "complete", value_parser = values::delivery)]
    pub(crate) delivery: Delivery,

    /// How long after the opening the device is to play the first sample
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = values::time)]
    pub(crate) lead: Duration,

    /// Give up when the device does not answer the opening for this long
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = values::time)]
    pub(crate) timeout: Duration,

    /// Packets of each stream on their way, 1 to 16777216; memory is window times payload,
    /// and some MB more
    #[arg(long, value_name = "PACKETS", default_value_t = WINDOW_DEFAULT,
        value_parser = values::between::<u32>(1, 1 << 24))]
    pub(crate) window: u32,

    /// Largest IP packet, 576 to 9000 [default: 9000, or the first hop's MTU if less]
    #[arg(long, value_name = "BYTES", value_parser = values::between::<usize>(576, 9_000))]
    pub(crate) mtu: Option<usize>,

    /// Fail with status 4 above these counts, e.g. gap=0,late=0,underflow=0: gap and underflow
    /// (samples), late and repaired (packets, both ways together), corrupted, duplicate, stall
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::threshold_of_both)]
    pub(crate) fail_on: Vec<Threshold>,

    #[command(flatten)]
    pub(crate) metrics: MetricsOption,

    #[command(flatten)]
    pub(crate) real_time: RealTimeOptions,

    /// Print one JSON object at the end: start, intervals, end
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which way samples go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// From the device.
    Receive,
    /// To the device.
    Transmit,
    /// Both ways at once.
    Both,
}

const AFTER_HELP: &str = "\
Samples are counted and forgotten; what is sent are zeros. The rate is that of the device: one that \
is started with --rate max shows what the path carries.

Examples:
  samplewire rate 127.0.0.1
  samplewire rate 10.0.0.2 --channels 0,1,2,3 --fail-on gap=0
  samplewire rate 10.0.0.2 --way both --duration 1min --fail-on gap=0,late=0,underflow=0

Exit status: 0 measured, 1 usage, 2 unreachable, refused or broken off, 3 samples are missing or \
were not there in time and --fail-on says nothing of it, or the device was silent at the end, 4 a threshold (--fail-on), 130 Ctrl-C, \
128 + N any other signal N";

//! Options of `rate`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use samplewire::Delivery;
use samplewire::options::WINDOW_DEFAULT;
use samplewire_record::chain::ChainSpec;

use super::values::{self, Threshold};
use super::{
    ControlOptions, LinkOption, MetricsOption, RealTimeOptions, ReceiveCarriageOption, SlowOption,
    WebOption,
};

/// Measures the rate of a device's streams.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RateArguments {
    /// The device: HOST, HOST:PORT or [IPV6]:PORT; the port is 9100 unless given
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,

    /// Direction of the samples: from the device, to the device, or both at once
    #[arg(long, value_name = "WAY", default_value = "receive")]
    pub(crate) way: Way,

    /// Receive these streams of the device aligned, e.g. 0,1: they begin at one index, and a sample
    /// that one stream misses counts as missing for all [default: the first stream that sends]
    #[arg(long, value_name = "STREAMS", value_delimiter = ',', value_parser = values::stream)]
    pub(crate) channels: Vec<u16>,

    /// Process the received samples as record --chain does, and discard them: shows whether this
    /// host keeps up
    #[arg(long, value_name = "STEP,..", conflicts_with = "channels")]
    pub(crate) chain: Option<ChainSpec>,

    /// How long to send and receive; a device that plays then still plays its queue
    #[arg(long, visible_alias = "seconds", value_name = "TIME", default_value = "10s",
        value_parser = values::time)]
    pub(crate) duration: Duration,

    /// complete, deadline:5ms or best-effort, for both directions
    #[arg(long, value_name = "DELIVERY", default_value = "complete", value_parser = values::delivery)]
    pub(crate) delivery: Delivery,

    /// Time between the opening and the first sample that the device plays
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = values::time)]
    pub(crate) lead: Duration,

    /// Give up if the device does not answer the opening within this time
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = values::time)]
    pub(crate) timeout: Duration,

    /// Window of each stream in packets, 1 to 2^24; a stream takes window times payload bytes,
    /// and a few MB more
    #[arg(long, value_name = "PACKETS", default_value_t = WINDOW_DEFAULT,
        value_parser = values::between::<u32>(1, 1 << 24))]
    pub(crate) window: u32,

    /// Largest IP packet, 576 to 9000 [default: 9000, or the first hop's MTU if less]
    #[arg(long, value_name = "BYTES", value_parser = values::between::<usize>(576, 9_000))]
    pub(crate) mtu: Option<usize>,

    /// Exit with status 4 if a count exceeds its limit, e.g. gap=0,late=0,underflow=0. Counts: gap
    /// and underflow (samples), late and repaired (packets, both directions together), corrupted,
    /// duplicate, stall
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::threshold_of_both)]
    pub(crate) fail_on: Vec<Threshold>,

    #[command(flatten)]
    pub(crate) control: ControlOptions,

    #[command(flatten)]
    pub(crate) metrics: MetricsOption,

    #[command(flatten)]
    pub(crate) web: WebOption,

    #[command(flatten)]
    pub(crate) carriage: ReceiveCarriageOption,

    #[command(flatten)]
    pub(crate) slow: SlowOption,

    #[command(flatten)]
    pub(crate) link: LinkOption,

    #[command(flatten)]
    pub(crate) real_time: RealTimeOptions,

    /// Print one JSON object at the end: start, intervals, end
    #[arg(long)]
    pub(crate) json: bool,
}

/// Direction of the samples.
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
Received samples are counted and discarded; sent samples are zeros. The device sets the rate: a \
device that is started with --rate max shows what the path carries.

Examples:
  samplewire rate 127.0.0.1
  samplewire rate 10.0.0.2 --channels 0,1,2,3 --fail-on gap=0
  samplewire rate 10.0.0.2 --way both --duration 1min --fail-on gap=0,late=0,underflow=0

Exit status: 0 measured, 1 usage, 2 unreachable, refused or broken off, 3 samples are missing or \
late and --fail-on does not count them, or the device was silent at the end, 4 a threshold \
(--fail-on), 130 Ctrl-C, 128 + N any other signal N";

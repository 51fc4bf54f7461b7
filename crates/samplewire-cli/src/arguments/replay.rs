//! Options of `replay`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use samplewire::format::Format;
use samplewire::options::WINDOW_DEFAULT;
use samplewire::{Delivery, Underflow};
use samplewire_record::source::Repeat;

use super::values::{self, At, Threshold};
use super::{ControlOptions, LinkOption, MetricsOption, RealTimeOptions, WebOption};
use crate::faults::FaultOption;

/// Sends a recording to a device.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ReplayArguments {
    /// NAME, NAME.sigmf-meta or NAME.sigmf-data of a SigMF recording, or raw samples
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The device: HOST, HOST:PORT or [IPV6]:PORT; the port is 9100 unless given
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,

    /// Sample format of raw data: sc8, sc16, fc32, r8, r16, rf32 or uc8; samples are converted if
    /// the device plays another format
    #[arg(long, visible_alias = "type", value_name = "FORMAT", value_parser = values::sample_format)]
    pub(crate) format: Option<Format>,

    /// Interleaved channels of raw data [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) channels: Option<u16>,

    /// Check a recording against the SHA-512 in its metadata before sending it
    #[arg(long)]
    pub(crate) verify: bool,

    /// How often to send it: N or forever
    #[arg(long = "loop", value_name = "N", default_value = "1")]
    pub(crate) repeat: Repeat,

    /// When it starts: at an INDEX of the device, or +TIME after the opening. Until then samples
    /// queue at the device, so the lead covers the round trip and pauses of this host
    #[arg(long, value_name = "INDEX|+TIME", default_value = "+100ms", value_parser = values::at)]
    pub(crate) at: At,

    /// Send it in bursts of N samples [default: as one burst]
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub(crate) burst: Option<u64>,

    /// Length of the pause between bursts
    #[arg(long, value_name = "TIME", requires = "burst", value_parser = values::time)]
    pub(crate) pause: Option<Duration>,

    /// What the device does when samples are missing at their time: zeros plays zeros and continues
    /// at the right time, stop ends the stream
    #[arg(long, value_name = "POLICY", default_value = "zeros", value_parser = values::underflow)]
    pub(crate) underflow: Underflow,

    /// complete: every packet is repaired; deadline:5ms: a packet is given up after that time;
    /// best-effort: repair nothing. Zeros are played for packets that are given up
    #[arg(long, value_name = "DELIVERY", default_value = "complete", value_parser = values::delivery)]
    pub(crate) delivery: Delivery,

    /// Give up if the device does not answer the opening within this time
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = values::time)]
    pub(crate) timeout: Duration,

    /// Window in packets, 1 to 2^24: packets kept for repair. It takes window times payload
    /// bytes, and a few MB more
    #[arg(long, value_name = "PACKETS", default_value_t = WINDOW_DEFAULT,
        value_parser = values::between::<u32>(1, 1 << 24))]
    pub(crate) window: u32,

    /// Largest IP packet to send, 576 to 9000 [default: 9000, or the first hop's MTU if less;
    /// smaller ones are tried if it does not get through]
    #[arg(long, value_name = "BYTES", value_parser = values::between::<usize>(576, 9_000))]
    pub(crate) mtu: Option<usize>,

    /// Pace packets to this many bits per second of wire time, 10k to 10T [default: not paced]
    #[arg(long, value_name = "BPS", value_parser = values::link_rate)]
    pub(crate) link_rate: Option<f64>,

    #[command(flatten)]
    pub(crate) control: ControlOptions,

    /// A number from 1 that identifies this sender. A sender with the same owner takes the stream
    /// over at once; another owner is refused while it is open [default: random]
    #[arg(long, value_name = "N", value_parser = values::between::<u64>(1, u64::MAX))]
    pub(crate) owner: Option<u64>,

    /// Exit with status 4 if a count exceeds its limit, e.g. late=0,underflow=0. Counts: late
    /// (packets), underflow (samples), repaired (packets), stall
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::threshold_of_sent)]
    pub(crate) fail_on: Vec<Threshold>,

    /// Show progress even if standard error is not a terminal
    #[arg(long)]
    pub(crate) progress: bool,

    /// Print one JSON object at the end: start, intervals, end
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) metrics: MetricsOption,

    #[command(flatten)]
    pub(crate) web: WebOption,

    #[command(flatten)]
    pub(crate) link: LinkOption,

    #[command(flatten)]
    pub(crate) real_time: RealTimeOptions,

    /// Inject faults: data:.. for sent packets, feedback:.. for received ones. For keys see emulate
    #[arg(long = "fault", value_name = "SIDE:KEY=V,..", value_parser = FaultOption::parse)]
    pub(crate) faults: Vec<FaultOption>,
}

const AFTER_HELP: &str = "\
The stream stays open until the device has played all of it. Then the device reports how many \
samples were missing at their time. It knows which ones, and why: `emulate --play` prints them.

Examples:
  samplewire replay in.sigmf-meta 127.0.0.1
  samplewire replay in.sc16 10.0.0.2 --format sc16 --loop 10 --at +0.5s
  samplewire replay in.sigmf-meta 10.0.0.2 --burst 10k --pause 5ms --underflow stop

Exit status: 0 whole, 1 usage (an option, an address or a file), 2 unreachable, refused or broken \
off, 3 samples were missing at their time, or not all were sent, 4 a threshold (--fail-on), \
130 Ctrl-C, 128 + N any other signal N";

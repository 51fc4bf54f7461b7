//! Options of `replay`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use samplewire::format::Format;
use samplewire::options::WINDOW_DEFAULT;
use samplewire::source::Repeat;
use samplewire::{Delivery, Underflow};

use super::values::{self, At, Threshold};
use super::{MetricsOption, RealTimeOptions};
use crate::faults::FaultOption;

/// A recording on its way to a device.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ReplayArguments {
    /// NAME, NAME.sigmf-meta or NAME.sigmf-data of a SigMF recording, or raw samples
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The device: HOST, HOST:PORT or [IPV6]:PORT; the port is 9100 unless given
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,

    /// Sample format of raw data: sc8, sc16, fc32, r8, r16, rf32 or uc8; what the device plays in
    /// another format is converted
    #[arg(long, visible_alias = "type", value_name = "FORMAT", value_parser = values::sample_format)]
    pub(crate) format: Option<Format>,

    /// Interleaved channels of raw data [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) channels: Option<u16>,

    /// Check a recording against the SHA-512 in its metadata before it is sent
    #[arg(long)]
    pub(crate) verify: bool,

    /// How often it is sent: N or forever
    #[arg(long = "loop", value_name = "N", default_value = "1")]
    pub(crate) repeat: Repeat,

    /// When it starts: at an INDEX of the device, or +TIME after the opening. Until then it fills
    /// what waits at the device, so a lead bridges the round trip and the pauses of this host
    #[arg(long, value_name = "INDEX|+TIME", default_value = "+100ms", value_parser = values::at)]
    pub(crate) at: At,

    /// Send it in bursts of N samples [default: as one]
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub(crate) burst: Option<u64>,

    /// How long nothing is played between bursts
    #[arg(long, value_name = "TIME", requires = "burst", value_parser = values::time)]
    pub(crate) pause: Option<Duration>,

    /// What the device does when samples are not there in time: zeros plays zeros and goes on at
    /// the right time, stop ends the stream
    #[arg(long, value_name = "POLICY", default_value = "zeros", value_parser = values::underflow)]
    pub(crate) underflow: Underflow,

    /// complete: every packet is repaired; deadline:5ms: given up after that time; best-effort:
    /// repair nothing. What is given up is played as zeros
    #[arg(long, value_name = "DELIVERY", default_value = "complete", value_parser = values::delivery)]
    pub(crate) delivery: Delivery,

    /// Give up when the device does not answer the opening for this long
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = values::time)]
    pub(crate) timeout: Duration,

    /// Packets held for repair, 1 to 16777216; memory is window times payload,
    /// and some MB more
    #[arg(long, value_name = "PACKETS", default_value_t = WINDOW_DEFAULT,
        value_parser = values::between::<u32>(1, 1 << 24))]
    pub(crate) window: u32,

    /// Largest IP packet to send, 576 to 9000 [default: 9000, or the first hop's MTU if less;
    /// smaller ones are tried when it does not get through]
    #[arg(long, value_name = "BYTES", value_parser = values::between::<usize>(576, 9_000))]
    pub(crate) mtu: Option<usize>,

    /// Pace packets to this many bits per second of wire time, 10k to 10T [default: not paced]
    #[arg(long, value_name = "BPS", value_parser = values::link_rate)]
    pub(crate) link_rate: Option<f64>,

    /// A number from 1 that names this sender: the same owner takes its stream over at once, another is
    /// refused while it is open [default: drawn anew]
    #[arg(long, value_name = "N", value_parser = values::between::<u64>(1, u64::MAX))]
    pub(crate) owner: Option<u64>,

    /// Fail with status 4 above these counts, e.g. late=0,underflow=0: late (packets), underflow
    /// (samples), repaired (packets), stall
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::threshold_of_sent)]
    pub(crate) fail_on: Vec<Threshold>,

    /// Show progress also where standard error is no terminal
    #[arg(long)]
    pub(crate) progress: bool,

    /// Print one JSON object at the end: start, intervals, end
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) metrics: MetricsOption,

    #[command(flatten)]
    pub(crate) real_time: RealTimeOptions,

    /// Make the wire bad: data:.. for what is sent, feedback:.. for what arrives; keys as of
    /// emulate
    #[arg(long = "fault", value_name = "SIDE:KEY=V,..", value_parser = FaultOption::parse)]
    pub(crate) faults: Vec<FaultOption>,
}

const AFTER_HELP: &str = "\
The stream stays open until the device has played all of it; then the device says how many samples \
were not there in time. Which ones, and why, the device knows: `emulate --play` prints them.

Examples:
  samplewire replay in.sigmf-meta 127.0.0.1
  samplewire replay in.sc16 10.0.0.2 --format sc16 --loop 10 --at +0.5s
  samplewire replay in.sigmf-meta 10.0.0.2 --burst 10k --pause 5ms --underflow stop

Exit status: 0 whole, 1 usage (an option, an address or a file), 2 unreachable, refused or broken \
off, 3 samples were not there in time, or not all were sent, 4 a threshold (--fail-on), 130 Ctrl-C, \
128 + N any other signal N";

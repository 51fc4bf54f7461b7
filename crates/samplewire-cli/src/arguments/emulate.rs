//! Options of `emulate`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use samplewire::device::STREAMS_MAX;
use samplewire::format::Format;
use samplewire::options::WINDOW_DEFAULT;
use samplewire_record::chain::ChainSpec;
use samplewire_record::source::{Repeat, SourceSpec};

use super::values::{self, Pace};
use super::{
    CarriageOption, ControlOptions, LinkOption, MetricsOption, RealTimeOptions, SlowOption,
    WebOption,
};
use crate::faults::FaultOption;

/// Emulates a device.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct EmulateArguments {
    /// A file or an address without its option, which is refused
    #[arg(hide = true, value_name = "FILE", value_parser = no_file)]
    pub(crate) misplaced: Vec<String>,

    /// Where to listen: HOST, HOST:PORT or [IPV6]:PORT; port 0 takes a free one. Up to 8 addresses, one
    /// option each: one thread then serves several network cards
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9100")]
    pub(crate) listen: Vec<String>,

    /// What to stream: FILE (SigMF or raw), - (standard input), counter, tone:FREQ, chirp, noise,
    /// scene or null; for a file with one of these names write ./counter [default: scene, or
    /// nothing with --play]
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<SourceSpec>,

    /// Also receive a stream and play it into this file, session after session; file names as in
    /// record. The device then has a clock: an index is a time, and samples missing at their time
    /// cause an underrun. With --rate max there is no clock and no underrun
    #[arg(long, value_name = "FILE")]
    pub(crate) play: Option<PathBuf>,

    /// How far ahead a stream may start or its index may jump, as a time. A start beyond it is
    /// refused, and a jump beyond it ends the stream (--play)
    #[arg(long, value_name = "TIME", value_parser = values::time, default_value = "60s")]
    pub(crate) play_jump_max: Duration,

    /// Replace files that exist (--play)
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// How often a file is played in a session: N or forever; generators never end
    #[arg(long = "loop", value_name = "N", default_value = "1")]
    pub(crate) repeat: Repeat,

    /// Process the source before it is sent, by steps in order: mix:HZ, lowpass:HZ, decimate:N,
    /// interpolate:N, gain:FACTOR. The rate of the stream is that behind the last step
    #[arg(long, value_name = "STEP,..")]
    pub(crate) chain: Option<ChainSpec>,

    /// Samples per second. The source runs like a converter that cannot wait: samples that find no
    /// free memory are lost and listed. `max` sends as fast as the receiver accepts and loses
    /// nothing; `max:2M` also sets the sample rate to announce [default: the recording's own rate,
    /// 20M for generators]
    #[arg(long, value_name = "RATE", value_parser = values::pace)]
    pub(crate) rate: Option<Pace>,

    /// Where the time of the samples comes from [default: the device states no time]. Index 0 is the
    /// moment when the device starts, by the system's clock, and each index has one fixed time. The
    /// device states TAI at each opening: the kernel's, if its offset from UTC is set, else UTC + 37
    /// s; it prints which of the two. Not with --rate max or --slow
    #[arg(long, value_name = "SOURCE", value_enum)]
    pub(crate) time_source: Option<TimeSource>,

    /// Sample format of raw data, of a generator or of the played stream: sc8, sc16, fc32, r8, r16,
    /// rf32 or uc8 [default: the recording's own, sc16 for generators; for the played stream the
    /// source's]
    #[arg(long, visible_alias = "type", value_name = "FORMAT", value_parser = values::sample_format)]
    pub(crate) format: Option<Format>,

    /// Interleaved channels of raw data, of counter and null, and of the played stream [default: 1,
    /// or the source's]
    #[arg(long, value_name = "N")]
    pub(crate) channels: Option<u16>,

    /// Number of streams to send, 1 to 1024. A receiver opens one alone or several together (record
    /// --channels). The channels of the source are distributed over the streams in order; each
    /// stream of a generator has its own signal. Streams share one clock, except with --rate max,
    /// but have separate losses and memory: each takes a window
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::between::<u16>(1, STREAMS_MAX as u64))]
    pub(crate) streams: u16,

    /// Check a recording against the SHA-512 in its metadata before playing it
    #[arg(long)]
    pub(crate) verify: bool,

    /// Window in packets, 1 to 2^24: packets kept for repair, or waiting to be played. It takes
    /// window times payload bytes, and a few MB more
    #[arg(long, value_name = "PACKETS", default_value_t = WINDOW_DEFAULT,
        value_parser = values::between::<u32>(1, 1 << 24))]
    pub(crate) window: u32,

    /// Payload of a packet in bytes, a multiple of 8 and of a sample of all channels [default: the
    /// most that the path carries]
    #[arg(long, value_name = "BYTES")]
    pub(crate) payload: Option<u16>,

    /// Largest IP packet to send, 576 to 9000 [default: 9000, or the interface's MTU if less]
    #[arg(long, value_name = "BYTES", value_parser = values::between::<usize>(576, 9_000))]
    pub(crate) mtu: Option<usize>,

    /// Pace the packets of each stream to this many bits per second of wire time, 10k to 10T
    /// [default: not paced]
    #[arg(long, value_name = "BPS", value_parser = values::link_rate)]
    pub(crate) link_rate: Option<f64>,

    #[command(flatten)]
    pub(crate) control: ControlOptions,

    #[command(flatten)]
    pub(crate) metrics: MetricsOption,

    #[command(flatten)]
    pub(crate) web: WebOption,

    #[command(flatten)]
    pub(crate) carriage: CarriageOption,

    #[command(flatten)]
    pub(crate) slow: SlowOption,

    #[command(flatten)]
    pub(crate) link: LinkOption,

    #[command(flatten)]
    pub(crate) real_time: RealTimeOptions,

    /// Inject faults: data:.. for packets that the device sends, feedback:.. for those it receives
    /// (reversed where it only plays). Keys: loss, burst, corrupt, dup, reorder, depth, delay,
    /// jitter, rate, only, hold, seed
    #[arg(long = "fault", value_name = "SIDE:KEY=V,..", value_parser = FaultOption::parse)]
    pub(crate) faults: Vec<FaultOption>,

    /// End after one session of each stream, with the exit status of that session. A session that
    /// its receiver closes before the first sample does not count
    #[arg(long)]
    pub(crate) once: bool,

    /// Show progress even if standard error is not a terminal
    #[arg(long)]
    pub(crate) progress: bool,
}

/// Where a device's time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeSource {
    /// The system's clock
    System,
}

/// Names the option: other verbs take their file, and their address, without one.
fn no_file(text: &str) -> Result<String, String> {
    if text.parse::<IpAddr>().is_ok() || text.parse::<SocketAddr>().is_ok() {
        return Err(format!("the address to listen on is an option: --listen {text}"));
    }
    Err(format!("the file to stream is an option: --source {text}"))
}

const AFTER_HELP: &str = "\
Each stream serves one receiver at a time. After a session the source starts again from its \
beginning, and the sample index continues. With both --source and --play the device sends and \
plays at the same time, for one host or for two. Ctrl-C ends the session, and the device with exit \
status 0. A second Ctrl-C does not wait until the receiver has all samples.

Examples:
  samplewire emulate --source scene --rate 20M
  samplewire emulate --source counter --streams 4 --rate 1M
  samplewire emulate --play out.sigmf-data --rate 2M";

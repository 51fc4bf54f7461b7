//! Options of `web`, and the option `--web` of other verbs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueHint};
use samplewire::Delivery;
use samplewire::options::WINDOW_DEFAULT;

use super::values;
use super::{InterfaceOption, MetricsOption, RealTimeOptions};

/// Shows the streams of a device, or of all processes, in a browser.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
#[command(group(ArgGroup::new("of_device").args(OF_DEVICE).multiple(true).requires("address")))]
pub(crate) struct WebArguments {
    /// The device: HOST, HOST:PORT or [IPV6]:PORT; the port is 9100 unless given [default: the streams of
    /// every process of this user, as in `top`]
    #[arg(value_name = "ADDR")]
    pub(crate) address: Option<String>,

    /// Show a SigMF recording instead, from its metadata and by seeking in its data; it is verified
    /// first
    #[arg(long, value_name = "NAME", value_hint = ValueHint::FilePath,
        conflicts_with_all = ["address", "channels"])]
    pub(crate) recording: Option<PathBuf>,

    /// Where the page listens; port 0 takes a free one
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0",
        value_parser = values::ip_and_port)]
    pub(crate) listen: SocketAddr,

    #[command(flatten)]
    pub(crate) access: WebAccess,

    #[command(flatten)]
    pub(crate) control: WebControl,

    /// Compute the page's spectra of all samples, not of one run for each frame; the page shows what it
    /// costs
    #[arg(long, id = "every_sample")]
    pub(crate) every_sample: bool,

    /// Show these streams of the device aligned, e.g. 0,1: they begin at one index, and a sample that
    /// one stream misses counts as missing for all [default: the first stream that sends]
    #[arg(long, value_name = "STREAMS", value_delimiter = ',', value_parser = values::stream,
        requires = "address")]
    pub(crate) channels: Vec<u16>,

    /// Receive for this long, then end [default: until Ctrl-C]
    #[arg(long, visible_alias = "seconds", value_name = "TIME", value_parser = values::time)]
    pub(crate) duration: Option<Duration>,

    /// complete, deadline:5ms or best-effort
    #[arg(long, value_name = "DELIVERY", default_value = "complete", value_parser = values::delivery)]
    pub(crate) delivery: Delivery,

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

    #[command(flatten)]
    pub(crate) interface: InterfaceOption,

    #[command(flatten)]
    pub(crate) metrics: MetricsOption,

    #[command(flatten)]
    pub(crate) real_time: RealTimeOptions,
}

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Debug)]
pub(crate) struct WebAccess {
    /// Read the page's token from a file that only its owner can read: 32 hexadecimal digits, for
    /// example of `openssl rand -hex 16` [default: a random one]
    #[arg(long = "token-file", id = "web_token_file", value_name = "FILE",
        value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,

    /// Accept this host name in requests for the page too, e.g. a proxy's; repeatable
    #[arg(long = "name", id = "web_name", value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Debug)]
pub(crate) struct WebControl {
    /// Let the page act: start and stop recordings, note events in them, and end the stream
    /// [default: it only shows]
    #[arg(
        long = "control",
        id = "web_control",
        requires = "address",
        conflicts_with = "recording"
    )]
    pub(crate) is_allowed: bool,

    /// Where the page records to. Names are TIME-NUMBER after an optional prefix; nothing is
    /// overwritten [default: it does not record]
    #[arg(long = "folder", id = "web_folder", value_name = "DIR", requires = "web_control",
        value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
}

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct WebOption {
    /// Show the streams in a browser while this runs: prints a URL. The page listens at IP:PORT;
    /// port 0 takes a free one [default without a value: 127.0.0.1:0]
    #[arg(long = "web", id = "web", value_name = "IP:PORT", num_args = 0..=1, require_equals = true,
        default_missing_value = "127.0.0.1:0", value_parser = values::ip_and_port)]
    pub(crate) address: Option<SocketAddr>,

    /// Compute the page's spectra of all samples, not of one run for each frame; the page shows what it
    /// costs
    #[arg(long, id = "every_sample", requires = "web")]
    pub(crate) every_sample: bool,
}

/// The options of `web` without an effect on other pages than that of a device.
const OF_DEVICE: [&str; 14] = [
    "every_sample",
    "delivery",
    "timeout",
    "window",
    "mtu",
    "interface",
    "metrics",
    "cpu",
    "priority",
    "lock_memory",
    "huge_pages",
    "spin",
    "timer_slack",
    "coalesce",
];

const AFTER_HELP: &str = "\
The page shows the spectrum, a waterfall in which missing samples are hatched, \
and the account of every index. It stays open after the stream's end. Everyone who \
has the URL can read all of it, and act with --control: it contains a secret. A \
recording is verified when it stops. From another computer: \
ssh -L 8000:127.0.0.1:8000 HOST, and --listen 127.0.0.1:8000.

Examples:
  samplewire web 127.0.0.1
  samplewire web
  samplewire web --recording out.sigmf-meta
  samplewire web 127.0.0.1 --control --folder recordings
  samplewire web 10.0.0.2 --channels 0,1 --listen 127.0.0.1:8000

Exit status: 0 --duration is over, or the page failed after \
the stream's end, and nothing is missing, 1 usage, 2 \
unreachable, refused or broken off, 3 samples are missing, 130 Ctrl-C, \
128 + N any other signal N";

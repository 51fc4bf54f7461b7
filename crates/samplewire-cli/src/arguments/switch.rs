//! Options of `switch`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use samplewire_io::ether::DgramAddress;

use super::values;
use super::{MetricsOption, SlowOption};

/// Forwards Ethernet frames.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SwitchArguments {
    /// A port: the TAP device of this name, which is created if it does not exist. It may be moved
    /// to a network namespace while the switch runs
    #[arg(long = "tap", value_name = "NAME")]
    pub(crate) taps: Vec<String>,

    /// A port: a datagram port of QEMU (-netdev dgram). LOCAL and REMOTE are two IP:PORT, or two
    /// paths with a /
    #[arg(long = "dgram", value_name = "LOCAL,REMOTE")]
    pub(crate) dgrams: Vec<DgramAddress>,

    /// Bits per second of each port, both ways, 10k to 10T
    #[arg(long, value_name = "BPS", default_value = "10G", value_parser = values::link_rate)]
    pub(crate) rate: f64,

    /// The buffer that all ports share. Frames that find no room are dropped
    #[arg(long, value_name = "SIZE", default_value = "2MB", value_parser = values::size)]
    pub(crate) buffer: u64,

    /// Where frames are marked (ECN), by the length of the queue
    #[arg(long, value_name = "WHERE", default_value = "dequeue")]
    pub(crate) mark: MarkAt,

    /// No frame is marked up to this queue length [default: 40k, or 20k above 20 Gb/s]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) kmin: Option<u64>,

    /// Every frame is marked above this queue length [default: 400k]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) kmax: Option<u64>,

    /// The probability of a mark at Kmax, 0 to 1; it rises from 0 at Kmin [default: 1]
    #[arg(long, value_name = "P")]
    pub(crate) pmax: Option<f64>,

    /// Send congestion notifications (CNP) of RoCE for receivers that send none: to the sender of
    /// each frame that the switch marks
    #[arg(long)]
    pub(crate) proxy_cnp: bool,

    /// Send CNPs to each RoCE flow while it comes in faster than BPS, marked or not
    #[arg(long, value_name = "BPS", value_parser = values::link_rate)]
    pub(crate) cnp_above: Option<f64>,

    /// The shortest time between two CNPs to a flow, in slow time: D of its DCQCN
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = values::time)]
    pub(crate) cnp_interval: Duration,

    /// Share of frames to lose at random as they come in, 0 to 0.5
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = values::share)]
    pub(crate) loss: f64,

    /// Seed of marks and losses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) slow: SlowOption,

    /// Stop after this time of the host [default: until Ctrl-C]
    #[arg(long, visible_alias = "seconds", value_name = "TIME", value_parser = values::time)]
    pub(crate) duration: Option<Duration>,

    /// Show progress even if standard error is not a terminal
    #[arg(long)]
    pub(crate) progress: bool,

    /// Print one JSON object at the end: start, intervals, end
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) metrics: MetricsOption,
}

/// Where a frame is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MarkAt {
    /// As it joins the queue
    Enqueue,
    /// As it leaves the queue
    Dequeue,
    /// Nowhere
    None,
}

const AFTER_HELP: &str = "\
The switch learns addresses, and forwards through the model that `samplewire sim congestion` uses. \
It marks IPv4 and IPv6. TAP devices need root, or cap_net_admin. Rates are in the clock of \
--slow: --rate 10G --slow 50 passes 200 Mb/s of the host.

Examples:
  samplewire switch --tap a --tap b --tap r --rate 10G --slow 50
  ip link set a netns sender        and set its address there, with an MTU
  samplewire switch --tap a --tap r --rate 1G --proxy-cnp --cnp-above 500M

Exit status: 0 ended by --duration or a signal, 1 usage";

//! Options of `bridge`.

use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{ArgGroup, Args, ValueEnum};
use samplewire::Delivery;
use samplewire::format::Format;
use samplewire::options::WINDOW_DEFAULT;

use super::values;
use super::{
    ControlOptions, LinkOption, MetricsOption, RealTimeOptions, ReceiveCarriageOption, WebOption,
};
use crate::bridge::GapFill;
use crate::faults::FaultOption;
use samplewire_zmtp::{Endpoint, Kind};

/// A bridge between streams and ZeroMQ sockets.
#[derive(Args, Debug)]
#[command(override_usage = USAGE, after_help = AFTER_HELP)]
#[command(group = ArgGroup::new("end").args(["address", "listen"]).required(true))]
#[command(group = ArgGroup::new("out").args(["zmq_pub", "zmq_push", "zmq_rep"]))]
#[command(group = ArgGroup::new("in").args(["zmq_sub", "zmq_pull", "zmq_req"]))]
#[command(group = ArgGroup::new("any").multiple(true).required(true)
    .args(["zmq_pub", "zmq_push", "zmq_rep", "zmq_sub", "zmq_pull", "zmq_req"]))]
pub(crate) struct BridgeArguments {
    /// The device whose streams are bridged: HOST, HOST:PORT or [IPV6]:PORT; the default port is
    /// 9100
    #[arg(value_name = "ADDR")]
    pub(crate) address: Option<String>,

    /// Act as a device that other hosts open, at this address: HOST, HOST:PORT or [IPV6]:PORT
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,

    /// Publish the samples from the device, as GNU Radio's ZMQ PUB Sink does without tags. A
    /// subscriber that is too slow misses messages, and these are counted. Listens, unless
    /// `connect:` precedes tcp://
    #[arg(long, value_name = "TCP", value_parser = Endpoint::parse)]
    pub(crate) zmq_pub: Option<Endpoint>,

    /// Push the samples from the device, each message to one peer, and wait until a peer takes it.
    /// Listens, unless `connect:` precedes tcp://
    #[arg(long, value_name = "TCP", value_parser = Endpoint::parse)]
    pub(crate) zmq_push: Option<Endpoint>,

    /// Answer requests with the samples from the device, as the transmitter of srsRAN's ZMQ radio
    /// does. Give it once for each channel. Listens, unless `connect:` precedes tcp://
    #[arg(long, value_name = "TCP", value_parser = Endpoint::parse)]
    pub(crate) zmq_rep: Vec<Endpoint>,

    /// Subscribe, and send the received samples to the device. Connects, unless `bind:` precedes
    /// tcp://
    #[arg(long, value_name = "TCP", value_parser = Endpoint::parse)]
    pub(crate) zmq_sub: Option<Endpoint>,

    /// Pull, and send the received samples to the device. Connects, unless `bind:` precedes tcp://
    #[arg(long, value_name = "TCP", value_parser = Endpoint::parse)]
    pub(crate) zmq_pull: Option<Endpoint>,

    /// Request samples, as the receiver of srsRAN's ZMQ radio does, and send them to the device.
    /// Give it once for each channel. Connects, unless `bind:` precedes tcp://
    #[arg(long, value_name = "TCP", value_parser = Endpoint::parse)]
    pub(crate) zmq_req: Vec<Endpoint>,

    /// Sample format at the sockets: sc8, sc16, fc32, r8, r16, rf32 or uc8; samples of the stream
    /// are converted [default: fc32 for requests, else the stream's format]
    #[arg(long, visible_alias = "type", value_name = "FORMAT", value_parser = values::sample_format)]
    pub(crate) format: Option<Format>,

    /// Maximum number of samples in a message to a socket
    #[arg(long, value_name = "N", default_value = "16k", value_parser = values::count)]
    pub(crate) items: u64,

    /// Maximum number of bytes that wait for each peer of a socket
    #[arg(long, value_name = "BYTES", default_value = "4M", value_parser = values::size)]
    pub(crate) hwm: u64,

    /// What replaces missing samples
    #[arg(long, value_name = "WHAT", default_value = "zeros")]
    pub(crate) gaps: GapFill,

    /// Samples of the streams of --listen [default: --format, or fc32]
    #[arg(long, value_name = "FORMAT", requires = "listen", value_parser = values::sample_format)]
    pub(crate) stream_format: Option<Format>,

    /// Interleaved channels of the streams of --listen [default: 1, or one for each socket]
    #[arg(long, value_name = "N", requires = "listen")]
    pub(crate) channels: Option<u16>,

    /// Samples per second of the streams of --listen. The peer that opens a stream receives this
    /// value; it does not pace anything
    #[arg(long, value_name = "RATE", default_value = "23.04M", value_parser = values::rate)]
    pub(crate) rate: f64,

    /// Time between the opening and the first sample that a device with a clock plays
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = values::time)]
    pub(crate) lead: Duration,

    /// complete, deadline:5ms or best-effort; srsRAN works with complete only
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

    /// A number from 1 that identifies this bridge to the device. A bridge with the same owner takes
    /// the streams over at once; another owner is refused while they are open [default: random]
    #[arg(long, value_name = "N", conflicts_with = "listen", value_parser = values::between::<u64>(1, u64::MAX))]
    pub(crate) owner: Option<u64>,

    /// Show progress even if standard error is not a terminal
    #[arg(long)]
    pub(crate) progress: bool,

    /// Print one JSON object at the end: start, intervals, end
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) control: ControlOptions,

    #[command(flatten)]
    pub(crate) metrics: MetricsOption,

    #[command(flatten)]
    pub(crate) web: WebOption,

    #[command(flatten)]
    pub(crate) carriage: ReceiveCarriageOption,

    #[command(flatten)]
    pub(crate) link: LinkOption,

    #[command(flatten)]
    pub(crate) real_time: RealTimeOptions,

    /// Inject faults: data:.. for packets with samples, feedback:.. for the others. With --listen
    /// and both directions, data:.. is for sent packets and feedback:.. for received ones. For keys
    /// see emulate
    #[arg(long = "fault", value_name = "SIDE:KEY=V,..", value_parser = FaultOption::parse)]
    pub(crate) faults: Vec<FaultOption>,
}

impl ValueEnum for GapFill {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Zeros, Self::Skip]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Zeros => PossibleValue::new("zeros")
                .help("As many zeros: the sample count still tracks time. A gap longer than a minute is not filled"),
            Self::Skip => PossibleValue::new("skip")
                .help("Nothing: the samples after a gap directly follow those before it"),
        })
    }
}

impl BridgeArguments {
    /// The sockets that send samples.
    pub(crate) fn outward(&self) -> Option<(Kind, Vec<Endpoint>)> {
        chosen([
            (Kind::Pub, self.zmq_pub.as_slice()),
            (Kind::Push, self.zmq_push.as_slice()),
            (Kind::Rep, &self.zmq_rep),
        ])
    }

    /// The sockets that receive samples.
    pub(crate) fn inward(&self) -> Option<(Kind, Vec<Endpoint>)> {
        chosen([
            (Kind::Sub, self.zmq_sub.as_slice()),
            (Kind::Pull, self.zmq_pull.as_slice()),
            (Kind::Req, &self.zmq_req),
        ])
    }
}

fn chosen(kinds: [(Kind, &[Endpoint]); 3]) -> Option<(Kind, Vec<Endpoint>)> {
    let mut named = kinds.into_iter().filter(|(_, endpoints)| !endpoints.is_empty());
    named.next().map(|(kind, endpoints)| (kind, endpoints.to_vec()))
}

const USAGE: &str = "samplewire bridge [OPTIONS] <ADDR|--listen ADDR> <--zmq-.. TCP>..";

const AFTER_HELP: &str = "\
A socket for each direction makes a bridge in both directions. Sockets have no password: every host \
that reaches the port can read or send samples. If the programs are on this host, use 127.0.0.1.

Examples, GNU Radio:
  samplewire bridge 10.0.0.2 --zmq-pub tcp://127.0.0.1:5555 --format fc32
  samplewire bridge 10.0.0.2 --zmq-sub tcp://127.0.0.1:5556
Examples, a ZMQ radio link between two hosts, at the first and at the second:
  samplewire bridge --listen 10.0.0.1 --zmq-req tcp://127.0.0.1:2000 \\
    --zmq-rep tcp://127.0.0.1:2001
  samplewire bridge 10.0.0.1 --zmq-req tcp://127.0.0.1:2001 \\
    --zmq-rep tcp://127.0.0.1:2000

Exit status: 0 the stream ended and is whole, or --listen and Ctrl-C, 1 usage, 2 unreachable, \
refused or broken off, 3 samples are missing, 130 Ctrl-C, 128 + N any other signal N";

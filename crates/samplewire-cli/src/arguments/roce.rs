//! Options of `roce`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand, ValueHint};
use samplewire_io::ether::DgramAddress;
use samplewire_roce::PathMtu;

use super::{SlowOption, values};

/// Moves files over RoCEv2 reliable connections.
#[derive(Args, Debug)]
pub(crate) struct RoceArguments {
    #[command(subcommand)]
    pub(crate) verb: RoceVerb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum RoceVerb {
    /// Wait for a peer, and keep what it writes and sends
    #[command(override_usage = "samplewire roce listen [OPTIONS] --ip <IP> <LINK>")]
    Listen(ListenArguments),
    /// Write a file into the memory of a peer that listens (RDMA WRITE)
    #[command(
        override_usage = "samplewire roce write [OPTIONS] --to <IP:PORT> --ip <IP> <LINK> <FILE>"
    )]
    Write(SendArguments),
    /// Send a file to a peer that listens, as messages for its receive requests (SEND)
    #[command(
        override_usage = "samplewire roce send [OPTIONS] --to <IP:PORT> --ip <IP> <LINK> <FILE>"
    )]
    Send(SendArguments),
    /// Measure WRITEs to a peer that listens: throughput, and latency from request to completion
    #[command(override_usage = "samplewire roce bench [OPTIONS] --to <IP:PORT> --ip <IP> <LINK>")]
    Bench(BenchArguments),
}

#[derive(Args, Debug)]
#[command(after_help = LISTEN_AFTER_HELP)]
pub(crate) struct ListenArguments {
    /// Where peers exchange connection lines over TCP: IP:PORT of this host. One peer at a time
    #[arg(long, value_name = "IP:PORT", default_value = "0.0.0.0:18515",
          value_parser = values::ip_and_port, conflicts_with = "peer")]
    pub(crate) exchange: SocketAddr,

    /// Serve one peer, whose connection line is in this file: a JSON object. Ends at Ctrl-C
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) peer: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) station: StationOptions,

    /// Receive with an RDMA network card, of this name in `rdma link`: it writes into the memory of
    /// this program. Needs libibverbs; --ip is an address of the card's interface
    #[arg(long, value_name = "DEVICE", group = "link",
          conflicts_with_all = ["next_hop", "qpn", "slow", "cnp_interval", "no_cnp"])]
    pub(crate) verbs: Option<String>,

    /// The entry of the card's table of addresses (GIDs) that has --ip [default: the first one of
    /// RoCE v2]
    #[arg(long, value_name = "N", requires = "verbs", value_parser = values::between::<u8>(0, 255))]
    pub(crate) gid_index: Option<u8>,

    /// Memory that the peer may write to
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = values::size)]
    pub(crate) region: u64,

    /// The longest message that the peer may send
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = message)]
    pub(crate) message: u32,

    /// Receive requests that wait for messages and immediate data. Without one the peer has to wait
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = values::between::<u16>(0, 256))]
    pub(crate) receives: u16,

    /// Keep what came in this file: messages one behind the other, or else what was written, from the
    /// begin of the region to the last byte
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,

    /// The shortest time between two congestion notifications (CNP) to the peer, in slow time, for
    /// packets that a switch has marked: D of its DCQCN
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = values::time)]
    pub(crate) cnp_interval: Duration,

    /// Send no congestion notifications; marked packets are counted alone
    #[arg(long, conflicts_with = "cnp_interval")]
    pub(crate) no_cnp: bool,

    /// End a connection whose peer sends nothing for this time. It has no limit with --peer
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::time)]
    pub(crate) idle: Duration,

    /// End after the first connection [default: until Ctrl-C]
    #[arg(long)]
    pub(crate) once: bool,

    /// Print one JSON object for each connection
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SendArguments {
    /// The file, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) sender: SenderOptions,

    /// Length of a message; of SEND at most that of the peer's receive requests
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = message)]
    pub(crate) message: u32,

    /// Immediate data of each message: the peer needs a receive request for it, and sees it there
    #[arg(long, value_name = "N", value_parser = values::between::<u32>(0, 4_294_967_295))]
    pub(crate) immediate: Option<u32>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct BenchArguments {
    #[command(flatten)]
    pub(crate) sender: SenderOptions,

    /// Payloads of a packet; each has a connection of its own. --mtu bounds them
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256,1024,4096",
          value_parser = path_mtu)]
    pub(crate) mtus: Vec<PathMtu>,

    /// Lengths of messages; the peer's region holds each
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "64,1kiB,16kiB,256kiB",
          value_parser = message)]
    pub(crate) messages: Vec<u32>,

    /// How long each throughput and each latency is measured
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = values::time)]
    pub(crate) duration: Duration,

    /// Also write the table as CSV
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) csv: Option<PathBuf>,

    /// Also draw throughput and latency over the length of a message, as SVG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) svg: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What every sender has: the peer, the link and how it repeats.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("exchange").required(true))]
pub(crate) struct SenderOptions {
    /// Where the peer listens for connection lines
    #[arg(long, value_name = "IP:PORT", value_parser = values::ip_and_port, group = "exchange")]
    pub(crate) to: Option<SocketAddr>,

    /// Send to a peer that has no TCP: its connection line, a JSON object, is in this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "exchange")]
    pub(crate) peer: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) station: StationOptions,

    /// Packets that may wait for an acknowledgement. A loss repeats up to so many
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = values::between::<u32>(1, 8_388_608))]
    pub(crate) window: u32,

    /// Speed of the link: congestion notifications (CNP) limit the rate, by DCQCN [default: they are
    /// counted alone]
    #[arg(long, value_name = "BPS", value_parser = values::line_rate)]
    pub(crate) line_rate: Option<f64>,

    /// Let an acknowledgement that a switch has marked cut the rate, as a CNP does
    #[arg(long, requires = "line_rate")]
    pub(crate) congested_acks_cut: bool,

    /// How long to wait for an acknowledgement: 4.096 us times 2^N; 0 is for ever
    #[arg(long, value_name = "N", default_value_t = 14, value_parser = values::between::<u8>(0, 31))]
    pub(crate) timeout: u8,
}

/// The link, and who this station is there.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("link").required(true))]
pub(crate) struct StationOptions {
    /// Share an interface with the kernel (AF_PACKET); needs CAP_NET_RAW
    #[arg(long, value_name = "IF", group = "link")]
    pub(crate) interface: Option<String>,

    /// Use the TAP device of this name, which is created if it does not exist
    #[arg(long, value_name = "NAME", group = "link")]
    pub(crate) tap: Option<String>,

    /// Use a datagram port, of QEMU (-netdev dgram) or of `samplewire switch`
    #[arg(long, value_name = "LOCAL,REMOTE", group = "link")]
    pub(crate) dgram: Option<DgramAddress>,

    /// This station's IPv4 address: with --interface, one that the interface has; otherwise one that
    /// no one else has
    #[arg(long, value_name = "A.B.C.D")]
    pub(crate) ip: Ipv4Addr,

    /// The router to a peer of another network [default: with --interface by the kernel's routes;
    /// else the peer is on this link]
    #[arg(long, value_name = "A.B.C.D")]
    pub(crate) next_hop: Option<Ipv4Addr>,

    /// Number of this station's queue pair, 2 to 2^24 - 2 [default: random]
    #[arg(long, value_name = "N", value_parser = values::between::<u32>(2, 16_777_214))]
    pub(crate) qpn: Option<u32>,

    /// PSN of the first request, below 2^24 [default: random]
    #[arg(long, value_name = "N", value_parser = values::between::<u32>(0, 16_777_215))]
    pub(crate) psn: Option<u32>,

    /// Payload of a packet: 256, 512, 1024, 2048 or 4096. The smaller of both ends counts
    #[arg(long, value_name = "BYTES", default_value = "1024", value_parser = path_mtu)]
    pub(crate) mtu: PathMtu,

    #[command(flatten)]
    pub(crate) slow: SlowOption,
}

fn path_mtu(text: &str) -> Result<PathMtu, String> {
    let found = text.parse().ok().and_then(PathMtu::from_bytes);
    found.ok_or_else(|| format!("`{text}` is none of 256, 512, 1024, 2048 and 4096"))
}

fn message(text: &str) -> Result<u32, String> {
    let bytes = values::size(text)?;
    u32::try_from(bytes)
        .ok()
        .filter(|bytes| (1..=MESSAGE_BYTES_MAX).contains(bytes))
        .ok_or_else(|| format!("`{text}`: a message has 1 byte to 64 MiB"))
}

/// Several are in memory at a time.
const MESSAGE_BYTES_MAX: u32 = 64 << 20;

const LISTEN_AFTER_HELP: &str = "\
LINK is one of --interface, --tap, --dgram and --verbs.

Examples:
  samplewire roce listen --interface eth0 --ip 10.0.0.2 --out got.bin
  samplewire roce listen --verbs mlx5_0 --ip 10.0.0.2 --mtu 4096 --out got.bin";

const AFTER_HELP: &str = "\
LINK is one of --interface, --tap and --dgram.

Examples:
  samplewire roce write in.bin --to 10.0.0.2:18515 --tap t0 --ip 10.0.0.1
  samplewire roce send in.bin --to 10.0.0.2:18515 --tap t0 --ip 10.0.0.1
  samplewire roce bench --to 10.0.0.2:18515 --tap t0 --ip 10.0.0.1 --svg b.svg";

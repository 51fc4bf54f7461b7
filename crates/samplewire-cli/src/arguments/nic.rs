//! Options of `nic`.

mod nic_values;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use samplewire_proto::block::MacAddress;

pub(crate) use self::nic_values::{Access, ConsoleAddress, LinkName, NicCount, Picture};
use self::nic_values::{delay, of_image, of_rate, of_receive, of_send, of_trips, station};
use super::values::{self, Threshold};
use crate::faults::FaultOption;

/// Measures and moves raw Ethernet frames.
#[derive(Args, Debug)]
pub(crate) struct NicArguments {
    #[command(subcommand)]
    pub(crate) verb: NicVerb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum NicVerb {
    /// Measure the round trip of frames that a board, or `nic echo`, sends back
    Rtt(RttArguments),
    /// Measure the throughput of frames that a board, or `nic echo`, sends back
    Rate(NicRateArguments),
    /// Send a file by block transfer to a peer that runs `nic receive`, or to a board
    Send(NicSendArguments),
    /// Receive a file by block transfer
    Receive(NicReceiveArguments),
    /// Send pictures to a board, or to `nic echo`, and receive them again
    Image(ImageArguments),
    /// Measure processor, NIC and MAC apart: round trips of a board in its three modes
    Modes(ModesArguments),
    /// Send frames back, for `nic rtt`, `nic rate` and `nic image` between two hosts
    Echo(EchoArguments),
    /// Read and write a board's registers by name, and list its counters
    Regs(RegsArguments),
}

/// Reads and writes registers.
#[derive(Args, Debug)]
#[command(after_help = REGS_AFTER_HELP)]
pub(crate) struct RegsArguments {
    /// HOST or HOST:PORT, the TCP console of a board that runs the image stack [port: 23]; or
    /// unix:PATH, the registers of a simulated board (its option --registers)
    #[arg(value_name = "CONSOLE")]
    pub(crate) at: ConsoleAddress,

    /// Registers such as nic.free_level or sender.ip, which are read; NAME=VALUE is written, 32 bits,
    /// decimal or hexadecimal with 0x. Without any: all counters
    #[arg(value_name = "NAME[=VALUE]")]
    pub(crate) accesses: Vec<Access>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const REGS_AFTER_HELP: &str = "\
Examples:
  samplewire nic regs 10.64.0.2
  samplewire nic regs 10.64.0.2 nic.free_level nic.mode
  samplewire nic regs unix:out/rtl/sim/board.registers nic.mode=1

docs/nic.md and docs/registers.md list the names, behind `nic.` and `sender.`.";

/// The link, and this end of it.
#[derive(Args, Clone, Debug)]
pub(crate) struct LinkOptions {
    /// An interface, such as eth0 (needs CAP_NET_RAW); unix:PATH, the datagram socket of a simulated
    /// board; or unix:LOCAL,REMOTE, two sockets between two programs
    #[arg(value_name = "LINK")]
    pub(crate) link: LinkName,

    /// This end's Ethernet address [default: the interface's; random on unix:]
    #[arg(long, value_name = "MAC", value_parser = station)]
    pub(crate) mac: Option<MacAddress>,

    /// Add faults to frames, e.g. data:loss=1%,seed=7: data: is for what the sender of data sends,
    /// feedback: for what comes back
    #[arg(long, value_name = "SIDE:FAULTS", value_parser = FaultOption::parse)]
    pub(crate) fault: Vec<FaultOption>,
}

/// How frames are spaced.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct SchemeOptions {
    /// 1: a fixed delay between frames. 2: bursts with a pause between them. 3: a burst, then a frame
    /// for each that came back. 4, block transfer, is nic send and nic image
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = values::between::<u8>(1, 3))]
    pub(crate) scheme: u8,

    /// Frames of a burst, 1 to 4096: 4 for FIFOs of 4 KiB, 16 for 16 KiB
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = values::between::<u32>(1, 4_096))]
    pub(crate) burst: u32,

    /// Time between frames of scheme 1, and between bursts of scheme 2
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = delay)]
    pub(crate) delay: Duration,
}

/// Measures round trips.
#[derive(Args, Debug)]
#[command(after_help = RTT_AFTER_HELP)]
pub(crate) struct RttArguments {
    #[command(flatten)]
    pub(crate) link: LinkOptions,

    /// The Ethernet address of the board, or of the host that runs `nic echo`
    #[arg(long, value_name = "MAC", value_parser = station)]
    pub(crate) peer: MacAddress,

    #[command(flatten)]
    pub(crate) trips: TripOptions,

    /// Exit with status 4 if a count exceeds its limit, e.g. lost=0,wrong=0. Counts: lost, wrong, late
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = of_trips)]
    pub(crate) fail_on: Vec<Threshold<NicCount>>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// How round trips are measured.
#[derive(Args, Clone, Debug)]
pub(crate) struct TripOptions {
    /// Bytes of a frame behind its Ethernet header, 46 to 9202
    #[arg(long, value_name = "LIST", value_delimiter = ',',
        default_values_t = [64_u16, 128, 256, 512, 1_024, 1_486],
        value_parser = values::between::<u16>(46, 9_202))]
    pub(crate) sizes: Vec<u16>,

    /// Frames of each size, 1 to 2^24
    #[arg(long, value_name = "N", default_value_t = 1_000,
        value_parser = values::between::<u32>(1, 1 << 24))]
    pub(crate) count: u32,

    /// A frame that has not come back within this time is lost
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = values::time)]
    pub(crate) timeout: Duration,

    /// Wait without sleeping: shorter round trips, and a CPU in use all the time
    #[arg(long)]
    pub(crate) spin: bool,
}

/// Measures throughput.
#[derive(Args, Debug)]
#[command(after_help = RATE_AFTER_HELP)]
pub(crate) struct NicRateArguments {
    #[command(flatten)]
    pub(crate) link: LinkOptions,

    /// The Ethernet address of the board, or of the host that runs `nic echo`
    #[arg(long, value_name = "MAC", value_parser = station)]
    pub(crate) peer: MacAddress,

    /// Bytes of a frame behind its Ethernet header, 46 to 9202
    #[arg(long, value_name = "LIST", value_delimiter = ',',
        default_values_t = [64_u16, 128, 256, 512, 1_024, 1_486],
        value_parser = values::between::<u16>(46, 9_202))]
    pub(crate) sizes: Vec<u16>,

    /// Frames of each size, 1 to 2^24
    #[arg(long, value_name = "N", default_value_t = 10_000,
        value_parser = values::between::<u32>(1, 1 << 24))]
    pub(crate) count: u32,

    #[command(flatten)]
    pub(crate) scheme: SchemeOptions,

    /// The board at --peer sends, and this host sends the frames back: for the image send. At most 16,384
    /// frames of 1,486 bytes
    #[arg(long)]
    pub(crate) by_board: bool,

    /// Find the fastest setting without loss: the delay of scheme 1, else the burst. Each trial sends
    /// --count frames
    #[arg(long)]
    pub(crate) search: bool,

    /// Exit with status 4 if a count exceeds its limit, e.g. lost=0,wrong=0. Counts: lost, wrong,
    /// duplicate
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = of_rate)]
    pub(crate) fail_on: Vec<Threshold<NicCount>>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What both ends of a block transfer must agree on.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct BlockOptions {
    /// Frames of types 0x01 to 0x03, for other implementations: without transfer ID and CRC
    #[arg(long)]
    pub(crate) plain: bool,

    /// Bytes of the file in a frame, 1 to 1477, with --plain to 1481; the same at both ends
    /// [default: the most]
    #[arg(long, value_name = "BYTES", value_parser = values::between::<u16>(1, 1_481))]
    pub(crate) packet_bytes: Option<u16>,
}

/// Sends a file.
#[derive(Args, Debug)]
#[command(after_help = SEND_AFTER_HELP,
    override_usage = "samplewire nic send [OPTIONS] --peer <MAC> <FILE> <LINK>")]
pub(crate) struct NicSendArguments {
    /// The file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) link: LinkOptions,

    /// The Ethernet address of the receiver
    #[arg(long, value_name = "MAC", value_parser = station)]
    pub(crate) peer: MacAddress,

    #[command(flatten)]
    pub(crate) block: BlockOptions,

    /// Send so many frames at once, 1 to 4096, with --delay between bursts [default: all at once]
    #[arg(long, value_name = "N", value_parser = values::between::<u32>(1, 4_096))]
    pub(crate) burst: Option<u32>,

    /// Time between bursts
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = delay,
        requires = "burst")]
    pub(crate) delay: Duration,

    /// Exit with status 4 if a count exceeds its limit, e.g. repeated=0. Counts: repeated, rejected
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = of_send)]
    pub(crate) fail_on: Vec<Threshold<NicCount>>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Receives a file.
#[derive(Args, Debug)]
#[command(after_help = RECEIVE_AFTER_HELP,
    override_usage = "samplewire nic receive [OPTIONS] <FILE> <LINK>")]
pub(crate) struct NicReceiveArguments {
    /// The file. Until the transfer is complete its name ends in .part
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) link: LinkOptions,

    /// The Ethernet address of the sender [default: that of the first frame]
    #[arg(long, value_name = "MAC", value_parser = station)]
    pub(crate) peer: Option<MacAddress>,

    #[command(flatten)]
    pub(crate) block: BlockOptions,

    /// The longest file; it takes a bit of memory for each frame
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = values::size)]
    pub(crate) bytes_max: u64,

    /// Give up if no transfer begins within this time [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) wait: Option<Duration>,

    /// How long to answer a sender that has not got the answer that all is there; again from each of
    /// its requests
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = values::time)]
    pub(crate) linger: Duration,

    /// Exit with status 4 if a count exceeds its limit, e.g. rejected=0. Counts: duplicate, rejected
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = of_receive)]
    pub(crate) fail_on: Vec<Threshold<NicCount>>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Transfers pictures both ways.
#[derive(Args, Debug)]
#[command(after_help = IMAGE_AFTER_HELP)]
pub(crate) struct ImageArguments {
    #[command(flatten)]
    pub(crate) link: LinkOptions,

    /// The Ethernet address of the board, or of the host that runs `nic echo`
    #[arg(long, value_name = "MAC", value_parser = station)]
    pub(crate) peer: MacAddress,

    /// Pictures: files, or sizes of generated ones; 1 kB is 1024 bytes here
    #[arg(long, value_name = "FILE|SIZE", value_delimiter = ',', default_value = "347.5kB,15.9MB")]
    pub(crate) pictures: Vec<Picture>,

    /// How often each picture goes both ways, 1 to 65535
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = values::between::<u16>(1, 65_535))]
    pub(crate) rounds: u16,

    /// 3: a burst, then a frame for each that came back; the peer sends each frame back. 4: block
    /// transfer; the peer receives the picture (`nic echo --block`), then sends it
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = values::between::<u8>(3, 4))]
    pub(crate) scheme: u8,

    /// Frames of a burst, 1 to 4096: 4 for FIFOs of 4 KiB, 16 for 16 KiB
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = values::between::<u32>(1, 4_096))]
    pub(crate) burst: u32,

    /// Time between bursts of scheme 4
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = delay)]
    pub(crate) delay: Duration,

    /// With scheme 4, frames of types 0x01 to 0x03
    #[arg(long)]
    pub(crate) plain: bool,

    /// Exit with status 4 if a count exceeds its limit, e.g. lost=0. Counts: lost, wrong, duplicate,
    /// repeated
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = of_image)]
    pub(crate) fail_on: Vec<Threshold<NicCount>>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measures the parts of a board.
#[derive(Args, Debug)]
#[command(after_help = MODES_AFTER_HELP,
    override_usage = "samplewire nic modes [OPTIONS] --peer MAC LINK --registers CONSOLE\n       \
        samplewire nic modes [OPTIONS] --peer MAC --normal A --nic B --mac-loop C")]
pub(crate) struct ModesArguments {
    /// One board, which is switched between the modes
    #[arg(value_name = "LINK", requires = "registers", required_unless_present = "normal")]
    pub(crate) link: Option<LinkName>,

    /// The registers of this board, as in `nic regs`, by a way that is not this link
    #[arg(long, value_name = "CONSOLE", requires = "link")]
    pub(crate) registers: Option<ConsoleAddress>,

    /// A board in normal mode: its processor sends frames back
    #[arg(long, value_name = "LINK", requires_all = ["nic", "mac_loop"], conflicts_with = "link")]
    pub(crate) normal: Option<LinkName>,

    /// A board in NIC loopback
    #[arg(long, value_name = "LINK", requires = "normal")]
    pub(crate) nic: Option<LinkName>,

    /// A board in MAC loopback
    #[arg(long, value_name = "LINK", requires = "normal")]
    pub(crate) mac_loop: Option<LinkName>,

    /// The Ethernet address of the boards
    #[arg(long, value_name = "MAC", value_parser = station)]
    pub(crate) peer: MacAddress,

    /// How often all modes are measured, 2 to 1000; the spread is over these rounds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = values::between::<u16>(2, 1_000))]
    pub(crate) rounds: u16,

    #[command(flatten)]
    pub(crate) trips: TripOptions,

    /// Exit with status 4 if a count exceeds its limit, e.g. lost=0,wrong=0. Counts: lost, wrong, late
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = of_trips)]
    pub(crate) fail_on: Vec<Threshold<NicCount>>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Sends frames back.
#[derive(Args, Debug)]
#[command(after_help = ECHO_AFTER_HELP)]
pub(crate) struct EchoArguments {
    #[command(flatten)]
    pub(crate) link: LinkOptions,

    /// Receive whole block transfers, and send each back as a transfer
    #[arg(long)]
    pub(crate) block: bool,

    /// The longest transfer of --block; so much memory is reserved
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = values::size)]
    pub(crate) bytes_max: u64,

    /// When to end [default: at Ctrl-C]
    #[arg(long, visible_alias = "seconds", value_name = "TIME", value_parser = values::time)]
    pub(crate) duration: Option<Duration>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const RTT_AFTER_HELP: &str = "\
Examples:
  samplewire nic rtt eth0 --peer 02:53:57:00:00:01
  samplewire nic rtt unix:/tmp/board --peer 02:53:57:00:00:01 --count 100 --fail-on lost=0

Exit status: 0 measured, 1 usage, 2 nothing came back, 3 frames were lost or wrong and --fail-on does \
not count them, 4 a threshold (--fail-on), 130 Ctrl-C";

const RATE_AFTER_HELP: &str = "\
Throughput counts the bytes of frames that came back, behind their Ethernet headers, over the time \
from the first frame sent to the last one back.

Examples:
  samplewire nic rate eth0 --peer 02:53:57:00:00:01
  samplewire nic rate eth0 --peer 02:53:57:00:00:01 --scheme 2 --burst 4
  samplewire nic rate eth0 --peer 02:53:57:00:00:01 --scheme 1 --search
  samplewire nic rate eth0 --peer 02:53:57:49:52:00 --scheme 2 --by-board

Exit status: 0 measured, 1 usage, 2 nothing came back, 3 frames were lost or wrong and --fail-on does \
not count them, 4 a threshold (--fail-on), 130 Ctrl-C";

const SEND_AFTER_HELP: &str = "\
Examples:
  samplewire nic send in.bin eth0 --peer 02:53:57:00:00:01
  samplewire nic send in.bin eth0 --peer 02:53:57:00:00:01 --burst 16

Exit status: 0 the receiver has all, 1 usage, 2 no answer for 10 s, 3 broken off, 4 a threshold \
(--fail-on), 130 Ctrl-C";

const RECEIVE_AFTER_HELP: &str = "\
Examples:
  samplewire nic receive out.bin eth0
  samplewire nic receive out.bin eth0 --plain --wait 1min

Exit status: 0 the file is complete, 1 usage, or the file cannot be written, 2 no transfer began \
(--wait), 3 broken off: the file is not there, 4 a threshold (--fail-on), 130 Ctrl-C";

const IMAGE_AFTER_HELP: &str = "\
Examples:
  samplewire nic image eth0 --peer 02:53:57:00:00:01
  samplewire nic image eth0 --peer 02:53:57:00:00:01 --scheme 4 --pictures photo.jpg

Exit status: 0 all pictures came back, 1 usage, 2 nothing came back, 3 pictures are incomplete and \
--fail-on does not count them, 4 a threshold (--fail-on), 130 Ctrl-C";

const MODES_AFTER_HELP: &str = "\
Each round measures the same frames in all modes. Processor: normal less NIC loopback. NIC: NIC \
loopback less MAC loopback. MAC: MAC loopback, the host and the cable included.

Examples:
  samplewire nic modes --normal unix:/tmp/a --nic unix:/tmp/b \\
    --mac-loop unix:/tmp/c --peer 02:53:57:00:00:01
  samplewire nic modes unix:/tmp/board --registers unix:board.registers \\
    --peer 02:53:57:49:52:00

Exit status: 0 measured, 1 usage, 2 nothing came back, 3 frames were lost or wrong and --fail-on does \
not count them, 4 a threshold (--fail-on), 130 Ctrl-C";

const ECHO_AFTER_HELP: &str = "\
A frame of EtherType 0x88B5 to this end's address goes back to its sender, with the addresses \
swapped.

Examples:
  samplewire nic echo eth0
  samplewire nic echo unix:/tmp/b,/tmp/a --mac 02:53:57:00:00:01

Exit status: 0 at --duration, 1 usage, 130 Ctrl-C";

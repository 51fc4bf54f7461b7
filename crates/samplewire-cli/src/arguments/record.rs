//! Options of `record`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use samplewire::Delivery;
use samplewire::format::Format;
use samplewire::options::WINDOW_DEFAULT;
use samplewire_record::chain::ChainSpec;

use super::values::{self, Threshold};
use super::{
    LinkOption, MetricsOption, RealTimeOptions, ReceiveCarriageOption, SlowOption, WebOption,
};
use crate::faults::FaultOption;

/// Records a stream.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RecordArguments {
    /// The device: HOST, HOST:PORT or [IPV6]:PORT; the port is 9100 unless given
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,

    /// NAME, NAME.sigmf, NAME.sigmf-data or NAME.sigmf-meta for a SigMF recording; NAME.raw, .bin,
    /// .dat or .iq for raw samples; NAME.cfile, .fc32, .cs8 and similar for raw samples in that
    /// format; - for standard output; null to count and discard
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Record these streams of the device as one, e.g. 0,1: they begin at one index, and their
    /// channels are interleaved in the file. A gap in one stream is a gap in all, and names the
    /// stream [default: the first stream that sends]
    #[arg(long, value_name = "STREAMS", value_delimiter = ',', value_parser = values::stream)]
    pub(crate) channels: Vec<u16>,

    /// Stop after N sample indexes, delivered and missing ones together, so that recordings with
    /// the same N line up [default: until the stream ends]
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub(crate) nsamps: Option<u64>,

    /// Stop after this time, counted from the opening
    #[arg(long, visible_alias = "seconds", value_name = "TIME", value_parser = values::time)]
    pub(crate) duration: Option<Duration>,

    /// complete: wait for every repair; deadline:5ms: give a packet up after that time;
    /// best-effort: repair nothing
    #[arg(long, value_name = "DELIVERY", default_value = "complete", value_parser = values::delivery)]
    pub(crate) delivery: Delivery,

    /// Sample format of the file: sc8, sc16, fc32, r8, r16, rf32 or uc8 [default: the stream's]
    #[arg(long, visible_alias = "type", value_name = "FORMAT", value_parser = values::sample_format)]
    pub(crate) format: Option<Format>,

    /// Process the samples before they are written, by steps in order: mix:HZ, lowpass:HZ,
    /// decimate:N, interpolate:N, gain:FACTOR. The file is fc32 unless --type says otherwise;
    /// rate, indexes, gaps and centre frequency in its metadata are those behind the last step
    #[arg(long, value_name = "STEP,..", conflicts_with_all = ["append", "reconnect", "channels"])]
    pub(crate) chain: Option<ChainSpec>,

    /// Replace files that exist
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// Continue the SigMF recording FILE, which may be finished or belong to a killed recorder. The
    /// indexes between are named as a gap. A recording that does not exist is created
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) append: bool,

    /// Open the stream again whenever it breaks, and wait for a device that does not answer. The
    /// indexes between are named as a gap: exact within one run of the device, by time across runs
    #[arg(long, conflicts_with = "capture")]
    pub(crate) reconnect: bool,

    /// Leave the SHA-512 out of the SigMF metadata. The SHA-512 takes a core at about 0.6 GB/s, and
    /// a faster recording waits for it at its end
    #[arg(long)]
    pub(crate) no_hash: bool,

    /// Split a SigMF recording into parts of at most SIZE bytes of data, e.g. 4G: NAME-0001,
    /// NAME-0002 and so on. Each part is a recording of its own; `samplewire verify NAME` proves
    /// them together
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) split: Option<u64>,

    /// Compress the data of a SigMF recording, in a thread of its own, into NAME.sigmf-data.zst;
    /// `zstd -d` decompresses it
    #[arg(long, value_name = "HOW", conflicts_with = "direct")]
    pub(crate) compress: Option<Compression>,

    /// Write past the system's cache (O_DIRECT), in pieces of 4 MiB, into space that is allocated
    /// in advance: for disks that must keep up for long. Without --no-hash the disk is read as well
    #[arg(long)]
    pub(crate) direct: bool,

    /// Give up if the device does not answer the opening, or sends no samples, within this time
    /// [default: 3s for the opening; then 15 s of silence]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) timeout: Option<Duration>,

    /// Window in packets, 1 to 2^24: packets in flight or awaiting repair. It takes window
    /// times payload bytes, and a few MB more
    #[arg(long, value_name = "PACKETS", default_value_t = WINDOW_DEFAULT,
        value_parser = values::between::<u32>(1, 1 << 24))]
    pub(crate) window: u32,

    /// Largest IP packet to request, 576 to 9000 [default: 9000, or the first hop's MTU if less;
    /// smaller ones are tried if it does not get through]
    #[arg(long, value_name = "BYTES", value_parser = values::between::<usize>(576, 9_000))]
    pub(crate) mtu: Option<usize>,

    /// A number from 1 that identifies this receiver. A receiver with the same owner takes the
    /// stream over at once; another owner is refused while it is open [default: random; with
    /// --append, the owner of the killed recorder]
    #[arg(long, value_name = "N", value_parser = values::between::<u64>(1, u64::MAX))]
    pub(crate) owner: Option<u64>,

    /// Exit with status 4 if a count exceeds its limit, e.g. gap=0,late=0. Counts: gap (samples),
    /// late, repaired, corrupted, duplicate (packets), stall
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::threshold)]
    pub(crate) fail_on: Vec<Threshold>,

    /// Show progress even if standard error is not a terminal
    #[arg(long)]
    pub(crate) progress: bool,

    /// Print one JSON object at the end: start, intervals, gaps, end
    #[arg(long, conflicts_with = "json_stream")]
    pub(crate) json: bool,

    /// Print one JSON object per line for each event: start, interval, gap, end, error
    #[arg(long)]
    pub(crate) json_stream: bool,

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

    /// Also write the packets to a pcapng file, as they are after the injected faults
    #[arg(long, value_name = "FILE.pcapng")]
    pub(crate) capture: Option<PathBuf>,

    /// Inject faults: data:.. for received packets, feedback:.. for sent ones. For keys see emulate
    #[arg(long = "fault", value_name = "SIDE:KEY=V,..", value_parser = FaultOption::parse)]
    pub(crate) faults: Vec<FaultOption>,
}

/// How data is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compression {
    /// Frames of zstd, of up to 4 MiB of samples each
    Zstd,
}

const AFTER_HELP: &str = "\
Every sample index is in the file, or printed as a gap with its cause. A SigMF recording lists its \
gaps. A raw file does not: the samples after a gap directly follow those before it.

Examples:
  samplewire record 10.0.0.2 out.sigmf-data --duration 10s
  samplewire record 10.0.0.2 out.sigmf-data --append --reconnect   survives kills of either side
  samplewire record 10.0.0.2 both --channels 0,1                   two streams, sample by sample

Exit status: 0 whole, 1 usage (an option, an address or a file), 2 unreachable, refused or broken \
off, 3 samples are missing, or the recording is incomplete (the disk is full, the stream is shorter \
than --nsamps, or the device was silent when --duration was over), 4 a threshold (--fail-on), 130 \
Ctrl-C (the file is closed and valid), 128 + N any other signal N";

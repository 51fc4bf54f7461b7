//! Options of `emulate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use samplewire::device::STREAMS_MAX;
use samplewire::format::Format;
use samplewire::options::WINDOW_DEFAULT;
use samplewire::source::{Repeat, SourceSpec};

use super::values::{self, Pace};
use super::{MetricsOption, RealTimeOptions};
use crate::faults::FaultOption;

/// A device in software.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct EmulateArguments {
    /// Where to listen: HOST, HOST:PORT or [IPV6]:PORT; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9100")]
    pub(crate) listen: String,

    /// What to stream: FILE (SigMF or raw), - (standard input), counter, tone:FREQ, chirp, noise,
    /// scene or null; a file of such a name is ./counter [default: scene, or nothing with --play]
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<SourceSpec>,

    /// Take a stream too and play it into this file, session after session: names as of record.
    /// The device then has a clock: index is time, what is not there in time is an underrun, and
    /// with --rate max there is no clock and no underrun
    #[arg(long, value_name = "FILE")]
    pub(crate) play: Option<PathBuf>,

    /// How far ahead a stream to play may start or its index may jump, in time of its samples; what
    /// lies further is refused or ends the stream (--play)
    #[arg(long, value_name = "TIME", value_parser = values::time, default_value = "60s")]
    pub(crate) play_jump_max: Duration,

    /// Replace files that exist (--play)
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// How often a file is played in a session: N or forever; generators do not end
    #[arg(long = "loop", value_name = "N", default_value = "1")]
    pub(crate) repeat: Repeat,

    /// Samples per second, played as a converter that cannot wait: what finds no room is lost and
    /// listed. `max` plays as fast as the receiver takes it and loses nothing; `max:2M` also says
    /// which rate the samples have [default: the recording's own rate, 20M for generators]
    #[arg(long, value_name = "RATE", value_parser = values::pace)]
    pub(crate) rate: Option<Pace>,

    /// Sample format of raw data, a generator or what is played: sc8, sc16, fc32, r8, r16, rf32 or
    /// uc8 [default: the recording's own, sc16 for generators; what is played is as the source]
    #[arg(long, visible_alias = "type", value_name = "FORMAT", value_parser = values::sample_format)]
    pub(crate) format: Option<Format>,

    /// Interleaved channels of raw data, of counter and null, and of what is played [default: 1, or
    /// the source's]
    #[arg(long, value_name = "N")]
    pub(crate) channels: Option<u16>,

    /// How many streams to send, 1 to 1024, each opened by itself or all together (record
    /// --channels): the channels of the source are dealt to them in order, and of a signal each
    /// has its own. They have one clock, but with --rate max, and losses and memory of their own:
    /// each takes a window
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::between::<u16>(1, STREAMS_MAX as u64))]
    pub(crate) streams: u16,

    /// Check a recording against the SHA-512 in its metadata before it is played
    #[arg(long)]
    pub(crate) verify: bool,

    /// Packets held for repair, or that wait to be played, 1 to 16777216; memory is window times
    /// payload, and some MB more
    #[arg(long, value_name = "PACKETS", default_value_t = WINDOW_DEFAULT,
        value_parser = values::between::<u32>(1, 1 << 24))]
    pub(crate) window: u32,

    /// Payload of a packet, a multiple of 8 and of a sample of all channels [default: the most
    /// that the path was shown to carry]
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
    pub(crate) metrics: MetricsOption,

    #[command(flatten)]
    pub(crate) real_time: RealTimeOptions,

    /// Make the wire bad: data:.. for what the device sends, feedback:.. for what it receives (the
    /// other way round where it only plays); keys loss, burst, corrupt, dup, reorder, depth, delay, jitter, rate, only, hold, seed
    #[arg(long = "fault", value_name = "SIDE:KEY=V,..", value_parser = FaultOption::parse)]
    pub(crate) faults: Vec<FaultOption>,

    /// End after one session of each stream; the exit status is then that of the session. One that
    /// its receiver closes before its first sample does not count
    #[arg(long)]
    pub(crate) once: bool,

    /// Show progress also where standard error is no terminal
    #[arg(long)]
    pub(crate) progress: bool,
}

const AFTER_HELP: &str = "\
One receiver at a time is served by each stream. After a session the source starts from its \
beginning, and the sample index goes on. With both --source and --play the device does both at \
once, for one host or for two. Ctrl-C ends the session, and the device with exit status 0; a second one does not wait \
until the receiver has what it lacks.

Examples:
  samplewire emulate --source scene --rate 20M
  samplewire emulate --source counter --streams 4 --rate 1M
  samplewire emulate --play out.sigmf-data --rate 2M";

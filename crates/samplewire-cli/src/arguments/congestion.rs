//! Options of `sim congestion` and `sim explore`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use samplewire_sim::{MarkingPoint, Preset};

use super::values;

// No doc comment: clap would use it for the verb.
#[derive(Args, Debug)]
pub(crate) struct CongestionOptions {
    /// The senders, the receivers and the links between them
    #[arg(long, value_name = "NAME", default_value = "star")]
    pub(crate) scenario: ScenarioKind,

    /// Numbers of senders of the star, 1 to 1000, with commas [default: 2,3,8,16,32]
    #[arg(long, value_name = "N,..", value_delimiter = ',',
          value_parser = values::between::<u16>(1, 1_000))]
    pub(crate) senders: Option<Vec<u16>>,

    /// Rate of each sender's link
    #[arg(long, value_name = "BPS", default_value = "10G", value_parser = values::line_rate)]
    pub(crate) line: f64,

    /// Rate of the link that the senders of the star share [default: that of a sender]
    #[arg(long, value_name = "BPS", value_parser = values::link_rate)]
    pub(crate) shared: Option<f64>,

    /// Bytes of an IP packet, 576 to 9000
    #[arg(long, value_name = "BYTES", default_value_t = 4_096,
          value_parser = values::between::<u32>(576, 9_000))]
    pub(crate) mtu: u32,

    /// How senders react to marks
    #[arg(long, value_name = "NAME", default_value = "dcqcn")]
    pub(crate) control: SimControl,

    /// With --control fixed, the rate of each sender
    #[arg(long, value_name = "BPS", value_parser = values::control_rate)]
    pub(crate) control_rate: Option<f64>,

    /// Parameters of senders, receivers and switches
    #[arg(long, value_name = "NAME", default_value = "samplewire", value_parser = preset)]
    pub(crate) preset: Preset,

    /// Where switches mark a frame [default: that of the preset]
    #[arg(long, value_name = "WHERE", value_parser = marking_point)]
    pub(crate) mark: Option<MarkingPoint>,

    /// What senders do about lost frames
    #[arg(long, value_name = "NAME", default_value = "steady")]
    pub(crate) traffic: TrafficKind,

    /// Packets of a flow on their way at most, with --traffic roce, stream or both [default: 256]
    #[arg(long, value_name = "N", value_parser = values::between::<u32>(1, 65_536))]
    pub(crate) window: Option<u32>,

    /// The buffer of each switch
    #[arg(long, value_name = "BYTES", default_value = "2MB", value_parser = values::size)]
    pub(crate) buffer: u64,

    /// Switches stop their neighbours rather than drop frames (IEEE 802.1Qbb)
    #[arg(long)]
    pub(crate) pfc: bool,

    /// Share of the reports of marks that are lost: REPORTs of streams, CNPs of RoCE
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = values::share)]
    pub(crate) report_loss: f64,

    /// Marks on acknowledgements cut the rate too, with --traffic roce or both
    #[arg(long)]
    pub(crate) congested_acks_cut: bool,

    /// Each sender sends so many frames and ends, with --traffic steady
    #[arg(long, value_name = "FRAMES", value_parser = values::count)]
    pub(crate) burst: Option<u64>,

    /// Each sender begins within so long, drawn from the seed
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = values::time)]
    pub(crate) spread: Duration,

    /// Seeds of each row, from 1 on; a row shows the worst
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = values::between::<u64>(1, 1_000))]
    pub(crate) seeds: u64,

    /// Also write the table as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Also draw throughput, R_C, queue and notifications of the last run over time, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Print one JSON object instead of words
    #[arg(long)]
    pub(crate) json: bool,
}

// No doc comment: clap would use it for the verb.
#[derive(Args, Debug)]
pub(crate) struct ExploreArguments {
    /// The points, as CSV. A file that exists is continued
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// How many points, the presets among them
    #[arg(long, value_name = "N", default_value_t = 1_000,
          value_parser = values::between::<u64>(1, 1_000_000))]
    pub(crate) points: u64,

    /// Decides the parameters of every point
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Rate of each link
    #[arg(long, value_name = "BPS", default_value = "10G", value_parser = values::line_rate)]
    pub(crate) line: f64,

    /// Bytes of an IP packet, 576 to 9000
    #[arg(long, value_name = "BYTES", default_value_t = 4_096,
          value_parser = values::between::<u32>(576, 9_000))]
    pub(crate) mtu: u32,

    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = values::threads())]
    pub(crate) threads: Option<usize>,

    /// Also draw heat maps and the Pareto front, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Print one JSON object instead of words
    #[arg(long)]
    pub(crate) json: bool,
}

impl CongestionOptions {
    /// Without `--senders`.
    pub(crate) const SENDERS: [u16; 5] = [2, 3, 8, 16, 32];
}

/// The senders, the receivers and the links between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScenarioKind {
    /// --senders through one switch to one server
    Star,
    /// Two senders, a third joins, and one after the other leaves
    Turns,
    /// Three senders behind one port, one behind another, and an uninvolved flow
    TwoSwitches,
    /// Three senders, and two uninvolved flows into the link of the first
    ReturnPath,
    /// 143 boards at six leaves, trunks of ten times their rate, four servers
    Camera,
}

/// What a sender does about congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SimControl {
    /// Send at the line's rate
    None,
    /// Send at --control-rate
    Fixed,
    /// Follow DCQCN, with the preset for the line
    Dcqcn,
    /// Follow the same rules in floating point
    Reference,
}

/// What senders do about lost frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrafficKind {
    /// Nothing
    Steady,
    /// What RoCE does: queue pairs of this program, which repeat all from the first lost packet on
    Roce,
    /// What streams do: the endpoint of this program, REPORTs included
    Stream,
    /// Streams and RoCE in turn, on the same links
    Both,
}

/// Reads the name of a preset.
fn preset(text: &str) -> Result<Preset, String> {
    let found = Preset::ALL.into_iter().find(|preset| preset.name() == text);
    found.ok_or_else(|| format!("`{text}` is none of {}", Preset::ALL.map(Preset::name).join(", ")))
}

/// Reads where a frame is marked.
fn marking_point(text: &str) -> Result<MarkingPoint, String> {
    match text {
        "enqueue" => Ok(MarkingPoint::Enqueue),
        "dequeue" => Ok(MarkingPoint::Dequeue),
        _ => Err(format!("`{text}` is none of enqueue, dequeue")),
    }
}

pub(super) const CONGESTION_EXAMPLES: &str = "\
Examples:
  samplewire sim congestion --senders 2,8,32
  samplewire sim congestion --scenario turns --svg turns.svg
  samplewire sim congestion --senders 4 --traffic both --report-loss 20%
  samplewire sim congestion --scenario two-switches --pfc --control none";

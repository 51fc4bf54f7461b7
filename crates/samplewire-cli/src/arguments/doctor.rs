//! Options of `doctor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::values::{self, FindingSubject, Threshold};

/// Diagnoses a host that loses samples.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DoctorArguments {
    /// The device: HOST, HOST:PORT or [IPV6]:PORT; the port is 9100 unless given. The interface,
    /// the rate and the packets are then the device's
    #[arg(value_name = "ADDR", conflicts_with = "interface")]
    pub(crate) address: Option<String>,

    /// The interface towards the device [default: the one of the default route]
    #[arg(long, value_name = "IF")]
    pub(crate) interface: Option<String>,

    /// Sample rate that the host must sustain [default: the device's, or 250M]
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    pub(crate) rate: Option<f64>,

    /// Bytes of a sample of all channels, 1 to 65535 [default: the device's, or 4]
    #[arg(long, value_name = "BYTES", value_parser = values::between::<u16>(1, 65_535))]
    pub(crate) sample_bytes: Option<u16>,

    /// The longest pause of the I/O thread that must lose nothing
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = values::time)]
    pub(crate) stall: Duration,

    /// Run only these checks or groups, e.g. card,socket.rmem_max [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Exit with status 4 if a count exceeds its limit, e.g. severe=0,unread=0. Counts: severe and
    /// finding (findings that lose samples; all findings), unread (checks that could not be read)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::threshold_of_findings)]
    pub(crate) fail_on: Vec<Threshold<FindingSubject>>,

    /// Read a recorded tree instead of this host
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: Option<PathBuf>,

    /// Write what the checks read into a new folder, for a bug report: without MAC addresses, host
    /// names and serial numbers
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "root")]
    pub(crate) record: Option<PathBuf>,

    /// Print the commands that correct the findings
    #[arg(long, group = "changes")]
    pub(crate) fix: bool,

    /// Stream for a minute or two, and state what wrong values cost here: pairs of runs of 1 s over an
    /// own veth pair (as root), or to the device; 1 to 100 pairs for each setting [default: 5]
    #[arg(long, value_name = "PAIRS", group = "changes", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "5", value_parser = values::between::<u8>(1, 100))]
    #[arg(conflicts_with_all = ["fix", "root", "record", "interface"])]
    pub(crate) measure: Option<u8>,

    /// With --fix, run the commands, and write the old values to samplewire-undo.json; with --measure,
    /// try the settings of the findings too, and restore them
    #[arg(long, requires = "changes")]
    pub(crate) yes: bool,

    /// Restore the old values of a file that --fix --yes has written, and end
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fix", "record", "address", "interface", "measure"])]
    pub(crate) undo: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Nothing is changed without --yes, and only --measure without an address
needs a privilege. A value that cannot be read is listed with the reason; it
does not count as good.
docs/doctor.md lists the checks, and how each limit follows from the rate.

Examples:
  samplewire doctor 10.0.0.2
  samplewire doctor --interface eth0 --rate 250M --fix
  samplewire doctor --measure --only card
  samplewire doctor --record report; samplewire doctor --root report

Exit status: 0 diagnosed (findings or not), 1 usage, 4 a threshold (--fail-on)";

//! Options of `study`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::values;

/// Measures over a range of settings.
#[derive(Args, Debug)]
pub(crate) struct StudyArguments {
    #[command(subcommand)]
    pub(crate) study: Study,
}

/// What is measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Study {
    /// Goodput over window and damage on loopback, beside iperf3 in the same run
    Window(WindowArguments),
    /// How exactly this host waits: a bare sleep beside a sleep that spins at its end
    Pacing(PacingArguments),
}

/// Requested against actual waits.
#[derive(Args, Debug)]
#[command(after_help = PACING_AFTER_HELP)]
pub(crate) struct PacingArguments {
    /// Waits in seconds, 0 to 10; above 0 they are 1 ns at least
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = wait,
        default_value = "0,1e-323,1e-9,1e-8,1e-7,1e-6,5e-6,1e-5,1e-4,1e-3,1e-2,1e-1")]
    pub(crate) requests: Vec<f64>,

    /// How often each wait is measured, 1 to 100000; long waits less, so that each takes a second at
    /// most, but 5 times
    #[arg(long, value_name = "N", default_value_t = 1_000,
        value_parser = values::between::<u32>(1, 100_000))]
    pub(crate) rounds: u32,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Goodput over window and damage.
#[derive(Args, Debug)]
#[command(after_help = WINDOW_AFTER_HELP)]
pub(crate) struct WindowArguments {
    /// Windows in packets, 1 to 2^24
    #[arg(long, value_name = "LIST", value_delimiter = ',',
        default_values_t = [1_u32, 4, 16, 64, 256, 1_024],
        value_parser = values::between::<u32>(1, 1 << 24))]
    pub(crate) windows: Vec<u32>,

    /// Shares of DATA packets with changed bytes, 0 to 0.5
    #[arg(long, value_name = "LIST", value_delimiter = ',',
        default_values_t = [0.0, 1e-4, 1e-3, 1e-2, 1e-1], value_parser = values::share)]
    pub(crate) damage: Vec<f64>,

    /// Largest IP packets in bytes, 576 to 9000
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [1_500_u16, 9_000],
        value_parser = values::between::<u16>(576, 9_000))]
    pub(crate) mtu: Vec<u16>,

    /// How often everything is measured, 1 to 65535; the table shows the median
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = values::between::<u16>(1, 65_535))]
    pub(crate) rounds: u16,

    /// How long each measurement takes; iperf3 takes whole seconds, at least one
    #[arg(long, visible_aliases = ["each", "seconds"], value_name = "TIME",
        default_value = "300ms", value_parser = values::time)]
    pub(crate) duration: Duration,

    /// Seed of the damage
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Leave iperf3 out
    #[arg(long)]
    pub(crate) no_iperf3: bool,

    /// Also write every measurement as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Also draw the medians as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Print one JSON object instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

fn wait(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=10.0).contains(seconds));
    seconds.ok_or_else(|| format!("`{text}` must be 0 to 10 seconds, such as 1e-6"))
}

const PACING_AFTER_HELP: &str = "\
A sleep ends late by what the system takes to wake a thread, and by its timer
slack, 50 us unless set. The spin sleeps up to 200 us before the end, and then
looks at the clock. nic and its pauses use it.

Example:
  samplewire study pacing --requests 1e-6,1e-5,1e-4 --rounds 100

Exit status: 0 everything was measured, 1 usage, 130 interrupted.";

const WINDOW_AFTER_HELP: &str = "\
A device and a receiver run in this process, with the whole protocol and the
kernel's UDP between them. Delivery is complete, so damaged packets are
repaired. Goodput counts samples. iperf3 sends without damage: TCP with the
segment size of the MTU, and UDP as fast as it can, counted on arrival.

Example:
  samplewire study window --windows 4,64,1024 --svg window.svg --csv window.csv

Exit status: 0 everything was measured, 1 usage, 3 samples were missing, 130
interrupted.";

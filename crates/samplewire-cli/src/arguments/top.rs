//! Options of `top`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;

use super::values;

/// A look at the streams of this host.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct TopArguments {
    /// Show only the streams of these devices, by the address that opens the
    /// device [default: all streams of this user, and the ports of switches]
    #[arg(value_name = "ADDR")]
    pub(crate) addresses: Vec<String>,

    /// Also query a process at its --metrics address: one of another user, or
    /// on another host
    #[arg(long, value_name = "IP:PORT", value_parser = values::ip_and_port)]
    pub(crate) from: Vec<SocketAddr>,

    /// How often to query, at least 50ms
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = values::interval)]
    pub(crate) interval: Duration,

    /// Print one interval, and end; the default if standard output is not a
    /// terminal
    #[arg(long)]
    pub(crate) once: bool,

    /// Print one interval as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const AFTER_HELP: &str = "\
SAMPLES and BITS of a sender are upper bounds: a packet that is not full counts
as full. REPAIR is the share of repaired packets. WINDOW is how much of the
window is in use: at a sender the packets it keeps, at a receiver what it has
not granted. 100 % for long means that a program, or the window, limits the
stream. At a device that plays, WINDOW is the queue of samples to play, and
100 % is good. LOST counts samples. What each counter means is in docs/statistics.md.

Examples:
  samplewire top
  samplewire top 10.0.0.2 --from 10.0.0.7:9464
  samplewire top --once --json

Exit status: 0 shown, 1 usage, 2 there are no streams (--once), 128 + N any
signal N";

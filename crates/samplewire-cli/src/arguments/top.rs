//! Options of `top`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;

use super::values;

/// A look at the streams of this host.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct TopArguments {
    /// Show only the streams of these devices, by the address at which a device
    /// is opened; without one all streams of this user
    #[arg(value_name = "ADDR")]
    pub(crate) addresses: Vec<String>,

    /// Ask a process by its --metrics too: another user's, or one on another
    /// host
    #[arg(long, value_name = "IP:PORT", value_parser = values::ip_and_port)]
    pub(crate) from: Vec<SocketAddr>,

    /// How often to ask, at least 50ms
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = values::interval)]
    pub(crate) interval: Duration,

    /// Print what is seen within one interval, and end; also where standard
    /// output is no terminal
    #[arg(long)]
    pub(crate) once: bool,

    /// Print that as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const AFTER_HELP: &str = "\
SAMPLES and BITS of a sender are at most: packets that are not full count as
full. REPAIR is the share of packets that were repaired. WINDOW is how much of
the window is in use: of a sender what is held, of a receiver what it has not
granted; 100 % for long is a program, or a window, that holds the stream up. Of
a device that plays it is what waits for its time, and 100 % is well. LOST are
samples. What each counter means is in docs/statistics.md.

Examples:
  samplewire top
  samplewire top 10.0.0.2 --from 10.0.0.7:9464
  samplewire top --once --json

Exit status: 0 shown, 1 usage, 2 there are no streams (--once), 128 + N any
signal N";

//! Options of `find`.

use std::time::Duration;

use clap::Args;
use samplewire::DEFAULT_PORT;

use super::values;

/// Looks for devices on the local networks.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct FindArguments {
    /// The UDP port that the devices listen on, 1 to 65535
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT,
        value_parser = values::between::<u16>(1, 65_535))]
    pub(crate) port: u16,

    /// How long to wait for answers
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::time)]
    pub(crate) timeout: Duration,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const AFTER_HELP: &str = "\
Queries each IPv4 network by broadcast, all nodes of each IPv6 link by
multicast, and this host. The query does not pass a router: for a device
behind one, run `samplewire probe ADDR`.

Example:
  samplewire find --timeout 3s

Exit status: 0 a device answered, 1 usage, 2 no device answered.";
